"""Drawing random numbers inside `vmap`: every level says whether its examples draw, and whether they draw the same.

| randomness  | a draw at that level                                                      |
|-------------|---------------------------------------------------------------------------|
| "error"     | raises                                                                    |
| "same"      | is one for all examples, so its parameters must be the same for all       |
| "different" | has a batch axis; with those of all such levels it is one draw            |

The draw of several levels is equal to the draw of an array with these axes outside of `vmap`, from the same state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.core.state import changed, current
from pullback.errors import AutogradError
from pullback.payloads.batched.array import (
    Array,
    BatchedArray,
    Levels,
    as_payload,
    bare,
    broadcast,
    levels_of,
    sizes,
    union,
)

MODES = ("error", "same", "different")

DrawForEach = Callable[[int, tuple[Any, ...], dict[str, Any]], Any]


def check_mode(mode: Any) -> None:
    """Raise unless this is one of the three ways in which a level draws."""
    if mode not in MODES:
        raise AutogradError(
            "VMAP_RANDOMNESS",
            f"vmap: randomness must be 'error', 'different' or 'same', got {mode!r}",
            why="it says whether the examples of the batch see the same random numbers",
            fix="pass one of the three",
        )


def drawn(
    name: str, kernel: Callable[..., Array], draw_for_each: DrawForEach, operands: tuple[Any, ...],
    params: dict[str, Any],
) -> Any:  # fmt: skip
    """What a draw gives here: `kernel(*operands, **params)`, or inside of `vmap` what its levels make of it.

    `draw_for_each(count, operands, params)` draws for that many examples; operands have an axis in front for it, of
    length 1 where they are the same for all.
    """
    active = current().vmaps
    if not active and not any(type(x) is BatchedArray for x in operands):
        return drawn_plainly(name, kernel, operands, params)
    given = union([levels_of(x) for x in operands])
    levels = _levels_that_differ(name, union([active, given]), given)
    if not levels:
        plain = [bare(x) for x in operands]
        return drawn_plainly(name, kernel, plain, params)
    lead = sizes(levels)
    flat = tuple([_flat(x, levels) for x in operands])
    with changed(vmaps=()):
        found = as_payload(draw_for_each(math.prod(lead), flat, params))
    return BatchedArray(found.reshape((*lead, *found.shape[1:])), levels)


def drawn_plainly(name: str, kernel: Callable[..., Array], operands: Any, params: dict[str, Any]) -> Any:
    """A draw without levels: now, or whenever the graph runs that is being traced."""
    trace = current().trace
    return np.asarray(kernel(*operands, **params)) if trace is None else trace.draw(name, operands, params)


def _flat(x: Any, levels: Levels) -> Any:
    """An operand with one axis in front for all these levels, of length 1 if it has none of them."""
    if type(x) is not BatchedArray:
        return np.asarray(x)[None] if isinstance(x, (np.ndarray, np.generic)) else x
    if not x.levels:
        return x.data[None]
    full = broadcast(x.data, x.levels, levels)
    return full.reshape((math.prod(sizes(levels)), *x.shape))


def _levels_that_differ(name: str, levels: Levels, given: Levels) -> Levels:
    for level in levels:
        if level.randomness == "error":
            raise AutogradError(
                "VMAP_RANDOMNESS",
                f"{name.strip('_')}: vmap: called random operation while in randomness error mode",
                why="it is not clear whether the examples of the batch are meant to see the same random numbers",
                fix="pass randomness='different' or randomness='same' to vmap, or draw outside of it",
            )
        if level.randomness == "same" and level in given:
            raise AutogradError(
                "VMAP_RANDOMNESS",
                f"{name.strip('_')}: Vmap does not currently support same randomness with a batched tensor input",
                why="the examples have different distributions, and one draw cannot serve all of them",
                fix="draw noise without parameters and transform it, or pass randomness='different' to vmap",
            )
    return tuple([level for level in levels if level.randomness == "different"])


def check_parameters(name: str, parameters: Iterable[Any]) -> None:
    """Raise if a distribution differs between examples that are meant to draw the same."""
    given = union([levels_of(x) for x in parameters])
    if given:
        _levels_that_differ(name, given, given)


def check_fill(target: Any) -> None:
    """Raise if random numbers that differ between examples are about to be written into one array for all of them."""
    missing = [
        level for level in current().vmaps if level.randomness == "different" and level not in levels_of(target)
    ]
    if missing:
        raise AutogradError(
            "VMAP_RANDOMNESS",
            "vmap: different inplace randomness on an unbatched tensor",
            why="every example would have to write numbers of its own into the same memory",
            fix="draw a new tensor instead of filling this one, or pass randomness='same' to vmap",
        )
