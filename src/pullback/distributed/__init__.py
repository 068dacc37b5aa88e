"""The same program on one process and on many ranks: communicators, differentiable collectives, data parallelism.

    comm = pb.distributed.init()                    # ranks of mpiexec, or this process alone
    total = pb.distributed.all_reduce(loss)          # differentiable, also inside vmap and compile

A collective means what the NumPy function of the stacked blocks means; derivatives are those of the sum of all ranks'
losses. Every rank makes the same sequence of collectives, and a difference is an error, not a hang.
"""

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred
from pullback.distributed import _halves as _halves_of_collectives  # noqa: F401  (declares them)
from pullback.distributed._averager import GradientAverager
from pullback.distributed._checks import gradcheck, jacobian, same_program
from pullback.distributed._collectives import (
    all_gather,
    all_reduce,
    all_reduce_,
    all_to_all,
    barrier,
    broadcast,
    broadcast_,
    gather,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    sendrecv,
    shift,
    tie,
    vary,
)
from pullback.distributed._communicator import Communicator
from pullback.distributed._data_parallel import data_parallel, rank_generator, sampler
from pullback.distributed._errors import (
    CollectiveMismatch,
    CollectiveTimeout,
    CommunicatorBroken,
    DistributedError,
    PlacementError,
    RankLost,
    RemoteRankError,
)
from pullback.distributed._faults import agree, together
from pullback.distributed._halo_calls import halo_exchange, halo_fill_, halo_start, halo_wait
from pullback.distributed._hidden import implicit, trace_comm
from pullback.distributed._log import profile
from pullback.distributed._making import full, normal, ones, uniform, zeros
from pullback.distributed._mesh import mesh
from pullback.distributed._placements import Partial, Replicate, Shard
from pullback.distributed._start import finalize, init, is_initialized, local_rank, rank, size, world
from pullback.distributed._stencil import stencil
from pullback.distributed._tensors import (
    distribute,
    from_local,
    full_tensor,
    local_part,
    placements,
    redistribute,
    to_local,
)
from pullback.distributed._threads import simulate

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.core.blocks import Block
    from pullback.distributed import cost
    from pullback.distributed._map import MultiStart, Start, ensemble, map, multi_start, per_sample_gradients
    from pullback.errors import CheckpointFileError as CheckpointError
    from pullback.errors import PieceError

_PLACES = {"PieceError": "pullback.errors", "CheckpointError": "pullback.distributed._map"}
_PLACES |= {"Block": "pullback.core.blocks", "cost": "pullback.distributed.cost"}
_MAPS = ("MultiStart", "Start", "ensemble", "map", "multi_start", "per_sample_gradients")
_PLACES |= dict.fromkeys(_MAPS, "pullback.distributed._map")
__getattr__, __dir__ = _deferred(globals(), _PLACES)

__all__ = [
    "Block",
    "CheckpointError",
    "CollectiveMismatch",
    "CollectiveTimeout",
    "Communicator",
    "CommunicatorBroken",
    "DistributedError",
    "GradientAverager",
    "MultiStart",
    "Partial",
    "PieceError",
    "PlacementError",
    "RankLost",
    "RemoteRankError",
    "Replicate",
    "Shard",
    "Start",
    "agree",
    "all_gather",
    "all_reduce",
    "all_reduce_",
    "all_to_all",
    "barrier",
    "broadcast",
    "broadcast_",
    "cost",
    "data_parallel",
    "distribute",
    "ensemble",
    "finalize",
    "from_local",
    "full",
    "full_tensor",
    "gather",
    "gradcheck",
    "halo_exchange",
    "halo_fill_",
    "halo_start",
    "halo_wait",
    "implicit",
    "init",
    "is_initialized",
    "jacobian",
    "local_part",
    "local_rank",
    "map",
    "mesh",
    "multi_start",
    "normal",
    "ones",
    "per_sample_gradients",
    "placements",
    "profile",
    "rank",
    "rank_generator",
    "recv",
    "redistribute",
    "reduce",
    "reduce_scatter",
    "same_program",
    "sampler",
    "scatter",
    "send",
    "sendrecv",
    "shift",
    "simulate",
    "size",
    "stencil",
    "tie",
    "to_local",
    "together",
    "trace_comm",
    "uniform",
    "vary",
    "world",
    "zeros",
]
