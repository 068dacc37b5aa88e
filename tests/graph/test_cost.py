"""Floating point operations and bytes."""

import numpy as np
import pytest

from pullback.graph.cost import flops, nbytes, program_flops
from tests.graph.building import Builder, body, every_sample, graph_of_call


def cost(write, *shapes):
    b = Builder("forward", *(np.eye(*shape) if len(shape) == 2 else np.ones(shape) for shape in shapes))
    out = write(b, *b.inputs)
    return flops((out if not isinstance(out, tuple) else out[0]).node)


@pytest.mark.parametrize("write, shapes, expected", [
    (lambda b, x, w: b.matmul(x, w), [(64, 32), (32, 16)], 2 * 64 * 32 * 16),
    (lambda b, x, w: b.matmul(x, w), [(5, 1, 4, 3), (2, 3, 6)], 10 * 2 * 4 * 3 * 6),
    (lambda b, x, w: b.matmul(x, w), [(4, 3), (3,)], 2 * 4 * 3),
    (lambda b, x, w: b.matmul(x, w), [(3,), (3,)], 6),
    (lambda b, x: b.sin(x), [(64, 32)], 2048),
    (lambda b, x, y: b.add(x, y), [(3, 1), (1, 4)], 12),
    (lambda b, x: b.sum(x, axis=(0,), dtype=None, keepdims=False), [(7, 3)], 21),
    (lambda b, x: b.permute_dims(x, axes=(1, 0)), [(7, 3)], 0),
    (lambda b, x: b("_basic_index", x, index=(0, ...)), [(7, 3)], 0),
    (lambda b, x, y: b.update(x, y), [(3, 3), (3, 3)], 0),
    (lambda b, x, y: b("_einsum_two", x, y, subscripts="ij,jk->ik", optimize=False), [(2, 3), (3, 5)], 60),
    (lambda b, x, y: b("_einsum_two", x, y, subscripts="ij,ij->ij", optimize=False), [(2, 3), (1, 3)], 12),
    (lambda b, x: b("_einsum_one", x, subscripts="ii->i", optimize=False), [(3, 3)], 3),
    (lambda b, x, w: b("_linear", x, w, None), [(5, 4), (3, 4)], 2 * 5 * 4 * 3 + 15),
    (lambda b, x, y: b("_convolve", x, y, ndim=1, valid=False, method="direct"), [(9,), (4,)], 2 * 9 * 4),
    (lambda b, x: b("_sort", x, axis=1, descending=False), [(4, 8)], 4 * 8 * 3),
    (lambda b, x: b("_linalg_cholesky", x), [(6, 6)], 72),
    (lambda b, x: b("_linalg_det", x), [(4, 1, 6, 6)], 4 * 144),
    (lambda b, x: b("_linalg_det", x), [(6, 6)], 144),
])  # fmt: skip
def test_operations_are_counted(write, shapes, expected):
    assert cost(write, *shapes) == expected


def test_every_sample_has_a_cost_and_only_views_are_free():
    free = set()
    for op, sample in every_sample():
        graph, _, _ = graph_of_call(op, sample)
        (node,) = graph.nodes
        count = flops(node)
        assert isinstance(count, int) and count >= 0
        if count == 0 and all(value.type.size for value in (*node.inputs, *node.results)):
            free.add(op.name)
            assert op.is_view, op.name
    assert "permute_dims" in free


def test_loops_count_their_turns_and_branches_the_dearer_one():
    turn = body("turn", lambda inner, c, v: [inner.add(c, v), v], np.ones(4), np.ones(4))
    b = Builder("forward", np.ones(4), np.ones((5, 4)), np.array(True))
    c, xs, p = b.inputs
    attrs = {"body": turn, "carried": 1, "scanned": 1, "length": 5, "reverse": False}
    b.control("scan", (c, xs), attrs, [np.ones(4), np.ones((5, 4))])
    cheap = body("cheap", lambda inner, y: [y], np.ones(4))
    dear = body("dear", lambda inner, y: [inner.exp(inner.sin(y))], np.ones(4))
    b.control("cond", (p, c), {"true": cheap, "false": dear}, [np.ones(4)])
    assert [flops(node) for node in b.graph.nodes] == [20, 8]
    assert program_flops(b.graph) == 28


def test_bytes_are_those_of_the_elements():
    b = Builder("forward", np.ones((3, 4), np.float32))
    assert nbytes(b.inputs[0]) == 48
    assert nbytes(b.broadcast_to(b.inputs[0], shape=(2, 3, 4))) == 96
