// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-create-channels)))" -split-input-file -verify-diagnostics

gpu.module @m {
  gpu.func @two_products(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
      // expected-error @+1 {{is the second of its kernel, but one ring of shared memory serves one loop; tile the matmuls in separate kernels}}
      %q = moss.mma %ta, %tb, %p : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  // Slices of different tiles need different slots.
  gpu.func @two_tiles(%a: memref<?x?xf8E4M3FN>, %K: index) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      %t = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %u = vector.transfer_read %a[%c128, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %t0 = vector.extract_strided_slice %t {offsets = [0, 0], sizes = [128, 64], strides = [1, 1]} : vector<128x128xf8E4M3FN> to vector<128x64xf8E4M3FN>
      %u1 = vector.extract_strided_slice %u {offsets = [0, 64], sizes = [128, 64], strides = [1, 1]} : vector<128x128xf8E4M3FN> to vector<128x64xf8E4M3FN>
      %p = moss.mma %t0, %t0, %zero : vector<128x64xf8E4M3FN>, vector<128x64xf8E4M3FN>, vector<128x128xf32>
      // expected-error @+1 {{is the second of its kernel, but one ring of shared memory serves one loop; tile the matmuls in separate kernels}}
      %q = moss.mma %t0, %u1, %p : vector<128x64xf8E4M3FN>, vector<128x64xf8E4M3FN>, vector<128x128xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 128, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_load(%a: memref<?x?xf8E4M3FN>, %tb: vector<256x128xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      // expected-error @+1 {{needs both operands to be read from memory by vector.transfer_read in the loop that multiplies them}}
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_loop(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    %k = arith.constant 0 : index
    %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
    %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
    // expected-error @+1 {{needs both operands to be read from memory by vector.transfer_read in the loop that multiplies them}}
    %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @load_outside(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    %k0 = arith.constant 0 : index
    %ta = vector.transfer_read %a[%c0, %k0], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
    scf.for %k = %c0 to %K step %c128 {
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      // expected-error @+1 {{needs both operands to be read}}
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @no_schedule(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      // expected-error @+1 {{is in no loop with a schedule; run moss-map-to-grid}}
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } 
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @schedule_elsewhere(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel attributes {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      // expected-error @+1 {{is in no loop with a schedule; run moss-map-to-grid}}
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } 
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @other_tile(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      // expected-error @+1 {{multiplies tiles of 'vector<128x128xf8E4M3FN>' and 'vector<256x128xf8E4M3FN>', but its schedule was checked for #moss.schedule<tile = [128, 128, 128]}}
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 128, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @branch(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %i = %c0 to %K step %c128 {
      scf.if %flag {
        scf.for %k = %c0 to %K step %c128 {
          %ta = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
          %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
          // expected-error @+1 {{is inside 'scf.if', but only scf.for may enclose the product of a kernel}}
          %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
      }
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @padding(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    %one = arith.constant 1.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      // expected-error @+1 {{cannot become a copy into shared memory: it must read a two-dimensional memref, neither permuted nor masked, and pad with zeros}}
      %ta = vector.transfer_read %a[%c0, %k], %one : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @permuted(%a: memref<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      // expected-error @+1 {{cannot become a copy into shared memory}}
      %ta = vector.transfer_read %a[%c0, %k], %pad {permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @three_dimensions(%a: memref<?x?xf8E4M3FN>, %x: memref<?x?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      // expected-error @+1 {{cannot become a copy into shared memory}}
      %ta = vector.transfer_read %x[%c0, %c0, %k], %pad : memref<?x?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @tensor(%a: memref<?x?xf8E4M3FN>, %x: tensor<?x?xf8E4M3FN>, %K: index, %flag: i1) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %k = %c0 to %K step %c128 {
      // expected-error @+1 {{cannot become a copy into shared memory}}
      %ta = vector.transfer_read %x[%c0, %k], %pad : tensor<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
      %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
      %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}
