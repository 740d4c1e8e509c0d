// RUN: moss-opt %s --moss-expand-next-scale | FileCheck %s

#adamw = #moss.scale_rule<#moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1>, f8E4M3FN, master = f32>
#momentum = #moss.scale_rule<#moss.optimizer<momentum, momentum = 0.5, weight_decay = 0.25>, f8E5M2, master = bf16>
#near_one = #moss.scale_rule<#moss.optimizer<adam, beta1 = 0.9, beta2 = 0.810000772476933>, f8E4M3FN, master = f32>
#paper = #moss.scale_rule<#moss.optimizer<adam_paper>, f8E4M3FN, master = f32>

// What depends on the rate and the step is computed once; the loop has neither
// powers nor divisions.

// CHECK-LABEL: func.func @adamw(
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: f32, %[[STEP:[a-z0-9]+]]: i64, %[[SCALES:[a-z0-9]+]]: memref<200xf32>, %[[STATE:[a-z0-9]+]]: memref<200x3xf64>)
// CHECK:         %[[RATE:.*]] = arith.extf %[[LR]] : f32 to f64
// CHECK:         %[[T:.*]] = arith.sitofp %[[STEP]] : i64 to f64
// CHECK:         cf.assert %{{.*}}, "moss.next_scale: the step number must be at least 1, as optimizer steps count from 1"
// CHECK:         cf.assert %{{.*}}, "moss.next_scale: the learning rate must be finite and not negative"
// CHECK:         cf.assert %{{.*}}, "moss.next_scale: the learning rate times the weight decay of 0.1{{0*1?}} exceeds 1, which would flip weights; lower one of them"
// CHECK:         %[[KEEP:.*]] = arith.subf
// CHECK-COUNT-3: math.powf %{{.*}}, %[[T]] : f64
// CHECK:         %[[C:.*]] = arith.divf
// CHECK:         %[[GAIN:.*]] = arith.mulf %[[RATE]], %[[C]] : f64
// CHECK:         scf.parallel (%[[I:.*]]) = (%{{.*}}) to (%c200{{.*}}) step
// CHECK-NOT:       math.
// CHECK-NOT:       arith.divf
// CHECK:           %[[SCALE:.*]] = memref.load %[[SCALES]][%[[I]]]
// CHECK:           %[[BOUND:.*]] = memref.load %[[STATE]][%[[I]], %c0{{.*}}]
// CHECK:           %[[WIDE:.*]] = arith.extf %[[SCALE]] : f32 to f64
// CHECK:           %[[SEEN:.*]] = memref.load %[[STATE]][%[[I]], %c2{{.*}}]
// CHECK:           %[[MEASURED:.*]] = arith.cmpf une, %[[WIDE]], %[[SEEN]]
// CHECK:           %[[TRUE:.*]] = arith.mulf %[[WIDE]], %{{.*}} : f64
// CHECK:           %[[OLD:.*]] = arith.select %[[MEASURED]], %[[TRUE]], %[[BOUND]]
// CHECK:           %[[KEPT:.*]] = arith.mulf %[[KEEP]], %[[OLD]]
// CHECK:           %[[NEXT:.*]] = arith.addf %[[KEPT]], %[[GAIN]]
// CHECK:           arith.mulf %[[NEXT]], %{{.*}} : f64
// CHECK:           arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT:     scf.parallel
// CHECK:         return
func.func @adamw(%lr: f32, %step: i64, %scales: memref<200xf32>, %state: memref<200x3xf64>) {
  moss.next_scale [#adamw] rows [200] lr(%lr : f32) step(%step) outs(%scales, %state : memref<200xf32>, memref<200x3xf64>)
  return
}

// Rules are selected by row; a bf16 master is rounded, half up.

// CHECK-LABEL: func.func @two_rules(
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: f64, %{{.*}}: i64, %[[AMAX:[a-z0-9]+]]: memref<5xf32>
// CHECK:         scf.parallel (%[[I:.*]]) =
// CHECK:           memref.load %[[AMAX]][%[[I]]]
// CHECK:           arith.bitcast %{{.*}} : f64 to i64
// CHECK:           arith.addi %{{.*}}, %c17592186044416_i64
// CHECK:           arith.andi %{{.*}}, %c-35184372088832_i64
// CHECK:           %[[SECOND:.*]] = arith.cmpi uge, %[[I]], %c2{{.*}}
// CHECK-COUNT-3:   arith.select %[[SECOND]]
func.func @two_rules(%lr: f64, %step: i64, %amax: memref<5xf32>, %scales: memref<5xf32>, %state: memref<5x3xf64>) {
  moss.next_scale [#paper, #momentum] rows [2, 3] lr(%lr : f64) step(%step) amax(%amax : memref<5xf32>)
    outs(%scales, %state : memref<5xf32>, memref<5x3xf64>)
  return
}

// Where the closed form of the sum would cancel, its upper bound is a product.

// CHECK-LABEL: func.func @near_one(
// CHECK:         %[[T:.*]] = arith.sitofp
// CHECK:         %[[POWER:.*]] = math.powf %{{.*}}, %[[T]]
// CHECK:         arith.mulf %[[T]], %[[POWER]]
func.func @near_one(%lr: f64, %step: i64, %scales: memref<1xf32>, %state: memref<1x3xf64>) {
  moss.next_scale [#near_one] rows [1] lr(%lr : f64) step(%step) outs(%scales, %state : memref<1xf32>, memref<1x3xf64>)
  return
}

// A history is rolled where it is, by vectors and the rest one by one, each read
// before it is written. The second rule takes the last amax and not the largest.

#e4m3 = #moss.amax_rule<f8E4M3FN, max, margin = 0>
#e5m2 = #moss.amax_rule<f8E5M2, most_recent, margin = 3>

// CHECK-LABEL: func.func @delayed(
// CHECK-SAME:    %[[SCALES:[a-z0-9]+]]: memref<3xf32>, %[[HISTORY:[a-z0-9]+]]: memref<3x20xf32>)
// CHECK:         scf.parallel (%[[I:.*]]) = (%c0{{.*}}) to (%c3{{.*}}) step
// CHECK:           %[[NEWEST:.*]] = memref.load %[[HISTORY]][%[[I]], %c0{{.*}}]
// CHECK:           %[[LARGE:.*]] = scf.for %[[J:.*]] = %c0{{.*}} to %c16{{.*}} step %c16{{.*}} iter_args(%[[MAX:.*]] = %[[NEWEST]])
// CHECK:             %[[FROM:.*]] = arith.addi %[[J]], %c1
// CHECK:             %[[VALUES:.*]] = vector.load %[[HISTORY]][%[[I]], %[[FROM]]] : memref<3x20xf32>, vector<16xf32>
// CHECK:             vector.store %[[VALUES]], %[[HISTORY]][%[[I]], %[[J]]]
// CHECK:             vector.reduction <maxnumf>, %[[VALUES]], %[[MAX]]
// CHECK:           %[[LARGEST:.*]] = scf.for {{.*}} = %c16{{.*}} to %c19{{.*}} step %c1{{.*}} iter_args(%{{.*}} = %[[LARGE]])
// CHECK:             vector.load {{.*}}, vector<1xf32>
// CHECK:           memref.store %[[NEWEST]], %[[HISTORY]][%[[I]], %c19{{.*}}]
// CHECK:           memref.store %cst{{.*}}, %[[HISTORY]][%[[I]], %c0{{.*}}]
// CHECK:           %[[FIRST:.*]] = arith.constant 4.480000e+02 : f32
// CHECK:           %[[IS:.*]] = arith.cmpi uge, %[[I]], %c2
// CHECK:           %[[OTHER:.*]] = arith.constant 7.168000e+03 : f32
// CHECK:           %[[AMAX:.*]] = arith.select %[[IS]], %[[NEWEST]], %[[LARGEST]]
// CHECK:           %[[TARGET:.*]] = arith.select %[[IS]], %[[OTHER]], %[[FIRST]]
// CHECK:           arith.cmpf ogt, %[[AMAX]]
// CHECK:           arith.cmpf olt, %[[AMAX]]
// CHECK:           %[[FACTOR:.*]] = arith.divf %[[TARGET]], %[[AMAX]]
// CHECK:           %[[OLD:.*]] = memref.load %[[SCALES]][%[[I]]]
// CHECK:           %[[NEXT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OLD]]
// CHECK:           memref.store %[[NEXT]], %[[SCALES]][%[[I]]]
func.func @delayed(%scales: memref<3xf32>, %history: memref<3x20xf32>) {
  moss.next_delayed_scale [#e4m3, #e5m2] rows [2, 1] outs(%scales, %history : memref<3xf32>, memref<3x20xf32>)
  return
}

// CHECK-LABEL: func.func @short(
// CHECK:         scf.parallel
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @short(%scales: memref<1xf32>, %history: memref<1x1xf32>) {
  moss.next_delayed_scale [#e4m3] rows [1] outs(%scales, %history : memref<1xf32>, memref<1x1xf32>)
  return
}
