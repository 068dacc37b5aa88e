"""Eager code in which operators are compared with their fakes.

Plain eager calls never run a fake. A function that was to be compiled, and is not because an operator in it has a shape
that depends on data, keeps the promise of compiled code: a size outside of the bounds that the fake gives is an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.state import changed, current

Function = Callable[..., Any]


def compares_fakes(op: Any, operands: Any, params: Any, proceed: Function) -> Any:
    """Stands among the interceptors while operators are compared, and keeps them off the short ways."""
    return proceed(op, operands, params)


def with_checked_fakes(function: Function) -> Function:
    """The function, with its operators compared where it runs eagerly."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        modes = current()
        if modes.trace is not None or compares_fakes in modes.interceptors:
            return function(*args, **kwargs)
        with changed(interceptors=(*modes.interceptors, compares_fakes)):
            return function(*args, **kwargs)

    return run


def compare(real: Sequence[Any], fake: Sequence[Any], other: Sequence[Any], bounds: Sequence[Any]) -> None:
    """Raise if results differ from what a fake said. Lengths in which its two answers differ are within the bounds."""
    if len(real) != len(fake):
        raise RuntimeError(f"number of returns {len(fake)} != {len(real)}")
    for number, (value, promised, varied) in enumerate(zip(real, fake, other, strict=True)):
        if not isinstance(value, np.ndarray):
            continue
        if not hasattr(promised, "shape"):
            raise RuntimeError(f"output {number} is a Tensor, and the fake returns {type(promised).__name__}")
        dynamic = [one != two for one, two in zip(promised.shape, varied.shape, strict=True)]
        if len(value.shape) != len(promised.shape) or any(
            length != expected and not free
            for length, expected, free in zip(value.shape, promised.shape, dynamic, strict=True)
        ):
            raise RuntimeError(f"Shapes {value.shape} and {tuple(promised.shape)} are not equal: output {number}")
        for length, free in zip(value.shape, dynamic, strict=True):
            if free and not any(low <= length and (high is None or length <= high) for low, high in bounds):
                raise RuntimeError(f"output {number} has length {length}, outside of the bounds {list(bounds)}")
        if value.dtype != promised.dtype:
            raise RuntimeError(f"Dtypes {value.dtype} and {promised.dtype} are not equal: output {number}")
        if not any(dynamic) and _steps(value) != _steps(promised):
            raise RuntimeError(f"Stride mismatch: {value.strides} and {tuple(promised.strides)} for output {number}")


def _steps(value: Any) -> list[int]:
    return [step for step, length in zip(value.strides, value.shape, strict=True) if length > 1]
