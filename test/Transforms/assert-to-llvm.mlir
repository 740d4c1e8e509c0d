// RUN: moss-opt %s --moss-assert-to-llvm | FileCheck %s
// RUN: moss-opt %s --moss-assert-to-llvm=handler=report | FileCheck %s --check-prefix=HANDLER

// RUN: moss-opt %s --moss-assert-to-llvm="handler=report comparison-handler=compare" | FileCheck %s --check-prefix=COMPARE

// COMPARE-DAG: llvm.func @compare(!llvm.ptr, i64, i64)
// COMPARE-LABEL: func @asserts(
// COMPARE:         llvm.call @report(
// COMPARE-LABEL: func @equal(
// COMPARE-SAME:      %[[A:.*]]: index, %[[B:.*]]: index)
// COMPARE:         scf.if
// COMPARE:           %[[TEXT:.*]] = llvm.getelementptr
// COMPARE-DAG:       %[[LEFT:.*]] = arith.index_cast %[[A]] : index to i64
// COMPARE-DAG:       %[[RIGHT:.*]] = arith.index_cast %[[B]] : index to i64
// COMPARE:           llvm.call @compare(%[[TEXT]], %[[LEFT]], %[[RIGHT]])

// HANDLER-DAG: llvm.mlir.global internal constant @moss_assert_message("first differs\00")
// HANDLER-DAG: llvm.func @report(!llvm.ptr)
// HANDLER-LABEL: func @asserts(
// HANDLER:         scf.if
// HANDLER:           %[[TEXT:.*]] = llvm.getelementptr
// HANDLER-NEXT:      llvm.call @report(%[[TEXT]]) : (!llvm.ptr) -> ()
// HANDLER-NEXT:    }

// CHECK-DAG: llvm.mlir.global internal constant @moss_assert_message("first differs\0A")
// CHECK-DAG: llvm.mlir.global internal constant @moss_assert_message_0("second differs\0A")
// CHECK-DAG: llvm.func @write(i32, !llvm.ptr, i64) -> i64
// CHECK-DAG: llvm.func @abort()

// CHECK-LABEL: func @asserts(
// CHECK-SAME:      %[[OK:.*]]: i1)
// CHECK:         %[[FAILS:.*]] = arith.xori %[[OK]], %{{.*}} : i1
// CHECK:         scf.if %[[FAILS]] {
// CHECK:           %[[LENGTH:.*]] = arith.constant 14 : i64
// CHECK:           llvm.call @write(%{{.*}}, %{{.*}}, %[[LENGTH]])
// CHECK:           llvm.call @abort()
// CHECK:         }
// CHECK:         scf.if
func.func @asserts(%ok: i1) {
  cf.assert %ok, "first differs"
  cf.assert %ok, "second differs"
  return
}

func.func @equal(%a: index, %b: index) {
  %ok = arith.cmpi eq, %a, %b : index
  cf.assert %ok, "extents differ"
  return
}

// CHECK-LABEL: gpu.func @kernel(
// CHECK:         cf.assert
gpu.module @m {
  gpu.func @kernel(%ok: i1) kernel {
    cf.assert %ok, "in a kernel"
    gpu.return
  }
}
