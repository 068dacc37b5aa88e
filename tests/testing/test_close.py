"""`assert_close`: what counts as equal, and what the message says when it is not."""

from fractions import Fraction

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def message_of(actual, expected, **options):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "actual, expected",
    [
        (1.0, 1),
        (True, True),
        (2 + 1j, 2 + 1j),
        ([1.0, 2.0], (1, 2)),
        (np.float32(0.1), 0.1),
        (np.arange(3), [0, 1, 2]),
        ([[1.0], [2.0]], np.array([[1.0], [2.0]])),
        (None, None),
        ([], ()),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.inf, np.inf),
        ({"a": 1.0, "b": [2.0]}, {"b": [2], "a": 1}),
    ],
)
def test_equal_numbers_in_any_form_are_close(actual, expected):
    assert_close(actual, expected)


def test_tensors_are_compared_by_value_whether_or_not_they_require_grad():
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    assert_close(leaf, [1.0, 2.0])
    assert_close(leaf * 2, np.array([2.0, 4.0]))
    assert_close([2.0, 4.0], leaf * 2)
    assert_close(leaf.sum(), 3.0)


def test_a_list_of_tensors_equals_the_array_they_stack_to():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert_close([x, x * 2], np.array([[1.0, 2.0], [2.0, 4.0]]))


def test_nested_tuples_are_compared_entry_by_entry():
    x = pb.tensor([1.0, 2.0])
    assert_close((x, (x.sum(), None)), ([1.0, 2.0], (3.0, None)))


@pytest.mark.parametrize("dtype, close, far", [("f2", 1e-4, 3e-3), ("f4", 1e-7, 1e-4), ("f8", 1e-8, 1e-6)])
def test_the_default_tolerance_follows_the_dtype(dtype, close, far):
    one = np.ones(3, dtype)
    assert_close((one + close).astype(dtype), one)
    message_of((one + far).astype(dtype), one)


def test_the_less_precise_side_decides_the_tolerance():
    assert_close(np.float32(1 / 3), 1 / 3)
    assert_close(1 / 3, np.float32(1 / 3))
    assert_close(np.complex64(1 + 5e-6j), 1.0)
    message_of(np.complex128(1 + 5e-6j), 1.0)


def test_integers_are_compared_exactly():
    message_of(np.array([2**62 + 1]), np.array([2**62]))
    message_of(np.array([True, False]), np.array([True, True]))
    assert_close(np.array([2**62 + 1]), np.array([2**62]), rtol=1e-9)


def test_given_tolerances_replace_the_default_ones():
    assert_close(1.01, 1.0, rtol=0.02)
    assert_close(0.01, 0.0, atol=0.02)
    message_of(1.0 + 1e-9, 1.0, rtol=0.0, atol=0.0)


def test_the_relative_tolerance_refers_to_the_expected_value():
    assert_close(1.0, 2.0, rtol=0.5, atol=0.0)
    message_of(2.0, 1.0, rtol=0.5, atol=0.0)


def test_nan_equals_nan_unless_refused():
    assert_close([np.nan, 1.0], [np.nan, 1.0])
    message_of([np.nan, 1.0], [np.nan, 1.0], equal_nan=False)
    message_of(np.nan, 1.0)
    message_of(1.0, np.nan)


def test_infinities_of_opposite_sign_differ():
    message_of(np.inf, -np.inf)
    message_of(np.inf, 1.0)


def test_the_imaginary_part_counts():
    message_of(1 + 1e-3j, 1.0)


def test_shapes_must_be_equal():
    text = message_of(pb.zeros(3), 0.0)
    assert "(3,)" in text and "()" in text
    message_of(np.zeros((1, 3)), np.zeros(3))


def test_dtypes_are_compared_only_on_request():
    assert_close(np.float32(1), np.float64(1))
    text = message_of(pb.ones(2, dtype=pb.float32), np.ones(2), check_dtype=True)
    assert "float32" in text and "float64" in text
    assert_close(pb.ones(2, dtype=pb.float32), [1.0, 1.0], check_dtype=True)


def test_the_message_shows_the_worst_element_and_how_many_differ():
    actual = pb.tensor([[0.0, 1.5, 2.0], [3.0, 4.0, 7.0]])
    text = message_of(actual, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    assert "(1, 2)" in text and "7.0" in text and "5.0" in text
    assert "2 of 6" in text
    assert "difference  2," in text


def test_the_worst_element_is_the_one_that_exceeds_its_own_tolerance_by_most():
    text = message_of([1.2, 1000.5], np.array([1.0, 1000.0]), rtol=1e-3)
    assert "(0,)" in text and "1 of 2" in text


def test_nan_is_worse_than_any_finite_difference():
    assert "(1,)" in message_of(np.array([100.0, np.nan]), np.array([0.0, 0.0]))
    assert "(1,)" in message_of(np.array([np.nan, 1.0]), np.array([np.nan, 2.0]))


def test_the_message_leads_to_the_entry_of_a_nested_structure():
    assert "[1][0]" in message_of((1.0, (2.0, 3.0)), (1.0, (2.5, 3.0)))
    assert "['w'][1]" in message_of({"w": [1.0, 2.0]}, {"w": [1.0, 3.0]})


@pytest.mark.parametrize(
    "actual, expected",
    [((1.0,), (1.0, 2.0)), ((1.0, None), (1.0, 2.0)), ({"a": 1.0}, {"b": 1.0}), ({"a": 1.0}, [1.0]), (None, 0.0)],
)
def test_structures_must_be_equal(actual, expected):
    message_of(actual, expected)


@pytest.mark.parametrize("value", ["text", object(), [Fraction(1, 2)]])
def test_what_is_not_a_number_is_a_type_error(value):
    with pytest.raises(TypeError, match="numbers"):
        assert_close(value, value if not isinstance(value, list) else np.zeros(1))
