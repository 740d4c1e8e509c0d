// RUN: moss-opt %s --moss-lower-kernel-tensor-maps | FileCheck %s --check-prefix=KERNEL
// RUN: moss-opt %s --pass-pipeline='builtin.module(moss-lower-kernel-tensor-maps,gpu.module(convert-gpu-to-nvvm,moss-mark-tensor-maps),moss-convert-tensor-maps-to-llvm,canonicalize)' \
// RUN:   | FileCheck %s --check-prefix=HOST
// RUN: moss-opt %s --moss-gpu-to-llvm -o %t.mlir
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=kernels | FileCheck %s --check-prefix=PTX
// RUN: moss-translate %t.mlir --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

!map = !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // KERNEL: gpu.func @load(%{{.*}}: memref<?xi32>, %[[MAP:.*]]: !llvm.ptr {llvm.align = 64 : i64})
    // KERNEL-SAME: moss.tensor_maps
    // KERNEL: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]],
    // The memref before it takes five arguments.
    // HOST: llvm.func @load(%{{.*}}, %arg5: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant})
    // HOST-NOT: moss.tensor_maps
    gpu.func @load(%out: memref<?xi32>, %map: !map)
        workgroup(%tile: memref<8192xi8, #gpu.address_space<workgroup>>,
                  %barrier: memref<1xi64, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %zero = arith.constant 0 : i32
      %p = builtin.unrealized_conversion_cast %map : !map to !llvm.ptr
      %t = memref.extract_aligned_pointer_as_index %tile : memref<8192xi8, #gpu.address_space<workgroup>> -> index
      %ti = arith.index_cast %t : index to i64
      %tp = llvm.inttoptr %ti : i64 to !llvm.ptr<3>
      %tc = llvm.addrspacecast %tp : !llvm.ptr<3> to !llvm.ptr<7>
      %b = memref.extract_aligned_pointer_as_index %barrier : memref<1xi64, #gpu.address_space<workgroup>> -> index
      %bi = arith.index_cast %b : index to i64
      %bp = llvm.inttoptr %bi : i64 to !llvm.ptr<3>
      nvvm.cp.async.bulk.tensor.shared.cluster.global %tc, %p, %bp, box[%zero, %zero] : !llvm.ptr<7>, !llvm.ptr
      gpu.return
    }
  }

  // The slot is made once, outside the loop; the address includes the offset,
  // the stride is in bytes.
  // KERNEL-LABEL: func @launch
  // KERNEL: %[[M:.*]] = moss.encode_tensor_map
  // KERNEL: %[[C:.*]] = builtin.unrealized_conversion_cast %[[M]] : !moss.tensor_map<{{.*}}> to !llvm.ptr
  // KERNEL: gpu.launch_func {{.*}} args(%{{.*}}, %[[C]] : !llvm.ptr)
  // HOST-LABEL: func @launch
  // HOST: %[[SLOT:.*]] = llvm.alloca %{{.*}} x !llvm.array<16 x i64> {alignment = 64 : i64}
  // HOST: scf.for
  // HOST:   memref.extract_strided_metadata
  // HOST:   llvm.call @mossTensorMapEncode2D(%[[SLOT]], %{{.*}})
  // HOST:   %[[V:.*]] = llvm.load %[[SLOT]] {alignment = 64 : i64} : !llvm.ptr -> !llvm.array<16 x i64>
  // HOST:   gpu.launch_func {{.*}}%[[V]] : !llvm.array<16 x i64>
  func.func @launch(%a: memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>>, %out: memref<?xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    scf.for %i = %c0 to %n step %c1 {
      %map = moss.encode_tensor_map %a : memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>> -> !map
      gpu.launch_func @kernels::@load blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
          args(%out : memref<?xi32>, %map : !map)
    }
    return
  }

  // A row of a bf16 map has twice as many bytes as elements.
  // HOST-LABEL: func @bf16
  // HOST-DAG: %[[TWO:.*]] = llvm.mlir.constant(2 : i32)
  // HOST-DAG: %[[STRIDE:.*]] = arith.constant 512 : i64
  // HOST-DAG: %[[COLS:.*]] = arith.constant 256 : i64
  // HOST: llvm.call @mossTensorMapEncode2D(%{{.*}}, %{{.*}}, %{{.*}}, %[[COLS]], %[[STRIDE]], %[[TWO]],
  func.func @bf16(%a: memref<?x256xbf16>, %out: memref<?xi32>) {
    %c1 = arith.constant 1 : index
    %map = moss.encode_tensor_map %a : memref<?x256xbf16> -> !moss.tensor_map<64x64xbf16, swizzle = 128>
    gpu.launch_func @stores::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%map : !moss.tensor_map<64x64xbf16, swizzle = 128>)
    return
  }
  gpu.module @stores {
    gpu.func @store(%map: !moss.tensor_map<64x64xbf16, swizzle = 128>) kernel {
      gpu.return
    }
  }
}

// The copy takes the parameter's own address.
// PTX: .param .align 64 .b8 load_param_5[128]
// PTX: mov.b64 [[P:%rd[0-9]+]], load_param_5;
// PTX: cvta.param.u64 [[G:%rd[0-9]+]], [[P]];
// PTX-NOT: .local
// PTX: cp.async.bulk.tensor.2d{{.*}}[[G]], {

// LLVM: store [16 x i64]
// LLVM: call void @mgpuLaunchKernel
