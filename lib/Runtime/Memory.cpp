//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device memory.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "moss/Runtime/Runtime.h"

#include <cstdlib>
#include <mutex>
#include <set>

using namespace moss_runtime;

// Values of the driver's enums.
static constexpr unsigned attachGlobal = 1;
static constexpr int poolReleaseThreshold = 4;

/// Let the current device's pool keep what is freed. By default it returns all
/// of it whenever a stream is synchronized, so at the end of every function.
static void keepPooledMemory(const Driver &driver) {
  static std::mutex mutex;
  static std::set<CUdevice> done;
  CUdevice device = 0;
  check(driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
  std::lock_guard<std::mutex> lock(mutex);
  if (!done.insert(device).second)
    return;
  CUmemoryPool pool = nullptr;
  check(driver.cuDeviceGetDefaultMemPool(&pool, device),
        "cuDeviceGetDefaultMemPool");
  uint64_t threshold = UINT64_MAX;
  check(driver.cuMemPoolSetAttribute(pool, poolReleaseThreshold, &threshold),
        "cuMemPoolSetAttribute");
}

static std::string describeSize(uint64_t size) {
  return "allocating " + std::to_string(size) + " bytes of device memory";
}

void *mgpuMemAlloc(uint64_t size, void *stream, int8_t isHostShared) {
  if (size == 0)
    return nullptr;
  const Driver &driver = getDriverWithContext("mgpuMemAlloc");
  CUdeviceptr pointer = 0;
  if (isHostShared) {
    check(driver.cuMemAllocManaged(&pointer, size, attachGlobal),
          "cuMemAllocManaged", describeSize(size));
    return fromDevice(pointer);
  }
  keepPooledMemory(driver);
  check(driver.cuMemAllocAsync(&pointer, size, stream), "cuMemAllocAsync",
        describeSize(size));
  noteDeviceAllocation(fromDevice(pointer), stream);
  return fromDevice(pointer);
}

void mgpuMemFree(void *pointer, void *stream) {
  if (!pointer)
    return;
  noteFree(pointer);
  check(getDriverWithContext("mgpuMemFree")
            .cuMemFreeAsync(toDevice(pointer), stream),
        "cuMemFreeAsync");
}

void mgpuMemcpy(void *to, void *from, uint64_t size, void *stream) {
  if (size == 0)
    return;
  check(getDriverWithContext("mgpuMemcpy")
            .cuMemcpyAsync(toDevice(to), toDevice(from), size, stream),
        "cuMemcpyAsync");
}

void mgpuMemset32(void *to, uint32_t value, uint64_t count, void *stream) {
  if (count == 0)
    return;
  check(getDriverWithContext("mgpuMemset32")
            .cuMemsetD32Async(toDevice(to), value, count, stream),
        "cuMemsetD32Async");
}

void mgpuMemset16(void *to, uint16_t value, uint64_t count, void *stream) {
  if (count == 0)
    return;
  check(getDriverWithContext("mgpuMemset16")
            .cuMemsetD16Async(toDevice(to), value, count, stream),
        "cuMemsetD16Async");
}

void *_mlir_memref_to_llvm_alloc(uint64_t size) {
  return _mlir_memref_to_llvm_aligned_alloc(alignof(std::max_align_t), size);
}

void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size) {
  // The C library wants a multiple of the alignment, and may return null for
  // nothing.
  uint64_t rounded = (size + alignment) / alignment * alignment;
  void *pointer = std::aligned_alloc(alignment, rounded);
  if (!pointer)
    fail("allocating " + std::to_string(size) + " bytes of host memory failed");
  noteHostAllocation(pointer);
  return pointer;
}

void _mlir_memref_to_llvm_free(void *pointer) {
  noteFree(pointer);
  std::free(pointer);
}

void *mossDeviceAlloc(uint64_t size) {
  if (size == 0)
    return nullptr;
  CUdeviceptr pointer = 0;
  check(getDriverWithContext("mossDeviceAlloc").cuMemAlloc(&pointer, size),
        "cuMemAlloc", describeSize(size));
  return fromDevice(pointer);
}

void mossDeviceFree(void *pointer) {
  if (!pointer)
    return;
  check(getDriverWithContext("mossDeviceFree").cuMemFree(toDevice(pointer)),
        "cuMemFree");
}

void mossCopyToDevice(void *to, const void *from, uint64_t size) {
  if (size == 0)
    return;
  const Driver &driver = getDriverWithContext("mossCopyToDevice");
  check(driver.cuMemcpyHtoD(toDevice(to), from, size), "cuMemcpyHtoD");
  // From pageable memory the copy returns with data still on their way. The
  // null stream knows when they arrive; the runtime's streams do not wait for
  // it.
  check(driver.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
}

void mossCopyToHost(void *to, const void *from, uint64_t size) {
  if (size == 0)
    return;
  check(getDriverWithContext("mossCopyToHost")
            .cuMemcpyDtoH(to, toDevice(from), size),
        "cuMemcpyDtoH");
}
