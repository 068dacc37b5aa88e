"""Special functions with SciPy's names, and gradients in every argument that has one.

    >>> pb.special.gammaln(pb.tensor(5.0, requires_grad=True)).backward()

Most of them need SciPy, the extra `pullback[scipy]`; without it they raise an ImportError when they are called, and
those that NumPy can compute (`xlogy`, `entr`, `erf`, `sinc`, `boxcox`, ...) still work.
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators import functions as _top
from pullback.operators.public import namespace as _namespace
from pullback.operators.special import bessel as _bessel
from pullback.operators.special import bessel as _polynomials
from pullback.operators.special import elementary as _special
from pullback.operators.special import gamma as _gamma
from pullback.operators.special import incomplete as _distributions
from pullback.operators.special import incomplete as _incomplete
from pullback.operators.special import integrals as _integrals

_modules = (_special, _bessel, _distributions, _gamma, _incomplete, _integrals, _polynomials)
_functions = {**{name: _top[name] for name in _special.shared}, **_namespace("special")}
globals().update(_functions)

__all__ = list(_functions)
_explain_unknown(globals())
