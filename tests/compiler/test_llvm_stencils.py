"""Stencils in native code: steps that write the inside of an array, of all widths, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.llvm import compile_llvm

# Shapes on both sides of the lengths from which on axes are cut at bounds.
CASES = [
    ((5,), 1), ((15,), 1), ((40,), 1), ((40,), 3), ((2100,), 2), ((7, 6), 1), ((18, 40), 1), ((40, 70), 2),
    ((40, 9), 2), ((6, 5, 7), 1), ((18, 17, 20), 1),
]  # fmt: skip


def inside(shape, reach, offsets):
    return tuple(slice(reach + k, n - reach + k) for n, k in zip(shape, offsets, strict=True))


def steps(reach, in_place, lopsided=False):
    """A function of an array and of weights, as large, that makes four steps of a stencil."""

    def f(u, w):
        u = u.copy()
        for _ in range(4):
            axes = range(len(u.shape))
            box = inside(u.shape, reach, [0] * len(u.shape))
            new = u[box] * 0.5
            for axis in axes:
                for k in (-reach, -1, 1) if lopsided else (-reach, -1, 1, reach):
                    new = new + 0.1 * u[inside(u.shape, reach, [k * (a == axis) for a in axes])] * w[box]
            if not in_place:
                u = u.copy()
            u[box] = new
        return (u * u).sum()

    return f


def gradients(function, arrays, backend, **options):
    operands = [pb.tensor(each, requires_grad=True) for each in arrays]
    value = pb.compile(function, backend=backend, fallback="raise", **options)(*operands)
    return [value.detach().numpy(), *[g.numpy() for g in pb.autograd.grad(value, operands)]]


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("shape, reach", CASES)
def test_steps_and_their_gradients_are_numpys(shape, reach, in_place):
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape), rng.standard_normal(shape)]
    function = steps(reach, in_place, lopsided=len(shape) == 2)
    for mine, theirs in zip(gradients(function, arrays, "llvm"), gradients(function, arrays, "numpy"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1:], np.s_[:-1], np.s_[2:-3, 1:-1], np.s_[3:4], np.s_[3], np.s_[:, 2:], np.s_[2:9:2], np.s_[::-1, 1:-1],
        np.s_[..., 5], np.s_[1:-1, 4:5], np.s_[:, :],
    ],
)  # fmt: skip
def test_an_update_of_any_part_leaves_the_rest_as_it_was(index):
    rng = np.random.default_rng(4)
    base, other = rng.standard_normal((20, 30)), rng.standard_normal((20, 30))

    def f(x, y):
        made = x.copy()
        made[index] = y[index] * 2 + x[index]
        return made, made * x

    for order in "CF":
        given = [pb.asarray(np.array(base, order=order)), pb.asarray(np.array(other, order=order))]
        native, plain = (pb.compile(f, backend=each, fallback="raise")(*given) for each in ("llvm", "numpy"))
        for mine, theirs in zip(native, plain, strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_infinities_stay_where_they_are():
    u = np.random.default_rng(5).standard_normal(40)
    u[[0, 20, 39]] = np.inf, np.nan, -np.inf
    arrays = [u, np.ones(40)]
    for mine, theirs in zip(
        gradients(steps(1, True), arrays, "llvm"), gradients(steps(1, True), arrays, "numpy"), strict=True
    ):
        np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(theirs))


def test_a_step_is_one_pass_over_memory():
    made = []

    def look(graph, types):
        made.append(compile_llvm(graph, types))
        return made[-1].boxed

    def gradient(u):
        def f(u):
            u = u.copy()
            for _ in range(40):
                u[1:-1] = 0.2 * u[:-2] + 0.6 * u[1:-1] + 0.2 * u[2:]
            return (u * u).sum()

        return pb.func.grad(f)(u)

    u = pb.asarray(np.random.default_rng(6).standard_normal(5000))
    found = pb.compile(gradient, backend=look, fallback="raise")(u)
    np.testing.assert_allclose(found.numpy(), gradient(u).numpy(), rtol=1e-10, atol=1e-12)
    in_steps = [kernel for kernel in made[0].kernels() if kernel["loops"] and 4000 < max(kernel["loops"]) < 5000]
    assert len([kernel for kernel in in_steps if "scan" not in kernel["operators"]]) == 2
