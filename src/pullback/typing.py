"""Types for annotations: what functions take, and what transforms make of a function.

    from pullback.typing import ArrayLike

    def norm(x: ArrayLike) -> pb.Tensor:
        return pb.sqrt(pb.sum(pb.asarray(x) ** 2))

`ArrayLike` is what becomes a tensor: tensors, arrays, numbers, nested sequences of them, and what has `__array__`. A
`str` is none. `ArrayLike` and its neighbours say what is accepted; results are `Tensor`. docs/design/types.md says
where the types of the package come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, ParamSpec, Protocol, SupportsIndex, TypeAlias, TypeVar, Union

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pullback.tensors.tensor import Tensor

__all__ = [
    "ArrayLike",
    "Axis",
    "DTypeLike",
    "Index",
    "Nested",
    "NestedArrays",
    "PyTree",
    "Scalar",
    "ShapeLike",
    "SupportsArray",
    "Transformed",
    "VjpFunction",
]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)

Scalar: TypeAlias = Union[bool, int, float, complex, "np.number[Any]", np.bool_]
"""One number, of Python or of NumPy."""

Axis: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""One axis or several; where None is allowed, it means all of them or none, as the function says."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""A shape; one number is the shape with one axis."""

PyTree: TypeAlias = Any
"""Nested tuples, lists, dicts, named tuples, dataclasses and registered classes. Which leaves they have is not said."""


class SupportsArray(Protocol):
    """What can be asked for an array: series and frames of pandas, arrays of xarray, tensors of others."""

    def __array__(self) -> NDArray[Any]:
        """The array."""


class Nested(Protocol[T_co]):
    """A sequence such as a list or a tuple. A `str` is none, since it asks for a `str` in `__contains__`."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, index: int, /) -> T_co:
        """One of them."""

    def __iter__(self) -> Iterator[T_co]:
        """All of them."""

    def __contains__(self, value: object, /) -> bool:
        """Is it one of them?"""

    def index(self, value: Any, /) -> int:
        """Where it is."""


Flat: TypeAlias = Tensor | np.ndarray[Any, Any] | Scalar | SupportsArray

# Written out to some depth, and not by itself: of a protocol that names itself pyright believes that a `str` is one.
NestedArrays: TypeAlias = Nested[Flat | Nested[Flat | Nested[Flat | Nested[Flat | Nested[Flat]]]]]
"""Sequences of what becomes tensors, such as a list of lists."""

ArrayLike: TypeAlias = Flat | NestedArrays
"""What becomes a tensor."""

Index: TypeAlias = SupportsIndex | slice | EllipsisType | ArrayLike | tuple[Any, ...] | None
"""What stands between brackets."""


class Transformed(Protocol[P, R_co]):
    """What a transform makes of a function: its parameters, and another result. The function is its `__wrapped__`."""

    __wrapped__: Callable[..., Any]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call it."""


class VjpFunction(Protocol[R_co]):
    """What `vjp` returns beside the value: cotangents of the value to a tuple of gradients, one per argument."""

    def __call__(self, cotangents: PyTree, retain_graph: bool = True, create_graph: bool | None = None) -> R_co:
        """Multiply with the Jacobian."""
