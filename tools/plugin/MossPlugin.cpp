//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MossPlugin.so: Moss for a stock mlir-opt.
//
//     mlir-opt --load-dialect-plugin=MossPlugin.so
//              --pass-pipeline='builtin.module(moss-...)'
//
// The dialect entry point registers the passes as well, so that one flag is
// enough. mlir-opt parses its flags before it loads plugins, so the passes can
// only be named in a pipeline's text.
//
//===----------------------------------------------------------------------===//

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "moss/Pipelines/Pipelines.h"
#include "llvm-c/Core.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// Whether the host runs the LLVM that this plugin was built for. The C++
/// interfaces of LLVM and MLIR change from one minor release to the next, and
/// the loader of plugins compares only the version of the entry points.
static bool isHostSupported() {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  if (major == LLVM_VERSION_MAJOR && minor == LLVM_VERSION_MINOR)
    return true;
  llvm::errs() << "moss: this plugin was built for LLVM " << LLVM_VERSION_MAJOR
               << "." << LLVM_VERSION_MINOR << ", but its host uses LLVM "
               << major << "." << minor
               << "; nothing is registered. Use mlir-opt of LLVM "
               << LLVM_VERSION_MAJOR << "." << LLVM_VERSION_MINOR
               << " or build the plugin for the host\n";
  return false;
}

/// A host may load the plugin by both flags, and a pass registers once.
static void registerPassesOnce() {
  static bool registered = false;
  if (registered || !isHostSupported())
    return;
  registered = true;
  moss::registerPassesAndPipelines();
}

static void registerDialectsAndPasses(DialectRegistry *registry) {
  if (!isHostSupported())
    return;
  moss::registerDialects(*registry);
  registerPassesOnce();
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Moss", LLVM_VERSION_STRING,
          registerDialectsAndPasses};
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Moss", LLVM_VERSION_STRING,
          registerPassesOnce};
}
