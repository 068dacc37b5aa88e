"""A short way for the call that is made most: plain tensors in normal modes, one array as result, one formula.

It does what `_run` does, written out for the number of arguments and compiled when the operator is called for the first
time after a registration. Whatever is unusual about a call goes to `_run`; tests compare the two. bench/custom_ops.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._function_outputs import process_outputs
from pullback.autograd._saved import SavedVariable
from pullback.core.spec import spec_for
from pullback.core.state import NORMAL, current, next_stamp, switch
from pullback.core.state import _modes as modes
from pullback.library._call import Call
from pullback.library._kernel import checked
from pullback.library._quick_node import KEPT, NAMED, NO_GRAD, PENDING, QuickNode, quick_node_class
from pullback.library._reverse import Formula, Missing
from pullback.library._written_out import run_source, written_out
from pullback.tensors.tensor import Leaf, Tensor

_DTYPES = frozenset("?bBhHiIlLqQefdgFDG")

_CALL = """
def call(args):
    if current() is not switch.normal or len(args) != {count}:
        return None
    {arguments} = args
{reads}
    spec = x_0._spec
    set_modes(NO_GRAD)
    try:
        out = kernel({views})
        if type(out) is not ndarray or out.base is not None{is_argument}:
            (out,) = checked(record, out, [{data}], [{views}], {{}})
        if out.dtype is not spec.dtype or out.shape != spec.shape:
            if out.dtype.char not in DTYPES:
                checked(record, out, [{data}], [{views}], {{}})
            spec = spec_for(out.shape, out.dtype)
        result = Tensor()
        result._data = out
        result._spec = spec
        result._node = result._counter = result._extra = result._meta = None
{note}
        if {is_constant}:
            return result
{edges}
        node = Fresh()
        node.next = ({behind})
        node.seq = next_stamp()
        node.rare = None
        node.spec = spec
        node._state = state = [args, (), None, None, None]
        node.__class__ = Node
{setup}
    finally:
        set_modes(NORMAL)
{finish}
    return result
"""
_READ = """
    if type(x_{k}) is not Tensor or x_{k}._extra is not None:
        return None
    data_{k} = x_{k}._data
    if type(data_{k}) is not ndarray:
        return None
    view_{k} = data_{k}.view()
    view_{k}.setflags(False)
    behind_{k} = x_{k}._node
"""
# The base of the view is whatever owns the memory of the argument.
_IS_ARGUMENT = " or out is view_{k}.base"
# What runs have returned is noted when it differs from the run before. Specs are interned, so `is` compares them.
_NOTE = """
        global seen
        if seen[0] is not spec{differs}:
            note(record, [{views}], (out,))
            seen = (spec, {specs})
"""
_EDGE = """
        if behind_{k} is not None:
            if not x_{k}._spec.is_differentiable:
                behind_{k} = None
            elif type(behind_{k}) is Leaf:
                reference = behind_{k}.accumulator
                if reference is None or (behind_{k} := reference()) is None:
                    behind_{k} = accumulator_of(x_{k})
"""
_SETUP = """
        setup(node, args, result)
"""
_FINISH_FAR = """
    finish(node, args, result)
"""
_FINISH = """
    named = state[NAMED]
    if state[MADE] is None and spec.is_differentiable:
        if len(named) == {count}{all_named}:
{versions}
            state[ARGUMENTS] = (named, {saved})
            state[PENDING] = state[NAMED] = None
            result._node = node
            return result
        if keeps(state, args, node.next):
            result._node = node
            return result
    finish(node, args, result)
"""
_VERSION = """
            counter = x_{k}._counter
            version_{k} = 0 if counter is None else counter.value
"""


def quick_function(definition: Any, formulas: Any, layout: Any) -> Callable[[tuple[Any, ...]], Any] | None:
    """The operator as a function of its tensors, which returns None for calls that must go the long way; None if
    every call must."""
    if (
        not definition.binder.num_tensors > 0
        or not definition.returns_one_array
        or not all(as_array and not writes for as_array, writes in definition.adapters)
        or formulas.pair is not None
        or formulas.residuals is not None
        or (not formulas.has_any and definition.autograd_fallback != "backward")
    ):
        return None
    kernel = definition.kernels.get("cpu", definition.default_kernel)
    if kernel is None:
        return None
    scope = _scope(definition, formulas, Call(definition, layout, {}), kernel[0])
    run_source(quick_source(definition, formulas), f"call of {definition.qualname}", scope)
    return scope["call"]


def _scope(definition: Any, formulas: Any, record: Call, kernel: Any) -> dict[str, Any]:
    """What the source of a call refers to. Calls of one layout and one result differ in nothing, so they share a
    record."""
    count = definition.binder.num_tensors
    node_class = quick_node_class(formulas, record, count)

    def finish(node: QuickNode, args: tuple[Any, ...], result: Tensor) -> None:
        _finish(node, args, result, formulas.reads_values)

    return {
        "DTYPES": _DTYPES, "Fresh": _fresh_class(node_class), "Leaf": Leaf, "NORMAL": NORMAL, "NO_GRAD": NO_GRAD,
        "Node": node_class, "Tensor": Tensor, "accumulator_of": accumulator_of, "checked": checked, "current": current,
        "finish": finish, "keeps": _keeps, "kernel": kernel, "ndarray": np.ndarray, "next_stamp": next_stamp,
        "note": None if definition.recorded is None else definition.recorded.note, "record": record,
        "seen": (None,) * (count + 1), "set_modes": modes.set,
        "setup": None if formulas.setup is None else formulas.setup[0], "spec_for": spec_for, "switch": switch,
    }  # fmt: skip


def _fresh_class(node_class: type[QuickNode]) -> type[QuickNode]:
    """The class that a node has until its fields are there: a ctx refuses to have them assigned."""
    return type(node_class.__name__, (QuickNode,), {"__slots__": (), "__setattr__": object.__setattr__})


def quick_source(definition: Any, formulas: Any) -> str:
    """The source of the short way."""
    count = definition.binder.num_tensors
    note = written_out(_NOTE.strip("\n"), count, views="view_{k}, ", specs="x_{k}._spec, ",
                       differs=" or seen[{k} + 1] is not x_{k}._spec")  # fmt: skip
    finish = written_out(_FINISH, count, all_named=" and named[{k}] is x_{k}", versions=_VERSION,
                         saved="data_{k}, version_{k}, ")  # fmt: skip
    goes_far = formulas.reads_values or type(formulas.reverse) not in (Formula, Missing)
    template = _CALL.replace("{note}", "" if definition.recorded is None else note)
    template = template.replace("{setup}", "" if formulas.setup is None else _SETUP)
    template = template.replace("{finish}", _FINISH_FAR if goes_far else finish)
    constant = " and ".join(f"behind_{k} is None" for k in range(count))
    return written_out(template.replace("{is_constant}", constant), count, arguments="x_{k}, ", reads=_READ,
                       views="view_{k}, ", data="data_{k}, ", is_argument=_IS_ARGUMENT, edges=_EDGE,
                       behind="behind_{k}, ")  # fmt: skip


def _keeps(state: list[Any], args: tuple[Any, ...], behind: tuple[Any, ...]) -> bool:
    """Keep what the author saved as it is; False if something else than arguments was saved."""
    kept: list[Any] = []
    for x in state[NAMED]:
        for index, given in enumerate(args):
            if x is given:
                counter = x._counter
                kept.append((x, x._data, 0 if counter is None else counter.value, behind[index]))
                break
        else:
            return False
    state[KEPT] = kept
    state[PENDING] = state[NAMED] = None
    return True


def _finish(node: QuickNode, args: tuple[Any, ...], result: Tensor, reads_values: bool) -> None:
    """The end of a call with something unusual about it, by the long way."""
    made = node._call
    forward: Any = made.forward
    named = forward.to_save
    attributes = node.__dict__
    attributes["_specs"] = tuple([x._spec for x in args])
    attributes["_fills"] = made.materialize
    attributes["_num_saved"] = len(named)
    attributes["_intermediates"] = tuple([_is_intermediate(x, args, result, attributes) for x in named])
    process_outputs(node, forward, (result,))
    to_save = (*named, *args, result) if reads_values else named
    if result._node is node:
        made.saved = tuple([SavedVariable(x, is_output=x is result) for x in to_save])
    made.forward = None
    node._state[PENDING] = node._state[NAMED] = None


def _is_intermediate(x: Any, args: tuple[Any, ...], result: Tensor, attributes: dict[str, Any]) -> bool:
    """Is this saved tensor neither argument nor result, so that a derivative through it would be lost?"""
    if x is None or x is result:
        return False
    for given in args:
        if x is given:
            return False
    constants = attributes.get("_constants", ())
    return bool(x._spec.is_differentiable) and not any(x is each for each in constants)
