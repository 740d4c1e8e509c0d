// RUN: moss-opt %s --moss-hoist-dequant | FileCheck %s
// RUN: moss-opt %s --moss-hoist-dequant --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics
// RUN: moss-opt %s --moss-hoist-dequant="allow-reassociation" | FileCheck %s --check-prefix=REASSOC

!a = vector<32x128xf8E4M3FN>
!c = vector<32x32xf32>
!rows = vector<32x1xf8E8M0FNU>
!cols = vector<1x32xf8E8M0FNU>

// CHECK-LABEL: func @full(
// CHECK-SAME:  %{{.*}}: vector<32x128xf8E4M3FN>, %[[E:[a-z0-9_]+]]: vector<32x1xf8E8M0FNU>, %[[F:[a-z0-9_]+]]: vector<1x32xf8E8M0FNU>, %[[K:[a-z0-9_]+]]: index
// CHECK:       %[[SUM:[a-z0-9_]+]] = scf.for %{{.*}} to %[[K]] step %{{.*}} iter_args(%[[C:[a-z0-9_]+]] = %{{.*}})
// CHECK-NEXT:    %[[P:[a-z0-9_]+]] = moss.mma
// CHECK-NEXT:    %[[S:[a-z0-9_]+]] = arith.addf %[[C]], %[[P]]
// CHECK-NEXT:    scf.yield %[[S]]
// CHECK-NEXT:  } {moss.accumulate = #moss.accumulate<fast>}
// CHECK-NEXT:  %[[R:[a-z0-9_]+]] = moss.rescale %[[SUM]] rows(%[[E]] : vector<32x1xf8E8M0FNU>) cols(%[[F]] : vector<1x32xf8E8M0FNU>) : vector<32x32xf32>
// CHECK-NEXT:  return %[[R]]
func.func @full(%a: !a, %e: !rows, %f: !cols, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    // expected-remark @+1 {{moved to the epilogue: powers of two, constant over the loop}}
    %r = moss.rescale %p rows(%e : !rows) cols(%f : !cols) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<fast>}
  return %acc : !c
}

// Groups of 512 in steps of 128: the loop is split at the boundary of groups.
// CHECK-LABEL: func @partial(
// CHECK-SAME:  %{{.*}}: vector<32x128xf8E4M3FN>, %[[M:[a-z0-9_]+]]: memref<?x?xf8E8M0FNU>, %[[N:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index
// CHECK-DAG:   %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.0{{.*}}> : vector<32x32xf32>
// CHECK-DAG:   %[[C128:[a-z0-9_]+]] = arith.constant 128 : index
// CHECK-DAG:   %[[C512:[a-z0-9_]+]] = arith.constant 512 : index
// CHECK:       %[[OUT:[a-z0-9_]+]] = scf.for %[[K0:[a-z0-9_]+]] = %{{.*}} to %[[K]] step %[[C512]] iter_args(%[[C:[a-z0-9_]+]] = %[[ZERO]])
// CHECK-NEXT:    %[[NEXT:[a-z0-9_]+]] = arith.addi %[[K0]], %[[C512]]
// CHECK-NEXT:    %[[END:[a-z0-9_]+]] = arith.minui %[[NEXT]], %[[K]]
// CHECK-NEXT:    %[[IN:[a-z0-9_]+]] = scf.for %{{.*}} = %[[K0]] to %[[END]] step %[[C128]] iter_args(%[[D:[a-z0-9_]+]] = %[[ZERO]])
// CHECK-NEXT:      %[[P:[a-z0-9_]+]] = moss.mma
// CHECK-NEXT:      %[[S:[a-z0-9_]+]] = arith.addf %[[D]], %[[P]]
// CHECK-NEXT:      scf.yield %[[S]]
// CHECK-NEXT:    } {moss.accumulate = #moss.accumulate<promoted(128)>}
// CHECK-NEXT:    %[[E:[a-z0-9_]+]] = moss.load_scales %[[M]][%{{.*}}, %[[K0]]] bound(%[[N]]) group [1, 512]
// CHECK-NEXT:    %[[R:[a-z0-9_]+]] = moss.rescale %[[IN]] rows(%[[E]] : vector<32x1xf8E8M0FNU>)
// CHECK-NEXT:    %[[T:[a-z0-9_]+]] = arith.addf %[[C]], %[[R]]
// CHECK-NEXT:    scf.yield %[[T]]
// CHECK-NEXT:  } {moss.accumulate = #moss.accumulate<promoted(128)>}
// CHECK-NEXT:  return %[[OUT]]
func.func @partial(%a: !a, %m: memref<?x?xf8E8M0FNU>, %M: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%M) group [1, 512] : memref<?x?xf8E8M0FNU> -> !rows
    // expected-remark @+1 {{moved to the boundary of the micro group, every 512 elements of K: powers of two, constant over the group}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<promoted(128)>}
  return %acc : !c
}

// Two kinds of groups move to their common boundary, 256.
// CHECK-LABEL: func @two_groups(
// CHECK-DAG:   %[[C256:[a-z0-9_]+]] = arith.constant 256 : index
// CHECK:       scf.for %[[K0:[a-z0-9_]+]] = %{{.*}} step %[[C256]]
// CHECK:         scf.for
// CHECK-NOT:       moss.load_scales
// CHECK:         }
// CHECK-NEXT:    moss.load_scales %{{.*}}[%{{.*}}, %[[K0]]] bound(%{{.*}}) group [1, 512]
// CHECK-NEXT:    moss.load_scales %{{.*}}[%{{.*}}, %[[K0]]] bound(%{{.*}}) group [1, 256]
// CHECK-NEXT:    moss.rescale %{{.*}} rows(%{{.*}}) cols(%{{.*}})
func.func @two_groups(%a: !a, %m: memref<?x?xf8E8M0FNU>, %M: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%M) group [1, 512] : memref<?x?xf8E8M0FNU> -> !rows
    %f = moss.load_scales %m[%c0, %k] bound(%M) group [1, 256] : memref<?x?xf8E8M0FNU> -> !cols
    // expected-remark @+1 {{moved to the boundary of the micro group, every 256 elements of K}}
    %r = moss.rescale %p rows(%e : !rows) cols(%f : !cols) : !c
    %s = arith.addf %r, %c : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// Rows are invariant, columns change at every step: only the rows leave.
// CHECK-LABEL: func @mixed(
// CHECK-SAME:  %{{.*}}, %[[E:[a-z0-9_]+]]: vector<32x1xf8E8M0FNU>
// CHECK:       %[[SUM:[a-z0-9_]+]] = scf.for
// CHECK:         %[[P:[a-z0-9_]+]] = moss.mma
// CHECK:         %[[F:[a-z0-9_]+]] = moss.load_scales
// CHECK-NEXT:    %[[R:[a-z0-9_]+]] = moss.rescale %[[P]] cols(%[[F]] : vector<1x32xf8E8M0FNU>) : vector<32x32xf32>
// CHECK-NEXT:    arith.addf %{{.*}}, %[[R]]
// CHECK:       moss.rescale %[[SUM]] rows(%[[E]] : vector<32x1xf8E8M0FNU>) : vector<32x32xf32>
func.func @mixed(%a: !a, %e: !rows, %m: memref<?x?xf8E8M0FNU>, %N: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %f = moss.load_scales %m[%c0, %k] bound(%N) group [1, 128] : memref<?x?xf8E8M0FNU> -> !cols
    // expected-remark @+1 {{moved to the epilogue: powers of two, constant over the loop; the other scales change along K}}
    %r = moss.rescale %p rows(%e : !rows) cols(%f : !cols) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// A scale leaves one loop after the other, and the chain of products before it
// is a sum of products too.
// CHECK-LABEL: func @nested(
// CHECK:       %[[OUT:[a-z0-9_]+]] = scf.for
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-NOT:   moss.rescale
// CHECK:       } {moss.outer}
// CHECK-NEXT:  moss.rescale %[[OUT]] rows
func.func @nested(%a: !a, %e: !rows, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %h = %c0 to %K step %c128 iter_args(%b = %zero) -> (!c) {
    %inner = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
      %p = scf.for %j = %c0 to %K step %c128 iter_args(%d = %zero) -> (!c) {
        %q = moss.mma %a, %a, %d : !a, !a, !c
        scf.yield %q : !c
      }
      // expected-remark @+1 {{moved to the epilogue}}
      %r = moss.rescale %p rows(%e : !rows) : !c
      %s = arith.addf %c, %r : !c
      scf.yield %s : !c
    }
    %t = arith.addf %b, %inner : !c
    scf.yield %t : !c
  } {moss.outer}
  return %acc : !c
}

// f32 scales move only when reassociation is allowed, by option or by flag.
// CHECK-LABEL: func @f32_scales(
// CHECK:       scf.for
// CHECK:         moss.rescale %{{.*}} rows(%{{.*}} : vector<32x1xf32>)
// CHECK:       return
// REASSOC-LABEL: func @f32_scales(
// REASSOC:     %[[SUM:[a-z0-9_]+]] = scf.for
// REASSOC-NOT:   moss.rescale
// REASSOC:     }
// REASSOC-NEXT: moss.rescale %[[SUM]] rows(%{{.*}} : vector<32x1xf32>)
func.func @f32_scales(%a: !a, %e: vector<32x1xf32>, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    // expected-remark @+1 {{left in the loop: its scales are not powers of two, so moving them would change rounding; the flag reassoc or allow-reassociation permits it}}
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// Likewise to the boundary of a group.
// CHECK-LABEL: func @f32_groups(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
// CHECK:         moss.rescale
// CHECK:       return
// REASSOC-LABEL: func @f32_groups(
// REASSOC-COUNT-2: scf.for
// REASSOC-NOT:   moss.rescale
// REASSOC:       }
// REASSOC:       moss.rescale
// REASSOC:       return
func.func @f32_groups(%a: !a, %m: memref<?x?xf32>, %M: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%M) group [1, 512] : memref<?x?xf32> -> vector<32x1xf32>
    // expected-remark @+1 {{left in the loop: its scales are not powers of two, so moving them would change rounding; the flag reassoc or allow-reassociation permits it}}
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// CHECK-LABEL: func @f32_groups_reassoc(
// CHECK-COUNT-2: scf.for
func.func @f32_groups_reassoc(%a: !a, %m: memref<?x?xf32>, %M: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%M) group [1, 512] : memref<?x?xf32> -> vector<32x1xf32>
    // expected-remark @+1 {{moved to the boundary of the micro group, every 512 elements of K: reassociation is allowed}}
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    %s = arith.addf %c, %r fastmath<reassoc> : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// CHECK-LABEL: func @f32_reassoc(
// CHECK-SAME:  %{{.*}}, %[[E:[a-z0-9_]+]]: vector<32x1xf32>, %[[X:[a-z0-9_]+]]: f32
// CHECK:       %[[SUM:[a-z0-9_]+]] = scf.for
// CHECK-NOT:     moss.rescale
// CHECK:         arith.addf {{.*}} fastmath<reassoc>
// CHECK:       moss.rescale %[[SUM]] rows(%[[E]] : vector<32x1xf32>) by(%[[X]])
func.func @f32_reassoc(%a: !a, %e: vector<32x1xf32>, %x: f32, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    // expected-remark @+1 {{moved to the epilogue: reassociation is allowed}}
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) by(%x) : !c
    %s = arith.addf %c, %r fastmath<reassoc> : !c
    scf.yield %s : !c
  }
  return %acc : !c
}
