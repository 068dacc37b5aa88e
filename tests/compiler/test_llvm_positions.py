"""`argmax`, `argmin`, `cumsum`, `cumprod` and recurrences in native code."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from pullback.declare.op import registry
from pullback.eager.traced_calls import native_call
from tests.compiler.graphs import Builder
from tests.compiler.native import run

RANDOM = np.random.default_rng(23)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.bool_])
@pytest.mark.parametrize("shape, axis", [
    ((17,), 0), ((5, 9), 0), ((5, 9), 1), ((5, 9), None), ((3, 4, 5), 1), ((3, 4, 5), None), ((20_000,), 0),
    ((3, 9000), 1), ((3, 9000), None), ((300, 400), 0), ((4, 1, 3), 1),
])  # fmt: skip
def test_the_first_of_equal_ones(name, dtype, shape, axis):
    x = RANDOM.integers(0, 5, shape).astype(dtype)
    b = Builder(x)
    b.output(b(name, b.inputs[0], axis=axis, keepdims=False))
    if shape[axis or 0] == 1:
        assert np.array_equal(compile_llvm(b.program).flat(x)[0], b.expected()[0])
    else:
        run(b)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_a_nan_is_found_first(name):
    x = RANDOM.normal(size=(6, 40))
    x[1, 7] = x[1, 30] = x[3, 39] = np.nan
    x[2, :] = -np.inf
    x[4, 5] = np.inf
    b = Builder(x)
    b.output(b(name, b.inputs[0], axis=1, keepdims=True), b(name, b.inputs[0], axis=None, keepdims=False))
    run(b)


def test_argmax_is_one_kernel():
    b = Builder(RANDOM.normal(size=(30, 40)))
    b.output(b("argmax", b("multiply", b.inputs[0], -1.0), axis=1, keepdims=False))
    assert len(run(b).kernels()) == 1


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("shape, axis", [((11,), 0), ((5, 9), 0), ((5, 9), 1), ((3, 4, 5), 1), ((4, 1, 3), 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_and_products(name, dtype, shape, axis, reverse):
    b = Builder((RANDOM.uniform(-2, 2, shape) * 2).astype(dtype))
    out = b(name, b.inputs[0], axis=axis, dtype=None, reverse=reverse)
    if reverse and np.dtype(dtype).kind == "i":
        return  # evaluation gives a view that runs backwards, which is left to NumPy
    b.output(b("multiply", out, 2))
    run(b)


def test_running_sums_of_a_view_keep_the_sign_of_zero():
    x = np.full((4, 6), -0.0)
    b = Builder(x)
    b.output(b("cumsum", b("permute_dims", b.inputs[0], axes=(1, 0)), axis=1, dtype=None, reverse=False))
    (out,) = run(b).flat(x)
    assert np.signbit(out).all()


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(3,), (5, 7)])
def test_a_number_everywhere_is_accumulated_too(name, shape):
    b = Builder(RANDOM.normal(size=shape))
    halves = b("broadcast_to", b.constant(np.array(0.5)), shape=shape)
    for reverse in (False, True):
        b.output(b("add", b.inputs[0], b(name, halves, axis=0, dtype=None, reverse=reverse)))
    run(b)


@pytest.mark.parametrize("dtype", ["float16", "bool", "int8", "uint8", "int32", "float32", "complex64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products_of_every_dtype(name, dtype):
    x = pb.tensor((np.arange(12) % 3).reshape(3, 4).astype(dtype))
    for axis in (0, 1):
        for options in ({}, {"dtype": np.complex128}, {"dtype": np.bool_}):
            f = lambda x, axis=axis, options=options: getattr(pb, name)(x, axis, **options)
            found, wanted = pb.compile(f, backend="llvm", fallback="raise")(x), f(x)
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape, axis", [((40,), 0), ((5, 90), 1), ((90, 5), 0), ((3, 50, 4), 1), ((4, 1, 40), 2)])
def test_recurrences(shape, axis, dtype, reverse):
    a, x = RANDOM.uniform(-1.1, 1.1, shape).astype(dtype), RANDOM.standard_normal(shape).astype(dtype)
    first = [slice(None)] * len(shape)
    first[axis] = -1 if reverse else 0
    a[tuple(first)] = np.nan  # which is not read
    op, params = registry["_recurrence"], {"axis": axis, "reverse": reverse}
    expected = np.ascontiguousarray(op.kernel(a, x, **params))
    (found,) = native_call(op, (a, x), params, expected)(a, x)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=50 * np.finfo(dtype).eps, atol=50 * np.finfo(dtype).eps)


def test_a_recurrence_in_views_and_along_one_element():
    a, x = RANDOM.uniform(-1.1, 1.1, (6, 70)), RANDOM.standard_normal((6, 70))
    b = Builder(a, x)
    b.output(b("_recurrence", *[b("permute_dims", each, axes=(1, 0)) for each in b.inputs], axis=0, reverse=False))
    alone = [b("_reshape", each, shape=(420, 1)) for each in b.inputs]
    b.output(b("_recurrence", *alone, axis=1, reverse=False))
    run(b)
