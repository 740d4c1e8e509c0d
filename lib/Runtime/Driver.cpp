//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading the CUDA driver, contexts and errors.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "moss/Runtime/Runtime.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <unordered_map>

using namespace moss_runtime;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static void printError(const char *message) {
  std::fprintf(stderr, "moss: error: %s\n", message);
}

static std::atomic<MossErrorHandler> errorHandler{printError};

MossErrorHandler mossSetErrorHandler(MossErrorHandler handler) {
  return errorHandler.exchange(handler ? handler : printError);
}

void moss_runtime::fail(const std::string &message, MossStatus status) {
  if (isInCall())
    throw Failure{status, message};
  errorHandler.load()(message.c_str());
  // Not exit(): the destructors of compiled modules would call back into a
  // driver that has just failed.
  std::fflush(nullptr);
  std::_Exit(1);
}

void moss_runtime::check(CUresult result, const char *call,
                         const std::string &hint) {
  if (result == 0)
    return;
  const Driver &driver = tryDriver();
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &text);
  fail(std::string(call) + " failed with " + (name ? name : "unknown error ") +
       (name ? "" : std::to_string(result)) + (text ? " (" : "") +
       (text ? text : "") + (text ? ")" : "") +
       (hint.empty() ? "" : "; " + hint));
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

/// Find every function; the first one that is missing is the problem.
static void resolve(Driver &driver, void *library) {
  auto find = [&](const char *symbol) {
    void *address = dlsym(library, symbol);
    if (!address && driver.problem.empty())
      driver.problem = std::string("the CUDA driver lacks ") + symbol +
                       "; install one that supports CUDA 12.0 or later";
    return address;
  };
#define MOSS_RESOLVE(name, symbol, params)                                     \
  driver.name = reinterpret_cast<CUresult(*) params>(find(symbol));
  MOSS_DRIVER_FUNCTIONS(MOSS_RESOLVE)
#undef MOSS_RESOLVE
}

static Driver loadDriver() {
  Driver driver;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    driver.problem = std::string("cannot load the CUDA driver (") + dlerror() +
                     "); run on a machine with an NVIDIA GPU and its driver, "
                     "or compile for target=cpu";
    return driver;
  }
  resolve(driver, library);
  if (!driver.problem.empty())
    return driver;
  int count = 0;
  CUresult result = driver.cuInit(0);
  if (result == 0)
    result = driver.cuDeviceGetCount(&count);
  const char *name = nullptr;
  driver.cuGetErrorName(result, &name);
  if (result != 0)
    driver.problem = std::string("cuInit failed with ") +
                     (name ? name : "an unknown error") +
                     "; check that nvidia-smi lists a device";
  else if (count == 0)
    driver.problem = "the CUDA driver sees no device; check that "
                     "CUDA_VISIBLE_DEVICES does not hide it";
  return driver;
}

const Driver &moss_runtime::tryDriver() {
  static const Driver driver = loadDriver();
  return driver;
}

const Driver &moss_runtime::getDriver(const char *caller) {
  const Driver &driver = tryDriver();
  if (!driver.problem.empty())
    fail(std::string(caller) + ": " + driver.problem);
  return driver;
}

int32_t mossHasDevice() { return tryDriver().problem.empty(); }

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

static std::atomic<int32_t> defaultDevice{0};

void mgpuSetDefaultDevice(int32_t device) { defaultDevice = device; }

/// The primary context of a device, retained once for the whole process.
static CUcontext getPrimaryContext(const Driver &driver, int32_t ordinal) {
  static std::mutex mutex;
  static std::unordered_map<int32_t, CUcontext> contexts;
  std::lock_guard<std::mutex> lock(mutex);
  CUcontext &context = contexts[ordinal];
  if (!context) {
    CUdevice device = 0;
    check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet",
          "there is no device " + std::to_string(ordinal));
    check(driver.cuDevicePrimaryCtxRetain(&context, device),
          "cuDevicePrimaryCtxRetain");
  }
  return context;
}

CUcontext moss_runtime::getCurrentContext(const char *caller) {
  const Driver &driver = getDriver(caller);
  CUcontext context = nullptr;
  check(driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context)
    return context;
  context = getPrimaryContext(driver, defaultDevice);
  check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return context;
}

const Driver &moss_runtime::getDriverWithContext(const char *caller) {
  getCurrentContext(caller);
  return tryDriver();
}
