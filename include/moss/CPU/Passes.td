//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_CPU_PASSES_TD
#define MOSS_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// moss-bf16-to-bits
//===----------------------------------------------------------------------===//

def MossBF16ToBits : Pass<"moss-bf16-to-bits", "::mlir::ModuleOp"> {
  let summary = "Move bf16 values as 16-bit integers";
  let description = [{
    Once bf16 arithmetic is expanded to f32, bf16 values are only moved. LLVM
    still converts some moves (selects, masked stores) through f32 on CPUs
    without bf16 instructions, by a library function that older runtime
    libraries lack and that quiets NaNs. As integers they are just moved. Exact
    extensions to f64, which the expansion leaves, go through f32; any other
    bf16 operation that is left is an error.

    ```mlir
    %1 = llvm.select %c, %a, %b : vector<32xi1>, vector<32xbf16>
    // becomes
    %1 = llvm.select %c, %a, %b : vector<32xi1>, vector<32xi16>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-expand-fp8
//===----------------------------------------------------------------------===//

def MossExpandFp8 : Pass<"moss-expand-fp8"> {
  let summary = "Expand conversions of FP8 types into integer arithmetic";
  let description = [{
    Replaces `arith.extf` from f8E4M3FN, f8E5M2 and f8E8M0FNU, and `arith.truncf`
    to f8E4M3FN and f8E5M2, on scalars and vectors. The conversion to LLVM knows
    FP8 types as bytes only, and leaves their arithmetic behind.

    Values are those of APFloat: round to nearest even, subnormals kept,
    overflow to NaN (f8E4M3FN) or infinity (f8E5M2). A NaN result of `truncf` is
    0x7f, without the sign. Not handled, and left to `moss-verify-lowered`:
    other rounding modes, `truncf` from f64 (it would round twice) and to
    f8E8M0FNU.

    ```mlir
    %f = arith.extf %x : vector<4xf8E8M0FNU> to vector<4xf32>
    ```

    becomes

    ```mlir
    %i8 = arith.bitcast %x : vector<4xf8E8M0FNU> to vector<4xi8>
    %i32 = arith.extui %i8 : vector<4xi8> to vector<4xi32>
    %normal = arith.shli %i32, %c23 : vector<4xi32>
    ...
    %f = arith.bitcast %bits : vector<4xi32> to vector<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// moss-forall-to-for
//===----------------------------------------------------------------------===//

def MossForallToFor : Pass<"moss-forall-to-for"> {
  let summary = "Run the iterations of scf.forall one after another";
  let description = [{
    Replaces each `scf.forall` on memrefs by nested `scf.for`. Upstream's
    scf-forall-to-for does the same, but crashes on a loop that yields tensors,
    which is an error here.

    ```mlir
    scf.forall (%m, %n) = (0, 0) to (%M, %N) step (32, 32) { ... }
    // becomes
    scf.for %m = %c0 to %M step %c32 {
      scf.for %n = %c0 to %N step %c32 { ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-hoist-allocas
//===----------------------------------------------------------------------===//

def MossHoistAllocas : Pass<"moss-hoist-allocas"> {
  let summary = "Move stack memory of fixed size to the function's entry";
  let description = [{
    The lowering of vector transfers allocates stack memory inside loops. It is
    freed at the end of an iteration as long as there are loops, but not once
    they are branches, and the stack overflows. Memory of fixed size moves to
    the entry of the function; what stands in a `memref.alloca_scope` stays.

    Upstream's `buffer-loop-hoisting` also moves heap allocations, and leaves
    their deallocations in the loop.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %m = memref.alloca() : memref<vector<4x8xf32>>
    }
    ```

    becomes

    ```mlir
    %m = memref.alloca() : memref<vector<4x8xf32>>
    scf.for %i = %c0 to %n step %c1 {
    }
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-load-scales-to-loops
//===----------------------------------------------------------------------===//

def MossLoadScalesToLoops : Pass<"moss-load-scales-to-loops"> {
  let summary = "Lower moss.load_scales to loops of scalar loads";
  let description = [{
    Positions at or past the bound read nothing and yield 1, so that ragged
    tiles never read past the scales.

    ```mlir
    %e = moss.load_scales %s[%m, %k] bound(%M) group [1, 0]
        : memref<?x1xf8E8M0FNU> -> vector<32x1xf8E8M0FNU>
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %c32 step %c1 {
      %p = arith.addi %m, %i : index
      %in = arith.cmpi ult, %p, %M : index
      %v = scf.if %in -> f8E8M0FNU { ... memref.load %s[%p, %c0] ... }
      memref.store %v, %scratch[%i, %c0] : memref<32x1xf8E8M0FNU>
    }
    %e = vector.transfer_read %scratch[%c0, %c0], %one
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-mma-to-loops
//===----------------------------------------------------------------------===//

def MossMmaToLoops : Pass<"moss-mma-to-loops"> {
  let summary = "Lower moss.mma to loops for a CPU";
  let description = [{
    Operand tiles go to scratch memory of the function (on its stack, or on the
    heap when they are large), where they are decoded once; then loops over rows
    and columns multiply vectors of one step of the matrix unit along K, 32
    elements of FP8 or 16 of bf16. `arithmetic` chooses how products are summed:

    - `fp32`: in f32, in a fixed order.
    - `emulate`: to the bit as the matrix unit of Hopper does. In each step, the
      products and the accumulator are aligned to the largest exponent among
      them (a product's is the sum of its operands' exponents; zeros have none),
      but at least -133, truncated toward zero at 13 fraction bits (bf16: 25), and added exactly;
      the normalized sum is truncated toward zero to 13 fraction bits (bf16: 23,
      and at 2^-149). A NaN, an infinity times zero, or infinities of both signs
      give NaN 0x7fffffff. A sum of zero is +0, and one of bf16 products that
      exceeds f32 an infinity.

    ```mlir
    %d = moss.mma %a, %b, %c : vector<32x128xf8E4M3FN>, vector<32x128xf8E4M3FN>, vector<32x32xf32>
    ```

    becomes

    ```mlir
    vector.transfer_write %c, %acc[%c0, %c0]
    ... decode %a and %b ...
    scf.for %m = %c0 to %c32 step %c1 {
      scf.for %n = %c0 to %c32 step %c1 {
        ... %acc[%m, %n] += row %m of %a times row %n of %b ...
      }
    }
    %d = vector.transfer_read %acc[%c0, %c0], %zero
    ```
  }];
  let options = [
    Option<"arithmetic", "arithmetic", "MmaArithmetic",
           "MmaArithmetic::Fp32", "How products are summed",
           [{::llvm::cl::values(
              clEnumValN(MmaArithmetic::Fp32, "fp32", "In f32"),
              clEnumValN(MmaArithmetic::Emulate, "emulate",
                         "To the bit as the target's matrix unit does"))}]>
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-tiles-to-rows
//===----------------------------------------------------------------------===//

def MossTilesToRows : Pass<"moss-tiles-to-rows"> {
  let summary = "Lower two-dimensional vectors to loops over their rows";
  let description = [{
    A two-dimensional vector becomes an array of registers in LLVM, and every op
    on it is unrolled: a 128 x 256 tile makes the compiler take minutes. This
    pass gives each such value a buffer (on the stack of the function, or on the
    heap when it is large), and makes each op on it a loop over rows of the
    buffer, so that the size of the code does not depend on the size of the
    tiles.

    Handled are elementwise ops, splat constants, broadcasts, transfers with an
    identity map and without mask, and loops that carry tiles. Other ops keep
    their vectors, which are read from and written to the buffers.

    ```mlir
    %s = arith.addf %c, %p : vector<32x32xf32>
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %c32 step %c1 {
      %0 = vector.load %cb[%i, %c0] : memref<32x32xf32>, vector<32xf32>
      %1 = vector.load %pb[%i, %c0] : memref<32x32xf32>, vector<32xf32>
      %2 = arith.addf %0, %1 : vector<32xf32>
      vector.store %2, %sb[%i, %c0] : memref<32x32xf32>, vector<32xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // MOSS_CPU_PASSES_TD
