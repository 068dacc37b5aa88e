"""The source of eager calls, written out from declarations: one template for each kind of operator, and its variants.

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
    """

    __slots__ = ("arrays", "modes", "size")

    def __init__(self, modes: str = "normal", size: str = "small", arrays: str = "wrapped") -> None:
        self.modes = modes
        self.size = size
        self.arrays = arrays


NO_VIEW = "type({v}._extra) is not View or open_levels or type({v}._data) is not ndarray"
"""Is this tensor, which has an `Extra`, something else than a light view?"""

# What is different inside the body of a reverse transform: every tensor with a history says which transforms it depends
# on (`Extra.deps`), and new memory is dated.
_MODES = {
    "normal": {
        "are_other": "current() is not switch.normal",
        "is_heavy": "{v}._extra is not None",
        "is_no_view": NO_VIEW,
        "behind": "{v}._node",
        "constant": "result._node = None",
        "finish": "node.seq = next_stamp()",
    },
    "transform": {
        "are_other": "not current().records or observers",
        "is_heavy": "is_heavy({v})",
        "is_no_view": "True",
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
modes = current()
if modes.watch is not None and type(x) is Tensor and not modes.transforms:
    return watched(op, (x,), {}, modes)
if modes.transforms:
    return inside(x, modes)
if modes.trace is not None and (found := modes.trace.elementwise_again(op, (x,), modes)) is not None:
    return found
return (unusual if modes is switch.normal else untracked if modes is switch.no_grad else general)(x)
""",
    ("normal", 2): """
modes = current()
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
""",
    ("kept", 2): """
if type(x) is ndarray and type(y) is ndarray:
    any_size = kernels.any_size
    return any_size(x, y)
""",
}

# A light view is an operand like any other, once its history is up to date.
REFRESH = """
# path: light view
if {v}._node is None or {v}._extra.attr_version != {v}._counter.value:
    refresh({v})
"""
_RESULT = """
if type(out) is not ndarray:
    out = asarray(out)
# path: eager elementwise
result = Tensor()
result._data = out
result._spec = spec
result._counter = result._extra = result._meta = None
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
_SAVE_NOTHING = """
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

_UNARY = """
def call(x, /, out=None):
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
    if out is not None or {are_other}:
{elsewhere_2}
    if type(x) is Tensor:
        spec = x._spec
        if {is_heavy_x}:
            if {is_no_view_x}:
                return unusual(x, y)
{refresh_x_3}
        if not spec.{is_usual}:
            return (large if spec.is_real else unusual)(x, y)
        x_data = x._data
        behind_x = {behind_x}
        if type(y) is Tensor:
            if {is_heavy_y}:
                if {is_no_view_y}:
                    return unusual(x, y)
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
            return unusual(x, y)
{refresh_y_2}
    if not spec.{is_usual}:
        return (large if spec.is_real else unusual)(x, y)
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
    finish = modes["finish"].format(operands=", ".join(op.operands))
    for depth in range(1, count + 2):
        fields[f"result_{depth}"] = indented(_RESULT, depth)
        fields[f"finish_{depth}"] = indented(finish, depth)
    for v in op.operands:
        fields[f"is_heavy_{v}"] = modes["is_heavy"].format(v=v)
        fields[f"is_no_view_{v}"] = modes["is_no_view"].format(v=v)
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
            lines += _if_wanted(readers, needed, save, _SAVE_NOTHING.format(v=v))
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


# Calls of any other operator.

SLOTS = ("x", "y", "z", "u", "v", "w")
"""What calls and nodes call the operands, whatever the operator calls them."""

_READ_ANY = """
if type({v}) is Tensor:
    if {v}._extra is not None:
        if {is_no_view}:
            return apply(op, operands, params)
{refresh}
{counter}
    {v}_data = {v}._data
    spec_{v} = {v}._spec
    behind_{v} = {v}._node if spec_{v}.is_differentiable else None
elif {is_static}:
    {v}_data = {v}
    spec_{v} = spec_or_none({v})
    behind_{v} = None
else:
    return apply(op, operands, params)
"""
# The operands of an operator that takes any number of them.
_READ_REST = """
rest_data, rest_specs, behind_rest = [], [], []
has_history = has_tensors = has_large = False
for each in rest:
    if type(each) is Tensor:
        has_tensors = True
        if each._extra is not None:
            if {is_no_view}:
                return apply(op, operands, params)
{refresh}
        rest_data.append(each._data)
        if each._data.size >= LARGE:
            has_large = True
        spec = each._spec
        rest_specs.append(spec)
        behind = each._node if spec.is_differentiable else None
        if behind is not None:
            has_history = True
            if type(behind) is Leaf:
                reference = behind.accumulator
                if reference is None or (behind := reference()) is None:
                    behind = accumulator_of(each)
        behind_rest.append(behind)
    elif type(each) is ndarray:
        rest_data.append(each)
        if each.size >= LARGE:
            has_large = True
        rest_specs.append(spec_for(each.shape, each.dtype))
        behind_rest.append(None)
    elif type(each) in STATICS:
        rest_data.append(each)
        rest_specs.append(spec_or_none(each))
        behind_rest.append(None)
    else:
        return apply(op, operands, params)
"""
_RESULT_ANY = """
if type(out{k}) is not ndarray:
    out{k} = asarray(out{k})
result{k} = Tensor()
result{k}._data = out{k}
result{k}._spec = spec{k} = spec_for(out{k}.shape, out{k}.dtype)
result{k}._node = result{k}._counter = result{k}._extra = result{k}._meta = None
"""
_VIEW = """
result._counter = counter
result._extra = view = View.__new__(View)
view.attr_version = counter.value
view.records = None
view.creation_meta = DEFAULT
if x._extra is None:
    view.base, view.steps = x, (tuple.__new__(ViewStep, (op, params)),)
else:
    view.base, view.steps = x._extra.base, (*x._extra.steps, tuple.__new__(ViewStep, (op, params)))
"""
_SAVE_ANY = """
node.{v}_data = {v}_data
if type({v}) is Tensor:
    counter = {v}._counter
    node.{v}_epoch = None if counter is None or (epoch := counter.epoch) is None else epoch.hold({v}_data)
else:
    node.{v}_epoch = UNWRITTEN
"""
_SAVE_REST = """
node.rest_data = tuple(rest_data)
node.rest_epochs = epochs_of(rest) if has_tensors else ()
"""
_COMPUTE = """
{outs} = {kernel}({data}{params})
"""
# Calls on small arrays that are made again and again become native. With one operand its parameters know of what kind a
# call is, if they have been found before; otherwise it takes time to find out, and is asked when it has come to pay.
_KIND = """
if tally.left:
    tally.left -= 1
    kind = NEVER
else:
    kind = kind_of(op, tally, {specs}, {params}, {which})
"""
_KIND_OF_ONE = """
if type({params}) is Settings:
    kind = {params}.{name}
"""
_COMPUTE_SMALL = """
if is_large:
    {outs} = (op.native or op.kernel)({data}{params})
else:
{kind}
    if kind.function is None:
        {outs} = {kernel}({data}{params})
        if kind.left:
            kind.left -= 1
            if not kind.left:
                call_due(kind, op, ({data}), params, {whole})
    else:
        # path: small segment
        {outs}{comma} = kind.function({data})
"""
_CALL = """
def run(operands, params):
    modes = current()
    if {are_other}:
        return apply(op, operands, params)
    {names} = operands
{reads}
{size}
{compute}
    # path: eager direct
{results}
{view}
    if {is_constant}:
        return {returned}
{behind}
    node = {made}()
    node.next = ({next})
    node.spec = spec
    node.rare = None
    node.params = params
    node.operand_specs = ({specs})
{saves}
    node.seq = next_stamp()
{attach}
    return {returned}
"""


def call_source(op: Op, rules: CallRules | None, copies: bool = False, is_small: bool = False) -> str:
    """The function `run` of an operator, of its operands and canonical parameters; without `rules` nothing is recorded.

    It does what `record.apply` does, with the loops and lists written out. With `copies` it is that of a view, of which
    `kernel` gives a copy; with `is_small` calls on small arrays are counted (eager/small.py).
    """
    is_view = op.is_view and not copies
    first = op.variadic_from
    fixed = SLOTS[: len(op.operands) if first < 0 else first]
    has_rest = first >= 0
    count = op.num_outputs or 1
    reads = "".join(
        _READ_ANY.format(
            v=v,
            is_no_view=NO_VIEW.format(v=v),
            refresh=indented(REFRESH.format(v=v), 2),
            counter="    counter = shared_counter(x)  # before anything refers to the memory" if is_view else "",
            is_static="False" if is_view else f"type({v}) in STATICS",
        )
        for v in fixed
    )
    if has_rest:
        refresh = indented(REFRESH.format(v="each"), 3)
        reads += _READ_REST.format(is_no_view=NO_VIEW.format(v="each"), refresh=refresh)
    numbers = ["" if k == 0 else str(k) for k in range(count)]
    histories = [f"behind_{v} is None" for v in fixed] + (["not has_history"] if has_rest else [])
    diff = " or ".join(f"spec{k}.is_differentiable" for k in numbers)
    is_constant = "modes is not switch.normal or not ({}) or ({})".format(diff, " and ".join(histories))
    view = ""
    if is_view:
        view = _VIEW if not op.may_copy else f"if aliases(out, x_data):\n{indented(_VIEW, 1)}"
    is_recorded = rules is not None
    are_other = "modes is not switch.normal" + ("" if is_view else " and modes is not switch.no_grad")
    if not op.params:  # a keyword is a mistake, which the kernel will name
        are_other += " or params"
    fields = {
        "are_other": are_other,
        "names": "".join(f"{v}, " for v in fixed) + ("*rest, " if has_rest else ""),
        "reads": indented(reads, 1),
        "size": "" if op.native is None and not is_small else f"    is_large = {_is_large(fixed, has_rest)}",
        "compute": indented(_compute(op, fixed, numbers, is_small, copies), 1),
        "results": indented("".join(_RESULT_ANY.format(k=k) for k in numbers), 1),
        "view": indented(view, 1),
        "returned": "result" if count == 1 else "({})".format(", ".join(f"result{k}" for k in numbers)),
        "is_constant": is_constant if is_recorded else "True",
        "behind": indented("".join(LEAF.format(v=v) for v in fixed), 1),
        "made": "Made" if op.native is None else "(Large if is_large else Made)",
        "next": "".join(f"behind_{v}, " for v in fixed) + ("*behind_rest, " if has_rest else ""),
        "specs": "".join(f"spec_{v}, " for v in fixed) + ("*rest_specs, " if has_rest else ""),
        "saves": indented(_saves_of(rules, fixed, numbers) if rules is not None else "", 1),
        "attach": indented(_attached(numbers), 1),
    }
    return guarded(_CALL.format(**fields), "operands")


def _compute(op: Op, fixed: tuple[str, ...], numbers: list[str], is_small: bool, copies: bool) -> str:
    """What computes the results."""
    outs = ", ".join(f"out{k}" for k in numbers)
    specs = "".join(f"spec_{v}, " for v in fixed)
    kind = kind_source(len(fixed) == 1, f"({specs})", "params", "None", "call")
    fields = {
        "outs": outs,
        "comma": "," if len(numbers) == 1 else "",
        "whole": outs if len(numbers) == 1 else f"({outs})",
        "kind": indented(kind, 1),
        "kernel": "kernel" if copies else _quick_kernel(op) if is_small else _kernel_of(op),
        "data": "".join(f"{v}_data, " for v in fixed) + ("*rest_data, " if op.variadic_from >= 0 else ""),
        "params": "**params" if op.params else "",
    }
    return (_COMPUTE_SMALL if is_small else _COMPUTE).format(**fields)


def kind_source(is_one: bool, specs: str, params: str, which: str, name: str) -> str:
    """What finds the kind of a call, which is that of a formula with another `name` (eager/small.py)."""
    kind = _KIND.format(specs=specs, params=params, which=which).strip("\n")
    return _KIND_OF_ONE.format(params=params, name=name) + "el" + kind if is_one else kind


def _quick_kernel(op: Op) -> str:
    return "op.kernel" if op.inner_kernel is None else "op.inner_kernel"


def _kernel_of(op: Op) -> str:
    """What computes the results. Where native code may be for large arrays, small ones go past it."""
    quick = _quick_kernel(op)
    return quick if op.native is None else f"((op.native or op.kernel) if is_large else {quick})"


def _is_large(fixed: tuple[str, ...], has_rest: bool) -> str:
    tests = [f"(type({v}) is Tensor and {v}_data.size >= LARGE)" for v in fixed]
    if has_rest:
        tests.append("has_large")
    return " or ".join(tests)


def _saves_of(rules: CallRules, fixed: tuple[str, ...], numbers: list[str]) -> str:
    """What fills the slots of a node. What is read depends on the gradients that are wanted."""
    lines = ""
    for position, v in enumerate(fixed):
        readers = rules.readers_of_operand(position)
        if readers:
            lines += _when(readers, fixed, _SAVE_ANY.format(v=v), _SAVE_NOTHING.format(v=v))
    if rules.reads_rest:
        lines += _SAVE_REST
    for position, k in enumerate(numbers):
        readers = rules.readers_of_output(position)
        if readers:
            lines += _when(readers, fixed, f"node.out{k}_data = out{k}", f"node.out{k}_data = NOT_SAVED")
    return lines


def _when(readers: tuple[int, ...], fixed: tuple[str, ...], save: str, otherwise: str) -> str:
    """`save` if the gradient of one of these operands is wanted."""
    if len(readers) >= len(fixed):  # the node exists because one of them is wanted
        return f"\n{save}\n"
    test = " or ".join(f"behind_{fixed[k]} is not None" for k in readers)
    return f"\nif {test}:\n{indented(save, 1)}\nelse:\n{indented(otherwise, 1)}\n"


def _attached(numbers: list[str]) -> str:
    """What gives the results their history. Only the first result of several is a plain tensor."""
    if len(numbers) == 1:
        return "result._node = node"
    lines = "node.output_specs = tuple([spec if spec.is_differentiable else None for spec in ({}, )])\n".format(
        ", ".join(f"spec{k}" for k in numbers)
    )
    lines += "node.spec = node.output_specs[0]\n"
    for position, k in enumerate(numbers):
        lines += f"if spec{k}.is_differentiable:\n    result{k}._node = node\n"
        if position:
            lines += f"    result{k}._extra = Extra()\n    result{k}._extra.output_nr = {position}\n"
    return lines


class CallRules:
    """The rules of an operator by the operand whose gradient they compute: one for all, or one for each.

    A pass on plain arrays runs those that are declared for arrays, if there are any; what they read is what the
    others read.
    """

    def __init__(self, op: Op) -> None:
        self.joint = op.joint
        self.each = () if op.joint is not None else tuple(op.rule_for(k) for k in range(len(op.operands)))
        self._first = op.variadic_from
        self._count = len(op.operands)

    def readers_of_operand(self, position: int) -> tuple[int, ...]:
        """The operands whose gradients read this operand."""
        return self._readers(lambda rule: position in rule.reads_operands)

    def readers_of_output(self, position: int) -> tuple[int, ...]:
        """The operands whose gradients read this result."""
        return self._readers(lambda rule: position in rule.reads_outputs)

    @property
    def reads_rest(self) -> bool:
        """Does any gradient read the operands of which there may be any number?"""
        return bool(self._readers(lambda rule: rule.reads_all_operands))

    def _readers(self, test: Any) -> tuple[int, ...]:
        if self.joint is not None:
            return tuple(range(self._count)) if test(self.joint) else ()
        return tuple(k for k, rule in enumerate(self.each) if rule is not None and test(rule))


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
