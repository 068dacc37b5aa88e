"""Bessel functions and their relatives. Orders are operands without derivative; derivatives by `x` are recurrences.

Where a recurrence divides by `x` there is often another that does not, and then that one is used: its limit at 0 is
right, to any order of differentiation.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.ops.complex_numbers import sign
from pullback.ops.special_gamma import rgamma
from pullback.ops.special_rows import row, scipy_function

_ORDERS = [range(4), (0.4, 4.0)]


def _of_order(name: str, partial: Any, doc: str, **options: Any) -> Op:
    """A function of an order `v` and a point `x`."""
    return row(
        name, ("v", "x"), ("refused", partial), domain=_ORDERS, doc=f"{doc} There is no derivative by the order.",
        **options,
    )  # fmt: skip


# Of any order

jv: Op = _of_order(
    "jv", lambda v, x: (jv(v - 1, x) - jv(v + 1, x)) / 2, "The Bessel function of the first kind of order `v`.",
    aliases=("jn",), holomorphic=True,
)  # fmt: skip
yv: Op = _of_order(
    "yv", lambda v, x: (yv(v - 1, x) - yv(v + 1, x)) / 2, "The Bessel function of the second kind of order `v`.",
    aliases=("yn",), holomorphic=True,
)  # fmt: skip
hankel1: Op = _of_order(
    "hankel1", lambda v, x: (hankel1(v - 1, x) - hankel1(v + 1, x)) / 2,
    "The Hankel function of the first kind, `jv + 1j * yv`.", holomorphic=True,
)  # fmt: skip
hankel2: Op = _of_order(
    "hankel2", lambda v, x: (hankel2(v - 1, x) - hankel2(v + 1, x)) / 2,
    "The Hankel function of the second kind, `jv - 1j * yv`.", holomorphic=True,
)  # fmt: skip
iv: Op = _of_order(
    "iv", lambda v, x: (iv(v - 1, x) + iv(v + 1, x)) / 2, "The modified Bessel function of the first kind.",
    holomorphic=True,
)  # fmt: skip
kv: Op = _of_order(
    "kv", lambda v, x: -(kv(v - 1, x) + kv(v + 1, x)) / 2, "The modified Bessel function of the second kind.",
    aliases=("kn",), holomorphic=True,
)  # fmt: skip


def _ive_slope(v: Any, x: Any, out: Any) -> Any:
    if is_complex_dtype(x.dtype):
        raise NotImplementedError("special.ive has no complex derivative: abs(x.real) is not holomorphic; use iv")
    return (ive(v - 1, x) + ive(v + 1, x)) / 2 - sign(x) * out


ive: Op = _of_order(
    "ive", _ive_slope,
    "`iv(v, x) * exp(-abs(x))` for real `x`.",
)  # fmt: skip
ive.refuses("its factor exp(-abs(x.real)) has no complex derivative", "complex128")
kve: Op = _of_order(
    "kve", lambda v, x, out: out - (kve(v - 1, x) + kve(v + 1, x)) / 2, "`kv(v, x) * exp(x)`.", holomorphic=True
)


def _struve_slope(v: Any, x: Any) -> Any:
    extra = (0.5 * x) ** v * rgamma(v + 1.5) / (2 * math.sqrt(math.pi))
    return (struve(v - 1, x) - struve(v + 1, x)) / 2 + extra


struve: Op = _of_order("struve", _struve_slope, "The Struve function of order `v`.")

# Of order 0 and 1

j0: Op = row("j0", ("x",), (lambda x: -j1(x),), aliases=("bessel_j0",), doc="The Bessel function `jv(0, x)`.")
j1: Op = row(
    "j1", ("x",), (lambda x: (j0(x) - jv(2, x)) / 2,), aliases=("bessel_j1",), doc="The Bessel function `jv(1, x)`."
)
y0: Op = row(
    "y0", ("x",), (lambda x: -y1(x),), domain=(0.4, 4.0), aliases=("bessel_y0",), doc="The Bessel function `yv(0, x)`."
)
y1: Op = row(
    "y1", ("x",), (lambda x, out: y0(x) - out / x,), domain=(0.4, 4.0), aliases=("bessel_y1",),
    doc="The Bessel function `yv(1, x)`.",
)  # fmt: skip
i0: Op = row(
    "i0", ("x",), (lambda x: i1(x),), aliases=("modified_bessel_i0",), doc="The modified Bessel function `iv(0, x)`."
)
i1: Op = row(
    "i1", ("x",), (lambda x: (i0(x) + iv(2, x)) / 2,), aliases=("modified_bessel_i1",),
    doc="The modified Bessel function `iv(1, x)`.",
)  # fmt: skip
i0e: Op = row(
    "i0e", ("x",), (lambda x, out: i1e(x) - sign(x) * out,), domain=(0.2, 3.0),
    doc="`i0(x) * exp(-abs(x))`. The derivative at the kink at 0 is 0.",
)  # fmt: skip
i1e: Op = row(
    "i1e", ("x",), (lambda x, out: (i0e(x) + ive(2, x)) / 2 - sign(x) * out,), domain=(0.2, 3.0),
    doc="`i1(x) * exp(-abs(x))`. The derivative at 0 is 1/2.",
)  # fmt: skip
_POSITIVE: dict[str, Any] = {"domain": (0.4, 4.0)}
k0: Op = row(
    "k0", ("x",), (lambda x: -k1(x),), **_POSITIVE, aliases=("modified_bessel_k0",),
    doc="The modified Bessel function `kv(0, x)`.",
)  # fmt: skip
k1: Op = row(
    "k1", ("x",), (lambda x, out: -k0(x) - out / x,), **_POSITIVE, aliases=("modified_bessel_k1",),
    doc="The modified Bessel function `kv(1, x)`.",
)  # fmt: skip
k0e: Op = row(
    "k0e", ("x",), (lambda x, out: out - k1e(x),), **_POSITIVE, aliases=("scaled_modified_bessel_k0",),
    doc="`k0(x) * exp(x)`.",
)  # fmt: skip
k1e: Op = row(
    "k1e", ("x",), (lambda x, out: out * (1 - 1 / x) - k0e(x),), **_POSITIVE, aliases=("scaled_modified_bessel_k1",),
    doc="`k1(x) * exp(x)`.",
)  # fmt: skip

# Spherical: f' = (n f[n-1] - (n + 1) f[n+1]) / (2 n + 1), in which f[-1] has the factor 0


def _spherical(name: str, doc: str, falling: int, rising: int) -> Op:
    def slope(n: Any, z: Any) -> Any:
        lower = n - (n > 0)
        return (falling * n * op(lower, z) + rising * (n + 1) * op(n + 1, z)) / (2 * n + 1)

    op = row(
        name, ("n", "z"), ("refused", slope), domain=_ORDERS, doc=f"{doc} The order `n` is an integer.",
        kernel=lambda n, z: scipy_function(name)(n, z), holomorphic=True,
    )  # fmt: skip
    return op


spherical_jn: Op = _spherical("spherical_jn", "The spherical Bessel function of the first kind.", 1, -1)
spherical_yn: Op = _spherical("spherical_yn", "The spherical Bessel function of the second kind.", 1, -1)
spherical_in: Op = _spherical("spherical_in", "The modified spherical Bessel function of the first kind.", 1, 1)
spherical_kn: Op = _spherical("spherical_kn", "The modified spherical Bessel function of the second kind.", -1, -1)


@composite(name="special.spherical_bessel_j0")
def spherical_bessel_j0(x: Any) -> Any:
    """`sin(x) / x`, and 1 at 0: `spherical_jn(0, x)`."""
    return spherical_jn(0, x)
