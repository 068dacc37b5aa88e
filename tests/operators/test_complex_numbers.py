"""Conjugates, absolute values, phases and angles, real and complex."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def leaf(values):
    return pb.tensor(np.array(values), requires_grad=True)


def gradient_of(function, values, weight=1.0):
    x = leaf(values)
    out = function(x)
    (gradient,) = pb.autograd.grad(out, x, pb.tensor(np.full(out.shape, weight, out.dtype)))
    return gradient.numpy()


def test_the_gradient_of_the_absolute_value_is_the_phase():
    assert gradient_of(pb.abs, [3.0 + 4.0j, 0j]).tolist() == [0.6 + 0.8j, 0j]
    assert gradient_of(pb.abs, [-2.0, 0.0, -0.0]).tolist() == [-1.0, 0.0, 0.0]
    assert np.isnan(gradient_of(pb.abs, [np.nan])).all()


def test_a_complex_tensor_can_not_hold_its_absolute_values():
    z = pb.tensor([3 + 4j])
    with pytest.raises(TypeError):
        z.abs_()
    assert z.item() == 3 + 4j and z._version == 0
    assert pb.tensor([-2.0]).abs_().item() == 2.0


def test_the_sign_of_a_real_number_is_flat_and_keeps_nothing():
    x = leaf([-2.0, 0.0, 3.0])
    h = x * 1
    out = pb.sign(h)
    h.add_(1)
    assert out.tolist() == [-1.0, 0.0, 1.0]
    assert pb.autograd.grad(out.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]


def test_the_sign_of_a_complex_number_turns():
    # Moving along the phase changes nothing, moving across it turns the phase.
    assert_close(gradient_of(pb.sgn, [2.0 + 0j, 0j], 1.0), [0j, 0j])
    assert_close(gradient_of(pb.sgn, [2.0 + 0j, 0j], 1j), [0.5j, 0j])


def test_sign_in_place():
    assert pb.tensor([-2.0, 3.0]).sign_().tolist() == [-1.0, 1.0]
    z = leaf([3.0 + 4.0j])
    w = z * 1
    assert_close(w.sgn_(), [0.6 + 0.8j])
    assert_close(pb.autograd.grad(w, z, pb.tensor([1j]))[0], gradient_of(pb.sgn, [3.0 + 4.0j], 1j))


def test_the_conjugate_conjugates_the_gradient():
    assert gradient_of(pb.conj, [1 + 2j], 3 + 4j).tolist() == [3 - 4j]
    x = leaf([1.0])
    assert pb.conj(x).dtype == np.float64 and gradient_of(pb.conj, [1.0], 2.0).tolist() == [2.0]


def test_angles():
    assert_close(pb.angle(pb.tensor([1j, -1.0])), [np.pi / 2, np.pi])
    assert_close(gradient_of(pb.angle, [2.0 + 0j, 0j]), [0.5j, 0j])
    assert gradient_of(pb.angle, [-2.0, 0.0]).tolist() == [0.0, 0.0]


def test_complex_numbers_from_parts():
    re, im = leaf([1.0, 2.0]), leaf(3.0)
    z = pb.complex(re, im)
    assert z.tolist() == [1 + 3j, 2 + 3j]
    re_grad, im_grad = pb.autograd.grad(z, (re, im), pb.tensor([1 + 2j, 3 + 4j]))
    assert re_grad.tolist() == [1.0, 3.0] and im_grad.item() == 6.0
    single = pb.tensor(np.ones(1, np.float32))
    assert pb.complex(single, single).dtype == np.complex64
    assert pb.complex(pb.tensor([1]), 2).dtype == np.complex128


def test_second_derivatives_of_the_absolute_value():
    z = leaf([3.0 + 4.0j])
    (first,) = pb.autograd.grad(pb.abs(z).sum(), z, create_graph=True)
    (second,) = pb.autograd.grad(first, z, pb.tensor([1j]))
    # The Hessian of |z| is (1 - u u^T) / |z| with the unit vector u = (0.6, 0.8).
    assert_close(second, [(-0.48 + 0.36j) / 5])
