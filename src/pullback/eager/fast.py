"""Fast paths for elementwise operators on plain tensors.

This is the hottest code of the project (bench/eager.py). A call is fast when the modes are normal, no operand has an
`Extra`, all tensors are real floating (of one spec, so that the result has it too, or broadcast, which the engine then
undoes), and the rest are Python numbers. Any other call goes to the general function, which alone defines the meaning;
tests run the samples through both.

The functions are written out from the declaration as flat source and compiled when they are first called: a helper
call or a test of a flag costs as much here as a tenth of a NumPy operation, and compiling all of them at import would
cost tens of milliseconds. `python -c "import pullback; print(pullback.multiply.source())"` shows one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.core.spec import spec_for
from pullback.core.state import current, next_stamp, switch
from pullback.declare.op import Op
from pullback.eager.formulas import indented
from pullback.eager.large import kernel_meter, large_function, metered_pull
from pullback.eager.nodes import FastNode, fast_node_classes, large_node_classes
from pullback.tensors.tensor import Leaf, Tensor
from pullback.tensors.versions import VersionCounter

ndarray = np.ndarray
SHARED: dict[str, Any] = {
    "Leaf": Leaf, "Tensor": Tensor, "VersionCounter": VersionCounter, "accumulator_of": accumulator_of,
    "asarray": np.asarray, "current": current, "ndarray": np.ndarray, "next_stamp": next_stamp, "spec_for": spec_for,
    "switch": switch,
}  # fmt: skip

_RESULT = """
if type(out) is not ndarray:
    out = asarray(out)
result = Tensor()
result._data = out
result._spec = spec
result._counter = result._extra = result._meta = None
"""
_LEAF = """
if type(behind_{v}) is Leaf:
    reference = behind_{v}.accumulator
    if reference is None or (behind_{v} := reference()) is None:
        behind_{v} = accumulator_of({v})
"""
_NODE = """
result._node = node = {made}()
node.next = ({next},)
node.spec = spec
node.rare = None
"""
_SAVE_TENSOR = """
node.{v} = {v}
node.{v}_data = {v}_data
counter = {v}._counter
node.{v}_version = 0 if counter is None else counter.value
"""
_SAVE_OUTPUT = """
node.out_data = out
node.out_counter = result._counter = counter = VersionCounter()
counter.value = 0
counter.writes = None
"""
_NUMBER = """
{v}_data = spec.numbers.get({v})
if {v}_data is None:
    {v}_data = spec.number({v})
"""

_UNARY = """
def call(x, /, out=None):
    if type(x) is not Tensor or x._extra is not None or out is not None or current() is not switch.normal:
        {arrays}if out is not None:
            return general(x, out=out)
        modes = current()
        if modes.transforms:
            return inside(x, modes)
        return (unusual if modes is switch.normal else untracked if modes is switch.no_grad else general)(x)
    spec = x._spec
    if not spec.is_plain:
        return (large if spec.is_real else general)(x)
    x_data = x._data
    out = kernel(x_data)
{result}
    behind_x = x._node
    if behind_x is None:
        result._node = None
        return result
{record}
    node.seq = next_stamp()
    return result
"""
_BINARY = """
def call(x, y, /, out=None):
    if out is not None or current() is not switch.normal:
        modes = current()
        if modes.transforms and out is None:
            return inside(x, y, modes)
        if modes is switch.no_grad and out is None:
            return untracked(x, y)
        return general(x, y) if out is None else general(x, y, out=out)
    if type(x) is Tensor:
        spec = x._spec
        if x._extra is not None or not spec.is_plain:
            return (unusual if x._extra is not None or not spec.is_real else large)(x, y)
        x_data = x._data
        behind_x = x._node
        if type(y) is Tensor:
            if y._extra is not None:
                return unusual(x, y)
            y_data = y._data
            behind_y = y._node
            Node = Saved
            if y._spec is not spec:  # broadcast or promoted: the engine must reduce and cast what the node returns
                if not y._spec.is_plain:
                    return (large if y._spec.is_real else general)(x, y)
                Node = Loose
            out = kernel(x_data, y_data)
            if Node is Loose:
                spec = spec_for(out.shape, out.dtype)
{result_3}
            if behind_x is None and behind_y is None:
                result._node = None
                return result
{record_both}
            node.seq = next_stamp()
            return result
        if type(y) is not float and type(y) is not int:
            return general(x, y)
{number_y}
        out = kernel(x_data, y_data)
{result_2}
        if behind_x is None:
            result._node = None
            return result
{record_x}
        node.seq = next_stamp()
        return result
    if type(y) is not Tensor or (type(x) is not float and type(x) is not int):
        {arrays}return general(x, y)
    spec = y._spec
    if y._extra is not None or not spec.is_plain:
        return (unusual if y._extra is not None or not spec.is_real else large)(x, y)
{number_x}
    y_data = y._data
    behind_y = y._node
    out = kernel(x_data, y_data)
{result_1}
    if behind_y is None:
        result._node = None
        return result
{record_y}
    node.seq = next_stamp()
    return result
"""


def fast_function(op: Op, duals: Any, keeps_arrays: bool) -> Callable[..., Any]:
    """The function of an elementwise op with its fast path; for other calls there is `duals` (eager/fast_forward.py).

    With `keeps_arrays` arrays give an array, as derivative rules want it.
    """
    scope = {**SHARED, "kernel": op.kernel, "general": duals.general}
    scope["unusual"], scope["inside"] = duals.in_normal_modes, duals.in_modes
    scope["untracked"] = (_untracked_unary if len(op.operands) == 1 else _untracked_binary)(op, duals.anywhere)
    stub = _STUBS[len(op.operands) - 1]
    function = FunctionType(stub, scope, op.name, (None,))
    scope["call"] = function

    def source() -> str:
        return fast_source(op, keeps_arrays)

    def large_classes() -> Any:
        if op.large_nodes is None:
            op.large_nodes = large_node_classes(op, op.fast_rules or (), FastNode, metered_pull)
        return op.large_nodes

    scope["large"] = large_function(op, source, scope, large_classes)

    def compile_now() -> None:
        scope["Saved"], scope["Loose"] = _node_classes(op)
        function.__code__ = compiled_call(source(), op.name)

    scope["compile_now"] = compile_now
    function.source = source  # type: ignore[attr-defined]
    return function


def _untracked_unary(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The op under no_grad."""
    kernel = op.kernel

    def untracked(x: Any) -> Any:
        if type(x) is not Tensor or x._extra is not None:
            return general(x)
        spec = x._spec
        if spec.is_plain:
            payload = kernel(x._data)
        elif spec.is_real:
            payload = kernel_meter(op).for_large(x._data)
        else:
            return general(x)
        result = Tensor()
        result._data = payload if type(payload) is ndarray else np.asarray(payload)
        result._spec = spec
        result._node = result._counter = result._extra = result._meta = None
        return result

    return untracked


def _untracked_binary(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The op under no_grad."""
    kernel = op.kernel

    def untracked(x: Any, y: Any) -> Any:
        if type(x) is not Tensor or x._extra is not None:
            return general(x, y)
        spec = x._spec
        if type(y) is Tensor:
            if y._extra is not None or y._spec is not spec:
                return general(x, y)
            other = y._data
        elif type(y) is float or type(y) is int:
            other = y
        else:
            return general(x, y)
        if spec.is_plain:
            payload = kernel(x._data, other)
        elif spec.is_real:
            payload = kernel_meter(op).for_large(x._data, other)
        else:
            return general(x, y)
        result = Tensor()
        result._data = payload if type(payload) is ndarray else np.asarray(payload)
        result._spec = spec
        result._node = result._counter = result._extra = result._meta = None
        return result

    return untracked


def _code_of(function: Any) -> CodeType:
    return function.__code__


# The first call makes the fast path, unless it is one inside of a trace or a transform, which have no use for it: most
# functions that are compiled or transformed never run in another way.


def _unary_stub(x, /, out=None):
    modes = current()
    if (modes.trace is not None or modes.transforms) and type(x) is Tensor and out is None:
        return inside(x, modes) if modes.transforms else general(x)  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    return call(x, out)  # type: ignore[name-defined]  # noqa: F821


def _binary_stub(x, y, /, out=None):
    modes = current()
    if (modes.trace is not None or modes.transforms) and out is None:
        return inside(x, y, modes) if modes.transforms else general(x, y)  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    return call(x, y, out)  # type: ignore[name-defined]  # noqa: F821


_STUBS = (_code_of(_unary_stub), _code_of(_binary_stub))


def fast_source(op: Op, keeps_arrays: bool) -> str:
    """The source of the fast function of an elementwise op."""
    return (_unary_source if len(op.operands) == 1 else _binary_source)(op, keeps_arrays)


def compiled_call(source: str, name: str) -> CodeType:
    """The code of the function `call` in this source."""
    scope: dict[str, Any] = {}
    exec(compile(source, f"<fast path of {name}>", "exec"), scope)
    return scope["call"].__code__


def _node_classes(op: Op) -> tuple[type[FastNode], type[FastNode]]:
    if op.fast_nodes is None:
        op.fast_nodes = fast_node_classes(op, op.fast_rules or ())
    return op.fast_nodes


def _saves(op: Op, needed: dict[str, str]) -> str:
    """Source that fills the node's slots. `needed` maps operands that are tensors to the name of the node behind."""
    lines = ""
    rules = dict(zip(op.operands, op.fast_rules or (), strict=True))
    has_slot = {v for rule in rules.values() for v in (op.operands[i] for i in rule.reads_operands)}
    for position, v in enumerate(op.operands):
        if v in has_slot:
            readers = [w for w in needed if position in rules[w].reads_operands]
            save = _SAVE_TENSOR.format(v=v) if v in needed else f"\nnode.{v} = None\nnode.{v}_data = {v}_data\n"
            lines += _if_wanted(readers, needed, save, f"node.{v} = node.{v}_data = None")
    if any(rule.reads_outputs for rule in rules.values()):
        readers = [w for w in needed if rules[w].reads_outputs]
        lines += _if_wanted(readers, needed, _SAVE_OUTPUT, "node.out_data = node.out_counter = None")
    return lines


def _if_wanted(readers: list[str], needed: dict[str, str], save: str, otherwise: str) -> str:
    """`save` if a gradient that reads the value is wanted."""
    if not readers:
        return f"\n{otherwise}\n"
    if set(readers) == set(needed):  # the node exists because one of them is wanted
        return save
    test = " or ".join(f"{needed[v]} is not None" for v in readers)
    return f"\nif {test}:\n{indented(save, 1)}\nelse:\n    {otherwise}\n"


def _record(op: Op, tensors: tuple[str, ...]) -> str:
    behind = {v: f"behind_{v}" for v in tensors}
    leaves = "".join(_LEAF.format(v=v) for v in tensors)
    made = "Node" if len(tensors) == 2 else "Saved"
    node = _NODE.format(made=made, next=", ".join(behind.get(v, "None") for v in op.operands))
    return leaves + node + _saves(op, behind)


def _unary_source(op: Op, keeps_arrays: bool) -> str:
    arrays = "if type(x) is ndarray and out is None:\n            return kernel(x)\n        " if keeps_arrays else ""
    return _UNARY.format(arrays=arrays, result=indented(_RESULT, 1), record=indented(_record(op, ("x",)), 1))


def _binary_source(op: Op, keeps_arrays: bool) -> str:
    number = "{v}_data = {v}" if op.takes_numbers else _NUMBER
    test = "if type(x) is ndarray and type(y) is ndarray:\n            return kernel(x, y)\n        "
    return _BINARY.format(
        arrays=test if keeps_arrays else "",
        result_1=indented(_RESULT, 1),
        result_2=indented(_RESULT, 2),
        result_3=indented(_RESULT, 3),
        number_x=indented(number.format(v="x"), 1),
        number_y=indented(number.format(v="y"), 2),
        record_both=indented(_record(op, ("x", "y")), 3),
        record_x=indented(_record(op, ("x",)), 2),
        record_y=indented(_record(op, ("y",)), 1),
    )
