// RUN: moss-opt --transform-interpreter --split-input-file --verify-diagnostics %s

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @overwrites(%a: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{can be tiled along K only when it accumulates; fill init with zeros and set 'accumulates'}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : tensor<64x64xf8E4M3FN>)
    rhs(#tensor, %a : tensor<64x64xf8E4M3FN>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.scaled_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.tile_using_for %0 tile_sizes [0, 0, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @rounds(%a: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  // expected-error @below {{can be tiled along K only with an f32 init, since 'bf16' would be rounded after every tile}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %r = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %a : tensor<64x64xf8E4M3FN>)
    rhs(#tensor, %a : tensor<64x64xf8E4M3FN>) outs(%c : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %r : tensor<64x64xbf16>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.scaled_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.tile_using_for %0 tile_sizes [0, 0, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#block = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [16, 32], global = unit, rounding = ceil>

func.func @cuts_groups(%a: tensor<64x64xf8E4M3FN>, %m: tensor<4x2xf8E8M0FNU>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{tiles along M must begin at micro groups of 16; use a tile size that is a multiple of 16}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %r = moss.scaled_matmul #moss.accumulate<fast> lhs(#block, %a : tensor<64x64xf8E4M3FN>) micro(%m : tensor<4x2xf8E8M0FNU>)
    rhs(#block, %a : tensor<64x64xf8E4M3FN>) micro(%m : tensor<4x2xf8E8M0FNU>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.scaled_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.tile_using_for %0 tile_sizes [24, 0, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

func.func @jit(%x: tensor<64x64xbf16>, %p: tensor<64x64xf8E4M3FN>, %g: tensor<f32>) -> (tensor<64x64xf8E4M3FN>, tensor<f32>) {
  // expected-error @below {{cannot be tiled, since its global scale 'jit' depends on the whole tensor; 'unit' or 'given' can}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %q:2 = moss.quantize #tensor ins(%x : tensor<64x64xbf16>) payload(%p : tensor<64x64xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<64x64xf8E4M3FN>, tensor<f32>
  return %q#0, %q#1 : tensor<64x64xf8E4M3FN>, tensor<f32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.tile_using_for %0 tile_sizes [16, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

func.func @cuts_row(%x: tensor<64x64xbf16>, %p: tensor<64x64xf8E4M3FN>, %m: tensor<64x1xf8E8M0FNU>) -> (tensor<64x64xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) {
  // expected-error @below {{cannot be tiled along K, all of which is one micro group}}
  // expected-error @below {{to tile operation}}
  // expected-error @below {{failed to generate tiling loops}}
  %q:2 = moss.quantize #row ins(%x : tensor<64x64xbf16>) payload(%p : tensor<64x64xf8E4M3FN>) micro(%m : tensor<64x1xf8E8M0FNU>)
    -> tensor<64x64xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  return %q#0, %q#1 : tensor<64x64xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.tile_using_for %0 tile_sizes [0, 32] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
