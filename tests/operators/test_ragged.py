"""What operators do to rows of different lengths beyond the cases of the specification."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.errors import AutogradError, PerformanceWarning
from pullback.payloads.ragged.offsets import Offsets, RaggedSize

LENGTHS = (2, 3, 0, 4)


@pytest.fixture
def rows():
    rng = np.random.default_rng(11)
    return [rng.normal(size=(n, 2)) for n in LENGTHS]


@pytest.fixture
def x(rows):
    return pb.nested.nested(rows)


def same_rows(found, arrays):
    assert found.lengths().tolist() == [len(a) for a in arrays]
    for row, array in zip(found.detach().unbind(), arrays, strict=True):
        np.testing.assert_allclose(row.numpy(), array, atol=1e-13)


# Records of offsets.


def test_a_record_and_its_specs_are_freed_with_the_last_tensor():
    x = pb.nested.nested([[1.0], [2.0, 3.0]])
    (x + 1).sum(1)
    record = weakref.ref(x._data.offsets)
    del x
    gc.collect()
    assert record() is None


def test_the_offsets_of_a_tensor_lead_to_its_record(x):
    assert Offsets.of(x.offsets.numpy(), 9) is x._data.offsets
    assert pb.nested.from_values(np.ones(9), x.offsets).shape[1] == x.shape[1]


def test_lengths_that_belong_to_one_whole_share_a_record(x):
    assert x[:, 1:].shape[1] == x[:, :-1].shape[1]
    assert x[1:3].shape[1] == (x * 2)[1:3].shape[1] != x[0:2].shape[1]


def test_a_size_is_hashed_and_compared_by_its_record(x):
    size = x.shape[1]
    assert {size: 1}[RaggedSize(size.offsets)] == 1 and size != RaggedSize(size.offsets, 2)
    assert size not in (1, 4, 9)


# Operators.


def test_moments_of_rows_of_one_element_and_none():
    x = pb.nested.nested([[3.0], [], [1.0, 2.0]])
    with np.errstate(all="raise"):
        np.testing.assert_allclose(x.var(1).numpy(), [0, np.nan, 0.25])
        np.testing.assert_allclose(x.std(1, correction=1).numpy(), [np.nan, np.nan, np.sqrt(0.5)])


def test_the_axis_of_rows_may_stand_behind_others(rows):
    x = pb.nested.nested([np.stack([a, a + 1, a * 2], 1) for a in rows])  # (4, j, 3, 2)
    y = x.transpose(0, 2, 1, 3)
    assert y.shape == (4, 3, x.shape[1], 2)
    np.testing.assert_allclose(y.sum(2).numpy(), x.sum(1).numpy())
    np.testing.assert_allclose(y.max(1)[0].numpy(), x.max(2)[0].numpy())
    same_rows((y.softmax(2)).transpose(0, 2, 1, 3), [pb.tensor(a.numpy()).softmax(0).numpy() for a in x])
    same_rows((y + pb.ones((4, 3, 1, 2))).transpose(0, 2, 1, 3), [a.numpy() + 1 for a in x])
    assert y[0].shape == (3, 2, 2) and y[:, 1].shape == (4, x.shape[1], 2)
    np.testing.assert_allclose((y @ pb.ones((2, 5)))[3].numpy(), y[3].numpy() @ np.ones((2, 5)))


def test_dense_lengths_of_rows_of_one_batch_are_not_taken_for_equal():
    one = pb.nested.nested([[1.0, 2.0, 3.0]])
    with pytest.raises(AutogradError) as info:
        one + pb.ones((1, 3))
    assert info.value.code == "RAGGED_MISMATCH"
    assert (one + pb.ones((1, 1))).tolist() == [[2.0, 3.0, 4.0]]


def test_integers_and_truth_values(rows):
    x = pb.nested.nested([[1, 2], [3], []], dtype=np.int64)
    assert x.sum(1).dtype == np.int64 and x.sum(1).tolist() == [3, 3, 0]
    assert x.mean(1)[:2].tolist() == [1.5, 3.0]
    assert (x > 1).sum(1).tolist() == [1, 1, 0] and (x > 1).count_nonzero(1).tolist() == [1, 1, 0]
    assert (x == 2).any(1).tolist() == [True, False, False]


def test_complex_numbers():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=n) + 1j * rng.normal(size=n) for n in (2, 0, 3)]
    x = pb.nested.nested(rows, requires_grad=True)
    np.testing.assert_allclose(x.sum(1).detach().numpy(), [a.sum() for a in rows])
    np.testing.assert_allclose(x.detach().var(1)[[0, 2]].numpy(), [rows[0].var(), rows[2].var()])
    (x * x.conj()).real.sum().backward()
    same_rows(x.grad, [2 * a for a in rows])


def test_a_function_without_a_rule_warns_once_and_is_right(rows):
    from pullback.operators.ragged import families

    families._warned.discard("prod")
    x = pb.nested.nested(rows)
    with pytest.warns(PerformanceWarning, match="prod"):
        found = x.prod(1)
    np.testing.assert_allclose(found.numpy(), [a.prod(0) for a in rows])


@pytest.mark.filterwarnings("ignore::pullback.PerformanceWarning")
def test_places_in_sorted_rows():
    x, v = pb.nested.nested([[1.0, 3.0], [], [2.0]]), pb.nested.nested([[2.0], [5.0, 6.0], []])
    assert pb.searchsorted(x, v).tolist() == [[1], [0, 0], []]
    assert pb.searchsorted(pb.tensor([1.0, 3.0]), v).tolist() == [[1], [2, 2], []]
    assert pb.searchsorted(x, pb.tensor([[2.0], [0.0], [2.0]]), side="right").tolist() == [[1], [0], [1]]


def test_writes_through_every_kind_of_part(rows, x):
    y = x * 1
    y[..., 0] = 0.0
    same_rows(y, [np.stack([0 * a[:, 0], a[:, 1]], 1) for a in rows])
    y[[0, 3], [1, 2]] = 7.0
    assert y[0, 1].tolist() == y[3, 2].tolist() == [7.0, 7.0]
    y[0] = pb.ones((2, 2))
    assert (y[0] == 1).all()
    y[y < 0] = 0.0
    assert (y.values() >= 0).all()
    y.copy_(x)
    same_rows(y, rows)
    y += 1
    same_rows(y, [a + 1 for a in rows])


def test_a_row_that_was_saved_is_preserved_or_refused(rows):
    r = pb.nested.nested(rows, requires_grad=True)
    y = r * 1
    square = y[1] * y[1]
    y[1] = 0.0
    try:
        square.sum().backward()
    except AutogradError as error:
        assert error.code == "VERSION"
    else:
        np.testing.assert_allclose(r.grad[1].numpy(), 2 * rows[1])


def test_a_leaf_is_not_written_in_place(rows):
    r = pb.nested.nested(rows, requires_grad=True)
    with pytest.raises(AutogradError) as info:
        r.mul_(2)
    assert info.value.code == "LEAF_INPLACE"
    same_rows(r, rows)


def test_vmap_over_another_axis(rows, x):
    out = pb.vmap(lambda a: a * 2, in_dims=2, out_dims=2)(x)
    same_rows(out, [2 * a for a in rows])
    np.testing.assert_allclose(pb.vmap(lambda a: a.sum(1), in_dims=2)(x).numpy(), x.sum(1).numpy().T)


def test_vmap_over_rows_with_what_all_share(rows, x):
    w = pb.tensor(np.random.default_rng(0).normal(size=(2, 3)), requires_grad=True)
    out = pb.vmap(lambda row: pb.tanh(row @ w).sum(0))(x)
    np.testing.assert_allclose(out.detach().numpy(), [np.tanh(a @ w.detach().numpy()).sum(0) for a in rows])
    assert gradcheck(lambda w: pb.vmap(lambda row: pb.tanh(row @ w).sum(0))(x), (w,))
    centred = pb.vmap(lambda row: row - row.mean(0))(x[[0, 1, 3]])
    same_rows(centred, [a - a.mean(0) for a in rows if len(a)])


def test_numbers_of_one_row_inside_vmap_are_refused(x):
    with pytest.raises(AutogradError) as info:
        pb.vmap(lambda row: row * float(row.sum()))(x)
    assert info.value.code == "VMAP_DATA"


def test_what_a_compiled_function_cannot_do_runs_eagerly(rows, x):
    with pytest.warns(UserWarning):
        compiled = pb.compile(lambda x: x.to_padded(0.0))
        for _ in range(4):
            found = compiled(x)
    np.testing.assert_allclose(found.numpy(), x.to_padded(0.0).numpy())


def test_compiled_results_share_offsets_with_arguments(x):
    compiled = pb.compile(lambda x: (pb.sin(x), x.sum(1), x.values() * 2), fallback="raise")
    ragged, sums, values = compiled(x)
    assert ragged.shape == x.shape and (ragged + x).is_nested
    np.testing.assert_allclose(sums.numpy(), x.sum(1).numpy())
    np.testing.assert_allclose(values.numpy(), 2 * x.values().numpy())


def test_rows_of_nothing():
    empty = pb.nested.from_values(np.zeros((0, 3)), [0])
    assert len(empty) == 0 and empty.sum(1).shape == (0, 3) and empty.softmax(1).size == 0
    assert empty.to_padded(0.0).shape == (0, 0, 3) and empty.unbind() == ()
    assert (empty * 2).shape == empty.shape and empty.mean((0, 1)).shape == (3,)
    blank = pb.nested.nested([[], []])
    assert blank.sum(1).tolist() == [0.0, 0.0] and (blank + 1).tolist() == [[], []]


def test_a_ragged_tensor_that_a_compiled_function_uses_and_is_not_given(rows, x):
    w = pb.tensor(np.random.default_rng(1).normal(size=(2, 2)), requires_grad=True)
    compiled = pb.compile(lambda w: pb.tanh(x @ w).sum(1), fallback="raise")
    out = compiled(w)
    np.testing.assert_allclose(out.detach().numpy(), [np.tanh(a @ w.detach().numpy()).sum(0) for a in rows])
    out.sum().backward()
    found, w.grad = w.grad.numpy(), None
    pb.tanh(x @ w).sum().backward()
    np.testing.assert_allclose(found, w.grad.numpy())
    leaf = pb.nested.nested(rows, requires_grad=True)
    refused = pb.compile(lambda w: (leaf @ w).sum(1))
    with pytest.warns(UserWarning, match="requires grad"):
        refused(w).sum().backward()
    assert leaf.grad.is_nested
