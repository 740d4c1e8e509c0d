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

/// Report a fatal error and end the process.
[[noreturn]] void fail(const std::string &message);

/// Fail unless `result` is success. `call` is the driver function and `hint`
/// what could help.
void check(CUresult result, const char *call, const std::string &hint = "");

inline CUdeviceptr toDevice(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
inline void *fromDevice(CUdeviceptr pointer) {
  return reinterpret_cast<void *>(pointer);
}

} // namespace moss_runtime

#endif // MOSS_LIB_RUNTIME_DRIVER_H
