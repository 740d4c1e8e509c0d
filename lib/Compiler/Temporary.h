//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_COMPILER_TEMPORARY_H
#define MOSS_LIB_COMPILER_TEMPORARY_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::moss {

/// A file that is removed with the object, or when the process is interrupted.
/// Upstream's TempFile keeps a descriptor, of a file that linkers replace.
class Temporary {
public:
  /// A unique name after \p model, whose percent signs are replaced; in the
  /// current folder or, with \p inTempFolder, that for temporary files unless
  /// the model names one.
  Temporary(const Twine &model, bool inTempFolder) {
    llvm::sys::fs::createUniquePath(model, name, inTempFolder);
    llvm::sys::RemoveFileOnSignal(name);
  }
  ~Temporary() {
    llvm::sys::fs::remove(name);
    llvm::sys::DontRemoveFileOnSignal(name);
  }
  Temporary(const Temporary &) = delete;
  Temporary &operator=(const Temporary &) = delete;

  StringRef getName() const { return name; }

  std::error_code write(StringRef content) {
    std::error_code error;
    llvm::raw_fd_ostream os(name, error);
    if (error)
      return error;
    os << content;
    os.close();
    error = os.error();
    os.clear_error();
    return error;
  }

private:
  SmallString<128> name;
};

} // namespace mlir::moss

#endif // MOSS_LIB_COMPILER_TEMPORARY_H
