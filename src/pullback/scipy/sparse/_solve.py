"""Solutions of sparse linear systems: one factorisation for values and gradients; iterative solvers as equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.records import replace
from pullback.func._implicit import Equation
from pullback.func._implicit.lift import lift
from pullback.func._implicit.linear import Array
from pullback.scipy._surface import Call, declare, joined, numbers, scipy_module
from pullback.scipy.sparse._tensor import Held, SparseSolve, SparseTensor, from_any, made
from pullback.tensors.tensor import Tensor, made_here


def _right(b: Any) -> Tensor:
    out = b.toarray() if isinstance(b, SparseTensor) or hasattr(b, "toarray") else b
    out = joined(out)
    return out if out.dtype.kind in "fc" else out * 1.0


@declare("sparse.linalg.spsolve", kind="I", by="values of A, b")
def spsolve(call: Call) -> Any:
    matrix, b = from_any(call["A"]), _right(call["b"])
    if matrix.shape[0] != matrix.shape[1] or b.shape[0] != matrix.shape[0]:
        return call.run(A=matrix.detach().to_scipy(), b=numbers(b.detach()))  # SciPy says what is wrong
    x = SparseSolve.apply(matrix.pattern, Held(), False, matrix.data, b)
    return x.reshape(-1) if b.ndim == 2 and b.shape[1] == 1 else x


@declare("sparse.linalg.factorized", kind="I", by="values of A, b")
def factorized(call: Call) -> Any:
    matrix, held = from_any(call["A"]), Held()
    return lambda b: SparseSolve.apply(matrix.pattern, held, False, matrix.data, _right(b))


def where_not_zero(matrix: Tensor) -> SparseTensor:
    """A dense result as a sparse matrix of what is not 0 in it."""
    rows, columns = np.nonzero(numbers(matrix.detach()))
    return made(matrix[rows, columns], rows, columns, (matrix.shape[0], matrix.shape[1]), "csc")


@declare("sparse.linalg.inv", kind="I", by="values of A")
def inverse(call: Call) -> Any:
    if not isinstance(call["A"], SparseTensor):
        return call.run()
    matrix = call["A"]
    if matrix.shape[0] != matrix.shape[1]:
        return call.run(A=matrix.detach().to_scipy())  # SciPy says what is wrong
    ones = made_here(np.eye(matrix.shape[0]))
    return where_not_zero(SparseSolve.apply(matrix.pattern, Held(), False, matrix.data, ones))


@declare("sparse.linalg.expm", kind="C", by="values of A")
def exponential(call: Call) -> Any:
    return where_not_zero(pb.linalg.expm(call["A"].toarray())) if isinstance(call["A"], SparseTensor) else call.run()


@declare("sparse.linalg.matrix_power", kind="C", by="values of A")
def matrix_power(call: Call) -> Any:
    matrix, power = call["A"], int(call["power"])
    if not isinstance(matrix, SparseTensor):
        return call.run()
    call.run(A=matrix.detach().to_scipy())  # says what is wrong
    out: Any = None
    while power:
        if power % 2:
            out = matrix if out is None else out @ matrix
        matrix, power = (matrix @ matrix if power > 1 else matrix), power // 2
    inner = np.arange(matrix.shape[0])
    return made(made_here(np.ones(len(inner))), inner, inner, matrix.shape, "csr") if out is None else out


_SYMMETRIC = ("cg", "minres")


@declare(
    *(f"sparse.linalg.{name}" for name in (
        "cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "gcrotmk", "minres", "qmr", "tfqmr",
    )),
    kind="I", by="values of A or what an operator takes from anywhere, b",
)  # fmt: skip
def iterative(call: Call) -> Any:
    b = _right(call["b"])
    own = call.name.rpartition(".")[2]
    given = call["A"]
    product = _product(given)
    example = made_here(np.zeros_like(numbers(b.detach())))
    lifted = lift(call.name, product, example)
    codes: list[int] = []

    def solver(values: list[Tensor]) -> tuple[Array, str]:
        right, *rest = values

        def multiply(x: Any) -> Any:
            return numbers(joined(lifted(rest, made_here(np.array(x)))).detach())

        plain: Any = scipy_module("sparse.linalg").LinearOperator(
            (right.shape[0], right.shape[0]), matvec=multiply, rmatvec=_adjoint(given), dtype=right.dtype
        )
        if isinstance(given, SparseTensor):
            plain = given.detach().to_scipy()
        elif not callable(getattr(given, "_matvec", None)) and not isinstance(given, Tensor):
            plain = given
        x, info = call.run(A=plain, b=numbers(right.detach()))
        codes.append(info)
        return x, "" if info == 0 else f"{own} stopped with info={info}"

    def residual(values: Sequence[Any], x: Tensor) -> Any:
        right, *rest = values
        return joined(lifted(rest, x)) - right

    options = call.diff if call.diff.solver != "auto" else replace(call.diff, rtol=min(1e-8, call["rtol"]))
    equation = Equation(call.name, residual, solver, options, is_symmetric=own in _SYMMETRIC)
    x = equation(b, *lifted.tensors)
    return x, codes[-1]


def _product(given: Any) -> Callable[[Tensor], Any]:
    if isinstance(given, Tensor):
        return lambda x: given @ x
    if callable(getattr(given, "_matvec", None)):  # an operator: its function itself, which takes tensors
        return lambda x: given._matvec(x)
    matrix = from_any(given)
    return lambda x: matrix @ x


def _adjoint(given: Any) -> Any:
    if callable(getattr(given, "_rmatvec", None)):
        return lambda x: numbers(joined(given._rmatvec(made_here(np.array(x)))).detach())
    return None
