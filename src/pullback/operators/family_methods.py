"""Methods of `Tensor` for functions that live in a namespace, and in-place twins of functions that are no operators.

`x.digamma()` is `pb.special.digamma(x)`. A twin such as `x.digamma_()` or `x.eq_(y)` writes what the function gives
into `x`, if its dtype can hold that. Torch has these methods; the families behind them are loaded when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.operators.elementwise.casting import in_place
from pullback.operators.loading import from_family
from pullback.operators.public import functions
from pullback.tensors.tensor import Tensor

_SPECIAL = (
    "digamma", "erf", "erfc", "erfinv", "i0", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma", "sinc",
)  # fmt: skip
_LINALG = (
    "cholesky", "cholesky_inverse", "cholesky_solve", "det", "inv", "logdet", "matrix_exp", "matrix_power", "pinv",
    "qr", "slogdet", "svd",
)  # fmt: skip
_LINALG_ALIASES = {"inverse": "inv", "pinverse": "pinv"}
_COMPARISONS = (
    "eq", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "logical_xor", "lt", "ne", "not_equal",
)  # fmt: skip
_OTHERS = ("addbmm", "addmv", "addr", "baddbmm", "cumprod", "cumsum", "frac", "gcd", "lcm", "renorm")


def _behind(namespace: str, name: str) -> Callable[..., Any]:
    """The function of a family, or a top-level one; of `polygamma` with the operand first, as torch's method has it."""
    found: Callable[..., Any] = from_family(namespace, name) if namespace else functions[name]
    return (lambda x, n: found(n, x)) if name == "polygamma" else found


def _method(namespace: str, name: str, own: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        return _behind(namespace, name)(self, *args, **options)

    method.__name__ = method.__qualname__ = own
    method.__doc__ = f"`pb.{namespace}.{name}` of this tensor."
    return method


def _twin(namespace: str, name: str) -> Callable[..., Tensor]:
    return in_place(lambda x, *args, **options: _behind(namespace, name)(x, *args, **options), name)


members: dict[str, Callable[..., Any]] = {
    **{name: _method("special", name, name) for name in _SPECIAL if name not in ("i0", "sinc")},
    **{name: _method("linalg", name, name) for name in _LINALG},
    **{name: _method("linalg", target, name) for name, target in _LINALG_ALIASES.items()},
}
inplace_methods: dict[str, Callable[..., Any]] = {
    **{f"{name}_": _twin("special", name) for name in _SPECIAL},
    **{f"{name}_": _twin("", name) for name in (*_COMPARISONS, *_OTHERS)},
}
