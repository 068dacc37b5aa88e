"""What an operator says when its kernel raises: which operator, which shapes, the user's line, and what to write.

NumPy's errors keep their type. They know nothing of the operator that called them, name none of the user's lines, and
some show a signature of C code, so the text is written anew, with NumPy's own phrase in it where people search for it.
Nothing here runs unless there is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.doors import is_ours, name_place, what_to_write
from pullback.core.frames import drop_own_frames
from pullback.core.spec import describe
from pullback.declare.op import Op

Told = tuple[str, str, str]  # what happened, why, and what to write instead; "" leaves a text as it is


def failed(error: Exception, op: Op, operands: Sequence[Any]) -> None:
    """Say more in an error that leaves an operator. Whoever calls this raises it again."""
    if getattr(error, "site", None) is None and is_ours(error):
        tell(error, op.name.rpartition(".")[2].lstrip("_").removeprefix("linalg_"), operands, op.function)
    drop_own_frames(error)


def tell(error: Exception, name: str, operands: Sequence[Any], function: Any = None) -> None:
    """Write the four parts into an error of NumPy's or Python's, and say where it is."""
    error.op = name  # type: ignore[attr-defined]
    arrays = [x for x in operands if _has_shape(x)]
    if isinstance(error, np.exceptions.AxisError) and arrays:
        _name_operand(error, f"{name} of {_shown(arrays[0])}")
    text = str(error)
    parts = next((say(name, text, arrays) for phrase, say in _PHRASES if phrase in text), None)
    if parts is None:
        name_place(error, what_to_write(error, function))
        return
    what, why, fix = parts
    if what and error.args == (text,):
        error.args = (what,)
    name_place(error, fix, why)


def _name_operand(error: Any, shown: str) -> None:
    """NumPy's class writes its text from its fields; there is room for a few words before it."""
    if error._msg is None:
        error._msg = shown


def _has_shape(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _shown(x: Any) -> str:
    return describe(x.shape, x.dtype)


def _not_broadcast(name: str, text: str, arrays: list[Any]) -> Told:
    shapes = [tuple(x.shape) for x in arrays]
    if _fit(shapes):  # it is something else that does not fit, such as what an index selects
        match = re.search(r"remapped\]: (\(.*?\)).*shape (\(.*?\))", text)
        what = f"a value of shape {match[1]} cannot be written to elements of shape {match[2]}" if match else ""
        return what, "lengths must be equal or 1, counted from the last axis", ""
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


def _fit(shapes: list[tuple[int, ...]]) -> bool:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def _more_axes(x: tuple[int, ...], y: tuple[int, ...]) -> str:
    """How to write one of two shapes with an axis at the end, if they fit then."""
    for which, short, long in (("left", x, y), ("right", y, x)):
        if len(short) == 1 and len(long) >= 1:
            if not _fit([(*short, 1), long]):
                continue
            why = "for every pair" if len(long) == 1 else "so that its axis is the one before the last"
            return f"write [:, None] after the {which} one, {why}"
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


def _not_defined(name: str, text: str, arrays: list[Any]) -> Told:
    kind = re.search(r"of type (\w+)", text)
    names = ["str" if x.dtype.kind == "U" else str(x.dtype) for x in arrays]
    given = kind[1] if kind else " and ".join(names) or "what it is given"
    fix = "convert it to numbers first"
    if any(word in name for word in ("bitwise", "shift", "invert")):
        fix = "it is about bits: use integers or truth values, such as x > 0, or x.astype(int)"
    return f"{name} is not defined for {given}", "", fix


def _few_axes(name: str, text: str, arrays: list[Any]) -> Told:
    shown = " and ".join(map(_shown, arrays))
    return f"{name}: an operand has too few axes: {shown}", "", "write x[None] for one more, or `*` to scale"


def _does_not_fit_out(name: str, text: str, arrays: list[Any]) -> Told:
    what = f"{name}: the result does not fit into the tensor that is written: {text}"
    return what, "writing in place keeps the shape of a tensor", "write x = x + y for a new one"


def _not_cast(name: str, text: str, arrays: list[Any]) -> Told:
    fix = "write x = x + y for a new tensor, or make the tensor with the wider dtype"
    return text, "writing in place keeps the dtype of a tensor, and this would lose digits or imaginary parts", fix


def _of_nothing(name: str, text: str, arrays: list[Any]) -> Told:
    shown = f" of {_shown(arrays[0])}" if arrays else ""
    return f"{name}{shown}: {text}", "there are no elements to choose from", "ask x.size first; max has initial="


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
    ("does not have enough dimensions", _few_axes),
    ("not supported for the input types", _not_defined),
    ("loop of ufunc does not support argument", _not_defined),
    ("non-broadcastable output operand", _does_not_fit_out),
    ("with casting rule", _not_cast),
    ("zero-size array to reduction operation", _of_nothing),
    ("of an empty sequence", _of_nothing),
    ("must match exactly, but along dimension", _unequal_parts),
    ("all the input arrays must have same number of dimensions", _unequal_parts),
    ("all input arrays must have the same shape", _unequal_parts),
    ("is out of bounds for axis", _no_such_element),
    ("too many indices for array", _no_such_element),
    ("Singular matrix", _singular),
    ("Matrix is not positive definite", _not_definite),
)
