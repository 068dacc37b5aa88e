"""Sizes that vary: one capture serves all lengths, unless the function does something else for them."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.aot import mark_dynamic
from pullback.aot._dynamic.sizes import Size, Watcher

LENGTHS = (4, 7, 9, 100)


def rows(count, requires_grad=True):
    values = np.arange(count * 3.0).reshape(count, 3) + 1
    return pb.tensor(values, requires_grad=requires_grad)


def loss(result):
    return result if result.ndim == 0 else (result * result).sum()


def misses_for(function, lengths=LENGTHS, **options):
    """How often a function is traced for these lengths, after checking results and gradients of each."""
    compiled = pb.compile(function, fallback="raise", **{"dynamic": True, "backend": "numpy", **options})
    for count in (*lengths, *lengths):
        mine, theirs = rows(count), rows(count)
        got, expected = loss(compiled(mine)), loss(function(theirs))
        assert got.item() == pytest.approx(expected.item(), rel=1e-14)
        got.backward()
        expected.backward()
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=1e-13, atol=1e-12)
    return compiled.cache_info().misses


def filled(x):
    h = pb.zeros((x.shape[0], 2))
    h[:, 0] = x[:, 1]
    return h


def doubled_in_place(x):
    h = x * 1
    h[1:] *= 2
    return h


def running_product(x):
    last, ys = pb.scan(lambda c, row: (pb.tanh(c * row / 100), c), pb.ones(3), x)
    return pb.concat([last[None], ys])


def backwards(x):
    """A loop from the end, with two arrays that it goes along, and a branch in its body."""

    def step(total, each):
        row, weight = each
        return pb.cond(weight > 2, lambda: total + row * weight, lambda: total - row), total.sum()

    total, sums = pb.scan(step, pb.zeros(3), (x, pb.arange(x.shape[0])), reverse=True)
    return total.sum() + (sums * sums).mean()


def doubled_until_large(x):
    return pb.while_loop(lambda c: c.sum() < 1e4, lambda c: c * 2, x, max_steps=20)


DYNAMIC = {
    "loop": running_product,
    "loop from the end": backwards,
    "loop of so many steps": lambda x: pb.scan(lambda c, _: (c / 2 + x.mean(axis=0), None), x[0], None, x.shape[0])[0],
    "counted loop": lambda x: pb.fori_loop(0, x.shape[0], lambda i, c: c + x[i] * i, pb.zeros(3)),
    "loop that carries the axis": doubled_until_large,
    "branch": lambda x: pb.cond(x.sum() > 100, lambda y: y * 2, lambda y: pb.sin(y), x),
    "loop over a column": lambda x: pb.scan(lambda c, column: (c + column, None), x[:, 0], x.T)[0],
    "elementwise": lambda x: (pb.sin(x) * 2).sum(),
    "mean": lambda x: x.mean(),
    "divided by the length": lambda x: (x.reshape(-1) ** 2).sum() / x.shape[0],
    "product": lambda x: x.T @ x,
    "new array": filled,
    "slices": lambda x: x[1:] - x[:-1],
    "joined": lambda x: pb.concat([x, x]).var(axis=0),
    "counting": lambda x: pb.arange(x.shape[0])[:, None] * x,
    "gradient inside": lambda x: pb.func.grad(lambda z: (z**3).sum())(x),
    "vmap inside": lambda x: pb.vmap(lambda row: pb.tanh(row).sum())(x),
    "write": doubled_in_place,
    "broadcast": lambda x: x - x.mean(axis=0),
    "view returned": lambda x: x.reshape(-1),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_one_capture_serves_all_lengths(name):
    assert misses_for(DYNAMIC[name]) == 1


def test_a_loop_over_the_axis_is_captured_for_each_length():
    def summed(x):
        total = 0
        for row in range(x.shape[0]):
            total = total + x[row].sum()
        return total

    assert misses_for(summed) == len(LENGTHS)


def test_a_question_about_a_length_is_a_guard():
    def chosen(x):
        return (x * 2).sum() if x.shape[0] > 8 else (x * 3).sum()

    assert misses_for(chosen) == 2


def test_a_length_used_as_a_number_is_pinned():
    assert misses_for(lambda x: x.sum() * float(x.shape[0])) == len(LENGTHS)


def test_lengths_zero_and_one_are_captured_alone():
    assert misses_for(lambda x: (x * x).sum(), (4, 1, 7, 1)) == 2


def test_only_marked_axes_vary():
    compiled = pb.compile(lambda x: x.sum(), fallback="raise")
    for count in (4, 7, 9):
        compiled(mark_dynamic(rows(count), 0))
    assert compiled.cache_info().misses == 1
    compiled(rows(5))
    assert compiled.cache_info().misses == 1  # the mark is a wish, and the capture serves it too
    compiled(mark_dynamic(pb.ones((4, 8), requires_grad=True), 0))
    assert compiled.cache_info().misses == 2


def test_marks_have_limits():
    compiled = pb.compile(lambda x: x.sum(), fallback="raise")
    for count in (4, 7, 20):
        compiled(mark_dynamic(rows(count), 0, max=10))
    assert compiled.cache_info().misses == 2


def test_an_axis_that_caused_two_captures_varies_from_then_on():
    compiled = pb.compile(lambda x: (x * 2).sum(), fallback="raise")
    for count in (3, 4, 5, 6, 7, 8, 9, 10):
        assert compiled(rows(count)).item() == (rows(count) * 2).sum().item()
    assert compiled.cache_info().misses == 3


def test_an_axis_that_varies_need_not_be_there_in_every_call():
    f = pb.compile(lambda x: (x * x).sum(), backend="numpy", fallback="raise")
    for shape in ((3, 4), (3, 5), (3, 6), (7,), (2,), (3, 2), (3, 1), (8,)):
        x = pb.tensor(np.arange(np.prod(shape) * 1.0).reshape(shape), requires_grad=True)
        f(x).backward()
        assert x.grad.tolist() == (2 * x).tolist()


def test_the_shortest_length_that_varies_is_two():
    f = pb.compile(lambda x: (x * x).sum(), backend="numpy", fallback="raise", dynamic=True)
    for length in (2, 3, 2, 5):
        assert f(pb.ones(length)).item() == length
    assert f.cache_info().misses == 1
    assert f(pb.ones(1)).item() == 1 and f.cache_info().misses == 2


def test_equal_lengths_vary_together_and_different_ones_alone():
    compiled = pb.compile(lambda x, y: (x * y).sum(), fallback="raise", dynamic=True)
    for count in (3, 5, 8):
        compiled(rows(count), rows(count))
    assert compiled.cache_info().misses == 1
    apart = pb.compile(lambda x, y: x.sum() + y.sum(), fallback="raise", dynamic=True)
    for first, second in ((3, 5), (4, 9), (7, 20)):
        assert apart(rows(first), rows(second)).item() == (rows(first).sum() + rows(second).sum()).item()
    assert apart.cache_info().misses == 1


def test_a_written_argument_may_vary():
    def step(x):
        x.mul_(2)
        return x.sum()

    compiled = pb.compile(step, fallback="raise", dynamic=True)
    for count in (3, 5):
        x = rows(count, requires_grad=False)
        assert compiled(x).item() == (2 * rows(count)).sum().item()
        np.testing.assert_array_equal(x.numpy(), 2 * rows(count).detach().numpy())
    assert compiled.cache_info().misses == 1


def test_bad_marks_are_refused():
    with pytest.raises(IndexError):
        mark_dynamic(rows(2), 2)
    with pytest.raises(TypeError):
        mark_dynamic(np.ones(3), 0)


def test_sizes_compute_and_remember_comparisons():
    watcher = Watcher((6,))
    (size,) = watcher.shown((6,))
    assert type(size) is Size
    assert type(size // 2 + 1) is Size
    assert (size // 2 + 1) > 3
    (guard,) = watcher.guards
    assert guard((6,))
    assert guard((7,))
    assert not guard((5,))


def test_an_axis_that_can_not_vary_stays_fixed_while_others_vary():
    def scores(points, weights):
        return (points @ weights).sum()

    compiled = pb.compile(scores, fallback="raise", dynamic=True)
    weights = pb.ones(3)
    for count in (4, 6, 11):
        assert compiled(rows(count), weights).item() == scores(rows(count), weights).item()
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize("part", [slice(None), slice(1, None)])
@pytest.mark.parametrize("lengths", [(5, 5), (5, 6, 7), (4, 5, 5)])
def test_a_captured_tensor_that_the_function_gives_a_history_is_captured_again(part, lengths):
    def gradients(compiles):
        w, kept = pb.tensor([1.0, 2.0, 3.0], requires_grad=True), pb.zeros(3)

        def step(x):
            result = (kept + w).sum() * x.sum()
            kept[part] += w[part]
            return result

        run = pb.compile(step, dynamic=True, backend="numpy", fallback="raise") if compiles else step
        results = [run(pb.ones(length)) for length in lengths]
        return [pb.autograd.grad(result, w, retain_graph=True)[0].tolist() for result in results]

    assert gradients(True) == gradients(False)


@pytest.mark.parametrize("is_one", [True, False])
def test_which_arguments_are_one_object_is_asked_for_every_length(is_one):
    def f(a, b):
        return a * 2 + (b * 100 if b is a else b * 3)

    compiled = pb.compile(f, dynamic=True, backend="numpy", fallback="raise")
    for length in (4, 5, 6):
        for one in (is_one, not is_one):
            a = rows(length)
            b = a if one else rows(length)
            assert compiled(a, b).tolist() == f(a, b).tolist()


def test_a_view_that_may_not_be_written_may_not_be_written_at_other_lengths():
    compiled = pb.compile(lambda x: x.mul_(2) + 1, dynamic=True, backend="numpy", fallback="raise")
    for length in (4, 5, 6):
        compiled(pb.ones(length))
    base = pb.ones((2, 7), requires_grad=True)
    with pb.no_grad():
        view = base[0]
    with pytest.raises(pb.autograd.AutogradError, match="VIEW_NO_GRAD"):
        compiled(view)


def test_parameters_that_are_known_do_not_pin_a_length():
    def f(x, w):
        return (pb.broadcast_to(w[0], (x * 1).shape) + x).sum()

    w = pb.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    for count in (4, 5):  # so that the shapes are known before the first trace
        f(pb.ones((count, 3)), w)
    call = pb.compile(f, backend="numpy")
    for count in (4, 7, 9):
        call(pb.aot.mark_dynamic(pb.ones((count, 3)), 0), w)
    assert call.cache_info().misses == 1


@pytest.mark.parametrize("decide", [
    lambda x: np.zeros(len(x)).size, lambda x: len(np.zeros(x.shape)), lambda x: np.ones(len(x)).sum(),
    lambda x: len(list(range(len(x)))), lambda x: np.arange(x.shape[0])[-1], lambda x: np.sqrt(len(x)) * 3,
    lambda x: len([0] * len(x)), lambda x: np.prod(x.shape),
])  # fmt: skip
@pytest.mark.parametrize("options", [{"dynamic": True}, {}], ids=["dynamic", "plain"])
def test_decisions_on_what_numpy_makes_of_a_length(decide, options):
    f = pb.compile(lambda x: x * 2 if decide(x) > 8 else x * 3, backend="numpy", **options)
    for size in (4, 6, 9, 12, 7, 20, 5):
        x = np.linspace(1, 2, size)
        np.testing.assert_allclose(f(pb.tensor(x)).numpy(), x * 2 if decide(x) > 8 else x * 3)
