"""Sets by number: unions are what Python's sets say, and equal sets have equal numbers."""

import numpy as np

from pullback.payloads.lifted.index_sets import IndexSets


def as_sets(sets, numbers):
    members, owners = sets.members(np.asarray(numbers).reshape(-1))
    return [frozenset(members[owners == k].tolist()) for k in range(np.size(numbers))]


def test_numbers_of_the_first_sets():
    sets = IndexSets(3)
    assert as_sets(sets, np.arange(4)) == [frozenset(), {0}, {1}, {2}]


def test_random_unions_equal_those_of_python():
    random = np.random.default_rng(3)
    sets = IndexSets(12)
    numbers = np.arange(13)
    for _ in range(6):
        left, right = random.choice(numbers, (2, 20, 5))
        union = sets.pairwise(left, right)
        expected = [a | b for a, b in zip(as_sets(sets, left), as_sets(sets, right), strict=True)]
        assert as_sets(sets, union) == expected
        rows = sets.along_last(left)
        assert as_sets(sets, rows) == [frozenset().union(*as_sets(sets, row)) for row in left]
        running = sets.running(right)
        for row, found in zip(right, running, strict=True):
            whole = as_sets(sets, row)
            assert as_sets(sets, found) == [frozenset().union(*whole[: k + 1]) for k in range(len(whole))]
        numbers = np.unique(np.concatenate([numbers, union.reshape(-1), rows]))
    every = as_sets(sets, numbers)
    assert len(set(every)) == len(every)


def test_groups_may_be_empty():
    sets = IndexSets(4)
    found = sets.grouped(np.array([1, 2, 0, 2]), np.array([2, 2, 0, 3]), 5)
    assert as_sets(sets, found) == [frozenset(), frozenset(), {0, 1}, {1}, frozenset()]


def test_no_inputs_at_all():
    sets = IndexSets(0)
    assert sets.along_last(np.zeros((2, 3), np.int64)).tolist() == [0, 0]


def test_many_and_few_new_sets_in_turn():
    random = np.random.default_rng(5)
    sets = IndexSets(150)
    numbers = np.arange(1, 151)
    for size in (30, 400, 30, 60, 60, 500, 20):
        left, right = random.choice(numbers, (2, size))
        union = sets.pairwise(left, right)
        expected = [a | b for a, b in zip(as_sets(sets, left), as_sets(sets, right), strict=True)]
        assert as_sets(sets, union) == expected
        assert (sets.pairwise(right, left) == union).all()
        numbers = np.unique(np.concatenate([numbers, union]))
    every = as_sets(sets, numbers)
    assert len(set(every)) == len(every)
