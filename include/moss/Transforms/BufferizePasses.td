//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Preparation for bufferization, and what follows it.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_BUFFERIZEPASSES_TD
#define MOSS_TRANSFORMS_BUFFERIZEPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// moss-arrange-scales
//===----------------------------------------------------------------------===//

def MossArrangeScales : Pass<"moss-arrange-scales"> {
  let summary = "Lay out micro scales along K as the copy engine wants them";
  let description = [{
    A step along K of a product needs the micro scales of a tile's rows, if they
    change along K. Hopper's copy engine brings them into shared memory together with
    the operand, 16 bytes at least, from rows that begin at multiples of 16 bytes.
    So of groups of 1 x k, those of neighboring rows must be adjacent, and each group
    along K begin at such a multiple; of groups of several rows, which a tile takes
    one of, those of neighboring groups along K are adjacent, as they are by default.

    Buffers of such scales that `moss.quantize` writes and `moss.scaled_matmul`
    reads (on memrefs), and nothing else does, are allocated that way. Others that
    are not known to be laid out so, as a function's arguments, are copied, with a
    missed remark. Arguments of type `memref<MxGxf32, strided<[1, M]>>`, where M is
    a multiple of 4 (16 for f8E8M0FNU), are taken as they are: this is how cuBLASLt
    and DeepGEMM want scales of rows, too.

    ```mlir
    %micro = memref.alloc() : memref<100x32xf8E8M0FNU>
    moss.quantize #groups ins(%x : ...) payload(%p : ...) micro(%micro : memref<100x32xf8E8M0FNU>)
    moss.scaled_matmul ... lhs(#groups, %p : ...) micro(%micro : memref<100x32xf8E8M0FNU>) ...
    // becomes
    %buffer = memref.alloc() : memref<32x112xf8E8M0FNU>
    %view = memref.subview %buffer[0, 0] [32, 100] [1, 1] : ...
    %micro = memref.transpose %view (d0, d1) -> (d1, d0) : ...
    moss.quantize #groups ins(%x : ...) payload(%p : ...) micro(%micro : memref<100x32xf8E8M0FNU, strided<[1, 112]>>)
    moss.scaled_matmul ... lhs(#groups, %p : ...) micro(%micro : memref<100x32xf8E8M0FNU, strided<[1, 112]>>) ...
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-drop-returned-arguments
//===----------------------------------------------------------------------===//

def MossDropReturnedArguments : Pass<"moss-drop-returned-arguments", "::mlir::ModuleOp"> {
  let summary = "Drop results of functions that are their memref arguments";
  let description = [{
    After bufferization a function that computes in place returns the buffer it
    was given. The caller has it already, and the deallocation passes would copy
    it, so that the caller may own the result. Upstream's
    drop-equivalent-buffer-results leaves public functions alone, which are
    those that Moss's users call. What functions say of such arguments
    (`moss.updates`, `moss.initial`, `moss.rows`) is dropped, too.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) -> memref<8xf32> { ... return %y : memref<8xf32> }
    // becomes
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) { ... return }
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-elementwise-to-linalg
//===----------------------------------------------------------------------===//

def MossElementwiseToLinalg : Pass<"moss-elementwise-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower elementwise ops on tensors to linalg";
  let description = [{
    As upstream's convert-elementwise-to-linalg, but for `arith.select` with one
    condition for whole tensors. Upstream makes of it a loop over the elements
    of both, as if they had one shape. That need not be so: canonicalization makes
    such an op of an `scf.if` that yields one of two tensors. It stays, and
    bufferization takes one of two buffers.

    ```mlir
    %0 = arith.addf %a, %b : tensor<?xf32>                 // becomes a linalg.generic
    %1 = arith.select %p, %a, %b : tensor<?xf32>           // stays
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-pad-operands
//===----------------------------------------------------------------------===//

def MossPadOperands : Pass<"moss-pad-operands"> {
  let summary = "Copy payloads whose rows the copy engine cannot reach";
  let description = [{
    Hopper's copy engine reads rows that begin at multiples of 16 bytes. A payload
    of `moss.scaled_matmul` (on memrefs) that is not known to have such rows is
    copied into a buffer that has, with a missed remark. `moss-quantize` makes
    payloads that need no copy, so this is for payloads from elsewhere, and for
    bf16 operands, which are multiplied where they are.

    ```mlir
    moss.scaled_matmul ... lhs(#s, %a : memref<8x40xf8E4M3FN>) ...
    // becomes
    %buffer = memref.alloc() : memref<8x48xf8E4M3FN>
    %view = memref.subview %buffer[0, 0] [8, 40] [1, 1] : ...
    linalg.copy ins(%a : memref<8x40xf8E4M3FN>) outs(%view : memref<8x40xf8E4M3FN, strided<[48, 1]>>)
    moss.scaled_matmul ... lhs(#s, %view : memref<8x40xf8E4M3FN, strided<[48, 1]>>) ...
    memref.dealloc %buffer : memref<8x48xf8E4M3FN>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-separate-empty-tensors
//===----------------------------------------------------------------------===//

def MossSeparateEmptyTensors : Pass<"moss-separate-empty-tensors", "::mlir::func::FuncOp"> {
  let summary = "Give each use of a tensor.empty its own";
  let description = [{
    CSE merges every `tensor.empty` of one type. One-shot bufferization then
    takes all results that are written to it for possible aliases, which it
    compares by pairs, for each write again: with 1,000 matmuls in a function,
    it takes minutes. Run after the last CSE on tensors.

    ```mlir
    %e = tensor.empty() : tensor<8x8xf32>
    %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = linalg.fill ins(%one : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    // becomes
    %e0 = tensor.empty() : tensor<8x8xf32>
    %e1 = tensor.empty() : tensor<8x8xf32>
    %0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = linalg.fill ins(%one : f32) outs(%e1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-split-deallocs
//===----------------------------------------------------------------------===//

def MossSplitDeallocs : Pass<"moss-split-deallocs", "::mlir::func::FuncOp"> {
  let summary = "Free buffers apart that nothing else can refer to";
  let description = [{
    At the end of a block, upstream's ownership-based deallocation puts one
    `bufferization.dealloc` with all of its buffers. Its simplification compares
    them by pairs, over and over, which takes a minute for a few thousand. This
    pass looks at each allocation once: if it is freed in any case, and no other
    operand can be a view of it, it is freed on its own. If it is returned, and
    so kept, it is dropped. Run it between the two.

    ```mlir
    bufferization.dealloc (%a, %b, %view, %r : ...) if (%true, %true, %p, %true) retain (%r : ...)
    // becomes, for allocations %a, %b and %r, and a view of %b
    memref.dealloc %a : memref<8xf32>
    bufferization.dealloc (%b, %view : ...) if (%true, %p)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // MOSS_TRANSFORMS_BUFFERIZEPASSES_TD
