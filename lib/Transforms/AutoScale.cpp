//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-auto-scale: quantize marked weights under predicted scales.
//
// Scales are measured, where they must be, ahead of everything else in a
// function. So the quantizations, wherever they are, only refer to a scale that
// dominates them, and need no branch.
//
//===----------------------------------------------------------------------===//

#include "AutoScale.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "moss/Transforms/Passes.h"

#include <set>

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSAUTOSCALE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// From a quantization to the weight
//===----------------------------------------------------------------------===//

namespace {
/// What a mark is on: an argument of a function, or a global.
struct Origin {
  Operation *symbol = nullptr;
  std::optional<unsigned> argument;

  WeightAttr getMark() const {
    if (argument)
      return cast<func::FuncOp>(symbol).getArgAttrOfType<WeightAttr>(
          *argument, WeightAttr::kMarkName);
    return symbol->getAttrOfType<WeightAttr>(WeightAttr::kMarkName);
  }
  std::string getName() const {
    if (StringAttr name = getMark().getName())
      return name.str();
    std::string text = SymbolTable::getSymbolName(symbol).str();
    return argument ? text + ":" + std::to_string(*argument) : text;
  }
};
} // namespace

/// Whether the op only rounds each element of its one input, or moves it.
static bool isElementwiseRounding(Operation *op) {
  auto generic = dyn_cast<linalg::LinalgOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || generic.getNumReductionLoops() != 0 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isPermutation(); }))
    return false;
  Block &body = *generic.getBlock();
  Value yielded = body.getTerminator()->getOperand(0);
  if (auto truncation = yielded.getDefiningOp<arith::TruncFOp>())
    yielded = truncation.getIn();
  return yielded == body.getArgument(0);
}

/// The value whose elements, rounded at most, `value` has; null if it computes
/// its own.
static Value stepBack(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::TruncFOp, tensor::CastOp, bufferization::ToTensorOp>(op) ||
      isElementwiseRounding(op))
    return op->getOperand(0);
  return {};
}

/// Where a matrix comes from, as far as that can be marked.
static std::optional<Origin> findOrigin(Value value,
                                        SymbolTableCollection &symbols) {
  while (Value source = stepBack(value))
    value = source;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (func && argument.getOwner()->isEntryBlock())
      return Origin{func, argument.getArgNumber()};
    return std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  SymbolRefAttr name;
  if (auto load = dyn_cast<ml_program::GlobalLoadOp>(op))
    name = load.getGlobalAttr();
  else if (auto load = dyn_cast<ml_program::GlobalLoadConstOp>(op))
    name = load.getGlobalAttr();
  if (!name)
    return std::nullopt;
  if (Operation *global = symbols.lookupNearestSymbolFrom(op, name))
    return Origin{global, std::nullopt};
  return std::nullopt;
}

/// Whether a store to the weight's global, which a called function may make,
/// may come before the quantization, which then sees another weight than the
/// function's entry does.
static bool isOverwritten(QuantizeOp op, const Origin &origin) {
  if (origin.argument)
    return false;
  StringRef name = SymbolTable::getSymbolName(origin.symbol);
  auto func = op->getParentOfType<func::FuncOp>();
  WalkResult result = func.walk([&](Operation *writer) {
    auto store = dyn_cast<ml_program::GlobalStoreOp>(writer);
    if (store ? store.getGlobal().getLeafReference() != name
              : !isa<CallOpInterface>(writer))
      return WalkResult::advance();
    Operation *ancestor = func.getBody().front().findAncestorOpInBlock(*op);
    Operation *other = func.getBody().front().findAncestorOpInBlock(*writer);
    bool isLater = ancestor && other && ancestor != other &&
                   ancestor->isBeforeInBlock(other);
    return isLater ? WalkResult::advance() : WalkResult::interrupt();
  });
  return result.wasInterrupted();
}

/// Why the scale of a marked weight is not predicted here, or an empty string.
static std::string getReasonToSkip(QuantizeOp op, const Origin &origin) {
  SchemeAttr scheme = op.getScheme();
  if (!isa<RankedTensorType>(op.getSource().getType()))
    return "it is on memrefs; run moss-auto-scale before bufferization";
  if (scheme.hasMicro())
    return "its scheme has micro scales, which take a maximum of every group";
  if (scheme.getGlobal() != GlobalScale::JIT)
    return llvm::formatv("its global scale is '{0}' and not 'jit'",
                         stringifyGlobalScale(scheme.getGlobal()));
  if (!isAvailableAtEntry(op.getSource()))
    return "it is computed from values that are not arguments of the function";
  if (isOverwritten(op, origin))
    return "its global may be stored to before it is quantized";
  return "";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct AutoScalePass : moss::impl::MossAutoScaleBase<AutoScalePass> {
  using MossAutoScaleBase::MossAutoScaleBase;
  void runOnOperation() override;

private:
  LogicalResult addMarks();
  LogicalResult addMark(StringRef place, WeightAttr mark);
  LogicalResult collect(WeightTable &table);
  LogicalResult addUse(WeightTable &table, QuantizeOp op, const Origin &origin);
  LogicalResult checkFunctions(const WeightTable &table);
  void removeMarks();

  unsigned numMarks = 0;
};
} // namespace

/// Mark what `place` names.
LogicalResult AutoScalePass::addMark(StringRef place, WeightAttr mark) {
  ModuleOp module = getOperation();
  auto fail = [&](const Twine &reason) {
    return module.emitError("option 'weights' has '")
           << place << "', " << reason;
  };
  if (place.starts_with("@")) {
    Operation *global = module.lookupSymbol(place.drop_front());
    if (!global || !global->getAttrOfType<TypeAttr>("type"))
      return fail("but the module has no such global");
    global->setAttr(WeightAttr::kMarkName, mark);
    return success();
  }
  auto [name, number] = place.rsplit(':');
  unsigned argument;
  if (number.getAsInteger(10, argument))
    return fail("but expected '<function>:<argument number>' or '@<global>'");
  auto func = module.lookupSymbol<func::FuncOp>(name);
  if (!func || argument >= func.getNumArguments())
    return fail("but the module has no such function or argument");
  func.setArgAttr(argument, WeightAttr::kMarkName, mark);
  return success();
}

LogicalResult AutoScalePass::addMarks() {
  if (weights.empty() && mark.empty())
    return success();
  if (weights.empty() || mark.empty())
    return getOperation().emitError(
        "options 'weights' and 'mark' must be given together");
  auto parsed =
      dyn_cast_or_null<WeightAttr>(parseAttribute(mark, &getContext()));
  if (!parsed)
    return getOperation().emitError("option 'mark' must be a #moss.weight, "
                                    "but is '")
           << mark << "'";
  for (const std::string &place : weights)
    if (failed(addMark(place, parsed)))
      return failure();
  return success();
}

LogicalResult AutoScalePass::addUse(WeightTable &table, QuantizeOp op,
                                    const Origin &origin) {
  WeightAttr mark = origin.getMark();
  auto rule =
      ScaleRuleAttr::get(&getContext(), mark.getOptimizer(),
                         op.getScheme().getElementType(), mark.getMaster());
  std::string name = origin.getName();
  auto *known = llvm::find_if(table.weights, [&](PredictedWeight &weight) {
    return weight.name == name;
  });
  if (known == table.weights.end()) {
    if (table.weights.empty())
      table.state = mark.getState();
    if (mark.getState() != table.state)
      return op->emitError("weight '")
             << name << "' keeps its scale in "
             << stringifyScaleState(mark.getState())
             << ", but others of the module in "
             << stringifyScaleState(table.state) << "; use one of them";
    table.weights.push_back({name, mark, rule});
    known = &table.weights.back();
  } else if (known->mark != mark) {
    return op->emitError("weight '")
           << name << "' is marked " << mark << " here and " << known->mark
           << " elsewhere; equal names need equal marks";
  } else if (known->rule != rule) {
    return op->emitError("weight '")
           << name << "' is quantized to " << rule.getPayloadType()
           << " here and to " << known->rule.getPayloadType()
           << " elsewhere; quantize it to one format";
  }
  auto func = op->getParentOfType<func::FuncOp>();
  if (table.functions.empty() || table.functions.back().func != func)
    table.functions.push_back({func, {}, {}, {}});
  table.functions.back().uses.push_back(
      {op, static_cast<unsigned>(known - table.weights.begin())});
  return success();
}

/// Weights with one rule get consecutive rows.
static void assignRows(WeightTable &table) {
  for (PredictedWeight &weight : table.weights)
    if (!llvm::is_contained(table.rules, weight.rule))
      table.rules.push_back(weight.rule);
  SmallVector<unsigned> order;
  for (ScaleRuleAttr rule : table.rules) {
    size_t begin = order.size();
    for (auto [index, weight] : llvm::enumerate(table.weights))
      if (weight.rule == rule) {
        weight.row = order.size();
        order.push_back(index);
      }
    table.rows.push_back(order.size() - begin);
  }
  SmallVector<PredictedWeight> sorted;
  for (unsigned index : order)
    sorted.push_back(table.weights[index]);
  for (FunctionWeights &function : table.functions)
    for (WeightUse &use : function.uses)
      use.weight = table.weights[use.weight].row;
  table.weights = std::move(sorted);
}

/// Say which marks have no quantization, as all under scheme=bf16, and return
/// how many marks there are.
static unsigned
remarkUnused(ModuleOp module,
             const std::set<std::pair<Operation *, int64_t>> &used) {
  unsigned count = 0;
  auto visit = [&](Operation *symbol, int64_t argument) {
    ++count;
    if (used.count({symbol, argument}))
      return;
    std::string name = SymbolTable::getSymbolName(symbol).str();
    remark::missed(symbol->getLoc(), remark::RemarkOpts::name("not-quantized")
                                         .category("moss-auto-scale")
                                         .function(name))
        << remark::add("the weight's scale is not predicted")
        << remark::reason(
               "nothing quantizes {0}",
               argument < 0 ? "it" : "argument " + std::to_string(argument));
  };
  for (Operation &op : *module.getBody()) {
    if (op.hasAttr(WeightAttr::kMarkName))
      visit(&op, -1);
    if (auto func = dyn_cast<func::FuncOp>(op))
      for (unsigned number = 0; number < func.getNumArguments(); ++number)
        if (func.getArgAttr(number, WeightAttr::kMarkName))
          visit(&op, number);
  }
  return count;
}

LogicalResult AutoScalePass::collect(WeightTable &table) {
  SymbolTableCollection symbols;
  std::set<std::pair<Operation *, int64_t>> used;
  for (auto func : getOperation().getOps<func::FuncOp>()) {
    WalkResult result = func.walk([&](QuantizeOp op) {
      std::optional<Origin> origin = findOrigin(op.getSource(), symbols);
      if (!origin || !origin->getMark())
        return WalkResult::advance();
      used.insert({origin->symbol, origin->argument ? *origin->argument : -1});
      std::string reason = getReasonToSkip(op, *origin);
      if (!reason.empty()) {
        remark::missed(op.getLoc(), getRemarkOpts("not-predicted", func))
            << remark::add("the weight's scale is not predicted")
            << remark::reason("{0}", reason);
        return WalkResult::advance();
      }
      return WalkResult(addUse(table, op, *origin));
    });
    if (result.wasInterrupted())
      return failure();
  }
  numMarks = remarkUnused(getOperation(), used);
  assignRows(table);
  return success();
}

/// New arguments and results would not match calls in the module.
LogicalResult AutoScalePass::checkFunctions(const WeightTable &table) {
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, getOperation());
  for (const FunctionWeights &function : table.functions) {
    func::FuncOp func = function.func;
    bool keepsType = table.state == ScaleState::Globals && findStep(func);
    if (!keepsType &&
        failed(checkNotCalled(func, users, "has a marked weight",
                              "inline it, or mark the weights of its callers")))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// The marks are used up; later levels know only which results are updates.
void AutoScalePass::removeMarks() {
  for (auto func : getOperation().getOps<func::FuncOp>()) {
    for (unsigned number = 0; number < func.getNumArguments(); ++number) {
      func.removeArgAttr(number, WeightAttr::kMarkName);
      func.removeArgAttr(number, WeightAttr::kStepName);
      func.removeArgAttr(number, WeightAttr::kRateName);
    }
  }
  for (Operation &op : *getOperation().getBody())
    op.removeAttr(WeightAttr::kMarkName);
}

void AutoScalePass::runOnOperation() {
  WeightTable table;
  if (failed(addMarks()) || failed(collect(table)))
    return signalPassFailure();
  if (!table.weights.empty() &&
      (failed(checkFunctions(table)) || failed(collectUpdates(table)) ||
       failed(addScaleGlobals(getOperation(), table)) ||
       failed(addScaleFunctions(getOperation(), table))))
    return signalPassFailure();
  if (table.weights.empty() && numMarks != 0 &&
      failed(defineUnusedDeclarations(getOperation())))
    return signalPassFailure();
  for (const FunctionWeights &function : table.functions)
    predictScales(function, table);
  removeMarks();
}
