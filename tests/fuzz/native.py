"""Random graphs as native code against evaluation with NumPy, on arrays of the world; and the same on memory that ends
where forbidden memory begins, where whoever goes beyond ends the process."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pullback.compiler.machine import entry, structs
from pullback.graph.text.printing import program_text
from tests.compiler import guarded
from tests.compiler.random_native import Generator, agreement

from .program import Disagreement
from .world import World

MOST = 40_000
DTYPES = ("float64", "float32", "int64", "int32", "bool", "complex128", "complex64")


@dataclass(frozen=True)
class Graph:
    """The graph of a seed, of so many nodes; `outputs` says how many of the last values it returns."""

    tester: str
    seed: int
    size: int
    outputs: int = 0

    def build(self) -> Any:
        made = WorldGenerator(np.random.default_rng(self.seed), self.size)
        b = made.b
        if self.outputs:
            program = b.program
            last = len(program.outputs) - self.outputs
            program.outputs[:], program.output_descs[:] = program.outputs[last:], program.output_descs[last:]
        return b

    def source(self) -> str:
        b = self.build()
        shapes = [f"{x.dtype}{list(x.shape)} strides {x.strides}" for x in (b.arrays[v] for v in b.program.inputs)]
        return f"{program_text(b.program)}\n# inputs: {'; '.join(shapes)}"


class WorldGenerator(Generator):
    """Draws its arrays from the world."""

    most_elements = MOST

    def array(self) -> Any:
        from .world import array

        rng = random.Random(int(self.random.integers(2**40)))
        world = World(rng, most_elements=MOST)
        values = world.values(edges=rng.random() < 0.5)
        return array(world.shape(3), world.dtype(DTYPES), world.layout(), values, world.seed())

    def product(self) -> Any:
        x = self.pick()
        if x.type.ndim == 2 and x.type.shape[0] ** 2 > 10 * MOST:
            raise ValueError
        return super().product()


class Native:
    """Native code against NumPy."""

    name = "native"

    def draw(self, seed: int) -> Graph:
        return Graph(self.name, seed, 3 + seed % 12)

    def check(self, graph: Graph) -> Disagreement | None:
        if self.agrees(graph) is not False:
            return None
        return Disagreement("native code", "values", "", "")

    def agrees(self, graph: Graph) -> bool | None:
        try:
            return bool(agreement(graph.build(), graph.seed, 2 if graph.seed % 8 == 0 else 0) is not False)
        except MemoryError:
            return None

    def smaller(self, graph: Graph) -> Iterator[Graph]:
        if graph.size > 1:
            yield replace(graph, size=graph.size // 2)
            yield replace(graph, size=graph.size - 1)
        count = graph.outputs or len(graph.build().program.outputs)
        if count > 1:
            yield replace(graph, outputs=1)
            yield replace(graph, outputs=count - 1)

    def count(self, graph: Graph) -> tuple[int, int]:
        return graph.size, 1


class Guarded(Native):
    """Native code on guarded memory."""

    name = "guarded"

    def agrees(self, graph: Graph) -> bool | None:
        before = entry.new_result, entry.new_arena, structs.are_as_expected
        structs.are_as_expected = lambda: False  # ctypes calls, so that results are made by us
        try:
            return bool(guarded.check_graph(graph.build(), graph.seed))
        except MemoryError:
            return None
        finally:
            entry.new_result, entry.new_arena, structs.are_as_expected = before
