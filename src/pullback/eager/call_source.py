"""The source of eager calls of operators that are not elementwise, written out from declarations as in `source.py`."""

from __future__ import annotations

from typing import Any

from pullback.declare.op import Op
from pullback.eager.source import LEAF, NO_VIEW, REFRESH, SAVE_NOTHING, guarded, indented

SLOTS = ("x", "y", "z", "u", "v", "w")
"""What calls and nodes call the operands, whatever the operator calls them."""

_READ_ANY = """
if type({v}) is Tensor:
    if {v}._extra is not within:
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
        if each._extra is not within:
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
    elif {is_array}:
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
# The same of tensors on arrays of another library (eager/elsewhere.py).
_READ_THERE = """
if type({v}) is Tensor and {v}._extra is AWAY:
    {v}_data = {v}._data
    spec_{v} = {v}._spec
    behind_{v} = {v}._node if spec_{v}.is_differentiable else None
elif type({v}) in NUMBERS:
    {v}_data = {v}
    spec_{v} = behind_{v} = None
else:
    return apply(op, operands, params)
"""
_RESULT_THERE = """
# path: call on arrays of another library
result{k} = Tensor()
result{k}._data = out{k}
result{k}._spec = spec{k} = spec_for(out{k}.shape, out{k}.dtype)
result{k}._extra = AWAY
result{k}._node = result{k}._counter = result{k}._meta = None
"""
_RESULT_ANY = """
if type(out{k}) is not ndarray:
    out{k} = asarray(out{k})
result{k} = Tensor()
result{k}._data = out{k}
result{k}._spec = spec{k} = spec_for(out{k}.shape, out{k}.dtype)
result{k}._node = result{k}._counter = result{k}._meta = None
result{k}._extra = within
"""
_VIEW = """
source = x._extra
result._counter = counter
result._extra = view = View.__new__(View) if source is None or type(source) is View else record_of_view(source)
view.attr_version = counter.value
view.records = None
view.creation_meta = DEFAULT
if source is None or source.view is None:
    view.base, view.steps = x, (tuple.__new__(ViewStep, (op, params)),)
else:
    view.base, view.steps = source.base, (*source.steps, tuple.__new__(ViewStep, (op, params)))
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
_COMPUTE_THERE = """
{outs} = evaluate(op, ({data}), params)
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
_DIRECTLY = """
result = natively(operands, params)
if result is not None:
    # path: native direct call
    return result
"""
_CALL = """
def run(operands, params):
{natively}
    modes = current()
    within = modes.within
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


def call_source(
    op: Op, rules: CallRules | None, copies: bool = False, is_small: bool = False, is_there: bool = False,
    is_native: bool = False,
) -> str:  # fmt: skip
    """The function `run` of an operator, of its operands and canonical parameters; without `rules` nothing is recorded.

    It does what `record.apply` does, with the loops and lists written out. With `copies` it is that of a view, of which
    `kernel` gives a copy; with `is_small` calls on small arrays are counted (eager/small.py); with `is_there` arrays
    are those of another library; with `is_native` the call is tried natively first (eager/native_tape.py).
    """
    is_view = op.is_view and not copies
    first = op.variadic_from
    fixed = SLOTS[: len(op.operands) if first < 0 else first]
    has_rest = first >= 0
    count = op.num_outputs or 1
    reads = "".join(
        (_READ_THERE if is_there else _READ_ANY).format(
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
        reads += _READ_REST.format(
            is_no_view="each._extra is not AWAY" if is_there else NO_VIEW.format(v="each"),
            refresh="" if is_there else refresh,
            is_array="False" if is_there else "type(each) is ndarray",
        )
    numbers = ["" if k == 0 else str(k) for k in range(count)]
    histories = [f"behind_{v} is None" for v in fixed] + (["not has_history"] if has_rest else [])
    diff = " or ".join(f"spec{k}.is_differentiable" for k in numbers)
    is_constant = "modes.usual is not switch.normal or not ({}) or ({})".format(diff, " and ".join(histories))
    view = ""
    if is_view:
        view = _VIEW if not op.may_copy else f"if aliases(out, x_data):\n{indented(_VIEW, 1)}"
    is_recorded = rules is not None
    are_other = "modes is not switch.normal" if is_there else "modes.usual is not switch.normal"
    are_other += "" if is_view else " and modes is not switch.no_grad"
    if not op.params:  # a keyword is a mistake, which the kernel will name
        are_other += " or params"
    has_one_size = is_there or (op.native is None and not is_small)
    fields = {
        "natively": indented(_DIRECTLY, 1) if is_native else "",
        "are_other": are_other,
        "names": "".join(f"{v}, " for v in fixed) + ("*rest, " if has_rest else ""),
        "reads": indented(reads, 1),
        "size": "" if has_one_size else f"    is_large = {_is_large(op, fixed, has_rest)}",
        "compute": indented(_compute(op, fixed, numbers, is_small, copies, is_there), 1),
        "results": indented("".join((_RESULT_THERE if is_there else _RESULT_ANY).format(k=k) for k in numbers), 1),
        "view": indented(view, 1),
        "returned": "result" if count == 1 else "({})".format(", ".join(f"result{k}" for k in numbers)),
        "is_constant": is_constant if is_recorded else "True",
        "behind": indented("".join(LEAF.format(v=v) for v in fixed), 1),
        "made": "Made" if op.native is None or is_there else "(Large if is_large else Made)",
        "next": "".join(f"behind_{v}, " for v in fixed) + ("*behind_rest, " if has_rest else ""),
        "specs": "".join(f"spec_{v}, " for v in fixed) + ("*rest_specs, " if has_rest else ""),
        "saves": indented(_saves_of(rules, fixed, numbers) if rules is not None else "", 1)
        + ("\n    node.place = out.device" if is_there else ""),
        "attach": indented(_attached(numbers), 1),
    }
    return guarded(_CALL.format(**fields), "operands")


def _compute(
    op: Op, fixed: tuple[str, ...], numbers: list[str], is_small: bool, copies: bool, is_there: bool
) -> str:
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
    return (_COMPUTE_THERE if is_there else _COMPUTE_SMALL if is_small else _COMPUTE).format(**fields)


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


def _is_large(op: Op, fixed: tuple[str, ...], has_rest: bool) -> str:
    tests = [f"(type({v}) is Tensor and {v}_data.size >= LARGE)" for v in fixed]
    if has_rest:
        tests.append("has_large")
    test = " or ".join(tests)
    # What reads few places of a large array takes no time.
    return f"({test}) and rest_data[0].size >= {_FEW}" if has_rest and op.flow == "gathers" else test


_FEW = 32  # places


def _saves_of(rules: CallRules, fixed: tuple[str, ...], numbers: list[str]) -> str:
    """What fills the slots of a node. What is read depends on the gradients that are wanted."""
    lines = ""
    for position, v in enumerate(fixed):
        readers = rules.readers_of_operand(position)
        if readers:
            lines += _when(readers, fixed, _SAVE_ANY.format(v=v), SAVE_NOTHING.format(v=v))
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
            lines += f"    extra_of(result{k}).output_nr = {position}\n"
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
