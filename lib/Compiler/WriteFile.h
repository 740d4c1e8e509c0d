//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_COMPILER_WRITEFILE_H
#define MOSS_LIB_COMPILER_WRITEFILE_H

#include "mlir/Support/LLVM.h"
#include <system_error>

namespace mlir::moss {

/// Write a file, which is complete or not there: the content goes to a
/// temporary file beside it, which is then renamed. What is no regular file,
/// such as a device or a pipe, is written to and stays what it is. "-" is
/// standard output.
std::error_code writeFile(StringRef path, StringRef content);

} // namespace mlir::moss

#endif // MOSS_LIB_COMPILER_WRITEFILE_H
