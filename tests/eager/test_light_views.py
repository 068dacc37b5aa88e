"""A view is an operand of the fast paths like any other tensor, and means there what it means on the general path."""

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import switch
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.eager.nodes import FastNode
from pullback.tensors.tensor import Extra
from pullback.tensors.views import ViewInfo
from pullback.testing import assert_close

FAST = [op for op in registry.values() if op.fast_rules is not None]


def fresh(leaf):
    return leaf[...]


def stale(leaf):
    base = leaf * 1
    view = base[...]
    base.mul_(1)
    return view


def written(leaf):
    view = (leaf * 1)[...]
    return view.mul_(1)


def of_a_view(leaf):
    return leaf.reshape((1, *leaf.shape))[0]


KINDS = [fresh, stale, written, of_a_view]


def run(op, operands, kind, general, create):
    leaves = [pb.tensor(x, requires_grad=True) for x in operands]
    views = [kind(leaf) for leaf in leaves]
    if general:
        switch.open()
    try:
        out = op.function(*views)
    finally:
        switch.close()
    node = out.grad_fn
    grads = pb.autograd.grad(out.sum(), leaves, create_graph=create, allow_unused=True)
    return out.detach().numpy(), node, [None if g is None else g.detach().numpy() for g in grads]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", FAST, ids=lambda op: op.name)
def test_an_elementwise_operator_of_views_means_what_it_means_on_the_general_path(op, kind):
    operands = next(iter(samples_of(op))).inputs()
    if any(x.dtype.kind != "f" for x in operands):
        return
    create = kind is stale
    value, node, grads = run(op, operands, kind, False, create)
    expected, other, others = run(op, operands, kind, True, create)
    np.testing.assert_array_equal(value, expected)
    assert isinstance(node, FastNode) and not isinstance(other, FastNode)
    assert [each.name() for each, _ in node.next_functions] == [each.name() for each, _ in other.next_functions]
    for ours, theirs in zip(grads, others):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=0)


def test_a_view_of_a_constant_that_requires_grad_later_is_recorded():
    base = pb.tensor([1.0, 2.0])
    view = base[1:]
    base.requires_grad_()
    (view * 3).backward()
    np.testing.assert_array_equal(base.grad.numpy(), [0, 3])


def test_a_view_of_a_constant_that_gets_a_history_by_a_write_is_recorded():
    leaf = pb.tensor(2.0, requires_grad=True)
    base = pb.zeros(3)
    view = base[1:]
    base[1] = leaf
    (view * 3.0).sum().backward()
    assert leaf.grad.item() == 3


def test_a_view_that_is_a_leaf_keeps_its_own_gradient():
    view = pb.tensor([1.0, 2.0])[1:].requires_grad_()
    (view * view).backward()
    assert view.grad.numpy() == [4]


def test_what_a_fast_node_saved_of_a_view_survives_a_write_and_is_missed_under_raise():
    for policy, expected in (("preserve", [2.0, 0.0]), ("raise", None)):
        with pb.autograd.overwrite_policy(policy):
            x = pb.tensor([1.0, 2.0], requires_grad=True)
            y = x * 1
            z = y[0] * y[0]
            y[0] = 7.0
            if expected is None:
                with pytest.raises(pb.autograd.AutogradError, match="VERSION"):
                    z.backward()
            else:
                z.backward()
                np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_a_view_is_light_until_there_is_more_to_say_about_it():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert type(x[1:]._extra) is ViewInfo
    with pb.no_grad():
        made_in_no_grad = x[1:]
    assert type(made_in_no_grad._extra) is Extra
    assert type(pb.func.grad(lambda v: (v[1:] * 2).sum())(x)) is pb.Tensor
    with pb.autograd.forward_ad.dual_level():
        dual = pb.autograd.forward_ad.make_dual(pb.tensor([1.0, 2.0]), pb.ones(2))
        tangent = pb.autograd.forward_ad.unpack_dual(dual[1:] * 3).tangent
    np.testing.assert_array_equal(tangent.numpy(), [3])


def test_a_view_under_no_grad_needs_no_history():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    view = x[1:]
    with pb.no_grad():
        out = pb.exp(view) * view
    assert not out.requires_grad
    np.testing.assert_array_equal(out.numpy(), np.exp([2.0, 3.0]) * [2.0, 3.0])


def test_hooks_of_a_view_see_the_gradient_of_a_fast_node():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    view, seen = x[1:], []
    view.register_hook(lambda g: seen.append(g.numpy().copy()))
    (view * 5).backward()
    np.testing.assert_array_equal(seen, [[5]])


@pytest.mark.parametrize("view", [
    lambda d: d[1], lambda d: d[::-1], lambda d: d.reshape(3, 1).sum(1), lambda d: d[1:].mean(), lambda d: d[None][0],
])  # fmt: skip
def test_a_saved_view_has_the_tangent_of_its_base(view):
    m, v = pb.tensor([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [0.6, 0.2, 0.9]]), pb.tensor([0.4, -0.8, 0.5])

    def slope(v, view):
        """By `m`, of a product with a view of what only `v` moves."""
        return pb.func.grad(lambda m: ((m @ v.detach()).sin() * view(v * 1.5)).sum())(m)

    found = pb.func.jvp(lambda v: slope(v, view), (v,), (pb.ones(3),))[1]
    wanted = pb.func.jvp(lambda v: slope(v, lambda d: view(d) * 1.0), (v,), (pb.ones(3),))[1]
    assert_close(found, wanted)
    step = 1e-6
    moved = [pb.func.grad(lambda m, w=v + s: ((m @ v).sin() * view(w * 1.5)).sum())(m) for s in (step, -step)]
    assert_close(found, (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-8)
