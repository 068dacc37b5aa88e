"""Forward-mode levels, and the two things that hold tangents for them.

`ForwardGrad` is the general one: any tangents, by level. `Dual` is the light one, and what a chain of elementwise
operations makes: it stands in the place of a tensor's `Extra` and holds one tangent, as a bare array, and nothing else.
Whoever asks it for more than that (`forward`, or `extra_of`) turns it into the general thing first, so nobody but the
short way of eager/fast_forward.py has to know that it exists.

A level knows its holders weakly: it keeps no tensor alive, and takes the tangents from those that live when it closes.
"""

from __future__ import annotations

import operator
import sys
import weakref
from _thread import RLock  # what threading.RLock calls, which takes longer than making one
from typing import Any

import numpy as np

from pullback.core.spec import Spec
from pullback.core.state import next_stamp, open_levels
from pullback.tensors.tensor import Extra, Tensor, shared_counter, wrap
from pullback.tensors.versions import VersionCounter, dated_counter, new_counter
from pullback.tensors.views import ViewInfo

# How many references to holders, living or not, a level has before it looks for those that have died.
_MOST_REFERENCES = 1024


class ForwardLevel:
    """One direction of differentiation in progress. Later stamps are more inner."""

    __slots__ = ("__weakref__", "index", "is_open", "limit", "lock", "references", "stamp")

    def __init__(self, index: int | None = None) -> None:
        self.stamp = next_stamp()
        self.index = index  # the depth among the user's levels; None for the level of a transform
        self.is_open = True
        self.lock = RLock()  # memory allocated under it may run finalizers, and these may come here
        # Only appended to without the lock. Who appends compares the length with `limit` after it, which is less than
        # any length once the level is closed: so no holder is missed, whatever other threads do.
        self.references: list[weakref.ref[Any]] = []
        self.limit = _MOST_REFERENCES
        open_levels.add(self)

    @property
    def holders(self) -> list[Any]:
        """The living holders of tangents at this level."""
        return [holder for reference in self.references[:] if (holder := reference()) is not None]

    def register(self, holder: ForwardGrad | Dual) -> None:
        """Take the tangent from this holder when the level closes; now, if it has been closed meanwhile."""
        self.references.append(weakref.ref(holder))
        if len(self.references) > self.limit:
            self.tidy(holder)

    def tidy(self, holder: ForwardGrad | Dual) -> None:
        """What to do if there are more references than `limit`, of which the one to `holder` is the last."""
        with self.lock:
            if self.is_open:
                self.limit = sys.maxsize
                count = len(self.references)  # others may add some meanwhile, behind these
                self.references[:count] = [each for each in self.references[:count] if each() is not None]
                self.limit = max(_MOST_REFERENCES, 2 * len(self.references))
                return
        holder.pop(self, None)

    def close(self) -> None:
        """Remove the tangents of this level from everything that holds one."""
        with self.lock:
            self.is_open = False
            self.limit = -1
            references, self.references = self.references, []
        open_levels.discard(self)
        # Kept to the end of this call: freeing a tangent may run code that comes back to this level.
        released = [holder.pop(self, None) for holder in filter(None, map(operator.call, references))]
        del released

    def __repr__(self) -> str:
        name = "of a transform" if self.index is None else str(self.index)
        return f"<forward level {name}{'' if self.is_open else ', closed'}>"


class ForwardGrad(dict[ForwardLevel, Tensor]):
    """The tangents of one tensor by level.

    A `borrowed` tangent belongs to somebody else, or is the tangent of another tensor too; it is copied before it is
    written in place.
    """

    # A dict made by C code and a field that is unset until it is needed.
    __slots__ = ("__weakref__", "borrowed")

    borrowed: set[ForwardLevel]

    __hash__ = object.__hash__  # type: ignore[assignment]  # known by identity

    def lends(self, level: ForwardLevel) -> bool:
        """Is the tangent at this level borrowed?"""
        return level in getattr(self, "borrowed", ())


class Dual(Extra):
    """The `Extra` of a real tensor on an array with one tangent and without anything else: neither view nor history.

    `slope` is the tangent, as an array, or as a Tensor once somebody has seen it; the tangents by level if somebody
    asked for these; None when there are none any more.
    `born` is when the memory of the tensor was made, for which it needs no counter then.
    `memory` is what is known of the memory of the tangent: when it was made, which is 0 outside of function transforms;
    or its version counter, if it is somebody else's tangent too and may not be written.
    """

    # Every operation on duals makes one. The fields of `Extra` are constants here: to write them is to call `extra_of`.
    __slots__ = ("__weakref__", "born", "level", "memory", "slope")

    view: Any = None
    deps = None
    inference = readonly = False
    output_nr = 0

    born: int
    level: ForwardLevel
    slope: Any
    memory: int | VersionCounter

    __init__ = object.__init__  # who makes one fills it: a constructor would cost as much as the rest

    @property
    def forward(self) -> ForwardGrad | None:
        """The tangents by level. Once somebody has asked, they are kept in this form."""
        slope = self.slope
        return slope if slope is None or type(slope) is ForwardGrad else self._spread()

    @forward.setter
    def forward(self, entries: ForwardGrad | None) -> None:
        self.slope = entries

    def _spread(self) -> ForwardGrad | None:
        level, slope = self.level, self.slope
        if slope is None or type(slope) is ForwardGrad:
            return slope
        entries = ForwardGrad({level: self._as_tensor(slope)})
        with level.lock:
            if self.slope is not slope:  # others were first: they asked as well, or they closed the level
                return self.slope
            if not level.is_open:
                return None
            self.slope = entries
            if type(self.memory) is not int:
                entries.borrowed = {level}
        level.register(entries)
        return entries

    def _as_tensor(self, slope: Any, spec: Spec | None = None) -> Tensor:
        """A tangent as a Tensor. Who knows that no graph is being recorded gives the spec of the primal."""
        if type(slope) is Tensor:
            return slope
        array = slope if type(slope) is np.ndarray else np.asarray(slope)
        if spec is None or array.dtype is not spec.dtype:
            tangent = wrap(array)
        else:
            tangent = Tensor()
            tangent._data, tangent._spec = array, spec
            tangent._node = tangent._extra = tangent._meta = tangent._counter = None
        memory = self.memory
        if memory:
            tangent._counter = dated_counter(memory) if isinstance(memory, int) else memory
        return tangent

    def tangent_at(self, level: ForwardLevel, spec: Spec) -> Tensor | None:
        """The tangent at `level` if there is no other; from now on it is kept as this Tensor, which has `spec`."""
        slope = self.slope
        if type(slope) is ForwardGrad:
            return slope.get(level) if len(slope) == 1 else None
        if slope is None or self.level is not level:
            return None
        tangent = self._as_tensor(slope, spec)
        with level.lock:
            if self.slope is slope:
                self.slope = tangent
                return tangent
        return self.tangent_at(level, spec)

    def take(self, level: ForwardLevel, spec: Spec) -> Tensor | None:
        """The tangent, which goes from here to the caller; None if there are others, or it is at another level."""
        slope = self.slope
        if slope is None or type(slope) is ForwardGrad or self.level is not level:
            return None
        self.slope = None
        return self._as_tensor(slope, spec)

    def stands_alone(self) -> bool:
        """Does the tangent say it all, without tangents of other tensors?"""
        return True

    def lend(self) -> VersionCounter:
        """Let another tensor have this tangent too, which is not by level. The counter of its memory."""
        with self.level.lock:
            memory = self.memory
            if isinstance(memory, int):
                own = shared_counter(self.slope) if type(self.slope) is Tensor else None
                self.memory = memory = own or (dated_counter(memory) if memory else new_counter())
            return memory

    def general(self) -> Extra:
        """An `Extra` that says the same."""
        extra = Extra()
        extra.forward, extra.view = self.forward, self.view
        return extra

    def pop(self, level: ForwardLevel, otherwise: Any) -> Any:
        """Remove and return the tangent, if it is one. Tangents by level are asked themselves."""
        slope = self.slope
        if slope is None or type(slope) is ForwardGrad:
            return otherwise
        self.slope = None
        return slope


class DualAlias(Dual):
    """The same for the alias that `make_dual` returns, a view for backward. `slope` is the Tensor that it was given.

    At its level it shares no tangents with the tensor it is an alias of, and at other levels neither has one when this
    is made; should that change, `view` finds it.
    """

    __slots__ = ("view",)

    view: ViewInfo

    def stands_alone(self) -> bool:
        """Is there neither history nor anything unusual behind it, and is it set apart from that at one level only?"""
        info = self.view
        base = info.base
        return base._extra is None and base._node is None and info.forward is not None and len(info.forward) == 1
