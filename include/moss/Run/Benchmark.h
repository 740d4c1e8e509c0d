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

#ifndef MOSS_RUN_BENCHMARK_H
#define MOSS_RUN_BENCHMARK_H

#include "moss/Run/Executable.h"

namespace mlir::moss {

/// Times of single calls, in milliseconds.
struct Timing {
  unsigned calls = 0;
  double median = 0, lowerQuartile = 0, upperQuartile = 0;
  double fastest = 0, slowest = 0;
};

/// Order statistics of \p milliseconds, which must not be empty. Quantiles
/// between two times are interpolated.
Timing summarize(SmallVector<double> milliseconds);

/// Time \p calls calls, after \p warmUp others. Before each, a buffer larger
/// than the caches is written, so that arguments come from memory. On a GPU,
/// the time is that between two events of a stream; on a CPU, that of
/// std::chrono::steady_clock. \p progress is called with the number of calls
/// done.
FailureOr<Timing> benchmark(Executable &executable,
                            ArrayRef<ArrayPointer> parameters, bool onDevice,
                            unsigned calls, unsigned warmUp,
                            function_ref<void(unsigned)> progress);

} // namespace mlir::moss

#endif // MOSS_RUN_BENCHMARK_H
