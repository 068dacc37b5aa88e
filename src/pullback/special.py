"""Special functions with SciPy's names, and gradients in every argument that has one.

    >>> pb.special.gammaln(pb.tensor(5.0, requires_grad=True)).backward()

Most of them need SciPy, the extra `pullback[scipy]`; without it they raise an ImportError when they are called, and
those that NumPy can compute (`xlogy`, `entr`, `erf`, `sinc`, `boxcox`, ...) still work.
"""

from pullback.ops import functions as _top
from pullback.ops import special as _special
from pullback.ops import special_bessel as _bessel
from pullback.ops import special_distributions as _distributions
from pullback.ops import special_gamma as _gamma
from pullback.ops import special_incomplete as _incomplete
from pullback.ops import special_integrals as _integrals
from pullback.ops import special_polynomials as _polynomials
from pullback.ops.public import namespace as _namespace

_modules = (_special, _bessel, _distributions, _gamma, _incomplete, _integrals, _polynomials)
_functions = {**{name: _top[name] for name in _special.shared}, **_namespace("special")}
globals().update(_functions)

__all__ = list(_functions)
