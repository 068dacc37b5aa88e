"""`pb.compile` and `pb.aot.export_source`: the module that knows both the captures of `aot` and the backends."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from pullback import aot, compiler
from pullback.aot._call import accumulators
from pullback.aot._compilers import Compilers
from pullback.aot._disk import OBJECTS, is_storable, key_of, load, store, usable_dir
from pullback.aot._function import CompiledFunction
from pullback.aot._trace.records import Options
from pullback.compiler import numpy_source
from pullback.compiler.machine import objects
from pullback.compiler.native import compile_native, left_to_numpy, read_native, write_native
from pullback.core.doors import door
from pullback.core.frames import warn
from pullback.graph.graph import Graph
from pullback.graph.pipeline import run

__all__ = ["compile", "export_source"]

accumulators.makers.append(lambda *given: compiler.sinks_function(*given))  # loaded when it is called


@door
def compile(
    fn: Callable[..., Any] | None = None, *, backend: Any = "auto", partitioner: Any = "auto",
    memory_budget: float = 1.0, recompile_limit: int = 8, fallback: str = "eager", fastmath: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    """`fn`, captured and compiled when it is called with a new kind of arguments. Use it as a decorator or a function.

    What cannot be captured runs as it is, with a warning; `fallback="raise"` raises instead. Tensors that `fn` uses
    and is not given are inputs of the graph, and get gradients. Further options are those of `pb.aot.aot_function`.

    `backend="llvm"` makes machine code, `"numpy"` Python source that calls NumPy; `"auto"` is the first if llvmlite is
    installed. `fastmath=True` lets machine code reorder sums and contract products, which changes the last digits.

    >>> @pb.compile
    ... def f(x):
    ...     return (x * x).sum()
    >>> f(pb.tensor([1.0, 2.0]))
    tensor(5.)
    """
    if fn is None:
        return lambda function: compile(
            function, backend=backend, partitioner=partitioner, memory_budget=memory_budget,
            recompile_limit=recompile_limit, fallback=fallback, fastmath=fastmath, **options,
        )  # fmt: skip
    for name in options.keys() - Options.__annotations__.keys():
        raise TypeError(f"compile() got an unexpected keyword argument '{name}'")
    strict = fallback == "raise" or bool(options.get("strict"))
    compilers = Compilers(_backend(backend, strict, fastmath), partitioner=partitioner, memory_budget=memory_budget)
    chosen = Options(**{"side_effects": "refuse", "live": True, **options})
    return CompiledFunction(fn, compilers, chosen, fallback=fallback, recompile_limit=recompile_limit)


def _backend(backend: Any, strict: bool, fastmath: bool) -> Any:
    """What compiles graphs. `fastmath` is a permission: NumPy makes no use of it."""
    if callable(backend):
        return backend
    chosen = _default_backend() if backend == "auto" else backend
    if chosen == "numpy":
        return compile_numpy
    if chosen == "llvm":
        return _Native(strict, backend == "llvm", fastmath)
    raise ValueError(f"backend must be 'auto', 'llvm', 'numpy' or a function that compiles graphs, got {chosen!r}")


def _default_backend() -> str:
    """What "auto" means: what the environment says, otherwise native code if it can be made."""
    return os.environ.get("PULLBACK_BACKEND") or ("llvm" if _has_llvmlite() else "numpy")


@functools.cache
def _has_llvmlite() -> bool:
    import importlib.util  # which those who name their backend do not need

    found = importlib.util.find_spec("llvmlite") is not None
    if not found:
        warn(
            "llvmlite is not installed: compiled functions call NumPy, and are slower than native code would be; "
            "pip install 'pullback[compile]', or say backend=\"numpy\" if that is meant"
        )
    return found


class _Native:
    """The native backend. Object code is kept where everything else is that outlives the process."""

    def __init__(self, is_strict: bool, is_required: bool, fastmath: bool) -> None:
        self.is_strict = is_strict  # raise where otherwise there would be a warning and NumPy
        self.is_required = is_required  # somebody asked for it by name
        self.fastmath = fastmath

    def __call__(self, graph: Graph, types: Any) -> Any:
        folder = usable_dir()
        objects.set_folder(None if folder is None else os.path.join(folder, OBJECTS))
        if folder is None or not is_storable(graph):
            return self._made(graph, types)
        key = key_of("native", graph.to_text(), str(self.fastmath))
        found = read_native(load(key), graph, self.fastmath)
        if found is None:
            found = self._made(graph, types)
            record = write_native(found)
            if record is not None:
                store(key, record)
        return found

    def _made(self, graph: Graph, types: Any) -> Any:
        return compile_native(
            graph, types, strict=self.is_strict, required=self.is_required, fastmath=self.fastmath
        )

    def narrow_loops(self, graph: Graph) -> Graph:
        """A joint graph whose loops keep less of every step."""
        return run((compiler.recompute,), graph)

    def left_to_numpy(self, graph: Graph) -> list[tuple[str, str]]:
        """The operators that are called as their NumPy kernels, and why."""
        return left_to_numpy(graph)


def compile_numpy(graph: Graph, types: Any) -> Any:
    """The NumPy backend, which asks the cache on disk first, if there is one."""
    if usable_dir() is None or not is_storable(graph):
        return numpy_source.compile_numpy(graph)
    key = key_of("numpy source", graph.to_text())
    found = numpy_source.read_record(load(key))
    if found is None:
        found, record = numpy_source.write_record(graph)
        if record is not None:
            store(key, record)
    return found


def export_source(
    fn: Callable[..., Any], *args: Any, path: str | os.PathLike[str] | None = None, **kwargs: Any
) -> str:
    """Python source that computes what `fn` computes of arguments like these with NumPy alone; `path` is a file for it.

    `forward` takes the arrays among the arguments, then those that `fn` uses without being given them, and returns the
    results. If something requires grad, `forward` also returns what `backward` needs: give it that, and the gradients
    of the results, and it returns the gradients of the arguments. If `fn` draws random numbers, the file has a function
    `seed(number)`: behind it are the draws that are behind `pb.random.manual_seed(number)`.

    >>> source = pb.aot.export_source(lambda x: pb.sin(x) * 2, pb.ones(3))
    >>> "np.sin(" in source, "pullback" in source
    (True, False)
    """
    joint = aot.joint_graph(fn, *args, **kwargs)
    graphs: list[Graph]
    if joint.meta.traced_tangents and joint.meta.deferred_backward_error is None:
        split = aot.partition(joint)
        graphs = [split.forward, split.backward]
    else:
        graphs = [aot.trace(fn, *args, **kwargs).graph]
    for graph, name in zip(graphs, ("forward", "backward"), strict=False):
        graph.name = name
    return numpy_source.export_source(graphs, path)
