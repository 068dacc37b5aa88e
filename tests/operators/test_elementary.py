"""Angles, sinc, products with logarithms, parts of numbers, integers, and functions that change the derivative."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

DATA = np.array([-2.5, -0.75, 0.0, 0.3, 1.0, 4.25])


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def gradient(function, *values):
    leaves = [leaf(value) for value in values]
    return [None if g is None else g.item() for g in pb.autograd.grad(function(*leaves).sum(), leaves)]


def test_angles_in_degrees_and_radians():
    assert_close(pb.deg2rad(DATA), np.deg2rad(DATA))
    assert_close(pb.degrees(DATA), np.degrees(DATA))
    assert gradient(pb.radians, 3.0) == [math.pi / 180]


@pytest.mark.parametrize("options", [{}, {"period": 1.0}, {"discont": 5.0}, {"axis": 0}])
def test_unwrap_equals_numpy(options):
    angles = np.array([[0.0, 3.0, -3.0, 6.5, 0.1], [3.1, -3.1, 3.1, 0.0, math.pi]])
    assert_close(pb.unwrap(angles, **options), np.unwrap(angles, **options))
    x = leaf(angles)
    pb.unwrap(x, **options).sum().backward()
    assert_close(x.grad, np.ones_like(angles))


def test_sinc_has_all_derivatives_at_zero():
    assert_close(pb.sinc(DATA), np.sinc(DATA))
    x = leaf(0.0)
    out = pb.sinc(x)
    orders = [out.item()]
    for _ in range(4):
        (out,) = pb.autograd.grad(out, x, create_graph=True)
        orders.append(out.item())
    assert_close(orders, [1.0, 0.0, -math.pi**2 / 3, 0.0, math.pi**4 / 5])
    assert gradgradcheck(pb.sinc, (leaf([1e-5, 0.99, 1.01, -3.5]),))


def test_x_log_y_is_zero_at_zero():
    assert_close(pb.xlogy([0.0, 0.0, 2.0], [0.0, -1.0, 3.0]), [0.0, 0.0, 2 * math.log(3)])
    assert math.isnan(pb.xlogy(0.0, math.nan).item())
    assert gradient(pb.xlogy, 0.0, 0.0) == [0.0, 0.0]
    assert gradient(pb.xlogy, 0.0, 2.0) == [math.log(2.0), 0.0]
    assert gradient(pb.xlog1py, 0.0, -1.0) == [0.0, 0.0]
    assert gradgradcheck(pb.xlog1py, (leaf([0.5, 2.0]), leaf([0.3, 1.0])))


def test_logaddexp2_equals_numpy():
    assert_close(pb.logaddexp2(DATA, 1.0), np.logaddexp2(DATA, 1.0))
    assert gradcheck(pb.logaddexp2, (leaf(DATA), leaf(0.5)))


def test_parts_of_floating_point_numbers():
    for got, wanted in zip(pb.frexp(DATA), np.frexp(DATA), strict=True):
        assert_close(got, wanted)
    values = np.append(DATA, [np.inf, -np.inf])
    for got, wanted in zip(pb.modf(values), np.modf(values), strict=True):
        assert_close(got, wanted)
    assert_close(pb.ldexp(DATA, 3), np.ldexp(DATA, 3))
    assert_close(pb.spacing(DATA), np.spacing(DATA))
    assert_close(pb.frac([-1.25, 2.5]), [-0.25, 0.5])
    assert gradient(lambda x: pb.frexp(x)[0], 12.0) == [1 / 16]
    assert gradient(lambda x: pb.modf(x)[0], 2.5) == [1.0]
    assert gradient(pb.nextafter, 1.0, 2.0) == [1.0, 0.0]
    x = leaf([0.5])
    out = pb.ldexp(x.float(), 2)
    assert out.dtype == np.float32
    out.sum().backward()
    assert_close(x.grad, [4.0])


def test_divmod_is_quotient_and_remainder():
    quotient, rest = divmod(leaf(7.5), 2.0)
    assert (quotient.item(), rest.item()) == (3.0, 1.5)
    quotient, rest = divmod(7, pb.tensor([2, -2]))
    assert_close(quotient, [3, -4])
    assert_close(rest, [1, -1])
    assert_close(np.divmod(pb.tensor([7.0]), 2.0)[1], [1.0])


def test_round_is_pythons_too():
    assert_close(round(pb.tensor([1.26, 2.5])), [1.0, 2.0])
    assert_close(round(pb.tensor([1.26, 2.5]), 1), [1.3, 2.5])


def test_real_if_close():
    assert pb.real_if_close([1 + 1e-15j]).dtype == np.float64
    assert pb.real_if_close([1 + 1e-3j]).dtype == np.complex128
    assert pb.real_if_close([1.0]).dtype == np.float64


def test_integers():
    assert_close(pb.gcd([12, 18], 8), [4, 2])
    assert_close(pb.lcm([4, 6], 10), [20, 30])
    assert_close(pb.bitwise_count([0, 7, 8]), [0, 3, 1])
    bits = pb.unpackbits(np.array([[2], [7]], np.uint8), axis=1)
    assert_close(bits, np.unpackbits(np.array([[2], [7]], np.uint8), axis=1))
    assert_close(pb.packbits(bits, axis=1), [[2], [7]])


def test_array_equiv_broadcasts():
    assert pb.array_equiv([1, 2], [[1, 2], [1, 2]])
    assert not pb.array_equiv([1, 2], [1, 3])
    assert not pb.array_equiv([1, 2], [1, 2, 3])


def test_a_detached_value_is_a_constant():
    x = leaf([3.0])
    (x * pb.stop_gradient(x)).sum().backward()
    assert_close(x.grad, [3.0])
    assert pb.resolve_conj(x) is x and pb.resolve_neg(x) is x


def test_straight_through_rounding():
    x = leaf([0.4, 1.6])
    out = pb.ste_round(x)
    assert_close(out, [0.0, 2.0])
    out.sum().backward()
    assert_close(x.grad, [1.0, 1.0])
    x = leaf([0.34, 9.0])
    out = pb.fake_quantize(x, 0.1, 0, -10, 10)
    assert_close(out, [0.3, 1.0])
    out.sum().backward()
    assert_close(x.grad, [1.0, 0.0])


def test_apply_where_does_not_compute_what_is_not_chosen():
    x = leaf([-1.0, 0.0, 4.0])
    out = pb.apply_where(x > 0, x, pb.sqrt, fill_value=0.0)
    assert_close(out, [0.0, 0.0, 2.0])
    out.sum().backward()
    assert_close(x.grad, [0.0, 0.0, 0.25])
    y = leaf([1.0, 2.0])
    out = pb.apply_where(pb.tensor([True, False]), (y, 3.0), lambda a, b: a * b, lambda a, b: a + b)
    assert_close(out, [3.0, 5.0])
    out.sum().backward()
    assert_close(y.grad, [3.0, 1.0])
    assert_close(pb.apply_where(pb.tensor(True), leaf(4.0), pb.sqrt, pb.negative), 2.0)
    with pytest.raises(TypeError, match="either"):
        pb.apply_where(x > 0, x, pb.sqrt)


def test_comparison_with_what_is_no_number_is_false():
    x = pb.tensor([1.0, 2.0])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "x") is False
    assert x not in ("a", None)


class Answer:
    """A type that wants to be asked."""

    def __radd__(self, other):
        return "asked"

    def __eq__(self, other):
        return "equal"

    __hash__ = None


def test_operators_leave_foreign_operands_to_their_own_type():
    for x in (pb.tensor([1.0]), leaf([1.0]), pb.tensor([1])):
        assert x + Answer() == "asked"
        assert (x == Answer()) == "equal"
        with pytest.raises(TypeError, match="unsupported operand"):
            x - Answer()
        with pytest.raises(TypeError, match="unsupported operand"):
            x * None
        with pytest.raises(TypeError):
            None - x
    with pb.no_grad():
        assert leaf([1.0]) + Answer() == "asked"
