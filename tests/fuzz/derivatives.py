"""The derivatives of a function, taken in every way there is: the tape, `func.grad`, `vjp`, `jvp`, `linearize`,
checkpointing, maps, compiled gradients, second and third derivatives by different orders of the two modes, and central
differences of the function itself."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pullback as pb
from pullback import func

from . import shrink
from .compare import LOOSE, difference, looseness, same, shown
from .compiled import copied, tensors_around
from .known import is_known
from .program import Disagreement, Program, scope
from .world import LENGTHS, World, numbers
from .writing import USUAL, Writer

TABLES = USUAL | {"writes": 4.5, "flow": 1.5}
# What one mode sees and another does not, or what is asked for a value.
HIDDEN = (
    "no_grad",
    "detach",
    ".numpy()",
    "np.asarray",
    ".item()",
    "pb.tensor(",
    "float(",
    "requires_grad",
    ".backward(",
    "autograd.grad(",
)
STEPS = (3e-5, 1e-5, 3e-6)
SMALL = 300


class Derivatives:
    """Every way to differentiate against every other."""

    name = "derivatives"

    def draw(self, seed: int) -> Program:
        rng = random.Random(f"derivatives {seed}")
        while True:
            is_small = rng.random() < 0.75
            lengths = [n for n in LENGTHS if n <= 8] if is_small else LENGTHS
            writer = Writer(rng, World(rng, most_elements=60 if is_small else 70_000, lengths=lengths), TABLES)
            dtypes = ("float64",) if rng.random() < 0.8 else ("float64", "float32", "complex128")
            writer.draw_inputs(rng.choice((1, 2, 2, 3)), dtypes=dtypes, kinds=("leaf",), edges=False)
            if rng.random() < 0.3:
                writer.draw_surroundings()
            writer.draw_body(rng.choice((1, 2, 3, 4, 6, 9)))
            result = writer.results(only_real=True)
            if result and writer.body and any(getattr(writer.variables[name], "requires_grad", 0) for name in result):
                break
        order = rng.choices((1, 2, 3), (3, 3, 1))[0]
        return Program(
            self.name, tuple(writer.inputs), tuple(writer.body), tuple(result), tuple(writer.setup), order=order
        )

    def check(self, program: Program) -> Disagreement | None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for told in Ways(program).disagreements():
                if not is_known(program, told) and (told.what == "error" or Ways(program).is_steady()):
                    return told
        return None

    def smaller(self, program: Program) -> Iterator[Program]:
        return shrink.smaller(program)

    def count(self, program: Program) -> tuple[int, int]:
        return program.count()[0], 8 + 6 * (program.order > 1) + 2 * (program.order > 2)


class Ways:
    """One program and its derivatives. A derivative is a list of arrays, one for each argument."""

    def __init__(self, program: Program):
        self.program = program
        self.fresh()
        self.arrays = [each.array() for each in program.inputs]
        self.directions = [numbers(x.shape, each.dtype, "unit", 70 + k)
                           for k, (each, x) in enumerate(zip(program.inputs, self.arrays, strict=True))]  # fmt: skip
        self.positions = tuple(range(len(self.arrays)))
        text = "\n".join(program.body)
        self.is_plain = not any(word in text for word in HIDDEN)
        self.is_small = sum(x.size for x in self.arrays) <= SMALL
        self.is_smooth = all(each.values != "whole" for each in program.inputs)
        is_single = any(each.dtype == "float32" for each in program.inputs)
        self.loose = max(looseness((*program.setup, *program.body)), LOOSE["f"] if is_single else 0.0)

    def fresh(self) -> None:
        """Make the function and its surroundings anew: it may have changed them."""
        self.around = scope()
        exec("\n".join((*self.program.setup, self.program.definition())), self.around)

    # The function.

    def tensors(self, requires_grad: bool = False, at: list[Any] | None = None) -> list[Any]:
        given = zip(self.program.inputs, at or self.arrays, strict=True)
        made: list[Any] = [pb.asarray(self.like(each, x)) for each, x in given]
        return [x.requires_grad_() for x in made] if requires_grad else made

    def like(self, given: Any, x: Any) -> Any:
        """A copy in the layout of the argument."""
        from .world import laid_out

        return laid_out(np.array(x, order="C"), given.layout if given.layout != "broadcast" else "C")

    def total(self, *arguments: Any) -> Any:
        """One number, which depends on everything that the function returns, and not linearly."""
        result = self.around["f"](*arguments)
        number: Any = 0.0
        for leaf in result if isinstance(result, tuple) else (result,):
            if leaf.size:
                leaf = leaf.real if leaf.dtype.kind == "c" else leaf
                weighted = leaf * numbers(leaf.shape, "float64", "positive", 5)
                number = number + weighted.sum() + 0.1 * (weighted * weighted).sum()
        return number if isinstance(number, pb.Tensor) else arguments[0].real.sum() * 0.0

    # First derivatives.

    def backward(self) -> list[Any]:
        leaves = self.tensors(True)
        number = self.total(*leaves)
        if number.requires_grad:
            number.backward()
        return [zeros_if_none(leaf.grad, leaf) for leaf in leaves]

    def by_grad(self) -> list[Any]:
        return arrays_of(func.grad(self.total, self.positions)(*self.tensors()))

    def by_vjp(self) -> list[Any]:
        out, pull = func.vjp(self.total, *self.tensors())
        return arrays_of(pull(pb.ones_like(out)))

    def by_checkpoint(self) -> list[Any]:
        leaves = self.tensors(True)
        number = pb.checkpoint(self.total, *leaves, use_reentrant=False)
        if number.requires_grad:
            number.backward()
        return [zeros_if_none(leaf.grad, leaf) for leaf in leaves]

    def by_compiled_grad(self) -> list[Any]:
        backend = "numpy" if len(self.program.body) % 2 else "llvm"
        return arrays_of(pb.compile(func.grad(self.total, self.positions), backend=backend)(*self.tensors()))

    def by_map(self) -> list[Any]:
        batch = [pb.stack([x, x * 0.9]) for x in self.tensors()]
        mapped = func.vmap(func.grad(self.total, self.positions))(*batch)
        self.fresh()
        alone = func.grad(self.total, self.positions)(*self.tensors(at=[x * 0.9 for x in self.arrays]))
        found, wanted = arrays_of(mapped), arrays_of(alone)
        if not all(same(b, a[1], max(1e-6, self.loose)) for a, b in zip(found, wanted, strict=True)):
            raise Mismatch("second example", shown(wanted), shown([x[1] for x in found]))
        return [x[0] for x in found]

    def slope(self, gradients: list[Any]) -> float:
        return float(sum((g.conj() * d).real.sum() for g, d in zip(gradients, self.directions, strict=True)))

    def slope_by_jvp(self) -> float:
        return float(func.jvp(self.total, tuple(self.tensors()), tuple(map(pb.asarray, self.directions)))[1])

    def slope_by_linearize(self) -> float:
        return float(func.linearize(self.total, *self.tensors())[1](*map(pb.asarray, self.directions)))

    # Second and third derivatives, along the directions.

    def along(self, gradients: Any) -> Any:
        total: Any = 0.0
        for g, d in zip(gradients, self.directions, strict=True):
            total = total + (g.conj() * pb.asarray(d)).real.sum()
        return total

    def second_by_tape(self) -> list[Any]:
        leaves = self.tensors(True)
        number = self.total(*leaves)
        if not number.requires_grad:
            return [np.zeros(x.shape, x.dtype) for x in self.arrays]
        firsts = pb.autograd.grad(number, leaves, create_graph=True, allow_unused=True, materialize_grads=True)
        slope = self.along(firsts)
        if not slope.requires_grad:
            return [np.zeros(x.shape, x.dtype) for x in self.arrays]
        seconds = pb.autograd.grad(slope, leaves, allow_unused=True, materialize_grads=True)
        return arrays_of(seconds)

    def second_by_forward_over_reverse(self) -> list[Any]:
        return arrays_of(func.jvp(func.grad(self.total, self.positions), tuple(self.tensors()), self.tangents())[1])

    def second_by_reverse_over_forward(self) -> list[Any]:
        directed = lambda *x: func.jvp(self.total, x, self.tangents())[1]
        return arrays_of(func.grad(directed, self.positions)(*self.tensors()))

    def second_by_compiled(self) -> list[Any]:
        directed = lambda *x: self.along(func.grad(self.total, self.positions)(*x))
        backend = "llvm" if len(self.program.body) % 2 else "numpy"
        return arrays_of(pb.compile(func.grad(directed, self.positions), backend=backend)(*self.tensors()))

    def tangents(self) -> tuple[Any, ...]:
        return tuple(map(pb.asarray, self.directions))

    def third_by(self, inner: Callable[..., Any]) -> list[Any]:
        return arrays_of(func.grad(lambda *x: inner(*x), self.positions)(*self.tensors()))

    def third_by_reverse(self) -> list[Any]:
        first = lambda *x: self.along(func.grad(self.total, self.positions)(*x))
        return self.third_by(lambda *x: self.along(func.grad(first, self.positions)(*x)))

    def third_by_forward(self) -> list[Any]:
        first = lambda *x: func.jvp(self.total, x, self.tangents())[1]
        return self.third_by(lambda *x: func.jvp(first, x, self.tangents())[1])

    # Comparing.

    def is_steady(self) -> bool:
        """Are derivatives nearly the same for arguments that differ in their last digits? They are not where a sum
        that is 0 up to rounding decides what is computed, and then ways may differ."""
        return all(self.is_steady_at([x * factor for x in self.arrays]) for factor in (1.0, 0.9))

    def is_steady_at(self, arrays: list[Any]) -> bool:
        draws = np.random.default_rng(0)
        found = []
        for size in (0, 8, 8, 8):
            self.fresh()
            self.arrays = [(x * (1 + np.finfo(x.dtype).eps * draws.uniform(-size, size, x.shape))).astype(x.dtype)
                           for x in arrays]  # fmt: skip
            try:
                found.append([*self.backward(), *(self.second_by_tape() if self.program.order > 1 else ())])
            except Exception:
                return True
        scale = max((float(np.abs(g).max()) for g in found[0] if g.size), default=0.0)
        return all(bool((np.abs(a - b) <= max(1e-5, self.loose) * max(scale, 1e-3)).all())
                   for other in found[1:] for a, b in zip(found[0], other, strict=True))  # fmt: skip

    def disagreements(self) -> Iterator[Disagreement]:
        """All of them, lazily. A first way that raises has nothing to be compared with."""
        before = [copied(x) for _, x in tensors_around(self.around)]
        try:
            wanted = self.backward()
        except Exception:
            return
        is_pure = difference(before, [copied(x) for _, x in tensors_around(self.around)]) is None
        if not all(np.isfinite(g).all() for g in wanted):
            return
        ways: dict[str, Callable[[], Any]] = {"grad": self.by_grad, "vjp": self.by_vjp}
        if is_pure:  # a checkpoint runs the function twice
            ways["checkpoint"] = self.by_checkpoint
        if self.is_small:
            ways |= {"compiled grad": self.by_compiled_grad, "vmap of grad": self.by_map}
        yield from self.against("backward", wanted, ways)
        if self.is_plain:
            slope = self.slope(wanted)
            yield from self.against_slope(slope, {"jvp": self.slope_by_jvp, "linearize": self.slope_by_linearize})
            if self.is_small and self.is_smooth and not self.loose:
                yield from self.against_differences(slope)
        if self.program.order > 1:
            yield from self.seconds()

    def seconds(self) -> Iterator[Disagreement]:
        self.fresh()
        try:
            wanted = self.second_by_tape()
        except Exception as error:
            yield Disagreement("second by tape", "error", "no error", f"{type(error).__name__}: {error}")
            return
        if not all(np.isfinite(g).all() for g in wanted):
            return
        ways: dict[str, Callable[[], Any]] = {"second by compiled": self.second_by_compiled} if self.is_small else {}
        if self.is_plain:
            ways["second by forward over reverse"] = self.second_by_forward_over_reverse
            ways["second by reverse over forward"] = self.second_by_reverse_over_forward
        yield from self.against("tape", wanted, ways, 1e-6)
        if self.program.order > 2 and self.is_plain and self.is_small:
            self.fresh()
            try:
                wanted = self.third_by_reverse()
            except Exception as error:
                yield Disagreement("third by reverse", "error", "no error", f"{type(error).__name__}: {error}")
                return
            if all(np.isfinite(g).all() for g in wanted):
                yield from self.against("reverse", wanted, {"third by forward": self.third_by_forward}, 1e-5)

    def against(
        self, first: str, wanted: list[Any], ways: dict[str, Callable[[], Any]], loose: float = 1e-7
    ) -> Iterator[Disagreement]:
        scale = max((float(np.abs(g).max()) for g in wanted if g.size), default=0.0)
        for name, way in ways.items():
            self.fresh()
            try:
                found = way()
            except Mismatch as error:
                yield Disagreement(f"{name} against {first}", *error.args)
                continue
            except Exception as error:
                yield Disagreement(f"{name} against {first}", "error", "no error", f"{type(error).__name__}: {error}")
                continue
            for given, a, b in zip(self.program.inputs, wanted, found, strict=True):
                near = a.shape == b.shape and bool((np.abs(a - b) <= max(loose, self.loose) * max(scale, 1e-3)).all())
                if not near:
                    yield Disagreement(f"{name} against {first}", f"derivative of {given.name}", shown(a), shown(b))
                    break

    def against_slope(self, slope: float, ways: dict[str, Callable[[], float]]) -> Iterator[Disagreement]:
        for name, way in ways.items():
            self.fresh()
            try:
                found = way()
            except Exception as error:
                yield Disagreement(f"{name} against backward", "error", "no error", f"{type(error).__name__}: {error}")
                continue
            if not abs(found - slope) <= max(1e-7, self.loose) * max(1.0, abs(slope)):
                yield Disagreement(f"{name} against backward", "derivative", str(slope), str(found))

    def against_differences(self, slope: float) -> Iterator[Disagreement]:
        def value(step: float) -> float:
            self.fresh()
            return float(
                self.total(*self.tensors(at=[x + step * d for x, d in zip(self.arrays, self.directions, strict=True)]))
            )

        try:
            slopes = [(value(h) - value(-h)) / (2 * h) for h in STEPS]
        except Exception:
            return
        size = max(1.0, abs(slopes[0]), 1e-2 * abs(value(0.0)))
        if np.isfinite(slopes).all() and np.ptp(slopes) < 1e-5 * size and abs(slope - slopes[1]) > 1e-4 * size:
            yield Disagreement("backward against differences", "derivative", str(slopes), str(slope))


class Mismatch(Exception):
    """A way disagrees with itself: what, wanted, found."""


def zeros_if_none(gradient: Any, leaf: Any) -> Any:
    return np.zeros(leaf.shape, leaf.dtype) if gradient is None else gradient.numpy()


def arrays_of(tensors: Any) -> list[Any]:
    return [x.detach().numpy() for x in tensors]
