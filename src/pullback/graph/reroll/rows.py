"""`forward_rows`: rows of an array that is written row by row, taken from where they were made.

    x = update(x, v, view=x[3])                                              x[3] is v
    x = update(x, w, view=x[4, 1])                                           x[3] is v
    x = add(x, _place_slice(g, index=(3, ...)))                              x[3] is v + g, x[4] is x[4] + 0.0

A loop that writes row k of an array and reads row k - 1 seems to need the whole array in every step. With what this
pass finds, it needs one row of the step before; the array itself is only written, and can be put together in the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from pullback.declare.views import ViewStep
from pullback.graph.ir import ArrayType, Node, Program, Value, array_type, find_operator
from pullback.graph.reroll.table import index_of
from pullback.graph.rewrite import Replacements, keep_remarks, outline

Kind = TypeVar("Kind", bound=Program)


class _Write(NamedTuple):
    """What happened to a row: it was written or increased, all of it or the part that `rest` says."""

    version: int
    value: Any
    rest: tuple[Any, ...]
    is_sum: bool


class _History:
    """An array and what was done to its rows. Versions count the writes."""

    def __init__(self, root: Value) -> None:
        self.root = root
        self.version = 0
        self.sums: list[int] = []  # versions in which zeros were added to other rows
        self.writes: dict[int, list[_Write]] = {}
        self.made: dict[tuple[int, int], Value] = {}  # a row after so many of its writes


def forward_rows(program: Kind, fewest: int) -> Kind:
    """The graph with rows in place of reads; the graph itself if fewer than so many rows are written."""
    if sum([node.op == "update" and _row_of(node) is not None for node in program.nodes]) < fewest:
        return program
    return _Forwarding(program).run(program)


def _row_of(node: Node) -> tuple[int, tuple[Any, ...]] | None:
    """The row that an index is about, and the index within the row."""
    index = index_of(node)
    if index is None or not index or type(index[0]) is not int:
        return None
    shape = node.operands[0].type.shape if node.op != "_place_slice" else node.attrs["shape"]
    return index[0] % shape[0], index[1:]


def _is_whole(rest: tuple[Any, ...]) -> bool:
    return all(part is Ellipsis or part == slice(None) for part in rest)


class _Forwarding:
    def __init__(self, program: Any) -> None:
        self.made = outline(program)
        self.replaced = Replacements()
        self.histories: dict[Value, tuple[_History, int]] = {}

    def run(self, program: Any) -> Any:
        """The whole graph."""
        for original in program.nodes:
            node = self.replaced.node(original)
            if node.op == "update" and _row_of(node) is not None:
                self._note(node, node.operands[0], node, node.operands[1], is_sum=False)
            elif node.target is not None and node.target.kernel is np.add:
                self._note_sum(node)
            elif node.op == "_basic_index" and node.operands[0] in self.histories:
                row = self._read(node)
                if row is not None:
                    self.replaced.found[original.result] = row
                    continue
            self.made.nodes.append(node)
        return self.replaced.finish(self.made, program)

    def _note_sum(self, node: Node) -> None:
        for base, placed in (node.operands, node.operands[::-1]):
            maker = placed.node if type(placed) is Value else None
            if maker is None or maker.op != "_place_slice" or base not in self.histories:
                continue
            if _row_of(maker) is not None and base.type == node.result.type == placed.type:
                self._note(node, base, maker, maker.operands[0], is_sum=True)
                return

    def _note(self, node: Node, base: Value, indexed: Node, value: Any, is_sum: bool) -> None:
        """A write. What is written to an array that was written since has a history of its own."""
        row, rest = _row_of(indexed) or (0, ())
        history, version = self.histories.get(base, (None, 0))
        if history is None or version != history.version:
            history = _History(base)
        history.version += 1
        history.writes.setdefault(row, []).append(_Write(history.version, value, rest, is_sum))
        if is_sum:
            history.sums.append(history.version)
        self.histories[node.result] = history, history.version

    def _read(self, node: Node) -> Value | None:
        found = _row_of(node)
        history, version = self.histories[node.operands[0]]
        if found is None or history.root.type.strides is not None:
            return None
        row, rest = found
        writes = history.writes.get(row, [])
        count = len(writes)
        while count and writes[count - 1].version > version:
            count -= 1
        value = self._settled(history, row, count, version, node)
        if not _is_whole(rest):
            value = self._add("_basic_index", (value,), {"index": rest}, node.result.type, node)
        return value if value.type == node.result.type else None

    def _settled(self, history: _History, row: int, count: int, version: int, node: Node) -> Value:
        """A row after `count` of its writes, as it is in a version: with zeros added if some were."""
        value = self._row(history, row, count, node)
        after = history.writes[row][count - 1].version if count else 0
        if any(after < each <= version for each in reversed(history.sums)):
            zero = 0.0 if value.type.dtype.kind in "fc" else 0
            value = self._add("add", (value, zero), {}, value.type, node)
        return value

    def _row(self, history: _History, row: int, count: int, node: Node) -> Value:
        """A row after `count` of its writes."""
        known = count
        while known and (row, known) not in history.made:
            known -= 1
        if (row, known) not in history.made:
            kind = history.root.type
            first = array_type(kind.shape[1:], kind.dtype)
            history.made[row, 0] = self._add("_basic_index", (history.root,), {"index": (row, Ellipsis)}, first, node)
        for step in range(known + 1, count + 1):
            write = history.writes[row][step - 1]
            is_set = not write.is_sum and _is_whole(write.rest) and type(write.value) is Value
            kind = history.made[row, known].type
            if is_set and write.value.type == kind:
                history.made[row, step] = write.value
                continue
            before = self._settled(history, row, step - 1, write.version - 1, node)
            history.made[row, step] = self._written(before, write, kind, node)
        return history.made[row, count]

    def _written(self, row: Value, write: _Write, kind: ArrayType, node: Node) -> Value:
        rest = write.rest or (Ellipsis,)
        if not write.is_sum:
            steps = (ViewStep(find_operator("_basic_index"), {"index": rest}),)
            return self._add("update", (row, write.value), {"steps": steps}, kind, node)
        value = write.value
        if not _is_whole(write.rest):
            value = self._add("_place_slice", (value,), {"index": rest, "shape": kind.shape}, kind, node)
        return self._add("add", (row, value), {}, kind, node)

    def _add(self, name: str, operands: Any, attrs: dict[str, Any], kind: ArrayType, like: Node) -> Value:
        target = name if name == "update" else find_operator(name)
        made = self.made.add(target, operands, attrs, (kind,), like.tag)
        keep_remarks(made, like)
        return made.result
