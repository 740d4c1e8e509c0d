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

static ParameterKind getArgumentKind(Type type) {
  return isa<TensorType>(type)   ? ParameterKind::Tensor
         : isa<MemRefType>(type) ? ParameterKind::Buffer
                                 : ParameterKind::Scalar;
}

/// For each result the argument that it is the new value of, if any.
using Updates = SmallVector<std::optional<unsigned>>;

/// The names and kinds of a function's C parameters: arguments, and results
/// other than updates of arguments.
static CInterface makeInterface(func::FuncOp func, StringRef name,
                                const Updates &updates) {
  SmallVector<Type> results;
  for (auto [type, update] : llvm::zip_equal(func.getResultTypes(), updates))
    if (!update)
      results.push_back(type);
  SmallVector<StringRef> wanted;
  if (auto given = func->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName))
    for (Attribute attribute : given)
      if (auto string = dyn_cast<StringAttr>(attribute))
        wanted.push_back(string.getValue());
  SmallVector<std::string> names =
      chooseParameterNames(wanted, func.getArgumentTypes(), results);
  CInterface interface{
      StringAttr::get(func.getContext(), name), func.getName(), {}};
  auto add = [&](ParameterKind kind, Type type) {
    StringRef unique =
        StringAttr::get(func.getContext(), names[interface.parameters.size()]);
    interface.parameters.push_back({unique, kind, type});
  };
  for (Type type : func.getArgumentTypes())
    add(getArgumentKind(type), type);
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

static void markReadOnly(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (isa<TensorType>(argument.getType()))
      func.setArgAttr(argument.getArgNumber(),
                      bufferization::BufferizationDialect::kWritableAttrName,
                      BoolAttr::get(func.getContext(), false));
}

//===----------------------------------------------------------------------===//
// Arguments that are updated
//===----------------------------------------------------------------------===//

/// For each result the argument that it is marked to update, if it is. Marks
/// must fit, and be of different arguments.
static FailureOr<Updates> getUpdates(func::FuncOp func) {
  Updates updates(func.getNumResults());
  for (unsigned result = 0; result < updates.size(); ++result) {
    Attribute mark = func.getResultAttr(result, WeightAttr::kUpdateName);
    if (!mark)
      continue;
    auto number = dyn_cast<IntegerAttr>(mark);
    bool fits = number && number.getType().isSignlessInteger(64) &&
                number.getInt() >= 0 &&
                number.getInt() < func.getNumArguments() &&
                !llvm::is_contained(updates, number.getInt());
    Type type = func.getResultTypes()[result];
    if (!fits || !isa<RankedTensorType>(type) ||
        func.getArgumentTypes()[number.getInt()] != type)
      return func.emitError()
             << "result " << result << " of '" << func.getName()
             << "' is marked '" << WeightAttr::kUpdateName
             << "', which must be the number of an argument that is a tensor "
                "of "
                "its type and that no other result updates, but is "
             << mark;
    updates[result] = number.getInt();
  }
  return updates;
}

/// Let the argument \p number be memory of the caller, to which is written.
static void makeWritable(func::FuncOp func, unsigned number) {
  BlockArgument argument = func.getArgument(number);
  auto type = cast<RankedTensorType>(argument.getType());
  auto b = ImplicitLocOpBuilder::atBlockBegin(func.getLoc(), &func.front());
  argument.setType(MemRefType::get(type.getShape(), type.getElementType()));
  auto tensor = bufferization::ToTensorOp::create(b, type, argument,
                                                  /*restrict=*/true,
                                                  /*writable=*/true);
  argument.replaceAllUsesExcept(tensor, tensor);
}

static void makeWritable(func::FuncOp func, const Updates &updates) {
  for (std::optional<unsigned> argument : updates)
    if (argument)
      makeWritable(func, *argument);
  func.setType(FunctionType::get(func.getContext(),
                                 func.front().getArgumentTypes(),
                                 func.getResultTypes()));
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
  bufferization::ToTensorOp::getCanonicalizationPatterns(patterns,
                                                         func.getContext());
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
  Value memref;
  /// The number of the parameter.
  unsigned parameter;
  SmallVector<cf::AssertOp> checks;
};

/// Gives a function destinations for its tensors.
class DestinationAdder {
public:
  DestinationAdder(func::FuncOp func, CInterface &interface,
                   const Updates &updates)
      : func(func), interface(interface), updates(updates) {}

  LogicalResult run();

private:
  void addArguments();
  void addDestinations(unsigned result, Value memref, unsigned parameter);
  void createChecks(Destination &destination);
  bool hoistChecks(const Destination &destination, Operation *anchor);
  void noteExtents(const Destination &destination);
  void materialize(const Destination &destination, bool inPlace);
  void dropTensorResults();

  func::FuncOp func;
  CInterface &interface;
  const Updates &updates;
  SmallVector<Destination> destinations;
};
} // namespace

void DestinationAdder::addArguments() {
  unsigned parameter = func.getNumArguments();
  for (unsigned index = 0, e = func.getNumResults(); index < e; ++index) {
    if (updates[index])
      continue;
    if (auto tensor =
            dyn_cast<RankedTensorType>(func.getResultTypes()[index])) {
      auto memref = MemRefType::get(tensor.getShape(), tensor.getElementType());
      if (failed(func.insertArgument(func.getNumArguments(), memref, {},
                                     func.getLoc())))
        llvm_unreachable("a function takes any argument");
      addDestinations(index, func.getArguments().back(), parameter);
    }
    ++parameter;
  }
  // Written last, as other results may be what arguments were.
  for (auto [index, argument] : llvm::enumerate(updates))
    if (argument)
      addDestinations(index, func.getArgument(*argument), *argument);
}

void DestinationAdder::addDestinations(unsigned result, Value memref,
                                       unsigned parameter) {
  func.walk([&](func::ReturnOp ret) {
    destinations.push_back({ret, result, memref, parameter, {}});
    createChecks(destinations.back());
  });
}

void DestinationAdder::createChecks(Destination &destination) {
  StringRef name = interface.parameters[destination.parameter].name;
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
  auto dim = dyn_cast_or_null<ShapedDimOpInterface>(value.getDefiningOp());
  if (!dim)
    return std::nullopt;
  std::optional<int64_t> number = getConstantIntValue(dim.getDimension());
  if (!number)
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(dim.getShapedValue());
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
      !argument.getOwner()->isEntryBlock())
    return std::nullopt;
  return ArgumentExtent{argument.getArgNumber(), *number};
}

/// Let callers know which extents of a result are those of arguments.
void DestinationAdder::noteExtents(const Destination &destination) {
  CParameter &parameter = interface.parameters[destination.parameter];
  if (parameter.kind != ParameterKind::Result)
    return;
  for (cf::AssertOp check : destination.checks)
    parameter.extents.push_back(getArgumentExtent(
        check.getArg().getDefiningOp<arith::CmpIOp>().getLhs()));
}

/// Without \p inPlace, the tensor is computed elsewhere and copied: its extents
/// are not checked before, or another path of the function has the memory.
/// Updates of arguments are computed where bufferization decided before.
void DestinationAdder::materialize(const Destination &destination,
                                   bool inPlace) {
  func::ReturnOp ret = destination.ret;
  ImplicitLocOpBuilder b(ret.getLoc(), ret);
  Value tensor = ret.getOperand(destination.result);
  if (updates[destination.result])
    // In the argument's tensor first, where bufferization sees what still reads
    // it, as the update of another argument may.
    for (Operation *user : destination.memref.getUsers())
      if (auto old = dyn_cast<bufferization::ToTensorOp>(user))
        tensor = bufferization::MaterializeInDestinationOp::create(
                     b, tensor.getType(), tensor, old)
                     .getResult();
  bufferization::MaterializeInDestinationOp::create(
      b, /*result=*/Type(), tensor, destination.memref, /*restrict=*/inPlace,
      /*writable=*/true);
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
  markReadOnly(func);
  detachUnreadInits(func);
  addArguments();
  if (failed(resolveDims(func)))
    return func.emitError("the shapes of its results could not be resolved");
  OpBuilder b(&func.front(), func.front().begin());
  Operation *anchor =
      arith::ConstantIndexOp::create(b, func.getLoc(), 0).getOperation();
  bool hasOneReturn = llvm::count_if(func.getBody(), [](Block &block) {
                        return isa<func::ReturnOp>(block.getTerminator());
                      }) == 1;
  for (const Destination &destination : destinations) {
    if (hasOneReturn)
      noteExtents(destination);
    // What one path returns need not fit where another one is taken.
    bool isChecked = hasOneReturn && hoistChecks(destination, anchor);
    materialize(destination, updates[destination.result] || isChecked);
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
    FailureOr<Updates> updates = getUpdates(func);
    if (failed(updates))
      return signalPassFailure();
    makeWritable(func, *updates);
    CInterface interface =
        makeInterface(func, prefix + func.getName().str(), *updates);
    func->removeAttr(kArgumentNamesAttrName);
    if (failed(DestinationAdder(func, interface, *updates).run()))
      return signalPassFailure();
    func->setAttr(kCInterfaceAttrName, interface.toAttribute(&getContext()));
  }
}
