"""A short way for elementwise operators on dual tensors (bench/transforms.py).

It is taken where nothing but one forward level is watching: no recording, no other level, no batch dimensions, real
arrays of one shape. Everything else goes to the general function, which alone defines the meaning; tests run the
samples through both. Like the other fast paths it is written out as flat source when it is first used.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

import numpy as np

from pullback.autograd._levels import ForwardGrad
from pullback.core.state import current, observers, open_levels
from pullback.declare.op import OPERAND, Op, Rule
from pullback.tensors.tensor import Extra, Tensor
from pullback.tensors.versions import dated_counter
from pullback.tensors.views import ViewInfo


def stands_alone(info: ViewInfo) -> bool:
    """Is this the record of an alias that `make_dual` made, of a tensor without tangents?"""
    extra = info.base._extra
    return info.forward is not None and len(info.forward) == 1 and (extra is None or not extra.forward)


_SHARED: dict[str, Any] = {
    "Extra": Extra, "ForwardGrad": ForwardGrad, "Tensor": Tensor, "asarray": np.asarray,
    "current": current, "dated_counter": dated_counter, "ndarray": np.ndarray, "observers": observers,
    "new_extra": Extra.__new__, "open_levels": open_levels, "ref": ref, "stands_alone": stands_alone, "zeros": np.zeros,
}  # fmt: skip

# Is operand {v} a dual tensor of one level and nothing else that matters? Then `level` and `t_{v}` are set.
_ONLY_TANGENT = """
{found} = False
extra = {v}._extra
if extra is not None and extra.forward is not None and {v}._node is None and extra.deps is None:
    info = extra.view
    entries = extra.forward
    if len(entries) == 1 and (info is None or (info.base._node is None and stands_alone(info))):
        for {level}, t_{v} in entries.items():
            {found} = (
                {level}.is_open and t_{v}._extra is None and t_{v}._node is None and type(t_{v}._data) is ndarray
                and type({v}._data) is ndarray and {v}._spec.is_real
                and (info is None or info.forward.get({level}, info) is None)
            )
"""
_RESULT = """
result = Tensor()
result._data = out if type(out) is ndarray else asarray(out)
result._spec = spec
result._node = result._counter = result._meta = None
if slope is {t}._data:
    tangent = {t}
    forward = ForwardGrad({{level: tangent}})
    forward.borrowed = entries.borrowed = {{level}}
else:
    tangent = Tensor()
    tangent._data = slope if type(slope) is ndarray else asarray(slope)
    tangent._spec = spec
    tangent._node = tangent._counter = tangent._extra = tangent._meta = None
    forward = ForwardGrad({{level: tangent}})
if modes.transforms:
    result._counter = dated_counter()
    if tangent is not {t}:
        tangent._counter = dated_counter()
result._extra = extra = new_extra(Extra)
extra.view = extra.deps = None
extra.inference = extra.readonly = False
extra.output_nr = 0
extra.forward = forward
level.holders.add(ref(forward, level.forget))
if not level.is_open:  # closed meanwhile, by another thread
    forward.clear()
return result
"""
_UNARY = """
def call(x, out=None):
    if open_levels and out is None and type(x) is Tensor and not observers:
        modes = current()
        if modes.forwards:
{only_x}
            if is_x:
                x_data, spec = x._data, x._spec
                out = kernel(x_data)
                slope = {push_x}
{result_x}
    return general(x) if out is None else general(x, out=out)
"""
_BINARY = """
def call(x, y, out=None):
    if open_levels and out is None and not observers:
        modes = current()
        if modes.forwards:
            if type(x) is Tensor and x._extra is not None:
{only_x}
                if is_x:
                    x_data, spec = x._data, x._spec
                    if type(y) is float or type(y) is int:
                        y_data = y
                    elif type(y) is Tensor and y._spec is spec and type(y._data) is ndarray:
                        y_data = y._data
                        if y._extra is not None:
{only_y}
                            if not is_y or other is not level:
                                return general(x, y)
                            out = kernel(x_data, y_data)
                            slope = {push_x} + {push_y}
{result_both}
                        elif y._node is not None:
                            return general(x, y)
                    else:
                        return general(x, y)
                    out = kernel(x_data, y_data)
                    slope = {push_x}
{result_x}
            elif type(y) is Tensor and y._extra is not None:
{only_y_level}
                if is_y:
                    y_data, spec = y._data, y._spec
                    if type(x) is float or type(x) is int:
                        x_data = x
                    elif type(x) is Tensor and x._node is None and x._spec is spec and type(x._data) is ndarray:
                        x_data = x._data
                    else:
                        return general(x, y)
                    out = kernel(x_data, y_data)
                    slope = {push_y}
{result_y}
    return general(x, y) if out is None else general(x, y, out=out)
"""


def with_duals(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The general function of an elementwise op of one or two operands, with the short way before it."""
    if op.partials is None:
        return general
    scope: dict[str, Any] = {**_SHARED, "kernel": op.kernel, "general": general}
    function = FunctionType(_STUBS[len(op.operands) - 1], scope, op.name, (None,))

    def compile_now() -> None:
        function.__code__ = _compiled(op, scope)

    scope["compile_now"] = compile_now
    scope["call"] = function
    return function


def _unary_stub(x, out=None):
    if not open_levels:
        return general(x) if out is None else general(x, out=out)  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    return call(x, out)  # type: ignore[name-defined]  # noqa: F821


def _binary_stub(x, y, out=None):
    if not open_levels:
        return general(x, y) if out is None else general(x, y, out=out)  # type: ignore[name-defined]  # noqa: F821
    compile_now()  # type: ignore[name-defined]  # noqa: F821
    return call(x, y, out)  # type: ignore[name-defined]  # noqa: F821


_STUBS: tuple[CodeType, CodeType] = (_unary_stub.__code__, _binary_stub.__code__)


def _compiled(op: Op, scope: dict[str, Any]) -> CodeType:
    pushes = {}
    for v, rule in zip(op.operands, op.partials or (), strict=True):
        scope[f"rule_{v}"] = rule.fn
        pushes[f"push_{v}"] = _formula(op, v, rule)
    source = _UNARY if len(op.operands) == 1 else _BINARY
    depths = {"x": 3 if len(op.operands) == 1 else 4, "y": 7, "y_level": 4}
    parts = {
        "only_x": _ONLY_TANGENT.format(v="x", found="is_x", level="level"),
        "only_y": _ONLY_TANGENT.format(v="y", found="is_y", level="other"),
        "only_y_level": _ONLY_TANGENT.format(v="y", found="is_y", level="level"),
        "result_x": _RESULT.format(t="t_x"),
        "result_y": _RESULT.format(t="t_y"),
        "result_both": _RESULT.format(t="t_x"),
    }
    indents = {
        "only_x": depths["x"], "only_y": 7, "only_y_level": 4, "result_x": depths["x"] + 1, "result_y": 5,
        "result_both": 7,
    }  # fmt: skip
    text = {name: textwrap.indent(part.strip("\n"), "    " * indents[name]) for name, part in parts.items()}
    made: dict[str, Any] = {}
    exec(compile(source.format(**text, **pushes), f"<forward path of {op.name}>", "exec"), made)
    return made["call"].__code__


def _formula(op: Op, v: str, rule: Rule) -> str:
    """The tangent of the result that follows from the one of operand `v`."""
    constant = rule.constant
    if constant is not None:
        return {1: f"t_{v}._data", -1: f"-t_{v}._data", 0: f"zeros(t_{v}.shape, t_{v}.dtype)"}.get(
            constant, f"t_{v}._data * {constant!r}"
        )
    arguments = ", ".join(f"{op.operands[key]}_data" if kind == OPERAND else "out" for kind, key in rule.plan)
    return f"t_{v}._data * rule_{v}({arguments})"
