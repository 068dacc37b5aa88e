"""Arrays of other libraries as NumPy's: pandas, polars, xarray, Awkward, memoryviews, and whatever has `__array__`.

None of these libraries is imported here. What they cannot give as numbers is refused with the name of the column, and
with what to write instead. A missing value becomes NaN, with a warning; among integers, which have none, it is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.frames import warn

Array = np.ndarray[Any, Any]


def library_of(x: Any) -> str:
    """The library that the class of a value comes from."""
    return type(x).__module__.partition(".")[0]


def is_array(x: Any) -> bool:
    """Is this something of another library that holds an array of numbers on this machine's memory?"""
    if isinstance(x, (np.ndarray, np.generic, memoryview)):
        return True
    return hasattr(type(x), "__array__") and library_of(x) not in ("torch", "jax", "jaxlib", "cupy")


def as_numbers(data: Any) -> Array:
    """The numbers in an array or table of any library; memory is shared where NumPy can."""
    if library_of(data) == "pandas":
        _check_missing(data)
    elif isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise told(
            TypeError(f"a masked array of shape {list(data.shape)} has masked elements"),
            why="a tensor has no mask, and what is hidden would be computed with",
            fix="fill them, m.filled(0.0), or compute with the others: pb.masked has reductions that take a mask",
        )
    try:
        array = np.asarray(data)
    except ValueError as error:
        if library_of(data) == "awkward":
            raise told(
                ValueError(f"an Awkward array of type {getattr(data, 'type', '?')} is not regular"),
                why="rows of different lengths, or missing values, have no place in an array of one shape",
                fix="ak.to_regular(array) if all rows have one length, or ak.fill_none(ak.pad_none(array, n), 0.0)",
            ) from error
        raise
    if array.dtype.kind == "O" and str(getattr(data, "dtype", "")).startswith("Float"):
        return np.asarray(data.to_numpy(dtype=str(data.dtype).lower(), na_value=np.nan))
    if callable(data) and array.dtype.kind == "O":
        raise told(
            TypeError(f"a function is no array: {getattr(data, '__name__', data)!s}".replace("<lambda>", "a lambda")),
            why="operators take numbers, or samples of a function (pb.gradient is np.gradient)",
            fix="the derivative of a function is pb.grad(f); otherwise call it first",
        )
    return array


def as_operand_numbers(data: Any) -> Array:
    """The same for what stands beside a tensor in an expression."""
    if isinstance(data, np.matrix):
        raise told(
            TypeError(f"np.matrix of shape {list(data.shape)} beside a tensor"),
            why="`*` and `**` are matrix products for it, and its rows have two axes; for tensors they are elementwise",
            fix="write np.asarray(m) @ x",
        )
    return as_numbers(data)


def _check_missing(data: Any) -> None:
    """Missing values of pandas' nullable types become nan, with a warning; whole numbers have none."""
    kind = str(getattr(data, "dtype", ""))
    if not kind.startswith(("Float", "Int", "UInt", "boolean")) or not data.isna().any():
        return
    if not kind.startswith("Float"):
        raise told(
            ValueError(f"a {type(data).__name__} of dtype {kind} has missing values"),
            why="whole numbers have no value that stands for a missing one",
            fix='fill them first (s.fillna(0)), or convert to floats (s.astype("Float64"))',
        )
    warn(f"missing values of a {type(data).__name__} of dtype {kind} became nan")


def what_is_no_number(data: Any) -> str:
    """Which column of a table, which element, or what kind of elements, is in the way."""
    dtypes = getattr(data, "dtypes", None)
    columns = getattr(data, "columns", None)
    if columns is not None and dtypes is not None:
        for name, dtype in zip(columns, dtypes, strict=False):
            if getattr(dtype, "kind", "O") not in "biufc" and not str(dtype).startswith(("Float", "Int", "UInt")):
                return f"column {name!r} is of dtype {dtype}"
    name = getattr(data, "name", None)
    if hasattr(data, "dtype"):
        return (f"column {name!r} is" if isinstance(name, str) else "this data is") + f" of dtype {data.dtype}"
    place: list[int] = []
    while isinstance(data, (list, tuple)) and (bad := _first_bad(data)) is not None:
        place.append(bad)
        data = data[bad]
    return f"{f'element {place}' if place else 'this'} is a {type(data).__name__}"


def _first_bad(data: Any) -> int | None:
    """Which element of a list is neither a number nor an array of them."""
    return next((k for k, part in enumerate(data) if np.asarray(part).dtype.kind not in "biufc"), None)


def number_dtype(dtype: Any) -> np.dtype[Any]:
    """What is given as a dtype, as NumPy's. Those of torch count as what NumPy calls the same."""
    try:
        return np.dtype(dtype)
    except TypeError as error:
        name = str(dtype)
        plain = name.rpartition(".")[2]
        found = getattr(np, plain, None)
        is_known = isinstance(found, type) and issubclass(found, np.generic)
        if library_of(dtype) == "torch" and is_known:
            return np.dtype(plain)
        fix = f"write pb.{plain}, or {plain!r}" if is_known else "write one of NumPy's: pb.float64, pb.int64, ..."
        raise told(TypeError(f"data type {name!r} not understood"), fix=fix) from error
