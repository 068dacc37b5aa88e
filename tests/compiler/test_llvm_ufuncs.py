"""Native ufuncs compute what NumPy's do, and complain about what NumPy complains about.

The cases come from the declarations: every operator of one or two operands that has a native kernel.
"""

import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from pullback.compiler.machine import ufuncs
from pullback.core import threads
from pullback.eager.native import native_formulas, native_kernels
from tests.operators.declared import registry

LENGTH = (1 << 16) + 5  # a last vector that is not full, and several blocks
OPS = [op for op in registry.values() if op.fast_rules is not None]
FLOATS = (np.float32, np.float64)
# Their results are found by rounding exact ones once, or by choosing.
EXACT = frozenset({
    "maximum", "minimum", "fmax", "fmin", "relu", "_sign", "abs", "add", "subtract", "multiply", "divide", "negative",
    "positive", "fabs", "copysign", "reciprocal", "square", "sqrt", "floor", "ceil", "trunc", "rint",
})  # fmt: skip
SUMS = frozenset({"logaddexp", "softplus", "_logit", "_gelu_by_tanh", "_bce", "_bce_with_logits"})
_kernels: dict = {}


def native(op):
    """The native kernel of an operator, compiled once for all tests. Threads share shorter loops than they do usually,
    and arithmetic is native only where they do."""
    if op.name not in _kernels:
        usually, ufuncs.PARALLEL_FROM = ufuncs.PARALLEL_FROM, 4_000
        made = native_kernels(op)
        ufuncs.PARALLEL_FROM = usually
        assert made is not None
        _kernels[op.name] = made.any_size
    return _kernels[op.name]


NATIVE = [op for op in OPS if op.name != "pow" and native_formulas(op.call, op.operands) is not None]
TWINS = [op for op in NATIVE if isinstance(op.kernel, np.ufunc)]
BY_NAME = pytest.mark.parametrize("op", NATIVE, ids=lambda op: op.name)
BY_TWIN = pytest.mark.parametrize("op", TWINS, ids=lambda op: op.name)


def operands(op, dtype, shape=(LENGTH,)):
    """What an operator is defined for, and some of what it is not."""
    rng = np.random.default_rng(3)
    found = [rng.uniform(-3.0, 3.0, shape).astype(dtype) for _ in op.operands]
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 5e-324, 3e38, -700.0, 710.0, 0.5, 1e5]
    for k, x in enumerate(found):
        few = np.resize(np.roll(special, 3 * k), 2 * len(special))
        with np.errstate(all="ignore"):
            x.reshape(-1)[: few.size] = few.astype(dtype)
    return found


def assert_same(op, found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    if op.name in EXACT:
        np.testing.assert_array_equal(found, expected)
        return
    with np.errstate(all="ignore"):
        good = np.isfinite(expected)
        # Each is so far from the exact value; NumPy's float32 up to 4 units in the last place.
        units = 9 if expected.dtype == np.float32 else 6
        limit = units * np.maximum(np.spacing(np.abs(expected[good])), np.finfo(expected.dtype).tiny * 2.0**-20)
        # Formulas with a sum in them lose digits relative to the sum, as NumPy's do.
        if op.name in SUMS:
            limit = np.maximum(limit, 4 * np.finfo(expected.dtype).eps * max(1, np.abs(expected[good]).max(initial=0)))
        assert (np.abs(found[good] - expected[good]) <= limit).all()


def quietly(kernel, *args, **kwargs):
    with np.errstate(all="ignore"):
        return kernel(*args, **kwargs)


def test_most_operators_have_native_kernels():
    names = {op.name for op in NATIVE}
    assert len(names) >= 40 and {"add", "multiply", "divide", "exp", "log", "sin", "tanh", "sigmoid"} <= names


@pytest.mark.parametrize("dtype", FLOATS)
@BY_NAME
def test_values_are_those_of_numpy(op, dtype):
    given = operands(op, dtype)
    assert_same(op, quietly(native(op), *given), quietly(op.kernel, *given))


@pytest.mark.parametrize("dtype", FLOATS)
@BY_NAME
def test_layouts(op, dtype):
    given = operands(op, dtype, (2 * 257, 300))
    layouts = [
        [x[::2] for x in given],
        [x[:, ::-1] for x in given],
        [x.T for x in given],
        [given[0], *(x[:1] for x in given[1:])],
        [given[0], *(x[:, :1] for x in given[1:])],
        [given[0], *(np.asarray(x[300, 5]) for x in given[1:])],
        [np.asarray(given[0][300, 5]), *given[1:]],
        [x[:0] for x in given],
        [given[0], *(np.asfortranarray(x) for x in given[1:])],
    ]
    for arrays in layouts:
        found, expected = np.asarray(quietly(native(op), *arrays)), np.asarray(quietly(op.kernel, *arrays))
        assert_same(op, found, expected)
        assert found.strides == expected.strides


@BY_TWIN
def test_every_dtype_is_treated_as_numpy_does(op):
    """Also those without native loops, and those that NumPy refuses."""
    codes = "?bBhHiIlLqQefdgFD"
    for first in codes:
        for second in codes if op.kernel.nin == 2 else "d":
            given = [np.ones(3, first), np.ones(3, second)][: op.kernel.nin]
            try:
                expected = quietly(op.kernel, *given)
            except TypeError:
                with pytest.raises(TypeError):
                    quietly(native(op), *given)
                continue
            found = quietly(native(op), *given)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def complaint(kernel, given):
    with np.errstate(all="raise", under="ignore"):
        try:
            kernel(*given)
        except FloatingPointError as error:
            return str(error).split(" encountered")[0]
    return None


def number_lines():
    """Values with which functions do all that they may be blamed for, one kind at a time."""
    return [np.linspace(-0.9, 0.9, LENGTH), np.full(LENGTH, 2.0), np.full(LENGTH, -2.0), np.zeros(LENGTH),
            np.full(LENGTH, 1.0), np.full(LENGTH, -1.0), np.full(LENGTH, 1e4), np.full(LENGTH, np.inf),
            np.full(LENGTH, np.nan)]  # fmt: skip


@BY_TWIN
def test_complaints_are_those_of_numpy(op):
    for x in number_lines():
        for y in number_lines() if op.kernel.nin == 2 else [x]:
            given = [x, y][: op.kernel.nin]
            assert complaint(native(op), given) == complaint(op.kernel, given), (x[1], y[1])


@pytest.mark.parametrize("op", [op for op in NATIVE if op not in TWINS], ids=lambda op: op.name)
def test_formulas_complain_about_what_is_not_finite(op):
    """Sums, products and functions inside of them are silent if nothing comes of it."""
    values = number_lines()[1:]  # of which each does one thing wrong
    for x in values:
        for y in values if len(op.operands) == 2 else [x]:
            given = [x, y][: len(op.operands)]
            if not np.isfinite(quietly(op.kernel, *given)).all() and np.isfinite(given).all():
                assert complaint(native(op), given) == complaint(op.kernel, given), (x[1], y[1])


def test_a_single_element_is_enough_for_a_complaint():
    for place in (0, 12_345, LENGTH - 1):
        x = np.ones(LENGTH)
        x[place] = 0.0
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
            native(registry["divide"])(1.0, x)
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            native(registry["log"])(x)
        with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
            native(registry["log"])(x - 1.5)
        with pytest.warns(RuntimeWarning, match="overflow encountered in exp"):
            native(registry["exp"])(1000 * (1 - x))


def test_a_complaint_about_one_row_is_not_lost_in_the_next():
    """Rows with gaps between them are computed one by one."""
    x = np.ones((3, LENGTH + 7))[:, :LENGTH]
    for row in range(3):
        y = np.ones((3, LENGTH + 9))[:, :LENGTH]
        y[row, 4] = 0
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            native(registry["divide"])(x, y)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            native(registry["log"])(y)


def test_ordinary_values_cause_no_complaints():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            for name in ("sin", "cos", "tanh", "exp", "atan", "asinh", "cbrt", "expm1"):
                native(registry[name])(np.linspace(-50.0, 50.0, LENGTH))


def test_out_and_overlapping_memory():
    add, exp = native(registry["add"]), native(registry["exp"])
    x = np.linspace(0, 1, LENGTH)
    out = np.empty_like(x)
    assert add(x, 1.0, out=out) is out
    np.testing.assert_array_equal(out, x + 1)
    narrow = np.empty(LENGTH, np.float32)
    add(x, x, out=narrow, casting="same_kind")
    np.testing.assert_array_equal(narrow, (x + x).astype(np.float32))
    same = x.copy()
    exp(same, out=same)
    np.testing.assert_allclose(same, np.exp(x), rtol=2e-15)
    shifted, expected = x.copy(), x.copy()
    add(shifted[:-1], shifted[1:], out=shifted[1:])
    np.add(expected[:-1], expected[1:], out=expected[1:])
    np.testing.assert_array_equal(shifted, expected)
    with pytest.raises(ValueError, match="broadcast"):
        add(x, x[:5])


def test_results_do_not_depend_on_threads():
    x = np.random.default_rng(0).standard_normal(300_001)
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(1)
        alone = [native(registry[name])(x) for name in ("sin", "exp")]
        threads.set_num_threads(3)
        together = [native(registry[name])(x) for name in ("sin", "exp")]
    finally:
        threads.set_num_threads(before)
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)
