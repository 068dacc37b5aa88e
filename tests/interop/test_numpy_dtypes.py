"""NumPy's list of functions on tensors of every dtype: values, dtypes, shapes and containers are those on arrays."""

import warnings

import numpy as np
import pytest

import pullback as pb

from .test_numpy_calls import LINES, called, form_of, parts_of, plain, values

DTYPES = "float32", "float16", "complex64", "complex128", "int8", "int64", "bool", ">f8"
# What is documented in docs/coming-from-numpy.md, or has no one answer.
MEANT = {
    "=[0.0, c, 1.0]": "numbers in a list give way to the tensors in it",
    "=[1.0, 2.0, c]": "numbers in a list give way to the tensors in it",
    "np.clip(": "complex numbers have no order",
    "np.linalg.eig": "always complex",
    "np.roots(": "always complex",
    "np.linalg.lstsq(": "a rank is an int64",
    "full=True": "a rank is an int64",
    "np.polymul(": "zeros in front are not cut off",
    "np.unique_values(": "in ascending order, where NumPy's order is left open",
    "np.add(v, w, where=": "NumPy leaves memory as it was",
    "assume_unique": "elements that become equal break the promise",
    "c * 0": "a limit that is an integer, or complex, in place of a number",
    "period=": "a period that is an integer, or complex keys",
    "np.quantile(v, c)": "a fraction that is an integer",
    "np.nanpercentile(n, 30": "NaN as an integer is beyond all that a float64 tells apart",
    "np.nanquantile(n, 0.3": "NaN as an integer is beyond all that a float64 tells apart",
    "mode=\"raw\"": "refused",
}  # fmt: skip
CALLS = [call for call, why in LINES if "list by itself" not in why and not any(part in call for part in MEANT)]


def cast(x, dtype):
    if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        dtype = "complex64" if dtype in ("float32", "float16") else x.dtype
    return x.astype(dtype)


def assert_same(found, wanted, dtype):
    coarse = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-9)
    assert form_of(found) == form_of(wanted)
    for part, right in zip(parts_of(found), parts_of(wanted), strict=True):
        array, right = plain(part), np.asarray(right)
        if right.dtype.kind in "OUS":
            continue
        assert array.dtype.newbyteorder("=") == right.dtype.newbyteorder("=")
        assert array.shape == right.shape
        own = {2: 2e-2, 4: 1e-4}.get(right.real.dtype.itemsize, 0)
        loose = max(own, coarse) if right.dtype.kind in "fc" else 0
        np.testing.assert_allclose(array, right, rtol=loose, atol=loose)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", range(8))
def test_calls_of_numpy_have_numpys_dtypes(dtype, batch):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in CALLS[batch::8]:
            arrays = {name: cast(x, dtype) for name, x in values().items()}
            try:
                wanted = called(call, arrays)
            except Exception:
                continue  # NumPy does not take this dtype
            found = called(call, {name: pb.asarray(x) for name, x in arrays.items()})
            try:
                assert_same(found, wanted, dtype)
            except AssertionError as error:
                raise AssertionError(f"{call} of {dtype}: {error}") from None
