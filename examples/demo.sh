#!/usr/bin/env bash
# The main job on a real example, step by step: a linear layer of a 7B model from
# BF16 IR to FP8 loops and PTX for Hopper, and the same layer, scaled down, run on
# this machine's CPU and checked. The exit status tells whether all that went well.
#
# Environment: MOSS_BUILD_DIR (default: build beside this folder). The files are
# left in its folder `demo`.
set -euo pipefail

examples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${MOSS_BUILD_DIR:-$examples/../build}
llvm=/usr/lib/llvm-22
export PATH=$build/bin:$llvm/bin:$PATH
out=$build/demo
layer=$examples/llama-7b-linear.mlir
check=$examples/llama-7b-linear-check.mlir
mkdir -p "$out"

# Headings are bold on a terminal, and plain in files.
bold='' plain=''
if [ -t 1 ]; then
  bold=$'\033[1m' plain=$'\033[0m'
fi
step() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }

# A program without its comments, cut at the width of a wide screen.
show() { sed '/^ *\/\//d; /^$/d' "$1" | cut -c1-150; }

# The loops over tiles.
show_loops() { sed -n '/scf.forall/,/moss.schedule/s/^    //p' "$1" | cut -c1-150; }

# The loop over K in PTX: from the label before the first wgmma to the branch
# after it, with the lists of accumulator registers shortened.
show_k_loop() {
  awk '/^\$L.*:/ { block = ""; found = 0 }
       { block = block $0 "\n" }
       /wgmma.mma_async/ { found = 1 }
       found && /bra/ { printf "%s", block; exit }' "$1" |
    sed -E '/^$|^\t\/\/ /d; s/\{(%[a-z0-9]+), [^}]*, (%[a-z0-9]+)\}/{\1, ..., \2}/'
}

step "BF16: $layer"
show "$layer"

step 'Which tensors become FP8, and how (to=quantized)'
moss-opt --moss-fp8-lower=to=quantized "$layer" -o "$out/quantized.mlir"
show "$out/quantized.mlir"

step 'FP8 loops, naive: rescale inside the loop over K (to=loops)'
moss-opt --moss-fp8-lower=to=loops "$layer" -o "$out/loops.mlir"
show_loops "$out/loops.mlir"

step 'FP8 loops, dequantization moved out of the loop over K (to=hoisted)'
moss-opt --moss-fp8-lower=to=hoisted "$layer" -o "$out/hoisted.mlir" \
  --remark-format=emitRemark --remarks-filter='moss-hoist-dequant'
show_loops "$out/hoisted.mlir"

step 'PTX for sm_90a: the loop over K, with fast accumulation'
moss-opt --moss-fp8-lower=accumulate=fast "$layer" -o "$out/ptx.mlir"
rm -f "$out"/*.ptx
sed -nE 's/.*gpu.binary @([A-Za-z0-9_]+).*/\1/p' "$out/ptx.mlir" |
  while read -r name; do
    moss-translate --moss-gpu-binary-to-ptx --moss-ptx-binary="$name" \
      "$out/ptx.mlir" -o "$out/$name.ptx"
  done
kernel=$(grep -l wgmma.mma_async "$out"/*.ptx)
show_k_loop "$kernel"
echo "(all of it: $kernel)"

step "The scaled-down layer on this CPU, against double precision: $check"
moss-opt --moss-fp8-lower=target=cpu "$check" -o "$out/check.mlir"
mlir-runner "$out/check.mlir" -e main -entry-point-result=void \
  -shared-libs=$llvm/lib/libmlir_c_runner_utils.so
