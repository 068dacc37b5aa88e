"""Values compared: what is equal up to rounding, and how it is told if it is not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

import pullback as pb

# Per precision: how much may differ, in parts of the largest element.
LOOSE = {"d": 1e-7, "f": 2e-3, "e": 6e-2, "g": 1e-7}


def plain(value: Any) -> Any:
    """The value with arrays in place of tensors."""
    if isinstance(value, pb.Tensor):
        return value.detach().numpy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def precision(*arrays: Any) -> float:
    """The loosest of the tolerances of these arrays."""
    chars = [np.asarray(x).real.dtype.char for x in arrays]
    return max((LOOSE.get(char, 1e-7) for char in chars), default=1e-7)


def looseness(texts: Iterable[str]) -> float:
    """What statements may lose by casts that they spell out, or by arrays of lower precision that they make."""
    text = "\n".join(texts)
    if re.search(r"float16|\bhalf\b", text):
        return LOOSE["e"]
    return LOOSE["f"] if re.search(r"float32|complex64|\bfloat\(|\bsingle\b|\bcfloat\b", text) else 0.0


def difference(wanted: Any, found: Any, loose: float | None = None, with_dtype: bool = True) -> str | None:
    """What differs between two values that may be nested: "dtype", "shape", "values", "type" or None."""
    if isinstance(wanted, (list, tuple)):
        if isinstance(wanted, list) is not isinstance(found, list) or not isinstance(found, (list, tuple)):
            return "structure"
        if len(wanted) != len(found):
            return "structure"
        return next((d for a, b in zip(wanted, found, strict=True) if (d := difference(a, b, loose, with_dtype))), None)
    if isinstance(wanted, dict):
        if not isinstance(found, dict) or wanted.keys() != found.keys():
            return "structure"
        return next((d for key in wanted if (d := difference(wanted[key], found[key], loose, with_dtype))), None)
    if not isinstance(wanted, (np.ndarray, np.generic, int, float, complex)):
        return None if type(wanted) is type(found) and wanted == found else "type"
    try:
        wanted, found = np.asarray(wanted), np.asarray(found)
    except Exception:
        return "type"
    if with_dtype and wanted.dtype.newbyteorder("=") != found.dtype.newbyteorder("="):
        return "dtype"
    if wanted.shape != found.shape:
        return "shape"
    return None if same(wanted, found, loose) else "values"


def same(wanted: np.ndarray, found: np.ndarray, loose: float | None = None) -> bool:
    """Are these equal up to a part of the largest element?"""
    if wanted.dtype.kind not in "fc" or found.dtype.kind not in "fc":
        return bool((wanted == found).all())
    loose = max(loose or 0.0, precision(wanted, found))
    with np.errstate(all="ignore"):
        finite = np.abs(wanted[np.isfinite(wanted)]).astype(float)
        scale = max(float(finite.max()) if finite.size else 0.0, 1e-3)
        far = np.abs(wanted.astype(complex) - found.astype(complex)) > loose * scale
        equal = (wanted == found) | (np.isnan(wanted) & np.isnan(found))
        unsure = np.isnan(wanted.astype(complex) - found.astype(complex))
        return bool((equal | ~(far | unsure)).all())


def shown(value: Any) -> str:
    value = plain(value)
    with np.printoptions(threshold=20, edgeitems=4, precision=10):
        text = repr(value)
    return f"{text} {value.dtype}" if isinstance(value, np.ndarray) and "dtype" not in text else text
