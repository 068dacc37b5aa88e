"""Two lists of observations in, the first disagreement out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .machine import Array, Gradient, Observation, State

TOLERANCE = {"float64": 1e-8, "float32": 1e-3}


@dataclass(frozen=True)
class Disagreement:
    """Statement number `step`: `what` differs, as Pullback and the reference have it."""

    step: int
    what: str
    subject: str
    reference: str

    def __str__(self) -> str:
        return f"statement {self.step}: {self.what}\n  pullback {self.subject}\n  torch    {self.reference}"


def disagreement(subject: list[Observation], reference: list[Observation]) -> Disagreement | None:
    """Where `subject` first does something that `reference` does not allow, or None."""
    return Comparison().run(subject, reference)


class Comparison:
    """Walks two runs of one program. Magnitudes seen so far set the scale below which differences are rounding."""

    def __init__(self) -> None:
        self.subject: dict[str, State] = {}
        self.reference: dict[str, State] = {}
        self.scale = 1.0
        self.tolerance = dict(TOLERANCE)

    def run(self, subject: list[Observation], reference: list[Observation]) -> Disagreement | None:
        for step, (ours, theirs) in enumerate(zip(subject, reference, strict=True)):
            if ours.error != theirs.error:
                if ours.error is not None and ours.error in theirs.either:
                    if theirs.error is not None:
                        continue
                    return None  # one side went on and the other did not: nothing after this can be compared
                return Disagreement(step, "error", f"{ours.error} {ours.detail}", f"{theirs.error} {theirs.detail}")
            difference = self.step(ours, theirs)
            if difference is not None:
                return Disagreement(step, *difference)
        return None

    def step(self, ours: Observation, theirs: Observation) -> tuple[str, str, str] | None:
        if ours.value != theirs.value:
            return "value", repr(ours.value), repr(theirs.value)
        if ours.grad_mode != theirs.grad_mode:
            return "grad mode after the statement", repr(ours.grad_mode), repr(theirs.grad_mode)
        self.subject |= ours.states
        self.reference |= theirs.states
        for name in ours.states.keys() | theirs.states.keys():
            found = self.states(name, self.subject.get(name), self.reference.get(name))
            if found is not None:
                return found
        return self.logs(ours.log, theirs.log)

    def states(self, name: str, ours: State | None, theirs: State | None) -> tuple[str, str, str] | None:
        if ours is None or theirs is None:
            return f"existence of {name}", str(ours is not None), str(theirs is not None)
        for field in fields(State):
            a, b = getattr(ours, field.name), getattr(theirs, field.name)
            if field.name == "array":
                same = self.same_array(a, b)
                a, b = shown(a), shown(b)
            elif field.name == "grad":
                same = self.same_gradient(a, b)
                a, b = shown_gradient(a), shown_gradient(b)
            else:
                same = a == b
            if not same:
                return f"{name}.{field.name}", repr(a), repr(b)
        return None

    def logs(self, ours: list[Any], theirs: list[Any]) -> tuple[str, str, str] | None:
        same = len(ours) == len(theirs) and all(self.same_entry(a, b) for a, b in zip(ours, theirs, strict=True))
        if same:
            return None
        return "hook log", *(str([(entry[0], shown(entry[1]), *entry[2:]) for entry in log]) for log in (ours, theirs))

    def same_entry(self, ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
        if ours[0] != theirs[0] or ours[2:] != theirs[2:] or (ours[1] is None) != (theirs[1] is None):
            return False
        return ours[1] is None or self.same_array(ours[1], theirs[1])

    def same_gradient(self, ours: Gradient | None, theirs: Gradient | None) -> bool:
        if ours is None or theirs is None:
            return ours is theirs
        same = ours.token == theirs.token and ours.requires_grad == theirs.requires_grad
        return same and ours.inference == theirs.inference and self.same_array(ours.array, theirs.array)

    def same_array(self, ours: Array, theirs: Array) -> bool:
        """Equal shape and dtype, equal bytes or values equal up to rounding. Where torch overflowed anything goes."""
        if ours[1] == "float32":
            self.tolerance["float64"] = TOLERANCE["float32"]  # from here on coarser rounding may arrive by a cast
        if ours == theirs:
            return True
        if ours[:2] != theirs[:2]:
            return False
        a, b = values(ours), values(theirs)
        if ours[1] not in TOLERANCE:
            return bool(np.array_equal(a, b))
        finite = np.isfinite(b)
        if finite.any():
            self.scale = max(self.scale, float(np.abs(b[finite]).max()))
        error = np.abs(a - b)[finite]
        tolerance = self.tolerance[ours[1]]
        return bool((error <= tolerance * np.abs(b[finite]) + 0.01 * tolerance * self.scale).all())


def values(array: Array) -> np.ndarray:
    shape, dtype, data = array
    return np.frombuffer(data, dtype=dtype).reshape(shape)


def shown(array: Array | None) -> str:
    return "None" if array is None else f"{array[1]} {values(array).tolist()}"


def shown_gradient(gradient: Gradient | None) -> str:
    if gradient is None:
        return "None"
    return f"object {gradient.token}, requires_grad={gradient.requires_grad}, {shown(gradient.array)}"
