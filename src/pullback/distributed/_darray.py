"""`DArray`: the payload of a distributed tensor, and what operators do to placements.

A payload stands for the whole array, so that the derivative rules of operators are right as they are. Which operator
may run on blocks follows from its declaration: its groups, einsum letters, core axes. What has no rule is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.groups import groups_of
from pullback.distributed._collectives import all_reduce
from pullback.distributed._errors import PlacementError
from pullback.distributed._placements import (
    Lengths,
    Partial,
    Placements,
    Replicate,
    Shard,
    has_empty_block,
    local_lengths,
    moved,
    shards,
)
from pullback.payloads.wrapped import Payload
from pullback.payloads.wrapped.rules import Call
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import wrap


class DArray(Payload, parts=("local",), meta=("mesh", "placements", "lengths")):
    """This rank's part of an array on a mesh."""

    default = "refuse"

    local: Any
    mesh: Any
    placements: Placements
    lengths: Lengths

    @property
    def shape(self) -> Lengths:
        """The shape of the whole array."""
        return self.lengths

    @staticmethod
    def dual_meta(value: Any, root: Any) -> Any:
        """The gradient of a sum is the same for every summand."""
        return value._replace(placements=dual(value.placements))

    @staticmethod
    def check_gradient(value: Any, gradient: Any, root: Any) -> Any:
        """A gradient is placed as its value; that of a sum is on every rank."""
        if gradient.mesh != value.mesh:
            raise PlacementError(f"a gradient on {gradient.mesh} for a value on {value.mesh}")
        return gradient.to(dual(value.placements))

    @staticmethod
    def from_plain(array: Any, meta: Any) -> Any:
        """An array that all ranks have."""
        whole = DArray(array, meta.mesh, (Replicate(),) * len(meta.placements), tuple(array.shape))
        return whole.to(meta.placements)

    def _filled(self, number: int, shape: Lengths, dtype: Any) -> Any:
        placements = self.placements if shape == self.lengths else (Replicate(),) * len(self.placements)
        local = local_lengths(shape, placements, self.mesh)
        if number and Partial() in placements:
            raise PlacementError("ones that are spread as summands")
        return DArray(np.full(local, number, dtype), self.mesh, placements, shape)

    def of_array(self, array: Any) -> Any:
        """An array that all ranks have, with new axes in front."""
        extra = array.ndim - len(self.lengths)
        placements = tuple([Shard(p.dim + extra) if isinstance(p, Shard) else p for p in self.placements])
        return self.from_plain(array, self.meta._replace(placements=placements, lengths=tuple(array.shape)))

    def to(self, placements: Placements) -> Any:
        """The same array, placed in another way."""
        if self.placements == placements:
            return self
        local = moved(self.local, self.mesh, self.lengths, self.placements, placements)
        return DArray(local, self.mesh, placements, self.lengths)

    @classmethod
    def __tensor_unflatten__(cls, inner: Any, meta: Any, size: Any, stride: Any) -> Any:
        if inner["local"].ndim != len(meta.lengths):
            raise PlacementError("vmap cannot map a distributed tensor: map what each rank has, to_local(x)")
        return cls._made(inner, meta)

    def to_numpy(self) -> Any:
        """The array, if every rank has it."""
        if any(each != Replicate() for each in self.placements):
            raise PlacementError(f"an array placed as {self.placements} is on several ranks; full_tensor(x) gathers it")
        return self.local

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PlacementError("a distributed tensor cannot be pickled: it belongs to its ranks; save full_tensor(x)")

    def assign_payload(self, value: Any) -> None:
        """Write a value, which is moved to where this array lies."""
        if isinstance(value, DArray):
            if value.placements != self.placements and Partial() in self.placements:
                raise PlacementError(f"an array placed as {self.placements} is written, which only sums can be; {_FIX}")
            value = value.to(self.placements) if value.mesh == self.mesh else value
        super().assign_payload(value)

    assign_whole = assign_payload

    def __format_parts__(self) -> str:
        return f"DArray({list(self.lengths)}, {self.placements}, local={self.local!r})"


_FIX = "redistribute it first"


def dual(placements: Placements) -> Placements:
    """How gradients of a value with these placements are value."""
    return tuple([Replicate() if isinstance(each, Partial) else each for each in placements])


def refused(call: Call, arrays: list[Any], what: str) -> PlacementError:
    """The error for an operator that cannot run on blocks."""
    placed = ", ".join(str(x.placements) for x in arrays)
    return PlacementError(
        f"{call.name} of arrays placed as {placed}: {what}\n"
        f"  fix  pb.distributed.redistribute(x, [Replicate()] * {len(arrays[0].placements)}) gathers it on all ranks"
    )


@DArray.rule("any")
def evaluate(call: Call, *operands: Any, **params: Any) -> Any:
    """An operator on distributed arrays."""
    arrays = [x for x in operands if isinstance(x, DArray)]
    mesh = arrays[0].mesh
    for x in operands:
        if isinstance(x, DArray):
            if x.mesh != mesh:
                raise PlacementError(f"{call.name}: operands on different meshes, {mesh} and {x.mesh}")
        elif getattr(x, "ndim", 0):
            raise PlacementError(
                f"{call.name}: a plain array of shape {list(x.shape)} beside a distributed one\n"
                "  fix  pb.distributed.distribute(x, mesh, placements), or from_local, says how it is placed"
            )
    for test, rule in _RULES:
        if test(call):
            return rule(call, operands, arrays, mesh)
    if all(p == Replicate() for x in arrays for p in x.placements):
        return _on_all_ranks(call, operands, mesh, arrays[0].placements)
    raise refused(call, arrays, "there is no rule for blocks")


def _on_all_ranks(call: Call, operands: Any, mesh: Any, placements: Placements) -> Any:
    out = call(*[x.local if isinstance(x, DArray) else x for x in operands])
    if isinstance(out, tuple):
        return tuple([DArray(part, mesh, placements, tuple(part.shape)) for part in out])
    return DArray(out, mesh, placements, tuple(out.shape))


def _without_sums(x: Any) -> Any:
    return x.to(dual(x.placements)) if isinstance(x, DArray) else x


# Elementwise: dims align by broadcasting.


def _elementwise(call: Call, operands: Any, arrays: list[Any], mesh: Any) -> Any:
    lengths = np.broadcast_shapes(*[x.lengths for x in arrays])
    rank = len(lengths)
    groups = groups_of(call.op)
    is_linear = "linear" in groups and all(isinstance(x, DArray) or _is_zero(x) for x in operands)
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
    placed: list[Any] = []
    for x in operands:
        if isinstance(x, DArray):
            extra = rank - len(x.lengths)
            adds_up = is_linear and x.dtype.kind in "fc"  # a condition does not: every rank needs all of it
            want = [
                _of_operand(target, own, x.lengths, extra, adds_up)
                for target, own in zip(chosen, x.placements, strict=True)
            ]
            x = x.to(tuple(want)).local
        placed.append(x)
    out = call(*placed)
    if isinstance(out, tuple):
        return tuple([DArray(part, mesh, tuple(chosen), tuple(lengths)) for part in out])
    return DArray(out, mesh, tuple(chosen), tuple(lengths))


def _is_zero(x: Any) -> bool:
    return isinstance(x, (int, float)) and x == 0


def _is_linear_in_the_sum(call: Call, operands: Any, axis: int) -> bool:
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


def _of_operand(target: Any, own: Any, lengths: Lengths, extra: int, is_linear: bool) -> Any:
    """How an operand has to be placed for a result with this placement."""
    if isinstance(target, Shard):
        dim = target.dim - extra
        return Shard(dim) if dim >= 0 and lengths[dim] != 1 else Replicate()
    if isinstance(target, Partial):
        return Partial() if is_linear or isinstance(own, Partial) else Replicate()
    return target


# Reductions.

_AT_ONCE: dict[Any, str] = {np.maximum: "max", np.minimum: "min", np.multiply: "prod"}


def _reduction(call: Call, operands: Any, arrays: list[Any], mesh: Any) -> Any:
    (x,) = operands
    axes, keepdims = call.params["axis"], call.params.get("keepdims", False)
    axes = tuple(range(len(x.lengths))) if axes is None else (axes,) if isinstance(axes, int) else axes
    is_linear = "linear" in groups_of(call.op)
    x = x if is_linear else _without_sums(x)
    inside = [k for k, each in enumerate(x.placements) if isinstance(each, Shard) and each.dim in axes]
    folds = None
    if inside and not is_linear:
        folds = None if call.op.folds is None else _AT_ONCE.get(call.op.folds)
        is_empty = any(has_empty_block(x.lengths[d], shards(x.placements, d), mesh) for d in axes)
        if folds is None or is_empty:
            raise refused(call, arrays, "it needs all elements along an axis of which every rank has a block")
    local = call(x.local)
    if isinstance(local, tuple):
        raise refused(call, arrays, "reductions with several results are not known of blocks")
    if inside and is_linear and _counts(call):
        here = np.prod([x.local.shape[d] for d in axes])
        local = local * 0 if not here else local * (here / np.prod([x.lengths[d] for d in axes]))
    placements = []
    for k, each in enumerate(x.placements):
        if k in inside:
            each = Partial() if folds is None else Replicate()
            if folds is not None:
                with no_grad():
                    local = all_reduce(wrap(local), folds, comm=mesh[mesh.axis_names[k]])._data
        elif isinstance(each, Shard) and not keepdims:
            each = Shard(each.dim - sum(axis < each.dim for axis in axes))
        placements.append(each)
    lengths = tuple([1 if d in axes else n for d, n in enumerate(x.lengths) if keepdims or d not in axes])
    return DArray(local, mesh, tuple(placements), lengths)


def _counts(call: Call) -> bool:
    """Does a linear reduction divide by how many elements there are?"""
    return float(call.run(call.op.name, np.ones(2), axis=(0,))) == 1.0


# Products that sum, by letters.


def _letters(call: Call, arrays: list[Any]) -> tuple[list[str], str]:
    subscripts = call.params.get("subscripts")
    if subscripts is not None:
        inputs, output = subscripts.split("->")
        return inputs.split(","), output
    a, b = (len(x.lengths) for x in arrays)
    batch = "efghijklmnop"[: max(a, b, 2) - 2]
    first = "c" if a == 1 else f"{batch[len(batch) - (a - 2):]}rc"
    second = "c" if b == 1 else f"{batch[len(batch) - (b - 2):]}cs"
    return [first, second], batch + ("r" if a > 1 else "") + ("s" if b > 1 else "")


def _contraction(call: Call, operands: Any, arrays: list[Any], mesh: Any) -> Any:
    if len(arrays) != len(operands):
        raise refused(call, arrays, "every operand of a product is distributed, or none is")
    inputs, output = _letters(call, arrays)
    targets = [list(x.placements) for x in arrays]
    result: list[Any] = []
    for axis in range(len(mesh.axis_names)):
        own = [x.placements[axis] for x in arrays]
        cut = [names[p.dim] if isinstance(p, Shard) else None for names, p in zip(inputs, own, strict=True)]
        # By the whole array, so that all ranks choose the same.
        weights = [math.prod(x.lengths) if c else -1 for x, c in zip(arrays, cut, strict=True)]
        letter = cut[int(np.argmax(weights))]
        if letter is None and own.count(Partial()) == 1:
            result.append(Partial())
            continue
        for k, names in enumerate(inputs):
            place = -1 if letter is None or names.count(letter) != 1 else names.index(letter)
            is_cut = place >= 0 and arrays[k].lengths[place] > 1
            targets[k][axis] = Shard(place) if is_cut else Replicate()
        if letter is None or not any(isinstance(target[axis], Shard) for target in targets):
            result.append(Replicate())
        else:
            result.append(Shard(output.index(letter)) if letter in output else Partial())
    local = call(*[x.to(tuple(target)).local for x, target in zip(arrays, targets, strict=True)])
    known: dict[str, int] = {}
    for names, x in zip(inputs, arrays, strict=True):
        for letter, n in zip(names, x.lengths, strict=True):
            known[letter] = max(known.get(letter, 1), n)
    return DArray(local, mesh, tuple(result), tuple([known[letter] for letter in output]))


# Views.


_VIEWS = ((), ("axes",), ("axis",), ("shape",), ("index",))  # what views have as parameters that treat dims one by one


def _view(call: Call, operands: Any, arrays: list[Any], mesh: Any) -> Any:
    (x,) = operands
    if tuple(call.params) not in _VIEWS:
        raise refused(call, arrays, "such views are not known of blocks")
    whole = np.broadcast_to(np.zeros((), x.dtype), x.lengths)
    out = call(whole)
    if isinstance(out, tuple):
        raise refused(call, arrays, "views in several pieces are not known of blocks")
    lengths = tuple(out.shape)
    where: dict[int, int] = {}
    for each in x.placements:
        if isinstance(each, Shard):
            place = _dim_behind(call, x.lengths, lengths, each.dim)
            if place is None:
                raise refused(call, arrays, "it reaches across the blocks")
            where[each.dim] = place
    placements = tuple([Shard(where[p.dim]) if isinstance(p, Shard) else p for p in x.placements])
    params = dict(call.params)
    if "shape" in params:
        params["shape"] = local_lengths(lengths, placements, mesh)
    return DArray(call(x.local, **params), mesh, placements, lengths)


def _dim_behind(call: Call, before: Lengths, after: Lengths, dim: int) -> int | None:
    """The dim of a view in which a sharded dim lies as it was, None if there is none: found by what the view does to
    the positions along it."""
    if not before[dim]:
        return None
    shape = [1] * len(before)
    shape[dim] = before[dim]
    positions = np.broadcast_to(np.arange(before[dim]).reshape(shape), before)
    found = call(positions)
    if 0 in after:
        return None
    for place, n in enumerate(after):
        if n == before[dim]:
            shape = [1] * len(after)
            shape[place] = n
            if np.array_equal(found, np.broadcast_to(np.arange(n).reshape(shape), after)):
                return place
    return None


def _write(call: Call, operands: Any, arrays: list[Any], mesh: Any) -> Any:
    target, value, *places = operands
    if places:
        raise refused(call, arrays, "writes to places that arrays give are not known of blocks")
    if Partial() in target.placements:
        raise refused(call, arrays, "a summand cannot be overwritten")
    if isinstance(value, DArray):
        want = [_of_operand(p, None, value.lengths, len(target.lengths) - len(value.lengths), False)
                for p in target.placements]  # fmt: skip
        value = value.to(tuple(want)).local
    return DArray(call(target.local, value), mesh, target.placements, target.lengths)


def _core_axes(call: Call, operands: Any, arrays: list[Any], mesh: Any) -> Any:
    """Functions of matrices: stacks of them may be sharded."""
    cores = call.op.cores or []
    depths = {len(x.lengths) - len(core) for x, core in zip(arrays, cores, strict=False)}
    arrays = [_without_sums(x) for x in arrays]
    placements = arrays[0].placements
    is_fine = len(arrays) == len(operands) and len(depths) == 1 and all(x.placements == placements for x in arrays)
    depth = min(depths, default=0)
    if not is_fine or any(isinstance(p, Shard) and p.dim >= depth for p in placements):
        raise refused(call, arrays, "matrices are whole, and stacked in the same way")
    lead = arrays[0].lengths[:depth]
    out = call(*[x.local for x in arrays])
    several = out if isinstance(out, tuple) else (out,)
    parts = [DArray(part, mesh, placements, (*lead, *part.shape[depth:])) for part in several]
    return tuple(parts) if isinstance(out, tuple) else parts[0]


def _is_by_letters(call: Call) -> bool:
    return call.op.flow in ("multiplies", "contracts")


def _is(group: str) -> Callable[[Call], bool]:
    return lambda call: group in groups_of(call.op)


def _is_along_shape(call: Call) -> bool:
    if call.op.family == "random":
        return False  # ranks would draw what is one number
    return call.op.flow in ("elementwise", "casts") or call.op.group == "copy"


_RULES: list[tuple[Callable[[Call], bool], Callable[..., Any]]] = [
    (_is("write"), _write),
    (_is("view"), _view),
    (_is_along_shape, _elementwise),
    (_is("reduction"), _reduction),
    (_is_by_letters, _contraction),
    (_is("gufunc"), _core_axes),
]
