"""Random straight-line programs: what they are made of, how they are made, and how they run.

A program is a list of steps on a growing list of values, of which the first are the inputs. A step computes a new value
from others, or writes into the memory of one that the program made itself. Equal seeds give equal programs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pullback as pb
from pullback.autograd import forward_ad as fwd
from pullback.func import grad, jacfwd, jvp, linearize, vjp, vmap
from pullback.utils.checkpoint import checkpoint


class Step(NamedTuple):
    """One line of a program: what is done, with which values, and how."""

    name: str
    operands: tuple[int, ...]
    static: Any = None

    def __repr__(self) -> str:
        detail = "" if self.static is None else f"; {self.static}"
        return f"{self.name}({', '.join(f'v{index}' for index in self.operands)}{detail})"


class Sine(pb.autograd.Function):
    """With a separate context, and batched as it is written."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return pb.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * pb.cos(x)

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * pb.cos(x)


class Product(pb.autograd.Function):
    """In the old style, with two outputs and a batching rule of its own."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return x * y, x + 2 * y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + 2 * h

    @staticmethod
    def jvp(ctx, t, s):
        x, y = ctx.saved_tensors
        return t * y + x * s, t + 2 * s

    @staticmethod
    def vmap(info, in_dims, x, y):
        given = list(zip((x, y), in_dims, strict=True))
        rank = max(value.ndim - (dim is not None) for value, dim in given)

        def shaped(value, dim):
            if dim is None:
                return value
            value = pb.moveaxis(value, dim, 0)
            return value.reshape((value.shape[0], *(1,) * (rank - value.ndim + 1), *value.shape[1:]))

        return Product.apply(*[shaped(value, dim) for value, dim in given]), (0, 0)


class Doubled(pb.autograd.Function):
    """Writes to its argument."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t.mul_(2)


def _no_grad(_: Any, x: Any, y: Any) -> Any:
    with pb.no_grad():
        return pb.sin(x) * y


def _filled_in_vmap(_: Any, rows: Any, v: Any) -> Any:
    def body(row: Any) -> Any:
        room = pb.zeros(row.shape[0] + 1)
        room[1:] = row * v
        room[0] += row.sum()
        part = room[1:]
        part *= v
        return room

    return vmap(body)(rows)


def _filled_in_grad(_: Any, v: Any, w: Any) -> Any:
    def body(u: Any) -> Any:
        room = w * 1
        room[0] = u.sum()
        room *= u
        return (room * room).sum()

    return grad(body)(v)


PURE: dict[str, Callable[..., Any]] = {
    "sin": lambda _, x: pb.sin(x),
    "tanh": lambda _, x: pb.tanh(x),
    "square": lambda _, x: x * x * 0.5,
    "bell": lambda _, x: pb.exp(-x * x),
    "root": lambda _, x: pb.sqrt(1 + x * x),
    "abs": lambda _, x: abs(x),
    "relu": lambda _, x: pb.relu(x),
    "scaled": lambda factor, x: factor * x + 1,
    "add": lambda _, x, y: x + y,
    "sub": lambda _, x, y: x - y,
    "mul": lambda _, x, y: x * y,
    "ratio": lambda _, x, y: x / (1 + y * y),
    "maximum": lambda _, x, y: pb.maximum(x, y),
    "where_positive": lambda _, x, y: pb.where(x > 0, x, y),
    "where_mask": lambda mask, x, y: pb.where(pb.tensor(mask), x, y),
    "sum": lambda axis, x: x.sum(axis=axis),
    "mean": lambda axis, x: x.mean(axis=axis, keepdims=True),
    "max": lambda axis, x: x.max(axis=axis),
    "logsumexp": lambda axis, x: pb.logsumexp(x, axis=axis),
    "var": lambda axis, x: pb.var(x, axis=axis),
    "cumsum": lambda axis, x: pb.cumsum(x, axis=axis),
    "prod": lambda axis, x: pb.prod(x, axis=axis),
    "softmax": lambda axis, x: pb.softmax(x, axis),
    "sort": lambda axis, x: pb.sort(x, axis=axis),
    "matmul": lambda _, x, y: x @ y,
    "outer": lambda _, x, y: pb.outer(x, y),
    "gather": lambda index, x: x[np.array(index)],
    "gather_pairs": lambda index, x: x[np.array(index[0]), np.array(index[1])],
    "gather_largest": lambda _, x: x[pb.argmax(x)] * 1,
    "take_sorted": lambda axis, x: pb.take_along_axis(x, pb.argsort(x, axis=axis), axis=axis),
    "concat": lambda _, x, y: pb.concat([x.reshape(-1), y.reshape(-1)]),
    "stack": lambda _, x, y: pb.stack([x, y]),
    "clone": lambda _, x: x.clone(),
    "ones_times": lambda _, x: pb.ones_like(x) * x,
    "zeros": lambda shape, *_: pb.zeros(shape),
    "zeros_like": lambda _, x: pb.zeros_like(x),
    "detach": lambda _, x: x.detach().clone(),
    "no_grad": _no_grad,
    "custom": lambda _, x: Sine.apply(x),
    "custom_pair": lambda which, x, y: Product.apply(x, y)[which],
    "checkpoint": lambda _, x: checkpoint(lambda u: pb.sin(u) * u, x, use_reentrant=False),
    "in_grad": lambda _, x, y: grad(lambda u: (pb.sin(u) * y * u).sum())(x),
    "in_jvp": lambda _, x, y: jvp(lambda u: u * pb.sin(y * u), (x,), (y,))[1],
    "in_vjp": lambda _, x, y: vjp(lambda u: u * u * y, x)[1](y)[0],
    "in_linearize": lambda _, x, y: linearize(lambda u: pb.sin(u) * y, x)[1](y),
    "in_jacfwd": lambda _, x, y: jacfwd(lambda u: pb.sin(u) * y)(x),
    "in_vmap": lambda _, x: vmap(lambda row: pb.tanh(row) * row.sum())(x),
    "in_vmap_captured": lambda _, x, y: vmap(lambda row: row * pb.sin(y))(x),
    "in_vmap_of_grad": lambda _, x, y: vmap(grad(lambda row: (pb.sin(row) * y).sum()))(x),
    "filled_in_vmap": _filled_in_vmap,
    "filled_in_grad": _filled_in_grad,
}

VIEWS: dict[str, Callable[..., Any]] = {
    "slice": lambda key, x: x[key],
    "reversed": lambda _, x: x[::-1],
    "every_other": lambda _, x: x[::2],
    "row": lambda key, x: x[key],
    "column": lambda key, x: x[:, key],
    "transpose": lambda _, x: x.T,
    "flat": lambda _, x: x.reshape(-1),
    "split": lambda which, x: pb.split(x, 2)[which],
    "diagonal": lambda _, x: pb.diagonal(x),
    "raised": lambda _, x: x[None],
}


def _set(key: Any, target: Any, value: Any) -> None:
    target[key] = value


def _add_to(key: Any, target: Any, value: Any) -> None:
    target[key] += value


def _multiply(key: Any, target: Any, value: Any) -> None:
    target[key] *= value


def _in_level(_: Any, target: Any, value: Any) -> None:
    with fwd.dual_level():
        fwd.make_dual(target, pb.ones_like(target)).mul_(value)


def _in_rows(_: Any, target: Any, value: Any) -> None:
    def body(row: Any) -> Any:
        row.mul_(value)
        row[0] += row.sum()
        return row

    vmap(body)(target)


WRITES: dict[str, Callable[..., Any]] = {
    "set": _set,
    "add_to": _add_to,
    "multiply": _multiply,
    "add_": lambda _, target, value: target.add_(value),
    "mul_": lambda _, target, value: target.mul_(value),
    "copy_": lambda _, target, value: target.copy_(value),
    "in_jvp_": lambda _, target, value: jvp(lambda u: u.mul_(value), (target,), (pb.ones_like(target),)),
    "in_grad_": lambda _, target, value: grad(lambda u, w: (w.mul_(value) * u).sum())(pb.ones_like(target), target),
    "in_level_": _in_level,
    "in_rows_": _in_rows,
    "sin_": lambda _, target: target.sin_(),
    "tanh_": lambda _, target: target.tanh_(),
    "zero_": lambda _, target: target.zero_(),
    "fill_": lambda number, target: target.fill_(number),
    "doubled_": lambda _, target: Doubled.apply(target),
}


class Program:
    """A function of a few arrays. Its result is a vector; `scalar` gives one number."""

    def __init__(self, shapes: list[tuple[int, ...]], steps: list[Step]) -> None:
        self.shapes = shapes
        self.steps = steps

    @property
    def has_no_grad(self) -> bool:
        """Is a part hidden from reverse mode only?"""
        return any(step.name == "no_grad" for step in self.steps)

    def run(self, inputs: Any, frozen: dict[int, Any] | None = None, freezes: tuple[str, ...] = ()) -> list[Any]:
        """All values. `frozen` gives those of the steps that `freezes` names, and is filled with them if empty."""
        values = list(inputs)
        replays = bool(frozen)
        for position, step in enumerate(self.steps):
            operands = [values[index] for index in step.operands]
            if step.name in WRITES:
                WRITES[step.name](step.static, *operands)
                continue
            if step.name in freezes and frozen is not None:
                if not replays:
                    frozen[position] = (PURE.get(step.name) or VIEWS[step.name])(step.static, *operands).detach()
                values.append(frozen[position].clone())
                continue
            values.append((PURE.get(step.name) or VIEWS[step.name])(step.static, *operands))
        return values

    def result(self, values: list[Any]) -> Any:
        """The last values, and the first input so that there is something to differentiate, as one vector."""
        return pb.concat([(value * 1.0).reshape(-1) for value in (values[0], *values[-4:])])

    def __call__(self, *inputs: Any) -> Any:
        return self.result(self.run(inputs))

    def scalar(self, *inputs: Any) -> Any:
        """A number that depends on all of the result, not linearly."""
        out = self(*inputs)
        return (out * out * 0.25 + pb.sin(out)).sum()

    def __repr__(self) -> str:
        lines = [f"inputs: {', '.join(f'v{n}{list(shape)}' for n, shape in enumerate(self.shapes))}"]
        number = len(self.shapes)
        for step in self.steps:
            if step.name in WRITES:
                lines.append(f"    {step!r}")
            else:
                lines.append(f"    v{number} = {step!r}")
                number += 1
        return "\n".join(lines)

    def without(self, position: int) -> Program:
        """The program without a step and all that need its value."""
        steps: list[Step] = []
        renamed: dict[int, int] = {n: n for n in range(len(self.shapes))}
        number = count = len(self.shapes)
        for place, step in enumerate(self.steps):
            is_kept = place != position and all(index in renamed for index in step.operands)
            if is_kept:
                steps.append(step._replace(operands=tuple(renamed[index] for index in step.operands)))
            if step.name not in WRITES:
                if is_kept:
                    renamed[number] = count
                    count += 1
                number += 1
        return Program(self.shapes, steps)


class Maker:
    """Makes a program step by step, on the values that it has so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.shapes = [(3,), (3,)] + ([self.random.choice([(2, 3), (3, 3), (), (4,)])] if seed % 2 else [])
        self.inputs = [self.numbers.uniform(-1.2, 1.2, shape) for shape in self.shapes]
        self.values = [pb.tensor(value) for value in self.inputs]
        self.roots = list(range(len(self.shapes)))  # which value owns the memory of each
        self.steps: list[Step] = []

    def program(self, length: int) -> Program:
        """A program of this many steps."""
        attempts = 0
        while len(self.steps) < length and attempts < 40 * length:
            attempts += 1
            kind = self.random.choices((PURE, VIEWS, WRITES), (5, 3, 5))[0]
            names = list(kind)
            # The writes that come first in the table keep something of the old value: more can go wrong.
            weights = [6] * 6 + [2] * 4 + [1] * 5 if kind is WRITES else None
            self._try(self.random.choices(names, weights)[0])
        return Program(self.shapes, self.steps)

    def _pick(self, accepts: Callable[[Any], bool] = lambda x: True, owned: bool = False) -> int | None:
        found = [
            index
            for index, value in enumerate(self.values)
            if accepts(value) and (not owned or self.roots[index] >= len(self.shapes))
        ]
        if not found:
            return None
        # Newer values are used more often.
        return self.random.choices(found, [1 + index for index in found])[0]

    def _try(self, name: str) -> None:
        chosen = self._choice(name)
        if chosen is None or None in chosen[0]:
            return
        step = Step(name, tuple(chosen[0]), chosen[1])
        operands = [self.values[index] for index in step.operands]
        if name in WRITES:
            before = [value.numpy().copy() for value in self.values]
            WRITES[name](step.static, *operands)
            if not all(_is_tame(value.numpy()) for value in self.values):
                for value, old in zip(self.values, before, strict=True):
                    value.numpy()[...] = old
                return
            self.steps.append(step)
            return
        out = (PURE.get(name) or VIEWS[name])(step.static, *operands)
        if out.size == 0 or out.size > 16 or out.ndim > 3 or not _is_tame(out.numpy()):
            return
        self.steps.append(step)
        is_view = name in VIEWS and _shares(out, operands[0])
        self.roots.append(self.roots[step.operands[0]] if is_view else len(self.values))
        self.values.append(out)

    def _choice(self, name: str) -> tuple[tuple[Any, ...], Any] | None:
        """Operands and details for a step of this kind, or None if there are none now."""
        pick, choose = self._pick, self.random.choice
        if name in ("set", "add_to", "multiply"):
            target = pick(lambda x: x.ndim > 0, owned=True)
            if target is None:
                return None
            key = self._key(self.values[target])
            shape = self.values[target][key].shape
            return (target, pick(lambda x: _broadcasts(x.shape, shape))), key
        if name == "in_rows_":
            target = pick(lambda x: x.ndim == 2, owned=True)
            if target is None:
                return None
            return (target, pick(lambda x: _broadcasts(x.shape, self.values[target].shape[1:]))), None
        if name in ("add_", "mul_", "copy_", "in_jvp_", "in_grad_", "in_level_"):
            target = pick(owned=True)
            if target is None:
                return None
            return (target, pick(lambda x: _broadcasts(x.shape, self.values[target].shape))), None
        if name in WRITES:
            return (pick(owned=True),), 0.5 if name == "fill_" else None
        if name in ("sum", "mean", "max", "logsumexp", "cumsum", "prod", "softmax", "sort", "take_sorted", "var"):
            spread = name in ("max", "sort", "take_sorted")

            def accepts(x: Any) -> bool:
                return x.ndim > 0 and (not spread or _is_spread(x.numpy())) and (name != "var" or 1 not in x.shape)

            index = pick(accepts)
            return None if index is None else ((index,), choose(range(self.values[index].ndim)))
        if name in ("abs", "relu"):
            return (pick(lambda x: bool((abs(x.numpy()) > 0.05).all())),), None
        if name == "gather_largest":
            return (pick(lambda x: x.ndim == 1 and _is_spread(x.numpy())),), None
        if name in ("maximum", "where_positive"):
            first = pick(lambda x: bool((abs(x.numpy()) > 0.05).all()))
            if first is None:
                return None
            held = self.values[first].numpy()
            return (first, pick(lambda x: x.shape == held.shape and bool((abs(x.numpy() - held) > 0.05).all()))), None
        if name == "where_mask":
            first = pick(lambda x: x.ndim == 1)
            if first is None:
                return None
            size = self.values[first].shape[0]
            mask = [bool(self.random.getrandbits(1)) for _ in range(size)]
            return (first, pick(lambda x: x.shape in ((size,), ()))), mask
        if name == "matmul":
            first = pick(lambda x: x.ndim in (1, 2))
            size = self.values[first].shape[-1]
            return (first, pick(lambda x: x.ndim in (1, 2) and x.shape[0] == size)), None
        if name == "outer":
            return (pick(lambda x: x.ndim == 1), pick(lambda x: x.ndim == 1)), None
        if name == "gather":
            index = pick(lambda x: x.ndim > 0)
            size = self.values[index].shape[0]
            return (index,), [self.random.randrange(size) for _ in range(self.random.randint(1, 3))]
        if name == "gather_pairs":
            index = pick(lambda x: x.ndim == 2)
            if index is None:
                return None
            return (index,), [[self.random.randrange(size) for _ in range(2)] for size in self.values[index].shape]
        if name in ("stack", "in_grad", "in_jvp", "in_vjp", "in_linearize", "filled_in_grad"):
            accepts = (lambda x: x.ndim == 1) if name == "filled_in_grad" else (lambda x: True)
            first = pick(accepts)
            return (first, pick(lambda x: x.shape == self.values[first].shape)), None
        if name == "in_jacfwd":
            first = pick(lambda x: x.ndim == 1 and x.size < 5)
            return None if first is None else ((first, pick(lambda x: x.shape == self.values[first].shape)), None)
        if name == "in_vmap":
            return (pick(lambda x: x.ndim > 0),), None
        if name in ("in_vmap_captured", "in_vmap_of_grad", "filled_in_vmap"):
            first = pick(lambda x: x.ndim == 2)
            if first is None:
                return None
            return (first, pick(lambda x: x.shape == self.values[first].shape[1:])), None
        if name in ("slice", "reversed", "every_other", "row", "raised", "flat"):
            index = pick(lambda x: x.ndim > 0)
            size = self.values[index].shape[0]
            key = choose([slice(1, None), slice(0, 2), slice(-2, None)]) if name == "slice" else None
            return (index,), self.random.randrange(size) if name == "row" else key
        if name in ("column", "transpose", "diagonal"):
            index = pick(lambda x: x.ndim == 2)
            if index is None:
                return None
            return (index,), self.random.randrange(self.values[index].shape[1]) if name == "column" else None
        if name == "split":
            return (pick(lambda x: x.ndim > 0 and x.shape[0] % 2 == 0),), choose([0, 1])
        if name == "zeros":
            return (), choose([(3,), (2, 3), (4,), (3, 3)])
        if name in ("add", "sub", "mul", "ratio", "no_grad", "custom_pair", "concat"):
            first = pick()
            held = self.values[first].shape
            second = pick(lambda x: name == "concat" or _broadcasts(x.shape, held))
            return (first, second), choose([0, 1]) if name == "custom_pair" else None
        return (pick(),), 0.7 if name == "scaled" else None

    def _key(self, value: Any) -> Any:
        size = value.shape[0]
        keys: list[Any] = [self.random.randrange(size), slice(1, None), slice(None, None, 2), slice(None), ...]
        keys.append(np.array(self.random.sample(range(size), min(2, size))))
        keys.append(np.array([self.random.random() < 0.6 for _ in range(size - 1)] + [True]))
        if value.ndim > 1:
            keys += [(slice(None), self.random.randrange(value.shape[1])), (0, slice(1, None))]
        return self.random.choice(keys)


def _is_tame(array: Any) -> bool:
    return bool(np.isfinite(array).all() and (abs(array) < 6).all())


def _is_spread(array: Any) -> bool:
    """Are all elements well apart?"""
    return array.size < 2 or bool((np.diff(np.sort(array.reshape(-1))) > 0.05).all())


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == tuple(to)
    except ValueError:
        return False


def _shares(out: Any, source: Any) -> bool:
    return np.may_share_memory(out.numpy(), source.numpy())


def make_program(seed: int, length: int | None = None) -> tuple[Program, list[Any]]:
    """The program of this seed, and inputs for it."""
    maker = Maker(seed)
    program = maker.program(length or maker.random.randint(3, 9))
    return program, [pb.tensor(value) for value in maker.inputs]
