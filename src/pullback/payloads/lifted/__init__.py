"""`LiftedArray`: a payload made of several payloads of one shape that move together, the values first.

A `JetArray` has the coefficients of a series behind its values, a `PatternArray` the sets of inputs that its elements
may depend on. Views of a lifted array are lifted views, part by part, so that a write to either is seen by both. A
`Lift` is the transform that a lifted array belongs to. Transforms nest: the newest lift is the outermost, its parts
may be lifted by an older one, and everything that lacks the lift is a constant for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pullback.core.frames import warn
from pullback.core.spec import describe
from pullback.core.state import next_stamp
from pullback.errors import AutogradError, DetachedScalarWarning
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.batched.array import BatchedArray, Flags
from pullback.payloads.batched.indexing import assign, assign_widening


class Lift:
    """A running transform that computes more than values. `kind` is the class of its arrays."""

    def __init__(self, kind: type[LiftedArray], name: str) -> None:
        self.kind = kind
        self.name = name
        self.stamp = next_stamp()

    def constant(self, payload: Any) -> LiftedArray:
        """This payload as a lifted array on the same memory, which does not vary."""
        raise NotImplementedError

    def opaque(self, name: str, given: list[LiftedArray], results: list[Any]) -> list[Any]:
        """The results of code that was run on values, lifted as far as that is possible without looking into it."""
        raise NotImplementedError


class LiftedArray(ArrayMembers):
    """Payloads of one shape that move together."""

    __slots__ = ("__weakref__", "lift", "parts")

    evaluate_op: ClassVar[Callable[..., Any]]

    def __init__(self, lift: Any, parts: Any) -> None:
        self.lift = lift
        self.parts = list(parts)

    # What its values look like.

    @property
    def values(self) -> Any:
        """The payload that holds the values."""
        return self.parts[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.parts[0].shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.parts[0].ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.parts[0].dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one value."""
        return self.parts[0].itemsize

    @property
    def size(self) -> int:
        """The number of values."""
        return self.parts[0].size

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return self.parts[0].nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one value to the next, along each axis."""
        return self.parts[0].strides

    @property
    def flags(self) -> Flags:
        """How the values lie in memory."""
        own = self.parts[0].flags
        return Flags(own.c_contiguous, own.f_contiguous, own.writeable, own.owndata)

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        if not isinstance(source, LiftedArray):
            return False
        mine, theirs = innermost(self), innermost(source)
        return mine is theirs or np.may_share_memory(mine, theirs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}{list(self.shape)})"

    # Numbers that the running code decides by. What depends on the arguments is not lost unnoticed in an array.

    def plain_values(self, into: str) -> np.ndarray[Any, Any]:
        """The array of the values, which are about to become `into`. A number may be taken out of it on purpose."""
        if into in ("a float", "a complex number") and self.varies():
            warn(
                f"{into} is taken of a value that depends on the arguments of {self.lift.name}; it is a constant",
                DetachedScalarWarning,
            )
        if into == "a NumPy array" and self.varies():
            raise AutogradError(
                "LIFTED_VALUES",
                f"{self.lift.name}: a NumPy array is wanted of a tensor {describe(self.shape, self.dtype)} that "
                "depends on the arguments",
                why="code outside of Pullback cannot be followed, and the dependence would be lost",
                fix="use Pullback's own functions on it, or detach() it if it is meant to count as a constant",
            )
        values = self.detached
        return values.plain_values(into) if type(values) is BatchedArray else values

    def varies(self) -> bool:
        """Can a value differ when the arguments do?"""
        raise NotImplementedError

    @property
    def detached(self) -> Any:
        """The memory of the values alone, which count as constants."""
        payload: Any = self
        while isinstance(payload, LiftedArray):
            payload = payload.parts[0]
        return payload

    # Writing.

    def assign_payload(self, value: Any) -> None:
        """Write a value that broadcasts to the shape, with all its parts."""
        check_not_newer(self, value)
        if isinstance(value, LiftedArray) and value.lift is self.lift:
            sources = value.parts
        else:
            sources = [value] + [0] * (len(self.parts) - 1)
        for part, source in zip(self.parts, sources, strict=True):
            store_part(part, source)


def store_part(part: Any, source: Any) -> None:
    """Write one part, and make room for the examples of a batch first if need be."""
    if type(part) is BatchedArray:
        assign_widening(part, source)
    else:
        assign(part, source)


def check_not_newer(target: Any, value: Any) -> None:
    """Raise if a value of a running transform is about to be written into memory that it was not given or made."""
    if isinstance(value, LiftedArray) and (
        not isinstance(target, LiftedArray) or target.lift.stamp < value.lift.stamp
    ):
        raise AutogradError(
            "CAPTURE_MUTATED",
            f"the function given to {value.lift.name} tried to mutate a captured Tensor "
            f"{describe(target.shape, target.dtype)} with a value that depends on its arguments",
            why="the value is only meaningful inside the transform, and the tensor lives on outside",
            fix="return the value, pass the tensor as an argument, or write value.detach()",
        )


def innermost(payload: Any) -> Any:
    """The array in which the values of a payload lie."""
    while isinstance(payload, LiftedArray):
        payload = payload.parts[0]
    return payload.data if type(payload) is BatchedArray else payload


def newest_lift(operands: Any) -> Any:
    """The newest lift of these operands."""
    return max((x.lift for x in operands if isinstance(x, LiftedArray)), key=lambda lift: lift.stamp)


def zeros_beside(payload: Any, dtype: Any = None) -> Any:
    """Zeros of the same shape in new memory, which is widened where the payload's may be."""
    if isinstance(payload, LiftedArray):
        zeros = zeros_beside(payload.parts[0], dtype)
        return payload.lift.constant(zeros) if is_continuous(zeros) else zeros
    if type(payload) is BatchedArray:
        return BatchedArray(np.zeros(payload.shape, payload.dtype if dtype is None else dtype))
    return np.zeros_like(payload, dtype)


def laid_out_beside(part: Any, values: Any) -> Any:
    """A part of a new array in memory of the same order as its values, so that they have the same views."""
    if type(part) is not np.ndarray or type(values) is not np.ndarray:
        return part
    if part.flags.writeable and (
        (part.flags.c_contiguous and values.flags.c_contiguous) or _steps(part) == _steps(values)
    ):
        return part
    room = np.empty_like(values, part.dtype)
    room[...] = part
    return room


def _steps(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


def is_continuous(payload: Any) -> bool:
    """Does it hold real or complex numbers?"""
    return hasattr(payload, "dtype") and payload.dtype.kind in "fc"
