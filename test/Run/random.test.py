"""What random.test has made."""

import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
import npy


def values(name):
    shape, floats = npy.read_floats(f"{sys.argv[1]}/{name}.npy")
    assert shape == (64, 3)
    return floats


normal, positive, cancelling = values("0"), values("positive"), values("cancelling")
mean = sum(normal) / len(normal)
deviation = math.sqrt(sum((v - mean) ** 2 for v in normal) / len(normal))
# Five standard errors of 192 numbers.
assert abs(mean) < 0.36 and 0.74 < deviation < 1.26, (mean, deviation)
assert [abs(v) for v in normal] == positive
assert all(a == -b and 0.7 < a < 1.3 for a, b in zip(cancelling[::2], cancelling[1::2]))
# On every machine.
assert normal[:4] == [0.2080078125, 0.255859375, -0.83203125, 0.6796875], normal[:4]
