"""`reroll`: what a Python loop leaves in a graph becomes a `scan` that computes the same to the bit."""

import numpy as np
import pytest

import pullback as pb
from pullback.graph.graph import Graph
from pullback.graph.reroll import reroll
from pullback.graph.reroll.table import axis_of, width_of
from tests.graph.random_steps import compare

STEPS = 12


def traced(fn, *arrays, grad=True):
    """The graph of a function as the trace leaves it, with the backward pass if gradients are wanted."""
    operands = [pb.tensor(array, requires_grad=grad and array.dtype.kind == "f") for array in arrays]
    joint = pb.aot.joint_graph(fn, *operands)
    return joint.captured.graph


def scans(graph):
    return [node for node in graph.nodes if node.op == "scan"]


def same_bits(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, wanted in zip(ours, theirs, strict=True):
        if wanted is None:
            assert mine is None
        else:
            assert mine.dtype == wanted.dtype
            assert mine.shape == wanted.shape
            assert mine.tobytes() == wanted.tobytes()


def rolled(fn, *arrays, grad=True, repeats=4, nodes=8, tangent=0.7):
    """The rolled graph, after its results were compared with those of the straight one."""
    straight = traced(fn, *arrays, grad=grad)
    graph = reroll(straight, repeats, nodes).verify()
    given = list(arrays)
    for value in straight.inputs[len(arrays) :]:
        given.append(np.full(value.type.shape, tangent, value.type.dtype))
    wanted = straight.eval(*given)
    same_bits(graph.eval(*given), wanted)
    same_bits(graph.simplify().cse().dce().verify().eval(*given), wanted)
    return graph


def array(*shape, seed=0, dtype=float):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def sizes(graph):
    """Nodes outside of loops, and the lengths of the loops."""
    return len(graph.simplify().cse().dce().nodes), [node.attrs["length"] for node in scans(graph)]


# What rolls -----------------------------------------------------------------------------------------------------------


def test_a_carried_value_and_its_gradient():
    def f(x, w):
        for _ in range(STEPS):
            x = pb.tanh(x * w)
        return x.sum()

    graph = rolled(f, array(3), array(3, seed=1))
    forward, backward = scans(graph)
    assert (forward.tag, backward.tag) == ("fw", "bw")
    assert forward.attrs["length"] == STEPS
    assert forward.attrs["carried"] == 1
    assert backward.attrs["reverse"]
    assert backward.attrs["length"] >= STEPS - 2


def test_the_size_does_not_depend_on_the_number_of_steps():
    def of(steps):
        def f(x, w, xs):
            rows = []
            for k in range(steps):
                x = pb.tanh(x * w + xs[k])
                rows.append(x)
            return pb.stack(rows).sum()

        return rolled(f, array(3), array(3, seed=1), array(steps, 3, seed=2))

    few, _ = sizes(of(20))
    many, lengths = sizes(of(200))
    assert few == many < 80
    assert min(lengths) > 190


def test_slices_of_an_input_are_scanned_without_a_copy():
    def f(x, xs):
        for k in range(STEPS):
            x = pb.sin(x) * xs[k] + xs[k] / 3
        return x

    graph = rolled(f, array(3), array(STEPS, 3, seed=1), grad=False)
    (scan,) = scans(graph)
    assert scan.attrs["scanned"] == 1
    assert scan.operands[1] is graph.inputs[1]
    assert len(graph.nodes) == 1


@pytest.mark.parametrize(
    "take", [lambda xs, k: xs[2 * k + 1], lambda xs, k: xs[STEPS - k], lambda xs, k: xs[:, k], lambda xs, k: xs[k, 2],
             lambda xs, k: xs[-1 - k], lambda xs, k: xs[..., k, None], lambda xs, k: xs[2, 1:4, k].sum()],
)  # fmt: skip
def test_slices_at_other_places_and_of_other_axes(take):
    def f(x, xs):
        for k in range(STEPS):
            x = pb.sin(x) * take(xs, k).sum() + x / 3
        return x.sum()

    graph = rolled(f, array(3), array(*(30,) * 3, seed=1)[:, :, :30])
    assert len(scans(graph)) == 2
    assert sizes(graph)[0] < 60


def test_a_recurrence_of_two_steps():
    def f(x, y):
        for _ in range(STEPS):
            x, y = y, pb.sin(x) + pb.cos(y) * 0.5
        return x.sum() + (y * y).sum()

    graph = rolled(f, array(3), array(3, seed=1))
    assert len(scans(graph)) == 2


def test_a_lag_of_three():
    def f(x):
        values = [x, x + 1, x + 2]
        for k in range(3, STEPS + 3):
            values.append(pb.sin(values[k - 1]) * values[k - 3])
        return values[-1].sum()

    assert len(scans(rolled(f, array(3)))) == 2


def test_numbers_that_change_with_the_step():
    def f(x):
        for k in range(STEPS):
            x = pb.sin(x * (1 + 0.1 * k)) / (k + 1) + 1.0 / (1 - 0.9 ** (k + 1))
        return x.sum()

    for dtype in (np.float64, np.float32):
        assert len(scans(rolled(f, array(3, dtype=dtype)))) == 2


def test_constants_that_change_with_the_step():
    data = array(STEPS, 3, seed=5)

    def f(x):
        for k in range(STEPS):
            x = pb.sin(x) * pb.tensor(data[k]) + pb.tensor(data[k] * 2)
        return x.sum()

    graph = rolled(f, array(3))
    assert len(scans(graph)) == 2
    assert sizes(graph)[0] < 40


def test_what_is_the_same_every_time_is_computed_once():
    def f(x, w):
        for _ in range(STEPS):
            x = x * pb.exp(w) + pb.sin(w[0])
        return x

    graph = rolled(f, array(3), array(3, seed=1), grad=False)
    (scan,) = scans(graph)
    assert [node.op for node in scan.attrs["body"].nodes] == ["multiply", "add"]


def test_results_of_all_steps_that_are_stacked_are_what_the_loop_collects():
    def f(x, w):
        rows = []
        for _ in range(STEPS):
            x = pb.sin(x) * w
            rows.append(x)
        return pb.stack(rows)

    graph = rolled(f, array(3), array(3, seed=1), grad=False)
    assert [node.op for node in graph.nodes] == ["scan", "copy"]
    backwards = rolled(lambda x, w: f(x, w)[::2].sum() + f(x, w)[3].sum(), array(3), array(3, seed=1))
    assert len(scans(backwards)) >= 2


def test_results_of_some_steps_that_are_used_elsewhere():
    def f(x, w):
        kept = []
        for k in range(STEPS):
            x = pb.sin(x) * w
            if k % 5 == 2:
                kept.append(x)
        return kept[0].sum(), kept[1], x * kept[0]

    assert scans(rolled(f, array(3), array(3, seed=1), grad=False))
    assert scans(rolled(lambda x, w: sum(part.sum() for part in f(x, w)), array(3), array(3, seed=1)))


def test_outputs_of_a_loop_have_memory_of_their_own():
    def f(x, w):
        rows = []
        for _ in range(STEPS):
            x = pb.sin(x) * w
            rows.append(x)
        return rows[2], rows[3], pb.stack(rows), rows[-1]

    arrays = array(3), array(3, seed=1)
    results = rolled(f, *arrays).eval(*arrays, *[np.ones(3), np.ones(3), np.ones((STEPS, 3)), np.ones(3)])[:4]
    for k, one in enumerate(results):
        for other in results[k + 1 :]:
            assert not np.shares_memory(one, other)


def test_nested_loops():
    def f(x, w):
        for i in range(STEPS):
            for j in range(5):
                x = pb.sin(x) * w[i] + 0.1 * j
            x = x + w[i]
        return x.sum()

    graph = rolled(f, array(3), array(STEPS, 3, seed=1))
    assert scans(graph)[0].attrs["length"] == STEPS


def test_two_loops_one_after_the_other_and_one_that_reads_both():
    def f(x, w):
        first, second = [], []
        for _ in range(STEPS):
            x = pb.sin(x) * w
            first.append(x)
        for _ in range(STEPS):
            x = pb.cos(x) + w
            second.append(x)
        total = x * 0
        for a, b in zip(first, reversed(second), strict=True):
            total = pb.sin(total) + a * b
        return total.sum()

    graph = rolled(f, array(3), array(3, seed=1))
    assert len(scans(graph)) == 6
    assert sizes(graph)[0] < 120


def test_the_same_loop_twice_on_different_data():
    def f(x, y, w):
        for _ in range(STEPS):
            x = pb.sin(x) * w
        for _ in range(STEPS):
            y = pb.sin(y) * w
        return (x * y).sum()

    assert len(scans(rolled(f, array(3), array(3, seed=1), array(3, seed=2)))) == 4


# Writing in place -----------------------------------------------------------------------------------------------------


def test_whole_arrays_that_are_written_in_place():
    def f(x, v, m):
        x, v = x.clone(), v.clone()
        for _ in range(STEPS):
            v += 0.01 * pb.sin(x) * m
            x += 0.01 * v
        return (x * v).sum()

    graph = rolled(f, array(3), array(3, seed=1), array(3, seed=2))
    assert scans(graph)[0].attrs["length"] == STEPS


def test_rows_of_a_result_that_are_written_one_by_one():
    def f(x, w):
        out = pb.zeros(STEPS + 2, 3)
        for k in range(STEPS):
            x = pb.sin(x) * w
            out[k + 1] = x
        return out

    graph = rolled(f, array(3), array(3, seed=1), grad=False)
    (scan,) = scans(graph)
    assert scan.attrs["carried"] == 1
    assert [node.op for node in graph.nodes] == ["constant", "scan", "update"]


def test_columns_and_numbers_that_are_written_one_by_one():
    def f(x, w):
        out = pb.zeros(3, STEPS)
        other = pb.ones(STEPS, 2, 3)
        for k in range(STEPS):
            x = pb.sin(x) * w
            out[:, STEPS - 1 - k] = x
            other[k, 1] = 7.0
            other[k, 0, 1:] = x[:2] * 2
        return out, other

    assert len(scans(rolled(f, array(3), array(3, seed=1), grad=False))) == 1


def test_a_part_of_the_carried_array_that_is_written_in_every_step():
    def f(x, w):
        x = x.clone()
        for _ in range(STEPS):
            x[1:-1] += 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2]) * w
        return (x * x).sum()

    graph = rolled(f, array(8), array(6, seed=1))
    assert len(scans(graph)) == 2


def test_gradients_of_slices_are_gathered():
    def f(x, xs):
        for k in range(STEPS):
            x = pb.sin(x) * xs[k] + xs[k + 1]
        return x.sum()

    graph = rolled(f, array(3), array(STEPS + 1, 3, seed=1))
    _, backward = scans(graph)
    assert all(node.op != "_place_slice" for node in backward.attrs["body"].nodes)
    assert all(value.type.shape != (STEPS + 1, 3) for value in backward.results[: backward.attrs["carried"]])


# What does not --------------------------------------------------------------------------------------------------------


def test_short_graphs_are_left_alone():
    def f(x):
        for _ in range(STEPS):
            x = pb.sin(x) * 2
        return x

    straight = traced(f, array(3), grad=False)
    assert reroll(straight) is straight


def test_operators_that_differ_in_every_step():
    def f(x):
        for k in range(STEPS):
            x = (pb.sin, pb.cos, pb.exp, pb.tanh, pb.sqrt, pb.square, pb.abs)[k * k % 7](x)
        return x

    assert not scans(rolled(f, array(3), grad=False))


def test_shapes_that_grow():
    def f(x):
        for _ in range(STEPS):
            x = pb.concat([x, x[-1:] * 2])
            x = pb.sin(x) + 1
        return x.sum()

    assert not scans(rolled(f, array(3)))


def test_random_draws_stay_where_they_are():
    def f(x):
        for _ in range(STEPS):
            x = pb.sin(x) * 2 + pb.random.normal(size=(3,))
        return x

    graph = reroll(traced(f, array(3), grad=False), 4, 8).verify()
    assert not scans(graph)


def test_operands_without_a_pattern():
    def f(x, xs):
        for k in range(STEPS):
            x = pb.sin(x) * xs[k * k % 7]
        return x.sum()

    assert not scans(rolled(f, array(3), array(8, 3, seed=1), grad=False))


def test_separate_arrays_are_not_copied_into_one():
    def f(x, *weights):
        for w in weights:
            x = pb.tanh(x * w) + w
        return x.sum()

    assert not scans(rolled(f, array(3), *[array(3, seed=k) for k in range(STEPS)], grad=False))


def test_an_array_that_the_loop_reads_and_writes_at_moving_places():
    def f(x, w):
        x = x.clone()
        for k in range(1, STEPS):
            x[k] = pb.sin(x[k - 1]) * w + x.sum()
        return x.sum()

    assert not scans(rolled(f, array(STEPS, 3), array(3, seed=1)))


def test_signs_of_zeros_are_kept():
    def f(x, xs):
        total = x
        for k in range(STEPS):
            total = total + xs[k] * x
        return total.sum()

    xs = array(STEPS, 3, seed=1)
    xs[3] = xs[5, 1] = -0.0
    for tangent in (1.0, -1.0, 0.0, -0.0):
        rolled(f, np.array([0.0, -0.0, 1.0]), xs, tangent=tangent)


def test_a_rolled_graph_has_text():
    def f(x, xs):
        for k in range(STEPS):
            x = pb.sin(x) * xs[k]
        return x.sum()

    graph = rolled(f, array(3), array(STEPS, 3, seed=1))
    assert Graph.from_text(graph.to_text()) == graph


def test_a_row_that_is_made_of_the_row_before():
    def f(x, w):
        x = x.clone()
        for k in range(1, STEPS):
            x[k] = pb.sin(x[k - 1]) * w
        return (x * x).sum()

    graph = rolled(f, array(STEPS, 3), array(3, seed=1))
    forward, backward = [node.attrs["length"] for node in scans(graph)]
    assert forward == STEPS - 1
    assert backward >= STEPS - 3


def test_rows_that_are_read_and_written_in_parts():
    def f(x, w):
        x = x.clone()
        for k in range(1, STEPS):
            x[k] += pb.sin(x[k - 1]) * w
            x[k, 1] = x[k, 0] * 2
            x[k, 2] = 3.0
        return (x * x).sum()

    assert len(scans(rolled(f, array(STEPS, 3), array(3, seed=1)))) == 2


def test_rows_of_two_steps_before():
    def f(x, w):
        x = x.clone()
        for k in range(2, STEPS):
            x[k] = pb.sin(x[k - 1]) * w - x[k - 2] / 2 + x[STEPS - 1]
        return (x * x).sum()

    rolled(f, array(STEPS, 3), array(3, seed=1))


@pytest.mark.parametrize(
    "take", [lambda x, k: x[2 * k : 2 * k + 2], lambda x, k: x[k : k + 3], lambda x, k: x[20 - k : 24 - k],
             lambda x, k: x[:, k : k + 2], lambda x, k: x[3, k : k + 2], lambda x, k: x[2 * k : 2 * k + 3, None, 1]],
)  # fmt: skip
def test_windows_that_move(take):
    def f(x, w):
        state = w
        for k in range(STEPS):
            state = pb.sin(state) * take(x, k).sum() + (take(x, k) * 0.5).mean()
        return state.sum()

    graph = rolled(f, array(30, 30), array(3, seed=1))
    assert len(scans(graph)) == 2
    assert sizes(graph)[0] < 90


def test_windows_that_are_written():
    def f(x, w):
        tiles, overlapping = pb.zeros(3 * STEPS, 2), pb.zeros(STEPS + 1, 2)
        for k in range(STEPS):
            x = pb.sin(x) * w
            tiles[3 * k : 3 * k + 3] = x
            overlapping[k : k + 2, 1] = x[1:, 0]
        return (tiles * tiles).sum() + (overlapping * overlapping).sum()

    graph = rolled(f, array(3, 2), array(2, seed=1), grad=False)
    assert len(scans(graph)) == 1
    assert sizes(graph)[0] < 40
    rolled(f, array(3, 2), array(2, seed=1))


@pytest.mark.parametrize(
    "join", [lambda rows: pb.stack(rows, 1), lambda rows: pb.concat(rows), lambda rows: pb.concat(rows, 1),
             lambda rows: pb.stack(rows, 2), lambda rows: pb.concat([rows[0], *rows[::-1]], 1)],
)  # fmt: skip
def test_results_that_are_joined_along_other_axes(join):
    def f(x, w):
        rows = []
        for _ in range(STEPS):
            x = pb.sin(x) * w
            rows.append(x)
        return (join(rows) ** 2).sum()

    graph = rolled(f, array(2, 3), array(3, seed=1))
    assert len(scans(graph)) == 2
    assert sizes(graph)[0] < 50


def test_values_that_lie_in_another_order_stay_as_they_are():
    def f(x, w):
        rows = []
        for _ in range(STEPS):
            y = pb.sin(x.T) * w
            x = (y @ y).T * 0.1
            rows.append(y)
        return sum((row.reshape(9) * x.reshape(9)).sum() for row in rows)

    rolled(f, array(3, 3), array(3, 3, seed=1), grad=False)
    rolled(f, array(3, 3), array(3, 3, seed=1))


@pytest.mark.parametrize("seed", range(16))
def test_random_loops(seed):
    with np.errstate(all="ignore"):
        compare(seed)


def running_totals(x, w):
    total, parts = pb.zeros(3), []
    for _ in range(60):
        x = pb.tanh(x * w + 0.1)
        total = total + x
        parts.append(total.sum())
    return total, pb.stack(parts)


def totals_that_go_on(x, w):
    total = pb.zeros(3)
    for _ in range(60):
        x = pb.tanh(x * w + total * 0.01)
        total = total + x * x
    return total * x


def rows_that_are_read(x, w):
    rows = pb.zeros((61, 3))
    for k in range(60):
        x = pb.sin(x * w) + 0.1
        rows[k] = x
        rows[k + 1] = rows[k] * 0.5
    return rows


def rows_that_are_all_read(x, w):
    rows, total = pb.zeros((60, 3)), 0.0
    for k in range(60):
        x = pb.sin(x * w) + 0.1
        rows[k] = x
        total = total + rows.sum()
    return rows, total


def the_last_steps_differ(x, w):
    for k in range(64):
        x = pb.tanh(x * w + 0.1 * k) if k < 57 else pb.sin(x) * 0.01 * k
    return x


def three_kinds_of_steps(x, w):
    for k in range(90):
        x = (pb.tanh(x * w), pb.sin(x) + 0.1, x * 0.9)[k % 3] if k % 30 else x + w
    return x


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("f", [running_totals, totals_that_go_on, rows_that_are_read, rows_that_are_all_read,
                               the_last_steps_differ, three_kinds_of_steps])  # fmt: skip
def test_sums_and_rows_that_others_read_are_what_they_were(f, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite", reason="native code needs llvmlite")
    x, w = pb.tensor([0.1, 0.2, 0.3], requires_grad=True), pb.tensor(0.7, requires_grad=True)
    found, wanted = pb.compile(f, backend=backend, fallback="raise")(x, w), f(x, w)
    found, wanted = (each if isinstance(each, tuple) else (each,) for each in (found, wanted))
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-12)
    gradients = [pb.autograd.grad(sum(each.sum() for each in outs), (x, w)) for outs in (found, wanted)]
    for mine, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("part, width", [
    (slice(0, 4), 4), (slice(None, 4), 4), (slice(1, 4, 1), 3), (slice(3, 4), 1), (slice(4, 4), None),
    (slice(0, 4, 2), None), (slice(5, 4), None), (slice(-2, 4), None), (slice(1, None), None), (2, None),
])  # fmt: skip
def test_how_wide_a_slice_is(part, width):
    assert width_of(part) == width


def test_which_axis_a_part_of_an_index_is_about():
    index = (None, slice(0, 1), Ellipsis, 2, None, slice(1, 2))
    assert [axis_of(index, place, 5) for place in (1, 3, 5)] == [0, 3, 4]
