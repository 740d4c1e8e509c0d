//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies between strided and contiguous arrays: plain loops on the host, and
// the driver's two-dimensional copies on a device.
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"

#include <algorithm>
#include <cstring>

using namespace moss_runtime;

// CU_MEMORYTYPE_DEVICE.
static constexpr int memoryTypeDevice = 2;

bool StridedArray::isContiguous() const {
  int64_t stride = 1;
  bool isContiguous = true;
  for (int32_t i = rank; i-- > 0;) {
    if (sizes[i] == 0)
      return true;
    isContiguous &= sizes[i] == 1 || strides[i] == stride;
    stride *= sizes[i];
  }
  return isContiguous;
}

bool StridedArray::isInjective() const {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (int32_t i = 0; i < rank; ++i)
    if (sizes[i] > 1)
      dims.push_back({strides[i], sizes[i]});
  std::sort(dims.begin(), dims.end());
  int64_t last = 0;
  for (auto [stride, size] : dims) {
    if (stride <= last)
      return false;
    last += stride * (size - 1);
  }
  return true;
}

StridedCopy::StridedCopy(const StridedArray &array)
    : data(array.data), elementBytes(array.elementBytes) {
  for (int32_t i = 0; i < array.rank; ++i) {
    Dim dim{array.sizes[i], array.strides[i]};
    if (dim.size == 1)
      continue;
    if (!dims.empty() && dims.back().stride == dim.size * dim.stride)
      dims.back() = {dims.back().size * dim.size, dim.stride};
    else
      dims.push_back(dim);
  }
  // Elements apart from each other are rows of one element.
  if (dims.empty() || dims.back().stride != 1)
    dims.push_back({1, 1});
}

template <typename Visit>
void StridedCopy::forEach(size_t numInner, char *packed, Visit visit) const {
  size_t numOuter = dims.size() - numInner;
  int64_t packedBytes = elementBytes;
  for (size_t i = numOuter; i < dims.size(); ++i)
    packedBytes *= dims[i].size;
  std::vector<int64_t> index(numOuter, 0);
  char *address = data;
  while (true) {
    visit(address, packed);
    packed += packedBytes;
    size_t i = numOuter;
    for (; i > 0; --i) {
      const Dim &dim = dims[i - 1];
      address += dim.stride * elementBytes;
      if (++index[i - 1] < dim.size)
        break;
      address -= dim.size * dim.stride * elementBytes;
      index[i - 1] = 0;
    }
    if (i == 0)
      return;
  }
}

void StridedCopy::copyOnHost(char *packed, bool toPacked) const {
  size_t bytes = dims.back().size * elementBytes;
  forEach(1, packed, [&](char *strided, char *row) {
    std::memcpy(toPacked ? row : strided, toPacked ? strided : row, bytes);
  });
}

std::string StridedCopy::findDeviceProblem() const {
  if (dims.size() < 2)
    return "";
  const Dim &rows = dims[dims.size() - 2], &row = dims.back();
  if (row.size == 1 && dims.size() > 2)
    return "its innermost dimension is not contiguous";
  if (rows.stride < row.size)
    return "its rows overlap";
  return "";
}

void StridedCopy::copyOnDevice(char *packed, bool toPacked,
                               CUstream stream) const {
  const Driver &driver = getDriverWithContext("mossInvoke");
  Memcpy2D copy = {};
  copy.source.memoryType = copy.target.memoryType = memoryTypeDevice;
  copy.widthInBytes = dims.back().size * elementBytes;
  copy.height = dims.size() > 1 ? dims[dims.size() - 2].size : 1;
  Memcpy2D::Side &strided = toPacked ? copy.source : copy.target;
  Memcpy2D::Side &contiguous = toPacked ? copy.target : copy.source;
  strided.pitch = dims.size() > 1 ? dims[dims.size() - 2].stride * elementBytes
                                  : copy.widthInBytes;
  contiguous.pitch = copy.widthInBytes;
  forEach(std::min<size_t>(dims.size(), 2), packed,
          [&](char *array, char *rows) {
            strided.device = toDevice(array);
            contiguous.device = toDevice(rows);
            check(driver.cuMemcpy2DAsync(&copy, stream), "cuMemcpy2DAsync",
                  "a copy of an argument that is not contiguous");
          });
}
