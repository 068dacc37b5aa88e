"""Layers, activations and losses: value and gradient in native code, with nothing left to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.aot import trace
from pullback.compiler.llvm import compile_llvm

RANDOM = np.random.default_rng(31)


def check(function, *arrays, rtol=1e-10):
    """The gradient by the first operand, native throughout and equal to that of the tape."""
    operands = [pb.tensor(x) for x in arrays]
    gradient = pb.func.grad_and_value(function)
    traced = trace(gradient, *operands)
    assert compile_llvm(traced.graph).left_to_numpy == []
    found = pb.compile(gradient, backend="llvm", fallback="raise")(*operands)
    for out, wanted in zip(found, gradient(*operands), strict=True):
        largest = float(np.abs(wanted.numpy()).max())
        np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=rtol, atol=rtol * largest)


ACTIVATIONS = ["leaky_relu", "hardtanh", "relu6", "hardsigmoid", "hardswish", "softshrink", "hardshrink", "elu", "celu",
               "selu", "softplus", "silu", "mish", "softsign", "relu", "sigmoid", "tanh", "log_sigmoid"]  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(7, 5), (40, 50)])
def test_activations(name, shape):
    function = getattr(pb.nn, name, None) or getattr(pb, name)
    check(lambda x: (function(x) * pb.cos(x)).sum(), RANDOM.normal(size=shape) * 3)


def test_gelu():
    check(lambda x: pb.nn.gelu(x, "tanh").sum(), RANDOM.normal(size=(9, 8)))
    check(lambda x: pb.nn.gelu(x).sum(), RANDOM.normal(size=(9, 8)))


def test_a_masked_softmax():
    def attention(q, k, v):
        scores = q @ pb.swapaxes(k, -1, -2) * 0.25
        scores = pb.masked_fill(scores, pb.tril(pb.ones((12, 12))) == 0, -1e9)
        return (pb.softmax(scores, -1) @ v * v).sum()

    check(attention, *[RANDOM.normal(size=(2, 3, 12, 8)) for _ in range(3)])


@pytest.mark.parametrize("causal", [True, False])
def test_attention(causal):
    def loss(q, k, v):
        return (pb.nn.scaled_dot_product_attention(q, k, v, is_causal=causal) ** 2).sum()

    check(loss, *[RANDOM.normal(size=(2, 3, 12, 8)) for _ in range(3)])


def test_a_norm_and_a_linear_layer():
    def loss(x, weight, bias, gain):
        x = pb.nn.layer_norm(x, (16,), gain, None)
        return (pb.nn.linear(x, weight, bias) ** 2).mean() + pb.nn.rms_norm(x, (16,)).sum()

    check(loss, *[RANDOM.normal(size=shape) for shape in ((20, 16), (6, 16), (6,), (16,))])


@pytest.mark.parametrize("name", ["var", "std", "amax"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_reductions(name, axis):
    check(lambda x: (getattr(pb, name)(x, axis=axis) ** 2).sum(), RANDOM.normal(size=(11, 6)))


def test_the_largest_along_an_axis():
    check(lambda x: (pb.max(x, 1) * pb.min(x, 0).sum()).sum(), RANDOM.normal(size=(11, 6)))


def test_a_loss_of_logits():
    labels = (RANDOM.random((8, 5)) > 0.5).astype(float)
    check(lambda x, y: pb.nn.binary_cross_entropy_with_logits(x, y), RANDOM.normal(size=(8, 5)), labels)


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_triangles(k):
    check(lambda x: (pb.tril(x, k) * x + pb.triu(x, k) * 2).sum(), RANDOM.normal(size=(2, 5, 7)))


def test_numbers_made_of_constants_are_constants():
    """The gradient of a mean begins with one over the number of elements; no kernel computes it."""
    traced = trace(pb.func.grad(lambda x: pb.tanh(x).mean()), pb.tensor(RANDOM.normal(size=(50, 3))))
    made = compile_llvm(traced.graph)
    assert [kernel["loops"] for kernel in made.kernels()] == [(150,)]
