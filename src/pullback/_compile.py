"""`pb.compile` and `pb.aot.export_source`: the module that knows both the captures of `aot` and the backends."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pullback.aot._api import joint_graph, partition, trace
from pullback.aot._capture import Options
from pullback.aot._compilers import Compilers
from pullback.aot._disk_cache import OBJECTS, cache_dir, key_of, load, store
from pullback.aot._function import CompiledFunction
from pullback.aot._stored_partition import is_storable
from pullback.compiler import numpy_source, object_cache
from pullback.compiler.native import compile_native
from pullback.compiler.numpy_source.stored import read_record, write_record
from pullback.graph.graph import Graph

__all__ = ["compile", "export_source"]


def compile(
    fn: Callable[..., Any] | None = None, *, backend: Any = "auto", partitioner: Any = "auto",
    memory_budget: float = 1.0, recompile_limit: int = 8, fallback: str = "eager", **options: Any,
) -> Any:  # fmt: skip
    """`fn`, captured and compiled when it is called with a new kind of arguments. Use it as a decorator or a function.

    What can not be captured runs as it is, with a warning; `fallback="raise"` raises instead. Tensors that `fn` uses
    and is not given are inputs of the graph, and get gradients. Further options are those of `pb.aot.aot_function`.

    >>> @pb.compile
    ... def f(x):
    ...     return (x * x).sum()
    >>> f(pb.tensor([1.0, 2.0]))
    tensor(5.)
    """
    if fn is None:
        return lambda function: compile(
            function, backend=backend, partitioner=partitioner, memory_budget=memory_budget,
            recompile_limit=recompile_limit, fallback=fallback, **options,
        )  # fmt: skip
    compilers = Compilers(_backend(backend, fallback), partitioner=partitioner, memory_budget=memory_budget)
    return CompiledFunction(
        fn, compilers, Options(**options), fallback=fallback, recompile_limit=recompile_limit
    )


def _backend(backend: Any, fallback: str) -> Any:
    if callable(backend):
        return backend
    if backend in ("auto", "numpy"):
        return compile_numpy
    if backend == "llvm":
        return lambda graph, types: _compile_native(graph, types, fallback == "raise")
    raise ValueError(f"backend must be 'auto', 'llvm', 'numpy' or a function that compiles graphs, got {backend!r}")


def _compile_native(graph: Graph, types: Any, strict: bool) -> Any:
    """Native code; object code is kept where everything else is that outlives the process."""
    folder = cache_dir()
    object_cache.set_folder(None if folder is None else folder / OBJECTS)
    return compile_native(graph, types, strict=strict)


def compile_numpy(graph: Graph, types: Any) -> Any:
    """The NumPy backend, which asks the cache on disk first, if there is one."""
    if cache_dir() is None or not is_storable(graph):
        return numpy_source.compile_numpy(graph)
    key = key_of("numpy source", graph.to_text())
    found = read_record(load(key))
    if found is None:
        found, record = write_record(graph)
        if record is not None:
            store(key, record)
    return found


def export_source(
    fn: Callable[..., Any], *args: Any, path: str | os.PathLike[str] | None = None, **kwargs: Any
) -> str:
    """Python source that computes what `fn` computes of arguments like these with NumPy alone; `path` is a file for it.

    `forward` takes the arrays among the arguments, then those that `fn` uses without being given them, and returns the
    results. If something requires grad, `forward` also returns what `backward` needs: give it that, and the gradients
    of the results, and it returns the gradients of the arguments.

    >>> source = pb.aot.export_source(lambda x: pb.sin(x) * 2, pb.ones(3))
    >>> "np.sin(" in source, "pullback" in source
    (True, False)
    """
    joint = joint_graph(fn, *args, **kwargs)
    graphs: list[Graph]
    if joint.meta.traced_tangents and joint.meta.deferred_backward_error is None:
        split = partition(joint)
        graphs = [split.forward, split.backward]
    else:
        graphs = [trace(fn, *args, **kwargs).graph]
    for graph, name in zip(graphs, ("forward", "backward"), strict=False):
        graph.name = name
    return numpy_source.export_source(graphs, path)
