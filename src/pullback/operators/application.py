"""Functions applied to parts of arrays: along an axis, over several axes, element by element.

The functions are Python, called once per part on Tensors, and their results are stacked, so that gradients flow through
whatever they compute with Pullback's operators.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.declare.composite import composite
from pullback.operators.arguments import constant, tensor_from
from pullback.operators.arrays.creation import asarray
from pullback.operators.arrays.joining import stack
from pullback.operators.arrays.movement import broadcast_to, expand_dims, moveaxis
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.elementwise.casting import astype


@composite(arrays=0)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The results of `func1d(line, *args, **kwargs)` for every line of `arr` along `axis`.

    The axes of a result take the place of that axis.
    """
    arr = tensor_from(arr)
    axis = normalize_axis_index(axis, arr.ndim)
    lines = moveaxis(arr, axis, -1)
    before = lines.shape[:-1]
    results = [asarray(func1d(lines[index], *args, **kwargs)) for index in np.ndindex(*before)]
    if not results:
        raise ValueError(f"apply_along_axis: an array of shape {list(arr.shape)} has no lines along axis {axis}")
    own = results[0].ndim
    out = reshape(stack(results, 0), (*before, *results[0].shape))
    return moveaxis(out, tuple(range(len(before), out.ndim)), tuple(range(axis, axis + own))) if own else out


@composite(arrays=0)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """`func(a, axis)` for one axis after another. An axis that it removes is put back with length 1."""
    out = tensor_from(a)
    ndim = out.ndim
    for axis in np.atleast_1d(np.asarray(axes)).tolist():
        axis = normalize_axis_index(axis, ndim)
        result = asarray(func(out, axis))
        out = result if result.ndim == ndim else expand_dims(result, axis)
        if out.ndim != ndim:
            raise ValueError(f"apply_over_axes: the function made {result.ndim} axes of {ndim}")
    return out


class vectorize:
    """A function of numbers as a function of arrays: called for every element, with broadcasting.

    With `signature="(m,n),(n)->(m)"` it is a function of matrices and vectors, called for every one. `excluded` holds
    positions and names of arguments that are passed as they are, `otypes` the dtypes of the results. Gradients flow
    through what the function computes with its arguments, which are Tensors.

        pb.vectorize(lambda x, y: x if x > y else x * y)(x, 1.0)

    >>> pb.vectorize(lambda a, b: a * b + 1)(pb.tensor([1.0, 2.0]), 3.0)
    tensor([4., 7.])
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any] | None = None,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Iterable[int | str] | None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        if pyfunc is not None and not callable(pyfunc):
            raise TypeError(f"vectorize: expected a function, got {type(pyfunc).__name__}")
        self.pyfunc = pyfunc
        self.otypes = None if otypes is None else [np.dtype(each) for each in otypes]
        self.excluded = frozenset(excluded or ())
        self.cache = cache
        self.signature = signature
        self._cores = None if signature is None else _cores_of(signature)
        self._doc = doc
        if pyfunc is not None:
            functools.update_wrapper(self, pyfunc, updated=())
        self.__doc__ = doc if doc is not None else self.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for every element of the broadcast arguments."""
        if self.pyfunc is None:  # used as a decorator with arguments
            (pyfunc,) = args
            return vectorize(pyfunc, self.otypes, self._doc, self.excluded, self.cache, self.signature)
        arguments: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        mapped = {key: tensor_from(x) for key, x in arguments.items() if key not in self.excluded}
        if not mapped:
            return self.pyfunc(*args, **kwargs)
        cores = [0] * len(mapped)
        if self._cores is not None:
            if len(mapped) != len(self._cores[0]):
                raise TypeError(f"vectorize: {self.signature} takes {len(self._cores[0])} arrays, got {len(mapped)}")
            cores = _check_cores(self._cores[0], list(mapped.values()))
        split = [x.ndim - core for x, core in zip(mapped.values(), cores, strict=True)]
        loop = np.broadcast_shapes(*(x.shape[:at] for x, at in zip(mapped.values(), split, strict=True)))
        spread = {
            key: broadcast_to(x, (*loop, *x.shape[at:]))
            for (key, x), at in zip(mapped.items(), split, strict=True)
        }  # fmt: skip
        results = []
        for index in np.ndindex(*loop):
            given = {**arguments, **{key: x[index] for key, x in spread.items()}}
            positional = [given.pop(number) for number in range(len(args))]
            results.append(self.pyfunc(*positional, **given))
        return self._collected(results, loop)

    def _collected(self, results: list[Any], loop: tuple[int, ...]) -> Any:
        if not results:
            if self.otypes is None or self._cores is not None:
                raise ValueError("vectorize: for arrays without elements the dtypes of the results must be given")
            empty = tuple(constant(np.zeros(loop, dtype)) for dtype in self.otypes)
            return empty if len(empty) > 1 else empty[0]
        several = isinstance(results[0], tuple)
        columns = list(zip(*results, strict=True)) if several else [results]
        out = tuple(self._stacked(column, number, loop) for number, column in enumerate(columns))
        return out if several else out[0]

    def _stacked(self, column: Sequence[Any], number: int, loop: tuple[int, ...]) -> Any:
        parts = [asarray(each) for each in column]
        if self._cores is None and parts[0].ndim:
            raise ValueError(f"vectorize: the function must return numbers, got shape {list(parts[0].shape)}")
        out = reshape(stack(parts, 0), (*loop, *parts[0].shape))
        return out if self.otypes is None else astype(out, self.otypes[number])


def _cores_of(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The names of the axes of every argument and of every result in `(m,n),(n)->(m)`."""
    text = signature.replace(" ", "")
    group = r"\((?:\w+(?:,\w+)*)?\)"
    if not re.fullmatch(rf"{group}(?:,{group})*->{group}(?:,{group})*", text):
        raise ValueError(f"vectorize: {signature!r} is not a signature such as '(m,n),(n)->(m)'")
    inputs, outputs = (
        [tuple(name for name in each.split(",") if name) for each in re.findall(r"\(([^)]*)\)", side)]
        for side in text.split("->")
    )
    return inputs, outputs


def _check_cores(cores: list[tuple[str, ...]], arrays: list[Any]) -> list[int]:
    """How many last axes of every array belong to one call; an error if their lengths contradict each other."""
    lengths: dict[str, int] = {}
    for core, x in zip(cores, arrays, strict=True):
        if x.ndim < len(core):
            raise ValueError(f"vectorize: an argument with axes {core} cannot have shape {list(x.shape)}")
        for name, length in zip(core, x.shape[x.ndim - len(core) :], strict=True):
            if lengths.setdefault(name, length) != length:
                raise ValueError(f"vectorize: axis {name!r} has lengths {lengths[name]} and {length}")
    return [len(core) for core in cores]


subscripted: dict[str, Any] = {"vectorize": vectorize}
"""Public objects that are no operators."""
