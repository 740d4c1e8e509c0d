// RUN: moss-opt %s --moss-create-c-interface | FileCheck %s
// RUN: moss-opt %s --moss-create-c-interface=target=cpu | FileCheck %s --check-prefix=CPU
// RUN: moss-opt %s --moss-create-c-interface=target=cpu | moss-translate --mlir-to-llvmir -o /dev/null

// CHECK: module attributes {moss.target = "sm_90a"}
// CPU: module attributes {moss.target = "cpu"}

// CHECK: llvm.func @mossInvoke(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
// What else is defined is hidden.
// CHECK: llvm.mlir.global internal constant @table
llvm.mlir.global constant @table(7 : i32) : i32
// CHECK: llvm.func @declared()
llvm.func @declared()
// CHECK: llvm.func internal @helper()
llvm.func @helper() {
  llvm.return
}

// From slots to the arguments of the wrapper, which gives back a flag.
// CHECK:      llvm.func internal @my_f_thunk(%[[SLOTS:.*]]: !llvm.ptr) {
// CHECK:        %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK:        %[[N_SLOT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK:        %[[N:.*]] = llvm.load %[[N_SLOT]] : !llvm.ptr -> i16
// CHECK:        %[[N16:.*]] = llvm.bitcast %[[N]] : i16 to bf16
// CHECK:        %[[R:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK:        %[[FLAG:.*]] = llvm.call @_mlir_ciface_f(%[[X]], %[[N16]], %[[R]])
// CHECK:        %[[BYTE:.*]] = llvm.zext %[[FLAG]] : i1 to i8
// CHECK:        %[[TO:.*]] = llvm.load
// CHECK:        llvm.store %[[BYTE]], %[[TO]] : i8, !llvm.ptr

// Kinds, ranks and bytes of an element.
// CHECK:      llvm.mlir.global internal constant @my_f_parameters()
// CHECK:      llvm.mlir.global internal constant @my_f_description()
// CHECK:        llvm.mlir.addressof @my_f_name
// CHECK:        llvm.mlir.addressof @my_f_thunk
// CHECK:        llvm.mlir.addressof @my_f_parameters
// CHECK:        llvm.mlir.constant(4 : i32)
// CHECK:        llvm.mlir.constant(1 : i32)
// CPU:        llvm.mlir.global internal constant @my_f_description()
// CPU:          llvm.mlir.constant(4 : i32)
// CPU:          llvm.mlir.constant(0 : i32)

// CHECK:      llvm.func @my_f(%[[X:[^:]*]]: !llvm.ptr, %[[SIZE:[^:]*]]: i64, %[[S0:[^:]*]]: i64, %[[S1:[^:]*]]: i64, %[[SCALE:[^:]*]]: i16,
// CHECK-SAME:     %[[R:[^:]*]]: !llvm.ptr, %[[FLAG:[^:]*]]: !llvm.ptr, %[[STREAM:[^:]*]]: !llvm.ptr) -> i32
// CHECK-SAME:     moss.c_interface
// CHECK:        llvm.insertvalue %[[SIZE]], %{{.*}}[3, 0]
// CHECK:        %[[EIGHT:.*]] = llvm.mlir.constant(8 : i64)
// CHECK:        llvm.insertvalue %[[EIGHT]], %{{.*}}[3, 1]
// CHECK:        llvm.insertvalue %[[S0]], %{{.*}}[4, 0]
// CHECK:        llvm.insertvalue %[[S1]], %{{.*}}[4, 1]
// CHECK:        %[[STATUS:.*]] = llvm.call @mossInvoke(%{{.*}}, %{{.*}}, %[[STREAM]])
// CHECK:        llvm.return %[[STATUS]] : i32
// CHECK:      llvm.func internal @my_f_body(
llvm.func @f(%0: !llvm.ptr, %1: !llvm.ptr, %2: i64, %3: i64, %4: i64, %5: i64, %6: i64, %scale: bf16,
             %7: !llvm.ptr, %8: !llvm.ptr, %9: i64) -> i1
    attributes {llvm.emit_c_interface, moss.c_interface = {name = "my_f", source = "f", parameters = [
      {kind = "tensor", name = "x", type = "tensor<?x8xbf16>"}, {kind = "scalar", name = "scale", type = "bf16"},
      {kind = "result", name = "result0", type = "tensor<f32>"}, {kind = "scalar-result", name = "result1", type = "i1"}]}} {
  %true = llvm.mlir.constant(true) : i1
  llvm.return %true : i1
}
// CHECK:      llvm.func internal @_mlir_ciface_f(
// CHECK-NOT:    moss.c_interface
llvm.func @_mlir_ciface_f(%x: !llvm.ptr, %scale: bf16, %r: !llvm.ptr) -> i1
    attributes {llvm.emit_c_interface, moss.c_interface = {name = "my_f", source = "f", parameters = []}} {
  %true = llvm.mlir.constant(true) : i1
  llvm.return %true : i1
}

// Several results come in memory; a function on the host's memory says so.
// CHECK:      llvm.func internal @two_thunk(
// CHECK:        %[[MEMORY:.*]] = llvm.alloca {{.*}} x !llvm.struct<(f32, i64)>
// CHECK:        llvm.call @_mlir_ciface_two(%[[MEMORY]]) : (!llvm.ptr) -> ()
// CHECK:        %[[ALL:.*]] = llvm.load %[[MEMORY]]
// CHECK:        llvm.extractvalue %[[ALL]][0]
// CHECK:        llvm.extractvalue %[[ALL]][1]
// CHECK:      llvm.mlir.global internal constant @two_description()
// CHECK:        llvm.mlir.constant(2 : i32)
// CHECK:        llvm.mlir.constant(0 : i32)
llvm.func @two() -> !llvm.struct<(f32, i64)>
    attributes {moss.host, moss.c_interface = {name = "two", source = "two", parameters = [
      {kind = "scalar-result", name = "result0", type = "f32"}, {kind = "scalar-result", name = "result1", type = "index"}]}} {
  %undefined = llvm.mlir.undef : !llvm.struct<(f32, i64)>
  llvm.return %undefined : !llvm.struct<(f32, i64)>
}
llvm.func @_mlir_ciface_two(%results: !llvm.ptr) {
  llvm.return
}
