"""What the tests of backends share: graphs of one operator, and results compared to the bit."""

from __future__ import annotations

import numpy as np

import tests.operators.declared  # noqa: F401  every family of operators is loaded
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.graph.descriptors import PlainAOTInput, PlainAOTOutput
from pullback.graph.ir import Program, type_of
from pullback.payloads.evaluate import evaluate


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def all_samples():
    """Every operator with every sample of it, and a name."""
    for op in registry.values():
        if op.sample_rule is not None:
            for number, sample in enumerate(samples_of(op)):
                yield op, sample, f"{op.name}-{sample.label or number}"


def one_node(op, operands, params):
    """A graph of one operator, the arrays it takes, and what evaluation gives."""
    program = Program("forward")
    values, arrays = [], []
    for x in operands:
        if isinstance(x, np.ndarray):
            values.append(program.add_input(type_of(x), PlainAOTInput(len(arrays))))
            arrays.append(x)
        else:
            values.append(x)
    with np.errstate(all="ignore"):
        expected = listed(evaluate(op, operands, params))
    node = program.add(op, values, params, [type_of(x) for x in expected])
    for number, value in enumerate(node.results):
        program.add_output(value, PlainAOTOutput(number))
    return program, arrays, expected


class Builder:
    """Writes graphs in tests: `b("multiply", x, 2.0)` adds a node, with the types that evaluation finds."""

    def __init__(self, *arrays, name="forward"):
        self.program = Program(name)
        self.arrays = {}
        self.inputs = [self.input(x) for x in arrays]

    def input(self, array):
        """A new input with an example of it."""
        value = self.program.add_input(type_of(array), PlainAOTInput(len(self.program.inputs)))
        self.arrays[value] = array
        return value

    def __call__(self, name, *operands, **params):
        """The result of an operator, or the tuple of its results."""
        given = [self.arrays.get(x, x) if hasattr(x, "node") else x for x in operands]
        op = registry[name]
        out = evaluate(op, given, params)
        node = self.program.add(op, operands, params, [type_of(x) for x in listed(out)])
        self.arrays.update(zip(node.results, listed(out), strict=True))
        return node.result if len(node.results) == 1 else node.results

    def constant(self, array):
        """A constant, which nobody may write."""
        array = array.view()
        array.flags.writeable = False
        node = self.program.add("constant", (), {"value": array}, [type_of(array)])
        self.arrays[node.result] = array
        return node.result

    def update(self, base, new, *steps):
        """`base` with the elements that the views lead to replaced."""
        array = self.arrays[base].copy()
        place = array
        for step in steps:
            place = step.op.kernel(place, **step.params)
        place[...] = self.arrays.get(new, new) if hasattr(new, "node") else new
        node = self.program.add("update", (base, new), {"steps": steps}, [type_of(array)])
        self.arrays[node.result] = array
        return node.result

    def output(self, *values):
        """Outputs, in this order."""
        for value in values:
            self.program.add_output(value, PlainAOTOutput(len(self.program.outputs)))
        return self.program

    def expected(self):
        """The outputs as they were evaluated."""
        return [None if value is None else self.arrays[value] for value in self.program.outputs]


def same_bits(left, right):
    """Are two arrays equal in dtype, shape and every bit? One NaN is as good as another."""
    if left.dtype != right.dtype or left.shape != right.shape or type(left) is not np.ndarray:
        return False
    if left.tobytes() == right.tobytes():
        return True
    return left.dtype.kind in "fc" and _bits_but_nan(left) == _bits_but_nan(right)


def _bits_but_nan(x):
    parts = np.stack([x.real, x.imag]) if x.dtype.kind == "c" else np.array(x)
    parts[np.isnan(parts)] = np.nan
    return parts.tobytes()
