"""Reductions and normalizations of the elements that a mask chooses, with the names of `torch.masked`.

    pb.masked.mean(x, axis=1, mask=valid)      # elements where `valid` is False count for nothing, and get no gradient

A row without chosen elements gives what the reduction makes of nothing: 0 for `sum`, 1 for `prod`, nan for `mean`. The
functions mean what those of `pullback` mean: `var` divides by n, `median` is the mean of the middle elements.
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators.public import namespace as _namespace
from pullback.operators.reductions import masked as _family  # noqa: F401

_functions = _namespace("masked")
globals().update(_functions)

__all__ = [*_functions]
_explain_unknown(globals())
