// Every FP8 conversion against APFloat: f32 to FP8 for each BF16 pattern with
// low bits that make and break ties, BF16 to FP8 in vectors, and every FP8 code
// to f32. NaNs compare as NaNs; the count of inputs shows that all were seen.
//
// RUN: moss-opt %s --moss-lower-to-cpu \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_apfloat_wrappers.so \
// RUN: | FileCheck %s

// Semantics are numbered as in llvm::APFloatBase: 2 is f32, 7 f8E5M2, 10
// f8E4M3FN, 15 f8E8M0FNU.
func.func private @_mlir_apfloat_convert(i32, i32, i64) -> i64

func.func private @reference(%from: i32, %to: i32, %bits: i32) -> i32 {
  %wide = arith.extui %bits : i32 to i64
  %result = call @_mlir_apfloat_convert(%from, %to, %wide) : (i32, i32, i64) -> i64
  %narrow = arith.trunci %result : i64 to i32
  return %narrow : i32
}

// 1 when two codes differ and are not both NaN, whose magnitudes begin at %nan.
func.func private @differ(%a: i32, %b: i32, %mask: i32, %nan: i32) -> i32 {
  %ma = arith.andi %a, %mask : i32
  %mb = arith.andi %b, %mask : i32
  %nanA = arith.cmpi uge, %ma, %nan : i32
  %nanB = arith.cmpi uge, %mb, %nan : i32
  %bothNaN = arith.andi %nanA, %nanB : i1
  %distinct = arith.cmpi ne, %a, %b : i32
  %true = arith.constant true
  %notBoth = arith.xori %bothNaN, %true : i1
  %bad = arith.andi %distinct, %notBoth : i1
  %count = arith.extui %bad : i1 to i32
  return %count : i32
}

func.func private @report(%inputs: i32, %mismatches: i32) {
  vector.print %inputs : i32
  vector.print %mismatches : i32
  return
}

func.func @truncate_f8E4M3FN() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c65536 = arith.constant 65536 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 10 : i32
  %mask = arith.constant 127 : i32
  %nan = arith.constant 127 : i32
  %lows = arith.constant dense<[0, 1, 32768, 65535]> : vector<4xi32>
  %count:2 = scf.for %i = %c0 to %c65536 step %c1
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %i32 = arith.index_cast %i : index to i32
    %high = arith.shli %i32, %c16 : i32
    %inner:2 = scf.for %j = %c0 to %c4 step %c1
        iter_args(%n1 = %n, %bad1 = %bad) -> (i32, i32) {
      %low = vector.extract %lows[%j] : i32 from vector<4xi32>
      %bits = arith.ori %high, %low : i32
      %value = arith.bitcast %bits : i32 to f32
      %narrow = arith.truncf %value : f32 to f8E4M3FN
      %byte = arith.bitcast %narrow : f8E4M3FN to i8
      %code = arith.extui %byte : i8 to i32
      %wanted = func.call @reference(%f32, %fp8, %bits) : (i32, i32, i32) -> i32
      %d = func.call @differ(%code, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
      %n2 = arith.addi %n1, %c1_i32 : i32
      %bad2 = arith.addi %bad1, %d : i32
      scf.yield %n2, %bad2 : i32, i32
    }
    scf.yield %inner#0, %inner#1 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

func.func @truncate_bf16_f8E4M3FN() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c65536 = arith.constant 65536 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c16_i32 = arith.constant 16 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 10 : i32
  %mask = arith.constant 127 : i32
  %nan = arith.constant 127 : i32
  %steps = vector.step : vector<16xindex>
  %lanes = arith.index_cast %steps : vector<16xindex> to vector<16xi16>
  %count:2 = scf.for %i = %c0 to %c65536 step %c16
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %i16 = arith.index_cast %i : index to i16
    %base = vector.broadcast %i16 : i16 to vector<16xi16>
    %patterns = arith.addi %base, %lanes : vector<16xi16>
    %values = arith.bitcast %patterns : vector<16xi16> to vector<16xbf16>
    %narrow = arith.truncf %values : vector<16xbf16> to vector<16xf8E4M3FN>
    %bytes = arith.bitcast %narrow : vector<16xf8E4M3FN> to vector<16xi8>
    %inner:2 = scf.for %j = %c0 to %c16 step %c1
        iter_args(%n1 = %n, %bad1 = %bad) -> (i32, i32) {
      %byte = vector.extract %bytes[%j] : i8 from vector<16xi8>
      %pattern = vector.extract %patterns[%j] : i16 from vector<16xi16>
      %code = arith.extui %byte : i8 to i32
      %wide = arith.extui %pattern : i16 to i32
      %bits = arith.shli %wide, %c16_i32 : i32
      %wanted = func.call @reference(%f32, %fp8, %bits) : (i32, i32, i32) -> i32
      %d = func.call @differ(%code, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
      %n2 = arith.addi %n1, %c1_i32 : i32
      %bad2 = arith.addi %bad1, %d : i32
      scf.yield %n2, %bad2 : i32, i32
    }
    scf.yield %inner#0, %inner#1 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

func.func @truncate_f8E5M2() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c65536 = arith.constant 65536 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 7 : i32
  %mask = arith.constant 127 : i32
  %nan = arith.constant 125 : i32
  %lows = arith.constant dense<[0, 1, 32768, 65535]> : vector<4xi32>
  %count:2 = scf.for %i = %c0 to %c65536 step %c1
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %i32 = arith.index_cast %i : index to i32
    %high = arith.shli %i32, %c16 : i32
    %inner:2 = scf.for %j = %c0 to %c4 step %c1
        iter_args(%n1 = %n, %bad1 = %bad) -> (i32, i32) {
      %low = vector.extract %lows[%j] : i32 from vector<4xi32>
      %bits = arith.ori %high, %low : i32
      %value = arith.bitcast %bits : i32 to f32
      %narrow = arith.truncf %value : f32 to f8E5M2
      %byte = arith.bitcast %narrow : f8E5M2 to i8
      %code = arith.extui %byte : i8 to i32
      %wanted = func.call @reference(%f32, %fp8, %bits) : (i32, i32, i32) -> i32
      %d = func.call @differ(%code, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
      %n2 = arith.addi %n1, %c1_i32 : i32
      %bad2 = arith.addi %bad1, %d : i32
      scf.yield %n2, %bad2 : i32, i32
    }
    scf.yield %inner#0, %inner#1 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

func.func @truncate_bf16_f8E5M2() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c65536 = arith.constant 65536 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c16_i32 = arith.constant 16 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 7 : i32
  %mask = arith.constant 127 : i32
  %nan = arith.constant 125 : i32
  %steps = vector.step : vector<16xindex>
  %lanes = arith.index_cast %steps : vector<16xindex> to vector<16xi16>
  %count:2 = scf.for %i = %c0 to %c65536 step %c16
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %i16 = arith.index_cast %i : index to i16
    %base = vector.broadcast %i16 : i16 to vector<16xi16>
    %patterns = arith.addi %base, %lanes : vector<16xi16>
    %values = arith.bitcast %patterns : vector<16xi16> to vector<16xbf16>
    %narrow = arith.truncf %values : vector<16xbf16> to vector<16xf8E5M2>
    %bytes = arith.bitcast %narrow : vector<16xf8E5M2> to vector<16xi8>
    %inner:2 = scf.for %j = %c0 to %c16 step %c1
        iter_args(%n1 = %n, %bad1 = %bad) -> (i32, i32) {
      %byte = vector.extract %bytes[%j] : i8 from vector<16xi8>
      %pattern = vector.extract %patterns[%j] : i16 from vector<16xi16>
      %code = arith.extui %byte : i8 to i32
      %wide = arith.extui %pattern : i16 to i32
      %bits = arith.shli %wide, %c16_i32 : i32
      %wanted = func.call @reference(%f32, %fp8, %bits) : (i32, i32, i32) -> i32
      %d = func.call @differ(%code, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
      %n2 = arith.addi %n1, %c1_i32 : i32
      %bad2 = arith.addi %bad1, %d : i32
      scf.yield %n2, %bad2 : i32, i32
    }
    scf.yield %inner#0, %inner#1 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

func.func @extend_f8E4M3FN() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 10 : i32
  %mask = arith.constant 0x7fffffff : i32
  %nan = arith.constant 0x7f800001 : i32
  %count:2 = scf.for %i = %c0 to %c256 step %c1
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %code = arith.index_cast %i : index to i32
    %byte = arith.trunci %code : i32 to i8
    %narrow = arith.bitcast %byte : i8 to f8E4M3FN
    %value = arith.extf %narrow : f8E4M3FN to f32
    %bits = arith.bitcast %value : f32 to i32
    %wanted = func.call @reference(%fp8, %f32, %code) : (i32, i32, i32) -> i32
    %d = func.call @differ(%bits, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
    %n2 = arith.addi %n, %c1_i32 : i32
    %bad2 = arith.addi %bad, %d : i32
    scf.yield %n2, %bad2 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

func.func @extend_f8E5M2() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 7 : i32
  %mask = arith.constant 0x7fffffff : i32
  %nan = arith.constant 0x7f800001 : i32
  %count:2 = scf.for %i = %c0 to %c256 step %c1
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %code = arith.index_cast %i : index to i32
    %byte = arith.trunci %code : i32 to i8
    %narrow = arith.bitcast %byte : i8 to f8E5M2
    %value = arith.extf %narrow : f8E5M2 to f32
    %bits = arith.bitcast %value : f32 to i32
    %wanted = func.call @reference(%fp8, %f32, %code) : (i32, i32, i32) -> i32
    %d = func.call @differ(%bits, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
    %n2 = arith.addi %n, %c1_i32 : i32
    %bad2 = arith.addi %bad, %d : i32
    scf.yield %n2, %bad2 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

func.func @extend_f8E8M0FNU() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %f32 = arith.constant 2 : i32
  %fp8 = arith.constant 15 : i32
  %mask = arith.constant 0x7fffffff : i32
  // APFloat turns the NaN, which has no payload, into an infinity; no other code
  // comes near, and @main prints the NaN.
  %nan = arith.constant 0x7f800000 : i32
  %count:2 = scf.for %i = %c0 to %c256 step %c1
      iter_args(%n = %c0_i32, %bad = %c0_i32) -> (i32, i32) {
    %code = arith.index_cast %i : index to i32
    %byte = arith.trunci %code : i32 to i8
    %narrow = arith.bitcast %byte : i8 to f8E8M0FNU
    %value = arith.extf %narrow : f8E8M0FNU to f32
    %bits = arith.bitcast %value : f32 to i32
    %wanted = func.call @reference(%fp8, %f32, %code) : (i32, i32, i32) -> i32
    %d = func.call @differ(%bits, %wanted, %mask, %nan) : (i32, i32, i32, i32) -> i32
    %n2 = arith.addi %n, %c1_i32 : i32
    %bad2 = arith.addi %bad, %d : i32
    scf.yield %n2, %bad2 : i32, i32
  }
  call @report(%count#0, %count#1) : (i32, i32) -> ()
  return
}

// Not on a constant, which would be folded by APFloat.
func.func @print_scale(%byte: i8) {
  %narrow = arith.bitcast %byte : i8 to f8E8M0FNU
  %value = arith.extf %narrow : f8E8M0FNU to f32
  vector.print %value : f32
  return
}

// CHECK: 262144
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: 262144
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: 65536
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: 65536
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: 256
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: 256
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: 256
// CHECK-NEXT: {{^}}0{{$}}
// CHECK-NEXT: nan
func.func @main() {
  call @truncate_f8E4M3FN() : () -> ()
  call @truncate_f8E5M2() : () -> ()
  call @truncate_bf16_f8E4M3FN() : () -> ()
  call @truncate_bf16_f8E5M2() : () -> ()
  call @extend_f8E4M3FN() : () -> ()
  call @extend_f8E5M2() : () -> ()
  call @extend_f8E8M0FNU() : () -> ()
  %byte = arith.constant 255 : i8
  call @print_scale(%byte) : (i8) -> ()
  return
}
