"""Optimisers, learning rates that change, and clipping: functions of trees, or steps in place on leaves.

>>> adam = pb.optim.Adam(pb.optim.cosine(0.1, steps=200))          # functions of trees
>>> tree = {"w": pb.zeros(2)}
>>> state = adam.init(tree)
>>> for _ in range(200):
...     gradients = pb.grad(lambda tree: ((tree["w"] - 3) ** 2).sum())(tree)
...     tree, state = adam.update(tree, gradients, state)
>>> tree["w"].round(decimals=2)
tensor([3., 3.])

`pb.optim.Adam(leaves, lr=0.1)` has `zero_grad()` and `step()`, as torch's optimisers do.
"""

from pullback.core.lazy import explain_unknown as _explain_unknown
from pullback.optim._fit import Fitted, fit
from pullback.optim._gradients import clip_by_norm, clip_by_value, ema, global_norm
from pullback.optim._lbfgs import LBFGS, LBFGSState
from pullback.optim._optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop, State
from pullback.optim._schedules import constant, cosine, exponential, linear, onecycle, piecewise, warmup
from pullback.optim._scipy import least_squares, minimize, root

__all__ = [
    "LBFGS",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Fitted",
    "LBFGSState",
    "Optimizer",
    "RMSprop",
    "State",
    "clip_by_norm",
    "clip_by_value",
    "constant",
    "cosine",
    "ema",
    "exponential",
    "fit",
    "global_norm",
    "least_squares",
    "linear",
    "minimize",
    "onecycle",
    "piecewise",
    "root",
    "warmup",
]
_explain_unknown(globals())
