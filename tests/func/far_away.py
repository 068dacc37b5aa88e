"""A module of its own for the tests of `adapt`."""

import math

import numpy as np

OFFSET = np.array([1.0, 2.0, 3.0])


def filled(x):
    out = np.zeros(3)
    out[0] = x[0] * x[0]
    out[1:] = x[1:]
    return out


def shifted(x):
    return filled(x) + OFFSET


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        out = np.empty(3)
        out[:] = self.factor * x
        return out


def logged(function):
    """A decorator that does not say what it wraps."""

    def call(*args):
        return function(*args)

    return call


def as_a_number(x):
    return math.sin(x[0])


def added_to_an_array(x):
    out = np.zeros(3)
    out += x
    return out


def running_total(x):
    total = x[0]
    for value in x[1:]:
        total += value
    return total
