//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How moss-auto-scale measures and keeps scales, and the entry points that it
// adds to a module.
//
//===----------------------------------------------------------------------===//

#include "AutoScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "moss/Transforms/CInterface.h"

using namespace mlir;
using namespace mlir::moss;

RankedTensorType WeightTable::getScalesType(MLIRContext *context) const {
  return RankedTensorType::get({static_cast<int64_t>(weights.size())},
                               Float32Type::get(context));
}

RankedTensorType WeightTable::getStateType(MLIRContext *context) const {
  return RankedTensorType::get(
      {static_cast<int64_t>(weights.size()), NextScaleOp::kNumFields},
      Float64Type::get(context));
}

bool WeightTable::needsAmax() const {
  return llvm::any_of(rules, [](ScaleRuleAttr rule) {
    return rule.getOptimizer().isBoundedByGradient();
  });
}

unsigned FunctionWeights::getKept(WeightUse use) const {
  auto *found = llvm::find_if(kept, [&](WeightUse other) {
    return other.weight == use.weight &&
           QuantizeOp(other.quantize).getTranspose() ==
               use.quantize.getTranspose();
  });
  assert(found != kept.end() && "every use has a payload");
  return found - kept.begin();
}

//===----------------------------------------------------------------------===//
// Computing a weight's source again
//===----------------------------------------------------------------------===//

/// The operands of an op and what its regions use from outside.
static SetVector<Value> getInputs(Operation *op) {
  SetVector<Value> inputs(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  return inputs;
}

/// Whether the op reads a memref of the function ahead of all that may write.
static bool readsAtEntry(Operation *op) {
  Block *block = op->getBlock();
  return isa<bufferization::ToTensorOp>(op) && block->isEntryBlock() &&
         isa<func::FuncOp>(block->getParentOp()) &&
         llvm::all_of(llvm::make_range(block->begin(), op->getIterator()),
                      [](Operation &other) {
                        return isMemoryEffectFree(&other) ||
                               readsAtEntry(&other);
                      });
}

bool moss::isAvailableAtEntry(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
           argument.getOwner()->isEntryBlock();
  Operation *op = value.getDefiningOp();
  bool isPure =
      isMemoryEffectFree(op) || readsAtEntry(op) ||
      isa<ml_program::GlobalLoadOp, ml_program::GlobalLoadConstOp>(op);
  return isPure && llvm::all_of(getInputs(op), isAvailableAtEntry);
}

Value moss::cloneFromEntry(OpBuilder &b, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value input : getInputs(op))
    cloneFromEntry(b, input, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

Value moss::extractScale(ImplicitLocOpBuilder &b, Value scales, int64_t row) {
  OpFoldResult one = b.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      b, RankedTensorType::get({}, b.getF32Type()), scales,
      ArrayRef<OpFoldResult>{b.getIndexAttr(row)}, one, one);
}

SchemeAttr moss::getGivenScheme(QuantizeOp op) {
  SchemeAttr scheme = op.getScheme();
  return SchemeAttr::get(op.getContext(), scheme.getElementType(), Type(),
                         /*groupOuter=*/0, /*groupK=*/0, GlobalScale::Given,
                         scheme.getRounding());
}

QuantizeOp moss::createGiven(OpBuilder &b, QuantizeOp op, Value source,
                             Value scale, Value payload) {
  return QuantizeOp::create(b, op.getLoc(), TypeRange(payload.getType()),
                            getGivenScheme(op), op.getTranspose(), source,
                            scale, payload,
                            /*micro=*/Value(), /*global=*/Value());
}

/// `scales` with the measured scale of one weight.
static Value measureOne(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                        Value source, Value scales, int64_t row) {
  // The payload is not used, but nothing else takes a maximum on every target;
  // at one step in hundreds it costs little.
  Value payload = tensor::EmptyOp::create(
      b, tensor::getMixedSizes(b, b.getLoc(), source), scheme.getElementType());
  Value slot = extractScale(b, scales, row);
  auto measured = QuantizeOp::create(
      b, TypeRange{payload.getType(), slot.getType()}, scheme,
      /*transpose=*/false, source, /*scale=*/Value(), payload,
      /*micro=*/Value(), slot);
  OpFoldResult one = b.getIndexAttr(1);
  return tensor::InsertSliceOp::create(
      b, measured.getGlobalResult(), scales,
      ArrayRef<OpFoldResult>{b.getIndexAttr(row)}, one, one);
}

void moss::emitMeasurement(ImplicitLocOpBuilder &b, const WeightTable &table,
                           const FunctionWeights &function,
                           ArrayRef<WeightUse> uses, IRMapping &mapping,
                           MutableArrayRef<Value> carried) {
  llvm::SmallDenseSet<unsigned> measured, quantized;
  for (WeightUse use : uses) {
    QuantizeOp op = use.quantize;
    int64_t row = table.weights[use.weight].row;
    Value source = cloneFromEntry(b, op.getSource(), mapping);
    if (measured.insert(use.weight).second)
      carried[0] = measureOne(b, op.getScheme(), source, carried[0], row);
    if (function.kept.empty())
      continue;
    unsigned number = function.getKept(use);
    if (!quantized.insert(number).second)
      continue;
    Value &payload = carried[1 + number];
    payload =
        createGiven(b, op, source, extractScale(b, carried[0], row), payload)
            .getPayloadResult();
  }
}

//===----------------------------------------------------------------------===//
// Keeping
//===----------------------------------------------------------------------===//

BlockArgument moss::appendArgument(func::FuncOp func, Type type,
                                   StringRef name) {
  unsigned number = func.getNumArguments();
  auto names = func->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName);
  if (names && names.size() == number) {
    SmallVector<Attribute> longer(names.getValue());
    longer.push_back(StringAttr::get(func.getContext(), name));
    func->setAttr(kArgumentNamesAttrName,
                  ArrayAttr::get(func.getContext(), longer));
  }
  LogicalResult inserted =
      func.insertArgument(number, type, DictionaryAttr(), func.getLoc());
  assert(succeeded(inserted) && "a func.func takes any argument");
  (void)inserted;
  return func.getArgument(number);
}

SmallVector<Value> moss::appendKeptPayloads(func::FuncOp func,
                                            const FunctionWeights &function) {
  SmallVector<Value> payloads;
  for (WeightUse use : function.kept)
    payloads.push_back(
        appendArgument(func, use.quantize.getPayload().getType(), "payload"));
  return payloads;
}

void moss::appendResult(func::FuncOp func, Value value, BlockArgument updated) {
  Builder b(func.getContext());
  NamedAttribute mark(b.getStringAttr(WeightAttr::kUpdateName),
                      b.getI64IntegerAttr(updated.getArgNumber()));
  LogicalResult inserted = func.insertResult(
      func.getNumResults(), value.getType(), b.getDictionaryAttr(mark));
  assert(succeeded(inserted) && "a func.func takes any result");
  (void)inserted;
  func.walk(
      [&](func::ReturnOp ret) { ret.getOperandsMutable().append(value); });
}

static Value getGlobal(ImplicitLocOpBuilder &b, StringRef name,
                       RankedTensorType type) {
  return memref::GetGlobalOp::create(
      b, MemRefType::get(type.getShape(), type.getElementType()), name);
}

/// A global as a tensor that may be updated in place.
static Value loadGlobal(ImplicitLocOpBuilder &b, StringRef name,
                        RankedTensorType type) {
  return bufferization::ToTensorOp::create(b, type, getGlobal(b, name, type),
                                           /*restrict=*/true,
                                           /*writable=*/true);
}

static void storeGlobal(ImplicitLocOpBuilder &b, StringRef name, Value value) {
  bufferization::MaterializeInDestinationOp::create(
      b, /*result=*/Type(), value,
      getGlobal(b, name, cast<RankedTensorType>(value.getType())),
      /*restrict=*/true, /*writable=*/true);
}

Value moss::getScales(ImplicitLocOpBuilder &b, func::FuncOp func,
                      const WeightTable &table) {
  RankedTensorType type = table.getScalesType(b.getContext());
  if (table.state == ScaleState::Globals)
    return loadGlobal(b, kScalesName, type);
  return appendArgument(func, type, "scales");
}

void moss::putScales(func::FuncOp func, const WeightTable &table, Value old,
                     Value scales) {
  if (table.state == ScaleState::Globals) {
    ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
    b.setInsertionPointAfterValue(scales);
    storeGlobal(b, kScalesName, scales);
    return;
  }
  appendResult(func, scales, cast<BlockArgument>(old));
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

static LogicalResult checkNameIsFree(ModuleOp module, StringRef name) {
  Operation *other = module.lookupSymbol(name);
  if (!other)
    return success();
  return other->emitError("has the name '")
         << name << "', which moss-auto-scale needs; rename it";
}

LogicalResult moss::addScaleGlobals(ModuleOp module, const WeightTable &table) {
  if (table.state != ScaleState::Globals)
    return success();
  MLIRContext *context = module.getContext();
  auto b =
      ImplicitLocOpBuilder::atBlockBegin(module.getLoc(), module.getBody());
  auto add = [&](StringRef name, RankedTensorType type, APFloat value) {
    if (failed(checkNameIsFree(module, name)))
      return failure();
    auto initial = DenseElementsAttr::get(type, value);
    // Not an ml_program.global: bufferization of LLVM 22 stores an
    // uninitialized copy to it where the value is used elsewhere, too.
    memref::GlobalOp::create(
        b, name, b.getStringAttr("private"),
        MemRefType::get(type.getShape(), type.getElementType()), initial,
        /*constant=*/false, /*alignment=*/IntegerAttr());
    return success();
  };
  if (failed(add(kScalesName, table.getScalesType(context),
                 APFloat::getNaN(APFloat::IEEEsingle()))))
    return failure();
  return add(kScaleStateName, table.getStateType(context), APFloat(0.0));
}

/// A public function at the end of the module, with the builder in its body.
static FailureOr<func::FuncOp> addFunction(ImplicitLocOpBuilder &b,
                                           ModuleOp module, StringRef name,
                                           TypeRange inputs,
                                           ArrayRef<StringRef> names) {
  if (failed(checkNameIsFree(module, name)))
    return failure();
  b.setInsertionPointToEnd(module.getBody());
  auto func = func::FuncOp::create(b, name, b.getFunctionType(inputs, {}));
  func->setAttr(kArgumentNamesAttrName, b.getStrArrayAttr(names));
  b.setInsertionPointToStart(func.addEntryBlock());
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(&func.front());
  return func;
}

/// `@moss_init_scales`: nothing was measured, and no step was made.
static LogicalResult addInit(ModuleOp module, const WeightTable &table) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  Type types[] = {table.getScalesType(b.getContext()),
                  table.getStateType(b.getContext())};
  bool hasGlobals = table.state == ScaleState::Globals;
  TypeRange interface = hasGlobals ? TypeRange() : TypeRange(types);
  StringRef names[] = {"scales", "state"};
  FailureOr<func::FuncOp> func =
      addFunction(b, module, "moss_init_scales", interface,
                  ArrayRef(names).take_front(interface.size()));
  if (failed(func))
    return failure();
  auto fill = [&](Attribute value, unsigned number) -> Value {
    Value init;
    if (hasGlobals)
      init = tensor::EmptyOp::create(b, cast<RankedTensorType>(types[number]),
                                     ValueRange());
    else
      init = func->getArgument(number);
    Value constant = arith::ConstantOp::create(b, cast<TypedAttr>(value));
    return linalg::FillOp::create(b, constant, init).getResult(0);
  };
  Value scales = fill(
      b.getFloatAttr(b.getF32Type(), APFloat::getNaN(APFloat::IEEEsingle())),
      0);
  Value state = fill(b.getF64FloatAttr(0), 1);
  if (hasGlobals) {
    storeGlobal(b, kScalesName, scales);
    storeGlobal(b, kScaleStateName, state);
  } else {
    appendResult(*func, scales, func->getArgument(0));
    appendResult(*func, state, func->getArgument(1));
  }
  return success();
}

/// `@moss_update_scales`: the scales after an optimizer step.
static LogicalResult addUpdate(ModuleOp module, const WeightTable &table) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  RankedTensorType scalesType = table.getScalesType(b.getContext());
  RankedTensorType stateType = table.getStateType(b.getContext());
  bool hasGlobals = table.state == ScaleState::Globals;
  bool needsAmax = table.needsAmax();
  SmallVector<Type> inputs{b.getF64Type(), b.getI64Type()};
  SmallVector<StringRef> parameters{"learning_rate", "step"};
  if (needsAmax) {
    inputs.push_back(scalesType);
    parameters.push_back("amax");
  }
  if (!hasGlobals) {
    inputs.append({scalesType, stateType});
    parameters.append({"scales", "state"});
  }
  FailureOr<func::FuncOp> func =
      addFunction(b, module, "moss_update_scales", inputs, parameters);
  if (failed(func))
    return failure();
  SmallVector<Attribute> names, rules(table.rules.begin(), table.rules.end());
  for (const PredictedWeight &weight : table.weights)
    names.push_back(b.getStringAttr(weight.name));
  (*func)->setAttr("moss.weights", b.getArrayAttr(names));
  ArrayRef<BlockArgument> arguments = func->getArguments();
  Value scales = hasGlobals ? loadGlobal(b, kScalesName, scalesType)
                            : Value(arguments[arguments.size() - 2]);
  Value state = hasGlobals ? loadGlobal(b, kScaleStateName, stateType)
                           : Value(arguments.back());
  auto next = NextScaleOp::create(
      b, TypeRange{scalesType, stateType}, b.getArrayAttr(rules), table.rows,
      arguments[0], arguments[1], needsAmax ? Value(arguments[2]) : Value(),
      scales, state);
  if (hasGlobals) {
    storeGlobal(b, kScalesName, next.getResult(0));
    storeGlobal(b, kScaleStateName, next.getResult(1));
  } else {
    for (auto [value, argument] :
         llvm::zip_equal(next.getResults(), arguments.take_back(2)))
      appendResult(*func, value, argument);
  }
  return success();
}

/// `@<f>_reset_scales`: the scales of the weights that `f` uses, measured. It
/// takes those of f's arguments that they come from.
static LogicalResult addReset(ModuleOp module, const WeightTable &table,
                              const FunctionWeights &weights) {
  func::FuncOp user = weights.func;
  ImplicitLocOpBuilder b(user.getLoc(), user.getContext());
  llvm::SmallSetVector<unsigned, 4> numbers;
  std::function<void(Value)> collect = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      numbers.insert(argument.getArgNumber());
      return;
    }
    llvm::for_each(getInputs(value.getDefiningOp()), collect);
  };
  for (WeightUse use : weights.uses)
    collect(use.quantize.getSource());
  SmallVector<Type> inputs;
  SmallVector<StringRef> names;
  auto known = user->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName);
  for (unsigned number : numbers) {
    inputs.push_back(user.getArgument(number).getType());
    // Empty for one without a name, which a C interface then chooses.
    names.push_back(known && number < known.size()
                        ? cast<StringAttr>(known[number]).getValue()
                        : "");
  }
  FailureOr<func::FuncOp> func = addFunction(
      b, module, (user.getName() + "_reset_scales").str(), inputs, names);
  if (failed(func))
    return failure();
  IRMapping mapping;
  for (auto [index, number] : llvm::enumerate(numbers))
    mapping.map(user.getArgument(number), func->getArgument(index));
  SmallVector<Value> carried{getScales(b, *func, table)};
  llvm::append_range(carried, appendKeptPayloads(*func, weights));
  SmallVector<Value> old(carried);
  emitMeasurement(b, table, weights, weights.uses, mapping, carried);
  putScales(*func, table, old[0], carried[0]);
  for (auto [payload, argument] : llvm::drop_begin(llvm::zip(carried, old)))
    appendResult(*func, payload, cast<BlockArgument>(argument));
  return success();
}

LogicalResult moss::addScaleFunctions(ModuleOp module,
                                      const WeightTable &table) {
  for (const FunctionWeights &weights : table.functions)
    if (failed(addReset(module, table, weights)))
      return failure();
  if (failed(addInit(module, table)))
    return failure();
  // A function that updates its weights updates the scales, too.
  bool isUpdated = !table.functions.front().updates.empty();
  return isUpdated ? success() : addUpdate(module, table);
}
