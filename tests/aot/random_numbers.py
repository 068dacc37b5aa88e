"""Random programs of numbers and tensors, run by themselves and compiled, for several numbers per capture.

    python tests/aot/random_numbers.py 1000        # so many programs; prints those that differ
"""

from __future__ import annotations

import math
import random
import sys
import traceback
import warnings
from collections.abc import Callable

import numpy as np

import pullback as pb

NUMBERS = {
    float: lambda rng: rng.choice([rng.uniform(-3, 3), 0.5, 2.0, -0.0, 1.0, math.inf, math.nan, 1e-3]),
    int: lambda rng: rng.choice([rng.randint(-4, 5), 0, 1, 2, 2**30]),
    complex: lambda rng: complex(rng.uniform(-2, 2), rng.uniform(-2, 2)),
    np.float64: lambda rng: np.float64(rng.uniform(-3, 3)),
    np.float32: lambda rng: np.float32(rng.uniform(-3, 3)),
    np.int64: lambda rng: np.int64(rng.randint(-4, 5)),
    np.int8: lambda rng: np.int8(rng.randint(-4, 5)),
}
KINDS = [float] * 6 + [int] * 4 + [np.float64] * 2 + [np.float32, np.int64, np.int8, complex]
DTYPES = [np.float64] * 4 + [np.float32] * 2 + [np.int64, np.complex128]


class Writer:
    """Writes the source of one program. A calm one asks nothing about numbers, so that one capture is enough."""

    def __init__(self, rng: random.Random, is_calm: bool) -> None:
        self.rng, self.is_calm = rng, is_calm
        self.hosts, self.tensors = ["a", "b"], ["x", "y"]
        self.lines: list[str] = []

    def number(self, depth: int = 2) -> str:
        pick = self.rng.choice
        if not depth or self.rng.random() < 0.25:
            return pick([*self.hosts, *self.hosts, repr(pick([2, 3, 0.5, -1.5, 1, 0.1]))])
        one, other = self.number(depth - 1), self.number(depth - 1)
        calm = [
            f"({one} + {other})", f"({one} * {other})", f"({one} - {other})", f"({one} / {other})", f"(-{one})",
            f"abs({one})", f"({one} // {other})", f"({one} % {other})", f"math.sqrt(abs({one}))", f"np.sin({one})",
            f"np.multiply({one}, {other})", f"sum([{one}, {other}])", f"({one}).real", f"({one} ** 2)",
            f"divmod({one}, {other})[1]", f"np.float64(2.0) * {one}", f"sqrt(abs({one}) + 1)",
        ]  # fmt: skip
        asking = [
            f"max({one}, {other})", f"min({one}, 1.5)", f"({one} if {other} > 0.5 else {other})", f"round({one})",
            f"int({one})", f"float({one})", f"({one} or 2)", f"len(f'{{{pick(self.hosts)}}}')", f"np.float32({one})",
            f"({one} if isinstance({other}, float) else 3)", f"(2 if {one} == {other} else {one})",
            f"math.floor({one})", f"np.clip({one}, 0, 1)", f"(abs({one}) ** (abs({other}) % 3))",
        ]  # fmt: skip
        return pick(calm if self.is_calm or self.rng.random() < 0.6 else asking)

    def tensor(self, depth: int = 2) -> str:
        pick = self.rng.choice
        if not depth or self.rng.random() < 0.15:
            return pick(self.tensors)
        one, other, number = self.tensor(depth - 1), self.tensor(depth - 1), self.number(1)
        calm = [
            f"({one} + {other})", f"({one} * {other})", f"({one} * {number})", f"({number} * {one})",
            f"({one} - {number})", f"({number} - {one})", f"({one} / {number})", f"({number} / {one})",
            f"pb.sin({one})", f"pb.where({one} > {number}, {other}, {number})", f"pb.maximum({one}, {number})",
            f"pb.exp(-abs({one})) * {number}", f"(({one} > {number}) * {number})", f"pb.hypot({one}, {number})",
            f"pb.add({one}, {number})", f"pb.multiply({number}, {one})", f"np.multiply({one}, {number})",
            f"({one} + pb.tensor([1.0, 2.0, 3.0]) * {number})", f"(pb.sin({number}) + {one})",
        ]  # fmt: skip
        asking = [
            f"({one} ** {number})", f"({number} ** {one})", f"pb.clip({one}, -abs({number}), abs({number}))",
            f"pb.full((3,), {number})", f"{one}[:int(abs({number})) + 1].sum()", f"({one} % {number})",
            f"{one}.clone().mul_({number})", f"pb.func.vmap(lambda t: t * {number})({one})",
            f"pb.func.grad(lambda t: (t * t * {number}).sum())({one})", f"pb.lerp({one}, {other}, {number})",
            f"pb.add({one}, {other}, alpha={number})", f"pb.where({one} > 0, {number}, {number})",
        ]  # fmt: skip
        return pick(calm if self.is_calm or self.rng.random() < 0.7 else asking)

    def statement(self, indent: str) -> None:
        kind = self.rng.random()
        if kind < 0.35:
            name = f"h{len(self.hosts)}"
            self.lines.append(f"{indent}{name} = {self.number()}")
            self.hosts.append(name)
        elif kind < 0.75:
            name = f"t{len(self.tensors)}"
            self.lines.append(f"{indent}{name} = {self.tensor()}")
            self.tensors.append(name)
        elif kind < 0.85 and not self.is_calm:
            name = self.rng.choice(self.tensors)
            self.lines += [
                f"{indent}if {self.number(1)} > {self.number(1)}:", f"{indent}    {name} = {self.tensor(1)}",
            ]  # fmt: skip
        elif kind < 0.93:
            name = f"t{len(self.tensors)}"
            count = "3" if self.is_calm else self.rng.choice(["3", "int(abs(a)) % 4"])
            self.lines += [
                f"{indent}{name} = {self.tensor(1)}", f"{indent}for i in range({count}):",
                f"{indent}    {name} = {name} * {self.number(1)} + i",
            ]  # fmt: skip
            self.tensors.append(name)
        else:
            name = f"t{len(self.tensors)}"
            self.lines += [f"{indent}{name} = pb.zeros(3)", f"{indent}{name}[1] = {self.number(1)}"]
            self.tensors.append(name)

    def source(self) -> str:
        for _ in range(self.rng.randint(1, 5)):
            self.statement("    ")
        results = [self.tensor(2), self.rng.choice(self.tensors[2:] or ["x * 1"]), self.number(1)]
        return "\n".join(["def f(x, y, a, b):", *self.lines, f"    return {', '.join(results)}"])


def outcome(function, arrays, numbers):
    """What a call gives: results, down to bits, and the gradients of those that have one."""
    x, y = (pb.tensor(array.copy(), requires_grad=array.dtype.kind in "fc") for array in arrays)
    try:
        results = function(x, y, *numbers)
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"), []
    found, gradients = [], []
    for result in results:
        if not isinstance(result, pb.Tensor):
            found.append((type(result).__name__, repr(result)))
            continue
        found.append((str(result.dtype), result.shape, bits(result.detach().numpy()), result.requires_grad))
        if result.requires_grad:
            try:
                gradients += pb.autograd.grad(result.real.sum(), (x, y), allow_unused=True, retain_graph=True)
            except Exception as error:
                gradients.append(type(error).__name__)
    return found, gradients


def are_close(mine, theirs) -> bool:
    """Are these the same gradients? Eager code has other formulas for some operators on plain arrays, which round."""
    if len(mine) != len(theirs):
        return False
    for one, other in zip(mine, theirs, strict=True):
        if not isinstance(one, pb.Tensor) or not isinstance(other, pb.Tensor):
            if one != other:
                return False
            continue
        rtol = 1e-5 if one.dtype.itemsize == 4 else 1e-11
        if one.dtype != other.dtype or not np.allclose(one.numpy(), other.numpy(), rtol, rtol, equal_nan=True):
            return False
    return True


def bits(array):
    """The contents of an array, of which NaN has one kind only."""
    parts = array.view(array.real.dtype) if array.dtype.kind == "c" and array.ndim else np.atleast_1d(array)
    parts = np.where(np.isnan(parts), np.nan, parts) if parts.dtype.kind in "fc" else parts
    return parts.astype(array.dtype if array.dtype.kind != "c" else parts.dtype).tobytes()


def check(seed: int, backend: str = "numpy") -> str | None:
    """What is wrong with the program of this number; None if nothing is."""
    rng = random.Random(seed)
    is_calm = rng.random() < 0.4
    source = Writer(rng, is_calm).source()
    scope = {"pb": pb, "np": np, "math": math, "sqrt": math.sqrt}
    exec(compile(source, f"<program {seed}>", "exec"), scope)
    kinds = rng.choice(KINDS), rng.choice(KINDS)
    dtype = np.dtype(rng.choice(DTYPES))
    arrays = [np.array([rng.uniform(0.2, 3) for _ in range(3)]).astype(dtype) for _ in range(2)]
    compiled = pb.compile(scope["f"], backend=backend, fallback="raise", recompile_limit=64)
    raised = 0
    for _ in range(4):
        numbers = tuple(NUMBERS[kind](rng) for kind in kinds)
        for repeat in range(2):
            wanted, slopes = outcome(scope["f"], arrays, numbers)
            found, gradients = outcome(compiled, arrays, numbers)
            raised += isinstance(wanted, str)
            if wanted != found or not are_close(slopes, gradients):
                pairs = f"  eager    {wanted} {slopes}\n  compiled {found} {gradients}"
                return f"{source}\n{dtype} {numbers} (call {repeat})\n{pairs}"
    count = compiled.cache_info().misses
    if is_calm and count > 1 and not raised and all(issubclass(kind, (float, np.floating)) for kind in kinds):
        return f"{source}\n{dtype} {kinds}: {count} captures, {compiled.why_recompiled()}"
    return None


def main(check: Callable[..., str | None] = check) -> None:
    """Check so many programs as the command says, from a number on, with a backend."""
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("ignore")
    failed = 0
    for seed in range(first, first + int(sys.argv[1])):
        try:
            found = check(seed, *sys.argv[3:4])
        except Exception:
            found = traceback.format_exc()
        if found is not None:
            failed += 1
            print(f"--- {seed}\n{found}")
    print(f"{failed} differ")


if __name__ == "__main__":
    main()
