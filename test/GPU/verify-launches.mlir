// RUN: moss-opt %s --moss-verify-launches | FileCheck %s

// Launches give what the channel and the roles need, or sizes that are known at run
// time only.
// 24,576 bytes of slots, 32,768 of boxes and 48 of barriers.
// CHECK-LABEL: func.func @launches(
module attributes {gpu.container_module} {
  gpu.module @launched {
    gpu.func @kernel() kernel {
      %ch = moss.channel : !moss.channel<3 x (vector<128x64xf8E4M3FN>)>
      moss.warp_specialize producer registers(40) {
      } consumers(2) registers(232) (%wg) {
      }
      gpu.return
    }
    gpu.func @other() kernel {
      gpu.return
    }
  }
  func.func @launches(%n: index, %size: i32) {
    %needed = arith.constant 57392 : i32
    %most = arith.constant 232448 : i32
    %c384 = arith.constant 384 : index
    %c1 = arith.constant 1 : index
    gpu.launch_func @launched::@kernel blocks in (%n, %n, %n) threads in (%c384, %c1, %c1) dynamic_shared_memory_size %needed
    gpu.launch_func @launched::@kernel blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %most
    gpu.launch_func @launched::@kernel blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %size
    gpu.launch_func @launched::@other blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}
