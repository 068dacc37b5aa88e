"""What users give for parameters is understood once, and means what it meant the first time."""

import numpy as np
import pytest

import pullback as pb
from pullback.eager import build
from pullback.testing import assert_close


def leaf(*shape):
    return pb.tensor(np.random.default_rng(3).uniform(0.5, 1.5, shape), requires_grad=True)


SPELLINGS = [
    lambda x: x.sum(1), lambda x: x.sum(-1), lambda x: x.sum(axis=1), lambda x: x.sum(dim=-1), lambda x: x.sum((1,)),
]  # fmt: skip


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_every_spelling_gives_the_same_the_first_time_and_later(spelled):
    x = leaf(3, 4)
    for _ in range(3):
        assert_close(spelled(x), x.detach().numpy().sum(1))


@pytest.mark.parametrize("wrong", [1.0, (1.0,), "1", (0, 1.0)])
def test_what_is_no_axis_is_refused_although_it_equals_one(wrong):
    x = leaf(3, 4)
    for axis in (1, (1,), (0, 1)):
        x.sum(axis), x.sum(axis=axis)
    for call in (lambda: x.sum(wrong), lambda: x.sum(axis=wrong), lambda: pb.softmax(x, axis=wrong)):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_an_axis_that_is_missing_is_refused_every_time():
    x = leaf(3, 4)
    for _ in range(2):
        with pytest.raises(ValueError):
            x.sum(2)
    assert x.reshape(3, 2, 2).sum(2).shape == (3, 2)


def test_arrays_of_other_ranks_have_their_own_parameters():
    assert leaf(2, 3).sum(-1).shape == (2,)
    assert leaf(2, 3, 4).sum(-1).shape == (2, 3)
    assert leaf(5).cumsum(-1).shape == (5,)


def test_a_truth_value_for_keepdims_is_not_taken_for_an_axis():
    x = leaf(3, 4)
    assert x.sum(0, True).shape == (1, 4)
    assert x.sum(0, False).shape == (4,)
    assert x.sum(1).shape == (3,)


def test_zeros_of_both_signs_are_parameters_of_their_own():
    x = pb.tensor([-1.0, 2.0])
    for value in (0.0, -0.0, 0.0, -0.0):
        for out in (pb.nn.threshold(x, 0.5, value), pb.nn.threshold(x, threshold=0.5, value=value)):
            assert np.signbit(out.numpy()[0]) == np.signbit(value)


def test_tensors_as_parameters_are_not_remembered():
    x = leaf(3, 4)
    axis = pb.tensor(1)
    try:
        first = x.sum(axis)
    except TypeError:
        pytest.skip("an axis is no tensor")
    assert_close(first, x.sum(1))


def test_what_is_known_of_one_kind_of_array_is_bounded(monkeypatch):
    monkeypatch.setattr(build, "_MOST_KNOWN", 4)
    x = leaf(7, 1, 1, 1, 1)
    for axis in range(-5, 5):
        x.sum(axis)
    assert len(x._spec.known) <= 4


# Loops of linear algebra behind the functions of NumPy.


def test_a_singular_matrix_raises_as_before():
    with pytest.raises(np.linalg.LinAlgError):
        pb.linalg.solve(pb.ones((3, 3)), leaf(3))
    with pytest.raises(np.linalg.LinAlgError):
        pb.linalg.inv(pb.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        pb.linalg.cholesky(-pb.eye(3))


def test_a_matrix_of_nan_gives_what_numpy_gives():
    matrix = np.eye(3)
    matrix[1, 1] = np.nan
    for ours, theirs in ((pb.linalg.inv, np.linalg.inv), (lambda a: pb.linalg.solve(a, pb.ones(3)), None)):
        try:
            expected = theirs(matrix) if theirs else np.linalg.solve(matrix, np.ones(3))
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError):
                ours(pb.tensor(matrix))
            continue
        np.testing.assert_array_equal(ours(pb.tensor(matrix)).numpy(), expected)


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError):
        pb.linalg.solve(pb.eye(3), leaf(4, 1))


def test_no_floating_point_warning_leaves_a_loop():
    with np.errstate(all="raise"):
        huge = pb.tensor(np.eye(2) * 1e300)
        assert np.isfinite(pb.linalg.inv(huge).numpy()).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: pb.erfc(x, axis=-1), lambda x: pb.isfinite(x, axis=1), lambda x: pb.less(x, x, dtype="float64"),
        lambda x: pb.special.sici(x, axis=-1), lambda x: pb.exp(x, foo=1), lambda x: pb.where(x > 0, x, x, axis=0),
        lambda x: pb.abs(x, axis=0), lambda x: pb.matmul(x, x, axis=0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("grad", [True, False])
def test_a_keyword_that_an_operator_does_not_take_is_refused(call, grad):
    with pytest.raises(TypeError):
        call(pb.tensor([0.3, 0.5], requires_grad=grad))
