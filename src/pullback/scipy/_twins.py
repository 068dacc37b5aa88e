"""Functions that Pullback has anyway, under SciPy's signatures.

A call is bound to the signature of SciPy's function. What says how to compute (`overwrite_a`, `check_finite`) is left
out, what has its default value too, and the rest is given to our function, if it takes that. If not, and for what
nobody differentiates, SciPy computes, and a guard sees to it that nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.pytree import flatten
from pullback.func._adapt.scipy_twins import TWINS, split, takes
from pullback.func._implicit.lift import is_watched
from pullback.operators.loading import load_family
from pullback.scipy._surface import Call, declare, declare_as, guarded, scipy_module
from pullback.tensors.tensor import Tensor


def declare_existing(path: str) -> None:
    """Declare the functions of a subpackage that Pullback has."""
    for name, find in TWINS.get(f"scipy.{path}", {}).items():
        declare(f"{path}.{name}", kind="E", by="its arrays")(_with(find))


def declare_ufuncs() -> None:
    """Declare the ufuncs of `scipy.special` that Pullback has: they have no signature but that of all ufuncs."""
    theirs, ours = scipy_module("special"), load_family("special")
    for name in ours.__all__:
        if isinstance(getattr(theirs, name, None), np.ufunc):
            declare_as(f"special.{name}", getattr(ours, name), kind="E", by="its arrays")


def _with(find: Callable[[], Callable[..., Any]]) -> Callable[[Call], Any]:
    def call(given: Call) -> Any:
        bound = given.bound
        if any(isinstance(leaf, Tensor) and is_watched(leaf) for leaf in flatten(dict(bound.arguments))[0]):
            operands, options = split(bound, bound.signature)
            twin = find()
            if takes(twin, operands, options):
                out = twin(*operands, **options)
                if out is not NotImplemented:
                    return out
        return guarded(given.name, given.plain)(*bound.args, **bound.kwargs)

    return call
