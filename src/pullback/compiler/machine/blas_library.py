"""The addresses of BLAS, in the library that NumPy has loaded.

NumPy's wheels bring an OpenBLAS whose names have a prefix and a suffix, and whose integers have 64 bits. Where it is
not found, or has other names, products are left to NumPy.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

import numpy as np

_FUNCTIONS = ("gemm", "gemv", "dot", "trsm")
SET_THREADS, GET_THREADS = "pullback_openblas_set_num_threads", "pullback_openblas_get_num_threads"


def symbol(function: str, kind: str) -> str:
    """The name under which native code calls a function of BLAS, or of LAPACK."""
    return f"pullback_cblas_{'d' if kind == 'f8' else 's'}{function}"


@functools.cache
def addresses() -> dict[str, int]:
    """The address of every function, empty if one of those that compute is missing."""
    for path in _libraries():
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD if hasattr(os, "RTLD_NOLOAD") else 0)
        except OSError:
            continue
        found = _found_in(library)
        if found:
            return found
    return {}


def _libraries() -> list[str]:
    package = os.path.dirname(np.__file__)
    found = []
    for folder in (os.path.join(os.path.dirname(package), "numpy.libs"), os.path.join(package, ".dylibs")):
        if os.path.isdir(folder):
            found += [os.path.join(folder, name) for name in os.listdir(folder) if "openblas64" in name]
    return sorted(found)


def _found_in(library: Any) -> dict[str, int]:
    found = {}
    for kind, letter in (("f8", "d"), ("f4", "s")):
        for function in _FUNCTIONS:
            try:
                address = ctypes.cast(getattr(library, f"scipy_cblas_{letter}{function}64_"), ctypes.c_void_p).value
            except AttributeError:
                return {}
            assert address is not None
            found[symbol(function, kind)] = address
        elimination = getattr(library, f"scipy_{letter}getrf_64_", None)
        if elimination is not None:
            found[symbol("getrf", kind)] = ctypes.cast(elimination, ctypes.c_void_p).value or 0
    for name, function in ((SET_THREADS, "set"), (GET_THREADS, "get")):
        of_threads = getattr(library, f"scipy_openblas_{function}_num_threads64_", None)
        if of_threads is not None:
            found[name] = ctypes.cast(of_threads, ctypes.c_void_p).value or 0
    return found
