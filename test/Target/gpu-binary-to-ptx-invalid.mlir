// RUN: moss-translate %s --moss-gpu-binary-to-ptx -split-input-file -verify-diagnostics
// RUN: not moss-translate %s --moss-gpu-binary-to-ptx --moss-ptx-binary=none -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME
// RUN: not moss-translate %s --moss-gpu-binary-to-ptx --moss-ptx-object=3 -split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OBJECT

// NAME: has no gpu.binary named 'none'
// OBJECT: has 1 objects, so there is no object 3

// expected-error @+1 {{has no gpu.binary; run gpu-module-to-binary with format=isa first}}
module {}

// -----

// expected-error @+1 {{has 2 gpu.binary ops; select one with --moss-ptx-binary}}
module {
  // expected-note @+1 {{there is 'first'}}
  gpu.binary @first [#gpu.object<#nvvm.target, assembly = "">]
  // expected-note @+1 {{there is 'second'}}
  gpu.binary @second [#gpu.object<#nvvm.target, assembly = "">]
}

// -----

module {
  // expected-error @+1 {{object 0 holds bin, not assembly; run gpu-module-to-binary with format=isa}}
  gpu.binary @cubin [#gpu.object<#nvvm.target, bin = "">]
}
