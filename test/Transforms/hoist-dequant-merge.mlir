// RUN: moss-opt %s --moss-hoist-dequant | FileCheck %s

!c = vector<32x32xf32>
!rows = vector<32x1xf8E8M0FNU>
!cols = vector<1x32xf8E8M0FNU>

// CHECK-LABEL: func @merge(
// CHECK-SAME:  %[[T:[a-z0-9_]+]]: vector<32x32xf32>, %[[E:[a-z0-9_]+]]: {{.*}}, %[[F:[a-z0-9_]+]]: {{.*}}, %[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f32
// CHECK-NEXT:  %[[R:[a-z0-9_]+]] = moss.rescale %[[T]] rows(%[[E]] : vector<32x1xf8E8M0FNU>) cols(%[[F]] : vector<1x32xf8E8M0FNU>) by(%[[X]], %[[Y]])
// CHECK-NEXT:  return %[[R]]
func.func @merge(%t: !c, %e: !rows, %f: !cols, %x: f32, %y: f32) -> !c {
  %0 = moss.rescale %t rows(%e : !rows) : !c
  %1 = moss.rescale %0 cols(%f : !cols) by(%x, %y) : !c
  return %1 : !c
}

// CHECK-LABEL: func @merge_after_scalars(
// CHECK-COUNT-1: moss.rescale %{{.*}} rows(%{{.*}}) by(%{{.*}}) :
// CHECK-NEXT:  return
func.func @merge_after_scalars(%t: !c, %e: !rows, %x: f32) -> !c {
  %0 = moss.rescale %t by(%x) : !c
  %1 = moss.rescale %0 rows(%e : !rows) : !c
  return %1 : !c
}

// One op holds one scale of each kind.
// CHECK-LABEL: func @same_kind(
// CHECK-COUNT-2: moss.rescale
func.func @same_kind(%t: !c, %e: !rows, %f: !rows) -> !c {
  %0 = moss.rescale %t rows(%e : !rows) : !c
  %1 = moss.rescale %0 rows(%f : !rows) : !c
  return %1 : !c
}

// Two products of significands would be rounded differently.
// CHECK-LABEL: func @both_round(
// CHECK-COUNT-2: moss.rescale
// CHECK-COUNT-2: moss.rescale
func.func @both_round(%t: !c, %e: vector<32x1xf32>, %x: f32, %y: f32) -> (!c, !c) {
  %0 = moss.rescale %t by(%x) : !c
  %1 = moss.rescale %0 by(%y) : !c
  %2 = moss.rescale %t rows(%e : vector<32x1xf32>) : !c
  %3 = moss.rescale %2 by(%y) : !c
  return %1, %3 : !c, !c
}

// CHECK-LABEL: func @used_twice(
// CHECK-COUNT-2: moss.rescale
func.func @used_twice(%t: !c, %e: !rows, %f: !cols) -> (!c, !c) {
  %0 = moss.rescale %t rows(%e : !rows) : !c
  %1 = moss.rescale %0 cols(%f : !cols) : !c
  return %0, %1 : !c, !c
}
