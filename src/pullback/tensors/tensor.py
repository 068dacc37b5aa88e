"""`Tensor`: a payload with autograd fields. This module holds the fields and nothing that computes.

The slots every operation touches sit on the tensor. What most tensors never need is in two records that are made
on demand: `Extra` changes how operations treat the tensor (it is a view, carries tangents, is read-only), so fast
paths ask only whether it is there; `Meta` is read by backward passes and by diagnostics (gradient, hooks, name).

`_node` is None for a constant, a `Leaf` for a leaf that requires grad, and otherwise the node that made the tensor.
Methods are bound by `autograd` (differentiation) and `ops` (arithmetic); see the style guide on layers.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.outside import as_numbers
from pullback.core.pytree import add_leaf_type
from pullback.core.spec import Spec, spec_of
from pullback.core.state import current
from pullback.payloads.batched import BatchedArray
from pullback.payloads.devices import CPU, device, device_of
from pullback.payloads.evaluate import innermost
from pullback.payloads.kinds import filled, has_kind
from pullback.tensors.versions import VersionCounter, dated_counter, join_group, new_counter

ndarray = np.ndarray


class Leaf:
    """Marks a tensor as a leaf that requires grad, and finds its accumulator while a graph keeps one alive."""

    __slots__ = ("accumulator",)

    def __init__(self) -> None:
        self.accumulator: Any = None  # weak reference: the accumulator owns the tensor, not the other way round


class Meta:
    """What backward passes and diagnostics know of a tensor beyond its slots."""

    __slots__ = (
        "grad",
        "grad_dtype",
        "hooks",
        "lock",
        "name",
        "parked_leaf",
        "post_accumulate_hooks",
        "retains_grad",
    )

    def __init__(self) -> None:
        self.grad: Any = None
        self.hooks: Any = None
        self.post_accumulate_hooks: Any = None
        self.retains_grad = False
        self.grad_dtype: Any = UNSET
        self.name: str | None = None
        self.parked_leaf: Leaf | None = None  # the leaf marker of a tensor whose requires_grad was switched off
        self.lock = threading.RLock()


class Extra:
    """What makes operations treat a tensor with care: fast paths require that there is none, or a light view's
    (`ViewInfo`)."""

    __slots__ = ("deps", "forward", "inference", "output_nr", "readonly", "view")

    born = 0  # see `born_of`

    def __init__(self) -> None:
        self.view: Any = None  # ViewInfo of an autograd view
        self.output_nr = 0  # which output of its node the tensor is
        self.inference = False  # made in inference mode: no version counter
        self.readonly = False  # lent to a hook, a custom backward or a kernel
        self.forward: Any = None  # tangents by level
        self.deps: Any = None  # tokens of the reverse transforms its history depends on

    def general(self) -> Extra:
        """What can hold anything; a lighter kind of this makes it on demand."""
        return self


class Away:
    """The `Extra` of a tensor on an array of another library that is nothing else: all of them share `AWAY`, and fast
    paths for such arrays ask for it. Whoever has more to say about a tensor asks `extra_of` for an `Extra`."""

    __slots__ = ()

    # As `Extra` has them.
    born = output_nr = 0
    inference = readonly = False
    view = forward = deps = None

    def general(self) -> Extra:
        """An `Extra` that can be written."""
        return Extra()


AWAY: Any = Away()


class Within:
    """The `Extra` of a tensor that the body of a reverse transform has made, and that is nothing else: a constant, or
    with a history that leads to the transform's arguments and nowhere else. All of them share this record. Fast paths
    ask for it where they ask for None in normal modes. When the body has ended, all of them are constant at once."""

    __slots__ = ("born", "deps")

    # As `Extra` has them.
    output_nr = 0
    inference = readonly = False
    view = forward = None

    def __init__(self, born: int, deps: Any) -> None:
        self.born = born
        self.deps = deps

    def general(self) -> Extra:
        """An `Extra` that says the same and can be written."""
        extra = Extra()
        extra.deps = self.deps
        return extra
UNSET: Any = object()

if TYPE_CHECKING:  # the methods that `tape`, `operators` and `interop` bind from their tables: a stub, by `make stubs`
    from pullback.tensors.members import Members as _Members
else:
    _Members = object


class Tensor(_Members):
    """An n-dimensional array that can be differentiated. Make one with `pb.tensor` or `pb.asarray`.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_counter", "_data", "_extra", "_meta", "_node", "_spec")

    # There is no constructor: `Tensor()` followed by stores is what every operation pays, so it is kept bare.
    _data: Any
    _spec: Spec
    _node: Any
    _counter: VersionCounter | None
    _extra: Extra | None
    _meta: Meta | None

    def __dir__(self) -> list[str]:
        """Public names only: Python says what was meant by a misspelt one if there are at most 750 to compare with."""
        return [name for name in object.__dir__(self) if name[0] != "_"]

    @property
    def _nr(self) -> int:
        """Which output of its node the tensor is. A tensor without `Extra` is output 0, so fast paths never ask."""
        return 0 if self._extra is None else self._extra.output_nr

    @_nr.setter
    def _nr(self, number: int) -> None:
        if number or (self._extra is not None and self._extra.output_nr):
            extra_of(self).output_nr = number

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        if self._extra is None or type(self._data) is ndarray:
            return self._spec.shape
        return getattr(self._data, "shown_shape", self._spec.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self._spec.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._spec.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        if self._extra is None or type(self._data) is ndarray:
            return self._spec.size
        shown = getattr(self._data, "shown_shape", None)
        return self._spec.size if shown is None else math.prod(shown)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self._spec.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements together."""
        shown = getattr(self._data, "shown_shape", None)
        return (self._spec.size if shown is None else math.prod(shown)) * self._spec.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes to step in memory per axis, as in NumPy."""
        return tuple(getattr(self._data, "shown_strides", self._data.strides))

    @property
    def device(self) -> device:
        """Where the data lies: "cpu" for NumPy's memory, else the library and its device, as in "torch:cuda:0"."""
        return CPU if type(self._data) is ndarray else device_of(self._data)

    @property
    def layout(self) -> str:
        """How the data is stored: "dense", or "jagged" for rows of different lengths."""
        return "dense" if self._extra is None else getattr(self._data, "layout", "dense")

    @property
    def is_nested(self) -> bool:
        """Has the tensor rows of different lengths (`pb.nested`)?"""
        return self._extra is not None and getattr(self._data, "is_nested", False)

    @property
    def name(self) -> str | None:
        """Free text for diagnostics, given at construction."""
        return None if self._meta is None else self._meta.name


add_leaf_type(Tensor)


def wrap(payload: Any) -> Tensor:
    """A plain constant Tensor on `payload`, sharing its memory."""
    if type(payload) is ndarray and (trace := current().trace) is not None:
        payload = trace.home(payload)
    tensor = Tensor()
    tensor._data = payload
    tensor._spec = spec_of(payload)
    tensor._node = None
    tensor._counter = None
    tensor._extra = extra_for(payload)
    tensor._meta = None
    return tensor


def extra_for(payload: Any) -> Any:
    """The `Extra` of a tensor on this payload that is nothing else. Fast paths are for arrays that lie alone."""
    if type(payload) is ndarray:
        return None
    return AWAY if getattr(payload, "lies_alone", False) else Extra()


def as_constant(value: Any) -> Tensor:
    """`value` as a Tensor without history; an ndarray's memory is shared."""
    if isinstance(value, Tensor):
        return value
    if type(value) is ndarray:
        return wrap(value)
    as_tensor = getattr(type(value), "as_tensor", None)  # of a number in a trace
    if as_tensor is not None:
        return as_tensor(value)
    if isinstance(value, ndarray):
        return wrap(as_numbers(value))
    return wrap(value if hasattr(type(value), "evaluate_op") else np.asarray(value))


def alias(tensor: Tensor) -> Tensor:
    """A new constant Tensor on the same payload with the same version counter."""
    twin = Tensor()
    twin._counter = shared_counter(tensor)
    twin._data = tensor._data
    twin._spec = tensor._spec
    twin._node = None
    twin._extra = extra_for(tensor._data)
    twin._meta = None
    if tensor._extra is not None and tensor._extra.inference:
        twin._extra = Extra()
        twin._extra.inference = True
    return twin


def shared_counter(tensor: Tensor) -> VersionCounter | None:
    """The tensor's version counter, for somebody else who gets the memory: from now on it is shared.

    None for inference tensors, which are not counted. To be called before the memory is handed on: whatever refers to
    the payload already counts as a graph that keeps it.
    """
    counter = tensor._counter
    if counter is not None and counter.shared:
        return counter
    counter = own_counter(tensor)
    if counter is not None:
        with _counter_lock:
            if not counter.shared:
                _share(counter, tensor)
    return counter


def _share(counter: VersionCounter, tensor: Tensor) -> None:
    held = sys.getrefcount(tensor._data) > ALONE or _owner_is_held(tensor)
    if counter.epoch is not None:
        counter.begin_epochs([tensor._data] if held else [])
    else:
        counter.begin_epochs([])
        counter.early = tensor._data if held else None
    note_leaf(counter, tensor)
    counter.shared = True


def _owner_is_held(tensor: Tensor) -> bool:
    owner = getattr(tensor._data, "base", None)
    return owner is not None and sys.getrefcount(owner) > ALONE_OWNER


def from_outside(tensor: Tensor) -> Tensor:
    """Say that the memory of a new tensor came from outside, where others may have it."""
    counter = own_counter(tensor)
    if counter is not None and not counter.shared:
        note_leaf(counter.made_shared(), tensor)
        join_group(counter, _owner_of(tensor._data))
    return tensor


def to_outside(tensor: Tensor, again: bool = False) -> None:
    """Say that the memory of a tensor is about to be handed to NumPy or others, who may put further tensors on it.
    `again` if it is other memory than before."""
    counter = shared_counter(tensor)
    if counter is not None and (again or counter.group is None):
        join_group(counter, _owner_of(tensor._data))


def _owner_of(memory: Any) -> Any:
    """The array that all of the memory belongs to, or another library's array."""
    if hasattr(memory, "array") and hasattr(type(memory), "evaluate_op"):
        return memory.array
    while isinstance(memory, np.ndarray) and isinstance(memory.base, np.ndarray):
        memory = memory.base
    return memory


def note_leaf(counter: VersionCounter | None, tensor: Tensor) -> None:
    """Tell the counter if the tensor is a leaf, whose memory is not preserved by default."""
    if counter is not None and type(tensor._node) is Leaf:
        leaves = [] if counter.leaves is None else [each for each in counter.leaves if each() is not None]
        if all(each() is not tensor for each in leaves):
            leaves.append(weakref.ref(tensor))
        counter.leaves = leaves


def own_counter(tensor: Tensor) -> VersionCounter | None:
    """The tensor's version counter, made now if it had none, for the tensor itself; None for inference tensors."""
    counter = tensor._counter
    if counter is None and not (tensor._extra is not None and tensor._extra.inference):
        # setdefault-like under the GIL: two threads may race here, and one counter must win.
        with _counter_lock:
            counter = tensor._counter
            if counter is None:
                born = born_of(tensor)
                counter = tensor._counter = dated_counter(born) if born else new_counter()
    return counter


_counter_lock = threading.Lock()


def born_of(tensor: Tensor) -> int:
    """When the memory of a tensor was made: known, and not 0, if that was inside a function transform."""
    if tensor._counter is not None:
        return tensor._counter.born
    return 0 if tensor._extra is None else tensor._extra.born


def version_of(tensor: Tensor) -> int:
    """How often the tensor's memory was written through tracked operations."""
    return 0 if tensor._counter is None else tensor._counter.value


def meta_of(tensor: Tensor) -> Meta:
    """The tensor's `Meta`, made now if it had none."""
    if tensor._meta is None:
        with _counter_lock:
            if tensor._meta is None:
                tensor._meta = Meta()
    return tensor._meta


def extra_of(tensor: Tensor) -> Extra:
    """The tensor's `Extra`, made now if it had none. A lighter thing in its place is replaced by one that says the same
    and can be written."""
    extra = tensor._extra
    if type(extra) is not Extra:
        if extra is not None:
            own_counter(tensor)  # from now on it alone knows when the memory was made
        extra = tensor._extra = Extra() if extra is None else extra.general()
    return extra


def is_inference(tensor: Tensor) -> bool:
    """True if the tensor was made in inference mode."""
    return tensor._extra is not None and tensor._extra.inference


def _references_to_a_payload() -> tuple[int, int]:
    """The reference counts of a payload that only its tensor has, and of what owns its memory."""
    tensor = Tensor()
    tensor._data = np.empty(2)[1:]
    owner = tensor._data.base
    return sys.getrefcount(tensor._data), sys.getrefcount(owner)


ALONE, ALONE_OWNER = _references_to_a_payload()


# Constants that the machinery itself makes, with the rights of a tensor made where it is called.

def made_here(payload: Any) -> Tensor:
    """A constant on `payload`. Inside a transform it may be written, and inside vmap widened, like the body's own."""
    tensor = wrap(payload)
    modes = current()
    if modes.within is not None and tensor._extra is None:
        tensor._extra = modes.within
    elif modes.transforms:
        tensor._counter = dated_counter()
    is_plain = type(payload) is np.ndarray or modes.trace is not None or type(payload) in innermost
    if modes.vmaps and is_plain and type(tensor._data) is not BatchedArray:
        tensor._data = BatchedArray(tensor._data, ())
        extra_of(tensor)
    return tensor


def gradient_like(value: Tensor, number: int, root: Any = None) -> Tensor:
    """A gradient of `value` that nobody has given: 0 or 1 everywhere, on the same kind of payload.

    `root` is a payload like what the pass began with, if that has a kind."""
    return _filled_like(value, number, True, root)


def zero_tangent(value: Tensor) -> Tensor:
    """A tangent of `value` that is 0, on the same kind of payload."""
    return _filled_like(value, 0, False)


def _filled_like(value: Tensor, number: int, is_gradient: bool, root: Any = None) -> Tensor:
    payload = value._data
    if has_kind(payload):
        return made_here(filled(payload, number, root, is_gradient))
    if type(payload) is BatchedArray and has_kind(payload.data):
        inner: Any = payload.data
        return wrap(BatchedArray((inner.ones if number else inner.zeros)(value.shape, value.dtype), ()))
    return made_here((np.ones if number else np.zeros)(value.shape, value.dtype))
