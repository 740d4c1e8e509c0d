// moss.rescale inside and after the loop over K against its definition in
// mma-reference.py, to the bit, with scales of rows, columns and tensors.
//
// DEFINE: %{loops} = hoisted
// DEFINE: %{scales} = dense<[3.0e-3, 7.0]>
// DEFINE: %{rows} = 100, 50
// DEFINE: %{reference} = --scale=3.0e-3,7.0 --rows 100 50 --cols 100 50
// DEFINE: %{arithmetic} = emulate
// DEFINE: %{bits} = sed 's/LOOPS/%{loops}/g; s/SCALARS/%{scales}/g; s/ROWS/%{rows}/g' %s \
// DEFINE:   | cat - %S/../Inputs/gemm.mlir \
// DEFINE:   | moss-opt --moss-lower-to-cpu=arithmetic=%{arithmetic} \
// DEFINE:   | mlir-runner -e main -entry-point-result=void \
// DEFINE:       --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so
// DEFINE: %{run} = %{bits} > %t.bits \
// DEFINE:   && %python %S/../Inputs/mma-reference.py 33 9 136 --promote 128 %{reference} > %t.wanted \
// DEFINE:   && diff %t.wanted %t.bits
//
// RUN: %{run}
//
// Naive equals hoisted for powers of two.
// REDEFINE: %{scales} = dense<[0.125, 4.0]>
// REDEFINE: %{reference} = --scale=0.125,4.0 --rows 100 50 --cols 100 50
// RUN: %{run}
// REDEFINE: %{loops} = naive
// RUN: %{run}
//
// And in f32, where other sums than the matrix unit's are added.
// REDEFINE: %{arithmetic} = fp32
// RUN: %{bits} > %t.naive
// REDEFINE: %{loops} = hoisted
// RUN: %{bits} > %t.hoisted
// RUN: diff %t.naive %t.hoisted && not diff %t.bits %t.hoisted > /dev/null
//
// Codes 0 to 255: results that overflow, that are subnormal, and rows of NaN.
// REDEFINE: %{arithmetic} = emulate
// REDEFINE: %{loops} = hoisted
// REDEFINE: %{rows} = 0, 256
// REDEFINE: %{scales} = dense<[1.0e-42, -3.1e30]>
// REDEFINE: %{reference} = --scale=1.0e-42,-3.1e30 --rows 0 256 --cols 100 50
// RUN: %{run}
//
// Scalars alone, zero among them.
// REDEFINE: %{loops} = scalars
// REDEFINE: %{reference} = --scale=1.0e-42,-3.1e30
// RUN: %{run}
// REDEFINE: %{scales} = dense<[0.0, -3.1e38]>
// REDEFINE: %{reference} = --scale=0,-3.1e38
// RUN: %{run}

func.func private @product(%A: memref<?x?xf8E4M3FN>, %B: memref<?x?xf8E4M3FN>, %m: index, %n: index)
    -> vector<16x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f8E4M3FN
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  %K = memref.dim %A, %c1 : memref<?x?xf8E4M3FN>
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (vector<16x16xf32>) {
    %a = vector.transfer_read %A[%m, %k], %pad : memref<?x?xf8E4M3FN>, vector<16x128xf8E4M3FN>
    %b = vector.transfer_read %B[%n, %k], %pad : memref<?x?xf8E4M3FN>, vector<16x128xf8E4M3FN>
    %p = moss.mma %a, %b, %zero : vector<16x128xf8E4M3FN>, vector<16x128xf8E4M3FN>, vector<16x16xf32>
    %s = arith.addf %c, %p : vector<16x16xf32>
    scf.yield %s : vector<16x16xf32>
  }
  return %acc : vector<16x16xf32>
}

func.func @hoisted(%A: memref<?x?xf8E4M3FN>, %B: memref<?x?xf8E4M3FN>, %C: memref<?x?xf32>,
                   %rows: memref<?x1xf8E8M0FNU>, %cols: memref<?x1xf8E8M0FNU>, %s0: f32, %s1: f32) {
  %c0 = arith.constant 0 : index
  %M = memref.dim %A, %c0 : memref<?x?xf8E4M3FN>
  %N = memref.dim %B, %c0 : memref<?x?xf8E4M3FN>
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (16, 16) {
    %acc = func.call @product(%A, %B, %m, %n)
        : (memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>, index, index) -> vector<16x16xf32>
    %r = moss.load_scales %rows[%m, %c0] bound(%M) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<16x1xf8E8M0FNU>
    %c = moss.load_scales %cols[%n, %c0] bound(%N) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<1x16xf8E8M0FNU>
    %t = moss.rescale %acc rows(%r : vector<16x1xf8E8M0FNU>) cols(%c : vector<1x16xf8E8M0FNU>)
        by(%s0, %s1) : vector<16x16xf32>
    vector.transfer_write %t, %C[%m, %n] : vector<16x16xf32>, memref<?x?xf32>
  }
  return
}

func.func @scalars(%A: memref<?x?xf8E4M3FN>, %B: memref<?x?xf8E4M3FN>, %C: memref<?x?xf32>,
                   %rows: memref<?x1xf8E8M0FNU>, %cols: memref<?x1xf8E8M0FNU>, %s0: f32, %s1: f32) {
  %c0 = arith.constant 0 : index
  %M = memref.dim %A, %c0 : memref<?x?xf8E4M3FN>
  %N = memref.dim %B, %c0 : memref<?x?xf8E4M3FN>
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (16, 16) {
    %acc = func.call @product(%A, %B, %m, %n)
        : (memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>, index, index) -> vector<16x16xf32>
    %t = moss.rescale %acc by(%s0, %s1) : vector<16x16xf32>
    vector.transfer_write %t, %C[%m, %n] : vector<16x16xf32>, memref<?x?xf32>
  }
  return
}

func.func @naive(%A: memref<?x?xf8E4M3FN>, %B: memref<?x?xf8E4M3FN>, %C: memref<?x?xf32>,
                 %rows: memref<?x1xf8E8M0FNU>, %cols: memref<?x1xf8E8M0FNU>, %s0: f32, %s1: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f8E4M3FN
  %zero = arith.constant dense<0.0> : vector<32x8xf32>
  %M = memref.dim %A, %c0 : memref<?x?xf8E4M3FN>
  %K = memref.dim %A, %c1 : memref<?x?xf8E4M3FN>
  %N = memref.dim %B, %c0 : memref<?x?xf8E4M3FN>
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (32, 8) {
    %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (vector<32x8xf32>) {
      %r = moss.load_scales %rows[%m, %k] bound(%M) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<32x1xf8E8M0FNU>
      %l = moss.load_scales %cols[%n, %k] bound(%N) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<1x8xf8E8M0FNU>
      %a = vector.transfer_read %A[%m, %k], %pad : memref<?x?xf8E4M3FN>, vector<32x128xf8E4M3FN>
      %b = vector.transfer_read %B[%n, %k], %pad : memref<?x?xf8E4M3FN>, vector<8x128xf8E4M3FN>
      %p = moss.mma %a, %b, %zero : vector<32x128xf8E4M3FN>, vector<8x128xf8E4M3FN>, vector<32x8xf32>
      %t = moss.rescale %p rows(%r : vector<32x1xf8E8M0FNU>) cols(%l : vector<1x8xf8E8M0FNU>)
          by(%s0, %s1) : vector<32x8xf32>
      %s = arith.addf %c, %t : vector<32x8xf32>
      scf.yield %s : vector<32x8xf32>
    }
    vector.transfer_write %acc, %C[%m, %n] : vector<32x8xf32>, memref<?x?xf32>
  }
  return
}

// E8M0 codes low + hash(position + seed) % count.
func.func private @scale_codes(%size: index, %seed: index, %range: vector<2xi32>) -> memref<?x1xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %multiplier = arith.constant 2654435761 : i32
  %shift = arith.constant 13 : i32
  %low = vector.extract %range[0] : i32 from vector<2xi32>
  %count = vector.extract %range[1] : i32 from vector<2xi32>
  %codes = memref.alloc(%size) : memref<?x1xf8E8M0FNU>
  scf.for %i = %c0 to %size step %c1 {
    %position = arith.addi %i, %seed : index
    %i32 = arith.index_cast %position : index to i32
    %product = arith.muli %i32, %multiplier : i32
    %hash = arith.shrui %product, %shift : i32
    %offset = arith.remui %hash, %count : i32
    %code = arith.addi %offset, %low : i32
    %byte = arith.trunci %code : i32 to i8
    %scale = arith.bitcast %byte : i8 to f8E8M0FNU
    memref.store %scale, %codes[%i, %c0] : memref<?x1xf8E8M0FNU>
  }
  return %codes : memref<?x1xf8E8M0FNU>
}

// NaNs that pass through scales have other bits than those of the reference.
func.func private @canonicalize_nans(%c: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bits = arith.constant 0x7fffffff : i32
  %nan = arith.bitcast %bits : i32 to f32
  %m = memref.dim %c, %c0 : memref<?x?xf32>
  %n = memref.dim %c, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %value = memref.load %c[%i, %j] : memref<?x?xf32>
      %is_nan = arith.cmpf uno, %value, %value : f32
      %canonical = arith.select %is_nan, %nan, %value : f32
      memref.store %canonical, %c[%i, %j] : memref<?x?xf32>
    }
  }
  return
}

func.func @main() {
  %M = arith.constant 33 : index
  %N = arith.constant 9 : index
  %K = arith.constant 136 : index
  %c0 = arith.constant 0 : index
  %first = arith.constant 127 : i8
  %seedB = arith.constant 100000 : index
  %bytesA = call @codes(%M, %K, %c0, %first) : (index, index, index, i8) -> memref<?xi8>
  %bytesB = call @codes(%N, %K, %seedB, %first) : (index, index, index, i8) -> memref<?xi8>
  %A = memref.view %bytesA[%c0][%M, %K] : memref<?xi8> to memref<?x?xf8E4M3FN>
  %B = memref.view %bytesB[%c0][%N, %K] : memref<?xi8> to memref<?x?xf8E4M3FN>
  %C = memref.alloc(%M, %N) : memref<?x?xf32>
  %seedRows = arith.constant 11 : index
  %seedCols = arith.constant 13 : index
  %rangeRows = arith.constant dense<[ROWS]> : vector<2xi32>
  %rangeCols = arith.constant dense<[100, 50]> : vector<2xi32>
  %rows = call @scale_codes(%M, %seedRows, %rangeRows) : (index, index, vector<2xi32>) -> memref<?x1xf8E8M0FNU>
  %cols = call @scale_codes(%N, %seedCols, %rangeCols) : (index, index, vector<2xi32>) -> memref<?x1xf8E8M0FNU>
  %scalars = arith.constant SCALARS : vector<2xf32>
  %s0 = vector.extract %scalars[0] : f32 from vector<2xf32>
  %s1 = vector.extract %scalars[1] : f32 from vector<2xf32>
  call @LOOPS(%A, %B, %C, %rows, %cols, %s0, %s1)
      : (memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>, memref<?x?xf32>,
         memref<?x1xf8E8M0FNU>, memref<?x1xf8E8M0FNU>, f32, f32) -> ()
  call @canonicalize_nans(%C) : (memref<?x?xf32>) -> ()
  call @print_bits(%C) : (memref<?x?xf32>) -> ()
  return
}
