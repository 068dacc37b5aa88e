"""Arrays in memory that was used before: nothing but their memory is special about them."""

import pickle

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from numpy._core.multiarray import get_handler_name

from pullback.compiler.machine import buffers

LENGTH = 100_000
add = buffers.reusing(np.add)


@pytest.fixture(autouse=True)
def nothing_waits():
    buffers.release()
    yield
    buffers.set_limit(buffers._default_limit())


def test_a_freed_buffer_is_the_next_array():
    x = np.arange(float(LENGTH))
    first = add(x, 1.0)
    place = first.ctypes.data
    assert buffers.waiting_bytes() == 0
    del first
    assert buffers.waiting_bytes() == x.nbytes
    again = add(x, 2.0)
    assert again.ctypes.data == place and buffers.waiting_bytes() == 0
    np.testing.assert_array_equal(again, x + 2)


def test_results_are_ordinary_arrays():
    x = np.arange(float(LENGTH))
    out = add(x, x)
    assert type(out) is np.ndarray and out.base is None and out.flags.owndata and out.flags.carray
    assert out.ctypes.data % 16 == 0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(out)), 2 * x)
    out.resize(2 * LENGTH, refcheck=False)
    np.testing.assert_array_equal(out[:LENGTH], 2 * x)
    np.testing.assert_array_equal(out[LENGTH:], 0)
    out.resize(3, refcheck=False)
    np.testing.assert_array_equal(out, [0, 2, 4])


def test_other_arrays_have_the_usual_allocator():
    x = np.ones(LENGTH)
    assert get_handler_name(add(x, x)) == "pullback"
    for other in (np.add(x, x), np.empty(3), x.copy()):
        assert get_handler_name(other) == "default_allocator"


def test_errors_and_positions():
    x = np.ones(LENGTH)
    with pytest.raises(ValueError, match="broadcast"):
        add(x, x[:3])
    with pytest.raises(TypeError):
        add(x)
    out = np.empty(LENGTH)
    assert add(x, x, out) is out and get_handler_name(out) == "default_allocator"
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
        add(np.full(LENGTH, 1.7e308), np.full(LENGTH, 1.7e308))
    assert get_handler_name(np.empty(LENGTH)) == "default_allocator"


def test_what_waits_is_bounded():
    x = np.ones(LENGTH)
    buffers.set_limit(3 * x.nbytes)
    made = [add(x, x) for _ in range(10)]
    made.clear()
    assert buffers.waiting_bytes() == 3 * x.nbytes
    buffers.set_limit(x.nbytes - 1)
    del made
    add(x, x)
    assert buffers.waiting_bytes() == 0
    buffers.set_limit(1 << 40)
    made = [add(x[: LENGTH - k], 1.0) for k in range(100)]
    made.clear()
    assert buffers.waiting_bytes() <= 64 * x.nbytes  # there are so many places


def test_small_arrays_do_not_wait():
    add(np.ones(10), 1.0)
    assert buffers.waiting_bytes() == 0


def test_the_limit_respects_the_memory_of_the_machine():
    assert 0 < buffers._default_limit() <= buffers.MOST_BYTES


def test_random_lives():
    rng = np.random.default_rng(0)
    alive = []
    for number in range(2000):
        length = int(rng.integers(1, 60_000))
        alive.append((number, add(np.full(length, float(number)), 0.0)))
        while len(alive) > rng.integers(0, 12):
            expected, array = alive.pop(int(rng.integers(len(alive))))
            assert array[0] == array[-1] == expected and (array == expected).all()
