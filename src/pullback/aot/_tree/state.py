"""The state of a program at a place that decides a jump: its local variables, and everything in them.

Two states that are equal have the same future, because what a program does depends on its state alone. Whatever cannot
be looked into (an iterator, an object written in C) is `Unseen`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from pullback.aot._numbers.stand_in import is_stand_in, value_of
from pullback.aot._tree.instructions import Counter, Counters, code_of
from pullback.core.frames import is_own
from pullback.payloads.traced import TracedArray
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor

CONSTANTS = (int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, slice, type(Ellipsis))
_NAMES = (type, ModuleType, np.ufunc)
_MOST_BYTES = 1 << 16


class Unseen(Exception):
    """Something in the state of a program cannot be looked into."""


class Visit(NamedTuple):
    """A place that decides a jump, and the state in which the program is there."""

    frame: Any
    place: tuple[int, int]
    state: Any  # what has to be the same
    rough: Any  # the same without the values of plain numbers
    plain: dict[str, Any]  # those
    roles: dict[str, Any]  # the variables that hold tensors and numbers of the graph, with their values there
    kept: list[Any]
    counters: list[Counter]
    position: int | None  # of the innermost counter
    num_nodes: int
    num_written: int
    num_storages: int


def asking_frame() -> Any:
    """The frame of the user's that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def asking(trace: Any, counters: Counters) -> tuple[Any, Any] | None:
    """The frame of the program that asks for a truth value just now, and the loops around it; None if it cannot be
    looked into."""
    frame = asking_frame()
    seer = trace.seer
    if frame is None or not seer.is_twin(frame.f_globals) or not code_of(frame.f_code).decides(frame.f_lasti):
        return None
    around = counters.at(frame)
    return None if around is None or not seer.is_untouched() else (frame, around)


def visit(trace: Any, counters: Counters) -> Visit | None:
    """The visit of a program that asks for a truth value just now; None if it cannot be looked into."""
    found = asking(trace, counters)
    if found is None:
        return None
    frame, around = found
    kept: list[Any] = []
    roles: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    state: list[Any] = [tuple([(id(each), each.position) for each in around[:-1]])]
    moving = around[-1] if around else None
    if moving is not None:
        state.append(id(moving))
        counted = code_of(frame.f_code).fors[moving.begin][1]
        if counted is None or code_of(frame.f_code).reads(moving.begin, counted):
            return None
    try:
        for name, value in sorted(variables_of(frame).items()):
            if moving is not None and name == counted:
                continue
            if type(value) is Tensor and type(value._data) is TracedArray and not value._data.steps:
                roles[name] = (value, value._data.value)
                state.append((name, "tensor", value._spec, requires_grad(value), value._data.strides))
            elif is_stand_in(value) and value._host.is_live:
                roles[name] = (value, value._name.value)
                state.append((name, type(value._value)))
            elif type(value) in (int, float) or is_stand_in(value):
                plain[name] = frozen(value, kept, set())
                state.append((name, type(value_of(value))))
            else:
                state.append((name, frozen(value, kept, set())))
    except Unseen:
        return None
    names = list(roles)
    state += [tuple([names.index(n) for n in names if roles[n][0] is roles[m][0]]) for m in names]
    position = None if moving is None else moving.position
    return Visit(
        frame, (id(frame), frame.f_lasti), [*state, plain], state, plain, roles, kept, around, position,
        len(trace.graph.nodes), len(trace.written), trace.num_storages,
    )  # fmt: skip


def variables_of(frame: Any) -> dict[str, Any]:
    """The local variables of a frame that may be read before they are assigned to, by itself or other functions."""
    code = frame.f_code
    wanted = code_of(code).live(frame.f_lasti)
    shared = {*code.co_cellvars, *code.co_freevars}
    return {name: x for name, x in frame.f_locals.items() if wanted is None or name in wanted or name in shared}


def frozen(x: Any, kept: list[Any], seen: set[int]) -> Any:
    """What an object is, with everything in it; two that are equal are in the same state."""
    kept.append(x)
    if isinstance(x, Tensor):
        if type(x._data) is not TracedArray:
            return id(x)
        return id(x), id(x._data), x._data.storage.generation, id(x._node), requires_grad(x)
    if is_stand_in(x):
        return ("taken", id(x)) if x._host.is_live else ("given", x._name)
    if isinstance(x, CONSTANTS):
        return type(x), repr(x)
    if isinstance(x, _NAMES) or type(x).__module__.partition(".")[0] == "pullback":
        return id(x)
    if id(x) in seen:
        return "again", id(x)
    seen.add(id(x))
    inside = functools.partial(frozen, kept=kept, seen=seen)
    if type(x) in (tuple, list):
        return type(x), 0 if type(x) is tuple else id(x), tuple(map(inside, x))
    if type(x) is dict:
        return id(x), tuple([(inside(key), inside(item)) for key, item in x.items()])
    if isinstance(x, FunctionType):
        cells = [each.cell_contents for each in x.__closure__ or ()]
        return id(x), tuple(map(inside, cells)), inside(x.__dict__), inside(x.__defaults__ or ())
    if isinstance(x, MethodType):
        return inside(x.__func__), inside(x.__self__)
    if isinstance(x, BuiltinFunctionType):
        return id(x) if isinstance(x.__self__, (ModuleType, type(None))) else inside(x.__self__)
    if type(x) is np.ndarray and x.nbytes <= _MOST_BYTES and x.dtype.kind in "biufc":
        return id(x), x.tobytes()
    is_plain = type(x).__flags__ & (1 << 9) and not hasattr(x, "__next__") and not hasattr(type(x), "__slots__")
    if is_plain and type(x).__base__ is object and hasattr(x, "__dict__"):
        return id(x), inside(x.__dict__)
    raise Unseen


def assign(frame: Any, values: dict[str, Any]) -> None:
    """Assign to local variables of a frame that is running."""
    variables = frame.f_locals
    variables.update(values)
    if sys.version_info < (3, 13):  # later f_locals are the variables themselves
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
