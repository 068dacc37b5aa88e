"""Some eigenvalues and singular values of sparse matrices, exponentials, and least squares.

SciPy finds the pairs. Newton's method for `A v = w M v` with a fixed scale of `v`, started there, stays there, and its
steps have the derivatives of the pair: one step the first, two the second and third. Each is a sparse linear system.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.errors import AutogradError
from pullback.func._implicit import Equation
from pullback.func._implicit.lift import is_plain, is_watched
from pullback.func._implicit.linear import Array
from pullback.scipy._surface import Call, Rule, declare, joined, no_rule, numbers, scipy_module, tensors, watching
from pullback.scipy.sparse._solve import _right
from pullback.scipy.sparse._tensor import Held, Pattern, SparseSolve, SparseTensor, from_any, made
from pullback.tensors.tensor import Tensor, made_here


def _is_sparse(matrix: Any) -> bool:
    return isinstance(matrix, SparseTensor | Tensor | np.ndarray) or hasattr(matrix, "tocsr")


def _values(matrix: Any) -> Any:
    """SciPy's matrix, or what is no matrix as it is."""
    if not _is_sparse(matrix):
        return matrix
    return from_any(matrix).detach().to_scipy()


def _refuse_operators(call: Call, *names: str) -> None:
    for name in names:
        if call[name] is not None and not _is_sparse(call[name]):
            function = getattr(call[name], "_matvec", None)
            cells = getattr(getattr(call[name], "_LinearOperator__matvec", function), "__closure__", None) or ()
            for cell in cells:
                if isinstance(cell.cell_contents, Tensor) and is_watched(cell.cell_contents):
                    reason = "the matrix is an operator, whose values are not known one by one"
                    raise no_rule(Rule(call.name, "I", reason=reason), name)


def _moves(*matrices: Any) -> bool:
    return any(isinstance(each, SparseTensor) and is_watched(each.data) for each in matrices)


def _refined(name: str, matrix: SparseTensor, mass: SparseTensor | None, value: Any, vector: Array) -> tuple[Any, Any]:
    """An eigenvalue and its vector as functions of the matrices: two steps of Newton's method."""
    size = matrix.shape[0]
    kind = np.result_type(matrix.dtype, vector.dtype, type(value))
    vector = vector.astype(kind)
    matrix = SparseTensor(matrix.pattern, matrix.data.astype(kind))
    scale = vector.conj() if mass is None else (mass.detach().to_scipy() @ vector).conj()
    v: Any = made_here(vector / (scale @ vector))
    w: Any = made_here(np.array(value, dtype=kind))
    inner = np.arange(size)
    border = np.full(size, size)
    ones = mass if mass is not None else SparseTensor(Pattern(inner, inner, matrix.shape), made_here(np.ones(size)))
    own = SparseTensor(ones.pattern, ones.data.astype(kind))
    rows = np.concatenate([matrix.pattern.rows, own.pattern.rows, inner, border])
    columns = np.concatenate([matrix.pattern.columns, own.pattern.columns, border, inner])
    for _ in range(2):
        pushed = own @ v
        data = pb.concat([matrix.data, -w * own.data, -pushed, made_here(scale.astype(kind))])
        system = made(data, rows, columns, (size + 1, size + 1), "csr")
        off = pb.concat([matrix @ v - w * pushed, (made_here(scale.astype(kind)) @ v - 1.0).reshape(1)])
        held = Held()
        try:
            pivots = np.abs(held.of(system.pattern, numbers(system.data.detach()))._solver.U.diagonal())
        except RuntimeError as error:  # SuperLU: the factor is exactly singular
            raise _degenerate(name) from error
        if pivots.min() < 1e-10 * pivots.max():
            raise _degenerate(name)
        step = SparseSolve.apply(system.pattern, held, False, system.data, off)
        v, w = v - step[:size], w - step[size]
    if not np.allclose(numbers(w.detach()), value, rtol=1e-5, atol=1e-8 * max(1.0, abs(value))):
        raise _degenerate(name)
    return w, v


def _degenerate(name: str) -> AutogradError:
    return AutogradError(
        "SCIPY_DEGENERATE",
        f"an eigenvalue that {name} found is not a single one, and has no derivative",
        why="it meets another one there, and its vector is any of a plane",
        fix="use dense pb.linalg.eigh for functions of the whole cluster, or make the matrix less symmetric",
    )


def _check_gaps(name: str, values: Array, norm: float) -> None:
    for k in range(len(values)):
        others = np.delete(values, k)
        if others.size and np.abs(others - values[k]).min() < 1e-10 * norm:
            raise _degenerate(name)


@declare("sparse.linalg.eigsh", "sparse.linalg.eigs", kind="I", by="values of A and M")
def eigen(call: Call) -> Any:
    _refuse_operators(call, "A", "M")
    wants_vectors = call["return_eigenvectors"]
    changes: dict[str, Any] = {"A": _values(call["A"]), "return_eigenvectors": True}
    if call["M"] is not None:
        changes["M"] = _values(call["M"])
    values, vectors = call.run(**changes)
    matrix = from_any(call["A"]) if _is_sparse(call["A"]) else None
    mass = from_any(call["M"]) if call["M"] is not None and _is_sparse(call["M"]) else None
    if matrix is None or not _moves(matrix, mass):
        return (tensors(values), tensors(vectors)) if wants_vectors else tensors(values)
    w, v = _pairs(call.name, matrix, mass, values, vectors)
    return (w, v) if wants_vectors else w


def _pairs(
    name: str, matrix: SparseTensor, mass: SparseTensor | None, values: Array, vectors: Array
) -> tuple[Tensor, Tensor]:
    """The eigenvalues and vectors that SciPy found, as functions of the matrices."""
    _check_gaps(name, values, float(np.abs(numbers(matrix.data.detach())).max()))
    pairs = [_refined(name, matrix, mass, values[k], vectors[:, k]) for k in range(len(values))]
    w = pb.stack([value for value, _ in pairs])
    columns = []
    for k, (_, v) in enumerate(pairs):
        length = (pb.conj(v) * (v if mass is None else mass @ v)).sum().real ** 0.5
        columns.append(v / length * np.linalg.norm(vectors[:, k]) if mass is None else v / length)
    return w, pb.stack(columns, axis=1)


@declare("sparse.linalg.lobpcg", kind="I", by="values of A and B")
def lobpcg(call: Call) -> Any:
    _refuse_operators(call, "A", "B")
    changes = {name: _values(call[name]) for name in ("A", "B", "M") if call[name] is not None}
    for name, given in changes.items():
        if isinstance(given, FunctionType):
            reason = "a function of its products has no derivative here; give the matrix"
            changes[name] = watching(call.name, Rule(call.name, "X", reason=reason), given)
    values, vectors, *further = call.run(**changes, X=numbers(call["X"]), Y=numbers(call["Y"]))
    matrix, mass = (from_any(call[name]) if call[name] is not None and _is_sparse(call[name]) else None
                    for name in ("A", "B"))  # fmt: skip
    if matrix is None or not _moves(matrix, mass):
        return (tensors(values), tensors(vectors), *further)
    return (*_pairs(call.name, matrix, mass, values, vectors), *further)


@declare("sparse.linalg.svds", kind="I", by="values of A")
def svds(call: Call) -> Any:
    _refuse_operators(call, "A")
    wants = call["return_singular_vectors"]
    matrix = from_any(call["A"]) if _is_sparse(call["A"]) else None
    if matrix is None or not _moves(matrix):
        return tensors(call.run(A=_values(call["A"])))
    u, s, vh = call.run(A=_values(call["A"]), return_singular_vectors=True)
    _check_gaps(call.name, s, float(np.abs(numbers(matrix.data.detach())).max()))
    m, n = matrix.shape
    rows = np.concatenate([matrix.pattern.rows, matrix.pattern.columns + m])
    columns = np.concatenate([matrix.pattern.columns + m, matrix.pattern.rows])
    both = made(pb.concat([matrix.data, pb.conj(matrix.data)]), rows, columns, (m + n, m + n), "csr")
    left, values, right = [], [], []
    for k in range(len(s)):
        value, vector = _refined(call.name, both, None, s[k], np.concatenate([u[:, k], vh[k].conj()]))
        values.append(value.real if value.dtype.kind == "c" else value)
        one, other = vector[:m], vector[m:]
        left.append(one / (pb.conj(one) * one).sum().real ** 0.5)
        right.append(pb.conj(other) / (pb.conj(other) * other).sum().real ** 0.5)
    if wants is False:
        return pb.stack(values)
    return pb.stack(left, axis=1), pb.stack(values), pb.stack(right)


class ExpmMultiply(Function):
    """`exp(t A) @ b` for the values of `A` on a pattern."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(pattern: Pattern, t: float, data: Tensor, b: Tensor) -> Tensor:
        matrix = pattern.matrix(data.detach().numpy()) * t
        return made_here(np.asarray(scipy_module("sparse.linalg").expm_multiply(matrix, b.detach().numpy())))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.pattern, ctx.t, data, b = inputs
        ctx.save_for_backward(data, b)
        ctx.save_for_forward(data, b)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        data, b = ctx.saved_tensors
        turned, order = ctx.pattern.transposed()
        back = pb.conj(data)[order]
        by_data: Any = None
        if ctx.needs_input_grad[2]:
            by_data = 0.0
            for share, weight in _shares(ctx.pattern, ctx.t, data):
                begun = ExpmMultiply.apply(ctx.pattern, ctx.t * share, data, b)
                ended = ExpmMultiply.apply(turned, ctx.t * (1 - share), back, gradient)
                part = ended[ctx.pattern.rows] * pb.conj(begun[ctx.pattern.columns])
                by_data = by_data + weight * ctx.t * (part.sum(axis=-1) if b.ndim > 1 else part)
        return None, None, by_data, ExpmMultiply.apply(turned, ctx.t, back, gradient)

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, data_dot: Any, b_dot: Any) -> Tensor:
        data, b = ctx.saved_tensors
        moved: Any = 0.0
        if b_dot is not None:
            moved = moved + ExpmMultiply.apply(ctx.pattern, ctx.t, data, b_dot)
        if data_dot is not None:
            change = SparseTensor(ctx.pattern, data_dot)
            for share, weight in _shares(ctx.pattern, ctx.t, data):
                begun = ExpmMultiply.apply(ctx.pattern, ctx.t * share, data, b)
                moved = moved + weight * ctx.t * ExpmMultiply.apply(
                    ctx.pattern, ctx.t * (1 - share), data, change @ begun
                )
        return moved


def _shares(pattern: Pattern, t: float, data: Tensor) -> list[tuple[float, float]]:
    """Gauss's nodes for the integral over the time at which a change of the matrix acts. Exact to rounding."""
    size = abs(t) * float(np.abs(pattern.matrix(np.abs(numbers(data.detach())))).sum(axis=0).max(initial=0.0))
    nodes, weights = np.polynomial.legendre.leggauss(8 + int(np.ceil(2 * size)))
    return [(float(node + 1) / 2, float(weight) / 2) for node, weight in zip(nodes, weights, strict=True)]


@declare("sparse.linalg.expm_multiply", kind="A", by="values of A, B")
def expm_multiply(call: Call) -> Any:
    matrix, b = from_any(call["A"]), _right(call["B"])
    if call["start"] is None and call["stop"] is None and call["num"] is None:
        return ExpmMultiply.apply(matrix.pattern, 1.0, matrix.data, b)
    ends = {name: call[name] for name in ("start", "stop", "num", "endpoint") if call[name] is not None}
    if any(isinstance(ends.get(name), Tensor) and is_watched(ends[name]) for name in ("start", "stop")):
        raise no_rule(Rule(call.name, "A", reason="the times of expm_multiply are constants"), "start or stop")
    times = np.linspace(**numbers(ends))
    return pb.stack([ExpmMultiply.apply(matrix.pattern, float(t), matrix.data, b) for t in times])


@declare("sparse.linalg.lsqr", "sparse.linalg.lsmr", kind="I", by="values of A, b, damp")
def least_squares(call: Call) -> Any:
    if not _is_sparse(call["A"]):
        _refuse_operators(call, "A")
        return tensors(call.run(b=numbers(call["b"])))
    matrix, b, damp = from_any(call["A"]), _right(call["b"]), joined(call["damp"]) * 1.0
    further: list[Any] = []

    def solver(values: list[Tensor]) -> tuple[Array, str]:
        data, right, penalty = (numbers(value.detach()) for value in values)
        changes = {"A": matrix.pattern.matrix(data), "b": right.reshape(-1), "damp": float(penalty)}
        x, status, *rest = call.run(**changes)
        further[:] = [status, *rest]
        return x, "" if status in (0, 1, 2, 4, 5) else f"it stopped with istop={status}"

    def residual(values: Any, x: Tensor) -> Any:
        data, right, penalty = values
        own = SparseTensor(matrix.pattern, data)
        return own.T @ (own @ x - right) + penalty**2 * x

    equation = Equation(call.name, residual, solver, call.diff, is_symmetric=True)
    x = equation(matrix.data, b.reshape(-1), damp)
    return (x, *further)


class Factorized:
    """What `splu` returns: a factorisation whose `solve` has derivatives by the matrix and by `b`."""

    def __init__(self, matrix: SparseTensor) -> None:
        self._matrix = matrix
        self._held = Held()
        data = numbers(matrix.data.detach())
        self._plain = self._held.of(matrix.pattern, data)._solver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def solve(self, rhs: Any, trans: str = "N") -> Tensor:
        """`x` with `A x = rhs`, or with its transpose ("T") or adjoint ("H")."""
        data, b = self._matrix.data, _right(rhs)
        if trans == "T" and data.dtype.kind == "c":
            return pb.conj(SparseSolve.apply(self._matrix.pattern, self._held, True, data, pb.conj(b)))
        return SparseSolve.apply(self._matrix.pattern, self._held, trans != "N", data, b)


@declare("sparse.linalg.splu", kind="I", by="values of A, b of solve")
def splu(call: Call) -> Any:
    return Factorized(from_any(call["A"]))


class Incomplete:
    """What `spilu` returns: a constant linear map, whose `solve` has derivatives by `b`."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def solve(self, rhs: Any, trans: str = "N") -> Tensor:
        """An approximation of `x` with `A x = rhs`, or with its transpose ("T") or adjoint ("H")."""
        return ConstantMap.apply(self._plain, trans, _right(rhs))


class ConstantMap(Function):
    """The linear map that a constant factorisation solves by."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(plain: Any, trans: str, b: Tensor) -> Tensor:
        return made_here(np.asarray(plain.solve(numbers(b.detach()), trans)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.plain, ctx.trans, _ = inputs

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        if ctx.trans == "T":  # the conjugate of the map, which is no `trans` of SciPy's
            return None, None, pb.conj(ConstantMap.apply(ctx.plain, "N", pb.conj(gradient)))
        return None, None, ConstantMap.apply(ctx.plain, "H" if ctx.trans == "N" else "N", gradient)

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, b_dot: Tensor) -> Tensor:
        return ConstantMap.apply(ctx.plain, ctx.trans, b_dot)


@declare("sparse.linalg.spilu", kind="I", by="b of solve")
def spilu(call: Call) -> Any:
    if _is_sparse(call["A"]) and _moves(from_any(call["A"])):
        raise no_rule(Rule(call.name, "X", reason="what an incomplete factorisation drops depends on the values"), "A")
    return Incomplete(call.run(A=_values(call["A"])))


@declare("sparse.linalg.spsolve_triangular", kind="I", by="values of A, b")
def spsolve_triangular(call: Call) -> Any:
    matrix, b = from_any(call["A"]), _right(call["b"])
    call.run(A=matrix.detach().to_scipy(), b=numbers(b.detach()))  # SciPy says what is wrong
    rows, columns, data = matrix.pattern.rows, matrix.pattern.columns, matrix.data
    kept = np.flatnonzero(rows >= columns if call["lower"] else rows <= columns)
    rows, columns, data = rows[kept], columns[kept], data[kept]
    if call["unit_diagonal"]:
        beside = np.flatnonzero(rows != columns)
        inner = np.arange(matrix.shape[0])
        rows, columns = np.concatenate([rows[beside], inner]), np.concatenate([columns[beside], inner])
        data = pb.concat([data[beside], pb.ones(matrix.shape[0], dtype=data.dtype)])
    own = made(data, rows, columns, matrix.shape, "csr")
    return SparseSolve.apply(own.pattern, Held(), False, own.data, b)


@declare("sparse.linalg.norm", kind="C", by="values")
def norm(call: Call) -> Any:
    matrix = from_any(call["x"]) if _is_sparse(call["x"]) else None
    if matrix is None or not is_plain(matrix.data) or not _moves(matrix):
        return tensors(call.run(x=_values(call["x"])))
    order, axis = call["ord"], call["axis"]
    if axis is None and order in (None, "fro"):
        return (pb.abs(matrix.data) ** 2).sum() ** 0.5
    if axis is None and order in (1, np.inf):
        sums = SparseTensor(matrix.pattern, pb.abs(matrix.data)).sum(0 if order == 1 else 1)
        return sums.max()
    raise no_rule(Rule(call.name, "C", reason=f"ord={order!r} along axis={axis} is not written with operators"), "x")
