"""What operators state as `expand` is what their kernels compute, at the edges too, and can be run on stand-ins."""

import numpy as np
import pytest

import tests.operators.declared  # noqa: F401  (every family is declared)
from pullback.compiler.passes.expand import expand
from pullback.declare.op import registry
from pullback.declare.samples import Sample, samples_of
from pullback.graph.interpret import evaluate
from tests.graph.building import graph_of_call

EXPANDED = [op.name for op in registry.values() if op.expansion is not None]
STATED = [name for name in EXPANDED if registry[name].expansion.takes_numbers and registry[name].expansion.when is None]
EDGES = [-np.inf, -3.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 6.0, 40.0, np.inf, np.nan]


def at_the_edges(op, dtype):
    (params, *_) = [sample.params for sample in samples_of(op)]
    pairs = np.meshgrid(np.array(EDGES, dtype), np.array(EDGES, dtype))
    operands = [np.ascontiguousarray(x) for x, _ in zip(pairs, op.operands, strict=False)]
    if "mask" in op.operands:
        operands = [operands[0], operands[1] > 0, 2.5]
    return Sample(tuple(operands), params, "edges")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", STATED)
def test_parts_give_what_the_kernel_gives(name, dtype):
    with np.errstate(all="ignore"):
        graph, arrays, expected = graph_of_call(registry[name], at_the_edges(registry[name], dtype))
        written = expand(graph)
        assert name not in [node.op for node in written.nodes]
        for found, wanted in zip(evaluate(written, arrays), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype is np.float32 else 1e-13, atol=0)
            assert found.dtype == wanted.dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", [0.5, 3, 0])
@pytest.mark.parametrize("name", [name for name in STATED if registry[name].operands == ("x", "y")])
def test_a_number_among_the_operands_is_no_array(name, number, dtype):
    x = np.array([0.0, 0.25, 1.0], dtype)
    for operands in ((x, number), (number, x)):
        with np.errstate(all="ignore"):
            graph, arrays, (expected,) = graph_of_call(registry[name], Sample(operands, {}, "number"))
            (found,) = evaluate(expand(graph), arrays)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", EXPANDED)
def test_what_is_written_out_gives_what_the_kernel_gives_where_it_fits(name):
    op, count = registry[name], 0
    for sample in samples_of(op):
        with np.errstate(all="ignore"):
            graph, arrays, expected = graph_of_call(op, sample)
            written = expand(graph)
            found = evaluate(written, arrays)
        count += name not in [node.op for node in written.nodes] or name == "_einsum_two"  # written with itself
        for each, wanted, output in zip(found, expected, graph.outputs, strict=True):
            tolerance = 1e-5 if wanted.dtype.itemsize == 4 else 1e-12
            np.testing.assert_allclose(each, wanted, rtol=tolerance, atol=tolerance, err_msg=sample.label)
            assert each.dtype == wanted.dtype and output.type.shape == wanted.shape
    assert count or name == "matmul"  # with an identity among the constants


def test_a_condition_may_not_compute_anything():
    op = registry["softmax"]
    graph, _, _ = graph_of_call(op, next(iter(samples_of(op))))
    expansion = op.expansion
    try:
        op.expand(when=lambda x: x + 1)(expansion.function)
        with pytest.raises(TypeError, match="condition"):
            expand(graph)
    finally:
        op.expansion = expansion


def test_a_spread_lies_in_memory_as_numpy_has_it():
    op = registry["var"]
    x = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    graph, _, (expected,) = graph_of_call(op, Sample((x,), {"axis": (1,), "correction": 0, "keepdims": False}, "F"))
    written = expand(graph)
    assert written.outputs[0].type == graph.outputs[0].type and graph.outputs[0].type.strides == expected.strides
