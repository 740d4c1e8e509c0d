//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's .npy files.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_NPY_H
#define MOSS_RUN_NPY_H

#include "moss/Run/HostArray.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::moss {

/// Read a .npy file of version 1 to 3 as elements of \p kind.
///
/// A file of the same type is taken as it is: BF16 as 2-byte unsigned integers
/// or raw bytes (`<u2`, `<V2`), FP8 as bytes (`|u1`, `|V1`), i1 as `|b1`. For a
/// floating-point \p kind, files of `<f2`, `<f4` and `<f8` are rounded to it,
/// to nearest even. Big-endian files, those in Fortran's order and all others
/// are errors.
llvm::Expected<HostArray> readNpy(StringRef path, ElementKind kind);

/// Write a .npy file of version 1. BF16, which NumPy lacks, is written as
/// float32, which holds it exactly; FP8 as bytes; index as int64.
void writeNpy(llvm::raw_ostream &os, const HostArray &array);

} // namespace mlir::moss

#endif // MOSS_RUN_NPY_H
