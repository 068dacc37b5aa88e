"""`scipy.optimize` with derivatives: roots, fixed points, minima, fits."""

from pullback.scipy import _surface
from pullback.scipy.optimize import _least_squares, _minima, _programs, _roots, _valley  # noqa: F401  (they declare)

_surface.constant("optimize.linear_sum_assignment", "optimize.quadratic_assignment", "optimize.show_options")
_surface.refuse("it takes differences; pb.func has derivatives", "optimize.approx_fprime", "optimize.check_grad")
_surface.refuse("it is a part of a search, whose derivative has no meaning", "optimize.line_search", "optimize.bracket")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("optimize")  # and everything else of SciPy's, by `__getattr__`
