"""Sights: where a program stands at a decision, told such that the traces of different calls can be compared.

A function that decides something is called through one of ours (`Returning`), so that its end is a sight as well.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from pullback.aot._numbers.stand_in import is_stand_in
from pullback.aot._tree.state import CONSTANTS, Unseen, asking, frozen, variables_of
from pullback.core.pytree import flatten
from pullback.graph.ir import Value
from pullback.payloads.traced import TracedArray
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor

DTYPES = {float: np.dtype(np.float64), int: np.dtype(np.int64)}
"""Of Python's numbers in a graph."""

_MOST_BYTES = 1 << 12


class Sight(NamedTuple):
    """A place that decides a jump, or the end of the function, and the state in which the program is there."""

    frame: Any
    place: Any  # the same in every trace
    shapes: dict[str, Any]  # what variables hold, without the values of tensors and numbers of the graph
    held: dict[str, Any]
    values: dict[str, Value]  # of the graph, in variables
    fixed: dict[str, Any]  # what has to stay as it is, by identity
    condition: Value | None
    caller: Any  # the frame that waits for this one, of ours; None for the function that is traced
    marks: tuple[int, ...]  # how many nodes, writes, questions about numbers and effects there were
    num_places: int
    num_storages: int

    @property
    def key(self) -> Any:
        """What arms are known by."""
        return self.place, tuple(sorted(self.shapes.items(), key=lambda each: each[0]))


def sight(trace: Any, live: Any, condition: Value) -> Sight | None:
    """Where a program stands that asks for a truth value just now; None if it cannot be looked into."""
    found = asking(trace, live.counters)
    if found is None:
        return None
    frame, around = found
    counted = tuple([(repr(each.numbers), each.position) for each in around])
    place = (frame.f_code, frame.f_lasti, counted, _questions(trace))
    return _sight(trace, live, frame, place, variables_of(frame), condition, _caller(trace, frame))


def _caller(trace: Any, frame: Any) -> Any:
    """Our frame that has called a function of the user's (`Returning`); None if that is the function that is traced."""
    above = frame.f_back
    if above is not None and above.f_code is Returning.CODE:
        return above
    while above is not None and not trace.seer.is_twin(above.f_globals):
        above = above.f_back
    return None if above is None else frame  # called by library code: nobody sees it return


def ending(trace: Any, live: Any, result: Any, caller: Any, code: Any) -> tuple[Sight | None, list[Any], Any]:
    """The end of a function as a sight, in which results are the variables; with the results."""
    leaves, structure = flatten(result)
    held = {str(k): leaf for k, leaf in enumerate(leaves)}
    if not trace.seer.is_untouched():
        return None, leaves, structure
    place = ("end", code, structure, _questions(trace))
    return _sight(trace, live, None, place, held, None, caller), leaves, structure


class Returning:
    """A function of the user's that is asked what it returns, because arms may end there."""

    CODE: CodeType

    @staticmethod
    def around(live: Any, twin: FunctionType) -> FunctionType:
        """A function that does what a twin does, and passes on what it returns; the twin itself if nothing is decided
        there."""
        if not has_arms(twin.__code__):
            return twin

        def call(*args: Any, **kwargs: Any) -> Any:
            return live.ended(twin(*args, **kwargs), sys._getframe(), twin.__code__)

        call.around = functools.partial(Returning.around, live)  # type: ignore[attr-defined]
        return functools.update_wrapper(call, twin)  # type: ignore[return-value]


# By name: from 3.14 on there is also code that makes annotations.
Returning.CODE = next(part for part in Returning.around.__code__.co_consts if getattr(part, "co_name", "") == "call")


@functools.lru_cache(1024)
def has_arms(code: CodeType) -> bool:
    """Does a function decide something, and return in one way or another?"""
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    names = [each.opname for each in dis.get_instructions(code)]
    return any("POP_JUMP" in name for name in names)


def _questions(trace: Any) -> tuple[str, ...]:
    """What was asked about numbers so far: an arm is for these answers."""
    return () if trace.host is None else tuple([step.words for step in trace.host.program.steps if step.words])


def _sight(
    trace: Any, live: Any, frame: Any, place: Any, held: dict[str, Any], condition: Any, caller: Any
) -> Sight | None:
    shapes: dict[str, Any] = {}
    values: dict[str, Value] = {}
    fixed: dict[str, Any] = {}
    try:
        for name, x in held.items():
            if type(x) is Tensor and type(x._data) is TracedArray:
                values[name] = x._data.value
                shapes[name] = ("tensor", x._spec, requires_grad(x), x._data.strides)
            elif is_stand_in(x) and x._host.is_live:
                values[name] = x._name.value
                shapes[name] = ("number", type(x._value))
            elif is_stand_in(x) and type(x._value) in DTYPES:
                shapes[name] = ("given", type(x._value), x._text)
            elif type(x) in DTYPES:
                shapes[name] = ("plain", type(x), repr(x))
            else:
                shapes[name] = ("other", _canonical(x, {}))
                fixed[name] = frozen(x, [], set())
    except Unseen:
        return None
    marks = (len(trace.graph.nodes), len(trace.written), len(_questions(trace)), len(live.effects.given))
    num_places, num_storages = trace.seer.num_places, trace.num_storages
    return Sight(frame, place, shapes, held, values, fixed, condition, caller, marks, num_places, num_storages)


def _canonical(x: Any, met: dict[int, int]) -> Any:
    """What an object is, with everything in it, told without identities: equal in all traces of a program."""
    if isinstance(x, Tensor):
        return "tensor", x._spec, requires_grad(x)
    if is_stand_in(x):
        return ("number", type(x._value)) if x._host.is_live else ("given", x._text)
    if isinstance(x, CONSTANTS):
        return type(x), repr(x)
    if isinstance(x, ModuleType):
        return "module", x.__name__
    if isinstance(x, (type, np.ufunc)):
        return "class", id(getattr(x, "_pullback_original", x))
    if id(x) in met:
        return "again", met[id(x)]
    met[id(x)] = len(met)
    if type(x) in (tuple, list):
        return type(x), tuple([_canonical(each, met) for each in x])
    if type(x) is dict:
        return dict, tuple([(_canonical(key, met), _canonical(item, met)) for key, item in x.items()])
    if isinstance(x, FunctionType):
        if x.__code__ is Returning.CODE:
            return _canonical(x.__wrapped__, met)  # type: ignore[attr-defined]
        cells = [_contents(each, met) for each in x.__closure__ or ()]
        return "function", x.__code__, tuple(cells), _canonical(x.__defaults__ or (), met)
    if isinstance(x, MethodType):
        return "method", _canonical(x.__func__, met), _canonical(x.__self__, met)
    if isinstance(x, BuiltinFunctionType) and isinstance(x.__self__, (ModuleType, type(None))):
        return "built-in", id(x)
    if type(x) is np.ndarray and x.nbytes <= _MOST_BYTES and x.dtype.kind in "biufc":
        return "array", x.shape, x.dtype.str, x.tobytes()
    cls = type(x)
    if cls.__module__.partition(".")[0] != "pullback" and hasattr(x, "__dict__") and not hasattr(cls, "__slots__"):
        return "object", id(getattr(cls, "_pullback_original", cls)), _canonical(x.__dict__, met)
    raise Unseen


def _contents(cell: Any, met: dict[int, int]) -> Any:
    try:
        return _canonical(cell.cell_contents, met)
    except ValueError:
        return "empty"
