// RUN: moss-opt %s --moss-results-to-arguments --split-input-file | FileCheck %s

// CHECK-LABEL: func @dynamic(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x8xf32> {bufferization.writable = false}
// CHECK-SAME:      %[[RESULT:[^:]*]]: memref<?x8xf32>)
// CHECK-SAME:      moss.c_interface = {name = "dynamic", parameters = [{kind = "tensor", name = "arg0", type = "tensor<?x8xf32>"}, {extents = array<i64: 0, 0>, kind = "result", name = "result", type = "tensor<?x8xf32>"}], source = "dynamic"}
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[X]]
// CHECK:         %[[GIVEN:.*]] = memref.dim %[[RESULT]]
// CHECK:         %[[EQUAL:.*]] = arith.cmpi eq, %[[ROWS]], %[[GIVEN]]
// CHECK:         cf.assert %[[EQUAL]], "dynamic: 'result' has another size in dimension 0 than what is computed"
// CHECK:         %[[SUM:.*]] = linalg.add
// CHECK:         bufferization.materialize_in_destination %[[SUM]] in restrict writable %[[RESULT]]
// CHECK-NEXT:    return
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x8xf32>
  %sum = linalg.add ins(%x, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %sum : tensor<?x8xf32>
}

// -----

// A place to compute into that is an argument is not written to; a value that
// is returned is.
// CHECK-LABEL: func @init_and_argument(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<8xf32> {{.*}}, %[[Y:[^:]*]]: tensor<8xf32> {{.*}}, %[[R0:[^:]*]]: memref<8xf32>, %[[R1:[^:]*]]: memref<8xf32>)
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<8xf32>
// CHECK:         %[[SUM:.*]] = linalg.add ins(%[[X]], %[[X]] : {{.*}}) outs(%[[EMPTY]] :
// CHECK:         materialize_in_destination %[[SUM]] in restrict writable %[[R0]]
// CHECK:         materialize_in_destination %[[X]] in restrict writable %[[R1]]
func.func @init_and_argument(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %sum = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %sum, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// An argument that is accumulated into is read, and so copied.
// CHECK-LABEL: func @accumulates(
func.func @accumulates(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %a, %old : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

// -----

// Calls keep a function that returns. An extent that only the call knows is
// checked behind it, and the result copied.
// CHECK-LABEL: func @callee(
// CHECK-SAME:      memref<?xf32>
// CHECK:       func private @callee_0(%{{.*}}: tensor<?xf32>) -> tensor<?xf32>
// CHECK-LABEL: func @caller(
// CHECK-SAME:      %[[RESULT:[^:]*]]: memref<?xf32>)
// CHECK:         %[[CALL:.*]] = call @callee_0
// CHECK:         tensor.dim %[[CALL]]
// CHECK:         cf.assert
// CHECK:         materialize_in_destination %[[CALL]] in writable %[[RESULT]]
func.func @callee(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @caller(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = call @callee(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Two returns, of which neither may compute in place.
// CHECK-LABEL: func @paths(
// CHECK-COUNT-2: materialize_in_destination %{{.*}} in writable
func.func @paths(%c: i1, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<8xf32>
^b:
  return %y : tensor<8xf32>
}

// -----

// Names that C allows and that do not collide are kept; scalars stay results.
// CHECK-LABEL: func @names(
// CHECK-SAME:      -> f32 attributes
// CHECK-SAME:      {kind = "tensor", name = "x", {{[^}]*}}}, {kind = "buffer", name = "arg1", {{[^}]*}}}, {kind = "scalar", name = "arg2", {{[^}]*}}}
// CHECK-SAME:      {kind = "scalar", name = "arg3", {{[^}]*}}}, {kind = "result", name = "result0", {{[^}]*}}}, {kind = "scalar-result", name = "result1"
// CHECK-NOT:     moss.argument_names
func.func @names(%x: tensor<8xf32>, %int: memref<4xi8>, %0: f32, %size: index) -> (tensor<8xf32>, f32)
    attributes {moss.argument_names = ["x", "int", "0", "x_size0"]} {
  return %x, %0 : tensor<8xf32>, f32
}

// -----

// Private functions and declarations are not for C.
// CHECK-LABEL: func private @private(%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
// CHECK-LABEL: func private @declared(tensor<*xf32>)
func.func private @private(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
func.func private @declared(tensor<*xf32>)

// -----

// A result that is an updated argument shares its memory, and is written last.
// CHECK-LABEL: func @update(
// CHECK-SAME:      %[[W:[^:]*]]: memref<?xf32>, %[[G:[^:]*]]: tensor<?xf32> {bufferization.writable = false}, %[[OLD:[^:]*]]: memref<?xf32>)
// CHECK-SAME:      parameters = [{kind = "update", name = "arg0", type = "tensor<?xf32>"}, {kind = "tensor", name = "arg1", type = "tensor<?xf32>"}, {extents = array<i64: 0, 0>, kind = "result", name = "result", type = "tensor<?xf32>"}]
// CHECK:         %[[TENSOR:.*]] = bufferization.to_tensor %[[W]] restrict writable
// CHECK:         %[[NEW:.*]] = linalg.generic {{.*}} outs(%[[TENSOR]] :
// CHECK:         materialize_in_destination %[[TENSOR]] in restrict writable %[[OLD]]
// CHECK-NEXT:    materialize_in_destination %[[NEW]] in writable %[[W]]
// CHECK-NEXT:    return
func.func @update(%w: tensor<?xf32>, %g: tensor<?xf32>) -> (tensor<?xf32> {moss.updates = 0}, tensor<?xf32>) {
  %new = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%g : tensor<?xf32>) outs(%w : tensor<?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.subf %old, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %new, %w : tensor<?xf32>, tensor<?xf32>
}

// -----

// Values that are exchanged are copied first.
// CHECK-LABEL: func @exchange(
// CHECK-SAME:      %[[A:[^:]*]]: memref<8xf32>, %[[B:[^:]*]]: memref<8xf32>)
// CHECK:         %[[COPY_B:.*]] = bufferization.alloc_tensor() copy(
// CHECK:         %[[COPY_A:.*]] = bufferization.alloc_tensor() copy(
// CHECK:         materialize_in_destination %[[COPY_B]] in writable %[[A]]
// CHECK-NEXT:    materialize_in_destination %[[COPY_A]] in writable %[[B]]
func.func @exchange(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32> {moss.updates = 0}, tensor<8xf32> {moss.updates = 1}) {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// Two returns: what each checks is checked on its path only.
// CHECK-LABEL: func.func @sizes_of_two_returns(
// CHECK-NOT:     cf.assert
// CHECK:         cf.cond_br
// CHECK-NEXT:  ^bb1:
// CHECK:         cf.assert
// CHECK:       ^bb2:
// CHECK:         cf.assert
func.func @sizes_of_two_returns(%c: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<?xf32>
^b:
  return %y : tensor<?xf32>
}
