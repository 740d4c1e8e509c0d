//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that C programs call, in LLVM's dialect.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Runtime/Runtime.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCREATECINTERFACE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// What func-to-llvm puts before the names of wrappers.
static constexpr StringLiteral kWrapperPrefix = "_mlir_ciface_";

static MossParameterKind getRuntimeKind(ParameterKind kind) {
  switch (kind) {
  case ParameterKind::Scalar:
    return MOSS_SCALAR;
  case ParameterKind::Tensor:
    return MOSS_TENSOR;
  case ParameterKind::Result:
    return MOSS_RESULT;
  case ParameterKind::Buffer:
  case ParameterKind::Update:
    return MOSS_BUFFER;
  case ParameterKind::ScalarResult:
    return MOSS_SCALAR_RESULT;
  }
  llvm_unreachable("unknown kind of parameter");
}

namespace {
/// Creates what belongs to the C function of one function.
class InterfaceBuilder {
public:
  InterfaceBuilder(LLVM::LLVMFuncOp body, LLVM::LLVMFuncOp wrapper,
                   const CInterface &interface, bool onDevice,
                   SymbolTable &symbols)
      : body(body), wrapper(wrapper), interface(interface), onDevice(onDevice),
        symbols(symbols), b(body.getLoc(), body) {}

  LogicalResult run();

private:
  Type pointer() { return LLVM::LLVMPointerType::get(b.getContext()); }
  Type descriptorType(int64_t rank);
  /// How a scalar is passed and kept in memory.
  Type scalarType(Type type);
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
  }
  Value slotAddress(Value slots, unsigned index) {
    return LLVM::GEPOp::create(b, pointer(), pointer(), slots,
                               ArrayRef<LLVM::GEPArg>{int32_t(index)});
  }
  Value allocate(Type type) {
    return LLVM::AllocaOp::create(b, pointer(), type,
                                  constant(b.getI64Type(), 1));
  }

  LLVM::LLVMFuncOp createThunk();
  Value loadScalar(Value address, Type type, Type wanted);
  void storeResults(LLVM::LLVMFuncOp thunk, ValueRange results);
  SmallVector<Value> callWrapper(SmallVector<Value> operands);
  LLVM::GlobalOp createGlobal(StringRef name, Type type,
                              function_ref<Value(Value)> fill);
  LLVM::GlobalOp createString(StringRef name, StringRef text);
  LLVM::GlobalOp createParameters();
  LLVM::GlobalOp createDescription(LLVM::LLVMFuncOp thunk);
  SmallVector<Type> getCTypes();
  Value createDescriptor(const CParameter &parameter,
                         Block::args_iterator &next);
  LogicalResult createFunction(LLVM::GlobalOp description);

  LLVM::LLVMFuncOp body, wrapper;
  const CInterface &interface;
  bool onDevice;
  SymbolTable &symbols;
  ImplicitLocOpBuilder b;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type InterfaceBuilder::descriptorType(int64_t rank) {
  SmallVector<Type> fields = {pointer(), pointer(), b.getI64Type()};
  if (rank > 0)
    fields.append(2, LLVM::LLVMArrayType::get(b.getI64Type(), rank));
  return LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
}

Type InterfaceBuilder::scalarType(Type type) {
  if (type.isF32() || type.isF64())
    return type;
  CParameter scalar{"", ParameterKind::Scalar, type};
  return b.getIntegerType(8 * scalar.getElementBytes());
}

//===----------------------------------------------------------------------===//
// The thunk: slots to the function's wrapper
//===----------------------------------------------------------------------===//

Value InterfaceBuilder::loadScalar(Value address, Type type, Type wanted) {
  Value value = LLVM::LoadOp::create(b, scalarType(type), address);
  if (type.isInteger(1))
    return LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, value,
                                constant(b.getI8Type(), 0));
  return value.getType() == wanted
             ? value
             : LLVM::BitcastOp::create(b, wanted, value).getResult();
}

/// Results come back in registers, or several of them in memory.
SmallVector<Value> InterfaceBuilder::callWrapper(SmallVector<Value> operands) {
  auto several =
      dyn_cast<LLVM::LLVMStructType>(body.getFunctionType().getReturnType());
  if (!several) {
    auto call = LLVM::CallOp::create(b, wrapper, operands);
    return SmallVector<Value>(call.getResults());
  }
  Value memory = allocate(several);
  operands.insert(operands.begin(), memory);
  LLVM::CallOp::create(b, wrapper, operands);
  Value all = LLVM::LoadOp::create(b, several, memory);
  SmallVector<Value> results;
  for (int64_t i = 0, e = several.getBody().size(); i < e; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return results;
}

void InterfaceBuilder::storeResults(LLVM::LLVMFuncOp thunk,
                                    ValueRange results) {
  unsigned next = 0;
  for (auto [index, parameter] : llvm::enumerate(interface.parameters)) {
    if (parameter.kind != ParameterKind::ScalarResult)
      continue;
    Value result = results[next++];
    if (parameter.type.isInteger(1))
      result = LLVM::ZExtOp::create(b, b.getI8Type(), result);
    Value address = LLVM::LoadOp::create(
        b, pointer(), slotAddress(thunk.getArgument(0), index));
    LLVM::StoreOp::create(b, result, address);
  }
}

LLVM::LLVMFuncOp InterfaceBuilder::createThunk() {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer()});
  auto thunk =
      LLVM::LLVMFuncOp::create(b, (interface.name + "_thunk").str(), type);
  symbols.insert(thunk);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(thunk.addEntryBlock(b));
  auto wanted = wrapper.getArgumentTypes();
  size_t first = wanted.size();
  for (const CParameter &parameter : interface.parameters)
    first -= parameter.kind != ParameterKind::ScalarResult;
  SmallVector<Value> operands;
  for (auto [index, parameter] : llvm::enumerate(interface.parameters)) {
    if (parameter.kind == ParameterKind::ScalarResult)
      continue;
    Value slot = LLVM::LoadOp::create(b, pointer(),
                                      slotAddress(thunk.getArgument(0), index));
    operands.push_back(parameter.isArray()
                           ? slot
                           : loadScalar(slot, parameter.type,
                                        wanted[first + operands.size()]));
  }
  // Arguments come before destinations, as in the function.
  storeResults(thunk, callWrapper(operands));
  LLVM::ReturnOp::create(b, ValueRange());
  return thunk;
}

//===----------------------------------------------------------------------===//
// The description for the runtime
//===----------------------------------------------------------------------===//

/// A constant whose fields `fill` inserts into an undefined value.
LLVM::GlobalOp InterfaceBuilder::createGlobal(StringRef name, Type type,
                                              function_ref<Value(Value)> fill) {
  auto global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name,
                                       /*value=*/Attribute());
  symbols.insert(global);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&global.getInitializerRegion().emplaceBlock());
  LLVM::ReturnOp::create(b, fill(LLVM::UndefOp::create(b, type)));
  return global;
}

LLVM::GlobalOp InterfaceBuilder::createString(StringRef name, StringRef text) {
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size() + 1);
  auto global = LLVM::GlobalOp::create(
      b, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
      b.getStringAttr(Twine(text) + StringRef("\0", 1)));
  symbols.insert(global);
  return global;
}

LLVM::GlobalOp InterfaceBuilder::createParameters() {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto entry = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                                {pointer(), i32, i32, i64});
  auto type = LLVM::LLVMArrayType::get(entry, interface.parameters.size());
  SmallVector<LLVM::GlobalOp> names;
  for (const CParameter &parameter : interface.parameters)
    names.push_back(createString(
        (interface.name + "_name_" + parameter.name).str(), parameter.name));
  return createGlobal(
      (interface.name + "_parameters").str(), type, [&](Value value) {
        for (auto [index, parameter] : llvm::enumerate(interface.parameters)) {
          int64_t i = index;
          auto insert = [&](Value field, int64_t position) {
            value = LLVM::InsertValueOp::create(b, value, field,
                                                ArrayRef<int64_t>{i, position});
          };
          insert(LLVM::AddressOfOp::create(b, names[i]), 0);
          insert(constant(i32, getRuntimeKind(parameter.kind)), 1);
          insert(constant(i32, parameter.getShape().size()), 2);
          insert(constant(i64, parameter.getElementBytes()), 3);
        }
        return value;
      });
}

LLVM::GlobalOp InterfaceBuilder::createDescription(LLVM::LLVMFuncOp thunk) {
  LLVM::GlobalOp parameters = createParameters();
  LLVM::GlobalOp name =
      createString((interface.name + "_name").str(), interface.name);
  Type i32 = b.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {pointer(), pointer(), pointer(), i32, i32});
  return createGlobal(
      (interface.name + "_description").str(), type, [&](Value value) {
        auto insert = [&](Value field, int64_t position) {
          value = LLVM::InsertValueOp::create(b, value, field, position);
        };
        insert(LLVM::AddressOfOp::create(b, name), 0);
        insert(LLVM::AddressOfOp::create(b, thunk), 1);
        insert(LLVM::AddressOfOp::create(b, parameters), 2);
        insert(constant(i32, interface.parameters.size()), 3);
        insert(constant(i32, onDevice), 4);
        return value;
      });
}

//===----------------------------------------------------------------------===//
// The C function
//===----------------------------------------------------------------------===//

SmallVector<Type> InterfaceBuilder::getCTypes() {
  SmallVector<Type> types;
  for (const CParameter &parameter : interface.parameters) {
    if (parameter.kind == ParameterKind::Scalar) {
      types.push_back(scalarType(parameter.type));
      continue;
    }
    types.push_back(pointer());
    ArrayRef<int64_t> shape = parameter.getShape();
    types.append(llvm::count(shape, ShapedType::kDynamic) + shape.size(),
                 b.getI64Type());
  }
  types.push_back(pointer());
  return types;
}

/// A memref descriptor of the C parameters from \p next on.
Value InterfaceBuilder::createDescriptor(const CParameter &parameter,
                                         Block::args_iterator &next) {
  ArrayRef<int64_t> shape = parameter.getShape();
  Type type = descriptorType(shape.size());
  Value value = LLVM::UndefOp::create(b, type);
  auto insert = [&](Value field, ArrayRef<int64_t> position) {
    value = LLVM::InsertValueOp::create(b, value, field, position);
  };
  Value data = *next++;
  insert(data, 0);
  insert(data, 1);
  insert(constant(b.getI64Type(), 0), 2);
  for (auto [index, extent] : llvm::enumerate(shape))
    insert(ShapedType::isDynamic(extent) ? *next++
                                         : constant(b.getI64Type(), extent),
           {3, int64_t(index)});
  for (int64_t i = 0, e = shape.size(); i < e; ++i)
    insert(*next++, {4, i});
  Value memory = allocate(type);
  LLVM::StoreOp::create(b, value, memory);
  return memory;
}

LogicalResult InterfaceBuilder::createFunction(LLVM::GlobalOp description) {
  Type i32 = b.getI32Type();
  FailureOr<LLVM::LLVMFuncOp> invoke =
      LLVM::lookupOrCreateFn(b, body->getParentOp(), "mossInvoke",
                             {pointer(), pointer(), pointer()}, i32);
  if (failed(invoke))
    return body.emitError("needs the runtime's function 'mossInvoke', but the "
                          "program has another one of this name");
  auto function = LLVM::LLVMFuncOp::create(
      b, interface.name, LLVM::LLVMFunctionType::get(i32, getCTypes()));
  symbols.insert(function);
  function->setAttr(kCInterfaceAttrName, interface.toAttribute(b.getContext()));
  if (Attribute host = body->getAttr(kHostAttrName))
    function->setAttr(kHostAttrName, host);
  OpBuilder::InsertionGuard guard(b);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  auto next = entry->args_begin();
  SmallVector<Value> addresses;
  for (const CParameter &parameter : interface.parameters) {
    if (parameter.isArray()) {
      addresses.push_back(createDescriptor(parameter, next));
      continue;
    }
    Value value = *next++;
    if (parameter.kind == ParameterKind::Scalar) {
      Value memory = allocate(value.getType());
      LLVM::StoreOp::create(b, value, memory);
      value = memory;
    }
    addresses.push_back(value);
  }
  Value slots = allocate(LLVM::LLVMArrayType::get(pointer(), addresses.size()));
  for (auto [index, address] : llvm::enumerate(addresses))
    LLVM::StoreOp::create(b, address, slotAddress(slots, index));
  Value arguments = LLVM::AddressOfOp::create(b, description);
  auto call =
      LLVM::CallOp::create(b, *invoke, ValueRange{arguments, slots, *next});
  LLVM::ReturnOp::create(b, call.getResults());
  return success();
}

LogicalResult InterfaceBuilder::run() {
  LLVM::LLVMFuncOp thunk = createThunk();
  return createFunction(createDescription(thunk));
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
/// A function that gets a C function, and its wrapper.
struct Implementation {
  LLVM::LLVMFuncOp func, wrapper;
  CInterface interface;
};

struct CreateCInterfacePass
    : moss::impl::MossCreateCInterfaceBase<CreateCInterfacePass> {
  using MossCreateCInterfaceBase::MossCreateCInterfaceBase;

  void runOnOperation() override;

private:
  FailureOr<SmallVector<Implementation>> collect(SymbolTable &symbols);
  void makeWay(ArrayRef<Implementation> implementations, SymbolTable &symbols);
  LogicalResult create(const Implementation &implementation,
                       SymbolTable &symbols);
  void hideSymbols();

  bool onDevice = false;
};
} // namespace

static FailureOr<Implementation> findImplementation(LLVM::LLVMFuncOp func,
                                                    SymbolTable &symbols) {
  std::optional<CInterface> interface = CInterface::get(func);
  if (!interface)
    return func.emitError("attribute '")
           << kCInterfaceAttrName
           << "' must be as moss-results-to-arguments makes it, with a name "
              "and parameters, but is "
           << func->getAttr(kCInterfaceAttrName);
  auto wrapper =
      symbols.lookup<LLVM::LLVMFuncOp>((kWrapperPrefix + func.getName()).str());
  if (!wrapper)
    return func.emitError("has no wrapper '")
           << kWrapperPrefix << func.getName()
           << "'; run moss-request-c-wrappers before it is lowered to LLVM";
  func->removeAttr(kCInterfaceAttrName);
  return Implementation{func, wrapper, *interface};
}

FailureOr<SmallVector<Implementation>>
CreateCInterfacePass::collect(SymbolTable &symbols) {
  SmallVector<Implementation> found;
  for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>()) {
    // Wrappers get the attributes of what they wrap.
    if (func.getName().starts_with(kWrapperPrefix)) {
      func->removeAttr(kCInterfaceAttrName);
      continue;
    }
    if (!func->hasAttr(kCInterfaceAttrName))
      continue;
    FailureOr<Implementation> implementation =
        findImplementation(func, symbols);
    if (failed(implementation))
      return failure();
    found.push_back(*implementation);
  }
  return found;
}

/// Rename functions, since C functions mostly have the names that they had.
/// SymbolTable::rename would look through the whole module for each.
void CreateCInterfacePass::makeWay(ArrayRef<Implementation> implementations,
                                   SymbolTable &symbols) {
  llvm::DenseMap<Attribute, Attribute> names;
  for (const Implementation &implementation : implementations) {
    LLVM::LLVMFuncOp func = implementation.func;
    auto old = FlatSymbolRefAttr::get(func);
    Operation *next = func->getNextNode();
    symbols.remove(func);
    func->remove();
    func.setName((implementation.interface.name + "_body").str());
    symbols.insert(func, next ? Block::iterator(next)
                              : getOperation().getBody()->end());
    names[old] = FlatSymbolRefAttr::get(func);
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](SymbolRefAttr name) -> std::optional<Attribute> {
    if (Attribute renamed = names.lookup(name))
      return renamed;
    return std::nullopt;
  });
  replacer.recursivelyReplaceElementsIn(getOperation());
}

LogicalResult CreateCInterfacePass::create(const Implementation &implementation,
                                           SymbolTable &symbols) {
  auto [func, wrapper, interface] = implementation;
  if (symbols.lookup(interface.name))
    return func.emitError("cannot have the C function '")
           << interface.name
           << "': the program has another symbol of this name";
  bool isOnDevice = onDevice && !func->hasAttr(kHostAttrName);
  return InterfaceBuilder(func, wrapper, interface, isOnDevice, symbols).run();
}

/// Only C functions are for others.
void CreateCInterfacePass::hideSymbols() {
  for (Operation &op : getOperation().getOps()) {
    if (op.hasAttr(kCInterfaceAttrName))
      continue;
    if (auto func = dyn_cast<LLVM::LLVMFuncOp>(op); func && !func.isExternal())
      func.setLinkage(LLVM::Linkage::Internal);
    else if (auto global = dyn_cast<LLVM::GlobalOp>(op);
             global &&
             (global.getValueOrNull() || global.getInitializerBlock()))
      global.setLinkage(LLVM::Linkage::Internal);
  }
}

void CreateCInterfacePass::runOnOperation() {
  FailureOr<TargetInfo> machine = lookupTarget(target);
  if (failed(machine)) {
    getOperation().emitError("unknown target '")
        << target << "', expected " << getTargetNames();
    return signalPassFailure();
  }
  onDevice = machine->kind != TargetKind::CPU;
  getOperation()->setAttr(kTargetAttrName,
                          StringAttr::get(&getContext(), target));
  SymbolTable symbols(getOperation());
  FailureOr<SmallVector<Implementation>> implementations = collect(symbols);
  if (failed(implementations))
    return signalPassFailure();
  makeWay(*implementations, symbols);
  for (const Implementation &implementation : *implementations)
    if (failed(create(implementation, symbols)))
      return signalPassFailure();
  hideSymbols();
}
