"""Cases 35 to 65 and 153 to 160 of `compiling-anything.md`: what a function finds around it and leaves there.

Every program is run twice, as it is and compiled, with the same changes by its owner between the calls. What it
returns, its gradient, and what is left behind have to be the same after every call.
"""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Any

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import _check, _looks

CALLS = 12
PROGRAMS: dict[str, Any] = {}
RATE = 0.5
CALLED = 0


def program(captures: int) -> Any:
    """A program that needs so many captures at most: a function that makes the state, the function that is compiled,
    what its owner does between calls, and what is to be seen of the state."""

    def noted(make: Any) -> Any:
        PROGRAMS[make.__name__] = (make, captures)
        return make

    return noted


def nobody(k: int) -> None:
    """Does nothing between calls."""


@program(2)
def a_variable_that_decays():
    rate = 0.1

    def f(x):
        return x - rate * x**3

    def decay(k):
        nonlocal rate
        rate *= 0.9

    return f, decay, lambda: rate


@program(3)
def a_global_with_a_branch():
    def f(x):
        return x * RATE if RATE > 0.3 else x - RATE

    def decay(k):
        global RATE
        RATE = 0.5 * 0.9**k

    return f, decay, lambda: RATE


@program(2)
def numbers_of_all_kinds():
    s = types.SimpleNamespace(a=1.5, b=np.float32(2), c=3, d=1 + 2j, table={"e": 0.5, "n": 7}, row=[1.0, 2.0])

    def f(x):
        return x * s.a + s.b * s.c + abs(s.d) * s.table["e"] + math.sqrt(s.row[1])

    def change(k):
        s.a, s.b, s.c, s.d = k / 2, np.float32(k), k, complex(k, 1)
        s.table["e"], s.row[1] = k + 0.25, float(k)

    return f, change, lambda: None


@program(2)
def a_default_and_an_item():
    def f(x, scale=2.0):
        return x * scale

    def change(k):
        f.__defaults__ = (float(k),)

    return f, change, lambda: None


class Momentum:
    """An optimiser as people write it."""

    decay = 0.9

    def __init__(self):
        self.velocity = pb.zeros(3)
        self.steps = 0
        self.rate = 0.1
        self.history = []
        self.stats = {"n": 0, "sum": 0.0}
        self.best = None

    def step(self, g):
        self.velocity = self.decay * self.velocity + g.detach()
        self.steps += 1
        self.rate *= 0.99
        return g - self.rate / (1 - 0.5**self.steps) * self.velocity

    def logged(self, x):
        loss = (x * x).sum()
        self.history.append(loss.item())
        self.stats["n"] += 1
        self.stats["sum"] += loss.item()
        return loss

    def kept(self, x):
        y = x * 2
        self.history.append(y)
        self.history += [y.sum(), 1.0]
        return y

    def until(self, x):
        while (x * x).sum() > 0.1:
            x = x * 0.5
            self.history.append((x * x).sum().item())
        return x

    def best_so_far(self, x):
        value = (x * x).sum()
        if self.best is None or value.item() < self.best:
            self.best = value.item()
            self.steps = 0
        else:
            self.steps += 1
        return value * self.best

    def last_two(self, x):
        self.history.append(x.sum().item())
        return x * self.history[-1]


@program(2)
def an_optimiser():
    o = Momentum()
    return o.step, nobody, lambda: (o.velocity, o.steps, o.rate)


@program(2)
def a_log():
    o = Momentum()
    return o.logged, nobody, lambda: (list(o.history), list(o.stats.items()))


@program(1)
def tensors_that_are_kept():
    o = Momentum()
    return o.kept, nobody, lambda: (list(o.history), o.history[-3].requires_grad)


@program(1)
def a_log_in_a_loop():
    o = Momentum()
    return o.until, nobody, lambda: list(o.history)


@program(4)
def early_stopping():
    o = Momentum()
    return o.best_so_far, nobody, lambda: (o.best, o.steps)


@program(2)
def a_global_counter():
    def f(x):
        global CALLED
        CALLED += 1
        return x * CALLED

    return f, nobody, lambda: CALLED


@program(2)
def a_counter_of_a_closure():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x / n

    return f, nobody, lambda: n


@program(2)
def a_memo():
    memo: dict[Any, Any] = {}

    def f(x):
        if "w" not in memo:
            memo["w"] = np.linspace(0, 1, 3)
            memo["parts"] = [x.detach() * 0 + 1, (2.0, "two")]
            memo[x.shape, "key"] = 0.5
        return x * memo["w"] * memo["parts"][0] * memo[x.shape, "key"]

    return f, nobody, lambda: sorted(map(str, memo))


@program(2)
def a_tensor_that_is_replaced():
    s = types.SimpleNamespace(w=pb.ones(3))

    def f(x):
        return (x * s.w).sum()

    def change(k):
        s.w = pb.tensor(np.full(3, k + 1.0))
        if k == 5:
            s.w = pb.ones(1)  # of another shape
        if k == 7:
            del s.w
            s.w = pb.ones(3) * 2

    return f, change, lambda: s.w


@program(3)
def slots_and_deleted_attributes():
    @dataclasses.dataclass(slots=True)
    class Slots:
        n: int = 0
        last: Any = None

    o, other = Slots(), types.SimpleNamespace(flag=True)

    def f(x):
        o.n += 1
        o.last = x * o.n
        if hasattr(other, "flag"):
            del other.flag
        return o.last.sum()

    return f, nobody, lambda: (o.n, o.last, sorted(vars(other)))


@pytest.mark.parametrize("backend", ["numpy", "auto"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_035_to_085_and_153_to_160_state(name, backend):
    """Also: it is compiled, once or twice."""
    make, captures = PROGRAMS[name]
    rows, compiled = [], []

    def as_compiled(function: Any) -> Any:
        compiled.append(pb.compile(function, fallback="raise", backend=backend))
        return compiled[0]

    for wrapped in (lambda function: function, as_compiled):
        globals().update(RATE=0.5, CALLED=0)
        function, change, seen = make()
        call = wrapped(function)
        row = []
        for k in range(CALLS):
            x = pb.tensor(np.random.default_rng(k).normal(size=3), requires_grad=True)
            y = call(x)
            (g,) = pb.autograd.grad((y * y).sum(), x, create_graph=True)
            state = seen()
            row.append([_looks(each) for each in (y, g, *(state if isinstance(state, tuple) else (state,)))])
            change(k)
        rows.append(row)
    for k, (found, expected) in enumerate(zip(rows[1], rows[0], strict=True)):
        _check(_plain(found), _plain(expected), (name, k), 1e-9)
    assert compiled[0].cache_info().misses <= captures + (name == "a_tensor_that_is_replaced")


def _plain(x: Any) -> Any:
    """Tensors in what was seen as what they look like."""
    if isinstance(x, (list, tuple)):
        return type(x)([_plain(each) for each in x])
    return _looks(x)[1:] if isinstance(x, pb.Tensor) else x


def test_038_what_cannot_be_left_behind_by_every_call_runs_as_it_is():
    """A list that would be found in two places, an object that is made in the call, and a set."""
    s = types.SimpleNamespace(a=None, b=None)

    class Made:
        pass

    def twice(x):
        s.a = s.b = [x.sum()]
        return x

    def given_back(x):
        s.a = [x.sum()]
        return s.a

    def an_object(x):
        s.a = Made()
        return x

    for function in (twice, given_back, an_object):
        with pytest.raises(pb.aot.NotCompiledError, match=r"assigns to s\.a"):
            pb.compile(function, fallback="raise")(pb.ones(2))
    with pytest.warns(UserWarning, match="without being compiled"):
        compiled = pb.compile(twice)
        for _ in range(3):
            compiled(pb.ones(2))
    assert s.a is s.b


def test_046_explain_leaves_nothing_behind():
    o = Momentum()
    compiled = pb.compile(o.logged)
    compiled.explain(pb.ones(3))
    assert o.history == [] and o.stats == {"n": 0, "sum": 0.0}


def test_053_derivatives_that_run_the_function_again_refuse_other_values():
    """A formula of one's own is differentiated by running the function again, which would find another number."""

    class Square(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    s = types.SimpleNamespace(k=2.0)
    f = pb.compile(lambda x: Square.apply(x) * s.k)
    for k in (2.0, 3.0, 4.0):
        s.k = k
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        (g,) = pb.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = pb.autograd.grad(g.sum(), x)
        np.testing.assert_allclose(h.numpy(), 2 * k)
