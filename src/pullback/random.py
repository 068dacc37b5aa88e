"""Random numbers from a seedable generator; where a distribution allows it, with gradients by its parameters."""

from pullback.ops.random import *  # noqa: F403
from pullback.ops.random import __all__ as _names
from pullback.ops.random_multivariate import multivariate_normal

__all__ = [*_names, "multivariate_normal"]
