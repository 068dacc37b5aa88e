"""`AccumulateGrad`: the node behind a leaf. It adds incoming gradients to the leaf's `.grad`."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from pullback.core.spec import LARGE, describe
from pullback.core.state import current, next_stamp
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.payloads.batched.indexing import assign
from pullback.payloads.kinds import has_kind, hollow
from pullback.tape.input_metadata import InputMetadata, SparseGrad
from pullback.tape.node import ACCUMULATOR_SEQUENCE, Node
from pullback.tensors.overwrites import make_way
from pullback.tensors.tensor import UNSET, Leaf, Tensor, extra_of, is_inference, meta_of, own_counter, wrap

_creation_lock = threading.Lock()


class AccumulateGrad(Node):
    """The sink of gradients for one leaf, shared by all graphs over it. It owns the leaf; the leaf finds it weakly.

    `seq` is the time of creation, which tells the engine which nodes can reach it; in the order of execution
    accumulators come first, as soon as they are ready.
    """

    __slots__ = ("variable",)

    variable: Tensor
    deps = None

    def name(self) -> str:
        return "AccumulateGrad"

    def _sequence_nr(self) -> int:
        return ACCUMULATOR_SEQUENCE

    @property
    def topological_nr(self) -> int:
        """Always 0."""
        return 0

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        like = self.output_kind(0)
        metadata = InputMetadata.from_spec(self.spec, None if like is None else hollow(like))
        metadata.set_grad_dtype(self.grad_dtype_of(0))
        return (metadata,)

    def output_kind(self, number: int) -> Any:
        payload = self.variable._data
        return payload if has_kind(payload) else None

    def grad_dtype_of(self, output_nr: int) -> Any:
        meta = self.variable._meta
        if meta is None or meta.grad_dtype is UNSET:
            return self.spec.dtype  # type: ignore[union-attr]
        return meta.grad_dtype

    def is_bare(self) -> bool:
        """Is nothing to be done with a gradient but to add it to `.grad`?"""
        meta = self.variable._meta
        return meta is None or (
            not meta.hooks
            and not meta.post_accumulate_hooks
            and (meta.grad_dtype is UNSET or meta.grad_dtype is self.spec.dtype)  # type: ignore[union-attr]
        )

    def is_waited_for(self) -> bool:
        """Is a hook to be called as soon as `.grad` is there?"""
        meta = self.variable._meta
        return meta is not None and bool(meta.post_accumulate_hooks)

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        self.accumulate(grads[0], as_tensors, False)
        return ()

    def adopt(self, gradient: np.ndarray[Any, Any]) -> bool:
        """Make an array that nobody else holds the first `.grad` of a plain leaf; False if anything is unusual.

        `accumulate` does the same in the end. bench/eager.py::binary_small_backward
        """
        leaf = self.variable
        spec = leaf._spec
        if not (
            leaf._extra is None
            and type(leaf._node) is Leaf
            and gradient.flags.carray
            and gradient.base is None
            and gradient.dtype is spec.dtype
            and gradient.shape == spec.shape
            and type(leaf._data) is np.ndarray
            and leaf._data.flags.c_contiguous
            and not current().inference
        ):
            return False
        meta = leaf._meta or meta_of(leaf)
        try:
            meta.lock.acquire()  # half the price of a `with`; inside, so that no signal leaves it locked
            if meta.grad is not None:
                return False
            # path: adopted gradient
            tensor = Tensor()
            tensor._data = gradient
            tensor._spec = spec
            tensor._node = tensor._counter = tensor._extra = tensor._meta = None
            meta.grad = tensor
        finally:
            meta.lock.release()
        return True

    def memory_for(self, gradient: np.ndarray[Any, Any]) -> Any:
        """The array of a `.grad` that a gradient can be added to just so, and is about to be; None if not."""
        leaf = self.variable
        existing: Any = leaf._meta.grad  # type: ignore[union-attr]
        if not (
            (leaf._extra is None or leaf._extra.view is None)
            and type(leaf._node) is Leaf
            and type(existing) is Tensor
            and type(existing._data) is np.ndarray
            and existing._data.shape == gradient.shape
            and leaf._spec.shape == self.spec.shape  # type: ignore[union-attr]
            and _is_writable(existing)
        ):
            return None
        make_way(existing)
        counter = own_counter(existing)
        if counter is not None:
            counter.bump()
        return existing._data

    def accumulate(self, gradient: Any, create_graph: bool, owned: bool) -> bool:
        """Add `gradient` to the leaf's `.grad`. False if there was nothing to add or nobody to receive it.

        `owned` promises that nobody else holds the gradient, so that it may become `.grad` without a copy.
        """
        leaf = self.variable
        # A view that was a leaf of its own may have got a history from its base, which asking for `grad_fn` builds.
        is_interior = leaf._extra is not None and leaf._extra.view is not None and leaf.grad_fn is not None
        if is_interior or type(leaf._node) is not Leaf:
            if leaf._node is not None:
                raise AutogradError(
                    "LEAF_MOVED",
                    f"a leaf {describe(leaf.shape, leaf.dtype)} was overwritten with a differentiable result before "
                    "its gradient arrived",
                    where="AccumulateGrad",
                    why="it is no longer a leaf, so its gradient has no place to be stored",
                    fix="run backward before the in-place operation, or write to a clone of the leaf",
                )
            return False
        if gradient is None:
            return False
        if leaf._spec is not self.spec and leaf._spec.shape != self.spec.shape:  # type: ignore[union-attr]
            raise _reshaped_error(leaf, self.spec)
        meta = meta_of(leaf)
        with meta.lock:
            recorded = create_graph and is_differentiated(gradient, meta.grad)
            meta.grad = _accumulated(meta.grad, gradient, leaf, recorded, owned)
        return True


class Delivery:
    """What a pass gives to plain leaves, all of it or nothing: a pass that is interrupted takes it back.

    A first gradient becomes `.grad` as soon as it is there. Sums with a `.grad` that was there before are computed at
    the end of the pass, by one call of C code that no signal comes between.
    """

    __slots__ = ("replaced", "sums")

    def __init__(self) -> None:
        self.replaced: list[tuple[AccumulateGrad, Any]] = []  # with the `.grad` that was there before
        self.sums: list[tuple[AccumulateGrad, Any]] = []

    def give(self, accumulator: AccumulateGrad, gradient: Any, owned: bool) -> None:
        """Let a leaf have its gradient. `owned` promises that nobody else holds it."""
        meta = accumulator.variable._meta
        if meta is not None and meta.grad is not None:
            self.sums.append((accumulator, gradient))
            return
        self.replaced.append((accumulator, None))
        if not (owned and accumulator.adopt(gradient)):
            accumulator.accumulate(gradient, False, owned)

    def finish(self) -> None:
        """Add what was put off."""
        sums, self.sums = self.sums, []
        if len(sums) < 2:
            for accumulator, gradient in sums:
                accumulator.accumulate(gradient, False, False)
            return
        others, targets, payloads = [], [], []
        metas = sorted([meta_of(accumulator.variable) for accumulator, _ in sums], key=id)
        with ExitStack() as locks:
            for meta in metas:
                locks.enter_context(meta.lock)
            for accumulator, gradient in sums:
                target = accumulator.memory_for(gradient)
                if target is None:
                    others.append((accumulator, gradient))
                else:
                    targets.append(target)
                    payloads.append(gradient)
            deque(map(_ADD, targets, payloads, targets), maxlen=0)
        for accumulator, gradient in others:
            accumulator.accumulate(gradient, False, False)

    def note(self, accumulator: AccumulateGrad) -> None:
        """Remember the `.grad` of a leaf that is about to get another one in its place."""
        meta = accumulator.variable._meta
        self.replaced.append((accumulator, None if meta is None else meta.grad))

    def take_back(self) -> None:
        """Put back what was there, unless somebody else has added to the new gradient since."""
        for accumulator, before in self.replaced:
            meta = accumulator.variable._meta
            if meta is not None and type(meta.grad) is Tensor:
                counter = meta.grad._counter
                if meta.grad is not before and (counter is None or counter.value == 0):
                    meta.grad = before


_ADD = partial(np.add, casting="unsafe")


def accumulator_of(tensor: Tensor) -> AccumulateGrad:
    """The accumulator of a leaf that requires grad: the living one, or a new one."""
    reference = tensor._node.accumulator
    node = None if reference is None else reference()
    return new_accumulator(tensor) if node is None else node


def accumulators_of(*tensors: Tensor) -> tuple[AccumulateGrad, ...]:
    """The accumulators of several leaves."""
    return tuple([accumulator_of(tensor) for tensor in tensors])


def new_accumulator(tensor: Tensor) -> AccumulateGrad:
    """The accumulator of a leaf that had none a moment ago."""
    leaf = tensor._node
    node = AccumulateGrad()
    node.variable = tensor
    node.spec = tensor._spec
    node.next = ()
    node.rare = None
    node.seq = next_stamp()
    made = weakref.ref(node)
    try:
        _creation_lock.acquire()  # half the price of a `with`; inside, so that no signal leaves it locked
        while True:
            reference = leaf.accumulator
            known: AccumulateGrad | None = None if reference is None else reference()
            if known is not None:
                return known
            # Native code does not ask for the lock (`compiler/machine/leaves.py`). CPython changes threads at calls and
            # at jumps backward, so nobody comes between this question and the line behind it.
            if leaf.accumulator is reference:
                leaf.accumulator = made
                return node
    finally:
        _creation_lock.release()


def _reshaped_error(leaf: Tensor, spec: Any) -> AutogradError:
    return AutogradError(
        "GRAD_SHAPE",
        f"a gradient arrived for a leaf that was {spec!r} in the forward pass and is {leaf._spec!r} now",
        where="AccumulateGrad",
        why="the leaf got another shape in between, and gradients are not broadcast into the shape of a leaf",
        fix="run the forward pass again, or backward before the leaf is changed",
    )


def is_differentiated(gradient: Any, existing: Any) -> bool:
    """Does somebody differentiate the sum of these, by recording the pass or through tangents?"""
    return current().grad or any(
        type(part) is Tensor and part._extra is not None and part._extra.forward is not None
        for part in (gradient, existing)
    )


def _accumulated(existing: Any, gradient: Any, leaf: Tensor, create_graph: bool, owned: bool) -> Any:
    if existing is None:
        return _first_gradient(gradient, leaf, create_graph, owned)
    if create_graph:
        return _dense(existing) + _dense(gradient)
    payload = gradient._data if type(gradient) is Tensor else gradient
    if isinstance(existing, SparseGrad):
        if isinstance(payload, SparseGrad):
            existing.accumulate_(payload)
            return existing
        return wrap(existing.to_dense() + payload)
    target = existing._data
    if _is_writable(existing):
        _check_same_shape(target, payload)
        del target
        make_way(existing)
        target = existing._data
        if type(target) is not np.ndarray:
            assign(target, target + (payload.to_dense() if isinstance(payload, SparseGrad) else payload))
        elif isinstance(payload, SparseGrad):
            np.add.at(target, payload.indices, payload._plain_values())
        else:
            np.add(target, payload, out=target, casting="unsafe")
        counter = own_counter(existing)
        if counter is not None:
            counter.bump()
        return existing
    total = target + (payload.to_dense() if isinstance(payload, SparseGrad) else payload)
    return as_made_here(wrap(total if hasattr(type(total), "evaluate_op") else np.asarray(total)))


def _is_writable(gradient: Tensor) -> bool:
    """May a pass add to this `.grad` in place? Not to a broadcast, nor to an inference tensor outside that mode."""
    data = gradient._data
    data = data if type(data) is np.ndarray else getattr(data, "region", None)
    if data is None or not data.flags.writeable:
        return False
    if is_inference(gradient) and not current().inference:
        return False
    return (
        0 not in data.strides
        or data.size == 0
        or all(stride or length == 1 for stride, length in zip(data.strides, data.shape, strict=True))
    )


def _check_same_shape(target: Any, payload: Any) -> None:
    if tuple(payload.shape) != target.shape:
        raise AutogradError(
            "GRAD_SHAPE",
            f"the gradient has shape {list(payload.shape)}, but the `.grad` already there has {list(target.shape)}",
            where="AccumulateGrad",
            why="gradients of one leaf are added up, and these two cannot be broadcast into one another",
            fix="set `.grad = None` after giving the leaf data of another shape",
        )


def _dense(gradient: Any) -> Any:
    return wrap(gradient.to_dense()) if isinstance(gradient, SparseGrad) else gradient


def _first_gradient(gradient: Any, leaf: Tensor, create_graph: bool, owned: bool) -> Any:
    if create_graph or isinstance(gradient, SparseGrad):
        return gradient.clone()
    payload = gradient._data if type(gradient) is Tensor else gradient
    if type(payload) is not np.ndarray:
        if has_kind(payload):
            payload = registry["copy"].call(payload, order="K")  # others may have been given the same one
        elif hasattr(payload, "region"):
            is_columns = leaf._data.is_contiguous("F") and not leaf._data.is_contiguous()
            payload = registry["copy"].call(payload, order="F" if is_columns else "C")
        return as_made_here(wrap(np.array(payload) if isinstance(payload, np.generic) else payload))
    data = leaf._data
    if (
        owned
        and payload.base is None
        and payload.flags.writeable
        and (_has_layout(payload, data) or not current().layout_policy)
    ):
        return _wrap_like(payload, leaf)
    return _wrap_like(_copied_like(payload, data), leaf)


def _wrap_like(payload: Any, leaf: Tensor) -> Tensor:
    """A constant Tensor on a payload that usually has the leaf's own shape and dtype."""
    spec = leaf._spec
    if payload.dtype is not spec.dtype or payload.shape != spec.shape:
        return as_made_here(wrap(payload))
    tensor = Tensor()
    tensor._data = payload
    tensor._spec = spec
    tensor._node = tensor._counter = tensor._extra = tensor._meta = None
    return as_made_here(tensor)


def as_made_here(tensor: Tensor) -> Tensor:
    """A gradient that was just made: in inference mode it is an inference tensor."""
    if current().inference:
        extra_of(tensor).inference = True
    return tensor


def _has_layout(payload: Any, data: Any) -> bool:
    if type(data) is np.ndarray and payload.strides == data.strides:
        return bool(payload.flags.c_contiguous) or _is_dense(data)
    if type(data) is np.ndarray and _is_dense(data):
        return all(
            own == theirs or length == 1
            for own, theirs, length in zip(payload.strides, data.strides, payload.shape, strict=True)
        )
    return bool(payload.flags.c_contiguous)


def _is_dense(data: Any) -> bool:
    """True if the elements fill a stretch of memory without gaps or overlap, in some order of the axes."""
    if data.flags.c_contiguous or data.flags.f_contiguous:
        return True
    expected = data.itemsize
    for stride, length in sorted(zip(data.strides, data.shape, strict=True)):
        if length == 1:
            continue
        if stride != expected:
            return False
        expected *= length
    return True


def _copied_like(payload: Any, data: Any) -> np.ndarray[Any, Any]:
    """A copy of `payload` with the strides of `data` if that is dense, C-contiguous otherwise."""
    if type(data) is np.ndarray and data.shape == payload.shape and _is_dense(data):
        copy = np.empty_like(data, dtype=payload.dtype)
    else:
        copy = np.empty(payload.shape, payload.dtype)
    if payload.ndim == 2 and payload.size >= LARGE and _collides(payload, copy):
        # path: transposed gradient in strips
        for k in range(0, payload.shape[1], _STRIP):
            copy[:, k : k + _STRIP] = payload[:, k : k + _STRIP]
    else:
        np.copyto(copy, payload)
    return copy


_STRIP = 16  # elements


def _collides(payload: Any, copy: Any) -> bool:
    """Is a matrix copied to its transpose, and do elements along its rows fall on few places of the cache?"""
    return payload.flags.f_contiguous and copy.flags.c_contiguous and payload.strides[1] % 1024 == 0


def _references_of_base(view: Any) -> int:
    base = view.base
    return sys.getrefcount(base)


_ONE_VIEW = _references_of_base(np.zeros(1)[:])


def whole_of(view: Any) -> Any:
    """The memory of a large view that shows all of it, in order, as an array of its own, unless somebody else holds it.

    A gradient that was reshaped on its way to a leaf need not be copied there.
    """
    if view.size < LARGE or not view.flags.c_contiguous or _references_of_base(view) != _ONE_VIEW:
        return view
    base = view.base
    if type(base) is not np.ndarray or not base.flags.owndata or not base.flags.carray or base.size != view.size:
        return view
    if base.dtype is not view.dtype:
        return view
    # path: adopted view
    base.resize(view.shape, refcheck=False)
    return base
