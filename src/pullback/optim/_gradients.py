"""Functions of trees around a step: norms, clipping, averages."""

from __future__ import annotations

from typing import Any

import pullback as pb
from pullback.core.pytree import flatten, map_leaves


def global_norm(tree: Any) -> Any:
    """The root of the sum of the squares of all numbers in a tree.

    >>> pb.optim.global_norm({"w": pb.tensor([3.0, 0.0]), "b": pb.tensor(4.0)})
    tensor(5.)
    """
    norms = [pb.linalg.vector_norm(leaf) for leaf in flatten(tree)[0]]
    return pb.linalg.vector_norm(pb.stack(norms)) if norms else pb.zeros(())


def clip_by_norm(tree: Any, max_norm: Any) -> Any:
    """The tree, scaled so that its global norm is at most `max_norm`, as `torch.nn.utils.clip_grad_norm_` does it.

    >>> pb.optim.clip_by_norm({"w": pb.tensor([30.0, 40.0])}, 5.0)["w"].round(decimals=4)
    tensor([3., 4.])
    """
    scale = pb.minimum(max_norm / (global_norm(tree) + 1e-6), 1.0)
    return map_leaves(lambda leaf: leaf * scale.astype(pb.asarray(leaf).real.dtype, copy=False), tree)


def clip_by_value(tree: Any, limit: Any) -> Any:
    """The tree with every number moved into the range from `-limit` to `limit`.

    >>> pb.optim.clip_by_value({"w": pb.tensor([-3.0, 0.5])}, 1.0)
    {'w': tensor([-1. ,  0.5])}
    """
    return map_leaves(lambda leaf: pb.clip(leaf, -limit, limit), tree)


def ema(average: Any, tree: Any, decay: Any = 0.999) -> Any:
    """The next exponential moving average of a tree: `decay * average + (1 - decay) * tree`.

    >>> pb.optim.ema({"w": pb.tensor(1.0)}, {"w": pb.tensor(2.0)}, decay=0.9)
    {'w': tensor(1.1)}
    """
    return map_leaves(lambda old, new: old + (1 - decay) * (new - old), average, tree)
