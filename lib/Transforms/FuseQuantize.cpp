//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-fuse-quantize: quantize a matrix in the loop that computes it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/ScaleArithmetic.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSFUSEQUANTIZE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// A quantization, and the loop over elements that computes its source.
struct Fusion {
  QuantizeOp quantize;
  linalg::GenericOp producer;
  /// The result of the producer that is quantized.
  unsigned result;
  /// The rounding of that result to bf16 on the way, or null.
  arith::TruncFOp rounding;
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be fused
//===----------------------------------------------------------------------===//

/// The producer of what `op` quantizes, if that is a loop over elements.
static std::optional<Fusion> findProducer(QuantizeOp op) {
  Fusion fusion{op, {}, 0, op.getSource().getDefiningOp<arith::TruncFOp>()};
  Value source = fusion.rounding ? fusion.rounding.getIn() : op.getSource();
  auto result = dyn_cast<OpResult>(source);
  if (!result)
    return std::nullopt;
  fusion.producer = dyn_cast<linalg::GenericOp>(result.getOwner());
  fusion.result = result.getResultNumber();
  if (!fusion.producer || fusion.producer.getNumLoops() != 2 ||
      fusion.producer.getNumParallelLoops() != 2 ||
      !fusion.producer.hasPureTensorSemantics())
    return std::nullopt;
  return fusion;
}

/// Why the quantization stays on its own, or an empty string.
static StringRef getReasonToSkip(const Fusion &fusion, bool fusesTransposed) {
  QuantizeOp op = fusion.quantize;
  linalg::GenericOp producer = fusion.producer;
  if (op.getScheme().hasMicro() || op.getScheme().yieldsGlobal())
    return op.getScheme().getGlobal() == GlobalScale::Delayed
               ? "its amax is a result, too"
               : "its scale depends on what is computed";
  if (op.getTranspose() && !fusesTransposed)
    return "it transposes, and the option 'transposed' is off";
  if (op->getBlock() != producer->getBlock())
    return "it is in another block than the loop that computes its source";
  AffineMap map =
      producer
          .getIndexingMapsArray()[producer.getNumDpsInputs() + fusion.result];
  if (!map.isIdentity())
    return "its source is not computed in the order of its elements";
  return "";
}

static remark::RemarkOpts remarkOpts(StringRef name, QuantizeOp op) {
  remark::RemarkOpts opts =
      remark::RemarkOpts::name(name).category("moss-fuse-quantize");
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    opts = opts.function(function.getName());
  return opts;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The payload of the element that the producer yields.
static Value emitPayload(OpBuilder &builder, const Fusion &fusion,
                         Value element, Value scale) {
  QuantizeOp op = fusion.quantize;
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  if (fusion.rounding)
    element = arith::TruncFOp::create(b, b.getBF16Type(), element);
  Value inverse = createConstant(b, b.getF32Type(), 1.0);
  if (scale)
    inverse = arith::DivFOp::create(b, inverse, scale);
  return createPayload(b, op.getScheme(), element, inverse,
                       /*inverseMicro=*/Value());
}

/// The producer again, with the payload as a further result.
static void fuse(RewriterBase &rewriter, const Fusion &fusion) {
  QuantizeOp op = fusion.quantize;
  linalg::GenericOp producer = fusion.producer;
  SmallVector<Value> inputs(producer.getInputs());
  SmallVector<Value> inits(producer.getOutputs());
  SmallVector<AffineMap> maps = producer.getIndexingMapsArray();
  MLIRContext *context = op.getContext();
  if (op.getScale()) {
    maps.insert(maps.begin() + inputs.size(), AffineMap::get(2, 0, context));
    inputs.push_back(op.getScale());
  }
  inits.push_back(op.getPayload());
  unsigned order[] = {op.getTranspose() ? 1u : 0u, op.getTranspose() ? 0u : 1u};
  maps.push_back(AffineMap::getPermutationMap(order, context));

  rewriter.setInsertionPoint(producer);
  Block *body = producer.getBody();
  unsigned numInputs = producer.getNumDpsInputs();
  auto fused = linalg::GenericOp::create(
      rewriter, producer.getLoc(), TypeRange(ValueRange(inits)), inputs, inits,
      maps, producer.getIteratorTypesArray(),
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (BlockArgument old : body->getArguments()) {
          unsigned number = old.getArgNumber();
          bool isMoved = op.getScale() && number >= numInputs;
          mapping.map(old, arguments[number + (isMoved ? 1 : 0)]);
        }
        for (Operation &inner : body->without_terminator())
          b.clone(inner, mapping);
        SmallVector<Value> yielded;
        for (Value value : body->getTerminator()->getOperands())
          yielded.push_back(mapping.lookupOrDefault(value));
        Value scale = op.getScale() ? arguments[numInputs] : Value();
        yielded.push_back(
            emitPayload(b, fusion, yielded[fusion.result], scale));
        linalg::YieldOp::create(b, loc, yielded);
      });
  rewriter.replaceOp(op, fused->getResults().back());
  rewriter.replaceOp(producer, fused->getResults().drop_back());
}

namespace {
struct FuseQuantizePass : moss::impl::MossFuseQuantizeBase<FuseQuantizePass> {
  using MossFuseQuantizeBase::MossFuseQuantizeBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<QuantizeOp> ops;
    getOperation()->walk([&](QuantizeOp op) { ops.push_back(op); });
    for (QuantizeOp op : ops)
      tryToFuse(rewriter, op);
  }

private:
  void tryToFuse(RewriterBase &rewriter, QuantizeOp op) {
    std::optional<Fusion> fusion = findProducer(op);
    if (!fusion)
      return;
    StringRef reason = getReasonToSkip(*fusion, transposed);
    SmallVector<Value> needed{op.getPayload()};
    if (op.getScale())
      needed.push_back(op.getScale());
    if (reason.empty() &&
        failed(moveValueDefinitions(rewriter, needed, fusion->producer)))
      reason = "its scale or its payload is not known before its source is "
               "computed";
    if (!reason.empty()) {
      remark::missed(op.getLoc(), remarkOpts("not-fused", op))
          << remark::add("not fused with the loop that computes its source")
          << remark::reason("{0}", reason);
      return;
    }
    remark::passed(op.getLoc(), remarkOpts("fused", op))
        << remark::add("fused with the loop that computes its source");
    fuse(rewriter, *fusion);
  }
};
} // namespace
