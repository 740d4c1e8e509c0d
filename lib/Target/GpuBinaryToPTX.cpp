//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `gpu.binary` to PTX text. Upstream can only print it inside an attribute,
// where it is escaped as an MLIR string.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "moss/Pipelines/Pipelines.h"
#include "moss/Target/Translation.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace mlir::moss;

/// An error about the module as a whole. Its ops and source lines hold all the
/// PTX, so a location would print that.
static InFlightDiagnostic reportError(ModuleOp module) {
  return emitError(UnknownLoc::get(module.getContext()));
}

/// The binary of the given name, or the only one.
static FailureOr<gpu::BinaryOp> selectBinary(ModuleOp module, StringRef name) {
  auto report = [&] { return reportError(module); };
  SmallVector<gpu::BinaryOp> binaries(module.getOps<gpu::BinaryOp>());
  if (binaries.empty())
    return report() << "the module has no gpu.binary; run moss-opt "
                       "--moss-fp8-lower, or gpu-module-to-binary with "
                       "format=isa, first";
  if (name.empty() && binaries.size() == 1)
    return binaries.front();
  if (!name.empty())
    for (gpu::BinaryOp binary : binaries)
      if (binary.getName() == name)
        return binary;
  InFlightDiagnostic diag = report();
  if (name.empty())
    diag << "the module has " << binaries.size()
         << " gpu.binary ops; select one with --moss-ptx-binary: ";
  else
    diag << "the module has no gpu.binary named '" << name << "', but ";
  llvm::interleaveComma(binaries, diag, [&](gpu::BinaryOp binary) {
    diag << "'" << binary.getName() << "'";
  });
  return diag;
}

LogicalResult moss::printPTX(ModuleOp module, StringRef name, unsigned index,
                             raw_ostream &os) {
  auto report = [&] { return reportError(module); };
  FailureOr<gpu::BinaryOp> binary = selectBinary(module, name);
  if (failed(binary))
    return failure();
  ArrayAttr objects = binary->getObjects();
  if (index >= objects.size())
    return report() << "gpu.binary '" << binary->getName() << "' has "
                    << objects.size() << " objects, so there is no object "
                    << index;
  auto object = cast<gpu::ObjectAttr>(objects[index]);
  if (object.getFormat() != gpu::CompilationTarget::Assembly)
    return report() << "object " << index << " of gpu.binary '"
                    << binary->getName() << "' holds "
                    << gpu::stringifyCompilationTarget(object.getFormat())
                    << ", not assembly; compile with to=ptx, or "
                       "gpu-module-to-binary with format=isa";
  os << object.getObject().getValue();
  return success();
}

void moss::registerToPTXTranslation() {
  static llvm::cl::opt<std::string> binary(
      "moss-ptx-binary",
      llvm::cl::desc("Name of the gpu.binary to print (default: the only one)"),
      llvm::cl::init(""));
  static llvm::cl::opt<unsigned> object(
      "moss-ptx-object",
      llvm::cl::desc("Index of the object to print among those of the "
                     "gpu.binary"),
      llvm::cl::init(0));
  static TranslateFromMLIRRegistration registration(
      "moss-gpu-binary-to-ptx",
      "print the PTX of a gpu.binary, ready for ptxas",
      [](ModuleOp module, raw_ostream &os) {
        return printPTX(module, binary, object, os);
      },
      [](DialectRegistry &registry) {
        registerAllDialects(registry);
        registerDialects(registry);
      });
}
