"""Cases 142 to 151 and 152 to 160 of `compiling-anything.md`: lengths that depend on values, and what is told."""

from __future__ import annotations

import itertools
import logging
import warnings

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import check_calls, check_same, leaf, outcome

VALUES = [[0.5, -1.0, 2.0, 3.0], [-1.0, -2.0, -3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [0.25, -1.0, 2.0, -3.0]]
CALLS = [lambda v=v: (leaf(v),) for v in (*VALUES, VALUES[0])]


def doubled(x):
    y = x * 1
    y[x > 0] *= 2
    return y


def assigned(x):
    y, z, chosen = x * 1, pb.exp(x), x > 0
    y[chosen] = z[chosen]
    return y


def by_bins(x):
    edges = [-4.0, 0.0, 1.0, 5.0]
    return pb.stack([x[(x >= low) & (x < high)].sum() for low, high in itertools.pairwise(edges)])


FUNCTIONS = {
    "142 sum": lambda x: x[x > 0].sum(),
    "144 times 2": doubled,
    "145 assigned": assigned,
    "146 twice": lambda x: x[x > 0][x[x > 0] > 1],
    "147 where": lambda x: x[np.where(x > 0)[0]] * 2,
    "148 length": lambda x: x * len(x[x > 0]) + x[x > 0].size,
    "149 returned": lambda x: x[x > 0],
    "151 histogram": by_bins,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_142_to_151_masks(name):
    check_calls(FUNCTIONS[name], CALLS, 2, backend="numpy")


EDGES = np.array([-1.0, 0.0, 0.5, 2.0])


@pytest.mark.parametrize("function", [
    lambda x: np.digitize(x, EDGES) * x,
    lambda x: np.digitize(x, EDGES[::-1], right=True) * x,
    lambda x: np.digitize(x, [0.25]),
    lambda x: np.histogram(x, bins=4, range=(-2, 2))[0] * x.sum(),
    lambda x: np.histogram(x, bins=EDGES)[0] * 2.0,
    lambda x: np.histogram(x, bins=EDGES, weights=x * x)[0],
    lambda x: np.histogram(x, bins=3, range=(-1, 2), density=True),
], ids=["rising", "falling", "a list", "a range", "edges", "weights", "density"])  # fmt: skip
def test_151_bins_are_found_in_every_call(function):
    values = [*VALUES, [2.0, -1.0, 0.5, 0.0], [np.nan, 0.25, 5.0, -2.0]]
    compiled = check_calls(function, [lambda v=v: (leaf(v),) for v in values], 2, backend="numpy")
    assert compiled.cache_info().misses == 1


def test_143_the_mean_of_nothing_is_nan():
    f = lambda x: x[x > 10].mean() if x.size else x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_calls(f, CALLS[:2])


def test_150_values_that_are_unique_run_as_they_are():
    compiled = pb.compile(lambda x: pb.unique(x))
    with pytest.warns(UserWarning, match="without being compiled"):
        assert compiled(pb.tensor([2.0, 1.0, 2.0])).tolist() == [1.0, 2.0]


# What is told. -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*without being compiled")
def test_152_157_what_is_printed_is_printed_at_every_call(capsys):
    def f(x, rate):
        print("begin", rate, x.sum().item())
        for i in range(3):
            x = x * rate
            err = float(x.detach().sum())
            print(f"{i} {err:.3e}")
        if x.sum() > 1:
            print("large:", x.detach(), sep=" ", end=".\n")
        y = x.detach() * 1
        print(y)
        y.add_(1)
        return y

    compiled = pb.compile(f)
    for value, rate in ((1.0, 0.5), (4.0, 0.5), (1.0, 0.5), (4.0, 2.0), (4.0, 0.5), (1.0, 0.25), (1.0, 0.5)):
        make = lambda v=value, r=rate: (leaf([v, v]), r)
        found, printed = outcome(compiled, make), capsys.readouterr().out
        check_same(found, outcome(f, make))
        assert printed == capsys.readouterr().out


class Model:
    def __init__(self):
        self.history, self.count = [], 0

    def step(self, x):
        y = x * 2
        self.history.append(y.sum().item())
        self.count += 1
        return y if y.sum() > 0 else -y


@pytest.mark.filterwarnings("ignore:.*without being compiled")
def test_153_154_156_what_is_left_behind_is_left_behind_at_every_call():
    model, other = Model(), Model()
    compiled = pb.compile(model.step)
    for value in (1.0, -1.0, 2.0, -1.0, 1.0):
        assert compiled(pb.tensor([value])).tolist() == other.step(pb.tensor([value])).tolist()
    assert model.history == other.history and model.count == other.count == 5


log = logging.getLogger("a logger")


def telling(x, rate):
    """Tells something in all ways, of numbers that are others in every call."""
    y = x * rate
    err = y.sum()
    print(f"{rate} err {err:.3e} {err.item():.3f} {err}", f"{y.detach()[0]:>9.2f}")
    print("a {:.2f} b {}".format(err.item(), rate), y, x, y.detach(), end=".\n")  # noqa: UP032
    log.warning("sum %f %s", err.item(), "text")
    log.debug("not told")
    log.log(logging.ERROR, f"rate {rate:.2f}")
    logging.getLogger("another").info("%s", rate)
    if log.isEnabledFor(logging.DEBUG):
        y = y * 2
    warnings.warn(f"rate {rate}", stacklevel=2)
    warnings.warn("plain", RuntimeWarning, 1)
    return y.sum()


def test_152_155_158_what_is_told_is_told_at_every_call(caplog, capsys):
    """One capture, and the same texts, lines and names as in eager code."""
    rows = []
    compiled = pb.compile(telling, fallback="raise", backend="numpy")
    for call in (telling, compiled):
        told = []
        caplog.clear()
        for k in range(4):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(leaf([1.0 + k, 2.0]), 0.5 + k)
            told += [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
        logged = [(r.getMessage(), r.levelname, r.name, r.lineno, r.funcName, r.pathname) for r in caplog.records]
        rows.append((told, logged, capsys.readouterr().out))
    assert rows[0] == rows[1] and len(rows[0][0]) == 8
    assert compiled.cache_info().misses == 1
    log.setLevel(logging.DEBUG)
    try:
        assert compiled(leaf([1.0, 2.0]), 0.5).item() == 3.0
    finally:
        log.setLevel(logging.NOTSET)


def test_157_158_what_an_arm_tells_and_a_text_that_is_looked_at():
    def f(x, rate):
        text = f"rate {rate:.1f}"
        if x.sum() > 1:
            warnings.warn("large", UserWarning, stacklevel=1)
        print(text)
        return x * len(text)

    compiled = pb.compile(f, fallback="raise", backend="numpy")
    for value, rate in ((1.0, 0.5), (2.0, 0.5), (1.0, 100.0), (2.0, 0.5), (1.0, 0.5)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = compiled(pb.tensor([value]), rate)
            assert len(caught) == (value > 1)
            assert found.tolist() == f(pb.tensor([value]), rate).tolist()


@pytest.mark.filterwarnings("ignore:.*without being compiled")
def test_159_160_generators_and_impure_callbacks_run_as_they_are():
    def yielding(x):
        yield x * 2

    assert [each.tolist() for each in pb.compile(yielding)(pb.ones(2))] == [[2.0, 2.0]]
    seen = []

    def calling(x, callback):
        callback(x.sum().item())
        return x * 2

    compiled = pb.compile(calling)
    for value in (1.0, 2.0, 1.0, 1.0):
        compiled(pb.tensor([value]), seen.append)
    assert seen == [1.0, 2.0, 1.0, 1.0]
