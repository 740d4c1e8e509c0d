// RUN: moss-opt %s --moss-describe-kernels | FileCheck %s

// CHECK:      module attributes {gpu.container_module, moss.kernels = [
// CHECK-SAME:   {arguments = [{dtype = "f32", kind = "memref", parameter = "x", shape = array<i64: -9223372036854775808>},
// CHECK-SAME:     {dtype = "i32", kind = "scalar", value = 7 : i64},
// CHECK-SAME:     {box = array<i64: 64, 128>, dtype = "f8E4M3FN", kind = "tensor-map", parameter = "a", shape = array<i64: 8, 128>, swizzle = 128 : i64}],
// CHECK-SAME:    block = array<i64: 256, 1, 1>, cluster = array<i64: 2, 1, 1>, function = "f", grid = array<i64: -9223372036854775808, 1, 1>,
// CHECK-SAME:    matmul = {lhs = "rows"}, name = "m", schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>,
// CHECK-SAME:    shared = 1088 : i64}]}
module attributes {gpu.container_module} {
  func.func @f(%x: memref<?xf32>, %a: memref<8x128xf8E4M3FN>, %n: index)
      attributes {moss.c_interface = {name = "f", source = "f", parameters = [
        {kind = "buffer", name = "x", type = "memref<?xf32>"}, {kind = "scalar-result", name = "r", type = "f32"},
        {kind = "buffer", name = "a", type = "memref<8x128xf8E4M3FN>"}, {kind = "scalar", name = "n", type = "index"}]}} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c256 = arith.constant 256 : index
    %bytes = arith.constant 1024 : i32
    %seven = arith.constant 7 : i32
    %map = moss.encode_tensor_map %a : memref<8x128xf8E4M3FN> -> <64x128xf8E4M3FN, swizzle = 128>
    // CHECK: gpu.launch_func @m::@m clusters
    gpu.launch_func @m::@kernel clusters in (%c2, %c1, %c1) blocks in (%n, %c1, %c1) threads in (%c256, %c1, %c1)
      dynamic_shared_memory_size %bytes
      args(%x : memref<?xf32>, %seven : i32, %map : !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>)
    return
  }
  gpu.module @m {
    // CHECK: gpu.func @m(
    gpu.func @kernel(%x: memref<?xf32>, %i: i32, %map: !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>)
        workgroup(%shared: memref<16xi32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %k = %c0 to %c1 step %c1 {
        %use = memref.load %x[%k] : memref<?xf32>
      } {moss.matmul = {lhs = "rows"},
         moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
      gpu.return
    }
  }
  // Several kernels in a module keep their names.
  // CHECK: gpu.module @two
  gpu.module @two {
    // CHECK: gpu.func @first
    gpu.func @first() kernel {
      gpu.return
    }
    gpu.func @second() kernel {
      gpu.return
    }
  }
}
