//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C interface of libmoss_runtime.so, on which compiled programs run.
//
// The library needs no CUDA at build or load time: it opens the CUDA driver at
// the first call that needs a GPU. A thread that has a current CUDA context
// (as in a PyTorch process) uses it; another one gets the primary context of
// the default device.
//
// Functions named `mgpu...` are the ones that MLIR's `gpu-to-llvm` and the
// translation of `gpu.launch_func` call. Those named `moss...` are Moss's own.
// An error inside `mossInvoke`, through which the C functions of a compiled
// library run, makes it return a code. Elsewhere it is reported to the error
// handler and ends the process, so a function that returns has succeeded.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUNTIME_RUNTIME_H
#define MOSS_RUNTIME_RUNTIME_H

#include <stdint.h>

#ifdef _WIN32
#error "the Moss runtime is written for ELF platforms"
#endif
#define MOSS_RUNTIME_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

// Headers of compiled libraries have this too.
#ifndef MOSS_STATUS
#define MOSS_STATUS
/// What a compiled function returns.
typedef enum MossStatus {
  MOSS_SUCCESS = 0,
  /// The caller's doing: a null pointer, extents that do not agree, strides or
  /// an alignment that the function cannot work with.
  MOSS_INVALID_ARGUMENT = 1,
  /// No device, no memory, a driver that refuses, or a kernel that failed.
  MOSS_RUNTIME_ERROR = 2
} MossStatus;

/// What went wrong in this thread's last call that returned another code than
/// MOSS_SUCCESS; empty if there was none. Valid until the thread's next such
/// call.
MOSS_RUNTIME_EXPORT const char *mossGetLastError(void);
#endif

/// Report a failed assertion of a compiled function. Does not return.
MOSS_RUNTIME_EXPORT void mossFailAssertion(const char *message);

/// The same of an assertion that two integers are equal, which are added to the
/// message.
MOSS_RUNTIME_EXPORT void mossFailComparison(const char *message, int64_t left,
                                            int64_t right);

/// Receives the message of a fatal error. It may leave by `longjmp` or end the
/// process; if it returns, the process exits with code 1, because no caller in
/// compiled code could go on.
typedef void (*MossErrorHandler)(const char *message);

/// Replace the error handler, and return the previous one. Null restores the
/// default, which prints the message to stderr.
MOSS_RUNTIME_EXPORT MossErrorHandler
mossSetErrorHandler(MossErrorHandler handler);

/// Whether there is a CUDA driver and a device. Never fails.
MOSS_RUNTIME_EXPORT int32_t mossHasDevice(void);

//===----------------------------------------------------------------------===//
// Modules and kernels
//===----------------------------------------------------------------------===//

/// Take note of a cubin or fatbin (`mgpuModuleLoad`) or of null-terminated PTX
/// (`mgpuModuleLoadJIT`). Compiled programs call these in global constructors,
/// so the driver sees the image only when one of its kernels is first wanted.
MOSS_RUNTIME_EXPORT void *mgpuModuleLoad(void *image, uint64_t size);
MOSS_RUNTIME_EXPORT void *mgpuModuleLoadJIT(void *ptx, int32_t optLevel);
MOSS_RUNTIME_EXPORT void mgpuModuleUnload(void *module);

/// The kernel of the given name, for the current context. The result is cached
/// and lives as long as the module.
MOSS_RUNTIME_EXPORT void *mgpuModuleGetFunction(void *module, const char *name);

/// Launch a kernel with as much dynamic shared memory as it asks for. An empty
/// grid launches nothing.
MOSS_RUNTIME_EXPORT void mgpuLaunchKernel(void *kernel, intptr_t gridX,
                                          intptr_t gridY, intptr_t gridZ,
                                          intptr_t blockX, intptr_t blockY,
                                          intptr_t blockZ, int32_t sharedBytes,
                                          void *stream, void **params,
                                          void **extra, uint64_t numParams);
MOSS_RUNTIME_EXPORT void
mgpuLaunchClusterKernel(void *kernel, intptr_t clusterX, intptr_t clusterY,
                        intptr_t clusterZ, intptr_t gridX, intptr_t gridY,
                        intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                        intptr_t blockZ, int32_t sharedBytes, void *stream,
                        void **params, void **extra);

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

/// Make compiled functions called by this thread use the caller's stream, and
/// return without waiting for it, as GPU libraries do. `mossResetStream` goes
/// back to streams of the runtime, for which functions wait at their end.
MOSS_RUNTIME_EXPORT void mossSetStream(void *stream);
MOSS_RUNTIME_EXPORT void mossResetStream(void);

/// Streams come from a pool, since every compiled function asks for one.
MOSS_RUNTIME_EXPORT void *mgpuStreamCreate(void);
MOSS_RUNTIME_EXPORT void mgpuStreamDestroy(void *stream);
MOSS_RUNTIME_EXPORT void mgpuStreamSynchronize(void *stream);
MOSS_RUNTIME_EXPORT void mgpuStreamWaitEvent(void *stream, void *event);

MOSS_RUNTIME_EXPORT void *mgpuEventCreate(void);
MOSS_RUNTIME_EXPORT void mgpuEventDestroy(void *event);
MOSS_RUNTIME_EXPORT void mgpuEventSynchronize(void *event);
MOSS_RUNTIME_EXPORT void mgpuEventRecord(void *event, void *stream);

/// An event that takes the time, and the milliseconds between two of them
/// (waits for the second one).
MOSS_RUNTIME_EXPORT void *mossTimingEventCreate(void);
MOSS_RUNTIME_EXPORT float mossEventElapsed(void *start, void *end);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Allocate and free in the order of a stream, which reuses memory without
/// waiting. An allocation of no bytes is null.
MOSS_RUNTIME_EXPORT void *mgpuMemAlloc(uint64_t size, void *stream,
                                       int8_t isHostShared);
MOSS_RUNTIME_EXPORT void mgpuMemFree(void *pointer, void *stream);
MOSS_RUNTIME_EXPORT void mgpuMemcpy(void *to, void *from, uint64_t size,
                                    void *stream);
MOSS_RUNTIME_EXPORT void mgpuMemset32(void *to, uint32_t value, uint64_t count,
                                      void *stream);
MOSS_RUNTIME_EXPORT void mgpuMemset16(void *to, uint16_t value, uint64_t count,
                                      void *stream);

/// Host memory of compiled functions, under the names that MLIR's
/// finalize-memref-to-llvm calls. What a failed call holds is freed.
MOSS_RUNTIME_EXPORT void *_mlir_memref_to_llvm_alloc(uint64_t size);
MOSS_RUNTIME_EXPORT void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment,
                                                             uint64_t size);
MOSS_RUNTIME_EXPORT void _mlir_memref_to_llvm_free(void *pointer);

/// The device used by threads without a current context; 0 at first.
MOSS_RUNTIME_EXPORT void mgpuSetDefaultDevice(int32_t device);

/// For drivers of compiled functions: device memory, and copies that have
/// arrived when they return.
MOSS_RUNTIME_EXPORT void *mossDeviceAlloc(uint64_t size);
MOSS_RUNTIME_EXPORT void mossDeviceFree(void *pointer);
MOSS_RUNTIME_EXPORT void mossCopyToDevice(void *to, const void *from,
                                          uint64_t size);
MOSS_RUNTIME_EXPORT void mossCopyToHost(void *to, const void *from,
                                        uint64_t size);

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

/// Describe a row-major matrix in device memory to the tensor copy engine.
/// `map` has room for 128 bytes and is aligned to 64. An element of 1 byte is
/// copied as UINT8 (which FP8 needs), of 2 as BFLOAT16, of 4 as FLOAT32; parts
/// of a box that lie outside read as zero. The map of a matrix without elements
/// is all zeros and must not be used. More than 2^31 - 2^16 - 1 rows or columns
/// are an error, as kernels count in 32 bits.
MOSS_RUNTIME_EXPORT void
mossTensorMapEncode2D(void *map, void *base, int64_t rows, int64_t cols,
                      int64_t rowStrideBytes, int32_t elementBytes,
                      int32_t boxRows, int32_t boxCols, int32_t swizzleBytes);

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// How a compiled function uses a parameter.
typedef enum MossParameterKind {
  /// A value; its slot points to it.
  MOSS_SCALAR = 0,
  /// An array that is read, that is written in full, or both. Its slot points
  /// to a memref descriptor: the pointer twice, the offset 0, then for each
  /// dimension a size, and for each dimension a stride, in elements.
  MOSS_TENSOR = 1,
  MOSS_RESULT = 2,
  MOSS_BUFFER = 3,
  /// A value that is written to host memory; its slot is the pointer to it.
  MOSS_SCALAR_RESULT = 4
} MossParameterKind;

typedef struct MossParameter {
  const char *name;
  int32_t kind;
  int32_t rank;
  int64_t elementBytes;
} MossParameter;

/// What a compiled library says about one of its functions.
typedef struct MossFunction {
  const char *name;
  /// The function itself, on one slot per parameter.
  void (*body)(void *const *slots);
  const MossParameter *parameters;
  int32_t numParameters;
  /// Whether arrays are in device memory.
  int32_t onDevice;
} MossFunction;

/// Check the arguments of a compiled function, call it on a stream (of no
/// meaning on a CPU) and return a MossStatus. Descriptors in `slots` are
/// rewritten: arrays that are not contiguous are copied, in the order of the
/// stream, before a call if it reads them and after it if it writes them.
/// Thread-safe, reentrant, and legal while a stream is captured.
MOSS_RUNTIME_EXPORT int32_t mossInvoke(const MossFunction *function,
                                       void **slots, void *stream);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MOSS_RUNTIME_RUNTIME_H
