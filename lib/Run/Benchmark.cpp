//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a compiled function takes.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Benchmark.h"
#include "moss/Runtime/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <cstring>

using namespace mlir;
using namespace mlir::moss;

/// More than the last caches of the machines at hand: an H200 has 50 MiB, and
/// servers' CPUs rarely more than 256 MiB that one core can use.
static constexpr size_t kFlushBytes = size_t(256) << 20;

Timing moss::summarize(SmallVector<double> milliseconds) {
  llvm::sort(milliseconds);
  auto quantile = [&](double part) {
    double place = part * static_cast<double>(milliseconds.size() - 1);
    size_t below = static_cast<size_t>(place);
    size_t above = std::min(below + 1, milliseconds.size() - 1);
    double weight = place - static_cast<double>(below);
    return milliseconds[below] * (1 - weight) + milliseconds[above] * weight;
  };
  return {static_cast<unsigned>(milliseconds.size()),
          quantile(0.5),
          quantile(0.25),
          quantile(0.75),
          milliseconds.front(),
          milliseconds.back()};
}

namespace {
/// Times one call at a time.
class Timer {
public:
  virtual ~Timer() = default;
  /// The milliseconds of a call that finds the caches cold, or failure after
  /// an error.
  virtual FailureOr<double> time(Executable &executable,
                                 ArrayRef<ArrayPointer> parameters) = 0;
};

class HostTimer : public Timer {
public:
  FailureOr<double> time(Executable &executable,
                         ArrayRef<ArrayPointer> parameters) override {
    std::memset(buffer.data(), ++counter, buffer.size());
    auto begin = std::chrono::steady_clock::now();
    if (failed(executable.call(parameters, /*stream=*/nullptr)))
      return failure();
    auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(end - begin).count();
  }

private:
  std::vector<char> buffer = std::vector<char>(kFlushBytes);
  char counter = 0;
};

class DeviceTimer : public Timer {
public:
  DeviceTimer()
      : stream(mgpuStreamCreate()), begin(mossTimingEventCreate()),
        end(mossTimingEventCreate()), buffer(mossDeviceAlloc(kFlushBytes)) {}
  ~DeviceTimer() override {
    mossDeviceFree(buffer);
    mgpuEventDestroy(end);
    mgpuEventDestroy(begin);
    mgpuStreamDestroy(stream);
  }

  FailureOr<double> time(Executable &executable,
                         ArrayRef<ArrayPointer> parameters) override {
    mgpuMemset32(buffer, ++counter, kFlushBytes / 4, stream);
    mgpuEventRecord(begin, stream);
    if (failed(executable.call(parameters, stream)))
      return failure();
    mgpuEventRecord(end, stream);
    return mossEventElapsed(begin, end);
  }

private:
  void *stream, *begin, *end, *buffer;
  uint32_t counter = 0;
};
} // namespace

FailureOr<Timing> moss::benchmark(Executable &executable,
                                  ArrayRef<ArrayPointer> parameters,
                                  bool onDevice, unsigned calls,
                                  unsigned warmUp,
                                  function_ref<void(unsigned)> progress) {
  std::unique_ptr<Timer> timer;
  if (onDevice)
    timer = std::make_unique<DeviceTimer>();
  else
    timer = std::make_unique<HostTimer>();
  SmallVector<double> times;
  for (unsigned i = 0; i < warmUp + calls; ++i) {
    FailureOr<double> time = timer->time(executable, parameters);
    if (failed(time))
      return failure();
    if (i >= warmUp)
      times.push_back(*time);
    progress(i + 1);
  }
  return summarize(std::move(times));
}
