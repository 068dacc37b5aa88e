"""Functions that workers import."""

import os
import time
from pathlib import Path

import numpy as np

import pullback as pb


def residual(x):
    return pb.concat([pb.sin(x) * x[0], pb.cumsum(x * x)[:5]])


def dense(x):
    """Products of matrices, whose last bits depend on how many rows are computed together."""
    a = pb.tensor(np.linspace(-1, 1, 49 * 7).reshape(49, 7))
    return pb.tanh(a @ x)


def energy(x):
    return (x**3).sum() + (x[1:] * x[:-1] ** 2).sum()


def with_aux(x, scale=1.0):
    return pb.sin(x) * scale, {"sum": x.sum(), "name": "aux"}


def writes(x):
    y = x * 1
    x *= 2
    return y * y


def banded(x):
    return x[1:] * x[:-1] ** 2


def square(x):
    return x * x


def fails_at_3_and_7(k):
    if k == 3:
        time.sleep(0.3)  # later than the other one
    if k in (3, 7):
        raise ValueError(f"no {k}")
    return k


class Unreadable(Exception):
    """Cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__("both")


def raises_unreadable(k):
    raise Unreadable(k, k)


def returns_lambda(k):
    return lambda: k


def returns_history(k):
    return pb.tensor(1.0, requires_grad=True) * k


def dies_once(k, marker):
    """Ends its process the first time that it is called for 2."""
    if k == 2 and not Path(marker).exists():
        Path(marker).touch()
        os._exit(1)
    return k * k


def dies(k):
    os._exit(1)


def sleeps_once(k, marker):
    if k == 1 and not Path(marker).exists():
        Path(marker).touch()
        time.sleep(3)
    return k


def draw(k, rng=None):
    return rng.normal()


def modes(_):
    return (pb.is_grad_enabled(), str(pb.get_default_dtype()), np.geterr()["divide"], pb.get_num_threads(), os.getpid())


class CallsCompiled:
    """Says in which process it is, and how often its compiled function was captured there."""

    def __init__(self, compiled):
        self.compiled = compiled

    def __call__(self, x):
        self.compiled(pb.tensor(x))
        return os.getpid(), self.compiled.cache_info().misses


def square_sum(x):
    return (x * x).sum()


def loss(params, sample):
    x, y = sample
    return ((params["w"] * x).sum() + params["b"] - y) ** 2


def fit(start):
    """A few steps of Newton on a function with several minima."""
    x = pb.tensor(float(start))
    if start > 9.5:
        raise ValueError("too far")
    for _ in range(5):
        slope, curvature = pb.func.grad(hills)(x), pb.func.grad(pb.func.grad(hills))(x)
        x = x - slope / (abs(curvature) + 0.1)
    return float(hills(x)), float(x)


def hills(x):
    return pb.sin(3 * x) + 0.1 * x * x


def member(rate):
    return {"end": pb.tensor([rate, rate * 2]), "count": 3}


def sleep_long(k):
    time.sleep(30)


class Model:
    """Something with many numbers in it."""

    def __init__(self, weights):
        self.weights = weights

    def __call__(self, k):
        return float((self.weights * k).sum())
