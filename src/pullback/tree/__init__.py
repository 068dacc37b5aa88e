"""Trees of parameters: nested containers of tensors, taken apart, put together, measured and mapped.

A model is a function of a tree: tuples, lists, dicts, namedtuples, and dataclasses made by `pb.dataclass`. Transforms,
optimisers and `pb.save` all take trees. The leaves of a dict come by its sorted keys; None is a leaf.

>>> parameters = {"w": pb.ones((2, 3)), "b": pb.zeros(3)}
>>> pb.tree.paths(parameters)
['b', 'w']
>>> pb.tree.map(lambda x: x + 1, parameters)["b"]
tensor([1., 1., 1.])
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.core.pytree import flatten, unflatten
from pullback.tree._trees import (
    Rest,
    all_close,
    cast,
    detach,
    leaves,
    map,
    merge,
    nbytes,
    partition,
    paths,
    ravel,
    reduce,
    requires_grad_,
    size,
    structure,
    summary,
)

__all__ = [
    "Rest",
    "all_close",
    "cast",
    "detach",
    "flatten",
    "leaves",
    "map",
    "merge",
    "nbytes",
    "partition",
    "paths",
    "ravel",
    "reduce",
    "requires_grad_",
    "size",
    "structure",
    "summary",
    "unflatten",
]
_explain_unknown(globals())
