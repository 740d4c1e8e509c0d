"""Compare steps of the matrix unit on a GPU with their emulation, bit for bit.

usage: steps.py build <moss-opt> <moss-build-shared.sh> <folder>
       steps.py run <folder> [--dump FOLDER]

For each pair of operand types, products of 1024 x 1024 whose K is one step of
the matrix unit, or four, with the sum kept in it: a million sums each. The
operands are codes of any kind: all finite ones; all of them, NaN and infinity
too; mostly zeros, so that a few products and the zeros decide which exponent is
the largest; ones of nearly the same exponent, so that nothing is cut before the
sum is; and tiny ones, whose products and sums are subnormal, all or a few of them
other than zero. With --dump, the operands of what differs and the first rows of the
GPU's result are written.
"""

import array
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from twin import Twins, build_twins  # noqa: E402

PAIRS = {
    "e4m3": ("f8E4M3FN", "f8E4M3FN"),
    "e4m3-e5m2": ("f8E4M3FN", "f8E5M2"),
    "e5m2-e4m3": ("f8E5M2", "f8E4M3FN"),
    "e5m2": ("f8E5M2", "f8E5M2"),
    "bf16": ("bf16", "bf16"),
}
KINDS = ["finite", "all", "sparse", "close", "tiny", "few"]
# The share of zeros.
ZEROS = {"sparse": 0.9, "few": 0.75}
ROWS, STEP_BYTES, STEPS = 1024, 32, (1, 4)
DUMPED_ROWS = 64
# type: array code, fraction bits, first code without sign that is not finite, and
# the exponent fields of tiny ones
FORMATS = {"f8E4M3FN": ("B", 3, 0x7F, (0, 2)), "f8E5M2": ("B", 2, 0x7C, (0, 2)),
           "bf16": ("H", 7, 0x7F80, (40, 76))}


def columns(element, steps):
    return steps * STEP_BYTES // array.array(FORMATS[element][0]).itemsize


def source(lhs, rhs, steps):
    a, b = (f"memref<{ROWS}x{columns(t, steps)}x{t}>" for t in (lhs, rhs))
    c = f"memref<{ROWS}x{ROWS}xf32>"
    return f"""func.func @matmul(%a: {a}, %b: {b}, %c: {c}) {{
  moss.scaled_matmul #moss.accumulate<fast> lhs(#moss.scheme<{lhs}, global = unit>, %a : {a})
    rhs(#moss.scheme<{rhs}, global = unit>, %b : {b}) outs(%c : {c})
  return
}}
"""


def names(only):
    for pair in PAIRS:
        for steps in STEPS:
            name = f"steps-{pair}-{steps}"
            if not only or name in only:
                yield name, pair, steps


def build(moss_opt, build_shared, folder, *only):
    for name, pair, steps in names(only):
        build_twins(moss_opt, build_shared, folder, name, "", source(*PAIRS[pair], steps))


def draw(rng, kind, element, count):
    """Random codes."""
    code, fraction_bits, first_special, tiny = FORMATS[element]
    sign = 0x8000 if code == "H" else 0x80
    middle = first_special // 2 >> fraction_bits << fraction_bits

    def one():
        if rng.random() < ZEROS.get(kind, 0):
            return 0
        if kind in ("tiny", "few"):
            return rng.randrange(tiny[0] << fraction_bits, tiny[1] << fraction_bits)
        if kind == "close":
            return middle + rng.randrange(2 << fraction_bits)
        return rng.randrange(sign if kind == "all" else first_special)

    return array.array(code, (one() | rng.choice((0, sign)) for _ in range(count)))


def compare(twins, rng, name, pair, steps, kind, dump):
    """The number of sums that differ."""
    operands = [draw(rng, kind, t, ROWS * columns(t, steps)).tobytes() for t in PAIRS[pair]]
    shapes = [(ROWS, columns(t, steps)) for t in PAIRS[pair]] + [(ROWS, ROWS)]
    results = [twins.call(which, shapes, [*operands, bytes(4 * ROWS * ROWS)]) for which in ("gpu", "cpu")]
    if results[0] == results[1]:
        return 0
    gpu, cpu = (array.array("I", result) for result in results)
    differs = [i for i, (g, c) in enumerate(zip(gpu, cpu)) if g != c]
    i = differs[0]
    print(f"  {kind}: {len(differs)} of {len(gpu)} differ, first at ({i // ROWS}, {i % ROWS}): "
          f"GPU {gpu[i]:#x}, CPU {cpu[i]:#x}")
    if dump:
        with open(os.path.join(dump, f"{name}-{kind}"), "wb") as file:
            file.write(b"".join([*operands, results[0][:4 * DUMPED_ROWS * ROWS]]))
    return len(differs)


def run(folder, *options):
    dump = options[1] if options[:1] == ("--dump",) else None
    rng = random.Random(0)
    failures = checks = 0
    for name, pair, steps in names(()):
        twins = Twins(folder, name)
        wrong = sum(bool(compare(twins, rng, name, pair, steps, kind, dump)) for kind in KINDS)
        checks += len(KINDS)
        failures += wrong
        print(f"{name}: {'ok' if not wrong else f'{wrong} runs differ'}", flush=True)
    print(f"{checks - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(*sys.argv[2:])
    else:
        sys.exit(run(*sys.argv[2:]))
