//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as a library: from a program to LLVM IR, machine code, a shared
// library with a C interface, its header and its description.
//
//   DialectRegistry registry;
//   registerCompilerDialects(registry);
//   MLIRContext context(registry);
//   CompileOptions options;
//   options.lowering.target = "cpu";
//   OwningOpRef<ModuleOp> module = parseProgram(sourceMgr, &context);
//   if (!module || failed(compileToFile(*module, OutputKind::Shared, "f.so",
//                                       options)))
//     ...
//
// Errors are diagnostics of the context.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_COMPILER_COMPILER_H
#define MOSS_COMPILER_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "moss/Pipelines/FP8Lower.h"
#include <functional>
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class SourceMgr;
class raw_pwrite_stream;
} // namespace llvm

namespace mlir {
class PassManager;

namespace moss {

/// How to compile.
struct CompileOptions {
  /// Options of moss-fp8-lower. Those that follow from what is asked for, `to`,
  /// `c-interface` and `opt-level`, are set by `lowerProgram`.
  FP8LowerOptions lowering;
  /// Level of optimization, 0 to 3, of host code, of kernels and of PTX when it
  /// is assembled.
  unsigned optLevel = 3;
  /// The CPU to generate host code for, as LLVM calls it: any of the machine's
  /// architecture if empty, this machine's if "native".
  std::string cpu;
  /// Whether kernels in objects and libraries are machine code, assembled by
  /// CUDA's ptxas, instead of PTX, which the driver assembles.
  bool assembleKernels = false;
  /// The program that links shared libraries: a C compiler. If empty, the first
  /// of clang-22, clang, cc and gcc that is in PATH.
  std::string linker;
  /// The folder of libmoss_runtime.so.
  std::string runtimeFolder;
  /// If not empty, the program at each level goes to files of this folder.
  std::string tempsFolder;
  /// Whether to print schedules to standard error, for a GPU.
  bool printsSchedules = false;
  /// Applied to each pass manager before its passes are added.
  std::function<LogicalResult(PassManager &)> configure;
};

/// What a compilation gives.
enum class OutputKind {
  MLIR,
  LLVMIR,
  PTX,
  Cubin,
  Object,
  Assembly,
  Shared,
  Header,
  JSON
};

/// Register every dialect, extension and translation that programs and their
/// compilation need.
void registerCompilerDialects(DialectRegistry &registry);

/// Parse a program, text or bytecode. Arguments of functions keep their names
/// for the C interface. Null after an error.
OwningOpRef<ModuleOp>
parseProgram(const std::shared_ptr<llvm::SourceMgr> &sourceMgr,
             MLIRContext *context);

/// Run moss-fp8-lower with a C interface up to the level \p to, or to the end
/// if that is empty. A GPU's kernels end as PTX, or as machine code if the
/// options say so.
LogicalResult lowerProgram(ModuleOp module, CompileOptions &options,
                           StringRef to = "");

/// A lowered program as optimized LLVM IR, with its description, for the
/// machine that this runs on. Null after an error.
std::unique_ptr<llvm::Module> translateToLLVM(ModuleOp module,
                                              llvm::LLVMContext &context,
                                              const CompileOptions &options);

/// Generate machine code, or assembly, of LLVM IR made by `translateToLLVM`.
LogicalResult emitMachineCode(llvm::Module &module, bool asAssembly,
                              const CompileOptions &options, Location loc,
                              llvm::raw_pwrite_stream &os);

/// Link an object made by `emitMachineCode` to a shared library beside which
/// libmoss_runtime.so is looked for at run time. Programs that are linked with
/// it will look for a file \p name.
LogicalResult linkShared(StringRef object, StringRef output, StringRef name,
                         const CompileOptions &options, Location loc);

/// Print the PTX of all kernels of a program that was lowered to PTX, as one
/// text.
LogicalResult printPTX(ModuleOp module, raw_ostream &os);

/// The kernels of a program that was lowered to PTX as one cubin, by CUDA's
/// ptxas.
FailureOr<std::string> assembleKernels(ModuleOp module,
                                       const CompileOptions &options);

/// The description of a lowered program's functions and kernels, JSON as
/// docs/Calling.md defines it.
std::string describeProgram(ModuleOp module);

/// Print a line for each matmul kernel of a program for a GPU that was lowered:
/// its shape and its schedule. If there is none, a line says so.
void printSchedules(ModuleOp module, raw_ostream &os);

/// Print the C header of a lowered program.
void printHeader(ModuleOp module, StringRef fileName, raw_ostream &os);

/// Compile a program, as parsed, to a file, or standard output if \p output is
/// "-". A shared library gets its header and libmoss_runtime.so beside it. For
/// MLIR, \p to is the level. Files are complete or not there.
LogicalResult compileToFile(ModuleOp module, OutputKind kind, StringRef output,
                            CompileOptions &options, StringRef to = "");

} // namespace moss
} // namespace mlir

#endif // MOSS_COMPILER_COMPILER_H
