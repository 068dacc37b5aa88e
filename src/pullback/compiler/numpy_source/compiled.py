"""`compile_numpy`: a graph as a function that calls NumPy and nothing else."""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from pullback.compiler.numpy_source.function import FunctionWriter
from pullback.compiler.numpy_source.module import Module
from pullback.core.frames import name_users_line
from pullback.graph.ir import Program

_numbers = itertools.count(1)


class CompiledGraph:
    """A graph made a function. Calling it with a list of arrays empties the list and returns a list of arrays.

    `flat(*arrays)` returns a tuple and leaves the arrays with the caller; it is the faster of the two. Calls do not
    share any memory, so they may run at the same time. `source` is what runs, for people to read. Functions are written
    when they are asked for, so the graph must not change after it was given away.
    """

    def __init__(self, program: Program, fresh: Collection[int] | None = None) -> None:
        self.program = program
        self.fresh = fresh

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """Run on a list of arrays, which is empty afterwards."""
        return self.boxed(arrays)

    @cached_property
    def flat(self) -> Callable[..., tuple[Any, ...]]:
        """The function of arrays that returns a tuple."""
        return self._build(False)[0]

    @cached_property
    def boxed(self) -> Callable[[list[Any]], list[Any]]:
        """The function of a list that returns a list."""
        return self._build(True)[0]

    @cached_property
    def source(self) -> str:
        """The text of `flat`."""
        return self._build(False)[1]

    def _writer(self, module: Module) -> FunctionWriter:
        return FunctionWriter(module, self.program, self.fresh, is_portable=False)

    def _build(self, is_boxed: bool) -> tuple[Callable[..., Any], str]:
        module = Module()
        name_users_line()
        name = module.name(self.program.name)
        text = self._writer(module).write(name, is_boxed)
        module.functions.append(text)
        source = module.source()
        # Tracebacks and debuggers show the lines of files that they find here.
        file = f"<pullback {self.program.name} {next(_numbers)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        namespace = module.namespace()
        exec(compile(source, file, "exec"), namespace)
        weakref.finalize(namespace[name], linecache.cache.pop, file, None)
        return namespace[name], source


def compile_numpy(graph: Program, example_types: Any = None, *, fresh: Collection[int] | None = None) -> CompiledGraph:
    """A function of NumPy calls for a graph.

    `fresh` names the outputs, by position, that must not share memory with an input or with another output; by default
    they are those that are the very value of an input or of an output before, unless they are saved for backward.
    """
    return CompiledGraph(graph, fresh)
