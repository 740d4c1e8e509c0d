// RUN: split-file %s %t
// RUN: not moss-translate %t/empty.mlir --moss-gpu-binary-to-ptx 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not moss-translate %t/two.mlir --moss-gpu-binary-to-ptx 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not moss-translate %t/two.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=none 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not moss-translate %t/two.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=first --moss-ptx-object=3 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OBJECT
// RUN: not moss-translate %t/cubin.mlir --moss-gpu-binary-to-ptx 2>&1 | FileCheck %s --check-prefix=CUBIN

// The messages stand alone: the ops that they are about hold all the PTX.
// EMPTY: error: the module has no gpu.binary; run moss-opt --moss-fp8-lower, or gpu-module-to-binary with format=isa, first
// TWO: error: the module has 2 gpu.binary ops; select one with --moss-ptx-binary: 'first', 'second'
// TWO-NOT: gpu.object
// NAME: error: the module has no gpu.binary named 'none', but 'first', 'second'
// OBJECT: error: gpu.binary 'first' has 1 objects, so there is no object 3
// CUBIN: error: object 0 of gpu.binary 'cubin' holds bin, not assembly; compile with to=ptx, or gpu-module-to-binary with format=isa

//--- empty.mlir
module {}

//--- two.mlir
gpu.binary @first [#gpu.object<#nvvm.target, assembly = "">]
gpu.binary @second [#gpu.object<#nvvm.target, assembly = "">]

//--- cubin.mlir
gpu.binary @cubin [#gpu.object<#nvvm.target, bin = "">]
