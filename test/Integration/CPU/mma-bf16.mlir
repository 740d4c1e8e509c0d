// Steps on BF16 whose results an H200 gave. Zeros have no exponent, and terms are
// aligned to 2^-133 at least, so that they are cut at 2^-158.
//
// RUN: moss-opt %s --moss-lower-to-cpu=arithmetic=emulate \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so \
// RUN: | FileCheck %s

func.func private @step(%a: vector<16xi16>, %b: vector<16xi16>) {
  %zero = arith.constant dense<0.0> : vector<1x1xf32>
  %x = vector.bitcast %a : vector<16xi16> to vector<16xbf16>
  %y = vector.bitcast %b : vector<16xi16> to vector<16xbf16>
  %lhs = vector.shape_cast %x : vector<16xbf16> to vector<1x16xbf16>
  %rhs = vector.shape_cast %y : vector<16xbf16> to vector<1x16xbf16>
  %d = moss.mma %lhs, %rhs, %zero : vector<1x16xbf16>, vector<1x16xbf16>, vector<1x1xf32>
  %bits = arith.bitcast %d : vector<1x1xf32> to vector<1x1xi32>
  vector.print %bits : vector<1x1xi32>
  return
}

func.func @main() {
  // 245 * 176 * 2^-143 less 1.2 * 2^-154; a zero times 2^107 would cut both.
  // CHECK: ( ( 2759679 ) )
  %a1 = arith.constant dense<[0xb3d2, 0x8000, 0x8000, 0x8d75, 0x1a94, 0x95b7, 0, 0x8000, 0, 0xdf4b, 0x266, 0x8000, 0, 0, 0, 0]> : vector<16xi16>
  %b1 = arith.constant dense<[0, 0x8000, 0, 0xb1b0, 0, 0, 0, 0x74f4, 0, 0x8000, 0xafad, 0, 0x9d33, 0x8000, 0, 0]> : vector<16xi16>
  call @step(%a1, %b1) : (vector<16xi16>, vector<16xi16>) -> ()
  // 36270 * 2^-149 less 1.5 * 2^-159, which is less than 2^-158.
  // CHECK: ( ( 36270 ) )
  %a2 = arith.constant dense<[0xa8d2, 0x721e, 0x3fc8, 0x8000, 0x66a, 0x8000, 0x9932, 0, 0, 0x8000, 0, 0xc5d4, 0, 0, 0, 0x8000]> : vector<16xi16>
  %b2 = arith.constant dense<[0x6e7, 0, 0, 0x8000, 0x359b, 0, 0, 0x8000, 0, 0, 0x58d0, 0x8000, 0, 0, 0x8000, 0x8000]> : vector<16xi16>
  call @step(%a2, %b2) : (vector<16xi16>, vector<16xi16>) -> ()
  return
}
