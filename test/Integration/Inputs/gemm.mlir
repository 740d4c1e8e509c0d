// What the tests of executed matmuls share: inputs that mma-reference.py
// computes too, and the printing of results.

// FP8 codes of a rows x columns matrix, hashes of position and seed. Codes whose
// magnitude is at least `first` (the format's first NaN or infinity) become 0.
func.func private @codes(%rows: index, %columns: index, %seed: index, %first: i8)
    -> memref<?xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %multiplier = arith.constant 2654435761 : i32
  %shift = arith.constant 13 : i32
  %mask = arith.constant 127 : i8
  %zero = arith.constant 0 : i8
  %size = arith.muli %rows, %columns : index
  %bytes = memref.alloc(%size) : memref<?xi8>
  scf.for %i = %c0 to %size step %c1 {
    %position = arith.addi %i, %seed : index
    %i32 = arith.index_cast %position : index to i32
    %product = arith.muli %i32, %multiplier : i32
    %high = arith.shrui %product, %shift : i32
    %byte = arith.trunci %high : i32 to i8
    %magnitude = arith.andi %byte, %mask : i8
    %special = arith.cmpi uge, %magnitude, %first : i8
    %kept = arith.select %special, %zero, %byte : i8
    memref.store %kept, %bytes[%i] : memref<?xi8>
  }
  return %bytes : memref<?xi8>
}

// Print the bits of every element, a line each.
func.func private @print_bits(%c: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %c, %c0 : memref<?x?xf32>
  %n = memref.dim %c, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %m step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %value = memref.load %c[%i, %j] : memref<?x?xf32>
      %bits = arith.bitcast %value : f32 to i32
      vector.print %bits : i32
    }
  }
  return
}
