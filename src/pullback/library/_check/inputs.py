"""The arguments that `opcheck` works with: always copies, never the caller's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.records import Record
from pullback.core.state import changed
from pullback.library._call import Call, laid_out
from pullback.library._kernel import run_kernel
from pullback.library._operator import CustomOpDef
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, wrap


class Problem(Record, frozen=True):
    """An operator and arguments for it."""

    definition: CustomOpDef
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    rtol: float
    atol: float

    def bound(self) -> tuple[Call, list[Tensor]]:
        """The call, and its tensors as the caller gave them."""
        values, keywords = self.definition.bind(self.args, self.kwargs)
        layout, operands = laid_out(values)
        keywords = {name: value.clone() if isinstance(value, Tensor) else value for name, value in keywords.items()}
        return Call(self.definition, layout, keywords), operands

    def flat_call(self) -> tuple[Call, list[Any]]:
        """The call, and copies of its arrays."""
        call, operands = self.bound()
        return call, [copied(x._data) for x in operands]

    @property
    def requires_grad(self) -> bool:
        """Is an argument differentiated?"""
        return any(requires_grad(x) for x in self.bound()[1])

    def outputs(self) -> list[Any]:
        """What a call on copies returns, recorded."""
        call, operands = self.bound()
        given = [_leaf_like(x) for x in operands]
        result = self.definition(*call.arguments(given), **call.keywords)
        return flat(result)

    def resized(self) -> tuple[Call, list[Any]] | None:
        """The call with every length that is more than 1 increased, on random values; None without such lengths."""
        call, operands = self.bound()
        if not any(length > 1 for x in operands for length in x.shape):
            return None
        generator = np.random.default_rng(0)
        return call, [
            random_like(generator, tuple(n + 2 if n > 1 else n for n in x.shape), x._data) for x in operands
        ]


def flat(result: Any) -> list[Any]:
    """Results as a list: the parts of a tuple, and of lists in it."""
    parts = list(result) if isinstance(result, (tuple, list)) else [] if result is None else [result]
    return [each for part in parts for each in (part if isinstance(part, list) else [part])]


def copied(array: Any) -> Any:
    """A copy in memory of its own, laid out like the original."""
    copy = np.empty_like(array)
    if copy.strides != array.strides and array.size:
        room = np.empty([length * 2 for length in array.shape], array.dtype)
        strided = room[tuple(slice(None, None, 2) for _ in array.shape)]
        copy = strided if not array.flags.c_contiguous else copy
    copy[...] = array
    return copy


def _leaf_like(x: Tensor) -> Tensor:
    leaf = wrap(copied(x._data))
    return leaf.requires_grad_() if requires_grad(x) else leaf


def random_like(generator: Any, shape: tuple[int, ...], array: Any) -> Any:
    """Random values of the dtype; integers stay within those that are there."""
    if array.dtype.kind in "fc":
        return (generator.random(shape) + 0.5).astype(array.dtype)
    if array.dtype.kind in "iu" and array.size:
        return generator.integers(array.min(), array.max() + 1, shape).astype(array.dtype)
    return np.zeros(shape, array.dtype)


def randomized(problem: Problem) -> tuple[Call, list[Any]]:
    """The call with distinct random floats in place of those given, so that no write leaves a value as it was."""
    call, operands = problem.bound()
    generator = np.random.default_rng(0)
    arrays = []
    for x in operands:
        array = copied(x._data)
        if array.dtype.kind in "fc":
            array[...] = random_like(generator, array.shape, array)
        arrays.append(array)
    try:
        run_kernel(call, [array.copy() for array in arrays])
    except Exception:  # the kernel rejects such values; those it was given it must take
        return problem.flat_call()
    return call, arrays


def outputs_of(problem: Problem) -> list[Any]:
    """The flat outputs of the kernel on copies, and after them what it wrote."""
    call, arrays = problem.flat_call()
    with changed(grad=False):
        results = run_kernel(call, arrays)
    written = problem.definition.written_operands(call) if problem.definition.schema.written else []
    return [*results, *(arrays[index] for index in written)]


def differentiable_call(problem: Problem, dtypes: str) -> tuple[Callable[..., Any], list[Tensor]] | None:
    """The operator as a function of the tensors that require grad; None if there are none of these dtypes."""
    call, operands = problem.bound()
    moving = [
        index for index, x in enumerate(operands)
        if requires_grad(x) and x.dtype.char in dtypes
    ]  # fmt: skip
    if not moving:
        return None
    fixed = [wrap(copied(x._data)) for x in operands]

    def function(*values: Any) -> Any:
        given = list(fixed)
        for index, value in zip(moving, values, strict=True):
            given[index] = value
        result = problem.definition(*call.arguments(given), **call.keywords)
        found = [each for each in flat(result) if isinstance(each, Tensor) and each._spec.is_differentiable]
        return tuple(found) if len(found) != 1 else found[0]

    return function, [fixed[index].clone().requires_grad_() for index in moving]
