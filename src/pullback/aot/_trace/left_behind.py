"""What a function may not leave changed behind: modes, gradients, the state of the host's generators."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pullback.aot._trace.trace import Trace
from pullback.core.frames import warn
from pullback.core.state import current
from pullback.errors import SideEffectError, TraceError, TraceWarning
from pullback.operators.arrays.creation import get_default_dtype
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
    for primal in inputs:
        meta = primal.tensor._meta
        if primal.tensor.__dict__:
            raise SideEffectError(
                f"the function sets an attribute of a tensor {primal.tensor._spec!r} that its caller knows",
                why="a compiled call does not run the function, so this would happen once only",
                fix="set the attribute outside of the function",
            )
        if meta is not None and (meta.hooks or meta.post_accumulate_hooks):
            raise TraceError(
                f"the function leaves a hook on a tensor {primal.tensor._spec!r} that its caller knows",
                why="every call would add another one, and a compiled call does not run the function",
                fix="register the hook outside of the function, or remove it before the function returns",
            )


def host_randomness() -> tuple[Any, Any]:
    """The states of NumPy's and Python's own generators, None for those that nobody has loaded."""
    random, python = sys.modules.get("numpy.random"), sys.modules.get("random")
    return (
        None if random is None else random.get_state(legacy=False),
        None if python is None else python.getstate(),
    )  # fmt: skip


def check_host_randomness(before: tuple[Any, Any], is_refused: bool) -> None:
    """If somebody has drawn from them: raise and put them back, or warn."""
    after = host_randomness()
    ours, python = _is_same_state(before[0], after[0]), before[1] is None or before[1] == after[1]
    if ours and python:
        return
    if not is_refused:
        warn(
            "host randomness became a constant: the traced function drew from numpy.random or random, and every call "
            "of the compiled function sees these numbers; draw with pb.random instead",
            TraceWarning,
        )
        return
    if not ours:
        sys.modules["numpy.random"].set_state(before[0])
    if not python:
        sys.modules["random"].setstate(before[1])
    raise SideEffectError(
        "the function draws from the generator of numpy.random or random",
        why="every call would draw other numbers, and a compiled call does not run the function",
        fix="draw with pb.random, or pass the numbers as an argument",
    )


def _is_same_state(first: Any, second: Any) -> bool:
    if first is None:
        return True
    mine, theirs = first["state"], second["state"]
    return (
        mine["pos"] == theirs["pos"] and first["has_gauss"] == second["has_gauss"]
        and bool(np.array_equal(mine["key"], theirs["key"]))
    )  # fmt: skip


def check_seen(trace: Any, seer: Any) -> None:
    """Raise if the function uses a tensor of which nobody knows where it comes from, or looks at what is not known."""
    if trace.looked_for is not None:
        raise SideEffectError(
            f"the function looks at {trace.looked_for}",
            why="it is another one in every call, and a compiled call does not run the function",
            fix="look at it outside of what is compiled",
        )
    for primal in trace.captured:
        if id(primal.original) not in seer.texts:
            raise TraceError(
                f"the function uses a tensor {primal.tensor._spec!r} that comes from code which is not traced",
                why="it is not known where it was found, and whether another call would find it there",
                fix="pass it as an argument, or keep it in a variable, a list, a dict or an attribute",
            )
