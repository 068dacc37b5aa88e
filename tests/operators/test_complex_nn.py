"""Neural-network functions of complex numbers: differentiated as maps of two real numbers, or refused with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.declare.samples import samples_of
from pullback.testing import assert_close
from tests.operators.declared import is_floating, registry

F = pb.nn
Z = np.array([[0.5 + 1.0j, -1.0 + 0.25j, 0.75 - 2.0j], [1.5 - 0.5j, 0.25 + 0.5j, -0.5 - 0.75j]])
W = np.array([[-0.5 + 0.5j, 1.0 - 0.75j, 0.5 + 1.0j], [0.25 + 1.0j, -1.0 + 0.5j, 1.0 - 0.25j]])
V = np.array([[1.5 - 1.0j, 0.5 + 0.25j, -1.5 + 0.5j], [-0.75 + 0.5j, 0.5 - 1.0j, 0.25 + 1.5j]])
OF_ONE = {
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "silu": F.silu,
    "sigmoid": F.sigmoid,
    "tanh": F.tanh,
    "normalize": F.normalize,
    **{f"normalize p={p}": lambda z, p=p: F.normalize(z, p=p) for p in (1, 3, 0.5, np.inf)},
    "weight_norm": lambda z: F.weight_norm(z, pb.tensor([[1.0], [2.0]])),
    "local_response_norm": lambda z: F.local_response_norm(z[None], 2),
}
OF_TWO = {
    "mse_loss": F.mse_loss,
    "l1_loss": F.l1_loss,
    "huber_loss": F.huber_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "pairwise_distance": F.pairwise_distance,
    **{f"pairwise p={p}": lambda z, w, p=p: F.pairwise_distance(z, w, p) for p in (1, 3, 0.5, np.inf, -np.inf)},
    "cosine_similarity": F.cosine_similarity,
    "cosine_embedding_loss": lambda z, w: F.cosine_embedding_loss(z, w, pb.tensor([1, -1]), margin=-1.0),
    "cdist": pb.cdist,
    "dist": pb.dist,
    "linear": F.linear,
}


@pytest.mark.parametrize("name", OF_ONE)
def test_derivatives_of_functions_of_one_complex_array(name):
    z = pb.tensor(Z, requires_grad=True)
    assert gradcheck(OF_ONE[name], (z,), check_forward_ad=True)
    assert gradgradcheck(OF_ONE[name], (z,))


@pytest.mark.parametrize("name", OF_TWO)
def test_derivatives_of_functions_of_two_complex_arrays(name):
    z, w = pb.tensor(Z, requires_grad=True), pb.tensor(W, requires_grad=True)
    assert gradcheck(OF_TWO[name], (z, w), check_forward_ad=True)


def test_triplets_of_complex_points():
    points = tuple(pb.tensor(x, requires_grad=True) for x in (Z, W, V))
    assert gradcheck(lambda *p: F.triplet_margin_loss(*p, margin=5.0), points, check_forward_ad=True)


def test_distances_and_losses_of_complex_numbers_are_real():
    for function in OF_TWO.values():
        if function not in (F.linear, F.cosine_similarity):
            assert function(pb.tensor(Z), pb.tensor(W)).dtype == np.float64
    assert F.triplet_margin_loss(Z, W, V).dtype == np.float64
    assert_close(F.pairwise_distance(Z, W, eps=0.0), np.linalg.norm(Z - W, axis=-1))
    assert_close(F.mse_loss(Z, W), np.mean(np.abs(Z - W) ** 2))


def test_large_complex_arrays_have_the_derivative_of_small_ones():
    z = pb.tensor(np.resize(Z, (40, 50)), requires_grad=True)
    small = pb.tensor(Z, requires_grad=True)
    F.silu(z).real.sum().backward()
    F.silu(small).real.sum().backward()
    assert_close(z.grad, np.resize(small.grad.numpy(), (40, 50)))


def test_normalize_divides_by_the_number_of_nonzero_elements():
    z = pb.tensor([[1.0 + 1.0j, 0.0, 2.0]], requires_grad=True)
    assert_close(F.normalize(z, p=0), [[0.5 + 0.5j, 0.0, 1.0]])
    assert_close(F.normalize(pb.tensor([[3.0, 0.0, 1.0]]), p=0.0), [[1.5, 0.0, 0.5]])


REAL_ONLY = [
    pytest.param(op, id=name)
    for name, op in registry.items()
    if "complex128" in op.refused and op.sample_rule is not None
]


@pytest.mark.parametrize("op", REAL_ONLY)
def test_what_is_defined_for_real_numbers_refuses_complex_ones_with_the_reason(op):
    for sample in samples_of(op):
        operands = sample.inputs()
        if any(is_floating(x) and x.size for x in operands):
            complexes = [pb.tensor(x.astype(complex)) if is_floating(x) else x for x in operands]
            with pytest.raises(TypeError) as caught:
                op(*complexes, **sample.params)
            if op.name not in ("complex", "_fft_r2c", "view_as_complex"):
                assert op.refused["complex128"] in str(caught.value)
            return


def test_writing_in_place_is_refused_as_well():
    z = pb.tensor(Z)
    with pytest.raises(TypeError, match="complex"):
        z.relu_()
    with pytest.raises(TypeError, match="complex"):
        F.elu_(z)
    assert_close(z, Z)
