// REQUIRES: lld
// A host of another LLVM gets a message, and no dialect or pass.
// RUN: llc %S/Inputs/llvm-19.ll -filetype=obj -relocation-model=pic -o %t.o
// RUN: ld.lld -shared %t.o -o %t.so
// RUN: env LD_PRELOAD=%t.so not mlir-opt %s --load-dialect-plugin=%moss_lib_dir/MossPlugin.so \
// RUN:   --pass-pipeline='builtin.module(moss-expand-rescale)' 2>&1 | FileCheck %s

// CHECK: moss: this plugin was built for LLVM 22.1, but its host uses LLVM 19.1; nothing is registered.
// CHECK: 'moss-expand-rescale' does not refer to a registered pass
