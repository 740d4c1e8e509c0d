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

// -----

// Results that update arguments are these, and written last: another result may
// be what the argument was. They need not be in the order of arguments.
// CHECK-LABEL: func @updates(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>, %[[OLD:[^:]*]]: memref<?xf32>)
// CHECK-SAME:      kind = "buffer", name = "arg0"
// CHECK-SAME:      kind = "buffer", name = "arg1"
// CHECK-SAME:      extents = {{.*}}kind = "result", name = "result"
// CHECK-DAG:     %[[XT:.*]] = bufferization.to_tensor %[[X]] restrict writable
// CHECK-DAG:     %[[YT:.*]] = bufferization.to_tensor %[[Y]] restrict writable
// CHECK:         %[[SUM:.*]] = arith.addf %[[XT]], %[[YT]]
// CHECK:         materialize_in_destination %[[XT]] in restrict writable %[[OLD]]
// CHECK:         %[[NEWY:.*]] = bufferization.materialize_in_destination %[[SUM]] in %[[YT]]
// CHECK:         materialize_in_destination %[[NEWY]] in restrict writable %[[Y]]
// CHECK:         %[[NEWX:.*]] = bufferization.materialize_in_destination %[[SUM]] in %[[XT]]
// CHECK:         materialize_in_destination %[[NEWX]] in restrict writable %[[X]]
// CHECK-NEXT:    return
func.func @updates(%x: tensor<?xf32>, %y: tensor<?xf32>)
    -> (tensor<?xf32> {moss.updates = 1}, tensor<?xf32>, tensor<?xf32> {moss.updates = 0}) {
  %sum = arith.addf %x, %y : tensor<?xf32>
  return %sum, %x, %sum : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
