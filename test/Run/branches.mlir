// A program with branches runs without a reference. The shape of its result follows if
// all returns agree on it.
// RUN: moss-run %s --target=cpu --entry=alike --input c=1 --reference=none | FileCheck %s
// RUN: not moss-run %s --target=cpu --entry=differ --size x=3x8 --size y=5x8 --input c=0 --reference=none 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: moss-run %s --target=cpu --entry=differ --size x=3x8 --size y=5x8 --input c=0 --size result=5x8 --reference=none | FileCheck %s
// RUN: not moss-run %s --target=cpu --entry=differ --size x=3x8 --size y=5x8 --input c=1 --size result=5x8 --reference=none 2>&1 | FileCheck %s --check-prefix=WRONG

// CHECK: result: tensor<{{.*}}x8xf32>, not compared
// SIZE: error: the shape of 'result', [?x8], does not follow from those of the arguments; give it, as --size result=128x64
// WRONG: moss-run: error: calling 'differ': differ: 'result' has another size in dimension 0 than what is computed ({{3 and 5|5 and 3}})

func.func @alike(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %c: i1) -> tensor<4x8xf32> {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %x : tensor<4x8xf32>
^bb2:
  return %y : tensor<4x8xf32>
}

func.func @differ(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %c: i1) -> tensor<?x8xf32> {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %x : tensor<?x8xf32>
^bb2:
  return %y : tensor<?x8xf32>
}
