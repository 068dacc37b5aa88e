"""SciPy's own text, run on tensors: for functions of SciPy's that are Python code written for NumPy.

Many of SciPy's functions only compute with arrays: designs of filters, windows, summary statistics. Their text is run
with NumPy replaced, as `adapt` runs a user's, and what they call of SciPy's goes to our functions where there are some.
So the derivative is that of what SciPy computes, option by option. Nothing is taken on trust: a function is declared
here when a test has compared its derivatives with differences (tests/scipy/test_replayed.py), and where the text leads
into compiled code or numbers, a tensor that somebody differentiates is refused there.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Callable
from types import MethodType
from typing import Any

import pullback as pb
from pullback.core.frames import adapted_call
from pullback.errors import AutogradError
from pullback.func._adapt.rewrite import Rewriter, home_of
from pullback.func._adapt.scipy_callbacks import is_scipy, public_module, with_derivatives
from pullback.func._adapt.stand_ins import BUILTINS
from pullback.scipy._composed import as_scipy, refused, watches
from pullback.scipy._surface import Call, declare, tensors

_REPLAYED: set[str] = set()


class _Reader(Rewriter):
    """What SciPy's text sees: NumPy's proxy, SciPy's other functions rewritten, and ours where there are some."""

    # It asks for the types of arrays to find whose they are, and a tensor is one of ours, with a namespace of its own.
    builtins = {name: each for name, each in BUILTINS.items() if name != "type"}  # noqa: RUF012

    def __init__(self, function: Any, outer: Any) -> None:
        home = home_of(function)
        assert home is not None
        super().__init__(home, frozenset(("scipy",)), outer)
        self._function = function

    def _look(self, value: Any) -> Any:
        if isinstance(value, ABCMeta):
            return value  # asked for by isinstance only
        if callable(value) and is_scipy(getattr(value, "__module__", None)) and not self._is_own(value):
            ours = _in_place_of(value)
            if ours is not None:
                return ours
        return super()._look(value)

    def _look_at_scipy(self, value: Any) -> Any:
        owner = value.__self__ if isinstance(value, MethodType) else value
        is_own = owner is getattr(self._function, "__self__", self)
        return None if is_own else super()._look_at_scipy(value)

    def _is_own(self, value: Any) -> bool:
        """Is this the function itself, or what its decorators hide?"""
        own = self._function
        return getattr(value, "__name__", "") == getattr(own, "__name__", None) and value.__module__ == own.__module__


def _in_place_of(value: Any) -> Callable[..., Any] | None:
    if isinstance(value, type) or not hasattr(value, "__name__"):
        return None
    if value.__module__ == "scipy._lib.array_api_compat.numpy.linalg" and value.__name__ == "solve":
        return _solved  # SciPy's copy of NumPy's text, which calls a compiled kernel by its signature
    if f"{public_module(value.__module__)}.{value.__name__}" in _REPLAYED:
        return None  # the rest of SciPy's text may give it arguments that are not public
    return with_derivatives(value)


def _solved(a: Any, b: Any) -> Any:
    return pb.linalg.solve(pb.asarray(a), pb.asarray(b))


def replay(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What SciPy's function gives for tensors."""
    reader = _Reader(function, adapted_call(sys._getframe(1)))
    try:
        seen = reader.see(function)
        out = seen(*map(reader.see_argument, args), **{key: reader.see_argument(each) for key, each in kwargs.items()})
        return tensors(reader.result(out))
    finally:
        reader.finish()


def declare_replayed(path: str, names: str, by: str) -> None:
    """Declare functions of a subpackage, in one text with spaces between, that are SciPy's own text."""
    for name in names.split():
        _REPLAYED.add(f"scipy.{path}.{name}")
        declare(f"{path}.{name}", kind="C", by=by)(_replayed)


def _replayed(given: Call) -> Any:
    if not watches(dict(given.bound.arguments)):
        return as_scipy(given)
    if "lmbda" in given and given["lmbda"] is None:
        raise refused(given.name, "without lmbda it searches for one, as closely as the search goes; give lmbda")
    try:
        return replay(given.plain, *given.bound.args, **given.bound.kwargs)
    except AutogradError as error:
        if error.code not in ("NUMPY_ON_DUAL", "NUMPY_ON_GRAD", "SCIPY_ON_GRAD", "ADAPT_UNSEEN"):
            raise
        raise refused(given.name, "with these options its text leads into compiled code") from error

