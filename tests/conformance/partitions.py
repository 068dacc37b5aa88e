"""Case 153: forward and backward together compute what the joint graph computes, by whatever way it is split."""

from typing import Any

import numpy as np

import pullback as pb
from pullback import aot
from pullback.aot._entry import Entry
from pullback.aot._partition import partition as split

WAYS = [("default", 1.0), ("min_cut", 1.0), ("min_cut", 0.5), ("min_cut", 0.0)]


class Joints:
    """The joint graphs that are compiled while a test runs, with the number of outputs of their forward parts."""

    def __init__(self) -> None:
        self.found: list[tuple[aot.Graph, int]] = []

    def watch(self, monkeypatch: Any) -> None:
        compile_forward = Entry._compile_forward

        def noting(entry: Entry) -> None:
            compile_forward(entry)
            if entry.partition is not None:
                self.found.append((entry.graph, entry.capture.num_forward_outputs))

        monkeypatch.setattr(Entry, "_compile_forward", noting)

    def check(self) -> int:
        """Split each of them in every way, and compare. The number of graphs that were compared."""
        texts: set[str] = set()
        for graph, count in self.found:
            is_new = graph.to_text() not in texts
            texts.add(graph.to_text())
            if is_new and not any("call" in node.attrs for node in graph.nodes):  # code of a test's own runs once
                for method, budget in WAYS:
                    check_split(graph, count, method, budget)
        return len(texts)


def check_split(joint: aot.Graph, count: int, method: str, budget: float, split: Any = split) -> None:
    """Compare the joint graph with its halves, on random arrays: what they return, and what they write to inputs."""
    found = split(joint, count, method=method, memory_budget=budget)
    number = len(found.forward.inputs)
    given = [[_array(value.type, k) for k, value in enumerate(joint.inputs)] for _ in range(2)]
    with np.errstate(all="ignore"):
        pb.random.manual_seed(0)
        wanted = joint.eval(*given[0])
        pb.random.manual_seed(0)
        first = found.forward.eval(*given[1][:number])
        gradients = found.backward.eval(*first[count:], *given[1][number:])
    for mine, theirs in zip([*first[:count], *gradients, *given[1]], [*wanted, *given[0]], strict=True):
        if mine is None or theirs is None:
            assert mine is theirs
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=f"{method}, budget {budget}\n{joint}")


def _array(kind: Any, number: int) -> np.ndarray:
    """Numbers for an input. Whole ones are 0, which is an index of anything."""
    if kind.dtype.kind not in "fc":
        return np.zeros(kind.shape, kind.dtype)
    values = np.random.default_rng(number).standard_normal(kind.shape)
    return np.asarray(values + (0 if kind.dtype.kind == "f" else 0.5j)).astype(kind.dtype)
