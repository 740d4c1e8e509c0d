// RUN: moss-opt %s --moss-bf16-to-bits --verify-diagnostics

llvm.func @compute(%x: bf16) -> bf16 {
  // expected-error @+1 {{computes in bf16, which has to be expanded to f32 first; run arith-emulate-unsupported-floats and arith-expand}}
  %r = llvm.fadd %x, %x : bf16
  llvm.return %r : bf16
}
