// RUN: moss-opt %s --moss-inline-shared-ops --split-input-file --verify-diagnostics

// expected-error @below {{is marked 'moss.shared', but is not a private function of one block without results}}
func.func @public() attributes {moss.shared} {
  return
}

// -----

func.func private @shared() attributes {moss.shared} {
  return
}
func.func @f() -> (() -> ()) {
  // expected-error @below {{refers to @shared, which can only be called}}
  %f = func.constant @shared : () -> ()
  return %f : () -> ()
}
