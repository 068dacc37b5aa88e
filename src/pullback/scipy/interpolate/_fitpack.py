"""FITPACK's splines and their relatives, for interpolation and given knots: linear systems for the coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import AutogradError
from pullback.scipy._composed import watches
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import scipy_module
from pullback.scipy.interpolate._piecewise import CubicSpline, floats, plain
from pullback.scipy.interpolate._splines import BSpline, _knots, design, integrated
from pullback.tensors.tensor import Tensor

__all__ = [
    "InterpolatedUnivariateSpline", "LSQUnivariateSpline", "RectBivariateSpline", "UnivariateSpline", "bisplev",
    "make_lsq_spline", "make_smoothing_spline", "make_splprep", "make_splrep", "splantider", "splder", "splev",
    "splint", "splprep", "splrep",
]  # fmt: skip


def _no_smoothing(name: str) -> AutogradError:
    return AutogradError(
        "SCIPY_NO_RULE",
        f"scipy.interpolate.{name} with smoothing has no derivative here",
        why="its knots are added until the smoothing condition holds, and move in jumps with the data",
        fix="interpolate (s=0), give the knots (make_lsq_spline), or use make_smoothing_spline with lam=",
    )


def interpolating(x: Tensor, y: Tensor, k: int, chosen: Any) -> BSpline:
    """The spline through the data on the knots that SciPy chose, which move with the points that they are."""
    t = _knots(x, k, chosen)
    c = pb.linalg.solve(design(t, k, x), y.reshape(y.shape[0], -1)).reshape(y.shape)
    return BSpline(t, c, k)


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *, method: str = "qr"
) -> BSpline:
    """`scipy.interpolate.make_lsq_spline` with derivatives by data, knots and weights."""
    x, y, t = floats(x), floats(y), floats(t)
    axis = axis % y.ndim
    scipy_module("interpolate").make_lsq_spline(
        plain(x), plain(y), plain(t), k, None if w is None else plain(w), axis, check_finite, method=method
    )  # says what is wrong
    values = pb.moveaxis(y, axis, 0)
    matrix, right = design(t, k, x), values.reshape(values.shape[0], -1)
    if w is not None:
        heavy = floats(w)[:, None]
        matrix, right = matrix * heavy, right * heavy
    c = pb.linalg.lstsq(matrix, right)[0].reshape((matrix.shape[1], *values.shape[1:]))
    return BSpline(t, pb.moveaxis(c, 0, axis), k, axis=axis)


def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    """`scipy.interpolate.make_smoothing_spline` with derivatives by data, weights and `lam`, which must be given.

    A natural cubic spline, as a `CubicSpline`: Reinsch's equations for its second derivatives.
    """
    plain_w = None if w is None else plain(w)
    if lam is None:
        if watches((x, y, w)):
            raise AutogradError(
                "SCIPY_NO_RULE",
                "make_smoothing_spline has no derivative if it chooses lam",
                why="what it chooses minimises a score that is not differentiated here",
                fix="give lam=, a number or a tensor",
            )
        found = scipy_module("interpolate").make_smoothing_spline(plain(x), plain(y), plain_w, axis=axis)
        return BSpline(found.t, found.c, found.k, axis=found.axis)
    x, y = floats(x), floats(y)
    axis = axis % y.ndim
    scipy_module("interpolate").make_smoothing_spline(plain(x), plain(y), plain_w, float(plain(lam)), axis=axis)
    values = pb.moveaxis(y, axis, 0)
    flat = values.reshape(values.shape[0], -1)
    h = x[1:] - x[:-1]
    n = x.shape[0]
    second = pb.zeros((n - 2, n))
    rows = np.arange(n - 2)
    second[rows, rows] = 1 / h[:-1]
    second[rows, rows + 1] = -1 / h[:-1] - 1 / h[1:]
    second[rows, rows + 2] = 1 / h[1:]
    bend = pb.diag((h[:-1] + h[1:]) / 3) + pb.diag(h[1:-1] / 6, 1) + pb.diag(h[1:-1] / 6, -1)
    heavy = floats(w) if w is not None else pb.ones(n)
    spread = second / heavy
    curvature = pb.linalg.solve(bend + floats(lam) * (spread @ second.T), second @ flat)
    smooth = flat - floats(lam) * (spread.T @ curvature)
    return CubicSpline(x, pb.moveaxis(smooth.reshape(values.shape), 0, axis), axis, "natural")


def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0, s: Any = None,
    t: Any = None, full_output: Any = 0, per: Any = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """`scipy.interpolate.splrep` with derivatives by the data, for interpolation (`s=0`) and given knots."""
    found = scipy_module("interpolate").splrep(
        plain(x), plain(y), None if w is None else plain(w), xb, xe, k, task, s, None if t is None else plain(t),
        full_output, per, quiet,
    )  # fmt: skip
    knots, _, degree = found[0] if full_output else found
    is_interpolating = len(knots) == len(plain(x)) + degree + 1 and (s == 0 or (s is None and w is None))
    if watches((x, y, w)) and (per or not (is_interpolating or task == -1)):
        raise _no_smoothing("splrep")
    x, y = floats(x), floats(y)
    if is_interpolating and task == 0 and not per and xb is None and xe is None:
        spline = interpolating(x, y, degree, knots)
    elif task == -1 and not per:
        spline = make_lsq_spline(x, y, knots, degree, w)
    else:
        tck = tuple(pb.asarray(part) for part in (found[0] if full_output else found)[:2])
        return ((*tck, degree), *found[1:]) if full_output else (*tck, degree)
    c = pb.concat([spline.c, pb.zeros(degree + 1)])
    return ((spline.t, c, degree), *found[1:]) if full_output else (spline.t, c, degree)


def make_splrep(
    x: Any, y: Any, *, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, s: Any = 0, t: Any = None,
    nest: Any = None, bc_type: Any = None,
) -> Any:  # fmt: skip
    """`scipy.interpolate.make_splrep` with derivatives by the data, for interpolation (`s=0`)."""
    if s == 0 and bc_type is None and t is None:
        return pb.scipy.interpolate.make_interp_spline(x, y, k)
    if watches((x, y, w)):
        raise _no_smoothing("make_splrep")
    found = scipy_module("interpolate").make_splrep(
        plain(x), plain(y), w=None if w is None else plain(w), xb=xb, xe=xe, k=k, s=s, t=t, nest=nest, bc_type=bc_type
    )
    return BSpline(found.t, found.c, found.k)


def _along(x: Any, u: Any) -> tuple[list[Tensor], Tensor]:
    """The coordinates of points on a curve, and their parameters: by default lengths along the polygon, up to 1."""
    rows = [floats(each) for each in x]
    if u is not None:
        return rows, floats(u)
    steps = pb.stack([(row[1:] - row[:-1]) ** 2 for row in rows]).sum(axis=0)
    lengths = pb.concat([pb.zeros(1), pb.cumulative_sum(pb.sqrt(steps))])
    return rows, lengths / lengths[-1]


def splprep(
    x: Any, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3, task: int = 0, s: Any = None,
    t: Any = None, full_output: Any = 0, nest: Any = None, per: Any = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """`scipy.interpolate.splprep` with derivatives by points and parameters, for interpolation (`s=0`)."""
    given = [plain(each) for each in x]
    options = (ub, ue, k, task, s, t, full_output, nest, per, quiet)
    known = scipy_module("interpolate").splprep(
        given, None if w is None else plain(w), None if u is None else plain(u), *options
    )
    (knots, coefficients, degree), at = known[0] if full_output else known
    if not watches((*x, w, u)):
        tck = [pb.asarray(knots), [pb.asarray(each) for each in coefficients], degree]
        found: Any = tck, pb.asarray(at)
    elif s == 0 and task == 0 and not per and ub is None and ue is None:
        rows, u = _along(x, u)
        splines = [interpolating(u, row, degree, knots) for row in rows]
        found = [splines[0].t, [each.c for each in splines], degree], u
    else:
        raise _no_smoothing("splprep")
    return (found, *known[1:]) if full_output else found


def make_splprep(
    x: Any, *, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3, s: Any = 0, t: Any = None,
    nest: Any = None, bc_type: Any = None,
) -> Any:  # fmt: skip
    """`scipy.interpolate.make_splprep` with derivatives by points and parameters, for interpolation (`s=0`)."""
    if s == 0 and t is None and bc_type is None and ub is None and ue is None:
        rows, u = _along(x, u)
        return pb.scipy.interpolate.make_interp_spline(u, pb.stack(rows), k, axis=1), u
    if watches((*x, w, u)):
        raise _no_smoothing("make_splprep")
    found, at = scipy_module("interpolate").make_splprep(
        [plain(each) for each in x], w=w, u=u, ub=ub, ue=ue, k=k, s=s, t=t, nest=nest, bc_type=bc_type
    )
    return BSpline(found.t, found.c, found.k, axis=found.axis), pb.asarray(at)


def _spline(tck: Any) -> BSpline:
    if isinstance(tck, BSpline):
        return tck
    if hasattr(tck, "t") and hasattr(tck, "c"):
        return BSpline(tck.t, tck.c, tck.k)
    t, c, k = tck
    t, c = floats(t), floats(c)
    return BSpline(t, c[: t.shape[0] - k - 1], k)


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """`scipy.interpolate.splev` with derivatives by points, coefficients and knots."""
    if isinstance(tck, tuple | list) and isinstance(tck[1], list | tuple) and np.ndim(plain(tck[1][0])):  # a curve
        return [splev(x, (tck[0], each, tck[2]), der, ext) for each in tck[1]]
    spline = _spline(tck)
    at = floats(x)
    knots, values = plain(spline.t), plain(at)
    low, high = knots[spline.k], knots[-spline.k - 1]
    is_outside = (values < low) | (values > high)
    if ext == 2 and is_outside.any():
        raise ValueError("Invalid input data")
    if ext == 3:
        at = pb.clip(at, low, high)
    out = spline(at, der)
    return pb.where(is_outside, 0.0, out) if ext == 1 and is_outside.any() else out


def splder(tck: Any, n: int = 1) -> Any:
    """`scipy.interpolate.splder` with derivatives by coefficients and knots."""
    if n < 0:
        return splantider(tck, -n)
    made = _spline(tck).derivative(n)
    return made if not isinstance(tck, tuple | list) else (made.t, pb.concat([made.c, pb.zeros(made.k + 1)]), made.k)


def splantider(tck: Any, n: int = 1) -> Any:
    """`scipy.interpolate.splantider` with derivatives by coefficients and knots."""
    made = _spline(tck)
    for _ in range(n):
        made = integrated(made)
    rest = [made.c[-1:]] * (made.k + 1)  # what SciPy fills them up with
    return made if not isinstance(tck, tuple | list) else (made.t, pb.concat([made.c, *rest]), made.k)


def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """`scipy.interpolate.splint` with derivatives by the limits, coefficients and knots. Outside, the spline is 0."""
    spline = _spline(tck)
    whole = integrated(spline)
    low, high = plain(spline.t)[spline.k], plain(spline.t)[-spline.k - 1]
    value = whole(pb.clip(floats(b), low, high)) - whole(pb.clip(floats(a), low, high))
    return (value, pb.zeros(0)) if full_output else value


class UnivariateSpline(metaclass=PerExample):
    """`scipy.interpolate.UnivariateSpline` with derivatives, for interpolation (`s=0`)."""

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = [None, None], k: int = 3, s: Any = None, ext: Any = 0,  # noqa: B006  (SciPy's; only read)
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        real = scipy_module("interpolate").UnivariateSpline(
            plain(x), plain(y), None if w is None else plain(w), list(bbox), k, s, ext, check_finite
        )
        knots, coefficients, _ = real._eval_args
        self.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)
        self._residual = real.get_residual()
        if s == 0 and tuple(bbox) == (None, None):
            self._tck: Any = interpolating(floats(x), floats(y), k, knots)
        elif watches((x, y, w)):
            raise _no_smoothing("UnivariateSpline")
        else:
            self._tck = BSpline(knots, coefficients[: len(knots) - k - 1], k)

    @classmethod
    def _of(cls, spline: BSpline, ext: int) -> UnivariateSpline:
        made = object.__new__(UnivariateSpline)
        made._tck, made.ext, made._residual = spline, ext, 0.0
        return made

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Tensor:
        named = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
        return splev(x, self._tck, nu, self.ext if ext is None else named.get(ext, ext))

    def get_knots(self) -> Tensor:
        """The knots inside, and the ends."""
        k = self._tck.k
        return self._tck.t[k : self._tck.t.shape[0] - k]

    def get_coeffs(self) -> Tensor:
        """The coefficients of the basis."""
        return self._tck.c

    def get_residual(self) -> float:
        """The weighted sum of squares that smoothing leaves."""
        return float(self._residual)

    def derivatives(self, x: Any) -> Tensor:
        """All derivatives at a point, the value first."""
        return pb.stack([self._tck(x, nu) for nu in range(self._tck.k + 1)])

    def roots(self) -> Tensor:
        """The zeros of a cubic spline."""
        return self._tck.roots()

    def integral(self, a: Any, b: Any) -> Tensor:
        """The integral; outside of the data the spline is 0."""
        return splint(a, b, self._tck)

    def derivative(self, n: int = 1) -> UnivariateSpline:
        """The derivative of order `n`."""
        return self._of(self._tck.derivative(n), self.ext)

    def antiderivative(self, n: int = 1) -> UnivariateSpline:
        """An integral, `n` times."""
        return self._of(splantider(self._tck, n), self.ext)


class InterpolatedUnivariateSpline(UnivariateSpline):
    """`scipy.interpolate.InterpolatedUnivariateSpline` with derivatives by data and points."""

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = [None, None], k: int = 3, ext: Any = 0,  # noqa: B006  (SciPy's; only read)
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(x, y, None, bbox, k, 0, ext, check_finite)


class LSQUnivariateSpline(UnivariateSpline):
    """`scipy.interpolate.LSQUnivariateSpline` with derivatives by data, knots, weights and points."""

    def __init__(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = [None, None], k: int = 3, ext: Any = 0,  # noqa: B006  (SciPy's; only read)
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        x, inner = floats(x), floats(t)
        low, high = (x[end] if given is None else floats(given) for end, given in zip((0, -1), bbox, strict=True))
        knots = pb.concat([pb.stack([low] * (k + 1)), inner, pb.stack([high] * (k + 1))])
        self._tck = make_lsq_spline(x, y, knots, k, w)
        self.ext = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}.get(ext, ext)


class _Surface:
    """A spline of two variables by its knots, coefficients and degrees."""

    def __init__(self, knots: tuple[Tensor, Tensor], c: Tensor, degrees: tuple[int, int]) -> None:
        self._knots, self._c, self.degrees = knots, c, degrees

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Tensor:
        one, other = floats(x), floats(y)
        if grid:
            return self._along(0, one.reshape(-1), dx) @ self._moved(dx, dy) @ self._along(1, other.reshape(-1), dy).T
        one, other = pb.broadcast_arrays(one, other)
        shape = tuple(one.shape)
        left, right = self._along(0, one.reshape(-1), dx), self._along(1, other.reshape(-1), dy)
        return ((left @ self._moved(dx, dy)) * right).sum(axis=1).reshape(shape)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Tensor:
        """The values at single points."""
        return self(xi, yi, dx, dy, grid=False)

    def _moved(self, dx: int, dy: int) -> Tensor:
        """The coefficients of a derivative."""
        c = BSpline(self._knots[0], self._c, self.degrees[0]).derivative(dx).c if dx else self._c
        return BSpline(self._knots[1], c.T, self.degrees[1]).derivative(dy).c.T if dy else c

    def _along(self, axis: int, at: Tensor, nu: int) -> Tensor:
        t, k = self._knots[axis], self.degrees[axis]
        at = pb.clip(at, plain(t)[k], plain(t)[-k - 1])  # SciPy's splines of two variables are constant outside
        return design(t[nu : t.shape[0] - nu], k - nu, at)


class RectBivariateSpline(_Surface, metaclass=PerExample):
    """`scipy.interpolate.RectBivariateSpline` with derivatives by grid, values and points, for `s=0`."""

    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Any = [None, None, None, None],  # noqa: B006  (SciPy's; only read)
        kx: int = 3, ky: int = 3, s: Any = 0, maxit: int = 20,
    ) -> None:  # fmt: skip
        real = scipy_module("interpolate").RectBivariateSpline(
            plain(x), plain(y), plain(z), list(bbox), kx, ky, s, maxit
        )
        tx, ty, c = real.tck
        if s == 0 and tuple(bbox) == (None,) * 4:
            along_x = interpolating(floats(x), floats(z), kx, tx)
            along_y = interpolating(floats(y), along_x.c.T, ky, ty)
            super().__init__((along_x.t, along_y.t), along_y.c.T, (kx, ky))
        elif watches((x, y, z)):
            raise _no_smoothing("RectBivariateSpline")
        else:
            super().__init__(*_grid_of(tx, ty, c, kx, ky))


def _grid_of(tx: Any, ty: Any, c: Any, kx: int, ky: int) -> tuple[tuple[Tensor, Tensor], Tensor, tuple[int, int]]:
    return (floats(tx), floats(ty)), floats(c).reshape(len(tx) - kx - 1, len(ty) - ky - 1), (kx, ky)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Tensor:
    """`scipy.interpolate.bisplev` with derivatives by points, coefficients and knots."""
    one, other = (pb.atleast_1d(floats(each)) for each in (x, y))
    if one.ndim != 1 or other.ndim != 1:
        raise ValueError("First two entries should be rank-1 arrays.")
    out = _Surface(*_grid_of(*tck))(one, other, dx, dy)
    return out if out.shape[0] > 1 else out[0] if out.shape[1] > 1 else out[0, 0]
