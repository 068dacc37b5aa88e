"""Many fast paths of one function: which is tried, how many there are, and when there is another one."""

import numpy as np
import pytest

import pullback as pb
from pullback._compile import compile
from pullback.aot._call import fast_call
from pullback.aot._call.fast_call import MISS
from pullback.core import spec as spec_module


def leaf(*shape):
    return pb.tensor(np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape), requires_grad=True)


def plain(*shape):
    return leaf(*shape).detach()


def inner(*shape):
    return leaf(*shape) * 1


def test_many_kinds_of_calls_have_short_ways_side_by_side():
    compiled = compile(lambda x, y: x * y, recompile_limit=20, fallback="raise")
    kinds = [(leaf(1 + k), 2 + k % 3) for k in range(7)] + [(np.ones(1 + k), plain(1 + k)) for k in range(5)]
    for x, y in kinds:
        compiled(x, y)
    ways = compiled._ways[()]
    assert len(ways.calls) == 1 and len(ways._known) == 12  # one that chooses
    for x, y in kinds:
        np.testing.assert_array_equal(ways.calls[0]((x, y))._data, (x * y)._data)
        compiled(x, y)
    assert compiled.cache_info().hits == 12
    assert ways.calls[0]((leaf(99), 2)) is MISS and ways.calls[0](()) is MISS


def test_there_are_not_too_many_short_ways(monkeypatch):
    monkeypatch.setattr(fast_call, "MOST", 5)
    compiled = compile(lambda x: x * 2, recompile_limit=20, fallback="raise")
    for rank in range(12):
        compiled(plain(*(1,) * rank))
    assert len(compiled._ways[()]._known) == 5
    assert [compiled(plain(*(1,) * rank)).ndim for rank in range(12)] == list(range(12))


def test_calls_of_one_capture_get_the_short_way_that_they_need():
    compiled = compile(lambda x, y: x * y, fallback="raise")
    for x in (inner(3), inner(6)[::2][:3].clone(), inner(6)[:3], inner(6)[3:]):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x, leaf(3))._data, (x * leaf(3))._data)
    assert compiled.cache_info().misses == 1 and len(compiled._calls) == 2
    assert compiled._calls[0]((inner(6)[1:4], leaf(3))) is not MISS
    assert compiled._calls[1]((inner(6)[1:4], leaf(3))) is MISS


def test_specs_that_were_made_anew_get_a_short_way_of_their_own(monkeypatch):
    compiled = compile(lambda x: x * 2, fallback="raise")
    compiled(plain(3))
    (call,) = compiled._calls
    monkeypatch.setattr(spec_module, "_interned", {})
    for _ in range(2):
        assert compiled(plain(3)).tolist() == [2.0, 4.0, 6.0]
    assert call((plain(3),)) is MISS and compiled._calls[0]((plain(3),)) is not MISS
    assert compiled.cache_info()[:2] == (2, 1)


@pytest.mark.parametrize("kind", [leaf, plain, inner, lambda n: np.arange(1.0, n + 1)])
@pytest.mark.parametrize("f", [
    lambda x, y, z: x * y + z,
    lambda x, y, z: (y * z, x),
    lambda x, y, z: x * (2 if x is y else 3) + (y * 5 if y is z else z),
])  # fmt: skip
def test_one_object_given_twice_has_a_short_way(f, kind):
    compiled = compile(f, recompile_limit=20, fallback="raise")
    a, b, c = kind(4), kind(4), kind(4)
    calls = [(a, a, b), (a, b, a), (b, a, a), (a, a, a), (a, b, c)]
    for _ in range(2):
        for given in calls:
            found, wanted = compiled(*given), f(*given)
            np.testing.assert_array_equal(values(found), values(wanted))
            if kind is leaf:
                mine, theirs = (pb.autograd.grad(total(x), [a, b], allow_unused=True) for x in (found, wanted))
                assert [g is None for g in mine] == [g is None for g in theirs]
                assert all(x is None or x.tolist() == y.tolist() for x, y in zip(mine, theirs, strict=True))
    ways = compiled._ways[()].calls
    for given in calls:
        assert sum(way(given) is not MISS for way in ways) == 1
    assert compiled.cache_info().misses == len(calls)


def test_one_object_given_twice_may_be_written():
    def f(x, y):
        x.mul_(2)
        return x + y

    compiled = compile(f, fallback="raise")
    for same in (True, False, True, True, False):
        x = plain(3)
        y = x if same else plain(3)
        assert compiled(x, y).tolist() == ([4.0, 8.0, 12.0] if same else [3.0, 6.0, 9.0])
        assert x.tolist() == [2.0, 4.0, 6.0] and x._version == 1


def values(result):
    return [np.asarray(x.detach() if isinstance(x, pb.Tensor) else x) for x in listed(result)]


def total(result):
    return sum((x * k).sum() for k, x in enumerate(listed(result), 1))


def listed(result):
    return result if isinstance(result, tuple) else (result,)
