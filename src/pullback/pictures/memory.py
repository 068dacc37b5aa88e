"""`pb.memory`: what operations keep for backward, by the line that made them keep it.

Each piece of memory counts once, however many operations keep it or a view of it, for as long as one of them does. It
is *new* if an operation in the block made it, and *yours* if it was there before: a leaf, an argument. Nothing is kept
alive by looking, and what is computed is the same.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from pullback.core.pytree import flatten
from pullback.core.spec import describe
from pullback.graph.text.style import in_bytes
from pullback.pictures.charts import area
from pullback.pictures.picture import Picture, columns, for_stream
from pullback.pictures.saved import kept_by, owner_of
from pullback.pictures.watching import Block, shown, user_place
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of


class Saved(NamedTuple):
    """One piece of memory that was kept for backward, as the first operation kept it."""

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    op: str
    line: str
    kind: str  # "new", "yours"
    name: str

    def __str__(self) -> str:
        return f"{in_bytes(self.bytes)}  {describe(self.shape, self.dtype)}  {self.name} of {self.op}  {self.line}"


class _Memory:
    """A piece of memory: how many nodes keep it now."""

    __slots__ = ("holders", "saved")

    def __init__(self, saved: Saved) -> None:
        self.saved = saved
        self.holders = 0


class memory(Block):
    """A ledger of what is kept for backward in a block.

    >>> x = pb.ones(1000, requires_grad=True)
    >>> with pb.memory() as ledger:
    ...     loss = (pb.exp(x) * 2).sum()
    ...     kept = ledger.live_bytes
    ...     loss.backward()
    >>> kept, ledger.new_bytes, ledger.live_bytes
    (8000, 8000, 0)

    `saved_bytes` is all that was ever kept, `new_bytes` the part of it that operations made, `peak_bytes` the most at
    one time, `live()` what is kept now, `by_line()` the sums by line of your program, and `timeline` the bytes after
    each event. `show()` draws them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[Saved] = []
        self.timeline: list[tuple[str, str, int]] = []
        self.peak_bytes = 0
        self.live_bytes = 0
        self._memories: dict[int, _Memory] = {}
        self._held: dict[int, list[int]] = {}  # by node: the memories that it keeps
        self._nodes: dict[int, Any] = {}
        self._made: dict[int, Any] = {}  # what operations in the block made, weakly

    @property
    def saved_bytes(self) -> int:
        """All that was kept for backward, at whatever time."""
        return sum(each.bytes for each in self.saved)

    @property
    def new_bytes(self) -> int:
        """The part of it that was there only because an operation made it."""
        return sum(each.bytes for each in self.saved if each.kind == "new")

    def live(self) -> list[Saved]:
        """What is kept now, the largest first."""
        return sorted((each.saved for each in list(self._memories.values())), key=lambda saved: -saved.bytes)

    def by_line(self) -> dict[str, int]:
        """The bytes that were kept, by the line of your program that first kept them, the largest first."""
        totals: dict[str, int] = {}
        for each in self.saved:
            totals[each.line] = totals.get(each.line, 0) + each.bytes
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    # What is told while the program runs.

    def begin(self, kind: str, name: str, operands: tuple[Any, ...] = ()) -> Any:
        """Somebody tells that an operation begins."""
        return kind, name, operands

    def end(self, mark: Any, subject: Any) -> None:
        """And that it has ended."""
        kind, name, operands = mark
        if kind in ("forward", "compiled"):
            tensors = _tensors(subject)
            histories = [each for tensor in tensors for each in _histories(tensor)]
            for node in histories:
                self._enter(node, name, operands)
            given = _owners(operands)
            for tensor in tensors:
                self._note_made(tensor, given)
        elif kind == "backward":
            if id(subject) in self._held and not any(each.array is not None for each in kept_by(subject)):
                self._forget(id(subject))
        else:
            return
        self.timeline.append((kind, name, self.live_bytes))

    def _note_made(self, tensor: Tensor, given: set[int]) -> None:
        array = _array_of(tensor)
        if array is not None and id(owner := owner_of(array)) not in given:
            key = id(owner)
            self._made.setdefault(key, weakref.ref(owner, lambda _: self._made.pop(key, None)))

    def _enter(self, node: Node, name: str, operands: tuple[Any, ...]) -> None:
        number = id(node)
        if number in self._held:
            return
        leaves = [each.variable for each in node.next if isinstance(each, AccumulateGrad)]
        given = _owners((operands, leaves))
        held: list[int] = []
        self._held[number] = held
        self._nodes[number] = weakref.ref(node, lambda _: self._forget(number))
        line = ""
        for each in kept_by(node):
            if each.array is None:
                continue
            owner = owner_of(each.array)
            entry = self._memories.get(id(owner))
            if entry is None:
                line = line or shown(user_place(3))
                is_new = id(owner) in self._made or id(owner) not in given
                shape, dtype = tuple(owner.shape), str(owner.dtype)
                saved = Saved(int(owner.nbytes), shape, dtype, name, line, "new" if is_new else "yours", each.name)
                entry = self._memories[id(owner)] = _Memory(saved)
                self.saved.append(saved)
                self.live_bytes += saved.bytes
                self.peak_bytes = max(self.peak_bytes, self.live_bytes)
            if id(owner) not in held:
                entry.holders += 1
                held.append(id(owner))

    def _forget(self, key: int) -> None:
        self._nodes.pop(key, None)
        for owner in self._held.pop(key, ()):
            entry = self._memories[owner]
            entry.holders -= 1
            if entry.holders == 0:
                del self._memories[owner]
                self.live_bytes -= entry.saved.bytes

    # Looking at it.

    def show(self, theme: str = "auto") -> Picture:
        """The bytes over time, the sums by line, and the ten largest pieces."""
        title = (
            f"memory kept for backward: {in_bytes(self.saved_bytes)}, of which {in_bytes(self.new_bytes)} new; "
            f"at most {in_bytes(self.peak_bytes)} at a time, {in_bytes(self.live_bytes)} now"
        )
        lines = list(self.by_line().items())
        largest = sorted(self.saved, key=lambda saved: -saved.bytes)[:10]
        rows = [(x.bytes, describe(x.shape, x.dtype), x.name, x.op, x.line, x.kind) for x in largest]
        data = {
            "saved_bytes": self.saved_bytes, "new_bytes": self.new_bytes, "peak_bytes": self.peak_bytes,
            "live_bytes": self.live_bytes, "by_line": self.by_line(), "saved": [each._asdict() for each in self.saved],
            "timeline": [list(each) for each in self.timeline],
        }  # fmt: skip
        text = ["", *columns([(in_bytes(count), line) for line, count in lines[:10]], {0})]
        text += ["", *columns([(in_bytes(row[0]), *row[1:]) for row in rows], {0})]
        drawing = area([(count, kind == "backward") for kind, _, count in self.timeline])
        tables: list[Any] = [
            ("By line", ("line", "bytes"), lines),
            ("The largest", ("bytes", "type", "value", "operation", "line", ""), rows),
        ]
        return Picture("memory", title, data, lambda width: text, drawing=drawing, tables=tables, theme=theme)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.show()._repr_mimebundle_()

    def __repr__(self) -> str:
        return for_stream(self.show().to_text())


def _array_of(tensor: Tensor) -> Any:
    payload: Any = tensor._data
    while payload is not None and not hasattr(payload, "base"):
        payload = getattr(payload, "data", None)
    return payload


def _tensors(tree: Any) -> list[Tensor]:
    return [each for each in flatten(tree)[0] if isinstance(each, Tensor)]


def _histories(tensor: Tensor) -> list[Node]:
    """The nodes that the call which made or wrote this tensor may have recorded."""
    base = None if (info := view_of(tensor)) is None else info.base
    return [each._node for each in (tensor, base) if each is not None and isinstance(each._node, Node)]


def _owners(operands: Any) -> set[int]:
    """The memory that was there before a call."""
    arrays = [_array_of(each) if isinstance(each, Tensor) else each for each in flatten(operands)[0]]
    return {id(owner_of(each)) for each in arrays if isinstance(each, np.ndarray)}
