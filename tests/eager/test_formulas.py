"""The compiled formulas of the fast paths mean what the general path means. The cases come from the declarations."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import SparseGrad
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.eager.direct import direct
from pullback.eager.nodes import DirectNode
from pullback.eager.pull import call_rules
from pullback.eager.record import apply
from pullback.errors import AutogradError
from pullback.operators import LATER
from pullback.tensors.tensor import as_constant
from pullback.testing import assert_close

for family in LATER:
    importlib.import_module(f"pullback.{family}")


def is_floating(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


def has_rule(op, position):
    return op.joint is not None or op.rule_for(position) is not None


def differentiable_positions(op, operands):
    return [k for k, x in enumerate(operands) if is_floating(x) and has_rule(op, k)]


OPERATORS = [
    op for op in registry.values() if op.sample_rule is not None and call_rules(op) and direct(op) is not None
]


def cases(op):
    """Three samples and a complex one, among those whose calls come this way: real elementwise calls have a path of
    their own (`test_declared_ops`). All, where there is a kernel or rule for arrays."""
    found = [(sample, sample.inputs()) for sample in samples_of(op)]
    found = [(sample, operands) for sample, operands in found if differentiable_positions(op, operands)]
    if op.array_rules or op.inner_kernel is not None:
        return found
    with_complex = [each for each in found if any(np.asarray(x).dtype.kind == "c" for x in each[1])]
    return [*(found[:3] if op.fast_rules is None else ()), *with_complex[:1]]


def wanted(positions):
    """Which operands need a gradient: all, and of several each one alone."""
    yield positions
    if len(positions) > 1:
        yield from ([position] for position in positions)


def dense(gradient):
    if gradient is None:
        return None
    return gradient.to_dense() if isinstance(gradient, SparseGrad) else gradient.detach().numpy()


def made(x, needs, as_view):
    """A leaf and the operand made of it; arrays without gradients are constants, and the rest is given as it is."""
    if not isinstance(x, np.ndarray):
        return None, x
    if not as_view:
        leaf = as_constant(x.copy(order="K"))
        return (leaf.requires_grad_() if needs else leaf), leaf
    leaf = as_constant(np.stack([x, x]))
    leaf = leaf.requires_grad_() if needs else leaf
    return leaf, leaf[1]


def gradients_through(call, operands, positions, create_graph, as_view):
    pairs = [made(x, k in positions, as_view) for k, x in enumerate(operands)]
    out = call(*[operand for _, operand in pairs])
    outs = out if isinstance(out, tuple) else (out,)
    roots = [each for each in outs if each.requires_grad]
    values = [each.detach().numpy() for each in outs]
    if not roots:
        return outs, values, None
    weights = [np.linspace(0.5, 1.5, each.size).reshape(each.shape).astype(each.dtype) for each in roots]
    pb.autograd.backward(roots, [as_constant(each) for each in weights], create_graph=create_graph)
    return outs, values, [dense(pairs[position][0].grad) for position in positions]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_a_compiled_formula_gives_what_the_general_path_gives(op):
    run = direct(op)
    for sample, operands in cases(op):
        positions = differentiable_positions(op, operands)
        if op.name != "_take_rows":  # its gradients of rows are for leaves only
            compare(op, sample, operands, positions, False, run, as_view=True)
        for some in wanted(positions):
            for create_graph in (False, True):
                compare(op, sample, operands, some, create_graph, run)


def compare(op, sample, operands, positions, create_graph, run, as_view=False):
    given = (operands, positions, create_graph, as_view)
    outs, values, short = gradients_through(lambda *xs: run(xs, dict(sample.params)), *given)
    others, expected, general = gradients_through(lambda *xs: apply(op, xs, sample.params), *given)
    assert [each.requires_grad for each in outs] == [each.requires_grad for each in others]
    for mine, theirs in zip(values, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs, err_msg=sample.label)
    assert (short is None) == (general is None)
    if short is None:
        return
    recorded = next(each for each in outs if each.requires_grad)
    assert isinstance(recorded.grad_fn, DirectNode)
    for mine, theirs in zip(short, general, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            compare_gradients(op, mine, theirs, sample.label)


def compare_gradients(op, mine, theirs, label):
    """Rules for arrays may round otherwise, in sums of few terms."""
    if op.array_rules:
        scale = float(np.nanmax(np.abs(np.where(np.isfinite(theirs), theirs, 0)), initial=1))
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=scale * (1e-6 if mine.dtype.itemsize < 8 else 1e-13),
                                   err_msg=label)
    else:
        np.testing.assert_array_equal(mine, theirs, err_msg=label)


def leaves(*shapes):
    random = np.random.default_rng(0)
    return [pb.tensor(random.standard_normal(shape), requires_grad=True) for shape in shapes]


def test_a_second_pass_finds_the_saved_values_released():
    a, b = leaves((2, 3), (3, 2))
    total = (a @ b).sum()
    total.backward(retain_graph=True)
    total.backward()
    with pytest.raises(AutogradError) as caught:
        total.backward()
    assert caught.value.code == "SECOND_BACKWARD"
    assert_close(a.grad, 2 * np.ones((2, 2)) @ b.detach().numpy().T)


@pytest.mark.parametrize("position", [0, 1])
@pb.autograd.overwrite_policy("raise")
def test_a_saved_operand_that_was_written_is_noticed(position):
    operands = [x * 1 for x in leaves((2, 3), (3, 2))]
    product = operands[0] @ operands[1]
    operands[position].add_(1)
    with pytest.raises(AutogradError) as caught:
        product.sum().backward()
    assert caught.value.code == "VERSION"


@pb.autograd.overwrite_policy("raise")
def test_a_saved_result_that_was_written_is_noticed():
    (x,) = leaves((3,))
    out = pb.logsumexp(x)
    out.mul_(2)
    with pytest.raises(AutogradError) as caught:
        out.backward()
    assert caught.value.code == "VERSION"


def test_a_write_beside_the_saved_rows_does_no_harm():
    (w,) = leaves((2, 2))
    h = pb.zeros((3, 2, 2))
    h[0] = w
    for step in range(2):
        h[step + 1] = h[step] @ w
    h[2].sum().backward()
    plain = pb.tensor(w.detach().numpy(), requires_grad=True)
    (plain @ plain @ plain).sum().backward()
    assert_close(w.grad, plain.grad)


def test_saved_values_and_parameters_have_names():
    a, b = leaves((2, 3), (3, 2))
    node = (a @ b).grad_fn
    assert node._saved_self is a and node._saved_other is b
    assert [handle is not None for handle in node.saved_operands] == [True, True]
    reduced = a.sum(axis=0)
    assert reduced.grad_fn._saved_axis == (0,)
    assert not hasattr(reduced.grad_fn, "_saved_self")
    only = (a @ b.detach()).grad_fn
    assert [handle is not None for handle in only.saved_operands] == [False, True]


def test_hooks_given_to_a_saved_value_are_used():
    a, b = leaves((2, 3), (3, 2))
    product = a @ b
    product.grad_fn._raw_saved_other.register_hooks(lambda t: t * 2, lambda t: t)
    product.sum().backward()
    assert_close(a.grad, np.ones((2, 2)) @ (2 * b.detach().numpy().T))


def test_a_leaf_of_another_grad_dtype_gets_its_dtype_from_a_broadcast_gradient():
    bias = pb.tensor(np.zeros(3, np.float32), requires_grad=True)
    bias.grad_dtype = None
    (pb.tensor(np.ones((2, 3))) + bias).sum().backward()
    assert bias.grad.dtype == np.float64
    assert_close(bias.grad, [2.0, 2.0, 2.0])
