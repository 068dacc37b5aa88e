"""Plain Python loops of many steps: compiled as loops, with the values and gradients of the function itself."""

import importlib.util

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.native import compile_native
from pullback.graph.reroll import reroll

HAS_LLVM = importlib.util.find_spec("llvmlite") is not None
BACKENDS = ["numpy", pytest.param("llvm", marks=pytest.mark.skipif(not HAS_LLVM, reason="needs llvmlite"))]


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def lstm(weights, inputs, hidden, cell):
    """Two layers of gates, step by step, and the mean square of all states."""
    rows = []
    states = [(hidden, cell), (hidden * 2, cell)]
    for k in range(len(inputs)):
        x = inputs[k]
        for layer, (h, c) in enumerate(states):
            w = weights[layer]
            gates = [pb.sigmoid(x * w[0] + w[1]), pb.sigmoid(h * w[2] + w[3]), pb.sigmoid(x * w[4] + w[5])]
            c = c * gates[0] + gates[1] * pb.tanh(h * w[6] + w[7])
            x = gates[2] * pb.tanh(c)
            states[layer] = x, c
        rows.append(x)
    return (pb.stack(rows) ** 2).mean()


def bodies(positions, velocities, masses, steps=30):
    """Gravity, with positions and velocities that are written in every step."""
    positions, velocities = positions.clone(), velocities.clone()
    for _ in range(steps):
        apart = positions[None] - positions[:, None]
        squared = (apart * apart).sum(2) + 0.01
        velocities += 1e-2 * ((masses / (squared * pb.sqrt(squared)))[:, :, None] * apart).sum(1)
        positions += 1e-2 * velocities
    return (masses * (velocities * velocities).sum(1)).sum() + (positions * positions).sum()


def rows_in_place(x, w, steps=40):
    """Every row is made of the one before, and all of them are written down."""
    path = pb.zeros(steps + 1, 3)
    path[0] = x
    for k in range(steps):
        path[k + 1] = pb.sin(path[k]) * w + 0.1 * k
    return path


PROGRAMS = {
    "lstm": (lstm, [array(2, 8, 5), array(20, 5, seed=1), array(5, seed=2), array(5, seed=3)]),
    "bodies": (bodies, [array(4, 3), array(4, 3, seed=1), np.abs(array(4, seed=2))]),
    "rows": (rows_in_place, [array(3), array(3, seed=1)]),
}


def with_gradients(function, arrays):
    operands = [pb.tensor(each, requires_grad=True) for each in arrays]
    result = function(*operands)
    gradients = pb.autograd.grad(result.sum(), operands)
    return [result.numpy(force=True), *[gradient.numpy() for gradient in gradients]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_the_function(name, backend):
    function, arrays = PROGRAMS[name]
    compiled = pb.compile(function, backend=backend, fallback="raise")
    for _ in range(2):
        found, wanted = with_gradients(compiled, arrays), with_gradients(function, arrays)
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_as_a_function_is_one_graph_with_two_loops(name):
    function, arrays = PROGRAMS[name]
    total = lambda *operands: function(*operands).sum()
    seen = []

    def look(graph, types):
        seen.append([node.op for node in graph.nodes])
        return graph.eval_boxed

    wanted = pb.func.grad_and_value(total)(*map(pb.asarray, arrays))
    found = pb.compile(pb.func.grad_and_value(total), backend=look)(*map(pb.asarray, arrays))
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-11, atol=1e-15)
    assert seen[0].count("scan") == 2
    assert len(seen[0]) < 320


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_halves_of_a_capture_have_a_loop_each(name):
    function, arrays = PROGRAMS[name]
    seen = {}

    def look(graph, types):
        seen[graph.name] = [node.op for node in graph.nodes]
        return graph.eval_boxed

    with_gradients(pb.compile(function, backend=look, fallback="raise"), arrays)
    assert seen["forward"].count("scan") == seen["backward"].count("scan") == 1


def test_rolling_can_be_switched_off():
    function, arrays = PROGRAMS["bodies"]
    seen = []

    def look(graph, types):
        seen.extend(node.op for node in graph.nodes)
        return graph.eval_boxed

    with_gradients(pb.compile(function, backend=look, fallback="raise", reroll=False), arrays)
    assert "scan" not in seen


def test_second_derivatives_of_a_long_loop():
    def f(x, w):
        for _ in range(60):
            x = pb.sin(x * w) + 0.5 * x
        return (x * x).sum()

    def second(function):
        x, w = (pb.tensor(array(3, seed=seed), requires_grad=True) for seed in (0, 1))
        (first,) = pb.autograd.grad(function(x, w), [x], create_graph=True)
        return [g.numpy() for g in pb.autograd.grad((first * first).sum(), [x, w])]

    for mine, theirs in zip(second(pb.compile(f, backend="numpy", fallback="raise")), second(f), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_an_input_that_is_overwritten_after_its_slices_were_read():
    def f(xs, w):
        x = w
        for k in range(40):
            x = pb.sin(x * xs[k].clone()) * w
        xs.mul_(0.0)
        return x.sum()

    def run(function):
        xs, w = pb.tensor(array(40, 3)), pb.tensor(array(3, seed=1), requires_grad=True)
        (gradient,) = pb.autograd.grad(function(xs, w), [w])
        return gradient.numpy(), xs.numpy()

    for mine, theirs in zip(run(pb.compile(f, backend="numpy", fallback="raise")), run(f), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_results_of_steps_may_be_written_before_the_backward_pass():
    def f(x, w):
        rows = []
        for _ in range(60):
            x = pb.sin(x * w)
            rows.append(x)
        return rows[3], pb.stack(rows)

    def run(function):
        x, w = (pb.tensor(array(3, seed=seed), requires_grad=True) for seed in (0, 1))
        row, stacked = function(x, w)
        total = stacked.sum() + row.sum()
        with pb.no_grad():
            stacked.detach().zero_()
        return [g.numpy() for g in pb.autograd.grad(total, [x, w])]

    for mine, theirs in zip(run(pb.compile(f, backend="numpy", fallback="raise")), run(f), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13)


@pytest.mark.skipif(not HAS_LLVM, reason="needs llvmlite")
def test_a_long_program_without_loops_is_a_few_functions_that_call_few_kernels():
    def f(x, weights):
        for w in weights:
            x = pb.tanh(x @ w) + 0.1
        return (x * x).sum()

    weights = [array(4, 4, seed=seed) for seed in range(100)]
    x = pb.tensor(array(2, 4), requires_grad=True)
    joint = pb.aot.joint_graph(f, x, [pb.tensor(w, requires_grad=True) for w in weights])
    assert reroll(joint.graph) is joint.graph
    native = compile_native(joint.graph, strict=True)
    text = native.llvm_ir()
    assert "@NAME_list" in text
    assert text.count("define internal void @NAME_k") < 20
    given = [array(2, 4), *weights, np.array(1.0)]
    for mine, theirs in zip(native(list(given)), joint.graph.eval(*given), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def nested(x, w, steps):
    for _ in range(steps):
        h = x
        for _ in range(20):
            h = pb.tanh(h * w + 0.1)
        x = x + h * 0.1
    return (x * x).sum()


def different_at_both_ends(x, w, steps):
    for k in range(steps):
        if k == 0:
            x = pb.exp(x * 0.1)
        x = pb.tanh(x * w) + x
        if k == steps - 1:
            x = x / (1 + x * x)
    return x.sum()


def different_each_seventh_time(x, w, steps):
    for k in range(7 * steps):
        x = pb.tanh(x * w) + 0.1 * x
        if k % 7 == 6:
            x = x - x.mean()
    return x.sum()


@pytest.mark.parametrize("function", [nested, different_at_both_ends, different_each_seventh_time])
def test_the_size_of_a_rolled_graph_does_not_depend_on_the_number_of_steps(function):
    x, w = (pb.tensor(array(3, seed=seed), requires_grad=True) for seed in (0, 1))
    graphs = [reroll(pb.aot.joint_graph(lambda x, w: function(x, w, steps), x, w).graph) for steps in (30, 60)]  # noqa: B023
    scans = [[node.attrs["length"] for node in graph.nodes if node.op == "scan"] for graph in graphs]
    assert len(scans[0]) == len(scans[1]) > 1
    assert len(graphs[0].nodes) == len(graphs[1].nodes)
    given = [array(3), array(3, seed=1), np.array(1.0)]
    straight = pb.aot.joint_graph(lambda x, w: function(x, w, 30), x, w).graph
    for mine, theirs in zip(graphs[0].eval(*given), straight.eval(*given), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.skipif(not HAS_LLVM, reason="needs llvmlite")
def test_what_a_rolled_loop_keeps_lies_in_one_block_though_steps_stand_beside_it():
    from pullback.compiler.items.flow import cut_segments, native_items
    from pullback.compiler.pipeline import NATIVE

    compiled = pb.compile(pb.func.grad_and_value(lstm, (0, 1)), backend="llvm", fallback="raise")
    compiled(*PROGRAMS["lstm"][1])
    program = compiled.graph()
    for each in NATIVE[: NATIVE.index(cut_segments)]:
        program = each(program)
    first = next(node for node in program.nodes if node.op == "scan")
    accesses, _ = native_items(program)
    kept = first.results[first.attrs["carried"] :]
    blocks = [accesses.root_of(value) for value in kept]
    assert len(kept) > 8
    assert max(map(blocks.count, blocks)) >= len(kept) - 1
