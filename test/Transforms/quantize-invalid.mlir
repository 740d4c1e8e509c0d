// Each run has one wrong option.
// RUN: not moss-opt --moss-quantize="scheme=mxfp4" %s 2>&1 | FileCheck %s --check-prefix=SCHEME
// SCHEME: error: option 'scheme' must be one of 'two-level', 'per-tensor', 'per-tensor-delayed', 'per-group', 'per-group-1x128', 'mx', 'bf16', but is 'mxfp4'
// RUN: not moss-opt --moss-quantize="lhs-scheme=row" %s 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: option 'lhs-scheme' must be 'rows', 'mx', 'group', 'block', 'tensor', 'bf16' or a #moss.scheme attribute, but is 'row'
// RUN: not moss-opt --moss-quantize='rhs-scheme="#moss.scheme<f8E4M3FN>"' %s 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: option 'rhs-scheme' is not a valid attribute: '#moss.scheme<f8E4M3FN>'
// RUN: not moss-opt --moss-quantize='rhs-scheme="#moss.accumulate<fast>"' %s 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: option 'rhs-scheme' must be a #moss.scheme attribute, but is #moss.accumulate<fast>
// RUN: not moss-opt --moss-quantize="lhs-group=1" %s 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: option 'lhs-group' must be 'outer,k', each a positive integer or 'full', but is '1'
// RUN: not moss-opt --moss-quantize="lhs-group=1,0" %s 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: option 'lhs-group' must be 'outer,k', each a positive integer or 'full', but is '1,0'
// RUN: not moss-opt --moss-quantize="lhs-group=1,40" %s 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: lhs scheme {{.*}}: a group's extent along K must be 'full' or a multiple of 16, but is 40
// RUN: not moss-opt --moss-quantize="scheme=per-tensor rhs-group=1,32" %s 2>&1 | FileCheck %s --check-prefix=NOMICRO
// NOMICRO: error: option 'rhs-group' needs micro scales, which scheme 'tensor' does not have; use 'rows' or 'mx', or leave the option out
// RUN: not moss-opt --moss-quantize='lhs-group=1,32 lhs-scheme="#moss.scheme<f8E4M3FN, global = jit>"' %s 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: option 'lhs-group' cannot be combined with a #moss.scheme attribute, which has its own group
// RUN: not moss-opt --moss-quantize="global=none" %s 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: error: option 'global' must be 'jit', 'delayed' or 'unit', but is 'none'
// RUN: not moss-opt --moss-quantize='rhs-scheme="#moss.scheme<f8E4M3FN, global = given>"' %s 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: error: rhs scheme {{.*}}: global scale 'given' needs an SSA value, which a plain matmul does not have; write moss.quantize with a scale operand instead, or use 'jit', 'delayed' or 'unit'
// RUN: not moss-opt --moss-quantize="rounding=up" %s 2>&1 | FileCheck %s --check-prefix=ROUNDING
// ROUNDING: error: option 'rounding' must be 'ceil', 'nearest' or 'floor', but is 'up'
// RUN: not moss-opt --moss-quantize="scheme=per-tensor rounding=floor" %s 2>&1 | FileCheck %s --check-prefix=NOROUNDING
// NOROUNDING: error: option 'rounding' is 'floor', but neither operand has micro scales whose exponents could be rounded
// RUN: not moss-opt --moss-quantize="scheme=per-group rounding=floor" %s 2>&1 | FileCheck %s --check-prefix=NOROUNDING
// RUN: not moss-opt --moss-quantize="scheme=bf16 rhs-scheme=tensor" %s 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: error: lhs scheme #moss.scheme<bf16, global = unit> and rhs scheme {{.*}}: either both operands are quantized or both stay bf16
// RUN: not moss-opt --moss-quantize="scheme=bf16 global=jit" %s 2>&1 | FileCheck %s --check-prefix=BF16GLOBAL
// BF16GLOBAL: error: option 'global' is 'jit', but scheme 'bf16' has no scales
// RUN: not moss-opt --moss-quantize="scheme=bf16 lhs-group=1,32" %s 2>&1 | FileCheck %s --check-prefix=BF16GROUP
// BF16GROUP: error: option 'lhs-group' needs micro scales, which scheme 'bf16' does not have; use 'rows' or 'mx', or leave the option out
// RUN: not moss-opt --moss-quantize="scheme=bf16 rhs-format=e5m2" %s 2>&1 | FileCheck %s --check-prefix=BF16FORMAT
// BF16FORMAT: error: option 'rhs-format' has no effect on scheme 'bf16', which has no payload
// RUN: not moss-opt --moss-quantize="lhs-format=e3m4" %s 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: option 'lhs-format' must be 'e4m3' or 'e5m2', but is 'e3m4'
// RUN: not moss-opt --moss-quantize='lhs-format=e5m2 lhs-scheme="#moss.scheme<f8E4M3FN, global = jit>"' %s 2>&1 | FileCheck %s --check-prefix=BOTHFORMAT
// BOTHFORMAT: error: option 'lhs-format' cannot be combined with a #moss.scheme attribute, which has its own format
// RUN: not moss-opt --moss-quantize="scheme=bf16 rounding=floor" %s 2>&1 | FileCheck %s --check-prefix=NOROUNDING
// RUN: not moss-opt --moss-quantize="accumulate=slow" %s 2>&1 | FileCheck %s --check-prefix=ACCUMULATE
// ACCUMULATE: error: option 'accumulate' must be 'promoted' or 'fast', but is 'slow'; 'promote-interval' is how often sums are promoted
// RUN: not moss-opt --moss-quantize="promote-interval=100" %s 2>&1 | FileCheck %s --check-prefix=INTERVAL
// INTERVAL: error: the promotion interval must be a positive multiple of 32, but got 100

// Groups must fit the shapes that they meet.
// RUN: moss-opt --moss-quantize="lhs-group=1,128" -verify-diagnostics %s

func.func @k(%x: tensor<8x64xbf16>, %w: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @below {{the micro group of lhs scheme #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 128], global = jit, rounding = ceil> has an extent of 128 along K, which is only 64; use 'full' or a smaller group}}
  %0 = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// RUN: not moss-opt --moss-quantize="rhs-group=32,full" %s 2>&1 | FileCheck %s --check-prefix=OUTER
// OUTER: error: {{.*}} the micro group of rhs scheme {{.*}} has an extent of 32 along N, which is only 16
