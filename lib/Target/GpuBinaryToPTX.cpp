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

/// The binary of the given name, or the only one.
static FailureOr<gpu::BinaryOp> selectBinary(ModuleOp module, StringRef name) {
  SmallVector<gpu::BinaryOp> binaries(module.getOps<gpu::BinaryOp>());
  if (binaries.empty())
    return module.emitError("has no gpu.binary; run gpu-module-to-binary with "
                            "format=isa first");
  if (name.empty() && binaries.size() == 1)
    return binaries.front();
  if (!name.empty())
    for (gpu::BinaryOp binary : binaries)
      if (binary.getName() == name)
        return binary;
  InFlightDiagnostic diag = module.emitError();
  if (name.empty())
    diag << "has " << binaries.size()
         << " gpu.binary ops; select one with --moss-ptx-binary";
  else
    diag << "has no gpu.binary named '" << name << "'";
  for (gpu::BinaryOp binary : binaries)
    diag.attachNote(binary.getLoc()) << "there is '" << binary.getName() << "'";
  return diag;
}

LogicalResult moss::printPTX(ModuleOp module, StringRef name, unsigned index,
                             raw_ostream &os) {
  FailureOr<gpu::BinaryOp> binary = selectBinary(module, name);
  if (failed(binary))
    return failure();
  ArrayAttr objects = binary->getObjects();
  if (index >= objects.size())
    return binary->emitError("has ")
           << objects.size() << " objects, so there is no object " << index;
  auto object = cast<gpu::ObjectAttr>(objects[index]);
  if (object.getFormat() != gpu::CompilationTarget::Assembly)
    return binary->emitError("object ")
           << index << " holds "
           << gpu::stringifyCompilationTarget(object.getFormat())
           << ", not assembly; run gpu-module-to-binary with format=isa";
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
