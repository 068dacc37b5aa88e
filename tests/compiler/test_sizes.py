"""Compiled functions at the sizes that programs have: what eager mode gives, from a few elements to many thousands.

Memory is given back from a number of bytes on, rows that are short and many lie column by column, reductions are cut
into blocks: none of this happens in arrays of three elements.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb

BACKENDS = ["llvm", "numpy"]


def both(function, *arrays, backend):
    """What eager mode and compiled code make of copies of these arrays: results, and the arrays afterwards."""
    found = []
    for call in (function, pb.compile(function, backend=backend, fallback="raise")):
        tensors = [pb.asarray(x.copy("K")) for x in arrays]
        out = call(*tensors)
        results = out if isinstance(out, tuple) else (out,)
        found.append([x.numpy() for x in (*results, *tensors)])
    return found


def agree(function, *arrays, backend, rtol=1e-12):
    for wanted, given in zip(*both(function, *arrays, backend=backend), strict=True):
        assert given.dtype == wanted.dtype
        np.testing.assert_allclose(given, wanted, rtol=rtol, atol=rtol)


# Arguments that are written to.


def added(x, h):
    h += x
    return h


def added_and_a_view(x, h):
    h += x
    return h[1:], h


def written_twice(x, h):
    h += x
    h *= 2
    return h


def a_part(x, h):
    h[1:] += x[:-1]
    return h, x


def exchanged(x, h):
    x[...], h[...] = h * 1, x * 1
    return x


def both_and_more(x, h):
    h += x
    y = h * 2
    x -= y
    return y, h, x[::2]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [added, added_and_a_view, written_twice, a_part, exchanged, both_and_more])
@pytest.mark.parametrize("size", [3, 511, 512, 513, 5000, 70000])
def test_arguments_are_written_to_at_any_size(function, size, backend):
    random = np.random.default_rng(size)
    agree(function, random.normal(size=size), random.normal(size=size), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.int32, np.float16])
def test_arguments_of_any_dtype_are_written_to(dtype, backend):
    random = np.random.default_rng(1)
    arrays = [(3 * random.normal(size=(4096, 2))).astype(dtype) for _ in range(2)]
    agree(both_and_more, *arrays, backend=backend, rtol=1e-2 if dtype is np.float16 else 1e-5)
    agree(both_and_more, *map(np.asfortranarray, arrays), backend=backend, rtol=1e-2 if dtype is np.float16 else 1e-5)


# Views through which NumPy lets nobody write.

READ_ONLY = {
    "windows": lambda x: pb.sliding_window_view(x * 2 - 1, 1) * 3,
    "flat windows": lambda x: pb.sliding_window_view(x * 2 - 1, 1).reshape(-1) * 3,
    "no windows": lambda x: pb.sliding_window_view(x[:0].reshape(3, 0) * 2 - 1, 2, 0) * 3,
    "repeated": lambda x: pb.broadcast_to((x.reshape(10, -1) * 2).T, (len(x) // 10, 10)) * 3,
    "repeated nothing": lambda x: pb.broadcast_to(x[:0] * 2, (2, 0)) * 3,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", READ_ONLY)
@pytest.mark.parametrize("size", [20, 5000])
def test_memory_is_not_used_again_through_a_view_that_is_read_only(name, size, backend):
    agree(READ_ONLY[name], np.arange(float(size)), backend=backend)


# Loops of NumPy, whose results must lie next to each other.


@pytest.mark.parametrize("name", ["signbit", "isfinite", "frexp", "spacing", "cbrt"])
@pytest.mark.parametrize("shape", [(3, 300), (300, 3), (4, 5, 64)], ids=str)
def test_loops_of_numpy_go_along_the_memory_of_their_results(name, shape):
    x = np.random.default_rng(5).normal(size=shape)
    for each in (x, np.asfortranarray(x), np.swapaxes(x, 0, 1), x[:, ::-1]):
        agree(lambda x: getattr(pb, name)(x * 2), each, backend="llvm")
        agree(getattr(pb, name), each, backend="llvm")


# Results along an axis, of rows that are short and many.

ALONG = {
    "cumsum": pb.cumsum,
    "reversed cumsum": lambda x, axis: pb.flip(pb.cumsum(pb.flip(x, axis), axis), axis),
    "cumprod": lambda x, axis: pb.cumprod(0.01 * x + 1, axis),
    "cummax": lambda x, axis: pb.cummax(x, axis)[0],
    "logcumsumexp": pb.logcumsumexp,
    "cumsum twice": lambda x, axis: pb.cumsum(pb.cumsum(x, axis), 1 - axis),
    "softmax": pb.nn.softmax,
    "sum": lambda x, axis: x.sum(axis),
}


@pytest.mark.parametrize("shape", [(300, 4), (129, 2), (1003, 16), (3, 300)], ids=str)
@pytest.mark.parametrize("name", ALONG)
def test_results_along_an_axis_are_right_in_rows_of_any_length(name, shape):
    x = np.random.default_rng(3).normal(size=shape)
    for axis in (0, 1):
        made = lambda x, axis=axis: ALONG[name](pb.sin(x) + x[0], axis)
        agree(made, x, backend="llvm", rtol=1e-11)
        agree(pb.func.grad(lambda x, made=made: (made(x) ** 2).sum()), x, backend="llvm", rtol=1e-9)


# Long programs.


def halves(x):
    a = x * 1
    a[:-1] = a[1:]
    for k in range(40):
        a = a * (0.5 + 0.001 * k) + a * 0.3
    return (a * a).sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_value_that_is_read_twice_by_one_that_is_read_twice_is_not_written_out_each_time(backend):
    agree(pb.func.grad(halves), np.linspace(1, 2, 50), backend=backend)  # with 2 ** 40 operations it would not end


# Places that reductions say.


def put_there(x):
    made = x * 1
    made[pb.arange(len(x)), pb.argmin(x, 1)] = 7.0
    return made


def put_along(x):
    made = x * 1
    pb.put_along_axis(made, pb.argmax(x, 1)[:, None], x.sum(1)[:, None], 1)
    return made


AT_EXTREMES = {
    "along": lambda x: pb.take_along_axis(x, pb.argmax(x, 1)[:, None], 1),
    "rows and columns": lambda x: x[pb.arange(len(x)), pb.argmin(x, 1)],
    "mapped": pb.func.vmap(lambda row: row[pb.argmax(row)] * row),
    "counted": lambda x: pb.take_along_axis(x, ((x > 0).sum(1) % x.shape[1])[:, None], 1),
    "rows": lambda x: x[pb.argmax(x, 1)] + x,
    "added": lambda x: pb.zeros(x.shape[1]).index_add(0, pb.argmax(x, 1), x.sum(1)),
    "put": put_there,
    "put along": put_along,
}


@pytest.mark.parametrize("shape", [(3, 2), (8, 2), (8, 4), (9, 5), (300, 4), (129, 16), (16, 129)], ids=str)
@pytest.mark.parametrize("name", AT_EXTREMES)
def test_elements_at_places_that_reductions_say(name, shape):
    """Where vectors lie across rows, every lane has a place of its own."""
    function, x = AT_EXTREMES[name], np.random.default_rng(7).normal(size=shape)
    if name == "rows":
        x = x[:, : shape[0]]
    agree(function, x, backend="llvm")
    agree(function, np.asfortranarray(x), backend="llvm")
    agree(pb.func.grad(lambda x: (function(pb.sin(x)) ** 2).sum()), x, backend="llvm", rtol=1e-10)
