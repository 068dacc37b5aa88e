"""Taylor mode: values, structure, nesting, and what it refuses."""

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError, DetachedScalarWarning
from pullback.testing import assert_close


def derivatives_along(function, point, direction, order):
    """Derivatives of `s -> function(point + s * direction)` at 0, by forward mode again and again."""

    def slope(path):
        return lambda s: pb.func.jvp(path, (s,), (pb.tensor(1.0),))[1]

    along = [slope(lambda s: function(point + s * direction))]
    while len(along) < order:
        along.append(slope(along[-1]))
    return [derivative(pb.tensor(0.0)) for derivative in along]


def test_derivatives_of_the_sine_are_not_divided_by_factorials():
    out, series = pb.func.jet(pb.sin, (1.0,), ((1.0, 0.0, 0.0),))
    assert_close(out, np.sin(1.0))
    assert_close(pb.stack(series), [np.cos(1.0), -np.sin(1.0), -np.cos(1.0)])


def test_a_curved_path_contributes_its_own_derivatives():
    # x(s) = 2 + s + 3 s^2 / 2, so (x^2)'' = 2 x'^2 + 2 x x''.
    _, series = pb.func.jet(lambda x: x * x, (pb.tensor(2.0),), ((1.0, 3.0),))
    assert_close(pb.stack(series), [4.0, 2.0 + 12.0])


def test_several_arguments_and_outputs_keep_their_structure():
    def function(weights, x):
        return {"product": weights["w"] * x, "sum": x.sum()}

    x, w = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 5.0])
    paths = (({"w": pb.ones(2)}, {"w": pb.zeros(2)}), (pb.ones(2), pb.zeros(2)))
    out, series = pb.func.jet(function, ({"w": w}, x), paths)
    assert_close(out["product"], [3.0, 10.0])
    assert_close(series["product"][0], [4.0, 7.0])
    assert_close(series["product"][1], [2.0, 2.0])
    assert_close(pb.stack(series["sum"]), [2.0, 0.0])


def test_writes_and_views_carry_the_series():
    def function(x):
        h = pb.zeros(3)
        tail = h[1:]
        h[0] = pb.exp(x[0]) * x[1]
        tail[0] = pb.tanh(h[0]) + x.sum()
        h *= x[1]
        h[[2]] = tail[:1] ** 2
        return (tail * tail).sum() + h[0] * h[2]

    x, t = pb.tensor([0.3, 0.7]), pb.tensor([1.0, 0.5])
    _, series = pb.func.jet(function, (x,), ((t, *[pb.zeros(2)] * 3),))
    for found, expected in zip(series, derivatives_along(function, x, t, 4), strict=True):
        assert_close(found, expected)


def test_the_argument_is_not_written():
    x = pb.tensor([1.0, 2.0])
    out, series = pb.func.jet(lambda y: y.mul_(y), (x,), ((pb.ones(2),),))
    assert_close(out, [1.0, 4.0])
    assert_close(series[0], [2.0, 4.0])
    assert_close(x, [1.0, 2.0])


def test_control_flow_follows_the_values():
    _, series = pb.func.jet(lambda x: x**3 if x > 1 else -x, (pb.tensor(2.0),), ((1.0, 0.0),))
    assert_close(pb.stack(series), [12.0, 12.0])


def test_outputs_that_do_not_depend_have_zero_derivatives():
    out, series = pb.func.jet(lambda x: (x, pb.ones(2), x > 0), (pb.tensor(2.0),), ((1.0,),))
    assert_close(series[1][0], [0.0, 0.0])
    assert bool(out[2])


def test_detach_stops_the_series():
    _, series = pb.func.jet(lambda x: x.detach() * x, (pb.tensor(3.0),), ((1.0, 0.0),))
    assert_close(pb.stack(series), [3.0, 0.0])


def test_a_jet_of_a_gradient():
    x = pb.tensor([1.0, 2.0])
    out, series = pb.func.jet(pb.func.grad(lambda y: (y**4).sum()), (x,), ((pb.ones(2), pb.zeros(2)),))
    assert_close(out, 4 * x**3)
    assert_close(series[0], 12 * x**2)
    assert_close(series[1], 24 * x)


def test_a_jet_inside_and_around_vmap():
    x = pb.tensor([0.5, 1.0, 2.0])
    inside = pb.func.vmap(lambda y: pb.func.jet(lambda z: pb.exp(z) * y, (y,), ((1.0, 0.0),))[1][1])(x)
    assert_close(inside, pb.exp(x) * x)
    mapped = lambda y: pb.func.vmap(lambda z: pb.exp(z) * y.sum())(y)
    path = ((pb.ones(3), pb.zeros(3)),)
    around, plain = pb.func.jet(mapped, (x,), path), pb.func.jet(lambda y: pb.exp(y) * y.sum(), (x,), path)
    assert_close(around[1][1], plain[1][1])


def test_a_jet_inside_a_jet_keeps_the_perturbations_apart():
    def slope(a):
        def inner(b):
            h = pb.zeros(2)
            h[0] = pb.sin(a * b)
            h[1] = a * a
            return h

        return pb.func.jet(inner, (a,), ((1.0,),))[1][0]

    # d/db sin(a b) at b = a is a cos(a^2), whose derivative is cos(a^2) - 2 a^2 sin(a^2).
    out, series = pb.func.jet(slope, (pb.tensor(0.5),), ((1.0,),))
    assert_close(out, [0.5 * np.cos(0.25), 0.0])
    assert_close(series[0], [np.cos(0.25) - 0.5 * np.sin(0.25), 0.0])


def test_what_is_captured_can_not_be_written():
    captured = pb.zeros(2)

    def function(x):
        captured[0] = x
        return captured

    with pytest.raises(AutogradError) as caught:
        pb.func.jet(function, (pb.tensor(1.0),), ((1.0,),))
    assert caught.value.code == "CAPTURE_MUTATED"
    assert_close(captured, [0.0, 0.0])


def test_numpy_code_does_not_lose_the_series_unnoticed():
    with pytest.raises(AutogradError) as caught:
        pb.func.jet(lambda x: pb.tensor(np.sin(x.numpy())), (pb.tensor(1.0),), ((1.0,),))
    assert caught.value.code == "LIFTED_VALUES"


def test_numbers_taken_out_are_constants_and_floats_warn():
    assert_close(pb.func.jet(lambda x: x * x.item(), (pb.tensor(3.0),), ((1.0,),))[1][0], 3.0)
    with pytest.warns(DetachedScalarWarning):
        pb.func.jet(lambda x: x * float(x), (pb.tensor(3.0),), ((1.0,),))


def test_a_custom_function_has_no_taylor_rule():
    class Twice(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    with pytest.raises(NotImplementedError, match="Twice"):
        pb.func.jet(Twice.apply, (pb.tensor(1.0),), ((1.0,),))


def test_an_argument_that_is_differentiated_is_refused():
    with pytest.raises(AutogradError) as caught:
        pb.func.grad(lambda x: pb.func.jet(pb.sin, (x,), ((1.0,),))[1][0])(pb.tensor(1.0))
    assert caught.value.code == "LIFTED_DIFFERENTIATED"


@pytest.mark.parametrize(
    ("primals", "series", "error"),
    [
        (1.0, ((1.0,),), TypeError),
        ((1.0,), (), ValueError),
        ((1.0,), ((),), ValueError),
        ((1.0, 1.0), ((1.0,), (1.0, 0.0)), ValueError),
        ((pb.ones(2),), ((pb.ones(3),),), ValueError),
        ((1,), ((1.0,),), ValueError),
    ],
)
def test_wrong_arguments_are_refused(primals, series, error):
    with pytest.raises(error, match="jet"):
        pb.func.jet(lambda *x: x[0], primals, series)
