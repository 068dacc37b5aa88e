"""`GradientAverager`: gradients of leaves that are averages over the ranks when `backward()` returns.

Parameters lie in buckets, in the reverse of their order, so that those whose gradients come first are sent first. A
hook of each leaf copies its gradient into its bucket; when a bucket and all before it are full, its sum is started. At
the end of the pass what is missing is filled with zeros, and everything is waited for. Buckets depend on shapes and
options alone, so they are equal on all ranks and in all runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.autograd.graph import queue_callback
from pullback.core.pytree import flatten
from pullback.distributed._communicator import Communicator
from pullback.distributed._errors import DistributedError
from pullback.distributed._mesh import Mesh, group_of
from pullback.distributed._moves import Array, Broadcast
from pullback.distributed._sums import Running, check_virtual_shards, start_gather, start_sum, tree_sum
from pullback.tape.input_metadata import SparseGrad
from pullback.tape.modes import no_grad
from pullback.tape.task import running_task
from pullback.tensors.tensor import Tensor, wrap

UNUSED = ("none", "error")


class Bucket:
    """Parameters whose gradients travel together."""

    def __init__(self, members: list[int], sizes: list[int], dtype: Any) -> None:
        self.members, self.dtype = members, dtype
        self.slots: dict[int, slice] = {}
        at = 0
        for member, size in zip(members, sizes, strict=True):
            self.slots[member] = slice(at, at + size)
            at += size
        self.room: Array = np.zeros(at, dtype)
        self.arrived: set[int] = set()
        self.running: Running | None = None

    def clear(self) -> None:
        """Before a pass. Messages of a pass that was abandoned may still read the memory, so there is new one then."""
        if self.running is not None:
            self.room = np.empty(self.room.size, self.dtype)
        self.room[...] = 0
        self.arrived.clear()
        self.running = None


def buckets_of(shapes: list[tuple[Any, Any]], bucket_bytes: int, first_bucket_bytes: int) -> list[list[int]]:
    """Which parameters, with these shapes and dtypes, travel together: from the last one to the first, by dtype."""
    made: list[tuple[list[int], Any]] = []
    open_ones: dict[Any, int] = {}
    filled: list[int] = []
    sizes = [int(np.prod(shape)) for shape, _ in shapes]
    for member in range(len(shapes) - 1, -1, -1):
        dtype = np.dtype(shapes[member][1])
        nbytes = sizes[member] * dtype.itemsize
        at = open_ones.get(dtype)
        if at is None or filled[at] + nbytes > (first_bucket_bytes if at == 0 else bucket_bytes):
            at = open_ones[dtype] = len(made)
            made.append(([], dtype))
            filled.append(0)
        made[at][0].append(member)
        filled[at] += nbytes
    return [members for members, _ in made]


class _Stop(Exception):
    """All ranks stop, since one has no batches left."""


class GradientAverager:
    """Average the gradients of leaves over the ranks in every `backward()`.

    `params` is a tree of leaves, equal on all ranks; `broadcast=True` makes them so. The gradient is
    `sum(w * g) / sum(w)` over the ranks, where `w` is `averager.weight`, 1 unless set; with `average=False` it is the
    sum. Sums are formed in the order of ranks, or with `reduction="mpi"` by the MPI library. `.grad` is final when
    `backward()` returns. Hooks of tensors see local gradients; those of `register_hook` see averages.

    With `virtual_shards=V` a batch has V equal parts however many ranks there are: every rank calls `backward()` for
    each of its V / ranks parts, `averager.parts` in number, and `.grad` is final after the last. All parts are added
    along one binary tree, which gives the same bits on 1, 2, 4, ... up to V ranks.

    >>> w = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> averager = pb.distributed.GradientAverager([w])
    >>> (w * w).sum().backward()
    >>> w.grad
    tensor([2., 4.])
    """

    def __init__(
        self,
        params: Any,
        *,
        comm: Any = None,
        mesh: Mesh | None = None,
        axis: Any = None,
        reduction: str = "ordered",
        average: bool = True,
        weight: float = 1.0,
        bucket_bytes: int = 25_000_000,
        first_bucket_bytes: int = 1_000_000,
        overlap: bool = True,
        unused: str = "none",
        broadcast: bool = False,
        check_every: int | None = None,
        virtual_shards: int | None = None,
    ) -> None:
        if unused not in UNUSED:
            raise ValueError(f"GradientAverager: unused is one of {UNUSED}, got {unused!r}")
        if reduction not in ("ordered", "mpi"):
            raise ValueError(f'GradientAverager: reduction is "ordered" or "mpi", got {reduction!r}')
        leaves = list({id(leaf): leaf for leaf in flatten(params)[0]}.values())
        for leaf in leaves:
            if not isinstance(leaf, Tensor) or not leaf.is_leaf or not leaf.requires_grad:
                raise TypeError("GradientAverager: parameters are leaves that require grad")
        group = group_of(comm, mesh, axis)
        if virtual_shards is not None:
            check_virtual_shards("GradientAverager", virtual_shards, group.size)
            if weight != 1.0:
                raise ValueError("GradientAverager: virtual_shards has equal parts, without weight=")
        self.params = leaves
        self._shards = virtual_shards
        self.parts = 1 if virtual_shards is None else virtual_shards // group.size
        self._parts: list[list[Array]] = []  # the gradients of parts of this batch so far, by buckets
        self._used_in_parts = np.zeros(len(leaves))
        self.weight = weight
        self._comm: Communicator = group.dup() if group.size > 1 else group
        self._average, self._overlap, self._unused = average, overlap and virtual_shards is None, unused
        self._by_mpi = reduction == "mpi"
        self._check_every, self._passes = 1 if group.check == "values" else check_every, 0
        self._is_local = False  # inside of no_sync
        self._joining: str | None = None  # how `join` ends, inside of it
        self._active: list[bool] = []  # which ranks had a batch in the last pass
        self._task: Any = None  # the pass that is running
        self._before: list[Any] = [None] * len(leaves)  # averages of earlier passes, while a pass adds to none
        self._final: list[Any] = [None] * len(leaves)  # the averages that were stored last
        self._hooks: list[Callable[[Tensor, Tensor], None]] = []
        self.events: list[tuple[str, int]] = []  # of the last pass: gradients that arrived, buckets that were started
        self._agree_on_params(broadcast)
        shapes = [(p.shape, p.dtype) for p in leaves]
        self._buckets = [
            Bucket(members, [leaves[k].size for k in members], leaves[members[0]].dtype)
            for members in buckets_of(shapes, bucket_bytes, first_bucket_bytes)
        ]
        self._bucket_of = {member: bucket for bucket in self._buckets for member in bucket.members}
        self._handles = [p.register_hook(self._arriving(k)) for k, p in enumerate(leaves)]
        self._handles += [p.register_post_accumulate_grad_hook(self._arrived(k)) for k, p in enumerate(leaves)]

    # What users call.

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients add up on this rank and nothing is sent; the next pass outside averages the sum."""
        before, self._is_local = self._is_local, True
        try:
            yield
        finally:
            self._is_local = before

    @contextmanager
    def join(self, drop: str | None = None) -> Iterator[None]:
        """A block in which ranks may have different numbers of passes.

        A rank that leaves it takes part with weight 0 until all have left, and then gets the parameters of one that
        had most. With `drop="last"` all stop as soon as one has left.
        """
        if drop not in (None, "last"):
            raise ValueError(f'join: drop is None or "last", got {drop!r}')
        self._joining = drop or "wait"
        stopped = False
        try:
            yield
        except _Stop:
            stopped = True
        finally:
            self._joining = None
        last: list[bool] = self._active
        while not stopped:
            self._shadow_pass()
            if not any(self._active) or drop == "last":
                break
            last = self._active
        if drop is None and self._comm.size > 1 and any(last):
            self._send_params(last.index(True))

    def register_hook(self, hook: Callable[[Tensor, Tensor], None]) -> None:
        """Call `hook(parameter, average)` when a pass is over, for every parameter that got a gradient."""
        self._hooks.append(hook)

    def wait(self) -> None:
        """Finish the sums that were started in this pass. `backward()` does that by itself."""
        for bucket in self._buckets:
            if bucket.running is not None:
                bucket.running.wait()

    def remove(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    # Parameters.

    def _agree_on_params(self, broadcast: bool) -> None:
        if self._comm.size == 1:
            return
        if broadcast:
            self._send_params(0)
        digests = self._comm.gather_objects(self._digest())
        different = [rank for rank, each in enumerate(digests) if each != digests[0]]
        if different:
            raise DistributedError(
                f"the parameters of ranks {different} are not those of rank 0\n"
                "  why  averages of gradients keep parameters equal only if they were\n"
                "  fix  broadcast=True sends those of rank 0 to all"
            )

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for p in self.params:
            digest.update(f"{p.dtype}{tuple(p.shape)}".encode())
            digest.update(np.ascontiguousarray(p.detach().numpy()).tobytes())
        return digest.hexdigest()

    def _send_params(self, root: int) -> None:
        with no_grad():
            for p in self.params:
                move = Broadcast(self._comm, root=root, label="parameters")
                p.copy_(wrap(self._comm.perform(move, p.detach().numpy())))

    # A pass.

    def _arriving(self, k: int) -> Callable[[Any], None]:
        def before(gradient: Any) -> None:
            p = self.params[k]
            if p.grad is not None and p.grad is self._final[k]:
                # An average of an earlier pass: what this one adds is kept apart from it.
                self._before[k] = p.grad
                p.grad = None

        return before

    def _arrived(self, k: int) -> Callable[[Tensor], None]:
        def after(p: Tensor) -> None:
            task = running_task("GradientAverager")
            if task is not self._task:
                self._task = task
                self._begin()
                if not self._is_local:
                    queue_callback(self._finish)
            if not self._is_local:
                self._put(k, p)

        return after

    def _begin(self) -> None:
        self._passes += 1
        self.events = []
        for bucket in self._buckets:
            bucket.clear()

    def _put(self, k: int, p: Tensor) -> None:
        bucket = self._bucket_of[k]
        bucket.arrived.add(k)
        self.events.append(("arrived", k))
        if self._comm.size == 1 and self._shards is None:
            return
        gradient: Any = p.grad
        local = gradient.to_dense() if isinstance(gradient, SparseGrad) else gradient.detach().numpy()
        slot = bucket.room[bucket.slots[k]]
        slot[...] = np.asarray(local).reshape(-1)
        if self._average:
            slot *= self.weight
        if self._overlap:
            self._start_full(lambda each: len(each.arrived) == len(each.members))
            for each in self._buckets:
                if each.running is not None:
                    each.running.test()

    def _start_full(self, is_full: Callable[[Bucket], bool]) -> None:
        for number, bucket in enumerate(self._buckets):
            if bucket.running is None:
                if not is_full(bucket):
                    return
                text = f"bucket {number} of gradients, pass {self._passes},"
                bucket.running = start_sum(self._comm, bucket.room, text, self._by_mpi)
                self.events.append(("started", number))

    def _shadow_pass(self) -> None:
        """This rank has no batch: it takes part with zeros that count nothing."""
        self._begin()
        self._finish(is_active=False)

    def _finish(self, is_active: bool = True) -> None:
        """Start what was not started, wait for everything, and store the averages."""
        self._task = None
        comm = self._comm
        if self._shards is not None:
            self._finish_part(self._shards)
            return
        if comm.size == 1:
            self._active = [is_active]
            self._check_used(self._used()[None] > 0)
            for k in range(len(self.params)):
                if k in self._bucket_of[k].arrived:
                    self._set(k, self.params[k].grad)
            return
        self._start_full(lambda bucket: True)
        said = np.concatenate([[self.weight if is_active else 0.0, is_active], self._used()]).astype(np.float64)
        header = start_gather(comm, said, "weights and flags")
        sums = []
        for bucket in self._buckets:
            assert bucket.running is not None
            sums.append(bucket.running.wait())
            bucket.running = None
        every = header.wait()
        self._active = [bool(flag) for flag in every[:, 1]]
        used = every[:, 2:] > 0
        if self._joining == "last" and not all(self._active):
            self._restore()
            raise _Stop
        if is_active or self._joining is None:
            self._check_used(used)
        self._store(sums, float(every[:, 0].sum()), used)
        if self._check_every and self._passes % self._check_every == 0:
            self._agree_on_params(False)

    def _finish_part(self, shards: int) -> None:
        """Keep the gradients of a part, or add up those of all parts on all ranks along a binary tree."""
        self._parts.append([bucket.room.copy() for bucket in self._buckets])
        self._used_in_parts = np.maximum(self._used_in_parts, self._used())
        if len(self._parts) < self.parts:
            self._restore()
            return
        parts, self._parts = self._parts, []
        used, self._used_in_parts = self._used_in_parts, np.zeros(len(self.params))
        sums = [tree_sum([part[k] for part in parts]) for k in range(len(self._buckets))]
        every = used[None]
        if self._comm.size > 1:
            begun = [start_gather(self._comm, x, f"bucket {k} of gradients") for k, x in enumerate(sums)]
            header = start_gather(self._comm, used, "flags")
            sums = [tree_sum(list(running.wait())) for running in begun]
            every = header.wait()
        self._check_used(every > 0)
        self._store(sums, float(shards), every > 0)

    def _used(self) -> Array:
        return np.array([k in self._bucket_of[k].arrived for k in range(len(self.params))], np.float64)

    def _check_used(self, used: Array) -> None:
        if self._unused == "error" and not used.all():
            missing = {k: np.flatnonzero(~used[:, k]).tolist() for k in range(used.shape[1]) if not used[:, k].all()}
            shown = "; ".join(f"parameter {k} on ranks {ranks}" for k, ranks in missing.items())
            self._restore()
            raise DistributedError(f"parameters got no gradient: {shown}")

    def _restore(self) -> None:
        for k, p in enumerate(self.params):
            if self._bucket_of[k].arrived or self._before[k] is not None:
                p.grad = self._before[k]
            self._before[k] = None

    def _store(self, sums: Iterable[Array], total: float, used: Array) -> None:
        for bucket, summed in zip(self._buckets, sums, strict=True):
            if self._average and total:
                summed = summed / np.asarray(total, summed.real.dtype)
            for k, slot in bucket.slots.items():
                if used[:, k].any():
                    self._set(k, wrap(np.array(summed[slot]).reshape(self.params[k].shape)))

    def _set(self, k: int, average: Any) -> None:
        """Store the average of this pass, added to that of passes before."""
        p, earlier = self.params[k], self._before[k]
        self._before[k] = None
        p.grad = average if earlier is None else earlier + average
        self._final[k] = p.grad
        for hook in self._hooks:
            hook(p, p.grad)
