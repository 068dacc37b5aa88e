"""Two runs in, the first disagreement out. Every difference that is meant is a rule here, with its reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .observe import Picture, Run, State

# What a trace refuses although eager code can do it; each says so, and names what to write instead.
REFUSALS = {
    "FunctionalizationError": "a write through as_strided of a view, or to memory that was swapped away",
    "AliasError": "arguments that share memory in a way that autograd does not know of, one of them written",
    "TraceError": "a leaf made in the function that is used and returned; a gradient left in a tensor of the caller's",
    "AutogradError OVERLAP_WRITE": "a write to a part of an argument whose elements share memory",
    "DynamicShapeError": "a mask whose number of elements decides a shape",
}


OF_VIEWS = ("AutogradError VIEW_OF_LEAF_INPLACE", "AutogradError DETACH_VIEW")


@dataclass(frozen=True)
class Disagreement:
    """At one step, `what` differs."""

    step: str
    what: str
    eager: str
    compiled: str

    def __str__(self) -> str:
        return f"{self.step}: {self.what}\n  eager    {self.eager}\n  compiled {self.compiled}"


@dataclass(frozen=True)
class Traits:
    """What a program does that rules ask about: change axes in place, share memory behind the back of autograd,
    compute with complex numbers or gradients or in single precision, detach in place, have arguments that are views,
    and such without elements, have control flow, and go by its strides, or have formulas that ignore the
    gradient that they get or choose their way by values."""

    looks: bool = False
    hides: bool = False
    rounds: bool = False
    is_single: bool = False
    lets_go: bool = False
    has_views: bool = False
    has_empty_views: bool = False
    has_flow: bool = False
    ignores: bool = False
    chooses: bool = False
    counts_steps: bool = False


NOTHING = Traits()


def disagreement(eager: Run, compiled: Run, rules: Counter[str], traits: Traits = NOTHING) -> Disagreement | None:
    """Where the compiled run first does something that the eager one does not, or None."""
    for ours, theirs in zip(compiled.steps, eager.steps, strict=False):
        step = theirs[0]
        if ours[1] != theirs[1]:
            if is_refusal(step, ours[1]):
                rules[f"refused: {ours[1]}"] += 1
                return None
            if step == "call" and ours[1] is None and theirs[1] in OF_VIEWS:
                # A trace does not know that an argument is a view. What writes to the argument is refused; other axes
                # for a view of it, and detach_() on it where it has no history, are not.
                rules["a trace does not know that an argument is a view"] += 1
                return None
            if step == "call" and ours[1] is None and theirs[1] == UNUSED and traits.has_views:
                # A write to a detached alias of a view gives the view another history in eager code, which what was
                # computed from it before does not lead to. To a trace it is one input all the time.
                rules["a trace does not know that an argument is a view"] += 1
                return None
            if "backward" in step and is_meant_error(theirs[1], ours[1], rules, traits):
                return None
            if step.startswith("later") and theirs[1] == "AutogradError VIEW_OF_LEAF_INPLACE" and traits.lets_go:
                # A result that is a view of a leaf which nobody holds: one that was made in the function, or detached.
                rules["a view of what nobody holds is no view"] += 1
                return None
            return Disagreement(
                step, "error", f"{theirs[1]} {eager.detail.get(step, '')}", f"{ours[1]} {compiled.detail.get(step, '')}"
            )
        if ours[1] is None:
            found = of_step(step, theirs[2], ours[2], rules, traits)
            if found is not None:
                return Disagreement(step, *found)
    return None


VERSION, SECOND = "AutogradError VERSION", "AutogradError SECOND_BACKWARD"
DETACHED, UNUSED, MOVED = (f"AutogradError {code}" for code in ("SAVED_DETACHED", "UNUSED_INPUT", "LEAF_MOVED"))


def is_refusal(step: str, compiled: str | None) -> bool:
    """Does a trace refuse what eager code can do?"""
    if step.endswith("of the backward"):
        return compiled == "HigherOrderError"
    return step == "call" and compiled in REFUSALS


def is_meant_error(eager: str | None, compiled: str | None, rules: Counter[str], traits: Traits) -> bool:
    """Is it documented that a backward pass raises on one side, or something else?"""
    if eager == VERSION and compiled is None:
        rules["the compiled forward saved a copy of its own"] += 1
        return True
    if eager == VERSION and compiled == DETACHED:
        # Both raise. That a history is gone is known when the function is captured; values are looked at later.
        rules["of two errors the one that a capture knows of comes first"] += 1
        return True
    if eager == MOVED and compiled is None:
        rules["a leaf made in the function was overwritten"] += 1
        return True
    if eager is None and compiled == VERSION and traits.hides:
        # Memory that a result got with `.data =`, or that is written as an array: eager code does not notice.
        rules["a saved value was overwritten unseen, and compiled code noticed"] += 1
        return True
    if eager in (None, DETACHED) and compiled == VERSION and traits.has_flow:
        # Eager code saves what the branch that was taken needs. A graph has both, and saves what either is given.
        rules["control flow saves all of its operands"] += 1
        return True
    if eager == SECOND and compiled in (None, VERSION, DETACHED, MOVED):
        rules["the compiled forward saved less"] += 1
        return True
    if eager in (None, VERSION) and compiled == SECOND:
        # Of eager nodes those without saved values can run again; a compiled call is one node.
        rules["a compiled call is released as a whole"] += 1
        return True
    return False


def of_step(step: str, eager: Any, compiled: Any, rules: Counter[str], traits: Traits) -> tuple[str, str, str] | None:
    if isinstance(eager, Picture):
        return of_pictures(eager, compiled, rules, traits)
    if step == "arguments after the error":
        before, after = compiled  # eager code may have written before it raised; compiled code has not begun
        return of_pictures(before, after, rules, NOTHING)
    if traits.has_views or step.endswith("of the backward"):
        compiled = {name: as_absent(gradient, eager.get(name), rules) for name, gradient in compiled.items()}
    if traits.has_empty_views or (traits.has_flow and step.endswith("of the backward")):
        compiled = {name: as_nothing(gradient, eager.get(name), rules) for name, gradient in compiled.items()}
    found = of_gradients(eager, compiled, 1e-4 if traits.is_single else 1e-9)
    if found is not None and traits.ignores and step.startswith("backward ") and not step.endswith("of the backward"):
        # After a write to a result that is a view of what nobody holds, eager code sends zeros to what was overwritten,
        # and a formula that ignores them runs.
        rules["zeros arrive at a formula that ignores them"] += 1
        return None
    if found is not None and traits.hides and "None" not in found[1:]:
        # A saved value that is overwritten through `.data` or an array on the same memory: eager code computes with
        # what it finds there, compiled code with what it saved.
        rules["a saved value was overwritten unseen"] += 1
        return None
    return found


def as_absent(compiled: Any, eager: Any, rules: Counter[str]) -> Any:
    """A gradient that is absent, as the zeros that it is in eager code.

    Eager code writes to a view by way of its base, and hands the base's gradient on with zeros in the place of what was
    overwritten. A trace has no base of an argument, and no gradient of what was overwritten. The same for second
    derivatives of what does not depend on anything.
    """
    if compiled is None and eager is not None and not eager.any():
        rules["a gradient of zeros is absent"] += 1
        return eager
    return compiled


def as_nothing(compiled: Any, eager: Any, rules: Counter[str]) -> Any:
    """Zeros where eager code has no gradient, as None.

    An argument without elements overlaps nothing, and is an input of its own. So a write to the tensor that it is a
    view of does not change its history, as it does in eager code, and its gradient of no elements goes on to the
    history that it had, where it is zeros. And second derivatives of a branch: the graph has that of the other one.
    """
    if eager is None and compiled is not None and not compiled.any():
        rules["zeros where eager code has no gradient"] += 1
        return None
    return compiled


def of_pictures(
    eager: Picture, compiled: Picture, rules: Counter[str], traits: Traits
) -> tuple[str, str, str] | None:
    if eager.structure != compiled.structure:
        return "structure", eager.structure, compiled.structure
    for ours, theirs in zip(compiled.states, eager.states, strict=True):
        for field in fields(State):
            a, b = getattr(ours, field.name), getattr(theirs, field.name)
            if a != b and not is_meant(field.name, theirs, ours, rules, traits):
                return f"{theirs.name}.{field.name}", shown(theirs, field.name), shown(ours, field.name)
    if eager.shared != compiled.shared:
        missing, added = eager.shared - compiled.shared, compiled.shared - eager.shared
        return "shared memory", names(eager, missing), names(eager, added)
    if eager.grad_mode != compiled.grad_mode:
        return "grad mode", str(eager.grad_mode), str(compiled.grad_mode)
    return None


def is_meant(field: str, eager: State, compiled: State, rules: Counter[str], traits: Traits) -> bool:
    """Is this difference one of those that are documented?"""
    if field in ("requires_grad", "is_leaf", "has_history") and traits.has_empty_views and 0 in eager.shape:
        # What has no elements overlaps nothing: see `as_nothing`.
        rules["the history of a view without elements"] += 1
        return True
    if field == "base" and traits.hides:
        rules["_base after .data ="] += 1
        return True
    if field == "base" and traits.looks:
        # Which tensor is the base of which, after one of them got other axes in place, depends in eager code on who
        # is still alive: see `operators/arrays/inplace_views.py`. Values, versions and gradients are compared all the
        # same.
        rules["_base after axes were changed in place"] += 1
        return True
    if field == "values" and traits.rounds and eager.dtype == compiled.dtype and eager.shape == compiled.shape:
        # NumPy rounds a product of complex numbers in one way or another, depending on where the operands lie, and adds
        # in another order, which matters for what control flow has put into row-major order. And the
        # formulas of some gradients choose their way by the values, as that of `prod` does, which a trace cannot.
        theirs, ours = (np.frombuffer(state.values, state.dtype) for state in (eager, compiled))
        digits = (1e-5, 1e-6) if traits.is_single else (1e-12, 1e-14)
        if np.allclose(theirs, ours, *digits, equal_nan=True):
            rules["rounding of complex products and of gradients inside"] += 1
            return True
    if (field == "strides" and traits.has_flow) or (field == "values" and traits.counts_steps):
        # Branches need not agree in how their results lie in memory, and what goes around a loop stays where it is.
        # And then `as_strided` finds other elements.
        rules["results of control flow lie in row-major order"] += 1
        return True
    if field == "strides" and traits.chooses:
        # The formula for the gradient of `prod` that looks at values lays its result out in another way.
        rules["rounding of complex products and of gradients inside"] += 1
        return True
    if field == "version" and traits.hides:
        # After `.data =` on a tensor that has views these go on counting together, on different memory.
        rules["versions after .data ="] += 1
        return True
    if field == "base" and eager.base == "hidden" and compiled.base == "none":
        # A view of a tensor that nobody holds cannot be told from a tensor of its own, except by asking.
        rules["a view of what nobody holds has no _base"] += 1
        return True
    return False


def of_gradients(eager: dict[str, Any], compiled: dict[str, Any], small: float) -> tuple[str, str, str] | None:
    if eager.keys() != compiled.keys():
        return "which tensors have gradients", str(sorted(eager)), str(sorted(compiled))
    scale = max((float(np.abs(g).max()) for g in eager.values() if g is not None and g.size), default=0.0)
    for name, theirs in eager.items():
        ours = compiled[name]
        if not same_gradient(theirs, ours, scale, small):
            return f"gradient of {name}", str(theirs), str(ours)
    return None


def same_gradient(theirs: Any, ours: Any, scale: float, small: float) -> bool:
    """Equal up to the order of additions."""
    if theirs is None or ours is None:
        # A gradient without elements says nothing; who has one depends on what overlaps nothing.
        return theirs is ours or (ours if theirs is None else theirs).size == 0
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return False
    return bool(np.allclose(theirs, ours, rtol=small, atol=small * (1e-3 + scale), equal_nan=True))


def shown(state: State, field: str) -> str:
    value = getattr(state, field)
    if field == "values":
        return str(np.frombuffer(value, state.dtype).reshape(state.shape).tolist())
    return str(value)


def names(picture: Picture, pairs: Any) -> str:
    return str(sorted((picture.states[i].name, picture.states[j].name, apart) for i, j, apart in pairs))
