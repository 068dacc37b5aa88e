"""The state of the global random generators, kept by a checkpoint so that a second run draws the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.ops.random import default_generator


class RandomState:
    """What Pullback's default generator and NumPy's legacy global one were about to draw when this was made."""

    __slots__ = ("_numpy", "_pullback")

    def __init__(self) -> None:
        self._pullback: Any = default_generator.get_state()
        self._numpy: Any = np.random.get_state(legacy=False)

    def reinstate(self) -> None:
        """Put both generators back into this state."""
        default_generator.set_state(self._pullback)
        np.random.set_state(self._numpy)


@contextmanager
def drawing_again_from(state: RandomState | None) -> Iterator[None]:
    """Inside, the generators continue from `state`; afterwards from where they were. None leaves them alone."""
    if state is None:
        yield
        return
    ambient = RandomState()
    state.reinstate()
    try:
        yield
    finally:
        ambient.reinstate()
