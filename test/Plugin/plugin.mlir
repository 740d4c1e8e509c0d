// A stock mlir-opt with the plugin does what moss-opt does.
// RUN: mlir-opt %s --load-dialect-plugin=%moss_lib_dir/MossPlugin.so \
// RUN:   --pass-pipeline='builtin.module(moss-expand-rescale)' -o %t.plugin
// RUN: moss-opt %s --pass-pipeline='builtin.module(moss-expand-rescale)' -o %t.opt
// RUN: diff %t.plugin %t.opt
// RUN: FileCheck %s < %t.plugin
// Both flags together register everything once.
// RUN: mlir-opt %s --load-dialect-plugin=%moss_lib_dir/MossPlugin.so \
// RUN:   --load-pass-plugin=%moss_lib_dir/MossPlugin.so \
// RUN:   --pass-pipeline='builtin.module(moss-expand-rescale)' | diff - %t.opt
// moss-opt holds the dialect already, and takes the plugin without complaint.
// RUN: moss-opt %s --load-dialect-plugin=%moss_lib_dir/MossPlugin.so | FileCheck %s
// Without the plugin the dialect is unknown.
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=STOCK

// STOCK: Dialect `moss' not found

// CHECK-LABEL: func @tiles
// CHECK: moss.mma
func.func @tiles(%a: vector<16x32xf8E4M3FN>, %b: vector<8x32xf8E4M3FN>,
                 %c: vector<16x8xf32>, %s: f32) -> vector<16x8xf32> {
  %p = moss.mma %a, %b, %c : vector<16x32xf8E4M3FN>, vector<8x32xf8E4M3FN>, vector<16x8xf32>
  %r = moss.rescale %p by(%s) : vector<16x8xf32>
  return %r : vector<16x8xf32>
}
