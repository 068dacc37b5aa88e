"""The passes that make loops fit for native code: what is kept of a step, where it lies, and sums of slices."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.passes.layout import planar_points
from pullback.compiler.passes.recompute import recompute
from pullback.compiler.passes.split_sums import split_sums
from pullback.compiler.plan.plan import FlowCall, all_commands
from pullback.graph.graph import Graph
from tests.aot.control_programs import nodes_of
from tests.compiler.graphs import Builder

TWO_LOOPS = """
graph g(%0: f64[3] = args[0], %1: f64[9,3] = args[1], %2: f64[3] = args[2]) {
  %3: f64[3], %4: f64[9,3], %5: f64[9,3], %6: f64[9,3] = scan(%0, %1, %2, carried=1, scanned=1, length=9, reverse=False)
    body: graph body(%0: f64[3] = input[0], %1: f64[3] = input[1], %2: f64[3] = input[2]) {
      %3: f64[3] = MADE(%0)
      %4: f64[3] = multiply(%3, %1)
      %5: f64[3] = add(%4, %2)
      return (result[0]=%5, result[1]=%3, result[2]=%4, result[3]=%5)
    }
  %7: f64[3], %8: f64[9,3] = scan(%3, %4, %5, %6, carried=1, scanned=3, length=9, reverse=True)
    body: graph body(%0: f64[3] = input[0], %1: f64[3] = input[1], %2: f64[3] = input[2], %3: f64[3] = input[3]) {
      %4: f64[3] = multiply(%0, %1)
      %5: f64[3] = add(%4, %2)
      %6: f64[3] = subtract(%5, %3)
      return (result[0]=%6, result[1]=%4)
    }
  return (output[0]=%7, output[1]=%8)
}"""


def arrays_of(graph, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=value.type.shape) for value in graph.inputs]


def agree(graph, changed):
    """Both graphs give the same, and native code of the first does too."""
    arrays = arrays_of(graph)
    wanted = graph.eval(*arrays)
    for found in (changed.eval(*arrays), compile_llvm(graph, effort=0).flat(*arrays)):
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("function", ["tanh", "negative"])
def test_what_is_cheap_is_computed_again(function):
    graph = Graph.from_text(TWO_LOOPS.replace("MADE", function)).verify()
    changed = recompute(graph)
    changed.verify()
    first, second = nodes_of(changed, "scan")
    # The function's value is kept; what it is multiplied with is a slice that the first loop reads anyway.
    assert len(first.results) == 2 and second.attrs["scanned"] == 2
    assert [node.op for node in second.attrs["body"].nodes].count("add") == 2
    agree(graph, changed)


def test_what_somebody_else_reads_is_kept():
    graph = Graph.from_text(TWO_LOOPS.replace("MADE", "tanh").replace("output[1]=%8", "output[1]=%5, output[2]=%8"))
    changed = recompute(graph)
    agree(graph, changed)
    assert nodes_of(changed, "scan")[0].results[1] in changed.outputs


def test_loops_that_keep_nothing_cheap_stay_as_they_are():
    graph = Graph.from_text(TWO_LOOPS.replace("MADE", "tanh"))
    once = recompute(graph)
    assert str(recompute(once)) == str(once)


def test_what_is_kept_lies_together():
    text = TWO_LOOPS.replace("MADE", "tanh").replace("add(%4, %2)", "sin(%4)", 1)
    graph = Graph.from_text(text)
    commands = [x for each in compile_llvm(graph, effort=0).segments for x in all_commands(each.plan)]
    first, second = [command.flow for command in commands if isinstance(command, FlowCall)]
    block = first.results[1].root
    assert block.type.shape[0] == 9 and {where.root for where in first.results[1:]} == {block}
    assert sum(where.root is block for where in second.operands) == len(first.results) - 1
    agree(graph, graph)


def test_points_lie_planar_points():
    b = Builder(np.random.default_rng(0).normal(size=(8, 3)))
    (x,) = b.inputs
    apart = b("subtract", b("expand_dims", x, axis=(0,)), b("expand_dims", x, axis=(1,)))
    squares = b("multiply", apart, apart)
    flat = b("_reshape", b("multiply", squares, 2.0), shape=(192,))
    graph = b.output(b("sum", squares, axis=(2,), keepdims=False), b("sum", flat, axis=(0,), keepdims=False))
    strides = {node.op: node.result.type.strides for node in planar_points(graph).nodes}
    assert strides["subtract"] == (64, 8, 512)
    assert strides["_reshape"] is None
    last = [node for node in planar_points(graph).nodes if node.op == "multiply"][-1]
    assert last.result.type.strides is None  # a reshape reads it as it lies


def test_simulation_of_points():
    masses = pb.linspace(0.5, 1.5, 6)

    def energy(positions, velocities):
        def step(carry, _):
            x, v = carry
            apart = x[None] - x[:, None]
            squared = (apart * apart).sum(2) + 0.1
            v = v + 0.01 * ((masses / (squared * squared.sqrt()))[:, :, None] * apart).sum(1)
            return (x + 0.01 * v, v), None

        x, v = pb.scan(step, (positions, velocities), None, length=5)[0]
        return (masses[:, None] * v * v).sum() + (x * x).sum()

    args = [pb.tensor(x) for x in np.random.default_rng(1).normal(size=(2, 6, 3))]
    whole = pb.func.grad_and_value(energy, (0, 1))
    wanted, value = whole(*args)
    for effort in (0, 2):
        backend = functools.partial(compile_llvm, effort=effort)
        found, same = pb.compile(whole, backend=backend, fallback="raise")(*args)
        np.testing.assert_allclose(same.numpy(), value.numpy(), rtol=1e-12)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-10)


def test_gradients_of_slices_are_carried_as_slices():
    weights = np.random.default_rng(0).normal(size=(3, 2, 4))

    def run(w, x):
        step = lambda c, x: ((c * w[0, 1] + x * w[2, 0]).tanh(), c * w[1, 1])
        last, ys = pb.scan(step, x[0], x)
        return last.sum() + ys.sum()

    graphs = []

    def backend(graph, types):
        graphs.append(graph)
        return graph.eval_boxed

    args = pb.tensor(weights), pb.tensor(np.random.default_rng(1).normal(size=(5, 4)))
    found = pb.compile(pb.func.grad(run, (0, 1)), backend=backend, fallback="raise")(*args)
    for x, y in zip(found, pb.func.grad(run, (0, 1))(*args), strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-12)
    (changed,) = [split_sums(graph) for graph in graphs]
    (reverse,) = [node for node in nodes_of(changed.verify(), "scan") if node.attrs["reverse"]]
    carried = [value.type.shape for value in reverse.results[: reverse.attrs["carried"]]]
    assert carried.count((4,)) == len(carried) == 4
    arrays = [x.numpy() for x in args]
    for x, y in zip(changed.eval(*arrays), graphs[0].eval(*arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_sums_of_slices_and_of_wholes():
    graph = Graph.from_text("""
        graph g(%0: f64[4,3] = args[0], %1: f64[5,3] = args[1], %2: f64[5,4,3] = args[2]) {
          %3: f64[4,3], %4: f64[5,3] = scan(%0, %1, %2, carried=1, scanned=2, length=5, reverse=False)
            body: graph body(%0: f64[4,3] = input[0], %1: f64[3] = input[1], %2: f64[4,3] = input[2]) {
              %3: f64[3] = tanh(%1)
              %4: f64[4,3] = _place_slice(%3, index=(1, ...), shape=(4, 3))
              %5: f64[4,3] = add(%0, %4)
              %6: f64[4,3] = add(%5, %2)
              %7: f64[2,3] = _place_slice(%1, index=(0, ...), shape=(2, 3))
              %8: f64[4,3] = _place_slice(%7, index=(1:3, ...), shape=(4, 3))
              %9: f64[4,3] = add(%8, %6)
              %10: f64[4,3] = _place_slice(%3, index=(1, ...), shape=(4, 3))
              %11: f64[4,3] = add(%9, %10)
              return (result[0]=%11, result[1]=%3)
            }
          return (output[0]=%3, output[1]=%4)
        }""")
    changed = split_sums(graph).verify()
    (loop,) = nodes_of(changed, "scan")
    assert [value.type.shape for value in loop.results] == [(4, 3), (3,), (3,), (5, 3)]
    agree(graph, changed)
