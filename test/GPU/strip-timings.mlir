// RUN: moss-opt %s --moss-strip-timings | FileCheck %s

// CHECK: gpu.binary @k [#gpu.object<#nvvm.target, properties = {O = 3 : i32}, assembly = "x">]
gpu.binary @k [#gpu.object<#nvvm.target, properties = {LLVMIRToISATimeInMs = 9 : i64, O = 3 : i32}, assembly = "x">]

// CHECK: gpu.binary @plain [#gpu.object<#nvvm.target, bin = "x">]
gpu.binary @plain [#gpu.object<#nvvm.target, bin = "x">]
