"""The linear systems of implicit derivatives: `A x = b` and its transpose, `A` the derivative of a residual.

Small ones are dense: the Jacobian is computed and solved with, and that is recorded as everything else is. Large ones
are never formed. An iterative solver of SciPy's is given products, and its result solves an equation of its own, so
it has a derivative by the same rule (`Equation` in `__init__`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.records import Record
from pullback.errors import AutogradError

Array = np.ndarray[Any, Any]
DENSE_UP_TO = 512  # unknowns whose Jacobian is formed by default
DENSE_AT_ALL = 4096  # ... if no iterative solver converged
SOLVERS = ("auto", "dense", "cg", "minres", "gmres", "bicgstab", "lsmr")
FAILURES = ("raise", "nan", "warn")
DEGENERATE = ("raise", "active", "inactive", "lstsq", "nan")


class Diff(Record, frozen=True):
    """How derivatives of solutions are computed.

    `solver` of the linear systems: "auto" is dense up to 512 unknowns and iterative above; or the name of one of
    SciPy's, or a callable `(matvec, rmatvec, b) -> x`. `rtol` and `maxiter` are its.
    `check` looks whether the solution is one before a derivative is used; `on_failure` says what is done if not:
    "raise", "nan" or "warn". `polish` Newton steps are made behind SciPy's own.
    `on_degenerate` is for kinks and singular systems: "raise", or "lstsq", "active", "inactive", "nan".
    `hessian="gn"` leaves the second derivatives of residuals out of least squares. `compile=False` runs callbacks as
    they are, and not as compiled code.
    """

    solver: Any = "auto"
    rtol: float = 1e-10
    maxiter: int | None = None
    check: bool = True
    on_failure: str = "raise"
    on_degenerate: str = "raise"
    polish: int = 0
    hessian: str = "full"
    compile: bool = True

    def checked(self) -> Diff:
        """This, if every word in it is known."""
        allowed = (("on_failure", FAILURES), ("on_degenerate", DEGENERATE), ("hessian", ("full", "gn")))
        for name, words in allowed:
            if getattr(self, name) not in words:
                raise ValueError(f"Diff: {name} must be one of {words}, got {getattr(self, name)!r}")
        if not callable(self.solver) and self.solver not in SOLVERS:
            raise ValueError(f"Diff: solver must be one of {SOLVERS} or a callable, got {self.solver!r}")
        return self


def is_dense(size: int, options: Diff) -> bool:
    """Is the Jacobian of this many unknowns formed?"""
    return options.solver == "dense" or (options.solver == "auto" and size <= DENSE_UP_TO)


def singular(name: str) -> AutogradError:
    """What is raised if a system has no solution, or many."""
    return AutogradError(
        "SCIPY_SINGULAR",
        f"the solution of {name} has no derivative: the Jacobian of its equation is singular there",
        why="a multiple root, a flat minimum or dependent constraints: the solution does not move smoothly, or not at "
        "a speed that the equation says",
        fix="change the problem so that the solution is isolated, or take the smallest solution with "
        'pb.scipy.Diff(on_degenerate="lstsq")',
    )


def iterated(
    name: str,
    matvec: Callable[[Array], Array],
    rmatvec: Callable[[Array], Array],
    b: Array,
    options: Diff,
    is_symmetric: bool,
) -> Array:
    """`x` with `matvec(x) == b`, by an iterative solver of SciPy's, or dense once if none converges."""
    if callable(options.solver):
        return np.asarray(options.solver(matvec, rmatvec, b), dtype=b.dtype)
    import scipy.sparse.linalg as solvers

    size = b.size
    if not np.any(b):
        return np.zeros_like(b)
    operator = solvers.LinearOperator((size, size), matvec=matvec, rmatvec=rmatvec, dtype=b.dtype)
    limit = options.maxiter or 10 * size
    known = {"rtol": options.rtol, "atol": 0.0, "maxiter": limit}

    def is_solved(x: Array) -> bool:
        return bool(np.linalg.norm(matvec(x) - b) <= 10 * options.rtol * np.linalg.norm(b))

    chosen = options.solver if options.solver != "auto" else "cg" if is_symmetric else "gmres"
    if chosen == "lsmr":
        x = solvers.lsmr(operator, b, atol=options.rtol, btol=options.rtol, maxiter=limit)[0]
    elif chosen == "minres":
        x = solvers.minres(operator, b, rtol=options.rtol, maxiter=limit)[0]
    elif chosen == "gmres":
        x = solvers.gmres(operator, b, restart=50, rtol=options.rtol, atol=0.0, maxiter=max(1, limit // 50))[0]
    else:
        x = getattr(solvers, chosen)(operator, b, **known)[0]
    if is_solved(x):
        return x
    if chosen == "cg":  # a Hessian with directions of negative curvature
        x = solvers.minres(operator, b, rtol=options.rtol, maxiter=limit)[0]
        if is_solved(x):
            return x
    if size <= DENSE_AT_ALL:
        matrix = np.stack([matvec(row) for row in np.eye(size, dtype=b.dtype)], axis=1)
        return dense(name, matrix, b, options)
    residual = np.linalg.norm(matvec(x) - b) / np.linalg.norm(b)
    raise AutogradError(
        "SCIPY_ADJOINT_FAILED",
        f"the linear system behind the derivative of {name} was not solved: {chosen} left {residual:.1e} of it",
        why=f"it has {size} unknowns, too many for a dense factorisation, and the iteration did not converge",
        fix="choose another solver with pb.scipy.Diff(solver=...), a callable with a preconditioner for instance, or a "
        "larger rtol",
    )


def dense(name: str, matrix: Array, b: Array, options: Diff) -> Array:
    """`x` with `matrix @ x == b`, on plain arrays."""
    if options.on_degenerate == "lstsq":
        return np.linalg.lstsq(matrix, b)[0]
    if is_singular(matrix):
        raise singular(name)
    return np.linalg.solve(matrix, b)


def is_singular(matrix: Array) -> bool:
    """Has the matrix a condition number that leaves no digit, or is it not a matrix of numbers?"""
    if matrix.size == 1:
        return not math.isfinite(abs(matrix.item())) or matrix.item() == 0
    if not np.isfinite(matrix).all():
        return True
    values = np.linalg.svd(matrix, compute_uv=False)
    return bool(values.size and values[-1] <= values[0] * np.finfo(matrix.dtype).eps)
