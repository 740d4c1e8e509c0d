//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for all ops that would become the same kernel.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/SharedOps.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSSHAREOPS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Equal ops
//===----------------------------------------------------------------------===//

/// The values from outside that an op uses, itself and in its regions, each
/// once, in an order that equal ops agree on.
static SetVector<Value> getInputs(Operation *op) {
  SetVector<Value> inputs(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  return inputs;
}

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

static Attribute getConstant(Value value) {
  Attribute attribute;
  matchPattern(value, m_Constant(&attribute));
  return attribute;
}

/// Equal for equal ops.
static llvm::hash_code hashOp(Operation *op) {
  llvm::hash_code hash =
      llvm::hash_combine(op->getName(), op->getAttrDictionary());
  SetVector<Value> inputs = getInputs(op);
  for (Value input : inputs)
    hash = llvm::hash_combine(hash, input.getType(), getConstant(input));
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      hash = llvm::hash_combine(hash, nested->getName(),
                                nested->getAttrDictionary());
    });
  return hash;
}

/// Whether two ops compute the same from inputs of the same types, of which the
/// same ones are equal to each other. Locations do not count.
static bool isEqual(Operation *lhs, Operation *rhs) {
  DenseMap<Value, Value> toRhs, toLhs;
  auto mark = [&](Value l, Value r) {
    toRhs[l] = r;
    toLhs[r] = l;
  };
  auto check = [&](Value l, Value r) {
    if (toRhs.contains(l) || toLhs.contains(r))
      return success(toRhs.lookup(l) == r);
    if (l.getType() != r.getType() || getConstant(l) != getConstant(r))
      return failure();
    mark(l, r);
    return success();
  };
  return OperationEquivalence::isEquivalentTo(
      lhs, rhs, check, mark, OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string moss::getShapeName(ArrayRef<int64_t> shape) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  llvm::interleave(
      shape, stream,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          stream << "dyn";
        else
          stream << extent;
      },
      "x");
  return name;
}

static ArrayRef<int64_t> getShape(Value memref) {
  return cast<ShapedType>(memref.getType()).getShape();
}

/// A name that says which op on which shape it is; profilers show it. A matmul
/// of a result of M x N and a sum over K is `moss_matmul_MxNxK`.
static std::string getName(Operation *op) {
  if (auto matmul = dyn_cast<ScaledMatmulOp>(op)) {
    ArrayRef<int64_t> result = getShape(matmul.getInit());
    return "moss_matmul_" +
           getShapeName({result[0], result[1], getShape(matmul.getLhs())[1]});
  }
  std::string name = op->getName().getIdentifier().str();
  llvm::replace(name, '.', '_');
  if (!isa<MossDialect>(op->getDialect()))
    name = "moss_" + name;
  Value result = op->getOperands().back();
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    result = quantize.getPayload();
  return name + "_" + getShapeName(getShape(result));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether an op becomes kernels of its own, and nothing but its operands
/// decides about them.
static bool isShareable(Operation *op) {
  if (op->getNumResults() != 0)
    return false;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.hasPureBufferSemantics();
  return isa<QuantizeOp, DequantizeOp, ScaledMatmulOp>(op);
}

/// Let scalars of an op that lie in tables have one type, wherever in a table
/// they are.
static void forgetOffsets(Operation *op) {
  if (!isa<QuantizeOp, DequantizeOp, ScaledMatmulOp>(op))
    return;
  OpBuilder b(op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = cast<MemRefType>(operand.get().getType());
    if (type.getRank() != 0 ||
        !operand.get().getDefiningOp<memref::SubViewOp>())
      continue;
    auto layout =
        StridedLayoutAttr::get(op->getContext(), ShapedType::kDynamic, {});
    auto anywhere = MemRefType::get({}, type.getElementType(), layout,
                                    type.getMemorySpace());
    operand.set(
        memref::CastOp::create(b, op->getLoc(), anywhere, operand.get()));
  }
}

/// Create the function that computes what \p op does. Constants are computed in
/// it, so that they stay known.
static func::FuncOp createFunction(Operation *op, SymbolTable &symbols) {
  SetVector<Value> inputs = getInputs(op);
  SmallVector<Type> types;
  for (Value input : inputs)
    if (!isConstant(input))
      types.push_back(input.getType());
  OpBuilder b(op->getContext());
  auto func = func::FuncOp::create(b, op->getLoc(), getName(op),
                                   b.getFunctionType(types, {}));
  func.setPrivate();
  func->setAttr(kSharedAttrName, b.getUnitAttr());
  // A private function would be visible outside of an object file.
  func->setAttr("llvm.linkage", LLVM::LinkageAttr::get(
                                    b.getContext(), LLVM::Linkage::Internal));
  symbols.insert(func);
  Block *body = func.addEntryBlock();
  b.setInsertionPointToStart(body);
  IRMapping mapping;
  auto argument = body->args_begin();
  for (Value input : inputs) {
    if (isConstant(input))
      b.clone(*input.getDefiningOp(), mapping);
    else
      mapping.map(input, *argument++);
  }
  b.clone(*op, mapping);
  func::ReturnOp::create(b, op->getLoc());
  return func;
}

static void replaceByCall(Operation *op, func::FuncOp func) {
  SmallVector<Value> arguments;
  for (Value input : getInputs(op))
    if (!isConstant(input))
      arguments.push_back(input);
  OpBuilder b(op);
  func::CallOp::create(b, op->getLoc(), func, arguments);
  op->erase();
}

namespace {
/// Ops that are equal to each other, in the order of the module.
using Group = SmallVector<Operation *>;

struct ShareOpsPass : moss::impl::MossShareOpsBase<ShareOpsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (const Group &group : collect()) {
      if (group.size() == 1)
        continue;
      func::FuncOp func = createFunction(group.front(), symbols);
      remark::passed(group.front()->getLoc(), remark::RemarkOpts::name("shared")
                                                  .category("moss-share-ops")
                                                  .function(func.getName()))
          << remark::add("compiled once for all ops that are equal to it")
          << remark::metric("ops", group.size());
      for (Operation *op : group)
        replaceByCall(op, func);
    }
  }

private:
  std::vector<Group> collect() {
    std::vector<Group> groups;
    // Indices of the groups whose ops have this hash.
    DenseMap<size_t, SmallVector<size_t, 1>> byHash;
    auto insert = [&](Operation *op) {
      SmallVector<size_t, 1> &candidates = byHash[hashOp(op)];
      for (size_t index : candidates)
        if (isEqual(groups[index].front(), op))
          return groups[index].push_back(op);
      candidates.push_back(groups.size());
      groups.push_back({op});
    };
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      // Their ops stay on the host, where a call would bring them away from.
      if (func->hasAttr(kHostAttrName))
        continue;
      func.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (isa<scf::ForallOp, scf::ParallelOp, gpu::LaunchOp>(op))
          return WalkResult::skip();
        if (!isShareable(op))
          return WalkResult::advance();
        forgetOffsets(op);
        insert(op);
        return WalkResult::skip();
      });
    }
    return groups;
  }
};
} // namespace
