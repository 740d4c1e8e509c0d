//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels as such, and the kernel that transposes through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_TRANSPOSETILES_H
#define MOSS_LIB_GPU_TRANSPOSETILES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {

/// Threads of a block of the kernels made here.
inline constexpr int64_t kBlockSize = 256;

/// What the body of a kernel knows of itself. All numbers are indices; `lane`
/// and `warp` are those of the thread in its warp and of the warp in its block.
struct Kernel {
  Value block, blocks, thread, lane, warp;
  SmallVector<Value> shared;
};

/// Launch a kernel on a grid of at most `blocks` blocks (and at least one),
/// with shared buffers of the given types. The body must step by the grid's
/// size.
void createKernel(ImplicitLocOpBuilder &b, StringRef name, Value blocks,
                  TypeRange shared, function_ref<void(Kernel)> body);

/// The type of a buffer in shared memory.
MemRefType getSharedType(OpBuilder &b, ArrayRef<int64_t> shape,
                         Type elementType);

Value createCeilDiv(ImplicitLocOpBuilder &b, Value x, int64_t divisor);

/// The elements that a thread should move at once in all of the given matrices:
/// 16 bytes of the one with the widest elements, or one where the rows of a
/// matrix are not contiguous.
int64_t getVectorWidth(ArrayRef<Value> memrefs);

/// Whether vectors of `width` elements are aligned to their size, if they start
/// at a multiple of `width` in a row of the given matrices (i1).
Value createIsAligned(ImplicitLocOpBuilder &b, ArrayRef<Value> memrefs,
                      int64_t width);

/// Launch a kernel that stores `convert(source[k, i])` to `destination[i, k]`.
/// `convert` takes and returns scalars or vectors; `prologue` and `epilogue`
/// run once per thread, before and after. Each block has the buffers `shared`,
/// if there are any, behind its tile.
void createTransposeKernel(
    ImplicitLocOpBuilder &b, StringRef name, Value source, Value destination,
    function_ref<Value(Value)> convert,
    function_ref<void(Kernel)> prologue = [](Kernel) {},
    function_ref<void()> epilogue = [] {}, TypeRange shared = {});

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_TRANSPOSETILES_H
