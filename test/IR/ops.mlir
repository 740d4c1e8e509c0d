// RUN: moss-opt %s | moss-opt | FileCheck %s
// RUN: moss-opt %s --verify-roundtrip -o /dev/null
// RUN: moss-opt %s --emit-bytecode | moss-opt | FileCheck %s

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<f8E4M3FN, global = jit>

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<8x64xbf16>, %w: tensor<64x16xbf16>, %p: tensor<8x64xf8E4M3FN>,
    %m: tensor<8x1xf8E8M0FNU>, %g: tensor<f32>, %wp: tensor<16x64xf8E4M3FN>, %c: tensor<8x16xbf16>)
    -> tensor<8x16xbf16> {
  // CHECK: moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil> ins(
  %q:3 = moss.quantize #row ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>)
    micro(%m : tensor<8x1xf8E8M0FNU>) global(%g : tensor<f32>)
    -> tensor<8x64xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>
  // CHECK: moss.quantize <f8E4M3FN, global = jit> transpose ins(
  %v:2 = moss.quantize #tensor transpose ins(%w : tensor<64x16xbf16>)
    payload(%wp : tensor<16x64xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<16x64xf8E4M3FN>, tensor<f32>
  // CHECK: moss.scaled_matmul <promoted(128)> lhs(<f8E4M3FN, micro
  %r = moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#row, %q#0 : tensor<8x64xf8E4M3FN>) micro(%q#1 : tensor<8x1xf8E8M0FNU>) global(%q#2 : tensor<f32>)
    rhs(#tensor, %v#0 : tensor<16x64xf8E4M3FN>) global(%v#1 : tensor<f32>)
    outs(%c : tensor<8x16xbf16>) schedule(<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
    -> tensor<8x16xbf16>
  return %r : tensor<8x16xbf16>
}

// CHECK-LABEL: func @memrefs
func.func @memrefs(%p: memref<8x64xf8E4M3FN>, %m: memref<8x1xf8E8M0FNU>, %g: memref<f32>, %y: memref<8x64xf32>) {
  // CHECK: moss.dequantize
  moss.dequantize #row payload(%p : memref<8x64xf8E4M3FN>) micro(%m : memref<8x1xf8E8M0FNU>)
    global(%g : memref<f32>) outs(%y : memref<8x64xf32>)
  return
}

// CHECK-LABEL: func @tiles
func.func @tiles(%a: vector<64x32xf8E4M3FN>, %b: vector<16x32xf8E5M2>, %c: vector<64x16xf32>,
    %micro: memref<?x1xf8E8M0FNU>, %s: f32, %i: index, %n: vector<1x16xf32>) -> vector<64x16xf32> {
  // CHECK: moss.mma %{{.*}}, %{{.*}}, %{{.*}} : vector<64x32xf8E4M3FN>, vector<16x32xf8E5M2>, vector<64x16xf32>
  %d = moss.mma %a, %b, %c : vector<64x32xf8E4M3FN>, vector<16x32xf8E5M2>, vector<64x16xf32>
  // CHECK: moss.load_scales %{{.*}}[%{{.*}}, %{{.*}}] bound(%{{.*}}) group [1, 0]
  %e = moss.load_scales %micro[%i, %i] bound(%i) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
  // CHECK: moss.rescale %{{.*}} rows(%{{.*}} : vector<64x1xf8E8M0FNU>) cols(%{{.*}} : vector<1x16xf32>) by(%{{.*}}, %{{.*}}) : vector<64x16xf32>
  %r = moss.rescale %d rows(%e : vector<64x1xf8E8M0FNU>) cols(%n : vector<1x16xf32>) by(%s, %s) : vector<64x16xf32>
  return %r : vector<64x16xf32>
}

// CHECK-LABEL: func @kernel
func.func @kernel(%a: memref<?x?xf8E4M3FN>, %i: i32, %m: index) {
  // CHECK: moss.channel : <4 x (vector<128x128xf8E4M3FN>)>
  %ch = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
  // CHECK: moss.warp_specialize producer registers(40) {
  moss.warp_specialize producer registers(40) {
    // CHECK: moss.put %{{.*}}[%{{.*}}] from(%{{.*}} : memref<?x?xf8E4M3FN>) at(%{{.*}}), (%{{.*}}) : <4 x
    moss.put %ch[%i] from(%a : memref<?x?xf8E4M3FN>) at(%m), (%m) : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
  // CHECK: } consumers(2) registers(232) (%{{.*}}) {
  } consumers(2) registers(232) (%wg) {
    // CHECK: moss.get %{{.*}}[%{{.*}}]
    %t = moss.get %ch[%i] : !moss.channel<4 x (vector<128x128xf8E4M3FN>)> -> vector<128x128xf8E4M3FN>
    // CHECK: moss.release
    moss.release %ch[%i] : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    // CHECK: moss.advance %{{.*}}[%{{.*}}] : <4 x
    %next = moss.advance %ch[%i] : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
  }
  // CHECK: moss.encode_tensor_map %{{.*}} : memref<?x?xf8E4M3FN> -> <128x128xf8E4M3FN, swizzle = 128>
  %map = moss.encode_tensor_map %a : memref<?x?xf8E4M3FN> -> !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>
  return
}

// CHECK-LABEL: func @extended
func.func @extended(%a: memref<?x?xf8E8M0FNU>, %i: i32, %m: index) {
  // CHECK: moss.channel : <4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
  %ch = moss.channel : !moss.channel<4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
  // CHECK: moss.warp_specialize producer registers(24) {
  moss.warp_specialize producer registers(24) {
    // CHECK: moss.put
    moss.put %ch[%i] from(%a, %a : memref<?x?xf8E8M0FNU>, memref<?x?xf8E8M0FNU>) at(%m, %m), (%m, %m)
      : !moss.channel<4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
  // CHECK: } converter {
  } converter {
    // CHECK: moss.extend_scales %{{.*}}[%{{.*}}] : <4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
    moss.extend_scales %ch[%i] : !moss.channel<4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
  // CHECK: } consumers(3) registers(160) (%{{.*}}) {
  } consumers(3) registers(160) (%wg) {
    // CHECK: moss.get {{.*}} -> vector<1x64xf8E8M0FNU>, vector<1x128xf32>
    %t:2 = moss.get %ch[%i] : !moss.channel<4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
      -> vector<1x64xf8E8M0FNU>, vector<1x128xf32>
    moss.release %ch[%i] : !moss.channel<4 x (vector<1x64xf8E8M0FNU>, vector<1x128xf8E8M0FNU>), extended = [1]>
  }
  // CHECK: moss.warp_specialize producer registers(24) {
  // CHECK-NEXT: } converter {
  // CHECK-NEXT: } consumers(1)
  moss.warp_specialize producer registers(24) {
  } converter {
  } consumers(1) registers(232) (%wg) {
  }
  return
}

// CHECK-LABEL: func @bf16
func.func @bf16(%a: memref<8x64xbf16>, %b: memref<16x64xbf16>, %c: memref<8x16xf32>, %i: i32) {
  // CHECK: moss.scaled_matmul <fast> lhs(<bf16, global = unit>, %{{.*}} : memref<8x64xbf16>) rhs(<bf16, global = unit>, %{{.*}} : memref<16x64xbf16>)
  moss.scaled_matmul #moss.accumulate<fast> lhs(#moss.scheme<bf16, global = unit>, %a : memref<8x64xbf16>)
    rhs(#moss.scheme<bf16, global = unit>, %b : memref<16x64xbf16>) outs(%c : memref<8x16xf32>)
  // CHECK: moss.channel : <4 x (vector<128x64xbf16>)>
  %ch = moss.channel : !moss.channel<4 x (vector<128x64xbf16>)>
  // CHECK: moss.get {{.*}} -> vector<128x64xbf16>
  %t = moss.get %ch[%i] : !moss.channel<4 x (vector<128x64xbf16>)> -> vector<128x64xbf16>
  return
}
