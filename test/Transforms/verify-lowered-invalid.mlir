// RUN: moss-opt %s --moss-verify-lowered --split-input-file --verify-diagnostics

func.func @op(%t: vector<4x4xf32>, %s: f32) -> vector<4x4xf32> {
  // expected-error @+1 {{'moss.rescale' was not lowered: no pass of this pipeline lowers it where it is; run the passes of the earlier levels first}}
  %r = moss.rescale %t by(%s) : vector<4x4xf32>
  return %r : vector<4x4xf32>
}

// -----

func.func @fp8(%x: vector<4xf8E4M3FN>) -> vector<4xf8E4M3FN> {
  // expected-error @+1 {{'arith.addf' on FP8 values was not lowered: only extf, truncf from f32 or narrower to nearest even, bitcast and select are supported; compute in f32 and convert}}
  %r = arith.addf %x, %x : vector<4xf8E4M3FN>
  return %r : vector<4xf8E4M3FN>
}

// -----

func.func @truncation(%x: f64) -> f8E5M2 {
  // expected-error @+1 {{'arith.truncf' on FP8 values was not lowered}}
  %r = arith.truncf %x : f64 to f8E5M2
  return %r : f8E5M2
}

// -----

func.func @cast(%x: i64) -> i64 {
  // expected-error @+1 {{'builtin.unrealized_conversion_cast' from 'i64' to 'index' was left behind: an op beside it has no lowering; rewrite that op or lower it before this pipeline}}
  %i = builtin.unrealized_conversion_cast %x : i64 to index
  // expected-note @+1 2 {{'arith.addi' is beside it}}
  %j = arith.addi %i, %i : index
  // expected-error @+2 {{from 'index' to 'i64' was left behind}}
  // expected-note @-2 {{'arith.addi' is beside it}}
  %k = builtin.unrealized_conversion_cast %j : index to i64
  // expected-note @+1 {{'func.return' is beside it}}
  return %k : i64
}

// -----

// The cast is there for an op that has its own error.

func.func @cast_beside(%x: i8) -> f8E5M2 {
  %c = builtin.unrealized_conversion_cast %x : i8 to f8E5M2
  // expected-error @+1 {{'arith.negf' on FP8 values was not lowered}}
  %r = arith.negf %c : f8E5M2
  return %r : f8E5M2
}
