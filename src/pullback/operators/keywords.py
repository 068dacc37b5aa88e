"""Keywords that few calls give: `add(alpha=)`, `divide(rounding_mode=)`, `sum(where=, initial=)`.

The operators know nothing of them. A public function looks for the keyword and otherwise goes straight to its
operator; Python's `+` and `/` are not called here at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes
from pullback.core.doors import leave
from pullback.declare.composite import composite
from pullback.declare.families import reduced_shape
from pullback.declare.op import Op
from pullback.eager.build import as_operand, inplace_twin
from pullback.operators.arguments import tensor_from
from pullback.operators.arrays.creation import full
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.elementwise import arithmetic as elementwise
from pullback.operators.elementwise import comparison
from pullback.operators.elementwise.casting import store
from pullback.operators.elementwise.comparison import where as choose
from pullback.operators.reductions import extremes, reduction
from pullback.tensors.tensor import Tensor

# Arithmetic


def _is_one(alpha: Any) -> bool:
    return alpha.__class__ is int and alpha == 1


def _with_alpha(op: Op, name: str, sign: str, aliases: tuple[str, ...]) -> None:
    twin = inplace_twin(op)

    def function(x: Any, y: Any, /, *, alpha: Any = 1, out: Tensor | None = None) -> Any:
        try:
            return op.function(x, y if _is_one(alpha) else as_operand(y) * alpha, out=out)
        except Exception as error:
            leave(error, function)
            raise

    def inplace(self: Tensor, y: Any, /, *, alpha: Any = 1) -> Tensor:
        try:
            return twin(self, y if _is_one(alpha) else as_operand(y) * alpha)
        except Exception as error:
            leave(error, inplace)
            raise

    function.__doc__ = f"`x {sign} alpha * y`."
    inplace.__doc__ = f"In-place version of `{name}`."
    _publish(function, inplace, name, aliases)


def _publish(function: Callable[..., Any], inplace: Callable[..., Any], name: str, aliases: tuple[str, ...]) -> None:
    function.__name__ = function.__qualname__ = name
    inplace.__name__ = inplace.__qualname__ = f"{name}_"
    composite(function, arrays=0, name=name, aliases=aliases)
    for each in (name, *aliases):
        members[each] = function
        members[f"{each}_"] = inplace


members: dict[str, Callable[..., Any]] = {}
"""The methods that take these keywords."""

_with_alpha(elementwise.add, "add", "+", ())
_with_alpha(elementwise.subtract, "subtract", "-", ("sub",))


def _rounded_quotient(rounding_mode: str) -> Callable[..., Any]:
    if rounding_mode == "floor":
        return elementwise.floor_divide.function
    if rounding_mode == "trunc":
        return _truncated_quotient
    raise ValueError(f"divide: rounding_mode must be None, 'floor' or 'trunc', got {rounding_mode!r}")


def _truncated_quotient(x: Any, y: Any) -> Any:
    """`x / y` rounded towards zero. Of integers it is exact, whatever their size."""
    x, y = tensor_from(x), tensor_from(y)
    if x.dtype.kind in "biu" and y.dtype.kind in "biu":
        quotient = elementwise.floor_divide(x, y)
        return quotient + ((quotient < 0) & comparison.not_equal(quotient * y, x))
    return elementwise.trunc(elementwise.divide(x, y))


def _divide(x: Any, y: Any, /, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Any:
    """`x / y`, rounded down with `rounding_mode="floor"` and towards zero with "trunc"; then its derivative is 0."""
    try:
        if rounding_mode is None:
            return elementwise.divide.function(x, y, out=out)
        if out is not None:
            raise TypeError("divide: out= and rounding_mode= cannot be given together")
        return _rounded_quotient(rounding_mode)(x, y)
    except Exception as error:
        leave(error, _divide)
        raise


_divide_inplace = inplace_twin(elementwise.divide)


def _divide_(self: Tensor, y: Any, /, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of `divide`."""
    try:
        if rounding_mode is None:
            return _divide_inplace(self, y)
        return store("divide_", self, _rounded_quotient(rounding_mode)(self.clone(), y))
    except Exception as error:
        leave(error, _divide_)
        raise


_publish(_divide, _divide_, "divide", ("div", "true_divide"))

# Reductions over chosen elements, and from a value to start with


def _mask(name: str, where: Any, shape: tuple[int, ...]) -> Any:
    mask = tensor_from(where)
    if mask.dtype.kind != "b":
        raise TypeError(f"{name}: where= must hold truth values, got {mask.dtype}")
    return broadcast_to(mask, shape)


def _with_where(name: str, op: Any, neutral: Any, combine: Callable[..., Any] | None, doc: str) -> None:
    """Let the public function `name` take `where=` and, if there is a way to combine, `initial=`.

    `neutral` stands for what is not chosen. Without one the result starts from `initial`, which then does.
    """

    def function(
        x: Any, /, axis: Any = None, keepdims: bool = False, *, where: Any = None, initial: Any = None, **others: Any
    ) -> Any:
        try:
            reduce = op.function
            if where is None and initial is None:
                return reduce(x, axis, keepdims, **others) if others else reduce(x, axis, keepdims)
            x = tensor_from(x)
            if initial is not None and combine is None:
                raise TypeError(f"{name}: got an unexpected keyword argument 'initial'")
            if neutral is None and initial is not None:
                initial = tensor_from(initial).astype(x.dtype)
            if where is not None and where is not True:
                if neutral is None and initial is None:
                    raise ValueError(f"{name}: where= needs initial=, which is the result where nothing is chosen")
                x = choose(_mask(name, where, x.shape), x, initial if neutral is None else neutral)
            if initial is None or combine is None:
                return reduce(x, axis, keepdims, **others)
            axes = normalize_axes(merge_spellings("axis/dim", axis, others.pop("dim", None)), x.ndim)
            keepdims = bool(others.pop("keepdim", None) or keepdims)
            if neutral is None and 0 in (x.shape[k] for k in axes):
                return full(reduced_shape(x.shape, axes, keepdims), initial, dtype=x.dtype)
            reduced = reduce(x, axes, keepdims, **others)
            return combine(reduced, tensor_from(initial).astype(reduced.dtype))
        except Exception as error:
            leave(error, function)
            raise

    _publish_reduction(function, name, doc)


def _publish_reduction(function: Callable[..., Any], name: str, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    # What `**others` stands for.
    others = ["dim", "keepdim", *(["dtype"] if name in ("sum", "prod", "mean") else [])]
    *shown, _ = inspect.signature(function).parameters.values()
    shown += [inspect.Parameter(other, inspect.Parameter.KEYWORD_ONLY, default=None) for other in others]
    function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    composite(function, arrays=0, name=name)
    members[name] = function


class _OnArrays:
    """A composite as an operator has it: with a function that takes lists and numbers as well."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner

    def function(self, x: Any, *args: Any, **options: Any) -> Any:
        """The composite, with `x` as an array."""
        return self.inner(tensor_from(x), *args, **options)


_START = " `where` chooses elements, `initial` is a value to start from."
_with_where(
    "sum", reduction.sum, 0, elementwise.add,
    "The sum of the elements over `axis`." + _START,
)  # fmt: skip
_with_where(
    "prod", reduction.prod, 1, elementwise.multiply,
    "The product of the elements over `axis`. The gradient is exact whether or not some of them are 0." + _START,
)  # fmt: skip
_with_where(
    "all", reduction.all, True, None,
    "True if all elements over `axis` are nonzero. `where` chooses elements.",
)  # fmt: skip
_with_where(
    "any", reduction.any, False, None,
    "True if at least one element over `axis` is nonzero. `where` chooses elements.",
)  # fmt: skip
_EXTREME = """The {which} element over `axis`. `where` chooses elements, `initial` is a value to start from.

    Of several equal ones, the first gets the gradient if there is one axis; if there is none, or more than one, they
    share it. `{shared}` always shares, `{name}_with_indices` also says where the element is.
    """
_with_where(
    "max", _OnArrays(extremes.max), None, comparison.maximum,
    _EXTREME.format(which="largest", shared="amax", name="max"),
)  # fmt: skip
_with_where(
    "min", _OnArrays(extremes.min), None, comparison.minimum,
    _EXTREME.format(which="smallest", shared="amin", name="min"),
)  # fmt: skip


def _mean(x: Any, /, axis: Any = None, keepdims: bool = False, *, where: Any = None, **others: Any) -> Any:
    try:
        if where is None:
            reduce = reduction.mean.function
            return reduce(x, axis, keepdims, **others) if others else reduce(x, axis, keepdims)
        x = tensor_from(x)
        mask = _mask("mean", where, x.shape)
        dtype = others.pop("dtype", None) or (np.float64 if x.dtype.kind in "biu" else x.dtype.type)
        total = reduction.sum(choose(mask, x, 0), axis, keepdims, dtype=dtype, **others)
        return total / reduction.sum(mask, axis, keepdims, dtype=total.real.dtype.type, **others)
    except Exception as error:
        leave(error, _mean)
        raise


_publish_reduction(_mean, "mean", "The arithmetic mean of the elements over `axis`. `where` chooses elements.")
