"""Elementwise operators at the edges of numbers, on every library: what NumPy gives there, or a refusal.

Not compared, since they are each library's own: signs of zeros, numbers below the normal ones (JAX takes them for 0),
complex numbers that are infinite or where a function has a pole or a cut, and what NumPy itself leaves open: the
reciprocal of the whole number 0.
"""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.payloads.evaluate import evaluate
from pullback.payloads.foreign import uploaded
from tests.foreign.kinds import code_of, host
from tests.foreign.operators import REFUSALS, operators

EDGES = {
    "floats": np.array([0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 3, -3, 100, 1e-8, np.pi]),
    "whole": np.array([0, 1, -1, 2, -2, 3, -3, 7, 63]),
    "complex": np.array([1j, -1j, 1 + 1j, -1 - 1j, 2 - 3j]),
}
# Besides: the standard cannot make a complex number of an infinite part, and tails of the normal distribution are
# for real numbers.
OPEN = {
    ("reciprocal", "whole"), ("complex", "floats"), ("_mills_ratio", "complex"), ("_normal_between", "complex"),
}  # fmt: skip


def of_one_or_two():
    return [op for op in operators() if op.family == "elementwise" and not op.params and len(op.operands) in (1, 2)]


@pytest.mark.parametrize("name", EDGES)
def test_values_at_the_edges_are_numpys_or_refused(kind, name):
    place, seen = kind.tensor([1.0]).device, 0
    warnings.simplefilter("ignore")
    for op in of_one_or_two():
        points = np.meshgrid(*[EDGES[name]] * len(op.operands), indexing="ij")
        operands = [each.ravel() for each in points]
        try:
            with np.errstate(all="ignore"):
                wanted = op.kernel(*operands)
        except (TypeError, ValueError):
            wanted = None
        if isinstance(wanted, tuple) or (op.name, name) in OPEN:
            continue
        try:
            got = host(evaluate(op, tuple(uploaded(x, place) for x in operands), {}))
        except pb.AutogradError as error:
            assert error.code in REFUSALS, op.name
            continue
        except (TypeError, ValueError):
            assert wanted is None, op.name
            continue
        if wanted is not None:
            assert got.dtype == wanted.dtype, op.name
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-12, err_msg=op.name)
            seen += 1
    assert seen > 20


def test_negative_powers_of_whole_numbers(kind):
    x = kind.tensor([1, -2, 3])
    if kind.name == "dask":
        return  # computed later, by NumPy, which raises then
    for power in (lambda: 2**x, lambda: x**x, lambda: x**-1):
        with pytest.raises(ValueError, match="negative integer powers"):
            power()
    with pb.interop.no_sync():
        assert code_of(lambda: x ** kind.tensor([1, 2, 3])) == "FOREIGN_SYNC"


def test_operands_that_do_not_fit_are_the_callers_mistake(kind):
    x, y = kind.tensor(np.ones((2, 3))), kind.tensor(np.ones((4, 5)))
    for call in (lambda: x + y, lambda: x @ y, lambda: pb.maximum(x, y)):
        with pytest.raises(ValueError):
            call()


def test_what_is_computed_on_the_host_is_refused_or_asked_for(kind):
    x = kind.tensor([2.0, 1.0, 2.0], requires_grad=True)
    assert code_of(lambda: pb.unique(x)) == "FOREIGN_OP"
    with pb.interop.on_host():
        y = pb.unique(x)
    assert y.device is x.device
    y.sum().backward()
    np.testing.assert_array_equal(host(x.grad), [1, 1, 0])


def test_copies_of_broadcast_and_reversed_arrays(kind):
    x = kind.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = pb.broadcast_to(x, (2, 3)).clone()
    y[::-1, ::-1] += 1
    flat = y.reshape(-1)
    flat[::-2] *= 3
    (y * y).sum().backward()
    z = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = pb.broadcast_to(z, (2, 3)).clone()
    w[::-1, ::-1] += 1
    w.reshape(-1)[::-2] *= 3
    (w * w).sum().backward()
    np.testing.assert_allclose(host(y), host(w))
    np.testing.assert_allclose(host(x.grad), host(z.grad))


@pytest.mark.parametrize("place", [3, -4])
def test_places_that_are_not_there_are_refused_wherever_they_lie(kind, place):
    x = kind.tensor([1.0, 2.0, 3.0])
    for places in (kind.tensor([0, place]), np.array([0, place])):
        if kind.name == "dask" and isinstance(places, pb.Tensor):
            continue  # known later
        with pytest.raises(IndexError, match=f"index {place} is out of bounds"):
            pb.take(x, places)
    np.testing.assert_array_equal(host(pb.take(x, kind.tensor([-3, 2]))), [1, 3])
