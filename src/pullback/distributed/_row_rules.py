"""What operators do to placements that move elements: views, slices, rolls, indices with arrays, joins, writes.

Along a sharded dim, what such an operator does is a list of rows: which row of the operand stands at each place of the
result. If that is every row at its own place, the operator runs on the block; otherwise rows move between ranks first
(`Rows`), to blocks that are balanced again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.declare.op import registry
from pullback.distributed._darray import DArray, dual, refused
from pullback.distributed._hidden import moved_to, tell
from pullback.distributed._placements import (
    Lengths,
    Partial,
    Replicate,
    Rows,
    Shard,
    bounds,
    cut_anew,
    local_lengths,
    shards,
    spelled_out,
)
from pullback.operators.arrays.index_operators import ROWS, axes_before
from pullback.payloads.wrapped.rules import Call, run

NOTHING = -1  # the position of a row of zeros


# Views, and what else moves elements to places that follow from the parameters.


def move(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Elements go to places that the parameters say."""
    x = operands[0]
    if len(arrays) != 1 or x is not arrays[0]:
        raise refused(call, arrays, "only its first operand may be distributed")
    if len(operands) > 1 or call.params.get("fill", 0) != 0:
        x = moved_to(x, dual(x.placements), call.name)  # what is put beside it is no summand
    if "whole" in call.params:
        return _pieces(Call(call.params["whole"], call.params["params"]), x)[call.params["index"]]
    if "pieces" in call.params or call.name == "unbind":
        return _pieces(call, x)
    if set(call.params) == {"k"}:
        return _triangle(call, x)
    if "index" in call.params:
        ndim = len(call.params.get("shape", x.lengths))
        call = _changed(call, index=spelled_out(call.params["index"], ndim))
    is_copy = False
    for dim in sorted({p.dim for p in x.placements if isinstance(p, Shard)}):
        found = _rows_along(call, x.lengths, dim) if x.lengths[dim] else None
        if found is not None:
            wanted, rest = found
            x = _one_row(x, dim, wanted) if isinstance(wanted, int) else _taken_rows(call, x, dim, wanted, operands)
            is_copy = True
            if rest is None:
                return x
            call = rest
    out = _on_blocks(call, x, operands[1:], mesh, arrays)
    if is_copy and call.op.is_view:
        out.is_copied_part = True
    return out


def _changed(call: Call, **params: Any) -> Call:
    return Call(call.op, {**call.params, **params})


def _with_entry(index: tuple[Any, ...], place: int, entry: Any) -> tuple[Any, ...]:
    return (*index[:place], entry, *index[place + 1 :])


def _rows_along(call: Call, lengths: Lengths, dim: int) -> tuple[Any, Call | None] | None:
    """The rows of a dim that are at each place of the result, or the one that remains, and what is left to do then, if
    anything; None if all of them stay, or if it is no matter of rows."""
    n, params = lengths[dim], call.params
    rest: dict[str, Any] | None
    if "index" in params:
        found = _put_rows(call, dim) if "shape" in params else _read_rows(call, n, dim)
        if found is None or isinstance(found[0], int):
            return found
        wanted, rest = found[0], found[1].params
    elif "widths" in params:
        low, high = params["widths"][dim]
        kept = np.arange(max(-low, 0), n - max(-high, 0))
        wanted = np.concatenate([np.full(max(low, 0), NOTHING), kept, np.full(max(high, 0), NOTHING)])
        rest = {"widths": tuple([(0, 0) if d == dim else w for d, w in enumerate(params["widths"])])}
    elif "shift" in params:
        by = dict(zip(np.atleast_1d(params["axis"]).tolist(), np.atleast_1d(params["shift"]).tolist(), strict=True))
        wanted = np.roll(np.arange(n), by.pop(dim, 0))
        rest = {"axis": tuple(by), "shift": tuple(by.values())}
    elif "by" in params:
        if params["axis"] != dim:
            return None
        wanted = np.arange(n) - (1 if params["by"] > 0 else -1)
        wanted[wanted >= n] = NOTHING
        rest = None
    elif "repeats" in params:
        if params["axis"] != dim:
            return None
        wanted, rest = np.repeat(np.arange(n), params["repeats"]), None
    elif call.name == "flip" and dim in params["axis"]:
        wanted, rest = np.arange(n)[::-1], {"axis": tuple([d for d in params["axis"] if d != dim])}
    else:
        return None
    if len(wanted) == n and np.array_equal(wanted, np.arange(n)):
        return None
    return wanted, None if rest is None else _changed(call, **rest)


def _read_rows(call: Call, n: int, dim: int) -> tuple[Any, Call]:
    """The rows that a basic index takes."""
    index = call.params["index"]
    place = [k for k, entry in enumerate(index) if entry is not None][dim]
    if isinstance(index[place], int):
        return index[place] % n, _changed(call, index=_with_entry(index, place, 0))
    return np.arange(n)[index[place]], _changed(call, index=_with_entry(index, place, slice(None)))


def _put_rows(call: Call, dim: int) -> tuple[Any, Call] | None:
    """The rows of zeros in which the operand is put at a basic index; `dim` is one of the operand."""
    index, shape = call.params["index"], call.params["shape"]
    place = [k for k, entry in enumerate(index[:-1]) if not isinstance(entry, int)][dim]
    if index[place] is None:
        return None
    length = shape[sum(entry is not None for entry in index[:place])]
    wanted = np.full(length, NOTHING)
    rows = np.arange(length)[index[place]]
    wanted[rows] = np.arange(len(rows))
    return wanted, _changed(call, index=_with_entry(index, place, slice(None)))


def _taken_rows(call: Call, x: Any, dim: int, wanted: Any, operands: list[Any]) -> Any:
    """An array of other rows along a sharded dim, in balanced blocks."""
    rows = Rows(x.lengths[dim], wanted, shards(x.placements, dim), x.mesh)
    if not rows.is_local:
        tell(call.name, f"rows of dim {dim} of an array placed as {x.placements}", x.local.nbytes)
    fill = call.params.get("fill", operands[1] if len(operands) > 1 else 0)
    return DArray(rows.moved(x.local, dim, fill), x.mesh, x.placements, _replaced(x.lengths, dim, len(wanted)))


def _replaced(lengths: Lengths, dim: int, n: int) -> Lengths:
    return (*lengths[:dim], n, *lengths[dim + 1 :])


def _one_row(x: Any, dim: int, position: int) -> Any:
    """One row along a sharded dim, of length 1: the rank that has it gives it, the others add nothing."""
    low, high = bounds(x.lengths[dim], shards(x.placements, dim), x.mesh)
    lead = (slice(None),) * dim
    if low <= position < high:
        local = x.local[(*lead, slice(position - low, position - low + 1))]
    else:
        local = np.zeros(_replaced(x.local.shape, dim, 1), x.dtype)
    return _summands(DArray(local, x.mesh, x.placements, _replaced(x.lengths, dim, 1)), dim)


def _summands(x: Any, dim: int) -> Any:
    """The array whose blocks along a dim are summands of it; truth values do not add up."""
    placements = tuple([Partial() if p == Shard(dim) else p for p in x.placements])
    found = x.with_parts(placements=placements)
    return found if x.dtype.kind in "fciu" else _any_of(found)


def _any_of(x: Any) -> Any:
    counted = x.with_parts(run("astype", x.local, np.int8))
    whole = counted.to(dual(x.placements))
    return whole.with_parts(run("astype", whole.local, x.dtype))


def _on_blocks(call: Call, x: Any, others: Any, mesh: Any, arrays: list[Any]) -> Any:
    """The operator on every rank's block, if sharded dims stay what they are."""
    if all(not isinstance(p, Shard) for p in x.placements):
        local = call(x.local, *others)
        return DArray(local, mesh, x.placements, tuple(local.shape))
    if not math.prod(x.lengths):
        x = x.to(tuple([Replicate() if isinstance(p, Shard) else p for p in x.placements]))
        return _on_blocks(call, x, others, mesh, arrays)
    after, where = _dims_behind(call, x)
    cut = {p.dim for p in x.placements if isinstance(p, Shard)}
    if not where and len(cut) == 1 and {*call.params} == {"shape"} and math.prod(after) == math.prod(x.lengths):
        return _reshaped(call, x, cut.pop(), after)
    placements = []
    for each in x.placements:
        if isinstance(each, Shard):
            place = where.get(each.dim)
            if place is None:
                raise refused(call, arrays, "it reaches across the blocks")
            each = Shard(place)
        placements.append(each)
    expected = local_lengths(after, tuple(placements), mesh)
    params = {"shape": expected} if "shape" in call.params else {}
    local = call(x.local, *others, **params)
    if tuple(local.shape) != expected:
        raise refused(call, arrays, "it reaches across the blocks")
    return DArray(local, mesh, tuple(placements), after)


def _reshaped(call: Call, x: Any, dim: int, after: Lengths) -> Any:
    """A reshape that joins or cuts a sharded axis in another way. The first axis that it joins is sharded instead: then
    ranks have neighbouring elements, before and afterwards."""
    tell(call.name, f"elements of an array placed as {x.placements}", x.local.nbytes)
    starts = {math.prod(after[:k]): k for k in reversed(range(len(after)))}
    first = max(k for k in range(dim + 1) if math.prod(x.lengths[:k]) in starts)
    x = x.to(tuple([Shard(first) if isinstance(p, Shard) else p for p in x.placements]))
    lead, inner = math.prod(x.lengths[:first]), math.prod(x.lengths[first + 1 :])
    place = starts[lead]
    flat = x.local.reshape((lead, x.local.shape[first] * inner))
    flat = cut_anew(flat, x.mesh, shards(x.placements, first), x.lengths[first], inner, after[place])
    placements = tuple([Shard(place) if isinstance(p, Shard) else p for p in x.placements])
    out = DArray(flat.reshape(local_lengths(after, placements, x.mesh)), x.mesh, placements, after)
    out.is_copied_part = True
    return out


def _dims_behind(call: Call, x: Any) -> tuple[Lengths, dict[int, int]]:
    """The shape of the result, and the dim in which each sharded dim lies as it was, or cut and joined with others so
    that its blocks are blocks there. Found by what a view does to strides: nothing is read, so there is no memory."""
    before = x.lengths
    if not call.op.is_view:  # rows stay, and so do dims
        return _same_dims(call, x)
    spans = [math.prod(before[d + 1 :]) * x.dtype.itemsize for d in range(len(before))]
    shown = np.lib.stride_tricks.as_strided(np.zeros(1, x.dtype), before, spans)
    out = call.op.kernel(shown, **call.params)
    where: dict[int, int] = {}
    for dim in {p.dim for p in x.placements if isinstance(p, Shard)}:
        blocks = math.prod(x.mesh.shape[k] for k in shards(x.placements, dim))
        for place, (n, stride) in enumerate(zip(out.shape, out.strides, strict=True)):
            is_even = n % blocks == 0 and before[dim] % blocks == 0
            is_free = place not in where.values()
            if is_free and n * stride == before[dim] * spans[dim] and (n == before[dim] or is_even):
                where[dim] = place
                break
    return tuple(out.shape), where


def _same_dims(call: Call, x: Any) -> tuple[Lengths, dict[int, int]]:
    """The same of what is no view: its rows along sharded dims stay, so only other dims may have other lengths."""
    cut = {p.dim for p in x.placements if isinstance(p, Shard)}
    if "index" in call.params:
        entries, where = call.params["index"][:-1], {}
        dims = [k for k, entry in enumerate(entries) if not isinstance(entry, int)]
        for dim, k in enumerate(dims):
            if entries[k] is not None and dim in cut:
                where[dim] = sum(entry is not None for entry in entries[:k])
        return call.params["shape"], where
    if "widths" in call.params:
        lengths = tuple([low + n + high for n, (low, high) in zip(x.lengths, call.params["widths"], strict=True)])
    elif "repeats" in call.params:
        axis, repeats = call.params["axis"], call.params["repeats"]
        total = x.lengths[axis] * repeats if isinstance(repeats, int) else int(np.sum(repeats))
        lengths = _replaced(x.lengths, axis, total)
    elif "shift" in call.params or "by" in call.params:
        lengths = x.lengths
    else:
        return x.lengths, {}
    return lengths, {dim: dim for dim in cut}


def _pieces(call: Call, x: Any) -> Any:
    """Views in several pieces along an axis: each is a basic index of its own."""
    axis, ndim = call.params["axis"], len(x.lengths)
    pieces = call.params.get("pieces")
    wanted = range(x.lengths[axis]) if pieces is None else [slice(*piece) for piece in pieces]
    reading = Call(registry["_basic_index"], {"index": ()})
    lead = (slice(None),) * axis
    found = [
        move(_changed(reading, index=spelled_out((*lead, each), ndim)), [x], [x], x.mesh) for each in wanted
    ]  # fmt: skip
    return tuple(found)


def _triangle(call: Call, x: Any) -> Any:
    """Elements beside the diagonal of the last two axes become 0: the diagonal lies elsewhere in a block."""
    low = [bounds(x.lengths[d], shards(x.placements, d), x.mesh)[0] for d in (-2 % x.ndim, -1 % x.ndim)]
    return x.with_parts(call(x.local, k=call.params["k"] + low[0] - low[1]))


# Indices with arrays.


def is_index(call: Call, place: int) -> bool:
    """Is the operand at this place one of positions? They may be plain arrays, which all ranks have alike."""
    first = {"gathers": 1, "collects": 1, "puts": 2}.get(call.op.flow)
    return first is not None and place >= first


def is_gather(call: Call) -> bool:
    """Does it read, or add up, at an index with arrays?"""
    if call.op.flow not in ("gathers", "collects"):
        return False
    return "template" in call.params or (not call.params and tuple(call.op.operands) == ("x", "indices"))


def _layout(template: Any, ndim: int, block: int) -> list[tuple[str, int]]:
    """What every axis of `x[index]` is: an axis of `x`, one of the arrays, or a new one."""
    spelled = spelled_out(template, ndim)[:-1]
    found: list[tuple[str, int]] = []
    axis = 0
    for part in spelled:
        if part is None:
            found.append(("new", 0))
        else:
            if isinstance(part, slice):
                found.append(("axis", axis))
            axis += 1
    before = axes_before(template, ndim)
    return [*found[:before], *[("array", k) for k in range(block)], *found[before:]]


def gather(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Elements at an index with arrays, or values added there."""
    x, *indices = operands
    template = call.params.get("template", ROWS)
    if not isinstance(x, DArray) or any(isinstance(p, Partial) for i in indices if isinstance(i, DArray)
                                        for p in i.placements):  # fmt: skip
        raise refused(call, arrays, "positions are whole, or sharded alone")
    if call.op.flow == "collects":
        return _added(call, x, indices, mesh, arrays)
    ndim, block = len(x.lengths), np.broadcast_shapes(*[tuple(i.shape) for i in indices])
    layout, spelled = _layout(template, ndim, len(block)), _by_axis(template, ndim)
    placements, masks = list(x.placements), []
    locals_ = [i.local if isinstance(i, DArray) else i for i in indices]
    names = iter(range(len(indices)))
    array_of = {axis: next(names) for axis, part in enumerate(spelled) if type(part) is str}
    for k, own in enumerate(x.placements):
        spread = [i.placements[k].dim for i in indices if isinstance(i, DArray) and isinstance(i.placements[k], Shard)]
        if spread:
            if len(indices) != 1 or isinstance(own, (Shard, Partial)):
                raise refused(call, arrays, "one array of positions may be sharded, where the other is whole")
            placements[k] = Shard(layout.index(("array", spread[0])))
        elif isinstance(own, Shard):
            if own.dim in array_of:
                placements[k] = Partial()
                masks.append((own.dim, array_of[own.dim]))
            elif spelled[own.dim] == slice(None):
                placements[k] = Shard(layout.index(("axis", own.dim)))
            else:
                raise refused(call, arrays, "a part of a sharded axis beside an index with arrays")
    lengths = _indexed_lengths(layout, spelled, x.lengths, block)
    is_mine: Any = None
    for axis, which in dict(masks).items():
        locals_[which], mask = _positions_here(locals_[which], x, axis)
        is_mine = mask if is_mine is None else is_mine & mask
    if is_mine is None:
        return DArray(call(x.local, *locals_), mesh, tuple(placements), tuple(lengths))
    behind = len(layout) - 1 - max(k for k, (kind, _) in enumerate(layout) if kind == "array") if block else (
        len(layout) - axes_before(template, ndim))  # fmt: skip
    if 0 in [x.local.shape[axis] for axis, _ in masks]:
        shape = local_lengths(tuple(lengths), tuple(placements), mesh)
        local: Any = np.zeros(shape, x.dtype)
    else:
        is_mine = is_mine.reshape((*is_mine.shape, *(1,) * behind))
        local = run("where", is_mine, call(x.local, *locals_), np.zeros((), x.dtype))
    found = DArray(local, mesh, tuple(placements), tuple(lengths))
    return found if x.dtype.kind in "fciu" else _any_of(found)


def _indexed_lengths(layout: list[tuple[str, int]], spelled: list[Any], lengths: Lengths, block: Lengths) -> list[int]:
    sizes = {"axis": lambda k: len(range(*spelled[k].indices(lengths[k]))), "array": lambda k: block[k]}
    return [1 if kind == "new" else sizes[kind](which) for kind, which in layout]


def _by_axis(template: Any, ndim: int) -> list[Any]:
    return [part for part in spelled_out(template, ndim)[:-1] if part is not None]


def _positions_here(index: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """Positions along a sharded axis as those in this rank's block, and which of them are."""
    n = x.lengths[axis]
    if type(index) is np.ndarray and index.size and (index.min() < -n or index.max() >= n):
        raise IndexError(f"an index is out of bounds for axis {axis} with size {n}")
    low, high = bounds(n, shards(x.placements, axis), x.mesh)
    whole = run("where", index < 0, index + n, index)
    is_mine = (whole >= low) & (whole < high)
    return run("where", is_mine, whole - low, 0), is_mine


def _added(call: Call, x: Any, indices: list[Any], mesh: Any, arrays: list[Any]) -> Any:
    """Zeros to which values are added at an index with arrays."""
    template, shape = call.params["template"], call.params["shape"]
    block = np.broadcast_shapes(*[tuple(i.shape) for i in indices])
    layout = _layout(template, len(shape), len(block))
    spelled = _by_axis(template, len(shape))
    placements = list(x.placements)
    local_shape = list(shape)
    for k, own in enumerate(x.placements):
        spread = [i for i in indices if isinstance(i, DArray) and i.placements[k] != Replicate()]
        if isinstance(own, Shard):
            kind, which = layout[own.dim]
            if kind == "axis" and spelled[which] == slice(None) and not spread:
                placements[k] = Shard(which)
                local_shape[which] = x.local.shape[own.dim]
            elif kind == "array" and len(indices) == 1:
                placements[k] = Partial()
                indices = [_sharded_as(indices[0], k, which, mesh)]
            else:
                raise refused(call, arrays, "values are spread in another way than their places")
        elif spread:
            raise refused(call, arrays, "places are spread in another way than their values")
    given = [i.local if isinstance(i, DArray) else i for i in indices]
    return DArray(call(x.local, *given, shape=tuple(local_shape)), mesh, tuple(placements), tuple(shape))


def _sharded_as(index: Any, axis: int, dim: int, mesh: Any) -> Any:
    if not isinstance(index, DArray):
        index = DArray(index, mesh, (Replicate(),) * len(mesh.axis_names), tuple(index.shape))
    return index.to(tuple([Shard(dim) if k == axis else p for k, p in enumerate(index.placements)]))


def gather_along(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Elements at positions along one axis, which is sharded: every rank reads what it has."""
    x, index = operands
    axis = call.params["axis"]
    index = index if isinstance(index, DArray) else DArray(
        index, mesh, (Replicate(),) * len(x.placements), tuple(index.shape))  # fmt: skip
    inside = [k for k, p in enumerate(x.placements) if p == Shard(axis)]
    others = [p if k not in inside else Replicate() for k, p in enumerate(x.placements)]
    if Partial() in x.placements:
        raise refused(call, arrays, "positions and values are spread in different ways")
    index = moved_to(index, tuple(others), call.name)
    here, is_mine = _positions_here(index.local, x, axis)
    local: Any = np.zeros(here.shape, x.dtype)
    if x.local.shape[axis]:
        local = run("where", is_mine, call(x.local, here), np.zeros((), x.dtype))
    lengths = tuple([index.lengths[d] if d == axis else n for d, n in enumerate(x.lengths)])
    return DArray(local, mesh, tuple([Partial() if k in inside else p for k, p in enumerate(x.placements)]), lengths)


# Joining and writing.


def join(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Arrays behind each other, or stacked: along a sharded axis rows move to balanced blocks."""
    axis, is_stack = call.params["axis"], call.name == "stack"
    if len(arrays) != len(operands):
        raise refused(call, arrays, "every operand is distributed, or none is")
    if all(x.placements == arrays[0].placements for x in arrays):
        chosen = arrays[0].placements
    else:
        chosen = tuple([
            next((p for p in have if isinstance(p, Shard)), Replicate())
            for have in zip(*[x.placements for x in arrays], strict=True)
        ])  # fmt: skip
    parts = [moved_to(x, chosen, call.name) for x in arrays]
    lengths = parts[0].lengths
    if is_stack:
        placements = tuple([Shard(p.dim + (axis <= p.dim)) if isinstance(p, Shard) else p for p in chosen])
        return DArray(call(*[x.local for x in parts]), mesh, placements, (*lengths[:axis], len(parts), *lengths[axis:]))
    total = sum(x.lengths[axis] for x in parts)
    whole = _replaced(lengths, axis, total)
    if Shard(axis) not in chosen:
        return DArray(call(*[x.local for x in parts]), mesh, chosen, whole)
    low, high = bounds(total, shards(chosen, axis), mesh)
    out: Any = None
    start = 0
    for x in parts:
        wanted = np.full(total, NOTHING)
        wanted[start : start + x.lengths[axis]] = np.arange(x.lengths[axis])
        placed = _taken_rows(call, x, axis, wanted, [x]).local
        is_own = (wanted[low:high] != NOTHING).reshape((-1, *(1,) * (len(lengths) - axis - 1)))
        out = placed if out is None else run("where", is_own, placed, out)
        start += x.lengths[axis]
    return DArray(out, mesh, chosen, whole)


def write(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """A value written over an array."""
    target, value = operands
    if Partial() in target.placements:
        raise refused(call, arrays, "a summand cannot be overwritten")
    return target.with_parts(call(target.local, _as_part_of(call, value, target)))


def _as_part_of(call: Call, value: Any, target: Any) -> Any:
    if not isinstance(value, DArray):
        return value
    extra, want = len(target.lengths) - len(value.lengths), []
    for p in target.placements:
        dim = p.dim - extra if isinstance(p, Shard) else -1
        is_cut = dim >= 0 and value.lengths[dim] == target.lengths[dim + extra]
        want.append(Shard(dim) if is_cut else Replicate())
    return moved_to(value, tuple(want), call.name).local


def put(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Values written, or added, at an index with arrays: each rank takes what falls into its block."""
    target, value, *indices = operands
    template, ndim = call.params["template"], len(target.lengths)
    spelled = _by_axis(template, ndim)
    if not isinstance(target, DArray) or Partial() in target.placements:
        raise refused(call, arrays, "a summand cannot be overwritten")
    whole = (Replicate(),) * len(mesh.axis_names)
    given = [moved_to(i, whole, call.name).local if isinstance(i, DArray) else i for i in indices]
    if isinstance(value, DArray):
        value = moved_to(value, whole, call.name).local
    cut = sorted({p.dim for p in target.placements if isinstance(p, Shard)})
    if any(type(spelled[d]) is not str and spelled[d] != slice(None) for d in cut):
        raise refused(call, arrays, "a part of a sharded axis beside an index with arrays")
    block = np.broadcast_shapes(*[tuple(i.shape) for i in given])
    layout = _layout(template, ndim, len(block))
    shape = _indexed_lengths(layout, spelled, target.lengths, block)
    value = value if hasattr(value, "dtype") else np.asarray(value, target.dtype)
    value = run("broadcast_to", value, shape=tuple(shape))
    names = [axis for axis, part in enumerate(spelled) if type(part) is str]
    is_mine: Any = None
    for d in cut:
        if d in names:
            which = names.index(d)
            given[which], mask = _positions_here(given[which], target, d)
            is_mine = mask if is_mine is None else is_mine & mask
        else:
            place = layout.index(("axis", d))
            mine = slice(*bounds(target.lengths[d], shards(target.placements, d), mesh))
            value = value[(slice(None),) * place + (mine,)]
    if is_mine is not None:
        if type(is_mine) is not np.ndarray:
            raise refused(call, arrays, "which values fall into a block is not known while tracing")
        first = layout.index(("array", 0)) if block else axes_before(template, ndim)
        is_mine = np.broadcast_to(is_mine, block)
        given = [np.broadcast_to(i, block)[is_mine] for i in given]
        rest = tuple(value.shape[first + len(block) :])
        value = value.reshape((*value.shape[:first], is_mine.size, *rest))
        value = value[(slice(None),) * first + (np.flatnonzero(is_mine),)]
    return target.with_parts(call(target.local, value, *given))
