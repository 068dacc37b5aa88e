"""Neural-network functions: activations, normalization, convolution, pooling, attention and losses.

    import pullback as pb
    loss = pb.nn.cross_entropy(pb.nn.linear(pb.nn.gelu(x), weight, bias), labels)

Names, arguments and defaults are torch's (`torch.nn.functional`), with `axis` accepted beside `dim`. Everything is a
function; `pb.nn.functional` is this module under the name that torch uses. Activations have twins that write into
their argument, `elu_` for `elu`.
"""

import sys as _sys

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.operators import functions as _functions
from pullback.operators.nn import family as _family
from pullback.operators.public import complete as _complete
from pullback.operators.public import namespace as _namespace

_own = _namespace("nn")
_shared = {
    name: _functions[name]
    for name in (
        "cosine_similarity", "log_softmax", "logsigmoid", "one_hot", "pairwise_distance", "pdist", "relu", "sigmoid",
        "softmax", "tanh",
    )
}
_inplace = _family.inplace_functions()
globals().update(_shared | _own | _inplace)
functional = _sys.modules[__name__]

__all__ = ["functional", *_shared, *_own, *_inplace]
_explain_unknown(globals())
_complete(globals(), "nn")
