"""Linear systems as objects, with tensors in them: what their methods and functions of them give, against SciPy's."""

import numpy as np
import pytest
import scipy.signal

import pullback as pb
from pullback.scipy import signal

T = np.linspace(0, 3, 12)
W = np.array([0.5, 1.0, 2.0])

PROGRAMS = {
    "step": lambda s, p: s.step(s.TransferFunction([1.0, p[0]], [2.0, p[0], p[1]]), T=T)[1],
    "coefficients": lambda s, p: s.TransferFunction([1.0], [2.0, p[0], p[1]]).den,
    "lti.step": lambda s, p: s.lti([1.0], [1.0, p[0], p[1]]).step(T=T)[1],
    "lti.output": lambda s, p: s.lti([1.0], [1.0, p[0], p[1]]).output(np.sin(T), T)[1],
    "bode": lambda s, p: s.bode(s.TransferFunction([1.0], [1.0, p[0], p[1]]), w=W)[1],
    "freqresp": lambda s, p: s.TransferFunction([1.0], [1.0, p[0], p[1]]).freqresp(w=W)[1].real,
    "zeros and poles": lambda s, p: s.ZerosPolesGain([], [-p[0], -p[1]], 2.0).impulse(T=T)[1],
    "matrices": lambda s, p: s.StateSpace([[0.0, 1.0], [-p[0], -p[1]]], [[0.0], [1.0]], [[1.0, 0.0]], 0.0).step(T=T)[1],
    "to_tf": lambda s, p: s.StateSpace([[0.0, 1.0], [-p[0], -p[1]]], [[0.0], [1.0]], [[1.0, 0.0]], 0.0).to_tf().den,
    "to_ss": lambda s, p: s.TransferFunction([1.0], [1.0, p[0], p[1]]).to_ss().A,
    "dlti": lambda s, p: s.dlti([1.0], [1.0, p[0], p[1]], dt=0.1).step(n=5)[1][0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_systems_of_tensors(name):
    program, at = PROGRAMS[name], np.array([0.3, 0.7])
    found = program(signal, pb.tensor(at, requires_grad=True))
    np.testing.assert_allclose(found.detach().numpy(), program(scipy.signal, at), rtol=1e-9, atol=1e-12)
    step = 1e-6
    expected = [(np.asarray(program(scipy.signal, at + step * e)) - program(scipy.signal, at - step * e)) / (2 * step)
                for e in np.eye(2)]  # fmt: skip
    jacobian = pb.func.jacrev(lambda p: program(signal, p))(pb.tensor(at)).numpy()
    np.testing.assert_allclose(jacobian, np.stack(expected, axis=-1), rtol=1e-6, atol=1e-7)
    tangent = pb.func.jvp(lambda p: program(signal, p), (pb.tensor(at),), (pb.tensor([1.0, 2.0]),))[1].numpy()
    np.testing.assert_allclose(tangent, jacobian @ [1.0, 2.0], atol=1e-9)


def test_systems_of_numbers_are_scipys():
    assert isinstance(signal.TransferFunction([1.0], [1.0, 2.0]), scipy.signal.TransferFunction)
    assert isinstance(signal.lti([1.0], [1.0, 2.0]), scipy.signal.lti)


def settled(p):
    return scipy.signal.lti([1.0], [1.0, p[0], p[1]]).step(T=T)[1].sum()


def test_an_adapted_program():
    at, step = np.array([0.3, 0.7]), 1e-6
    expected = [(settled(at + step * e) - settled(at - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(pb.func.grad(pb.func.adapt(settled))(pb.tensor(at)).numpy(), expected, rtol=1e-6)
