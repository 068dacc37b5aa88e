"""What all transforms do around the body of a function: arguments in, modes, results out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.outside import as_numbers, is_array, library_of, what_is_no_number
from pullback.core.pytree import how_to_register
from pullback.core.spec import describe
from pullback.core.state import Modes, VmapLevel, change, current, next_stamp, open_levels, put_in_force
from pullback.declare.views import same
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray, levels_of, widen_in_place
from pullback.payloads.batched.crossing import enter_level, leave_level
from pullback.payloads.evaluate import innermost
from pullback.tape.forward.levels import ForwardLevel, live_levels, store_tangent, tangent_of
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.node import FreshLeaf
from pullback.tape.transform.tokens import USER, Token, deps_of, living, without_room
from pullback.tensors.tensor import (
    Tensor,
    Within,
    as_constant,
    born_of,
    extra_for,
    extra_of,
    is_inference,
    shared_counter,
)

# What the body of a transform may write to: its own arrays and arguments, and captured ones only what it does not
# differentiate or batch.

class Transform:
    """A function transform whose body is running. `arguments` are the counters of memory it was given to work on."""

    __slots__ = ("arguments", "has_leaves", "has_rules", "level", "name", "number_site", "stamp", "token", "within")

    def __init__(self, name: str, level: Any = None) -> None:
        self.name = name
        self.level = level  # the forward level of a forward transform
        self.stamp = next_stamp() if level is None else level.stamp
        self.token = Token()
        self.arguments: set[Any] = set()
        self.number_site = ""  # where a number was taken out of a tensor last
        self.has_rules = False  # of the user's, which may read tensors that are no inputs of their node
        self.has_leaves = False
        self.within: Any = None  # what most tensors share that a reverse transform makes

    def accept(self, tensor: Tensor) -> None:
        """Let the body write to this argument."""
        self.arguments.add(shared_counter(tensor))

    def made(self, tensor: Tensor) -> bool:
        """Was the memory of this tensor made by the body?"""
        return born_of(tensor) >= self.stamp


def check_capture(target: Tensor, values: Iterable[Any], modes: Modes) -> None:
    """Raise if a write to a captured tensor would let the perturbation of a running transform escape."""
    sources: list[Tensor] | None = None
    for transform in modes.transforms:
        if transform.made(target) or target._counter in transform.arguments:
            continue
        if sources is None:
            sources = [value for value in values if isinstance(value, Tensor)]
        level = transform.level
        if (level is not None and level in live_levels(sources)) or any(
            transform.token in (deps_of(source) or ()) for source in sources if requires_grad(source)
        ):
            raise AutogradError(
                "CAPTURE_MUTATED",
                f"the function given to {transform.name} tried to mutate a captured Tensor "
                f"{describe(target.shape, target.dtype)} with a value that depends on its arguments",
                why="the value is only meaningful inside the transform, and the tensor lives on outside",
                fix="return the value, pass the tensor as an argument, or write value.detach()",
            )


def make_room(target: Tensor, values: Iterable[Any], modes: Modes) -> None:
    """Give the target the batch dimensions of the values that are about to be written into it, if it may have them."""
    own = levels_of(target._data)
    missing = tuple(
        sorted({level for value in values for level in levels_of(value) if level not in own}, key=lambda v: v.stamp)
    )
    if not missing:
        return
    if born_of(target) < missing[-1].stamp:
        raise AutogradError(
            "VMAP_INPLACE",
            f"inplace arithmetic on a Tensor {describe(target.shape, target.dtype)} from outside of vmap with a value "
            "that is being vmapped over",
            why="every example would write its own value into the one tensor",
            fix="return the value from the function, or write into a tensor that is made inside or mapped over",
        )
    if type(target._data) is np.ndarray or type(target._data) in innermost:
        extra_of(target)  # fast paths are for arrays only
        target._data = BatchedArray(target._data, ())
    widen_in_place(target._data, missing)


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


class differentiating:
    """The body of a transform that differentiates runs inside this block: backwards, or forwards at a level of its own,
    which ends with it."""

    __slots__ = ("_before", "_inside", "_is_forward", "_name", "_transform")

    def __init__(self, name: str, is_forward: bool) -> None:
        self._name = name
        self._is_forward = is_forward

    def __enter__(self) -> Transform:
        self._before = before = current()
        if self._is_forward:
            transform = Transform(self._name, ForwardLevel())
        else:
            transform = Transform(self._name)
            transform.within = Within(transform.stamp, frozenset((transform.token,)))
        self._transform = transform
        self._inside = inside = before.inside(transform)
        put_in_force(inside)
        return transform

    def __exit__(self, *exc: object) -> None:
        transform, before = self._transform, self._before
        if current() is self._inside:
            put_in_force(before)
        else:  # the body changed other modes, for good
            change(transforms=before.transforms, inference=before.inference)
            if not self._is_forward:
                change(grad=before.grad)
        transform.token.live -= 1
        if self._is_forward:
            transform.level.close()


def as_differentiable(leaf: Any, who: str, argument: int | None = None) -> Tensor:
    """An argument leaf that a transform differentiates with respect to, as a Tensor; `argument` is its position."""
    if isinstance(leaf, Tensor):
        if not leaf._spec.is_differentiable:
            raise _whole_numbers(RuntimeError, leaf, who, argument)
        return leaf
    if isinstance(leaf, (float, complex)):
        return as_constant(leaf)
    if is_array(leaf):
        array = as_numbers(leaf)
        if array.dtype.kind in "fc":
            return as_constant(array)
        if array.dtype.kind in "biu":
            raise _whole_numbers(ValueError, array, who, argument)
    raise _no_numbers(leaf, who, argument)


def _whole_numbers(kind: type[Exception], array: Any, who: str, argument: int | None) -> Exception:
    shown = describe(array.shape, array.dtype)
    which = "what is differentiated" if argument is None else f"argument {argument}"
    error: Exception = told(
        kind(f"{who}: {which} is {shown}, and must be floating point or complex"),
        why="integers have no derivative",
        fix="convert it: x.astype(float)",
    )
    return error


def _no_numbers(leaf: Any, who: str, argument: int | None) -> Exception:
    """The error for an argument that has no derivative at all."""
    kind, library = type(leaf).__name__, library_of(leaf)
    why = "what is differentiated must be Tensors, arrays or floats"
    fix = how_to_register(type(leaf)) or "pass it in an argument that argnums does not name: move it, or change argnums"
    if library == "torch":
        kind, fix = "torch.Tensor", "pb.from_dlpack(t); gradients do not flow back into torch"
    elif library in ("jax", "jaxlib"):
        if "Tracer" in kind:
            why = "inside jax.jit and jax.grad there is no value yet"
            fix = "call Pullback through jax.pure_callback"
        else:
            kind, fix = "jax.Array", "pb.from_dlpack(a); gradients do not flow back into JAX"
    elif isinstance(leaf, int):
        kind, why, fix = f"int, {leaf!r}", f"{why}, and integers have no derivative", f"write it as a float: {leaf}.0"
    elif is_array(leaf):
        why = what_is_no_number(leaf) or why
        fix = "take the columns of numbers first, or convert them"
    which = "an argument" if argument is None else f"argument {argument}"
    a = "an" if kind[:1] in "aeiouAEIO" else "a"
    error: Exception = told(ValueError(f"{who}: {which} is {a} {kind}"), why=why, fix=fix)
    return error


def fresh_leaf(argument: Tensor, transform: Transform) -> Tensor:
    """A leaf of this transform on the memory of `argument`, still connected to the history it has outside."""
    if (trace := current().trace) is not None:
        argument = trace.lifted(argument)
    edge = edge_of(argument)
    within, deps = transform.within, frozenset((transform.token,))
    if edge[0] is not None:
        deps |= deps_of(argument) or {USER}
    if within is not None and not transform.has_leaves:
        within.deps = deps  # of this argument, and of the others if they have the same history
    transform.has_leaves = True
    leaf = _bare_alias(argument)
    transform.arguments.add(leaf._counter)
    if trace is not None:
        leaf._data = trace.as_leaf(leaf._data)
    leaf._node = FreshLeaf.behind(argument._spec, edge, deps)
    if within is not None and deps == within.deps and type(leaf._data) is np.ndarray:
        leaf._extra = within
    else:
        extra_of(leaf).deps = deps
    if open_levels:
        copy_tangents(argument, leaf)
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
    twin = Tensor()
    twin._counter = shared_counter(tensor)
    twin._data, twin._spec = tensor._data, tensor._spec
    twin._node = twin._meta = None
    twin._extra = extra_for(tensor._data)
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
            extra: Any = value._extra
            if type(extra) is Within and living(extra.deps) is None and not current().transforms:
                value._extra = None  # nothing is left of the transform
            return value
        if value._node is None and not requires_grad(value):
            return value
        extra = value._extra
        if type(extra) is Within and value._meta is None and not current().transforms:
            value._node = value._extra = None  # it is a constant by now, whoever else has it
            return value
        result = _bare_alias(value)
        copy_tangents(value, result)
        return result


def split_aux(who: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """The result proper of a function, and what it returned beside it."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        given = f"{type(output).__name__}{f' of {len(output)}' if isinstance(output, tuple) else ''}"
        raise told(
            RuntimeError(
                f"{who}: output of function f should be a tuple: (output, aux) if has_aux is True, got {given}"
            ),
            fix="return (value, extra) from the function, or leave out has_aux=True",
        )
    return output


# A function of one example on a whole batch, for the parts of autograd that need no more than that.

def map_over(function: Callable[..., Sequence[Tensor | None]], tensors: Sequence[Tensor]) -> list[Any]:
    """`function` of the rows of `tensors`, all at once; its results with the batch in front, None where it is None."""
    level = VmapLevel(tensors[0].shape[0])
    with running(Transform("vmap"), vmaps=(*current().vmaps, level)):
        results = function(*[enter_level(tensor, axis=0, level=level) for tensor in tensors])
        return [None if result is None else left(result, level) for result in results]


def left(result: Tensor, level: VmapLevel, axis: int = 0) -> Tensor:
    """A result with the batch as an ordinary axis; a plain array if this was the outermost map."""
    whole = leave_level(result, axis=axis, level=level)
    return whole if len(current().vmaps) > 1 else without_room(whole)
