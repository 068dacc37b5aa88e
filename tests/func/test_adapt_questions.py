"""What programs ask of a value before they take a branch: in adapted code the answer is that of NumPy."""

import collections.abc
import numbers
import typing

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

AT = np.array([1.5, 2.5, -0.5])

VALUES = {
    "an element": lambda x: x[0],
    "a sum": lambda x: np.sum(x),
    "an expression": lambda x: x[0] * 2 - 0.5 * x[1],
    "a comparison": lambda x: x[0] > 0,
    "a position": lambda x: np.argmax(x),
    "an array": lambda x: x * 1,
    "a matrix": lambda x: x.reshape(1, 3),
    "a mask": lambda x: x > 0,
}

QUESTIONS = {
    **{
        f"isinstance(v, {kind})": (lambda v, kind=kind: isinstance(v, kind))
        for kind in (
            np.ndarray, (list, np.ndarray), float, int, bool, (int, float), int | float, np.generic, np.floating,
            np.integer, np.bool_, np.number, numbers.Number, numbers.Real, numbers.Integral, collections.abc.Iterable,
            collections.abc.Sized, collections.abc.Sequence, collections.abc.Container,
            typing.SupportsFloat, str,
        )
    },
    **{
        f"hasattr(v, {name!r})": (lambda v, name=name: hasattr(v, name))
        for name in (
            "__len__", "__iter__", "__call__", "__dict__", "shape", "dtype", "values", "name", "numpy", "detach",
            "grad", "requires_grad", "to_numpy", "index", "is_integer", "toarray", "tolist", "real", "T", "fill",
        )
    },
    "getattr(v, 'values', 0)": lambda v: getattr(v, "values", 0) == 0,
    "getattr(v, 'ndim', 7)": lambda v: getattr(v, "ndim", 7),
    "np.isscalar(v)": np.isscalar,
    "np.iterable(v)": np.iterable,
    "type(v) is float": lambda v: type(v) is float,
    "type(v) is np.ndarray": lambda v: type(v) is np.ndarray,
    "type(v) in (np.float64, float)": lambda v: type(v) in (np.float64, float),
}  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_answers_are_those_of_numpy(value):
    def answers(x):
        v = VALUES[value](x)
        return {name: ask(v) for name, ask in QUESTIONS.items()}

    found = {}

    def function(x):
        found.update(answers(x))
        return x.sum()

    pb.func.grad(pb.func.adapt(function))(AT)
    assert found == answers(AT)


def test_a_number_is_no_sequence_for_a_program_that_asks():
    def squares(v):
        return sum(squares(part) for part in v) if isinstance(v, collections.abc.Iterable) else v * v

    def halves(v):
        return v / 2 if isinstance(v, numbers.Number) else [halves(part) for part in v]

    gradient = pb.func.grad(pb.func.adapt(lambda x: squares(x) + sum(halves(x)) + x[0].is_integer()))(AT)
    assert_close(gradient, 2 * AT + 0.5)


def test_tensors_are_known_by_their_own_class_too():
    assert pb.func.adapt(lambda x: isinstance(x[0], pb.Tensor) and isinstance(x, (list, pb.Tensor)))(pb.tensor(AT))
