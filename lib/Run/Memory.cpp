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

#include "moss/Run/Memory.h"
#include "moss/Runtime/Runtime.h"

using namespace mlir;
using namespace mlir::moss;

TargetArrays::TargetArrays(MutableArrayRef<HostArray> arrays,
                           ArrayRef<bool> isScalar, bool onDevice)
    : arrays(arrays) {
  for (auto [array, scalar] : llvm::zip_equal(arrays, isScalar)) {
    void *data = array.bytes.data();
    bool copies = onDevice && !scalar;
    if (copies) {
      data = mossDeviceAlloc(array.bytes.size());
      mossCopyToDevice(data, array.bytes.data(), array.bytes.size());
    }
    parameters.push_back({data, array.shape});
    isCopy.push_back(copies);
  }
}

TargetArrays::~TargetArrays() {
  for (auto [parameter, copy] : llvm::zip_equal(parameters, isCopy))
    if (copy)
      mossDeviceFree(parameter.data);
}

void TargetArrays::fetch(unsigned number) {
  HostArray &array = arrays[number];
  if (isCopy[number])
    mossCopyToHost(array.bytes.data(), parameters[number].data,
                   array.bytes.size());
}
