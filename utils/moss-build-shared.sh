#!/bin/sh
# Build a shared library from a lowered module (LLVM dialect and gpu.binary),
# for a machine that has an NVIDIA driver but no LLVM.
#
#   moss-opt model.mlir --moss-fp8-lower ... \
#     | utils/moss-build-shared.sh - out/model.so
#
# libmoss_runtime.so is copied beside the library, which looks for it there. So
# the folder can be taken elsewhere as a whole, and functions with a C wrapper
# can be called from C or Python (ctypes) as _mlir_ciface_<name>, with a pointer
# to a memref descriptor for each memref. In a module compiled for a GPU these
# describe device memory.
#
# Environment: MOSS_BUILD_DIR, where Moss was built or installed (default: where
# this script is, or the folder build beside its folder); CLANG (default:
# clang-22); CFLAGS (default: -O2).
set -eu

if [ $# -ne 2 ]; then
  echo "usage: $0 <lowered module, or -> <output.so>" >&2
  exit 2
fi
input=$1
output=$2
here=$(dirname "$0")
# An installation has the script beside its tools.
if [ -e "$here/moss-translate" ]; then default=$here/..; else default=$here/../build; fi
build=${MOSS_BUILD_DIR:-$default}
clang=${CLANG:-clang-22}

for needed in "$build/bin/moss-translate" "$build/lib/libmoss_runtime.so"; do
  if [ ! -e "$needed" ]; then
    echo "$0: there is no $needed; build Moss, or set MOSS_BUILD_DIR" >&2
    exit 1
  fi
done

folder=$(dirname "$output")
mkdir -p "$folder"
ir=$(mktemp)
trap 'rm -f "$ir"' EXIT
"$build/bin/moss-translate" --mlir-to-llvmir "$input" -o "$ir"
cp "$build/lib/libmoss_runtime.so" "$folder/"
# Without undefined symbols, so that a module that was not lowered in full
# fails here and not where it is loaded.
# shellcheck disable=SC2086 # CFLAGS holds several words.
"$clang" ${CFLAGS:--O2} -Wno-override-module -shared -fPIC -x ir "$ir" \
  -o "$output" -L"$folder" -lmoss_runtime -lm -Wl,-z,defs \
  -Wl,-rpath,'$ORIGIN'
