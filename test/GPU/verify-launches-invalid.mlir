// RUN: moss-opt %s --moss-verify-launches -split-input-file -verify-diagnostics

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

// 3 * 128 * 64 bytes, 2 * 64 * 128 for each consumer, and 6 barriers of 8.
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @one_byte_less() kernel {
      // expected-note @+1 {{this is the channel}}
      %ch = moss.channel : !channel
      moss.warp_specialize producer registers(40) {
      } consumers(2) registers(232) (%wg) {
      }
      gpu.return
    }
  }
  func.func @f(%x: index) {
    %size = arith.constant 57391 : i32
    // expected-error @+1 {{gives its kernel 57391 bytes of dynamic shared memory, but the kernel's channel needs 57392; a size of 57392 to 232448, which sm_90a has, works}}
    gpu.launch_func @m::@one_byte_less blocks in (%x, %x, %x) threads in (%x, %x, %x) dynamic_shared_memory_size %size
    return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

// 3 * 128 * 64 bytes, 2 * 64 * 128 for each consumer, and 6 barriers of 8.
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @no_memory() kernel {
      // expected-note @+1 {{this is the channel}}
      %ch = moss.channel : !channel
      moss.warp_specialize producer registers(40) {
      } consumers(2) registers(232) (%wg) {
      }
      gpu.return
    }
  }
  func.func @f(%x: index) {
    // expected-error @+1 {{gives its kernel 0 bytes of dynamic shared memory, but the kernel's channel needs 57392; a size of 57392 to 232448, which sm_90a has, works}}
    gpu.launch_func @m::@no_memory blocks in (%x, %x, %x) threads in (%x, %x, %x)
    return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

// 3 * 128 * 64 bytes, 2 * 64 * 128 for each consumer, and 6 barriers of 8.
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @too_much() kernel {
      // expected-note @+1 {{this is the channel}}
      %ch = moss.channel : !channel
      moss.warp_specialize producer registers(40) {
      } consumers(2) registers(232) (%wg) {
      }
      gpu.return
    }
  }
  func.func @f(%x: index) {
    %size = arith.constant 232449 : i32
    // expected-error @+1 {{gives its kernel 232449 bytes of dynamic shared memory, but the kernel's channel needs 57392; a size of 57392 to 232448, which sm_90a has, works}}
    gpu.launch_func @m::@too_much blocks in (%x, %x, %x) threads in (%x, %x, %x) dynamic_shared_memory_size %size
    return
  }
}

// -----

!channel = !moss.channel<9 x (vector<256x128xf8E4M3FN>)>

gpu.module @m {
  gpu.func @too_large() kernel {
    // expected-error @+1 {{needs 311440 bytes of shared memory, but sm_90a has 232448; use fewer stages or smaller tiles}}
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
    }
    gpu.return
  }
}

// -----

// A producer and two consumers are three warpgroups.
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @two_consumers() kernel {
      %ch = moss.channel : !moss.channel<3 x (vector<128x64xf8E4M3FN>)>
      moss.warp_specialize producer registers(40) {
      } consumers(2) registers(232) (%wg) {
      }
      gpu.return
    }
  }
  func.func @f(%x: index) {
    %size = arith.constant 57392 : i32
    %c256 = arith.constant 256 : index
    // expected-error @+1 {{has blocks of 256 threads along x, but its kernel's roles are 3 warpgroups; use 384 x 1 x 1}}
    gpu.launch_func @m::@two_consumers blocks in (%x, %x, %x) threads in (%c256, %x, %x) dynamic_shared_memory_size %size
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @two_consumers() kernel {
      %ch = moss.channel : !moss.channel<3 x (vector<128x64xf8E4M3FN>)>
      moss.warp_specialize producer registers(40) {
      } consumers(2) registers(232) (%wg) {
      }
      gpu.return
    }
  }
  func.func @f(%x: index) {
    %size = arith.constant 57392 : i32
    %c384 = arith.constant 384 : index
    %c2 = arith.constant 2 : index
    // expected-error @+1 {{has blocks of 2 threads along y, but its kernel's roles are 3 warpgroups; use 384 x 1 x 1}}
    gpu.launch_func @m::@two_consumers blocks in (%x, %x, %x) threads in (%c384, %c2, %x) dynamic_shared_memory_size %size
    return
  }
}
