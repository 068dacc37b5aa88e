"""Cases 68 to 80: what a node knows of each forward output, and how gradients are checked against it."""

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, accumulator, edge, it, names_shapes, raises


def deliver(leaf: pb.Tensor, gradient: pb.Tensor | None) -> pb.Tensor | None:
    """`leaf.grad` after a custom backward returned `gradient` for it."""
    out = Fn(lambda c, x: x * 1, lambda c, q: gradient)(leaf)
    out.backward(pb.tensor(np.ones(out.shape, dtype=out.dtype)))
    return leaf.grad


def zeros_leaf(*shape: int) -> pb.Tensor:
    """A float64 leaf of zeros."""
    return L(np.zeros(shape))


def record_of(*shape: int, dtype: type = np.float64) -> pb.autograd.graph.InputMetadata:
    """The metadata record of a leaf of this shape."""
    return accumulator(pb.tensor(np.zeros(shape, dtype=dtype), requires_grad=True))._input_metadata[0]


# --- the numbered cases -----------------------------------------------------------------------------------------


def test_068_extra_leading_dimensions_are_summed():
    assert it(deliver(zeros_leaf(2), C(np.ones((4, 2))))) == [4.0, 4.0]


def test_069_dimensions_of_size_one_are_summed_and_kept():
    assert it(deliver(zeros_leaf(1, 2), C(np.ones((4, 2))))) == [[4.0, 4.0]]


def test_070_a_gradient_is_never_given_missing_dimensions():
    x = zeros_leaf(1, 2)
    with raises("GRAD_SHAPE"):
        deliver(x, C(np.ones(2)))
    assert x.grad is None


@pytest.mark.parametrize("shape", [(), (1,)])
def test_071_a_gradient_is_never_expanded(shape):
    x = zeros_leaf(2)
    with raises("GRAD_SHAPE"):
        deliver(x, C(np.ones(shape)))
    assert x.grad is None


def test_072_an_empty_gradient_sums_to_zeros():
    assert it(deliver(zeros_leaf(5, 1), C(np.ones((5, 0))))) == [[0.0]] * 5


def test_073_a_narrow_gradient_is_cast():
    gradient = deliver(zeros_leaf(2), C([1.0, 2.0]).astype(pb.float32))
    assert gradient.dtype == np.float64
    assert it(gradient) == [1.0, 2.0]


@pytest.mark.parametrize("values", [np.array([1, 0]), np.array([True, False])], ids=["int64", "bool"])
def test_074_an_integer_or_bool_gradient_is_cast(values):
    gradient = deliver(zeros_leaf(2), pb.tensor(values))
    assert gradient.dtype == np.float64
    assert it(gradient) == [1.0, 0.0]


def test_075_a_complex_gradient_for_a_real_value_is_an_error():
    x = zeros_leaf(2)
    with raises("GRAD_COMPLEX"):
        deliver(x, C([1.0 + 0.0j, 1.0 + 0.0j]))
    assert x.grad is None


def test_076_a_real_gradient_for_a_complex_value_is_cast():
    gradient = deliver(L([1.0 + 1.0j, 2.0 + 0.0j]), C([1.0, 2.0]))
    assert gradient.dtype == np.complex128
    assert it(gradient) == [1.0 + 0.0j, 2.0 + 0.0j]


def test_077_an_integer_gradient_for_a_complex_value_is_an_error():
    with raises("GRAD_COMPLEX"):
        deliver(L([1.0 + 1.0j]), pb.tensor([1]))


@pytest.mark.parametrize(
    "values",
    [np.ones((7, 3)), np.array([1.0 + 1.0j]), np.array([1, 2, 3])],
    ids=["shape", "complex", "integer"],
)
def test_078_a_gradient_for_a_constant_is_ignored(values):
    x, constant, gradient = L([1.0]), C([2.0]), pb.tensor(values)
    Fn(lambda c, x, y: x * y, lambda c, q: (q * 2, gradient))(x, constant).backward()
    assert it(x.grad) == [2.0]
    assert constant.grad is None


def test_079_metadata_describes_the_forward_outputs():
    x = zeros_leaf(2, 3)
    (record,) = x.exp().grad_fn._input_metadata
    assert record.shape == (2, 3) and record.dtype == np.float64
    (own,) = accumulator(x)._input_metadata
    assert own.shape == (2, 3) and own.dtype == np.float64


def test_080_zeros_have_the_dtype_of_the_value():
    x = zeros_leaf(2)
    x.grad_dtype = pb.float32
    record = accumulator(x)._input_metadata[0]
    assert record.grad_dtype == np.float32
    zeros = record.zeros_like()
    assert zeros.dtype == np.float64 and zeros.shape == (2,)
    assert np.asarray(zeros).tolist() == [0.0, 0.0]


# --- 4.1 fields -------------------------------------------------------------------------------------------------


def test_every_field_of_an_ordinary_record():
    record = record_of(2, 3, dtype=np.float32)
    assert isinstance(record, pb.autograd.graph.InputMetadata)
    assert record.shape == (2, 3) and type(record.shape) is tuple
    assert record.dtype == np.float32
    assert record.grad_dtype == np.float32
    assert record.device == "cpu"
    assert "dense" in str(record.layout).lower()
    assert record.is_tensor_subclass is False
    assert record.is_nested is False
    assert record.was_default_constructed is False
    assert record.stream is None


@pytest.mark.parametrize("field, value", [("shape", (3,)), ("dtype", np.dtype("float32"))])
def test_a_record_is_immutable(field, value):
    record = record_of(2)
    with pytest.raises(AttributeError):
        setattr(record, field, value)
    assert record.shape == (2,) and record.dtype == np.float64


def test_a_record_of_an_interior_tensor_is_of_its_own_dtype_and_shape():
    y = L([1.0, 2.0]).astype(pb.float32).sum()
    (record,) = y.grad_fn._input_metadata
    assert record.shape == () and record.dtype == np.float32 and record.grad_dtype == np.float32


def test_a_slot_that_takes_no_gradient_is_a_placeholder():
    value, text, count = Fn(lambda c, x: (x * 1, "text", x.argmax()), lambda c, *q: q[0])(L([1.0, 2.0]))
    assert text == "text" and count.requires_grad is False
    records = value.grad_fn._input_metadata
    assert [record.was_default_constructed for record in records] == [False, True, True]


# --- 4.2 methods ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_zeros_like_has_the_shape_and_dtype_of_the_record(dtype):
    zeros = record_of(2, 0, 3, dtype=dtype).zeros_like()
    assert zeros.shape == (2, 0, 3) and zeros.dtype == dtype


def test_is_same_shape_is_exact():
    record = record_of(2, 1)
    assert record.is_same_shape(C(np.ones((2, 1)))) is True
    for shape in [(2,), (1, 2), (2, 2), (1, 2, 1), ()]:
        assert record.is_same_shape(C(np.ones(shape))) is False


@pytest.mark.parametrize(
    "own, other, expected",
    [
        ((2,), (2,), True),
        ((2,), (4, 2), True),
        ((1, 2), (4, 2), True),
        ((), (3, 4), True),
        ((5, 1), (5, 0), True),
        ((2,), (), False),
        ((2,), (1,), False),
        ((1, 2), (2,), False),
        ((2, 3), (4, 2, 2), False),
    ],
)
def test_a_shape_is_expandable_from_the_right(own, other, expected):
    assert bool(record_of(*own).is_expandable_to_shape(C(np.ones(other)))) is expected


@pytest.mark.parametrize(
    "own, other", [((2,), (4, 2)), ((1, 2), (4, 2)), ((), (3, 4)), ((5, 1), (5, 0)), ((1, 3, 1), (7, 2, 3, 4))]
)
def test_reduce_grad_sums_what_was_broadcast(own, other):
    gradient = np.arange(np.prod(other), dtype=np.float64).reshape(other)
    reduced = record_of(*own).reduce_grad(C(gradient))
    expected = gradient.sum(tuple(range(len(other) - len(own))))
    for axis, size in enumerate(own):
        if size == 1:
            expected = expected.sum(axis, keepdims=True)
    assert reduced.shape == own
    assert it(reduced) == expected.tolist()


def test_reduce_grad_is_differentiable():
    gradient = L(np.ones((4, 2)))
    reduced = record_of(2).reduce_grad(gradient)
    assert reduced.requires_grad is True
    reduced.sum().backward()
    assert it(gradient.grad) == [[1.0, 1.0]] * 4


def test_maybe_reduce_passes_reduces_or_raises():
    record = record_of(2)
    same = C([1.0, 2.0])
    assert record.maybe_reduce(0, same) is same
    assert it(record.maybe_reduce(0, C(np.ones((3, 2))))) == [3.0, 3.0]
    with raises("GRAD_SHAPE") as caught:
        record.maybe_reduce(7, C(np.ones(3)))
    assert "7" in str(caught.value) and names_shapes(caught.value, (3,), (2,))


def test_the_text_of_a_shape_error_names_the_index_and_both_shapes():
    text = str(record_of(2).shape_error(7, C(np.ones(3))))
    assert "7" in text and names_shapes(text, (3,), (2,))


def test_validate_runs_the_checks_on_one_gradient():
    record = record_of(2)
    assert record.validate(None) is None
    assert it(record.validate(C(np.ones((3, 2))))) == [3.0, 3.0]
    cast = record.validate(C([1.0, 2.0]).astype(pb.float32))
    assert cast.dtype == np.float64 and it(cast) == [1.0, 2.0]
    with raises("GRAD_SHAPE"):
        record.validate(C([1.0]))
    with raises("GRAD_COMPLEX"):
        record.validate(C([1.0 + 1.0j, 0.0]))


def test_set_grad_dtype_changes_what_an_accumulator_casts_to_and_nothing_else():
    record = record_of(2)
    record.set_grad_dtype(np.dtype("float32"))
    assert record.grad_dtype == np.float32 and record.dtype == np.float64
    assert record.validate(C([1.0, 2.0])).dtype == np.float32
    record.set_grad_dtype(None)
    assert record.validate(C([1.0, 2.0])).dtype == np.float64


# --- 4.3 the order of the checks --------------------------------------------------------------------------------


def test_the_number_of_gradients_comes_first():
    x, y = L([1.0]), L([1.0])
    wrong = C(np.ones((3, 3)))
    with raises("NUM_GRADS") as caught:
        Fn(lambda c, x, y: x * y, lambda c, q: (wrong, wrong, wrong))(x, y).backward()
    assert "expected 2" in str(caught.value).lower() and "got 3" in str(caught.value).lower()


def test_the_shape_is_checked_before_the_category():
    with raises("GRAD_SHAPE"):
        deliver(zeros_leaf(2), C([1.0 + 1.0j]))


def test_a_shape_error_names_the_node_the_index_and_both_shapes():
    x, y = zeros_leaf(2), zeros_leaf(2)
    with raises("GRAD_SHAPE") as caught:
        Fn(lambda c, x, y: x * y, lambda c, q: (q, C(np.ones((5, 3)))))(x, y).backward(C([1.0, 1.0]))
    assert "FnBackward" in str(caught.value) and "1" in str(caught.value)
    assert names_shapes(caught.value, (5, 3), (2,))


def test_the_category_error_names_both_dtypes():
    with raises("GRAD_COMPLEX") as caught:
        deliver(zeros_leaf(1), C([1.0 + 1.0j]))
    assert "complex128" in str(caught.value) and "float64" in str(caught.value)


def test_an_undefined_gradient_passes_unchecked():
    assert deliver(zeros_leaf(2), None) is None


def test_a_gradient_is_reduced_and_cast_together():
    gradient = deliver(zeros_leaf(1, 2), pb.tensor(np.ones((4, 3, 2), dtype=np.int64)))
    assert gradient.dtype == np.float64
    assert it(gradient) == [[12.0, 12.0]]


def test_complex_gradients_are_cast_among_themselves():
    x = pb.tensor(np.ones(1, dtype=np.complex64), requires_grad=True)
    gradient = deliver(x, C([1.0 + 2.0j]))
    assert gradient.dtype == np.complex64
    assert it(gradient) == [1.0 + 2.0j]


@pytest.mark.parametrize("values", [np.array([1]), np.array([True])], ids=["int64", "bool"])
def test_a_gradient_that_is_not_cast_must_be_differentiable(values):
    x = zeros_leaf(1)
    x.grad_dtype = None
    with raises("GRAD_DTYPE"):
        deliver(x, pb.tensor(values))
    assert x.grad is None


def test_gradients_of_interior_tensors_are_validated_too():
    seen = []
    x = zeros_leaf(2)
    h = x * 1
    h.register_hook(lambda q: seen.append((q.shape, q.dtype)))
    narrow = C(np.ones((3, 2))).astype(pb.float32)
    Fn(lambda c, x: x * 1, lambda c, q: narrow)(h).backward(C([1.0, 1.0]))
    assert seen == [((2,), np.dtype("float64"))]
    assert it(x.grad) == [3.0, 3.0]


def test_validation_comes_before_the_post_hooks():
    shapes = []
    x = zeros_leaf(2)
    y = Fn(lambda c, x: x * 1, lambda c, q: C(np.ones((3, 2))))(x)
    y.grad_fn.register_hook(lambda gi, go: shapes.append(gi[0].shape))
    y.backward(C([1.0, 1.0]))
    assert shapes == [(2,)]


def test_broadcasting_formulas_are_reduced_to_each_operand():
    a, b = L(np.ones((3, 1))), L(np.ones(4))
    (a * b).sum().backward()
    assert a.grad.shape == (3, 1) and it(a.grad) == [[4.0]] * 3
    assert b.grad.shape == (4,) and it(b.grad) == [3.0] * 4


def test_the_edge_of_a_multiple_output_node_checks_against_its_own_record():
    class Two(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x.sum()

        @staticmethod
        def backward(ctx, p, q):
            assert p.shape == (2,) and q.shape == ()
            return p + q

    x = zeros_leaf(2)
    vector, scalar = Two.apply(x)
    assert edge(scalar).output_nr == 1
    scalar.backward()
    assert it(x.grad) == [1.0, 1.0]
    assert [record.shape for record in vector.grad_fn._input_metadata] == [(2,), ()]
