; Stands in for the function by which a host tells its version of LLVM.
define void @LLVMGetVersion(ptr %major, ptr %minor, ptr %patch) {
  store i32 19, ptr %major
  store i32 1, ptr %minor
  store i32 0, ptr %patch
  ret void
}
