"""Functions that other processes import."""

import functools

import numpy as np

import pullback as pb


def energy(x):
    """A scalar."""
    return (x**3).sum() + x[0] * x[1]


def two(x, y):
    return (x * y * y).sum(), x + y


def residual(x):
    return pb.sin(x) * x[0] + x[1]


def doubled(x):
    return x * 2


def one_by_one(x):
    return x * x * 3


def plain_numpy(x):
    h = np.zeros(3)
    for i in range(3):
        h[i] = x[i] ** 2
    return h.sum()


def _weighted(weight, x):
    return (weight * x * x).sum()


def with_weight(weight):
    return functools.partial(_weighted, weight)


class Model:
    """An object that is called."""

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return (self.weight * x * x).sum()


@pb.func.custom_jvp
def stated_forward(x):
    return x * x


@stated_forward.defjvp
def _stated_forward_jvp(primals, tangents):
    return stated_forward(*primals), 7 * tangents[0]


@pb.func.custom_vjp
def stated_backward(x):
    return x * x


stated_backward.defvjp(lambda x: (x * x, None), lambda kept, g: (5 * g,))


def sum_of_stated(x):
    return (stated_backward(x) + stated_forward(x)).sum()


@pb.func.grad
def decorated(x):
    return (x * x * x).sum()
