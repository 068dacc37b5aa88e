"""SciPy's functions with derivatives, under SciPy's names: `from pullback.scipy import optimize`.

SciPy computes the value, with its own algorithm; the derivative is that of what the result satisfies. Parameters need
not be listed: tensors that a callback takes from anywhere are found. `rules()` says what differentiates by what.
"""

from pullback.core.lazy import deferred as _deferred
from pullback.func._implicit.linear import Diff
from pullback.scipy._options import differentiation
from pullback.scipy._surface import rule, rules

_SUBPACKAGES = (
    "cluster", "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
    "spatial", "special", "stats",
)  # fmt: skip
__getattr__, __dir__ = _deferred(globals(), {name: f"pullback.scipy.{name}" for name in _SUBPACKAGES})

__all__ = ["Diff", "differentiation", "rule", "rules", *_SUBPACKAGES]
