"""How one example of a batch lies in memory."""

from __future__ import annotations

from typing import NamedTuple


class Flags(NamedTuple):
    """The few flags of an array that code asks for."""

    c_contiguous: bool
    f_contiguous: bool
    writeable: bool
    owndata: bool
    aligned: bool = True


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, order: str) -> bool:
    """Do elements of this shape and these strides follow each other in row-major ("C") or column-major ("F") order?"""
    if 0 in shape:
        return True
    expected = itemsize
    axes = range(len(shape)) if order == "F" else range(len(shape) - 1, -1, -1)
    for axis in axes:
        if shape[axis] != 1:
            if strides[axis] != expected:
                return False
            expected *= shape[axis]
    return True
