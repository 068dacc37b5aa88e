"""Functions of very many arrays: what overlaps is found without comparing each with each."""

import numpy as np
import pytest

import pullback as pb
from pullback.aot._trace.leaves import overlapping, touching


def views(seed):
    """Arrays of which some are parts of one memory, some own theirs, and some have no elements."""
    random = np.random.default_rng(seed)
    memory = np.zeros(60)
    made = []
    for _ in range(25):
        start, length, step = random.integers(0, 40), random.integers(0, 12), random.integers(1, 4)
        made.append(memory[start : start + length : step] if random.random() < 0.8 else np.zeros(length))
    return [*made, made[0], np.zeros((3, 0))]


@pytest.mark.parametrize("seed", range(20))
def test_arrays_that_touch_are_those_that_share_an_element(seed):
    arrays = views(seed)
    count = len(arrays)
    expected = {(a, b) for a in range(count) for b in range(a) if np.shares_memory(arrays[a], arrays[b])}
    found = {(max(pair), min(pair)) for pair in touching(arrays)}
    assert found == expected
    asked = {0, 5, 11}
    some = {(max(pair), min(pair)) for pair in touching(arrays, asked)}
    assert some == {pair for pair in expected if asked & set(pair)}
    groups = overlapping(dict(enumerate(arrays)))
    assert {slot for group in groups for slot in group} == {slot for pair in expected for slot in pair}
    assert all(any(set(pair) <= set(group) for group in groups) for pair in expected)


def test_arrays_that_own_their_memory_are_not_compared(monkeypatch):
    def refuse(*_):
        raise AssertionError("compared")

    monkeypatch.setattr("pullback.aot._trace.leaves.overlap", refuse)
    monkeypatch.setattr("pullback.aot._trace.leaves.byte_bounds", refuse)
    assert list(touching([np.zeros(3) for _ in range(5)])) == []


def descend(weights, gradients):
    with pb.no_grad():
        for w, g in zip(weights, gradients, strict=True):
            w -= 0.1 * g


@pytest.mark.parametrize("count", [3, 12])
def test_written_arguments_that_begin_to_overlap_are_noticed(count):
    compiled = pb.compile(descend, fallback="raise")
    results = []
    for function in (compiled, descend):
        weights = [pb.tensor(np.full(4, float(k))) for k in range(count)]
        gradients = [pb.tensor(np.full(4, 1.0 + k)) for k in range(count)]
        for _ in range(3):
            function(weights, gradients)
        gradients[-1] = weights[0][1:2].expand(4)
        weights[1] = weights[2][1:]
        gradients[1] = gradients[1][1:]
        function(weights, gradients)
        results.append([w.numpy() for w in weights])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_results_of_many_arguments_know_whose_they_are():
    def f(xs):
        return [x if k % 3 == 0 else x[1:] if k % 3 == 1 else x * 2 for k, x in enumerate(xs)]

    xs = [pb.tensor(np.arange(3.0) + k) for k in range(12)]
    found = pb.compile(f, fallback="raise")(xs)
    for k, (x, out) in enumerate(zip(xs, found, strict=True)):
        assert (out is x) == (k % 3 == 0)
        assert np.shares_memory(out.numpy(), x.numpy()) == (k % 3 != 2)
        assert (out._version, x._version) == (0, 0)
    found[1].add_(1)
    assert (xs[1]._version, xs[2]._version) == (1, 0)
