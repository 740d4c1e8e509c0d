// RUN: moss-opt %s --moss-merge-kernels --allow-unregistered-dialect | FileCheck %s
// RUN: moss-opt %s --moss-merge-kernels --allow-unregistered-dialect -o /dev/null --remark-format=emitRemark --remarks-filter='moss-merge-kernels' 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK:     merged {{.*}}Function=c {{.*}}is the same as another kernel, which stays", kernel=a
// REMARK-NOT: merged

// Kernels come first, and the first of those that are equal stays.
// CHECK:      gpu.module @a {
// CHECK:      gpu.module @b {
// CHECK-NOT:  gpu.module @c
// CHECK:      gpu.module @used {
// CHECK:      gpu.module @grid {
// CHECK:      gpu.module @two {
// CHECK-LABEL: func @f(
// CHECK:        gpu.launch_func @a::@kernel
// CHECK:        gpu.launch_func @b::@kernel
// CHECK:        gpu.launch_func @a::@kernel
// CHECK:        gpu.launch_func @used::@kernel
// CHECK:        gpu.launch_func @grid::@kernel
// CHECK:        gpu.launch_func @two::@kernel
module attributes {gpu.container_module} {
  func.func @f(%m: memref<i32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @a::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    gpu.launch_func @b::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    gpu.launch_func @c::@other_name blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    gpu.launch_func @used::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    gpu.launch_func @grid::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    gpu.launch_func @two::@kernel blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<i32>)
    "test.use"() {kernel = @used::@kernel} : () -> ()
    return
  }
  gpu.module @a {
    gpu.func @kernel(%m: memref<i32>) kernel {
      %c0 = arith.constant 0 : i32
      memref.store %c0, %m[] : memref<i32>
      gpu.return
    }
  }
  gpu.module @b {
    gpu.func @kernel(%m: memref<i32>) kernel {
      %c1 = arith.constant 1 : i32
      memref.store %c1, %m[] : memref<i32>
      gpu.return
    }
  }
  gpu.module @c {
    gpu.func @other_name(%m: memref<i32>) kernel {
      %c0 = arith.constant 0 : i32
      memref.store %c0, %m[] : memref<i32>
      gpu.return
    }
  }
  // Something else refers to it.
  gpu.module @used {
    gpu.func @kernel(%m: memref<i32>) kernel {
      %c0 = arith.constant 0 : i32
      memref.store %c0, %m[] : memref<i32>
      gpu.return
    }
  }
  // Other attributes.
  gpu.module @grid {
    gpu.func @kernel(%m: memref<i32>) kernel attributes {known_grid_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : i32
      memref.store %c0, %m[] : memref<i32>
      gpu.return
    }
  }
  // More than a kernel.
  gpu.module @two {
    gpu.func @kernel(%m: memref<i32>) kernel {
      %c0 = arith.constant 0 : i32
      memref.store %c0, %m[] : memref<i32>
      gpu.return
    }
    gpu.func @another() kernel {
      gpu.return
    }
  }
}
