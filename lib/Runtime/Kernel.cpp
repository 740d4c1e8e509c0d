//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules, kernels and launches.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "moss/Runtime/Runtime.h"

#include <map>
#include <mutex>

using namespace moss_runtime;

namespace {

// Values of the driver's enums.
constexpr int jitErrorLogBuffer = 5;
constexpr int jitErrorLogBufferSize = 6;
constexpr int jitOptimizationLevel = 7;
constexpr int functionMaxDynamicShared = 8;
constexpr int functionNonPortableCluster = 14;
constexpr int launchClusterDimension = 4;

/// More dynamic shared memory than this must be asked for, and clusters of more
/// blocks than that are not portable.
constexpr int32_t defaultSharedBytes = 48 * 1024;
constexpr int64_t portableClusterSize = 8;

/// A kernel in one context, with the largest dynamic shared memory that it has
/// been allowed so far.
struct Kernel {
  CUfunction function = nullptr;
  std::string name;
  int32_t allowedSharedBytes = defaultSharedBytes;
};

/// A module image in one context.
struct LoadedModule {
  CUmodule module = nullptr;
  std::map<std::string, Kernel> kernels;
};

/// A module image, loaded into a context when that first wants a kernel of it.
struct Module {
  const void *image;
  bool isPTX;
  int32_t optLevel;
  std::mutex mutex;
  std::map<CUcontext, LoadedModule> loaded;

  Module(const void *image, bool isPTX, int32_t optLevel)
      : image(image), isPTX(isPTX), optLevel(optLevel) {}
};

} // namespace

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static CUmodule assemble(const Driver &driver, const Module &module) {
  char log[8192] = "";
  // LLVM's highest level is 3, the driver's is 4.
  int32_t level = module.optLevel >= 3 ? 4 : module.optLevel;
  int options[] = {jitErrorLogBuffer, jitErrorLogBufferSize,
                   jitOptimizationLevel};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log)),
                    reinterpret_cast<void *>(static_cast<intptr_t>(level))};
  CUmodule result = nullptr;
  CUresult status =
      driver.cuModuleLoadDataEx(&result, module.image, 3, options, values);
  check(status, "cuModuleLoadDataEx",
        std::string("compile for the device's own architecture, or update its "
                    "driver\n") +
            log);
  return result;
}

static CUmodule load(const Driver &driver, const Module &module) {
  if (module.isPTX)
    return assemble(driver, module);
  CUmodule result = nullptr;
  check(driver.cuModuleLoadData(&result, module.image), "cuModuleLoadData",
        "compile for the device's own architecture");
  return result;
}

void *mgpuModuleLoad(void *image, uint64_t) {
  return new Module(image, /*isPTX=*/false, /*optLevel=*/0);
}

void *mgpuModuleLoadJIT(void *ptx, int32_t optLevel) {
  return new Module(ptx, /*isPTX=*/true, optLevel);
}

// What the driver has loaded stays: this runs in global destructors, when the
// context may be gone already, and the process ends anyway.
void mgpuModuleUnload(void *module) { delete static_cast<Module *>(module); }

void *mgpuModuleGetFunction(void *handle, const char *name) {
  CUcontext context = getCurrentContext("mgpuModuleGetFunction");
  const Driver &driver = tryDriver();
  Module &module = *static_cast<Module *>(handle);
  std::lock_guard<std::mutex> lock(module.mutex);
  LoadedModule &loaded = module.loaded[context];
  if (!loaded.module)
    loaded.module = load(driver, module);
  Kernel &kernel = loaded.kernels[name];
  if (!kernel.function) {
    kernel.name = name;
    check(driver.cuModuleGetFunction(&kernel.function, loaded.module, name),
          "cuModuleGetFunction",
          std::string("the module has no kernel ") + name);
  }
  return &kernel;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static std::string describe(const Kernel &kernel, const LaunchConfig &config) {
  auto dims = [](const uint32_t (&sizes)[3]) {
    return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]) + "x" +
           std::to_string(sizes[2]);
  };
  return "kernel " + kernel.name + " with grid " + dims(config.grid) +
         ", block " + dims(config.block) + " and " +
         std::to_string(config.sharedBytes) +
         " bytes of dynamic shared memory; choose a schedule that fits the "
         "device";
}

static void allowSharedMemory(const Driver &driver, Kernel &kernel,
                              const LaunchConfig &config) {
  int32_t bytes = static_cast<int32_t>(config.sharedBytes);
  if (bytes <= kernel.allowedSharedBytes)
    return;
  check(driver.cuFuncSetAttribute(kernel.function, functionMaxDynamicShared,
                                  bytes),
        "cuFuncSetAttribute", describe(kernel, config));
  kernel.allowedSharedBytes = bytes;
}

static void launch(Kernel &kernel, LaunchConfig &config, void **params,
                   void **extra) {
  for (uint32_t size : config.grid)
    if (size == 0)
      return;
  const Driver &driver = getDriverWithContext("mgpuLaunchKernel");
  allowSharedMemory(driver, kernel, config);
  check(driver.cuLaunchKernelEx(&config, kernel.function, params, extra),
        "cuLaunchKernelEx", describe(kernel, config));
}

static uint32_t toDim(intptr_t size) {
  if (size < 0 || size > INT32_MAX)
    fail("cannot launch a kernel with " + std::to_string(size) +
         " blocks or threads along a dimension");
  return static_cast<uint32_t>(size);
}

void mgpuLaunchKernel(void *kernel, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t sharedBytes, void *stream,
                      void **params, void **extra, uint64_t) {
  LaunchConfig config = {{toDim(gridX), toDim(gridY), toDim(gridZ)},
                         {toDim(blockX), toDim(blockY), toDim(blockZ)},
                         static_cast<uint32_t>(sharedBytes),
                         stream,
                         nullptr,
                         0};
  launch(*static_cast<Kernel *>(kernel), config, params, extra);
}

void mgpuLaunchClusterKernel(void *handle, intptr_t clusterX, intptr_t clusterY,
                             intptr_t clusterZ, intptr_t gridX, intptr_t gridY,
                             intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                             intptr_t blockZ, int32_t sharedBytes, void *stream,
                             void **params, void **extra) {
  Kernel &kernel = *static_cast<Kernel *>(handle);
  LaunchAttribute cluster = {};
  cluster.id = launchClusterDimension;
  cluster.value.clusterDim[0] = toDim(clusterX);
  cluster.value.clusterDim[1] = toDim(clusterY);
  cluster.value.clusterDim[2] = toDim(clusterZ);
  LaunchConfig config = {{toDim(gridX), toDim(gridY), toDim(gridZ)},
                         {toDim(blockX), toDim(blockY), toDim(blockZ)},
                         static_cast<uint32_t>(sharedBytes),
                         stream,
                         &cluster,
                         1};
  if (clusterX * clusterY * clusterZ > portableClusterSize)
    check(
        getDriverWithContext("mgpuLaunchClusterKernel")
            .cuFuncSetAttribute(kernel.function, functionNonPortableCluster, 1),
        "cuFuncSetAttribute", describe(kernel, config));
  launch(kernel, config, params, extra);
}
