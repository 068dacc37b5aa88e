"""Programs that go the special ways which usual ones seldom or never go: called hundreds of times, read from disk, with
arguments by name, at many lengths, on large arrays and several threads, with operators of their own. Each is compared
with the plain way, which is eager code with the fast paths shut and NumPy alone."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import pullback as pb
from pullback.compiler.machine import jit
from pullback.compiler.machine.objects import NotLinked
from pullback.core.state import switch

from .compare import same
from .program import Disagreement
from .shrink import simpler_texts
from .world import numbers

Shapes = tuple[tuple[int, ...], ...]
UNARY = ("pb.sin({0})", "pb.tanh({0})", "pb.exp(-{0} * {0})", "pb.sqrt(1 + {0} * {0})", "pb.softplus({0})",
         "pb.sigmoid({0})", "pb.relu({0})", "pb.abs({0})", "pb.log(2 + {0} * {0})", "pb.cos({0})", "(-{0})",
         "pb.square({0})", "pb.expm1({0} * 0.1)", "pb.arctan({0})", "pb.special.erf({0})")  # fmt: skip
BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / (2 + {1} * {1})", "pb.maximum({0}, {1})",
          "pb.where({0} > 0.1, {1}, {0})", "pb.hypot({0}, 1 + {1})")  # fmt: skip
NUMBERS = ("0.5", "2.0", "-1.5", "0.703125", "3")


@pb.library.custom_op("fuzz::cubed", mutates_args=())
def cubed(x: np.ndarray) -> np.ndarray:
    return x**3


cubed.register_fake(lambda x: pb.empty_like(x))
cubed.register_autograd(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
                        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))  # fmt: skip


def expression(rng: random.Random, names: list[str], depth: int) -> str:
    """A smooth function of these variables, or one with few kinks."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(names)
    if rng.random() < 0.45:
        return rng.choice(UNARY).format(expression(rng, names, depth - 1))
    if rng.random() < 0.2:
        return f"({expression(rng, names, depth - 1)} * {rng.choice(NUMBERS)})"
    parts = expression(rng, names, depth - 1), expression(rng, names, depth - 1)
    return f"({rng.choice(BINARY).format(*parts)})"


# Forms: shapes of the arguments, and a text around an expression `{e}` of `x`, `y` and what the form has made.
FORMS: dict[str, tuple[Callable[[random.Random], Shapes], str]] = {
    "elementwise": (lambda r: ((n := r.choice((1, 3, 8, 50, 300)),), (n,)), "return {e}"),
    "loss": (lambda r: ((n := r.choice((2, 9, 40)),), (n,)), "return ({e}).sum() * 0.703125"),
    "large": (lambda r: ((n := r.choice((150_000, 300_000, 600_000)),), (n,)), "return {e} + x - y - x"),
    "rows": (lambda r: ((r.choice((60, 100, 400)), r.choice((300, 500))),) * 2, "return pb.softmax({e}, 1) * x"),
    "sums of rows": (lambda r: ((r.choice((100, 300)), r.choice((400, 700))),) * 2,
                     "return ({e}).sum(1) + pb.logsumexp(x, 1) * pb.mean({e}, 1)"),
    "network": (lambda r: ((r.choice((300, 1000, 2000)), 64), (64, r.choice((16, 48))), (48, 10)),
                "h = pb.tanh(x @ y)\nx = y = h\nh = {e}\nreturn pb.logsumexp(h[:, :10] if w.shape[0] != h.shape[1] "
                "else h @ w, axis=1)"),
    "short rows": (lambda r: ((r.choice((200, 400, 1000)), k := r.choice((3, 6, 8))), (k, r.choice((3, 5)))),
                   "x = y = x @ y\nreturn (pb.softmax({e}, axis=1) ** 2).sum(axis=1)"),
    "product": (lambda r: ((r.choice((40, 150, 200)), k := r.choice((30, 150))), (k, r.choice((35, 240)))),
                "x = y = x @ y\nreturn {e}"),
    "points": (lambda r: ((r.choice((10, 20)), 3), (4,)),
               "def step(x, t):\n    x = y = x[:, None] - x\n    near = 1 / (({e}) ** 2 + 0.5).sum(axis=2)\n"
               "    return z + t * 0.1, near.sum()\nz = x\nreturn pb.scan(step, x, y)[1]"),
    "scan": (lambda r: ((r.choice((12, 30)),), ()), "w = y\ndef step(y, x):\n    y = pb.tanh(y * w + {e})\n"
             "    return y, y * x\nreturn pb.scan(step, w * 0.5, x)"),
    "scan of rows": (lambda r: ((r.choice((6, 12)), 5), (5,)), "w = y\ndef step(y, x):\n    y = pb.tanh({e}) * "
                     "pb.exp(-w * w)\n    return y, (y + x) * (y + x)\nreturn pb.scan(step, w * 1.0, x)[1]"),
    "scan twice": (lambda r: ((15,), ()), "w = y\ndef step(y, x):\n    return pb.sin(y * w) * x, {e}\n"
                   "def other(y, x):\n    return pb.sin(y * w) * x, y * y\n"
                   "return pb.scan(step, w, x)[1] + pb.scan(other, w, x)[1]"),
    "slices": (lambda r: ((3, 2, 4), (5, 4)), "w = x\nz = y\ndef step(y, x):\n    return pb.tanh(y * w[0, 1] + "
               "x * w[2, 0]), {e} * w[1, 1]\nreturn pb.scan(step, z[0], z)"),
    "python loop": (lambda r: ((20,), ()), "h = x[:3]\nz = x\nfor k in range(120):\n    x = h\n"
                    "    h = pb.tanh({e} * 0.3 + z[k % 17 : k % 17 + 3] * y)\nreturn h"),
    "columns": (lambda r: ((r.choice((50, 300)), 4), (4,)), "return pb.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2, "
                "x[:, 3] * x[:, 0]], axis=1) + {e}"),
    "commands": (lambda r: ((40,), (40,)), "e = {e}\nreturn pb.stack([pb.sin(e[: 40 - k] * (k + 1.0)).sum() * "
                 "pb.cos(e[k:] * 0.1).prod() for k in range(38)])"),
    "systems": (lambda r: ((n := r.choice((3, 9, 20)), n), (n,)), "a = x + 9 * np.eye(len(y))\nx = y\nb = {e}\n"
                "return pb.linalg.slogdet(a)[1] + pb.linalg.solve(a, b).sum() + pb.linalg.solve(a.T, b) * "
                "pb.linalg.inv(a)[0]"),
    "operators": (lambda r: ((r.choice((2, 5)), 6), (6,)), "cubes = cubed(x)\nreturn {e} + cubes"),
    "examples": (lambda r: ((r.choice((2, 5)), 6), (6,)), "return pb.func.vmap(lambda x: {e} + cubed(x) + "
                 "pb.digitize(x.detach(), np.array([0.3, 0.6])))(x)"),
}  # fmt: skip
SMALL = ("elementwise", "loss", "short rows", "scan", "columns", "operators")
NATIVE = tuple(name for name in FORMS if name not in ("large", "examples"))


@contextmanager
def plain() -> Iterator[None]:
    """The plain way, on one thread."""
    native, threads = pb.set_native_eager(False), pb.get_num_threads()
    pb.set_num_threads(1)
    switch.open()
    try:
        yield
    finally:
        switch.close()
        pb.set_native_eager(native)
        pb.set_num_threads(threads)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    threads = pb.get_num_threads()
    pb.set_num_threads(count)
    try:
        yield
    finally:
        pb.set_num_threads(threads)


# Ways: from a function and arrays to a list of arrays.


def leaves(arrays: list[Any]) -> list[Any]:
    return [pb.tensor(x.copy(), requires_grad=True) for x in arrays]


def weighted(outs: tuple[Any, ...]) -> Any:
    """A number that depends on all of these."""
    if len(outs) == 1 and outs[0].ndim == 0:
        return outs[0]
    return sum((x * numbers(x.shape, "float64", "positive", 5)).sum() for x in outs)


def derived(f: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    """The values, and the gradients of a number that depends on all of them."""
    given = leaves(arrays)
    out = f(*given)
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) == 1 and outs[0].ndim == 0:
        outs[0].backward()
        found = [x.grad for x in given]
    else:
        found = list(pb.autograd.grad(weighted(outs), given, allow_unused=True, materialize_grads=True))
    return [*(x.detach().numpy() for x in outs), *(np.zeros(x.shape) if g is None else g.numpy()
                                                   for x, g in zip(given, found, strict=True))]  # fmt: skip


def often(f: Any, arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="llvm")
    for _ in range(420):
        derived(compiled, arrays)
    return derived(compiled, arrays)


def inside(f: Any, arrays: list[Any]) -> list[Any]:
    """Values and gradients by one graph."""

    def both(*given: Any) -> Any:
        def total(*given: Any) -> Any:
            out = f(*given)
            outs = out if isinstance(out, tuple) else (out,)
            return weighted(outs), outs

        gradients, outs = pb.func.grad(total, tuple(range(len(given))), has_aux=True)(*given)
        return (*outs, *gradients)

    return [x.numpy() for x in pb.compile(both, backend="llvm")(*map(pb.tensor, arrays))]


def from_disk(backend: str) -> Callable[..., Any]:
    def run(f: Any, arrays: list[Any]) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            pb.aot.set_cache_dir(folder)
            try:
                derived(pb.compile(f, backend=backend), arrays)
                return derived(pb.compile(f, backend=backend), arrays)
            finally:
                pb.aot.set_cache_dir(None)

    return run


def by_name(f: Any, arrays: list[Any]) -> list[Any]:
    compiled = pb.compile(f, backend="llvm")
    for _ in range(3):
        found = derived(lambda *given: compiled(*given[:-1], y=given[-1]), arrays)
    return found


def at_many_lengths(f: Any, arrays: list[Any]) -> list[Any]:
    """Every other kind of call is another capture."""
    compiled = pb.compile(f, backend="numpy", recompile_limit=20)
    for _ in range(2):
        for length in range(2, 8):
            derived(compiled, [x[:length] for x in arrays])
    return derived(compiled, arrays)


def linked_by_llvm(f: Any, arrays: list[Any]) -> list[Any]:
    def refused(code: bytes, address_of: Any) -> Any:
        raise NotLinked("a test")

    link, jit.link = jit.link, refused
    try:
        return derived(pb.compile(f, backend="llvm"), arrays)
    finally:
        jit.link = link


def warm(threads: int) -> Callable[..., Any]:
    def run(f: Any, arrays: list[Any]) -> list[Any]:
        with on_threads(threads):
            for _ in range(25):
                derived(f, arrays)
            return derived(f, arrays)

    return run


def eagerly(threads: int) -> Callable[..., Any]:
    def run(f: Any, arrays: list[Any]) -> list[Any]:
        with on_threads(threads):
            return derived(f, arrays)

    return run


def silently(f: Any, arrays: list[Any]) -> list[Any]:
    before = pb.func.set_vmap_fallback("silent")
    try:
        return derived(f, arrays)
    finally:
        pb.func.set_vmap_fallback(before)


WAYS: dict[str, tuple[Callable[..., Any], tuple[str, ...], float]] = {
    "called often": (often, SMALL, 1),
    "compiled": (lambda f, arrays: derived(pb.compile(f, backend="llvm"), arrays), NATIVE, 4),
    "compiled without rerolling": (lambda f, arrays: derived(pb.compile(f, backend="llvm", reroll=False), arrays),
                                   ("commands", "python loop"), 1),
    "compiled on two threads": (lambda f, arrays: on_two(f, arrays), ("rows", "sums of rows", "product", "network"), 1),
    "gradients inside": (inside, NATIVE, 3),
    "native code from disk": (from_disk("llvm"), SMALL, 1),
    "source from disk": (from_disk("numpy"), SMALL, 1),
    "arguments by name": (by_name, ("elementwise", "loss", "columns"), 1),
    "many lengths": (at_many_lengths, ("elementwise", "loss"), 1),
    "linked by LLVM": (linked_by_llvm, SMALL, 1),
    "large arrays": (warm(1), ("large",), 0.5),
    "large arrays on two threads": (warm(2), ("large",), 0.5),
    "eager": (eagerly(1), tuple(name for name in FORMS if name not in ("large", "examples")), 2),
    "eager on two threads": (eagerly(2), ("rows", "sums of rows"), 1),
    "one example after the other": (silently, ("examples",), 1),
}  # fmt: skip


def on_two(f: Any, arrays: list[Any]) -> list[Any]:
    with on_threads(2):
        return derived(pb.compile(f, backend="llvm"), arrays)


@dataclass(frozen=True)
class Way:
    """A way, a form, the expression in it, and the shapes of its arguments."""

    tester: str
    way: str
    form: str
    expression: str
    shapes: Shapes
    seed: int

    def text(self) -> str:
        body = FORMS[self.form][1].replace("{e}", self.expression)
        return f"def f({', '.join('xyw'[: len(self.shapes)])}):\n    " + body.replace("\n", "\n    ")

    def source(self) -> str:
        return f"{self.text()}\n# {self.way}, arguments of shapes {', '.join(map(str, self.shapes))}"

    def function(self) -> Any:
        scope: dict[str, Any] = {"np": np, "pb": pb, "cubed": cubed}
        exec(compile(self.text(), f"<way {self.seed}>", "exec"), scope)
        return scope["f"]

    def arrays(self) -> list[Any]:
        return [numbers(shape, "float64", "unit", self.seed % 1000 + k) + 0.4 for k, shape in enumerate(self.shapes)]


class Ways:
    """Special ways against the plain one."""

    name = "ways"

    def draw(self, seed: int) -> Way:
        rng = random.Random(f"ways {seed}")
        way = rng.choices(list(WAYS), [weight for *_, weight in WAYS.values()])[0]
        form = rng.choice(WAYS[way][1])
        shapes = FORMS[form][0](rng)
        depth = 2 if math.prod(shapes[0]) > 100_000 else rng.choice((1, 2, 3, 4))
        return Way(self.name, way, form, expression(rng, ["x", "y"], depth), shapes, seed)

    def check(self, program: Way) -> Disagreement | None:
        arrays = program.arrays()
        with np.errstate(all="ignore"):
            try:
                with plain():
                    wanted = derived(program.function(), arrays)
            except Exception:
                return None  # an expression that does not fit its form
            try:
                found = WAYS[program.way][0](program.function(), arrays)
            except Exception as error:
                return Disagreement(program.way, "error", "no error", f"{type(error).__name__}: {error}")
        names = [f"value {k}" for k in range(len(wanted) - len(arrays))] + [f"gradient {k}" for k in range(len(arrays))]
        for name, a, b in zip(names, wanted, found, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                return Disagreement(program.way, f"type of {name}", f"{a.dtype}{a.shape}", f"{b.dtype}{b.shape}")
            if not same(a, b, 1e-9):
                return Disagreement(program.way, f"values of {name}", str(a)[:300], str(b)[:300])
        return None

    def smaller(self, program: Way) -> Iterator[Way]:
        for text in simpler_texts(program.expression):
            yield replace(program, expression=f"({text})" if " " in text and text[0] != "(" else text)
        for divisor in (100, 10, 2):
            lengths = {n for shape in program.shapes for n in shape if n > 2 * divisor}
            for length in sorted(lengths):
                yield replace(program, shapes=tuple(
                    tuple(n // divisor if n == length else n for n in shape) for shape in program.shapes))  # fmt: skip
        if program.way in ("called often", "native code from disk", "linked by LLVM", "gradients inside"):
            yield replace(program, way="compiled")

    def count(self, program: Way) -> tuple[int, int]:
        calls = {"called often": 421, "many lengths": 13, "arguments by name": 3, "large arrays": 26}
        return 1 + program.text().count("\n"), calls.get(program.way, 2)
