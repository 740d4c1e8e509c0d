// RUN: moss-opt %s --moss-create-c-interface --split-input-file --verify-diagnostics
// RUN: not moss-opt %s --moss-create-c-interface=target=sm_80 --split-input-file 2>&1 | FileCheck %s

// CHECK: unknown target 'sm_80', expected

// expected-error@+1 {{has no wrapper '_mlir_ciface_f'; run moss-request-c-wrappers before it is lowered to LLVM}}
llvm.func @f() attributes {moss.c_interface = {name = "f", source = "f", parameters = []}} {
  llvm.return
}

// -----

// expected-error@+1 {{attribute 'moss.c_interface' must be as moss-results-to-arguments makes it, with a name and parameters, but is "f"}}
llvm.func @f() attributes {moss.c_interface = "f"} {
  llvm.return
}

// -----

// expected-error@+1 {{attribute 'moss.c_interface' must be as moss-results-to-arguments makes it}}
llvm.func @f() attributes {moss.c_interface = {name = "f", source = "f", parameters = [{kind = "thing", name = "x", type = "f32"}]}} {
  llvm.return
}

// -----

llvm.func @g() {
  llvm.return
}
// expected-error@+1 {{cannot have the C function 'g': the program has another symbol of this name}}
llvm.func @f() attributes {moss.c_interface = {name = "g", source = "f", parameters = []}} {
  llvm.return
}
llvm.func @_mlir_ciface_f() {
  llvm.return
}

// -----

llvm.func @mossInvoke()
// expected-error@-1 {{redefinition of function 'mossInvoke' of different type}}
// expected-error@+1 {{needs the runtime's function 'mossInvoke', but the program has another one of this name}}
llvm.func @f() attributes {moss.c_interface = {name = "f", source = "f", parameters = []}} {
  llvm.return
}
llvm.func @_mlir_ciface_f() {
  llvm.return
}
