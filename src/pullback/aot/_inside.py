"""Looking into a compiled function: its graph, its kernels, and the text of its machine code.

These are of what was compiled so far: backward graphs are compiled when gradients first arrive at them.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from pullback import aot
from pullback.aot._entry import Entry
from pullback.aot._guards import call_key
from pullback.aot._tree.live import Abandoned
from pullback.aot._tree.paths import Tree, describe_paths
from pullback.aot._tree.reasons import GivenUp
from pullback.errors import AOTError
from pullback.graph.graph import Graph


class CacheInfo(NamedTuple):
    """How often a call found its capture, how often it had to be captured, how many captures there are and were, and
    how long it took to make those that are there."""

    hits: int
    misses: int
    currsize: int
    evicted: int = 0  # captures that others have taken the place of
    milliseconds: float = 0.0


class Inside:
    """What a compiled function tells of itself, by its `entries`."""

    _name: str
    _entries: dict[Any, list[Any]]  # by key; what could not be captured has something without a graph there
    _trees: dict[Any, Tree]
    _given_up: list[GivenUp]
    _reasons: deque[str]
    _sizes: Any
    _hits: int
    _misses: int
    _evicted: int
    _flattened: Callable[..., tuple[list[Any], Any]]
    _capture: Callable[..., Any]
    _entry_of: Callable[..., Any]
    function: Callable[..., Any]

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

    def cache_info(self) -> CacheInfo:
        """Hits, misses, the number of captures, how many had to go for others, and the time that making them took."""
        size = sum(map(len, list(self._entries.values())))
        took = sum(sum(entry.spent.values()) for entry in self.entries())
        return CacheInfo(self._hits, self._misses, size, self._evicted, round(took, 3))

    def why_recompiled(self) -> list[str]:
        """For each of the last 256 captures but the first: what differed from the one before, the last one last."""
        return list(self._reasons)

    def explain(self, *args: Any, **kwargs: Any) -> aot.Explanation:
        """What a call with these arguments does: what is mutated, aliased, saved and recomputed. Nothing is run."""
        self._check_fits(args, kwargs)
        leaves, structure = self._flattened(args, kwargs)
        try:
            captured = self._capture(leaves, structure)
        except Abandoned as abandoned:  # the call raises
            raise abandoned.__cause__ or abandoned from None
        entry = self._entry_of(captured, looking=True)
        error = entry.deferred_error
        notes = [] if error is None else [f"backward raises: {str(error).splitlines()[0]}"]
        notes += dict.fromkeys(self._sizes.notes)
        key = call_key(leaves, structure)
        known = [each for each in self._entries.get(key, ()) if type(each) is Entry]
        described = describe_paths(entry, known, self._trees.get(key), self._given_up)
        described["compiled"] = [_how_compiled(each) for each in known]
        return aot.Explanation(entry, self.function, args, kwargs, notes, described)

    def _check_fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse arguments that the function does not take, before it is traced with them."""
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # written in C, and nobody knows
            return
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"explain: {error}; it explains a call, and wants the arguments of that call: {self._name}.explain(...)"
            ) from None

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


def _how_compiled(entry: Entry) -> dict[str, Any]:
    """How long a capture took, by what the time was for, and which code its calls run."""
    codes = [code for _, each in entry.compiled for code in getattr(each, "codes", ())]
    kind = "NumPy" if not codes else "quick" if any(code.is_quick for code in codes) else "good"
    return {"milliseconds": {name: round(ms, 1) for name, ms in entry.spent.items()}, "code": kind}
