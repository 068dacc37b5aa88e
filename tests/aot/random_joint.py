"""Random joint graphs. The backward half is no gradient of anything: a partition must not care."""

import random

import numpy as np

from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.graph.descriptors import (
    GradAOTOutput,
    InputMutationAOTOutput,
    PlainAOTInput,
    PlainAOTOutput,
    TangentAOTInput,
)
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, FORWARD, array_type, root_of, type_of

SQUARE = (3, 3)
TAGS = (None, None, None, "MUST_SAVE", "PREFER_SAVE", "MUST_RECOMPUTE", "PREFER_RECOMPUTE")
FIRST_ROW = ViewStep(registry["_basic_index"], {"index": (0,)})


class RandomJoint:
    """A joint graph of 3x3 arrays and rows of them. `arrays` holds a result of each value, which gives its type."""

    def __init__(self, seed: int, *, size: int = 12, with_tags: bool = False, with_effects: bool = False,
                 is_seeded: bool = False) -> None:  # fmt: skip
        self.random = random.Random(seed)
        self.graph = Graph("joint")
        self.arrays = {}
        self.with_tags, self.with_effects = with_tags, with_effects
        numbers = np.random.default_rng(seed)
        self.primals = [self._input(numbers, PlainAOTInput(i)) for i in range(self.random.randint(1, 4))]
        forward = [self._node(FORWARD, region=1 + i // 5) for i in range(self.random.randint(2, size))]
        self.overwritten = self._choose_written(0.4)
        sources = {p: self._square(apart_from=self.overwritten) for p in self.overwritten}
        stored = [p for p in self.overwritten if self.random.random() < 0.5]
        self.num_outputs = self.random.randint(1, 2)
        # What lies in memory that is overwritten shows the new contents, so it is not compared.
        safe = [v for v in self._made(forward) if root_of(v) not in self.overwritten]
        outputs = [self.random.choice(safe) for _ in range(self.num_outputs)] if safe else []
        self.num_outputs = len(outputs)
        count = 1 + self.num_outputs
        if is_seeded:  # as the gradient of a loss is: backward starts from constants
            seeds = [self._constant(BACKWARD) for _ in range(count)]
            self.tangents = []
        else:
            seeds = []
            self.tangents = [self._input(numbers, TangentAOTInput(PlainAOTOutput(i))) for i in range(count)]
        backward = seeds + [self._node(BACKWARD) for _ in range(self.random.randint(2, size))]
        self.written_later = self._choose_written(0.2)
        later = {p: self._square(apart_from=self.written_later) for p in self.written_later}
        self.expected_inputs = {**sources, **later}
        self._place_stores({p: sources[p] for p in stored}, later)
        for p in self.overwritten:
            if p not in stored:
                if p in later:  # written by the epilogue, and again in backward
                    self.expected_inputs[p] = later[p]
                self.graph.add_output(sources[p], InputMutationAOTOutput(self._desc(p)))
        for index, value in enumerate(outputs):
            self.graph.add_output(value, PlainAOTOutput(index))
        self.num_forward_outputs = len(self.graph.outputs)
        made = [v for v in (*self._made(backward), *self._made(forward), *self.primals)
                if root_of(v) not in self.written_later]  # fmt: skip
        for p in self.primals:
            value = self.random.choice(made[: len(made) // 2 + 1]) if made and self.random.random() < 0.8 else None
            self.graph.add_output(value, GradAOTOutput(self._desc(p)))

    def _desc(self, value):
        return self.graph.input_descs[self.graph.inputs.index(value)]

    def _input(self, numbers, desc):
        array = numbers.standard_normal(SQUARE)
        value = self.graph.add_input(array_type(SQUARE, array.dtype), desc)
        self.arrays[value] = array
        return value

    def _made(self, nodes):
        return [value for node in nodes for value in node.results if value.type.dtype == np.float64]

    def _choose_written(self, chance):
        return [p for p in self.primals if self.random.random() < chance]

    def _square(self, apart_from=()):
        squares = [v for v in self.arrays if v.type.shape == SQUARE and v.type.dtype == np.float64]
        apart = [v for v in squares if root_of(v) not in apart_from]
        return self.random.choice(apart or [self._constant(FORWARD).result])

    def _any(self):
        # Late values are chosen more often, or all graphs would be shallow.
        values = [v for v in self.arrays if v.type.dtype == np.float64]
        return self.random.choice(values[-6:] if self.random.random() < 0.6 else values)

    def _node(self, tag, region=None):
        kind = self.random.choice(
            ["sin", "tanh", "add", "multiply", "matmul", "permute_dims", "sum", "row", "max_with_indices", "update",
             "constant", "cumsum", "number"]
        )  # fmt: skip
        node = getattr(self, f"_{kind}", lambda tag: self._plain(kind, tag))(tag)
        if tag is FORWARD and self.with_tags and node.op != "constant":
            node.recompute = self.random.choice(TAGS)
            node.region = region if node.recompute else None
        if self.with_effects and node.op in ("sin", "tanh") and self.random.random() < 0.4:
            node.effect = "random"
        return node

    def _add_node(self, op, operands, attrs, tag):
        out = registry[op].kernel(*[self.arrays.get(x, x) for x in operands], **attrs)
        return self._append(registry[op], operands, attrs, out if isinstance(out, tuple) else (out,), tag)

    def _append(self, target, operands, attrs, arrays, tag):
        arrays = [np.asarray(array) for array in arrays]
        node = self.graph.add(target, operands, attrs, [type_of(array) for array in arrays], tag)
        self.arrays.update(zip(node.results, arrays, strict=True))
        return node

    def _plain(self, op, tag):
        operands = [self._any()] if op in ("sin", "tanh") else [self._any(), self._any()]
        return self._add_node(op, operands, {}, tag)

    def _matmul(self, tag):
        return self._add_node("matmul", [self._square(), self._any()], {}, tag)

    def _permute_dims(self, tag):
        return self._add_node("permute_dims", [self._square()], {"axes": (1, 0)}, tag)

    def _sum(self, tag):
        return self._add_node("sum", [self._square()], {"axis": (1,), "keepdims": False}, tag)

    def _row(self, tag):
        return self._add_node("_basic_index", [self._square()], {"index": (self.random.randrange(3),)}, tag)

    def _cumsum(self, tag):
        return self._add_node("cumsum", [self._square()], {"axis": 0}, tag)

    def _max_with_indices(self, tag):
        return self._add_node("max_with_indices", [self._square()], {"axis": 1, "keepdims": False}, tag)

    def _number(self, tag):
        return self._add_node("multiply", [self._any(), self.random.choice([2, 0.5, -1])], {}, tag)

    def _constant(self, tag):
        array = np.full(SQUARE, float(self.random.randint(1, 3)))
        array.flags.writeable = False
        return self._append("constant", [], {"value": array}, [array], tag)

    def _update(self, tag):
        base, new = self._square(), self._square()
        row = self._add_node("_basic_index", [new], {"index": (1,)}, tag).result
        array = self.arrays[base].copy("K")
        array[0] = self.arrays[row]
        return self._append("update", [base, row], {"steps": (FIRST_ROW,)}, [array], tag)

    def _place_stores(self, early, late):
        for p, value in early.items():
            self.graph.add("store", [p, value], {}, [], FORWARD)
        for p, value in late.items():
            self.graph.add("store", [p, value], {}, [], BACKWARD)


def reference(joint: RandomJoint) -> tuple[list, dict]:
    """The outputs that the graph has if nothing is ever written, and what the inputs hold in the end."""
    pure = Graph("pure")
    pure.inputs, pure.input_descs = list(joint.graph.inputs), list(joint.graph.input_descs)
    pure.nodes = [node for node in joint.graph.nodes if node.op != "store"]
    finals = [joint.expected_inputs.get(p, p) for p in joint.primals]
    for value in [*joint.graph.outputs, *finals]:
        pure.add_output(value, None)
    results = [None if x is None else x.copy() for x in pure.eval(*fresh_inputs(joint))]
    return results[: len(results) - len(finals)], results[len(results) - len(finals) :]


def fresh_inputs(joint: RandomJoint) -> list:
    """Arrays for the inputs, which may be written."""
    return [joint.arrays[value].copy() for value in joint.graph.inputs]


def run_halves(joint: RandomJoint, split) -> tuple[list, list]:
    """Forward, what the runtime writes afterwards, backward: the outputs, and what the inputs hold in the end."""
    arrays = fresh_inputs(joint)
    primals, tangents = arrays[: len(joint.primals)], arrays[len(joint.primals) :]
    results = split.forward.eval(*primals)
    outputs, saved = results[: joint.num_forward_outputs], results[joint.num_forward_outputs :]
    outputs = [x.copy() for x in outputs]
    for array, desc in zip(outputs, split.forward.output_descs, strict=False):
        if isinstance(desc, InputMutationAOTOutput):
            primals[desc.of.index][...] = array
    gradients = split.backward.eval(*saved, *tangents)
    return [*outputs, *gradients], primals
