"""Arguments may be lists with tensors in them, as NumPy's users write them: no derivative is lost on the way."""

import numpy as np
import pytest

import pullback as pb
from pullback.scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, spatial, special, stats
from pullback.testing import assert_close

# By two numbers; `j` leaves a list as it is, or makes a tensor of it.
PROGRAMS = {
    "solve_ivp y0": lambda j, a, b: integrate.solve_ivp(lambda t, y: -y * y, (0, 1), j([a, b])).y[:, -1].sum(),
    "solve_ivp t_eval": lambda j, a, b: integrate.solve_ivp(lambda t, y: -y, (0, 2), [1.0], t_eval=j([a, b])).y.sum(),
    "solve_ivp t_span": lambda j, a, b: integrate.solve_ivp(lambda t, y: -y, j([a, b]), [1.0]).y[:, -1].sum(),
    "odeint y0": lambda j, a, b: integrate.odeint(lambda y, t: -y * y, j([a, b]), [0, 1.0])[-1].sum(),
    "odeint t": lambda j, a, b: integrate.odeint(lambda y, t: -y * y, [1.0], j([a, b]))[-1].sum(),
    "quad args": lambda j, a, b: integrate.quad(lambda t, c: c[0] * t + c[1], 0, 1, args=(j([a, b]),))[0],
    "nquad": lambda j, a, b: integrate.nquad(lambda x, y: x * y, [j([a, b]), [0, 1]])[0],
    "trapezoid": lambda j, a, b: integrate.trapezoid(j([a, b, a * b])),
    "lsq_linear": lambda j, a, b: optimize.lsq_linear(np.array([[1.0, 2], [3, 4.5]]), j([a, b]))["x"].sum(),
    "linprog": lambda j, a, b: optimize.linprog([-1.0, -2], A_ub=[[1, 1], [1, 3]], b_ub=j([a + 1, b + 2])).x.sum(),
    "bounds": lambda j, a, b: optimize.minimize(
        lambda z: ((z - 2) ** 2).sum(), [0.0, 0.0], bounds=[(0, a), (0, b)]
    ).x.sum(),
    "curve_fit": lambda j, a, b: optimize.curve_fit(
        lambda x, p, q: p * x + q, [0.0, 1, 2], j([a, b, a * b]), p0=[1.0, 1]
    )[0].sum(),
    "root": lambda j, a, b: optimize.root(lambda v, c: v - c[0] * c[1], [1.0], args=(j([a, b]),)).x.sum(),
    "CubicSpline": lambda j, a, b: interpolate.CubicSpline(j([a, b, b + 1]), j([b, a, 1.0]))(0.7),
    "interp1d": lambda j, a, b: interpolate.interp1d([0.0, 1, 2], j([a, b, a * b]))(0.7),
    "norm": lambda j, a, b: stats.norm.logpdf(j([a, b]), 0, 1).sum(),
    "multivariate_normal": lambda j, a, b: stats.multivariate_normal.logpdf([0.1, 0.2], j([a, b]), np.eye(2)),
    "gaussian_kde": lambda j, a, b: stats.gaussian_kde(j([a, b, a * b])).logpdf([0.3]).sum(),
    "skew": lambda j, a, b: stats.skew(j([a, b, a * b])),
    "solve": lambda j, a, b: linalg.solve(j([[a + 2, b], [b, a + 3]]), j([a, b])).sum(),
    "convolve": lambda j, a, b: (signal.convolve(j([a, b]), [1.0, 2.0]) ** 2).sum(),
    "gaussian_filter": lambda j, a, b: (ndimage.gaussian_filter(j([a, b, a * b]), 1.0) ** 2).sum(),
    "cdist": lambda j, a, b: spatial.distance.cdist(j([[a, b]]), [[0.0, 0.0]]).sum(),
    "Rotation": lambda j, a, b: spatial.transform.Rotation.from_rotvec(j([a, b, a * b])).apply([1.0, 2, 3])[0],
    "fft": lambda j, a, b: abs(fft.fft(j([a, b, a * b]))).sum(),
    "logsumexp": lambda j, a, b: special.logsumexp(j([a, b])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_list_has_the_derivatives_of_its_tensor(name):
    gradients = []
    for form in (lambda values: values, pb.asarray):
        x = pb.tensor([0.4, 0.9], requires_grad=True)
        gradients += pb.autograd.grad(PROGRAMS[name](form, x[0], x[1]), x)
    assert_close(gradients[0], gradients[1], rtol=1e-7)
    assert gradients[0].abs().max() > 1e-3
