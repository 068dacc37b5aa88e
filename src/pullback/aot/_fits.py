"""Does a call fit a capture? Its key does, or nobody would ask; what depends on the capture itself is asked here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._capture import Capture
from pullback.aot._captured import captured_tensors
from pullback.aot._leaves import array_of, touching
from pullback.graph.descriptors import PlainAOTInput, SyntheticBaseAOTInput
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of


class Fit:
    """What a capture asks of a call: captured tensors are what they were, and no other arguments overlap."""

    def __init__(self, captured: Capture, function: Callable[..., Any] | None) -> None:
        held = [(given.capture, given.desc.expr()) for given in captured.inputs if given.capture is not None]
        self.captured = captured_tensors(function, held)
        # Arguments that the function also finds without being given them: they have to be these very tensors.
        self.met = [(_slot_of(desc), desc.expr(), tensor) for desc, tensor in captured.met.items()]
        self.groups = captured.groups
        self.bases = [given for given in captured.inputs if given.members]
        self.written_slots = [g.slot for g in captured.inputs if g.slot is not None and g.info.mutates_data]
        self.written_captures = [g.capture for g in captured.inputs if g.capture is not None and g.info.mutates_data]
        self.is_plain = not (self.captured or self.met or self.groups or self.written_slots)

    def misfit(self, leaves: list[Any]) -> str | None:
        """What of this call is not as it was when the function was captured; None if it fits."""
        if self.is_plain:
            return None
        for captured in self.captured:
            found = captured.misfit()
            if found is not None:
                return found
        for slot, name, tensor in self.met:
            if leaves[slot] is not tensor and _base_of(leaves[slot]) is not tensor:
                return f"{name}: another object, and the function also uses the one that it was captured with"
        return self._overlap(leaves)

    def _overlap(self, leaves: list[Any]) -> str | None:
        known: list[tuple[str, Any]] = [(f"args[{slot}]", leaf) for slot, leaf in enumerate(leaves)]
        known += [(captured.name, captured.tensor) for captured in self.captured]
        known = [(name, leaf) for name, leaf in known if isinstance(array_of(leaf), np.ndarray)]
        written = {id(leaves[slot]) for slot in self.written_slots} | set(map(id, self.written_captures))
        members = {id(leaves[slot]): number for number, group in enumerate(self.groups) for slot in group}
        asked = {at for at, (_, leaf) in enumerate(known) if id(leaf) in written or id(leaf) in members}
        for at, other in touching([array_of(leaf) for _, leaf in known], asked):
            mine, theirs = id(known[at][1]), id(known[other][1])
            if mine != theirs and (mine not in members or members[mine] != members.get(theirs)):
                return f"{known[at][0]} and {known[other][0]} overlap, and one of them is written"
        for base in self.bases:
            if not base.has_base_of(leaves):
                return f"the arguments {', '.join(map(str, base.members))} do not overlap as they did"
        return None


def _slot_of(desc: Any) -> int:
    while not isinstance(desc, PlainAOTInput):
        assert not isinstance(desc, SyntheticBaseAOTInput)  # no tensor, so nobody finds it elsewhere
        desc = desc.of
    return desc.index


def _base_of(leaf: Any) -> Any:
    info = view_of(leaf) if isinstance(leaf, Tensor) else None
    return None if info is None else info.base
