"""`pb.compile` of adapted functions: what adapt sees, the trace sees too."""

import dataclasses
import functools
import math
from abc import ABC, abstractmethod

import numpy as np
import pytest

import pullback as pb

STEPS = 4
RATES = np.linspace(0.1, 0.4, STEPS)


def grown(level, rate):
    return level * (1 + math.sin(rate))


def float_of_its_own(level):
    return float(level) + 1  # the name is defined by this module


def float(level):
    return level * 3


def fills_an_array(x):
    levels = np.zeros(STEPS + 1)
    levels[0] = x[0]
    for k in range(STEPS):
        levels[k + 1] = grown(levels[k], RATES[k] * x[1])
    return levels.sum()


def imports_inside(x):
    from numpy import linalg

    a = np.eye(2)
    a[0, 1] = x[0]
    return linalg.norm(a @ np.array([x[1], 2.0]))


def makes_functions(x):
    def total(values):
        out = np.empty(3)
        out[:] = values[0]
        out *= x[1]
        return round(out[2], 3) + out.sum()

    return total(x)


def uses_names_of_the_module(x):
    return float_of_its_own(x[0]) + np.full(2, x[1])[0]


class Integrator(ABC):
    step = 0.25
    table = np.array([0.5, 0.25])

    def __init__(self, start):
        self.state = np.zeros(3)
        self.state[0] = start
        self.history = []

    @abstractmethod
    def slope(self, state):
        ...

    def run(self, steps):
        for _ in range(steps):
            self.state[1:] = self.state[:-1]
            self.state[0] += self.step * self.slope(self.state)
            self.history.append(self.state.copy())
        return self


class Damped(Integrator):
    def __init__(self, start, damping):
        super().__init__(start)
        self._damping = damping

    @property
    def damping(self):
        out = np.empty(1)
        out[0] = self._damping
        return out[0]

    @functools.cached_property
    def scale(self):
        return np.array([self._damping, 1.0]).sum()

    @classmethod
    def twice(cls, x):
        return cls(2 * x[0], x[1])

    @staticmethod
    def inertia(state):
        both = np.zeros(2)
        both[:] = state[1:]
        return both.sum()

    def slope(self, state):
        return -self.damping * self.scale * state[0] + self.inertia(state) * self.table[1]

    def __len__(self):
        return len(self.history)


@dataclasses.dataclass
class Spring:
    stiffness: np.ndarray
    lengths: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(2))

    def energy(self):
        self.lengths[:] = self.stiffness[::-1]
        self.lengths *= 2.0
        return (self.stiffness * self.lengths**2).sum()


class Model:
    def __init__(self):
        self.weights = np.array([1.0, 3.0])

    def loss(self, x):
        residual = np.zeros(2)
        residual[0], residual[1] = x[1] - self.weights[0], x[0] * self.weights[1]
        return residual @ residual


MODEL = Model()


def runs_an_object(x):
    made = Damped(x[0], x[1]).run(3)
    return made.state.sum() + len(made) * np.sum(made.history)


def uses_a_class_method(x):
    made = Damped.twice(x)
    assert isinstance(made, Integrator) and type(made) is Damped
    return made.run(2).state[0]


def makes_a_dataclass(x):
    return Spring(x).energy() + Spring(stiffness=np.array([x[1], 1.0])).energy()


def uses_an_object_of_the_module(x):
    return MODEL.loss(x)


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize("function", [
    fills_an_array, imports_inside, makes_functions, uses_names_of_the_module,
    runs_an_object, uses_a_class_method, makes_a_dataclass, uses_an_object_of_the_module,
])  # fmt: skip
def test_an_adapted_function_is_captured(function, backend):
    adapted = pb.func.adapt(function)
    compiled = pb.compile(adapted, backend=backend, fallback="raise")
    for start in ([0.5, 0.25], [1.5, -0.75]):
        eager, traced = (pb.tensor(start, requires_grad=True) for _ in range(2))
        expected, actual = adapted(eager), compiled(traced)
        np.testing.assert_allclose(actual.item(), expected.item(), rtol=1e-12)
        wanted, found = pb.autograd.grad(expected, eager)[0], pb.autograd.grad(actual, traced)[0]
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_an_object_of_the_module_is_read_again_when_it_changes():
    model = Model()
    compiled = pb.compile(pb.func.adapt(lambda x: model.loss(x)), fallback="raise")
    x = pb.tensor([1.0, 2.0])
    assert compiled(x).item() == 10.0
    model.weights = np.array([2.0, 1.0])
    assert compiled(x).item() == 1.0
    model.weights[0] = 3.0
    assert compiled(x).item() == 2.0


def test_a_method_that_is_replaced_is_noticed(monkeypatch):
    compiled = pb.compile(pb.func.adapt(uses_a_class_method), fallback="raise")
    x = pb.tensor([1.0, 2.0])
    before = compiled(x).item()
    monkeypatch.setattr(Damped, "inertia", staticmethod(lambda state: state[0]))
    assert compiled(x).item() == pb.func.adapt(uses_a_class_method)(x).item() != before


def test_a_class_attribute_that_is_assigned_is_assigned_in_every_call():
    def assigns(x):
        Model.last = x * 2
        return x

    compiled = pb.compile(pb.func.adapt(assigns), fallback="raise")
    try:
        for value in (1.0, 3.0):
            x = pb.tensor(value, requires_grad=True)
            compiled(x)
            assert Model.last.item() == 2 * value
            Model.last.backward()
            assert x.grad.item() == 2.0
    finally:
        del Model.last
