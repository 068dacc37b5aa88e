"""What an operator says when its kernel raises: which operator, which shapes, the user's line, and what to write.

NumPy's errors keep their type. They know nothing of the operator that called them, name none of the user's lines, and
some show a signature of C code, so the text is written anew, with NumPy's own phrase in it where people search for it.
Nothing here runs unless there is an error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback._sites import hide_callers, is_own, told
from pullback.core.frames import drop_own_frames
from pullback.core.spec import describe
from pullback.declare.op import Op

Told = tuple[str, str, str]  # what happened, why, and what to write instead


def failed(error: Exception, op: Op, operands: Sequence[Any]) -> None:
    """Say more in an error that leaves an operator. Whoever calls this raises it again."""
    site = getattr(error, "site", None)
    if site is None and _is_of_a_kernel(error):
        tell(error, op.name.rpartition(".")[2].lstrip("_"), operands, op.function)
    drop_own_frames(error)


def tell(error: Exception, name: str, operands: Sequence[Any], function: Any = None) -> None:
    """Write the four parts into an error of NumPy's or Python's, and say where it is."""
    error.op = name  # type: ignore[attr-defined]
    parts: Told | None = None
    if isinstance(error, TypeError) and (match := _KEYWORD.search(str(error))):
        parts = _unknown_keyword(name, match[1], function)
    elif isinstance(error, np.exceptions.AxisError):
        _add_to_axis_error(error, name, operands)
    else:
        text = str(error)
        arrays = [x for x in operands if _has_shape(x)]
        parts = next((say(name, text, arrays) for phrase, say in _PHRASES if phrase in text), None)
    if parts is not None:
        what, why, fix = parts
        error.args = (what,)
        told(error, why=why, fix=fix)


_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")  # as of 3.13 Python has a hint of its own
_NUMPY = (np.__path__[0],)


def _is_of_a_kernel(error: Exception) -> bool:
    """Was it raised by this package, or by NumPy for it, and not by code of the user's?"""
    entry: Any = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    filename = entry.tb_frame.f_code.co_filename
    return is_own(filename) or filename.startswith(_NUMPY)


def _has_shape(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _shown(x: Any) -> str:
    return describe(x.shape, x.dtype)


def _unknown_keyword(name: str, keyword: str, function: Any) -> Told:
    try:
        known = [each for each in inspect.signature(function).parameters if each != "out"]
    except (TypeError, ValueError):
        known = []
    import difflib  # nobody needs it until there is an error

    close = difflib.get_close_matches(keyword, known, 1, 0.5)
    fix = f"write {close[0]}=" if close else f"it takes {', '.join(known)}" if known else ""
    return f"{name}() got an unexpected keyword argument '{keyword}'", "", fix


def _add_to_axis_error(error: Any, name: str, operands: Sequence[Any]) -> None:
    """NumPy's class writes its text from its fields; there is room for a few words before it."""
    array = next((x for x in operands if _has_shape(x)), None)
    if array is not None and error._msg is None:
        error._msg = f"{name} of {_shown(array)}"
    error.site = hide_callers()
    error.add_note(f"  where {error.site}")


def _not_broadcast(name: str, text: str, arrays: list[Any]) -> Told:
    shapes = [tuple(x.shape) for x in arrays]
    what = f"{name}: operands could not be broadcast together with shapes {' '.join(map(str, shapes))}"
    why, fix = "lengths must be equal or 1, counted from the last axis", ""
    if len(shapes) == 2:
        x, y = shapes
        for axis in range(1, min(len(x), len(y)) + 1):
            if x[-axis] != y[-axis] and 1 not in (x[-axis], y[-axis]):
                why = f"axis {-axis} has length {x[-axis]} on the left and {y[-axis]} on the right; {why}"
                break
        fix = _more_axes(x, y) or "give both one shape, or sizes of 1 where one is to be repeated"
    return what, why, fix


def _more_axes(x: tuple[int, ...], y: tuple[int, ...]) -> str:
    """How to write one of two shapes with an axis at the end, if they fit then."""
    for which, short, long in (("left", x, y), ("right", y, x)):
        if len(short) == 1 and len(long) >= 1:
            try:
                np.broadcast_shapes((*short, 1), long)
            except ValueError:
                continue
            why = "for every pair" if len(long) == 1 else "so that its axis is the one before the last"
            return f"write [:, None] behind the {which} one, {why}"
    return ""


def _inner_lengths(name: str, text: str, arrays: list[Any]) -> Told:
    if len(arrays) != 2 or min(x.ndim for x in arrays) == 0:
        return f"{name}: lengths that must agree differ in {' and '.join(map(_shown, arrays))}", "", ""
    a, b = arrays
    inner = (a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0])
    what = f"{name}: the inner lengths {inner[0]} and {inner[1]} of {_shown(a)} and {_shown(b)} differ"
    turned = "T" if a.ndim == b.ndim == 2 else "mT"
    fix = "make the last axis of the left one as long as the axis before the last of the right one"
    if b.ndim > 1 and b.shape[-1] == a.shape[-1]:
        fix = f"a @ b.{turned} would fit"
    elif a.ndim > 1 and a.shape[-2] == inner[1]:
        fix = f"a.{turned} @ b would fit"
    return what, "a row on the left is multiplied with a column on the right, number by number", fix


def _unequal_parts(name: str, text: str, arrays: list[Any]) -> Told:
    shapes = [tuple(x.shape) for x in arrays]
    odd = next((k for k, shape in enumerate(shapes) if len(shape) != len(shapes[0])), None)
    match = re.search(r"along dimension (\d+), the array at index 0 has size \d+ and the array at index (\d+)", text)
    if match is not None:
        odd, place = int(match[2]), f" in axis {match[1]}"
    elif odd is None:
        odd = next(k for k, shape in enumerate(shapes) if shape != shapes[0])
        axes = [k for k, (m, n) in enumerate(zip(shapes[0], shapes[odd], strict=True)) if m != n]
        place = f" in axis {axes[0]}"
    else:
        place = " in the number of axes"
    what = f"{name}: part {odd} has shape {list(shapes[odd])} and part 0 has {list(shapes[0])}: they differ{place}"
    text = text.removeprefix(f"{name}: ")
    return what, f"{text[:1].lower()}{text[1:]}", "pad or cut that part, or join along the axis that differs"


def _no_such_element(name: str, text: str, arrays: list[Any]) -> Told:
    shown = f", and the tensor is {_shown(arrays[0])}" if arrays else ""
    size = re.search(r"with size (\d+)", text)
    fix = f"positions are 0 to {int(size[1]) - 1}, or -{size[1]} to -1 from the end" if size and size[1] != "0" else ""
    return f"{text}{shown}", "", fix


def _singular(name: str, text: str, arrays: list[Any]) -> Told:
    which, values = _first_bad(arrays, lambda a: np.linalg.matrix_rank(a) < min(a.shape))
    shown = _shown(arrays[0]) if arrays else "the matrix"
    what = f"{name}: Singular matrix: {shown}{which}"
    why = "its rows are not independent, so that it has no inverse"
    if values is not None:
        why = f"its rank is {np.linalg.matrix_rank(values)} of {values.shape[0]}, so that it has no inverse"
    return what, why, "add a little to the diagonal (a + eps * pb.eye(n)), or use pb.linalg.lstsq or pb.linalg.pinv"


def _not_definite(name: str, text: str, arrays: list[Any]) -> Told:
    which, values = _first_bad(arrays, lambda a: _first_bad_pivot(a) is not None)
    shown = _shown(arrays[0]) if arrays else "the matrix"
    pivot = None if values is None else _first_bad_pivot(values)
    why = "a Cholesky factor has the square roots of pivots on its diagonal, and all of them must be positive"
    if pivot is not None:
        why = f"pivot {pivot}, counted from 0, is not positive, and the factor has its square root on the diagonal"
    fix = "symmetrise it and add a little to the diagonal (a + eps * pb.eye(n)), or use pb.linalg.solve or eigh"
    return f"{name}: Matrix is not positive definite: {shown}{which}", why, fix


def _first_bad(arrays: list[Any], is_bad: Callable[[Any], bool]) -> tuple[str, Any]:
    """Which matrix of a batch it is, in words, and its numbers; nothing if there are no numbers."""
    values = getattr(arrays[0], "_data", arrays[0]) if arrays else None
    if type(values) is not np.ndarray or values.ndim < 2 or not np.isfinite(values).all():
        return "", None
    for place in np.ndindex(values.shape[:-2]):
        if is_bad(values[place]):
            return f", the one at {list(place)}" if place else "", values[place]
    return "", None


def _first_bad_pivot(a: Any) -> int | None:
    """The number of leading rows that still have a Cholesky factor; None if all have. Found by halving."""
    low, high = 0, a.shape[-1] + 1
    while high - low > 1:
        middle = (low + high) // 2
        try:
            np.linalg.cholesky(a[:middle, :middle])
            low = middle
        except np.linalg.LinAlgError:
            high = middle
    return None if low == a.shape[-1] else low


_PHRASES: tuple[tuple[str, Callable[[str, str, list[Any]], Told]], ...] = (
    ("could not be broadcast together", _not_broadcast),
    ("mismatch in its core dimension", _inner_lengths),
    ("must match exactly, but along dimension", _unequal_parts),
    ("all the input arrays must have same number of dimensions", _unequal_parts),
    ("all input arrays must have the same shape", _unequal_parts),
    ("is out of bounds for axis", _no_such_element),
    ("too many indices for array", _no_such_element),
    ("Singular matrix", _singular),
    ("Matrix is not positive definite", _not_definite),
)
