"""What a function may not leave changed behind when it is captured: modes, gradients, the state of the host's
generators."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from pullback.aot._trace import Trace
from pullback.core.state import current
from pullback.errors import TraceError, TraceWarning
from pullback.ops.creation import get_default_dtype
from pullback.tensors.tensor import Tensor


def guarded_modes() -> dict[str, Any]:
    """The modes that a function may change only if it restores them."""
    modes = current()
    return {
        "default dtype": get_default_dtype(), "inference mode": modes.inference, "anomaly mode": modes.anomaly,
        "transforms": modes.transforms, "vmap": modes.vmaps, "layout policy": modes.layout_policy,
    }  # fmt: skip


def check_modes(before: dict[str, Any]) -> None:
    """Raise if one of them is another one than before."""
    for name, value in guarded_modes().items():
        if value != before[name]:
            raise TraceError(
                f"the function changed the {name} from {before[name]} to {value} and did not restore it",
                why="a compiled call does not run the function, so the change would happen once only",
                fix="use the context manager inside of the function, or make the change outside of it",
            )


def check_gradients(trace: Trace, outs: list[Any]) -> None:
    """Raise if the function has left a gradient where its caller would find it: in a tensor that it was given, or in a
    result that is a leaf or retains its gradient."""
    inputs = (*trace.members.values(), *trace.targets)
    for tensor in (*(primal.tensor for primal in inputs), *outs):
        meta = tensor._meta if isinstance(tensor, Tensor) else None
        if meta is not None and meta.grad is not None:
            raise TraceError(
                f"the function stores a gradient in the .grad of a tensor {tensor._spec!r} that its caller knows",
                why="backward() adds to what is there already, and that is no part of what a capture depends on",
                fix="compute gradients with pb.autograd.grad and return them, or call backward() outside",
            )


def host_randomness() -> Any:
    """The state of NumPy's own generator, None if nobody has loaded it."""
    random = sys.modules.get("numpy.random")
    return None if random is None else random.get_state(legacy=False)


def check_host_randomness(before: Any) -> None:
    """Warn if somebody has drawn from it."""
    if before is not None and not _is_same_state(before, host_randomness()):
        warnings.warn(
            "host randomness became a constant: the traced function drew from numpy.random, and every call of the "
            "compiled function sees these numbers; draw with pb.random instead",
            TraceWarning,
            stacklevel=5,
        )


def _is_same_state(first: Any, second: Any) -> bool:
    mine, theirs = first["state"], second["state"]
    return mine["pos"] == theirs["pos"] and bool(np.array_equal(mine["key"], theirs["key"]))
