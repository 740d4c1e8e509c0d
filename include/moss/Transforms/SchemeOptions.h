//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of scaling schemes as text, as passes and pipelines take it.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_SCHEMEOPTIONS_H
#define MOSS_TRANSFORMS_SCHEMEOPTIONS_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// The options of `moss-quantize` and of the pipelines that run it; see the
/// pass for their meaning.
struct SchemeOptions {
  std::string scheme = "two-level";
  std::string lhsScheme;
  std::string rhsScheme;
  std::string lhsGroup;
  std::string rhsGroup;
  std::string lhsFormat;
  std::string rhsFormat;
  std::string global;
  std::string rounding = "ceil";
  std::string accumulate;
  int64_t promoteInterval = 128;
};

/// What the options stand for.
struct MatmulScheme {
  SchemeAttr lhs;
  SchemeAttr rhs;
  AccumulateAttr accumulate;
};

/// Turn options into attributes, or report at `loc` what is wrong with them.
/// The schemes are such that every op that they are put on can be built without
/// scales from elsewhere, so `given` is an error; a `delayed` scale begins
/// as 1.
FailureOr<MatmulScheme> parseSchemeOptions(const SchemeOptions &options,
                                           Location loc);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_SCHEMEOPTIONS_H
