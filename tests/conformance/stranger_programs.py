"""Programs in the way in which people write them with NumPy: classes, helpers, loops until something converges, masks,
choices, state in dataclasses, exceptions. Each is a function, with what makes its arguments from a generator."""

# ruff: noqa: B007, C414, D
from __future__ import annotations

import collections
import math
from dataclasses import dataclass

import numpy as np

import pullback as pb

PROGRAMS = {}

def program(*makers):
    """A program of the table."""

    def noted(f):
        PROGRAMS[f.__name__] = (f, makers)
        return f

    return noted


def vector(n=4, scale=1.0, shift=0.0, grad=True):
    def make(rng):
        return pb.tensor(rng.normal(size=n) * scale + shift, requires_grad=grad)

    return make


def positive(n=4, lo=0.5, hi=3.0):
    def make(rng):
        return pb.tensor(rng.uniform(lo, hi, size=n), requires_grad=True)

    return make


def number(lo=0.1, hi=2.0):
    return lambda rng: float(rng.uniform(lo, hi))


def whole(lo, hi):
    return lambda rng: int(rng.integers(lo, hi))


def definite(n=3):
    def make(rng):
        a = rng.normal(size=(n, n))
        return pb.tensor(a @ a.T + n * np.eye(n) * 0.5, requires_grad=True)

    return make


def matrix(n=3, m=3, scale=1.0):
    def make(rng):
        return pb.tensor(rng.normal(size=(n, m)) * scale, requires_grad=True)

    return make


class Newton:
    def __init__(self, tol=1e-8, maxiter=50):
        self.tol, self.maxiter = tol, maxiter

    def solve(self, a, x):
        for i in range(self.maxiter):
            fx = x * x - a
            if np.max(np.abs(fx)) < self.tol:
                break
            x = x - fx / (2 * x)
        return x


_newton = Newton()


@program(positive(3), positive(3))
def newton_class(a, x0):
    return _newton.solve(a, x0)


def rk_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h, y - h * k1 + 2 * h * k2)
    y3 = y + h / 6 * (k1 + 4 * k2 + k3)
    y2 = y + h * k2
    return y3, np.sqrt(np.sum((y3 - y2) ** 2))


@program(vector(2), number(0.5, 2.0))
def adaptive_rk(y, k):
    f = lambda t, y: -k * y + np.sin(t)
    t, h, tol = 0.0, 0.1, 1e-3
    nacc = 0
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        ynew, err = rk_step(f, t, y, h)
        err = float(err)
        if err <= tol:
            t += h
            y = ynew
            nacc += 1
        h = h * min(4.0, max(0.2, 0.9 * (tol / max(err, 1e-12)) ** (1 / 3)))
    return y, nacc


@program(vector(2, 0.5))
def line_search(x):
    f = lambda z: np.sum((z - 1) ** 2) + np.sum(z**4)
    for it in range(5):
        g = 2 * (x - 1) + 4 * x**3
        t = 1.0
        while f(x - t * g) > f(x) - 0.5 * t * np.sum(g * g) and t > 1e-6:
            t *= 0.5
        x = x - t * g
    return x


@program(positive(1, 1, 20))
def while_true(a):
    x = a / 2
    n = 0
    while True:
        new = 0.5 * (x + a / x)
        n += 1
        if abs(new - x).sum() < 1e-10 or n > 30:
            break
        x = new
    return x, n


@program(vector(6))
def mask_mean(x):
    pos = x[x > 0]
    if len(pos) == 0:
        return x.sum() * 0
    return pos.mean() + (x[x <= 0] ** 2).sum()


@program(vector(6))
def mask_assign(x):
    y = x * 2
    y[y < 0] = 0
    y[y > 1] = np.log(y[y > 1]) + 1
    return y


@program(matrix(4, 2), vector(2))
def nearest(points, q):
    d = np.sum((points - q) ** 2, axis=1)
    i = np.argmin(d)
    return points[i] * d[i]


@program(vector(6))
def trimmed_mean(x):
    order = np.argsort(x)
    return np.mean(x[order[1:-1]])


@program(vector(3), vector(3))
def dict_model(w, b):
    params = {"w": w, "b": b}
    h = {}
    for name, value in params.items():
        h[name + "_sq"] = value**2
    out = sum(h.values())
    if np.sum(out) > 5:
        params["w"] = params["w"] * 0.5
    return {"y": out + params["w"], "n": len(h)}


@dataclass
class State:
    pos: object
    vel: object
    t: float = 0.0


@program(vector(3), vector(3), number(0.01, 0.3))
def dataclass_sim(p, v, dt):
    s = State(p, v)
    for _ in range(6):
        acc = -s.pos
        s = State(s.pos + dt * s.vel, s.vel + dt * acc, s.t + dt)
        if np.sum(s.pos**2) > 4:
            s.vel = -s.vel
    return s.pos, s.vel, s.t


@program(vector(5), number())
def genexpr(x, a):
    return sum(a * xi**k for k, xi in enumerate(x))


def _rsum(x):
    if len(x) == 1:
        return x[0]
    m = len(x) // 2
    l, r = _rsum(x[:m]), _rsum(x[m:])
    return np.maximum(l, r) + 0.1 * np.minimum(l, r)


@program(vector(7))
def recursion(x):
    return _rsum(x)


def _rfix(x, depth=0):
    if abs(x) < 0.1 or depth > 8:
        return x
    return _rfix(x * 0.6, depth + 1)


@program(vector((), 2.0))
def recursion_value(x):
    return _rfix(x)


@program(vector(4), number())
def closures(x, lam):
    def penal(w):
        return lam * np.sum(np.abs(w))

    def loss(w):
        return np.sum((w - 1) ** 2) + penal(w)

    best = None
    for s in (0.1, 0.5, 1.0):
        v = loss(x * s)
        if best is None or v < best:
            best = v
    return best


ALPHA = 0.3


@program(vector(4))
def defaults(x, alpha=ALPHA, steps=3):
    for _ in range(steps):
        x = x - alpha * np.tanh(x)
    return x


@program(vector(3))
def early_return(x):
    n = np.linalg.norm(x)
    if n == 0:
        return x
    if n < 1:
        return x / n
    return np.sqrt(n) * x


@program(vector(3))
def formatted(x):
    msgs = []
    for i in range(3):
        x = x * 0.5
        msgs.append(f"{i}: {float(np.sum(x)):.3f}")
    return x, "; ".join(msgs)


@program(vector(3), whole(0, 5))
def generator(x, seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=3)
    return x + noise * 0.1


@program(vector(4), vector(4))
def enumerate_zip(a, b):
    tot = 0.0
    for i, (u, v) in enumerate(zip(a, b)):
        if u > v:
            tot = tot + i * u
        else:
            tot = tot - v
    return tot


@program(matrix(3, 3))
def try_cholesky(a):
    s = (a + a.T) / 2
    jitter = 0.0
    for k in range(6):
        try:
            L = np.linalg.cholesky(s + jitter * np.eye(3))
            return np.sum(np.log(np.diag(L))), k
        except np.linalg.LinAlgError:
            jitter = 10.0 ** (k - 2)
    raise ValueError("not positive definite")


@program(vector(6, 1.0), number(0.05, 0.2), number(0.5, 0.8))
def gjr_garch(r, a, b):
    h = np.mean(r**2)
    ll = 0.0
    for t in range(len(r)):
        ll = ll + np.log(h) + r[t] ** 2 / h
        lev = 0.1 if r[t] < 0 else 0.0
        h = 0.05 + (a + lev) * r[t] ** 2 + b * h
    return 0.5 * ll


@program(matrix(8, 2, 2.0))
def kmeans(x):
    c = x[:2]
    labels = None
    for it in range(10):
        d = ((x[:, None, :] - c[None]) ** 2).sum(-1)
        new = np.argmin(d, axis=1)
        if labels is not None and (new == labels).all():
            break
        labels = new
        c = np.stack([x[labels == k].mean(axis=0) if (labels == k).any() else c[k] for k in range(2)])
    return c


@program(vector(3))
def history(x):
    hist = []
    while np.sum(x**2) > 0.5 and len(hist) < 20:
        x = 0.7 * x
        hist.append(np.sum(x**2))
    return x, hist


@program(positive(1, 0.5, 8.0))
def bisection(a):
    lo, hi, steps = 0.0, 10.0, 0
    a0 = a[0]
    while hi - lo > 1e-3:
        mid = (lo + hi) / 2
        if mid * mid > a0:
            hi = mid
        else:
            lo = mid
        steps += 1
    return (lo + hi) * a, steps


@program(definite(3), vector(3))
def gauss_seidel(A, b):
    x = np.zeros_like(b)
    for it in range(8):
        old = x.copy()
        for i in range(3):
            s = 0.0
            for j in range(3):
                if j != i:
                    s = s + A[i, j] * x[j]
            x[i] = (b[i] - s) / A[i, i]
        if np.linalg.norm(x - old) < 1e-6 * (1 + np.linalg.norm(x)):
            break
    return x


@program(vector(4, grad=False), vector(4, grad=False))
def sgd_inplace(w, g):
    n = np.sqrt(np.sum(g * g))
    if n > 1.0:
        g = g / n
    w -= 0.1 * g
    return w


class Momentum:
    def __init__(self):
        self.v = None
        self.count = 0

    def step(self, w, g):
        self.v = g if self.v is None else 0.9 * self.v + g
        self.count += 1
        return w - 0.1 * self.v


@program(vector(3), vector(3))
def momentum(w, g):
    opt = Momentum()
    for _ in range(3):
        w = opt.step(w, g * w)
    return w, opt.count


@program(vector((), 1.0, grad=False), vector((), 1.0, grad=False))
def mandel(cr, ci):
    zr = zi = 0.0
    for n in range(30):
        zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
        if zr * zr + zi * zi > 4:
            return n
    return 30


@program(definite(4), vector(4))
def cg(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r
    rs = r @ r
    for i in range(len(b) * 2):
        Ap = A @ p
        al = rs / (p @ Ap)
        x = x + al * p
        r = r - al * Ap
        new = r @ r
        if np.sqrt(new) < 1e-8:
            break
        p = r + (new / rs) * p
        rs = new
    return x


@program(definite(4))
def power(A):
    v = np.ones(4) / 2.0
    lam = 0.0
    for _ in range(200):
        w = A @ v
        nl = np.linalg.norm(w)
        v = w / nl
        if abs(nl - lam) < 1e-6 * nl:
            break
        lam = nl
    return nl


def huber(r, d):
    if abs(r) <= d:
        return 0.5 * r * r
    return d * (abs(r) - 0.5 * d)


@program(vector(5, 1.5), number(0.5, 1.5))
def huber_sum(r, d):
    return sum(huber(ri, d) for ri in r)


@program(vector(3), lambda rng: ["relu", "tanh", "sig"][int(rng.integers(3))])
def string_switch(x, act):
    acts = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh, "sig": lambda z: 1 / (1 + np.exp(-z))}
    return acts[act](x)


@program(vector(3, 1.0, 1.0))
def raises(x):
    if np.any(x < 0):
        raise ValueError(f"negative: {float(np.min(x)):.2f}")
    return np.sqrt(x)


@program(vector(3, 1.0, 2.0))
def asserts(x):
    assert np.all(x > -1), "too small"
    return np.log1p(x)


@program(vector(8), number(0.1, 0.9))
def ema(x, a):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = a * x[i] + (1 - a) * out[i - 1]
    return out


@program(vector(3), vector(3))
def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), 1e9)
    D[0, 0] = 0
    D = pb.tensor(D)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            D[i, j] = abs(a[i - 1] - b[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@program(vector(6))
def nonzero_idx(x):
    (idx,) = np.nonzero(x > 0.3)
    return x[idx].sum() + len(idx)


@program(vector(8, 2.0))
def hist(x):
    bins = np.floor(x).astype(int)
    tot = 0.0
    for b in range(-2, 3):
        sel = x[bins == b]
        if sel.size:
            tot = tot + sel.mean()
    return tot


@program(vector(3), number())
def math_items(x, s):
    n = math.sqrt(float(x[0]) ** 2 + float(x[1]) ** 2)
    return x * n + math.log(1 + s)


Pt = collections.namedtuple("Pt", "x y")


@program(vector(2), vector(2))
def namedtuples(a, b):
    p, q = Pt(a[0], a[1]), Pt(b[0], b[1])
    d = (p.x - q.x) ** 2 + (p.y - q.y) ** 2
    return Pt(p.x + d, q.y) if d > 1 else Pt(q.x, p.y * d)


@program(positive(1, 0.5, 4.0))
def secant(a):
    a = a[0]
    x0, x1 = a * 0.5, a * 1.5
    converged = False
    for _ in range(40):
        f0, f1 = x0**3 - a, x1**3 - a
        if abs(f1 - f0) < 1e-14:
            break
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        if abs(x2 - x1) < 1e-10:
            converged = True
            x1 = x2
            break
        x0, x1 = x1, x2
    return x1, converged


@program(matrix(3, 3), vector(3))
def lu_pivot(A, b):
    A, b = A.copy(), b.copy()
    n = 3
    for k in range(n):
        p = k + int(np.argmax(np.abs(A[k:, k])))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] = A[i, k:] - m * A[k, k:]
            b[i] = b[i] - m * b[k]
    x = np.zeros(3)
    x = pb.tensor(x)
    for i in reversed(range(n)):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@program(vector(2))
def trust(x):
    radius = 1.0
    for _ in range(6):
        g = 2 * x + 4 * x**3
        H = 2 + 12 * x**2
        p = -g / H
        n = float(np.linalg.norm(p))
        if n > radius:
            p = p * (radius / n)
        f = lambda z: np.sum(z**2 + z**4)
        pred = -(np.sum(g * p) + 0.5 * np.sum(H * p * p))
        if pred <= 1e-12:
            break
        rho = float((f(x) - f(x + p)) / pred)
        if rho > 0.1:
            x = x + p
        if rho < 0.25:
            radius *= 0.5
        elif rho > 0.75:
            radius = min(2 * radius, 4.0)
    return x


@program(vector(5))
def sorted_key(x):
    items = sorted(list(x), key=lambda t: float(t))
    return items[0] * items[-1] + items[2]


@program(vector(6), number(0.1, 0.5))
def kalman(z, q):
    m, P_ = z[0] * 0, 1.0
    used = 0
    for i in range(len(z)):
        P_ = P_ + q
        S_ = P_ + 0.3
        innov = z[i] - m
        if innov**2 / S_ < 2.0:
            K = P_ / S_
            m = m + K * innov
            P_ = (1 - K) * P_
            used += 1
    return m, used
