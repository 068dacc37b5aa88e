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


@pytest.mark.parametrize("options", [
    {}, {"padding": 1}, {"padding": (2, 0), "dilation": (1, 2)}, {"groups": 2, "padding": 1}, {"padding": 3},
])  # fmt: skip
def test_convolutions(options):
    """The gradients by the image and by the weights."""
    shape = (4, 4 // options.get("groups", 1), 3, 2)
    image, weight = RANDOM.normal(size=(2, 4, 9, 8)), RANDOM.normal(size=shape)
    check(lambda x, w: (pb.nn.conv2d(x, w, **options) ** 3).sum(), image, weight)
    check(lambda w, x: (pb.nn.conv2d(x, w, **options) ** 3).sum(), weight, image)


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_with_strides_along_a_line_and_in_space(stride):
    line, space = RANDOM.normal(size=(3, 2, 10)), RANDOM.normal(size=(1, 2, 5, 4, 6))
    check(lambda w, x: (pb.nn.conv1d(x, w, stride=stride) ** 2).sum(), RANDOM.normal(size=(5, 2, 3)), line)
    check(lambda w, x: (pb.nn.conv3d(x, w, stride=stride) ** 2).sum(), RANDOM.normal(size=(3, 2, 2, 2, 2)), space)


@pytest.mark.parametrize("window, options", [(2, {}), ((3, 2), {"stride": (1, 2)}), (3, {"stride": 2, "dilation": 2})])
def test_max_pooling(window, options):
    check(lambda x: (pb.nn.max_pool2d(x, window, **options) ** 2).sum(), RANDOM.normal(size=(2, 3, 9, 8)))


def test_the_first_of_equal_elements_and_of_nans_is_the_largest():
    image = pb.tensor(np.array([[[[0.0, -0.0, 1.0, np.nan], [-0.0, 0.0, np.nan, 1.0]]]]))
    pool = lambda x: pb.nn.max_pool2d(x, 2, return_indices=True)
    for out, wanted in zip(pb.compile(pool, backend="llvm")(image), pool(image), strict=True):
        assert out.numpy().tobytes() == wanted.numpy().tobytes()


def test_norms_and_what_moves_elements():
    x = RANDOM.normal(size=(6, 3))
    for order in (1, 2, 3, np.inf):
        check(lambda x, order=order: pb.linalg.norm(x, order, axis=0).sum(), x)
    check(lambda x: (pb.roll(x, (2, -1), (0, 1)) * pb.sin(x)).sum(), x)
    check(lambda x: (pb.cross(x, pb.roll(x, 1, 0)) ** 2).sum(), x)
    check(lambda x: (pb.pad(x, ((1, 2), (0, 3))) ** 3).sum(), x)
    check(lambda x: (pb.diag(x[:, 0], 1) @ pb.diag(x[:, 1], -1)).sum(), x)


def test_formulas_with_logarithms():
    x, y = RANDOM.uniform(0.1, 0.9, (2, 40))
    check(lambda x, y: (pb.special.xlogy(x, y) + pb.special.xlog1py(y, x) + pb.special.logit(x)).sum(), x, y)
    check(lambda x, y: pb.nn.binary_cross_entropy(x, y), x, y)
