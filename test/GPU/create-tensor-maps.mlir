// RUN: moss-opt %s --moss-create-tensor-maps | FileCheck %s
// RUN: moss-opt %s --moss-create-tensor-maps --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics

!channel = !moss.channel<2 x (vector<128x128xf8E4M3FN>, vector<64x128xf8E5M2>)>

module attributes {gpu.container_module} {
  // Each launch encodes the maps of its own arguments; maps of the same memref
  // and box are made once.
  // CHECK-LABEL: func @host(
  // CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<?x256xf8E4M3FN>, %[[B:[a-z0-9_]+]]: memref<64x256xf8E5M2>, %[[C:[a-z0-9_]+]]: memref<?x64xbf16>
  // CHECK-DAG:   %[[MA:[a-z0-9_]+]] = moss.encode_tensor_map %[[A]] : memref<?x256xf8E4M3FN> -> <128x128xf8E4M3FN, swizzle = 128>
  // CHECK-DAG:   %[[MB:[a-z0-9_]+]] = moss.encode_tensor_map %[[B]] : memref<64x256xf8E5M2> -> <64x128xf8E5M2, swizzle = 128>
  // CHECK-DAG:   %[[MC:[a-z0-9_]+]] = moss.encode_tensor_map %[[C]] : memref<?x64xbf16> -> <64x64xbf16, swizzle = 128>
  // CHECK-NOT:   moss.encode_tensor_map
  // CHECK:       gpu.launch_func @m::@tma {{.*}} args(%[[A]] : {{.*}}, %[[B]] : {{.*}}, %[[C]] : {{.*}}, %[[MA]] : !moss.tensor_map<{{.*}}>, %[[MB]] : {{.*}}, %[[MC]] : {{.*}})
  // CHECK:       moss.encode_tensor_map
  // CHECK:       moss.encode_tensor_map
  // CHECK:       moss.encode_tensor_map
  // CHECK:       gpu.launch_func @m::@tma
  // CHECK-NOT:   moss.encode_tensor_map
  // CHECK:       gpu.launch_func @m::@no_channel {{.*}} args(%[[C]] : memref<?x64xbf16>)
  func.func @host(%a: memref<?x256xf8E4M3FN>, %b: memref<64x256xf8E5M2>, %c: memref<?x64xbf16>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @m::@tma blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%a : memref<?x256xf8E4M3FN>, %b : memref<64x256xf8E5M2>, %c : memref<?x64xbf16>)
    gpu.launch_func @m::@tma blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%a : memref<?x256xf8E4M3FN>, %b : memref<64x256xf8E5M2>, %c : memref<?x64xbf16>)
    gpu.launch_func @m::@no_channel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%c : memref<?x64xbf16>)
    return
  }

  gpu.module @m {
    // Maps follow the arguments, whose attributes stay, and precede the buffers
    // in shared memory.
    // CHECK-LABEL: gpu.func @tma(
    // CHECK-SAME:  memref<?x256xf8E4M3FN> {llvm.noalias}, {{.*}}, %{{.*}}: memref<?x64xbf16>,
    // CHECK-SAME:  %[[MA:[a-z0-9_]+]]: !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>,
    // CHECK-SAME:  %[[MB:[a-z0-9_]+]]: !moss.tensor_map<64x128xf8E5M2, swizzle = 128>,
    // CHECK-SAME:  %[[MC:[a-z0-9_]+]]: !moss.tensor_map<64x64xbf16, swizzle = 128>) workgroup(
    // CHECK:         moss.put %{{.*}}[%{{.*}}] from(%[[MA]], %[[MB]] :
    // CHECK:         moss.put %{{.*}}[%{{.*}}] from(%[[MA]], %[[MB]] :
    // CHECK:         moss.store_tile %{{.*}}, %[[MC]][%[[I:[a-z0-9_]+]], %[[I]]] : vector<128x64xbf16>
    // CHECK-NOT:     vector.transfer_write
    gpu.func @tma(%a: memref<?x256xf8E4M3FN> {llvm.noalias}, %b: memref<64x256xf8E5M2>, %c: memref<?x64xbf16>)
        workgroup(%w: memref<4xf32, 3>) kernel {
      %c0 = arith.constant 0 : index
      %i = arith.constant 0 : i32
      %t = arith.constant dense<0.0> : vector<128x64xbf16>
      %ch = moss.channel : !channel
      moss.put %ch[%i] from(%a, %b : memref<?x256xf8E4M3FN>, memref<64x256xf8E5M2>) at(%c0, %c0), (%c0, %c0) : !channel
      moss.put %ch[%i] from(%a, %b : memref<?x256xf8E4M3FN>, memref<64x256xf8E5M2>) at(%c0, %c0), (%c0, %c0) : !channel
      vector.transfer_write %t, %c[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      gpu.return
    }

    // Boxes have at most 256 rows, all as many, and smaller rows smaller
    // swizzles. A source whose row stride is unknown is checked when the host
    // encodes its map.
    // CHECK-LABEL: gpu.func @boxes(
    // CHECK-SAME:  !moss.tensor_map<192x64xf8E4M3FN, swizzle = 64>, %{{.*}}: !moss.tensor_map<256x32xf8E4M3FN, swizzle = 32>
    gpu.func @boxes(%a: memref<?x?xf8E4M3FN, strided<[?, 1]>>, %b: memref<64x256xf8E4M3FN>) kernel {
      %c0 = arith.constant 0 : index
      %i = arith.constant 0 : i32
      %ch = moss.channel : !moss.channel<2 x (vector<384x64xf8E4M3FN>, vector<512x32xf8E4M3FN>)>
      moss.put %ch[%i] from(%a, %b : memref<?x?xf8E4M3FN, strided<[?, 1]>>, memref<64x256xf8E4M3FN>) at(%c0, %c0), (%c0, %c0)
        : !moss.channel<2 x (vector<384x64xf8E4M3FN>, vector<512x32xf8E4M3FN>)>
      gpu.return
    }

    // Scales are not swizzled, and a box has all groups of a tile.
    // CHECK-LABEL: gpu.func @scale_boxes(
    // CHECK-SAME:  !moss.tensor_map<4x128xf8E8M0FNU, swizzle = 0>
    gpu.func @scale_boxes(%e: memref<16x4096xf8E8M0FNU>) kernel {
      %c0 = arith.constant 0 : index
      %i = arith.constant 0 : i32
      %ch = moss.channel : !moss.channel<2 x (vector<4x128xf8E8M0FNU>)>
      moss.put %ch[%i] from(%e : memref<16x4096xf8E8M0FNU>) at(%c0), (%c0) : !moss.channel<2 x (vector<4x128xf8E8M0FNU>)>
      gpu.return
    }

    // CHECK-LABEL: gpu.func @direct_stores(
    // CHECK-COUNT-10: vector.transfer_write
    gpu.func @direct_stores(%a: memref<64x256xf8E4M3FN>, %unknown: memref<64x?xf32>, %odd: memref<64x65xf32>,
                            %strided: memref<64x64xf32, strided<[1, 64]>>, %offset: memref<64x64xf32, strided<[64, 1], offset: ?>>,
                            %shifted: memref<64x64xf32, strided<[64, 1], offset: 3>>, %three: memref<4x64x64xf32>,
                            %f16: memref<64x64xf16>, %shared: memref<64x64xf32, 3>, %good: memref<64x64xf32>) kernel {
      %c0 = arith.constant 0 : index
      %i = arith.constant 0 : i32
      %t = arith.constant dense<0.0> : vector<64x64xf32>
      %t16 = arith.constant dense<0.0> : vector<64x64xf16>
      %t48 = arith.constant dense<0.0> : vector<64x48xf32>
      %ch = moss.channel : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
      moss.put %ch[%i] from(%a : memref<64x256xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
      // expected-remark @+1 {{the result is stored by the threads, which is slower than by the copy engine: its row stride is not known to be a multiple of 16 bytes}}
      vector.transfer_write %t, %unknown[%c0, %c0] : vector<64x64xf32>, memref<64x?xf32>
      // expected-remark @+1 {{its row stride of 260 bytes is not a multiple of 16}}
      vector.transfer_write %t, %odd[%c0, %c0] : vector<64x64xf32>, memref<64x65xf32>
      // expected-remark @+1 {{its innermost stride is not 1}}
      vector.transfer_write %t, %strided[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32, strided<[1, 64]>>
      // expected-remark @+1 {{its offset is not known to be a multiple of 16 bytes}}
      vector.transfer_write %t, %offset[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32, strided<[64, 1], offset: ?>>
      // expected-remark @+1 {{its offset is not known to be a multiple of 16 bytes}}
      vector.transfer_write %t, %shifted[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32, strided<[64, 1], offset: 3>>
      // expected-remark @+1 {{it is not a plain write of a tile to a matrix}}
      vector.transfer_write %t, %three[%c0, %c0, %c0] : vector<64x64xf32>, memref<4x64x64xf32>
      // expected-remark @+1 {{its elements are neither f32 nor bf16}}
      vector.transfer_write %t16, %f16[%c0, %c0] : vector<64x64xf16>, memref<64x64xf16>
      // expected-remark @+1 {{it is not in global memory}}
      vector.transfer_write %t, %shared[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32, 3>
      // expected-remark @+1 {{its tile is not a whole number of boxes of 64 x 32}}
      vector.transfer_write %t48, %good[%c0, %c0] : vector<64x48xf32>, memref<64x64xf32>
      %cast = memref.cast %good : memref<64x64xf32> to memref<64x64xf32, strided<[64, 1], offset: 0>>
      // expected-remark @+1 {{its destination is not an argument of the kernel}}
      vector.transfer_write %t, %cast[%c0, %c0] : vector<64x64xf32>, memref<64x64xf32, strided<[64, 1], offset: 0>>
      gpu.return
    }

    // Kernels without a channel do not use the copy engine.
    // CHECK-LABEL: gpu.func @no_channel(
    // CHECK-SAME:  %{{.*}}: memref<?x64xbf16>) kernel
    // CHECK:         vector.transfer_write
    gpu.func @no_channel(%c: memref<?x64xbf16>) kernel {
      %c0 = arith.constant 0 : index
      %t = arith.constant dense<0.0> : vector<128x64xbf16>
      vector.transfer_write %t, %c[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      gpu.return
    }
  }
}
