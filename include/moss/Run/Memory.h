//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory of arguments and results where the target wants it.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_MEMORY_H
#define MOSS_RUN_MEMORY_H

#include "moss/Run/Executable.h"

namespace mlir::moss {

/// Arrays in the memory of a target: those of the caller themselves on a CPU,
/// copies on a GPU. Scalars stay on the host.
class TargetArrays {
public:
  /// Copy \p arrays to the device if there is one. \p isScalar says which have
  /// no memory there. The arrays must outlive this.
  TargetArrays(MutableArrayRef<HostArray> arrays, ArrayRef<bool> isScalar,
               bool onDevice);
  ~TargetArrays();
  TargetArrays(const TargetArrays &) = delete;
  TargetArrays &operator=(const TargetArrays &) = delete;

  /// What Executable::call takes.
  ArrayRef<ArrayPointer> getParameters() const { return parameters; }

  /// Copy an array back from the device.
  void fetch(unsigned number);

private:
  MutableArrayRef<HostArray> arrays;
  SmallVector<ArrayPointer> parameters;
  /// Which pointers are to the device.
  SmallVector<bool> isCopy;
};

} // namespace mlir::moss

#endif // MOSS_RUN_MEMORY_H
