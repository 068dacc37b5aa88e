"""The pattern of every declared operator contains the entries of its Jacobian, forwards and in its reverse rule.

Nothing here knows a particular operator: the cases come from the declarations, a few samples of each.
"""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.eager.build import as_operand
from pullback.eager.record import apply
from pullback.operators import LATER

pytest.importorskip("scipy", reason="patterns are matrices of SciPy")

for family in LATER:
    importlib.import_module(f"pullback.{family}")

MOST_ELEMENTS = 40


def is_smooth(x):
    return isinstance(x, np.ndarray) and x.dtype.char == "d" and 0 < x.size <= MOST_ELEMENTS


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def results_of(op, sample, operands=None):
    given = map(as_operand, sample.inputs()) if operands is None else operands
    with np.errstate(all="ignore"):
        results = listed(apply(op, tuple(given), sample.params))
    return [out for out in results if out.dtype.kind == "f" and out.size]


def cases():
    for op in registry.values():
        if op.sample_rule is None or not op.is_differentiable or op.takes_payloads:
            continue
        found = [s for s in op.sample_rule(Maker(op.name)) if any(map(is_smooth, s.inputs())) and results_of(op, s)]
        for sample in itertools.islice(found, 1 if op.family in ("elementwise", "special") else 2):
            yield pytest.param(op, sample, id=f"{op.name}-{sample.label}")


CASES = list(cases())


def problem(op, sample):
    operands = sample.inputs()
    positions = [k for k, x in enumerate(operands) if is_smooth(x)]

    def function(*chosen):
        full = list(operands)
        for k, value in zip(positions, chosen):
            full[k] = value
        return results_of(op, sample, full)

    return function, tuple(pb.tensor(operands[k]) for k in positions)


def dense(function, values):
    argnums = tuple(range(len(values)))
    blocks = pb.func.jacfwd(lambda *x: [out.reshape(-1) for out in function(*x)], argnums)(*values)
    return np.concatenate([
        np.concatenate([block.numpy().reshape(block.shape[0], -1) for block in row], axis=1) for row in blocks
    ])


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_the_pattern_contains_the_jacobian(op, sample):
    function, values = problem(op, sample)
    pattern = pb.func.jacobian_sparsity(function, *values, argnums=tuple(range(len(values)))).toarray()
    with np.errstate(all="ignore"):
        jacobian = dense(function, values)
    assert pattern.shape == jacobian.shape
    assert not ((jacobian != 0) & ~pattern).any()
    if op.family in ("elementwise", "special", "view"):
        assert pattern.sum(axis=1).max() <= len(values)  # an element of a result depends on one of each operand


@pytest.mark.parametrize(
    ("op", "sample"), list({c.values[0].name: c for c in CASES if c.values[0].family != "special"}.values())
)
def test_the_pattern_of_the_gradient_contains_the_hessian(op, sample):
    function, values = problem(op, sample)
    argnums = tuple(range(len(values)))

    def total(*chosen):
        return sum(((out * out).sum() for out in function(*chosen)), pb.zeros(()))

    with np.errstate(all="ignore"):
        gradient = pb.func.grad(total, argnums)
        pattern = pb.func.jacobian_sparsity(gradient, *values, argnums=argnums).toarray()
        hessian = dense(lambda *x: listed(gradient(*x)), values)
    assert not ((hessian != 0) & ~pattern).any()


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 3, 2), (2, 4, 3, 2)])
@pytest.mark.parametrize("is_left", [True, False])
def test_products_with_a_constant_matrix_depend_on_all_that_they_do(shape, is_left):
    matrix = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    shape = shape if is_left else (*shape[:-2], *shape[-2:][::-1])

    def product(flat):
        x = flat.reshape(shape)
        return (matrix @ x if is_left else x @ matrix.T).reshape(-1)

    x = pb.tensor(np.arange(1.0, 1 + np.prod(shape)))
    pattern = pb.func.jacobian_sparsity(product, x)
    pattern = pattern.toarray() if hasattr(pattern, "toarray") else np.asarray(pattern)
    jacobian = pb.func.jacrev(product)(x).numpy()
    assert not np.any((jacobian != 0) & (pattern == 0))
    if len(shape) <= 2:  # a matrix from outside is looked into
        assert np.array_equal(jacobian != 0, pattern != 0)
