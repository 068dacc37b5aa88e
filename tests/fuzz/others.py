"""The testers that have generators of their own: programs on torch, aliasing and writes under compilation, transforms
of transforms. They draw shapes from the world where they can."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import pullback as pb
from tests.aot.random_programs import command as aliasing_command
from tests.aot.random_programs import generate as aliasing_programs
from tests.aot.random_programs import shrink as aliasing_shrink
from tests.func import random_programs as transform_programs
from tests.func import transform_chains
from tests.oracle import oracle
from tests.oracle import programs as oracle_programs
from tests.oracle.statements import render
from tests.oracle.worker import Given, TorchProcess

from .known import is_known
from .program import Disagreement
from .world import LENGTHS, World


@dataclass(frozen=True)
class Wrapped:
    """A program of another generator, with the number that gives it."""

    tester: str
    seed: int
    inner: Any

    def source(self) -> str:
        return str(self.inner)


# Aliasing and writes: everything that a caller can see of a compiled function -----------------------------------------


class AliasingGenerator(aliasing_programs.Generator):
    def shape(self) -> tuple[int, ...]:
        if self.rng.random() < 0.6:
            return super().shape()
        return World(self.rng, most_elements=6000, lengths=[n for n in LENGTHS if n <= 5000]).shape(3)


class Aliasing:
    """Eager against compiled: memory that is shared, versions, histories, flags."""

    name = "aliasing"

    def draw(self, seed: int) -> Wrapped:
        grad_mode = pb.is_grad_enabled()
        try:
            return Wrapped(self.name, seed, AliasingGenerator(random.Random(f"aliasing {seed}")).program())
        finally:
            pb.set_grad_enabled(grad_mode)

    def check(self, program: Wrapped) -> Disagreement | None:
        found = aliasing_command.judge(program.inner)
        if found is None or found.compiled.endswith("MemoryError\n"):
            return None
        what = "error" if found.what == "error" else str(found.what.split(".")[-1])
        told = Disagreement(found.step, what, found.eager, found.compiled)
        return None if is_known(program, told) else told

    def smaller(self, program: Wrapped) -> Iterator[Wrapped]:
        for inner in aliasing_shrink.smaller(program.inner):
            yield Wrapped(self.name, program.seed, inner)

    def count(self, program: Wrapped) -> tuple[int, int]:
        return len(program.inner.body), 5


# Transforms of transforms ---------------------------------------------------------------------------------------------


class Transforms:
    """Straight-line programs under transforms, against differences, loops and each other."""

    name = "transforms"

    def draw(self, seed: int) -> Wrapped:
        program, _ = transform_programs.make_program(seed)
        return Wrapped(self.name, seed, program)

    def check(self, program: Wrapped) -> Disagreement | None:
        from tests.func import test_random_programs as checks

        _, inputs = transform_programs.make_program(program.seed)
        try:
            case = checks.Case(program.inner, inputs, program.seed)
        except Exception as error:
            return Disagreement("running", "error", "", f"{type(error).__name__}: {error}")
        for check, applies in checks.CHECKS.items():
            if applies(case):
                try:
                    check(case)
                except AssertionError as error:
                    return Disagreement(check.__name__, "values", "", str(error)[:500])
                except Exception as error:
                    return Disagreement(check.__name__, "error", "", f"{type(error).__name__}: {error}")
        return None

    def smaller(self, program: Wrapped) -> Iterator[Wrapped]:
        for position in range(len(program.inner.steps)):
            yield Wrapped(self.name, program.seed, program.inner.without(position))

    def count(self, program: Wrapped) -> tuple[int, int]:
        return len(program.inner.steps), 60


@dataclass(frozen=True)
class Chain:
    """Names of transforms, outermost first, and the lengths of the point."""

    names: tuple[str, ...]
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{' of '.join(self.names)} of x * exp(x), x of shape {self.shape}"


class Chains:
    """Chains of transforms against the closed form."""

    name = "chains"

    def draw(self, seed: int) -> Wrapped:
        rng = random.Random(f"chains {seed}")
        lowers = ("grad", "grad_and_value", "vjp", "jvp", "linearize", "hvp")
        names = tuple(transform_chains.DERIVATIVES) if rng.random() < 0.5 else lowers
        chain = tuple(rng.choices((*names, "vmap", "shared_vmap"), k=rng.choice((2, 3, 4, 4, 5))))
        while transform_chains.order_of(chain) > 5:
            chain = chain[1:]
        is_cheap = set(chain) <= {*lowers, "vmap", "shared_vmap"} and chain.count("shared_vmap") < 3
        maps = max(chain.count("vmap"), 1)
        world = World(
            rng, most_elements=5000 if is_cheap else 4, lengths=[n for n in LENGTHS if n <= 5000 and (n or is_cheap)]
        )
        shape: list[int] = []
        left = world.most_elements
        for _ in range(maps):
            shape.append(world.length(left))
            left //= max(shape[-1], 1)
        return Wrapped(self.name, seed, Chain(chain, tuple(shape)))

    def check(self, program: Wrapped) -> Disagreement | None:
        chain = program.inner.names
        size = int(np.prod(program.inner.shape))
        point = (0.7 - 0.4 * (np.arange(size) % 7)).reshape(program.inner.shape)
        expected = transform_chains.closed_form(chain, point)
        try:
            found = transform_chains.value(chain, pb.tensor(point)).numpy()
        except Exception as error:
            return Disagreement("closed form", "error", "no error", f"{type(error).__name__}: {error}")
        if found.shape == expected.shape and np.allclose(found, expected, rtol=1e-9, atol=1e-12):
            return None
        return Disagreement("closed form", "values", str(expected)[:200], str(found)[:200])

    def smaller(self, program: Wrapped) -> Iterator[Wrapped]:
        names, shape = program.inner.names, program.inner.shape
        for position, name in enumerate(names):
            rest = names[:position] + names[position + 1 :]
            if rest and (name != "vmap" or names.count("vmap") == 1):
                yield Wrapped(self.name, program.seed, Chain(rest, shape))
            elif rest:
                yield Wrapped(self.name, program.seed, Chain(rest, shape[1:]))
        for axis, length in enumerate(shape):
            for other in [n for n in LENGTHS if n < length]:
                yield Wrapped(self.name, program.seed, Chain(names, (*shape[:axis], other, *shape[axis + 1 :])))

    def count(self, program: Wrapped) -> tuple[int, int]:
        return len(program.inner.names), 1


# Torch ----------------------------------------------------------------------------------------------------------------


class OracleGenerator(oracle_programs.Generator):
    def shape(self) -> tuple[int, ...]:
        if self.rng.random() < 0.7:
            return super().shape()
        return World(self.rng, most_elements=2000, lengths=[n for n in LENGTHS if n <= 513]).shape(3)


class Oracle:
    """Pullback against torch, statement after statement."""

    name = "oracle"
    process: TorchProcess | None = None

    def draw(self, seed: int) -> Wrapped:
        return Wrapped(self.name, seed, OracleGenerator(random.Random(f"oracle {seed}")).program())

    def check(self, program: Wrapped) -> Disagreement | None:
        python = oracle.torch_python()
        assert python is not None
        if Oracle.process is None:
            Oracle.process = TorchProcess(python)
        (reference,) = Oracle.process.run([Given(program.inner)])
        if reference is None:  # torch crashed
            return None
        found = oracle.judge(oracle.run_pullback, program.inner, reference)
        if found is None:
            return None
        return Disagreement("torch", found.what.split(".")[-1], str(found.reference), str(found.subject))

    def smaller(self, program: Wrapped) -> Iterator[Wrapped]:
        statements = program.inner
        size = len(statements) // 2
        while size:
            for start in range(0, len(statements), size):
                yield Wrapped(self.name, program.seed, statements[:start] + statements[start + size :])
            size //= 2

    def source(self, program: Wrapped) -> str:
        return render(program.inner, "pullback")

    def count(self, program: Wrapped) -> tuple[int, int]:
        return len(program.inner), 1

    @staticmethod
    def is_available() -> bool:
        return oracle.torch_python() is not None and os.name == "posix"
