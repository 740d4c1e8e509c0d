// RUN: moss-opt %s --pass-pipeline='builtin.module(gpu.module(moss-convert-fp8-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @kernels {
  func.func @rounding(%x: f32) -> f8E4M3FN {
    // expected-error @below {{'arith.truncf' op from 'f32' to 'f8E4M3FN' has no instruction; convert scalars or one-dimensional vectors, from f32 or to it, to nearest even}}
    %q = arith.truncf %x toward_zero : f32 to f8E4M3FN
    return %q : f8E4M3FN
  }
}

// -----

gpu.module @kernels {
  func.func @tiles(%x: vector<2x2xf8E4M3FN>) -> vector<2x2xf32> {
    // expected-error @below {{'arith.extf' op from 'vector<2x2xf8E4M3FN>' to 'vector<2x2xf32>' has no instruction}}
    %y = arith.extf %x : vector<2x2xf8E4M3FN> to vector<2x2xf32>
    return %y : vector<2x2xf32>
  }
}
