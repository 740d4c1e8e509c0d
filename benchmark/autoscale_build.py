#!/usr/bin/env python3
"""Compile what autoscale_run.py measures: the cost of scales of weights.

    benchmark/autoscale_build.py OUT [--rows 11008] [--columns 16384] [--weights 200]

Writes shared libraries and shape.json to OUT, which is all that autoscale_run.py
needs on the machine with the GPU. Needs a built Moss and clang, but neither a GPU
nor CUDA. Environment: MOSS_BUILD_DIR (default: build in this project).
"""

import argparse
import json
import os
import subprocess

from build import BUILD, ROOT, tool

UPDATE = """
#rule = #moss.scale_rule<#moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1>, f8E4M3FN, master = f32>
func.func @update(%lr: f64, %t: i64, %scales: tensor<{N}xf32>, %state: tensor<{N}x3xf64>)
    -> (tensor<{N}xf32>, tensor<{N}x3xf64>) {{
  %0:2 = moss.next_scale [#rule] rows [{N}] lr(%lr : f64) step(%t)
    outs(%scales, %state : tensor<{N}xf32>, tensor<{N}x3xf64>) -> tensor<{N}xf32>, tensor<{N}x3xf64>
  return %0#0, %0#1 : tensor<{N}xf32>, tensor<{N}x3xf64>
}}
"""

QUANTIZE = """
#jit = #moss.scheme<f8E4M3FN, global = jit>
#given = #moss.scheme<f8E4M3FN, global = given>
func.func @jit(%w: tensor<{R}x{C}xbf16>, %scale: tensor<f32>, %p: tensor<{R}x{C}xf8E4M3FN>)
    -> (tensor<f32>, tensor<{R}x{C}xf8E4M3FN>) {{
  %q:2 = moss.quantize #jit ins(%w : tensor<{R}x{C}xbf16>) payload(%p : tensor<{R}x{C}xf8E4M3FN>) global(%scale : tensor<f32>)
    -> tensor<{R}x{C}xf8E4M3FN>, tensor<f32>
  return %q#1, %q#0 : tensor<f32>, tensor<{R}x{C}xf8E4M3FN>
}}
func.func @jit_transposed(%w: tensor<{R}x{C}xbf16>, %scale: tensor<f32>, %p: tensor<{C}x{R}xf8E4M3FN>)
    -> (tensor<f32>, tensor<{C}x{R}xf8E4M3FN>) {{
  %q:2 = moss.quantize #jit transpose ins(%w : tensor<{R}x{C}xbf16>) payload(%p : tensor<{C}x{R}xf8E4M3FN>) global(%scale : tensor<f32>)
    -> tensor<{C}x{R}xf8E4M3FN>, tensor<f32>
  return %q#1, %q#0 : tensor<f32>, tensor<{C}x{R}xf8E4M3FN>
}}
func.func @predicted(%w: tensor<{R}x{C}xbf16>, %scale: tensor<f32>, %p: tensor<{R}x{C}xf8E4M3FN>)
    -> tensor<{R}x{C}xf8E4M3FN> {{
  %q = moss.quantize #given ins(%w : tensor<{R}x{C}xbf16>) scale(%scale : tensor<f32>) payload(%p : tensor<{R}x{C}xf8E4M3FN>)
    -> tensor<{R}x{C}xf8E4M3FN>
  return %q : tensor<{R}x{C}xf8E4M3FN>
}}
func.func @predicted_transposed(%w: tensor<{R}x{C}xbf16>, %scale: tensor<f32>, %p: tensor<{C}x{R}xf8E4M3FN>)
    -> tensor<{C}x{R}xf8E4M3FN> {{
  %q = moss.quantize #given transpose ins(%w : tensor<{R}x{C}xbf16>) scale(%scale : tensor<f32>) payload(%p : tensor<{C}x{R}xf8E4M3FN>)
    -> tensor<{C}x{R}xf8E4M3FN>
  return %q : tensor<{C}x{R}xf8E4M3FN>
}}
"""

# The update of an f32 weight, which is then quantized in both orientations.
ADAMW = """
#id = affine_map<(i, j) -> (i, j)>
#given = #moss.scheme<f8E4M3FN, global = given>
func.func @adamw(%g: tensor<{R}x{C}xf32>, %w: tensor<{R}x{C}xf32>, %m: tensor<{R}x{C}xf32>, %v: tensor<{R}x{C}xf32>,
                 %lr: f32, %c1: f32, %c2: f32, %scale: tensor<f32>, %p: tensor<{R}x{C}xf8E4M3FN>, %pt: tensor<{C}x{R}xf8E4M3FN>)
    -> (tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>, tensor<{R}x{C}xf8E4M3FN>, tensor<{C}x{R}xf8E4M3FN>) {{
  %new:3 = linalg.generic {{indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%g : tensor<{R}x{C}xf32>) outs(%w, %m, %v : tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>) {{
  ^bb0(%gi: f32, %wi: f32, %mi: f32, %vi: f32):
    %one = arith.constant 1.0 : f32
    %b1 = arith.constant 0.9 : f32
    %b2 = arith.constant 0.95 : f32
    %n1 = arith.constant 0.1 : f32
    %n2 = arith.constant 0.05 : f32
    %eps = arith.constant 1.0e-8 : f32
    %wd = arith.constant 0.1 : f32
    %m0 = arith.mulf %mi, %b1 : f32
    %m1 = arith.mulf %gi, %n1 : f32
    %m2 = arith.addf %m0, %m1 : f32
    %v0 = arith.mulf %vi, %b2 : f32
    %gg = arith.mulf %gi, %gi : f32
    %v1 = arith.mulf %gg, %n2 : f32
    %v2 = arith.addf %v0, %v1 : f32
    %mh = arith.divf %m2, %c1 : f32
    %vh = arith.divf %v2, %c2 : f32
    %r = math.sqrt %vh : f32
    %d = arith.addf %r, %eps : f32
    %u = arith.divf %mh, %d : f32
    %lw = arith.mulf %lr, %wd : f32
    %keep = arith.subf %one, %lw : f32
    %kept = arith.mulf %wi, %keep : f32
    %step = arith.mulf %lr, %u : f32
    %wn = arith.subf %kept, %step : f32
    linalg.yield %wn, %m2, %v2 : f32, f32, f32
  }} -> (tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>)
{end}
}}
"""

# What follows the update: the payloads, in the same function or in their own.
PAYLOADS = """
  %q = moss.quantize #given ins({source} : tensor<{R}x{C}xf32>) scale(%scale : tensor<f32>) payload(%p : tensor<{R}x{C}xf8E4M3FN>)
    -> tensor<{R}x{C}xf8E4M3FN>
  %t = moss.quantize #given transpose ins({source} : tensor<{R}x{C}xf32>) scale(%scale : tensor<f32>) payload(%pt : tensor<{C}x{R}xf8E4M3FN>)
    -> tensor<{C}x{R}xf8E4M3FN>"""
RETURN = """
  return %new#0, %new#1, %new#2, {q}, {t} : tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>, tensor<{R}x{C}xf32>,
    tensor<{R}x{C}xf8E4M3FN>, tensor<{C}x{R}xf8E4M3FN>"""
QUANTIZE_F32 = """
func.func @payloads(%w: tensor<{R}x{C}xf32>, %scale: tensor<f32>, %p: tensor<{R}x{C}xf8E4M3FN>, %pt: tensor<{C}x{R}xf8E4M3FN>)
    -> (tensor<{R}x{C}xf8E4M3FN>, tensor<{C}x{R}xf8E4M3FN>) {{{body}
  return %q, %t : tensor<{R}x{C}xf8E4M3FN>, tensor<{C}x{R}xf8E4M3FN>
}}
"""


def build(out, name, source, before=()):
    """One shared library; `before` are options of moss-opt ahead of the pipeline."""
    lowered = os.path.join(out, name + ".mlir")
    source = tool("moss-opt", *before, text=source)
    tool("moss-opt", "--moss-fp8-lower", "-o", lowered, text=source)
    script = os.path.join(ROOT, "utils", "moss-build-shared.sh")
    subprocess.run([script, lowered, os.path.join(out, name + ".so")], check=True,
                   env={**os.environ, "MOSS_BUILD_DIR": BUILD})
    os.remove(lowered)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="folder to write to")
    parser.add_argument("--rows", type=int, default=11008)
    parser.add_argument("--columns", type=int, default=16384)
    parser.add_argument("--weights", type=int, default=200)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    shape = {"R": options.rows, "C": options.columns}
    build(options.out, "update", UPDATE.format(N=options.weights))
    build(options.out, "quantize", QUANTIZE.format(**shape))
    apart = ADAMW.format(end=RETURN.format(q="%p", t="%pt", **shape), **shape)
    apart += QUANTIZE_F32.format(body=PAYLOADS.format(source="%w", **shape), **shape)
    end = PAYLOADS.format(source="%new#0", **shape) + RETURN.format(q="%q", t="%t", **shape)
    fused = ADAMW.format(end=end, **shape)
    build(options.out, "adamw_apart", apart)
    build(options.out, "adamw_fused", fused)
    build(options.out, "adamw_both", fused, ["--moss-fuse-quantize"])
    with open(os.path.join(options.out, "shape.json"), "w") as file:
        json.dump({"weights": options.weights, **shape}, file)


if __name__ == "__main__":
    main()
