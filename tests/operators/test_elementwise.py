"""Arithmetic and functions of one or two numbers: values, and derivatives where they are not ordinary."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.declare.derive import push
from pullback.declare.op import OPERAND, registry
from pullback.testing import assert_close

INF, NAN = np.inf, np.nan


def leaf(values, dtype=None):
    return pb.tensor(np.array(values, dtype=dtype or np.float64), requires_grad=True)


def slopes(name, *points):
    """The partial derivatives of an elementwise operator at some points, after checking that both modes agree."""
    op = registry[name]
    arrays = [np.atleast_1d(np.array(point, dtype=np.float64)) for point in points]
    with np.errstate(all="ignore"):
        tensors = [leaf(array) for array in arrays]
        out = op.function(*tensors)
        reverse = [g.numpy() for g in pb.autograd.grad(out, tensors, pb.tensor(np.ones(out.shape)))]
        for position, array in enumerate(arrays):
            tangents = tuple(np.ones(array.shape) if k == position else None for k in range(len(arrays)))
            forward = push(op, tuple(arrays), tangents, op.kernel(*arrays), {})
            np.testing.assert_array_equal(reverse[position], forward)
    return [gradient.tolist() for gradient in reverse] if len(reverse) > 1 else reverse[0].tolist()


def test_a_number_does_not_promote_a_tensor():
    x = leaf([1.0, 2.0], np.float32)
    for result in (x + 1, 2.0 * x, x / 3, x**2, 2**x, pb.maximum(x, 0.5), pb.hypot(x, 1), pb.atan2(1, x)):
        (gradient,) = pb.autograd.grad(result, x, pb.tensor(np.ones(2, np.float32)))
        assert result.dtype == gradient.dtype == np.float32


# Families of their own are loaded by other tests, or not; the systematic tests look at their float32 samples.
ROWS = [
    name
    for name, op in registry.items()
    if op.partials is not None and op.door_rule is None and "." not in name and not name.startswith("_")
]


@pytest.mark.parametrize("name", ROWS)
def test_no_partial_derivative_promotes(name):
    """Fast paths hand `g * partial` on without a cast."""
    op = registry[name]
    values = np.array([0.4, 0.6], np.float32) if name != "acosh" else np.array([1.4, 1.6], np.float32)
    operands = [values] * len(op.operands)
    for number_at in (None, *(range(2) if len(operands) == 2 else ())):
        arguments = [0.5 if k == number_at else x for k, x in enumerate(operands)]
        out = np.asarray(op.kernel(*arguments))
        assert out.dtype == np.float32
        for rule in (op.partials[k] for k in range(len(operands)) if k != number_at):
            read = [arguments[key] if kind == OPERAND else out for kind, key in rule.plan]
            assert (values * rule.fn(*read)).dtype == np.float32


def test_operators_follow_numpy_promotion():
    assert (pb.tensor([1, 2]) / 2).dtype == np.float64
    assert (pb.tensor(np.array([1], np.int8)) + pb.tensor(np.array([1], np.int16))).dtype == np.int16
    assert (pb.tensor([1.0]) * 1j).dtype == np.complex128
    with pytest.raises(ValueError):
        pb.tensor([2]) ** -1


def test_division_by_the_number_zero_has_an_infinite_slope():
    x = leaf([1.0, -1.0])
    with np.errstate(all="ignore"):
        (gradient,) = pb.autograd.grad((x / 0).sum(), x)
    assert gradient.tolist() == [INF, INF]


def test_powers_at_zero_and_of_zero():
    with_exponents = [0.0, 0.5, 1.0, 2.0, -1.0]
    in_base, in_exponent = slopes("pow", [0.0] * 5, with_exponents)
    assert in_base == [0.0, INF, 1.0, 0.0, -INF]
    assert in_exponent == [0.0, 0.0, 0.0, 0.0, -INF]
    in_base, in_exponent = slopes("pow", [NAN, -2.0], [0.0, 3.0])
    assert in_base == [0.0, 12.0]
    assert np.isnan(in_exponent).all()


@pytest.mark.parametrize("exponent", [0, 0.0, 1, 2, 3, -1, 0.5])
def test_a_number_as_exponent_is_as_good_as_a_tensor(exponent):
    x, y = leaf([0.5, 2.0]), leaf([0.5, 2.0])
    (expected,) = pb.autograd.grad((y ** leaf([float(exponent)] * 2)).sum(), y)
    (gradient,) = pb.autograd.grad((x**exponent).sum(), x)
    assert_close(gradient, expected)
    assert (x**exponent).grad_fn._saved_exponent == exponent


def test_a_number_as_base():
    y = leaf([0.0, 2.0])
    assert_close(pb.autograd.grad((3**y).sum(), y)[0], np.log(3) * 3 ** np.array([0.0, 2.0]))
    with np.errstate(all="ignore"):
        assert pb.autograd.grad((0**y).sum(), y)[0].tolist() == [0.0, 0.0]
        assert np.isnan(pb.autograd.grad(((-2) ** y).sum(), y)[0].numpy()).all()
    (gradient,) = pb.autograd.grad(((1j) ** y).sum(), y, pb.tensor(1 + 0j))
    assert_close(gradient, np.real(np.conj(np.log(1j) * 1j ** np.array([0.0, 2.0]))))


def test_the_second_derivative_of_a_constant_power_is_zero_at_zero():
    x, y = leaf([0.0]), leaf([0.0])
    (first,) = pb.autograd.grad(x**y, x, create_graph=True)
    (second,) = pb.autograd.grad(first, x)
    assert second.tolist() == [0.0]


@pytest.mark.parametrize("base", [0, 0.0, "tensor"])
def test_higher_derivatives_of_a_power_of_zero_by_the_exponent_are_zero(base):
    zero = pb.zeros(()) if base == "tensor" else base
    slope = lambda y: zero**y
    with np.errstate(all="ignore"):
        for _ in range(3):
            slope = pb.func.grad(slope)
            assert slope(pb.tensor(1.5)).item() == 0
        assert pb.func.hessian(lambda y: (zero**y).sum())(pb.tensor([0.5, 2.0])).tolist() == [[0, 0], [0, 0]]


def test_singular_points_have_the_slopes_of_the_limit():
    assert slopes("sqrt", [0.0]) == [INF]
    assert slopes("cbrt", [0.0]) == [INF]
    assert slopes("rsqrt", [0.0]) == [-INF]
    assert slopes("log", [0.0, -0.0]) == [INF, -INF]
    assert slopes("log1p", [-1.0]) == [INF]
    assert slopes("asin", [1.0]) == [INF]
    assert slopes("acosh", [1.0]) == [INF]
    assert slopes("_logit", [0.0]) == [INF]


def test_the_origin_has_derivative_zero():
    assert slopes("hypot", [0.0, 3.0], [0.0, 4.0]) == [[0.0, 0.6], [0.0, 0.8]]
    assert slopes("atan2", [0.0, 0.0], [0.0, 2.0]) == [[0.0, 0.5], [0.0, 0.0]]
    assert slopes("copysign", [0.0, -2.0, 2.0], [1.0, 1.0, -0.0]) == [[0.0, -1.0, -1.0], [0.0, 0.0, 0.0]]
    assert slopes("fabs", [0.0, -2.0]) == [0.0, -1.0]


def test_the_angle_of_a_tiny_vector_has_a_finite_slope():
    in_x, in_y = slopes("atan2", [1e-200], [1e-200])
    assert_close(np.array([in_x, in_y]), [[5e199], [-5e199]])


def test_remainders_are_continuous_from_the_right():
    assert slopes("remainder", [5.0, -5.0, 4.0], [2.0, 2.0, 2.0]) == [[1.0, 1.0, 1.0], [-2.0, 3.0, -2.0]]
    assert slopes("fmod", [5.0, -5.0], [2.0, 2.0]) == [[1.0, 1.0], [-2.0, 2.0]]
    assert slopes("floor_divide", [5.0], [2.0]) == [[0.0], [0.0]]


def test_floor_division_with_infinities_follows_the_array_standard():
    with np.errstate(all="ignore"):
        out = pb.floor_divide(pb.tensor([INF, -INF, 1.0, -1.0, INF, 5.0]), pb.tensor([2.0, 2.0, -INF, INF, INF, 2.0]))
    assert_close(out, [INF, -INF, -0.0, -0.0, NAN, 2.0], equal_nan=True)
    assert np.signbit(out.numpy()[2:4]).all()


def test_logaddexp_at_infinities():
    in_x, in_y = slopes("logaddexp", [-INF, INF, INF, -INF, 1.0], [-INF, INF, 0.0, 0.0, 1.0])
    assert in_x == [0.0, 0.5, 1.0, 0.0, 0.5]
    assert in_y == [0.0, 0.5, 0.0, 1.0, 0.5]


def test_the_curvature_of_logaddexp_at_a_tie():
    x = leaf([1.0])
    (first,) = pb.autograd.grad(pb.logaddexp(x, 1.0), x, create_graph=True)
    assert_close(pb.autograd.grad(first, x)[0], [0.25])


def test_sigmoid_is_accurate_and_silent_at_both_ends():
    x = np.array([-800.0, -700.0, -40.0, 0.0, 40.0, 800.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = pb.sigmoid(pb.tensor(x)).numpy()
        assert pb.softplus(pb.tensor(800.0)).item() == 800.0
        assert pb.log_sigmoid(pb.tensor(-800.0)).item() == -800.0
    assert_close(out, [0.0, np.exp(-700.0), np.exp(-40.0), 0.5, 1.0, 1.0], rtol=1e-12, atol=0)
    assert pb.sigmoid(pb.tensor([True, False])).dtype == np.float64


def test_logit_undoes_sigmoid_and_clamps_on_request():
    x = leaf([-3.0, 0.5])
    assert_close(pb.logit(pb.sigmoid(x)), x)
    assert_close(pb.logit(pb.tensor([0.0, 1.0]), eps=0.25), [-np.log(3), np.log(3)])
    assert_close(pb.tensor([0.5]).logit_(), [0.0])


def test_rounding_has_zeros_as_gradient():
    x = leaf([1.25, -2.5])
    for rounded, expected in [
        (pb.floor(x), [1.0, -3.0]), (pb.ceil(x), [2.0, -2.0]), (pb.trunc(x), [1.0, -2.0]), (pb.rint(x), [1.0, -2.0]),
        (pb.round(x), [1.0, -2.0]), (pb.round(x, 1), [1.2, -2.5]), (x.round(decimals=1), [1.2, -2.5]),
    ]:  # fmt: skip
        assert_close(rounded, expected)
        assert pb.autograd.grad(rounded.sum(), x)[0].tolist() == [0.0, 0.0]
    assert pb.floor(pb.tensor([3])).dtype == np.int64


def test_complex_expm1_is_accurate_near_zero_and_right_at_infinity():
    z = np.array([1e-12 + 1e-12j, -INF + 1j, INF + 0j, NAN + 0j])
    out = pb.expm1(pb.tensor(z)).numpy()
    assert_close(out[0], 1e-12 + 1e-12j, rtol=1e-11, atol=0)
    assert out[1].real == -1 and out[2] == complex(INF, 0.0)
    assert np.isnan(out[3].real) and out[3].imag == 0


def test_exp2_takes_complex_numbers():
    assert_close(pb.exp2(pb.tensor([1j])), np.exp([1j * np.log(2)]))


def test_float_power_works_in_double_precision():
    x = leaf([2.0], np.float32)
    out = pb.float_power(x, 3)
    assert out.dtype == np.float64
    assert pb.autograd.grad(out.sum(), x)[0].dtype == np.float32
    assert pb.float_power(pb.tensor([2]), pb.tensor([-1])).item() == 0.5


def test_aliases_are_the_same_function():
    for first, *others in [
        ("add",), ("subtract", "sub"), ("multiply", "mul"), ("divide", "div", "true_divide"), ("pow", "power"),
        ("asin", "arcsin"), ("atan2", "arctan2"), ("remainder", "mod"), ("sigmoid", "expit"), ("abs", "absolute"),
    ]:  # fmt: skip
        assert all(getattr(pb, other) is getattr(pb, first) for other in others)


def test_node_names_are_torchs():
    x = leaf([0.5])
    for out, name in [
        (x + x, "Add"), (x - x, "Sub"), (x * x, "Mul"), (x / x, "Div"), (-x, "Neg"), (x**2, "Pow"), (x.exp(), "Exp"),
        (x.clone(), "Clone"), (x.sum(), "Sum"), (x.mean(), "Mean"), (x.sign(), "Sign"), (x.sigmoid(), "Sigmoid"),
    ]:  # fmt: skip
        assert out.grad_fn.name() == f"{name}Backward0"


def test_nan_to_num_replaces_and_gives_replaced_elements_no_gradient():
    x = leaf([NAN, INF, -INF, 2.0])
    out = pb.nan_to_num(x, nan=1.0, posinf=5.0)
    assert_close(out, [1.0, 5.0, np.finfo(np.float64).min, 2.0])
    assert pb.autograd.grad(out.sum(), x)[0].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert_close(pb.nan_to_num(pb.tensor([complex(NAN, 1.0)])), [1j])
    assert pb.nan_to_num(pb.tensor([3])).dtype == np.int64


def test_small_compositions():
    x, y, w = leaf([1.0]), leaf([3.0]), leaf([0.25])
    assert pb.lerp(x, y, w).item() == 1.5
    assert pb.addcmul(x, y, w, value=2).item() == 2.5
    assert pb.addcdiv(x, y, w, value=2).item() == 25.0
    assert [g.item() for g in pb.autograd.grad(pb.lerp(x, y, w), (x, y, w))] == [0.75, 0.25, 2.0]


def test_polar_coordinates():
    r, angle = leaf([2.0]), leaf([np.pi / 2])
    assert_close(pb.polar(r, angle), [2j])


def test_in_place_twins_exist_for_operators_and_aliases():
    x = pb.tensor([4.0, 9.0])
    assert x.sqrt_() is x and x.tolist() == [2.0, 3.0]
    assert x.mul_(2).sub_(1).tolist() == [3.0, 5.0]
    x **= 2
    assert x.tolist() == [9.0, 25.0]
    x //= 2
    assert x.tolist() == [4.0, 12.0]
