"""The short ways of elementwise operators inside transforms mean what the usual path means."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.testing import assert_close

FAST = [op for op in registry.values() if op.fast_rules is not None]


def arrays(op):
    """Real operands of one shape from the operator's own samples."""
    for sample in op.sample_rule(Maker(op.name)):
        if sample.label == "matrix":
            return [np.array(x) for x in sample.operands]
    raise AssertionError(f"{op.name} has no sample of matrices")


def total(op, *operands):
    return op.function(*operands).sum()


@pytest.mark.parametrize("op", FAST, ids=lambda op: op.name)
def test_gradients_inside_a_transform_are_those_outside(op):
    values = arrays(op)
    leaves = [pb.tensor(x, requires_grad=True) for x in values]
    usual = pb.autograd.grad(total(op, *leaves), leaves, create_graph=True, materialize_grads=True)
    positions = tuple(range(len(values)))
    found = pb.func.grad(lambda *xs: total(op, *xs), positions)(*[pb.tensor(x) for x in values])
    for one, other in zip(found, usual, strict=True):
        assert_close(one, other.detach())
        assert not one.requires_grad
    # and the second derivative, by a gradient inside a gradient
    by_transform = pb.func.grad(lambda x, *others: pb.func.grad(lambda y: total(op, y, *others))(x).sum())
    second = by_transform(*[pb.tensor(x) for x in values])
    if usual[0].requires_grad:
        expected = pb.autograd.grad(usual[0].sum(), leaves[0], materialize_grads=True)[0]
        assert_close(second, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("op", FAST, ids=lambda op: op.name)
def test_tangents_are_those_of_the_general_path(op):
    values = [pb.tensor(x) for x in arrays(op)]
    tangents = [pb.tensor(np.linspace(-1, 1, x.size).reshape(x.shape)) for x in values]
    cases = [(tuple(values), tuple(tangents))]
    if len(values) == 2:
        cases += [(tuple(values), (tangents[0], None)), (tuple(values), (None, tangents[1]))]
    for primals, directions in cases:
        fast = pb.func.jvp(op.function, primals, directions)
        # A batch of one goes through the general path.
        given = [t for t in directions if t is not None]

        def push(*rows, primals=primals, directions=directions):
            rows = iter(rows)
            filled = tuple(None if t is None else next(rows) for t in directions)
            return pb.func.jvp(op.function, primals, filled)

        general = pb.func.vmap(push)(*[t.reshape((1, *t.shape)) for t in given])
        for one, other in zip(fast, general, strict=True):
            assert_close(one, other[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", [op for op in FAST if len(op.operands) == 2], ids=lambda op: op.name)
def test_numbers_beside_duals(op):
    x, y = (pb.tensor(value) for value in arrays(op))
    number = 1.5
    for f, at in ((lambda v: op.function(v, number), x), (lambda v: op.function(number, v), y)):
        _, tangent = pb.func.jvp(f, (at,), (pb.ones_like(at),))
        gradient = pb.func.grad(lambda v, f=f: f(v).sum())(at)
        assert_close(tangent, gradient)
