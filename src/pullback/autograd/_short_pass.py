"""A whole pass in one step: a single node takes the gradient of a scalar, and only leaves are behind it.

That is what `loss.backward()` does if `loss` comes from a compiled function. Here is the engine's way through such a
pass without what it needs for larger ones. Whatever is unusual is left to the engine, which alone defines what a pass
means; a test compares the two.
"""

from __future__ import annotations

import sys
from contextvars import Context
from typing import Any

import numpy as np

from pullback.autograd._node import Node
from pullback.core.state import current, open_levels, switch
from pullback.errors import InternalError
from pullback.tensors.tensor import Leaf, Tensor


def _without_warnings() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


# Where NumPy warns of nothing. A copy of it is entered in a tenth of the time of `np.errstate`, and nothing that runs
# there looks at any other variable of its context.
_QUIET = _without_warnings()

# What the gradient of a scalar begins with. Formulas may return it as it is, so it can not be written.
_ones: dict[Any, Any] = {}


def goes_to_leaves(root: Any) -> bool:
    """Is this the result of a node whose pass may be a short one?"""
    return isinstance(root, Tensor) and isinstance(root._node, Node) and root._node.goes_to_leaves


def pass_at_once(root: Tensor, keep: bool) -> bool:
    """`root.backward()` for a result that goes to leaves; False if that is for the engine to do."""
    node = root._node
    if not _is_plain(root):
        return False
    for leaf in node.next:
        if leaf is not None and (leaf.rare is not None or not leaf.is_bare()):
            return False
    _accumulate(node.next, _pulled(root, keep))
    return True


def gradients_at_once(root: Tensor, inputs: list[Any], keep: bool) -> list[Any] | None:
    """What arrives at `inputs` in a pass from a result that goes to leaves; None if that is for the engine to do."""
    if not _is_plain(root):
        return None
    leaves = root._node.next
    places = []
    for x in inputs:
        marker = x._node if type(x) is Tensor else None
        leaf = marker.accumulator() if type(marker) is Leaf and marker.accumulator is not None else None
        if leaf not in leaves or leaf is None or leaf.rare is not None or not leaf.is_bare():
            return None
        places.append(leaves.index(leaf))
    gradients = _pulled(root, keep)
    return [gradients[place] for place in places]


def _is_plain(root: Tensor) -> bool:
    """A real number without hooks, in normal modes, and nobody who watches."""
    spec, modes = root._spec, current()
    return (
        (modes is switch.normal or modes is switch.no_grad)
        and root._node.rare is None
        and root._extra is None
        and not spec.shape
        and spec.is_real
        and not open_levels
    )


def _pulled(root: Tensor, keep: bool) -> tuple[Any, ...]:
    dtype = root._spec.dtype
    gradients: tuple[Any, ...] = _QUIET.copy().run(root._node.pull, _ones.get(dtype) or _one(dtype), keep)
    return gradients


def _one(dtype: Any) -> Any:
    one = _ones[dtype] = np.ones((), dtype)
    one.setflags(write=False)
    return one


def _accumulate(leaves: tuple[Any, ...], gradients: Any) -> None:
    """Give each leaf its gradient, which becomes `.grad` itself if nobody else holds it."""
    position = 0
    for gradient in gradients:
        leaf = leaves[position]
        position += 1
        if leaf is None or gradient is None:
            continue
        is_ours = sys.getrefcount(gradient) == _EXCLUSIVE
        if not (is_ours and leaf.adopt(gradient)):
            leaf.accumulate(gradient, False, is_ours)


def _references_when_exclusive() -> int:
    for value in (np.zeros(1),):
        return sys.getrefcount(value)
    raise InternalError("a tuple of one has an element")


# The reference count, in `_accumulate`, of an array that nobody holds but the gradients.
_EXCLUSIVE = _references_when_exclusive()
