"""Functions that detach their arguments, or what they compute, in place: in every transform as in plain backward."""

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.testing import assert_close

AT = np.array([1.0, 2.0, 3.0])


def argument(x):
    x.detach_()
    return (x * x).sum()


def computed(x):
    y = x * 2
    y.detach_()
    return (x * y).sum()


def view_of_the_argument(x):
    view = x[1:]
    x.detach_()
    return (view * view).sum()


def view_of_what_is_computed(x):
    y = x * 2
    view = y[1:]
    y.detach_()
    return (view * x[1:]).sum()


def view_alone(x):
    y = x * 2
    view = y[1:]
    y.detach_()
    return view.sum()


def written_view(x):
    y = x * 2
    view = y[1:]
    view.mul_(3)
    y.detach_()
    return (view * x[1:]).sum()


def another_leaf(x):
    x.detach_()
    y = x * 2
    y.requires_grad_()
    return (y * y).sum()


EXPECTED = {
    argument: [0.0, 0.0, 0.0],
    computed: [2.0, 4.0, 6.0],
    view_of_the_argument: [0.0, 4.0, 6.0],
    view_of_what_is_computed: [0.0, 8.0, 12.0],
    view_alone: [0.0, 2.0, 2.0],
    written_view: [0.0, 24.0, 36.0],
    another_leaf: [0.0, 0.0, 0.0],
}


@pytest.mark.parametrize("function", EXPECTED, ids=lambda function: function.__name__)
def test_reverse_transforms_differentiate_what_was_computed_before(function):
    x, expected = pb.tensor(AT), np.array(EXPECTED[function])
    gradient, value = pb.func.grad_and_value(function)(x)
    assert_close(gradient, expected)
    assert not gradient.requires_grad and not value.requires_grad  # nobody outside asked for a history
    assert_close(pb.func.vjp(function, x)[1](pb.tensor(1.0))[0], expected)
    assert_close(pb.func.linearize(function, x)[1](pb.ones(3)), expected.sum())
    assert_close(pb.func.vmap(pb.func.grad(function))(pb.tensor(AT[None]))[0], expected)
    assert_close(pb.compile(pb.func.grad(function))(x), expected)


@pytest.mark.parametrize("function", [f for f in EXPECTED if f not in (argument, view_of_the_argument, another_leaf)])
def test_forward_mode_agrees(function):
    assert_close(pb.func.jvp(function, (pb.tensor(AT),), (pb.ones(3),))[1], sum(EXPECTED[function]))


@pytest.mark.parametrize("function", [argument, view_of_the_argument, another_leaf])
def test_forward_mode_refuses_to_detach_an_argument_in_place(function):
    with pytest.raises(AutogradError, match=r"detach_\(\) on a view"):
        pb.func.jvp(function, (pb.tensor(AT),), (pb.ones(3),))


@pytest.mark.parametrize("transform", [pb.func.grad, pb.func.jacrev, pb.func.hessian])
def test_the_flag_of_what_is_differentiated_cannot_be_switched_off(transform):
    def function(x):
        x.requires_grad_(False)
        return (x * x).sum()

    with pytest.raises(AutogradError, match=r"requires_grad_\(False\) inside"):
        transform(function)(pb.tensor(AT))
