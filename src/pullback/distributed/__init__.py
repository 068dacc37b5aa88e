"""The same program on one process and on many: work in pieces on executors, and what more of them would bring.

    with ProcessPoolExecutor() as pool:
        fits = pb.distributed.multi_start(fit, starts, executor=pool)
"""

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.distributed._map import MultiStart, Start, ensemble, map, multi_start, per_sample_gradients
    from pullback.errors import CheckpointFileError as CheckpointError
    from pullback.errors import PieceError

_PLACES = {"PieceError": "pullback.errors"}
_MAPS = ("MultiStart", "Start", "ensemble", "map", "multi_start", "per_sample_gradients")
_PLACES |= dict.fromkeys(_MAPS, "pullback.distributed._map")
_PLACES["CheckpointError"] = "pullback.distributed._map"
__getattr__, __dir__ = _deferred(globals(), _PLACES)

__all__ = [
    "CheckpointError",
    "MultiStart",
    "PieceError",
    "Start",
    "ensemble",
    "map",
    "multi_start",
    "per_sample_gradients",
]
