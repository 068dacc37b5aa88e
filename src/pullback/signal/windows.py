"""Windows: weights of `M` samples, with torch's names and arguments, differentiable in their parameters.

    weight = pb.signal.windows.gaussian(64, std=7.0)

`sym=False` leaves out the last point of a window of `M + 1`, which is what spectra want.
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators.public import namespace as _namespace
from pullback.operators.signal import windows as _family  # noqa: F401

_functions = _namespace("signal.windows")
globals().update(_functions)

__all__ = [*_functions]
_explain_unknown(globals())
