//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host does for kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_HOSTPASSES_TD
#define MOSS_GPU_HOSTPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// moss-convert-tensor-maps-to-llvm
//===----------------------------------------------------------------------===//

def MossConvertTensorMapsToLLVM : Pass<"moss-convert-tensor-maps-to-llvm",
                                       "::mlir::ModuleOp"> {
  let summary = "Encode tensor maps on the host by calls of the runtime";
  let description = [{
    Lowers `moss.encode_tensor_map` to a call of `mossTensorMapEncode2D`, and
    gives launches the encoded 128 bytes as a value, of which the translation of
    `gpu.launch_func` passes the address:

    ```mlir
    %map = moss.encode_tensor_map %A : memref<?x?xf8E4M3FN>
        -> !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>
    %arg = builtin.unrealized_conversion_cast %map : ... to !llvm.ptr
    gpu.launch_func @m::@kernel ... args(%arg : !llvm.ptr)
    ```
    becomes
    ```mlir
    %slot = llvm.alloca %c1 x !llvm.array<16 x i64> {alignment = 64}
    llvm.call @mossTensorMapEncode2D(%slot, %base, %rows, %cols, ...)
    %arg = llvm.load %slot : !llvm.ptr -> !llvm.array<16 x i64>
    gpu.launch_func @m::@kernel ... args(%arg : !llvm.array<16 x i64>)
    ```

    Runs after the kernels have become `llvm.func` (whose parameter is a
    pointer; a `gpu.func` would no longer match the launch) and before
    `gpu-to-llvm`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-host-to-device
//===----------------------------------------------------------------------===//

def MossHostToDevice : Pass<"moss-host-to-device", "::mlir::func::FuncOp"> {
  let summary = "Make host functions work on device memory";
  let description = [{
    In a program compiled for a GPU every memref of a host function is in device
    memory: arguments are device pointers by contract, and this pass makes
    allocations and copies follow:

    ```mlir
    %m = memref.alloc(%n) : memref<?xf32>
    memref.copy %a, %m : memref<?xf32> to memref<?xf32>
    memref.dealloc %m : memref<?xf32>
    ```
    becomes
    ```mlir
    %m = gpu.alloc (%n) : memref<?xf32>
    gpu.memcpy %m, %a : memref<?xf32>, memref<?xf32>
    gpu.dealloc %m : memref<?xf32>
    ```

    A constant (`memref.get_global`) lies in the host's memory, so it is copied
    into a device buffer that lives until the end of its block. A global that the
    program may change is an error: each call would start from the same copy.

    Any other access of the host to a memref, such as `memref.load`, is an
    error: it would read a device pointer. Bodies of `gpu.launch` are left
    alone, and so are functions marked `moss.host`, whose memrefs are in host
    memory (drivers of tests, for example).
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

//===----------------------------------------------------------------------===//
// moss-mark-tensor-maps
//===----------------------------------------------------------------------===//

def MossMarkTensorMaps : Pass<"moss-mark-tensor-maps",
                              "::mlir::gpu::GPUModuleOp"> {
  let summary = "Make the tensor maps of marked kernels parameters by value";
  let description = [{
    ```mlir
    llvm.func @kernel(%map: !llvm.ptr {llvm.align = 64}) attributes {moss.tensor_maps}
    ```
    becomes
    ```mlir
    llvm.func @kernel(%map: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>,
                                       llvm.align = 64, nvvm.grid_constant})
    ```

    A pass of its own, after `convert-gpu-to-nvvm`, because `gpu.func` may not
    carry `nvvm.grid_constant` and that conversion drops `llvm.byval`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

//===----------------------------------------------------------------------===//
// moss-share-launches
//===----------------------------------------------------------------------===//

def MossShareLaunches : Pass<"moss-share-launches", "::mlir::ModuleOp"> {
  let summary = "Launch a kernel from one place of the program";
  let description = [{
    A launch becomes a store of each parameter, of which a memref alone has five
    or seven. In a program of many layers that is most of the host code, in one
    function, on which LLVM spends minutes. Launches of one kernel become calls
    of one function. Operands that are the same constants in all of them are
    constants in it. Run it on host code in the LLVM dialect, before kernels
    are compiled.

    ```mlir
    gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) ... args(%a : !llvm.ptr, %c8 : i64)
    gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) ... args(%b : !llvm.ptr, %c8 : i64)
    // becomes
    llvm.call @k_launch(%a, %stream) : (!llvm.ptr, !llvm.ptr) -> ()
    llvm.call @k_launch(%b, %stream) : (!llvm.ptr, !llvm.ptr) -> ()

    llvm.func internal @k_launch(%a: !llvm.ptr, %stream: !llvm.ptr) attributes {no_inline} {
      ...
      gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) ... args(%a : !llvm.ptr, %c8 : i64)
      llvm.return
    }
    ```

    A kernel that is launched once, and launches that are not on a stream, stay
    as they are.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// moss-strip-timings
//===----------------------------------------------------------------------===//

def MossStripTimings : Pass<"moss-strip-timings", "::mlir::ModuleOp"> {
  let summary = "Drop the compile times from gpu.binary";
  let description = [{
    gpu-module-to-binary records in each object how long its compilation took, so
    that no two runs give the same output. This pass drops these properties.

    ```mlir
    gpu.binary @k [#gpu.object<#nvvm.target, properties = {LLVMIRToISATimeInMs = 9 : i64, O = 3 : i32}, assembly = "...">]
    // becomes
    gpu.binary @k [#gpu.object<#nvvm.target, properties = {O = 3 : i32}, assembly = "...">]
    ```
  }];
}

#endif // MOSS_GPU_HOSTPASSES_TD
