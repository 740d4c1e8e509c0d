//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/Transforms/Passes.h"
#include "llvm/Support/Path.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSASSERTSHAPES
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// A dimension of an operand, with a name for the message.
struct Dimension {
  Value memref;
  int64_t number;
  StringRef name;

  bool isDynamic() const {
    return cast<MemRefType>(memref.getType()).isDynamicDim(number);
  }
};
} // namespace

/// Stop the program unless two dimensions are equal. Dimensions that are both
/// static were compared by the verifier.
static void assertEqual(ImplicitLocOpBuilder &b, Operation *op, Dimension lhs,
                        Dimension rhs) {
  if (!lhs.isDynamic() && !rhs.isDynamic())
    return;
  auto extent = [&](Dimension dimension) -> Value {
    return b.createOrFold<memref::DimOp>(dimension.memref, dimension.number);
  };
  Value left = extent(lhs), right = extent(rhs);
  if (left == right)
    return;
  Value equal = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, left, right);
  std::string message;
  llvm::raw_string_ostream os(message);
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    // Without its folder, which would differ between builds of the same
    // program.
    os << llvm::sys::path::filename(loc.getFilename()) << ":" << loc.getLine()
       << ":" << loc.getColumn() << ": ";
  os << op->getName() << ": " << lhs.name << " and " << rhs.name << " differ";
  cf::AssertOp::create(b, equal, message);
}

static void assertShapes(ScaledMatmulOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  assertEqual(b, op, {op.getLhs(), 1, "K of the left operand"},
              {op.getRhs(), 1, "K of the right operand"});
  assertEqual(b, op, {op.getInit(), 0, "M of the result"},
              {op.getLhs(), 0, "M of the left operand"});
  assertEqual(b, op, {op.getInit(), 1, "N of the result"},
              {op.getRhs(), 0, "N of the right operand"});
}

namespace {
struct AssertShapesPass : moss::impl::MossAssertShapesBase<AssertShapesPass> {
  void runOnOperation() override {
    getOperation()->walk([](ScaledMatmulOp op) {
      if (isa<MemRefType>(op.getLhs().getType()))
        assertShapes(op);
    });
  }
};
} // namespace
