"""Looking into a compiled function: its graph, its kernels, and the text of its machine code.

These are of what was compiled so far: backward graphs are compiled when gradients first arrive at them.
"""

from __future__ import annotations

from typing import Any

from pullback.errors import AOTError
from pullback.graph.graph import Graph


class Inside:
    """What a compiled function tells of itself, by its `entries`."""

    _name: str
    _entries: dict[Any, list[Any]]  # by key; what could not be captured has something without a graph there

    def entries(self) -> list[Any]:
        """The captures so far."""
        return [entry for entries in list(self._entries.values()) for entry in entries if hasattr(entry, "graph")]

    def graph(self) -> Graph:
        """The graph of the last capture: forward and backward in one if gradients were asked for."""
        graph: Graph = self._captures()[-1].graph
        return graph

    def kernels(self, measure: bool = False) -> list[dict[str, Any]]:
        """What native code consists of: for each loop nest and each product its graph, operators, lengths of loops,
        bytes, operations, and estimated `nanoseconds`. With `measure`, each is run alone, and `measured` is its time.
        """
        found = []
        for name, compiled in self._native("kernels"):
            found += [{"graph": name, **kernel} for kernel in compiled.kernels(measure)]
        return found

    def llvm_ir(self) -> str:
        """The LLVM IR of native code, before the passes of LLVM."""
        return "\n".join(f"; {name}\n{compiled.llvm_ir()}" for name, compiled in self._native("LLVM IR"))

    def assembly(self) -> str:
        """The machine code of native code, as text."""
        return "\n".join(f"# {name}\n{compiled.assembly()}" for name, compiled in self._native("machine code"))

    def _captures(self) -> list[Any]:
        found = self.entries()
        if not found:
            raise AOTError(
                f"{self._name} has no capture to look at",
                why="a function is captured and compiled when it is called",
                fix="call it first",
            )
        return found

    def _native(self, what: str) -> list[tuple[str, Any]]:
        """The names of graphs that are native code, and what was made of them."""
        compiled = [each for entry in self._captures() for each in entry.compiled]
        native = [(name, each) for name, each in compiled if hasattr(each, "llvm_ir")]
        if compiled and not native:
            raise AOTError(
                f"{self._name} has no {what}",
                why="it was not compiled to native code",
                fix='compile it with backend="llvm", which needs llvmlite',
            )
        return native
