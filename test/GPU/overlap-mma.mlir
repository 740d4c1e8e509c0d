// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-overlap-mma)))" | FileCheck %s
// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-overlap-mma)))" --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics

!channel = !moss.channel<4 x (vector<128x32xf8E4M3FN>)>
!regs = !llvm.struct<(f32, f32, f32, f32)>

gpu.module @m {
  // Two groups of products an iteration stay in flight, and the slot of the
  // iteration before is released.
  // CHECK-LABEL: gpu.func @two_waves(
  // CHECK-SAME:  %[[CH:[a-z0-9_]+]]: !moss.channel<{{.*}}>, %[[K:[a-z0-9_]+]]: index, %[[I0:[a-z0-9_]+]]: i32
  // CHECK:       %[[LOOP:[a-z0-9_]+]]:4 = scf.for %[[IV:[a-z0-9_]+]] = %[[C0:[a-z0-9_]+]] to %[[K]] {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[I:[a-z0-9_]+]] = %[[I0]], %[[PREVIOUS:[a-z0-9_]+]] = %{{.*}})
  // CHECK:         nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NOT:     nvvm.wgmma.wait
  // CHECK:         nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NOT:     nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:         nvvm.wgmma.wait.group.sync.aligned 2
  // CHECK-NEXT:    %[[NOTFIRST:[a-z0-9_]+]] = arith.cmpi ne, %[[IV]], %[[C0]]
  // CHECK-NEXT:    scf.if %[[NOTFIRST]] {
  // CHECK-NEXT:      moss.release %[[CH]][%[[PREVIOUS]]]
  // CHECK-NEXT:    }
  // CHECK-NOT:     moss.release
  // CHECK:         scf.yield {{.*}}, %[[I]] :
  // CHECK-NEXT:  }
  // CHECK-NEXT:  nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NEXT:  %[[RAN:[a-z0-9_]+]] = arith.cmpi ult, %[[C0]], %[[K]]
  // CHECK-NEXT:  scf.if %[[RAN]] {
  // CHECK-NEXT:    moss.release %[[CH]][%[[LOOP]]#3]
  // CHECK-NEXT:  }
  // CHECK:       vector.transfer_write %[[LOOP]]#0
  gpu.func @two_waves(%ch: !channel, %K: index, %i0: i32, %d: i64, %out: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %undef = llvm.mlir.poison : !regs
    // expected-remark @+1 {{products of one iteration overlap with the next}}
    %0:3 = scf.for %k = %c0 to %K step %c32 iter_args(%a = %zero, %b = %zero, %i = %i0) -> (vector<4xf32>, vector<4xf32>, i32) {
      %a0:4 = vector.to_elements %a : vector<4xf32>
      %s = llvm.insertvalue %a0#0, %undef[0] : !regs
      nvvm.wgmma.fence.aligned
      %p = nvvm.wgmma.mma_async %d, %d, %s, #nvvm.shape<m = 64, n = 8, k = 32>, D [<f32>, #nvvm.wgmma_scale_out<one>], A [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<row>], B [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<col>] : !regs -> !regs
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
      %p0 = llvm.extractvalue %p[0] : !regs
      %a1 = vector.from_elements %p0, %p0, %p0, %p0 : vector<4xf32>
      nvvm.wgmma.fence.aligned
      %q = nvvm.wgmma.mma_async %d, %d, %s, #nvvm.shape<m = 64, n = 8, k = 32>, D [<f32>, #nvvm.wgmma_scale_out<one>], A [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<row>], B [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<col>] : !regs -> !regs
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
      %q0 = llvm.extractvalue %q[0] : !regs
      %b1 = vector.from_elements %q0, %q0, %q0, %q0 : vector<4xf32>
      moss.release %ch[%i] : !channel
      %next = moss.advance %ch[%i] : !channel
      scf.yield %a1, %b1, %next : vector<4xf32>, vector<4xf32>, i32
    }
    vector.transfer_write %0#0, %out[%c0] : vector<4xf32>, memref<4xf32>
    gpu.return
  }

  // Promotion adds the partial sums in every iteration.
  // CHECK-LABEL: gpu.func @promoted(
  // CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:         moss.release
  // CHECK:         scf.yield
  // CHECK-NEXT:  }
  // CHECK-NEXT:  gpu.return
  gpu.func @promoted(%ch: !channel, %K: index, %i0: i32, %d: i64) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %undef = llvm.mlir.undef : !regs
    // expected-remark @+1 {{every iteration waits for its products: the partial sums are read in every iteration}}
    %0:2 = scf.for %k = %c0 to %K step %c32 iter_args(%a = %zero, %i = %i0) -> (vector<4xf32>, i32) {
      %p = nvvm.wgmma.mma_async %d, %d, %undef, #nvvm.shape<m = 64, n = 8, k = 32>, D [<f32>, #nvvm.wgmma_scale_out<zero>], A [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<row>], B [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<col>] : !regs -> !regs
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
      %p0 = llvm.extractvalue %p[0] : !regs
      %v = vector.from_elements %p0, %p0, %p0, %p0 : vector<4xf32>
      %a1 = arith.addf %a, %v : vector<4xf32>
      moss.release %ch[%i] : !channel
      %next = moss.advance %ch[%i] : !channel
      scf.yield %a1, %next : vector<4xf32>, i32
    }
    gpu.return
  }

  // Sums of the iteration before are read while products are in flight.
  // CHECK-LABEL: gpu.func @read_late(
  // CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NOT:   nvvm.wgmma.wait.group.sync.aligned 1
  gpu.func @read_late(%ch: !channel, %K: index, %i0: i32, %d: i64, %s0: !regs, %out: memref<f32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    // expected-remark @+1 {{every iteration waits for its products: the partial sums are read in every iteration}}
    %0:2 = scf.for %k = %c0 to %K step %c32 iter_args(%s = %s0, %i = %i0) -> (!regs, i32) {
      %p = nvvm.wgmma.mma_async %d, %d, %s, #nvvm.shape<m = 64, n = 8, k = 32>, D [<f32>, #nvvm.wgmma_scale_out<one>], A [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<row>], B [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<col>] : !regs -> !regs
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
      %x = llvm.extractvalue %s[0] : !regs
      memref.store %x, %out[] : memref<f32>
      moss.release %ch[%i] : !channel
      %next = moss.advance %ch[%i] : !channel
      scf.yield %p, %next : !regs, i32
    }
    gpu.return
  }

  // The next iteration would wait for the slot that it releases.
  // CHECK-LABEL: gpu.func @one_slot(
  // CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-NEXT:    moss.release
  // CHECK-NOT:   nvvm.wgmma.wait
  gpu.func @one_slot(%ch: !moss.channel<1 x (vector<128x32xf8E4M3FN>)>, %K: index, %i0: i32, %d: i64, %s0: !regs) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    // expected-remark @+1 {{every iteration waits for its products: the ring has one slot, which the next iteration needs}}
    %0:2 = scf.for %k = %c0 to %K step %c32 iter_args(%s = %s0, %i = %i0) -> (!regs, i32) {
      %p = nvvm.wgmma.mma_async %d, %d, %s, #nvvm.shape<m = 64, n = 8, k = 32>, D [<f32>, #nvvm.wgmma_scale_out<one>], A [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<row>], B [<e4m3>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<col>] : !regs -> !regs
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
      moss.release %ch[%i] : !moss.channel<1 x (vector<128x32xf8E4M3FN>)>
      %next = moss.advance %ch[%i] : !moss.channel<1 x (vector<128x32xf8E4M3FN>)>
      scf.yield %p, %next : !regs, i32
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_products(
  // CHECK:         moss.release
  // CHECK-NEXT:  }
  // CHECK-NEXT:  gpu.return
  gpu.func @no_products(%ch: !channel, %K: index, %i: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %K step %c1 {
      moss.release %ch[%i] : !channel
    }
    gpu.return
  }
}
