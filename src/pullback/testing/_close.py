"""`assert_close`: compare numbers and say where they differ most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pullback.tape.input_metadata import SparseGrad
from pullback.tensors.tensor import Tensor

__all__ = ["assert_close"]


class Tolerance(NamedTuple):
    """`|actual - expected| <= atol + rtol * |expected|`."""

    rtol: float
    atol: float


EXACT = Tolerance(0.0, 0.0)

# By the bytes of one real number. Half precision has 3 decimal digits, single 7, double 16; a few are left for
# rounding in the computation, more of them the more digits there are.
TOLERANCES = {2: Tolerance(1e-3, 1e-5), 4: Tolerance(1.5e-6, 1e-5), 8: Tolerance(1e-7, 1e-7)}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    check_dtype: bool = False,
) -> None:
    """Raise AssertionError unless `actual` equals `expected` up to `atol + rtol * |expected|`, element by element.

    Either side may be a Tensor (with or without grad), an ndarray, a number, None, or lists, tuples and mappings of
    these. Shapes must be equal; nothing is broadcast. A tolerance that is not given follows from the less precise of
    the two dtypes: 1e-7 for double precision, 0 if both sides are integers. NaN equals NaN unless `equal_nan=False`.
    `check_dtype` compares dtypes too, where both sides have one (numbers and lists do not).

        assert_close(x.grad, [4.0, 6.0])
        assert_close(pb.autograd.grad(loss, (a, b)), (2.0, [[1.0, 0.0]]), rtol=1e-5)

    The message names the worst element: where it is, both values, and how far apart they may be.

    >>> pb.testing.assert_close(pb.tensor([0.1]) + 0.2, pb.tensor([0.3]))
    """
    __tracebackhide__ = True
    compare(actual, expected, "", Options(rtol, atol, equal_nan, check_dtype))


class Options(NamedTuple):
    """The keyword arguments of `assert_close`."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_dtype: bool


def compare(actual: Any, expected: Any, place: str, options: Options) -> None:
    """Compare two values; `place` leads to them from the top, as an expression like `[0]['w']`."""
    __tracebackhide__ = True
    if actual is None or expected is None:
        if actual is not expected:
            raise AssertionError(f"{named('values', place)}: {describe(actual)} is not {describe(expected)}")
    elif isinstance(actual, Mapping) or isinstance(expected, Mapping):
        compare_mappings(actual, expected, place, options)
    elif isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            raise AssertionError(
                f"{named('lengths', place)}: {len(actual)} entries, and {len(expected)} entries were expected"
            )
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            compare(one, other, f"{place}[{i}]", options)
    else:
        compare_arrays(actual, expected, place, options)


def compare_mappings(actual: Any, expected: Any, place: str, options: Options) -> None:
    __tracebackhide__ = True
    if not (isinstance(actual, Mapping) and isinstance(expected, Mapping)):
        raise AssertionError(f"{named('values', place)}: {describe(actual)} is not {describe(expected)}")
    if set(actual) != set(expected):
        raise AssertionError(f"{named('keys', place)}: {list(actual)}, and {list(expected)} were expected")
    for key in expected:
        compare(actual[key], expected[key], f"{place}[{key!r}]", options)


def compare_arrays(actual: Any, expected: Any, place: str, options: Options) -> None:
    __tracebackhide__ = True
    one, other = as_array(actual), as_array(expected)
    if one.shape != other.shape:
        raise AssertionError(f"{named('shapes', place)}: {one.shape}, and {other.shape} was expected")
    if options.check_dtype and has_dtype(actual) and has_dtype(expected) and one.dtype != other.dtype:
        raise AssertionError(f"{named('dtypes', place)}: {one.dtype}, and {other.dtype} was expected")
    default = default_tolerance(one.dtype, other.dtype)
    tolerance = Tolerance(
        default.rtol if options.rtol is None else options.rtol, default.atol if options.atol is None else options.atol
    )
    close = elements_close(one, other, tolerance, options.equal_nan)
    if not close.all():
        raise AssertionError(f"{named('values', place)}\n{describe_worst(one, other, close, tolerance)}")


def named(what: str, place: str) -> str:
    """The start of a message: what differs, and where if not at the top."""
    return f"{what} differ at {place}" if place else f"{what} differ"


def describe(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def as_array(value: Any) -> np.ndarray:
    """The numbers in `value` as an array; raises TypeError if they are not numbers."""
    if isinstance(value, Tensor):
        return value.detach().numpy()
    if isinstance(value, SparseGrad):
        return value.to_dense()
    array = np.asarray([as_array(entry) for entry in value] if isinstance(value, list | tuple) else value)
    if array.dtype.kind not in "biufc" and not np.can_cast(array.dtype, np.float64):
        raise TypeError(f"assert_close compares Tensors, arrays and numbers, not a {type(value).__name__}")
    return array


def has_dtype(value: Any) -> bool:
    return isinstance(value, Tensor | SparseGrad | np.ndarray | np.generic)


def default_tolerance(*dtypes: np.dtype[Any]) -> Tolerance:
    """The widest tolerance among the dtypes, of which integers need none."""
    widest = EXACT
    for dtype in dtypes:
        if dtype.kind not in "biu":
            size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
            widest = max(widest, TOLERANCES.get(size, TOLERANCES[8]))
    return widest


def elements_close(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance, equal_nan: bool) -> np.ndarray:
    """Which elements are close. Without tolerance integers stay integers, since float64 rounds large ones."""
    if tolerance == EXACT and actual.dtype.kind in "biu" and expected.dtype.kind in "biu":
        return np.asarray(actual == expected)
    one, other = promoted(actual, expected)
    return np.isclose(one, other, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=equal_nan)


def promoted(actual: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both arrays in a dtype that holds their differences."""
    dtype = np.result_type(actual.dtype, expected.dtype, np.float64)
    return actual.astype(dtype), expected.astype(dtype)


def describe_worst(actual: np.ndarray, expected: np.ndarray, close: np.ndarray, tolerance: Tolerance) -> str:
    """How many elements are not close, and the one that exceeds its tolerance by most."""
    one, other = promoted(actual, expected)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(one - other)
        excess = difference - (tolerance.atol + tolerance.rtol * np.abs(other))
    # Among the elements that are not close, NaN and infinity are worse than any number.
    excess = np.where(close, -np.inf, np.where(np.isnan(excess), np.inf, excess))
    index = np.unravel_index(np.argmax(excess), excess.shape)
    where = f"at index {tuple(int(i) for i in index)}" if index else "a single number"
    largest, allowed = difference[index], tolerance.atol + tolerance.rtol * np.abs(other[index])
    return (
        f"  {np.count_nonzero(~close)} of {close.size} elements are not close; the worst, {where}:\n"
        f"  actual      {actual[index]}\n"
        f"  expected    {expected[index]}\n"
        f"  difference  {largest:.6g}, allowed {allowed:.6g} (atol {tolerance.atol:g}, rtol {tolerance.rtol:g})"
    )
