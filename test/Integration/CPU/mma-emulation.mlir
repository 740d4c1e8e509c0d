// The emulated matrix unit against exact integer arithmetic, to the bit:
// ragged shapes, every mix of formats, promoted and fast accumulation, NaNs and
// infinities. NaNs too must have the bits of the matrix unit.
//
// DEFINE: %{lhs} = f8E4M3FN
// DEFINE: %{rhs} = f8E4M3FN
// DEFINE: %{loops} = promoted
// DEFINE: %{first} = 127, 127
// DEFINE: %{bytes} = 1
// DEFINE: %{reference} = 33 9 136 --promote 128
// DEFINE: %{run} = sed 's/LHS/%{lhs}/g; s/RHS/%{rhs}/g; s/LOOPS/%{loops}/g; s/FIRST/%{first}/g; s/BYTES/%{bytes}/g' %s \
// DEFINE:   | cat - %S/../Inputs/gemm.mlir \
// DEFINE:   | moss-opt --moss-lower-to-cpu=arithmetic=emulate \
// DEFINE:   | mlir-runner -e main -entry-point-result=void \
// DEFINE:       --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so > %t.bits \
// DEFINE:   && %python %S/../Inputs/mma-reference.py %{reference} > %t.wanted \
// DEFINE:   && diff %t.wanted %t.bits
//
// RUN: %{run}
// REDEFINE: %{lhs} = f8E5M2
// REDEFINE: %{first} = 124, 127
// REDEFINE: %{reference} = 33 9 136 --promote 128 --lhs e5m2
// RUN: %{run}
// REDEFINE: %{lhs} = f8E4M3FN
// REDEFINE: %{rhs} = f8E5M2
// REDEFINE: %{first} = 127, 124
// REDEFINE: %{loops} = fast
// REDEFINE: %{reference} = 33 9 136 --rhs e5m2
// RUN: %{run}
// REDEFINE: %{lhs} = f8E5M2
// REDEFINE: %{first} = 124, 124
// REDEFINE: %{reference} = 33 9 136 --lhs e5m2 --rhs e5m2
// RUN: %{run}
//
// With specials: codes past 127 do not exist, so that none is cleared.
// REDEFINE: %{first} = -1, -1
// REDEFINE: %{reference} = 33 9 136 --lhs e5m2 --rhs e5m2 --specials
// RUN: %{run}
// REDEFINE: %{lhs} = f8E4M3FN
// REDEFINE: %{rhs} = f8E4M3FN
// REDEFINE: %{reference} = 33 9 136 --specials
// RUN: %{run}
//
// BF16: exponents of the whole range, so that sums are subnormal or overflow.
// REDEFINE: %{lhs} = bf16
// REDEFINE: %{rhs} = bf16
// REDEFINE: %{bytes} = 2
// REDEFINE: %{reference} = 33 9 136 --lhs bf16 --rhs bf16 --specials
// RUN: %{run}
// REDEFINE: %{first} = 127, 127
// REDEFINE: %{reference} = 33 9 136 --lhs bf16 --rhs bf16
// RUN: %{run}
// REDEFINE: %{loops} = promoted
// REDEFINE: %{reference} = 33 9 136 --lhs bf16 --rhs bf16 --promote 128
// RUN: %{run}

func.func @promoted(%A: memref<?x?xLHS>, %B: memref<?x?xRHS>, %C: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %padA = arith.constant 0.0 : LHS
  %padB = arith.constant 0.0 : RHS
  %zero = arith.constant dense<0.0> : vector<32x32xf32>
  %M = memref.dim %A, %c0 : memref<?x?xLHS>
  %K = memref.dim %A, %c1 : memref<?x?xLHS>
  %N = memref.dim %B, %c0 : memref<?x?xRHS>
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (32, 32) {
    %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (vector<32x32xf32>) {
      %a = vector.transfer_read %A[%m, %k], %padA : memref<?x?xLHS>, vector<32x128xLHS>
      %b = vector.transfer_read %B[%n, %k], %padB : memref<?x?xRHS>, vector<32x128xRHS>
      %p = moss.mma %a, %b, %zero : vector<32x128xLHS>, vector<32x128xRHS>, vector<32x32xf32>
      %s = arith.addf %c, %p : vector<32x32xf32>
      scf.yield %s : vector<32x32xf32>
    }
    vector.transfer_write %acc, %C[%m, %n] : vector<32x32xf32>, memref<?x?xf32>
  }
  return
}

func.func @fast(%A: memref<?x?xLHS>, %B: memref<?x?xRHS>, %C: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %padA = arith.constant 0.0 : LHS
  %padB = arith.constant 0.0 : RHS
  %zero = arith.constant dense<0.0> : vector<16x8xf32>
  %M = memref.dim %A, %c0 : memref<?x?xLHS>
  %K = memref.dim %A, %c1 : memref<?x?xLHS>
  %N = memref.dim %B, %c0 : memref<?x?xRHS>
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (16, 8) {
    %acc = scf.for %k = %c0 to %K step %c64 iter_args(%c = %zero) -> (vector<16x8xf32>) {
      %a = vector.transfer_read %A[%m, %k], %padA : memref<?x?xLHS>, vector<16x64xLHS>
      %b = vector.transfer_read %B[%n, %k], %padB : memref<?x?xRHS>, vector<8x64xRHS>
      %s = moss.mma %a, %b, %c : vector<16x64xLHS>, vector<8x64xRHS>, vector<16x8xf32>
      scf.yield %s : vector<16x8xf32>
    }
    vector.transfer_write %acc, %C[%m, %n] : vector<16x8xf32>, memref<?x?xf32>
  }
  return
}

func.func @main() {
  %M = arith.constant 33 : index
  %N = arith.constant 9 : index
  %K = arith.constant 136 : index
  %c0 = arith.constant 0 : index
  %firsts = arith.constant dense<[FIRST]> : vector<2xi8>
  %firstA = vector.extract %firsts[0] : i8 from vector<2xi8>
  %firstB = vector.extract %firsts[1] : i8 from vector<2xi8>
  %width = arith.constant BYTES : index
  %rowBytes = arith.muli %K, %width : index
  %bytesA = call @codes(%M, %rowBytes, %c0, %firstA) : (index, index, index, i8) -> memref<?xi8>
  %seedB = arith.constant 100000 : index
  %bytesB = call @codes(%N, %rowBytes, %seedB, %firstB) : (index, index, index, i8) -> memref<?xi8>
  %A = memref.view %bytesA[%c0][%M, %K] : memref<?xi8> to memref<?x?xLHS>
  %B = memref.view %bytesB[%c0][%N, %K] : memref<?xi8> to memref<?x?xRHS>
  %C = memref.alloc(%M, %N) : memref<?x?xf32>
  call @LOOPS(%A, %B, %C) : (memref<?x?xLHS>, memref<?x?xRHS>, memref<?x?xf32>) -> ()
  call @print_bits(%C) : (memref<?x?xf32>) -> ()
  memref.dealloc %bytesA : memref<?xi8>
  memref.dealloc %bytesB : memref<?xi8>
  memref.dealloc %C : memref<?x?xf32>
  return
}
