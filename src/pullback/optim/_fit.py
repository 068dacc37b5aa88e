"""`fit`: the loop around an optimiser's steps, for those who would write it the same way every time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sized
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.doors import door
from pullback.core.progress import Progress, shown
from pullback.core.reports import INFO, report
from pullback.optim._optimizers import Adam, Optimizer


class Fitted:
    """What `fit` returns, and what it tells its `callback` after every step.

    `x` is the tree of parameters, `state` what the optimiser keeps, `losses` an array of the loss before each step.
    `success` is True if the batches came to their end; otherwise `message` says what ended the loop.

    >>> pb.optim.fit(lambda x: (x * x).sum(), pb.ones(2), [()] * 3, optimizer=pb.optim.SGD(0.1))
    <Fitted after 3 steps, last loss 0.8192: all batches were seen>
    """

    def __init__(self, x: Any, state: Any) -> None:
        self.x, self.state = x, state
        self.success, self.message = True, "all batches were seen"
        self._losses: list[Any] = []

    @property
    def losses(self) -> Any:
        """The loss before each step."""
        return np.array([value.item() for value in self._losses])

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return len(self._losses)

    def _stopped(self, message: str) -> None:
        self.success, self.message = False, message

    def __repr__(self) -> str:
        last = f", last loss {self._losses[-1].item():.6g}" if self._losses else ""
        return f"<Fitted after {self.steps} steps{last}: {self.message}>"


@door
def fit(
    loss: Callable[..., Any], tree: Any, batches: Iterable[Any], *, optimizer: Optimizer | None = None,
    state: Any = None, clip: Callable[[Any], Any] | None = None, callback: Callable[[Fitted], Any] | None = None,
    progress: Progress = None, timeout: float | None = None, **options: Any,
) -> Fitted:  # fmt: skip
    """One step of an optimiser for each batch: the parameters behind the last, and the losses on the way.

    `loss(tree, *batch)` returns a number. A batch that is a tuple is several arguments; `pb.data.batches` gives such,
    and `itertools.repeat((), 100)` makes 100 steps without data. The optimiser is `pb.optim.Adam()` unless another one
    is given, made without leaves. `state` goes on from what an earlier call returned, and `clip` is a function of the
    tree of gradients. The whole step is compiled; `options` are those of `pb.compile`.

    `callback` is called with the result so far after every step, and ends the loop if it returns True; after `timeout`
    seconds it ends as well. `progress` says how many batches are done: True shows a bar, a function is called with
    `(done, total, label)`.

    >>> x = np.linspace(0.0, 1.0, 20)
    >>> loss = lambda tree, x, y: ((tree["slope"] * x + tree["start"] - y) ** 2).mean()
    >>> data = pb.data.batches(x, 3 * x + 1, size=5, epochs=200, seed=0)
    >>> found = pb.optim.fit(loss, {"slope": 0.0, "start": 0.0}, data, optimizer=pb.optim.Adam(0.05))
    >>> found.x["slope"].round(decimals=2), found.steps
    (tensor(3.), 800)
    """
    optimizer = Adam() if optimizer is None else optimizer
    if not isinstance(optimizer, Optimizer) or optimizer.param_groups:
        raise TypeError(
            "pb.optim.fit moves a tree, and wants an optimiser that was made without leaves, such as "
            f"pb.optim.Adam(1e-3), got {optimizer!r}"
        )
    tree = pb.tree.map(pb.asarray, pb.tree.detach(tree))
    found = Fitted(tree, optimizer.init(tree) if state is None else state)
    step = optimizer.compiled_step(loss, clip=clip, **options)
    ends = None if timeout is None else time.monotonic() + timeout
    total = len(batches) if isinstance(batches, Sized) else 0
    with shown(progress, total, "fit") as bar:
        for batch in batches:
            given = batch if isinstance(batch, tuple) else (batch,)
            found.x, found.state, value = step(found.x, found.state, *given)
            found._losses.append(value)
            bar.advance()
            if callback is not None and callback(found):
                found._stopped("callback returned True")
                break
            if ends is not None and time.monotonic() > ends:
                found._stopped(f"stopped after {timeout} seconds, as timeout= asks")
                break
    report(f"fit made {found.steps} steps: {found.message}", "optim", INFO)
    return found
