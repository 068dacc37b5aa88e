"""Orthogonal polynomials at a point. Degrees and parameters are operands without derivative.

The derivative of a classical orthogonal polynomial is one of lower degree of the next family, so no rule divides by
`x * x - 1`, and the derivatives at the ends of the interval need no case of their own.
"""

from __future__ import annotations

from typing import Any

from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.ops.special_rows import row

_INTERVAL = (-1.0, 1.0)


def _polynomial(name: str, operands: tuple[str, ...], slope: Any, doc: str, domain: Any = _INTERVAL) -> Op:
    parameters = len(operands) - 1
    return row(
        name, operands, (*["refused"] * parameters, slope),
        domain=[range(5), *[range(1, 4)] * (parameters - 1), domain],
        doc=f"{doc} The derivative is by `x` alone.", holomorphic="hermite" not in name,
    )  # fmt: skip


def _lower(n: Any) -> Any:
    """One degree less; degree 0 stays, and has the factor 0 in the rules."""
    return n - (n != 0)


eval_jacobi: Op = _polynomial(
    "eval_jacobi", ("n", "alpha", "beta", "x"),
    lambda n, alpha, beta, x: eval_jacobi(_lower(n), alpha + 1, beta + 1, x) * ((n + alpha + beta + 1) * (n != 0) / 2),
    "The Jacobi polynomial of degree `n`.",
)  # fmt: skip
eval_gegenbauer: Op = _polynomial(
    "eval_gegenbauer", ("n", "alpha", "x"),
    lambda n, alpha, x: eval_gegenbauer(_lower(n), alpha + 1, x) * (2.0 * alpha * (n != 0)),
    "The Gegenbauer polynomial of degree `n`.",
)  # fmt: skip
eval_legendre: Op = _polynomial(
    "eval_legendre", ("n", "x"), lambda n, x: eval_jacobi(_lower(n), 1.0, 1.0, x) * ((n + 1) * (n != 0) / 2),
    "The Legendre polynomial of degree `n`.",
)  # fmt: skip
eval_chebyt: Op = _polynomial(
    "eval_chebyt", ("n", "x"), lambda n, x: eval_chebyu(_lower(n), x) * (n * 1.0),
    "The Chebyshev polynomial of the first kind of degree `n`.",
)  # fmt: skip
eval_chebyu: Op = _polynomial(
    "eval_chebyu", ("n", "x"), lambda n, x: eval_gegenbauer(_lower(n), 2.0, x) * (2.0 * (n != 0)),
    "The Chebyshev polynomial of the second kind of degree `n`.",
)  # fmt: skip
eval_hermite: Op = _polynomial(
    "eval_hermite", ("n", "x"), lambda n, x: eval_hermite(_lower(n), x) * (2.0 * n),
    "The Hermite polynomial of degree `n`, for the weight `exp(-x * x)`.",
)  # fmt: skip
eval_hermitenorm: Op = _polynomial(
    "eval_hermitenorm", ("n", "x"), lambda n, x: eval_hermitenorm(_lower(n), x) * (1.0 * n),
    "The Hermite polynomial of degree `n` for the weight `exp(-x * x / 2)`.",
)  # fmt: skip
eval_genlaguerre: Op = _polynomial(
    "eval_genlaguerre", ("n", "alpha", "x"),
    lambda n, alpha, x: eval_genlaguerre(_lower(n), alpha + 1, x) * (-1.0 * (n != 0)),
    "The generalized Laguerre polynomial of degree `n`.", (0.1, 3.0),
)  # fmt: skip
eval_laguerre: Op = _polynomial(
    "eval_laguerre", ("n", "x"), lambda n, x: eval_genlaguerre(_lower(n), 1.0, x) * (-1.0 * (n != 0)),
    "The Laguerre polynomial of degree `n`.", (0.1, 3.0),
)  # fmt: skip


def _with_point_first(name: str, evaluate: Op, what: str) -> Any:
    """A polynomial under torch's name, which takes the point before the degree."""

    @composite(name=f"special.{name}", arrays=2)
    def polynomial(x: Any, n: Any) -> Any:
        return evaluate(n, x)

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"The {what} polynomial of degree `n` at `x`: `{evaluate.name}` with the point first."
    return polynomial


chebyshev_polynomial_t = _with_point_first("chebyshev_polynomial_t", eval_chebyt, "Chebyshev")
chebyshev_polynomial_u = _with_point_first("chebyshev_polynomial_u", eval_chebyu, "second Chebyshev")
hermite_polynomial_h = _with_point_first("hermite_polynomial_h", eval_hermite, "Hermite")
hermite_polynomial_he = _with_point_first("hermite_polynomial_he", eval_hermitenorm, "normalized Hermite")
laguerre_polynomial_l = _with_point_first("laguerre_polynomial_l", eval_laguerre, "Laguerre")
legendre_polynomial_p = _with_point_first("legendre_polynomial_p", eval_legendre, "Legendre")
