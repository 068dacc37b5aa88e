"""`v = x[i]` with a computed integer `i`: eager code has a view, and compiled code does the same or refuses."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb


def highest(x):
    return pb.argmax(x[:, 0] if x.ndim == 2 else x)


def element_changed(x):
    v = x[highest(x)]
    v += 10
    return x * 1


def view_of_the_element_changed(x):
    row = x[highest(x)]
    part = row.reshape(-1)[:1]
    part.mul_(3)
    return x.sum()


def only_the_element_is_returned(x):
    v = x[highest(x)]
    v.mul_(3)
    return v


def array_changed_behind_it(x):
    v = x[highest(x)]
    x += 1
    return v * 2


def element_changed_in_another_array(x):
    y = x * 1
    v = y[highest(x)]
    y[0] = 7
    return v + y.sum()


def written_at_another_place(x):
    i = highest(x)
    v = x[i]
    v += 1
    x[i - 1] = v
    return x.sum()


REFUSED = [
    element_changed, view_of_the_element_changed, only_the_element_is_returned, array_changed_behind_it,
    element_changed_in_another_array, written_at_another_place,
]  # fmt: skip


def added(x):
    x[highest(x)] += 10
    return x * 1


def added_in_two_steps(x):
    i = highest(x)
    v = x[i]
    v *= 3
    x[i] = v
    return x.sum() + v.sum()


def many_times(x):
    for _ in range(4):
        x[highest(x)] *= 0.5
    return x


def two_computed_indices(x):
    i = highest(x)
    x[i, pb.argmin(x[i])] -= 2
    return x


def copied(x):
    v = x[highest(x)].clone()
    v += 10
    x += 1
    return v + x.sum()


def only_read(x):
    v = x[highest(x)]
    return v * v + x.sum()


def read_before_the_write(x):
    twice = x[highest(x)] * 2
    x += 1
    return twice + x.sum()


AGREES = [added, added_in_two_steps, many_times, copied, only_read, read_before_the_write]


def run(call, array):
    x = pb.asarray(array.copy())
    out = call(x)
    return out.numpy(), x.numpy()


def equal(function, call, array):
    for given, wanted in zip(run(call, array), run(function, array), strict=True):
        np.testing.assert_allclose(given, wanted)


ARRAYS = [np.array([1.0, 5.0, 2.0]), np.arange(12.0).reshape(4, 3) % 7]


@pytest.mark.parametrize("array", ARRAYS, ids=["vector", "matrix"])
@pytest.mark.parametrize("function", REFUSED)
def test_what_a_copy_can_not_do_runs_as_eager_code(function, array):
    with pytest.raises(pb.aot.FunctionalizationError, match="picked by an index that is computed"):
        run(pb.compile(function, fallback="raise"), array)
    with pytest.warns(UserWarning, match="runs without being compiled"):
        equal(function, pb.compile(function), array)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("array", ARRAYS, ids=["vector", "matrix"])
@pytest.mark.parametrize("function", AGREES)
def test_what_a_copy_can_do_is_compiled(function, array, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite", reason="native code needs llvmlite")
    equal(function, pb.compile(function, fallback="raise", backend=backend), array)


def test_two_computed_indices_are_one_place():
    equal(two_computed_indices, pb.compile(two_computed_indices, fallback="raise"), ARRAYS[1])


@pytest.mark.parametrize("function", AGREES)
def test_gradients_go_through_what_is_put_back(function):
    gradient = pb.func.grad(lambda x: (function(x * 1) ** 2).sum())
    equal(gradient, pb.compile(gradient, fallback="raise"), ARRAYS[0])


def test_an_element_of_what_a_loop_carries_is_put_back():
    def steps(x):
        def body(k, x):
            x = x * 1
            x[k] += x[(k + 1) % 3]
            return x

        return pb.fori_loop(0, 3, body, x)

    equal(steps, pb.compile(steps, fallback="raise"), ARRAYS[0])
    wrong = lambda x: pb.fori_loop(0, 3, lambda k, x: (x * 1)[k].add_(1) + x, x)
    with pytest.raises(pb.aot.FunctionalizationError, match="picked by"):
        pb.compile(wrong, fallback="raise")(pb.asarray(ARRAYS[0]))


WAYS = {
    "jacfwd": pb.func.jacfwd,
    "jacrev": pb.func.jacrev,
    "vmap of rows": lambda f: lambda x: pb.func.vmap(f)(pb.stack([x, x[::-1] * 2])),
    "vmap beside": lambda f: lambda x: pb.func.vmap(lambda y: f(x * 1) * y)(x),
    "vmap with one index": lambda f: lambda x: pb.func.vmap(lambda row: row[pb.argmax(x)] * row)(pb.stack([x, x + 1])),
}


def equal_or_refused_alike(made, call):
    """Eager code itself refuses some of this where each example picks a place of its own."""
    try:
        run(made, ARRAYS[0])
    except pb.autograd.AutogradError as error:
        with pytest.raises(pb.autograd.AutogradError, match=error.code):
            run(call, ARRAYS[0])
    else:
        equal(made, call, ARRAYS[0])


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("function", AGREES)
def test_transforms_of_what_a_copy_can_do_are_compiled(function, name):
    made = WAYS[name](lambda x: function(x * 1))
    equal_or_refused_alike(made, pb.compile(made, fallback="raise"))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("function", REFUSED)
@pytest.mark.filterwarnings("ignore:.*runs without being compiled")
def test_transforms_of_what_it_can_not_do_are_right_too(function, name):
    made = WAYS[name](lambda x: function(x * 1))
    equal_or_refused_alike(made, pb.compile(made))
