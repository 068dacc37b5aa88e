"""Rows of different lengths in one tensor, with derivatives, and functions of segments.

    x = pb.nested.nested([[1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
    x.softmax(1).sum(1)                        # a function of every row, in one call
    x.shape                                    # (2, j0)

`j0` is a length that is no number; tensors with the same one can be combined. `x.values()` has the rows one below the
other, `x.offsets` says where they begin.
"""

from pullback.interop._nested import from_awkward, from_groupby
from pullback.operators.public import namespace as _namespace
from pullback.payloads.ragged.offsets import RaggedSize

_functions = _namespace("nested")
globals().update(_functions)

__all__ = [*_functions, "RaggedSize", "from_awkward", "from_groupby"]
