"""SciPy's functions for adapted code, where Pullback has the same ones: they keep the gradient.

A call is bound to the signature of SciPy's function. What says how to compute (`overwrite_a`, `check_finite`) is left
out, what has its default value too, and the rest is given to the twin, if it takes that. Otherwise SciPy is called as
it is, and says that the gradient would be lost. Numbers without a history always go to SciPy itself.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.func._adapt.arrays import has_history, inside
from pullback.func._adapt.scipy_callbacks import with_derivatives
from pullback.operators import functions
from pullback.operators.loading import from_family
from pullback.tensors.tensor import Tensor

HOW = frozenset((
    "check_finite", "disp", "lapack_driver", "lwork", "overwrite_a", "overwrite_ab", "overwrite_b", "overwrite_data",
    "overwrite_x", "plan", "workers", "overwrite_c", "overwrite_a_band",
))  # fmt: skip
"""Arguments that say how to compute, not what."""

_linalg = functools.partial(from_family, "linalg")


def _cholesky(a: Any, *, lower: bool = False) -> Any:
    return _linalg("cholesky")(functions["atleast_2d"](a), upper=not lower)


def _eigh(a: Any, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    return _linalg("eigvalsh" if eigvals_only else "eigh")(a, UPLO="L" if lower else "U")


def _eigvalsh(a: Any, *, lower: bool = True) -> Any:
    return _linalg("eigvalsh")(a, UPLO="L" if lower else "U")


def _lu_solve(lu_and_piv: Any, b: Any) -> Any:
    return _linalg("lu_solve")(lu_and_piv, b)


def _qr(a: Any, *, mode: str = "full") -> Any:
    if mode == "raw":
        return NotImplemented
    if mode == "r":
        return (_linalg("qr")(a, mode="complete")[1],)
    return _linalg("qr")(a, mode={"full": "complete", "economic": "reduced"}[mode])


def _solve(a: Any, b: Any, *, assume_a: str | None = None, transposed: bool = False) -> Any:
    if assume_a not in (None, "gen", "general"):
        return NotImplemented  # SciPy reads one triangle only
    return _linalg("solve")(a.T if transposed else a, b)


def _solve_triangular(a: Any, b: Any, *, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    out = _linalg("solve_triangular")(a, b, upper=not lower, unitriangular=unit_diagonal, trans=trans)
    return out[:, 0] if is_vector else out


def _block_diag(*matrices: Any) -> Any:
    return functions["block_diag"](*matrices)


def _same(family: str, *names: str) -> dict[str, Callable[[], Callable[..., Any]]]:
    return {name: functools.partial(from_family, family, name) for name in names}


def _own(**twins: Callable[..., Any]) -> dict[str, Callable[[], Callable[..., Any]]]:
    return {name: functools.partial(_given, twin) for name, twin in twins.items()}


def _given(twin: Callable[..., Any]) -> Callable[..., Any]:
    return twin


_FOURIER = ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")
_COSINES = ("dct", "idct", "dst", "idst")

# By the module and name that users import: how to find the twin.
TWINS: dict[str, dict[str, Callable[[], Callable[..., Any]]]] = {
    "scipy.linalg": {
        **_same("linalg", "circulant", "cho_factor", "cho_solve", "det", "eig", "eigvals", "expm", "hankel", "inv",
                "lu_factor", "norm", "pinv", "solve_banded", "solve_continuous_lyapunov", "solve_sylvester", "sqrtm",
                "svd", "svdvals", "toeplitz"),
        **_own(cholesky=_cholesky, eigh=_eigh, eigvalsh=_eigvalsh, lu_solve=_lu_solve, qr=_qr, solve=_solve,
               solve_triangular=_solve_triangular, block_diag=_block_diag),
    },
    "scipy.fft": _same("fft", *_FOURIER, *_COSINES, "rfft", "irfft", "rfft2", "irfft2", "rfftn", "irfftn", "hfft",
                       "ihfft", "fftshift", "ifftshift", "dctn", "idctn"),
    "scipy.fftpack": _same("fft", *_FOURIER, "dct", "dst"),  # its inverse cosine transforms have other scales
    "scipy.signal": _same("signal", "convolve", "convolve2d", "correlate", "correlate2d", "detrend", "fftconvolve",
                          "hilbert", "lfilter", "periodogram", "resample", "welch"),
    "scipy.special": _same("special", "comb", "factorial", "lambertw", "log_softmax", "logsumexp", "multigammaln",
                           "polygamma", "softmax", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn",
                           "zeta"),
    "scipy.integrate": {name: functools.partial(functions.__getitem__, name)
                        for name in ("cumulative_trapezoid", "simpson", "trapezoid")},
}  # fmt: skip


def scipy_twin(function: Any) -> Callable[[], Callable[..., Any]] | None:
    """How to find Pullback's function for one of SciPy's; None if there is none."""
    return TWINS.get(_public_module(function), {}).get(getattr(function, "__name__", ""))


def _public_module(function: Any) -> str:
    return (getattr(function, "__module__", None) or "").partition("._")[0]


def with_twin(function: Callable[..., Any], find: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """SciPy's function for adapted code: its twin where there is a history to keep."""
    # A trace may show a copy of the function, without the signature of what its decorators hide.
    signature = inspect.signature(getattr(sys.modules[_public_module(function)], function.__name__))

    def call(*args: Any, **kwargs: Any) -> Any:
        if is_followed((args, tuple(kwargs.values()))):
            given = signature.bind(*args, **kwargs)
            operands, options = split(given, signature)
            twin = find()
            if takes(twin, operands, options):
                out = twin(*operands, **options)
                if out is not NotImplemented:
                    return out
            ours = with_derivatives(function)
            if ours is not None:
                return ours(*args, **kwargs)
            return inside(function(*args, **kwargs))
        plain = {name: _plain(value) for name, value in kwargs.items()}
        return inside(function(*map(_plain, args), **plain))

    return functools.update_wrapper(call, function, assigned=("__name__", "__qualname__", "__doc__"))


def _plain(value: Any) -> Any:
    """An argument with arrays in the place of tensors: some functions ask for `flags` before they make one."""
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value._data if isinstance(value, Tensor) else value


def is_followed(value: Any) -> bool:
    """Is there a tensor among nested tuples and lists that is differentiated, traced or has the examples of `vmap`?"""
    if isinstance(value, (tuple, list)):
        return any(map(is_followed, value))
    return isinstance(value, Tensor) and (type(value._data) is not np.ndarray or has_history(value))


def split(given: inspect.BoundArguments, signature: inspect.Signature) -> tuple[list[Any], dict[str, Any]]:
    """What the twin is given: arrays in their order, and options that are not what they are anyway."""
    operands: list[Any] = []
    options: dict[str, Any] = {}
    for name, value in given.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            operands += map(_array, value)
        elif parameter.default is parameter.empty:
            operands.append(_array(value))
        elif name not in HOW and value is not parameter.default:
            options[name] = value
    return operands, options


def _array(value: Any) -> Any:
    """A nested list of tensors as one tensor; a tuple is several things, as `(lu, pivots)`."""
    return functions["asarray"](value) if isinstance(value, (list, np.ndarray)) else value


def takes(twin: Callable[..., Any], operands: list[Any], options: dict[str, Any]) -> bool:
    """Can a function of ours be called like this?"""
    try:
        inspect.signature(twin).bind(*operands, **options)
    except TypeError:
        return False
    return True
