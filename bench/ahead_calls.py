"""What does a call of a compiled function cost, for the ways in which functions are called? Guards, unpacking, native
entry, results and their history, on arrays of 8 elements. `bench/ahead.py` prints the table."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

MICRO = 1e-6
AIM_OF_ARRAYS, AIM_OF_RECORDING = 1 * MICRO, 3 * MICRO

Calls = dict[str, tuple[Callable[[], Any], float | None]]
"""What to call, and how long it may take."""


def _total(*xs: Any) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total * 2


def _layer(p: Any, x: Any) -> Any:
    return x * p["w"] + p["b"]


class _Model:
    """A model with four parameters."""

    def __init__(self, pb: Any, make: Callable[[], Any]) -> None:
        self.tanh = pb.tanh
        self.w, self.b, self.v, self.c = make(), make(), make(), make()

    def forward(self, x: Any) -> Any:
        return self.tanh(x * self.w + self.b) * self.v + self.c


def calls(pb: Any) -> Calls:
    """All calls; each was made before."""
    found = dict(_without_gradients(pb)) | dict(_recorded(pb)) | dict(_with_gradients(pb))
    for run, _ in found.values():
        for _ in range(300):  # native code is made well, and accumulators by it, only for those who call often
            run()
    return found


def _leaf(pb: Any) -> Any:
    return pb.tensor(np.arange(1.0, 9.0), requires_grad=True)


def _without_gradients(pb: Any) -> Iterator[tuple[str, tuple[Callable[[], Any], float | None]]]:
    array, other = np.ones(8), np.ones(8)
    x, y = pb.ones(8), pb.ones(8)
    add = pb.compile(lambda a, b: a + b)
    yield "np.add", (lambda: np.add(array, other), None)
    yield "eager x + y", (lambda: x + y, None)
    yield "two arrays", (lambda: add(array, other), AIM_OF_ARRAYS)
    yield "two tensors", (lambda: add(x, y), AIM_OF_ARRAYS)
    for count in (2, 8, 30):
        many = pb.compile(lambda a, b: a + b, recompile_limit=40)
        shapes = itertools.cycle([(np.ones(k), np.ones(k)) for k in range(8, 8 + count)])
        yield f"two arrays, {count} shapes in turn", (lambda f=many, next_=shapes.__next__: f(*next_()), 2 * MICRO)


def _recorded(pb: Any) -> Iterator[tuple[str, tuple[Callable[[], Any], float | None]]]:
    for count in (1, 2, 4, 8):
        f, g, xs = pb.compile(_total), pb.compile(_total), [_leaf(pb) for _ in range(count)]
        inner = [_leaf(pb) * 1 for _ in range(count)]
        new = itertools.cycle([[_leaf(pb) for _ in range(count)] for _ in range(1000)]).__next__
        aim = AIM_OF_RECORDING if count <= 4 else None
        yield f"recording, {count} leaves", (lambda f=f, xs=xs: f(*xs), aim)
        yield f"recording, {count} leaves, others every time", (lambda f=f, new=new: f(*new()), aim)
        yield f"recording, {count} inner tensors", (lambda g=g, xs=inner: g(*xs), aim)
    x, y, z = _leaf(pb), _leaf(pb), _leaf(pb)
    several = pb.compile(lambda a, b: (a + b, a * b, a - b))
    product = pb.compile(lambda a, b: a * b)
    part, flipped = pb.ones(16)[:8], pb.ones((8, 8)).T
    weights = {"w": x, "b": y}
    model = _Model(pb, lambda: _leaf(pb))
    methods = pb.compile(model.forward)
    layer = pb.compile(_layer)
    constant = pb.ones(8)
    rows = {
        "three results": lambda: several(x, y), "a view": lambda: product(part, y),
        "a transposed matrix": lambda: product(flipped, y), "a float": lambda: product(x, 2.5),
        "a NumPy scalar": lambda: product(x, _SCALAR), "keyword arguments": lambda: product(a=x, b=z),
        "a dict of weights": lambda: layer(weights, constant), "a method, 4 parameters": lambda: methods(constant),
    }  # fmt: skip
    for name, run in rows.items():
        yield f"recording, {name}", (run, AIM_OF_RECORDING)


def _with_gradients(pb: Any) -> Iterator[tuple[str, tuple[Callable[[], Any], float | None]]]:
    loss, xs = pb.compile(lambda *xs: _total(*xs).sum()), [_leaf(pb), _leaf(pb)]

    def step() -> None:
        loss(*xs).backward()
        for x in xs:
            x.grad = None

    whole = pb.compile(pb.func.grad_and_value(lambda a, b: _total(a, b).sum(), argnums=(0, 1)))
    constants = [x.detach() for x in xs]
    yield "two leaves, backward()", (step, None)
    yield "two leaves, autograd.grad", (lambda: pb.autograd.grad(loss(*xs), xs), None)
    yield "grad_and_value of two tensors", (lambda: whole(*constants), AIM_OF_RECORDING)
    yield "grad_and_value of two leaves", (lambda: whole(*xs), AIM_OF_RECORDING)


_SCALAR = np.float64(2.5)
