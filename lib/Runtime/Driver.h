//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the CUDA driver interface that the runtime uses, declared here so
// that Moss builds without CUDA, and resolved when it is first needed.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_RUNTIME_DRIVER_H
#define MOSS_LIB_RUNTIME_DRIVER_H

#include "moss/Runtime/Runtime.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace moss_runtime {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = void *;
using CUmodule = void *;
using CUfunction = void *;
using CUstream = void *;
using CUevent = void *;
using CUmemoryPool = void *;

/// `CUlaunchAttribute`, restricted to the cluster dimension.
struct LaunchAttribute {
  int id;
  uint32_t padding;
  union {
    uint32_t clusterDim[3];
    char bytes[64];
  } value;
};

/// `CUlaunchConfig`.
struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t sharedBytes;
  CUstream stream;
  LaunchAttribute *attributes;
  uint32_t numAttributes;
};

/// `CUDA_MEMCPY2D`.
struct Memcpy2D {
  struct Side {
    size_t xInBytes, y;
    int memoryType;
    const void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
  };
  Side source, target;
  size_t widthInBytes, height;
};

/// Every driver function: the name used here, the symbol that libcuda exports
/// for it (its version is part of the ABI), and its parameters.
#define MOSS_DRIVER_FUNCTIONS(F)                                               \
  F(cuInit, "cuInit", (unsigned))                                              \
  F(cuGetErrorName, "cuGetErrorName", (CUresult, const char **))               \
  F(cuGetErrorString, "cuGetErrorString", (CUresult, const char **))           \
  F(cuDeviceGet, "cuDeviceGet", (CUdevice *, int))                             \
  F(cuDeviceGetCount, "cuDeviceGetCount", (int *))                             \
  F(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool",                    \
    (CUmemoryPool *, CUdevice))                                                \
  F(cuMemPoolSetAttribute, "cuMemPoolSetAttribute",                            \
    (CUmemoryPool, int, void *))                                               \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                      \
    (CUcontext *, CUdevice))                                                   \
  F(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext *))                         \
  F(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                           \
  F(cuCtxGetDevice, "cuCtxGetDevice", (CUdevice *))                            \
  F(cuModuleLoadData, "cuModuleLoadData", (CUmodule *, const void *))          \
  F(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                  \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  F(cuModuleGetFunction, "cuModuleGetFunction",                                \
    (CUfunction *, CUmodule, const char *))                                    \
  F(cuFuncSetAttribute, "cuFuncSetAttribute", (CUfunction, int, int))          \
  F(cuLaunchKernelEx, "cuLaunchKernelEx",                                      \
    (const LaunchConfig *, CUfunction, void **, void **))                      \
  F(cuStreamCreate, "cuStreamCreate", (CUstream *, unsigned))                  \
  F(cuStreamSynchronize, "cuStreamSynchronize", (CUstream))                    \
  F(cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))     \
  F(cuEventCreate, "cuEventCreate", (CUevent *, unsigned))                     \
  F(cuEventDestroy, "cuEventDestroy_v2", (CUevent))                            \
  F(cuEventSynchronize, "cuEventSynchronize", (CUevent))                       \
  F(cuEventRecord, "cuEventRecord", (CUevent, CUstream))                       \
  F(cuEventElapsedTime, "cuEventElapsedTime", (float *, CUevent, CUevent))     \
  F(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                      \
  F(cuMemAllocAsync, "cuMemAllocAsync", (CUdeviceptr *, size_t, CUstream))     \
  F(cuMemAllocManaged, "cuMemAllocManaged", (CUdeviceptr *, size_t, unsigned)) \
  F(cuMemFree, "cuMemFree_v2", (CUdeviceptr))                                  \
  F(cuMemFreeAsync, "cuMemFreeAsync", (CUdeviceptr, CUstream))                 \
  F(cuMemcpyAsync, "cuMemcpyAsync",                                            \
    (CUdeviceptr, CUdeviceptr, size_t, CUstream))                              \
  F(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", (const Memcpy2D *, CUstream))       \
  F(cuMemcpyHtoD, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))      \
  F(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))            \
  F(cuMemsetD32Async, "cuMemsetD32Async",                                      \
    (CUdeviceptr, uint32_t, size_t, CUstream))                                 \
  F(cuMemsetD16Async, "cuMemsetD16Async",                                      \
    (CUdeviceptr, uint16_t, size_t, CUstream))                                 \
  F(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                          \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,        \
     const uint32_t *, const uint32_t *, int, int, int, int))

/// The resolved driver functions.
struct Driver {
#define MOSS_DECLARE(name, symbol, params) CUresult(*name) params = nullptr;
  MOSS_DRIVER_FUNCTIONS(MOSS_DECLARE)
#undef MOSS_DECLARE
  /// Why the driver cannot be used; empty if it can.
  std::string problem;
};

/// The driver, loaded and initialized on the first call. It may be unusable,
/// in which case its `problem` says why.
const Driver &tryDriver();

/// The driver; an unusable one is a fatal error of `caller`.
const Driver &getDriver(const char *caller);

/// The driver, after making sure that this thread has a current context.
const Driver &getDriverWithContext(const char *caller);

/// The current context of this thread.
CUcontext getCurrentContext(const char *caller);

/// Leave with an error: the innermost `mossInvoke` of this thread returns
/// `status`, or if there is none the process ends.
[[noreturn]] void fail(const std::string &message,
                       MossStatus status = MOSS_RUNTIME_ERROR);

/// Fail unless `result` is success. `call` is the driver function and `hint`
/// what could help.
void check(CUresult result, const char *call, const std::string &hint = "");

/// What a failed call throws. Exceptions pass through compiled code, whose
/// functions have unwind tables, and unlike `longjmp` they release the locks
/// of the runtime's own functions.
struct Failure {
  MossStatus status;
  std::string message;
};

/// The stream of the caller of this thread's compiled functions, if it has set
/// one.
struct CallerStream {
  bool isSet = false;
  CUstream stream = nullptr;

  bool is(CUstream other) const { return isSet && stream == other; }
};

/// Replace this thread's caller stream, and return the previous one.
CallerStream exchangeCallerStream(CallerStream stream);

/// Whether this thread is inside `mossInvoke`.
bool isInCall();

/// Take note that the current call, if there is one, owns an allocation, in the
/// order of a stream or on the host, or has given it back.
void noteDeviceAllocation(void *pointer, CUstream stream);
void noteHostAllocation(void *pointer);
void noteFree(void *pointer);

inline CUdeviceptr toDevice(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
inline void *fromDevice(CUdeviceptr pointer) {
  return reinterpret_cast<void *>(pointer);
}

} // namespace moss_runtime

#endif // MOSS_LIB_RUNTIME_DRIVER_H
