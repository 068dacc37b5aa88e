"""Numbers of several kinds in one operator, and numbers in the other byte order: compiled as in eager mode."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")

PAIRS = [
    (np.complex128, np.complex64), (np.complex64, np.float64), (np.complex128, np.int64), (np.int32, np.complex64),
    (np.float32, np.complex128), (np.complex128, np.bool_),
]  # fmt: skip
LENGTH = 6
ODD = np.arange(LENGTH) % 2 == 1
PLACES = np.array([5, 0, 3, 1, 4, 2])


def numbers(kind, seed, length=LENGTH):
    random = np.random.default_rng(seed)
    values = 3 * random.normal(size=length) + (3j * random.normal(size=length) if np.dtype(kind).kind == "c" else 0)
    return values.real > 0 if kind is np.bool_ else values.astype(kind)


def written(place):
    """The function that writes the second operand, or what `place` makes of it, to a part of the first."""

    def function(a, b):
        made = a * 1
        place(made, b)
        return made

    return function


def at_slice(a, b):
    a[1:] = b[:-1]


def at_places(a, b):
    a[pb.asarray(PLACES)] = b


def at_mask(a, b):
    a[pb.asarray(ODD)] = b[0]


def everywhere(a, b):
    a.copy_(b)


OPERATORS = {
    "concatenate": lambda a, b: pb.concatenate([a, b, a]),
    "stack": lambda a, b: pb.stack([a, b], 1),
    "where": lambda a, b: pb.where(pb.asarray(ODD), a, b),
    "where one": lambda a, b: pb.where(pb.asarray(ODD), a, b[0]),
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / (b + 4),
    "equal": lambda a, b: a == b,
    "matmul": lambda a, b: a @ b,
    "outer": pb.outer,
    "einsum": lambda a, b: pb.einsum("i,i,i->", a, b, a),
    "sum": lambda a, b: pb.sum(a, dtype=np.complex128) + pb.sum(b, dtype=np.complex128),
    "mean": lambda a, b: pb.mean(a, dtype=np.complex128) + pb.mean(b, dtype=np.complex128),
    "cumsum": lambda a, b: pb.cumsum(a, 0, dtype=np.complex128) + pb.cumsum(b, 0, dtype=np.complex128),
    "pad": lambda a, b: pb.pad(a, (1, 2), constant_values=3) * b[0],
    "masked_fill": lambda a, b: a.masked_fill(pb.asarray(ODD), b[0]),
    "index_add": lambda a, b: a.index_add(0, pb.asarray(PLACES), b) if b.dtype == a.dtype else a + b,
    "slice": written(at_slice),
    "places": written(at_places),
    "mask": written(at_mask),
    "copy_": written(everywhere),
    "number": lambda a, b: (a + 3) * (2 - 1j) + b * True,
    "block": lambda a, b: pb.block([[a, b], [b, a]]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_of_several_kinds_are_promoted_as_eager_mode_does(name):
    for first, second in PAIRS:
        a, b = pb.asarray(numbers(first, 1)), pb.asarray(numbers(second, 2))
        wanted = OPERATORS[name](a, b).numpy()
        given = pb.compile(OPERATORS[name], backend="llvm", fallback="raise")(a, b).numpy()
        assert given.dtype == wanted.dtype, (first, second)
        np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-4, err_msg=f"{first}, {second}")


@pytest.mark.parametrize("name", ["concatenate", "where", "multiply", "sum", "slice", "places", "pad", "block"])
def test_long_complex_numbers_are_left_to_numpy(name):
    a, b = (pb.asarray(numbers(np.complex128, seed).astype(np.clongdouble)) for seed in (1, 2))
    real = pb.asarray(numbers(np.float64, 3).astype(np.longdouble))
    for operands in ((a, b), (a, real)):
        wanted = OPERATORS[name](*operands).numpy()
        given = pb.compile(OPERATORS[name], backend="llvm", fallback="raise")(*operands).numpy()
        assert given.dtype == wanted.dtype
        np.testing.assert_allclose(given, wanted, rtol=1e-14)
    gradient = pb.func.grad(lambda x: pb.sort(pb.real(x)).sum())
    given = pb.compile(gradient, backend="llvm", fallback="raise")(a)
    np.testing.assert_array_equal(given.numpy(), gradient(a).numpy())


# The other byte order.

SWAPPED = {
    "sin": lambda x: pb.sin(x) + x,
    "sum": lambda x: x.sum(0),
    "cumsum": lambda x: pb.cumsum(x, 0),
    "gather": lambda x: x[pb.asarray(PLACES)],
    "product": lambda x: (x[:, None] * x) @ x,
    "fft": pb.fft.fft,
    "softmax": lambda x: pb.nn.softmax(pb.real(x), 0) * x,
    "with others": lambda x: pb.concatenate([x * (1 + 2j), x]),
    "written": written(lambda x, _: x.__setitem__(slice(1, None), x[:-1] * 1)),
}


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", SWAPPED)
def test_numbers_in_the_other_byte_order_are_the_same_numbers(name, dtype, backend):
    function = (lambda x: SWAPPED[name](x, x)) if name == "written" else SWAPPED[name]
    plain = numbers(dtype, 3)
    wanted = function(pb.asarray(plain)).numpy()
    gradient = pb.func.grad(lambda x: (pb.abs(function(x)) ** 2).sum())
    swapped = pb.asarray(plain.astype(np.dtype(dtype).newbyteorder()))
    given = pb.compile(function, backend=backend, fallback="raise")(swapped).numpy()
    np.testing.assert_allclose(given, wanted, rtol=1e-4, atol=1e-4)
    back = pb.compile(gradient, backend=backend, fallback="raise")(swapped).numpy()
    np.testing.assert_allclose(back, gradient(pb.asarray(plain)).numpy(), rtol=1e-3, atol=1e-3)
