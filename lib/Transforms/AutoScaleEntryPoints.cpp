//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The globals and entry points that moss-auto-scale adds to a module, or whose
// declarations in it get bodies.
//
//===----------------------------------------------------------------------===//

#include "AutoScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "moss/Transforms/CInterface.h"

using namespace mlir;
using namespace mlir::moss;

static constexpr StringLiteral kInitName = "moss_init_scales";
static constexpr StringLiteral kUpdateName = "moss_update_scales";
static constexpr StringLiteral kGetName = "moss_get_scales";
static constexpr StringLiteral kResetSuffix = "_reset_scales";

//===----------------------------------------------------------------------===//
// Names and types
//===----------------------------------------------------------------------===//

static LogicalResult failForName(Operation *other) {
  return other->emitError("has the name '")
         << SymbolTable::getSymbolName(other).getValue()
         << "', which moss-auto-scale needs; rename it";
}

/// Whether a declaration agrees with the type of what it declares, but for the
/// precision of a rate, which comes first.
static bool isDeclarationOf(FunctionType declared, FunctionType type) {
  if (declared == type)
    return true;
  return declared.getNumInputs() != 0 && type.getNumInputs() != 0 &&
         declared.getInput(0).isF32() && type.getInput(0).isF64() &&
         declared.getInputs().drop_front() == type.getInputs().drop_front() &&
         declared.getResults() == type.getResults();
}

/// The entry point of the given name, with the builder in its body: the
/// program's declaration, or a public function at the end of the module.
/// `names` are those of the arguments.
static FailureOr<func::FuncOp>
addFunction(ImplicitLocOpBuilder &b, ModuleOp module, const WeightTable &table,
            StringRef name, FunctionType type, ArrayRef<StringRef> names) {
  func::FuncOp func;
  if (Operation *other = module.lookupSymbol(name)) {
    func = dyn_cast<func::FuncOp>(other);
    if (!func || !func.isExternal())
      return failForName(other);
    if (!isDeclarationOf(func.getFunctionType(), type))
      return func.emitError("is declared with the type ")
             << func.getFunctionType() << ", but moss-auto-scale defines it as "
             << type;
  } else {
    b.setInsertionPointToEnd(module.getBody());
    func = func::FuncOp::create(b, name, type);
    if (table.functions.front().func->hasAttr(kArgumentNamesAttrName))
      func->setAttr(kArgumentNamesAttrName, b.getStrArrayAttr(names));
  }
  b.setInsertionPointToStart(func.addEntryBlock());
  return func;
}

//===----------------------------------------------------------------------===//
// What is added
//===----------------------------------------------------------------------===//

LogicalResult moss::addScaleGlobals(ModuleOp module, const WeightTable &table) {
  if (table.state != ScaleState::Globals)
    return success();
  MLIRContext *context = module.getContext();
  auto b =
      ImplicitLocOpBuilder::atBlockBegin(module.getLoc(), module.getBody());
  auto add = [&](StringRef name, RankedTensorType type, APFloat value) {
    if (Operation *other = module.lookupSymbol(name))
      return failForName(other);
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

/// A tensor that is filled with NaN, into `init`.
static Value fillNaN(ImplicitLocOpBuilder &b, Value init) {
  Value nan = arith::ConstantOp::create(
      b,
      b.getFloatAttr(b.getF32Type(), APFloat::getNaN(APFloat::IEEEsingle())));
  return linalg::FillOp::create(b, nan, init).getResult(0);
}

/// `@moss_init_scales`: nothing was measured, and no step was made.
static LogicalResult addInit(ModuleOp module, const WeightTable &table) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  Type types[] = {table.getScalesType(b.getContext()),
                  table.getStateType(b.getContext())};
  bool hasGlobals = table.state == ScaleState::Globals;
  TypeRange interface = hasGlobals ? TypeRange() : TypeRange(types);
  FailureOr<func::FuncOp> func =
      addFunction(b, module, table, kInitName,
                  b.getFunctionType(interface, interface), {"scales", "state"});
  if (failed(func))
    return failure();
  auto getInit = [&](unsigned number) -> Value {
    if (hasGlobals)
      return tensor::EmptyOp::create(b, cast<RankedTensorType>(types[number]),
                                     ValueRange());
    return func->getArgument(number);
  };
  Value scales = fillNaN(b, getInit(0));
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  Value state = linalg::FillOp::create(b, zero, getInit(1)).getResult(0);
  if (!hasGlobals) {
    returnUpdates(b, *func, {scales, state});
    return success();
  }
  storeGlobal(b, kScalesName, scales);
  storeGlobal(b, kScaleStateName, state);
  func::ReturnOp::create(b);
  return success();
}

/// `@moss_update_scales`: the scales after an optimizer step.
static LogicalResult addUpdate(ModuleOp module, const WeightTable &table) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  RankedTensorType scalesType = table.getScalesType(b.getContext());
  RankedTensorType stateType = table.getStateType(b.getContext());
  bool hasGlobals = table.state == ScaleState::Globals;
  bool needsAmax = table.needsAmax();
  SmallVector<Type> inputs{b.getF64Type(), b.getI64Type()}, results;
  SmallVector<StringRef> argumentNames{"learning_rate", "step"};
  if (needsAmax) {
    inputs.push_back(scalesType);
    argumentNames.push_back("amax");
  }
  if (!hasGlobals) {
    inputs.append({scalesType, stateType});
    argumentNames.append({"scales", "state"});
    results.append({scalesType, stateType});
  }
  FailureOr<func::FuncOp> func =
      addFunction(b, module, table, kUpdateName,
                  b.getFunctionType(inputs, results), argumentNames);
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
  if (!hasGlobals) {
    returnUpdates(b, *func, next.getResults());
    return success();
  }
  storeGlobal(b, kScalesName, next.getResult(0));
  storeGlobal(b, kScaleStateName, next.getResult(1));
  func::ReturnOp::create(b);
  return success();
}

/// `@moss_get_scales`: a copy of the scales in the global.
static LogicalResult addGet(ModuleOp module, const WeightTable &table) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  RankedTensorType type = table.getScalesType(b.getContext());
  FailureOr<func::FuncOp> func =
      addFunction(b, module, table, kGetName, b.getFunctionType({}, type), {});
  if (failed(func))
    return failure();
  // The global itself would change under the caller.
  Value copy = bufferization::AllocTensorOp::create(
      b, type, ValueRange(), loadGlobal(b, kScalesName, type));
  func::ReturnOp::create(b, copy);
  return success();
}

/// The numbers of the function's arguments that its weights come from.
static llvm::SmallSetVector<unsigned, 4>
findSources(const FunctionWeights &weights) {
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
  return numbers;
}

/// `@<f>_reset_scales`: the scales of the weights that `f` uses, measured. It
/// takes those of f's arguments that they come from.
static LogicalResult addReset(ModuleOp module, const WeightTable &table,
                              const FunctionWeights &weights) {
  func::FuncOp user = weights.func;
  ImplicitLocOpBuilder b(user.getLoc(), user.getContext());
  bool hasGlobals = table.state == ScaleState::Globals;
  RankedTensorType scalesType = table.getScalesType(b.getContext());
  auto userNames = user->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName);
  llvm::SmallSetVector<unsigned, 4> numbers = findSources(weights);
  SmallVector<Type> inputs, updated;
  SmallVector<std::string> names;
  for (unsigned number : numbers) {
    inputs.push_back(user.getArgument(number).getType());
    names.push_back(userNames && number < userNames.size()
                        ? cast<StringAttr>(userNames[number]).str()
                        : "");
  }
  if (!hasGlobals) {
    updated.push_back(scalesType);
    names.push_back("scales");
  }
  for (auto [index, use] : llvm::enumerate(weights.kept)) {
    QuantizeOp op = use.quantize;
    updated.push_back(op.getPayload().getType());
    names.push_back("payload" + std::to_string(index));
  }
  llvm::append_range(inputs, updated);
  SmallVector<StringRef> references(names.begin(), names.end());
  FailureOr<func::FuncOp> func =
      addFunction(b, module, table, (user.getName() + kResetSuffix).str(),
                  b.getFunctionType(inputs, updated), references);
  if (failed(func))
    return failure();
  IRMapping mapping;
  for (auto [index, number] : llvm::enumerate(numbers))
    mapping.map(user.getArgument(number), func->getArgument(index));
  SmallVector<Value> carried(func->getArguments().drop_front(numbers.size()));
  if (hasGlobals)
    carried.push_back(loadGlobal(b, kScalesName, scalesType));
  emitMeasurement(b, table, weights, weights.uses, mapping, carried);
  if (hasGlobals)
    storeGlobal(b, kScalesName, carried.pop_back_val());
  returnUpdates(b, *func, carried);
  return success();
}

//===----------------------------------------------------------------------===//
// What the program declares
//===----------------------------------------------------------------------===//

/// The module's declarations that have the name of an entry point.
static SmallVector<func::FuncOp> findDeclarations(ModuleOp module) {
  SmallVector<func::FuncOp> declarations;
  for (auto func : module.getOps<func::FuncOp>()) {
    StringRef name = func.getName();
    bool isReset = name.consume_back(kResetSuffix) &&
                   module.lookupSymbol<func::FuncOp>(name);
    if (func.isExternal() && (isReset || name == kInitName ||
                              name == kUpdateName || name == kGetName))
      declarations.push_back(func);
  }
  return declarations;
}

/// Let a function return its last arguments as they are.
static LogicalResult defineIdentity(ImplicitLocOpBuilder &b,
                                    func::FuncOp func) {
  TypeRange inputs = func.getArgumentTypes(), results = func.getResultTypes();
  if (inputs.size() < results.size() ||
      inputs.take_back(results.size()) != results)
    return func.emitError("must return its last arguments, updated, but is "
                          "declared with the type ")
           << func.getFunctionType();
  b.setInsertionPointToStart(func.addEntryBlock());
  returnUpdates(b, func, func.getArguments().take_back(results.size()));
  return success();
}

/// Let `@moss_get_scales` return NaN, for scales that were never measured.
static LogicalResult defineUnknown(ImplicitLocOpBuilder &b, func::FuncOp func) {
  auto type = func.getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(func.getResultTypes().front())
                  : RankedTensorType();
  if (func.getNumArguments() != 0 || !type || !type.hasStaticShape() ||
      type.getRank() != 1 || !type.getElementType().isF32())
    return func.emitError("must be declared as () -> tensor<n x f32>, with the "
                          "number n of marked weights, but is ")
           << func.getFunctionType();
  b.setInsertionPointToStart(func.addEntryBlock());
  Value empty = tensor::EmptyOp::create(b, type, ValueRange());
  func::ReturnOp::create(b, fillNaN(b, empty));
  return success();
}

LogicalResult moss::defineUnusedDeclarations(ModuleOp module) {
  for (func::FuncOp func : findDeclarations(module)) {
    remark::missed(func.getLoc(), remark::RemarkOpts::name("no-scales")
                                      .category("moss-auto-scale")
                                      .function(func.getName()))
        << remark::add("the function does nothing")
        << remark::reason("no weight's scale is predicted");
    ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
    if (failed(func.getName() == kGetName ? defineUnknown(b, func)
                                          : defineIdentity(b, func)))
      return failure();
  }
  return success();
}

LogicalResult moss::addScaleFunctions(ModuleOp module,
                                      const WeightTable &table) {
  for (const FunctionWeights &weights : table.functions)
    if (failed(addReset(module, table, weights)))
      return failure();
  if (failed(addInit(module, table)))
    return failure();
  if (table.state == ScaleState::Globals && failed(addGet(module, table)))
    return failure();
  // A function that updates its weights updates the scales, too.
  bool isUpdated = !table.functions.front().updates.empty();
  if (!isUpdated && failed(addUpdate(module, table)))
    return failure();
  for (func::FuncOp func : findDeclarations(module))
    return func.emitError(
        "is declared, but the module has no such entry point: "
        "moss_update_scales is for functions that do not update their weights, "
        "moss_get_scales for scales in globals, and <f>_reset_scales for a "
        "function f that quantizes a marked weight");
  return success();
}
