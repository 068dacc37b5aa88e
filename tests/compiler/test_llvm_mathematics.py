"""Mathematical functions of native code, by libmvec and by expansions, against extended precision."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from pullback.compiler.llvm import compile_llvm
from pullback.compiler.loops.mathematics import FUNCTIONS
from tests.compiler.graphs import Builder, one_node, registry

RANDOM = np.random.default_rng(11)
EVERYWHERE = np.concatenate([
    RANDOM.normal(size=400), RANDOM.normal(size=300) * 30, RANDOM.uniform(-745, 709, 200),
    RANDOM.normal(size=100) * 1e-9,
    2.0 ** RANDOM.uniform(-1074, 1023, 200), -(2.0 ** RANDOM.uniform(-1074, 1023, 100)), np.arange(-40, 40) * np.pi / 2,
    RANDOM.normal(size=100) * 1e6,
])  # fmt: skip
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 710.0, -746.0, 1e308, -1e308])
UNARY = {name: name for name, operands in FUNCTIONS.items() if operands == 1 and name in registry}
EXTENDED = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
            "atanh": np.arctanh}  # fmt: skip


def native(name, x, portable):
    b = Builder(x)
    with np.errstate(all="ignore"):
        b.output(b(name, b.inputs[0]))
    return compile_llvm(b.program, portable=portable).flat(x)[0]


def exact(name, x):
    function = EXTENDED.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return function(x.astype(np.longdouble))


def ulps(out, wanted):
    """How far results are from the exact ones, in units of the last place of the nearest double."""
    with np.errstate(all="ignore"):
        nearest = wanted.astype(out.dtype)
        usual = np.isfinite(nearest) & np.isfinite(out)
        unit = np.maximum(np.spacing(np.abs(nearest[usual])), np.finfo(out.dtype).tiny * np.finfo(out.dtype).eps)
        return np.max(np.abs(out[usual].astype(np.longdouble) - wanted[usual]) / unit, initial=0)


@pytest.mark.parametrize("portable", [False, True], ids=["libmvec", "portable"])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_a_few_units_in_the_last_place(name, portable):
    wanted = exact(name, EVERYWHERE)
    limit = 5 if name == "tanh" else 4
    assert ulps(native(name, EVERYWHERE, portable), wanted) <= limit
    singles = EVERYWHERE[np.abs(EVERYWHERE) < 1e30].astype(np.float32)
    assert ulps(native(name, singles, portable), exact(name, singles)) <= 4


@pytest.mark.parametrize("portable", [False, True], ids=["libmvec", "portable"])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_ends_and_signs(name, portable):
    _, _, (wanted,) = one_node(registry[name], [SPECIAL], {})
    out = native(name, SPECIAL, portable)
    usual = np.isfinite(wanted) & (wanted != 0)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(wanted))
    np.testing.assert_array_equal(out[~usual], wanted[~usual])
    np.testing.assert_allclose(out[usual], wanted[usual], rtol=1e-14)
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(out[zero]), np.signbit(wanted[zero]))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have shorter vectors")
def test_vectors_on_the_stack_cross_no_cache_lines():
    b = Builder(np.linspace(0.0, 1.0, 4096))
    (x,) = b.inputs
    b.output(b("sum", b("add", b("multiply", b("tanh", x), x), b("exp", x)), axis=(0,)))
    assembly = compile_llvm(b.program).assembly()
    assert not re.search(r"vmovup[sd]\s+%[yz]mm\d+, -?\d*\(%r[sb]p\)", assembly)
