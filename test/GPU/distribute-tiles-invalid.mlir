// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles))" -split-input-file -verify-diagnostics

gpu.module @m {
  gpu.func @rows(%c: memref<?x?xf32>, %m: index, %x: f32) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      // expected-error @+1 {{yields the tile 'vector<64x8xf32>', which does not divide into whole waves of 64 rows for 2 consumers}}
      %y = vector.broadcast %x : f32 to vector<64x8xf32>
      vector.transfer_write %y, %c[%m, %m] : vector<64x8xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @cols(%c: memref<?x?xf32>, %m: index, %x: f32) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      // expected-error @+1 {{yields the tile 'vector<64x12xf32>', which does not divide into whole waves}}
      %y = vector.broadcast %x : f32 to vector<64x12xf32>
      vector.transfer_write %y, %c[%m, %m] : vector<64x12xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @not_elementwise(%c: memref<?x?xf32>, %m: index, %x: f32) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %y = vector.broadcast %x : f32 to vector<64x64xf32>
      // expected-error @+1 {{failed to legalize operation 'vector.transpose'}}
      %z = vector.transpose %y, [1, 0] : vector<64x64xf32> to vector<64x64xf32>
      vector.transfer_write %z, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @permuted(%c: memref<?x?xf32>, %m: index, %x: f32) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %y = vector.broadcast %x : f32 to vector<64x64xf32>
      // expected-error @+1 {{failed to legalize operation 'vector.transfer_write'}}
      vector.transfer_write %y, %c[%m, %m] {permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @three_dimensions(%c: memref<?x?x?xf32>, %m: index, %x: f32) kernel {
    %pad = arith.constant 0.0 : f32
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      // expected-error @+1 {{failed to legalize operation 'vector.transfer_read'}}
      %y = vector.transfer_read %c[%m, %m, %m], %pad : memref<?x?x?xf32>, vector<64x64xf32>
      vector.transfer_write %y, %c[%m, %m, %m] : vector<64x64xf32>, memref<?x?x?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @not_splat(%c: memref<?x?xi8>, %m: index) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      // expected-error @+1 {{failed to legalize operation 'arith.constant'}}
      %y = arith.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F"> : vector<64x1xi8>
      %z = vector.broadcast %y : vector<64x1xi8> to vector<64x8xi8>
      vector.transfer_write %z, %c[%m, %m] : vector<64x8xi8>, memref<?x?xi8>
    }
    gpu.return
  }
}
