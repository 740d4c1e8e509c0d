//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/CPU/Scratch.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

/// The largest buffer on the stack, in bytes. A function has a dozen of them
/// for each matmul, and the stack may be as small as a megabyte.
static constexpr int64_t kMaxStackBytes = 32 * 1024;

static bool fitsStack(MemRefType type) {
  int64_t bits = type.getElementType().isIndex()
                     ? IndexType::kInternalStorageBitWidth
                     : type.getElementTypeBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8) <= kMaxStackBytes;
}

/// Free `buffer` wherever the function returns.
static void freeAtReturns(OpBuilder &builder, FunctionOpInterface function,
                          Value buffer) {
  OpBuilder::InsertionGuard guard(builder);
  for (Block &block : function.getFunctionBody()) {
    Operation *terminator = block.getTerminator();
    if (!terminator->hasTrait<OpTrait::ReturnLike>())
      continue;
    builder.setInsertionPoint(terminator);
    memref::DeallocOp::create(builder, function.getLoc(), buffer);
  }
}

Value moss::allocateScratch(OpBuilder &builder, FunctionOpInterface function,
                            ArrayRef<int64_t> shape, Type elementType) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  auto type = MemRefType::get(shape, elementType);
  // A cache line, so that rows of vectors are aligned.
  IntegerAttr alignment = builder.getI64IntegerAttr(64);
  if (fitsStack(type))
    return memref::AllocaOp::create(builder, function.getLoc(), type,
                                    alignment);
  Value buffer =
      memref::AllocOp::create(builder, function.getLoc(), type, alignment);
  freeAtReturns(builder, function, buffer);
  return buffer;
}
