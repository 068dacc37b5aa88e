"""What public functions do with their arguments before an operator sees them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.state import current, open_levels, switch
from pullback.eager.build import as_operand, as_vectors
from pullback.eager.record import new_tensor
from pullback.payloads.batched import BatchedArray, bare, each_example, parts_of, plain_array
from pullback.payloads.refusals import refuse_dynamic_shape, refuse_values
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, as_constant, wrap

ANY_NUMBER = 1 << 30
"""For composites all of whose positional arguments are arrays."""


def as_array(x: Any) -> Any:
    """`x` itself if it is an array of any kind; numbers and lists of them as a constant Tensor."""
    return x if hasattr(x, "ndim") else as_constant(as_operand(x))


def beside(x: Any, array: Any) -> Any:
    """An array that a function makes by itself, where its operand `x` lies: on its device, or on every rank."""
    payload = x._data if isinstance(x, Tensor) else x
    while isinstance(payload, BatchedArray):
        payload = payload.data
    make = getattr(payload, "constant", None)
    if make is None:
        return array
    return wrap(make(array)) if isinstance(x, Tensor) else make(array)


def common_dtype(*values: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives to a result of these, in which Python's numbers give way to arrays."""
    weak = (int, float, complex)
    return np.result_type(*(x.__class__() if x.__class__ in weak else as_array(x).dtype for x in values))


def called_as(example: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Show the parameters of `example` as those of a function that takes more spellings than one signature can say.

    They are what the array API standard prescribes, and what `inspect.signature` and `help` tell.
    """

    def show(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__signature__ = inspect.signature(example)  # type: ignore[attr-defined]
        return function

    return show


def one_sequence(name: str, parts: tuple[Any, ...], spelled: Any = None) -> Any:
    """The ints given one by one, as one sequence, or by keyword: `f(x, 2, 3)`, `f(x, (2, 3))`, `f(x, shape=(2, 3))`."""
    if spelled is not None:
        if parts:
            raise TypeError(f"{name}: two spellings of one argument were given; keep one of them")
        return spelled
    return parts[0] if len(parts) == 1 else parts


# Plain arrays in and out, for functions whose results have no derivative.

# Functions whose results have as many elements as the values say.
_SHAPED_BY_VALUES = frozenset({
    "apply_where", "argwhere", "bincount", "compress", "delete", "extract", "histogram", "histogram2d",
    "histogram_bin_edges", "histogramdd", "insert", "intersect1d", "mask_indices", "one_hot", "piecewise",
    "polydiv", "repeat", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique", "unique_consecutive",
})  # fmt: skip


def plain(name: str, x: Any) -> Any:
    """The values of `x` as an ndarray. The result must not reach a caller who could differentiate it."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    values = plain_array(x._data)
    if values is not None:
        return values
    if hasattr(x._data, "refused"):  # traced: nobody knows the values yet, which is another matter than too many
        raise x._data.refused(f"{name}: an array of values")
    if hasattr(x._data, "values_for"):  # another library's
        return x._data.values_for(name)
    if name in _SHAPED_BY_VALUES:
        raise refuse_dynamic_shape(name)
    raise refuse_values(x, f"{name}: an array of values")


def is_constant(x: Any) -> bool:
    """Is this a tensor on an array, in modes in which nobody can ask for a derivative of what is computed from it?"""
    if type(x) is not Tensor or type(x._data) is not np.ndarray:
        return False
    extra, modes = x._extra, current()
    if extra is not None and (open_levels or extra.inference or extra.deps is not None):
        return False
    return modes is switch.no_grad or (modes is switch.normal and not requires_grad(x))


def on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, computed on plain arrays where all tensors among its arguments are constants.

    For composites of several operators, which may return new memory only: each operator costs more on tensors.
    """

    @functools.wraps(function)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        given = [x._data if is_constant(x) else x for x in args]
        if type(given[0]) is not np.ndarray or any(isinstance(x, Tensor) for x in (*given, *kwargs.values())):
            return function(*args, **kwargs)
        out = function(*given, **kwargs)
        if any(type(x) is np.ndarray and np.may_share_memory(out, x) for x in given):
            return function(*args, **kwargs)
        return new_tensor(np.asarray(out), current())

    return chosen


def along_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes a tensor without axes as a vector of one element: its axis is 0 or -1."""

    @functools.wraps(function)
    def called(x: Any, *args: Any, **options: Any) -> Any:
        try:
            return function(x, *args, **options)
        except np.exceptions.AxisError:
            if x.ndim:
                raise
            return as_vectors(function, (tensor_from(x), *args), options)

    return called


def is_recorded(x: Any) -> bool:
    """Will what is computed from `x` be recorded for a gradient?"""
    return isinstance(x, Tensor) and current().grad and requires_grad(x)


def every_value(x: Any) -> Any:
    """The values of `x`, of all examples together inside of `vmap`: for checks that hold for each element."""
    return parts_of(x._data)[0] if isinstance(x, Tensor) else np.asarray(x)


def computed(name: str, function: Callable[..., Any], *xs: Any) -> Any:
    """What a function of plain arrays gives, as constants. Inside of `vmap` it is called for each example."""
    modes = current()
    payloads = [x._data if isinstance(x, Tensor) else x for x in xs]
    for payload in map(bare, payloads):
        if hasattr(payload, "refused"):  # NumPy's function would hand a traced array back to the caller
            raise payload.refused(f"{name}: an array of values")
    found = each_example(name, function, *payloads)
    if isinstance(found, (tuple, list)):
        return tuple([new_tensor(_as_payload(part), modes) for part in found])
    return new_tensor(_as_payload(found), modes)


def _as_payload(found: Any) -> Any:
    return found if hasattr(type(found), "evaluate_op") else np.asarray(found)


def tensor_from(x: Any) -> Any:
    """`x` itself if it is a Tensor; arrays, numbers and lists of them as a constant one."""
    return x if isinstance(x, Tensor) else as_constant(as_operand(x, beside=type(x) is np.ndarray))


def constant(array: Any) -> Tensor:
    """A new Tensor without history, made in the current mode."""
    return new_tensor(np.asarray(array), current())
