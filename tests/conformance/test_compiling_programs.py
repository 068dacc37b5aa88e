"""Case 172 of `compiling-anything.md`: programs as people write them with NumPy, whose way depends on values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import check_calls, leaf

DRAWS = np.random.default_rng(7)


def vector(count, scale=1.0):
    values = DRAWS.normal(size=count) * scale
    return lambda: leaf(values)


def calls(*makers, times=4):
    """Arguments of several calls: each maker gives a way to make one of them."""
    chosen = [tuple([make() for make in makers]) for _ in range(times)]
    return [lambda given=given: tuple([each() for each in given]) for given in chosen]


def huber(x, delta):
    total = x.sum() * 0
    for k in range(4):
        r = x[k]
        total = total + (0.5 * r * r if abs(r) <= delta else delta * (abs(r) - 0.5 * delta))
    return total


def garch(r, omega, alpha, beta):
    s = r.var() + 0.1
    loss = s * 0
    for k in range(5):
        shock = r[k] * r[k] if r[k] < 0 else 0.5 * r[k] * r[k]
        s = omega + alpha * shock + beta * s
        loss = loss + pb.log(s) + r[k] * r[k] / s
    return loss


def mandelbrot(c):
    z = c * 0
    for n in range(20):
        z = z * z + c
        if abs(z) > 2:
            return z, n
    return z, 20


def k_means(points):
    centers = points[:2] * 1
    labels = None
    for _ in range(10):
        distances = ((points[:, None] - centers[None]) ** 2).sum(-1)
        new = distances.argmin(1)
        if labels is not None and (new == labels).all():
            break
        labels = new
        onehot = (labels[:, None] == np.arange(2)).astype(float)
        weights = onehot.sum(0)
        if (weights == 0).any():
            break
        centers = (onehot.T @ points) / weights[:, None]
    return centers


def gradient_descent(x, rate):
    for _ in range(60):
        g = 2 * (x - 1) + 0.1 * pb.sin(x)
        if float(pb.linalg.norm(g).detach()) < 1e-3:
            break
        x = x - rate * g
    return x


def backtracking(x):
    f = lambda v: (v**4).sum() + (v * v).sum()
    g = 4 * x**3 + 2 * x
    t = 1.0
    while f(x - t * g) > f(x) - 0.3 * t * (g * g).sum():
        t *= 0.5
        if t < 1e-6:
            break
    return x - t * g


def logistic_map(x, r):
    steps = 0
    while abs(x - 0.5).max() > 0.05 and steps < 12:
        x = r * x * (1 - x)
        steps += 1
    return x, steps


def sinkhorn(k):
    u = pb.ones(k.shape[0])
    while True:
        v = 1 / (k.T @ u)
        new = 1 / (k @ v)
        err = abs(new - u).max().item()
        u = new
        if err < 1e-6:
            break
    return u[:, None] * k * v


def bisect(target):
    low, high = target.detach() * 0, target.detach() * 0 + 4.0
    for _ in range(4):
        middle = 0.5 * (low + high)
        if middle * middle > target:
            high = middle
        else:
            low = middle
    return low + (target - low * low) / (2 * low + 1)


def clipped_norm(g, limit):
    norm = pb.linalg.norm(g)
    if norm.item() > limit:
        g = g * (limit / norm)
    return g


def robust_mean(x):
    m = x.mean()
    for _ in range(3):
        keep = abs(x - m) < 2 * x.std() + 1e-3
        if keep.all():
            return x.mean()
        m = x[keep].mean()
    return m


def softplus_safe(x):
    return x if x.min() > 20 else (pb.log1p(pb.exp(-abs(x))) + pb.maximum(x, 0))


def fixed_point_sqrt(a):
    assert (a > 0).all(), "only of positive numbers"
    x = a * 0.5 + 0.5
    while (abs(x * x - a) > 1e-10 * (1 + a)).any():
        x = 0.5 * (x + a / x)
    return x


def simulate(x, dt):
    t, peak = 0.0, float(x.detach().max())
    while t < 1.0:
        x = x + dt * pb.cos(x) - 0.1 * x
        peak = max(peak, float(x.detach().max()))
        t += dt
    return x, peak


def trapezoid_until(a, b):
    n, before = 1, None
    total = 0.5 * (b - a) * (pb.exp(-a * a) + pb.exp(-b * b))
    while before is None or (abs(total - before) > 1e-3 and n < 64):
        before, n = total, 2 * n
        x = a + (b - a) * (np.arange(n) + 0.5) / n
        total = 0.5 * (before + (b - a) * pb.exp(-x * x).mean())
    return total


def pivoted(a):
    det = a.sum() * 0 + 1
    rows = [a[0], a[1], a[2]]
    for k in range(3):
        best = max(range(k, 3), key=lambda i: abs(float(rows[i].detach()[k])))
        if best != k:
            rows[k], rows[best] = rows[best], rows[k]
            det = -det
        det = det * rows[k][k]
        for i in range(k + 1, 3):
            rows[i] = rows[i] - rows[k] * (rows[i][k] / rows[k][k])
    return det


def temperature(x, options):
    if options["mode"] == "log" and (x > 0).all():
        return pb.log(x) * options["scale"]
    return x * options["scale"] if math.isfinite(x.sum().item()) else x * 0


PROGRAMS = {
    "huber": (huber, calls(lambda: vector(4), lambda: lambda: 1.0)),
    "garch": (garch, calls(lambda: vector(5), lambda: lambda: 0.1, lambda: lambda: 0.2, lambda: lambda: 0.7)),
    "mandelbrot": (mandelbrot, [lambda v=v: (leaf(v),) for v in (0.2, 1.0, -1.9, 0.4)]),
    "k-means": (k_means, calls(lambda: vector((6, 2)))),
    "gradient descent": (gradient_descent, calls(lambda: vector(3), lambda: lambda: 0.2)),
    "backtracking": (backtracking, calls(lambda: vector(3))),
    "logistic map": (logistic_map, [lambda v=v: (leaf([v, 0.3]), 3.2) for v in (0.4, 0.5, 0.1)]),
    "sinkhorn": (sinkhorn, [lambda m=m: (leaf(m),) for m in DRAWS.random((3, 4, 4)) + 0.2]),
    "bisection": (bisect, [lambda v=v: (leaf(v),) for v in (2.0, 9.0, 2.5, 0.3)]),
    "clipped norm": (clipped_norm, calls(lambda: vector(3), lambda: lambda: 1.5)),
    "robust mean": (robust_mean, calls(lambda: vector(6))),
    "softplus": (softplus_safe, [lambda v=v: (leaf([v, v + 5]),) for v in (1.0, 30.0, -40.0, 2.0)]),
    "square root": (fixed_point_sqrt, [lambda v=v: (leaf([v, 2.0]),) for v in (1.0, 1e4, -1.0, 3.0, 1e6)]),
    "simulation": (simulate, [lambda v=v: (leaf([v, 0.3]), 0.25) for v in (0.4, 2.0, 0.1)]),
    "trapezoid": (trapezoid_until, [lambda v=v: (leaf(0.0), leaf(v)) for v in (1.0, 3.0, 0.1, 2.0)]),
    "determinant": (pivoted, calls(lambda: vector((3, 3)))),
    "options": (temperature, [lambda v=v, m=m: (leaf([v, 1.0]), {"mode": m, "scale": 0.5})
                              for v, m in ((1.0, "log"), (-1.0, "log"), (2.0, "id"), (math.inf, "id"))]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:a number was taken out", "ignore::RuntimeWarning")
def test_172_programs_do_compiled_what_they_do(name):
    function, given = PROGRAMS[name]
    compiled = check_calls(function, given, 3, 1e-8, backend="numpy")
    assert compiled.entries()


def test_172_a_program_in_native_code():
    for name in ("sinkhorn", "square root", "gradient descent"):
        function, given = PROGRAMS[name]
        check_calls(function, given, 2, 1e-8)


def test_a_number_is_taken_out_of_a_tensor_also_once_code_was_adapted():
    """Adapted code has methods of its own, and `item` found itself called by one of these."""
    pb.func.adapt(lambda x: x.item())(pb.tensor(2.0))
    compiled = pb.compile(lambda x: x * (2.0 if x.sum().item() > 0 else 3.0), fallback="raise")
    for value in (1.0, -1.0, 2.5, -0.5):
        assert compiled(pb.tensor([value])).item() == value * (2.0 if value > 0 else 3.0)
    assert len(compiled.entries()) == 2
