//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams and events.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "moss/Runtime/Runtime.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

using namespace moss_runtime;

// Values of the driver's enums.
static constexpr unsigned streamNonBlocking = 1;
static constexpr unsigned eventDefault = 0;
static constexpr unsigned eventDisableTiming = 2;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

namespace {
/// Idle streams by context.
struct StreamPool {
  std::mutex mutex;
  std::map<CUcontext, std::vector<CUstream>> idle;
};
} // namespace

static thread_local CallerStream callerStream;

// Never destroyed, because compiled modules may outlive static objects.
static StreamPool &getPool() {
  static StreamPool *pool = new StreamPool;
  return *pool;
}

CallerStream moss_runtime::exchangeCallerStream(CallerStream stream) {
  std::swap(callerStream, stream);
  return stream;
}

void mossSetStream(void *stream) { callerStream = {true, stream}; }

void mossResetStream() { callerStream = {}; }

void *mgpuStreamCreate() {
  if (callerStream.isSet)
    return callerStream.stream;
  CUcontext context = getCurrentContext("mgpuStreamCreate");
  {
    StreamPool &pool = getPool();
    std::lock_guard<std::mutex> lock(pool.mutex);
    std::vector<CUstream> &idle = pool.idle[context];
    if (!idle.empty()) {
      CUstream stream = idle.back();
      idle.pop_back();
      return stream;
    }
  }
  CUstream stream = nullptr;
  check(tryDriver().cuStreamCreate(&stream, streamNonBlocking),
        "cuStreamCreate");
  return stream;
}

void mgpuStreamDestroy(void *stream) {
  if (callerStream.is(stream))
    return;
  CUcontext context = getCurrentContext("mgpuStreamDestroy");
  StreamPool &pool = getPool();
  std::lock_guard<std::mutex> lock(pool.mutex);
  pool.idle[context].push_back(stream);
}

void mgpuStreamSynchronize(void *stream) {
  if (callerStream.is(stream))
    return;
  check(
      getDriverWithContext("mgpuStreamSynchronize").cuStreamSynchronize(stream),
      "cuStreamSynchronize", "a kernel or copy before it went wrong");
}

void mgpuStreamWaitEvent(void *stream, void *event) {
  check(getDriverWithContext("mgpuStreamWaitEvent")
            .cuStreamWaitEvent(stream, event, 0),
        "cuStreamWaitEvent");
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static void *createEvent(const char *caller, unsigned flags) {
  CUevent event = nullptr;
  check(getDriverWithContext(caller).cuEventCreate(&event, flags),
        "cuEventCreate");
  return event;
}

void *mgpuEventCreate() {
  return createEvent("mgpuEventCreate", eventDisableTiming);
}

void *mossTimingEventCreate() {
  return createEvent("mossTimingEventCreate", eventDefault);
}

void mgpuEventDestroy(void *event) {
  check(getDriverWithContext("mgpuEventDestroy").cuEventDestroy(event),
        "cuEventDestroy");
}

void mgpuEventSynchronize(void *event) {
  check(getDriverWithContext("mgpuEventSynchronize").cuEventSynchronize(event),
        "cuEventSynchronize", "a kernel or copy before it went wrong");
}

void mgpuEventRecord(void *event, void *stream) {
  check(getDriverWithContext("mgpuEventRecord").cuEventRecord(event, stream),
        "cuEventRecord");
}

float mossEventElapsed(void *start, void *end) {
  mgpuEventSynchronize(end);
  float milliseconds = 0;
  check(tryDriver().cuEventElapsedTime(&milliseconds, start, end),
        "cuEventElapsedTime",
        "both events must come from mossTimingEventCreate");
  return milliseconds;
}
