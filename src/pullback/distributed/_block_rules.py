"""What operators do to placements, where no row has to leave its rank: elementwise functions, reductions, products by
their letters, functions of matrices, and what runs along axes that are whole.

Which operator may run on blocks follows from its declaration: its flow, groups, letters, core axes. What has no rule is
refused. What moves rows is in `_row_rules.py`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.spec import spec_of
from pullback.declare.groups import groups_of
from pullback.distributed import _row_rules as rows
from pullback.distributed._collectives import all_gather, all_reduce
from pullback.distributed._darray import DArray, dual, refused
from pullback.distributed._errors import PlacementError
from pullback.distributed._hidden import moved_to
from pullback.distributed._placements import (
    Lengths,
    Mapped,
    Partial,
    Placements,
    Replicate,
    Shard,
    bounds,
    shards,
)
from pullback.distributed._wires import MPI_NAMES, REDUCTIONS
from pullback.eager.record import is_called_by, is_in_a_rule
from pullback.payloads.wrapped.rules import Call
from pullback.tape.modes import no_grad
from pullback.tape.task import current_task
from pullback.tensors.tensor import wrap


@DArray.rule("any")
def evaluate(call: Call, *operands: Any, **params: Any) -> Any:
    """An operator on distributed arrays."""
    mesh = next(x.mesh for x in operands if isinstance(x, DArray))
    operands = tuple([_taken(call, place, x, mesh) for place, x in enumerate(operands)])
    arrays = [x for x in operands if isinstance(x, DArray)]
    mapped = {k: p for x in arrays for k, p in enumerate(x.placements) if isinstance(p, Mapped)}
    if mapped:
        shown = [_as_example(call, x, mapped) if isinstance(x, DArray) else x for x in operands]
        return _as_examples(_evaluated(call, shown, [x for x in shown if isinstance(x, DArray)], mesh), mapped)
    return _evaluated(call, list(operands), arrays, mesh)


def _taken(call: Call, place: int, x: Any, mesh: Any) -> Any:
    """An operand, if it may stand beside distributed ones: numbers may, and positions, and what a formula of a
    derivative or an expansion makes by itself, which is the same on all ranks."""
    if isinstance(x, DArray):
        if x.mesh != mesh:
            raise PlacementError(f"{call.name}: operands on different meshes, {mesh} and {x.mesh}")
    elif getattr(x, "ndim", 0):
        is_index = x.dtype.kind in "iu" and rows.is_index(call, place)
        if is_index and "axis" not in call.params:
            return x
        if is_index or _is_in_a_derivative() or is_called_by(_OF_EXPANSIONS):
            return DArray(x, mesh, (Replicate(),) * len(mesh.axis_names), tuple(x.shape))
        raise PlacementError(
            f"{call.name}: a plain array of shape {list(x.shape)} beside a distributed one\n"
            "  fix  pb.distributed.distribute(x, mesh, placements), or from_local, says how it is placed"
        )
    return x


def _is_in_a_derivative() -> bool:
    return current_task() is not None or is_in_a_rule()


def _evaluated(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    if all(p == Replicate() for x in arrays for p in x.placements):
        return _on_all_ranks(call, operands, mesh, arrays[0].placements)
    for test, rule in _RULES:
        if test(call):
            return rule(call, operands, arrays, mesh)
    raise refused(call, arrays, "there is no rule for blocks")


def _as_example(call: Call, x: Any, mapped: dict[int, Any]) -> Any:
    """An operand beside examples that every rank has of its own: for the rules, those are on all ranks."""
    placements = list(x.placements)
    for k, level in mapped.items():
        if isinstance(placements[k], Shard) or placements[k] not in (level, Replicate(), Partial()):
            raise refused(call, [x], "the ranks of that mesh axis have different examples of a vmap")
        if isinstance(placements[k], Partial):
            placements[k] = Replicate()
    x = moved_to(x, tuple(placements), call.name)
    return x.with_parts(placements=tuple([Replicate() if k in mapped else p for k, p in enumerate(x.placements)]))


def _as_examples(out: Any, mapped: dict[int, Any]) -> Any:
    if isinstance(out, tuple):
        return tuple([_as_examples(part, mapped) for part in out])
    if any(not isinstance(out.placements[k], Replicate) for k in mapped):
        raise PlacementError(f"a result for examples of a vmap that is placed as {out.placements}")
    return out.with_parts(placements=tuple([mapped.get(k, p) for k, p in enumerate(out.placements)]))


def _on_all_ranks(call: Call, operands: list[Any], mesh: Any, placements: Placements) -> Any:
    return _wrapped(call(*[x.local if isinstance(x, DArray) else x for x in operands]), mesh, placements)


def _wrapped(out: Any, mesh: Any, placements: Placements, lengths: Callable[[Any], Lengths] | None = None) -> Any:
    if isinstance(out, tuple):
        return tuple([_wrapped(part, mesh, placements, lengths) for part in out])
    return DArray(out, mesh, placements, tuple(out.shape) if lengths is None else lengths(out))


def _without_sums(call: Call, x: Any) -> Any:
    return moved_to(x, dual(x.placements), call.name) if isinstance(x, DArray) else x


# Elementwise: dims align by broadcasting.


def _elementwise(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    lengths = tuple(np.broadcast_shapes(*[x.lengths for x in arrays]))
    is_linear = "linear" in groups_of(call.op) and all(isinstance(x, DArray) or _is_zero(x) for x in operands)
    if call.op.flow == "casts" and np.dtype(call.params["dtype"]).kind not in "fc":
        is_linear = False  # a sum of numbers that were rounded is another one
    chosen: list[Any] = []
    for axis in range(len(mesh.axis_names)):
        have = [x.placements[axis] for x in arrays]
        sums = have.count(Partial())
        found = [_aligned(x, axis, lengths) for x in arrays]
        sharded = next((each for each in found if isinstance(each, Shard)), None)
        if sums and sharded is None and (is_linear or (sums == 1 and _is_linear_in_the_sum(call, operands, axis))):
            chosen.append(Partial())
        else:
            chosen.append(sharded or Replicate())
    # A condition does not add up: every rank needs all of it.
    given = [placed(call, x, chosen, lengths, is_linear and x.dtype.kind in "fc") if isinstance(x, DArray) else x
             for x in operands]  # fmt: skip
    return _wrapped(call(*given), mesh, tuple(chosen), lambda _: lengths)


def _is_zero(x: Any) -> bool:
    return isinstance(x, (int, float)) and x == 0


def _is_linear_in_the_sum(call: Call, operands: list[Any], axis: int) -> bool:
    """Is the operator linear in its only operand that is a sum, for fixed others?"""
    if call.op.group == "multilinear":
        return True
    first = operands[0]
    is_first = isinstance(first, DArray) and isinstance(first.placements[axis], Partial)
    return is_first and call.op.scalar == "div"


def _aligned(x: Any, axis: int, lengths: Lengths) -> Any:
    """The dim of the result that an operand is sharded along."""
    own = x.placements[axis]
    if not isinstance(own, Shard):
        return own
    dim = own.dim + len(lengths) - len(x.lengths)
    return Shard(dim) if x.lengths[own.dim] == lengths[dim] else Replicate()


def placed(call: Call, x: Any, chosen: Any, lengths: Lengths, is_linear: bool = False) -> Any:
    """This rank's part of an operand for a result with these placements, to which it is broadcast."""
    extra = len(lengths) - len(x.lengths)
    want: list[Any] = []
    for target, own in zip(chosen, x.placements, strict=True):
        if isinstance(target, Shard):
            dim = target.dim - extra
            want.append(Shard(dim) if dim >= 0 and x.lengths[dim] == lengths[target.dim] else Replicate())
        elif isinstance(target, Partial):
            want.append(Partial() if is_linear or isinstance(own, Partial) else Replicate())
        else:
            want.append(target)
    return moved_to(x, tuple(want), call.name).local


# Reductions.


def _lowest(dtype: Any, sign: int) -> Any:
    if dtype.kind == "f":
        return -sign * np.inf
    if dtype.kind == "b":
        return sign < 0
    return np.iinfo(dtype).min if sign > 0 else np.iinfo(dtype).max


_AT_ONCE = {ufunc: name for name, ufunc in REDUCTIONS.items()} | {np.multiply: MPI_NAMES["MPI_PROD"]}
"""How ranks reduce what they have found, by the ufunc that combines elements."""


def _unit(ufunc: np.ufunc, dtype: Any) -> Any:
    """What a rank without elements gives."""
    return ufunc.identity if ufunc.identity is not None else _lowest(dtype, 1 if ufunc is np.maximum else -1)


def _axes_of(call: Call, ndim: int) -> tuple[int, ...]:
    for name in ("axis", "axes"):
        if name in call.params:
            axes = call.params[name]
            return tuple(range(ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    return ()


def _reduction(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    (x,) = operands
    axes, keepdims = _axes_of(call, len(x.lengths)), call.params.get("keepdims", False)
    adds_up = "linear" in groups_of(call.op)
    x = x if adds_up else _without_sums(call, x)
    inside = [k for k, each in enumerate(x.placements) if isinstance(each, Shard) and each.dim in axes]
    lengths = tuple([1 if d in axes else n for d, n in enumerate(x.lengths) if keepdims or d not in axes])
    placements = [
        Shard(p.dim - sum(axis < p.dim for axis in axes)) if isinstance(p, Shard) and k not in inside and not keepdims
        else p
        for k, p in enumerate(x.placements)
    ]  # fmt: skip
    if not inside:
        return _wrapped(call(x.local), mesh, tuple(placements), lambda _: lengths)
    here = math.prod(x.local.shape[d] for d in axes)
    if adds_up or call.name == "count_nonzero":
        local = call(x.local) if here else np.zeros_like(call(np.zeros(_one_along(x, axes), x.dtype)))
        if here and _counts(call):
            local = local * (here / math.prod(x.lengths[d] for d in axes))
        return DArray(local, mesh, tuple([Partial() if k in inside else p for k, p in enumerate(placements)]), lengths)
    groups = [mesh[mesh.axis_names[k]] for k in inside]
    rest = tuple([Replicate() if k in inside else p for k, p in enumerate(placements)])
    if call.op.folds in _AT_ONCE:
        op = _AT_ONCE[call.op.folds]
        kind = np.dtype(bool) if isinstance(call.op.folds.identity, bool) else x.dtype
        local = call(x.local) if here else _full(x, axes, keepdims, _unit(call.op.folds, kind), kind)
        with no_grad():
            for group in groups:
                local = all_reduce(wrap(local), op, comm=group)._data
        return DArray(local, mesh, rest, lengths)
    if "arg" in call.name or "indices" in call.name:
        parts = _positions(call, x, axes, groups, here)
        made = [DArray(part, mesh, rest, lengths) for part in parts]
        return made[-1] if len(made) == 1 or not call.name.endswith("indices") else tuple(made)
    return _expanded(call, [x], [x])


def _one_along(x: Any, axes: tuple[int, ...]) -> Lengths:
    return tuple([1 if d in axes else n for d, n in enumerate(x.local.shape)])


def _full(x: Any, axes: tuple[int, ...], keepdims: bool, number: Any, dtype: Any) -> Any:
    """What a rank gives that has no element along the axes."""
    shape = [n for d, n in enumerate(_one_along(x, axes)) if keepdims or d not in axes]
    return np.full(shape, number, dtype)


def _counts(call: Call) -> bool:
    """Does a linear reduction divide by how many elements there are?"""
    return float(call.run(call.op.name, np.ones(2), axis=(0,))) == 1.0


def _positions(call: Call, x: Any, axes: tuple[int, ...], groups: list[Any], here: int) -> list[Any]:
    """The extremes and where they are: of equal ones the first in the order of the whole array."""
    keepdims = call.params.get("keepdims", False)
    largest = "max" in call.name
    nowhere = np.iinfo(np.int64).max
    if here:
        found = call(x.local)
        place = found[1] if isinstance(found, tuple) else found
        kept = call.run("expand_dims", place, axis=axes[0]) if len(axes) == 1 and not keepdims else place
        if len(axes) == 1:
            value = call.run("take_along_axis", x.local, kept, axis=axes[0])
            value = value if keepdims else call.run("squeeze", value, axis=axes[0])
            place = place + _low(x, axes[0])
        else:
            value = call.run("amax" if largest else "amin", x.local, keepdims=keepdims)
            place = _flat_place(x, place)
    else:
        value = _full(x, axes, keepdims, _lowest(x.dtype, 1 if largest else -1), x.dtype)
        place = _full(x, axes, keepdims, nowhere, np.int64)
    with no_grad():
        for group in groups:
            values, places = (all_gather(wrap(each), stack=True, comm=group)._data for each in (value, place))
            value = call.run("amax" if largest else "amin", values, axis=0)
            is_it = (values == value) | (call.run("isnan", values) if x.dtype.kind == "f" else False)
            is_it = is_it & (places != nowhere)
            place = call.run("amin", call.run("where", is_it, places, nowhere), axis=0)
    return [value, place]


def _low(x: Any, dim: int) -> int:
    return bounds(x.lengths[dim], shards(x.placements, dim), x.mesh)[0]


def _flat_place(x: Any, place: Any) -> Any:
    """The position in the flattened whole array of one in this rank's flattened block."""
    total, rest, stride = 0, place, 1
    for dim in reversed(range(len(x.lengths))):
        n = x.local.shape[dim]
        total, rest = total + (rest % n + _low(x, dim)) * stride, rest // n
        stride *= x.lengths[dim]
    return total


# Functions that are made of others.


def _expanded(call: Call, operands: list[Any], arrays: list[Any]) -> Any:
    """What the declaration says that the operator is made of, on blocks. Its derivatives stay those of the operator."""
    expansion = call.op.expansion
    is_known = expansion is not None and not expansion.asks_memory and _has_dtypes(expansion.of, arrays)
    if expansion is None or not is_known or not _is_met(call, operands, expansion.when):
        raise refused(call, arrays, "it needs all elements along an axis of which every rank has a block")
    with no_grad():
        out = expansion.function(*[wrap(x) if isinstance(x, DArray) else x for x in operands], **call.params)
    return tuple([part._data for part in out]) if isinstance(out, tuple) else out._data


def _has_dtypes(of: str, arrays: list[Any]) -> bool:
    return of == "everything" or {x.dtype.kind for x in arrays} <= set("f" if of == "real" else "fiu")


_OF_EXPANSIONS = frozenset({_expanded.__code__})


def _is_met(call: Call, operands: list[Any], when: Callable[..., bool] | None) -> bool:
    if when is None:
        return True
    return bool(_asked(call, operands, when))


def _asked(call: Call, operands: list[Any], fact: Callable[..., Any]) -> Any:
    """What a function of the declaration says of a call, which takes what its parameters name."""
    wholes = _specs(call, operands)
    known = dict(zip(call.op.operands, operands, strict=False)) | dict(zip(call.op.outputs, wholes, strict=False))
    return fact(**{name: (known | call.params).get(name) for name in inspect.signature(fact).parameters})


def _specs(call: Call, operands: list[Any]) -> tuple[Any, ...]:
    """Shapes and dtypes of the whole results."""
    wholes = call.op.specs_of(*[spec_of(x) if hasattr(x, "dtype") else x for x in operands], **call.params)
    return wholes if isinstance(wholes, tuple) else (wholes,)


# Along axes that are whole.


def _along_axes(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Every element of the result reads along some axes: the others may be sharded."""
    ndim = len(arrays[0].lengths)
    axes = _axes_of(call, ndim)
    kept = {tuple([n for d, n in enumerate(x.lengths) if d not in axes]) for x in arrays}
    if not axes or len(kept) != 1 or any(len(x.lengths) != ndim for x in arrays):
        raise refused(call, arrays, "it does not say along which axes it reads, or its operands have other lengths")
    shapes = [tuple(spec.shape) for spec in _specs(call, operands)]
    if {tuple([n for d, n in enumerate(shape) if d not in axes]) for shape in shapes} != kept:
        raise refused(call, arrays, "its result has other axes")
    if len(arrays) > 1 or "linear" not in groups_of(call.op):
        arrays = [_without_sums(call, x) for x in arrays]
    chosen: list[Any] = []
    for axis in range(len(mesh.axis_names)):
        have = [x.placements[axis] for x in arrays]
        chosen.append(next((p for p in have if isinstance(p, Shard)), have[0]))
    if any(isinstance(p, Shard) and p.dim in axes for p in chosen):
        if call.op.folds in _UNITS and len(operands) == 1 and _is_in_a_derivative():
            return _scanned(call, arrays[0], axes[0], mesh)
        if call.op.flow == "gathers":
            return rows.gather_along(call, operands, arrays, mesh)
        return _expanded(call, operands, arrays)
    moved = [moved_to(x, tuple(chosen), call.name).local for x in arrays]
    parts, changed = iter(moved), {}
    if "shape" in call.params:
        changed = {"shape": tuple([n if d in axes else moved[0].shape[d] for d, n in enumerate(call.params["shape"])])}
    out = call(*[next(parts) if isinstance(x, DArray) else x for x in operands], **changed)

    several = out if isinstance(out, tuple) else (out,)
    made = [DArray(part, mesh, tuple(chosen), shape) for part, shape in zip(several, shapes, strict=True)]
    return tuple(made) if isinstance(out, tuple) else made[0]


_UNITS: dict[Any, int] = {np.add: 0, np.multiply: 1}


def _scanned(call: Call, x: Any, axis: int, mesh: Any) -> Any:
    """A running sum or product along a sharded axis, as formulas of backward passes use them: the blocks before this
    one come to it as one number each."""
    group = mesh.group([mesh.axis_names[k] for k in shards(x.placements, axis)])
    last = 0 if call.params.get("reverse") else -1
    local = call(x.local)
    lead = (slice(None),) * axis
    unit = np.full((*local.shape[:axis], 1, *local.shape[axis + 1 :]), _UNITS[call.op.folds], local.dtype)
    total = local[(*lead, slice(last, None if last else 1))] if local.shape[axis] else unit
    with no_grad():
        totals = all_gather(wrap(total), stack=True, comm=group)._data
    before = range(group.rank + 1, group.size) if call.params.get("reverse") else range(group.rank)
    for rank in before:
        local = local + totals[rank] if call.op.folds is np.add else local * totals[rank]
    return DArray(local, mesh, x.placements, x.lengths)


# Products that sum, by letters.


def _letters(call: Call, operands: list[Any]) -> tuple[list[str], list[str]]:
    """The axes of operands and of results."""
    subscripts = call.params.get("subscripts")
    if call.op.letters is not None:
        subscripts = _asked(call, operands, call.op.letters)
    if subscripts is not None:
        inputs, outputs = subscripts.split("->")
        return inputs.split(","), outputs.split(",")
    a, b = (len(x.lengths) for x in operands)
    batch = "efghijklmnop"[: max(a, b, 2) - 2]
    first = "c" if a == 1 else f"{batch[len(batch) - (a - 2):]}rc"
    second = "c" if b == 1 else f"{batch[len(batch) - (b - 2):]}cs"
    return [first, second], [batch + ("r" if a > 1 else "") + ("s" if b > 1 else "")]


def _by_letters(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Along a letter that remains blocks stay blocks; along one that does not their results are summands."""
    if len(arrays) != sum(x is not None for x in operands):
        raise refused(call, arrays, "every operand of a product is distributed, or none is")
    inputs, outputs = _letters(call, operands)
    adds_up = call.op.letters is None or "multilinear" in groups_of(call.op)
    if not adds_up:
        operands = [_without_sums(call, x) for x in operands]
    pairs = [(x, names) for x, names in zip(operands, inputs, strict=True) if x is not None]
    arrays, inputs = [x for x, _ in pairs], [names for _, names in pairs]
    if any(isinstance(p, Shard) and names[p.dim] == "*" for x, names in pairs for p in x.placements):
        return _expanded(call, operands, arrays)
    targets = [list(x.placements) for x in arrays]
    results: list[list[Any]] = [[] for _ in outputs]
    for axis in range(len(mesh.axis_names)):
        own = [x.placements[axis] for x in arrays]
        cut = [names[p.dim] if isinstance(p, Shard) else None for names, p in zip(inputs, own, strict=True)]
        # By the whole array, so that all ranks choose the same.
        weights = [math.prod(x.lengths) if c else -1 for x, c in zip(arrays, cut, strict=True)]
        letter = cut[int(np.argmax(weights))]
        if letter is None and own.count(Partial()) == 1:
            for result in results:
                result.append(Partial())
            continue
        for k, names in enumerate(inputs):
            place = -1 if letter is None or names.count(letter) != 1 else names.index(letter)
            is_cut = place >= 0 and arrays[k].lengths[place] > 1
            targets[k][axis] = Shard(place) if is_cut else Replicate()
        is_apart = any(isinstance(target[axis], Shard) for target in targets)
        for result, names in zip(results, outputs, strict=True):
            if letter is None or not is_apart:
                result.append(Replicate())
            elif letter in names:
                result.append(Shard(names.index(letter)))
            else:
                result.append(Partial() if adds_up else Replicate())
    moved = iter([moved_to(x, tuple(to), call.name).local for x, to in zip(arrays, targets, strict=True)])
    local = call(*[None if x is None else next(moved) for x in operands])
    made = [
        DArray(part, mesh, tuple(placements), tuple(whole.shape))
        for part, placements, whole in zip(
            local if isinstance(local, tuple) else (local,), results, _specs(call, operands), strict=True
        )
    ]
    return tuple(made) if isinstance(local, tuple) else made[0]


# Matrices.


def _core_axes(call: Call, operands: list[Any], arrays: list[Any], mesh: Any) -> Any:
    """Functions of matrices: stacks of them may be sharded, and align by broadcasting."""
    cores = call.op.cores or []
    if len(arrays) != len(operands) or len(cores) < len(arrays):
        raise refused(call, arrays, "every operand is distributed, or none is")
    arrays = [_without_sums(call, x) for x in arrays]
    leads = [x.lengths[: len(x.lengths) - len(core)] for x, core in zip(arrays, cores, strict=False)]
    lead = tuple(np.broadcast_shapes(*leads))
    chosen: list[Any] = []
    for axis in range(len(mesh.axis_names)):
        found = [
            p.dim + len(lead) - len(own)
            for x, own in zip(arrays, leads, strict=True)
            if isinstance(p := x.placements[axis], Shard)
        ]
        if any(dim >= len(lead) for dim in found):
            raise refused(call, arrays, "matrices are whole, and stacks of them are sharded")
        chosen.append(Shard(found[0]) if found else Replicate())
    parts = [
        placed(call, x, chosen, (*lead, *x.lengths[len(own) :])) for x, own in zip(arrays, leads, strict=True)
    ]  # fmt: skip
    return _wrapped(call(*parts), mesh, tuple(chosen), lambda part: (*lead, *part.shape[len(lead) :]))


def _has_letters(call: Call) -> bool:
    return call.op.flow in ("multiplies", "contracts") or call.op.letters is not None


def _is(group: str) -> Callable[[Call], bool]:
    return lambda call: group in groups_of(call.op)


def _has_flow(*flows: str) -> Callable[[Call], bool]:
    return lambda call: call.op.flow in flows


def _is_along_shape(call: Call) -> bool:
    if call.op.family == "random":
        return False  # ranks would draw what is one number
    return call.op.flow in ("elementwise", "casts", "halves") or call.op.group == "copy"


_RULES: list[tuple[Callable[[Call], bool], Callable[..., Any]]] = [
    (_has_flow("assigns"), rows.write),
    (_has_flow("puts"), rows.put),
    (_is_along_shape, _elementwise),
    (_is("reduction"), _reduction),
    (_has_letters, _by_letters),
    (_has_flow("affine"), lambda call, operands, arrays, mesh: _expanded(call, operands, arrays)),
    (_is("gufunc"), _core_axes),
    (_has_flow("joins"), rows.join),
    (lambda call: call.op.is_view or call.op.flow in ("moves", "shifts"), rows.move),
    (rows.is_gather, rows.gather),
    (lambda call: call.op.flow in ("mixes", "sorts", "scans", "gathers", "collects"), _along_axes),
]
