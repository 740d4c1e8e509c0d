//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translations out of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TARGET_TRANSLATION_H
#define MOSS_TARGET_TRANSLATION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class ModuleOp;

namespace moss {

/// Print the PTX of one object of a `gpu.binary` as it is, ready for ptxas.
/// Without a `binary` name the module must hold exactly one. An object that is
/// not PTX is an error.
LogicalResult printPTX(ModuleOp module, StringRef binary, unsigned object,
                       raw_ostream &os);

/// Register `--moss-gpu-binary-to-ptx` and its options.
void registerToPTXTranslation();

} // namespace moss
} // namespace mlir

#endif // MOSS_TARGET_TRANSLATION_H
