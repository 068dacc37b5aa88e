"""`Simplifier`: one walk over a graph that asks rules for values to put in place of others, and says which may stand.

A rule names a value of the same type, strides included, so no later node sees another layout. What the caller gets
keeps memory of its own: `x*1` that is returned is not replaced by the input x, nor by something else that is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pullback.graph.aliasing import root_of, stored_inputs
from pullback.graph.ir import BACKWARD, Node, Value
from pullback.graph.operators import find_operator
from pullback.graph.rewrite import Replacements, keep_remarks, outline
from pullback.graph.types import ArrayType

Rule = Callable[["Simplifier", Node], Value | None]
Rules = Mapping[str, tuple[Rule, ...]]


class Simplifier:
    """One walk over a graph. `made` grows; `visible` are the values whose memory an output lies in."""

    def __init__(self, program: Any, rules: Rules, any_view: tuple[Rule, ...]) -> None:
        self.program = program
        self.rules = rules  # by the name of the operator whose result they replace
        self.any_view = any_view  # for views that have no rules of their own
        self.made = outline(program)
        self.replaced = Replacements()
        self.stored = stored_inputs(program)
        self.returned: set[Value] = {value for value in program.outputs if value is not None}
        self.visible: set[Value] = set()
        # What backward reads must not become memory that the caller writes to before.
        self.kept = {root_of(x) for node in program.nodes if node.tag == BACKWARD for x in node.inputs}
        self._users: dict[Value, list[Node]] | None = None
        for value in self.returned:
            self._show(value)

    def run(self) -> Any:
        """The simplified graph."""
        nodes, found, rules = self.made.nodes, self.replaced.found, self.rules
        for original in self.program.nodes:
            node = self.replaced.node(original)
            if node is not original:
                self._follow(original, node)
            chosen = rules.get(node.op)
            if chosen is None and node.is_view:
                chosen = self.any_view
            value = None if chosen is None else self._first_allowed(chosen, node)
            if value is None:
                nodes.append(node)
            else:
                found[original.results[0]] = found[node.results[0]] = value
        return self.replaced.finish(self.made, self.program)

    def _first_allowed(self, rules: tuple[Rule, ...], node: Node) -> Value | None:
        if len(node.results) != 1:
            return None
        for rule in rules:
            value = rule(self, node)
            if value is not None and self._may_stand_for(value, node.results[0]):
                return value
        return None

    def _follow(self, original: Node, node: Node) -> None:
        for old, new in zip(original.results, node.results, strict=True):
            if old in self.visible:
                self.visible.add(new)
            if old in self.returned:
                self.returned.add(new)

    def _show(self, value: Value) -> None:
        """An output lies in the memory of `value`."""
        self.visible.add(value)
        while value.node is not None and value.node.is_view:
            value = value.node.operands[0]
            self.visible.add(value)

    # What rules ask.

    def add(self, name: str, operands: tuple[Any, ...], attrs: dict[str, Any], type: ArrayType, like: Node) -> Value:
        """The result of a new node that stands where `like` stood."""
        target = name if name in ("update", "constant") else find_operator(name)
        node = self.made.add(target, operands, attrs, (type,), like.tag)
        keep_remarks(node, like)
        return node.result

    def users(self, value: Value) -> list[Node]:
        """The nodes of the graph that read a value."""
        if self._users is None:
            self._users = {}
            for node in self.program.nodes:
                for x in node.inputs:
                    self._users.setdefault(x, []).append(node)
        return self._users.get(value, [])

    def may_share(self, value: Value, old: Value) -> bool:
        """May a value with other memory stand for `old`, as far as stores and the caller are concerned?"""
        root = root_of(value)
        if root in self.stored:
            return False
        if old not in self.visible:
            return True
        is_own = root.node is not None and root.node.op != "constant"
        is_own = is_own and root not in self.visible and root not in self.kept
        return is_own and not (old.node is not None and old.node.is_view)

    def _may_stand_for(self, value: Value, old: Value) -> bool:
        if value.type.spec != old.type.spec or (value.type != old.type and not self._layout_is_irrelevant(value, old)):
            return False
        if root_of(value) is root_of(old):
            allowed = old not in self.returned or not (value in self.returned or value.node is None)
        else:
            allowed = self.may_share(value, old)
        if allowed and old in self.visible:
            self._show(value)
        if allowed and old in self.returned:
            self.returned.add(value)
        return allowed

    def _layout_is_irrelevant(self, value: Value, old: Value) -> bool:
        """Do all readers give row-major results all the same, when they get `value`, which is row-major?"""
        if value.type.strides is not None or old in self.visible:
            return False
        for node in self.users(old):
            if node.op == "store" or (node.op == "update" and node.operands[0] is not old):
                continue
            others = [x for x in node.inputs if x is not old]
            if node.target is None or node.is_view or node.target.family == "custom":
                return False
            if any(x.type.strides is not None for x in (*others, *node.results)):
                return False
        return True
