"""What a checkpointed call leaves behind, and how it is run again.

During the forward a pack hook puts a `Holder` in the place of every value that would have been saved, so nothing is
kept but the arguments. The second run happens under another pack hook, which meets the same values in the same order
and hands the n-th of them to the n-th holder; when the last one is there, an internal exception ends it early.

Who owns whom decides when memory is freed: saved slots own holders, holders own the frame, the frame owns the
arguments. Nothing points back but weak references, so a released or dropped graph takes all of it along.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from pullback._sites import torch_phrase
from pullback.core.pytree import flatten, unflatten
from pullback.core.spec import Spec
from pullback.core.state import change, current, in_force, open_levels, reinstate
from pullback.errors import CheckpointError
from pullback.operators.random.draws import Repeats, default_generator
from pullback.payloads.batched.array import BatchedArray, levels_of
from pullback.tape.forward.duals import dual_at
from pullback.tape.forward.levels import ForwardLevel, live_levels, tangent_of
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.node import Node
from pullback.tape.saved import SavedVariable, version_error
from pullback.tape.task import current_node
from pullback.tape.transform.tokens import Levels
from pullback.tensors.overwrites import Lost, epoch_of, kept_value
from pullback.tensors.tensor import Tensor, alias, is_inference, wrap
from pullback.tensors.views import view_of

# The state of random generators, kept by a checkpoint so that a second run draws the same numbers.

class RandomState:
    """What Pullback's default generator and NumPy's legacy global one were about to draw when this was made; and, of
    the calls in its turns, where the generators stood that they were given."""

    __slots__ = ("_numpy", "_pullback", "repeats")

    def __init__(self) -> None:
        self._pullback: Any = default_generator.get_state()
        self._numpy: Any = np.random.get_state(legacy=False)
        self.repeats = Repeats()

    def reinstate(self) -> None:
        """Put both generators back into this state."""
        default_generator.set_state(self._pullback)
        np.random.set_state(self._numpy)


def first_draws_of(state: RandomState | None) -> AbstractContextManager[None]:
    """Around the forward: what is drawn there can be drawn again."""
    return nullcontext() if state is None else state.repeats.turn()


@contextmanager
def drawing_again_from(state: RandomState | None) -> Iterator[None]:
    """Inside, the generators continue from `state`; afterwards from where they were. None leaves them alone."""
    if state is None:
        yield
        return
    ambient = RandomState()
    state.reinstate()
    try:
        with state.repeats.turn(is_aside=True):
            yield
    finally:
        ambient.reinstate()


class Holder:
    """Stands for one saved value of a checkpointed call: the `index`-th that the call saved."""

    __slots__ = ("__weakref__", "frame", "index")

    def __init__(self, frame: Frame, index: int) -> None:
        self.frame = frame
        self.index = index


class Frame:
    """One checkpointed call: all it takes to run it again, and the values that its graph expects from that."""

    __slots__ = (
        "__weakref__",
        "arguments",
        "checks_specs",
        "context",
        "early_stop",
        "explain",
        "function",
        "holders",
        "interceptors",
        "is_complete",
        "levels",
        "random_state",
        "specs",
        "transforms",
        "vmaps",
    )

    runs_again = True  # for those who look for checkpoints among the hooks that are in force

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Arguments,
        context: AbstractContextManager[Any],
        *,
        random_state: RandomState | None,
        early_stop: bool,
        checks_specs: bool,
        explain: Callable[[], str],
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.context = context  # surrounds every further run
        self.random_state = random_state
        self.early_stop = early_stop
        self.checks_specs = checks_specs
        self.explain = explain  # what to add to the message when the runs differ
        self.transforms = current().transforms
        self.vmaps = current().vmaps
        self.holders: list[weakref.ref[Holder]] = []
        self.specs: list[Spec] = []
        self.levels: list[Levels] = []  # of the vmaps that the values are batches of, also of those inside
        self.is_complete = False  # the forward has returned
        self.interceptors: tuple[Any, ...] = ()  # those that belong to the forward alone, while it runs

    def pack(self, tensor: Tensor) -> Holder:
        """The pack hook of the forward: keep the place of the value, not the value."""
        holder = Holder(self, len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.specs.append(tensor._spec)
        self.levels.append(levels_of(tensor._data))
        return holder


class _CheckpointArguments(Node):
    """Owner of a frame's arguments, for the sake of messages about them."""

    __slots__ = ()

    def name(self) -> str:
        return "Checkpoint"


_OWNER = _CheckpointArguments()


class Arguments:
    """The arguments of a call, in any structure, with the Tensors in them kept as saved values.

    So a write to one of them is noticed before the function runs on it again, and an enclosing checkpoint or the
    user's own hooks decide how they are stored. Tangents are kept beside them: reverse over forward mode runs the
    function again when the levels of the forward have ended, and then needs what they contributed to the graph.
    """

    __slots__ = ("_leaves", "_saved", "_structure", "_tangents")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        call: Any = (args, kwargs)
        self._leaves: list[Any]
        self._leaves, self._structure = flatten(call)
        self._saved: dict[int, SavedVariable] = {}
        self._tangents: dict[int, SavedTangents] = {}
        for position, leaf in enumerate(self._leaves):
            # An inference tensor cannot be saved, and need not be: only inference mode could write to it.
            if isinstance(leaf, Tensor) and not is_inference(leaf):
                if requires_grad(leaf):
                    edge_of(leaf)  # a view of a base that was written gets its present history before it is saved
                self._saved[position] = SavedVariable(leaf)
                self._leaves[position] = None
                if open_levels and (tangents := _saved_tangents(leaf)):
                    self._tangents[position] = tangents

    def stand_ins(self) -> dict[ForwardLevel, ForwardLevel]:
        """New levels, in the same order, for those which the arguments had tangents at and which have ended."""
        known = {level for tangents in self._tangents.values() for level in _levels_in(tangents)}
        ended = [level for level in known if not level.is_open]
        return {level: ForwardLevel() for level in sorted(ended, key=lambda level: level.stamp)}

    def restored(self, stand_ins: dict[ForwardLevel, ForwardLevel]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as they were; an error if one of the Tensors was written since."""
        leaves = list(self._leaves)
        for position, saved in self._saved.items():
            tensor = saved.unpack(_OWNER, True)
            leaves[position] = _with_tangents(tensor, self._tangents.get(position, ()), stand_ins)
        restored: tuple[tuple[Any, ...], dict[str, Any]] = unflatten(self._structure, leaves)
        return restored


SavedTangents = Sequence[tuple[ForwardLevel, SavedVariable, "SavedTangents"]]
"""The tangents of a tensor by level, oldest first, each with the tangents that it has itself."""


def _saved_tangents(tensor: Tensor) -> SavedTangents:
    found = [(level, tangent_of(tensor, level)) for level in live_levels((tensor,))]
    return [(level, SavedVariable(t), _saved_tangents(t)) for level, t in found if t is not None]


def _levels_in(tangents: SavedTangents) -> Iterator[ForwardLevel]:
    for level, _, below in tangents:
        yield level
        yield from _levels_in(below)


def _with_tangents(tensor: Tensor, tangents: SavedTangents, stand_ins: dict[ForwardLevel, ForwardLevel]) -> Tensor:
    """The tensor as a dual at the stand-ins; what it has at levels that are still open it has brought along."""
    for level, saved, below in tangents:
        if level in stand_ins:
            tangent = _with_tangents(saved.unpack(_OWNER, True), below, stand_ins)
            tensor = dual_at(stand_ins[level], tensor, tangent, borrowed=True)
    return tensor


class Kept:
    """A recomputed value with the version it had when it was saved.

    A vmap inside of the function has a batch dimension of its own in each run. The nodes of the first run know its
    dimensions, so a value of the second is given theirs, `levels`.
    """

    __slots__ = ("_data", "_epoch", "_tensor")

    def __init__(self, tensor: Tensor, levels: Levels) -> None:
        # A constant comes back as it is. What has a history would keep it, and a view its base.
        is_renamed = levels_of(tensor._data) != levels
        is_constant = tensor._node is None and view_of(tensor) is None
        self._tensor = tensor if is_constant and not is_renamed else alias(tensor)
        if is_renamed:
            self._tensor._data = BatchedArray(tensor._data.data, levels)
        self._data = self._tensor._data
        self._epoch = epoch_of(self._tensor)

    def value(self) -> Tensor:
        """The value; an error if the second run has overwritten it, where the plain graph would have raised too."""
        tensor = self._tensor
        value = kept_value(self._data, self._epoch)
        if type(value) is Lost:
            raise version_error(
                current_node() or _OWNER, tensor._spec, "", value.present_version(), value.expected, value.place
            )
        return tensor if value is tensor._data else wrap(value)


class Recomputed:
    """The values of the first `count` holders of a frame. Those that were consumed, or are not wanted, are gone."""

    __slots__ = ("count", "values")

    def __init__(self, count: int, values: weakref.WeakKeyDictionary[Holder, Kept]) -> None:
        self.count = count
        self.values = values


class _Stop(BaseException):
    """Ends a second run that has delivered everything. Not an `Exception`: user code must not catch it by accident."""

    def __init__(self, run: _Run) -> None:
        super().__init__("every value that the first run saved has been computed again")
        self.run = run


class _Run:
    """A second run in progress: collects what it saves."""

    runs_again = True

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.expected = len(frame.holders)
        self.specs: list[Spec] = []
        self.values: weakref.WeakKeyDictionary[Holder, Kept] = weakref.WeakKeyDictionary()

    def pack(self, tensor: Tensor) -> Kept:
        """The pack hook of the second run. What it returns serves a backward pass inside the function."""
        index = len(self.specs)
        levels = levels_of(tensor._data)
        first = self.frame.levels[index] if index < self.expected else levels
        if [level.size for level in levels] != [level.size for level in first]:
            raise _mismatch(f"mapped value {index} over other examples when it was run again", self.frame)
        self.specs.append(tensor._spec)
        holder = self.frame.holders[index]() if index < self.expected else None
        if holder is not None:
            self.values[holder] = Kept(tensor, first)
        if self.frame.early_stop and index + 1 >= self.expected:
            raise _Stop(self)
        return Kept(tensor, levels)

    def check(self) -> None:
        """Raise if this run did not save what the first one did."""
        frame, found = self.frame, len(self.specs)
        # A pass inside the function reads values before the forward is over: the run then sees more than it knows of.
        may_be_longer = frame.early_stop or not frame.is_complete
        if found < self.expected or (found > self.expected and not may_be_longer):
            raise _mismatch(f"saved {self.expected} values in the forward and {found} when it was run again", frame)
        if frame.checks_specs:
            different = [
                f"value {index}: {first!r} in the forward, {second!r} when it was run again"
                for index, (first, second) in enumerate(zip(frame.specs, self.specs))
                if first != second
            ]
            if different:
                raise _mismatch("saved values of another shape or dtype\n  " + "\n  ".join(different), frame)


def _mismatch(what: str, frame: Frame) -> CheckpointError:
    name = getattr(frame.function, "__qualname__", type(frame.function).__qualname__)
    return CheckpointError(
        f"the checkpointed function `{name}` {what}\n"
        "  why   the values of the second run take the places of those of the first, one by one\n"
        "  fix   let it do the same on every call: no global state, no other randomness than the generators that "
        f"preserve_rng_state restores\n  torch {torch_phrase('', what)}\n{frame.explain()}"
    )


def _unpack_kept(kept: Kept) -> Tensor:
    return kept.value()


def recompute(frame: Frame) -> Recomputed:
    """Run the checkpointed function again and return the values that it saves."""
    stand_ins = frame.arguments.stand_ins()
    try:
        return _run_again(frame, stand_ins)
    finally:
        for level in stand_ins.values():
            level.close()


def _run_again(frame: Frame, stand_ins: dict[ForwardLevel, ForwardLevel]) -> Recomputed:
    run = _Run(frame)
    modes, settings = current(), in_force()
    change(
        grad=True,
        inference=False,
        hooks_disabled=None,
        transforms=frame.transforms,
        vmaps=frame.vmaps,
        saved_hooks=modes.saved_hooks,
        interceptors=tuple(each for each in modes.interceptors if each not in frame.interceptors),
    )
    for transform in frame.transforms:
        transform.token.live += 1
    try:
        args, kwargs = frame.arguments.restored(stand_ins)
        change(saved_hooks=(*modes.saved_hooks, (run.pack, _unpack_kept)))
        with drawing_again_from(frame.random_state), frame.context:
            frame.function(*args, **kwargs)
    except _Stop as stop:
        if stop.run is not run:
            raise
    finally:
        for transform in frame.transforms:
            transform.token.live -= 1
        reinstate(settings)
    run.check()
    return Recomputed(run.expected, run.values)
