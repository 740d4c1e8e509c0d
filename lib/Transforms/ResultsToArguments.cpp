//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of public functions to destinations that the caller provides, on
// tensors, so that bufferization computes into them.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/UpdatedArguments.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSRESULTSTOARGUMENTS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

static LogicalResult checkType(func::FuncOp func, Type type, const Twine &what,
                               bool isResult) {
  auto memref = dyn_cast<MemRefType>(type);
  if (isResult && isa<BaseMemRefType>(type))
    return func.emitError() << what << " of '" << func.getName() << "' is a "
                            << type << ", whose owner C cannot know; return a "
                            << "tensor, or take the memref as an argument";
  bool isLaidOut =
      !memref || (memref.getLayout().isIdentity() && !memref.getMemorySpace());
  bool isKnown =
      isa<RankedTensorType>(type) || memref || !isa<ShapedType>(type);
  if (isKnown && isLaidOut && isCType(type))
    return success();
  return func.emitError()
         << what << " of '" << func.getName() << "' is a " << type
         << ", which has no counterpart in C; ranked tensors and contiguous "
            "memrefs of floats, signless integers and index do, and such "
            "values themselves; or make the function private";
}

static LogicalResult checkTypes(func::FuncOp func) {
  for (auto [index, type] : llvm::enumerate(func.getArgumentTypes()))
    if (failed(checkType(func, type, "argument " + Twine(index),
                         /*isResult=*/false)))
      return failure();
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    if (failed(checkType(func, type, "result " + Twine(index),
                         /*isResult=*/true)))
      return failure();
  return success();
}

static ParameterKind getArgumentKind(Type type, bool isUpdated) {
  if (isUpdated)
    return ParameterKind::Update;
  return isa<TensorType>(type)   ? ParameterKind::Tensor
         : isa<MemRefType>(type) ? ParameterKind::Buffer
                                 : ParameterKind::Scalar;
}

/// The names and kinds of a function's C parameters.
static CInterface makeInterface(func::FuncOp func, StringRef name,
                                const UpdatedArguments &updates) {
  SmallVector<StringRef> wanted;
  if (auto given = func->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName))
    for (Attribute attribute : given)
      if (auto string = dyn_cast<StringAttr>(attribute))
        wanted.push_back(string.getValue());
  SmallVector<Type> results;
  for (auto [update, type] : llvm::zip_equal(updates, func.getResultTypes()))
    if (!update)
      results.push_back(type);
  SmallVector<std::string> names =
      chooseParameterNames(wanted, func.getArgumentTypes(), results);
  CInterface interface{
      StringAttr::get(func.getContext(), name), func.getName(), {}};
  auto add = [&](ParameterKind kind, Type type) {
    StringRef unique =
        StringAttr::get(func.getContext(), names[interface.parameters.size()]);
    interface.parameters.push_back({unique, kind, type});
  };
  for (auto [number, type] : llvm::enumerate(func.getArgumentTypes())) {
    add(getArgumentKind(type, llvm::is_contained(updates, unsigned(number))),
        type);
    CParameter &parameter = interface.parameters.back();
    parameter.initial =
        func.getArgAttrOfType<FloatAttr>(number, kInitialAttrName);
    parameter.rows = func.getArgAttrOfType<ArrayAttr>(number, kRowsAttrName);
  }
  for (Type type : results)
    add(isa<TensorType>(type) ? ParameterKind::Result
                              : ParameterKind::ScalarResult,
        type);
  return interface;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Compute into a new tensor where an argument is only the place to compute
/// into, and its content not read: arguments are not written to.
static void detachUnreadInits(func::FuncOp func) {
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  SmallVector<OpOperand *> inits;
  for (BlockArgument argument : func.getArguments())
    for (OpOperand &use : argument.getUses()) {
      auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
      if (op && isa<TensorType>(argument.getType()) && op.isDpsInit(&use) &&
          options.dynCastBufferizableOp(op) &&
          !state.bufferizesToMemoryRead(use))
        inits.push_back(&use);
    }
  for (OpOperand *init : inits) {
    ImplicitLocOpBuilder b(init->getOwner()->getLoc(), init->getOwner());
    auto type = cast<RankedTensorType>(init->get().getType());
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), init->get());
    init->set(tensor::EmptyOp::create(b, sizes, type.getElementType(),
                                      type.getEncoding()));
  }
}

/// Let the caller's memory be where tensors are that the function updates.
static void takeUpdatedMemory(func::FuncOp func,
                              const UpdatedArguments &updates) {
  auto b = ImplicitLocOpBuilder::atBlockBegin(func.getLoc(), &func.front());
  for (BlockArgument argument : func.getArguments()) {
    if (!llvm::is_contained(updates, argument.getArgNumber()))
      continue;
    auto tensor = cast<RankedTensorType>(argument.getType());
    argument.setType(
        MemRefType::get(tensor.getShape(), tensor.getElementType()));
    auto value = bufferization::ToTensorOp::create(
        b, tensor, argument, /*restrict=*/true, /*writable=*/true);
    argument.replaceAllUsesExcept(value, value);
  }
  func.setType(FunctionType::get(func.getContext(),
                                 func.front().getArgumentTypes(),
                                 func.getResultTypes()));
}

static void markReadOnly(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (isa<TensorType>(argument.getType()))
      func.setArgAttr(argument.getArgNumber(),
                      bufferization::BufferizationDialect::kWritableAttrName,
                      BoolAttr::get(func.getContext(), false));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Move the computation of a value before \p anchor, if it depends on nothing
/// but the function's arguments.
static bool hoist(Value value, Operation *anchor) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return cast<BlockArgument>(value).getOwner() == anchor->getBlock();
  if (op->getBlock() == anchor->getBlock() && op->isBeforeInBlock(anchor))
    return true;
  if (op->getNumRegions() != 0 || !isPure(op) ||
      !llvm::all_of(op->getOperands(),
                    [&](Value operand) { return hoist(operand, anchor); }))
    return false;
  op->moveBefore(anchor);
  return true;
}

/// Express extents of results by those of arguments, as far as ops say how.
static LogicalResult resolveDims(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, func.getContext());
  // Returns must stay where they are, so blocks are not merged.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyPatternsGreedily(func, std::move(patterns), config);
}

namespace {
/// A tensor that a function returns, where it goes, and the checks that it fits
/// there.
struct Destination {
  func::ReturnOp ret;
  unsigned result;
  /// The number of the parameter in C.
  unsigned parameter;
  Value memref;
  bool isUpdate;
  SmallVector<cf::AssertOp> checks;
};

/// Gives a function destinations for its tensors.
class DestinationAdder {
public:
  DestinationAdder(func::FuncOp func, CInterface &interface,
                   const UpdatedArguments &updates)
      : func(func), interface(interface), updates(updates) {}

  LogicalResult run();

private:
  void addArguments();
  void addDestination(unsigned result, unsigned parameter, Value memref,
                      bool isUpdate);
  bool isUpdated(Value memref);
  void separateUpdates();
  void createChecks(Destination &destination, StringRef name);
  bool hoistChecks(const Destination &destination, Operation *anchor);
  void noteExtents(const Destination &destination);
  void materialize(const Destination &destination, bool inPlace);
  void dropTensorResults();

  func::FuncOp func;
  CInterface &interface;
  const UpdatedArguments &updates;
  SmallVector<Destination> destinations;
};
} // namespace

/// Results that are arguments come last: others may still be old values of
/// these.
void DestinationAdder::addArguments() {
  unsigned parameter = func.getNumArguments();
  for (unsigned index = 0, e = func.getNumResults(); index < e; ++index) {
    if (updates[index])
      continue;
    unsigned number = parameter++;
    auto tensor = dyn_cast<RankedTensorType>(func.getResultTypes()[index]);
    if (!tensor)
      continue;
    auto memref = MemRefType::get(tensor.getShape(), tensor.getElementType());
    if (failed(func.insertArgument(func.getNumArguments(), memref, {},
                                   func.getLoc())))
      llvm_unreachable("a function takes any argument");
    addDestination(index, number, func.getArguments().back(),
                   /*isUpdate=*/false);
  }
  for (auto [index, argument] : llvm::enumerate(updates))
    if (argument)
      addDestination(index, *argument, func.getArgument(*argument),
                     /*isUpdate=*/true);
}

void DestinationAdder::addDestination(unsigned result, unsigned parameter,
                                      Value memref, bool isUpdate) {
  func.walk([&](func::ReturnOp ret) {
    destinations.push_back({ret, result, parameter, memref, isUpdate, {}});
    createChecks(destinations.back(), interface.parameters[parameter].name);
  });
}

bool DestinationAdder::isUpdated(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  return argument && argument.getOwner() == &func.front() &&
         llvm::is_contained(updates, argument.getArgNumber());
}

/// Copy a result that updates one argument and may be in the memory of another,
/// as where two are exchanged: writing one would change the other.
void DestinationAdder::separateUpdates() {
  for (const Destination &destination : destinations) {
    if (!destination.isUpdate)
      continue;
    func::ReturnOp ret = destination.ret;
    OpOperand &operand = ret->getOpOperand(destination.result);
    if (!mayBeInOtherMemory(operand, destination.memref))
      continue;
    OpBuilder b(ret);
    operand.set(bufferization::AllocTensorOp::create(
        b, func.getLoc(), cast<RankedTensorType>(operand.get().getType()),
        ValueRange(), operand.get()));
  }
}

void DestinationAdder::createChecks(Destination &destination, StringRef name) {
  func::ReturnOp ret = destination.ret;
  ImplicitLocOpBuilder b(ret.getLoc(), ret);
  Value tensor = ret.getOperand(destination.result);
  auto type = cast<RankedTensorType>(tensor.getType());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      continue;
    Value computed = tensor::DimOp::create(b, tensor, i);
    Value given = memref::DimOp::create(b, destination.memref, i);
    Value equal =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, computed, given);
    std::string message =
        (interface.name + ": '" + name + "' has another size in dimension " +
         Twine(i) + " than what is computed")
            .str();
    destination.checks.push_back(cf::AssertOp::create(b, equal, message));
  }
}

/// Check extents before anything is computed, and return true, if they are
/// known then.
bool DestinationAdder::hoistChecks(const Destination &destination,
                                   Operation *anchor) {
  for (cf::AssertOp check : destination.checks)
    if (!hoist(check.getArg(), anchor))
      return false;
  for (cf::AssertOp check : destination.checks)
    check->moveBefore(anchor);
  return true;
}

/// The argument's extent that a value is, if it is one.
static std::optional<ArgumentExtent> getArgumentExtent(Value value) {
  auto dim = value.getDefiningOp<tensor::DimOp>();
  if (!dim || !dim.getConstantIndex())
    return std::nullopt;
  Value source = dim.getSource();
  if (auto load = source.getDefiningOp<bufferization::ToTensorOp>())
    source = load.getBuffer();
  auto argument = dyn_cast<BlockArgument>(source);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
      !argument.getOwner()->isEntryBlock())
    return std::nullopt;
  return ArgumentExtent{argument.getArgNumber(), *dim.getConstantIndex()};
}

/// Let callers know which extents of a result are those of arguments.
void DestinationAdder::noteExtents(const Destination &destination) {
  for (cf::AssertOp check : destination.checks)
    interface.parameters[destination.parameter].extents.push_back(
        getArgumentExtent(
            check.getArg().getDefiningOp<arith::CmpIOp>().getLhs()));
}

/// Without \p inPlace, the tensor is computed elsewhere and copied: its extents
/// are not checked before, or another path of the function has the memory. An
/// argument that is updated has an old value there, too; the copy goes away
/// where bufferization finds that the new one may overwrite it.
void DestinationAdder::materialize(const Destination &destination,
                                   bool inPlace) {
  func::ReturnOp ret = destination.ret;
  OpBuilder b(ret);
  bufferization::MaterializeInDestinationOp::create(
      b, ret.getLoc(), /*result=*/Type(), ret.getOperand(destination.result),
      destination.memref, /*restrict=*/inPlace, /*writable=*/true);
}

void DestinationAdder::dropTensorResults() {
  BitVector isTensor(func.getNumResults());
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    isTensor[index] = isa<TensorType>(type);
  func.walk([&](func::ReturnOp ret) { ret->eraseOperands(isTensor); });
  if (failed(func.eraseResults(isTensor)))
    llvm_unreachable("a function with a body can lose results");
}

LogicalResult DestinationAdder::run() {
  takeUpdatedMemory(func, updates);
  markReadOnly(func);
  detachUnreadInits(func);
  addArguments();
  if (failed(resolveDims(func)))
    return func.emitError("the shapes of its results could not be resolved");
  OpBuilder b(&func.front(), func.front().begin());
  for (Operation &op : func.front())
    if (auto load = dyn_cast<bufferization::ToTensorOp>(op))
      if (isUpdated(load.getBuffer()))
        b.setInsertionPointAfter(load);
  Operation *anchor =
      arith::ConstantIndexOp::create(b, func.getLoc(), 0).getOperation();
  bool hasOneReturn = llvm::count_if(func.getBody(), [](Block &block) {
                        return isa<func::ReturnOp>(block.getTerminator());
                      }) == 1;
  separateUpdates();
  for (const Destination &destination : destinations) {
    if (hasOneReturn && !destination.isUpdate)
      noteExtents(destination);
    // What one path returns need not fit where another one is taken.
    bool isEarly = hasOneReturn && hoistChecks(destination, anchor);
    materialize(destination, isEarly && !destination.isUpdate);
  }
  anchor->erase();
  dropTensorResults();
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ResultsToArgumentsPass
    : moss::impl::MossResultsToArgumentsBase<ResultsToArgumentsPass> {
  using MossResultsToArgumentsBase::MossResultsToArgumentsBase;

  void runOnOperation() override;

private:
  LogicalResult checkName(func::FuncOp func, StringRef name);
  void keepForCallers(ArrayRef<func::FuncOp> funcs);
};
} // namespace

LogicalResult ResultsToArgumentsPass::checkName(func::FuncOp func,
                                                StringRef name) {
  std::string problem = findCNameProblem(name);
  if (problem.empty())
    return success();
  return func.emitError() << "'" << name
                          << "' cannot be the name of a C function: it "
                          << problem
                          << "; rename the function, make it private, or "
                             "compile with a prefix, as --prefix=moss_";
}

/// Let calls inside the module go to private copies of what they call.
void ResultsToArgumentsPass::keepForCallers(ArrayRef<func::FuncOp> funcs) {
  SymbolTable symbols(getOperation());
  SymbolTableCollection collection;
  SymbolUserMap users(collection, getOperation());
  llvm::DenseMap<StringAttr, StringAttr> copies;
  for (func::FuncOp func : funcs) {
    if (users.useEmpty(func))
      continue;
    func::FuncOp copy = func.clone();
    copy.setPrivate();
    symbols.insert(copy, std::next(func->getIterator()));
    copies[func.getNameAttr()] = copy.getNameAttr();
  }
  auto redirect = [&](FlatSymbolRefAttr callee, auto set) {
    if (StringAttr copy = copies.lookup(callee.getAttr()))
      set(FlatSymbolRefAttr::get(copy));
  };
  getOperation().walk([&](Operation *op) {
    if (auto call = dyn_cast<func::CallOp>(op))
      redirect(call.getCalleeAttr(),
               [&](FlatSymbolRefAttr copy) { call.setCalleeAttr(copy); });
    else if (auto constant = dyn_cast<func::ConstantOp>(op))
      redirect(constant.getValueAttr(),
               [&](FlatSymbolRefAttr copy) { constant.setValueAttr(copy); });
  });
}

void ResultsToArgumentsPass::runOnOperation() {
  SmallVector<func::FuncOp> funcs;
  bool failedAny = false;
  // Lowerings would drop it without a word.
  for (auto nested : getOperation().getOps<ModuleOp>()) {
    nested.emitError("a module inside another has no C interface; move its "
                     "functions to the outer one");
    failedAny = true;
  }
  for (auto func : getOperation().getOps<func::FuncOp>()) {
    if (!func.isPublic() || func.isExternal())
      continue;
    failedAny |= failed(checkName(func, prefix + func.getName().str())) ||
                 failed(checkTypes(func));
    funcs.push_back(func);
  }
  if (failedAny)
    return signalPassFailure();
  keepForCallers(funcs);
  for (func::FuncOp func : funcs) {
    FailureOr<UpdatedArguments> updates = getUpdatedArguments(func);
    if (failed(updates))
      return signalPassFailure();
    CInterface interface =
        makeInterface(func, prefix + func.getName().str(), *updates);
    func->removeAttr(kArgumentNamesAttrName);
    if (failed(DestinationAdder(func, interface, *updates).run()))
      return signalPassFailure();
    func->setAttr(kCInterfaceAttrName, interface.toAttribute(&getContext()));
  }
}
