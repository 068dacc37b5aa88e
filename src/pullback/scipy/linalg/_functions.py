"""Functions of matrices, and the equations of control theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.operators.linalg.logarithms import principal
from pullback.scipy._composed import composed, has_numbers, refused
from pullback.scipy._surface import joined, numbers, scipy_module
from pullback.scipy.linalg._factors import adjoint
from pullback.tensors.tensor import Tensor


@composed("linalg.logm", by="A")
def logm(A: Tensor, disp: Any = True) -> Any:
    if disp is False:
        return NotImplemented
    return principal(A, None)


@composed("linalg.fractional_matrix_power", by="A")
def fractional_matrix_power(A: Tensor, t: Any) -> Any:
    if isinstance(t, Tensor):
        return pb.linalg.expm(t * principal(A, None))
    return pb.linalg.matrix_power(A, int(t)) if t == int(t) else principal(A, float(t))


@composed("linalg.expm_frechet", by="A, E")
def expm_frechet(A: Tensor, E: Tensor, method: Any, compute_expm: bool) -> Any:
    side = A.shape[-1]
    both = pb.linalg.expm(pb.block([[A, E], [A * 0, A]]))
    moved = both[:side, side:]
    return (both[:side, :side], moved) if compute_expm else moved


@composed("linalg.signm", by="A")
def signm(A: Tensor, disp: Any = True) -> Any:
    if disp is False:
        return NotImplemented
    return pb.linalg.solve(pb.linalg.sqrtm(A @ A), A)


@composed("linalg.funm", by="A")
def funm(A: Tensor, func: Callable[..., Any], disp: bool) -> Any:
    w, v = pb.linalg.eig(A)
    if has_numbers(A):
        values = numbers(w)
        gaps = np.abs(values[:, None] - values) + np.where(np.eye(len(values)), np.inf, 0)
        if len(values) > 1 and gaps.min() <= 1e-8 * max(np.abs(values).max(), 1e-300):
            raise refused("linalg.funm", "two eigenvalues are equal")
    out = pb.linalg.solve(pb.swapaxes(v, -1, -2), pb.swapaxes(v * joined(func(w)), -1, -2))
    out = pb.swapaxes(out, -1, -2)
    if A.dtype.kind != "c" and has_numbers(A):
        found = numbers(out)
        out = out.real if np.abs(found.imag).max() <= 1e-10 * max(np.abs(found).max(), 1e-300) else out
    return out if disp else (out, 0.0)


# Riccati equations: the derivative of what they say of the solution.


def _riccati(name: str, residual: Callable[..., Tensor], balanced: bool, given: dict[str, Any]) -> Any:
    names = [key for key, value in given.items() if value is not None]

    def arranged(values: Any) -> dict[str, Any]:
        return dict.fromkeys(given) | dict(zip(names, values, strict=True))

    def solved(*values: Any) -> Any:
        plain = getattr(scipy_module("linalg"), name)
        return pb.asarray(plain(**{key: numbers(value) for key, value in arranged(values).items()}, balanced=balanced))

    def missed(x: Tensor, *values: Any) -> Any:
        return residual(x, **arranged(values))

    return pb.func.implicit(solved, missed)(*(pb.atleast_2d(given[key]) for key in names))


def _continuous(x: Tensor, a: Tensor, b: Tensor, q: Tensor, r: Tensor, e: Any, s: Any) -> Tensor:
    left, right = (x, x) if e is None else (adjoint(e) @ x, x @ e)
    gain, other = left @ b, adjoint(b) @ right
    if s is not None:
        gain, other = gain + s, other + adjoint(s)
    return adjoint(a) @ right + left @ a - gain @ pb.linalg.solve(r, other) + q


def _discrete(x: Tensor, a: Tensor, b: Tensor, q: Tensor, r: Tensor, e: Any, s: Any) -> Tensor:
    gain, other = adjoint(a) @ x @ b, adjoint(b) @ x @ a
    if s is not None:
        gain, other = gain + s, other + adjoint(s)
    left = x if e is None else adjoint(e) @ x @ e
    return adjoint(a) @ x @ a - left - gain @ pb.linalg.solve(r + adjoint(b) @ x @ b, other) + q


@composed("linalg.solve_continuous_are", by="a, b, q, r, e, s")
def solve_continuous_are(balanced: bool, **given: Any) -> Any:
    return _riccati("solve_continuous_are", _continuous, balanced, given)


@composed("linalg.solve_discrete_are", by="a, b, q, r, e, s")
def solve_discrete_are(balanced: bool, **given: Any) -> Any:
    return _riccati("solve_discrete_are", _discrete, balanced, given)


@composed("linalg.solve_discrete_lyapunov", by="a, q")
def solve_discrete_lyapunov(a: Tensor, q: Tensor, method: Any) -> Any:
    """`a x a^H - x + q = 0`, as one system for all elements of `x`, or as a continuous one for large matrices."""
    side = a.shape[-1]
    if method == "direct" or (method is None and side < 10):
        other = a.conj() if a.dtype.kind == "c" else a
        return pb.linalg.solve(pb.eye(side * side) - pb.kron(a, other), q.reshape(-1)).reshape(q.shape)
    one = pb.eye(side)
    turned = adjoint(a)
    inverse = pb.linalg.inv(turned + one)
    left = (turned - one) @ inverse
    right = 2 * pb.linalg.inv(a + one) @ q @ inverse
    return pb.linalg.solve_sylvester(adjoint(left), left, -right)


@composed("linalg.matrix_balance", by="A")
def matrix_balance(A: Tensor, permute: bool, scale: bool, separate: bool) -> Any:
    """The scaling is a constant: powers of two, and an order."""
    plain = scipy_module("linalg").matrix_balance
    _, turn = plain(numbers(A), permute=permute, scale=scale)
    balanced = pb.linalg.solve(pb.asarray(turn), A @ turn)
    if not separate:
        return balanced, pb.asarray(turn)
    return balanced, tuple(map(pb.asarray, plain(numbers(A), permute=permute, scale=scale, separate=True)[1]))


@composed("linalg.clarkson_woodruff_transform", by="input_matrix")
def clarkson_woodruff_transform(input_matrix: Tensor, sketch_size: int, rng: Any, seed: Any) -> Any:
    random = {"rng": numbers(rng)} if seed is None else {"seed": numbers(seed)}
    sketch = scipy_module("linalg").clarkson_woodruff_transform(np.eye(input_matrix.shape[0]), sketch_size, **random)
    return pb.asarray(sketch) @ input_matrix
