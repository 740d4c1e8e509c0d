# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile programs of 10, 100 and 1,000 matmuls of ten shapes, and check what it costs.

The number of kernels must depend on the number of shapes only. Time must not grow
faster than the program: it is the compiler's CPU time, since others use the machine too.
"""

import argparse
import re
import resource
import subprocess
import sys

SHAPES = [(256 + 128 * i, 512, 384 + 64 * i) for i in range(10)]
COUNTS = (10, 100, 1000)
# Ten times the ops; more than that for jitter. Quadratic growth is far beyond.
MAX_GROWTH = 15

LAYER = """
  %e{i} = tensor.empty() : tensor<{m}x{n}xf32>
  %f{i} = linalg.fill ins(%zero : f32) outs(%e{i} : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %r{i} = linalg.matmul ins(%x{i}, %w{i} : tensor<{m}x{k}xbf16>, tensor<{k}x{n}xbf16>)
      outs(%f{i} : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %y{i} = linalg.generic {{indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (b)>,
                                           affine_map<(a, b) -> (a, b)>],
                          iterator_types = ["parallel", "parallel"]}}
      ins(%r{i}, %bias : tensor<{m}x{n}xf32>, tensor<{n}xf32>) outs(%e{i} : tensor<{m}x{n}xf32>) {{
  ^bb0(%in: f32, %b: f32, %old: f32):
    %biased = arith.addf %in, %b : f32
    %relu = arith.maximumf %biased, %zero : f32
    linalg.yield %relu : f32
  }} -> tensor<{m}x{n}xf32>
"""


def make_function(name, layers):
    """A function of layers with bias and ReLU, whose operands are arguments."""
    arguments, types, body = ["%bias: tensor<512xf32>"], [], ""
    for i in layers:
        m, n, k = SHAPES[i % len(SHAPES)]
        arguments += [f"%x{i}: tensor<{m}x{k}xbf16>", f"%w{i}: tensor<{k}x{n}xbf16>"]
        types.append(f"tensor<{m}x{n}xf32>")
        body += LAYER.format(i=i, m=m, n=n, k=k)
    results = ", ".join(f"%y{i}" for i in layers)
    return (f"func.func @{name}({', '.join(arguments)}) -> ({', '.join(types)}) {{\n"
            f"  %zero = arith.constant 0.0 : f32{body}  return {results} : {', '.join(types)}\n}}\n")


def make_program(count, form):
    if form == "one-function":
        return make_function("f", range(count))
    return "".join(make_function(f"f{i}", [i]) for i in range(count))


def compile_program(program, command):
    """The output of a command and its CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, input=program, stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def count_kernels(output):
    return len(re.findall(rb"^ *gpu\.binary @|moss\.shared", output, re.MULTILINE))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=["one-function", "many-functions"])
    parser.add_argument("target")
    parser.add_argument("--object", action="store_true",
                        help="time machine code by moss-compile, and count no kernels")
    args = parser.parse_args()
    command = ["moss-opt", f"--moss-fp8-lower=target={args.target}"]
    if args.object:
        command = ["moss-compile", "-", "--emit=obj", "-o", "-", f"--target={args.target}"]
    times = []
    for count in COUNTS:
        program = make_program(count, args.form).encode()
        output, seconds = compile_program(program, command)
        times.append(seconds)
        if count == COUNTS[1] and compile_program(program, command)[0] != output:
            sys.exit("error: the same program was compiled to something else")
        if not args.object:
            print(f"{count} matmuls: {count_kernels(output)} kernels")
        print(f"{count} matmuls: {seconds:.2f} s", file=sys.stderr)
    if times[2] > MAX_GROWTH * times[1]:
        sys.exit(f"error: 1,000 matmuls take {times[2] / times[1]:.1f} times as long as 100")


if __name__ == "__main__":
    main()
