"""Where arrays lie so that vectors are full: short rows column by column, transposed arrays as they are; and products
with an identity, which are none."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.plan.columns import SHORT_ROW
from pullback.compiler.plan.launches import Launch
from pullback.compiler.plan.tiles import Tiled
from pullback.core import threads
from tests.compiler.graphs import Builder
from tests.compiler.native import run

RANDOM = np.random.default_rng(41)


def commands(made):
    """All commands, those of tiles among them."""
    for segment in made.segments:
        for command in segment.plan.commands:
            yield from [part.command for part in command.parts] if isinstance(command, Tiled) else [command]


def vectors(made, rows):
    """The lengths of the axes that vectors lie along, where loops go through all rows."""
    kernels = [each.kernel for each in commands(made) if isinstance(each, Launch)]
    return [kernel.lengths[kernel.vector_axis] for kernel in kernels if rows in kernel.lengths]


# Short rows.


def scores(b):
    """Sums of squares of short rows, their softmax, and what of each row another array says."""
    x, w, places = b.inputs
    offsets = b("_reshape", b("matmul", x, w), shape=(x.type.shape[0], 5, 2))
    weights = b("softmax", b("sum", b("multiply", offsets, offsets), axis=(2,), keepdims=False), axis=(1,))
    chosen = b("_gather", weights, places, axis=1, distinct=True)
    squares = b("multiply", b("expand_dims", weights, axis=(2,)), offsets)
    total = b("sum", squares, axis=(0,), keepdims=False)
    back = b("matmul", b("permute_dims", x, axes=(1, 0)), b("_reshape", squares, shape=(x.type.shape[0], 10)))
    return b.output(b("sum", chosen, axis=(0,), keepdims=False), total, back)


def with_short_rows(rows):
    places = RANDOM.integers(0, 5, size=(rows, 1))
    b = Builder(RANDOM.normal(size=(rows, 3)), RANDOM.normal(size=(3, 10)), places)
    scores(b)
    return b


@pytest.mark.parametrize("rows", [128, 1000, 1003])
def test_vectors_lie_across_short_rows(rows):
    made = run(with_short_rows(rows), lambda out, wanted: np.allclose(out, wanted, rtol=1e-12))
    assert min(vectors(made, rows)) >= SHORT_ROW


def test_few_rows_lie_as_they_are():
    made = run(with_short_rows(20), lambda out, wanted: np.allclose(out, wanted, rtol=1e-12))
    assert min(vectors(made, 20)) < SHORT_ROW


def mixture(x, centers, scale):
    offsets = (x @ scale).reshape(len(x), 25, 10) - centers
    return pb.logsumexp(-0.5 * (offsets * offsets).sum(2), 1).sum()


def test_tiles_of_short_rows_give_the_same_with_any_number_of_threads():
    operands = [pb.tensor(RANDOM.normal(size=shape)) for shape in ((1003, 10), (25, 10), (10, 250))]
    gradient = pb.func.grad(mixture, (0, 1, 2))
    found, before = [], threads.get_num_threads()
    call = pb.compile(gradient, backend="llvm", fallback="raise")
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            found.append([each.numpy() for each in call(*operands)])
    finally:
        threads.set_num_threads(before)
    for one, two, three, wanted in zip(*found, gradient(*operands), strict=True):
        assert one.tobytes() == two.tobytes() == three.tobytes()
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-9, atol=1e-12)


# Products with an identity.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_left", [True, False])
def test_a_product_with_an_identity_is_the_other_matrix(is_left, dtype):
    x, eye = RANDOM.normal(size=(40, 40)).astype(dtype), np.eye(40, dtype=dtype)
    x[3, 4], x[5, 6], x[7, 8], x[9, 1], x[9, 2] = np.inf, np.nan, -0.0, -np.inf, np.inf
    multiply = lambda x: pb.asarray(eye) @ x if is_left else x @ pb.asarray(eye)
    call = pb.compile(multiply, backend="llvm", fallback="raise")
    out = call(pb.asarray(x)).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, eye @ x if is_left else x @ eye)
    assert not np.signbit(out[7, 8]) and out.dtype == dtype
    assert not any("gemm" in kernel["operators"] for kernel in call.kernels())


def test_a_product_with_another_constant_is_one():
    x, known = RANDOM.normal(size=(40, 40)), np.eye(40)
    known[3, 7] = 2
    call = pb.compile(lambda x: pb.asarray(known) @ x, backend="llvm", fallback="raise")
    np.testing.assert_allclose(call(pb.asarray(x)).numpy(), known @ x, rtol=1e-12)


# Transposed arrays.


def test_a_hessian_reads_the_features_as_they_lie_and_multiplies_once():
    x, y = RANDOM.normal(size=(2000, 30)), RANDOM.normal(size=2000)
    loss = lambda w, x, y: (pb.log1p(pb.exp(x @ w)) * y).mean()
    hessian = pb.compile(pb.func.hessian(loss), backend="llvm", fallback="raise")
    w = RANDOM.normal(size=30)
    chance = 1 / (1 + np.exp(-x @ w))
    wanted = (x * (chance * (1 - chance) * y / 2000)[:, None]).T @ x
    np.testing.assert_allclose(hessian(*map(pb.asarray, (w, x, y))).numpy(), wanted, rtol=1e-9, atol=1e-12)
    assert sum("gemm" in kernel["operators"] for kernel in hessian.kernels()) == 1


def test_operators_on_a_transposed_array_go_along_its_memory():
    b = Builder(RANDOM.normal(size=(300, 70)), RANDOM.normal(size=300), RANDOM.normal(size=(70, 1)))
    x, of_columns, of_rows = b.inputs
    turned = b("permute_dims", x, axes=(1, 0))
    scaled = b("multiply", b("multiply", turned, of_columns), of_rows)
    b.output(b("sum", scaled, axis=(0,), keepdims=False))
    assert [kernel["loops"] for kernel in run(b).kernels()] == [(300, 70)]


def test_axes_of_a_reduction_are_those_of_the_memory():
    b = Builder(RANDOM.normal(size=(6, 7, 8)))
    turned = b("permute_dims", b.inputs[0], axes=(2, 0, 1))
    doubled = b("multiply", turned, 2.0)
    for axis, keepdims in (((0,), False), ((1,), False), ((1,), True), ((0, 2), False)):
        b.output(b("negative", b("sum", doubled, axis=axis, keepdims=keepdims)))
    run(b)


@pytest.mark.parametrize("dtype", ["i8", "i4", "f8"])
@pytest.mark.parametrize("scan", [pb.cumsum, pb.cumprod])
def test_a_running_sum_goes_through_a_column_in_order(scan, dtype):
    def function(x):
        return scan(x + x, 0).copy(order="C")

    x = pb.tensor(np.asfortranarray(np.random.default_rng(0).integers(0, 3, (256, 8)).astype(dtype)))
    np.testing.assert_array_equal(pb.compile(function, backend="llvm")(x).numpy(), function(x).numpy())
