// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-request-c-wrappers))' | FileCheck %s

// CHECK: func @public() attributes {llvm.emit_c_interface}
func.func @public() { return }

// CHECK: func private @private() {
func.func private @private() { return }

// CHECK: func private @declared()
// CHECK-NOT: emit_c_interface
func.func private @declared()
