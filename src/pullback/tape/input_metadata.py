"""What a node remembers of each value whose gradient it will receive, and what it does with that gradient.

`conform` is the one place where gradients are reduced over broadcast axes and cast, so no derivative rule does
either. Gradients may be payloads or Tensors; only methods that both have are used.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pullback.core.spec import Spec, describe, is_complex_dtype, is_differentiable_dtype, spec_for
from pullback.core.state import current, open_levels
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.payloads.kinds import PLAIN_DEVICE, device_of, filled, has_kind, is_elsewhere, is_users_own
from pullback.tensors.tensor import Tensor, wrap

# `SparseGrad`: a gradient that is zero except in some rows, as reads of a few rows of a large table produce it.

class SparseGrad:
    """Rows `values[k]` at positions `indices[k]` of axis 0 of an array of `shape`; equal positions add up."""

    __slots__ = ("__weakref__", "_version", "indices", "shape", "values")

    layout = "sparse_coo"
    device = "cpu"
    requires_grad = False

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...]) -> None:
        self.indices = np.asarray(indices).reshape(-1)
        self.values = values
        self.shape = tuple(shape)
        self._version = 0
        expected = (self.indices.shape[0], *self.shape[1:])
        if tuple(values.shape) != expected:
            raise ValueError(
                f"SparseGrad: {self.indices.shape[0]} positions of shape {self.shape} need values of shape "
                f"{expected}, got {tuple(values.shape)}"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return np.dtype(self.values.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes of the dense array."""
        return len(self.shape)

    @property
    def spec(self) -> Spec:
        """Shape and dtype of the dense array."""
        return spec_for(self.shape, self.dtype)

    def to_dense(self) -> np.ndarray[Any, Any]:
        """The gradient as an ndarray."""
        dense = np.zeros(self.shape, self.dtype)
        np.add.at(dense, self.indices, np.asarray(self._plain_values()))
        return dense

    def coalesce(self) -> SparseGrad:
        """The same gradient with every position at most once, in ascending order."""
        positions, inverse = np.unique(self.indices, return_inverse=True)
        values = np.zeros((len(positions), *self.shape[1:]), self.dtype)
        np.add.at(values, inverse, np.asarray(self._plain_values()))
        return SparseGrad(positions, values, self.shape)

    def _plain_values(self) -> Any:
        return self.values if isinstance(self.values, np.ndarray) else self.values._data

    def astype(self, dtype: Any) -> SparseGrad:
        """The gradient with values of another dtype."""
        return SparseGrad(self.indices, self.values.astype(dtype), self.shape)

    def accumulate_(self, other: SparseGrad) -> None:
        """Add `other` to this object; positions are not merged."""
        self.indices = np.concatenate([self.indices, other.indices])
        self.values = np.concatenate([self._plain_values(), other._plain_values()])
        self._version += 1

    def clone(self) -> SparseGrad:
        """An independent copy."""
        return SparseGrad(self.indices.copy(), np.array(self._plain_values()), self.shape)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SparseGrad):
            return SparseGrad(
                np.concatenate([self.indices, other.indices]),
                np.concatenate([self._plain_values(), other._plain_values()]),
                self.shape,
            )
        return other + self.to_dense()

    __radd__ = __add__
    # NumPy must ask us first, or `ndarray + SparseGrad` becomes an array of objects.
    __array_ufunc__ = None

    def __repr__(self) -> str:
        return f"SparseGrad({len(self.indices)} rows of {self.spec})"


class InputMetadata:
    """The record of one forward output, which is an input of the backward node."""

    # No dataclass: making one takes a millisecond of every `import pullback`.
    __slots__ = ("dtype", "grad_dtype", "shape", "was_default_constructed")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    grad_dtype: Any  # the dtype that gradients are cast to; None accepts any
    was_default_constructed: bool  # stands for an output that takes no gradient
    # The same for every plain array; `RichInputMetadata` has slots for them.
    device: Any = PLAIN_DEVICE
    stream: Any = None
    layout: str = "dense"
    is_nested: bool = False
    is_tensor_subclass: bool = False  # is the payload of a class of the user's?
    kind: Any = None  # the class of the payload, or what it calls its kind

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], grad_dtype: Any, was_default_constructed: bool = False
    ) -> None:
        store = object.__setattr__
        store(self, "shape", shape)
        store(self, "dtype", dtype)
        store(self, "grad_dtype", grad_dtype)
        store(self, "was_default_constructed", was_default_constructed)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: the metadata of a node is read-only")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputMetadata) and all(
            getattr(self, name) == getattr(other, name) for name in (*InputMetadata.__slots__, *_RICH)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"InputMetadata({describe(self.shape, self.dtype)}, grad_dtype={self.grad_dtype})"

    @classmethod
    def from_spec(cls, spec: Spec | None, like: Any = None) -> InputMetadata:
        """The record of a value with this spec; None stands for an output that takes no gradient. `like` is a payload
        of the value's kind, if it has one."""
        if spec is None:
            return cls((), np.dtype(np.float64), None, was_default_constructed=True)
        watcher = getattr(current().trace, "watcher", None)
        shape = spec.shape if watcher is None else watcher.shown(spec.shape)  # in a trace in which lengths vary
        made = (cls if like is None else RichInputMetadata)(shape, spec.dtype, spec.dtype)
        if like is not None:
            made._describe(like)  # type: ignore[attr-defined]
        return made

    def zeros_like(self) -> Tensor:
        """Zeros of the value's own shape, dtype and kind."""
        return wrap(np.zeros(self.shape, self.dtype))

    def is_same_shape(self, gradient: Any) -> bool:
        """True if the gradient has exactly the value's shape."""
        return tuple(gradient.shape) == self.shape

    def is_expandable_to_shape(self, gradient: Any) -> bool:
        """True if the value broadcasts to the gradient's shape, so that the gradient can be summed down to it."""
        return is_expandable(self.shape, tuple(gradient.shape))

    def reduce_grad(self, gradient: Any) -> Any:
        """The gradient summed over the axes along which the value was broadcast."""
        return reduce_gradient(gradient, self.shape)

    def maybe_reduce(self, index: int, gradient: Any) -> Any:
        """The gradient as it is, or summed, or `!GRAD_SHAPE`."""
        if self.is_same_shape(gradient):
            return gradient
        if self.is_expandable_to_shape(gradient):
            return self.reduce_grad(gradient)
        raise self.shape_error(index, gradient)

    def shape_error(self, index: int, gradient: Any) -> AutogradError:
        """The error for a gradient whose shape cannot be summed to the value's."""
        return _shape_error(index, tuple(gradient.shape), self.shape, "")

    def validate(self, gradient: Any, index: int = 0) -> Any:
        """The gradient in the shape and dtype this record asks for, or an error. None stays None."""
        if gradient is None:
            return None
        return of_kind(validate(gradient, self.shape, self.dtype, self.grad_dtype, index, ""), None, None, index, "")

    def set_grad_dtype(self, dtype: Any) -> None:
        """Ask for gradients of another dtype; only a leaf's accumulator does this."""
        object.__setattr__(self, "grad_dtype", dtype)


_RICH = ("device", "stream", "layout", "is_nested", "is_tensor_subclass", "kind")


class RichInputMetadata(InputMetadata):
    """The record of a value whose payload has a kind (`payloads/kinds.py`)."""

    __slots__ = ("_like", *_RICH)

    _like: Any  # such a payload, without memory

    def _describe(self, like: Any) -> None:
        store = object.__setattr__
        store(self, "_like", like)
        store(self, "device", device_of(like))
        store(self, "stream", getattr(like, "stream", None))
        store(self, "layout", getattr(like, "layout", "dense"))
        store(self, "is_nested", getattr(like, "is_nested", False))
        store(self, "is_tensor_subclass", is_users_own(like))
        store(self, "kind", getattr(like, "kind", type(like)))

    def zeros_like(self) -> Tensor:
        return wrap(filled(self._like, 0))

    def validate(self, gradient: Any, index: int = 0) -> Any:
        if gradient is None:
            return None
        gradient = validate(gradient, self.shape, self.dtype, self.grad_dtype, index, "")
        return of_kind(gradient, self._like, None, index, "")


def is_plain(gradient: Any) -> bool:
    """Is a gradient a plain array, or a tensor on one?"""
    return type(gradient._data if type(gradient) is Tensor else gradient) is np.ndarray


def of_kind(gradient: Any, like: Any, root: Any, index: int, node: str) -> Any:
    """A gradient as a value on a payload like this takes it; None stands for a plain array. See `payloads/kinds.py`."""
    payload = gradient._data if isinstance(gradient, Tensor) else gradient
    if isinstance(payload, SparseGrad):
        return gradient
    take = getattr(like, "take_gradient", None)
    if take is None and like is None:
        take = getattr(payload, "to_plain", None)
        taken = payload if take is None else take()
    else:
        taken = payload if take is None else take(payload, root)
    if take is None and (like is not None or has_kind(payload)) and is_elsewhere(payload, like):
        raise AutogradError(
            "GRAD_DEVICE",
            f"gradient {index} is on device {device_of(payload)}, but the value is on {device_of(like)}",
            where=node,
            why="a gradient lies where its value lies; nothing is copied between devices unasked",
            fix=f'return a gradient on {device_of(like)}, for example by .to("{device_of(like)}")',
        )
    if taken is payload or not isinstance(gradient, Tensor):
        return taken if not isinstance(gradient, Tensor) else gradient
    extra: Any = gradient._extra
    may_have_tangents = open_levels and extra is not None and (extra.forward or extra.view is not None)
    if not gradient.requires_grad and not may_have_tangents:
        return wrap(taken)
    if like is None or "_taken" not in registry:
        raise AutogradError(
            "GRAD_WRAPPER",
            f"gradient {index} is a {type(payload).__name__} with a history, and would have to become a "
            f"{type(taken).__name__}",
            where=node,
            why="the conversion is not recorded, so a second derivative would miss it",
            fix="return a gradient of the kind of its value",
        )
    return registry["_taken"](gradient, like=like, root=root)


def is_expandable(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True if an array of `shape` broadcasts to `target`."""
    if len(shape) > len(target):
        return False
    tail = target[len(target) - len(shape) :]
    return tail == shape or all(own in (1, length) for own, length in zip(shape, tail, strict=True))


def reduce_gradient(gradient: Any, shape: tuple[int, ...]) -> Any:
    """`gradient` summed over the axes along which a value of `shape` was broadcast."""
    lengths = gradient.shape
    extra = len(lengths) - len(shape)
    if extra:
        axes = tuple(range(extra))
        gradient = np.add.reduce(gradient, axes) if type(gradient) is np.ndarray else gradient.sum(axis=axes)
        if isinstance(gradient, np.generic):
            gradient = np.asarray(gradient)  # a NumPy scalar is no place that a formula could write to
        lengths = lengths[extra:]
    axes = tuple([axis for axis, length in enumerate(shape) if length == 1 and lengths[axis] != 1])
    if axes:
        gradient = gradient.sum(axis=axes, keepdims=True)
    if type(gradient) is not np.ndarray and tuple(gradient.shape) != shape:  # a payload may have a wrong `sum`
        raise _shape_error(0, tuple(gradient.shape), shape, "")
    return gradient


def conform(gradient: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A declared operator's gradient in the shape and dtype of the operand; `dtype` None keeps the gradient's own.

    The rules of declared operators are right by construction up to broadcasting, promotion, and the imaginary part
    that a real operand of a complex operation cannot have.
    """
    if type(gradient) is np.ndarray and gradient.dtype is dtype and is_expandable(shape, gradient.shape):
        return gradient if gradient.shape == shape else reduce_gradient(gradient, shape)
    if isinstance(gradient, SparseGrad):
        return gradient if dtype is None or gradient.dtype == dtype else gradient.astype(dtype)
    if dtype is not None and is_complex_dtype(gradient.dtype) and not is_complex_dtype(dtype):
        gradient = gradient.real
    if gradient.shape != shape:
        if not is_expandable(shape, gradient.shape):
            raise _shape_error(0, tuple(gradient.shape), shape, "")
        gradient = reduce_gradient(gradient, shape)
    if dtype is not None and gradient.dtype != dtype:
        gradient = gradient.astype(dtype)
    return gradient


@functools.lru_cache(1024)
def _stretched(lengths: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of length 1 that were broadcast, if nothing else was done to an array of `shape`."""
    pairs = list(zip(lengths, shape, strict=True))
    if any(own not in (1, length) for length, own in pairs):
        return ()
    return tuple([axis for axis, (length, own) in enumerate(pairs) if own != length])


def fitted(gradient: Any, successor: Any) -> Any:
    """A declared operator's gradient as the node behind the operand, whose output 0 it is, takes it."""
    if gradient is None:
        return None
    shape, dtype = successor.spec.shape, successor.grad_dtype_of(0)
    if type(gradient) is np.ndarray and gradient.dtype is dtype:
        extra = gradient.ndim - len(shape)
        if extra == 1 and shape and gradient.shape[1:] == shape:
            return np.add.reduce(gradient, 0)  # a bias; bench/eager.py::broadcast_small
        if extra == 0 and shape:
            axes = _stretched(gradient.shape, shape)
            if axes:
                return np.add.reduce(gradient, axes, None, None, True)  # type: ignore[call-overload]
    elif isinstance(gradient, np.generic):
        gradient = np.asarray(gradient)
    return conform(gradient, shape, dtype)


def validate(gradient: Any, shape: tuple[int, ...], dtype: Any, grad_dtype: Any, index: int, node: Any) -> Any:
    """A user's gradient in the shape and dtype asked for, after the checks of the specification, in its order."""
    got = tuple(gradient.shape)
    if got != shape:
        if isinstance(gradient, SparseGrad) or not is_expandable(shape, got):
            raise _shape_error(index, got, shape, node)
        gradient = reduce_gradient(gradient, shape)
    given, is_complex = gradient.dtype, is_complex_dtype(gradient.dtype)
    is_real_float = is_differentiable_dtype(given) and not is_complex
    if not (is_real_float or is_complex == is_complex_dtype(dtype)):
        raise AutogradError(
            "GRAD_COMPLEX",
            f"gradient {index} has dtype {given}, but the value is {describe(shape, dtype)}",
            where=_formula_of(node),
            why="a complex gradient belongs to a complex value; dropping its imaginary part would hide a mistake",
            fix="return the real part if that is what the mathematics says, or a floating point gradient",
        )
    if grad_dtype is not None and given != grad_dtype:
        gradient = gradient.astype(grad_dtype)
    if not is_differentiable_dtype(gradient.dtype):
        raise AutogradError(
            "GRAD_DTYPE",
            f"gradient {index} has dtype {gradient.dtype}, which cannot carry a gradient",
            where=_formula_of(node),
            why="gradients are real or complex floating point numbers",
            fix=f"return a gradient of dtype {dtype}",
        )
    return gradient


def _shape_error(index: int, got: tuple[int, ...], expected: tuple[int, ...], node: Any) -> AutogradError:
    return AutogradError(
        "GRAD_SHAPE",
        f"gradient {index} has shape {list(got)}, but the value has shape {list(expected)}",
        where=_formula_of(node),
        why="a gradient has its value's shape, or a shape that the value broadcasts to; it is summed, never expanded",
        fix=f"return a gradient of shape {list(expected)}",
    )


def _formula_of(node: Any) -> str:
    """Whose formula it is; of a custom Function, with the line at which it is written."""
    if isinstance(node, str):
        return node and f"the formula of {node}"
    written = getattr(getattr(node, "_function", None), "backward", None)
    code = getattr(written, "__code__", None)
    place = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
    return f"the formula of {node.name()}{place}"
