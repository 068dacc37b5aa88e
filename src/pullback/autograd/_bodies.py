"""What all transforms do around the body of a function: arguments in, modes, results out."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.autograd._captures import Transform
from pullback.autograd._fresh_leaf import FreshLeaf
from pullback.autograd._levels import live_levels, store_tangent, tangent_of
from pullback.autograd._tangent_holders import ForwardLevel
from pullback.autograd._tokens import USER, deps_of
from pullback.autograd._variable import edge_of, requires_grad
from pullback.core.state import change, current, put_in_force
from pullback.declare.parts import same
from pullback.tensors.tensor import Tensor, alias, as_constant, extra_of, is_inference, shared_counter


class running:
    """The body of the transform runs inside this block; when it ends, the transform's token dies."""

    # Two classes and not generators: these are a fifth of the cost of a transform of a small function.
    __slots__ = ("_before", "_changes", "_inside", "_transform")

    def __init__(self, transform: Transform, **changes: Any) -> None:
        self._transform = transform
        self._changes = changes

    def __enter__(self) -> None:
        self._before = before = current()
        self._changes["transforms"] = (*before.transforms, self._transform)
        self._inside = inside = before.replace(**self._changes)
        put_in_force(inside)

    def __exit__(self, *exc: object) -> None:
        if current() is self._inside:
            put_in_force(self._before)
        else:  # the body changed other modes, for good
            change(**{name: getattr(self._before, name) for name in self._changes})
        self._transform.token.live -= 1


class running_dual:
    """The body of a forward transform runs inside this block, at a level of its own that ends with it."""

    __slots__ = ("_before", "_inside", "_name", "_transform")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> Transform:
        self._before = before = current()
        self._transform = transform = Transform(self._name, ForwardLevel())
        self._inside = inside = before.inside(transform)
        put_in_force(inside)
        return transform

    def __exit__(self, *exc: object) -> None:
        transform, before = self._transform, self._before
        if current() is self._inside:
            put_in_force(before)
        else:
            change(transforms=before.transforms, inference=before.inference)
        transform.token.live -= 1
        transform.level.close()


def as_differentiable(leaf: Any, who: str) -> Tensor:
    """An argument leaf that a transform differentiates with respect to, as a Tensor."""
    if isinstance(leaf, (float, complex)) or (isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fc"):
        leaf = as_constant(leaf)
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{who}: what is differentiated must be Tensors, arrays or floats, got {type(leaf).__name__}; pass other "
            "values in arguments that argnums does not name"
        )
    if not leaf._spec.is_differentiable:
        raise RuntimeError(f"{who}: what is differentiated must be floating point or complex, got {leaf.dtype}")
    return leaf


def fresh_leaf(argument: Tensor, transform: Transform) -> Tensor:
    """A leaf of this transform on the memory of `argument`, still connected to the history it has outside."""
    if (trace := current().trace) is not None:
        argument = trace.lifted(argument)
    edge = edge_of(argument)
    deps = {transform.token}
    if edge[0] is not None:
        deps |= deps_of(argument) or {USER}
    leaf = _bare_alias(argument)
    leaf._node = FreshLeaf.behind(argument._spec, edge)
    extra_of(leaf).deps = frozenset(deps)
    copy_tangents(argument, leaf)
    transform.accept(argument)
    return leaf


def argument_handle(value: Any, transform: Transform) -> Any:
    """An argument that is not differentiated, as the body sees it: a view made inside, which it may write to."""
    if not isinstance(value, Tensor):
        return value
    transform.accept(value)
    if is_inference(value):
        handle = _bare_alias(value)
        copy_tangents(value, handle)
        return handle
    return same(value)


def _bare_alias(tensor: Tensor) -> Tensor:
    twin = alias(tensor)
    twin._extra = None
    twin._counter = shared_counter(tensor)
    return twin


def copy_tangents(source: Tensor, target: Tensor) -> None:
    """Give `target` the tangents of `source`, which keeps them."""
    for level in live_levels((source,)):
        tangent = tangent_of(source, level)
        if tangent is not None:
            store_tangent(target, level, tangent, borrowed=True)


class Handles:
    """The tensors that the body was given in place of the caller's own."""

    def __init__(self) -> None:
        self._originals: dict[int, tuple[Tensor, Any]] = {}

    def add(self, handle: Any, original: Any) -> Any:
        """Remember what a handle stands for, and return it."""
        if isinstance(handle, Tensor):
            self._originals[id(handle)] = (handle, original)
        return handle

    def finished(self, value: Any, keeps_history: bool) -> Any:
        """A result as the caller gets it: their own object if it is one, and without history that nobody wants."""
        if not isinstance(value, Tensor):
            return value
        entry = self._originals.get(id(value))
        if entry is not None:
            return entry[1]
        if value._node is None and (value._extra is None or value._extra.view is None):
            return value
        if keeps_history and requires_grad(value):
            return value
        if value._node is None and not requires_grad(value):
            return value
        result = _bare_alias(value)
        copy_tangents(value, result)
        return result


def split_aux(who: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """The result proper of a function, and what it returned beside it."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{who}: with has_aux=True the function's output should be a tuple (output, aux), got "
            f"{type(output).__name__}{f' of {len(output)}' if isinstance(output, tuple) else ''}"
        )
    return output
