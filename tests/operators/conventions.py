"""The table of gradients at ties, singular points and edges, in the order of the specification's sections.

A row has a function, where it is differentiated, and the gradient of the weighted sum of its results there. An operand
whose gradient is None is a constant. Rows are checked in both modes by `test_conventions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pullback as pb

F = pb.nn
norm, matrix_norm = pb.linalg.vector_norm, pb.linalg.matrix_norm
inf, nan = math.inf, math.nan


@dataclass(frozen=True)
class Convention:
    """The gradient of `sum(weight * function(*operands))`, one per operand, None where there is none to ask for."""

    name: str
    function: Callable[..., Any]
    operands: tuple[Any, ...]
    gradients: tuple[Any, ...]
    weight: Any = 1.0


def case(name, function, operands, gradients, weight=1.0):
    """A row; operands and gradients are lists with one entry per operand, and numbers stand for arrays without axes."""
    arrays = tuple(np.asarray(x) for x in operands)
    expected = tuple(None if g is None else np.asarray(g, x.dtype) for g, x in zip(gradients, arrays, strict=True))
    return Convention(name, function, arrays, expected, weight)


def at(name, function, points):
    """Rows of a function of numbers: a point, or a tuple of them, and the partial derivatives there."""
    for point, partials in points:
        operands = point if isinstance(point, tuple) else (point,)
        given = partials if isinstance(partials, tuple) else (partials,)
        yield case(f"{name}{operands}", function, operands, given)


TIES = [
    case("max of equals", pb.max, [[1.0, 3.0, 3.0]], [[0, 0.5, 0.5]]),
    case("amax of equals", lambda x: pb.amax(x, axis=0), [[[1.0, 2.0], [1.0, 3.0]]], [[[0.5, 0], [0.5, 1]]]),
    case("min of equals", pb.min, [[1.0, 1.0, 3.0, 1.0]], [[1 / 3, 1 / 3, 0, 1 / 3]]),
    case("amin of equals", lambda x: pb.amin(x, axis=1, keepdims=True), [[[1.0, 1.0]]], [[[0.5, 0.5]]]),
    case("max_with_indices", lambda x: pb.max_with_indices(x, 0)[0], [[1.0, 3.0, 3.0]], [[0, 1, 0]]),
    case("argmax and take", lambda x: x[pb.argmax(x)], [[1.0, 3.0, 3.0]], [[0, 1, 0]]),
    case("kthvalue", lambda x: pb.kthvalue(x, 2)[0], [[3.0, 1.0, 3.0]], [[1, 0, 0]]),
    case("max with NaN", pb.max, [[1.0, nan, nan]], [[0, 0.5, 0.5]]),
    case("amax with NaN", lambda x: pb.amax(x, axis=1), [[[nan, 2.0], [3.0, 2.0]]], [[[1, 0], [1, 0]]]),
    case("min with NaN", pb.min, [[nan, 0.0]], [[1, 0]]),
    *at("maximum", pb.maximum, [((2.0, 2.0), (0.5, 0.5)), ((nan, 1.0), (1, 0)), ((1.0, nan), (0, 1))]),
    *at("maximum", pb.maximum, [((nan, nan), (0.5, 0.5)), ((inf, inf), (0.5, 0.5))]),
    *at("minimum", pb.minimum, [((2.0, 2.0), (0.5, 0.5)), ((nan, 1.0), (1, 0)), ((1.0, nan), (0, 1))]),
    *at("fmax", pb.fmax, [((2.0, 2.0), (0.5, 0.5)), ((nan, 1.0), (0, 1)), ((1.0, nan), (1, 0))]),
    *at("fmin", pb.fmin, [((2.0, 2.0), (0.5, 0.5)), ((nan, 1.0), (0, 1)), ((1.0, nan), (1, 0))]),
    case("sort of equals", pb.sort, [[2.0, 1.0, 2.0, 1.0]], [[3, 1, 4, 2]], [1, 2, 3, 4]),
    case(
        "sort of equals, descending", lambda x: pb.sort(x, descending=True), [[2.0, 1.0, 2.0, 1.0]], [[1, 3, 2, 4]],
        [1, 2, 3, 4],
    ),
    case("topk of equals", lambda x: pb.topk(x, 2)[0], [[1.0, 3.0, 3.0, 3.0]], [[0, 1, 2, 0]], [1, 2]),
    case("cummax of equals", lambda x: pb.cummax(x, 0)[0], [[1.0, 3.0, 3.0, 2.0]], [[1, 2, 12, 0]], [1, 2, 4, 8]),
    case("median of an even number", pb.median, [[4.0, 1.0, 3.0, 2.0]], [[0, 0, 0.5, 0.5]]),
    case("median of equals", pb.median, [[2.0, 1.0, 2.0, 2.0, 3.0]], [[1 / 3, 0, 1 / 3, 1 / 3, 0]]),
    case("median between equals", pb.median, [[1.0, 1.0, 2.0, 2.0, 2.0, 1.0]], [[1 / 6] * 6]),
    case("median with NaN", pb.median, [[1.0, nan, nan]], [[0, 0.5, 0.5]]),
    case("nanmedian of equals", pb.nanmedian, [[2.0, nan, 2.0, 1.0, 2.0, 3.0]], [[1 / 3, 0, 1 / 3, 0, 1 / 3, 0]]),
    case("nanmedian between equals", pb.nanmedian, [[2.0, 1.0, nan, 2.0, 1.0]], [[0.25, 0.25, 0, 0.25, 0.25]]),
    case("nanmedian of nothing but NaN", pb.nanmedian, [[nan, nan]], [[0, 0]]),
    case("quantile", pb.quantile, [[1.0, 2.0, 4.0], 0.3], [[0.4, 0.6, 0], 2.0]),
    case("max_pool of equals", lambda x: F.max_pool1d(x, 2), [[[[2.0, 2.0, 1.0, 1.0]]]], [[[[1, 0, 1, 0]]]]),
    case("max_pool with NaN", lambda x: F.max_pool1d(x, 3), [[[[5.0, nan, 1.0]]]], [[[[0, 1, 0]]]]),
    case(
        "max_pool2d of equals", lambda x: F.max_pool2d(x, 2), [[[[[1.0, 2.0], [2.0, 2.0]]]]], [[[[[0, 1], [0, 0]]]]]
    ),
    case("unique_values", pb.unique_values, [[2.0, 1.0, 2.0]], [[10, 1, 0]], [1, 10]),
    case("nanmax of equals", pb.nanmax, [[nan, 3.0, 3.0]], [[0, 0.5, 0.5]]),
    case("nanmin", pb.nanmin, [[nan, 3.0, 1.0]], [[0, 0, 1]]),
    case("nanmedian", pb.nanmedian, [[nan, 3.0, 1.0, 2.0, 4.0]], [[0, 0.5, 0, 0.5, 0]]),
    case("nanquantile", lambda x: pb.nanquantile(x, 0.25), [[1.0, nan, 2.0, 4.0]], [[0.5, 0, 0.5, 0]]),
    case(
        "scatter_reduce amax of equals", lambda b, s: pb.scatter_reduce(b, 0, np.array([0, 0, 1]), s, "amax"),
        [[3.0, 0.0], [3.0, 3.0, 1.0]], [[1 / 3, 0], [1 / 3, 1 / 3, 1]],
    ),
]  # fmt: skip

SINGULAR_POINTS = [
    *at("abs", pb.abs, [(0.0, 0), (-0.0, 0), (nan, nan)]),
    *at("sign", pb.sign, [(0.0, 0), (2.0, 0)]),
    *at("floor", pb.floor, [(0.0, 0), (1.5, 0)]),
    *at("round", pb.round, [(0.5, 0), (1.0, 0)]),
    *at("trunc", pb.trunc, [(0.0, 0), (-1.5, 0)]),
    *at("heaviside", pb.heaviside, [((0.0, 0.5), (0, 1)), ((1.0, 0.5), (0, 0))]),
    *at("sqrt", pb.sqrt, [(0.0, inf)]),
    *at("cbrt", pb.cbrt, [(0.0, inf)]),
    *at("rsqrt", pb.rsqrt, [(0.0, -inf)]),
    *at("log", pb.log, [(0.0, inf), (-0.0, -inf)]),
    *at("log1p", pb.log1p, [(-1.0, inf)]),
    *at("asin", pb.asin, [(1.0, inf), (-1.0, inf)]),
    *at("acosh", pb.acosh, [(1.0, inf)]),
    *at("atanh", pb.atanh, [(1.0, inf)]),
    *at("logit", pb.logit, [(0.0, inf), (1.0, inf)]),
    *at("pow", pb.pow, [((0.0, 0.0), (0, 0)), ((nan, 0.0), (0, nan))]),
    *at("pow with the constant exponent 0", lambda x: pb.pow(x, 0), [(0.0, 0), (nan, 0), (2.0, 0)]),
    *at("pow", pb.pow, [((0.0, 1.0), (1, 0)), ((0.0, 2.0), (0, 0)), ((0.0, 0.5), (inf, 0))]),
    *at("pow", pb.pow, [((0.0, -1.0), (-inf, -inf)), ((-2.0, 2.0), (-4, nan)), ((-2.0, 3.0), (12, nan))]),
    *at("divide", pb.divide, [((1.0, 0.0), (inf, -inf)), ((-1.0, 0.0), (inf, inf)), ((0.0, 0.0), (inf, nan))]),
    *at("remainder", pb.remainder, [((7.0, 3.0), (1, -2)), ((6.0, 3.0), (1, -2)), ((-7.0, 3.0), (1, 3))]),
    *at("fmod", pb.fmod, [((7.0, 3.0), (1, -2)), ((6.0, 3.0), (1, -2)), ((-7.0, 3.0), (1, 2))]),
    *at("floor_divide", pb.floor_divide, [((7.0, 3.0), (0, 0)), ((6.0, 3.0), (0, 0))]),
    *at("hypot", pb.hypot, [((0.0, 0.0), (0, 0))]),
    *at("atan2", pb.atan2, [((0.0, 0.0), (0, 0))]),
    *at("copysign", pb.copysign, [((0.0, -1.0), (0, 0)), ((2.0, -1.0), (-1, 0))]),
    *at("xlogy", pb.xlogy, [((0.0, 0.0), (0, 0)), ((0.0, 2.0), (math.log(2), 0))]),
    *at("rel_entr", pb.special.rel_entr, [((0.0, 2.0), (0, 0)), ((0.0, 0.0), (0, 0))]),
    case(
        "kl_div with a target of 0", lambda x, t: F.kl_div(x, t, reduction="sum"),
        [[-1.0, -2.0], [0.0, 1.0]], [[0, -1], [0, 3]],
    ),
    *at("sinc", pb.sinc, [(0.0, 0)]),
    *at("nextafter", pb.nextafter, [((1.0, 2.0), (1, 0))]),
    *at("ndtri", pb.special.ndtri, [(0.0, inf), (1.0, inf)]),
    *at("erfinv", pb.special.erfinv, [(1.0, inf), (-1.0, inf)]),
    *at("boxcox", pb.special.boxcox, [((2.0, 0.0), (0.5, math.log(2) ** 2 / 2))]),
    *at("gammainc", pb.special.gammainc, [((1.0, 1.0), (-0.43172971063489873, math.exp(-1)))]),
    *at("betainc", pb.special.betainc, [((1.0, 1.0, 0.5), (-0.346573590280, 0.346573590280, 1))]),
    *at("zeta", pb.special.zeta, [((2.0, 1.0), (None, -2.404113806319))]),
]  # fmt: skip

STATISTICS = [
    case("prod with a zero", pb.prod, [[2.0, 0.0, 3.0]], [[0, 6, 0]]),
    case("prod with two zeros", pb.prod, [[0.0, 0.0, 3.0]], [[0, 0, 0]]),
    case("prod with an infinity", pb.prod, [[inf, 2.0]], [[2, inf]]),
    case("cumprod with a zero", lambda x: pb.cumprod(x, 0), [[2.0, 0.0, 3.0]], [[1, 8, 0]]),
    *(
        case(f"vector_norm of order {order} at 0", lambda x, p=order: norm(x, ord=p), [[0.0, 0.0]],
             [[0, 0]])
        for order in (1, 1.5, 2, 3, inf, -inf)
    ),
    case("vector_norm below order 1", lambda x: norm(x, ord=0.5), [[0.0, 4.0]], [[0, 1]]),
    case("vector_norm inf of equals", lambda x: norm(x, ord=inf), [[3.0, -3.0, 1.0]], [[0.5, -0.5, 0]]),
    case("vector_norm -inf of equals", lambda x: norm(x, ord=-inf), [[-1.0, 1.0, 2.0]], [[-0.5, 0.5, 0]]),
    case("vector_norm -inf with a zero", lambda x: norm(x, ord=-inf), [[0.0, 2.0]], [[0, 0]]),
    case("matrix_norm 1", lambda x: matrix_norm(x, ord=1), [[[0.0, 3.0], [2.0, -3.0]]], [[[0, 1], [0, -1]]]),
    case("matrix_norm 1 of equals", lambda x: matrix_norm(x, ord=1), [[[0.0, 2.0], [2.0, 0.0]]],
         [[[0, 0.5], [0.5, 0]]]),
    case("matrix_norm -1", lambda x: matrix_norm(x, ord=-1), [[[0.0, 3.0], [2.0, -3.0]]], [[[0, 0], [1, 0]]]),
    case("matrix_norm inf", lambda x: matrix_norm(x, ord=inf), [[[0.0, 3.0], [2.0, -3.0]]],
         [[[0, 0], [1, -1]]]),
    case("matrix_norm -inf", lambda x: matrix_norm(x, ord=-inf), [[[0.0, 3.0], [2.0, -3.0]]],
         [[[0, 1], [0, 0]]]),
    case("matrix_norm 2", lambda x: matrix_norm(x, ord=2), [[[3.0, 0.0], [0.0, -1.0]]], [[[1, 0], [0, 0]]]),
    case("matrix_norm -2", lambda x: matrix_norm(x, ord=-2), [[[3.0, 0.0], [0.0, -1.0]]], [[[0, 0], [0, -1]]]),
    case("matrix_norm nuc", lambda x: matrix_norm(x, ord="nuc"), [[[3.0, 0.0], [0.0, -1.0]]],
         [[[1, 0], [0, -1]]]),
    case("matrix_norm fro at 0", lambda x: matrix_norm(x), [[[0.0, 0.0]]], [[[0, 0]]]),
    case("std without variance", lambda x: pb.std(x, correction=1), [[2.0, 2.0, 2.0]], [[0, 0, 0]]),
    case("std of one number", lambda x: pb.std(x, correction=0), [[2.0]], [[0]]),
    case("var of one number, correction 1", lambda x: pb.var(x, correction=1), [[2.0]], [[nan]]),
    case("var of two numbers, correction 2", lambda x: pb.var(x, correction=2), [[1.0, 2.0]], [[-inf, inf]]),
    case("cdist of coincident points", pb.cdist, [[[1.0, 2.0]], [[1.0, 2.0]]], [[[0, 0]], [[0, 0]]]),
    case("dist of coincident points", pb.dist, [[1.0, 2.0], [1.0, 2.0]], [[0, 0], [0, 0]]),
    case("pairwise_distance of coincident points", F.pairwise_distance, [[[1.0, 2.0]], [[1.0, 2.0]]],
         [[[0.5**0.5, 0.5**0.5]], [[-(0.5**0.5), -(0.5**0.5)]]]),
    case("normalize of 0", lambda x: F.normalize(x, dim=0), [[0.0, 0.0]], [[1e12, 1e12]]),
    case("cosine_similarity of 0", lambda x, y: F.cosine_similarity(x, y, dim=0), [[0.0, 0.0], [3.0, 4.0]],
         [[0.6e8, 0.8e8], [0, 0]]),
    case("nanmean of NaN alone", pb.nanmean, [[nan, nan]], [[0, 0]]),
    case("nanstd of NaN alone", pb.nanstd, [[nan, nan]], [[0, 0]]),
    case("nanstd without variance", pb.nanstd, [[nan, 2.0, 2.0]], [[0, 0, 0]]),
    case("nanmean", pb.nanmean, [[nan, 1.0, 3.0]], [[0, 0.5, 0.5]]),
    case("logcumsumexp with -inf", lambda x: pb.logcumsumexp(x, 0), [[-inf, -inf, 1.0]], [[0, 0, 1]]),
    case("interp at knots and outside", lambda x: pb.interp(x, [0.0, 1.0, 3.0], [0.0, 1.0, 5.0]),
         [[0.0, 1.0, 2.0, -1.0, 9.0]], [[1, 2, 2, 0, 0]]),
    case("interp in its knots", lambda xp, fp: pb.interp(np.array([0.5]), xp, fp), [[0.0, 1.0], [0.0, 2.0]],
         [[-1, -1], [0.5, 0.5]]),
    case("bincount weights", lambda w: pb.bincount(np.array([0, 1, 1]), weights=w), [[1.0, 2.0, 3.0]], [[1, 10, 10]],
         [1, 10]),
    case("histogram weights", lambda w: pb.histogram(np.array([0.1, 0.9, 0.8]), bins=2, range=(0, 1), weights=w)[0],
         [[1.0, 2.0, 3.0]], [[1, 10, 10]], [1, 10]),
    case("linspace ends", lambda a, b: pb.linspace(a, b, 3), [0.0, 1.0], [1.5, 1.5]),
    case("full value", lambda v: pb.full((2, 3), v), [2.0], [6]),
]  # fmt: skip

MASKED = np.array([[True, True], [False, False]])

MASKING = [
    case("apply_where avoids the infinite side", lambda x: pb.apply_where(x > 0, x, pb.sqrt, fill_value=0.0),
         [[0.0, 4.0]], [[0, 0.25]]),
    case("the double where", lambda x: pb.where(x > 0, pb.sqrt(pb.where(x > 0, x, 1.0)), 0.0),
         [[0.0, 4.0]], [[0, 0.25]]),
    *at("clip", pb.clip, [((1.0, 1.0, 3.0), (1, 0, 0)), ((3.0, 1.0, 3.0), (1, 0, 0)), ((0.0, 1.0, 3.0), (0, 1, 0))]),
    *at("clip", pb.clip, [((4.0, 1.0, 3.0), (0, 0, 1)), ((nan, 1.0, 3.0), (0, 0, 0)), ((2.0, 5.0, 3.0), (0, 0, 1))]),
    *at("clip with numbers", lambda x: pb.clip(x, 0, 1), [(0.0, 1), (1.0, 1), (nan, 0)]),
    *at("logaddexp", pb.logaddexp, [((-inf, -inf), (0, 0)), ((inf, inf), (0.5, 0.5)), ((inf, 1.0), (1, 0))]),
    case("logsumexp of -inf alone", pb.logsumexp, [[-inf, -inf]], [[0, 0]]),
    case("logsumexp with inf", pb.logsumexp, [[inf, 1.0, inf]], [[0.5, 0, 0.5]]),
    case("softmax of -inf alone", lambda x: pb.softmax(x, 0), [[-inf, -inf]], [[nan, nan]]),
    case(
        "attention with a row masked entirely",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=MASKED)[..., 1, :],
        [np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1))], [np.zeros((2, 1))] * 3,
    ),
    *at("relu", pb.relu, [(0.0, 0), (nan, 1)]),
    *at("elu", lambda x: F.elu(x, 2.0), [(0.0, 2)]),
    *at("hardswish", F.hardswish, [(-3.0, 0), (3.0, 1)]),
    *at("dropout with p=1", lambda x: F.dropout(x, 1.0), [(2.0, 0)]),
    *at("maximum with 0", lambda x: pb.maximum(x, 0), [(0.0, 0.5)]),
    *at("leaky_relu", lambda x: F.leaky_relu(x, 0.25), [(0.0, 0.25)]),
    case("prelu", F.prelu, [[[0.0, 1.0]], [0.25]], [[[0.25, 1]], [0]]),
    *at("hardtanh", F.hardtanh, [(-1.0, 0), (1.0, 0)]),
    *at("relu6", F.relu6, [(0.0, 0), (6.0, 0)]),
    *at("hardsigmoid", F.hardsigmoid, [(-3.0, 0), (3.0, 0)]),
    *at("softshrink", F.softshrink, [(0.5, 0), (-0.5, 0)]),
    *at("hardshrink", F.hardshrink, [(0.5, 0), (-0.5, 0)]),
    *at("threshold", lambda x: F.threshold(x, 1.0, 9.0), [(1.0, 0)]),
    *at("gelu", F.gelu, [(inf, nan), (-inf, nan)]),
    *at("silu", F.silu, [(inf, nan), (-inf, nan)]),
    case("l1_loss at equality", F.l1_loss, [[1.0, 2.0], [1.0, 2.0]], [[0, 0], [0, 0]]),
    case("smooth_l1_loss at equality", F.smooth_l1_loss, [[1.0, 2.0], [1.0, 2.0]], [[0, 0], [0, 0]]),
    case("huber_loss at equality", F.huber_loss, [[1.0, 2.0], [1.0, 2.0]], [[0, 0], [0, 0]]),
    case("binary_cross_entropy at certainty", F.binary_cross_entropy, [[0.0, 1.0], [0.0, 1.0]], [[0, 0], None]),
    case("cross_entropy of ignored rows", lambda x: F.cross_entropy(x, np.array([-100, -100])),
         [[[1.0, 2.0], [3.0, 4.0]]], [[[0, 0], [0, 0]]]),
    case("layer_norm of a constant row", lambda x: F.layer_norm(x, (2,), eps=0.25), [[3.0, 3.0]], [[2, -2]], [2, 0]),
    case("layer_norm of a constant row, eps 0", lambda x: F.layer_norm(x, (2,), eps=0.0), [[3.0, 3.0]], [[nan, nan]]),
]  # fmt: skip

COMPLEX = [
    case("a real loss", lambda z: pb.abs(z) ** 2, [3 + 4j], [6 + 8j]),
    case("a holomorphic function", lambda z: z * z, [3 + 4j], [6 - 8j]),
    case("exp", pb.exp, [1 + 2j], [np.conj(np.exp(1 + 2j))]),
    case("the imaginary part as loss", lambda z: (z * z).imag, [3 + 4j], [8 + 6j]),
    case("a real operand of a complex result", lambda x: x * (1 + 2j), [3.0], [1]),
    case("a cast to real", lambda z: pb.real(z), [3 + 4j], [1 + 0j]),
    case("abs at 0", pb.abs, [0j], [0]),
    case("angle at 0", pb.angle, [0j], [0]),
    case("sgn at 0", pb.sgn, [0j], [0]),
    *at("angle of a real number", pb.angle, [(0.0, 0), (2.0, 0), (-2.0, 0)]),
    # The derivative of z / |z| turns with the phase: for w = u + iv, i * Im(conj(u) w) / |z| along w.
    case("sign keeps the phase's derivative", pb.sign, [3 + 4j], [(16 - 12j) / 125]),
    case("max of complex numbers", pb.max, [[1 + 1j, 2 + 0j, 1 + 9j]], [[0, 1, 0]]),
    case("sort of complex numbers", pb.sort, [[1 + 9j, 2 + 0j, 1 + 1j]], [[2, 4, 1]], [1, 2, 4]),
    case("a norm at 0", norm, [[0j, 0j]], [[0, 0]]),
    case("a norm", norm, [[3j, 4 + 0j]], [[0.6j, 0.8]]),
    case("prod with a zero", pb.prod, [[2j, 0j]], [[0, -2j]]),
    case("cumprod with a zero", lambda z: pb.cumprod(z, 0), [[2j, 0j, 3 + 0j]], [[1, -8j, 0]]),
    case("std without variance", pb.std, [[1 + 1j, 1 + 1j]], [[0, 0]]),
    case("irfft ignores the imaginary part of DC and Nyquist", lambda z: pb.fft.irfft(z, n=2),
         [[1 + 1j, 2 + 2j]], [[0.5, 1.5]], [2.0, -1.0]),
]  # fmt: skip

INDEXING = [
    case("a read with repeats", lambda x: x[[0, 0, 1]], [[1.0, 2.0]], [[3, 4]], [1, 2, 4]),
    case("repeat", lambda x: pb.repeat(x, 2), [[1.0, 2.0]], [[3, 12]], [1, 2, 4, 8]),
    case("tile", lambda x: pb.tile(x, 2), [[1.0, 2.0]], [[5, 10]], [1, 2, 4, 8]),
    case("pad by the edge", lambda x: pb.pad(x, ((1, 1),), mode="edge"), [[1.0, 2.0]], [[3, 12]], [1, 2, 4, 8]),
    case("index_add", lambda x, v: pb.index_add(x, 0, np.array([1, 1]), v), [[1.0, 2.0], [3.0, 4.0]],
         [[1, 2], [2, 2]], [1, 2]),
    case("a write with repeats", lambda x, v: written(x, [0, 0, 1], v), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
         [[0, 0, 4], [0, 1, 2]], [1, 2, 4]),
    case("a mask", lambda x: x[np.array([True, False, True])], [[1.0, 2.0, 3.0]], [[1, 0, 2]], [1, 2]),
    case("a write through a mask", lambda x, v: written(x, np.array([True, False, True]), v),
         [[1.0, 2.0, 3.0], [4.0, 5.0]], [[0, 2, 0], [1, 4]], [1, 2, 4]),
    case("broadcasting keeps axes of length 1", lambda x: pb.broadcast_to(x, (2, 3)), [[[1.0], [2.0]]], [[[3], [3]]]),
    case("broadcasting new axes", lambda x: pb.broadcast_to(x, (2, 3)), [[1.0, 2.0, 3.0]], [[2, 2, 2]]),
    case("adjacent advanced indices", lambda x: x[:, [0, 1], [0, 1]], [np.ones((1, 2, 2))], [[[[1, 0], [0, 2]]]],
         [[1, 2]]),
    case("nothing", lambda x: pb.sum(x * x), [np.ones((0, 3))], [np.zeros((0, 3))]),
    case("a read of nothing", lambda x: x[1:1], [[1.0, 2.0]], [[0, 0]]),
]  # fmt: skip


def written(x, index, values):
    """`x` with `values` written to `index`."""
    x = x.clone()
    x[index] = values
    return x


SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
PROJECTOR = [[1.0, 0.0], [0.0, 0.0]]
DIAGONAL = np.diag([2.0, 2.0, 3.0])


ALGEBRA = [
    case("cholesky reads one triangle, and the other gets nothing", pb.linalg.cholesky, [[[4.0, 99.0], [2.0, 5.0]]],
         [[[0.1875, 0.0], [0.25, 0.25]]]),
    case("eigvalsh of asymmetric storage", pb.linalg.eigvalsh, [[[2.0, 99.0], [0.0, 3.0]]], [[[1, 0], [0, 1]]]),
    case("det at rank n - 1", pb.linalg.det, [SINGULAR], [[[4, -2], [-2, 1]]]),
    case("det at rank n - 2", pb.linalg.det, [np.diag([1.0, 0.0, 0.0])], [np.zeros((3, 3))]),
    case("det of 0", pb.linalg.det, [np.zeros((2, 2))], [np.zeros((2, 2))]),
    case("slogdet of a singular matrix", lambda a: pb.linalg.slogdet(a)[1], [SINGULAR], [np.full((2, 2), nan)]),
    case("eigvalsh at a degeneracy", pb.linalg.eigvalsh, [DIAGONAL], [np.eye(3)]),
    case("svdvals at a degeneracy", pb.linalg.svdvals, [np.eye(2)], [np.eye(2)]),
    case("eigh values beside unused vectors", lambda a: pb.linalg.eigh(a)[0], [DIAGONAL], [np.eye(3)]),
    case("svd values beside unused vectors", lambda a: pb.linalg.svd(a)[1], [np.eye(2)], [np.eye(2)]),
    case("svd with full matrices", lambda a: pb.linalg.svd(a, full_matrices=True)[1], [[[3.0], [4.0]]],
         [[[0.6], [0.8]]]),
    case("qr complete", lambda a: pb.linalg.qr(a, mode="complete")[1], [[[3.0], [4.0]]], [[[-0.6], [-0.8]]]),
    case("qr mode r", lambda a: pb.linalg.qr(a, mode="r"), [[[3.0], [4.0]]], [[[-0.6], [-0.8]]]),
    case("pinv at constant rank", pb.linalg.pinv, [PROJECTOR], [[[-1, 1], [1, 0]]]),
    case("lstsq residuals", lambda a, b: pb.linalg.lstsq(a, b)[1], [[[1.0], [1.0]], [[0.0], [2.0]]],
         [[[2], [-2]], [[-2], [2]]]),
    case("solve_triangular reads one triangle", lambda a, b: pb.linalg.solve_triangular(a, b, upper=False),
         [[[2.0, 99.0], [0.0, 1.0]], [[2.0], [3.0]]], [[[-0.5, 0], [-1, -3]], [[0.5], [1]]]),
]  # fmt: skip

SECTIONS = {
    "6.1 ties": TIES,
    "6.2 singular points": SINGULAR_POINTS,
    "6.3 statistics": STATISTICS,
    "6.4 masking": MASKING,
    "6.5 complex": COMPLEX,
    "6.6 indexing": INDEXING,
    "6.7 algebra": ALGEBRA,
}
