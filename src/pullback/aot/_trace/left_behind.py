"""What a function may not leave changed behind: modes, gradients, the state of the host's generators."""

from __future__ import annotations

import dis
import inspect
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pullback.aot._trace.trace import Trace
from pullback.core.frames import is_own, warn
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


def check_host_randomness(before: tuple[Any, Any], is_refused: bool, function: Any) -> None:
    """If somebody has drawn from them: raise and put them back, or warn."""
    after = host_randomness()
    ours, python = _is_same_state(before[0], after[0]), before[1] is None or before[1] == after[1]
    if ours and python:
        return
    place = _drawing_line(function)
    if not is_refused:
        warn(
            f"host randomness became a constant: the traced function drew from numpy.random or random{place}, and "
            "every call of the compiled function sees these numbers; draw with pb.random instead",
            TraceWarning,
        )
        return
    if not ours:
        sys.modules["numpy.random"].set_state(before[0])
    if not python:
        sys.modules["random"].setstate(before[1])
    raise SideEffectError(
        f"the function draws from the generator of numpy.random or random{place}",
        why="every call would draw other numbers, and a compiled call does not run the function",
        fix="draw with pb.random, or pass the numbers as an argument",
    )


def _drawing_line(function: Any) -> str:
    """Where the function, or one of the user's that it calls, names a function that draws; for words only."""
    waiting, seen = [function], set()
    while waiting:
        function = inspect.unwrap(waiting.pop())
        code = getattr(function, "__code__", None)
        if code is None or code in seen or is_own(code.co_filename):
            continue
        seen.add(code)
        closure = zip(code.co_freevars, function.__closure__ or (), strict=True)
        names = function.__globals__ | {name: cell.cell_contents for name, cell in closure if _is_filled(cell)}
        found: Any = None
        for instruction in dis.get_instructions(code):
            if instruction.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")):
                found = names.get(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(found, ModuleType):
                found = getattr(found, instruction.argval, None)
            else:
                continue
            if _draws(found):
                line = instruction.positions.lineno if instruction.positions else code.co_firstlineno
                return f", at {code.co_filename}:{line}"
            if isinstance(found, FunctionType):
                waiting.append(found)
    return ""


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _draws(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    return type(owner).__module__.partition(".")[0] in ("numpy", "random") and hasattr(owner, "seed")


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
