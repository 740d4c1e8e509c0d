// RUN: moss-opt --split-input-file --verify-diagnostics %s

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: memref<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{operands must be all tensors or all memrefs}}
  "moss.quantize"(%x, %p) <{scheme = #tensor, operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}>
    : (memref<8x64xbf16>, tensor<8x64xf8E4M3FN>) -> ()
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>
#swap = affine_map<(i, j) -> (j, i)>

func.func @f(%x: memref<8x64xbf16, #swap>, %p: memref<8x64xf8E4M3FN>) {
  // expected-error @below {{operand #0 of type 'memref<8x64xbf16, affine_map<(d0, d1) -> (d1, d0)>>' has no strides; copy it to a strided memref first}}
  moss.quantize #tensor ins(%x : memref<8x64xbf16, #swap>) payload(%p : memref<8x64xf8E4M3FN>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: memref<8x64xbf16>, %p: memref<8x64xf8E4M3FN>) {
  // expected-error @below {{has no results on memrefs}}
  %q = moss.quantize #tensor ins(%x : memref<8x64xbf16>) payload(%p : memref<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{expected one result per init, that is 1, but got 0}}
  moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{result 0 must have its init's type 'tensor<8x64xf8E4M3FN>', but has 'tensor<?x64xf8E4M3FN>'}}
  %q = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<?x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E5M2>) {
  // expected-error @below {{the payload has element type 'f8E5M2', but its scheme says 'f8E4M3FN'}}
  %q = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E5M2>) -> tensor<8x64xf8E5M2>
  return
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{the scheme has micro scales, but the operand is missing}}
  %q = moss.quantize #row ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %m: tensor<8x1xf8E8M0FNU>) {
  // expected-error @below {{the scheme has no micro scales, but there is an operand}}
  %q:2 = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>)
    micro(%m : tensor<8x1xf8E8M0FNU>) -> tensor<8x64xf8E4M3FN>, tensor<8x1xf8E8M0FNU>
  return
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %m: tensor<8x1xf32>) {
  // expected-error @below {{the micro scales have element type 'f32', but the scheme says 'f8E8M0FNU'}}
  %q:2 = moss.quantize #row ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>)
    micro(%m : tensor<8x1xf32>) -> tensor<8x64xf8E4M3FN>, tensor<8x1xf32>
  return
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %m: tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{the micro scales of a payload of 8x64 must have shape 8x1, but have 8x2}}
  %q:2 = moss.quantize #row ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>)
    micro(%m : tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
  return
}

// -----

#block = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [3, 32], global = unit, rounding = ceil>

func.func @f(%x: tensor<8x?xbf16>, %p: tensor<8x?xf8E4M3FN>, %m: tensor<2x?xf8E8M0FNU>) {
  // expected-error @below {{the micro scales of a payload of 8x? must have shape 3x?, but have 2x?}}
  %q:2 = moss.quantize #block ins(%x : tensor<8x?xbf16>) payload(%p : tensor<8x?xf8E4M3FN>)
    micro(%m : tensor<2x?xf8E8M0FNU>) -> tensor<8x?xf8E4M3FN>, tensor<2x?xf8E8M0FNU>
  return
}

// -----

#given = #moss.scheme<f8E4M3FN, global = given>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{global scale 'given' needs a scale operand}}
  %q = moss.quantize #given ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %g: tensor<f32>) {
  // expected-error @below {{global scale 'unit' takes no scale operand}}
  %q = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) scale(%g : tensor<f32>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{global scale 'jit' needs a global init}}
  %q = moss.quantize #jit ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %g: tensor<f32>) {
  // expected-error @below {{global scale 'unit' has no global init}}
  %q:2 = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x64xf8E4M3FN>, tensor<f32>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<64x8xf8E4M3FN>) {
  // expected-error @below {{payload of a source must be 8x64, but is 64x8}}
  %q = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<64x8xf8E4M3FN>) -> tensor<64x8xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{payload of the transposed source must be 64x8, but is 8x64}}
  %q = moss.quantize #tensor transpose ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{operand #0 must be 2-D tensor or memref of bf16 or f32, but got 'tensor<8x64xf16>'}}
  %q = moss.quantize #tensor ins(%x : tensor<8x64xf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<2x8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{operand #0 must be 2-D tensor or memref of bf16 or f32, but got 'tensor<2x8x64xbf16>'}}
  %q = moss.quantize #tensor ins(%x : tensor<2x8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: memref<*xbf16>, %p: memref<8x64xf8E4M3FN>) {
  // expected-error @below {{operand #0 must be 2-D tensor or memref of bf16 or f32, but got 'memref<*xbf16>'}}
  moss.quantize #tensor ins(%x : memref<*xbf16>) payload(%p : memref<8x64xf8E4M3FN>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) {
  // expected-error @below {{requires attribute 'scheme'}}
  %q = "moss.quantize"(%x, %p) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}>
    : (tensor<8x64xbf16>, tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%p: tensor<8x64xf8E4M3FN>, %y: tensor<8x32xf32>) {
  // expected-error @below {{init must be 8x64, but is 8x32}}
  %d = moss.dequantize #tensor payload(%p : tensor<8x64xf8E4M3FN>) outs(%y : tensor<8x32xf32>) -> tensor<8x32xf32>
  return
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

func.func @f(%p: tensor<8x64xf8E4M3FN>, %y: tensor<8x64xf32>) {
  // expected-error @below {{the scheme has micro scales, but the operand is missing}}
  %d = moss.dequantize #row payload(%p : tensor<8x64xf8E4M3FN>) outs(%y : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x32xf8E4M3FN>, %c: tensor<8x16xf32>) {
  // expected-error @below {{lhs [M, K] is 8x64 and rhs [N, K] is 16x32, but K must agree}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : tensor<8x64xf8E4M3FN>) rhs(#tensor, %b : tensor<16x32xf8E4M3FN>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>, %c: tensor<16x8xf32>) {
  // expected-error @below {{init [M, N] must be 8x16, but is 16x8}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : tensor<8x64xf8E4M3FN>) rhs(#tensor, %b : tensor<16x64xf8E4M3FN>) outs(%c : tensor<16x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E5M2>, %c: tensor<8x16xf32>) {
  // expected-error @below {{rhs payload has element type 'f8E5M2', but its scheme says 'f8E4M3FN'}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : tensor<8x64xf8E4M3FN>) rhs(#tensor, %b : tensor<16x64xf8E5M2>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%a: tensor<8x64xf8E5M2>, %b: tensor<16x64xf8E4M3FN>, %c: tensor<8x16xf32>) {
  // expected-error @below {{lhs payload has element type 'f8E5M2', but its scheme says 'f8E4M3FN'}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : tensor<8x64xf8E5M2>) rhs(#tensor, %b : tensor<16x64xf8E4M3FN>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @f(%a: tensor<8x64xf8E4M3FN>, %b: tensor<16x64xf8E4M3FN>, %c: tensor<8x16xf16>) {
  // expected-error @below {{operand #2 must be 2-D tensor or memref of bf16 or f32, but got 'tensor<8x16xf16>'}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : tensor<8x64xf8E4M3FN>) rhs(#tensor, %b : tensor<16x64xf8E4M3FN>) outs(%c : tensor<8x16xf16>) -> tensor<8x16xf16>
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>
#bf16 = #moss.scheme<bf16, global = unit>

func.func @f(%a: memref<8x64xbf16>, %b: memref<16x64xf8E4M3FN>, %c: memref<8x16xf32>) {
  // expected-error @below {{cannot multiply 'bf16' and 'f8E4M3FN': both operands must be FP8, or both bf16}}
  moss.scaled_matmul #moss.accumulate<fast> lhs(#bf16, %a : memref<8x64xbf16>)
    rhs(#tensor, %b : memref<16x64xf8E4M3FN>) outs(%c : memref<8x16xf32>)
  return
}

// -----

#bf16 = #moss.scheme<bf16, global = unit>

// There is nothing to quantize.
func.func @f(%x: memref<8x64xf32>, %p: memref<8x64xf8E4M3FN>) {
  // expected-error @below {{the payload has element type 'f8E4M3FN', but its scheme says 'bf16'}}
  moss.quantize #bf16 ins(%x : memref<8x64xf32>) payload(%p : memref<8x64xf8E4M3FN>)
  return
}
