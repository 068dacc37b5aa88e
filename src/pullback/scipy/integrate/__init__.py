"""`scipy.integrate` with derivatives: integrals by their parameters and limits, solutions of differential equations."""

from pullback.scipy import _surface
from pullback.scipy.integrate import _bvp, _ivp, _quadrature, _samples, _sums  # noqa: F401  (they declare)

_surface.constant("integrate.newton_cotes", "integrate.lebedev_rule")
_surface.refuse("its points are drawn at random; use integrate.cubature, or a mean of samples", "integrate.qmc_quad")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("integrate")  # and everything else of SciPy's, by `__getattr__`
