"""Loops of ufuncs, generalized or of elements, of NumPy's and SciPy's, which native code calls by address.

A loop is a C function that takes pointers, lengths and strides, and knows nothing of Python: it is what remains of
`np.linalg.cholesky` without dispatch, checks and new arrays. Native code calls it by a name that says which one it is,
so that code on disk fits other processes. What a loop cannot treat it reports as an invalid operation, in the flags
of the processor.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from importlib import import_module
from typing import NamedTuple

import numpy as np

from pullback.compiler.machine import structs, symbols
from pullback.compiler.machine.structs import loops_of

_MODULES = {
    "linalg": "numpy.linalg._umath_linalg", "fft": "numpy.fft._pocketfft_umath", "numpy": "numpy",
    "special": "scipy.special",
}  # fmt: skip
_LOOP, _DATA = "pullback_loop", "pullback_data"
CLEAR_FLAGS, TEST_FLAGS = "feclearexcept", "fetestexcept"
INVALID = 1
"""The flag of an invalid operation, on x86 and on ARM."""


class Core(NamedTuple):
    """A loop: the names of the function and of what it is given besides (empty if that is nothing), the number of its
    inputs, and the names of the axes of every argument's matrices."""

    function: str
    data: str
    inputs: int
    axes: tuple[tuple[str, ...], ...]


@functools.cache
def is_possible() -> bool:
    """Can native code ask for the flags of the processor, and is NumPy as expected?"""
    is_known = os.name == "posix" and platform.machine() in ("x86_64", "aarch64", "arm64")
    has_names = is_known and all(map(symbols.exists, (CLEAR_FLAGS, TEST_FLAGS)))
    return has_names and sys.byteorder == "little" and structs.are_as_expected()


def core_of(ufunc: str, inputs: str, outputs: str) -> Core | None:
    """The loop of a ufunc for inputs and outputs of these dtypes (`dd`, `d`), if it can be called. There may be more
    outputs than the ufunc has."""
    found = _found(ufunc)
    if found is None:
        return None
    types = f"{inputs}->{outputs[: found.nout]}"
    if types not in found.types:
        return None
    place = found.types.index(types)
    function, data = (f"{prefix}.{ufunc}.{place}" for prefix in (_LOOP, _DATA))
    data = data if loops_of(found)[1][place] else ""
    for name in filter(None, (function, data)):
        provide(name)
    return Core(function, data, found.nin, _axes(found))


@functools.cache
def _found(ufunc: str) -> np.ufunc | None:
    module, name = ufunc.split(".")
    try:
        found = getattr(import_module(_MODULES[module]), name)
        loops_of(found)
    except Exception:  # another NumPy, which has these elsewhere
        return None
    return found if is_possible() else None


def name_of(ufunc: np.ufunc) -> str | None:
    """The name of an elementwise ufunc of NumPy or SciPy, if it has a loop that can be called."""
    name = f"{'numpy' if getattr(np, ufunc.__name__, None) is ufunc else 'special'}.{ufunc.__name__}"
    return name if ufunc.signature is None and _found(name) is ufunc else None


def _axes(ufunc: np.ufunc) -> tuple[tuple[str, ...], ...]:
    """The names of the axes of every argument."""
    if ufunc.signature is None:
        return ((),) * ufunc.nargs
    parts = ufunc.signature.replace(" ", "").replace("->", ",")[1:-1].split("),(")
    return tuple([tuple(name for name in part.split(",") if name) for part in parts])


@functools.cache
def provide(name: str) -> bool:
    """Let native code use a loop, or what it is given besides, by a name of ours. Is there such a thing?"""
    prefix, *parts = name.split(".")
    ufunc = _found(".".join(parts[:2])) if prefix in (_LOOP, _DATA) else None
    if ufunc is None:
        return False
    functions, data, _ = loops_of(ufunc)
    addresses = functions if prefix == _LOOP else data
    place = int(parts[2])
    if place >= len(addresses) or not addresses[place]:
        return False
    symbols.define(name, addresses[place])
    return True
