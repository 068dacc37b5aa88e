"""Every public function does under `vmap` what a loop does, in value and in gradient, or says why it cannot.

The calls are those of the reference (docs/_ext/example_calls.txt); nothing here knows a particular function, except
for the few whose results have a shape or a dtype that depends on values.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import pullback as pb
from docs._ext.examples import table
from pullback.autograd import AutogradError
from pullback.testing import assert_close

DATA_DEPENDENT = {
    "apply_where", "argwhere", "flatnonzero", "intersect1d", "nonzero", "piecewise", "polydiv", "real_if_close",
    "roots", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique", "unique_all", "unique_consecutive",
    "unique_counts", "unique_inverse", "unique_values",
}  # fmt: skip
"""Functions that `vmap` refuses, because shape or dtype of their results depend on values."""

DRAWS = ("rand", "bernoulli", "dropout", "gumbel_softmax", "fractional_max_pool")


def tensors_in(value):
    if isinstance(value, pb.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [each for part in value for each in tensors_in(part)] if isinstance(value, (tuple, list)) else []


def place(x):
    """Where the axis of examples is: the first, or behind that of elements whose number differs by row."""
    return 2 if x.is_nested else 0


def values(x):
    """A tensor as an array, with zeros behind shorter rows."""
    return (x.detach().to_padded() if x.is_nested else x.detach()).numpy()


class Case:
    """A call as a function of the tensors in it, and two examples of these."""

    def __init__(self, name, call):
        self.name = name
        self.space = {"pb": pb, "np": np, "nan": math.nan, "inf": math.inf}
        for each, source in call.inputs.items():
            exec(f"{each} = {source}", self.space)
        self.inputs = {
            each: self.space[each].detach() for each in call.inputs if isinstance(self.space[each], pb.Tensor)
        }
        self.code = compile(call.call, name, "eval")
        self.examples = [[self.example(x, number) for x in self.inputs.values()] for number in range(2)]

    @staticmethod
    def example(x, number):
        if x.dtype.kind in "fc":
            return x * (1 + number / 16)
        return pb.tensor(np.roll(x.numpy(), number)) if x.ndim else x.clone()

    def __call__(self, *args):
        space = {**self.space, **dict(zip(self.inputs, args, strict=True))}
        return tuple(tensors_in(eval(self.code, space)))

    def batch(self):
        return [pb.stack(list(column), place(column[0])) for column in zip(*self.examples, strict=True)]

    def mapped(self, function, outs):
        """`function` of a batch; `outs` are results like those it has for one example."""
        places = tuple(map(place, self.inputs.values()))
        return pb.func.vmap(function, places, tuple(map(place, outs)), randomness="different")

    def loss(self, *args):
        """A number that depends on all differentiable results."""
        outs = [out for out in self(*args) if out.dtype.kind in "fc"]
        return sum((((out * out.conj()).real if out.dtype.kind == "c" else out * out).sum() for out in outs), 0.0)


CASES = [pytest.param(name, call, id=name) for name, call in table()[1].items()]


@pytest.fixture(autouse=True)
def quiet():
    previous = pb.func.set_vmap_fallback("silent")
    with warnings.catch_warnings(), np.errstate(all="ignore"), np.printoptions():  # one of the calls sets them
        warnings.simplefilter("ignore")
        yield
    pb.func.set_vmap_fallback(previous)


@pytest.mark.parametrize("name, call", CASES)
def test_vmap_equals_a_loop(name, call):
    case = Case(name, call)
    if not case.inputs:
        return
    looped = [case(*(x.clone() for x in example)) for example in case.examples]
    if not looped[0]:
        return
    mapped = case.mapped(case, looped[0])
    if name in DATA_DEPENDENT:
        with pytest.raises(AutogradError):
            mapped(*case.batch())
        return
    for k, out in enumerate(mapped(*case.batch())):
        expected = np.stack([values(row[k]) for row in looped], place(looped[0][k]))
        found = values(out)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if not any(word in name for word in DRAWS):
            assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name, call", CASES)
def test_gradients_of_a_batch_equal_those_of_a_loop(name, call):
    case = Case(name, call)
    places = tuple(k for k, x in enumerate(case.inputs.values()) if x.dtype.kind == "f")
    if not places or name in DATA_DEPENDENT or any(word in name for word in DRAWS):
        return
    gradient = pb.func.grad(case.loss, argnums=places)
    try:
        looped = [gradient(*example) for example in case.examples]
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return  # the call has no gradient, or none of its results has
    for k, out in enumerate(case.mapped(gradient, looped[0])(*case.batch())):
        expected = np.stack([values(row[k]) for row in looped], place(looped[0][k]))
        assert_close(values(out), expected, rtol=1e-6, atol=1e-9)


def test_what_is_refused_is_listed():
    assert table()[1].keys() >= DATA_DEPENDENT
