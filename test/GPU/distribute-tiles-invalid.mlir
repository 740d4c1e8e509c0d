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

// -----

!channel = !moss.channel<2 x (vector<64x16xf8E4M3FN>, vector<64x16xf8E4M3FN>)>

gpu.module @m {
  gpu.func @half_step(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t:2 = moss.get %ch[%i] : !channel -> vector<64x16xf8E4M3FN>, vector<64x16xf8E4M3FN>
      // expected-error @+1 {{has K = 16, but the matrix unit multiplies 'f8E4M3FN' in steps of 32; use a multiple of 32}}
      %p = moss.mma %t#0, %t#1, %zero : vector<64x16xf8E4M3FN>, vector<64x16xf8E4M3FN>, vector<64x64xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<2 x (vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>)>

gpu.module @m {
  gpu.func @half_step_of_slot(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t:2 = moss.get %ch[%i] : !channel -> vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>
      %a = vector.extract_strided_slice %t#0 {offsets = [0, 16], sizes = [64, 16], strides = [1, 1]} : vector<64x32xf8E4M3FN> to vector<64x16xf8E4M3FN>
      %b = vector.extract_strided_slice %t#1 {offsets = [0, 16], sizes = [64, 16], strides = [1, 1]} : vector<64x32xf8E4M3FN> to vector<64x16xf8E4M3FN>
      // expected-error @+1 {{has K = 16, but the matrix unit}}
      %p = moss.mma %a, %b, %zero : vector<64x16xf8E4M3FN>, vector<64x16xf8E4M3FN>, vector<64x64xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<2 x (vector<64x32xf8E4M3FN>, vector<12x32xf8E4M3FN>)>

gpu.module @m {
  gpu.func @few_cols(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x12xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t:2 = moss.get %ch[%i] : !channel -> vector<64x32xf8E4M3FN>, vector<12x32xf8E4M3FN>
      // expected-error @+1 {{has N = 12, but the matrix unit takes a multiple of 8, at most 256}}
      %p = moss.mma %t#0, %t#1, %zero : vector<64x32xf8E4M3FN>, vector<12x32xf8E4M3FN>, vector<64x12xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x12xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<2 x (vector<64x16xbf16>, vector<264x16xbf16>)>

gpu.module @m {
  gpu.func @many_cols(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x264xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t:2 = moss.get %ch[%i] : !channel -> vector<64x16xbf16>, vector<264x16xbf16>
      // expected-error @+1 {{has N = 264, but the matrix unit takes a multiple of 8, at most 256}}
      %p = moss.mma %t#0, %t#1, %zero : vector<64x16xbf16>, vector<264x16xbf16>, vector<64x264xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x264xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<2 x (vector<64x64xf8E4M3FN>, vector<64x64xf8E4M3FN>)>

gpu.module @m {
  gpu.func @between_steps(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t:2 = moss.get %ch[%i] : !channel -> vector<64x64xf8E4M3FN>, vector<64x64xf8E4M3FN>
      %a = vector.extract_strided_slice %t#0 {offsets = [0, 0], sizes = [64, 32], strides = [1, 1]} : vector<64x64xf8E4M3FN> to vector<64x32xf8E4M3FN>
      %b = vector.extract_strided_slice %t#1 {offsets = [0, 16], sizes = [64, 32], strides = [1, 1]} : vector<64x64xf8E4M3FN> to vector<64x32xf8E4M3FN>
      // expected-error @+1 {{multiplies 'vector<64x32xf8E4M3FN>' that is not in a slot: it must be a tile that moss.get yields, or a slice of one, from row 0 and a multiple of 32 along K on}}
      %p = moss.mma %a, %b, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<2 x (vector<128x32xf8E4M3FN>, vector<64x32xf8E4M3FN>)>

gpu.module @m {
  gpu.func @lower_rows(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t:2 = moss.get %ch[%i] : !channel -> vector<128x32xf8E4M3FN>, vector<64x32xf8E4M3FN>
      %a = vector.extract_strided_slice %t#0 {offsets = [64, 0], sizes = [64, 32], strides = [1, 1]} : vector<128x32xf8E4M3FN> to vector<64x32xf8E4M3FN>
      // expected-error @+1 {{multiplies 'vector<64x32xf8E4M3FN>' that is not in a slot}}
      %p = moss.mma %a, %t#1, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @in_registers(%a: vector<64x32xf8E4M3FN>, %c: memref<?x?xf32>, %m: index) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      // expected-error @+1 {{multiplies 'vector<64x32xf8E4M3FN>' that is not in a slot}}
      %p = moss.mma %a, %a, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<2 x (vector<64x32xf8E4M3FN>)>

gpu.module @m {
  gpu.func @in_producer(%c: memref<?x?xf32>, %m: index, %i: i32) kernel {
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
      %t = moss.get %ch[%i] : !channel -> vector<64x32xf8E4M3FN>
      // expected-error @+1 {{is not in the consumers' region of moss.warp_specialize, which multiply}}
      %p = moss.mma %t, %t, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      vector.transfer_write %p, %c[%m, %m] : vector<64x64xf32>, memref<?x?xf32>
    } consumers(1) registers(232) (%wg) {
    }
    gpu.return
  }
}
