// REQUIRES: gpu, clang
// RUN: moss-opt %s --pass-pipeline='builtin.module(moss-linalg-to-gpu,moss-gpu-to-llvm)' -o %t.mlir
// RUN: env MOSS_BUILD_DIR=%moss_build_dir %moss_src_dir/utils/moss-build-shared.sh %t.mlir %t.dir/host.so
// RUN: python3 %S/Inputs/host.py %t.dir/host.so

!map = !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>

module attributes {gpu.container_module} {
  memref.global "private" constant @one : memref<1xf32> = dense<1.0>

  func.func @elementwise(%a: memref<?x?xf32>, %out: memref<?x?xf32>, %largest: memref<f32>) {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %a, %c0 : memref<?x?xf32>
    %cols = memref.dim %a, %c1 : memref<?x?xf32>
    %t = memref.alloc(%rows, %cols) : memref<?x?xf32>
    %one = memref.get_global @one : memref<1xf32>
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0)>,
                                     affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%a, %one : memref<?x?xf32>, memref<1xf32>) outs(%t : memref<?x?xf32>) {
    ^bb0(%x: f32, %b: f32, %old: f32):
      %root = math.sqrt %x : f32
      %sum = arith.addf %root, %b : f32
      linalg.yield %sum : f32
    }
    memref.copy %t, %out : memref<?x?xf32> to memref<?x?xf32>
    linalg.fill ins(%zero : f32) outs(%largest : memref<f32>)
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                    iterator_types = ["reduction", "reduction"]}
        ins(%t : memref<?x?xf32>) outs(%largest : memref<f32>) {
    ^bb0(%x: f32, %old: f32):
      %max = arith.maximumf %x, %old : f32
      linalg.yield %max : f32
    }
    memref.dealloc %t : memref<?x?xf32>
    return
  }

  func.func @copy_tile(%a: memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>>,
                       %out: memref<64x128xi8>, %row: i64, %col: i64) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %r = arith.trunci %row : i64 to i32
    %c = arith.trunci %col : i64 to i32
    %map = moss.encode_tensor_map %a : memref<?x?xf8E4M3FN, strided<[?, 1], offset: ?>> -> !map
    gpu.launch_func @kernels::@copy_tile blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%map : !map, %out : memref<64x128xi8>, %r : i32, %c : i32)
    return
  }

  gpu.module @kernels {
    // A thread copies a row of the tile out of shared memory, and undoes the
    // swizzle: 16-byte chunk i of row r is at i xor (r mod 8).
    gpu.func @copy_tile(%map: !map, %out: memref<64x128xi8>, %row: i32, %col: i32)
        workgroup(%tile: memref<64x128xi8, #gpu.address_space<workgroup>> {llvm.align = 1024 : i64},
                  %barrier: memref<1xi64, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c128 = arith.constant 128 : index
      %one = arith.constant 1 : i32
      %bytes = arith.constant 8192 : i32
      %phase = arith.constant 0 : i32
      %ticks = arith.constant 10000000 : i32
      %p = builtin.unrealized_conversion_cast %map : !map to !llvm.ptr
      %t = memref.extract_aligned_pointer_as_index %tile : memref<64x128xi8, #gpu.address_space<workgroup>> -> index
      %ti = arith.index_cast %t : index to i64
      %tp = llvm.inttoptr %ti : i64 to !llvm.ptr<3>
      %tc = llvm.addrspacecast %tp : !llvm.ptr<3> to !llvm.ptr<7>
      %b = memref.extract_aligned_pointer_as_index %barrier : memref<1xi64, #gpu.address_space<workgroup>> -> index
      %bi = arith.index_cast %b : index to i64
      %bp = llvm.inttoptr %bi : i64 to !llvm.ptr<3>
      %thread = gpu.thread_id x
      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        nvvm.mbarrier.init %bp, %one : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
        nvvm.mbarrier.arrive.expect_tx %bp, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.tensor.shared.cluster.global %tc, %p, %bp, box[%col, %row] : !llvm.ptr<7>, !llvm.ptr
      }
      gpu.barrier
      nvvm.mbarrier.try_wait.parity %bp, %phase, %ticks : !llvm.ptr<3>, i32, i32
      %xor = arith.remui %thread, %c8 : index
      scf.for %j = %c0 to %c128 step %c1 {
        %chunk = arith.divui %j, %c16 : index
        %within = arith.remui %j, %c16 : index
        %swizzled = arith.xori %chunk, %xor : index
        %base = arith.muli %swizzled, %c16 : index
        %k = arith.addi %base, %within : index
        %x = memref.load %tile[%thread, %k] : memref<64x128xi8, #gpu.address_space<workgroup>>
        memref.store %x, %out[%thread, %j] : memref<64x128xi8>
      }
      gpu.return
    }
  }
}
