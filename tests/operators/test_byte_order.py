"""Arrays in the other byte order hold the same numbers, also where they are large enough for ways of their own."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import samples_of

MANY = 40_000


def numbers_of(op):
    """The numbers of a sample that is one real array and nothing else; None if there is no such sample."""
    for sample in samples_of(op):
        if len(sample.operands) == 1 and not sample.params and np.asarray(sample.operands[0]).dtype == np.float64:
            return sample.operands[0] if np.size(sample.operands[0]) else None
    return None


FAMILIES = ("elementwise", "special")
OPS = [
    op for op in registry.values()
    if op.family in FAMILIES and op.sample_rule is not None and numbers_of(op) is not None
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_operator_on_many_numbers_in_the_other_byte_order(op, dtype):
    x = np.resize(numbers_of(op), MANY).astype(dtype)
    swapped = x.astype(np.dtype(dtype).newbyteorder())
    with np.errstate(all="ignore"):
        wanted, given = op.kernel(x), op.kernel(swapped)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (given, wanted)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


LARGE = {
    "softmax": lambda x: pb.nn.softmax(x, -1),
    "layer_norm": lambda x: pb.nn.layer_norm(x, (x.shape[-1],)),
    "gelu": pb.nn.gelu,
    "erf": pb.special.erf,
    "sum": lambda x: x.sum(1) + x.mean(1),
    "var": lambda x: x.var(0),
    "norm": pb.linalg.norm,
    "cumsum": lambda x: pb.cumsum(x, 1),
    "logcumsumexp": lambda x: pb.logcumsumexp(x, 1),
    "sort": lambda x: pb.sort(x, 1),
    "clip": lambda x: pb.clip(x, -1, 1),
    "view_as_complex": lambda x: pb.abs(pb.view_as_complex(x.reshape(-1, 2))),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_and_gradients_of_many_numbers_in_the_other_byte_order(name):
    x = np.random.default_rng(0).normal(size=(200, 200))
    gradient = pb.func.grad(lambda x: (LARGE[name](x) ** 2).sum())
    for function in (LARGE[name], gradient):
        wanted = function(pb.asarray(x)).numpy()
        np.testing.assert_allclose(function(pb.asarray(x.astype(">f8"))).numpy(), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [3, MANY])
@pytest.mark.parametrize("op", [op for op in OPS if op.num_outputs == 1], ids=lambda op: op.name)
def test_a_result_says_the_byte_order_that_it_has(op, size):
    x = np.resize(numbers_of(op), size).astype(">f8")
    given = [pb.asarray(x), pb.tensor(x, requires_grad=True)]
    with np.errstate(all="ignore"):
        results = [op(each) for each in given]
        with pb.no_grad():
            results.append(op(given[1]))
        if results[0].dtype.kind == "f":
            results += pb.func.jvp(op, (given[0],), (pb.ones_like(given[0]),))
    for result in results:
        assert result.dtype == result.detach().numpy().dtype


def test_a_write_leaves_the_byte_order_as_it_was():
    x = pb.tensor(np.arange(3.0, dtype=">f8"), requires_grad=True)
    y = x.clone()
    before = y.dtype
    z = y * y
    y *= 2
    assert y.dtype == y.detach().numpy().dtype == before
    (y.sum() + z.sum()).backward()
    assert x.grad.tolist() == [2, 4, 6]
