"""Neural-network functions: activations, normalization, convolution, pooling, attention and losses.

    import pullback as pb
    loss = pb.nn.cross_entropy(pb.nn.linear(pb.nn.gelu(x), weight, bias), labels)

Names, arguments and defaults are torch's (`torch.nn.functional`), with `axis` accepted beside `dim`. Everything is a
function; `pb.nn.functional` is this module under the name that torch uses. Activations have twins that write into
their argument, `elu_` for `elu`.
"""

import sys as _sys

from pullback.ops import functions as _functions
from pullback.ops import nn as _family
from pullback.ops.public import namespace as _namespace

_own = _namespace("nn")
_shared = {
    name: _functions[name]
    for name in ("log_softmax", "logsigmoid", "one_hot", "relu", "sigmoid", "softmax", "tanh")
}
_inplace = _family.inplace_functions()
globals().update(_shared | _own | _inplace)
functional = _sys.modules[__name__]

__all__ = ["functional", *_shared, *_own, *_inplace]
