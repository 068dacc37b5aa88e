"""Functions that look at numbers run for one example of `vmap` after the other, with results put together."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, vmap

P, st, G, L, D = (getattr(pb.scipy, name) for name in ("interpolate", "stats", "signal", "linalg", "spatial"))
KNOTS = np.linspace(0, 3, 7)
SQUARE = P.interp1d(KNOTS, KNOTS**2)
AT = np.array([0.31, 1.7, 2.2])


def weighed(x):
    return (x * np.cos(np.arange(x.size)).reshape(x.shape)).sum()


LOOKING = {
    "a class": lambda y: weighed(P.PchipInterpolator(KNOTS, y)(AT)),
    "a method of it": lambda y: P.CubicSpline(KNOTS, y).integrate(0.1, 2 + y[0]),
    "its result's method": lambda y: weighed(P.make_interp_spline(KNOTS, y).derivative()(AT)),
    "an object from outside": lambda y: weighed(SQUARE(1.5 + pb.tanh(y[:3]))),
    "a tuple": lambda y: weighed(P.splev(AT, P.splrep(KNOTS, y, s=0))),
    "a named tuple": lambda y: (lambda fit: fit.slope + fit.pvalue)(st.linregress(KNOTS, y)),
    "a frozen distribution": lambda y: st.norm(y[0], 1 + y[1] ** 2).rvs(size=4, random_state=3).sum(),
    "SciPy's text": lambda y: weighed(G.butter(3, 0.3 + 0.1 * y[0])[0]),
    "pivots": lambda y: weighed(L.qr(y[:, None] * y + pb.diag(y + 4), pivoting=True)[1]),
    "a tree": lambda y: weighed(D.KDTree(y[:, None] * 1.0).query(AT[:, None])[0]),
    "a captured parameter": lambda y: (
        pb.scipy.integrate.cubature(lambda t: pb.exp(-y[0] * t[..., 0]), [0.0], [1.0]).estimate
    ),
}


@pytest.mark.parametrize("name", LOOKING)
def test_values_and_gradients_are_those_of_the_examples(name):
    function = LOOKING[name]
    rows = pb.tensor(np.random.default_rng(0).standard_normal((3, 7)))
    np.testing.assert_allclose(vmap(function)(rows).numpy(), [function(row).item() for row in rows], rtol=1e-10)
    np.testing.assert_allclose(vmap(grad(function))(rows), [grad(function)(row).numpy() for row in rows], rtol=1e-8)
    whole = grad(lambda rows: vmap(function)(rows).sum())(rows)
    np.testing.assert_allclose(whole.numpy(), vmap(grad(function))(rows).numpy(), rtol=1e-8)


def test_a_tensor_that_is_not_batched_has_a_gradient_for_each_example():
    y = pb.tensor(np.sin(KNOTS))
    slope = vmap(lambda at: grad(lambda y: P.PchipInterpolator(KNOTS, y)(at))(y))(pb.tensor(AT)).numpy()
    each = [grad(lambda y, at=at: P.PchipInterpolator(KNOTS, y)(at))(y).numpy() for at in AT]
    np.testing.assert_allclose(slope, each, rtol=1e-10)


def test_nested_maps():
    rows = pb.tensor(np.random.default_rng(1).standard_normal((2, 3, 7)))
    function = LOOKING["a class"]
    expected = [[function(row).item() for row in part] for part in rows]
    np.testing.assert_allclose(vmap(vmap(function))(rows).numpy(), expected, rtol=1e-10)
