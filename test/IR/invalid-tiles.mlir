// RUN: moss-opt --split-input-file --verify-diagnostics %s

func.func @f(%a: vector<64x32xf8E4M3FN>, %b: vector<16x64xf8E4M3FN>, %c: vector<64x16xf32>) {
  // expected-error @below {{lhs M x K is 64x32 and rhs N x K is 16x64, but K must agree}}
  %d = moss.mma %a, %b, %c : vector<64x32xf8E4M3FN>, vector<16x64xf8E4M3FN>, vector<64x16xf32>
  return
}

// -----

func.func @f(%a: vector<64x48xf8E4M3FN>, %b: vector<16x48xf8E4M3FN>, %c: vector<64x16xf32>) {
  // expected-error @below {{K must be 16 or a multiple of 32, but is 48}}
  %d = moss.mma %a, %b, %c : vector<64x48xf8E4M3FN>, vector<16x48xf8E4M3FN>, vector<64x16xf32>
  return
}

// -----

func.func @f(%a: vector<64x32xf8E4M3FN>, %b: vector<16x32xf8E4M3FN>, %c: vector<16x64xf32>) {
  // expected-error @below {{the accumulator must be 64x16, but is 16x64}}
  %d = moss.mma %a, %b, %c : vector<64x32xf8E4M3FN>, vector<16x32xf8E4M3FN>, vector<16x64xf32>
  return
}

// -----

func.func @f(%t: vector<64x16xf32>, %e: vector<1x64xf8E8M0FNU>) {
  // expected-error @below {{row scales must be 64x1, but are 1x64}}
  %r = moss.rescale %t rows(%e : vector<1x64xf8E8M0FNU>) : vector<64x16xf32>
  return
}

// -----

func.func @f(%t: vector<64x16xf32>, %e: vector<1x64xf8E8M0FNU>) {
  // expected-error @below {{column scales must be 1x16, but are 1x64}}
  %r = moss.rescale %t cols(%e : vector<1x64xf8E8M0FNU>) : vector<64x16xf32>
  return
}

// -----

func.func @f(%t: vector<64x16xf32>, %s: f32) {
  // expected-error @below {{takes at most two scalars, but got 3}}
  %r = moss.rescale %t by(%s, %s, %s) : vector<64x16xf32>
  return
}

// -----

func.func @f(%m: memref<?x1xf8E8M0FNU>, %i: index) {
  // expected-error @below {{result must have the source's element type 'f8E8M0FNU', but has 'f32'}}
  %e = moss.load_scales %m[%i, %i] bound(%i) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<64x1xf32>
  return
}

// -----

func.func @f(%m: memref<?x1xf8E8M0FNU>, %i: index) {
  // expected-error @below {{result must be Rx1 or 1xR, but is 64x2}}
  %e = moss.load_scales %m[%i, %i] bound(%i) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<64x2xf8E8M0FNU>
  return
}

// -----

func.func @f(%m: memref<?x1xf8E8M0FNU>, %i: index) {
  // expected-error @below {{attribute 'groupOuter' failed to satisfy constraint}}
  %e = moss.load_scales %m[%i, %i] bound(%i) group [-1, 0] : memref<?x1xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
  return
}

// -----

!ch = !moss.channel<4 x (vector<128x128xf8E4M3FN>)>

func.func @f(%ch: !ch, %a: memref<?x?xf8E4M3FN>, %p: i32, %i: index) {
  // expected-error @below {{the channel's slots hold 1 tiles, but there are 2 sources}}
  moss.put %ch[%p] from(%a, %a : memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>) at(%i, %i), (%i, %i) : !ch
  return
}

// -----

!ch = !moss.channel<4 x (vector<128x128xf8E4M3FN>)>

func.func @f(%ch: !ch, %a: memref<?x?xf8E5M2>, %p: i32, %i: index) {
  // expected-error @below {{source has element type 'f8E5M2', but its tile is 'vector<128x128xf8E4M3FN>'}}
  moss.put %ch[%p] from(%a : memref<?x?xf8E5M2>) at(%i), (%i) : !ch
  return
}

// -----

!ch = !moss.channel<4 x (vector<128x128xf8E4M3FN>)>

func.func @f(%ch: !ch, %a: !moss.tensor_map<256x128xf8E4M3FN, swizzle = 128>, %p: i32, %i: index) {
  // expected-error @below {{the box of '!moss.tensor_map<256x128xf8E4M3FN, swizzle = 128>' does not fit the tile 'vector<128x128xf8E4M3FN>'}}
  moss.put %ch[%p] from(%a : !moss.tensor_map<256x128xf8E4M3FN, swizzle = 128>) at(%i), (%i) : !ch
  return
}

// -----

!channel = !moss.channel<2 x (vector<64x64xbf16>)>
!map = !moss.tensor_map<64x64xbf16, swizzle = 0>
func.func @put_swizzle(%map: !map, %m: index, %k: index, %i: i32) {
  %ch = moss.channel : !channel
  // expected-error @below {{copies the tile 'vector<64x64xbf16>' with swizzle = 0, but operands are swizzled over whole rows, here of 128 bytes}}
  moss.put %ch[%i] from(%map : !map) at(%m), (%k) : !channel
  return
}

// -----

!channel = !moss.channel<2 x (vector<1x32xf32>)>
!map = !moss.tensor_map<1x32xf32, swizzle = 128>
func.func @put_swizzled_scales(%map: !map, %m: index, %k: index, %i: i32) {
  %ch = moss.channel : !channel
  // expected-error @below {{copies the tile 'vector<1x32xf32>' with swizzle = 128, but scales are not swizzled}}
  moss.put %ch[%i] from(%map : !map) at(%m), (%k) : !channel
  return
}

// -----

!ch = !moss.channel<4 x (vector<128x128xf8E4M3FN>)>

func.func @f(%ch: !ch, %p: i32) {
  // expected-error @below {{must yield the channel's tiles, f32 for those that it extends}}
  %t = moss.get %ch[%p] : !ch -> vector<64x128xf8E4M3FN>
  return
}

// -----

!ch = !moss.channel<4 x (vector<1x64xf8E8M0FNU>), extended = [0]>

func.func @f(%ch: !ch, %p: i32) {
  // expected-error @below {{must yield the channel's tiles, f32 for those that it extends}}
  %t = moss.get %ch[%p] : !ch -> vector<1x64xf8E8M0FNU>
  return
}

// -----

!ch = !moss.channel<4 x (vector<1x64xf8E8M0FNU>)>

func.func @f(%ch: !ch, %p: i32) {
  // expected-error @below {{needs a channel with extended tiles, but got '!moss.channel<4 x (vector<1x64xf8E8M0FNU>)>'}}
  moss.extend_scales %ch[%p] : !ch
  return
}

// -----

func.func @f(%t: vector<128x48xbf16>, %m: !moss.tensor_map<64x64xbf16, swizzle = 128>, %i: index) {
  // expected-error @below {{the tile 'vector<128x48xbf16>' is not a whole number of boxes of '!moss.tensor_map<64x64xbf16, swizzle = 128>'}}
  moss.store_tile %t, %m[%i, %i] : vector<128x48xbf16>, !moss.tensor_map<64x64xbf16, swizzle = 128>
  return
}

// -----

func.func @f() {
  // expected-error @below {{register budgets must be multiples of 8 from 24 to 256, but got 236}}
  moss.warp_specialize producer registers(40) {
  } consumers(2) registers(236) (%wg) {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{register budgets must be multiples of 8 from 24 to 256, but got 16}}
  moss.warp_specialize producer registers(16) {
  } consumers(2) registers(232) (%wg) {
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{the producer region takes no arguments}}
  "moss.warp_specialize"() <{numConsumers = 2 : i64, producerRegisters = 40 : i64, consumerRegisters = 232 : i64}> ({
  ^bb0(%i: index):
  }, {
  }, {
  ^bb0(%wg: index):
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @below {{the converter region takes no arguments}}
  "moss.warp_specialize"() <{numConsumers = 2 : i64, producerRegisters = 40 : i64, consumerRegisters = 232 : i64}> ({
  ^bb0:
  }, {
  ^bb0(%i: index):
  }, {
  ^bb0(%wg: index):
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @below {{the consumer region takes the consumer's number, an index}}
  "moss.warp_specialize"() <{numConsumers = 2 : i64, producerRegisters = 40 : i64, consumerRegisters = 232 : i64}> ({
  ^bb0:
  }, {
  }, {
  ^bb0(%wg: i32):
  }) : () -> ()
  return
}

// -----

func.func @f(%a: memref<?x?xf8E5M2>) {
  // expected-error @below {{source has element type 'f8E5M2', but the map says 'f8E4M3FN'}}
  %map = moss.encode_tensor_map %a : memref<?x?xf8E5M2> -> !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>
  return
}

// -----

func.func @f(%a: memref<8x64xf8E4M3FN, strided<[1, 8]>>) {
  // expected-error @below {{needs a memref whose innermost stride is 1, but got 'memref<8x64xf8E4M3FN, strided<[1, 8]>>'}}
  %map = moss.encode_tensor_map %a : memref<8x64xf8E4M3FN, strided<[1, 8]>> -> !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>
  return
}

// -----

func.func @f(%a: vector<64x32xbf16>, %b: vector<16x32xf8E4M3FN>, %c: vector<64x16xf32>) {
  // expected-error @below {{cannot multiply 'bf16' and 'f8E4M3FN': both tiles must be FP8, or both bf16}}
  %d = moss.mma %a, %b, %c : vector<64x32xbf16>, vector<16x32xf8E4M3FN>, vector<64x16xf32>
  return
}

// -----

func.func @f(%c: vector<8x16xf32>) {
  // expected-error @below {{has no scales; use arith.addf}}
  %r = moss.add_rescaled %c, %c : vector<8x16xf32>
  return
}

// -----

func.func @f(%c: vector<8x16xf32>, %e: vector<16x1xf32>) {
  // expected-error @below {{row scales must be 8x1, but are 16x1}}
  %r = moss.add_rescaled %c, %c rows(%e : vector<16x1xf32>) : vector<8x16xf32>
  return
}

// -----

func.func @f(%t: vector<1x8xf32>) {
  // expected-error @below {{reads 'vector<16x1xf32>' from a tile of 'vector<1x8xf32>', but must read Rx1 or 1xR scales from a row of GxR of the same type, or one by its index}}
  %r = moss.read_scales %t : vector<1x8xf32> -> vector<16x1xf32>
  return
}

// -----

func.func @f(%t: vector<8x2xf32>) {
  // expected-error @below {{must read Rx1 or 1xR scales from a row of GxR of the same type}}
  %r = moss.read_scales %t : vector<8x2xf32> -> vector<16x1xf32>
  return
}

// -----

func.func @f(%t: vector<4x16xf32>) {
  // expected-error @below {{reads row 4 of a tile of 4}}
  %r = moss.read_scales %t row(4) : vector<4x16xf32> -> vector<16x1xf32>
  return
}

// -----

func.func @powers_of_half_the_rows(%t: vector<64x8xf32>, %p: vector<32x1xf32>) -> vector<64x8xf32> {
  // expected-error @+1 {{'moss.apply_powers' op has powers of 'vector<32x1xf32>' for a tile of 'vector<64x8xf32>', but takes one f32, one for each row (64x1) or one for each column (1x8)}}
  %r = moss.apply_powers %t by %p : vector<64x8xf32>, vector<32x1xf32>
  return %r : vector<64x8xf32>
}

// -----

func.func @eight_consumers() {
  // expected-error @+1 {{'moss.warp_specialize' op attribute 'numConsumers' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive whose maximum value is 7}}
  moss.warp_specialize producer registers(24) {
  } consumers(8) registers(32) (%wg) {
  }
  return
}
