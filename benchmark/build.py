#!/usr/bin/env python3
"""Compile the kernels that run.py measures.

    benchmark/build.py OUT [--shapes 8192x4096x4096,...] [--modes schemes]

For each shape M x N x K and each mode (schemes and accumulation), writes to OUT

- NAME.cubin and NAME.ptx, the kernel of one moss.scaled_matmul under the schemes of
  its mode, BF16 out;
- an entry of kernels.json: its launch (grid, block, shared memory) and, in
  order, its arguments, which run.py fills in.

With --quantize, also a shared library for each shape, which quantizes its operands
under each scheme. OUT is all that run.py needs on the machine with the GPU.

Needs a built Moss and CUDA's ptxas, with --quantize also clang, but no GPU. Fails if
ptxas reports spills or serializes wgmma.
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

# The schemes of an operand: type of its micro scales, rows and columns of a
# group (0: all), whether it has a global scale. None is BF16, without quantization.
TENSOR = {"micro": None, "group": None, "global": True}
ROWS = {"micro": "f8E8M0FNU", "group": [1, 0], "global": True}
K128 = {"micro": "f8E8M0FNU", "group": [1, 128], "global": True}
K32 = {"micro": "f8E8M0FNU", "group": [1, 32], "global": True}
MX = {"micro": "f8E8M0FNU", "group": [1, 32], "global": False}
GROUPS = {"micro": "f32", "group": [1, 128], "global": False}
BLOCKS = {"micro": "f32", "group": [128, 128], "global": False}
# mode: schemes of the left and right operand, accumulation.
MODES = {
    "fast": (ROWS, TENSOR, "fast"),
    "promoted": (ROWS, TENSOR, "promoted(128)"),
    "per-tensor": (TENSOR, TENSOR, "promoted(128)"),
    "two-level-k128": (K128, TENSOR, "promoted(128)"),
    "two-level-k128-both": (K128, K128, "promoted(128)"),
    "two-level-k32": (K32, TENSOR, "promoted(128)"),
    "per-group": (GROUPS, BLOCKS, "promoted(128)"),
    "per-group-both": (GROUPS, GROUPS, "promoted(128)"),
    "mx": (MX, MX, "promoted(128)"),
    "bf16": (None, None, "fast"),
}
SCHEDULE = ("tile", "stages", "consumers", "raster", "blocks")
MODE_SETS = {"default": "fast,promoted,bf16",
             "schemes": "fast,promoted,per-tensor,two-level-k128,two-level-k128-both,"
                        "per-group,per-group-both"}
MODE_SETS["report"] = MODE_SETS["schemes"] + ",bf16,two-level-k32,mx"


def scheme_text(scheme):
    """The scheme as an attribute."""
    if scheme is None:
        return "#moss.scheme<bf16, global = unit>"
    parts = ["f8E4M3FN"]
    if scheme["micro"]:
        group = ", ".join(str(extent or "full") for extent in scheme["group"])
        parts += [f"micro = {scheme['micro']}", f"group = [{group}]"]
    parts.append(f"global = {'jit' if scheme['global'] else 'unit'}")
    if scheme["micro"]:
        parts.append("rounding = ceil")
    return f"#moss.scheme<{', '.join(parts)}>"


def scales_type(scheme, rows, K):
    """The type of the micro scales of an operand. Those that change along K are laid
    out as kernels of every vendor want them: those of single rows with rows adjacent,
    others in rows of whole units of 16 bytes."""
    outer, inner = scheme["group"]
    shape = [-(-rows // outer), -(-K // inner) if inner else 1]
    layout = ""
    if inner:
        unit = 4 if scheme["micro"] == "f32" else 16
        pitch = -(-shape[outer > 1] // unit) * unit
        layout = f", strided<[{pitch}, 1]>" if outer > 1 else f", strided<[1, {pitch}]>"
    return f"memref<{shape[0]}x{shape[1]}x{scheme['micro']}{layout}>"


def parameters_of(side, scheme, rows, K):
    """The buffers of one operand: (name, type), payload first."""
    if scheme is None:
        return [(side, f"memref<{rows}x{K}xbf16>")]
    found = [(side, f"memref<{rows}x{K}xf8E4M3FN>")]
    if scheme["micro"]:
        found.append((side + "_micro", scales_type(scheme, rows, K)))
    if scheme["global"]:
        found.append((side + "_global", "memref<f32>"))
    return found


def source_of(shape, mode):
    """One matmul, and the names by which run.py knows its parameters."""
    M, N, K = shape
    lhs, rhs, accumulate = MODES[mode]
    operands, parameters = "", []
    for side, scheme, rows in (("lhs", lhs, M), ("rhs", rhs, N)):
        found = parameters_of(side, scheme, rows, K)
        parameters += found
        operands += f"{side}({scheme_text(scheme)}, %{side} : {found[0][1]})"
        for name, type in found[1:]:
            operands += f" {name[len(side) + 1:]}(%{name} : {type})"
        operands += "\n    "
    parameters.append(("out", f"memref<{M}x{N}xbf16>"))
    arguments = ", ".join(f"%{name}: {type}" for name, type in parameters)
    text = (f"func.func @gemm({arguments}) {{\n"
            f"  moss.scaled_matmul #moss.accumulate<{accumulate}>\n    {operands}"
            f"outs(%out : {parameters[-1][1]})\n  return\n}}\n")
    return text, [name for name, _ in parameters]


def quantizer_source(name, side, scheme, rows, K):
    """A function that quantizes a BF16 operand, and the names of its parameters."""
    found = parameters_of(side, scheme, rows, K)
    source = f"memref<{rows}x{K}xbf16>"
    arguments = "".join(f", %{part}: {type}" for part, type in found)
    operands = f"payload(%{side} : {found[0][1]})"
    for part, type in found[1:]:
        operands += f" {part[len(side) + 1:]}(%{part} : {type})"
    text = (f"func.func @{name}(%source: {source}{arguments}) {{\n"
            f"  moss.quantize {scheme_text(scheme)} ins(%source : {source})\n    {operands}\n"
            f"  return\n}}\n")
    return text, [part for part, _ in found]


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
    map = re.match(r"moss\.encode_tensor_map %(\w+) .*"
                   r"<(\d+)x(\d+)x(\w+), swizzle = (\d+)>", definition)
    if map:
        source, rows, columns, element, swizzle = map.groups()
        transposed = re.match(r"memref\.transpose %(\w+) ", definitions.get("%" + source, ""))
        source = transposed.group(1) if transposed else source
        return {"map": parameters[int(source[len("arg"):])], "box": [int(rows), int(columns)],
                "element": element, "swizzle": int(swizzle), "transposed": bool(transposed)}
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


def build_quantizers(shape, modes, options):
    """A library of the shape's quantizers. For each mode that has any, and each side: library,
    function and names of its parameters after the source."""
    M, N, K = shape
    library = f"quantize_{M}x{N}x{K}.so"
    text, functions, found = "", {}, {}
    for mode in modes:
        for side, scheme, rows in zip(("lhs", "rhs"), MODES[mode], (M, N)):
            if scheme is None:
                continue
            key = side, scheme_text(scheme)
            if key not in functions:
                name = f"{side}_{len(functions)}"
                source, parameters = quantizer_source(name, side, scheme, rows, K)
                text += source
                functions[key] = {"library": library, "function": name, "parameters": parameters}
            found.setdefault(mode, {})[side] = functions[key]
    lowered = tool("moss-opt", "--moss-fp8-lower=to=cubin", text=text)
    script = os.path.join(ROOT, "utils", "moss-build-shared.sh")
    subprocess.run([script, "-", os.path.join(options.out, library)], input=lowered, text=True,
                   check=True, env={**os.environ, "MOSS_BUILD_DIR": BUILD})
    return found


def build(shape, mode, options):
    M, N, K = shape
    name = f"{mode}_{M}x{N}x{K}"
    source, parameters = source_of(shape, mode)
    lhs, rhs, _ = MODES[mode]
    kernel = tool("moss-opt", f"--moss-fp8-lower=to=kernel {options.options}",
                  text=source)
    lowered = tool("moss-opt", f"--moss-fp8-lower=to=ptx {options.options}",
                   text=source)
    ptx = tool("moss-translate", "--moss-gpu-binary-to-ptx", text=lowered)
    assemble(ptx, os.path.join(options.out, name + ".cubin"), options.ptxas)
    schedule = re.search(r"#moss\.schedule<(.*?)>", kernel)
    print(f"{name}: {schedule.group(1) if schedule else ''}", flush=True)
    return {"name": name, "mode": mode, "shape": shape, "schemes": {"lhs": lhs, "rhs": rhs},
            **launch(kernel, parameters)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="folder to write to")
    parser.add_argument("--shapes", default=SHAPES, help="MxNxK,...")
    parser.add_argument("--modes", default="default",
                        help=f"modes ({', '.join(MODES)}), or one of {', '.join(MODE_SETS)}")
    parser.add_argument("--options", default="",
                        help=f"a schedule, as options of moss-fp8-lower: {', '.join(SCHEDULE)}")
    parser.add_argument("--quantize", action="store_true",
                        help="also compile quantization, to be timed with the matmuls")
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or
                        "/usr/local/cuda/bin/ptxas")
    options = parser.parse_args()
    for option in options.options.split():
        if option.split("=")[0] not in SCHEDULE:
            parser.error(f"--options: '{option}' is not of the schedule; schemes and accumulation "
                         "are those of --modes")
    modes, kernels = MODE_SETS.get(options.modes, options.modes).split(","), []
    for mode in modes:
        if mode not in MODES:
            parser.error(f"--modes: '{mode}' is neither of {', '.join(MODES)} nor, alone, of "
                         f"{', '.join(MODE_SETS)}")
    shapes = []
    for shape in options.shapes.split(","):
        if not re.fullmatch(r"\d+x\d+x\d+", shape):
            parser.error(f"--shapes: '{shape}' is not MxNxK")
        shapes.append([int(extent) for extent in shape.split("x")])
    os.makedirs(options.out, exist_ok=True)
    for shape in shapes:
        quantizers = build_quantizers(shape, modes, options) if options.quantize else {}
        for mode in modes:
            kernels.append(build(shape, mode, options))
            if mode in quantizers:
                kernels[-1]["quantize"] = quantizers[mode]
    with open(os.path.join(options.out, "kernels.json"), "w") as file:
        json.dump(kernels, file, indent=1)


if __name__ == "__main__":
    main()
