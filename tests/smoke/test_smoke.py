"""The main promises in a few lines each, with NumPy alone if need be: what a new installation is tried with.

`make dist` runs this file against the wheel, in an environment that has nothing else.
"""

import contextlib
import io

import numpy as np

import pullback as pb


def test_a_loop_that_writes_in_place_has_a_gradient():
    x = pb.tensor(2.0, requires_grad=True)
    h = pb.ones(4) * x
    for i in range(3):
        h[i + 1] *= h[i]
    h[-1].backward()
    assert x.grad.item() == 4 * 2.0**3


def test_numpy_functions_and_transforms_work():
    gradient = pb.func.grad(lambda x: np.sin(x).sum())(pb.arange(3.0))
    np.testing.assert_allclose(gradient.numpy(), np.cos(np.arange(3.0)))
    np.testing.assert_allclose(pb.func.hessian(lambda x: (x**3).sum())(pb.ones(2)).numpy(), 6 * np.eye(2))


def test_compiled_code_is_eager_code():
    def function(x):
        return (pb.exp(-x) * x[::-1]).sum()

    x = pb.linspace(0.1, 1.0, 7)
    compiled = pb.compile(pb.func.grad(function))
    np.testing.assert_allclose(compiled(x).numpy(), pb.func.grad(function)(x).numpy(), rtol=1e-14)


def test_versions_are_shown():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        pb.show_versions()
    assert f"pullback  {pb.__version__}" in out.getvalue() and f"numpy     {np.__version__}" in out.getvalue()
    assert "\ncache     " in out.getvalue()
