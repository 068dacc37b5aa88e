"""Graphs as Python source."""

import numpy as np
import pytest

import pullback as pb
from tests.graph.building import Builder, body, every_sample, graph_of_call


def run(graph, *arrays, **given):
    namespace = {}
    exec(graph.to_python(), namespace)
    return namespace[graph.name](*map(pb.asarray, arrays), **given)


def test_the_source_reads_as_somebody_would_have_written_it():
    b = Builder("forward", np.ones((2, 3)), np.ones((3, 2)))
    x, w = b.inputs
    h = b.matmul(b.sin(x), w)
    row = b("_basic_index", h, index=(slice(1, None), 0, ...))
    new = b.update(h, b.multiply(row, 2), ("_basic_index", {"index": (slice(1, None), 0, ...)}))
    b.store(x, b.cos(x))
    assert b.returns(b("_reshape", new, shape=(4,)), None).to_python().splitlines() == [
        "import numpy as np",
        "import pullback as pb",
        "",
        "",
        "def forward(x0, x1):",
        "    v2 = pb.sin(x0)",
        "    v3 = pb.matmul(v2, x1)",
        "    v4 = v3[1:, 0, ...]",
        "    v5 = pb.multiply(v4, 2)",
        "    v6 = v3.clone()",
        "    v6[1:, 0, ...].copy_(v5)",
        "    v7 = pb.cos(x0)",
        "    v8 = pb.reshape(v6, shape=(4,))",
        "    x0.copy_(v7)",
        "    return [v8, None]",
    ]


def test_the_source_of_every_sample_computes_what_the_kernel_computes():
    for op, sample in every_sample():
        graph, arrays, outs = graph_of_call(op, sample)
        given = {"generator": sample.params["generator"]} if op.family == "random" else {}
        for got, expected in zip(run(graph, *arrays, **given), outs, strict=True):
            np.testing.assert_array_equal(got.numpy(), expected, err_msg=f"{op.name}-{sample.label}")


@pytest.mark.parametrize("array", [np.array([1.5, np.inf]), np.arange(100.0), np.zeros((0, 2)), np.float32(0.1)])
def test_constants_are_written_out(array):
    b = Builder("forward", np.ones(()))
    b.constant(array)
    (got,) = run(b.returns(b.graph.nodes[0].result), np.ones(()))
    assert got.dtype == array.dtype and got.numpy().tobytes() == array.tobytes()


def test_control_flow_is_pythons():
    b = Builder("forward", np.array(1.0), np.arange(3.0))
    start, xs = b.inputs
    double = body("double", lambda inner, y: [inner.multiply(y, 2)], np.array(1.0))
    same = body("same", lambda inner, y: [inner.multiply(y, 1)], np.array(1.0))
    y = b.control("cond", (b.less(start, 2), start), {"true": double, "false": same}, [np.array(1.0)])
    loop = {
        "condition": body("below", lambda inner, c: [inner.less(c, 20)], np.array(1.0)),
        "body": double,
        "carried": 1,
    }
    y = b.control("while_loop", (y,), loop, [np.array(1.0)])
    turn = body("turn", lambda inner, c, v: [inner.add(c, v), inner.multiply(c, v)], np.array(1.0), np.array(1.0))
    attrs = {"body": turn, "carried": 1, "scanned": 1, "length": 3, "reverse": True}
    total, rows = b.control("scan", (y, xs), attrs, [np.array(1.0), np.ones(3)])
    graph = b.returns(total, rows).verify()
    for got, expected in zip(run(graph, 1.0, np.arange(3.0)), graph.eval(np.array(1.0), np.arange(3.0)), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    source = graph.to_python()
    assert "while condition_of_v" in source and "for turn in reversed(range(3)):" in source


def test_numbers_that_have_no_literal_are_made():
    b = Builder("forward", np.ones(2))
    with np.errstate(all="ignore"):
        value = b.add(b.add(b.inputs[0], float("nan")), complex(float("inf"), -0.0))
    got = run(b.returns(value, b.multiply(b.inputs[0], np.float32(2))), np.ones(2))
    np.testing.assert_array_equal(got[0].numpy(), b.arrays[value])
