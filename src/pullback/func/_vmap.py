"""`vmap`: a function of one example, run on all of them at once.

The mapped axis of every argument becomes a batch dimension of the payload, which only the evaluation of operators
sees; differentiation above works with one example. Results get the axis back on the way out.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from pullback._sites import told
from pullback.core.doors import door, leave
from pullback.core.outside import as_numbers, is_array
from pullback.core.progress import Bar, Progress, shown
from pullback.core.pytree import flatten, prefix_leaves, unflatten
from pullback.core.spec import describe
from pullback.core.state import VmapLevel, changed, current, put_back
from pullback.func._made import made_by
from pullback.operators.arrays.joining import concat
from pullback.operators.elementwise.casting import copy
from pullback.operators.random.draws import Repeats
from pullback.payloads.batched import levels_of
from pullback.payloads.batched.crossing import enter_level
from pullback.payloads.batched.randomness import check_mode
from pullback.payloads.refusals import check_refusals
from pullback.tape.node import Node
from pullback.tape.saved import SavedVariable
from pullback.tape.transform.body import Transform, left, running
from pullback.tape.transform.tokens import without_room
from pullback.tensors.tensor import Tensor, as_constant, version_of

InDims = Any
OutDims = Any
NOT_GIVEN: Any = ...  # None is a value of its own


class _Default(int):
    """The 0 that nobody wrote: a signature shows it as one, and only it may have another name beside it."""


_FIRST = _Default(0)


@door
def vmap(
    function: Callable[..., Any],
    in_dims: InDims = _FIRST,
    out_dims: OutDims = _FIRST,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
    axis_size: int | None = None,
    progress: Progress = None,
    in_axes: InDims = NOT_GIVEN,
    out_axes: OutDims = NOT_GIVEN,
    **unknown: Any,
) -> Callable[..., Any]:
    """The function mapped over an axis of its arguments.

    `in_dims` says which axis, for all arguments or as a tuple for each: an int, or None for an argument that all
    examples share. `out_dims` says where results have the new axis. `randomness` is "error", "same" (all examples draw
    the same numbers) or "different". `chunk_size` maps that many examples at a time, and "same" then holds for the
    examples of all chunks; what the function writes to an argument that they share is written once. Keyword arguments
    are shared. `in_axes` and `out_axes` are JAX's names for `in_dims` and `out_dims`. `progress` says how many of the
    chunks are done: True shows a bar, a function is called with `(done, total, label)`, and None does what
    `pb.set_progress` says.

    >>> pb.func.vmap(pb.dot)(pb.ones((3, 2)), pb.ones((3, 2)))
    tensor([2., 2., 2.])
    """
    for name in unknown:
        fix = "write out_dims=, or out_axes=" if "out" in name else "write in_dims=, or in_axes="
        raise told(TypeError(f"vmap() got an unexpected keyword argument {name!r}"), fix=fix)
    in_dims = _one_of("in_dims", in_dims, "in_axes", in_axes)
    out_dims = _one_of("out_dims", out_dims, "out_axes", out_axes)
    check_mode(randomness)
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size!r})")

    @made_by(
        vmap, function, in_dims, out_dims, randomness, chunk_size=chunk_size, axis_size=axis_size, progress=progress
    )
    def mapped(*args: Any, **kwargs: Any) -> Any:
        before = current()
        try:
            return run_mapped(args, kwargs)
        except BaseException as error:
            put_back(error, before)
            leave(error)
            raise

    def run_mapped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        names_of = functools.partial(_names_of_leaves, function, args)
        leaves, structure, dims = _inputs(in_dims, args, axis_size, names_of)
        size = _size(leaves, dims, axis_size, names_of)

        def run(leaves: list[Any], size: int, named: dict[str, Any] = kwargs) -> Any:
            over = _spread_over(leaves, dims)
            with _examples(size if over is None else over.here, randomness, over) as level:
                given = [
                    leaf if dim is None else enter_level(leaf, axis=dim, level=level)
                    for leaf, dim in zip(leaves, dims, strict=True)
                ]
                output = function(*unflatten(structure, given), **named)
                check_refusals(level)
                outputs, out_structure = flatten(output)
                places = _out_places(out_dims, output, outputs)
                results = [_leave(value, place, level) for value, place in zip(outputs, places, strict=True)]
            return unflatten(out_structure, results)

        if chunk_size is None or size <= chunk_size:
            return run(leaves, size)
        repeats = Repeats() if randomness == "same" else None
        named, names = flatten(kwargs)
        count = len(leaves)

        def run_chunk(leaves: list[Any], size: int) -> Any:
            return run(leaves[:count], size, unflatten(names, leaves[count:]))

        dims_and_none = [*dims, *[None] * len(named)]
        with shown(progress, size, "vmap") as bar:
            return _in_chunks(run_chunk, [*leaves, *named], dims_and_none, size, chunk_size, out_dims, repeats, bar)

    return mapped


def _one_of(name: str, dims: Any, other: str, axes: Any) -> Any:
    """What was given under either of two names."""
    if axes is NOT_GIVEN:
        return 0 if dims is _FIRST else dims
    if dims is not _FIRST:
        raise told(
            TypeError(f"vmap: {other} is another name for {name}, and both were given: {dims!r} and {axes!r}"),
            fix=f"leave one of them out; {name} is torch's name and {other} JAX's",
        )
    return axes


def _inputs(
    in_dims: InDims, args: tuple[Any, ...], axis_size: int | None, names: Callable[[], list[str]]
) -> tuple[list[Any], Any, list[int | None]]:
    if not args and axis_size is None:
        raise ValueError("vmap: got no inputs; the function must have at least one positional argument, or axis_size=")
    if not isinstance(in_dims, (int, tuple)) and not (in_dims is None and axis_size is not None):
        raise ValueError(
            f"vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got "
            f"{type(in_dims).__name__}"
        )
    leaves, structure = flatten(args)
    try:
        if type(in_dims) is int:
            dims = [in_dims] * len(leaves)
        elif type(in_dims) is tuple and len(in_dims) == len(args) and all(type(x) is Tensor for x in args):
            dims = list(in_dims)
        else:
            dims = prefix_leaves(in_dims, args)
    except (ValueError, TypeError) as error:
        raise _wrong_structure(in_dims, args, structure) from error
    checked: list[int | None] = []
    for index, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is not None and not isinstance(leaf, Tensor) and is_array(leaf):
            leaves[index] = leaf = as_constant(as_numbers(leaf))
        checked.append(_checked_dim(leaf, dim, index, len(leaves), names))
    if axis_size is None and all(dim is None for dim in checked):
        raise ValueError("vmap: at least one Tensor must be mapped, but all in_dims are None")
    return leaves, structure, checked


def _wrong_structure(in_dims: Any, args: tuple[Any, ...], structure: Any) -> Exception:
    """The error for in_dims that do not fit the arguments: what was expected, and where the first difference is."""
    why = f"there are {len(args)} arguments, and in_dims has {len(in_dims)} entries" if type(in_dims) is tuple else ""
    if type(in_dims) is tuple and len(in_dims) == len(args):
        for position, (dim, arg) in enumerate(zip(in_dims, args, strict=True)):
            if not _fits(dim, arg):
                why = f"the first difference is at argument {position}: {dim!r} for {flatten(arg)[1]}"
                break
    given = f"in_dims={in_dims!r} for {structure}"
    error: Exception = told(
        ValueError(f"vmap: in_dims is not compatible with the structure of `inputs`: {given}"),
        why=why,
        fix="give one int for all arguments, or a tuple with an int, None or a structure like the argument for each",
    )
    return error


def _fits(dim: Any, arg: Any) -> bool:
    try:
        prefix_leaves(dim, arg)
    except (ValueError, TypeError):
        return False
    return True


def _names_of_leaves(function: Any, args: tuple[Any, ...]) -> list[str]:
    """What a function calls the arguments that the leaves are in, for errors."""
    try:
        found = [f"`{p.name}`" for p in inspect.signature(function).parameters.values() if p.kind in (0, 1)]
    except (TypeError, ValueError):
        found = []
    found += [str(position) for position in range(len(found), len(args))]
    return [name for name, arg in zip(found, args, strict=False) for _ in flatten(arg)[0]]


def _checked_dim(leaf: Any, dim: Any, index: int, count: int, names: Callable[[], list[str]]) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(f"vmap: Got in_dim={dim!r}, but in_dims must be ints or None")
    if not isinstance(leaf, Tensor):
        what = f"vmap: Got in_dim={dim} for an input but the input is of type {type(leaf).__name__}"
        raise _no_axis(what, index, count, names())
    if not leaf.ndim:
        what = f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality 0"
        raise _no_axis(what, index, count, names())
    if not -leaf.ndim <= dim < leaf.ndim:
        raise told(
            ValueError(
                f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim}; "
                f"expected -{leaf.ndim} <= in_dim < {leaf.ndim}"
            ),
            why=f"argument {names()[index]} is {describe(leaf.shape, leaf.dtype)}",
            fix="name an axis that it has",
        )
    return dim % leaf.ndim


def _no_axis(what: str, index: int, count: int, names: list[str]) -> Exception:
    shared = ", ".join("None" if k == index else "0" for k in range(count))
    error: Exception = told(
        ValueError(what),
        why=f"argument {names[index]} has no axis to map",
        fix=f"use None for it: in_dims=({shared}{',' if count == 1 else ''}) shares it among all examples",
    )
    return error


def _size(
    leaves: list[Any], dims: list[int | None], axis_size: int | None, names: Callable[[], list[str]]
) -> int:
    sizes = {leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) > 1:
        mapped = [
            f"argument {name} is {describe(leaf.shape, leaf.dtype)}, mapped over axis {dim}"
            for name, leaf, dim in zip(names(), leaves, dims, strict=True)
            if dim is not None
        ]
        raise told(
            ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)}"
            ),
            why="; ".join(mapped) + ("" if axis_size is None else f"; axis_size={axis_size}"),
            fix="map over axes of one length, or share an argument with None in in_dims",
        )
    (size,) = sizes
    return size


def _spread_over(leaves: list[Any], dims: list[int | None]) -> Any:
    """Which ranks have which examples, if a mapped axis is spread over ranks."""
    mapped = [(leaf._data, dim) for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    for payload, dim in mapped:
        over = payload.spread_over(dim) if hasattr(type(payload), "spread_over") else None
        if over is not None:
            for other, _ in mapped:
                if not hasattr(type(other), "spread_over"):
                    over.refuse_plain(other)
            return over
    return None


@contextmanager
def _examples(size: int, randomness: str, over: Any) -> Iterator[VmapLevel]:
    """A new batch dimension exists in this block."""
    level = VmapLevel(size, randomness, over)
    with running(Transform("vmap"), vmaps=(*current().vmaps, level)):
        yield level


def _out_places(out_dims: OutDims, output: Any, outputs: list[Any]) -> list[Any]:
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    if type(out_dims) is int:
        return [out_dims] * len(outputs)
    if out_dims is not None and not isinstance(out_dims, (int, tuple, list, dict)):
        raise ValueError(
            f"vmap: out_dims must be an int, None or a python collection of ints, got {type(out_dims).__name__}"
        )
    try:
        places = prefix_leaves(out_dims, output)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"vmap: out_dims is not compatible with the structure of `outputs`: out_dims={out_dims!r}"
        ) from error
    for place in places:
        if place is not None and not isinstance(place, int):
            raise ValueError(f"vmap: out_dims must be an int, None or a python collection of ints, got {place!r}")
    return places


def _leave(value: Any, place: int | None, level: VmapLevel) -> Any:
    if place is None:
        if isinstance(value, Tensor):
            if level in levels_of(value._data):
                raise ValueError(
                    "vmap: cannot return a BatchedTensor when out_dim is None: the output depends on the example; "
                    "give it a place in out_dims"
                )
            return value if len(current().vmaps) > 1 else without_room(value)
        return value
    if not isinstance(value, Tensor):
        raise ValueError(
            f"vmap: the function must only return Tensors, got type {type(value)}; use None in out_dims for others"
        )
    if level.over is not None and not hasattr(type(value._data), "spread_over"):
        level.over.refuse_plain(value)
    rank = value.ndim + 1
    if not -rank <= place < rank:
        raise IndexError(
            f"vmap: Dimension out of range: out_dims {place} for an output of {value.ndim} axes, expected -{rank} to "
            f"{rank - 1}"
        )
    return left(value, level, place % rank)


def _in_chunks(
    run: Callable[[list[Any], int], Any],
    leaves: list[Any],
    dims: list[int | None],
    size: int,
    chunk_size: int,
    out_dims: OutDims,
    repeats: Repeats | None,
    bar: Bar,
) -> Any:
    parts: list[list[Any]] = []
    out_structure: Any = None
    places: list[Any] = []
    shared = _Shared(leaf for leaf, dim in zip(leaves, dims, strict=True) if dim is None and isinstance(leaf, Tensor))
    for start in range(0, size, chunk_size):
        stop = min(start + chunk_size, size)
        present = shared.values()
        chunk = [
            present.get(id(leaf), leaf) if dim is None else leaf[(slice(None),) * dim + (slice(start, stop),)]
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        with nullcontext() if repeats is None else repeats.turn():  # every chunk sees the same numbers
            result = run(chunk, stop - start)
        flat, out_structure = flatten(result)
        places = _out_places(out_dims, result, flat)
        parts.append(flat)
        bar.advance(stop - start)
    joined = [
        pieces[0] if place is None else concat(list(pieces), axis=place)
        for place, pieces in zip(places, zip(*parts, strict=True), strict=True)
    ]
    return unflatten(out_structure, joined)


class _Shared:
    """Arguments that all examples share. A function that writes to one does so once, for the examples of all chunks:
    the first chunk has the argument itself, and later ones have what it was before."""

    def __init__(self, tensors: Iterator[Tensor]) -> None:
        self._kept: dict[int, tuple[Tensor, int, Any]] = {}
        with changed(saved_hooks=()):  # nothing is saved for backward
            for tensor in tensors:
                is_inference = tensor._extra is not None and tensor._extra.inference
                kept = (0, copy(tensor)) if is_inference else (version_of(tensor), SavedVariable(tensor))
                self._kept.setdefault(id(tensor), (tensor, *kept))
        self._has_run = False

    def values(self) -> dict[int, Tensor]:
        """The tensors for the next chunk, by the identity of the arguments."""
        if not self._has_run:
            self._has_run = True
            return {}
        found: dict[int, Tensor] = {}
        for key, (tensor, version, kept) in self._kept.items():
            if isinstance(kept, Tensor):
                found[key] = copy(kept)
            elif version_of(tensor) != version:
                self._check_alone(tensor)
                found[key] = copy(kept.unpack(_EVERY_CHUNK, True))  # which the chunk will write to
        return found

    def _check_alone(self, tensor: Tensor) -> None:
        if any(other is not tensor and other._counter is tensor._counter for other, _, _ in self._kept.values()):
            raise ValueError(
                "vmap: with chunk_size, a function that writes to an argument that all examples share must not have "
                "the same memory as another argument too; take the view inside of the function"
            )


class _EveryChunk(Node):
    """Who reads what was kept, for errors."""

    __slots__ = ()

    def name(self) -> str:
        """As in errors."""
        return "vmap(chunk_size=...)"

    forward_op_name = name


_EVERY_CHUNK = _EveryChunk()
