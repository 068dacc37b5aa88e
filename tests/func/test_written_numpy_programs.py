"""Random NumPy programs with writes, views and loops: every way to their gradient gives what differences of NumPy give.

The text of a program runs on plain arrays, where NumPy itself says what it computes, and then adapted, eager, inside of
transforms, checkpointed, with hooks, twice, on another thread and compiled. `python -m
tests.func.test_written_numpy_programs 5000` runs many.
"""

import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import saved_tensors_hooks
from pullback.func import adapt, grad, jvp, vmap
from pullback.utils.checkpoint import checkpoint

X = np.random.default_rng(5).uniform(0.2, 1.2, (3, 4))
DIRECTION = np.random.default_rng(1).standard_normal(X.shape)


class Writer:
    """Writes the text of a program on three matrices and views of them."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.number = lambda stop: int(rng.integers(stop))
        self.views = []

    def one_of(self, choices):
        return choices[self.number(len(choices))]

    def matrix(self):
        return self.one_of("abc")

    def cut(self, length):
        at = self.number(length)
        return self.one_of([":", "1:", ":-1", "::2", "::-1", "1:3", f"{at}", f"{-1 - at}", f"{at}:"])

    def key(self):
        return self.one_of([
            str(self.number(3)), f"{self.number(3)}, {self.number(4)}", f"..., {self.cut(4)}", self.cut(3),
            f"{self.cut(3)}, {self.cut(4)}", "[0, 2]", "[1, 1, 2]", "[0, 2], [1, 3]", ":, [0, 3]",
            "np.array([True, False, True])",
        ])  # fmt: skip

    def scalar(self):
        m = self.matrix()
        return self.one_of([
            f"{m}[{self.number(3)}, {self.number(4)}]", f"{m}.sum() * 0.1", f"({m} * {self.matrix()}).mean()", "0.3",
            f"np.tanh({m}[{self.number(3)}]).sum()", "np.tanh(t)",
        ])  # fmt: skip

    def value(self):
        m, n = self.matrix(), self.matrix()
        return self.one_of([
            f"{m} * {n}", f"np.sin({m})", f"{m} + {n}", f"np.tanh({m}) * {self.scalar()}", f"{m}[::-1] * {n}",
            f"np.where({m} > {n}, {m}, {n} * 0.5)", f"{m} / (2.0 + {n} * {n})", f"np.roll({m}, 1, 0)",
            f"np.cumsum({m}, 1) * 0.3", f"{m}[[2, 0, 1]]", f"{m} @ ({n}.T @ {m}) * 0.05",
        ])  # fmt: skip

    def statement(self):
        m, n, operator = self.matrix(), self.matrix(), self.one_of(["=", "+=", "*=", "-="])
        inplace = self.one_of(["+=", "*=", "-="])
        view = self.one_of(self.views) if self.views else None
        kind = self.number(11 if view else 8)
        if kind == 0:
            self.views.append(f"v{len(self.views)}")
            shown = self.one_of(["[1:]", "[:, 1:3]", ".T", ".T[1:]", ".reshape(-1)", "[0]", "[::2, ::-1]", ".ravel()"])
            return f"{self.views[-1]} = {m}{shown}"
        pick = self.one_of
        rows, other = pick(["1:", ":2", "[0, 2]", "::2"]), pick([":2", "1:", "[1, 0]", "1"])
        step = pick([f"np.sin({n}[i])", f"{m}[i - 1] * 0.8", f"{n}[i, 0]"])
        return [
            "",
            f"{m} {inplace} {pick([self.scalar(), self.value()])}",
            f"{m}[{self.key()}] {operator} {self.scalar()}",
            f"{m}[{rows}] {operator} {n}[{other}]",
            f"{m} = {self.value()}",
            f"{m}[{m} > {n}] {operator} {self.scalar()}",
            f"for i in range(3): {m}[i] {operator} {step}",
            f"t = t + ({self.value()}).sum()",
            f"{view} {inplace} {pick(['0.5', self.scalar(), f'np.tanh({view})'])}",
            f"{view}[{pick(['...', '0', '-1', '1:'])}] {operator} {self.scalar()}",
            f"t = t + np.sin({view} * 0.7).sum() * {self.scalar()}",
        ][kind]

    def program(self):
        lines = ["a = x * 1.1", "b = np.sin(x)", "c = x * x + 0.2", "t = (a * b).sum()"]
        lines += [self.statement() for _ in range(3 + self.number(8))]
        shown = "".join(f" + np.cos({view}).sum()" for view in self.views)
        lines.append(f"return np.tanh(t) + (np.tanh(a) * b + np.sin(c)).sum(){shown}")
        return "def f(np, x):\n" + "\n".join(f"    {line}" for line in lines)


def backward(f, run=lambda make: make().backward()):
    x = pb.tensor(X, requires_grad=True)
    run(lambda: f(pb, x))
    return x.grad.numpy()


def twice(make):
    out = make()
    half = pb.tensor(0.5, dtype=out.dtype)
    out.backward(half, retain_graph=True)
    out.backward(half)


def on_a_thread(make):
    thread = threading.Thread(target=make().backward)
    thread.start()
    thread.join()


def with_hooks(make):
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        out = make()
    out.backward()


def recorded(f):
    x = pb.tensor(X, requires_grad=True)
    return pb.autograd.grad(f(pb, x), x, create_graph=True)[0].detach().numpy()


def checkpointed(f):
    x = pb.tensor(X, requires_grad=True)
    checkpoint(lambda t: f(pb, t), x, use_reentrant=False).backward()
    return x.grad.numpy()


WAYS = {
    "eager": backward,
    "adapted": lambda f: grad(adapt(lambda t: f(np, t)))(pb.tensor(X)).numpy(),
    "transformed": lambda f: grad(lambda t: f(pb, t))(pb.tensor(X)).numpy(),
    "batched": lambda f: vmap(grad(lambda t: f(pb, t)))(pb.tensor(np.stack([X * 0.9, X]))).numpy()[1],
    "checkpointed": checkpointed,
    "recorded": recorded,
    "with hooks": lambda f: backward(f, with_hooks),
    "twice": lambda f: backward(f, twice),
    "on a thread": lambda f: backward(f, on_a_thread),
}
COMPILED = {
    "compiled": lambda f: backward(lambda m, x: pb.compile(lambda t: f(m, t))(x)),
    "a compiled gradient": lambda f: pb.compile(grad(lambda t: f(pb, t)))(pb.tensor(X)).numpy(),
}


def differences(f, step=1e-6):
    """The gradient by central differences of NumPy's own run; None if the program is not smooth here."""
    found = []
    for h in (step, 10 * step):
        moved = [X + h * np.eye(X.size)[k].reshape(X.shape) * sign for k in range(X.size) for sign in (1, -1)]
        values = np.array([f(np, each) for each in moved]).reshape(X.size, 2)
        found.append(((values[:, 0] - values[:, 1]) / (2 * h)).reshape(X.shape))
    return found[0] if np.allclose(*found, rtol=1e-3, atol=1e-4) else None


def check(seed, compiled=False):
    """Every way to the gradient of one program; True if there was something to compare."""
    text = Writer(seed).program()
    scope = {}
    exec(text, scope)
    f = scope["f"]
    try:
        expected = differences(f)
    except ValueError:  # shapes that NumPy refuses
        return False
    if expected is None:
        return False
    for name, way in {**WAYS, **(COMPILED if compiled else {})}.items():
        try:
            found = way(f)
        except pb.AutogradError as error:
            assert name == "batched" and error.code == "VMAP_DYNAMIC_SHAPE", f"{name}, seed {seed}\n{text}"
            continue
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=f"{name}, seed {seed}\n{text}")
    slope = jvp(lambda t: f(pb, t), (pb.tensor(X),), (pb.tensor(DIRECTION),))[1].item()
    np.testing.assert_allclose(slope, (expected * DIRECTION).sum(), rtol=1e-3, atol=1e-3, err_msg=f"{seed}\n{text}")
    check_second(f, f"{seed}\n{text}")
    return True


def check_second(f, text):
    """Three ways to a product with the Hessian agree."""
    gradient = grad(lambda t: f(pb, t))
    x, d = pb.tensor(X), pb.tensor(DIRECTION)
    first = jvp(gradient, (x,), (d,))[1].numpy()
    ways = {
        "reverse over reverse": grad(lambda t: (gradient(t) * d).sum())(x),
        "reverse over forward": grad(lambda t: jvp(lambda u: f(pb, u), (t,), (d,))[1])(x),
    }
    for name, found in ways.items():
        np.testing.assert_allclose(found, first, rtol=1e-9, atol=1e-9 * np.abs(first).max(), err_msg=f"{name}, {text}")


@pytest.mark.parametrize("block", range(4))
def test_every_way_gives_what_differences_of_numpy_give(block):
    assert sum(check(seed, compiled=seed % 15 == 0) for seed in range(20 * block, 20 * block + 20)) > 10


if __name__ == "__main__":
    compared = sum(check(seed, compiled=seed % 20 == 0) for seed in range(1000, 1000 + int(sys.argv[1])))
    print(compared, "programs agree")
