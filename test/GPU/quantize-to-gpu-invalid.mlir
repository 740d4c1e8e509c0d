// RUN: moss-opt %s --moss-quantize-to-gpu --split-input-file --verify-diagnostics --remark-format=emitRemark --remarks-filter=moss-quantize-to-gpu

func.func @tensors(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %g: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'moss.quantize' op on tensors cannot become a kernel; bufferize it first}}
  %q:2 = moss.quantize <f8E4M3FN, global = jit> ins(%x : tensor<8x64xbf16>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  return %q#1 : tensor<f32>
}

// -----

gpu.module @kernels {
  gpu.func @nested(%x: memref<8x64xbf16>, %p: memref<8x64xf8E4M3FN>) kernel {
    // expected-error @below {{'moss.quantize' op is in a kernel, but becomes kernels itself; move it to the host}}
    moss.quantize <f8E4M3FN, global = unit> ins(%x : memref<8x64xbf16>) payload(%p : memref<8x64xf8E4M3FN>)
    gpu.return
  }
}

// -----

func.func @copied(%x: memref<64x8xbf16>, %p: memref<8x64xf8E4M3FN>, %m: memref<8x1xf8E8M0FNU>) {
  // expected-remark @below {{copies the transposed source, because its micro groups lie across its rows}}
  moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil> transpose
    ins(%x : memref<64x8xbf16>) payload(%p : memref<8x64xf8E4M3FN>) micro(%m : memref<8x1xf8E8M0FNU>)
  return
}
