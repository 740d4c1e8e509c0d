//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How compiled functions are called.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_INTERFACEPASSES_TD
#define MOSS_TRANSFORMS_INTERFACEPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// moss-assert-to-llvm
//===----------------------------------------------------------------------===//

def MossAssertToLLVM : Pass<"moss-assert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower cf.assert so that its message is always seen";
  let description = [{
    Upstream prints the message of a failed assertion with `puts` and aborts,
    which loses it unless standard output is a terminal. Here it is written to
    standard error, unbuffered, by the C library's `write`. Assertions in kernels
    are left alone.

    ```mlir
    cf.assert %ok, "extents differ"
    // becomes
    scf.if %failed {
      llvm.call @write(%stderr, %message, %length) : (i32, !llvm.ptr, i64) -> i64
      llvm.call @abort() : () -> ()
    }
    ```
  }];
  let options = [
    Option<"handler", "handler", "std::string", /*default=*/"",
           "Function to call with the message, which does not return, instead "
           "of writing it and aborting; mossFailAssertion of Moss's runtime "
           "makes the function that was called return an error">,
    Option<"comparisonHandler", "comparison-handler", "std::string",
           /*default=*/"",
           "Call this function with the message and both numbers instead where "
           "two integers are not equal; mossFailComparison of Moss's runtime">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-create-c-interface
//===----------------------------------------------------------------------===//

def MossCreateCInterface : Pass<"moss-create-c-interface", "::mlir::ModuleOp"> {
  let summary = "Give functions the C interface of a library";
  let description = [{
    Adds, for each function of the LLVM dialect that `moss-results-to-arguments`
    has prepared, the function that C programs call, and makes everything else
    internal to the library:

    ```c
    int32_t f(const void *x, int64_t x_size0, int64_t x_stride0, int64_t x_stride1,
              void *result, int64_t result_size0, int64_t result_stride0, int64_t result_stride1,
              void *stream);
    ```

    It puts its arguments into memref descriptors and calls `mossInvoke` of the
    runtime, which checks them, copies arrays that are not contiguous, and runs
    the function's `llvm.emit_c_interface` wrapper such that an error becomes a
    return code.

    - An array is a pointer, its extents that are not static, and a stride for
      each dimension, both in elements. It is in device memory, unless the
      function is marked `moss.host` or the target is a CPU.
    - A scalar is passed by value: FP8 as `uint8_t`, BF16 and F16 as `uint16_t`
      with the same bits. A scalar result is a pointer to host memory.
    - What a caller gives as `stream` has no meaning on a CPU.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "Machine that the module was lowered for: sm_90a or cpu">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// moss-request-c-wrappers
//===----------------------------------------------------------------------===//

def MossRequestCWrappers : Pass<"moss-request-c-wrappers", "::mlir::func::FuncOp"> {
  let summary = "Ask for a C wrapper of every public function with a body";
  let description = [{
    The function can then be called from C as `_mlir_ciface_<name>`, with a
    pointer to a descriptor for each memref. Upstream's llvm-request-c-wrappers
    marks declarations too, so that calls of a library function go to a wrapper
    of it, which the library may not have.

    ```mlir
    func.func @f(%x: memref<8xf32>) { ... }
    // becomes
    func.func @f(%x: memref<8xf32>) attributes {llvm.emit_c_interface} { ... }
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-results-to-arguments
//===----------------------------------------------------------------------===//

def MossResultsToArguments : Pass<"moss-results-to-arguments", "::mlir::ModuleOp"> {
  let summary = "Write results of public functions to memory of the caller";
  let description = [{
    A caller in C owns all memory. For each tensor result of a public function
    with a body, a memref argument is appended in which the result is
    materialized, and upstream's empty-tensor-elimination then computes directly
    in it. Tensor arguments are marked as not writable.

    ```mlir
    func.func @f(%x: tensor<?x8xf32>) -> tensor<?x8xf32> { ... return %r : tensor<?x8xf32> }
    // becomes
    func.func @f(%x: tensor<?x8xf32> {bufferization.writable = false}, %result: memref<?x8xf32>)
        attributes {moss.c_interface = {name = "f", source = "f", parameters = [
          {kind = "tensor", name = "x", type = "tensor<?x8xf32>"},
          {kind = "result", name = "result", type = "tensor<?x8xf32>"} ]}} {
      cf.assert %equal, "f: 'result' has another size in dimension 0 than what is computed"
      ...
      bufferization.materialize_in_destination %r in restrict writable %result
      return
    }
    ```

    - Extents of a result that are not static are compared with the caller's,
      before anything is computed if they follow from those of arguments.
      Otherwise, and where a function returns at several places, the result is
      computed in a buffer of its own, checked, and copied.
    - A tensor argument that is only a place to compute into is replaced by a
      new tensor.
    - A result marked `moss.updates = j` has no argument of its own. Argument j
      becomes a memref that may be written to, of kind `update`, and the result is
      materialized there after all others. Where bufferization computes it in
      place, nothing is copied; a result that may share memory with another such
      argument is copied first.
    - Other results stay results.
    - Calls inside the module go to a private copy of the function.
    - Names of parameters are those in `moss.argument_names`, as far as C allows.

    A function that C cannot call, by its name or the type of an argument or
    result, is an error.
  }];
  let options = [
    Option<"prefix", "prefix", "std::string", /*default=*/"",
           "What to put before the names of C functions">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // MOSS_TRANSFORMS_INTERFACEPASSES_TD
