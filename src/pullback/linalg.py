"""Linear algebra: systems, decompositions, eigenvalues, determinants and norms, with derivatives of every order.

All functions take batches of matrices in the last two axes, real or complex. Where a decomposition is not unique, its
derivative is that of the parts that are; a loss that depends on the rest raises or gives nan, and never a wrong number.

    a = pb.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    pb.linalg.slogdet(a).logabsdet.backward()
    a.grad                                     # the transposed inverse of a
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators.linalg import family as _family  # noqa: F401
from pullback.operators.public import namespace as _namespace

_functions = _namespace("linalg")
globals().update(_functions)

__all__ = [*_functions]
_explain_unknown(globals())
