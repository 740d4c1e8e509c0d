// RUN: moss-opt --split-input-file --verify-diagnostics %s

// expected-error @below {{element type must be f8E4M3FN, f8E5M2 or bf16, but got 'f16'}}
#scheme = #moss.scheme<f16, global = jit>

// -----

// expected-error @below {{a scheme of bf16 has no scales: it must be #moss.scheme<bf16, global = unit>}}
#scheme = #moss.scheme<bf16, global = jit>

// -----

// expected-error @below {{a scheme of bf16 has no scales: it must be #moss.scheme<bf16, global = unit>}}
#scheme = #moss.scheme<bf16, micro = f32, group = [1, full], global = unit, rounding = ceil>

// -----

// expected-error @below {{micro type must be f8E8M0FNU or f32, but got 'bf16'}}
#scheme = #moss.scheme<f8E4M3FN, micro = bf16, group = [1, full], global = jit, rounding = ceil>

// -----

// expected-error @below {{a group extent must be positive or 'full', but got 0}}
#scheme = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [0, full], global = jit, rounding = ceil>

// -----

// expected-error @below {{a group extent must be positive or 'full', but got -32}}
#scheme = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, -32], global = jit, rounding = ceil>

// -----

// expected-error @below {{rounding 'floor' needs f8E8M0FNU micro scales}}
#scheme = #moss.scheme<f8E4M3FN, micro = f32, group = [1, full], global = jit, rounding = floor>

// -----

// expected-error @below {{expected 'jit', 'delayed', 'unit' or 'given', but got 'none'}}
#scheme = #moss.scheme<f8E4M3FN, global = none>

// -----

// expected-error @below {{expected 'ceil', 'nearest' or 'floor', but got 'up'}}
#scheme = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = up>

// -----

// A scheme with micro scales says how their exponents are rounded; one without
// has none.
// expected-error @below {{expected ','}}
#scheme = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit>

// -----

// expected-error @below {{expected '>'}}
#scheme = #moss.scheme<f8E4M3FN, global = jit, rounding = ceil>

// -----

// expected-error @below {{expected ','}}
#scheme = #moss.scheme<f8E4M3FN>

// -----

// expected-error @below {{expected ','}}
#scheme = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1], global = jit, rounding = ceil>

// -----

// expected-error @below {{expected 'fast' or 'promoted', but got 'slow'}}
#accumulate = #moss.accumulate<slow>

// -----

// expected-error @below {{the promotion interval must be a positive multiple of 32, but got 100}}
#accumulate = #moss.accumulate<promoted(100)>

// -----

// expected-error @below {{the promotion interval must be a positive multiple of 32, but got 0}}
#accumulate = #moss.accumulate<promoted(0)>

// -----

// expected-error @below {{expected '>'}}
#accumulate = #moss.accumulate<fast(32)>

// -----

// expected-error @below {{tile M must be positive, but got 0}}
#schedule = #moss.schedule<tile = [0, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

// -----

// expected-error @below {{stages must be positive, but got -1}}
#schedule = #moss.schedule<tile = [128, 256, 128], stages = -1, consumers = 2, raster = 8, blocks = 132>

// -----

// expected-error @below {{tile extents must be at most 4096, but are [4294967296, 256, 128]}}
#schedule = #moss.schedule<tile = [4294967296, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

// -----

// expected-error @below {{tile K must be 16 or a multiple of 32, but got 48}}
#schedule = #moss.schedule<tile = [128, 256, 48], stages = 4, consumers = 2, raster = 8, blocks = 132>

// -----

// expected-error @below {{a channel needs 1 to 65535 stages, but got 0}}
func.func private @f(!moss.channel<0 x (vector<128x128xf8E4M3FN>)>)

// -----

// expected-error @below {{a channel's tiles must be two-dimensional vectors of f8E4M3FN, f8E5M2, bf16, f32 or f8E8M0FNU, but got 'vector<128xf8E4M3FN>'}}
func.func private @f(!moss.channel<1 x (vector<128xf8E4M3FN>)>)

// -----

// expected-error @below {{a channel's tiles must be two-dimensional vectors of f8E4M3FN, f8E5M2, bf16, f32 or f8E8M0FNU, but got 'vector<128x[16]xf8E4M3FN>'}}
func.func private @f(!moss.channel<1 x (vector<128x[16]xf8E4M3FN>)>)

// -----

// expected-error @below {{'extended' must be ascending positions among 1 tiles, but has 1}}
func.func private @f(!moss.channel<4 x (vector<1x64xf8E8M0FNU>), extended = [1]>)

// -----

// expected-error @below {{'extended' must be ascending positions among 1 tiles, but has 0}}
func.func private @f(!moss.channel<4 x (vector<1x64xf8E8M0FNU>), extended = [0, 0]>)

// -----

// expected-error @below {{only tiles of f8E8M0FNU are extended, but tile 0 is 'vector<1x64xf32>'}}
func.func private @f(!moss.channel<4 x (vector<1x64xf32>), extended = [0]>)

// -----

// expected-error @below {{a tensor map has a two-dimensional box}}
func.func private @f(!moss.tensor_map<128xf8E4M3FN, swizzle = 128>)

// -----

// expected-error @below {{the copy engine moves boxes of 1 to 256 elements a dimension, but got 512x128}}
func.func private @f(!moss.tensor_map<512x128xf8E4M3FN, swizzle = 128>)

// -----

// expected-error @below {{unsupported element type 'i8'}}
func.func private @f(!moss.tensor_map<128x128xi8, swizzle = 128>)

// -----

// expected-error @below {{a row of the box must be a multiple of 16 bytes, but has 24}}
func.func private @f(!moss.tensor_map<128x24xf8E4M3FN, swizzle = 128>)

// -----

// expected-error @below {{swizzle must be 0, 32, 64 or 128 bytes, but got 16}}
func.func private @f(!moss.tensor_map<128x128xf8E4M3FN, swizzle = 16>)

// -----

// expected-error @below {{a row of the box has 128 bytes, more than the swizzle of 64}}
func.func private @f(!moss.tensor_map<128x128xf8E4M3FN, swizzle = 64>)
