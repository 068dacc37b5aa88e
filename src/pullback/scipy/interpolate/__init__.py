"""`scipy.interpolate` with derivatives: by the data, by the knots and by the points of evaluation."""

from pullback.scipy import _surface
from pullback.scipy.interpolate import _fitpack, _grid, _piecewise, _scattered, _splines

for _module in (_fitpack, _grid, _piecewise, _scattered, _splines):
    for _name in _module.__all__:
        _surface.declare_as(f"interpolate.{_name}", getattr(_module, _name), kind="C", by="data, knots, points")


def _stand_in(value: object) -> object | None:
    """What stands for an interpolant that SciPy has made; None if it is none of those here."""
    theirs = _surface.scipy_module("interpolate")
    if isinstance(value, theirs.PPoly):
        return _piecewise.PPoly(value.c, value.x, value.extrapolate, value.axis)
    if isinstance(value, theirs.BSpline):
        return _splines.BSpline(value.t, value.c, value.k, value.extrapolate, value.axis)
    if isinstance(value, theirs.RegularGridInterpolator):
        return _grid.RegularGridInterpolator(
            value.grid, value.values, value.method, value.bounds_error, value.fill_value
        )
    if isinstance(value, theirs.interp1d):
        return _piecewise.interp1d(
            value.x, value.y, value._kind, value.axis, True, value.bounds_error, value.fill_value, True
        )
    return None


_surface.refuse("its result is a numpy.poly1d, which holds numbers; use BarycentricInterpolator or polyfit",
                "interpolate.lagrange", "interpolate.pade")  # fmt: skip
_surface.refuse("its knots are added until the smoothing condition holds; use RectBivariateSpline or RBFInterpolator",
                "interpolate.bisplrep")  # fmt: skip

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("interpolate")
