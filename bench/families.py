"""Every family of operators on small arrays, and small programs of them: the ratio of Pullback's time to torch's.

A row of an operator is its marginal cost: 32 calls are recorded, and one backward pass visits all. A row of a program
is one call and one pass. The goal is 0.5 for every row and 0.4 for their geometric mean.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.runner import Row, Workload

AIM = 0.5
TAPED = ("pullback", "torch")
Function = Callable[..., Any]


def operands(*shapes: tuple[int, ...] | Function) -> Callable[[np.random.Generator], Arrays]:
    """Float64 operands of the given shapes, away from zero; or made by functions of a random generator."""
    return lambda rng: [each(rng) if callable(each) else rng.uniform(0.5, 1.5, each) for each in shapes]


def integers(stop: int, *shape: int) -> Function:
    """Integers from 0 to `stop`."""
    return lambda rng: rng.integers(0, stop, shape)


def definite(n: int) -> Function:
    """A symmetric positive definite matrix."""
    return lambda rng: (lambda a: a @ a.T + n * np.eye(n))(rng.standard_normal((n, n)))


def written(write: Function) -> Function:
    """A new array, which is written to."""

    def run(m: Any, x: Any, *others: Any) -> Any:
        h = x * 1.0
        write(h, *others)
        return h

    return run


def put(key: Any) -> Function:
    """`h[key] = v`."""

    def write(h: Any, v: Any) -> None:
        h[key] = v

    return written(write)


def add_to(key: Any) -> Function:
    """`h[key] += v`."""

    def write(h: Any, v: Any) -> None:
        h[key] += v

    return written(write)


def both(pullback: Function, torch: Function) -> dict[str, Function]:
    """One function for each."""
    return {"pullback": pullback, "torch": torch}


MASK = np.arange(8) % 3 == 0
PLACES = np.array([0, 3, 3, 7])
X, MATRIX, SQUARE = (8,), (16, 16), (16, 16)

# The families, and in each the name of a row, its function, and its operands.
Rows = list[tuple[str, Function | dict[str, Function], Callable[..., Any]]]
OPERATORS: dict[str, Rows] = {
    "reading": [
        ("x[3]", lambda m, x: x[3], operands(X)),
        ("x[1:5]", lambda m, x: x[1:5], operands(X)),
        ("x[1:-1, 1:-1]", lambda m, x: x[1:-1, 1:-1], operands(MATRIX)),
        ("x[3, 1:5]", lambda m, x: x[3, 1:5], operands(MATRIX)),
        ("x[array]", lambda m, x, i: x[i], operands(X, lambda rng: PLACES)),
        ("x[mask]", lambda m, x, i: x[i], operands(X, lambda rng: MASK)),
        ("x[3] * 0.9", lambda m, x: x[3] * 0.9, operands(X)),
        ("x[3] * x[3]", lambda m, x: x[3] * x[3], operands(X)),
        ("x[1:] - x[:-1]", lambda m, x: x[1:] - x[:-1], operands(X)),
    ],
    "writing": [
        ("h[2] = v", put(2), operands(X, ())),
        ("h[1:3] = v", put(slice(1, 3)), operands(X, (2,))),
        ("h[1, 2:5] = v", put((1, slice(2, 5))), operands(MATRIX, (3,))),
        ("h[array] = v", written(lambda h, i, v: h.__setitem__(i, v)), operands(X, integers(8, 4), (4,))),
        ("h[1:3] += v", add_to(slice(1, 3)), operands(X, (2,))),
        ("h[2] += v", add_to(2), operands(X, ())),
        ("h += v", written(lambda h, v: h.__iadd__(v)), operands(X, X)),
    ],
    "joining": [
        ("stack of 3 numbers", lambda m, x, y, z: m.stack([x, y, z]), operands((), (), ())),
        ("stack of 2 rows", lambda m, x, y: m.stack([x, y]), operands(X, X)),
        ("concat of 2", lambda m, x, y: m.cat([x, y]), operands(X, X)),
        ("where", lambda m, x, y: m.where(x > y, x, y), operands(X, X)),
        ("clip", lambda m, x: m.clip(x, 0.7, 1.2), operands(X)),
        (
            "pad",
            both(lambda m, x: m.pad(x, 1), lambda m, x: m.nn.functional.pad(x, (1, 1, 1, 1))),
            operands(MATRIX),
        ),
    ],
    "moving": [
        ("reshape", lambda m, x: x.reshape((8, 32)), operands(MATRIX)),
        ("x.T", lambda m, x: x.T, operands(MATRIX)),
        (
            "transpose",
            both(lambda m, x: m.permute_dims(x, (1, 2, 0)), lambda m, x: m.permute(x, (1, 2, 0))),
            operands((4, 4, 4)),
        ),
    ],
    "reductions": [
        ("sum", lambda m, x: x.sum(), operands(MATRIX)),
        ("sum(0)", lambda m, x: x.sum(0), operands(MATRIX)),
        ("mean", lambda m, x: x.mean(), operands(MATRIX)),
        ("mean(-1)", lambda m, x: x.mean(-1), operands(MATRIX)),
        ("amax(0)", lambda m, x: m.amax(x, 0), operands(MATRIX)),
        (
            "max(0) with indices",
            both(lambda m, x: m.max_with_indices(x, 0)[0], lambda m, x: m.max(x, 0)[0]),
            operands(MATRIX),
        ),
        ("prod(0)", lambda m, x: x.prod(0), operands(MATRIX)),
        ("var(0)", lambda m, x: x.var(0, correction=1), operands(MATRIX)),
        ("std(0)", lambda m, x: x.std(0, correction=1), operands(MATRIX)),
        ("norm", lambda m, x: m.linalg.norm(x), operands(X)),
    ],
    "products": [
        ("x @ y", lambda m, x, y: x @ y, operands(SQUARE, SQUARE)),
        ("matrix @ vector", lambda m, x, y: x @ y, operands(SQUARE, (16,))),
        ("dot", lambda m, x, y: x @ y, operands((16,), (16,))),
        ("outer", lambda m, x, y: m.outer(x, y), operands((16,), (16,))),
        ("einsum", lambda m, x, y: m.einsum("ij,jk->ik", x, y), operands(SQUARE, SQUARE)),
        ("solve", lambda m, a, b: m.linalg.solve(a, b), operands(definite(16), (16,))),
        ("cholesky", lambda m, a: m.linalg.cholesky(a), operands(definite(16))),
        ("inv", lambda m, a: m.linalg.inv(a), operands(definite(16))),
        ("det", lambda m, a: m.linalg.det(a), operands(definite(6))),
        ("eigh", lambda m, a: m.linalg.eigh(a)[0], operands(definite(16))),
    ],
    "scans and order": [
        ("cumsum", lambda m, x: m.cumsum(x, 0), operands(MATRIX)),
        ("cumprod", lambda m, x: m.cumprod(x, 0), operands(MATRIX)),
        ("sort", both(lambda m, x: m.sort(x), lambda m, x: m.sort(x)[0]), operands((16,))),
    ],
    "rows": [
        ("softmax", lambda m, x: m.softmax(x, -1), operands(MATRIX)),
        ("log_softmax", lambda m, x: m.log_softmax(x, -1), operands(MATRIX)),
        ("logsumexp", lambda m, x: m.logsumexp(x, -1), operands(MATRIX)),
        (
            "layer_norm",
            both(
                lambda m, x, w, b: m.nn.layer_norm(x, (16,), w, b),
                lambda m, x, w, b: m.nn.functional.layer_norm(x, (16,), w, b),
            ),
            operands(MATRIX, (16,), (16,)),
        ),
        (
            "cross_entropy",
            both(
                lambda m, x, t: m.nn.cross_entropy(x, t),
                lambda m, x, t: m.nn.functional.cross_entropy(x, t),
            ),
            operands(MATRIX, integers(16, 16)),
        ),
        (
            "relu",
            both(lambda m, x: m.relu(x), lambda m, x: m.relu(x)),
            operands(MATRIX),
        ),
    ],
}


# Programs.


def attention(m: Any, q: Any, k: Any, v: Any) -> Any:
    """One head, written out."""
    scores = (q @ k.T) * (1 / math.sqrt(16))
    return (m.softmax(scores, -1) @ v).sum()


def lstm(m: Any, x: Any, w: Any, u: Any, b: Any) -> Any:
    """Four steps of a cell of 8 units for a batch of 4."""
    h = c = x[0, :, :8] * 0.0
    for step in range(4):
        gates = x[step] @ w + h @ u + b
        i, f, o = (m.sigmoid(gates[:, 8 * k : 8 * k + 8]) for k in range(3))
        c = f * c + i * m.tanh(gates[:, 24:])
        h = o * m.tanh(c)
    return (h * h).sum()


def scalar_loop(m: Any, x: Any) -> Any:
    """A loop over elements."""
    t = x[0] * 0.0
    for i in range(32):
        t = t + x[i] * x[i]
    return t


def runge_kutta(m: Any, y: Any) -> Any:
    """Five steps of RK4 for a pendulum, whose derivative is stacked."""

    def slope(y: Any) -> Any:
        return m.stack([y[1], -m.sin(y[0])])

    h = 0.1
    for _ in range(5):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (y * y).sum()


def fill_loop(m: Any, x: Any) -> Any:
    """An array is filled from its own elements."""
    h = m.zeros(51, dtype=x.dtype)
    h[0] = x
    for i in range(50):
        h[i + 1] = h[i] * 0.9
    return h.sum()


def stencil(m: Any, x: Any) -> Any:
    """Five steps of heat flow in place."""
    u = x * 1.0
    for _ in range(5):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return (u * u).sum()


def differences(m: Any, x: Any) -> Any:
    """Second differences."""
    d = x[2:] - 2 * x[1:-1] + x[:-2]
    return (d * d).sum()


def list_of_scalars(m: Any, x: Any) -> Any:
    """Python lists of scalars."""
    values = [m.exp(x[i]) for i in range(16)]
    total = sum(values[1:], values[0])
    return m.stack([v / total for v in values]).sum() + m.stack(values)[3]


def standardised(m: Any, x: Any) -> Any:
    """Rows of mean 0 and variance 1."""
    d = x - x.mean(-1, keepdims=True)
    return (d / (d * d).mean(-1, keepdims=True).sqrt()).sum()


PROGRAMS: Rows = [
    ("attention", attention, operands((16, 16), (16, 16), (16, 16))),
    ("lstm cell, 4 steps", lstm, operands((4, 4, 8), (8, 32), (8, 32), (32,))),
    ("loop over x[i]", scalar_loop, operands((32,))),
    ("RK4 with stack", runge_kutta, operands((2,))),
    ("fill loop", fill_loop, operands(())),
    ("stencil in place", stencil, operands((16, 16))),
    ("second differences", differences, operands((100,))),
    ("list of scalars", list_of_scalars, operands((16,))),
    ("standardised rows", standardised, operands((16, 16))),
]


def workloads() -> list[Workload]:
    """A row for each operator and program."""
    # Torch's gradient of a Cholesky factor is symmetric, where ours is that of the triangle which is read.
    rows = [
        Workload(name, function, made, "marginal", TAPED, AIM, 1e3 if name == "cholesky" else 1e-7)
        for family in OPERATORS.values()
        for name, function, made in family
    ]
    programs = [
        Workload(name, function, made, "differentiate", TAPED, AIM, 1e-7) for name, function, made in PROGRAMS
    ]
    return rows + programs


def geometric_mean(rows: Iterable[Row]) -> float:
    """Of the ratios to torch."""
    logarithms = [math.log(row.ratio) for row in rows if row.ratio is not None]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan
