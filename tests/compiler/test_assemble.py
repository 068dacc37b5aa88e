"""Arrays put together from parts: the pass that finds them, and loops that write a part where it belongs."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.passes.assemble import sums_to_writes
from pullback.compiler.plan.plan import all_commands
from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.graph.interpret import evaluate
from pullback.graph.rewrite import dce
from tests.compiler.graphs import Builder


def count(graph, name):
    return sum(node.op == name for node in graph.nodes)


def placed(b, x, index, shape):
    return b("_place_slice", x, index=index, shape=shape)


def added(b, values):
    total = values[0]
    for value in values[1:]:
        total = b("add", total, value)
    return total


def agree(b, graph, rtol=0.0):
    """Assembled or not, by NumPy and in native code, the results are the same."""
    arrays = [b.arrays[x] for x in b.program.inputs]
    ways = [evaluate(graph, list(arrays)), evaluate(sums_to_writes(graph), list(arrays))]
    for results in (*ways, compile_llvm(graph, effort=0).flat(*arrays)):
        for got, expected in zip(results, b.expected(), strict=True):
            np.testing.assert_allclose(got, expected, rtol=rtol)


def launches(graph):
    (segment,) = compile_llvm(graph, effort=0).segments
    return list(all_commands(segment.plan))


def test_columns_are_joined_with_zeros_in_the_gaps():
    b = Builder(*[np.arange(5.0) + k for k in range(3)])
    graph = b.output(added(b, [placed(b, x, (..., k), (5, 7)) for x, k in zip(b.inputs, (5, 0, 2), strict=True)]))
    (join,) = [node for node in sums_to_writes(graph).nodes if node.op == "_concat"]
    assert [x.type.shape for x in join.operands] == [(5, 1), (5, 1), (5, 1), (5, 2), (5, 1), (5, 1)]
    agree(b, graph)


def test_rows_are_joined_and_what_is_as_large_as_the_whole_is_added():
    b = Builder(*[np.arange(3.0) + k for k in range(3)], np.ones((4, 3)))
    rows = [placed(b, x, (k, ...), (4, 3)) for k, x in enumerate(b.inputs[:3])]
    graph = b.output(added(b, [rows[0], rows[1], b.inputs[3], rows[2]]))
    assert count(sums_to_writes(graph), "_concat") == 1
    agree(b, graph)


def test_parts_of_one_place_are_added_in_their_order():
    arrays = [np.array([1.0, 1e16]), np.array([1e16, 1.0]), np.array([-1e16, -1e16]), np.ones(2)]
    b = Builder(*arrays)
    x, y, z, other = b.inputs
    inner = b("add", x, b("add", y, z))  # the sum in the place is left as it is
    parts = [placed(b, inner, (slice(None), 1), (2, 3)), placed(b, other, (slice(None), 0), (2, 3)),
             placed(b, x, (..., 2), (2, 3)), placed(b, y, (slice(0, 2), 1, ...), (2, 3)),
             placed(b, z, (slice(None), -2), (2, 3))]  # fmt: skip
    graph = b.output(added(b, parts))
    assert count(dce(sums_to_writes(graph)), "_place_slice") == 0
    agree(b, graph)


def test_parts_that_lie_about_are_written_one_by_one():
    b = Builder(*[np.arange(4.0).reshape(2, 2) + k for k in range(4)])
    corners = [(slice(0, 2), slice(0, 2)), (slice(2, 4), slice(3, 5)), (slice(0, 2), slice(3, 5))]
    indices = [*corners, (slice(3, 1, -1), slice(0, 2))]
    graph = b.output(added(b, [placed(b, x, index, (4, 5)) for x, index in zip(b.inputs, indices, strict=True)]))
    assert count(sums_to_writes(graph), "update") == 4
    agree(b, graph)


def test_slices_that_overlap_are_added():
    b = Builder(*[np.arange(6.0).reshape(2, 3) + k for k in range(3)])
    graph = b.output(added(b, [placed(b, x, (slice(k, k + 2), ...), (4, 3)) for k, x in enumerate(b.inputs)]))
    assert sums_to_writes(graph).nodes == graph.nodes
    agree(b, graph)


def test_sums_of_very_many_slices():
    """Found by a body of 800 operators: the parts of a sum were looked for by recursion."""
    b = Builder(np.arange(2.0))
    parts = [placed(b, b.inputs[0], (slice(2 * k, 2 * k + 2),), (4000,)) for k in range(2000)]
    graph = sums_to_writes(b.output(added(b, parts)))
    (join,) = [node for node in graph.nodes if node.op == "_concat"]
    assert len(join.operands) == 2000
    np.testing.assert_array_equal(evaluate(graph, [np.arange(2.0)])[0], b.expected()[0])


def random_index(rng, shape):
    """An index into an array of this shape, with everything that basic indices have."""
    index = []
    for length in shape:
        start = int(rng.integers(length))
        stop = int(rng.integers(start + 1, length + 1))
        kinds = [start, start - length, slice(start, stop), slice(None), slice(start, None), slice(start, stop, 2)]
        index.append(kinds[rng.integers(len(kinds))])
    if rng.random() < 0.3:
        index[-1] = ...
    if rng.random() < 0.2:
        index.insert(int(rng.integers(len(index) + 1)), None)
    return tuple(index)


@pytest.mark.parametrize("seed", range(12))
def test_random_places(seed):
    rng = np.random.default_rng(seed)
    b = Builder()
    parts = []
    shape = (4, 3)
    for _ in range(rng.integers(3, 6)):
        inner = random_index(rng, shape)
        part = np.empty(shape)[inner]
        outer = random_index(rng, part.shape) if part.shape and rng.random() < 0.3 else None
        array = np.asarray(part if outer is None else part[outer])
        value = b.input(rng.integers(-9, 9, array.shape).astype(float))
        value = value if outer is None else placed(b, value, outer, part.shape)
        parts.append(placed(b, value, inner, shape))
    agree(b, b.output(added(b, parts)))


# Loops that write parts where they belong.


def test_one_loop_writes_all_columns():
    b = Builder(np.arange(50.0).reshape(10, 5), np.arange(10.0))
    x, y = b.inputs
    first, second = b("_basic_index", x, index=(..., 0)), b("_basic_index", x, index=(..., 3))
    columns = [b("multiply", first, y), y, b("exp", b("negative", second)), first, b("add", first, second)]
    graph = b.output(b("_stack", *columns, axis=1))
    assert len(launches(graph)) == 1
    agree(b, graph, rtol=1e-15)


@pytest.mark.parametrize(("products", "lanes"), [(1, 16), (60, 16), (70, 4)])
def test_functions_in_a_long_loop_have_short_vectors(products, lanes):
    """Several calls of a function wait together, but values beside it should fit into registers."""
    b = Builder(np.linspace(0.9, 1.1, 64))
    value = b("exp", b.inputs[0])
    for _ in range(products):
        value = b("multiply", value, b.inputs[0])
    (launch,) = launches(b.output(value))
    assert launch.kernel.lanes == lanes


def test_many_columns_have_short_vectors():
    """Elements that lie apart are moved one by one, so that long vectors are long text and nothing else."""
    b = Builder(np.linspace(0.9, 1.1, 64))
    graph = b.output(b("_stack", *[b("exp", b("multiply", b.inputs[0], k)) for k in range(20)], axis=1))
    (launch,) = launches(graph)
    assert launch.kernel.lanes == 8
    agree(b, graph, rtol=1e-15)


def test_what_others_read_is_written_twice():
    b = Builder(np.arange(6.0))
    (x,) = b.inputs
    double, square = b("multiply", x, 2.0), b("multiply", x, x)
    graph = b.output(b("_stack", double, square, axis=1), double, b("sum", square, axis=(0,), keepdims=False))
    agree(b, graph)


def test_short_rows_are_computed_at_once_and_copied():
    """Loops over rows of three elements are slower than one loop over all, and a copy."""
    b = Builder(np.arange(60.0).reshape(20, 3))
    (x,) = b.inputs
    graph = b.output(b("_concat", b("multiply", x, 2.0), b("multiply", x, x), axis=1))
    assert len(launches(graph)) == 3
    agree(b, graph)


def test_an_update_of_joined_parts_writes_over_them():
    b = Builder(np.arange(40.0))
    (x,) = b.inputs
    joined = b("_stack", b("multiply", x, 2.0), b("sqrt", x), axis=1)
    second = ViewStep(registry["_basic_index"], {"index": (..., 1)})
    graph = b.output(b.update(joined, b("negative", x), second))
    agree(b, graph)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rows", [1, 3, 4, 37, 3001])
def test_the_gradient_of_columns(rows, dtype):
    """One kernel, whatever is left over of the last vector."""

    def value(x):
        u, v, w = x[:, 0], x[:, 2], x[:, 3]
        return pb.sum(pb.sin(u) * v + w * w * u, dtype=x.dtype)

    x = np.random.default_rng(0).normal(size=(rows, 5)).astype(dtype)
    got = pb.compile(pb.func.grad(value), backend="llvm", fallback="raise")(pb.asarray(x)).numpy()
    u, v, w = x[:, 0], x[:, 2], x[:, 3]
    zeros = np.zeros(rows)
    expected = np.stack([np.cos(u) * v + w * w, zeros, np.sin(u), 2 * w * u, zeros], axis=1)
    np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-6)


def test_threads_write_the_same_columns():
    def value(x):
        return pb.sum(pb.exp(x[:, 0]) * pb.sin(x[:, 1]) * x[:, 2])

    x = pb.asarray(np.random.default_rng(0).normal(size=(20001, 3)))
    call, before = pb.compile(pb.func.grad(value), backend="llvm", fallback="raise"), pb.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            pb.set_num_threads(threads)
            results.append(call(x).numpy())
    finally:
        pb.set_num_threads(before)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_parts_that_overlap_and_are_small_are_added_where_they_belong():
    b = Builder(np.arange(288.0).reshape(8, 6, 6), *[np.arange(16.0).reshape(4, 4) + k for k in range(3)])
    inner, right = (slice(1, 5), slice(1, 5)), (slice(0, 4), slice(2, 6))
    indices = [(2, *inner, ...), (2, *right, ...), (3, *inner, ...)]
    parts = [placed(b, x, index, (8, 6, 6)) for x, index in zip(b.inputs[1:], indices, strict=True)]
    graph = b.output(added(b, [b("multiply", b.inputs[0], 2.0), *parts]))
    assert count(dce(sums_to_writes(graph)), "_place_slice") == 0
    assert count(sums_to_writes(graph), "update") == 3
    agree(b, graph)


def test_small_parts_are_not_added_to_what_others_read():
    b = Builder(np.arange(48.0).reshape(8, 6), np.ones(6))
    whole = b("multiply", b.inputs[0], 2.0)
    total = b("add", whole, placed(b, b.inputs[1], (2, ...), (8, 6)))
    graph = b.output(b("multiply", total, whole))
    assert sums_to_writes(graph).nodes == graph.nodes
    agree(b, graph)
