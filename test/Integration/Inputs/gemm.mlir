// Level 2 loops over tiles of 32 x 32 x 128, and what the tests around them
// share: inputs that mma-reference.py computes too, and the printing of results.

// Byte i is a hash of i and the seed.
func.func private @fill(%bytes: memref<?xi8>, %seed: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %multiplier = arith.constant 2654435761 : i32
  %c13 = arith.constant 13 : i32
  %size = memref.dim %bytes, %c0 : memref<?xi8>
  scf.for %i = %c0 to %size step %c1 {
    %i32 = arith.index_cast %i : index to i32
    %sum = arith.addi %i32, %seed : i32
    %product = arith.muli %sum, %multiplier : i32
    %high = arith.shrui %product, %c13 : i32
    %byte = arith.trunci %high : i32 to i8
    memref.store %byte, %bytes[%i] : memref<?xi8>
  }
  return
}

// Replace the codes from `%first` on (NaN and infinities) by zeros.
func.func private @clear_specials(%bytes: memref<?xi8>, %first: i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i8
  %mask = arith.constant 127 : i8
  %size = memref.dim %bytes, %c0 : memref<?xi8>
  scf.for %i = %c0 to %size step %c1 {
    %byte = memref.load %bytes[%i] : memref<?xi8>
    %magnitude = arith.andi %byte, %mask : i8
    %special = arith.cmpi uge, %magnitude, %first : i8
    %kept = arith.select %special, %zero, %byte : i8
    memref.store %kept, %bytes[%i] : memref<?xi8>
  }
  return
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
