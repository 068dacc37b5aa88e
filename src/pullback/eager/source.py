"""The source of eager calls of elementwise operators, written out from declarations: one template, and its variants.

A helper call or a test of a flag costs as much here as a tenth of a NumPy operation, so a call is one flat function.
What is different between variants is a field of the template. Nothing here looks at a tensor: `eager/fast.py` and
`eager/forward.py` say what the names in the source mean, and compile it when an operator is first called.
"""

from __future__ import annotations

import linecache
from types import CodeType
from typing import Any

from pullback.core.frames import name_users_line
from pullback.declare.op import Op


class Variant:
    """For whom a call is written.

    `modes` are "normal", or "transform": inside the body of a reverse transform. `size` is "small", or "large" of
    arrays for which there may be native code. `arrays` are "wrapped", as users want it, or "kept", as rules do.
    `is_native`: the call is tried natively first (`eager/native_tape.py`).
    """

    __slots__ = ("arrays", "is_native", "modes", "size")

    def __init__(
        self, modes: str = "normal", size: str = "small", arrays: str = "wrapped", is_native: bool = False
    ) -> None:
        self.modes = modes
        self.size = size
        self.arrays = arrays
        self.is_native = is_native


NO_VIEW = (
    "((type({v}._extra) is not View or open_levels or type({v}._data) is not ndarray) if within is None else "
    "is_foreign({v}, within))"
)
"""Is this tensor, whose `Extra` is not that of what is made here, something else than a light view? In the body of a
transform it may be a constant of the caller's as well."""

# What is different inside the body of a reverse transform where operands depend on several ones: every tensor with a
# history says on which (`Extra.deps`), and new memory is dated.
_MODES = {
    "normal": {
        "begin": "modes = current()\nwithin = modes.within",
        "are_other": "modes.usual is not switch.normal",
        "is_heavy": "{v}._extra is not within",
        "is_no_view": NO_VIEW,
        "heavy": "away({operands}) if {v}._extra is AWAY and within is None else {unusual}",
        "unusual": "(unusual({operands}) if within is None else inside({operands}, modes))",
        "extra": "within",
        "behind": "{v}._node",
        "constant": "result._node = None",
        "finish": "node.seq = next_stamp()",
    },
    "transform": {
        "begin": "",
        "are_other": "not current().records or observers",
        "is_heavy": "is_heavy({v})",
        "is_no_view": "True",
        "heavy": "{unusual}",
        "unusual": "unusual({operands})",
        "extra": "None",
        "behind": "living({v})",
        "constant": "result._node, result._counter = None, dated_counter()",
        "finish": "node.seq = next_stamp()\nfinish(result, node, {operands})",
    },
}
_SIZES = {
    "small": {"is_usual": "is_plain", "kernel": "kernel"},
    "large": {"is_usual": "is_real", "kernel": "kernels.large"},
}
# Where a call goes that is not for this function: by the modes, unless it is in a transform already.
_ELSEWHERE = {
    ("normal", 1): """
if out is not None:
    return general(x, out=out)
if modes.watch is not None and type(x) is Tensor and not modes.transforms:
    return watched(op, (x,), {}, modes)
if modes.transforms:
    return inside(x, modes)
if modes.trace is not None and (found := modes.trace.elementwise_again(op, (x,), modes)) is not None:
    return found
if type(x) is Tensor and x._extra is AWAY:
    return away(x)
return (unusual if modes is switch.normal else untracked if modes is switch.no_grad else general)(x)
""",
    ("normal", 2): """
if modes.watch is not None and type(x) is Tensor and type(y) in PLAIN and out is None and not modes.transforms:
    return watched(op, (x, y), {}, modes)
if modes.transforms and out is None:
    return inside(x, y, modes)
if modes.trace is not None and out is None:
    found = modes.trace.elementwise_again(op, (x, y), modes)
    if found is not None:
        return found
if modes is switch.no_grad and out is None:
    return untracked(x, y)
return general(x, y) if out is None else general(x, y, out=out)
""",
    ("transform", 1): """
return general(x) if out is None else general(x, out=out)
""",
    ("transform", 2): """
return general(x, y) if out is None else general(x, y, out=out)
""",
}
# Arrays that rules compute with: nobody knows their size.
_ARRAYS = {
    ("wrapped", 1): "",
    ("wrapped", 2): "",
    ("kept", 1): """
if type(x) is ndarray and out is None:
    any_size = kernels.any_size
    return any_size(x)
if type(x) in INNERMOST and out is None:
    return type(x).evaluate_op(op, (x,), NOTHING)
""",
    ("kept", 2): """
if type(x) is ndarray and type(y) is ndarray:
    any_size = kernels.any_size
    return any_size(x, y)
if type(x) in INNERMOST and type(y) is not Tensor:
    return type(x).evaluate_op(op, (x, y), NOTHING)
""",
}

# A light view is an operand like any other, once its history is up to date.
REFRESH = """
# path: light view
if within is None and ({v}._node is None or {v}._extra.attr_version != {v}._counter.value):
    refresh({v})
"""
_RESULT = """
if type(out) is not ndarray:
    out = asarray(out)
# path: eager elementwise
result = Tensor()
result._data = out
result._spec = spec
result._counter = result._meta = None
result._extra = {extra}
"""
LEAF = """
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
node.{v}_data = {v}_data
counter = {v}._counter
node.{v}_epoch = None if counter is None or (epoch := counter.epoch) is None else epoch.hold({v}_data)
"""
_SAVE_NUMBER = """
node.{v}_epoch, node.{v}_data = UNWRITTEN, {v}_data
"""
SAVE_NOTHING = """
node.{v}_epoch, node.{v}_data = UNWRITTEN, None
"""
_SAVE_OUTPUT = """
node.out_data = out
"""
_SAVE_NO_OUTPUT = """
node.out_data = NOT_SAVED
"""
NUMBER = """
{v}_data = spec.numbers.get({v})
if {v}_data is None:
    {v}_data = spec.number({v})
"""
_NUMBER_AS_IT_IS = """
{v}_data = {v}
"""

_NATIVELY = """
if out is None:
    result = natively({operands})
    if result is not None:
        # path: native call
        return result
"""
_UNARY = """
def call(x, /, out=None):
{natively_1}
{begin_1}
    if type(x) is not Tensor or {is_heavy_x} or out is not None or {are_other}:
        if type(x) is not Tensor or out is not None or {are_other} or {is_no_view_x}:
{arrays_3}
{elsewhere_3}
{refresh_x_2}
    spec = x._spec
    if not spec.{is_usual}:
        return (large if spec.is_real else general)(x)
    x_data = x._data
    out = {kernel}(x_data)
{result_1}
    behind_x = {behind_x}
    if behind_x is None:
        {constant}
        return result
{record_x_1}
{finish_1}
    return result
"""
_BINARY = """
def call(x, y, /, out=None):
{natively_1}
{begin_1}
    if out is not None or {are_other}:
{elsewhere_2}
    if type(x) is Tensor:
        spec = x._spec
        if {is_heavy_x}:
            if {is_no_view_x}:
                return {heavy_x}
{refresh_x_3}
        if not spec.{is_usual}:
            return large(x, y) if spec.is_real else {unusual}
        x_data = x._data
        behind_x = {behind_x}
        if type(y) is Tensor:
            if {is_heavy_y}:
                if {is_no_view_y}:
                    return {heavy_y}
{refresh_y_4}
            y_data = y._data
            behind_y = {behind_y}
            Node = Saved
            if y._spec is not spec:  # broadcast or promoted: the engine must reduce and cast what the node returns
                if not y._spec.{is_usual}:
                    return (large if y._spec.is_real else general)(x, y)
                Node = Loose
            out = {kernel}(x_data, y_data)
            if Node is Loose:
                spec = spec_for(out.shape, out.dtype)
{result_3}
            if behind_x is None and behind_y is None:
                {constant}
                return result
{record_xy_3}
{finish_3}
            return result
        if type(y) is not float and type(y) is not int:
            return general(x, y)
{number_y_2}
        out = {kernel}(x_data, y_data)
{result_2}
        if behind_x is None:
            {constant}
            return result
{record_x_2}
{finish_2}
        return result
    if type(y) is not Tensor or (type(x) is not float and type(x) is not int):
{arrays_2}
        return general(x, y)
    spec = y._spec
    if {is_heavy_y}:
        if {is_no_view_y}:
            return {heavy_y}
{refresh_y_2}
    if not spec.{is_usual}:
        return large(x, y) if spec.is_real else {unusual}
{number_x_1}
    y_data = y._data
    behind_y = {behind_y}
    out = {kernel}(x_data, y_data)
{result_1}
    if behind_y is None:
        {constant}
        return result
{record_y_1}
{finish_1}
    return result
"""


def elementwise_source(op: Op, variant: Variant) -> str:
    """The function `call` of an elementwise operator of one or two operands on plain tensors."""
    count = len(op.operands)
    modes = _MODES[variant.modes]
    number = _NUMBER_AS_IT_IS if op.takes_numbers else NUMBER
    fields = _SIZES[variant.size] | {"are_other": modes["are_other"], "constant": modes["constant"]}
    for depth in (2, 3):
        fields[f"arrays_{depth}"] = indented(_ARRAYS[variant.arrays, count], depth)
        fields[f"elsewhere_{depth}"] = indented(_ELSEWHERE[variant.modes, count], depth)
    given = ", ".join(op.operands)
    fields["begin_1"] = indented(modes["begin"], 1) if modes["begin"] else ""
    fields["unusual"] = unusual = modes["unusual"].format(operands=given)
    fields["natively_1"] = indented(_NATIVELY.format(operands=given), 1) if variant.is_native else ""
    finish = modes["finish"].format(operands=given)
    for depth in range(1, count + 2):
        fields[f"result_{depth}"] = indented(_RESULT.format(extra=modes["extra"]), depth)
        fields[f"finish_{depth}"] = indented(finish, depth)
    for v in op.operands:
        fields[f"is_heavy_{v}"] = modes["is_heavy"].format(v=v)
        fields[f"is_no_view_{v}"] = modes["is_no_view"].format(v=v)
        fields[f"heavy_{v}"] = modes["heavy"].format(v=v, operands=given, unusual=unusual)
        for depth in (2, 3, 4):
            fields[f"refresh_{v}_{depth}"] = indented(REFRESH.format(v=v), depth)
        fields[f"behind_{v}"] = modes["behind"].format(v=v)
    for v, depth in zip(op.operands, (1, 2), strict=False):
        fields[f"number_{v}_{depth}"] = indented(number.format(v=v), depth)
    for tensors, depth in (("x", 1),) if count == 1 else (("xy", 3), ("x", 2), ("y", 1)):
        fields[f"record_{tensors}_{depth}"] = indented(_record(op, tensors), depth)
    return guarded((_UNARY if count == 1 else _BINARY).format(**fields), f"({', '.join(op.operands)},)")


def _record(op: Op, tensors: str) -> str:
    """What makes the node of a call in which the operands `tensors` are such."""
    behind = {v: f"behind_{v}" for v in tensors}
    leaves = "".join(LEAF.format(v=v) for v in tensors)
    made = "Node" if len(tensors) == 2 else "Saved"
    node = _NODE.format(made=made, next=", ".join(behind.get(v, "None") for v in op.operands))
    return leaves + node + _saves(op, behind)


def _saves(op: Op, needed: dict[str, str]) -> str:
    """What fills the node's slots. `needed` maps operands that are tensors to the name of the node behind."""
    lines = ""
    rules = dict(zip(op.operands, op.fast_rules or (), strict=True))
    has_slot = {v for rule in rules.values() for v in (op.operands[i] for i in rule.reads_operands)}
    for position, v in enumerate(op.operands):
        if v in has_slot:
            readers = [w for w in needed if position in rules[w].reads_operands]
            save = (_SAVE_TENSOR if v in needed else _SAVE_NUMBER).format(v=v)
            lines += _if_wanted(readers, needed, save, SAVE_NOTHING.format(v=v))
    if any(rule.reads_outputs for rule in rules.values()):
        readers = [w for w in needed if rules[w].reads_outputs]
        lines += _if_wanted(readers, needed, _SAVE_OUTPUT, _SAVE_NO_OUTPUT)
    return lines


def _if_wanted(readers: list[str], needed: dict[str, str], save: str, otherwise: str) -> str:
    """`save` if a gradient that reads the value is wanted."""
    if not readers:
        return otherwise
    if set(readers) == set(needed):  # the node exists because one of them is wanted
        return save
    test = " or ".join(f"{needed[v]} is not None" for v in readers)
    return f"\nif {test}:\n{indented(save, 1)}\nelse:\n{indented(otherwise, 1)}\n"


# What all writers of source need.


def compiled(source: str, what: str, name: str = "call") -> CodeType:
    """The code of the function `name` in this source; `what` it is stands in tracebacks."""
    name_users_line()
    scope: dict[str, Any] = {}
    file = f"<{what}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # for tracebacks, debuggers
    exec(compile(source, file, "exec"), scope)
    return scope[name].__code__


def guarded(source: str, operands: str) -> str:
    """The source of a function, with what it does about errors. A `try` costs nothing until there is one."""
    head, body = source.strip("\n").split("\n", 1)
    return f"""
{head}
    try:
{indented(body, 1)}
    except Exception as error:
        failed(error, op, {operands})
        raise
"""


def indented(text: str, depth: int) -> str:
    """Lines of source, further to the right. `textwrap` asks every line whether it is empty, and none of ours is."""
    margin = "    " * depth
    return margin + text.strip("\n").replace("\n", f"\n{margin}")
