// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-unroll-steps)))" | FileCheck %s
// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-unroll-steps)))" --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics

// CHECK: #[[UNROLL:.*]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[KEEP:.*]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>

!a = vector<192x128xf8E4M3FN>
!b = vector<128x128xf8E4M3FN>
!c = vector<192x128xf32>
!channel = !moss.channel<4 x (!a, !b)>
!rows = !moss.channel<4 x (!a, !b, vector<1x192xf32>)>
!columns = !moss.channel<4 x (!a, !b, vector<1x128xf32>)>
!scaled = !moss.channel<4 x (!a, !b, vector<1x192xf32>, vector<1x128xf32>)>

gpu.module @m {
  // Four steps of 128 are one iteration, at four positions. The producer's loop and
  // the loop over tiles stay as they are.
  // CHECK-LABEL: gpu.func @promoted(
  // CHECK:       producer registers
  // CHECK:         scf.for {{.*}} step %c128_i32
  // CHECK:       consumers(3)
  // CHECK:         scf.for {{.*}} step %c192_i32
  // CHECK:           %[[STEP:[a-z0-9_]+]] = arith.constant 512 : i32
  // CHECK:           scf.for {{.*}} step %[[STEP]] iter_args(%[[SUM:[a-z0-9_]+]] = %{{.*}}, %[[I:[a-z0-9_]+]] = %{{.*}})
  // CHECK:             %[[T:[a-z0-9_]+]]:2 = moss.get %[[CH:[a-z0-9_]+]][%[[I]]]
  // CHECK:             %[[P:[a-z0-9_]+]] = moss.mma %[[T]]#0, %[[T]]#1, %[[ZERO:[a-z0-9_]+]]
  // CHECK:             moss.release %[[CH]][%[[I]]]
  // CHECK:             %[[SUM1:[a-z0-9_]+]] = arith.addf %[[SUM]], %[[P]]
  // CHECK:             %[[J:[a-z0-9_]+]] = moss.advance %[[CH]][%[[I]]]
  // CHECK:             moss.get %[[CH]][%[[J]]]
  // CHECK:             moss.mma {{.*}}, %[[ZERO]]
  // CHECK:             moss.release %[[CH]][%[[J]]]
  // CHECK:             arith.addf %[[SUM1]]
  // CHECK-COUNT-2:     moss.mma
  // CHECK-NOT:         moss.mma
  // CHECK:             scf.yield
  gpu.func @promoted(%ch: !channel, %map_a: !moss.tensor_map<192x128xf8E4M3FN, swizzle = 128>,
                     %map_b: !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>, %i0: i32, %c0: index, %M: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c192_i32 = arith.constant 192 : i32
    %c4096_i32 = arith.constant 4096 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
      %0 = scf.for %k = %c0_i32 to %c4096_i32 step %c128_i32 iter_args(%i = %i0) -> (i32) : i32 {
        moss.put %ch[%i] from(%map_a, %map_b : !moss.tensor_map<192x128xf8E4M3FN, swizzle = 128>, !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>)
          at(%c0, %c0), (%c0, %c0) : !channel
        %next = moss.advance %ch[%i] : !channel
        scf.yield %next : i32
      }
    } consumers(3) registers(160) (%wg) {
      %0 = scf.for %m = %c0_i32 to %M step %c192_i32 iter_args(%i1 = %i0) -> (i32) : i32 {
        // expected-remark @+1 {{4 steps are one iteration}}
        %1:2 = scf.for %k = %c0_i32 to %c4096_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i1) -> (!c, i32) : i32 {
          %t:2 = moss.get %ch[%i] : !channel -> !a, !b
          %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
          moss.release %ch[%i] : !channel
          %add = arith.addf %sum, %p : !c
          %next = moss.advance %ch[%i] : !channel
          scf.yield %add, %next : !c, i32
        }
        scf.yield %1#1 : i32
      }
    }
    gpu.return
  }

  // Scales of columns take registers, so two steps are one iteration.
  // CHECK-LABEL: gpu.func @columns(
  // CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 256 : i32
  // CHECK:         scf.for {{.*}} step %[[STEP]]
  // CHECK-COUNT-2:   moss.add_rescaled
  // CHECK-NOT:       moss.add_rescaled
  // CHECK:           scf.yield
  gpu.func @columns(%ch: !scaled, %i0: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c4096_i32 = arith.constant 4096 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{2 steps are one iteration}}
      %0:2 = scf.for %k = %c0_i32 to %c4096_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:4 = moss.get %ch[%i] : !scaled -> !a, !b, vector<1x192xf32>, vector<1x128xf32>
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %rows = moss.read_scales %t#2 : vector<1x192xf32> -> vector<192x1xf32>
        %cols = moss.read_scales %t#3 : vector<1x128xf32> -> vector<1x128xf32>
        %add = moss.add_rescaled %sum, %p rows(%rows : vector<192x1xf32>) cols(%cols : vector<1x128xf32>) : !c
        moss.release %ch[%i] : !scaled
        %next = moss.advance %ch[%i] : !scaled
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // 86 steps are two and 21 fours. The sum goes from one loop to the other. LLVM
  // leaves the first a loop.
  // CHECK-LABEL: gpu.func @rest_of_86(
  // CHECK:         %[[BOUND:[a-z0-9_]+]] = arith.constant 256 : i32
  // CHECK:         %[[REST:[a-z0-9_]+]]:2 = scf.for {{.*}} = %c0_i32 to %[[BOUND]] step %c128_i32 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
  // CHECK:           moss.mma
  // CHECK-NOT:       moss.mma
  // CHECK:           scf.yield
  // CHECK-NEXT:    } {loop_annotation = #[[KEEP]]}
  // CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 512 : i32
  // CHECK:         scf.for {{.*}} = %[[BOUND]] to %c11008_i32 step %[[STEP]] iter_args(%{{.*}} = %[[REST]]#0, %{{.*}} = %[[REST]]#1)
  // CHECK-COUNT-4:   moss.mma
  // CHECK-NOT:       moss.mma
  // CHECK:         gpu.return
  gpu.func @rest_of_86(%ch: !channel, %i0: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c11008_i32 = arith.constant 11008 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{4 steps are one iteration, after a rest of 2}}
      %0:2 = scf.for %k = %c0_i32 to %c11008_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %sum, %p : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // One step would be no loop: 13 are five and two fours.
  // CHECK-LABEL: gpu.func @rest_of_13(
  // CHECK:         %[[BOUND:[a-z0-9_]+]] = arith.constant 768 : i32
  // CHECK:         scf.for {{.*}} = %c128_i32 to %[[BOUND]] step %c128_i32
  // CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 512 : i32
  // CHECK:         scf.for {{.*}} = %[[BOUND]] to %c1792_i32 step %[[STEP]]
  gpu.func @rest_of_13(%ch: !channel, %i0: i32) kernel {
    %c128_i32 = arith.constant 128 : i32
    %c1792_i32 = arith.constant 1792 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{4 steps are one iteration, after a rest of 5}}
      %0:2 = scf.for %k = %c128_i32 to %c1792_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %sum, %p : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // Of steps that scale rows only fours are faster than one.
  // CHECK-LABEL: gpu.func @rows(
  // CHECK-COUNT-4: moss.add_rescaled
  // CHECK:         scf.yield
  // CHECK:         moss.add_rescaled
  // CHECK-NOT:     moss.add_rescaled
  // CHECK:         gpu.return
  gpu.func @rows(%ch: !rows, %i0: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c4096_i32 = arith.constant 4096 : i32
    %c768_i32 = arith.constant 768 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{4 steps are one iteration}}
      %0:2 = scf.for %k = %c0_i32 to %c4096_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:3 = moss.get %ch[%i] : !rows -> !a, !b, vector<1x192xf32>
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %rows = moss.read_scales %t#2 : vector<1x192xf32> -> vector<192x1xf32>
        moss.release %ch[%i] : !rows
        %add = moss.add_rescaled %sum, %p rows(%rows : vector<192x1xf32>) : !c
        %next = moss.advance %ch[%i] : !rows
        scf.yield %add, %next : !c, i32
      }
      // expected-remark @+1 {{they are so few that two would be an iteration, and two scaled steps are slower than one}}
      %1:2 = scf.for %k = %c0_i32 to %c768_i32 step %c128_i32 iter_args(%sum = %zero, %i = %0#1) -> (!c, i32) : i32 {
        %t:3 = moss.get %ch[%i] : !rows -> !a, !b, vector<1x192xf32>
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %rows = moss.read_scales %t#2 : vector<1x192xf32> -> vector<192x1xf32>
        moss.release %ch[%i] : !rows
        %add = moss.add_rescaled %sum, %p rows(%rows : vector<192x1xf32>) : !c
        %next = moss.advance %ch[%i] : !rows
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // A rest that loads scales of rows, beside those of columns, takes more registers
  // than there are. Scales that were loaded before the loop do not.
  // CHECK-LABEL: gpu.func @loaded_rows(
  // CHECK:         scf.for {{.*}} = %c0_i32 to %c1152_i32 step %c128_i32
  // CHECK-NEXT:      moss.load_scales
  // CHECK:         scf.for {{.*}} = %c0_i32 to %c1280_i32 step %c256_i32
  // CHECK-COUNT-2:   moss.load_scales
  // CHECK:         %[[BOUND:[a-z0-9_]+]] = arith.constant 384 : i32
  // CHECK:         scf.for {{.*}} = %c0_i32 to %[[BOUND]] step %c128_i32
  gpu.func @loaded_rows(%ch: !columns, %e: memref<192x10xf32>, %i0: i32) kernel {
    %c0 = arith.constant 0 : index
    %c192 = arith.constant 192 : index
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c1152_i32 = arith.constant 1152 : i32
    %c1280_i32 = arith.constant 1280 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{their number is odd, and a rest that loads scales of rows spills registers}}
      %0:2 = scf.for %k = %c0_i32 to %c1152_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %rows = moss.load_scales %e[%c0, %c0] bound(%c192) group [4, 128] : memref<192x10xf32> -> vector<192x1xf32>
        %t:3 = moss.get %ch[%i] : !columns -> !a, !b, vector<1x128xf32>
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %cols = moss.read_scales %t#2 : vector<1x128xf32> -> vector<1x128xf32>
        %add = moss.add_rescaled %sum, %p rows(%rows : vector<192x1xf32>) cols(%cols : vector<1x128xf32>) : !c
        moss.release %ch[%i] : !columns
        %next = moss.advance %ch[%i] : !columns
        scf.yield %add, %next : !c, i32
      }
      // expected-remark @+1 {{2 steps are one iteration}}
      %1:2 = scf.for %k = %c0_i32 to %c1280_i32 step %c128_i32 iter_args(%sum = %0#0, %i = %0#1) -> (!c, i32) : i32 {
        %rows = moss.load_scales %e[%c0, %c0] bound(%c192) group [4, 128] : memref<192x10xf32> -> vector<192x1xf32>
        %t:3 = moss.get %ch[%i] : !columns -> !a, !b, vector<1x128xf32>
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %cols = moss.read_scales %t#2 : vector<1x128xf32> -> vector<1x128xf32>
        %add = moss.add_rescaled %sum, %p rows(%rows : vector<192x1xf32>) cols(%cols : vector<1x128xf32>) : !c
        moss.release %ch[%i] : !columns
        %next = moss.advance %ch[%i] : !columns
        scf.yield %add, %next : !c, i32
      }
      %before = moss.load_scales %e[%c0, %c0] bound(%c192) group [4, 128] : memref<192x10xf32> -> vector<192x1xf32>
      // expected-remark @+1 {{2 steps are one iteration, after a rest of 3}}
      %2:2 = scf.for %k = %c0_i32 to %c1152_i32 step %c128_i32 iter_args(%sum = %1#0, %i = %1#1) -> (!c, i32) : i32 {
        %t:3 = moss.get %ch[%i] : !columns -> !a, !b, vector<1x128xf32>
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %cols = moss.read_scales %t#2 : vector<1x128xf32> -> vector<1x128xf32>
        %add = moss.add_rescaled %sum, %p rows(%before : vector<192x1xf32>) cols(%cols : vector<1x128xf32>) : !c
        moss.release %ch[%i] : !columns
        %next = moss.advance %ch[%i] : !columns
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // Four steps stay a loop of two iterations.
  // CHECK-LABEL: gpu.func @two_of_4(
  // CHECK-COUNT-2: moss.mma
  // CHECK-NOT:     moss.mma
  // CHECK:         gpu.return
  gpu.func @two_of_4(%ch: !channel, %i0: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c512_i32 = arith.constant 512 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{2 steps are one iteration}}
      %0:2 = scf.for %k = %c0_i32 to %c512_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %sum, %p : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // Two steps would leave no loop.
  // CHECK-LABEL: gpu.func @two(
  // CHECK:         scf.for
  // CHECK:         moss.mma
  // CHECK-NOT:     moss.mma
  // CHECK:         gpu.return
  gpu.func @two(%ch: !channel, %i0: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c256_i32 = arith.constant 256 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{they are so few that no loop would remain}}
      %0:2 = scf.for %k = %c0_i32 to %c256_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %sum, %p : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // Numbers of steps that are small or not known; sums that stay in the matrix unit;
  // and loops of several products.
  // CHECK-LABEL: gpu.func @left_alone(
  // CHECK-COUNT-5: moss.mma
  // CHECK-NOT:     moss.mma
  // CHECK:         gpu.return
  gpu.func @left_alone(%ch: !channel, %i0: i32, %K: i32) kernel {
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %c384_i32 = arith.constant 384 : i32
    %c4096_i32 = arith.constant 4096 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      // expected-remark @+1 {{steps are not unrolled: they are so few that no loop would remain}}
      %0:2 = scf.for %k = %c0_i32 to %c384_i32 step %c128_i32 iter_args(%sum = %zero, %i = %i0) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %sum, %p : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
      // expected-remark @+1 {{steps are not unrolled: how many there are is not known}}
      %1:2 = scf.for %k = %c0_i32 to %K step %c128_i32 iter_args(%sum = %zero, %i = %0#1) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %sum, %p : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
      %2:2 = scf.for %k = %c0_i32 to %c4096_i32 step %c128_i32 iter_args(%sum = %zero, %i = %1#1) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %sum : !a, !b, !c
        moss.release %ch[%i] : !channel
        %next = moss.advance %ch[%i] : !channel
        scf.yield %p, %next : !c, i32
      }
      %3:2 = scf.for %k = %c0_i32 to %c4096_i32 step %c128_i32 iter_args(%sum = %zero, %i = %2#1) -> (!c, i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        %q = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %add = arith.addf %p, %q : !c
        %next = moss.advance %ch[%i] : !channel
        scf.yield %add, %next : !c, i32
      }
    }
    gpu.return
  }

  // Where K is one step, the loop over tiles holds it, which no remark is about.
  // CHECK-LABEL: gpu.func @one_step(
  // CHECK-COUNT-1: moss.mma
  // CHECK-NOT:     moss.mma
  // CHECK:         gpu.return
  gpu.func @one_step(%ch: !channel, %i0: i32, %first: i32, %tiles: i32, %C: memref<?x128xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c192_i32 = arith.constant 192 : i32
    %zero = arith.constant dense<0.0> : !c
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      %0 = scf.for %tile = %first to %tiles step %c192_i32 iter_args(%i = %i0) -> (i32) : i32 {
        %t:2 = moss.get %ch[%i] : !channel -> !a, !b
        %p = moss.mma %t#0, %t#1, %zero : !a, !b, !c
        moss.release %ch[%i] : !channel
        %next = moss.advance %ch[%i] : !channel
        %m = arith.index_cast %tile : i32 to index
        vector.transfer_write %p, %C[%m, %c0] {in_bounds = [true, true]} : !c, memref<?x128xf32>
        scf.yield %next : i32
      }
    }
    gpu.return
  }
}
