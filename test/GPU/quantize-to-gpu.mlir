// RUN: moss-opt %s --moss-quantize-to-gpu --split-input-file | FileCheck %s

// A jit scale takes two kernels. The first leaves the amax of rows and tensor in
// buffers of its own.

// CHECK-LABEL: func @rows
// CHECK-SAME: %[[X:.*]]: memref<?x?xbf16>, %[[P:.*]]: memref<?x?xf8E4M3FN>, %[[M:.*]]: memref<?x1xf8E8M0FNU>, %[[G:.*]]: memref<f32>
func.func @rows(%x: memref<?x?xbf16>, %p: memref<?x?xf8E4M3FN>, %m: memref<?x1xf8E8M0FNU>, %g: memref<f32>) {
  // CHECK: %[[AMAX:.*]] = memref.alloc() : memref<i32>
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_init)
  // CHECK: memref.store {{.*}}, %[[AMAX]][]
  // CHECK: %[[ROWS:.*]] = memref.alloc({{.*}}) : memref<?x1xi32>
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_amax_dynxdyn_kernel) workgroup(%[[W:[a-z0-9]+]] : memref<8xi32, #gpu.address_space<workgroup>>)
  // CHECK: vector.load %[[X]]{{.*}} {alignment = 16 : i64} : memref<?x?xbf16>, vector<8xbf16>
  // CHECK: memref.load %[[X]]
  // CHECK: nvvm.redux.sync umax
  // CHECK: memref.store {{.*}}, %[[W]]
  // CHECK: gpu.barrier
  // CHECK: memref.store {{.*}}, %[[ROWS]]
  // CHECK: memref.atomic_rmw maxu {{.*}}, %[[AMAX]][]
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_dynxdyn_kernel)
  // CHECK: memref.load %[[AMAX]][]
  // CHECK: memref.store {{.*}}, %[[G]][]
  // CHECK: memref.load %[[ROWS]]
  // CHECK: memref.store {{.*}}, %[[M]]
  // CHECK: %[[Q:.*]] = arith.truncf {{.*}} : vector<8xf32> to vector<8xf8E4M3FN>
  // CHECK: vector.store %[[Q]], %[[P]]{{.*}} {alignment = 8 : i64}
  // CHECK: memref.dealloc %[[AMAX]]
  // CHECK: memref.dealloc %[[ROWS]]
  // CHECK-NOT: moss.quantize
  moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
    ins(%x : memref<?x?xbf16>) payload(%p : memref<?x?xf8E4M3FN>) micro(%m : memref<?x1xf8E8M0FNU>) global(%g : memref<f32>)
  return
}

// -----

// A known scale takes one kernel. Eight threads hold four groups, and need no
// barrier; one of them computes a group's scale, which the others get from it.
// Without alignment a warp takes a group, element by element.

// CHECK-LABEL: func @held
// CHECK-SAME: %[[X:.*]]: memref<64x512xbf16>, %[[P:.*]]: memref<64x512xf8E5M2>, %[[M:.*]]: memref<64x4xf8E8M0FNU>
func.func @held(%x: memref<64x512xbf16>, %p: memref<64x512xf8E5M2>, %m: memref<64x4xf8E8M0FNU>) {
  // CHECK-NOT: memref.alloc
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_64x512_kernel) {
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK-COUNT-4: vector.load %[[X]]{{.*}} {alignment = 16 : i64} : memref<64x512xbf16>, vector<16xbf16>
  // CHECK: vector.reduction <maxui>, {{.*}} : vector<16xi16>
  // CHECK-COUNT-3: gpu.shuffle xor
  // CHECK: memref.store {{.*}}, %[[M]]
  // CHECK: gpu.shuffle idx
  // CHECK: vector.store {{.*}}, %[[P]]{{.*}} {alignment = 16 : i64} : memref<64x512xf8E5M2>, vector<16xf8E5M2>
  // CHECK: } else {
  // CHECK-NOT: vector
  // CHECK: memref.load %[[X]]
  // CHECK: nvvm.redux.sync umax
  // CHECK-NOT: gpu.launch
  moss.quantize <f8E5M2, micro = f8E8M0FNU, group = [1, 128], global = unit, rounding = ceil>
    ins(%x : memref<64x512xbf16>) payload(%p : memref<64x512xf8E5M2>) micro(%m : memref<64x4xf8E8M0FNU>)
  return
}

// -----

// Neighboring threads take rows whose scales are adjacent: their number is the
// rest of the division by the rows.

// CHECK-LABEL: func @adjacent_scales
func.func @adjacent_scales(%x: memref<96x640xbf16>, %p: memref<96x640xf8E4M3FN>, %m: memref<96x5xf32, strided<[1, 96]>>) {
  // CHECK: %[[ROWS:.*]] = arith.constant 96 : index
  // CHECK: gpu.launch
  // CHECK: scf.for
  // CHECK: %[[SET:.*]] = arith.divui %[[UNIT:.*]], %[[ROWS]]
  // CHECK: %[[ROW:.*]] = arith.remui %[[UNIT]], %[[ROWS]]
  // CHECK: arith.muli %[[SET]]
  // CHECK: vector.load
  // CHECK: memref.store {{.*}}[%[[ROW]],
  moss.quantize <f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
    ins(%x : memref<96x640xbf16>) payload(%p : memref<96x640xf8E4M3FN>) micro(%m : memref<96x5xf32, strided<[1, 96]>>)
  return
}

// -----

// A large group takes a block. The kernel of the amax leaves that of the tensor
// only, as groups are reduced again.

// CHECK-LABEL: func @blocks
// CHECK-SAME: %[[X:.*]]: memref<?x?xbf16>
func.func @blocks(%x: memref<?x?xbf16>, %p: memref<?x?xf8E4M3FN>, %m: memref<?x?xf32>, %g: memref<f32>) {
  // CHECK: memref.alloc() : memref<i32>
  // CHECK-NOT: memref.alloc
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_amax_dynxdyn_kernel)
  // CHECK: memref.atomic_rmw
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_dynxdyn_kernel) workgroup({{.*}} : memref<8xi32, #gpu.address_space<workgroup>>)
  // CHECK: scf.if
  // CHECK-COUNT-4: vector.load %[[X]]{{.*}} vector<16xbf16>
  // CHECK: nvvm.redux.sync umax
  // CHECK: gpu.barrier
  // CHECK-COUNT-4: vector.store
  moss.quantize <f8E4M3FN, micro = f32, group = [128, 128], global = jit, rounding = ceil>
    ins(%x : memref<?x?xbf16>) payload(%p : memref<?x?xf8E4M3FN>) micro(%m : memref<?x?xf32>) global(%g : memref<f32>)
  return
}

// -----

// A group that ends within a vector is not held: a warp takes it, in vectors
// that leave no lane idle.

// CHECK-LABEL: func @streamed
func.func @streamed(%x: memref<64x512xbf16>, %p: memref<64x512xf8E4M3FN>, %m: memref<64x4xf8E8M0FNU>) {
  // CHECK: vector.load {{.*}} : memref<64x512xbf16>, vector<4xbf16>
  // CHECK: nvvm.redux.sync umax
  moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, 136], global = unit, rounding = ceil>
    ins(%x : memref<64x512xbf16>) payload(%p : memref<64x512xf8E4M3FN>) micro(%m : memref<64x4xf8E8M0FNU>)
  return
}

// -----

// Rows that are not contiguous are read one element at a time.

// CHECK-LABEL: func @strided
func.func @strided(%x: memref<64x256xbf16, strided<[1, 64]>>, %p: memref<64x256xf8E4M3FN>, %g: memref<f32>) {
  // CHECK-NOT: vector
  moss.quantize <f8E4M3FN, global = given> ins(%x : memref<64x256xbf16, strided<[1, 64]>>)
    scale(%g : memref<f32>) payload(%p : memref<64x256xf8E4M3FN>)
  return
}

// -----

// A transposed source is reduced as it lies in memory, and converted through a
// tile whose padding spreads columns over the banks.

// CHECK-LABEL: func @transposed
// CHECK-SAME: %[[X:.*]]: memref<?x?xbf16>, %[[P:.*]]: memref<?x?xf8E4M3FN>
func.func @transposed(%x: memref<?x?xbf16>, %p: memref<?x?xf8E4M3FN>, %g: memref<f32>) {
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_amax_dynxdyn_kernel)
  // CHECK: vector.load %[[X]]
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_transpose_dynxdyn_kernel) workgroup(%[[T:[a-z0-9]+]] : memref<64x65xbf16, #gpu.address_space<workgroup>>)
  // CHECK: vector.load %[[X]]{{.*}} vector<8xbf16>
  // CHECK: memref.store {{.*}}, %[[T]]
  // CHECK: gpu.barrier
  // CHECK: memref.load %[[T]]
  // CHECK: vector.store {{.*}}, %[[P]]{{.*}} vector<8xf8E4M3FN>
  // CHECK: gpu.barrier
  moss.quantize <f8E4M3FN, global = jit> transpose ins(%x : memref<?x?xbf16>)
    payload(%p : memref<?x?xf8E4M3FN>) global(%g : memref<f32>)
  return
}

// -----

// The amax for a later step is stored by the last kernel, because the scale
// operand may be the same buffer.

// CHECK-LABEL: func @delayed
// CHECK-SAME: %[[G:[a-z0-9]+]]: memref<f32>)
func.func @delayed(%x: memref<?x?xf32>, %p: memref<?x?xf8E4M3FN>, %g: memref<f32>) {
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_init)
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_dynxdyn_kernel)
  // CHECK: memref.load %[[G]][]
  // CHECK: gpu.launch {{.*}}function(@moss_quantize_finish)
  // CHECK: memref.store {{.*}}, %[[G]][]
  moss.quantize <f8E4M3FN, global = delayed> ins(%x : memref<?x?xf32>) scale(%g : memref<f32>)
    payload(%p : memref<?x?xf8E4M3FN>) global(%g : memref<f32>)
  return
}

// -----

// A transposed source is read once, too.

// CHECK-LABEL: func @delayed_transpose
// CHECK-NOT:     moss_quantize_amax
// CHECK:         gpu.launch {{.*}}function(@moss_quantize_transpose_dynxdyn_kernel)
// CHECK:           %[[AMAX:.*]] = memref.alloca() : memref<i32>
// CHECK:           scf.for
// CHECK:             vector.reduction <maxui>
// CHECK:             memref.store %{{.*}}, %[[AMAX]][]
// CHECK:           nvvm.redux.sync
// CHECK:           memref.atomic_rmw maxu
// CHECK:         gpu.launch {{.*}}function(@moss_quantize_finish)
func.func @delayed_transpose(%x: memref<?x?xbf16>, %p: memref<?x?xf8E4M3FN>, %s: memref<f32>, %a: memref<f32>) {
  moss.quantize <f8E4M3FN, global = delayed> transpose ins(%x : memref<?x?xbf16>) scale(%s : memref<f32>)
    payload(%p : memref<?x?xf8E4M3FN>) global(%a : memref<f32>)
  return
}

// -----

// CHECK-LABEL: func @dequantize
func.func @dequantize(%p: memref<?x?xf8E4M3FN>, %m: memref<?x1xf8E8M0FNU>, %g: memref<f32>, %y: memref<?x?xbf16>) {
  // CHECK: gpu.launch {{.*}}function(@moss_dequantize_dynxdyn_kernel)
  // CHECK: vector.load {{.*}} {alignment = 8 : i64} : memref<?x?xf8E4M3FN>, vector<8xf8E4M3FN>
  // CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<?x?xbf16>, vector<8xbf16>
  moss.dequantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
    payload(%p : memref<?x?xf8E4M3FN>) micro(%m : memref<?x1xf8E8M0FNU>) global(%g : memref<f32>)
    outs(%y : memref<?x?xbf16>)
  return
}
