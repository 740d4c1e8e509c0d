//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline `moss-fp8-lower`, and registration of everything in Moss.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_PIPELINES_PIPELINES_H
#define MOSS_PIPELINES_PIPELINES_H

namespace mlir {
class DialectRegistry;

namespace moss {

/// Register the moss dialect, its external interface models, and the
/// translations of kernels to LLVM IR. The passes also need upstream's dialects
/// and extensions: mlir::registerAllDialects and mlir::registerAllExtensions.
void registerDialects(DialectRegistry &registry);

/// Register the pipeline `moss-fp8-lower`.
void registerFP8LowerPipeline();

/// Register every pass and pipeline of Moss. All flags begin with `moss-`.
void registerPassesAndPipelines();

} // namespace moss
} // namespace mlir

#endif // MOSS_PIPELINES_PIPELINES_H
