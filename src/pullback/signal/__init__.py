"""Signals: convolution, filters, resampling and power spectra, with SciPy's names and derivatives in all operands.

    smooth = pb.signal.lfilter([0.1], [1.0, -0.9], x)      # differentiable in the coefficients, too
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators.public import namespace as _namespace
from pullback.operators.signal import family as _family  # noqa: F401
from pullback.signal import windows

_functions = {name: function for name, function in _namespace("signal").items() if "." not in name}
globals().update(_functions)

__all__ = [*_functions, "windows"]
_explain_unknown(globals())
