#!/usr/bin/env python3
"""Measure Moss's kernels against PyTorch's, side by side.

    benchmark/run.py FOLDER [--shapes ...] [--json results.json]

FOLDER is what build.py wrote. Needs a Hopper GPU, PyTorch and cuda-bindings.
README.md explains the competitors and the two regimes, burst and hot.
"""

import argparse
import copy
import ctypes
import datetime
import json
import math
import os
import random
import statistics
import sys

import torch
from cuda.bindings import driver as cuda

import quantization
from libraries import SCHEME_COMPETITORS, bf16_call, scaled_mm_call

E4M3, BF16 = torch.float8_e4m3fn, torch.bfloat16
GRAPH_MS = 1.0
GAP_MS = 20.0
ROTATE_BYTES = 192e6
# (ratio of, to): what the table compares.
RATIOS = [("moss fast", "torch fast"), ("moss promoted", "torch precise"),
          ("moss fast", "torch bf16"), ("moss promoted", "torch bf16"),
          ("moss bf16", "torch bf16"),
          ("moss per-group", "torch blocks"), ("moss per-group", "torch bf16"),
          ("moss per-group", "deepgemm blocks"), ("moss per-group-both", "deepgemm groups"),
          ("moss per-group-both", "torch groups"),
          ("moss per-tensor", "torch precise"),
          ("moss two-level-k128", "moss per-group"),
          ("moss two-level-k128-both", "moss per-group-both")]


def check(result):
    """The value of a driver call, which must have succeeded."""
    status, *values = result
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise RuntimeError(status)
    return values[0] if len(values) == 1 else values


# ---------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------


def group_extents(scheme, shape):
    """Rows and columns of a micro group, whole extents resolved."""
    rows, columns = scheme["group"] if scheme["micro"] else (0, 0)
    return rows or shape[0], columns or shape[1]


def lay_out(micro, scheme):
    """Micro scales as build.py's scales_type says."""
    if micro is None or not scheme["group"][1]:
        return micro
    is_transposed = scheme["group"][0] == 1
    rows = micro.t() if is_transposed else micro
    pitch = -(-rows.shape[1] // 16) * 16 if micro.dtype == torch.uint8 else -(-rows.shape[1] // 4) * 4
    padded = rows.new_empty(rows.shape[0], pitch)
    view = padded[:, :rows.shape[1]]
    view.copy_(rows)
    return view.t() if is_transposed else view


def spread(scales, scheme, shape):
    """The scale of every element, from that of its group."""
    rows, columns = group_extents(scheme, shape)
    spread = scales.repeat_interleave(rows, 0).repeat_interleave(columns, 1)
    return spread[:shape[0], :shape[1]]


def group_amax(x, scheme):
    """The largest magnitude of each group."""
    rows, columns = group_extents(scheme, x.shape)
    padded = torch.nn.functional.pad(
        x.abs(), (0, -x.shape[1] % columns, 0, -x.shape[0] % rows))
    return padded.unflatten(0, (-1, rows)).unflatten(2, (-1, columns)).amax((1, 3)).float()


def quantize(x, scheme):
    """Payload, micro scales as stored (or None) and global scale."""
    scale = torch.ones((), device=x.device)
    if scheme is None:
        return x, None, scale
    if scheme["global"]:
        scale = x.abs().max().float() / 448
    if scheme["micro"] is None:
        return (x.float() / scale).clamp(-448, 448).to(E4M3), None, scale
    ratio = group_amax(x, scheme) / (scale * 448)
    if scheme["micro"] == "f32":
        stored = value = ratio
    else:
        exponent = torch.ceil(torch.log2(ratio)).clamp(-127, 127)
        stored, value = (exponent + 127).to(torch.uint8), torch.exp2(exponent)
    payload = x.float() / scale / spread(value, scheme, x.shape)
    return payload.clamp(-448, 448).to(E4M3), stored, scale


def dequantize(payload, micro, scale, scheme):
    """What an operand stands for, in float64."""
    value = payload.double() * scale.double()
    if micro is None:
        return value
    factors = micro.double() if scheme["micro"] == "f32" else torch.exp2(micro.double() - 127)
    return value * spread(factors, scheme, payload.shape)


class Operands:
    """One set of inputs of every competitor, and an output."""

    def __init__(self, M, N, K):
        self.bf16 = {"lhs": torch.randn(M, K, device="cuda", dtype=BF16),
                     "rhs": torch.randn(N, K, device="cuda", dtype=BF16)}
        self.out = torch.empty(M, N, device="cuda", dtype=BF16)
        self.quantized = {}

    def fresh(self):
        """The same numbers and output, with quantized operands of its own."""
        other = copy.copy(self)
        other.quantized = {}
        return other

    def get(self, side, scheme):
        """Payload, micro scales and global scale of an operand."""
        key = side, json.dumps(scheme, sort_keys=True)
        if key not in self.quantized:
            payload, micro, scale = quantize(self.bf16[side], scheme)
            self.quantized[key] = payload, lay_out(micro, scheme), scale
        return self.quantized[key]

    def buffer(self, name, schemes):
        """The tensor of a kernel's parameter."""
        if name == "out":
            return self.out
        side, _, part = name.partition("_")
        return self.get(side, schemes[side])[["", "micro", "global"].index(part)]

    def reference(self, rows, schemes):
        """The first rows of the product of what the operands stand for."""
        lhs, rhs = (dequantize(*self.get(side, schemes[side]), schemes[side])
                    for side in ("lhs", "rhs"))
        return lhs[:rows] @ rhs.t()


# ---------------------------------------------------------------------------
# Moss's kernels
# ---------------------------------------------------------------------------


class TensorMap(ctypes.Structure):
    """CUtensorMap, as a kernel argument by value."""
    _fields_ = [("bytes", ctypes.c_uint8 * 128)]


def encode_map(tensor, argument):
    """The tensor map that `argument` asks for. FP8 is copied as bytes."""
    types = cuda.CUtensorMapDataType
    dtype = {"f8E4M3FN": types.CU_TENSOR_MAP_DATA_TYPE_UINT8,
             "f8E8M0FNU": types.CU_TENSOR_MAP_DATA_TYPE_UINT8,
             "f32": types.CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
             "bf16": types.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16}[argument["element"]]
    kind = f"{argument['swizzle']}B" if argument["swizzle"] else "NONE"
    swizzle = getattr(cuda.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{kind}")
    if argument["transposed"]:
        tensor = tensor.t()
    (rows, columns), (box_rows, box_columns) = tensor.shape, argument["box"]
    encoded = check(cuda.cuTensorMapEncodeTiled(
        dtype, 2, tensor.data_ptr(),
        [cuda.cuuint64_t(columns), cuda.cuuint64_t(rows)],
        [cuda.cuuint64_t(tensor.stride(0) * tensor.element_size())],
        [cuda.cuuint32_t(box_columns), cuda.cuuint32_t(box_rows)],
        [cuda.cuuint32_t(1), cuda.cuuint32_t(1)],
        cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
    value = TensorMap()
    ctypes.memmove(ctypes.addressof(value), encoded.getPtr(), 128)
    return value


def memref(tensor):
    """A memref descriptor, field by field, as MLIR passes it to kernels."""
    pointer = tensor.data_ptr()
    return [ctypes.c_uint64(field)
            for field in (pointer, pointer, 0, *tensor.shape, *tensor.stride())]


def launch_arguments(kernel, operands):
    """What each parameter of the kernel is given, in order."""
    values = []
    for argument in kernel["arguments"]:
        if "memref" in argument:
            values += memref(operands.buffer(argument["memref"], kernel["schemes"]))
        elif "map" in argument:
            values.append(encode_map(operands.buffer(argument["map"], kernel["schemes"]), argument))
        else:
            integer = ctypes.c_uint32 if argument["bits"] == 32 else ctypes.c_uint64
            values.append(integer(argument["integer"]))
    return values


class MossKernel:
    """A cubin, ready to be launched on any set of operands of its shape."""

    def __init__(self, folder, kernel):
        self.kernel = kernel
        with open(os.path.join(folder, kernel["name"] + ".cubin"), "rb") as file:
            self.module = check(cuda.cuModuleLoadData(file.read()))
        self.function = check(cuda.cuModuleGetFunction(
            self.module, kernel["function"].encode()))
        check(cuda.cuFuncSetAttribute(
            self.function,
            cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            kernel["shared"]))

    def bind(self, operands):
        """A function that launches on these operands, on the current stream."""
        kernel = self.kernel
        values = launch_arguments(kernel, operands)
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.addressof(value) for value in values])

        # `values` and `operands` are named here so that they live as long.
        def call(values=values, operands=operands):
            check(cuda.cuLaunchKernel(
                self.function, kernel["grid"], 1, 1, kernel["block"], 1, 1,
                kernel["shared"], torch.cuda.current_stream().cuda_stream,
                ctypes.addressof(pointers), 0))

        return call


# ---------------------------------------------------------------------------
# Competitors
# ---------------------------------------------------------------------------


class Competitor:
    """A name, and one call for each set of operands, captured in a graph."""

    def __init__(self, name, calls):
        self.name, self.calls, self.times = name, calls, []

    def capture(self, stream):
        """About GRAPH_MS of calls, in whole rotations over the operands."""
        milliseconds = self.estimate(stream)
        rotations = max(1, math.ceil(GRAPH_MS / (milliseconds * len(self.calls))))
        self.count = rotations * len(self.calls)
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            self.graph.capture_begin(capture_error_mode="thread_local")
            for i in range(self.count):
                self.calls[i % len(self.calls)]()
            self.graph.capture_end()
        self.replay()
        torch.cuda.synchronize()

    def estimate(self, stream):
        """Milliseconds of one call, roughly. Also warms everything up."""
        start, end = events()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for call in self.calls:
                call()
            start.record()
            for call in self.calls:
                call()
            end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / len(self.calls)

    def replay(self):
        """Replay the graph between two events, which are returned."""
        start, end = events()
        start.record()
        self.graph.replay()
        end.record()
        return start, end


def scheme_competitors(sets):
    """Those of SCHEME_COMPETITORS that are installed, offer these shapes and are right."""
    found = []
    for name, (make, lhs, rhs) in SCHEME_COMPETITORS.items():
        try:
            calls = [make(operands) for operands in sets]
            error = relative_error(calls[0](), sets[0], {"lhs": lhs, "rhs": rhs})
            if not error < 1e-2:
                raise ValueError(f"wrong result, relative error {error:.3g}")
        except (AttributeError, RuntimeError, ValueError) as error:
            print(f"  without {name}: {str(error).splitlines()[0]}")
        else:
            found.append(Competitor(name, calls))
    return found


def competitors(folder, kernels, sets):
    found = [
        Competitor("torch bf16", [bf16_call(s) for s in sets]),
        Competitor("torch fast", [scaled_mm_call(s, True) for s in sets]),
        Competitor("torch precise", [scaled_mm_call(s, False) for s in sets]),
    ]
    if {kernel["mode"] for kernel in kernels} - {"fast", "promoted"}:
        found += scheme_competitors(sets)
    for kernel in kernels:
        loaded = MossKernel(folder, kernel)
        name = "moss " + kernel["mode"]
        found.append(Competitor(name, [loaded.bind(s) for s in sets]))
        found += [Competitor(name + suffix, calls) for suffix, calls in
                  quantization.calls(folder, kernel, loaded, sets)]
    return found


def relative_error(result, operands, schemes):
    """Relative Frobenius error against float64 of 256 rows; NaN if any is not finite."""
    rows = min(256, result.shape[0])
    reference = operands.reference(rows, schemes)
    error = ((result[:rows].double() - reference).norm() / reference.norm()).item()
    return error if result.isfinite().all() else math.nan


def check_result(kernel, competitor, operands):
    """The kernel's relative error; fatal if large."""
    operands.out.fill_(float("nan"))
    competitor.calls[0]()
    torch.cuda.synchronize()
    error = relative_error(operands.out, operands, kernel["schemes"])
    if not error < 1e-2:
        sys.exit(f"{kernel['name']}: wrong result, relative error {error:.3g}")
    return error


# ---------------------------------------------------------------------------
# Measuring
# ---------------------------------------------------------------------------


def events():
    return (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))


def idle(milliseconds):
    """Keep the stream waiting while almost all of the GPU is idle."""
    torch.cuda._sleep(int(milliseconds * 1.98e6))


def measure(entrants, rounds, gap, order):
    """Fill `times` of every entrant: microseconds of a call, one each round."""
    pending = []
    for _ in range(rounds):
        shuffled = list(entrants)
        order.shuffle(shuffled)
        for entrant in shuffled:
            if gap:
                idle(gap)
            pending.append((entrant, *entrant.replay()))
    torch.cuda.synchronize()
    for entrant in entrants:
        entrant.times = []
    for entrant, start, end in pending:
        entrant.times.append(start.elapsed_time(end) * 1e3 / entrant.count)


def measure_burst(entrants, options, order):
    measure(entrants, options.rounds, GAP_MS, order)


def measure_hot(entrants, options, order):
    """Back to back; the first half only brings the GPU to its power limit."""
    round_seconds = sum(statistics.median(e.times) * e.count for e in entrants) * 1e-6
    rounds = max(2 * options.rounds, math.ceil(options.hot_seconds / round_seconds))
    measure(entrants, rounds, 0, order)
    for entrant in entrants:
        entrant.times = entrant.times[len(entrant.times) // 2:]


def summarize(entrants, flops):
    """TFLOP/s by the median, and the spread of the middle half, by name."""
    result = {}
    for entrant in entrants:
        low, median, high = statistics.quantiles(entrant.times, n=4)
        result[entrant.name] = {"tflops": flops / median * 1e-6,
                                "spread": (high - low) / median}
    return result


def print_row(title, regime, summary):
    values = "  ".join(f"{name} {entry['tflops']:.0f}" for name, entry in summary.items())
    ratios = "  ".join(
        f"{a}/{b} {summary[a]['tflops'] / summary[b]['tflops']:.3f}"
        for a, b in RATIOS if a in summary and b in summary)
    spread = max(entry["spread"] for entry in summary.values())
    print(f"{title} {regime:5}  {values}  |  {ratios}  |  spread {spread:.1%}", flush=True)


def run_shape(shape, kernels, options, order):
    M, N, K = shape
    one = M * K + N * K + 2 * M * N
    sets = [Operands(M, N, K) for _ in range(max(2, math.ceil(ROTATE_BYTES / one)))]
    entrants = competitors(options.folder, kernels, sets)
    by_name = {entrant.name: entrant for entrant in entrants}
    errors = {kernel["mode"]: check_result(kernel, by_name["moss " + kernel["mode"]], sets[0])
              for kernel in kernels}
    stream = torch.cuda.Stream()
    for entrant in entrants:
        entrant.capture(stream)
    title = f"{M}x{N}x{K}"
    print(f"{title} relative error: " +
          "  ".join(f"moss {mode} {error:.2e}" for mode, error in errors.items()))
    result = {"shape": shape, "errors": errors}
    # Quantization draws less power than matmuls, so it is not hot where they are.
    quantizing = [e for e in entrants if e.name.endswith(tuple(quantization.SIDES))]
    matmuls = [e for e in entrants if e not in quantizing]
    turns = [("burst", measure_burst, entrants), ("hot", measure_hot, matmuls)]
    if quantizing:
        turns.append(("hot, quantizing", measure_hot, [by_name["torch bf16"], *quantizing]))
    for regime, function, chosen in turns:
        function(chosen, options, order)
        result[regime] = summarize(chosen, 2 * M * N * K)
        print_row(title, regime, result[regime])
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="what build.py wrote")
    parser.add_argument("--shapes", help="MxNxK,... (default: all in the folder)")
    parser.add_argument("--rounds", type=int, default=12, help="of the burst regime")
    parser.add_argument("--hot-seconds", type=float, default=0.8,
                        help="least length of the hot regime of a shape")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="file to write the results to")
    options = parser.parse_args()
    with open(os.path.join(options.folder, "kernels.json")) as file:
        kernels = json.load(file)
    shapes = list(dict.fromkeys(tuple(kernel["shape"]) for kernel in kernels))
    if options.shapes:
        shapes = [tuple(map(int, s.split("x"))) for s in options.shapes.split(",")]
    torch.manual_seed(options.seed)
    order = random.Random(options.seed)
    where = {"device": torch.cuda.get_device_name(), "pytorch": torch.__version__,
             "cuda": torch.version.cuda, "date": datetime.date.today().isoformat()}
    print(f"{', '.join(where.values())}; TFLOP/s, medians")
    results = []
    for shape in shapes:
        chosen = [kernel for kernel in kernels if tuple(kernel["shape"]) == shape]
        results.append(run_shape(shape, chosen, options, order))
        torch.cuda.empty_cache()
        if options.json:
            with open(options.json, "w") as file:
                json.dump({**where, "shapes": results}, file, indent=1)


if __name__ == "__main__":
    main()
