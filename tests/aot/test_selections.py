"""Selections by masks: one path for any number of selected elements, and what eager code gives for each of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback as pb
from tests.aot.random_selections import check
from tests.conformance.compiling import check_same, outcome
from tests.conformance.test_compiling_strangers import curvature

LENGTH = 9


def standardised(x):
    s = x[np.abs(x) < 1.5]
    return ((s - s.mean()) / (s.std() + 0.1)).max() + s.var() * len(s)


def logarithms_of_what_is_positive(x):
    m = x > 0
    return np.log(x[m]).sum() + np.sqrt(x[~m] ** 2 + 1).sum()


def leaky(x):
    y = x.copy()
    m = y < 0
    y[m] = 0.1 * y[m]
    return y


def in_place(x):
    y = x * 1
    y[y > 0.5] *= 2
    y[y < -0.5] += y.sum()
    return y


def written_without_gradient(x):
    y = x.detach() * 1
    y[y > 0] = np.exp(y[y > 0])
    return y * x


def of_a_selection(x):
    s = x[x > -0.5]
    t = s[s < 1]
    return (t * t).sum() + t.size


def rows(x):
    a = x.reshape(3, 3)
    chosen = a[a[:, 0] > 0]
    return chosen.sum(axis=0) + (chosen * chosen).sum() + chosen.mean()


def two_axes(x):
    a = x.reshape(3, 3)
    b = a * 2
    b[a > 0] = a[a > 0] ** 2
    return b.T, a[a > 0].min()


def positions(x):
    (i,) = np.nonzero(x > 0)
    y = np.concatenate([x, x[:1]])
    return (y[i + 1] * x[i]).sum() + i.sum() + len(i)


def two_masks(x):
    m, n = x > 0, x < -0.2
    return x[m].sum() * (x[n] ** 2).mean() + x[m].prod()


def dots(x):
    s = x[x > 0]
    return s @ s + np.linalg.norm(s) + np.dot(s, np.sin(s)) / s.shape[0]


def a_choice_by_a_length(x):
    s = x[x > 0]
    if len(s) > 4:
        return s.sum()
    return s.sum() * 10 + x.sum()


def extremes(x):
    s = x[x > -0.3]
    return s.max() - s.min() + s.any() + (s > 0).all() + np.logaddexp.reduce(s)


def with_rows_of_ones(x):
    s = x[x > 0]
    return (np.ones_like(s) * 3 + np.zeros_like(s) - s).sum() + np.full_like(s, 2.0).sum()


def columns(x):
    s = x[x > 0]
    return (s[:, None] * np.arange(3.0)).sum(axis=0) + (s.reshape(-1, 1) ** 2).sum()


def float32(x):
    y = x.astype(np.float32)
    s = y[y > 0]
    return (s / len(s)).sum() + s.mean()


def at_poles(x):
    """What is not selected would be infinite, and its derivatives as well."""
    m = np.abs(x) > 0.3
    return (1 / (x[m] - np.sign(x[m]) * 0.3)).sum() + np.sqrt(np.abs(x[m]) - 0.3).sum()


def by_cases(x):
    return np.piecewise(x, [x < -0.5, x > 0.5], [lambda z: z - z.mean(), lambda z: np.log(z) * 2, 3.0])


ONE_PATH = [standardised, logarithms_of_what_is_positive, leaky, in_place, written_without_gradient, of_a_selection,
            rows, two_axes, positions, two_masks, dots, extremes, with_rows_of_ones, columns, float32,
            at_poles, by_cases]  # fmt: skip


def returned(x):
    return x[x > 0]


def sorted_ones(x):
    return np.sort(x[x > 0])[0] + np.median(x[x > 0])


def looked_at(x):
    s = x[x > 0]
    total = s.sum()
    for _ in s:
        total = total + 1
    return total


def a_hidden_length(x):
    z = np.zeros_like(x[x > 0])
    return x.sum() * (2 if len(z) > 4 else 3)


def parts_of_it(x):
    s = x[x > 0]
    return s[0] + s[1:].sum() + s[::-1][0]


def joined_with_others(x):
    return np.concatenate([x[x > 0], x[:2]]).mean()


SEVERAL = [a_choice_by_a_length, returned, sorted_ones, looked_at, a_hidden_length, parts_of_it, joined_with_others]


def make(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=LENGTH) + rng.choice([-3.0, -0.5, 0.0, 0.5, 3.0])
    return (pb.tensor(x, requires_grad=True),)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [*ONE_PATH, *SEVERAL], ids=lambda f: f.__name__)
def test_selections_of_any_length_are_those_of_eager_code(function):
    compiled = pb.compile(function, backend="numpy")
    for seed in range(16):
        found, expected = outcome(compiled, lambda s=seed: make(s)), outcome(function, lambda s=seed: make(s))
        check_same(found, expected, seed, 1e-5 if function is float32 else 1e-9)
        if "error" not in expected:
            with np.errstate(all="ignore"):
                second, wanted = (curvature(call, list(make(seed))) for call in (compiled, function))
            for mine, theirs in zip(second, wanted, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-4 if function is float32 else 1e-7, atol=1e-9)


@pytest.mark.parametrize("function", ONE_PATH, ids=lambda f: f.__name__)
def test_one_path_is_for_any_number_of_elements(function):
    """Behind a few traces calls with other numbers of elements leave no path."""
    compiled = pb.compile(function, backend="numpy")

    def made(seed):
        return pb.tensor(np.random.default_rng(seed).normal(size=LENGTH if function in (rows, two_axes) else 90))

    def exits():
        return compiled.explain(made(0)).data["paths"]["exits"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _ = [compiled(made(seed)) for seed in range(30)]
        before = exits()
        _ = [compiled(made(seed)) for seed in range(30, 50)]
    assert exits() <= before + 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_of_masks_loops_and_writes(seed):
    assert check(seed) is None


def scaled(x, k):
    return ((x[x > 0] * k) ** 3).sum()


def rows_scaled(x, k):
    a = x.reshape(3, 3)
    return ((a[a[:, 0] > 0] * k) ** 3 + k * k).sum()


def neighbours(x, k):
    return (x[(np.flatnonzero(x > 0) + 1) % LENGTH] ** 2).sum(), k * k


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [scaled, rows_scaled, neighbours])
def test_infinite_elements_leave_alone_what_is_not_selected(function):
    """What stands in the place of elements that are not selected has no part in any derivative: 0 times infinity."""
    compiled = pb.compile(function, backend="numpy")
    rng = np.random.default_rng(0)
    for number in range(9):
        x = rng.normal(size=LENGTH)
        if number > 4:
            x[:2] = np.inf
        found, wanted = (
            curvature(call, [pb.tensor(x, requires_grad=True), pb.tensor(1.5, requires_grad=True)])
            for call in (compiled, function)
        )
        assert len(wanted) == 2
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_paths_are_joined_beside_calls_that_run_eagerly():
    """Some calls write to an array outside, which runs them in Python; what others select is one path all the same."""
    seen = np.ones(LENGTH)

    def function(x):
        seen[:] = 0.25
        return (x[x > 0] * 2).sum()

    compiled = pb.compile(function, backend="numpy")
    for number in range(16):
        if number in (2, 3, 4):
            seen[:] = number
        x = np.random.default_rng(number).normal(size=LENGTH)
        assert compiled(pb.tensor(x)).item() == pytest.approx((x[x > 0] * 2).sum())
        assert np.all(seen == 0.25)
