"""Signals: convolution, filters, resampling and power spectra, with SciPy's names and derivatives in all operands.

    smooth = pb.signal.lfilter([0.1], [1.0, -0.9], x)      # differentiable in the coefficients, too
"""

from pullback.ops import signal as _family  # noqa: F401
from pullback.ops.public import namespace as _namespace

_functions = _namespace("signal")
globals().update(_functions)

__all__ = [*_functions]
