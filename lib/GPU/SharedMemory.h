//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses in a kernel's dynamic shared memory, and numbers to compute them.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_SHAREDMEMORY_H
#define MOSS_LIB_GPU_SHAREDMEMORY_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// The base of dynamic shared memory, aligned to the 1024 bytes that 128-byte
/// swizzles repeat after: `!llvm.ptr<3>`. gpu.dynamic_shared_memory would do,
/// but its lowering aligns to 16 bytes only.
Value getSharedMemoryBase(ImplicitLocOpBuilder &b);

/// `pointer + bytes` for an i32 `bytes`.
Value offsetPointer(ImplicitLocOpBuilder &b, Value pointer, Value bytes);
Value offsetPointer(ImplicitLocOpBuilder &b, Value pointer, int64_t bytes);

/// An i32 constant, an index constant, and an i32 as an index.
Value i32Constant(ImplicitLocOpBuilder &b, int64_t value);
Value indexConstant(ImplicitLocOpBuilder &b, int64_t value);
Value toIndex(ImplicitLocOpBuilder &b, Value i32);

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_SHAREDMEMORY_H
