"""Reading and writing at places that arrays of integers say, in native code."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from tests.compiler.graphs import Builder
from tests.compiler.native import run

RANDOM = np.random.default_rng(11)
ARRAY = "array"


def counting(n):
    numbers = np.arange(n)
    numbers.flags.writeable = False
    return numbers


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.bool_])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_rows_columns_and_pairs(dtype, kind):
    x = (RANDOM.normal(size=(7, 5, 9)) * 5).astype(dtype)
    rows, columns = RANDOM.integers(0, 5, (13,)).astype(kind), RANDOM.integers(0, 5, (13,)).astype(kind)
    b = Builder(x, rows, columns)
    whole = slice(None)
    b.output(
        b("_index", b.inputs[0], b.inputs[1], template=(ARRAY,), distinct=False),
        b("_index", b.inputs[0], b.inputs[1], template=(whole, ARRAY), distinct=False),
        b("_index", b.inputs[0], b.inputs[1], template=(..., ARRAY), distinct=False),
        b("_index", b.inputs[0], b.inputs[1], b.inputs[2], template=(ARRAY, ARRAY), distinct=False),
        b("_index", b.inputs[0], b.inputs[1], b.inputs[2], template=(ARRAY, slice(4, None, -2), ARRAY), distinct=False),
        b("_index", b.inputs[0], b.inputs[1], template=(2, ..., None, ARRAY), distinct=False),
    )  # fmt: skip
    run(b)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (3, 4), (2, 1, 17)])
def test_indices_of_any_shape_that_count_from_either_end(shape):
    places = RANDOM.integers(-6, 6, shape)
    b = Builder(RANDOM.normal(size=(6, 3)), places)
    b.output(b("_take_rows", b.inputs[0], b.inputs[1]))
    run(b)


def test_a_gather_is_fused_with_what_is_around_it():
    b = Builder(RANDOM.normal(size=(50, 8)), RANDOM.integers(0, 50, (20, 1)))
    place = b("add", b.inputs[1], -1)
    row = b("_gather", b.inputs[0], place, axis=0, distinct=False)
    b.output(b("sum", b("exp", b("multiply", row, 0.5)), axis=(1,), keepdims=False))
    assert len(run(b).kernels()) <= 2


def test_counting_constants_are_no_indices():
    b = Builder(RANDOM.normal(size=(6, 9)), RANDOM.integers(0, 9, 6))
    x = b("_index", b.inputs[0], b.constant(counting(6)), b.inputs[1], template=(ARRAY, ARRAY), distinct=True)
    b.output(x)
    made = run(b)
    assert "copy" not in [name for kernel in made.kernels() for name in kernel["operators"]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_scatter_with_duplicates_adds_in_order(dtype):
    """Sums of numbers of very different size show the order; it is NumPy's, to the bit."""
    values = (RANDOM.normal(size=(200, 5)) * 10.0 ** RANDOM.integers(-8, 8, (200, 1))).astype(dtype)
    rows = RANDOM.integers(-4, 4, 200)
    b = Builder(values, rows)
    out = b("_index_add", b.inputs[0], b.inputs[1], template=(ARRAY,), shape=(4, 5), distinct=False)
    b.output(out)
    made = run(b)
    wanted = np.zeros((4, 5), dtype)
    np.add.at(wanted, rows, values)
    assert made.flat(values, rows)[0].tobytes() == wanted.tobytes()


def test_along_an_axis_and_back():
    x, places = RANDOM.normal(size=(4, 6, 5)), RANDOM.integers(0, 6, (4, 3, 5))
    b = Builder(x, places, RANDOM.normal(size=(4, 3, 5)))
    b.output(
        b("_gather", b.inputs[0], b.inputs[1], axis=1, distinct=False),
        b("_gather_add", b.inputs[2], b.inputs[1], axis=1, distinct=False, shape=(4, 6, 5)),
    )
    run(b)


def test_columns_of_a_scatter():
    b = Builder(RANDOM.normal(size=(25, 100)), RANDOM.integers(0, 56, 100))
    b.output(b("_index_add", b.inputs[0], b.inputs[1], template=(slice(None), ARRAY), shape=(25, 56), distinct=False))
    run(b)


@pytest.mark.parametrize("accumulate", [True, False])
def test_of_several_values_for_one_place_the_last_one_stays(accumulate):
    x, values, rows = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(50, 4)), RANDOM.integers(-3, 3, 50)
    b = Builder(x, values, rows)
    params = {"template": (ARRAY,), "accumulate": accumulate, "distinct": False}
    put = b("_index_put", b.inputs[0], b.inputs[1], b.inputs[2], **params)
    again = b("_index_put", b("multiply", put, 2.0), 1.5, b.inputs[2], **params)
    b.output(put, again)
    run(b)


def test_one_value_in_each_row_is_a_comparison():
    """Nothing of the size of the matrix is written but the result."""
    b = Builder(RANDOM.normal(size=(30, 40)), RANDOM.normal(size=30), RANDOM.integers(-40, 40, 30))
    one = b("_index_add", b.inputs[1], b.constant(counting(30)), b.inputs[2], template=(ARRAY, ARRAY), shape=(30, 40),
            distinct=True)  # fmt: skip
    b.output(b("subtract", b("exp", b.inputs[0]), one))
    large = [kernel for kernel in run(b).kernels() if 1200 in (np.prod(kernel["loops"]),)]
    assert len(large) == 1


@pytest.mark.parametrize("portable", [True, False])
def test_an_index_out_of_bounds_raises(portable):
    b = Builder(RANDOM.normal(size=(5, 3)), RANDOM.integers(0, 5, 70))
    b.output(b("_index", b.inputs[0], b.inputs[1], template=(ARRAY,), distinct=False))
    made = run(b, portable=portable)
    x, places = RANDOM.normal(size=(5, 3)), np.zeros(70, int)
    for wrong in (5, -6, 1 << 40):
        places[67] = wrong
        with pytest.raises(IndexError, match="axis 0 with size 5"):
            made.flat(x, places)
    places[67] = -5
    assert np.array_equal(made.flat(x, places)[0], x[places])


def test_an_index_out_of_bounds_raises_in_a_loop():
    def total(x, places):
        return pb.scan(lambda carry, place: (carry + x[place], carry), pb.zeros(()), places)[0]

    compiled = pb.compile(total, backend="llvm", fallback="raise")
    x, places = pb.tensor(RANDOM.normal(size=6)), np.array([0, 3, -1])
    assert float(compiled(x, pb.tensor(places))) == pytest.approx(float(x.numpy()[places].sum()))
    with pytest.raises(IndexError):
        compiled(x, pb.tensor(np.array([0, 3, 6])))


def test_gradients_of_an_embedding():
    def loss(table, places):
        return (pb.tanh(table[places]) ** 2).sum()

    table, places = pb.tensor(RANDOM.normal(size=(20, 6))), pb.tensor(RANDOM.integers(0, 20, (8, 9)))
    gradient = pb.func.grad(loss)
    compiled = pb.compile(gradient, backend="llvm", fallback="raise")
    np.testing.assert_allclose(compiled(table, places).numpy(), gradient(table, places).numpy(), rtol=1e-12)


@pytest.mark.parametrize("batch", [3, 70])
def test_cross_entropy(batch):
    def loss(scores, labels):
        return pb.nn.cross_entropy(scores, labels)

    scores, labels = pb.tensor(RANDOM.normal(size=(batch, 33))), RANDOM.integers(0, 33, batch)
    labels[1] = -100  # ignored
    gradient = pb.func.grad_and_value(loss)
    compiled = pb.compile(gradient, backend="llvm", fallback="raise")
    for out, wanted in zip(compiled(scores, pb.tensor(labels)), gradient(scores, pb.tensor(labels)), strict=True):
        np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("length", [2, 30])
def test_values_are_added_where_the_index_counts_and_is_none(length):
    b = Builder(RANDOM.normal(size=length))
    rows = b.constant(counting(length))
    values = b("multiply", b("_index", b.inputs[0], rows, template=(ARRAY,), distinct=False), 2.0)
    b.output(b("_index_put", b.inputs[0], values, rows, template=(ARRAY,), accumulate=True, distinct=False))
    run(b)
