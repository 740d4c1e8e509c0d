// RUN: moss-opt %s --moss-results-to-arguments --split-input-file --verify-diagnostics
// RUN: not moss-opt %s --moss-results-to-arguments=prefix=my- --split-input-file 2>&1 | FileCheck %s

// CHECK: 'my-main' cannot be the name of a C function: it is not an identifier of C

// expected-error@+1 {{'main' cannot be the name of a C function: it is where a program begins; rename the function, make it private, or compile with a prefix, as --prefix=moss_}}
func.func @main() {
  return
}

// -----

// expected-error@+1 {{'a.b' cannot be the name of a C function: it is not an identifier of C}}
func.func @a.b() {
  return
}

// -----

// expected-error@+1 {{'double' cannot be the name of a C function: it is a keyword of C or C++}}
func.func @double() {
  return
}

// -----

// expected-error@+1 {{'exp' cannot be the name of a C function: it is a function of the C library}}
func.func @exp() {
  return
}

// -----

// expected-error@+1 {{'_F' cannot be the name of a C function: it is reserved for implementations of C and C++}}
func.func @_F() {
  return
}

// -----

// expected-error@+1 {{'mossInvoke' cannot be the name of a C function: it is reserved for the runtime of Moss}}
func.func @mossInvoke() {
  return
}

// -----

// expected-error@+1 {{argument 0 of 'unranked' is a 'tensor<*xf32>', which has no counterpart in C; ranked tensors and contiguous memrefs of floats, signless integers and index do, and such values themselves; or make the function private}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error@+1 {{argument 1 of 'strided' is a 'memref<4xf32, strided<[2]>>', which has no counterpart in C}}
func.func @strided(%x: f32, %y: memref<4xf32, strided<[2]>>) {
  return
}

// -----

// expected-error@+1 {{argument 0 of 'complex_result' is a 'complex<f32>', which has no counterpart in C}}
func.func @complex_result(%x: complex<f32>) -> complex<f32> {
  return %x : complex<f32>
}

// -----

// expected-error@+1 {{result 0 of 'owner' is a 'memref<4xf32>', whose owner C cannot know; return a tensor, or take the memref as an argument}}
func.func @owner() -> memref<4xf32> {
  %m = memref.alloc() : memref<4xf32>
  return %m : memref<4xf32>
}

// -----

// expected-error@+1 {{'MossStatus' cannot be the name of a C function: it has another meaning in headers of C or of Moss}}
func.func @MossStatus() {
  return
}

// -----

// expected-error@+1 {{'uint8_t' cannot be the name of a C function: it has another meaning in headers of C or of Moss}}
func.func @uint8_t() {
  return
}

// -----

// expected-error@+1 {{'_init' cannot be the name of a C function: it is a function of the C library}}
func.func @_init() {
  return
}

// -----

module {
  // expected-error@+1 {{a module inside another has no C interface; move its functions to the outer one}}
  module {
    func.func @f() {
      return
    }
  }
}

// -----

// expected-error @+1 {{result 0 has another type than argument 0, which it is marked to update}}
func.func @update(%x: tensor<8xf32>) -> (tensor<8xbf16> {moss.updates = 0}) {
  %y = arith.truncf %x : tensor<8xf32> to tensor<8xbf16>
  return %y : tensor<8xbf16>
}

// -----

// expected-error @+1 {{result 0 is marked to update argument 0, but is not a tensor of known rank}}
func.func @scalar(%n: i64) -> (i64 {moss.updates = 0}) {
  return %n : i64
}
