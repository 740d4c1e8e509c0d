#!/usr/bin/env python3
"""Compile the kernels that run.py measures.

    benchmark/build.py OUT [--shapes 8192x4096x4096,...] [--modes fast,promoted,per-group,bf16]

For each shape M x N x K and each mode, writes to OUT

- NAME.cubin and NAME.ptx, the kernel of one moss.scaled_matmul with a BF16 result: for
  fast and promoted accumulation the left operand under row micro scales and a
  global scale, the right one under one scale; for per-group FP32 scales of 1 x 128 of
  the left one and 128 x 128 of the right one; for bf16 the unquantized operands;
- an entry of kernels.json: its launch (grid, block, shared memory) and, in
  order, its arguments, which run.py fills in.

Needs a built Moss and CUDA's ptxas, but no GPU. OUT is all that run.py needs on
the machine with the GPU. Fails if ptxas reports spills or serializes wgmma.
Environment: MOSS_BUILD_DIR (default: build in this project).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

SHAPES = ("8192x4096x4096,8192x22016x4096,8192x4096x11008,4096x4096x4096,"
          "8192x8192x8192,4096x7168x16384,4096x24576x1536")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("MOSS_BUILD_DIR", os.path.join(ROOT, "build"))

SOURCE = """\
#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<f8E4M3FN, global = jit>
func.func @gemm(%lhs: memref<{M}x{K}xf8E4M3FN>, %micro: memref<{M}x1xf8E8M0FNU>,
                %lhs_global: memref<f32>, %rhs: memref<{N}x{K}xf8E4M3FN>,
                %rhs_global: memref<f32>, %out: memref<{M}x{N}xbf16>) {{
  moss.scaled_matmul #moss.accumulate<{accumulate}>
    lhs(#row, %lhs : memref<{M}x{K}xf8E4M3FN>) micro(%micro : memref<{M}x1xf8E8M0FNU>)
      global(%lhs_global : memref<f32>)
    rhs(#tensor, %rhs : memref<{N}x{K}xf8E4M3FN>) global(%rhs_global : memref<f32>)
    outs(%out : memref<{M}x{N}xbf16>)
  return
}}
"""
BF16_SOURCE = """\
#bf16 = #moss.scheme<bf16, global = unit>
func.func @gemm(%lhs: memref<{M}x{K}xbf16>, %rhs: memref<{N}x{K}xbf16>,
                %out: memref<{M}x{N}xbf16>) {{
  moss.scaled_matmul #moss.accumulate<{accumulate}>
    lhs(#bf16, %lhs : memref<{M}x{K}xbf16>) rhs(#bf16, %rhs : memref<{N}x{K}xbf16>)
    outs(%out : memref<{M}x{N}xbf16>)
  return
}}
"""
GROUP_SOURCE = """\
#group = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
#block = #moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>
func.func @gemm(%lhs: memref<{M}x{K}xf8E4M3FN>, %lhs_micro: memref<{M}x{groupsK}xf32>,
                %rhs: memref<{N}x{K}xf8E4M3FN>, %rhs_micro: memref<{groupsN}x{groupsK}xf32>,
                %out: memref<{M}x{N}xbf16>) {{
  moss.scaled_matmul #moss.accumulate<{accumulate}>
    lhs(#group, %lhs : memref<{M}x{K}xf8E4M3FN>) micro(%lhs_micro : memref<{M}x{groupsK}xf32>)
    rhs(#block, %rhs : memref<{N}x{K}xf8E4M3FN>) micro(%rhs_micro : memref<{groupsN}x{groupsK}xf32>)
    outs(%out : memref<{M}x{N}xbf16>)
  return
}}
"""
# The names by which run.py knows the functions' parameters.
PARAMETERS = ["lhs", "micro", "lhs_global", "rhs", "rhs_global", "out"]
GROUP_PARAMETERS = ["group_lhs", "group_micro", "block_rhs", "block_micro", "out"]
BF16_PARAMETERS = ["bf16_lhs", "bf16_rhs", "out"]
# mode: module, parameters and accumulation
MODES = {
    "fast": (SOURCE, PARAMETERS, "fast"),
    "promoted": (SOURCE, PARAMETERS, "promoted(128)"),
    "per-group": (GROUP_SOURCE, GROUP_PARAMETERS, "promoted(128)"),
    "bf16": (BF16_SOURCE, BF16_PARAMETERS, "fast"),
}


def tool(name, *arguments, text):
    """The output of a tool of Moss, given `text`."""
    command = [os.path.join(BUILD, "bin", name), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[:2000]}")
    return done.stdout


def describe(value, definitions, type, parameters):
    """One kernel argument: a tensor map, a memref or an integer."""
    if value.startswith("%arg"):
        return {"memref": parameters[int(value[len("%arg"):])]}
    definition = definitions[value]
    map = re.match(r"moss\.encode_tensor_map %arg(\d+) .*"
                   r"<(\d+)x(\d+)x(\w+), swizzle = (\d+)>", definition)
    if map:
        source, rows, columns, element, swizzle = map.groups()
        return {"map": parameters[int(source)], "box": [int(rows), int(columns)],
                "element": element, "swizzle": int(swizzle)}
    constant = re.match(r"arith\.constant (-?\d+) :", definition)
    if constant and type in ("index", "i64", "i32"):
        return {"integer": int(constant.group(1)), "bits": 32 if type == "i32" else 64}
    sys.exit(f"cannot launch with {value} = {definition}")


def launch(kernel, parameters):
    """The launch in the host function of `kernel`, Moss's IR of that level."""
    host = kernel[kernel.index("func.func"):]
    definitions = dict(re.findall(r"(%\w+) = (.*)", host))
    found = re.search(
        r"gpu\.launch_func\s+@\w+::@(\w+) blocks in \((%\w+), .*?\) threads in "
        r"\((%\w+), .*?\)\s+dynamic_shared_memory_size (%\w+) args\((.*)\)", host)
    name, blocks, threads, shared, arguments = found.groups()

    def number(value):
        return int(re.match(r"arith\.constant (\d+)", definitions[value]).group(1))

    arguments = re.findall(r"(%\w+) : ([^%]+?)(?:, (?=%)|$)", arguments)
    return {"function": name, "grid": number(blocks), "block": number(threads),
            "shared": number(shared),
            "arguments": [describe(v, definitions, t, parameters) for v, t in arguments]}


def assemble(ptx, output, ptxas):
    """PTX to a cubin; an error if the kernel is not what it should be."""
    source = os.path.splitext(output)[0] + ".ptx"
    with open(source, "w") as file:
        file.write(ptx)
    done = subprocess.run([ptxas, "-arch=sm_90a", "-v", "-o", output, source],
                          capture_output=True, text=True)
    report = done.stdout + done.stderr
    spills = re.findall(r"(\d+) bytes spill", report)
    if done.returncode or any(map(int, spills)) or "serializ" in report:
        sys.exit(f"{output}:\n{report}")


def build(shape, mode, options):
    M, N, K = shape
    name = f"{mode}_{M}x{N}x{K}"
    module, parameters, accumulate = MODES[mode]
    source = module.format(M=M, N=N, K=K, groupsN=-(-N // 128), groupsK=-(-K // 128),
                           accumulate=accumulate)
    kernel = tool("moss-opt", f"--moss-fp8-lower=to=kernel {options.options}",
                  text=source)
    lowered = tool("moss-opt", f"--moss-fp8-lower=to=ptx {options.options}",
                   text=source)
    ptx = tool("moss-translate", "--moss-gpu-binary-to-ptx", text=lowered)
    assemble(ptx, os.path.join(options.out, name + ".cubin"), options.ptxas)
    schedule = re.search(r"#moss\.schedule<(.*?)>", kernel)
    print(f"{name}: {schedule.group(1) if schedule else ''}", flush=True)
    return {"name": name, "mode": mode, "shape": shape, **launch(kernel, parameters)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="folder to write to")
    parser.add_argument("--shapes", default=SHAPES, help="MxNxK,...")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--options", default="",
                        help="more options of moss-fp8-lower, as a schedule")
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or
                        "/usr/local/cuda/bin/ptxas")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    kernels = [build([int(extent) for extent in shape.split("x")], mode, options)
               for shape in options.shapes.split(",")
               for mode in options.modes.split(",")]
    with open(os.path.join(options.out, "kernels.json"), "w") as file:
        json.dump(kernels, file, indent=1)


if __name__ == "__main__":
    main()
