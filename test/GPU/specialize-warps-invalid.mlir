// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-specialize-warps)))" -split-input-file -verify-diagnostics

gpu.module @m {
  gpu.func @two_channels() kernel {
    %0 = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    // expected-error @+1 {{is the second of its kernel; one is supported}}
    %1 = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{has a channel but no loop with a schedule; run moss-map-to-grid}}
  gpu.func @no_schedule() kernel {
    %0 = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{tile N = 72 must be a multiple of 64 and at most 256}}
  gpu.func @schedule(%M: index) kernel {
    %0 = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    scf.for %m = %c0 to %M step %c128 {
    } {moss.schedule = #moss.schedule<tile = [128, 72, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @store(%M: index, %g: memref<f32>, %x: f32) kernel {
    %0 = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    scf.for %m = %c0 to %M step %c128 {
      // expected-error @+1 {{may have side effects, which the producer and each consumer of the kernel's channel would repeat; move it to a kernel of its own}}
      memref.store %x, %g[] : memref<f32>
    } {moss.schedule = #moss.schedule<tile = [128, 64, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @barrier(%M: index) kernel {
    %0 = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    scf.for %m = %c0 to %M step %c128 {
      // expected-error @+1 {{may have side effects}}
      gpu.barrier
    } {moss.schedule = #moss.schedule<tile = [128, 64, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }
}
