"""A fast path for the call that is made most: plain tensors in normal modes, one array as result, one formula.

It does what `eager/record.py` and `OperatorNode` do, written out for the number of arguments and compiled when the
operator is called for the first time after a registration. The kernel gets read-only views, and what it returns is
checked. Whatever is unusual about a call goes the plain way; tests compare the two. bench/custom_ops.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from pullback.core.spec import spec_for
from pullback.core.state import NORMAL, current, next_stamp, open_levels, switch
from pullback.core.state import _modes as modes
from pullback.declare.op import Op
from pullback.eager.source import LEAF, NO_VIEW, REFRESH, indented
from pullback.library._call import Call
from pullback.library._context import OperatorNode
from pullback.library._gradients import flat_gradients, is_gradient
from pullback.library._kernel import checked
from pullback.library._reverse import Formula, Pair
from pullback.tape.accumulate import accumulator_of
from pullback.tape.function.apply import finish_call
from pullback.tape.function.node import Call as NodeCall
from pullback.tape.function.node import Forward, store
from pullback.tape.history import refresh_view
from pullback.tape.input_metadata import validate
from pullback.tape.node import released_error
from pullback.tape.saved import SavedVariable
from pullback.tensors.overwrites import disturbed, epoch_of, is_disturbed
from pullback.tensors.tensor import Leaf, Tensor
from pullback.tensors.views import ViewInfo

ndarray = np.ndarray
NO_GRAD = NORMAL.replace(grad=False)
_DTYPES = frozenset("?bBhHiIlLqQefdgFDG")
_RELEASED = (None, None, None, None)

# Places in a node's `_state`, which stand in the source as numbers: a name would be looked up at every use.
PENDING = 0  # the arguments while the call runs, then None
NAMED = 1  # what `save_for_backward` was given while the call runs, then None
ARGUMENTS = 2  # if the arguments were saved, all in order: a tuple of them, then data and epoch of each; else None
KEPT = 3  # if other arguments were saved, a tuple (tensor, data, epoch, node behind) for each; else None
MADE = 4  # the record of a Function's call, made when somebody asks for it; the places before it are not read then
_PLACES = {"PENDING": PENDING, "NAMED": NAMED, "ARGUMENTS": ARGUMENTS, "KEPT": KEPT, "MADE": MADE}


class FastOperatorNode(OperatorNode):
    """The node of a plain call, and the `ctx` of its formulas. Any attribute may be set on it.

    Until somebody asks for the record that other nodes have, everything about the call is in one list: a ctx refuses to
    have its node's own fields assigned, and an element of a list is cheaper than the way around that.
    """

    __slots__ = ("_state",)

    _state: list[Any]
    is_fast = True
    next_nr = None
    num_outputs = 1
    _scope = None
    # What the plain way finds out for every call; the class made for an operator has `_operator` too.
    _levels = ()
    _intermediates = ()
    _counts = (sys.maxsize, sys.maxsize)

    @property
    def _call(self) -> NodeCall:  # type: ignore[override]
        state = self._state
        made: NodeCall | None = state[MADE]
        if made is None:
            needs = tuple([node is not None for node in self.next])
            pending = state[PENDING]
            forward = Forward(pending or (), True, True)
            made = NodeCall(forward, (True,) * len(needs), needs)
            if pending is not None:
                forward.to_save = state[NAMED]
            else:
                made.value_specs = made.output_specs = (self.spec,)
                made.saved = tuple([_handle(each, self.spec) for each in self._kept()])
                made.forward = None
            state[MADE] = made
            state[ARGUMENTS] = None
        return made

    @property
    def specs(self) -> tuple[Any, ...]:
        made = self._state[MADE]
        return (self.spec,) if made is None else made.output_specs

    def _kept(self) -> Any:
        """For every saved tensor: the tensor, its data and epoch, and the node behind it."""
        flat = self._state[ARGUMENTS]
        if flat is None:
            return self._state[KEPT]
        return [(x, flat[2 * k + 1], flat[2 * k + 2], self.next[k]) for k, x in enumerate(flat[0])]

    def _keep(self, args: tuple[Any, ...]) -> bool:
        """Keep what the author saved as it is; False if something else than arguments was saved."""
        state = self._state
        kept: list[Any] = []
        for x in state[NAMED]:
            for index, given in enumerate(args):
                if x is given:
                    kept.append((x, x._data, epoch_of(x), self.next[index]))
                    break
            else:
                return False
        state[KEPT] = kept
        state[PENDING] = state[NAMED] = None
        return True

    def _saved_slowly(self) -> tuple[Any, ...]:
        """`saved_tensors` where not all arguments were saved in order, or where one of them has changed."""
        state = self._state
        if state[MADE] is not None or state[PENDING] is not None:
            return self._saved_by_author()
        values = []
        for tensor, data, epoch, behind in self._kept():
            if tensor is None:
                raise released_error(self.name())
            if tensor._data is not data or is_disturbed(data, epoch) or (tensor._node is None and behind is not None):
                return self._saved_by_author()
            values.append(tensor)
        return tuple(values)

    def release(self) -> None:
        state = self._state
        if state[MADE] is not None:
            OperatorNode.release(self)
        else:
            state[KEPT] = [_RELEASED] * len(self._kept())
            state[ARGUMENTS] = None

    def _finish(self, args: tuple[Any, ...], result: Tensor) -> None:
        """The end of a call with something unusual about it, by the plain way."""
        forward: Any = self._call.forward
        store(self, "_specs", tuple([x._spec for x in args]))
        self._collect(forward, [result], [])
        finish_call(self, forward, (result,), NORMAL)
        self._state[PENDING] = self._state[NAMED] = None

    def _checked_gradient(self, entry: Any, index: int, lent: Tensor, gradient: Any) -> Any:
        """What a formula returned for an argument, as the array that goes on; None where no gradient is wanted."""
        if entry is not None and not is_gradient(entry):
            raise RuntimeError(
                f"the backward of {self.op.qualname}, registered at {self._location}, returned a "
                f"{type(entry).__name__}, expected a Tensor or None"
            )
        behind = self.next[index]
        if entry is None or behind is None:
            return None
        spec: Any = behind.spec
        if entry is lent:
            entry = gradient  # passed on as it came
        elif type(entry) is Tensor:
            entry = entry._data
        if type(entry) is not ndarray or entry.dtype is not spec.dtype or entry.shape != spec.shape:
            entry = validate(entry, spec.shape, spec.dtype, behind.grad_dtype_of(0), index, self.name())
        return entry


def _handle(kept: Any, spec: Any) -> SavedVariable:
    """The SavedVariable that a kept argument stands for. Of one that was released nothing is left but that."""
    tensor, data, epoch, behind = kept
    if tensor is not None:
        saved = SavedVariable.restored(tensor._spec, data, epoch, behind, 0)
        saved._tensor = ref(tensor)
        return saved
    released = SavedVariable.restored(spec, None, None, None, 0)
    released.release()
    return released


# The source. `x_k` is an argument, `g_k` its gradient; indented lines below a name in braces are repeated for each.

_MEMBERS = """
def save_for_backward(self, *tensors):
    state = self._state
    if state[{MADE}] is None and state[{PENDING}] is not None:
        for tensor in tensors:
            if type(tensor) is not Tensor:
                break
        else:
            state[{NAMED}] = tensors
            return
    OperatorNode.save_for_backward(self, *tensors)

def saved_tensors(self):
    flat = self._state[{ARGUMENTS}]
    if flat is None:
        return self._saved_slowly()
    named, {saved} = flat
    {arguments} = named
    next = self.next
{checks}
    return named

def pull(self, gradient, keep):
    array = gradient.view()
    array.setflags(False)
    g = Tensor()
    g._data = array
    g._spec = self.spec
    g._node = g._counter = g._extra = g._meta = None
    before = current()
    set_modes(NO_GRAD if before is NORMAL else before.replace(grad=False))
    try:
        returned = backward(self, g)
    finally:
        set_modes(before)
    if type(returned) is not tuple or len(returned) != {count}:
        returned = flat_gradients(record, returned, location)
    {gradients} = returned
    {behind} = self.next
{fits}
    if not keep:
        state = self._state
        if state[{ARGUMENTS}] is None:
            self.release()
        else:
            state[{ARGUMENTS}] = None
            state[{KEPT}] = RELEASED
    return {gradients}
"""
_CHECK = """
    if x_{k}._data is not data_{k} or (
        disturbed and id(data_{k}) in disturbed if epoch_{k} is None else epoch_{k}.next is not None
    ) or (
        x_{k}._node is None and next[{k}] is not None
    ):
        return self._saved_slowly()
"""
_FIT = """
    if (type(g_{k}) is Tensor and behind_x_{k} is not None and g_{k}._spec is behind_x_{k}.spec and g_{k} is not g
            and type(g_{k}._data) is ndarray):
        g_{k} = g_{k}._data
    else:
        g_{k} = self._checked_gradient(g_{k}, {k}, g, gradient)
"""
_CALL = """
def call(args):
    if current() is not switch.normal or len(args) != {count}:
        return None
    within = None  # as in normal modes
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
        # path: custom operator
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
_READ = f"""
    if type(x_{{k}}) is not Tensor:
        return None
    if x_{{k}}._extra is not None:
        if {NO_VIEW.format(v="x_{k}")}:
            return None
{indented(REFRESH.format(v="x_{k}"), 2)}
    data_{{k}} = x_{{k}}._data
    if type(data_{{k}}) is not ndarray:
        return None
    view_{{k}} = data_{{k}}.view()
    view_{{k}}.setflags(False)
    behind_x_{{k}} = x_{{k}}._node if x_{{k}}._spec.is_differentiable else None
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
_SETUP = """
        setup(node, args, result)
"""
_FINISH_PLAINLY = """
    node._finish(args, result)
"""
_FINISH = """
    named = state[{NAMED}]
    if state[{MADE}] is None and spec.is_differentiable:
        if len(named) == {count}{all_named}:
{versions}
            state[{ARGUMENTS}] = (named, {saved})
            state[{PENDING}] = state[{NAMED}] = None
            result._node = node
            return result
        if node._keep(args):
            result._node = node
            return result
    node._finish(args, result)
"""
_VERSION = """
            counter = x_{k}._counter
            epoch_{k} = None if counter is None or (epoch := counter.epoch) is None else epoch.hold(data_{k})
"""
_PARTS = {
    "arguments": "x_{k}, ", "views": "view_{k}, ", "data": "data_{k}, ", "specs": "x_{k}._spec, ",
    "saved": "data_{k}, epoch_{k}, ", "behind": "behind_x_{k}, ", "gradients": "g_{k}, ", "reads": _READ,
    "edges": "\n" + indented(LEAF.format(v="x_{k}"), 2),
    "checks": _CHECK, "fits": _FIT, "versions": _VERSION, "is_argument": _IS_ARGUMENT,
    "differs": " or seen[{k} + 1] is not x_{k}._spec", "all_named": " and named[{k}] is x_{k}",
}  # fmt: skip


def _written_out(template: str, count: int, **more: str) -> str:
    """The template with every part that it names repeated for the arguments k = 0, 1, ..., `count - 1`."""
    repeated = {
        name: "".join(part.strip("\n").replace("{k}", str(k)) + "\n" * ("\n" in part) for k in range(count))
        for name, part in _PARTS.items()
    }
    return template.format(count=count, **_PLACES, **repeated, **more)


def fast_source(definition: Any, count: int) -> str:
    """The source of a call, and of the members of its node."""
    goes_plainly = definition.has_formula and type(definition.reverse) is not Formula
    return _written_out(_MEMBERS, count) + _written_out(
        _CALL, count,
        note="" if definition.seen_outputs is None else _written_out(_NOTE.strip("\n"), count),
        setup="" if definition.setup is None else _SETUP,
        finish=_FINISH_PLAINLY if goes_plainly else _written_out(_FINISH, count),
        is_constant=" and ".join(f"behind_x_{k} is None" for k in range(count)),
    )  # fmt: skip


def fast_function(definition: Any, op: Op, layout: Any) -> Callable[[tuple[Any, ...]], Any] | None:
    """The operator as a function of its tensors, which returns None for calls that must go the plain way; None if
    every call must."""
    count = definition.binder.num_tensors
    kernel = definition.kernels.get("cpu", definition.default_kernel)
    if (
        not count > 0
        or kernel is None
        or not definition.returns_one_array
        or not all(as_array and not writes for as_array, writes in definition.adapters)
        or op.context is None
        or op.context.looks_ahead
        or isinstance(definition.reverse, Pair)
    ):
        return None
    record = Call(definition, layout, {})  # calls of one layout and one result differ in nothing, so they share it
    scope = {
        "DTYPES": _DTYPES, "Leaf": Leaf, "NORMAL": NORMAL, "NO_GRAD": NO_GRAD, "OperatorNode": OperatorNode,
        "RELEASED": [_RELEASED] * count, "Tensor": Tensor, "View": ViewInfo, "accumulator_of": accumulator_of,
        "backward": definition.reverse.function if type(definition.reverse) is Formula else _pulled,
        "checked": checked, "current": current, "disturbed": disturbed, "flat_gradients": flat_gradients,
        "kernel": kernel[0], "location": op.context._location, "ndarray": ndarray, "next_stamp": next_stamp,
        "open_levels": open_levels, "refresh": refresh_view,
        "note": None if definition.seen_outputs is None else definition.seen_outputs.note, "record": record,
        "seen": (None,) * (count + 1), "set_modes": modes.set,
        "setup": None if definition.setup is None else definition.setup[0], "spec_for": spec_for, "switch": switch,
    }  # fmt: skip
    exec(compile(fast_source(definition, count), f"<call of {definition.qualname}>", "exec"), scope)
    scope["Node"] = node = _node_class(op.context, record, scope)
    # The class that a node has until its fields are there: a ctx refuses to have them assigned.
    scope["Fresh"] = type(node.__name__, (FastOperatorNode,), {"__slots__": (), "__setattr__": object.__setattr__})
    return scope["call"]


def _pulled(node: Any, g: Any) -> tuple[Any, ...]:
    return tuple(node._pulled((g,), node._flat_needs()))


def _node_class(context: type[OperatorNode], record: Call, scope: dict[str, Any]) -> type[FastOperatorNode]:
    getter, saving = scope["saved_tensors"], scope["save_for_backward"]
    getter.__doc__, saving.__doc__ = OperatorNode.saved_tensors.__doc__, OperatorNode.save_for_backward.__doc__
    members = {
        "__slots__": (), "__doc__": FastOperatorNode.__doc__, "_operator": record, "_rules": context._rules,
        "_function": context._function, "_location": context._location, "pull": scope["pull"],
        "save_for_backward": saving, "saved_tensors": property(getter),
    }  # fmt: skip
    return type(context.__name__, (FastOperatorNode,), members)
