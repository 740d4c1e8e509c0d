// The K loop of a kernel whose scales were hoisted multiplies and waits; with
// promotion it also adds, and it never scales.
// RUN: sed -e 's/@ACCUMULATE@/fast/' %s | moss-opt --moss-fp8-lower \
// RUN:   | moss-translate --moss-gpu-binary-to-ptx -o %t.fast.ptx
// RUN: %python %S/Inputs/k-loop.py < %t.fast.ptx | FileCheck %s --check-prefix=FAST --implicit-check-not="floating point"
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/' %s | moss-opt --moss-fp8-lower \
// RUN:   | moss-translate --moss-gpu-binary-to-ptx -o %t.promoted.ptx
// RUN: %python %S/Inputs/k-loop.py < %t.promoted.ptx | FileCheck %s --check-prefix=PROMOTED --implicit-check-not="floating point"

// One wave of 64 x 256 a consumer in 4 steps of 32.
// FAST:     wait for a slot: 1
// FAST:     product wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e5m2: 4

// Four steps in an iteration, of two waves of 64 x 128 each; 64 elements a wave and
// thread are added.
// PROMOTED: floating point add.rn.f32: 512
// PROMOTED: wait for a slot: 4
// PROMOTED: product wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2: 32

// Ten steps are two and two fours. The two stay a loop, of one wave for each of three
// consumers.
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/; s/x4096xf8/x1280xf8/g' %s \
// RUN:   | moss-opt --moss-fp8-lower='tile=192,128,128 consumers=3' | moss-translate --moss-gpu-binary-to-ptx -o %t.rest.ptx
// RUN: %python %S/Inputs/k-loop.py < %t.rest.ptx | FileCheck %s --check-prefix=REST --implicit-check-not="floating point"
// REST: floating point add.rn.f32: 64
// REST: wait for a slot: 1
// REST: product wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2: 4

// The whole kernel: one entry, registers and arrivals by role, stores by the
// copy engine, and the scales after the loop.
// RUN: FileCheck %s --check-prefix=PTX < %t.fast.ptx
// PTX: .target sm_90a
// PTX: .entry
// PTX: .maxntid 384
// PTX: setmaxnreg.inc.sync.aligned.u32
// PTX: mbarrier.try_wait.parity.shared.b64
// PTX: wgmma.fence.sync.aligned
// PTX: wgmma.wait_group.sync.aligned 1
// PTX: wgmma.wait_group.sync.aligned 0
// PTX: mul.rn.f32
// PTX: cvt.rn.bf16x2.f32
// PTX: stmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: fence.proxy.async.shared::cta
// PTX: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
// PTX: setmaxnreg.dec.sync.aligned.u32 40
// PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<f8E5M2, global = jit>

func.func @matmul(%a: memref<?x4096xf8E4M3FN>, %am: memref<?x1xf8E8M0FNU>, %ag: memref<f32>,
                  %b: memref<4096x4096xf8E5M2>, %bg: memref<f32>, %c: memref<?x4096xbf16>) {
  moss.scaled_matmul #moss.accumulate<@ACCUMULATE@>
    lhs(#row, %a : memref<?x4096xf8E4M3FN>) micro(%am : memref<?x1xf8E8M0FNU>) global(%ag : memref<f32>)
    rhs(#tensor, %b : memref<4096x4096xf8E5M2>) global(%bg : memref<f32>)
    outs(%c : memref<?x4096xbf16>)
  return
}
