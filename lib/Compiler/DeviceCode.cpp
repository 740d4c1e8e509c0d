//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of a compiled program as one PTX text or one cubin.
//
//===----------------------------------------------------------------------===//

#include "Temporary.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "moss/Compiler/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moss;

/// PTX without what it says once at the beginning.
static StringRef dropPreamble(StringRef ptx) {
  size_t position = ptx.find(".address_size");
  if (position == StringRef::npos)
    return ptx;
  return ptx.substr(ptx.find('\n', position) + 1);
}

LogicalResult moss::printPTX(ModuleOp module, raw_ostream &os) {
  bool isFirst = true;
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
    if (object.getFormat() != gpu::CompilationTarget::Assembly)
      return emitError(UnknownLoc::get(module.getContext()))
             << "gpu.binary '" << binary.getName() << "' holds "
             << gpu::stringifyCompilationTarget(object.getFormat())
             << ", not PTX";
    // Kept as a string that ends with a null.
    StringRef ptx = object.getObject().getValue().rtrim('\0');
    os << (isFirst ? ptx : dropPreamble(ptx));
    isFirst = false;
  }
  if (isFirst)
    return emitError(UnknownLoc::get(module.getContext()))
           << "the program has no kernels";
  return success();
}

FailureOr<std::string> moss::assembleKernels(ModuleOp module,
                                             const CompileOptions &options) {
  auto report = [&] { return emitError(UnknownLoc::get(module.getContext())); };
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return report() << "a cubin needs CUDA's ptxas, which is neither in PATH "
                       "nor in the bin folder of $CUDA_ROOT, $CUDA_HOME or "
                       "$CUDA_PATH; emit PTX";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(printPTX(module, os)))
    return failure();
  Temporary source("moss-%%%%%%%%.ptx", /*inTempFolder=*/true);
  Temporary cubin("moss-%%%%%%%%.cubin", /*inTempFolder=*/true);
  std::error_code error = source.write(text);
  if (error || (error = cubin.write("")))
    return report() << "cannot write a temporary file: " << error.message();
  std::string level = "-O" + std::to_string(options.optLevel);
  std::string arch = "-arch=" + options.lowering.target.getValue();
  StringRef arguments[] = {*ptxas,           arch, level,
                           source.getName(), "-o", cubin.getName()};
  if (llvm::sys::ExecuteAndWait(*ptxas, arguments) != 0)
    return report() << *ptxas << " cannot assemble the kernels' PTX";
  auto buffer = llvm::MemoryBuffer::getFile(cubin.getName());
  if (!buffer)
    return report() << "cannot read what " << *ptxas
                    << " has written: " << buffer.getError().message();
  return (*buffer)->getBuffer().str();
}
