# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scaling schemes that numerics.py compares, and programs that use them."""

FORMATS = ("f8E4M3FN", "f8E5M2")
PER_TENSOR = "per-tensor"


class Scheme:
    """Of one operand: micro scales of type `micro`, or None, for groups of
    outer x k elements, each 'full' or a number."""

    def __init__(self, micro=None, outer=1, k="full", rounding="ceil", scale="jit"):
        self.micro, self.outer, self.k = micro, outer, k
        self.rounding, self.scale = rounding, scale

    def attribute(self, element):
        if not self.micro:
            return f"#moss.scheme<{element}, global = {self.scale}>"
        return (f"#moss.scheme<{element}, micro = {self.micro}, group = [{self.outer}, {self.k}], "
                f"global = {self.scale}, rounding = {self.rounding}>")

    def groups(self, outer, k):
        def count(extent, group):
            return 1 if group == "full" else -(-extent // group)
        return f"{count(outer, self.outer)}x{count(k, self.k)}"


def power(**options):
    return Scheme("f8E8M0FNU", **options)


def real(**options):
    return Scheme("f32", scale="unit", **options)


TENSOR = Scheme()
# (left operand, right operand); weights are the right one.
SCHEMES = {
    PER_TENSOR: (TENSOR, TENSOR),
    "two-level rows": (power(), TENSOR),
    "two-level rows, nearest": (power(rounding="nearest"), TENSOR),
    "two-level rows, floor": (power(rounding="floor"), TENSOR),
    "two-level rows, both": (power(), power()),
    "two-level 32 rows": (power(outer=32), TENSOR),
    "two-level 1x128": (power(k=128), TENSOR),
    "two-level 1x128, both": (power(k=128), power(k=128)),
    "two-level 1x32": (power(k=32), TENSOR),
    "two-level 1x32, nearest": (power(k=32, rounding="nearest"), TENSOR),
    "mx": (power(k=32, rounding="floor", scale="unit"),) * 2,
    "mx, ceil": (power(k=32, scale="unit"),) * 2,
    "per-group 1x128, 128x128": (real(k=128), real(outer=128, k=128)),
    "per-group 1x128, both": (real(k=128), real(k=128)),
}


def quantized(prefix, source, scheme, name, element, outer, k):
    """Quantize memref %source of [outer, k]; the results' operands in IR."""
    shape, groups = f"{outer}x{k}", scheme.groups(outer, k)
    text = f"  %{prefix}p = memref.alloc() : memref<{shape}x{element}>\n"
    operands = f"%{prefix}p : memref<{shape}x{element}>)"
    if scheme.micro:
        text += f"  %{prefix}m = memref.alloc() : memref<{groups}x{scheme.micro}>\n"
        operands += f" micro(%{prefix}m : memref<{groups}x{scheme.micro}>)"
    if scheme.scale == "jit":
        text += f"  %{prefix}g = memref.alloc() : memref<f32>\n"
        operands += f" global(%{prefix}g : memref<f32>)"
    text += (f"  moss.quantize {name} ins({source} : memref<{shape}xbf16>)\n"
             f"    payload({operands}\n")
    return text, operands


def quantizer(operand, scheme, element, outer, k):
    """@lhs or @rhs: payload and dequantized values of an operand."""
    shape, name = f"{outer}x{k}", f"#{operand}"
    text, operands = quantized("", "%x", scheme, name, element, outer, k)
    return f"""func.func @{operand}(%x: memref<{shape}xbf16>, %codes: memref<{shape}x{element}>, %values: memref<{shape}xf32>) {{
{text}  memref.copy %p, %codes : memref<{shape}x{element}> to memref<{shape}x{element}>
  moss.dequantize {name} payload({operands} outs(%values : memref<{shape}xf32>)
  return
}}
"""


def product(function, accumulate, lhs, rhs, element, m, n, k, result):
    """A function of two BF16 operands and the result."""
    left, left_operands = quantized("a", "%x", lhs, "#lhs", element, m, k)
    right, right_operands = quantized("b", "%w", rhs, "#rhs", FORMATS[0], n, k)
    return f"""func.func @{function}(%x: memref<{m}x{k}xbf16>, %w: memref<{n}x{k}xbf16>, %y: memref<{m}x{n}x{result}>) {{
{left}{right}  moss.scaled_matmul #moss.accumulate<{accumulate}> lhs(#lhs, {left_operands}
    rhs(#rhs, {right_operands} outs(%y : memref<{m}x{n}x{result}>)
  return
}}
"""


def source(lhs, rhs, element, m, n, k, intervals=(), result="bf16"):
    """A module with @lhs, @rhs, and products: @fast and @promoted, which adds in
    FP32 every 128 of K, or one for each of the intervals."""
    text = f"#lhs = {lhs.attribute(element)}\n#rhs = {rhs.attribute(FORMATS[0])}\n"
    text += quantizer("lhs", lhs, element, m, k) + quantizer("rhs", rhs, FORMATS[0], n, k)
    functions = {"fast": "fast"}
    if intervals:
        functions |= {f"promoted_{interval}": f"promoted({interval})" for interval in intervals}
    else:
        functions["promoted"] = "promoted(128)"
    for function, accumulate in functions.items():
        text += product(function, accumulate, lhs, rhs, element, m, n, k, result)
    return text


def bf16_source(m, n, k):
    """A module with @bf16, which Moss compiles without quantization because its
    matmul is on buffers."""
    return f"""func.func @bf16(%x: memref<{m}x{k}xbf16>, %w: memref<{n}x{k}xbf16>, %y: memref<{m}x{n}xbf16>) {{
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<{m}x{n}xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<{m}x{n}xf32>)
  linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : memref<{m}x{k}xbf16>, memref<{n}x{k}xbf16>) outs(%sum : memref<{m}x{n}xf32>)
  linalg.map ins(%sum : memref<{m}x{n}xf32>) outs(%y : memref<{m}x{n}xbf16>) (%value: f32, %old: bf16) {{
    %rounded = arith.truncf %value : f32 to bf16
    linalg.yield %rounded : bf16
  }}
  return
}}
"""


def layer_source(tokens, n, k):
    """A module with @layer: of inputs x [tokens, k], weights w [n, k] and gradients
    dy [tokens, n], the outputs y [tokens, n] and the weights' gradient dw [n, k]."""
    x, w, dy = f"tensor<{tokens}x{k}xbf16>", f"tensor<{n}x{k}xbf16>", f"tensor<{tokens}x{n}xbf16>"
    y, dw = f"tensor<{tokens}x{n}xf32>", f"tensor<{n}x{k}xf32>"
    return f"""#x_w = [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (n, k)>, affine_map<(t, n, k) -> (t, n)>]
#dy_x = [affine_map<(n, k, t) -> (t, n)>, affine_map<(n, k, t) -> (t, k)>, affine_map<(n, k, t) -> (n, k)>]
func.func @layer(%x: {x}, %w: {w}, %dy: {dy}, %y: {y}, %dw: {dw}) -> ({y}, {dw}) {{
  %zero = arith.constant 0.0 : f32
  %y0 = linalg.fill ins(%zero : f32) outs(%y : {y}) -> {y}
  %y1 = linalg.matmul indexing_maps = #x_w ins(%x, %w : {x}, {w}) outs(%y0 : {y}) -> {y}
  %dw0 = linalg.fill ins(%zero : f32) outs(%dw : {dw}) -> {dw}
  %dw1 = linalg.matmul indexing_maps = #dy_x ins(%dy, %x : {dy}, {x}) outs(%dw0 : {dw}) -> {dw}
  return %y1, %dw1 : {y}, {dw}
}}
"""
