"""`Graph`: a traced function with everything one can do with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pullback import graph as package
from pullback.declare.op import Op
from pullback.graph import interpret, rewrite
from pullback.graph import text as text_forms
from pullback.graph.ir import ArrayType, Node, Program, Value
from pullback.graph.passes.loops import fuse_loops, hoist_invariants, prune
from pullback.graph.passes.simplify import simplify
from pullback.graph.text.printing import opaque_in, program_text


class Graph(Program):
    """Inputs, nodes in order, outputs. Print it to read it.

    Methods that change something return a new graph. It shares the nodes that are the same, so nodes of a finished
    graph must not be changed; `copy()` shares nothing.
    """

    __slots__ = ("_plan",)

    def __init__(self, name: str = "forward") -> None:
        super().__init__(name)
        self._plan: interpret.Plan | None = None

    # Running.

    def eval(self, *arrays: Any) -> list[Any]:
        """The outputs for these arrays, computed node by node with NumPy. Only stores change the arrays given."""
        return interpret.evaluate(self, arrays, self._planned())

    def eval_boxed(self, arrays: list[Any]) -> list[Any]:
        """As `eval`, with the inputs in a list that is cleared: an input is let go of after its last use."""
        return interpret.evaluate(self, arrays, self._planned())

    def run_on(self, *tensors: Any) -> list[Any]:
        """The outputs for these tensors: the operators are called, and record a tape, map or trace as always."""
        return interpret.run_on(self, tensors, self._planned())

    def _planned(self) -> interpret.Plan:
        plan = self._plan
        if plan is None or not plan.belongs_to(self):
            plan = self._plan = interpret.plan_of(self)
        return plan

    # Passes.

    def verify(self) -> Graph:
        """The graph itself, if it keeps all promises of `graph/verify.py`."""
        package.verify.verify(self)
        return self

    def dce(self) -> Graph:
        """Without nodes that nobody needs."""
        return rewrite.dce(prune(self))

    def cse(self) -> Graph:
        """With one node where several compute the same."""
        return fuse_loops(rewrite.cse(self))

    def fold(self) -> Graph:
        """With constants in place of what is computed from constants alone."""
        return rewrite.fold(self)

    def simplify(self) -> Graph:
        """With equal and simpler values in place of others; `dce` removes what is not needed any more."""
        return simplify(hoist_invariants(prune(self)))

    def canonical(self) -> Graph:
        """The graph that all have in common which differ only in the order of nodes and of commuting operands."""
        return package.canonical.canonical(self)

    def hash(self) -> str:
        """A digest of the canonical text, the same in every process."""
        return package.canonical.digest(self)

    def copy(self) -> Graph:
        """The same graph, made of nodes of its own."""
        return rewrite.copied(self)

    def replace_uses(self, old: Value, new: Value) -> Graph:
        """With `new` in place of `old` wherever `new` is known."""
        return rewrite.replace_uses(self, old, new)

    def insert_before(
        self, node: Node, target: Op | str, operands: Iterable[Any], attrs: dict[str, Any], types: Iterable[ArrayType]
    ) -> tuple[Graph, Node]:
        """With one more node in front of `node`; that node is the second result."""
        return rewrite.insert_before(self, node, target, operands, attrs, types)

    # Text.

    def to_text(self) -> str:
        """The graph as text, complete: `Graph.from_text` reads it."""
        return program_text(self)

    @classmethod
    def from_text(cls, text: str) -> Graph:
        """The graph that `to_text` wrote."""
        return text_forms.parsing.parse_program(text, cls)

    def to_python(self) -> str:
        """Python that computes the same with the functions of `pb`; it takes and returns Tensors."""
        return text_forms.source.to_python(self)

    def to_dot(self) -> str:
        """A picture in the language of Graphviz."""
        return text_forms.picture.to_dot(self)

    def to_svg(self) -> str:
        """A picture: inputs on top, forward nodes blue, backward nodes orange."""
        return text_forms.picture.to_svg(self)

    def _repr_svg_(self) -> str:
        return text_forms.picture.to_svg(self)

    def __str__(self) -> str:
        return program_text(self, is_complete=False)

    def __repr__(self) -> str:
        counts = f"{len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs"
        return f"<graph {self.name}: {counts}>"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Graph) or self.to_text() != other.to_text():
            return False
        ours, theirs = opaque_in(self), opaque_in(other)
        return all(own is given for own, given in zip(ours, theirs, strict=True))

    def __hash__(self) -> int:
        return hash(self.to_text())
