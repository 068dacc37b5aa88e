"""Graphs written by hand, for the tests of what is done with graphs."""

from __future__ import annotations

import numpy as np

import tests.operators.declared  # noqa: F401  (every family is declared)
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.declare.views import ViewStep
from pullback.graph.descriptors import DummyAOTInput, DummyAOTOutput, PlainAOTInput, PlainAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.ir import type_of


def every_sample(family=None):
    """Every declared operator, or those of one family, with each of its samples."""
    chosen = [op for op in registry.values() if op.sample_rule is not None and family in (None, op.family)]
    return [(op, sample) for op in chosen for sample in samples_of(op)]


def graph_of_call(op, sample):
    """A graph of one node, its arrays, and what the kernel makes of them."""
    graph, operands, arrays = Graph(), [], []
    for x in sample.inputs():
        if isinstance(x, np.ndarray):
            operands.append(graph.add_input(type_of(x), PlainAOTInput(len(arrays))))
            arrays.append(x)
        else:
            operands.append(x)
    out = op.kernel(*sample.inputs(), **sample.params)
    outs = [np.asarray(part) for part in (out if isinstance(out, (tuple, list)) else (out,))]
    node = graph.add(op, operands, sample.params, [type_of(part) for part in outs])
    for index, value in enumerate(node.results):
        graph.add_output(value, PlainAOTOutput(index))
    return graph, arrays, outs


class Builder:
    """Writes a graph while the nodes run on example arrays, so types are what really comes out.

    `b.multiply(x, 2)` adds a node of that operator and returns its value; a private operator is `b("_astype", x, ...)`.
    """

    def __init__(self, name="forward", *arrays):
        self.graph = Graph(name)
        self.arrays = {}
        self.tag = "fw"
        self.inputs = [self.input(array) for array in arrays]

    def input(self, array, desc=None):
        array = np.asarray(array)
        value = self.graph.add_input(type_of(array), desc or PlainAOTInput(len(self.graph.inputs)))
        self.arrays[value] = array
        return value

    def __call__(self, name, *operands, **attrs):
        op = registry[name]
        out = op.kernel(*[self.arrays.get(x, x) if not isinstance(x, np.ndarray) else x for x in operands], **attrs)
        return self._made(self.graph.add(op, operands, attrs, [type_of(a) for a in _as_list(out)], self.tag), out)

    def __getattr__(self, name):
        return lambda *operands, **attrs: self(name, *operands, **attrs)

    def constant(self, array):
        array = np.array(array)
        array.flags.writeable = False
        return self._made(self.graph.add("constant", (), {"value": array}, [type_of(array)], self.tag), array)

    def update(self, base, new, *steps):
        steps = tuple(ViewStep(registry[name], params) for name, params in steps)
        out = self.arrays[base].copy()
        view = out
        for step in steps:
            view = step.op.kernel(view, **step.params)
        view[...] = self.arrays.get(new, new)
        return self._made(self.graph.add("update", (base, new), {"steps": steps}, [type_of(out)], self.tag), out)

    def store(self, target, value):
        return self.graph.add("store", (target, value), {}, (), self.tag)

    def control(self, kind, operands, attrs, outs):
        return self._made(self.graph.add(kind, operands, attrs, [type_of(np.asarray(a)) for a in outs], self.tag), outs)

    def returns(self, *values, descs=None):
        for index, value in enumerate(values):
            self.graph.add_output(value, descs[index] if descs else PlainAOTOutput(index))
        return self.graph

    def _made(self, node, out):
        self.arrays.update(zip(node.results, _as_list(out)))
        return node.results[0] if len(node.results) == 1 else node.results


def _as_list(out):
    return [np.asarray(part) for part in (out if isinstance(out, (tuple, list)) else (out,))]


def body(name, function, *arrays):
    """A graph for control flow: `function` of a builder and its inputs returns the outputs."""
    builder = Builder(name)
    inputs = [builder.input(array, DummyAOTInput(index)) for index, array in enumerate(arrays)]
    outputs = function(builder, *inputs)
    return builder.returns(*outputs, descs=[DummyAOTOutput(index) for index in range(len(outputs))])


def operators_of(graph):
    """The names of the operators of a graph, in order."""
    return [node.op for node in graph.nodes]
