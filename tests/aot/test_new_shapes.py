"""A function that is called with ever new shapes keeps a bounded number of captures, and nothing else of the others."""

import gc
import importlib.util
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.aot import _compiling
from pullback.aot._call import fast_call
from pullback.graph.graph import Graph

HAS_LLVM = importlib.util.find_spec("llvmlite") is not None
BACKENDS = ["numpy", pytest.param("llvm", marks=pytest.mark.skipif(not HAS_LLVM, reason="needs llvmlite"))]
KEPT, SHORT = 3, 6  # captures and fast paths, in this test
CALLS = 8  # with new lengths, twice


def objects():
    """The objects that are alive, of which those are found that belong to a capture."""
    for _ in range(2):
        gc.collect()
    return gc.get_objects()


@pytest.mark.parametrize("backend", BACKENDS)
def test_ever_new_shapes_leave_nothing_behind(monkeypatch, backend):
    monkeypatch.setattr(_compiling, "_MOST_KEYS", KEPT)
    monkeypatch.setattr(fast_call, "MOST", SHORT)
    compiled = pb.compile(
        lambda x, w: (pb.sin(x) * w[: len(x)]).sum(), fallback="raise", backend=backend, dynamic=False,
        recompile_limit=1000,
    )  # fmt: skip
    w = pb.tensor(np.linspace(0.5, 1.5, 200), requires_grad=True)
    dropped = []

    def called(lengths):
        for length in lengths:
            x = pb.tensor(np.ones(length), requires_grad=True)
            compiled(x, w).backward()
            dropped.append(weakref.ref(next(reversed(compiled._entries.values()))[0]))
        w.grad = None
        alive = objects()
        return len(alive), sum(isinstance(each, Graph) for each in alive)

    called(range(10, 10 + CALLS))  # which fills what is bounded, and loads what is needed once
    before, graphs_before = called(range(40, 40 + CALLS))
    after, graphs = called(range(70, 70 + CALLS))
    assert len(compiled._entries) == KEPT
    assert compiled.cache_info().evicted == 3 * CALLS - KEPT
    assert sum(each() is not None for each in dropped) <= KEPT + SHORT
    assert graphs <= graphs_before
    assert after - before < 100 * CALLS, "each new length keeps more than a spec and a type"
