// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-channels-to-nvvm))" -split-input-file -verify-diagnostics

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

gpu.module @m {
  // expected-error @+1 {{needs one moss.channel and one moss.warp_specialize, but has 1 and 0}}
  gpu.func @no_roles() kernel {
    %ch = moss.channel : !channel
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

gpu.module @m {
  gpu.func @memref(%a: memref<128x64xf8E4M3FN>, %i: i32, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
      // expected-error @+1 {{copies from a memref; run moss-create-tensor-maps to describe it}}
      moss.put %ch[%i] from(%a : memref<128x64xf8E4M3FN>) at(%m), (%m) : !channel
    } consumers(2) registers(232) (%wg) {
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

gpu.module @m {
  gpu.func @box(%a: !moss.tensor_map<48x64xf8E4M3FN, swizzle = 64>, %i: i32, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
      // expected-error @+1 {{copies the tile 'vector<128x64xf8E4M3FN>' in boxes of 48 rows, which do not fill it}}
      moss.put %ch[%i] from(%a : !moss.tensor_map<48x64xf8E4M3FN, swizzle = 64>) at(%m), (%m) : !channel
    } consumers(2) registers(232) (%wg) {
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

gpu.module @m {
  gpu.func @not_distributed(%i: i32, %z: vector<128x128xf32>, %out: memref<?x?xf32>, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      // expected-error @+1 {{has a tile that is used by other than moss.mma and moss.read_scales, which must be distributed first}}
      %t = moss.get %ch[%i] : !channel -> vector<128x64xf8E4M3FN>
      %p = moss.mma %t, %t, %z : vector<128x64xf8E4M3FN>, vector<128x64xf8E4M3FN>, vector<128x128xf32>
      vector.transfer_write %p, %out[%m, %m] : vector<128x128xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>)>

gpu.module @m {
  gpu.func @not_shared(%i: i32, %t: vector<128x64xf8E4M3FN>, %out: memref<i64>) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      // expected-error @+1 {{describes a tile that is not in shared memory: it must come from moss.get}}
      %d = moss.tile_descriptor %t row(%i) : vector<128x64xf8E4M3FN>
      memref.store %d, %out[] : memref<i64>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<128x256xf8E4M3FN>)>

gpu.module @m {
  gpu.func @wide_rows(%i: i32, %out: memref<i64>) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      %t = moss.get %ch[%i] : !channel -> vector<128x256xf8E4M3FN>
      // expected-error @+1 {{describes a tile with rows of 256 bytes, but shared-memory swizzles know rows of 32, 64 and 128}}
      %d = moss.tile_descriptor %t row(%i) : vector<128x256xf8E4M3FN>
      memref.store %d, %out[] : memref<i64>
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<1x64xf8E8M0FNU>), extended = [0]>

gpu.module @m {
  gpu.func @no_converter(%i: i32) kernel {
    %ch = moss.channel : !channel
    // expected-error @+1 {{must have a converter exactly if the channel extends scales, but its channel is '!moss.channel<3 x (vector<1x64xf8E8M0FNU>), extended = [0]>'}}
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<1x64xf8E8M0FNU>), extended = [0]>

gpu.module @m {
  gpu.func @wrong_role(%i: i32) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } converter {
    } consumers(2) registers(232) (%wg) {
      // expected-error @+1 {{is not in the converter of moss.warp_specialize, whose warp extends scales}}
      moss.extend_scales %ch[%i] : !channel
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<1x64xf8E8M0FNU>), extended = [0]>

gpu.module @m {
  gpu.func @nothing_extended(%i: i32) kernel {
    %ch = moss.channel : !channel
    // expected-error @+1 {{needs moss.extend_scales in its converter, for which consumers wait}}
    moss.warp_specialize producer registers(40) {
    } converter {
    } consumers(2) registers(232) (%wg) {
    }
    gpu.return
  }
}

// -----

!channel = !moss.channel<3 x (vector<1x64xf8E8M0FNU>), extended = [0]>
!map = !moss.tensor_map<1x64xf8E8M0FNU, swizzle = 0>

gpu.module @m {
  gpu.func @put_in_converter(%map: !map, %i: i32, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } converter {
      // expected-error @+1 {{is in the converter of moss.warp_specialize, but one thread of its producer starts copies}}
      moss.put %ch[%i] from(%map : !map) at(%m), (%m) : !channel
      moss.extend_scales %ch[%i] : !channel
    } consumers(2) registers(232) (%wg) {
    }
    gpu.return
  }
}
