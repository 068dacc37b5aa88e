"""`pb.data.batches`: which rows come when; the order depends on seed and epoch only, and can be resumed."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def rows(data):
    return [batch.tolist() for batch in data]


def flat(data):
    return [row for batch in data for row in batch.tolist()]


def test_every_row_comes_once_in_an_epoch():
    data = pb.data.batches(np.arange(10), size=3, seed=1)
    assert [len(batch) for batch in data] == [3, 3, 3, 1] and len(data) == 4
    found = flat(data)
    assert sorted(found) == list(range(10)) != found


def test_the_order_depends_on_seed_and_epoch_only():
    one, other = (pb.data.batches(np.arange(20), size=size, seed=3, epochs=2) for size in (4, 7))
    assert len(one) == 10
    assert (first := flat(one)) == flat(other)
    assert first[:20] != first[20:]
    assert flat(one) not in (first, first[::-1])  # the next two epochs
    assert flat(pb.data.batches(np.arange(20), size=4, seed=4, epochs=2)) != first


def test_without_a_seed_the_default_generator_decides():
    pb.random.manual_seed(0)
    one = rows(pb.data.batches(np.arange(9), size=9))
    pb.random.manual_seed(0)
    assert rows(pb.data.batches(np.arange(9), size=9)) == one


def test_without_shuffling_batches_are_views():
    x = np.arange(6.0)
    for batch in pb.data.batches(x, size=2, shuffle=False):
        assert np.shares_memory(batch, x)
        batch *= 2
    assert_close(x, np.arange(6.0) * 2)


def test_several_arrays_and_trees_are_taken_by_the_same_rows(tmp_path):
    mapped = np.memmap(tmp_path / "x", dtype=float, shape=(7, 2), mode="w+")
    mapped[:] = np.arange(14.0).reshape(7, 2)
    tree = {"mapped": mapped, "tensor": pb.arange(7.0)}
    for batch, y in pb.data.batches(tree, np.arange(7), size=3, seed=0):
        assert_close(batch["mapped"][:, 0], 2.0 * y)
        assert_close(batch["tensor"], y.astype(float))
        assert isinstance(batch["tensor"], pb.Tensor)


def test_what_pandas_has_is_taken_by_position():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=[7, 8, 9])
    found = [(x.tolist(), y.tolist()) for x, y in pb.data.batches(frame, frame["b"], size=2, shuffle=False)]
    assert found == [([[1.0, 4.0], [2.0, 5.0]], [4.0, 5.0]), ([[3.0, 6.0]], [6.0])]
    with pytest.raises(TypeError, match="is a Series of object"):
        pb.data.batches(pandas.Series(["a", None], dtype=object), size=1)


def test_iteration_goes_on_from_a_state_that_was_saved(tmp_path):
    make = lambda: pb.data.batches(np.arange(10), size=4, seed=5, epochs=3)
    whole = rows(make())
    for stop in range(len(whole)):
        data = make()
        first = [batch.tolist() for batch, _ in zip(data, range(stop), strict=False)] if stop else []
        if stop:
            assert first == whole[:stop]
        pb.save(tmp_path / "place", data.state())
        again = make()
        again.restore(pb.load(tmp_path / "place"))
        done = data.state()["epoch"] * 3 + data.state()["position"]
        assert rows(again) == whole[done:]
    with pytest.raises(ValueError, match="the state is of 10 rows"):
        pb.data.batches(np.arange(9), size=4).restore(data.state())


def test_a_state_can_be_restored_while_a_loop_runs():
    data = pb.data.batches(np.arange(4), size=2, seed=0, epochs=2)
    start, seen = data.state(), []
    for batch in data:
        seen.append(batch.tolist())
        if len(seen) == 3:
            data.restore(start)
    assert seen == [*seen[:3], *rows(pb.data.batches(np.arange(4), size=2, seed=0, epochs=2))]


def test_padded_batches_have_one_shape_and_compile_once():
    @pb.compile
    def total(x, mask):
        return pb.where(mask, x, 0.0).sum()

    data = pb.data.batches(np.arange(10.0), size=4, seed=2, pad=True)
    assert sum(total(x, mask).item() for x, mask in data) == 45.0
    assert total.cache_info().misses == 1
    for x, y, mask in pb.data.batches(np.arange(5), np.arange(5), size=3, shuffle=False, pad=True):
        assert x.shape == y.shape == mask.shape == (3,)


WRONG = [
    (lambda: pb.data.batches(np.ones(3), np.ones(4), size=2), ValueError, "equally many rows, got 0: 3, 1: 4"),
    (lambda: pb.data.batches({"a": 1.0}, size=2), TypeError, "a is a float, which has no rows"),
    (lambda: pb.data.batches(np.ones(3), size=0), ValueError, "must be at least 1"),
    (lambda: pb.data.batches(np.ones(3), size=4, drop_last=True), ValueError, "3 rows make no batch of 4"),
    (lambda: pb.data.batches(np.ones(3), size=2, drop_last=True, pad=True), ValueError, "give one of the two"),
    (lambda: pb.data.batches(size=2), ValueError, "no arrays"),
]


@pytest.mark.parametrize("call, error, text", WRONG, ids=[text for _, _, text in WRONG])
def test_what_cannot_be_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
