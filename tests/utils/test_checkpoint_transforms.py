"""Checkpointed functions with transforms inside of them and around them."""

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from pullback.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, set_checkpoint_early_stop

POINT = pb.tensor([[0.3, 0.7, -0.4], [1.1, 0.2, 0.5]])
DIRECTION = pb.tensor([[0.5, -0.7, 0.4], [0.1, 1.2, -0.5]])


def filled(row):
    h = pb.zeros(3)
    h[0] = row[0].exp()
    h[1:] = row[1:] * h[0]
    h[1] *= row[2]
    return h


INSIDE = {
    "vmap": lambda a: vmap(pb.exp)(a).sum(),
    "vmap of an inner axis": lambda a: (vmap(lambda r: r.exp() * r.sum(), in_dims=1)(a) ** 2).sum(),
    "vmap in vmap": lambda a: vmap(vmap(lambda s: s.exp() * s))(a).sum(),
    "vmap that captures": lambda a: vmap(lambda r: (r * a.sum(0)).tanh().sum())(a).pow(2).sum(),
    "vmap that writes": lambda a: vmap(filled)(a).exp().sum(),
    "vmap of grad": lambda a: vmap(grad(lambda r: (r**3).sum() * r.prod()))(a).exp().sum(),
    "grad of vmap": lambda a: grad(lambda b: vmap(lambda r: (r.exp() * a[0]).sum())(b).sum())(a).sin().sum(),
    "jvp of vmap": lambda a: jvp(lambda b: vmap(lambda r: r.exp() * r)(b), (a,), (a * a,))[1].sum(),
    "jacrev": lambda a: jacrev(lambda b: b.exp() * b.sum())(a[0]).pow(2).sum(),
    "jacfwd": lambda a: jacfwd(lambda b: b.exp() * b.sum())(a[0]).pow(2).sum(),
    "hessian": lambda a: vmap(hessian(lambda b: (b.exp() * b.sum()).sum()))(a).pow(2).sum(),
    "checkpoint": lambda a: checkpoint(lambda b: vmap(lambda r: r.exp() * r)(b), a, use_reentrant=False).sum(),
    "scan in vmap": lambda a: vmap(lambda r: pb.scan(lambda c, x: (c * x.exp(), c.sin()), r[0], r)[1].sum())(a).sum(),
    "compiled": pb.compile(lambda a: (a.exp() * a).sum(), backend="numpy"),
}


def backward_times(function, order):
    x = POINT.clone().requires_grad_()
    value = function(x)
    for further in reversed(range(order)):
        (found,) = pb.autograd.grad(value, x, create_graph=further > 0)
        value = (found * DIRECTION).sum()
    return found


def batched_gradients(function):
    x = POINT.clone().requires_grad_()
    values = function(x).reshape(1) * pb.tensor([1.0, 2.0])
    return pb.autograd.grad(values, x, pb.eye(2), is_grads_batched=True)[0]


BATCH = pb.stack([POINT, POINT * 1.1])
AROUND = {
    "backward": lambda f: backward_times(f, 1),
    "double backward": lambda f: backward_times(f, 2),
    "grad of grad": lambda f: grad(lambda x: (grad(f)(x) * DIRECTION).sum())(POINT),
    "jvp of grad": lambda f: jvp(grad(f), (POINT,), (DIRECTION,))[1],
    "vmap of grad": lambda f: vmap(grad(f))(BATCH),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(BATCH),
    "jacrev": lambda f: jacrev(f)(POINT),
    "batched gradients": batched_gradients,
}


@pytest.mark.parametrize("inside", INSIDE)
def test_a_checkpoint_changes_no_derivative(inside):
    function = INSIDE[inside]
    for name, way in AROUND.items():
        expected = way(function)
        for early in (True, False):
            with set_checkpoint_early_stop(early):
                found = way(lambda a: checkpoint(function, a, use_reentrant=False))
            np.testing.assert_allclose(found.detach(), expected.detach(), 1e-9, err_msg=name)


@pytest.mark.parametrize("kept", [pb.exp, pb.sin, pb.multiply])
def test_results_that_a_policy_keeps_belong_to_the_batch_of_the_second_run(kept):
    def function(a):
        rows = vmap(lambda r: r.exp() * r.sin() * r.sum(), in_dims=1)(a)
        return vmap(vmap(lambda s: s.exp() * s.sin()))(rows).sum()

    contexts = functools.partial(create_selective_checkpoint_contexts, [kept])
    found = backward_times(lambda a: checkpoint(function, a, use_reentrant=False, context_fn=contexts), 1)
    np.testing.assert_allclose(found, backward_times(function, 1))


def test_a_second_run_that_maps_over_another_number_of_examples_is_refused():
    sizes = iter([2, 3])

    def function(a):
        return vmap(pb.exp)(pb.stack([a] * next(sizes))).sum()

    x = pb.ones(2, requires_grad=True)
    with pytest.raises(pb.errors.CheckpointError, match="other examples"):
        checkpoint(function, x, use_reentrant=False).backward()
