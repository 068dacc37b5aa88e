"""Functions of SciPy's that take arrays: SciPy itself where nobody differentiates, and otherwise operators of ours."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten
from pullback.errors import AutogradError
from pullback.func._implicit.lift import is_watched
from pullback.scipy._surface import Call, Rule, declare, joined, no_rule, numbers, tensors
from pullback.tensors.tensor import Tensor


def is_differentiated(value: Any) -> bool:
    """Is there a tensor in this that somebody differentiates, batches or traces?"""
    if isinstance(value, np.ndarray | str | int | float | None):
        return False
    return any(isinstance(leaf, Tensor) and is_watched(leaf) for leaf in flatten(value)[0])


def declare_arrays(*names: str, kind: str, by: str) -> Callable[[Callable[[Call], Any]], Callable[..., Any]]:
    """Declare functions that SciPy computes, unless one of their arguments is differentiated, batched or traced."""

    def decorate(function: Callable[[Call], Any]) -> Callable[..., Any]:
        def call(given: Call) -> Any:
            if not any(is_differentiated(value) for value in given.bound.arguments.values()):
                return by_scipy(given)
            for name in ("output", "out"):
                if name in given and given[name] is not None and not is_dtype(given[name]):
                    raise no_rule(Rule(given.name, "X", reason=f"{name}= is an array"), "an argument")
            return function(given)

        return declare(*names, kind=kind, by=by)(call)

    return decorate


def by_scipy(given: Call) -> Any:
    """What SciPy returns for these arguments, which are constants."""
    kwargs = {key: numbers(value) for key, value in given.bound.kwargs.items()}
    return tensors(given.plain(*map(numbers, given.bound.args), **kwargs))


def is_dtype(value: Any) -> bool:
    """Does this say a type of numbers, as `output=` may?"""
    return isinstance(value, type | np.dtype | str)


def floating(given: Call, value: Any, what: str) -> Tensor:
    """An array as a tensor of floating-point numbers. SciPy rounds results for integers, which have no derivatives."""
    out = joined(value)
    if out.dtype.kind not in "fc":
        raise AutogradError(
            "SCIPY_NO_RULE",
            f"scipy.{given.name} is given {what} of {out.dtype}, and something else is being differentiated",
            why="the result would be rounded to integers, which have no derivative",
            fix=f"give {what} as floating-point numbers: x * 1.0",
        )
    return out


def as_output(given: Call, out: Any) -> Any:
    """A result in the type that `output=` asks for."""
    wanted = given["output"] if "output" in given else None  # noqa: SIM401  (a Call has no `get`)
    return out if wanted is None or np.dtype(wanted) == out.dtype else pb.astype(out, np.dtype(wanted))


def per_axis(value: Any, count: int) -> list[Any]:
    """One for each axis: a sequence as it is, and anything else repeated."""
    if isinstance(value, str) or not (isinstance(value, list | tuple) or getattr(value, "ndim", 0) != 0):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def chosen_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes that a function works along, counted from the first."""
    if axes is None:
        return tuple(range(ndim))
    known = axes if isinstance(axes, list | tuple) else (axes,)
    found = tuple(operator.index(axis) for axis in known)
    if any(not -ndim <= axis < ndim for axis in found) or len({axis % ndim for axis in found}) != len(found):
        raise ValueError(f"axes {axes} do not fit an array of {ndim} axes")
    return tuple(axis % ndim for axis in found)


def ascending_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a window, in their order: SciPy does not say what it does with a window for others."""
    found = chosen_axes(axes, ndim)
    if list(found) != sorted(found):
        raise AutogradError(
            "SCIPY_NO_RULE",
            f"a window for the axes {found}, which are not in ascending order, has no derivative",
            why="SciPy turns sizes and origins, but not footprints and weights, to the order of the axes",
            fix="give the axes in ascending order, with the sizes, footprint and weights that belong to them",
        )
    return found


def root(x: Any) -> Any:
    """The square root, with slope 0 at 0: of a length, which is smooth everywhere else."""
    is_zero = x == 0
    return pb.where(is_zero, 0.0, pb.sqrt(pb.where(is_zero, 1.0, x)))
