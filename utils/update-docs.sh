#!/bin/sh
# Generate the reference of the dialect and the passes from TableGen.
#
#   utils/update-docs.sh [output folder]     (default: docs/generated)
#
# A test compares the result with what is committed.
# Environment: MLIR_TBLGEN (default: the one of LLVM 22, or of the PATH).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
output=${1:-$root/docs/generated}
PATH=/usr/lib/llvm-22/bin:$PATH
tblgen=${MLIR_TBLGEN:-mlir-tblgen}
mlir_include=$(dirname "$(dirname "$(command -v "$tblgen")")")/include

generate() {
  # The marker of a table of contents means nothing to most readers' tools.
  "$tblgen" "$@" -I "$root/include" -I "$mlir_include" | sed '/^\[TOC\]$/,+1d'
}

mkdir -p "$output"
generate -gen-dialect-doc -dialect=moss \
  "$root/include/moss/IR/MossKernelOps.td" > "$output/Dialect.md"
for area in Transforms CPU GPU; do
  generate -gen-pass-doc "$root/include/moss/$area/Passes.td" \
    > "$output/${area}Passes.md"
done
