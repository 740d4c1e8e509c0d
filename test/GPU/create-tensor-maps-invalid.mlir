// RUN: moss-opt %s --moss-create-tensor-maps -split-input-file -verify-diagnostics

gpu.module @m {
  gpu.func @inner_stride(%a: memref<64x128xf8E4M3FN, strided<[1, 64]>>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    // expected-error @+1 {{copies from 'memref<64x128xf8E4M3FN, strided<[1, 64]>>', which the copy engine cannot reach: its innermost stride is not 1}}
    moss.put %ch[%i] from(%a : memref<64x128xf8E4M3FN, strided<[1, 64]>>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @row_stride(%a: memref<64x100xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    // expected-error @+1 {{copies from 'memref<64x100xf8E4M3FN>', which the copy engine cannot reach: its row stride of 100 bytes is not a multiple of 16}}
    moss.put %ch[%i] from(%a : memref<64x100xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @memory_space(%a: memref<64x128xf8E4M3FN, 3>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    // expected-error @+1 {{which the copy engine cannot reach: it is not in global memory}}
    moss.put %ch[%i] from(%a : memref<64x128xf8E4M3FN, 3>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @wide_rows(%a: memref<64x256xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<64x256xf8E4M3FN>)>
    // expected-error @+1 {{copies tiles with rows of 256 bytes, but shared-memory swizzles know rows of 32, 64 and 128}}
    moss.put %ch[%i] from(%a : memref<64x256xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x256xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @odd_rows(%a: memref<64x256xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<64x96xf8E4M3FN>)>
    // expected-error @+1 {{copies tiles with rows of 96 bytes, but shared-memory swizzles know rows of 32, 64 and 128}}
    moss.put %ch[%i] from(%a : memref<64x256xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x96xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @odd_height(%a: memref<64x256xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<36x128xf8E4M3FN>)>
    // expected-error @+1 {{copies tiles of 36 rows, which do not divide into boxes of at most 256 rows, a multiple of 8}}
    moss.put %ch[%i] from(%a : memref<64x256xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<36x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @tall(%a: memref<64x256xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<264x128xf8E4M3FN>)>
    // expected-error @+1 {{copies tiles of 264 rows, which do not divide into boxes}}
    moss.put %ch[%i] from(%a : memref<64x256xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<264x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @not_an_argument(%b: memref<64x128xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    %a = memref.alloca() : memref<64x128xf8E4M3FN>
    // expected-error @+1 {{copies from a memref that is not an argument of its kernel, so the host cannot describe it}}
    moss.put %ch[%i] from(%a : memref<64x128xf8E4M3FN>) at(%c0), (%c0) : !moss.channel<2 x (vector<64x128xf8E4M3FN>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @scale_units(%e: memref<16x4096xf8E8M0FNU>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<1x8xf8E8M0FNU>)>
    // expected-error @+1 {{copies scales as 'vector<1x8xf8E8M0FNU>', but a box has at most 256 rows and columns, and rows of whole units of 16 bytes}}
    moss.put %ch[%i] from(%e : memref<16x4096xf8E8M0FNU>) at(%c0), (%c0) : !moss.channel<2 x (vector<1x8xf8E8M0FNU>)>
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @scale_rows(%e: memref<512x4096xf32>) kernel {
    %c0 = arith.constant 0 : index
    %i = arith.constant 0 : i32
    %ch = moss.channel : !moss.channel<2 x (vector<300x64xf32>)>
    // expected-error @+1 {{copies scales as 'vector<300x64xf32>', but a box has at most 256 rows and columns}}
    moss.put %ch[%i] from(%e : memref<512x4096xf32>) at(%c0), (%c0) : !moss.channel<2 x (vector<300x64xf32>)>
    gpu.return
  }
}
