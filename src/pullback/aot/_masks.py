"""Backward graphs for gradients that arrive at some of the outputs only."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._backward_effects import Sources, happens
from pullback.aot._capture import Capture
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, Value
from pullback.graph.types import type_of


def specialised(graph: Graph, lead: int, defined: tuple[bool, ...], effects: Sources | None = None) -> Graph:
    """A backward graph without the tangents that are not defined.

    Backward graphs are linear in the tangents: what depends on absent ones only is zero, and is left out. Where such a
    value meets another, it is zeros, and in a sum it is nothing at all. `effects` says which tangents lead to effects.
    """
    arrived = bits_of(defined)
    copy = graph.copy()
    tangents = copy.inputs[lead:]
    zero = {value for value, there in zip(tangents, defined, strict=True) if not there}
    alive = {value for value, there in zip(tangents, defined, strict=True) if there}
    replaced: dict[Value, Value] = {}
    nodes, copy.nodes = copy.nodes, []
    for node in nodes:
        given = [replaced.get(x, x) if type(x) is Value else x for x in node.operands]
        reads_zero = [type(x) is Value and x in zero for x in given]
        is_alive = any(type(x) is Value and x in alive for x in given)
        if effects and not happens(node, effects, arrived):
            zero.update(node.results)
            continue
        if any(reads_zero) and not is_alive and node.op != "store":
            zero.update(node.results)
            continue
        if any(reads_zero):
            left = [x for x, gone in zip(given, reads_zero, strict=True) if not gone]
            if node.op == "add" and type(left[0]) is Value and left[0].type == node.result.type:
                replaced[node.result] = left[0]
                continue
            given = [zeros(copy, x.type) if gone else x for x, gone in zip(given, reads_zero, strict=True)]
        node.operands = tuple(given)
        copy.nodes.append(node)
        if is_alive:
            alive.update(node.results)
    copy.outputs = [
        None if value is None or (value in zero and value not in replaced) else replaced.get(value, value)
        for value in copy.outputs
    ]
    kept = [k for k in range(len(copy.inputs)) if k < lead or defined[k - lead]]
    copy.inputs, copy.input_descs = [copy.inputs[k] for k in kept], [copy.input_descs[k] for k in kept]
    return copy.dce()


def sources_of_gradients(captured: Capture) -> list[int]:
    """For each input, the tangents that its gradient is computed from, as bits. Asked of the graph as it was traced."""
    graph, first = captured.graph, len(captured.inputs)
    led: dict[Value, int] = {value: 1 << k for k, value in enumerate(graph.inputs[first:])}
    for node in graph.nodes:
        sources = 0
        for x in node.inputs:
            sources |= led.get(x, 0)
        if sources:
            led.update(dict.fromkeys(node.results, sources))
    gradients = graph.outputs[captured.num_forward_outputs :]
    # A formula need not use the gradient that it is given. Then the tape says what leads to it.
    otherwise = captured.meta.gradient_sources or [0] * len(gradients)
    return [
        0 if value is None else led.get(value, 0) or known for value, known in zip(gradients, otherwise, strict=True)
    ]


def bits_of(defined: tuple[bool, ...]) -> int:
    """A set of tangents as bits."""
    return sum(1 << k for k, there in enumerate(defined) if there)


def zeros(graph: Graph, kind: Any) -> Value:
    """A constant of this type in the backward half: nothing but zeros."""
    array = np.zeros(kind.shape, kind.dtype)
    array.flags.writeable = False
    return graph.add("constant", [], {"value": array}, [type_of(array)], BACKWARD).result
