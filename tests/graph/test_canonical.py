"""Canonical graphs and their digests."""

import subprocess
import sys

import numpy as np

from pullback.graph.descriptors import GradAOTOutput, PlainAOTInput, PlainAOTOutput
from tests.graph.building import Builder, operators_of


def ordered(first):
    """`exp(sin(x)*y) + cos(x)` with independent nodes and commuting operands in two orders."""
    b = Builder("forward", np.ones(3), np.ones(3))
    x, y = b.inputs
    if first:
        c = b.cos(x)
        e = b.exp(b.multiply(b.sin(x), y))
        return b.returns(b.add(e, c))
    e = b.exp(b.multiply(y, b.sin(x)))
    c = b.cos(x)
    return b.returns(b.add(c, e))


def test_the_order_of_independent_nodes_and_of_commuting_operands_does_not_matter():
    assert ordered(True) != ordered(False)
    assert ordered(True).canonical() == ordered(False).canonical()
    assert ordered(True).hash() == ordered(False).hash()


def test_canonical_graphs_are_canonical():
    once = ordered(True).canonical()
    assert once.canonical() == once and once.verify()


def test_what_computes_something_else_has_another_digest():
    def digest(write):
        b = Builder("forward", np.ones(3), np.ones(3))
        return b.returns(write(b, *b.inputs)).hash()

    different = [
        lambda b, x, y: b.subtract(x, y),
        lambda b, x, y: b.subtract(y, x),
        lambda b, x, y: b.add(x, y),
        lambda b, x, y: b.add(x, x),
        lambda b, x, y: b.add(x, 1),
        lambda b, x, y: b.add(x, 1.0),
        lambda b, x, y: b.sum(x, axis=(0,), dtype=None, keepdims=False),
        lambda b, x, y: b.sum(x, axis=(0,), dtype=None, keepdims=True),
    ]
    assert len({digest(write) for write in different}) == len(different)


def test_numbers_stand_behind_values():
    b = Builder("forward", np.ones(3))
    graph = b.returns(b.multiply(2.0, b.inputs[0])).canonical()
    assert "multiply(%0, 2.0)" in str(graph)


def test_effects_keep_their_order_and_stores_end_their_half():
    b = Builder("joint", np.ones(2), np.ones(2))
    x, y = b.inputs
    for name in ("sin", "cos", "exp"):
        b(name, x).node.effect = "ordered"
    z = b.multiply(x, y)
    b.store(y, z)
    b.store(x, b.graph.nodes[0].result)
    b.tag = "bw"
    b.returns(z, b.negative(z), descs=[PlainAOTOutput(0), GradAOTOutput(PlainAOTInput(0))])
    canonical = b.graph.canonical().verify()
    assert operators_of(canonical) == ["sin", "cos", "exp", "multiply", "store", "store", "negative"]
    assert [node.operands[0] for node in canonical.nodes if node.op == "store"] == [x, y]


def test_the_digest_is_the_same_in_every_process():
    code = "from tests.graph.test_canonical import ordered; print(ordered(True).hash())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == ordered(False).hash()
