"""`ForeignArray`: the payload of a tensor whose values lie in an array of another library.

It has NumPy's shape, dtype and methods, whatever the library has, so that kernels and rules that are written for NumPy
run on it (`numpy_names.py`). Memory behaves as NumPy's does, too. A view knows its parent and the step that leads from
there. Of a library with views (torch) it is *live*: the library's own view, which sees writes by itself. Otherwise it
is computed, and computed again when what it is a view of was written since. A write to such a view gives its parent a
new value, and so on up to the root, which is written in place where the library can, and otherwise takes the new array.

`shadow` is an array of NumPy's that lies in memory as this one does, and that nobody touches: it says whether a reshape
is a view, what overlaps what, and what strides there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pullback.core.frames import warn
from pullback.core.spec import describe
from pullback.errors import AutogradError, PerformanceWarning
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.devices import device, device_of
from pullback.payloads.evaluate import is_traced
from pullback.payloads.foreign.kinds import Kind, kind_named
from pullback.payloads.foreign.modes import in_kernel, no_sync_mode, on_host_mode

Shadow = np.ndarray[Any, Any]
_MANY_WRITES, _MUCH = 100, 1 << 20


class Unspelled(AutogradError):
    """A library has no function for what is asked, and nothing says how to compute it there."""

    def __init__(self, what: str = "function for it") -> None:
        super().__init__(
            "FOREIGN_OP",
            "an operation cannot be computed on an array of another library",
            why=f"the library has no {what}",
            fix="write it with other operators, or convert with x.to('cpu')",
        )

    def __reduce__(self) -> Any:
        return Unspelled, (self.why.removeprefix("the library has no "),)


class Step:
    """How a view is made: of shadows by NumPy, and of arrays of the library. `is_readonly` ones repeat elements."""

    __slots__ = ("index", "is_readonly", "of_raw", "of_shadow", "places", "put")

    def __init__(
        self, of_shadow: Callable[[Shadow], Shadow], of_raw: Callable[[Kind, Any], Any] | None = None, *,
        index: tuple[Any, ...] | None = None, put: Callable[[Any, Any], Any] | None = None, is_readonly: bool = False,
        places: np.ndarray[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        self.of_shadow = of_shadow
        self.of_raw = of_raw  # None: the elements are gathered one by one
        self.index = index  # of a basic index: the places written, as slices with bounds inside of the array
        self.put = put  # parts of complex numbers: the parent with other parts
        self.is_readonly = is_readonly
        self.places = places  # the elements shown, if that is not what `of_shadow` makes of their numbers


class Link:
    """What an array knows that is a view, or has views, or was written."""

    __slots__ = ("generation", "is_live", "parent", "root", "shadow", "step", "writes")

    def __init__(self, root: ForeignArray, parent: ForeignArray | None = None, step: Step | None = None) -> None:
        self.root = root
        self.parent = parent
        self.step = step
        self.shadow: Shadow | None = None
        self.is_live: bool | None = False  # None: not known yet
        self.writes = 0  # of a root: how often it was written
        self.generation = 0  # the number of writes that are seen here


class ForeignArray(ArrayMembers):
    """An array of another library. Make one with `wrapped`; `array` is the library's own."""

    __slots__ = ("__weakref__", "_array", "device", "dtype", "link", "made_on", "shape")

    evaluate_op: ClassVar[Callable[..., Any]]  # evaluate.py, bound in __init__.py
    assign_payload: ClassVar[Callable[..., None]]
    names: ClassVar[Callable[[device], Any]]  # NumPy's functions on a device: numpy_names.py

    _array: Any
    device: device
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    link: Link | None
    made_on: Any  # of a library with streams: that which the values are computed on; unset otherwise

    @property
    def array(self) -> Any:
        """The library's array, with the values that it has now."""
        link = self.link
        if link is None or link.parent is None or link.generation == link.root.link.writes or self._is_live(link):  # type: ignore[union-attr]
            return self._array
        self._array = taken(link.parent, link.step)  # type: ignore[arg-type]
        link.generation = link.root.link.writes  # type: ignore[union-attr]
        return self._array

    @property
    def kind(self) -> Kind:
        """The library."""
        return self.device.kind

    # Memory.

    @property
    def root(self) -> ForeignArray:
        """The array that has the memory."""
        return self if self.link is None else self.link.root

    def linked(self) -> Link:
        """The record of views and writes, made now if there was none."""
        if self.link is None:
            self.link = Link(self)
            self.link.is_live = self.kind.mutable
        return self.link

    @property
    def shadow(self) -> Shadow:
        """An array of NumPy's that lies in memory as this one does; not to be read or written."""
        link = self.linked()
        if link.shadow is None:
            if link.parent is not None:
                link.shadow = link.step.of_shadow(link.parent.shadow)  # type: ignore[union-attr]
            elif self.kind.views and not self.kind.is_unlinked(self._array):
                link.shadow = at_address(*self.kind.address_of(self._array), self.shape, self.dtype)
            else:
                link.shadow = np.empty(self.shape, self.dtype)
        return link.shadow

    region = shadow

    def viewed(self, step: Step) -> ForeignArray:
        """What a step leads to, as a view of this."""
        link = self.linked()
        made = wrapped(taken(self, step), self.device)
        made.link = Link(link.root, self, step)
        made.link.generation = link.root.link.writes  # type: ignore[union-attr]
        if self.kind.views and step.of_raw is not None:
            made.link.is_live = None
        return made

    def _is_live(self, link: Link) -> bool:
        """Is it the library's own view, in the same memory? Found out when there is a write that it would see."""
        if link.is_live is None:
            link.is_live = link.parent._is_live(link.parent.linked())  # type: ignore[union-attr]
            if link.is_live and self.size:
                shared = self.shadow
                address, strides = self.kind.address_of(self._array)
                link.is_live = shared.__array_interface__["data"][0] == address and shared.strides == strides
        return link.is_live

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        return type(source) is ForeignArray and self.root is source.root

    def write(self, raw: Any) -> None:
        """Replace the values by those of an array of the library, which has the same shape and dtype."""
        link = self.linked()
        root: Any = link.root.link
        if link.parent is None or self._is_live(link):
            if self.kind.mutable:
                self.kind.copy_into(self._array, raw)
            else:
                self._array = raw
            root.writes += 1
            if not self.kind.mutable and root.writes == _MANY_WRITES + 1 and link.root.nbytes > _MUCH:
                warn(
                    f"{_MANY_WRITES} writes to one array of {self.kind.name}, {describe(self.shape, self.dtype)}, each "
                    "of which copies it, since the library's arrays cannot be written; collect the parts in a list and "
                    "use pb.stack, or compute with whole arrays",
                    PerformanceWarning,
                )
            return
        step: Any = link.step
        if step.is_readonly:
            raise memory_error("a write through a view that shows elements more than once", self)
        link.parent.write(changed(link.parent, step, raw))
        self._array, link.generation = raw, root.writes

    def pinned(self) -> ForeignArray:
        """The present values for somebody who keeps them over a write."""
        return wrapped(self.kind.copied(self.array) if self.kind.mutable else self.array, self.device)

    # What is known without values.

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis, as they would be in NumPy."""
        return self.shadow.strides

    @property
    def shown_strides(self) -> tuple[int, ...]:
        """The strides as users see them, where the library has any."""
        if not self.kind.views:
            raise memory_error("strides", self)
        return self.shadow.strides

    @property
    def flags(self) -> Any:
        """How the array lies in memory."""
        return self.shadow.flags

    def __repr__(self) -> str:
        shown = self.kind.shown(self.array)
        return f"ForeignArray({describe(self.shape, self.dtype)}{f', {shown}' if shown else ''} on {self.device})"

    # Values.

    def plain_values(self, into: str) -> np.ndarray[Any, Any]:
        """The values on the host: all but arrays may be asked for anywhere, arrays where NumPy can read the memory."""
        kind = self.kind
        if in_kernel.get():
            raise Unspelled(f"way to compute it without {into}, which is not known yet")
        if no_sync_mode.get() and (kind.lazy or into != "a NumPy array"):
            raise sync_error(self, into)
        if into == "a NumPy array" and not kind.is_host(self.device.raw):
            raise host_error(self)
        return self.downloaded()

    def values_for(self, name: str) -> np.ndarray[Any, Any]:
        """The values for a function that computes with them on the host: an error, unless that was allowed."""
        if on_host_mode.get():
            return np.array(self.downloaded())
        raise AutogradError(
            "FOREIGN_OP",
            f"{name} cannot be computed on {self.device}",
            why="it is computed on the host, and nothing is copied there without a word",
            fix="convert with x.to('cpu'), or allow copies to the host: with pb.interop.on_host():",
        )

    def printed(self) -> np.ndarray[Any, Any] | None:
        """The values as they are printed; None for what is not to be computed, or has no values."""
        if self.kind.lazy or self.kind.is_unlinked(self._array) or no_sync_mode.get():
            return None
        return self.downloaded()

    def downloaded(self) -> np.ndarray[Any, Any]:
        """The values as a host array, wherever they lie. It may share memory."""
        if self.kind.is_unlinked(self.array):
            raise host_error(self)
        return self.kind.download(self.array)

    # What the tape asks of a payload's kind (payloads/kinds.py).

    is_tensor_subclass = False

    @property
    def owns_memory(self) -> bool:
        """Is it no view, and has none been taken of it? Whoever asks where it lies may be told of another's memory."""
        return self.link is None

    @property
    def lies_alone(self) -> bool:
        """May fast paths compute with it? Where there are streams, nodes have to know them."""
        return self.device.kind.streams is None

    @property
    def takes_from(self) -> device:
        """Gradients from there are taken as they are."""
        return self.device

    @property
    def stream(self) -> Any:
        """The library's current stream, if it has any."""
        return self.hollow().stream

    def of_array(self, array: np.ndarray[Any, Any]) -> ForeignArray:
        """The numbers of a host array, of the same kind on the same device."""
        return uploaded(array, self.device)

    constant = of_array

    def hollow(self) -> Like:
        """What nodes keep of a value on this payload."""
        return self.like(self.device, self.shape, self.dtype)

    @staticmethod
    def like(place: device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Like:
        """What stands for an array on a device."""
        if place.kind.streams is not None:
            return Like(place, shape, dtype)
        key = (shape, dtype)
        found: Any = place.functions.get(key)
        if found is None:
            found = place.functions[key] = Like(place, shape, dtype)  # type: ignore[assignment]
        return found

    def take_gradient(self, gradient: Any, root: Any = None) -> Any:
        """A gradient as a value on this device takes it: one number is brought here, all else has to be here."""
        return gradient_on(self.device, gradient)

    # Making others.

    def ones(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ForeignArray:
        """Ones of the same kind on the same device."""
        return self.names(self.device).full(shape, 1, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ForeignArray:
        """Zeros of the same kind on the same device."""
        return self.names(self.device).full(shape, 0, dtype)

    def __deepcopy__(self, memo: Any) -> ForeignArray:
        return wrapped(self.kind.copied(self.array), self.device)

    def __reduce__(self) -> Any:
        return restored, (self.kind.name, str(self.device), np.array(self.downloaded()))


class Like:
    """Stands for a foreign array: where it lies, without memory."""

    is_tensor_subclass = False

    def __init__(self, place: device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.device = self.takes_from = place
        self.shape, self.dtype = shape, dtype
        self.kind = place.kind
        self.stream = None if place.kind.streams is None else place.kind.streams.current_stream()

    def ones(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ForeignArray:
        """Ones on the same device."""
        return ForeignArray.names(self.device).full(shape, 1, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ForeignArray:
        """Zeros on the same device."""
        return ForeignArray.names(self.device).full(shape, 0, dtype)

    def of_array(self, array: np.ndarray[Any, Any]) -> ForeignArray:
        """The numbers of a host array on the same device."""
        return uploaded(array, self.device)

    def hollow(self) -> Like:
        """Itself."""
        return self

    def take_gradient(self, gradient: Any, root: Any = None) -> Any:
        """See `ForeignArray.take_gradient`."""
        return gradient_on(self.device, gradient)


def gradient_on(place: device, gradient: Any) -> Any:
    """A gradient of a value on this device: one number is brought there, all else has to be there."""
    found = device_of(gradient)
    if found is place or is_traced(gradient):
        return gradient
    if gradient.shape == () and type(gradient) in (np.ndarray, ForeignArray):
        return uploaded(gradient.downloaded() if type(gradient) is ForeignArray else gradient, place)
    raise AutogradError(
        "GRAD_DEVICE",
        f"a gradient is on device {found}, but the value is on {place}",
        why="a gradient lies where its value lies; nothing is copied between devices unasked",
        fix=f'return a gradient on {place}, for example by .to("{place}")',
    )


_new = ForeignArray.__new__


def wrapped(raw: Any, place: device, shape: tuple[int, ...] | None = None, dtype: Any = None) -> ForeignArray:
    """A payload on an array of the library."""
    made = _new(ForeignArray)
    made._array = raw
    made.device = place
    made.shape = place.kind.shape_of(raw) if shape is None else shape
    made.dtype = place.kind.dtype_of(raw) if dtype is None else dtype
    made.link = None
    return made


def synced(place: device, operands: Any) -> Any:
    """The present stream of a library with streams, which waits for those that the operands are computed on."""
    streams = place.kind.streams
    present = streams.current_stream()
    for x in operands:
        if type(x) is not ForeignArray:
            continue
        made_on = getattr(x, "made_on", None) or getattr(x.root, "made_on", None)
        if made_on is not None and made_on != present:
            streams.wait(present, made_on)
            streams.record(x.array, present)
    return present


def taken_over(raw: Any, kind: Kind, copy: bool = False) -> ForeignArray:
    """A payload on an array that a user gave, shared or copied."""
    kind.check(raw)
    return wrapped(kind.copied(raw) if copy else raw, kind.device_of(raw))


def restored(name: str, place: str, values: np.ndarray[Any, Any]) -> ForeignArray:
    """A payload that was pickled."""
    kind_named(name)
    return uploaded(values, device(place))


def uploaded(values: Any, place: device) -> ForeignArray:
    """A host array as a payload on a device: a copy."""
    values = np.asarray(values)
    return wrapped(place.kind.upload(values, place.raw), place, values.shape, values.dtype)


def at_address(address: int, strides: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Shadow:
    """An array of NumPy's at an address, which may be that of another device: it is compared, and never read."""
    return np.asarray(_Place({
        "data": (address or 1, False), "shape": shape, "strides": strides, "typestr": dtype.str, "version": 3,
    }))  # fmt: skip


class _Place:
    __slots__ = ("__array_interface__",)

    def __init__(self, described: dict[str, Any]) -> None:
        self.__array_interface__ = described


# Views.


def taken(source: ForeignArray, step: Step) -> Any:
    """The array of the library that a step leads to."""
    if step.of_raw is not None:
        return step.of_raw(source.kind, source.array)
    places = positions(source, step)
    flat = source.kind.namespace.reshape(source.array, (-1,))
    return gathered(source.kind, flat, places, source.device)


def gathered(kind: Kind, flat: Any, places: np.ndarray[Any, Any], place: device) -> Any:
    """Elements of a vector at places that are known on the host."""
    index = kind.upload(np.ascontiguousarray(places).reshape(-1), place.raw)
    return kind.namespace.reshape(kind.namespace.take(flat, index, axis=0), places.shape)


def positions(source: ForeignArray, step: Step) -> np.ndarray[Any, Any]:
    """Which elements of its source, counted in rows, a view shows."""
    return step.places if step.places is not None else step.of_shadow(np.arange(source.size).reshape(source.shape))


def changed(source: ForeignArray, step: Step, raw: Any) -> Any:
    """The values of `source` with `raw` in the place that the step leads to."""
    kind, before = source.kind, source.array
    if step.put is not None:
        return step.put(before, raw)
    xp = kind.namespace
    if step.index is not None:
        taken = np.broadcast_to(np.zeros((), np.bool_), source.shape)[step.index].shape
        return kind.write_item(before, step.index, xp.reshape(raw, taken))
    places = positions(source, step)
    flat, values = xp.reshape(before, (-1,)), xp.reshape(raw, (-1,))
    return xp.reshape(put(kind, flat, places.reshape(-1), values, source.device), source.shape)


def put(kind: Kind, flat: Any, places: np.ndarray[Any, Any], values: Any, place: device) -> Any:
    """A vector with values at places that are known on the host; of equal places the last one counts."""
    found = kind.scattered(flat, places, values, False)
    if found is not None:
        return found
    xp = kind.namespace
    source = np.full(flat.shape[0], -1)
    source[places] = np.arange(places.size)
    taken = gathered(kind, values, np.maximum(source, 0), place) if places.size else flat
    return xp.where(kind.upload(source >= 0, place.raw), taken, flat)


# Errors.


def memory_error(what: str, array: ForeignArray | None = None) -> AutogradError:
    """For what only NumPy's memory can do."""
    shown = "" if array is None else f" of {describe(array.shape, array.dtype)} on {array.device}"
    return AutogradError(
        "FOREIGN_MEMORY",
        f"{what}{shown}",
        why="the memory is another library's, and how it lies there is that library's business",
        fix="use slices, gathers and reshapes, or x.to('cpu') for an array in NumPy's memory",
    )


def host_error(array: ForeignArray) -> AutogradError:
    """For a NumPy array of what is not on the host."""
    return AutogradError(
        "FOREIGN_HOST",
        f"{describe(array.shape, array.dtype)} on {array.device} cannot become a NumPy array by itself",
        why="its values are not in the host's memory, and nothing is copied between devices without a word",
        fix="x.cpu().numpy(), or x.payload for the library's own array",
    )


def sync_error(array: ForeignArray, into: str) -> AutogradError:
    """For a value that is asked of a device where that is forbidden, or of what is not computed."""
    return AutogradError(
        "FOREIGN_SYNC",
        f"{into} is wanted of {describe(array.shape, array.dtype)} on {array.device}",
        why="the program would wait for the device, or compute what is to be computed later",
        fix="keep computing with the tensor, or take the value outside of pb.interop.no_sync()",
    )
