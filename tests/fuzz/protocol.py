"""NumPy's functions called with tensors, compared with the same calls on arrays: values, dtypes, shapes, containers,
what is written, and the gradient, which is compared with differences of NumPy's own function."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import pullback as pb

from . import shrink
from .compare import difference, plain, shown
from .known import is_known
from .numpy_calls import CALLS, WRITES
from .phrases import Chooser, Phrase
from .program import Disagreement, Input, Program, scope
from .world import World, numbers

NAMES = "xyuvw"
MOST = 70_000


class Protocol:
    """`np.f(tensor)` against `np.f(array)`."""

    name = "protocol"

    def draw(self, seed: int) -> Program:
        rng = random.Random(f"protocol {seed}")
        while True:
            made = self.attempt(rng, World(rng, most_elements=MOST))
            if made is not None:
                return made

    def attempt(self, rng: random.Random, world: World) -> Program | None:
        inputs: list[Input] = []
        for name in NAMES[: rng.randint(2, 5)]:
            shape = rng.choice(inputs).shape if inputs and rng.random() < 0.5 else world.shape(3)
            kind = "array" if rng.random() < 0.1 else "tensor"
            dtype = "float64" if rng.random() < 0.5 else world.dtype()
            inputs.append(Input(name, shape, dtype, world.layout(), world.values(), world.seed(), kind))
        if rng.random() < 0.3:
            side = rng.choice((1, 2, 3, 5, 8))
            inputs.append(Input("a", (side, side), values="unit", seed=world.seed()))
        around = scope() | {each.name: each.array() for each in inputs}
        writes = rng.random() < 0.12
        table = WRITES if writes else CALLS
        for _ in range(30):
            phrase = rng.choices(table, [each.weight for each in table])[0]
            keywords = tuple(k for k in phrase.keywords if rng.random() < 0.3)
            wants_out = any(k.endswith("out") for k in keywords)
            keywords = tuple(k.removesuffix("out").removesuffix(", ") for k in keywords if k != "out")
            chooser = Chooser(rng, world, {each.name: around[each.name] for each in inputs})
            text = chooser.text(Phrase(phrase.text, keywords), 1.0)
            value = None if text is None else evaluated(text, around, writes)
            if text is None or value is FAILED:
                continue
            if wants_out and isinstance(value, (np.ndarray, np.generic)):
                dtype = value.dtype.newbyteorder("=").name
                out = Input("out", value.shape, dtype, rng.choice(("C", "C", "fortran", "strided")))
                text = f"{text[:-1]}, out=out)"
                if evaluated(text, around | {"out": out.array()}) is FAILED:
                    continue
                inputs.append(out)
            used = shrink.names_in(text)
            body, result = ((text,), ()) if writes else ((f"t = {text}",), ("t",))
            return Program(self.name, tuple(each for each in inputs if each.name in used), body, result)
        return None

    def check(self, program: Program) -> Disagreement | None:
        arrays = {each.name: each.array() for each in program.inputs}
        tensors = {each.name: as_given(each) for each in program.inputs}
        wanted, error = run(program, arrays)
        if error is not None:
            return None
        found, error = run(program, tensors)
        if error is not None:
            return told(program, "error", shown(wanted), f"{type(error).__name__}: {error}")
        what = difference(wanted, plain(found))
        if what is None and lost_tensors(wanted, found) and not self.may_be_array(program):
            what = "array in place of a tensor"
        if what is not None:
            return told(program, what, shown(wanted), shown(found))
        for name, array in arrays.items():
            what = difference(array, plain(tensors[name]))
            if what is not None:
                return told(program, f"{what} of {name} afterwards", shown(array), shown(tensors[name]))
        return self.check_gradient(program)

    def may_be_array(self, program: Program) -> bool:
        """Is an array among the arguments, or a tensor only asked for its shape?"""
        return (
            not program.inputs
            or any(each.kind == "array" for each in program.inputs)
            or any(".shape" in text for text in program.body)
        )

    def check_gradient(self, program: Program) -> Disagreement | None:
        """The derivative along a direction, of the tape and of differences."""
        given = [
            each
            for each in program.inputs
            if each.dtype == "float64"
            and each.values in ("normal", "positive")
            and each.layout not in ("read_only", "mapped", "broadcast")
            and each.name != "out"
            and each.shape
        ]
        others = {each.name for each in program.inputs} - {each.name for each in given}
        if any(re.search("float16|float32|complex64", text) for text in program.body):
            return None  # too coarse for differences
        if not given or not program.result or "out" in others or sum(int(np.prod(i.shape)) for i in given) > 3000:
            return None
        directions = {each.name: numbers(each.shape, "float64", "unit", 77) for each in given}

        def value(step: float) -> float:
            moved = {i.name: i.array() + step * directions[i.name] if i in given else i.array() for i in program.inputs}
            return float(total(run(program, moved)[0]))

        slopes = [(value(h) - value(-h)) / (2 * h) for h in (1e-5, 3e-6, 1e-6)]
        size = max(1.0, abs(slopes[0]), 1e-3 * abs(value(0.0)))
        if not np.isfinite(slopes).all() or np.ptp(slopes) > 1e-5 * size:
            return None
        leaves = {each.name: as_given(each) for each in program.inputs}
        for each in given:
            leaves[each.name] = pb.asarray(each.array()).requires_grad_()
        out, error = run(program, leaves)
        if error is not None:
            return told(program, "error with requires_grad", str(slopes[0]), f"{type(error).__name__}: {error}")
        slope = 0.0
        try:
            number = total(out)
            if isinstance(number, pb.Tensor) and number.requires_grad:
                number.backward()
                slope = sum(float((leaves[i.name].grad * directions[i.name]).sum()) for i in given
                            if leaves[i.name].grad is not None)  # fmt: skip
        except Exception as caught:
            return told(program, "error in backward", str(slopes[0]), f"{type(caught).__name__}: {caught}")
        if abs(slope - slopes[0]) > 1e-4 * size:
            return told(program, "gradient", str(slopes), str(slope))
        return None

    def smaller(self, program: Program) -> Iterator[Program]:
        return shrink.smaller(program)

    def count(self, program: Program) -> tuple[int, int]:
        return program.count()


FAILED: Any = object()


def as_given(each: Input) -> Any:
    return each.array() if each.kind == "array" else pb.asarray(each.array())


def evaluated(text: str, around: dict[str, Any], is_statement: bool = False) -> Any:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return exec(text, dict(around)) if is_statement else eval(text, dict(around))
    except Exception:
        return FAILED


def run(program: Program, given: dict[str, Any]) -> tuple[Any, Exception | None]:
    around = scope() | given
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec("\n".join(program.body), around)
            return tuple(eval(text, around) for text in program.result), None
    except Exception as error:
        return None, error


def told(program: Program, what: str, wanted: str, found: str) -> Disagreement | None:
    called = re.search(r"np\.[\w.]+", program.body[0]) if program.body else None
    made = Disagreement(f"{called.group() if called else 'operator'}(tensor)", what, wanted, found)
    return None if is_known(program, made) else made


def lost_tensors(wanted: Any, found: Any) -> bool:
    """Is there an array of floating-point numbers where there should be a tensor?"""
    if isinstance(wanted, (list, tuple)):
        return any(lost_tensors(a, b) for a, b in zip(wanted, found, strict=True))
    is_inexact = isinstance(wanted, (np.ndarray, np.inexact)) and wanted.dtype.kind in "fc"
    return is_inexact and isinstance(found, (np.ndarray, np.generic))


def total(value: Any) -> Any:
    """A number that depends on all floating-point numbers in a result."""
    if isinstance(value, (list, tuple)):
        return sum((total(each) for each in value), 0.0)
    if isinstance(value, (np.ndarray, np.generic, pb.Tensor)) and value.dtype.kind in "fc" and value.size:
        real = value.real if value.dtype.kind == "c" else value
        weights = numbers(value.shape, "float64", "positive", 5)
        whole = (real * weights).sum()
        return (
            whole + (value.imag * weights[..., ::-1] if value.ndim else value.imag).sum()
            if value.dtype.kind == "c"
            else whole
        )
    return 0.0
