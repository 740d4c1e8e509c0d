//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moss;

static std::error_code writeTo(llvm::raw_fd_ostream &os, StringRef content) {
  os << content;
  os.flush();
  std::error_code error = os.error();
  // Errors that are not cleared end the process.
  os.clear_error();
  return error;
}

std::error_code moss::writeFile(StringRef path, StringRef content) {
  if (path == "-")
    return writeTo(llvm::outs(), content);
  llvm::sys::fs::file_status status;
  bool isThere = !llvm::sys::fs::status(path, status) && exists(status);
  if (isThere && is_directory(status))
    return std::make_error_code(std::errc::is_a_directory);
  // llvm::writeToOutput alone would put a file in the place of a device.
  if (isThere && !is_regular_file(status)) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error, llvm::sys::fs::CD_OpenExisting);
    return error ? error : writeTo(os, content);
  }
  return llvm::errorToErrorCode(
      llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
        // Upstream would keep what does not fit on the disk.
        return llvm::errorCodeToError(
            writeTo(static_cast<llvm::raw_fd_ostream &>(os), content));
      }));
}
