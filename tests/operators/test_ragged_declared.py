"""Every declared operator of a family does to all rows what it does to each, gradients included."""

import warnings

import numpy as np
import pytest

import pullback as pb
import tests.operators.declared  # noqa: F401  (every family is declared)
from pullback.declare.op import registry

RNG = np.random.default_rng(0)
ROWS = [RNG.uniform(0.1, 0.9, (n, 2)) for n in (2, 3, 1, 4)]
ELEMENTWISE = [
    op for op in registry.values()
    if op.family in ("elementwise", "special") and not op.params and op.variadic_from < 0
]  # fmt: skip
REDUCTIONS = [op for op in registry.values() if op.family == "reduction" and op.is_public]


def test_there_are_many():
    assert len(ELEMENTWISE) > 150 and len(REDUCTIONS) >= 10


def gradients(out, *leaves):
    """The gradients of a weighted sum of the results, None where there are none."""
    terms = [each for each in (out if isinstance(out, tuple) else (out,)) if each.requires_grad]
    if not terms:
        return None
    total = sum((each.real * each.real).sum() if each.dtype.kind == "c" else (each * each).sum() for each in terms)
    try:
        return pb.autograd.grad(total, leaves, allow_unused=True)
    except NotImplementedError:
        return None  # there is no derivative by all of its operands


@pytest.mark.parametrize("family", ["elementwise", "special"])
def test_elementwise_operators(family):
    x = pb.nested.nested(ROWS, requires_grad=True)
    for op in (op for op in ELEMENTWISE if op.family == family):
        rows = [pb.tensor(a, requires_grad=True) for a in ROWS]
        count = len(op.operands)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = [op.function(*[row] * count) for row in rows]
            except (TypeError, ValueError):
                continue  # it wants integers, or truth values
            found = op.function(*[x] * count)
            whole = gradients(found, x)
        several = isinstance(found, tuple)
        for number, part in enumerate(found if several else (found,)):
            for mine, theirs in zip(part.unbind(), expected, strict=True):
                wanted = theirs[number] if several else theirs
                np.testing.assert_allclose(mine.detach().numpy(), wanted.detach().numpy(), err_msg=op.name)
        for position, row in enumerate(rows):
            single = gradients(expected[position], row)
            assert (single is None) == (whole is None), op.name
            if single is not None and single[0] is not None:
                np.testing.assert_allclose(whole[0][position].numpy(), single[0].numpy(), rtol=1e-9, err_msg=op.name)


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore::pullback.PerformanceWarning")
def test_reductions(op):
    x, values = pb.nested.nested(ROWS), np.concatenate(ROWS)
    for keepdims in (False, True):
        for axis, inner in ((1, 0), ((1, 2), (0, 1))):
            found = op.function(x, axis=axis, keepdims=keepdims)
            expected = np.stack([op.function(pb.tensor(a), axis=inner, keepdims=keepdims).numpy() for a in ROWS])
            assert found.shape == expected.shape
            np.testing.assert_allclose(found.numpy(), expected)
        along = op.function(x, axis=2, keepdims=keepdims)
        for mine, a in zip(along.unbind(), ROWS, strict=True):
            theirs = op.function(pb.tensor(a), axis=1, keepdims=keepdims).numpy()
            assert mine.shape == theirs.shape
            np.testing.assert_allclose(mine.numpy(), theirs)
        for axis, inner in (((0, 1), 0), (None, None), ((0, 1, 2), None)):
            found = op.function(x, axis=axis, keepdims=keepdims)
            expected = op.function(pb.tensor(values), axis=inner).numpy()
            np.testing.assert_allclose(found.numpy().reshape(expected.shape), expected)
