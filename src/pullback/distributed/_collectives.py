"""The collectives that users call: arguments checked, trees packed, everything else is a `Move`."""

from __future__ import annotations

import functools
import operator as _operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import current, open_levels
from pullback.distributed._communicator import Communicator
from pullback.distributed._errors import DistributedError
from pullback.distributed._mesh import Mesh, group_of
from pullback.distributed._moves import (
    AllGather,
    AllReduce,
    AllToAll,
    Broadcast,
    Gather,
    Move,
    Reduce,
    ReduceScatter,
    Scatter,
    SendRecv,
    Vary,
    split_sizes,
)
from pullback.distributed._operators import Recv, Send, call
from pullback.distributed._wires import MPI_NAMES, REDUCTIONS
from pullback.tape.history import check_tracked_write
from pullback.tensors.tensor import Tensor, as_constant, wrap

_KINDS = "iufc"


# Arguments.


def operand(x: Any, who: str, booleans: bool = False) -> Tensor:
    """An operand: a tensor, or an array in the byte order of this machine."""
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    if not isinstance(x, (Tensor, np.ndarray, np.generic, int, float, complex)):
        raise TypeError(f"{who}: expected a Tensor, an array or a tree of them, got {type(x).__name__}")
    tensor = as_constant(x)
    if tensor.dtype.kind == "b" and not booleans:
        raise TypeError(f'{who}: booleans are not added; use op="any" or "all", or x.astype(int)')
    if tensor.dtype.kind not in _KINDS + "b":
        raise TypeError(f"{who}: numbers travel between ranks, and {tensor.dtype} is none")
    return tensor


def _each(tree: Any, function: Callable[[Any], Any]) -> Any:
    """The function of one tensor, or of every leaf of a tree."""
    leaves, structure = flatten(tree)
    if len(leaves) == 1 and leaves[0] is tree:
        return function(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def _packed(tree: Any, who: str, function: Callable[[Any], Any], booleans: bool = False) -> Any:
    """An elementwise collective of a tree: one message per dtype, in the order of leaves."""
    leaves, structure = flatten(tree)
    if len(leaves) == 1 and leaves[0] is tree:
        return function(operand(tree, who, booleans))
    tensors = [operand(leaf, who, booleans) for leaf in leaves]
    groups: dict[Any, list[int]] = {}
    for position, tensor in enumerate(tensors):
        groups.setdefault(tensor.dtype, []).append(position)
    results: list[Any] = [None] * len(tensors)
    for members in groups.values():
        flat = function(pb.concat([tensors[k].reshape(-1) for k in members]))
        at = 0
        for k in members:
            size = tensors[k].size
            results[k] = flat[at : at + size].reshape(tensors[k].shape)
            at += size
    return unflatten(structure, results)


def axis_of(axis: int, ndim: int, who: str) -> int:
    """The number of an axis from the front."""
    number = _operator.index(axis)
    if not ndim:
        raise ValueError(f"{who}: a tensor without axes has no axis {axis}")
    if not -ndim <= number < ndim:
        raise ValueError(f"{who}: axis {axis} of a tensor with {ndim} axes")
    return number % ndim


def _peer(rank: Any, comm: Communicator, who: str) -> int:
    number = _operator.index(rank)
    if not 0 <= number < comm.size:
        raise ValueError(f"{who}: {rank} is no rank of {comm.name}, which has {comm.size}")
    return number


def _sizes(sizes: Sequence[int] | None, length: int, comm: Communicator, who: str) -> tuple[int, ...]:
    if sizes is None:
        return split_sizes(length, comm.size)
    found = tuple(_operator.index(n) for n in sizes)
    if len(found) != comm.size or any(n < 0 for n in found) or sum(found) != length:
        raise ValueError(f"{who}: sizes {found} for {comm.size} ranks must add up to {length}")
    return found


def _op_name(op: Any) -> Any:
    """The name of a reduction: a text, or an operator of mpi4py that has one."""
    if isinstance(op, str):
        return op
    name = getattr(op, "name", "") or getattr(op, "Get_name", lambda: "")()
    return MPI_NAMES.get(name, op)


# Reductions.


def all_reduce(
    x: Any, op: Any = "sum", *, replicated: bool = False, deterministic: bool = False, comm: Any = None,
    mesh: Mesh | None = None, axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """The reduction of the blocks of all ranks, on every rank. `x` may be a tree.

    `op` is "sum", "mean", "max", "min", "prod", "any", "all", "bitwise_and", "bitwise_or" or "bitwise_xor". Gradients
    are those of the sum of all ranks' losses; `replicated=True` says that the result counts as one value, which needs
    gradients that are equal on all ranks. `deterministic=True` adds in the order of ranks.

    >>> pb.distributed.all_reduce(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, axis)
    if op == "sum" and type(x) is Tensor and x.dtype.kind in _KINDS:  # the common call
        return call(_sum_of(group, replicated, deterministic), x, requires_grad)
    op = _op_name(op)

    def one(tensor: Tensor) -> Any:
        return _reduced(tensor, op, group, replicated, deterministic, requires_grad)

    return _packed(x, "all_reduce", one, booleans=op in ("any", "all", "max", "min") or not isinstance(op, str))


@functools.lru_cache(256)
def _sum_of(comm: Communicator, replicated: bool, ordered: bool) -> Move:
    return AllReduce(comm, replicated=replicated, ordered=ordered)


def _reduced(x: Tensor, op: Any, comm: Communicator, replicated: bool, ordered: bool, needs_grad: Any) -> Any:
    label = f"all_reduce({op})" if isinstance(op, str) else ""
    if op == "sum":
        return call(_sum_of(comm, replicated, ordered), x, needs_grad)
    if op == "mean":
        x = x if x.dtype.kind in "fc" else x.astype(np.float64)
        return call(AllReduce(comm, label="mean", replicated=replicated, ordered=ordered), x, needs_grad) / comm.size
    if op in ("max", "min", "prod"):
        if op != "prod" and x.dtype.kind == "c":
            raise TypeError(f"all_reduce: complex numbers have no {op}")
        if op != "prod" and x.dtype.kind not in "fc":
            return call(AllReduce(comm, op=op), x)
        every = call(AllGather(comm, label=label, stack=True, replicated=replicated), x, needs_grad)
        fold: Any = pb.prod if op == "prod" else pb.amax if op == "max" else pb.amin
        return fold(every, axis=0)
    if isinstance(op, str):
        if op not in REDUCTIONS:
            raise ValueError(f"all_reduce: unknown op {op!r}")
        if x.dtype.kind not in "biu":
            raise TypeError(f"all_reduce: {op} is for booleans and integers, got {x.dtype}")
        if op in ("any", "all") and x.dtype.kind != "b":
            x = x != 0
        return call(AllReduce(comm, op=op), x)
    if x.requires_grad and current().grad:
        raise DistributedError("all_reduce: an operation of MPI has no derivative, and x requires grad: use x.detach()")
    return call(AllReduce(comm, op=op), x)


def vary(x: Any, *, comm: Any = None, mesh: Mesh | None = None, axis: Any = None) -> Any:
    """A value that all ranks hold and that counts once, as each rank uses it for itself: `x`, unchanged.

    Its gradient is the sum of what the ranks send back, on every rank.

    >>> pb.distributed.vary(pb.tensor(2.0))
    tensor(2.)
    """
    group = group_of(comm, mesh, axis)
    return _packed(x, "vary", lambda tensor: call(Vary(group), tensor), booleans=True)


def reduce(
    x: Any, root: int = 0, op: Any = "sum", *, comm: Any = None, mesh: Mesh | None = None, axis: Any = None,
    requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """The reduction of all blocks on the rank `root`, and zeros on the others.

    >>> pb.distributed.reduce(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, axis)
    top = _peer(root, group, "reduce")
    op = _op_name(op)

    def one(tensor: Tensor) -> Any:
        if op == "sum":
            return call(Reduce(group, root=top), tensor, requires_grad)
        if op == "mean":
            tensor = tensor if tensor.dtype.kind in "fc" else tensor.astype(np.float64)
            return call(Reduce(group, root=top, label="reduce(mean)"), tensor, requires_grad) / group.size
        found = _reduced(tensor, op, group, False, False, requires_grad)
        return found if group.rank == top else pb.where(wrap(np.asarray(False)), found, wrap(np.zeros((), found.dtype)))

    return _packed(x, "reduce", one, booleans=op in ("any", "all", "max", "min"))


def broadcast(
    x: Any, root: int = 0, *, like: Any = None, comm: Any = None, mesh: Mesh | None = None, axis: Any = None,
    requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """The block of the rank `root` on every rank. What others give says shape and dtype, and is not read.

    >>> pb.distributed.broadcast(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, axis)
    top = _peer(root, group, "broadcast")
    given = _described(x, like, group.rank == top, "broadcast")
    return _packed(given, "broadcast", lambda t: call(Broadcast(group, root=top), t, requires_grad), booleans=True)


def _described(x: Any, like: Any, is_root: bool, who: str) -> Any:
    """What a rank gives that only describes: zeros in the place of shapes and dtypes."""
    if x is None:
        if like is None or is_root:
            raise ValueError(f"{who}: x is None" + (" on the root" if is_root else ", and like= says nothing either"))
        x = like
    if is_root:
        return x
    leaves, structure = flatten(x)
    made = [
        leaf if isinstance(leaf, (Tensor, np.ndarray)) or not hasattr(leaf, "shape")
        else np.zeros(leaf.shape, leaf.dtype)
        for leaf in leaves
    ]  # fmt: skip
    return made[0] if len(leaves) == 1 and leaves[0] is x else unflatten(structure, made)


def barrier(*, comm: Any = None, mesh: Mesh | None = None, axis: Any = None) -> None:
    """Return when all ranks are here."""
    if current().trace is not None:
        raise DistributedError("barrier: a compiled function waits in its collectives; call barrier() outside of it")
    group_of(comm, mesh, axis).barrier()


# Blocks.


def all_gather(
    x: Any, axis: int = 0, *, stack: bool = False, sizes: Sequence[int] | None = None, uneven: bool = False,
    comm: Any = None, mesh: Mesh | None = None, mesh_axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """The blocks of all ranks one behind the other along `axis`, on every rank; `stack=True` makes a new axis.

    Blocks are equally long, or `sizes` says how long each is, or `uneven=True` asks the ranks.

    >>> pb.distributed.all_gather(pb.tensor([1.0, 2.0]), stack=True)
    tensor([[1., 2.]])
    """
    group = group_of(comm, mesh, mesh_axis)

    def one(leaf: Any) -> Any:
        tensor = operand(leaf, "all_gather", booleans=True)
        at = axis_of(axis, tensor.ndim + stack, "all_gather")
        lengths = None if stack else _lengths(tensor, at, sizes, uneven, group, "all_gather")
        return call(AllGather(group, axis=at, stack=stack, sizes=lengths), tensor, requires_grad)

    return _each(x, one)


def _lengths(
    x: Tensor, axis: int, sizes: Sequence[int] | None, uneven: bool, comm: Communicator, who: str
) -> tuple[int, ...] | None:
    if sizes is not None:
        found = tuple(_operator.index(n) for n in sizes)
        if len(found) != comm.size or found[comm.rank] != x.shape[axis]:
            here = f"rank {comm.rank} of {comm.size} has {x.shape[axis]} along axis {axis}"
            raise ValueError(f"{who}: sizes {found}, and {here}")
        return found
    if not uneven:
        return None
    if current().trace is not None:
        raise DistributedError(f"{who}: uneven=True asks other ranks, which a trace never does\n  fix  give sizes=")
    return tuple(comm.gather_objects(int(x.shape[axis])))


def reduce_scatter(
    x: Any, op: str = "sum", axis: int = 0, *, sizes: Sequence[int] | None = None, comm: Any = None,
    mesh: Mesh | None = None, mesh_axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """This rank's block of the sum (or mean) of all ranks' arrays.

    >>> pb.distributed.reduce_scatter(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, mesh_axis)
    if op not in ("sum", "mean"):
        raise ValueError(f'reduce_scatter: op is "sum" or "mean", got {op!r}')

    def one(leaf: Any) -> Any:
        tensor = operand(leaf, "reduce_scatter")
        if op == "mean" and tensor.dtype.kind not in "fc":
            tensor = tensor.astype(np.float64)
        at = axis_of(axis, tensor.ndim, "reduce_scatter")
        lengths = _sizes(sizes, tensor.shape[at], group, "reduce_scatter")
        label = "" if op == "sum" else "reduce_scatter(mean)"
        found = call(ReduceScatter(group, axis=at, sizes=lengths, label=label), tensor, requires_grad)
        return found if op == "sum" else found / group.size

    return _each(x, one)


def gather(
    x: Any, root: int = 0, axis: int = 0, *, sizes: Sequence[int] | None = None, uneven: bool = False,
    comm: Any = None, mesh: Mesh | None = None, mesh_axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """The blocks of all ranks one behind the other, on the rank `root`; on others length 0 along `axis`.

    >>> pb.distributed.gather(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, mesh_axis)
    top = _peer(root, group, "gather")

    def one(leaf: Any) -> Any:
        tensor = operand(leaf, "gather", booleans=True)
        at = axis_of(axis, tensor.ndim, "gather")
        lengths = _lengths(tensor, at, sizes, uneven, group, "gather")
        return call(Gather(group, root=top, axis=at, sizes=lengths), tensor, requires_grad)

    return _each(x, one)


def scatter(
    x: Any, root: int = 0, axis: int = 0, *, sizes: Sequence[int] | None = None, like: Any = None, comm: Any = None,
    mesh: Mesh | None = None, mesh_axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """This rank's block of what the rank `root` has. What others give says shape and dtype, and is not read.

    >>> pb.distributed.scatter(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, mesh_axis)
    top = _peer(root, group, "scatter")

    def one(leaf: Any) -> Any:
        tensor = operand(leaf, "scatter", booleans=True)
        at = axis_of(axis, tensor.ndim, "scatter")
        lengths = _sizes(sizes, tensor.shape[at], group, "scatter")
        return call(Scatter(group, root=top, axis=at, sizes=lengths), tensor, requires_grad)

    return _each(_described(x, like, group.rank == top, "scatter"), one)


def all_to_all(
    x: Any, split_axis: int = 0, concat_axis: int = 0, *, sizes: Any = None, joined: Sequence[int] | None = None,
    comm: Any = None, mesh: Mesh | None = None, mesh_axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """Block r of every rank's array, on rank r, one behind the other along `concat_axis`.

    `sizes` are the lengths of the blocks along `split_axis`: one per rank, or for every rank a list of them. `joined`
    are the lengths that the ranks have along `concat_axis`, if they differ.

    >>> pb.distributed.all_to_all(pb.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, mesh_axis)

    def one(leaf: Any) -> Any:
        tensor = operand(leaf, "all_to_all", booleans=True)
        split, concat_at = (axis_of(a, tensor.ndim, "all_to_all") for a in (split_axis, concat_axis))
        rows = _matrix(sizes, tensor.shape[split], group)
        if split == concat_at:
            return call(AllToAll(group, split_axis=split, concat_axis=split, split=rows), tensor, requires_grad)
        if len(set(rows)) != 1:
            raise ValueError("all_to_all: blocks that are joined along another axis are equally cut on all ranks")
        here = tensor.shape[concat_at]
        lengths = (here,) * group.size if joined is None else tuple(_operator.index(n) for n in joined)
        if len(lengths) != group.size or lengths[group.rank] != here:
            raise ValueError(f"all_to_all: joined {lengths}, and rank {group.rank} has {here} along axis {concat_at}")
        move = AllToAll(group, split_axis=split, concat_axis=concat_at, split=rows, joined=lengths)
        return call(move, tensor, requires_grad)

    return _each(x, one)


def _matrix(sizes: Any, length: int, comm: Communicator) -> tuple[tuple[int, ...], ...]:
    if sizes is None:
        return (split_sizes(length, comm.size),) * comm.size
    rows = [sizes] * comm.size if np.ndim(sizes) == 1 else list(sizes)
    found = tuple(tuple(_operator.index(n) for n in row) for row in rows)
    if len(found) != comm.size or any(len(row) != comm.size for row in found) or sum(found[comm.rank]) != length:
        raise ValueError(f"all_to_all: sizes {found} for {comm.size} ranks, where rank {comm.rank} has {length}")
    return found


# Neighbours and pairs.


def sendrecv(
    x: Any, dest: int | None, source: int | None, *, like: Any = None, comm: Any = None, mesh: Mesh | None = None,
    axis: Any = None, requires_grad: bool | None = None,
) -> Any:  # fmt: skip
    """Send `x` to the rank `dest` and return what `source` sent; zeros if `source` is None. All ranks call it.

    `like` says shape and dtype of what comes, if that is another one than `x`'s.

    >>> pb.distributed.sendrecv(pb.tensor([1.0, 2.0]), 0, 0)
    tensor([1., 2.])
    """
    group = group_of(comm, mesh, axis)
    to, back = (None if r is None else _peer(r, group, "sendrecv") for r in (dest, source))
    if x is None:
        if like is None or to is not None:
            missing = "like= says nothing either" if like is None else "dest is not"
            raise ValueError(f"sendrecv: x is None, and {missing}")
        x = np.zeros(like.shape, like.dtype)
    expected = None if like is None else tuple(like.shape)
    if like is not None and np.dtype(like.dtype) != as_constant(x).dtype:
        raise TypeError(f"sendrecv: x is {as_constant(x).dtype} and like is {like.dtype}; one message has one dtype")

    def one(tensor: Tensor) -> Any:
        shape = tuple(tensor.shape) if expected is None else expected
        return call(SendRecv(group, dest=to, source=back, like=shape), tensor, requires_grad)

    return _packed(x, "sendrecv", one, booleans=True)


def shift(
    x: Any, mesh: Mesh, axis: str, by: int = 1, *, periodic: bool = True, requires_grad: bool | None = None
) -> Any:
    """What the rank `by` places below along an axis of the mesh has; zeros beyond an open end.

    >>> grid = pb.distributed.mesh(1, "x")
    >>> pb.distributed.shift(pb.tensor([1.0, 2.0]), grid, "x")
    tensor([1., 2.])
    """
    dest, source = (mesh.neighbour(axis, step, periodic=periodic) for step in (by, -by))
    return sendrecv(x, dest, source, mesh=mesh, axis=axis, requires_grad=requires_grad)


def send(x: Any, dest: int, tag: int = 0, *, comm: Any = None, mesh: Mesh | None = None, axis: Any = None) -> Tensor:
    """Send `x` to the rank `dest`, which calls `recv`; nobody is waited for. Returns a token, a zero without axes.

    The backward pass is reached through the token: tie the loss to it, `loss = pb.distributed.tie(loss, token)`.
    """
    group = group_of(comm, mesh, axis)
    return call(Send(group, dest=_peer(dest, group, "send"), tag=_tag(tag)), operand(x, "send", booleans=True))


def recv(
    like: Any, source: int, tag: int = 0, *, requires_grad: bool | None = None, anchor: Any = None, comm: Any = None,
    mesh: Mesh | None = None, axis: Any = None,
) -> Tensor:  # fmt: skip
    """What the rank `source` sends with `send`: shape and dtype are those of `like`.

    `requires_grad` (by default that of `like`) records it, so that gradients go back to the sender. Forward mode needs
    an `anchor`, a number that depends on what is differentiated; its value does not matter.
    """
    group = group_of(comm, mesh, axis)
    number = _peer(source, group, "recv")
    dtype, shape = np.dtype(like.dtype), tuple(like.shape)
    if anchor is None:
        if open_levels and current().forward_mask == 0 and any(level for level in open_levels):
            raise DistributedError(
                "recv: tangents are computed here, and nothing says whether the message has one\n"
                "  fix  give anchor=, a number computed from what is differentiated, such as x.sum()"
            )
        anchor = wrap(np.zeros((), dtype))
        if requires_grad is None:
            requires_grad = bool(getattr(like, "requires_grad", False))
    else:
        anchor = (as_constant(anchor).reshape(-1)[:1].sum() * 0).astype(dtype)
    return call(Recv(group, source=number, tag=_tag(tag), like=shape), anchor, requires_grad)


def _tag(tag: int) -> int:
    number = _operator.index(tag)
    if not 0 <= number < 2**15:
        raise ValueError(f"a tag is a number from 0 to {2**15 - 1}, got {tag}")
    return number


def tie(loss: Any, *tensors: Any) -> Tensor:
    """`loss`, unchanged; in backward, zeros go to the tensors. So a rank whose loss does not use the result of a
    collective takes part in its backward pass.

    >>> pb.distributed.tie(pb.tensor(2.0), pb.tensor([1.0, 2.0]))
    tensor(2.)
    """
    total = as_constant(loss)
    for each in tensors:
        tensor = as_constant(each)
        nothing = pb.where(wrap(np.asarray(False)), tensor, wrap(np.zeros((), tensor.dtype))).sum()
        nothing = nothing.real if nothing.dtype.kind == "c" and total.dtype.kind != "c" else nothing
        total = total + nothing.astype(total.dtype)
    return total


# In place.


def written(x: Tensor, value: Callable[[], Any], who: str) -> Tensor:
    """`x` with other values, which are computed by communicating."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{who}: expected a Tensor, got {type(x).__name__}")
    if current().grad:
        check_tracked_write(x)  # before anything is sent: the other ranks would wait
    return x.copy_(value())


def all_reduce_(x: Tensor, op: Any = "sum", **options: Any) -> Tensor:
    """`all_reduce`, written to `x`."""
    return written(x, lambda: all_reduce(x, op, **options), "all_reduce_")


def broadcast_(x: Tensor, root: int = 0, **options: Any) -> Tensor:
    """`broadcast`, written to `x`."""
    return written(x, lambda: broadcast(x, root, **options), "broadcast_")
