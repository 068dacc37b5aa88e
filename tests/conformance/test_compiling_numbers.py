"""Cases 1 to 34 of `compiling-anything.md`: numbers among the arguments.

A case is a function, the numbers that it is called with in turn, and how many captures they may need.
"""

from __future__ import annotations

import functools
import json
import math
import struct
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import check_same, leaf, outcome

FLOATS = [0.5, 2.0, -1.25, 3.3, 0.1, 7.0]
INTS = [2, 3, 4, -1, 2]


def normalised(x, s):
    eps = s + 1e-3
    return (x - x.mean()) / pb.sqrt(x.var() + eps)


def nested(x, s):
    return x * s["a"] + s["b"]["c"] * s["b"]["d"][0]


def with_default(x, s=2.0, t=0.5):
    return x * s + t


def chosen(x, s):
    return x * s if s > 0.1 else x - s


def by_type(x, s):
    return x * 2 if type(s) is float else x * 3


def repeated(x, n):
    for k in range(n):
        x = x * (k + 1)
    return x


def scaled(x, s):
    return x * s


CASES: dict[str, tuple[Any, list[Any], int]] = {
    "001 a thousand floats": (scaled, [float(k) / 7 for k in range(1000)], 1),
    "002 ints": (scaled, INTS, 1),
    "003 float64": (scaled, [np.float64(each) for each in FLOATS], 1),
    "003 float32": (lambda x, s: x.astype(np.float32) * s, [np.float32(each) for each in FLOATS], 1),
    "003 float64 with float32": (lambda x, s: x.astype(np.float32) * s, [np.float64(each) for each in FLOATS], 1),
    "004 complex": (lambda x, s: (x * s).real, [1 + 2j, 3j, -1 + 0.5j], 1),
    "005 not finite": (lambda x, s: (x * s, s), [math.nan, math.inf, -math.inf, -0.0, 0.0], 1),
    "006 an int after a float": (scaled, [1.5, 2, 2.5, 3], 2),
    "007 math": (lambda x, s: math.sqrt(abs(s)) * x, FLOATS, 1),
    "008 NumPy": (lambda x, s: np.exp(s) * x, FLOATS, 1),
    "009 division by zero": (lambda x, s: (s + 1) / (s - 1) * x, [2.0, 3.0, 1.0, 2.0], 1),
    "010 large": (lambda x, s: x * float(2**s % 1000003), [5, 5000, 70, 5], 3),
    "010 too large": (lambda x, s: x * 2**s, [5, 5000, 70, 5], 1),
    "011 a branch": (chosen, FLOATS, 2),
    "012 range": (repeated, [3, 4, 5, 3], 3),
    "013 reshape": (lambda x, n: x.reshape(n, -1), [2, 3, 1, 6, 4, 2], 5),
    "014 exponents": (lambda x, s: pb.abs(x) ** s, [2.0, 0.5, 3.3, 2.0, 1.7], 4),
    "015 bounds": (lambda x, s: pb.clip(x, -s, s), [0.5, 1.0, 0.1, 3.0], 1),
    "015 bounds of NumPy": (lambda x, s: np.clip(x, -s, s), [0.5, 1.0, 0.1, 3.0], 1),
    "016 eps": (normalised, [0.5, 1e-3, 0.1], 1),
    "017 a key": (lambda x, s: x * {s: 3}[s], [0.5, 1.5, 0.5], 2),
    "018 a text": (lambda x, s: (x * 2, f"{s:.2f}"), [0.5, 1.5, 0.5], 2),
    "019 isinstance": (lambda x, s: x * s if isinstance(s, float) else x, [0.5, 1.5, 2], 2),
    "019 type": (by_type, [0.5, 1.5, 2], 3),
    "020 a float comes back": (lambda x, s: (x, s * 2, s + 1), FLOATS, 1),
    "021 struct": (lambda x, s: x * struct.unpack("d", struct.pack("d", s))[0], [0.5, 1.5, 0.5], 2),
    "021 json": (lambda x, s: (x * s, json.dumps([s])), [0.5, 1.5, 0.5], 2),
    "022 a dict": (nested, [{"a": k, "b": {"c": k * 2, "d": [k + 1]}} for k in FLOATS], 1),
    "024 static": (functools.partial(scaled), [0.5, 1.5, 0.5], 2),
    "025 max": (lambda x, s: max(s, 1.0) * x + min(2.0, s), FLOATS, 3),
    "026 an index": (lambda x, s: x[round(s)] + x[int(s)], [0.6, 1.6, 2.2, 0.6], 3),
    "027 float32 stays": (lambda x, s: x.astype(np.float32) * s, FLOATS, 1),
    "031 sum": (lambda x, s: sum([s, s]) * x, FLOATS, 1),
    "032 bool": (lambda x, s: x * 2 if s else x * 3, [True, False, True], 2),
}


@pytest.mark.parametrize("name", CASES)
def test_001_to_032_numbers(name):
    """Cases 27 and 30, the dtype and the gradient for each number, are in every comparison."""
    function, numbers, captures = CASES[name]
    compiled = pb.compile(function, fallback="raise", backend="numpy", static=("s",) if "static" in name else ())
    for s in numbers:
        make = lambda s=s: (leaf([0.5, -1.5, 2.0, 1.0, 3.0, -0.25]), s)
        check_same(outcome(compiled, make), outcome(function, make), (name, s))
    assert compiled.cache_info().misses <= captures


def test_023_033_defaults_and_partials():
    partial = functools.partial(with_default, t=0.25)
    for function in (with_default, partial, lambda x: functools.partial(scaled, s=0.5)(x)):
        compiled = pb.compile(function, fallback="raise", backend="numpy")
        for _ in range(3):
            check_same(outcome(compiled, lambda: (leaf([1.0, 2.0]),)), outcome(function, lambda: (leaf([1.0, 2.0]),)))
        assert compiled.cache_info().misses == 1
    compiled = pb.compile(with_default, fallback="raise", backend="numpy")
    found = [compiled(pb.ones(1), *given).item() for given in ((), (3.0,), (4.0, 1.0), (5.0,))]
    assert found == [2.5, 3.5, 5.0, 5.5] and compiled.cache_info().misses == 3  # structures


def test_024_28_static_and_unused_numbers_are_explained():
    def f(x, s, n, unused):
        return x * s + n

    compiled = pb.compile(f, static=("n", 1), backend="numpy")
    found = compiled.explain(pb.ones(2), 0.5, 3, 7).data["numbers"]
    assert [(each["name"], each["kind"]) for each in found] == [("s", "pinned"), ("n", "pinned"), ("unused", "unused")]


def test_029_30_gradients_beside_numbers():
    function = pb.func.grad(lambda x, s: (pb.sin(x * s)).sum())
    compiled = pb.compile(function, fallback="raise", backend="numpy")
    part = pb.func.grad(pb.compile(lambda x, s: (pb.sin(x * s)).sum(), fallback="raise", backend="numpy"))
    for s in FLOATS:
        x = pb.tensor([0.5, 2.0])
        for found in (compiled(x, s), part(x, s)):
            np.testing.assert_allclose(found.numpy(), s * np.cos(s * x.numpy()))
    assert compiled.cache_info().misses == 1


def test_034_scipy_passes_numbers_of_numpy():
    optimize = pytest.importorskip("scipy.optimize")
    compiled = pb.compile(lambda t, k: pb.cos(t) - k * t, fallback="raise", backend="numpy")
    for k in (1.0, 0.5, 2.0):
        root = optimize.brentq(lambda t, k=k: compiled(np.float64(t), k).item(), 0.0, 2.0)
        assert abs(math.cos(root) - k * root) < 1e-9
    assert compiled.cache_info().misses <= 3


class _Held:
    k = 1.0


_K = 1.0


@pytest.mark.parametrize("place", ["closure", "args", "item", "attribute", "global"])
def test_002_a_number_that_a_solver_s_callback_finds_is_never_stale(place):
    """A node of the graph calls the callback, and has no operands for numbers: the capture is for them."""
    optimize = pytest.importorskip("pullback.scipy.optimize")
    held = _Held()
    cubic = lambda t, a: t**3 + a * t - 1

    def f(x, s):
        if place == "args":
            return x * optimize.brentq(cubic, 0.0, 2.0, args=(s,))
        if place == "attribute":
            return x * optimize.brentq(lambda t: cubic(t, held.k), 0.0, 2.0)
        if place == "global":
            return x * optimize.brentq(lambda t: cubic(t, _K), 0.0, 2.0)
        a = s if place == "closure" else x[0].item()
        return x * optimize.brentq(lambda t: cubic(t, a), 0.0, 2.0)

    global _K
    compiled = pb.compile(f, backend="numpy")
    for k in (1.0, 2.0, 3.0, 1.5):
        held.k = _K = k
        x = pb.tensor([k, 1.0])
        np.testing.assert_allclose(compiled(x, k).numpy(), f(x, k).numpy())
