// RUN: moss-opt %s --moss-map-to-grid -split-input-file -verify-diagnostics

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @wrong_attribute(%M: index, %N: index) {
  // expected-error @+1 {{attribute 'moss.schedule' must be a #moss.schedule, but is 7 : i64}}
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (128, 256) {
  } {moss.schedule = 7}
  return
}

// -----

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @rank(%M: index) {
  // expected-error @+1 {{is not a two-dimensional loop over tiles of static size on memrefs}}
  scf.forall (%m) = (0) to (%M) step (128) {
  } {moss.schedule = #schedule}
  return
}

// -----

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @dynamic_step(%M: index, %s: index) {
  // expected-error @+1 {{is not a two-dimensional loop over tiles of static size on memrefs}}
  scf.forall (%m, %n) = (0, 0) to (%M, %M) step (%s, 256) {
  } {moss.schedule = #schedule}
  return
}

// -----

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @tensors(%M: index, %t: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is not a two-dimensional loop over tiles of static size on memrefs}}
  %0 = scf.forall (%m, %n) = (0, 0) to (%M, %M) step (128, 256) shared_outs(%o = %t) -> tensor<4xf32> {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
    }
  } {moss.schedule = #schedule}
  return %0 : tensor<4xf32>
}

// -----

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @lower_bound(%M: index) {
  // expected-error @+1 {{must begin at 0 in both dimensions}}
  scf.forall (%m, %n) = (128, 0) to (%M, %M) step (128, 256) {
  } {moss.schedule = #schedule}
  return
}

// -----

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @step(%M: index) {
  // expected-error @+1 {{steps by 64 and 256, but its schedule's tile is 128 x 256}}
  scf.forall (%m, %n) = (0, 0) to (%M, %M) step (64, 256) {
  } {moss.schedule = #schedule}
  return
}

// -----

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

func.func @nested(%M: index) {
  scf.forall (%i) in (8) {
    // expected-error @+1 {{is inside another parallel loop or launch, but a kernel cannot launch a grid}}
    scf.forall (%m, %n) = (0, 0) to (%M, %M) step (128, 256) {
    } {moss.schedule = #schedule}
  }
  return
}

// -----

func.func @shared_memory(%M: index) {
  // expected-error @+1 {{the schedule needs 278608 bytes of shared memory, but sm_90a has 232448; use fewer stages or a smaller tile}}
  scf.forall (%m, %n) = (0, 0) to (%M, %M) step (128, 256) {
  } {moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 5, consumers = 2, raster = 8, blocks = 132>}
  return
}
