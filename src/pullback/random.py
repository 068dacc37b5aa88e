"""Random numbers from a seedable generator; where a distribution allows it, with gradients by its parameters."""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators.public import complete as _complete
from pullback.operators.random.family import *  # noqa: F403
from pullback.operators.random.family import __all__ as _names
from pullback.operators.random.multivariate import multivariate_normal

__all__ = [*_names, "multivariate_normal"]
_explain_unknown(globals())
_complete(globals(), "random")
