"""Say which instructions the K loop of a kernel has, by reading its PTX.

The K loop is the innermost loop around the first wgmma.mma_async. Printed are
the products, how often the loop waits for a barrier, and every other
instruction on floating-point values, each with its count.
"""

import collections
import re
import sys

# Labels inside inline assembly do not begin with $L.
LABEL = re.compile(r"^(\$L\w+):")
BRANCH = re.compile(r"^(@!?%\w+\s+)?bra(?:\.uni)?\s+(\$L\w+);")
OPCODE = re.compile(r"^(?:@!?%?\w+\s+)?([a-z][\w.:]*)\s")
FLOAT = re.compile(r"\.(b?f16(x2)?|f32(x2)?|f64|e4m3(x2)?|e5m2(x2)?)(\.|$)")


def parse(lines):
    """Blocks by label: their opcodes, and their successors."""
    opcodes, successors = collections.defaultdict(list), collections.defaultdict(set)
    block, falls_through = "entry", False
    for line in map(str.strip, lines):
        if label := LABEL.match(line):
            if falls_through:
                successors[block].add(label[1])
            block, falls_through = label[1], True
        elif branch := BRANCH.match(line):
            successors[block].add(branch[2])
            falls_through = bool(branch[1])
            if falls_through:
                # What follows a conditional branch is another block.
                successors[block].add(block + "+")
                block += "+"
        elif line.startswith("ret;"):
            falls_through = False
        elif opcode := OPCODE.match(line):
            opcodes[block].append(opcode[1])
            falls_through = True
    return opcodes, successors


def reach(edges, start):
    """The blocks that paths of at least one edge lead to."""
    seen, work = set(), [start]
    while work:
        for block in edges[work.pop()] - seen:
            seen.add(block)
            work.append(block)
    return seen


def innermost_loop(successors, block):
    """The blocks of the innermost loop around `block`; empty if there is none."""
    edges, loop = collections.defaultdict(set, successors), set()
    while True:
        cycle = {b for b in reach(edges, block) if block in reach(edges, b)}
        if not cycle:
            return loop
        loop = cycle
        headers = {s for b in list(edges) if b not in loop for s in edges[b] & loop}
        # Without the edges back to its header only the loops inside remain.
        edges = collections.defaultdict(
            set, {b: edges[b] & loop - headers for b in loop})


def main():
    opcodes, successors = parse(sys.stdin)
    product = next(b for b, names in opcodes.items()
                   if any(n.startswith("wgmma.mma_async") for n in names))
    loop = innermost_loop(successors, product)
    count = collections.Counter(n for b in loop for n in opcodes[b])
    for name in sorted(count):
        if name.startswith("wgmma.mma_async"):
            print(f"product {name}: {count[name]}")
        elif name.startswith("mbarrier.try_wait"):
            print(f"wait for a slot: {count[name]}")
        elif FLOAT.search(name):
            print(f"floating point {name}: {count[name]}")


main()
