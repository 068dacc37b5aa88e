"""SciPy's solvers with random callbacks: values are SciPy's own, derivatives those of differences, whether the callback
runs as it is, compiled, on Python's numbers, adapted, or in a transform; and after what it captures has changed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize

import pullback as pb
from pullback.scipy import _compiled

UNARY = ("{m}.sin({0})", "{m}.tanh({0})", "{m}.exp(-{0} * {0})", "{m}.sqrt(1 + {0} * {0})", "{m}.cos({0})", "(-{0})",
         "{m}.log(2 + {0} * {0})", "{m}.arctan({0})", "{m}.square({0})", "{m}.hypot({0}, 1.5)")  # fmt: skip
BINARY = ("({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / (2 + {1} * {1}))", "({0} * 0.5 + {1} ** 2)")

# Programs of parameters `p` and a captured number `k`: what is solved has one solution, whatever the expression is.
FORMS = {
    "quad": "integrate.quad(lambda t: {e}, 0.1, 1.3)[0]",
    "quad by its end": "integrate.quad(lambda t: {e}, 0.1, 0.5 + p[0] * p[0])[0]",
    "brentq": "optimize.brentq(lambda t: 3 * t + m.tanh({e}) - p[1], -9.0, 9.0, xtol=1e-13)",
    "root_scalar": "optimize.root_scalar(lambda t: 3 * t + m.tanh({e}) - p[1], bracket=(-9.0, 9.0), xtol=1e-13).root",
    "root": "optimize.root(lambda x: 4 * x + f(x), m.zeros(2), tol=1e-12).x.sum()",
    "least_squares": "optimize.least_squares(lambda x: 4 * x + f(x), np.zeros(2), xtol=1e-14, gtol=1e-14).x.sum()",
    "fixed_point": "optimize.fixed_point(lambda x: 0.2 * f(x), np.zeros(2), xtol=1e-13).sum()",
    "solve_ivp": "integrate.solve_ivp(lambda s, x: -x + f(x), (0.0, 1.0), [1.0, 0.5], rtol=1e-10, atol=1e-12, "
                 "t_eval=[0.5, 1.0]).y.sum()",
    "minimize": "optimize.minimize(lambda x: (3 * (x - p) ** 2).sum() + 0.1 * m.tanh(f(x).sum()), np.zeros(2), "
                "tol=1e-11, options={{'gtol': 1e-10}}).x.sum()",
}  # fmt: skip
EXACT = {"minimize": 1e-4, "least_squares": 1e-5}  # how well SciPy solves these


def expression(rng: random.Random, names: tuple[str, ...], depth: int) -> str:
    if depth == 0:
        return rng.choice((*names, "0.5", "k"))
    if rng.random() < 0.4:
        return rng.choice(UNARY).format(expression(rng, names, depth - 1), m="m")
    return rng.choice(BINARY).format(*(expression(rng, names, depth - 1) for _ in "xy"))


def text_of(form: str, seed: int) -> str:
    rng = random.Random(f"scipy {form} {seed}")
    depth = rng.choice((1, 2, 3))
    inner = expression(rng, ("t", "p[0]", "p[1]"), depth)
    parts = ", ".join(f"m.tanh({expression(rng, ('x[0]', 'x[1]', 'p[0]', 'p[1]'), depth)})" for _ in "ab")
    return (f"def program(p, k, m, integrate, optimize):\n    f = lambda x: m.stack([{parts}])\n"
            f"    return {FORMS[form].format(e=inner)} + p[0] * p[1]")  # fmt: skip


def check(form: str) -> Callable[[int], None]:
    return lambda seed: compare(form, seed)


def compare(form: str, seed: int) -> None:
    """Raise if a value or a derivative differs."""
    text, scope = text_of(form, seed), {"np": np}
    exec(compile(text, f"<{form} {seed}>", "exec"), scope)
    program = scope["program"]
    draws = np.random.default_rng(seed)
    loose = EXACT.get(form, 1e-6)
    before, _compiled.EVALUATIONS = _compiled.EVALUATIONS, (0, 8, 10**9)[seed // 11 % 3]
    try:
        for _ in range(3):  # the callback of the last call, with other parameters and another number
            at, k = draws.uniform(0.3, 1.2, 2), float(draws.choice((0.5, 1.5, 2.0)))
            compare_at(program, at, k, loose, f"{text}\np = {at}, k = {k}, seed {seed}")
    finally:
        _compiled.EVALUATIONS = before


def compare_at(program: Any, at: Any, k: float, loose: float, told: str) -> None:
    own = lambda p: program(p, k, np, scipy.integrate, scipy.optimize)
    ours = lambda p: program(p, k, pb, pb.scipy.integrate, pb.scipy.optimize)
    wanted, h = float(own(at)), 1e-4
    slopes = np.array([(float(own(at + step)) - float(own(at - step))) / (2 * h) for step in h * np.eye(2)])
    x = pb.tensor(at, requires_grad=True)
    value = ours(x)
    near(value, wanted, loose, f"value\n{told}")
    value.backward()
    gradient = x.grad.numpy()
    near(gradient, slopes, max(1e-5, 100 * loose), f"gradient against differences\n{told}")
    direction = np.array([0.7, -0.4])
    slope = pb.func.jvp(ours, (pb.tensor(at),), (pb.tensor(direction),))[1]
    near(slope, gradient @ direction, loose, f"jvp\n{told}")
    near(pb.func.grad(ours)(pb.tensor(at)), gradient, loose, f"func.grad\n{told}")
    adapted = pb.func.grad(pb.func.adapt(own))(pb.tensor(at))
    near(adapted, gradient, loose, f"adapted\n{told}")
    step = h * direction
    moved = [pb.func.grad(ours)(pb.tensor(at + sign * step)).numpy() for sign in (1, -1)]
    second = pb.func.jvp(pb.func.grad(ours), (pb.tensor(at),), (pb.tensor(direction),))[1]
    near(second, (moved[0] - moved[1]) / (2 * h), max(1e-5, 100 * loose), f"second against differences\n{told}")
    by_tape = pb.func.grad(lambda p: (pb.func.grad(ours)(p) * direction).sum())(pb.tensor(at))
    near(by_tape, second, 10 * loose, f"second by the tape\n{told}")


def near(found: Any, wanted: Any, loose: float, told: str) -> None:
    found = found.detach().numpy() if isinstance(found, pb.Tensor) else found
    np.testing.assert_allclose(found, wanted, loose, loose, err_msg=told)
