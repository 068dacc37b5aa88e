"""Loops and branches as native code: no Python in between, and what plain code computes."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.numpy_source.runtime import copy_in_layout
from pullback.compiler.plan.plan import FlowCall, all_commands
from pullback.graph.graph import Graph
from tests.aot import control_programs
from tests.aot.control_programs import gradients, same, tensors
from tests.aot.random_loops import RandomLoops


class Recording:
    """A backend that keeps what it compiled. Without effort LLVM takes less time."""

    def __init__(self, **options):
        self.graphs = []
        self.options = {"effort": 0, **options}

    def __call__(self, graph, types):
        self.graphs.append(compile_llvm(graph, types, **self.options))
        return self.graphs[-1]

    def left_to_python(self):
        """Control flow that Python runs."""
        return [op for graph in self.graphs for op in graph.left_to_numpy if op in ("scan", "while_loop", "cond")]

    def native(self):
        """Control flow that native code runs."""
        commands = [x for graph in self.graphs for each in graph.segments for x in all_commands(each.plan)]
        return [command.flow.op for command in commands if isinstance(command, FlowCall)]


def check(function, *args, is_native=True, **options):
    """Results and gradients are those of plain code, and all loops are native."""
    backend = Recording(**options)
    compiled = pb.compile(function, backend=backend, fallback="raise")
    args = list(args)
    same(function(*args), compiled(*args))
    wanted = [x for x in args if isinstance(x, pb.Tensor) and x.requires_grad]
    if wanted:
        expected, found = (pb.autograd.grad(f(*args), wanted, allow_unused=True, materialize_grads=True)
                           for f in (function, compiled))  # fmt: skip
        same(expected, found)
    if is_native:
        assert backend.native() and not backend.left_to_python()
    return backend


# Scans.


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("effort", [0, 2])
def test_recurrent_network(length, reverse, effort):
    args = tensors((4, 4), (length, 4), (4,))
    check(lambda w, xs, h: control_programs.recurrent(w, xs, h, reverse), *args, effort=effort)


@pytest.mark.parametrize("width", [1, 3, 14, 33])
def test_portable_code_and_threads(width):
    args = tensors((width, width), (6, width), (width,), scale=0.2)
    check(control_programs.recurrent, *args, portable=True)
    check(control_programs.recurrent, *args, threads=1)


def test_nested_scans():
    backend = check(control_programs.nested, *tensors((3, 4), (5, 4), (4,)))
    assert backend.native().count("scan") >= 4


def test_branches_in_a_loop():
    backend = check(control_programs.branches_in_a_loop, *tensors((3,), (7, 3)))
    assert "cond" in backend.native()


def test_integer_carry():
    xs, state = tensors((5, 3), (3,))
    check(lambda xs, state: control_programs.integer_carry(xs, state), xs, state)


def test_scan_without_steps_is_pythons():
    def run(state, xs):
        last, ys = pb.scan(lambda c, x: (c * x, c + x), state, xs)
        return (last * 2).sum() + ys.sum()

    backend = check(run, *tensors((3,), (0, 3)), is_native=False)
    assert not backend.native()


def test_layout_of_what_has_no_elements():
    """Found by random graphs: a slice without elements, in a loop of Python's, was to be laid out backwards."""
    assert copy_in_layout(np.empty((0, 17)), (-136, -8)).shape == (0, 17)


def test_what_is_not_native_stays_in_pythons_loop():
    def run(state, xs):
        last, ys = pb.scan(lambda c, x: (c + pb.sort(x), c.tanh()), state, xs)
        return (last * 2).sum() + ys.sum()

    backend = check(run, *tensors((3,), (4, 3)), is_native=False)
    assert "for step in range(4)" in backend.graphs[0].source
    assert "scan" in backend.left_to_python()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_dtypes_that_are_carried(dtype):
    if dtype == "bool":
        start, xs = np.array([True, False, True]), np.arange(12).reshape(4, 3) % 2 > 0
        step = lambda c, x: (c ^ x, c & x)
    else:
        start, xs = np.arange(3).astype(dtype), np.arange(12).reshape(4, 3).astype(dtype)
        step = lambda c, x: (c * 2 + x, c - x)
    check(lambda start, xs: pb.scan(step, start, xs), pb.tensor(start), pb.tensor(xs))


def test_carry_handed_on_swapped_and_returned_twice():
    def step(carry, x):
        first, second, third = carry
        new = first * x + second
        return (second, first, third), (new, new, third, x, first[::-1])

    def run(a, b, c, xs):
        last, ys = pb.scan(step, (a, b, c), xs)
        return sum((k + 1) * (x * x).sum() for k, x in enumerate((*last, *ys)))

    for length in (1, 2, 3):
        check(run, *tensors((3,), (3,), (3,), (length, 3)))


def test_operands_that_lie_otherwise():
    def run(matrix, wide):
        xs = pb.broadcast_to(matrix[0], (4, 3))
        step = lambda c, x: (c * x[0] + x[1], (c @ matrix.T) + x[2].reshape(3))
        last, ys = pb.scan(step, matrix.T[::-1], (xs, wide[:, ::2, 1], wide[::-1, :3].mT[:, 0]))
        return (last * last).sum() + (ys * ys).sum()

    check(run, *tensors((3, 3), (4, 6, 3)))


def test_a_body_that_reshapes_what_does_not_lie_together():
    def run(matrices):
        last, ys = pb.scan(lambda c, x: (c + x.reshape(6), x.reshape(3, 2) * c.sum()), pb.zeros(6), matrices.mT)
        return (last * last).sum() + (ys * ys).sum()

    check(run, *tensors((4, 3, 2)))


def test_captured_arrays_and_constants():
    table = np.linspace(-1, 1, 12).reshape(3, 4)

    def run(weights, state):
        def step(c, _):
            new = (c @ (weights * 2).exp()) * 0.1 + pb.asarray(table).sum(0) + 0.5
            return new, new[1]

        last, ys = pb.scan(step, state, None, length=6)
        return (last * last).sum() + ys.sum()

    check(run, *tensors((4, 4), (4,)))


def test_writes_into_the_carry():
    def step(c, x):
        c = c.clone()
        c[1:] += x[:-1] * c[:-1].sum()
        c[0] = x.sum()
        return c, c * 2

    def run(state, xs):
        last, ys = pb.scan(step, state, xs)
        return (last * last).sum() + (ys * ys).sum()

    check(run, *tensors((4,), (5, 4)))


@pytest.mark.parametrize("shape", [(40, 30), (90, 90)])
def test_larger_bodies(shape):
    """Products by BLAS, reductions in blocks, and kernels that threads share, inside of a loop."""

    def run(weights, xs):
        step = lambda h, x: (((h @ weights) * 0.05 + x).tanh(), h.mean())
        last, ys = pb.scan(step, xs[0], xs)
        return (last * last).sum() + (ys * ys).sum()

    check(run, *tensors((shape[1], shape[1]), (3, *shape), scale=0.3), effort=2)


def test_second_derivative():
    weights, xs, state = (x.detach() for x in tensors((3, 3), (4, 3), (3,)))
    directions = tuple(pb.linspace(-1, 1, x.size).reshape(x.shape) for x in (weights, xs, state))

    def second(*args):
        return pb.func.jvp(pb.func.grad(control_programs.recurrent, argnums=(0, 1, 2)), args, directions)[1]

    check(second, weights, xs, state)


def test_results_are_arrays_of_their_own():
    graph = Graph.from_text("""
        graph g(%0: f64[3] = args[0], %1: f64[2,3] = args[1]) {
          %2: f64[3], %3: f64[2,3] = scan(%0, %1, carried=1, scanned=1, length=2, reverse=False)
            body: graph body(%0: f64[3] = input[0], %1: f64[3] = input[1]) {
              return (result[0]=%0, result[1]=%1)
            }
          return (output[0]=%2, output[1]=%3)
        }""")
    carry, xs = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    last, ys = compile_llvm(graph, effort=0).flat(carry, xs)
    np.testing.assert_array_equal(last, carry)
    np.testing.assert_array_equal(ys, xs)
    assert not np.shares_memory(last, carry) and not np.shares_memory(ys, xs)


# Other control flow.


@pytest.mark.parametrize("limit", [0, 1, 5, 6])
def test_while_loop(limit):
    def run(x, limit):
        return pb.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1] * 0.5 + c[0]), (0, x))

    backend = check(run, pb.linspace(0, 1, 5), pb.tensor(limit))
    assert backend.native() == ["while_loop"]


def test_while_loop_on_a_number_that_is_no_truth_value():
    def run(x):
        return pb.while_loop(lambda c: (c > 3).any(), lambda c: c * 0.5, x)

    check(run, pb.tensor([10.0, 1.0]))
    check(run, pb.tensor([2.0, 1.0]))


def test_while_loop_with_a_bound_has_a_gradient():
    def run(x):
        return pb.while_loop(lambda c: c.sum() < 20, lambda c: c * 1.5 + 0.1, x, max_steps=9).sum()

    check(run, *tensors((4,)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branch(sign):
    def run(x, y):
        return pb.cond(x.sum() > 0, lambda x, y: (x @ y).tanh(), lambda x, y: (y @ x).sin() * 2, x, y).sum()

    backend = check(run, *(pb.tensor(sign * np.eye(3) + 0.1, requires_grad=True), *tensors((3, 3))))
    assert set(backend.native()) == {"cond"}


# Random programs: `python -m tests.compiler.random_native` has more of them.


@pytest.mark.parametrize("seed", range(12))
def test_random_loops(seed):
    function = RandomLoops(seed)
    args = function.arguments()
    compiled = pb.compile(function, backend=Recording(), fallback="raise")
    same(function(*args), compiled(*args))
    same(gradients(function, args), gradients(compiled, args))
