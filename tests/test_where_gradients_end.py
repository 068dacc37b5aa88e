"""`docs/design/where-gradients-end.md`: every row of its tables happens as it says."""

import array
import cmath
import copy
import decimal
import functools
import io
import json
import math
import operator
import pickle
import re
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback.interop import DetachedWarning
from pullback.interop._conversion import is_attached

PAGE = (Path(__file__).parents[1] / "docs" / "design" / "where-gradients-end.md").read_text()
ROWS = re.findall(r"^\| `(.+)` \| (recorded|refused|warned|asked for|constant) \|$", PAGE, re.MULTILINE)
VALUES = {"x": np.array([0.3, 0.8]), "p": np.array(0.6), "z": np.array([1 + 2j, 0.5 - 1j])}
MODULES = {
    each.__name__: each
    for each in (array, cmath, copy, decimal, functools, io, json, math, operator, pickle, struct)
}  # fmt: skip


class Square(pb.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return 2 * t * ctx.saved_tensors[0]


class SquareOfArray(Square):
    @staticmethod
    def forward(x):
        return x.numpy() ** 2


class SumOfArray(Square):
    @staticmethod
    def forward(x):
        return np.sum(x.numpy() ** 2)

    @staticmethod
    def jvp(ctx, t):
        return (2 * t * ctx.saved_tensors[0]).sum()


class SumAsFloat(SumOfArray):
    @staticmethod
    def forward(x):
        return float(x.sum())


class Product(Square):
    @staticmethod
    def forward(parts):
        return parts[0] * parts[1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


class Parts(Square):
    @staticmethod
    def forward(x):
        return [x[0] * 2, x[1] * 3]

    @staticmethod
    def jvp(ctx, t):
        return None


def namespace(operands):
    scipy = {}
    if any("scipy" in code for code, _ in ROWS):
        import scipy.integrate
        import scipy.linalg
        import scipy.optimize
        import scipy.sparse
        import scipy.special
        import scipy.stats
    functions = {each.__name__: each for each in (Square, SquareOfArray, SumOfArray, SumAsFloat, Product, Parts)}
    return {"np": np, "pb": pb, "scipy": scipy, **MODULES, **functions, **operands}


def run(code, operands):
    """The value of the last statement: of an expression, or of the name that it assigns."""
    names = namespace(operands)
    block, _, inner = code.partition(": ") if code.startswith("with ") else ("", "", "")
    if block:
        exec(f"{block}:\n    {inner}", names)
        return names["y"]
    *before, last = code.split("; ")
    for statement in before:
        exec(statement, names)
    try:
        compiled = compile(last, "row", "eval")
    except SyntaxError:
        exec(last, names)
        return names["out"]
    return eval(compiled, names)


def tensors(value):
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in tensors(part)]
    return [value] if isinstance(value, pb.Tensor) else []


def leaves():
    return {name: pb.tensor(value, requires_grad=True) for name, value in VALUES.items()}


def duals(visit):
    """Call `visit` with operands that carry tangents."""
    names = list(VALUES)

    def body(*operands):
        visit(dict(zip(names, operands, strict=True)))
        return operands[0].sum()

    primals = tuple(pb.tensor(value) for value in VALUES.values())
    pb.func.jvp(body, primals, tuple(pb.ones_like(each) for each in primals))


def of(*outcomes):
    return pytest.mark.parametrize("code", [code for code, outcome in ROWS if outcome in outcomes])


def quietly(code, operands):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("error", DetachedWarning)
        return run(code, operands)


def observed(parts):
    """The sum of all real and imaginary parts."""
    return sum((part.real + part.imag if part.dtype.kind == "c" else part).sum() for part in parts)


DIRECTIONS = {"x": np.ones(2), "p": np.ones(()), "z": np.full(2, 1 - 0.5j)}


def difference(code, step):
    """The central difference of what a row gives, computed on constants."""

    def moved(size):
        found = quietly(code, {name: pb.tensor(value + size * DIRECTIONS[name]) for name, value in VALUES.items()})
        return observed([np.asarray(part) for part in tensors(found) or [found]])

    return (moved(step) - moved(-step)) / (2 * step)


@of("recorded")
def test_what_is_recorded_has_the_right_gradient_on_the_tape_and_in_transforms(code):
    def loss(*operands):
        return observed(tensors(quietly(code, dict(zip(VALUES, operands, strict=True)))))

    operands = leaves()
    on_tape = pb.autograd.grad(loss(*operands.values()), list(operands.values()), allow_unused=True)
    transformed = pb.func.grad(loss, argnums=(0, 1, 2))(*map(pb.tensor, VALUES.values()))
    is_single = "float32" in code
    expected = difference(code, 1e-3 if is_single else 1e-6)
    for gradients in (on_tape, transformed):
        along = sum(
            np.sum(gradient.numpy().conj() * DIRECTIONS[name]).real
            for name, gradient in zip(VALUES, gradients, strict=True)
            if gradient is not None
        )
        np.testing.assert_allclose(along, expected, rtol=1e-2 if is_single else 1e-5, atol=1e-6)


@of("recorded")
def test_what_is_recorded_carries_tangents(code):
    def carries(operands):
        assert any(is_attached(part) for part in tensors(quietly(code, operands)))

    duals(carries)


@of("refused")
def test_what_is_refused_raises_on_the_tape_and_in_forward_mode(code):
    errors = (TypeError, ValueError, BufferError, RuntimeError, np.linalg.LinAlgError)
    with pytest.raises(errors):
        quietly(code, leaves())

    def is_refused(operands):
        with pytest.raises(errors):
            quietly(code, operands)

    if "deepcopy" not in code:  # a copy keeps its tangent
        duals(is_refused)


@of("warned")
def test_a_value_that_leaves_is_warned_about(code):
    with pytest.warns(DetachedWarning):
        run(code, leaves())

    def warns(operands):
        with pytest.warns(DetachedWarning):
            run(code, operands)

    duals(warns)


@of("asked for", "constant")
def test_what_was_asked_for_and_what_has_no_derivative_is_a_constant(code):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(part.requires_grad for part in tensors(run(code, leaves())))


@of("constant")
def test_what_has_no_derivative_is_a_whole_number_a_truth_value_or_text(code):
    found = run(code, leaves())
    parts = tensors(found) or [found]
    assert all(isinstance(part, (int, str, tuple, bool)) or np.asarray(part).dtype.kind in "biu" for part in parts)


def test_the_page_has_rows_for_every_outcome():
    assert len(ROWS) > 120 and {outcome for _, outcome in ROWS} == {
        "recorded", "refused", "warned", "asked for", "constant",
    }  # fmt: skip
    # Nothing in the tables of code escapes the pattern.
    assert len(ROWS) == len(re.findall(r"^\| `", PAGE, re.MULTILINE))
