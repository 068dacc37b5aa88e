"""NumPy's functions on tensors: they become Pullback's, or say why not."""

import importlib
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

VALUES = np.array([[0.3, 0.8, 0.5], [0.9, 0.2, 0.6]])


def leaf(value=VALUES):
    return pb.tensor(value, requires_grad=True)


def constant(value=VALUES):
    return pb.tensor(value)


def is_recorded(y):
    return isinstance(y, pb.Tensor) and y.grad_fn is not None


# Calls of ufuncs

UNARY = [
    np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.exp, np.exp2, np.expm1,
    np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.square, np.reciprocal, np.negative, np.positive,
    np.absolute, np.fabs, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.conjugate, np.degrees, np.radians,
    np.rad2deg, np.deg2rad,
]  # fmt: skip


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
def test_a_unary_ufunc_is_differentiated(ufunc):
    y = ufunc(leaf())
    assert is_recorded(y)
    assert_close(y, ufunc(VALUES))


BINARY = [
    np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum, np.fmax, np.fmin, np.arctan2,
    np.hypot, np.logaddexp, np.remainder, np.fmod, np.copysign, np.float_power, np.logaddexp2,
]  # fmt: skip


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_a_binary_ufunc_takes_arrays_on_either_side(ufunc):
    other = VALUES[::-1] + 0.05
    for y, expected in [(ufunc(leaf(), other), ufunc(VALUES, other)), (ufunc(other, leaf()), ufunc(other, VALUES))]:
        assert is_recorded(y)
        assert_close(y, expected)


@pytest.mark.parametrize("ufunc", [np.less, np.equal, np.isnan, np.isfinite, np.logical_not, np.signbit])
def test_a_predicate_gives_a_constant(ufunc):
    operands = (leaf(), 0.5)[: ufunc.nin]
    y = ufunc(*operands)
    assert isinstance(y, pb.Tensor) and not y.requires_grad and y.dtype == bool
    assert_close(y, ufunc(VALUES, 0.5) if ufunc.nin == 2 else ufunc(VALUES))


def test_arrays_and_numpy_scalars_defer_to_the_tensor():
    x = leaf()
    for y, factor in [(VALUES * x, VALUES), (np.float64(2) * x, 2), (x * np.float64(2), 2), (np.int64(3) * x, 3)]:
        assert is_recorded(y)
        assert_close(y, factor * VALUES)
    assert is_recorded(VALUES - x) and is_recorded(VALUES / x) and is_recorded(VALUES**x)
    equal = np.array(VALUES) == x
    assert isinstance(equal, pb.Tensor) and equal.all()


def test_a_numpy_scalar_promotes_like_an_array_and_a_python_number_does_not():
    x = leaf(VALUES.astype(np.float32))
    assert (np.float64(2) * x).dtype == np.float64
    assert (2.0 * x).dtype == np.float32


def test_gradients_flow_through_numpy_calls():
    x = leaf()
    np.sum(np.sin(x) * VALUES).backward()
    assert_close(x.grad, np.cos(VALUES) * VALUES)


def test_matmul_from_an_array():
    x = leaf()
    y = VALUES.T @ x
    assert is_recorded(y)
    assert_close(y, VALUES.T @ VALUES)


def test_the_axes_of_a_gufunc():
    x = leaf()
    y = np.matmul(x, VALUES, axes=[(1, 0), (0, 1), (1, 0)])
    assert is_recorded(y)
    assert_close(y, np.matmul(VALUES, VALUES, axes=[(1, 0), (0, 1), (1, 0)]))
    assert_close(np.vecdot(x, VALUES, axis=0), np.vecdot(VALUES, VALUES, axis=0))


def test_dtype_is_the_dtype_of_the_computation():
    y = np.add(leaf(), 1, dtype=np.float32)
    assert is_recorded(y) and y.dtype == np.float32
    with pytest.raises(TypeError, match="cast"):
        np.add(leaf(), 1, dtype=np.int64)


def test_where_leaves_zeros_with_zero_gradient():
    x, mask = leaf(), VALUES > 0.5
    y = np.log(x, where=mask)
    assert_close(y, np.where(mask, np.log(VALUES), 0))
    y.sum().backward()
    assert_close(x.grad, np.where(mask, 1 / VALUES, 0))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("call", [
    lambda x, mask: np.sqrt(x, where=mask, out=None),
    lambda x, mask: np.divide(1.0, x, where=mask, out=None),
    lambda x, mask: np.divide(x, np.array([0.0, 2.0, 3.0]), where=mask, out=None),
    lambda x, mask: np.power(x, -0.5, where=mask, out=None),
    lambda x, mask: np.arccosh(x + 1, where=mask, out=None),
    lambda x, mask: np.log(x, where=mask[:, None] & mask, out=None),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_where_computes_nothing_elsewhere_so_infinite_slopes_there_do_no_harm(call, dtype):
    start, mask = np.array([0.0, 4.0, 2.0], dtype), np.array([False, True, True])
    x = pb.tensor(start, requires_grad=True)
    y = call(x, mask)
    y.real.sum().backward()
    assert y.dtype == call(start, mask).dtype and x.grad[0] == 0
    inner = pb.tensor(start[1:], requires_grad=True)
    with np.errstate(all="ignore"):
        taken = call(pb.stack([inner[0] * 0 + 1, inner[0], inner[1]]), mask)
    taken.real.sum().backward()
    assert_close(x.grad[1:], inner.grad.numpy())


def test_ufuncs_with_two_results():
    x = leaf(10 * VALUES)
    for results, expected in [(np.modf(x), np.modf(10 * VALUES)), (np.divmod(x, 3.0), np.divmod(10 * VALUES, 3.0))]:
        assert type(results) is tuple and all(map(is_recorded, results))
        assert_close(results, expected)
    assert_close(np.ldexp(x, 3), np.ldexp(10 * VALUES, 3))


def test_the_clip_method_of_an_array():
    x = leaf(0.5)
    assert is_recorded(VALUES.clip(x)) and is_recorded(VALUES.clip(x, 0.7))
    assert_close(VALUES.clip(x, 0.7), VALUES.clip(0.5, 0.7))


def test_signature_is_refused():
    with pytest.raises(TypeError, match="signature"):
        np.add(leaf(), 1, signature="dd->d")


def test_an_operand_with_a_protocol_of_its_own_is_asked():
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return "other"

    assert np.add(leaf(), Other()) == "other"


# out=


def test_out_writes_into_a_tensor_and_counts_the_write():
    target = pb.zeros((2, 3))
    result = np.add(constant(), 1, out=target)
    assert result is target and target._version == 1
    assert_close(target, VALUES + 1)


def test_out_with_where_keeps_the_other_elements():
    target = pb.ones((2, 3))
    np.negative(constant(), out=target, where=VALUES > 0.5)
    assert_close(target, np.where(VALUES > 0.5, -VALUES, 1))


def test_out_is_an_assignment_where_somebody_differentiates():
    x, target = leaf(), pb.ones((2, 3))
    assert np.multiply(x, x, out=target) is target and target._version == 1
    np.exp(target, out=target)  # the target is an operand as well
    np.add(target[1:], target[:-1], out=target[1:])
    target.sum().backward()
    assert_close(x.grad, 2 * VALUES * np.exp(VALUES**2) * [[2.0], [1.0]])


def test_out_with_where_leaves_gradients_of_the_other_elements():
    x, mask = leaf(), VALUES > 0.5
    target = x * 3
    np.sqrt(x, out=target, where=mask)
    target.sum().backward()
    assert_close(x.grad, np.where(mask, 0.5 / np.sqrt(np.where(mask, VALUES, 1)), 3))


def test_out_of_transformed_functions():
    def square(row):
        target = pb.zeros(3)
        np.multiply(row, row, out=target)
        return target

    assert_close(pb.func.vmap(square)(constant()), VALUES**2)
    assert_close(pb.func.jvp(square, (constant()[0],), (pb.ones(3),))[1], 2 * VALUES[0])


def test_out_that_cannot_be_written_is_refused_and_unchanged():
    target = leaf()
    with pytest.raises(pb.autograd.AutogradError, match="LEAF_INPLACE"):
        np.add(constant(), 1, out=target)
    with pytest.raises(TypeError, match="cannot be cast"):
        np.add(leaf(), 1, out=pb.zeros((2, 3), dtype=int))
    with pytest.raises((ValueError, RuntimeError)):
        np.add(leaf(), 1, out=pb.zeros(3))
    assert target._version == 0
    assert_close(target, VALUES)


def test_an_array_takes_constants_in_place_and_refuses_what_requires_grad():
    target = np.zeros((2, 3))
    target += constant()
    assert type(target) is np.ndarray
    assert_close(target, VALUES)
    with pytest.raises(TypeError, match="lose its gradient"):
        target += leaf()
    assert_close(target, VALUES)
    with pb.no_grad():
        target += leaf()
    assert_close(target, 2 * VALUES)


def test_a_tensor_takes_an_array_in_place():
    x = leaf() * 1
    x += VALUES
    assert is_recorded(x) and isinstance(x, pb.Tensor)
    assert_close(x, 2 * VALUES)


# Methods of ufuncs


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logaddexp])
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": None}, {"axis": 1, "keepdims": True}], ids=str)
def test_reduce_is_differentiated(ufunc, options):
    y = ufunc.reduce(leaf(), **options)
    assert is_recorded(y)
    assert_close(y, ufunc.reduce(VALUES, **options))


def test_reduce_with_initial_where_and_dtype():
    x, mask = leaf(), VALUES > 0.5
    y = np.add.reduce(x, axis=1, where=mask, initial=10.0)
    assert_close(y, np.add.reduce(VALUES, axis=1, where=mask, initial=10.0))
    y.sum().backward()
    assert_close(x.grad, mask.astype(float))
    assert np.add.reduce(x, dtype=np.float32).dtype == np.float32


def test_reduce_of_truth_values():
    mask = pb.tensor(VALUES > 0.25)
    assert np.logical_and.reduce(mask, axis=None).item() is False
    assert np.logical_or.reduce(mask, axis=None).item() is True


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
def test_accumulate_is_differentiated(ufunc):
    for axis in (0, 1):
        y = ufunc.accumulate(leaf(), axis=axis)
        assert is_recorded(y)
        assert_close(y, ufunc.accumulate(VALUES, axis=axis))


def test_outer_is_differentiated():
    x = leaf()
    y = np.multiply.outer(x, VALUES[0])
    assert is_recorded(y)
    assert_close(y, np.multiply.outer(VALUES, VALUES[0]))


def test_reduceat_sums_slices():
    x = leaf()
    y = np.add.reduceat(x, [0, 2, 1], axis=1)
    assert_close(y, np.add.reduceat(VALUES, [0, 2, 1], axis=1))
    y.sum().backward()
    assert_close(x.grad, [[1.0, 2.0, 2.0]] * 2)


def test_at_counts_every_occurrence():
    target = pb.zeros(3)
    np.add.at(target, [0, 0, 2], 1.0)
    assert target.tolist() == [2.0, 0.0, 1.0] and target._version == 1
    np.maximum.at(target, [1], 5.0)
    assert target.tolist() == [2.0, 5.0, 1.0]


def test_add_at_is_differentiated():
    x, target = leaf([1.0, 2.0, 3.0]), pb.zeros(3)
    np.add.at(target, np.array([0, 0, 2]), x)
    assert is_recorded(target) and target.tolist() == [3.0, 0.0, 3.0]
    (target * pb.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 3.0]


def test_add_at_of_slices_masks_and_pairs():
    for index in (slice(0, 2), 1, np.array([True, False, True]), (np.array([0, 0]), np.array([1, 1]))):
        x, target, expected = leaf(2.0), pb.zeros((3, 3)), np.zeros((3, 3))
        np.add.at(target, index, x)
        np.add.at(expected, index, 2.0)
        np.subtract.at(target, index, 3 * x)
        np.subtract.at(expected, index, 6.0)
        assert_close(target, expected)
        target.sum().backward()
        assert_close(x.grad, expected.sum() / 2)


def test_at_refuses_what_would_lose_a_gradient():
    with pytest.raises(TypeError, match="lose its gradient"):
        np.add.at(np.zeros(3), [0], leaf([1.0]))
    with pytest.raises(TypeError, match=r"np\.multiply\.at"):
        np.multiply.at(leaf() * 1, [0], 2.0)


# Functions that Pullback does not have


def test_an_unknown_ufunc_is_computed_on_constants_and_refused_otherwise():
    def thrice(x):
        return 3 * x

    ufunc = np.frompyfunc(thrice, 1, 1)
    assert isinstance(np.nextafter(constant(), 1), pb.Tensor)
    assert type(ufunc(pb.tensor([1, 2]))) is np.ndarray  # of objects, which tensors do not hold
    with pytest.raises(TypeError, match=r"thrice.*detach.*custom_op"):
        ufunc(leaf())
    with pytest.raises(TypeError, match=r"np\.multiply\.reduceat"):
        np.multiply.reduceat(leaf(), [0, 1])


def test_an_unknown_function_is_computed_on_constants_and_refused_otherwise():
    polyval2d, coefficients = np.polynomial.polynomial.polyval2d, np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = polyval2d(VALUES, VALUES, coefficients)
    y = polyval2d(constant(), constant(), coefficients)
    assert isinstance(y, pb.Tensor)
    assert_close(y, expected)
    with pytest.raises(TypeError, match=r"polyval2d.*detach.*custom_op"):
        polyval2d(leaf(), VALUES, coefficients)
    with pb.no_grad():
        assert_close(polyval2d(leaf(), VALUES, coefficients), expected)


def test_a_result_of_numpy_shares_no_memory_with_a_tensor():
    x = constant()
    compute = importlib.import_module("pullback.interop._array_function").compute_with_numpy
    same = compute(np.apply_over_axes, (np.sum, x, []), {})
    assert isinstance(same, pb.Tensor) and not np.shares_memory(same.numpy(), x.numpy())


def test_functions_along_and_over_axes_are_differentiated():
    assert is_recorded(np.apply_over_axes(np.sum, leaf(), [0]))
    y = np.apply_along_axis(np.cumsum, 0, leaf())
    assert is_recorded(y)
    assert_close(y, np.cumsum(VALUES, 0))


def test_windows_are_views():
    x = leaf()
    assert is_recorded(np.lib.stride_tricks.sliding_window_view(x, 2, axis=1))


def test_a_function_of_another_namespace_is_not_mistaken_for_one_of_the_same_name():
    stack = np.arange(12.0).reshape(3, 2, 2)
    assert_close(np.linalg.trace(constant(stack)), np.linalg.trace(stack))


# Functions that Pullback has

FUNCTIONS = [
    (lambda x: np.sum(x)), (lambda x: np.sum(x, 0)), (lambda x: np.sum(x, axis=1, keepdims=True)),
    (lambda x: np.sum(x, 0, None, None, True)), (lambda x: np.mean(x, axis=0)), (lambda x: np.prod(x)),
    (lambda x: np.max(x, axis=1)), (lambda x: np.min(x)), (lambda x: np.amax(x)), (lambda x: np.cumsum(x, 1)),
    (lambda x: np.std(x, axis=0)), (lambda x: np.var(x, ddof=1)), (lambda x: np.var(x, correction=1)),
    (lambda x: np.concatenate([x, x])), (lambda x: np.concatenate((x, VALUES), axis=1)), (lambda x: np.stack([x, x])),
    (lambda x: np.stack([x, VALUES], axis=-1)), (lambda x: np.where(VALUES > 0.5, x, 0.0)),
    (lambda x: np.dot(x, VALUES.T)), (lambda x: np.reshape(x, (3, 2))), (lambda x: np.reshape(x, -1)),
    (lambda x: np.transpose(x)),
    (lambda x: np.transpose(x, (1, 0))), (lambda x: np.swapaxes(x, 0, 1)), (lambda x: np.moveaxis(x, 0, -1)),
    (lambda x: np.expand_dims(x, 0)), (lambda x: np.squeeze(np.expand_dims(x, 0), axis=0)),
    (lambda x: np.broadcast_to(x, (4, 2, 3))), (lambda x: np.clip(x, 0.4, 0.7)),
    (lambda x: np.clip(x, a_min=0.4, a_max=None)),
    (lambda x: np.einsum("ij,ij->i", x, VALUES)), (lambda x: np.tensordot(x, VALUES, axes=([1], [1]))),
    (lambda x: np.outer(x, VALUES)), (lambda x: np.inner(x, VALUES)), (lambda x: np.kron(x, VALUES)),
    (lambda x: np.trace(x)), (lambda x: np.diagonal(x)), (lambda x: np.cross(x, VALUES)), (lambda x: np.round(x, 1)),
    (lambda x: np.sum(x, dtype=np.float64)), (lambda x: np.sort(x, axis=1, kind="stable")), (lambda x: np.copy(x)),
    (lambda x: np.take(x, [0, 2], axis=1)), (lambda x: np.split(x, 3, axis=1)[1]), (lambda x: np.ravel(x)),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_a_function_of_numpy_becomes_pullbacks(function):
    y = function(leaf())
    assert is_recorded(y)
    assert_close(y, function(VALUES))


def test_arguments_that_pullback_lacks_are_left_to_numpy_on_constants():
    half = np.float64(0.5)
    expected = np.nanquantile(VALUES, half, axis=0, weights=VALUES, method="inverted_cdf")
    assert_close(np.nanquantile(constant(), half, axis=0, weights=VALUES, method="inverted_cdf"), expected)
    with pytest.raises(TypeError, match=r"np\.nanquantile"):
        np.nanquantile(leaf(), half, axis=0, weights=VALUES, method="inverted_cdf")


def test_where_with_one_argument_finds_the_nonzero():
    rows, columns = np.where(pb.tensor(VALUES > 0.7))
    assert rows.tolist() == [0, 1] and columns.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64"])
def test_running_sums_are_computed_in_the_dtype_of_out(name, dtype):
    values = (VALUES * 3).astype("float32")
    expected = getattr(np, name)(values, axis=1, out=np.zeros((2, 3), dtype))
    found = getattr(np, name)(pb.tensor(values), axis=1, out=pb.zeros((2, 3), dtype=dtype))
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_functions_write_into_out():
    target = pb.zeros(3)
    assert np.sum(constant(), axis=0, out=target) is target and target._version == 1
    assert_close(target, VALUES.sum(0))
    plain = np.zeros(3)
    assert np.sum(constant(), axis=0, out=plain) is plain
    assert_close(plain, VALUES.sum(0))
    x = leaf()
    np.cumsum(x, axis=0, out=(doubled := x * 2))
    np.sum(doubled, axis=0, out=target)
    target.sum().backward()
    assert_close(x.grad, [[2.0] * 3, [1.0] * 3])
    with pytest.raises(TypeError, match="lose its gradient"):
        np.sum(leaf(), axis=0, out=plain)
    with pytest.raises(ValueError, match="shape"):
        np.sum(constant(), axis=1, out=target)


def test_questions_about_the_array_are_answered_without_conversion():
    x = leaf()
    assert np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.result_type(x, np.float32) == np.float64 and not np.iscomplexobj(x)
    assert np.shares_memory(x, x.detach()) and "0.3" in np.array2string(x)


def test_like_makes_tensors():
    for y in (np.zeros(3, like=constant()), np.arange(4, like=constant()), np.asarray([1.0, 2.0], like=constant())):
        assert isinstance(y, pb.Tensor)


def test_a_type_with_a_protocol_of_its_own_is_asked():
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return "other"

    assert np.concatenate([leaf(), Other()]) == "other"


# Functions that write


def written(function, source, *args):
    """The result of a writing function on an array, and on a tensor that is then differentiated."""
    expected = np.zeros((3, 3))
    function(expected, *args, source)
    target, value = pb.zeros((3, 3)), leaf(source)
    function(target, *args, value)
    assert_close(target, expected)
    assert is_recorded(target)
    target.sum().backward()
    return value.grad


def test_copyto_and_fill_diagonal_assign_with_history():
    assert_close(written(np.copyto, np.arange(3.0)), [3.0, 3.0, 3.0])
    assert_close(written(np.fill_diagonal, np.arange(3.0)), [1.0, 1.0, 1.0])


def test_put_place_and_putmask_assign_with_history():
    mask = np.eye(3, dtype=bool)
    assert_close(written(lambda a, v: np.put(a, [1, 5, 8], v), np.array([7.0, 8.0])), [2.0, 1.0])
    assert_close(written(lambda a, v: np.place(a, mask, v), np.array([7.0, 8.0])), [2.0, 1.0])
    assert_close(written(lambda a, v: np.putmask(a, mask, v), np.array([7.0, 8.0])), [3.0, 0.0])


def test_put_along_axis_assigns_with_history():
    places = np.array([[2], [0], [1]])
    assert_close(written(lambda a, v: np.put_along_axis(a, places, v, 1), np.ones((3, 1))), np.ones((3, 1)))


def test_copyto_with_a_mask_and_into_an_array():
    target = pb.ones((2, 3))
    np.copyto(target, constant(), where=VALUES > 0.5)
    assert_close(target, np.where(VALUES > 0.5, VALUES, 1))
    plain = np.zeros((2, 3))
    np.copyto(plain, constant())
    assert_close(plain, VALUES)
    with pytest.raises(TypeError, match="lose its gradient"):
        np.copyto(plain, leaf())


def test_writing_functions_check_their_arguments():
    with pytest.raises(IndexError):
        np.put(pb.zeros(3), [3], 1.0)
    with pytest.raises(ValueError, match="diagonal"):
        np.fill_diagonal(pb.zeros(3), 1.0)


# Edges of NumPy's functions: nothing to reduce, no axes, other bytes --------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda x: np.nanmax(x, initial=-9), lambda x: np.nanmin(x, initial=9), lambda x: np.nanquantile(x, [0.1, 0.5]),
    lambda x: np.nanpercentile(x, 30.0, keepdims=True), lambda x: np.max(x, initial=2), lambda x: np.nanmean(x),
])  # fmt: skip
def test_what_numpy_has_for_nothing(call):
    empty = np.zeros((0,))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = call(pb.asarray(empty)), call(empty)
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("initial", [0, -9, 9, 2.5, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "nanmax", "nanmin", "sum", "prod", "nansum", "nanprod"])
def test_a_first_value_takes_the_dtype_of_the_reduction(name, dtype, initial):
    x = np.array([[1, 0, 3], [2, 5, 1]]).astype(dtype)
    wanted = getattr(np, name)(x, axis=1, initial=initial, where=x > 1)
    found = getattr(np, name)(pb.asarray(x), axis=1, initial=initial, where=x > 1)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.numpy(), wanted)


def test_a_first_value_gets_the_gradient_where_nothing_else_is_chosen():
    x, first = pb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), pb.tensor(2.5, requires_grad=True)
    np.max(x, axis=1, where=x > 3.5, initial=first).sum().backward()
    assert first.grad.tolist() == 1.0 and x.grad.tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_numbers_without_axes_are_written_and_sorted():
    x = pb.tensor(3.0)
    np.place(x, x > 0, [7.0, 8.0])
    np.place(x, x < 0, [9.0])
    assert x.item() == 7.0
    np.putmask(x, True, np.zeros(0))
    assert x.item() == 7.0
    assert np.argsort(x).tolist() == [0]


@pytest.mark.parametrize("call", [
    lambda x: np.einsum("ij->i", x), np.nanvar, np.nanstd, lambda x: np.nanquantile(x, 0.3), np.nanmean,
    lambda x: np.mean(x, where=x > 0), lambda x: np.max(x, axis=0),
])  # fmt: skip
def test_the_other_byte_order_is_read(call):
    values = np.array([[0.5, 2.0, 1.0], [4.0, 1.5, 0.2]])
    x = pb.asarray(values.astype(">f8")).requires_grad_()
    np.testing.assert_allclose(call(x).detach().numpy(), call(values))
    y = pb.tensor(values, requires_grad=True)
    call(x).sum().backward(), call(y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy())


def test_reductions_cast_to_what_out_holds():
    x = pb.tensor([0.25, 3.0])
    for name in ("sum", "max", "nanmin", "mean"):
        out = pb.zeros((), dtype=np.int64)
        getattr(np, name)(x, out=out)
        assert out.item() == getattr(np, name)(x.numpy(), out=np.zeros((), int))


def test_a_wide_base_keeps_its_precision_under_a_narrow_exponent():
    base, exponent = np.array([0.3, 1.7]), np.array([1.3, -0.7])
    for x, y in ((base, exponent.astype("float16")), (base.astype("float16"), exponent)):
        leaves = [pb.tensor(part, requires_grad=True) for part in (x, y)]
        exact = [pb.tensor(part.astype(float), requires_grad=True) for part in (x, y)]
        np.power(*leaves).sum().backward(), np.power(*exact).sum().backward()
        for leaf, right in zip(leaves, exact, strict=True):
            np.testing.assert_allclose(leaf.grad.numpy(), right.grad.numpy().astype(leaf.dtype), rtol=1e-12)
