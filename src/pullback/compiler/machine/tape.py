"""Recorded calls of elementwise operators in native code (`c/tape.c`), and the formulas of their nodes (`c/passes.c`).

The numbers are computed by NumPy's own loops, so they are NumPy's to the bit. A formula is a list of such loops. What
tensors and nodes are is the caller's business, who gives the classes and has the slots that are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.compiler.machine import structs
from pullback.compiler.machine.shipped import load_c
from pullback.compiler.machine.structs import DIVIDE, INVALID, OVERFLOW, UNDERFLOW, builtin_function, offset_of
from pullback.graph.ir import Program

_OBJECTS = (
    "tensor", "leaf", "view", "view_within", "none", "true_", "unwritten", "not_saved", "hold", "modes", "switch_",
    "open_levels", "clock", "accumulator_of", "spec_for",
)  # fmt: skip
_SLOTS = {
    "normal_of_switch": "normal", "usual_of_modes": "usual", "within_of_modes": "within", "within_of_view": "within",
    "reference_of_leaf": "accumulator", "epoch_of_counter": "epoch",
    "value_of_counter": "value", "version_of_view": "attr_version", "is_plain_of_spec": "is_plain",
    "numbers_of_spec": "numbers", **{f"{name}_of_tensor": f"_{name}" for name in ("data", "spec", "node", "counter",
                                                                               "extra", "meta")},
    **{f"{name}_of_node": name for name in ("next", "rare", "seq", "spec")},
}  # fmt: skip
CALLS = (*_OBJECTS, "flags", "most", *_SLOTS)
"""`struct calls`."""
_SAVED = ("x_data", "x_epoch", "y_data", "y_epoch", "out_data")
CALL = (
    "known", "node", "loose", "operands", *_SAVED, "x_readers", "y_readers", "out_readers", "in_float", "in_double",
    "temporaries",
)  # fmt: skip
"""`struct call`."""
DIRECT = (
    "known", "node", "settings", "op", "kernel", "asarray", "call_of_settings", "function_of_kind", "left_of_kind",
    "known_of_spec", "single_of_spec", "is_differentiable_of_spec", "params_of_node", "specs_of_node",
    "out_data", "out_readers", "has_params", "large", "operands",
)  # fmt: skip
"""`struct direct`."""
FORMULA = ("operands", "is_loose", "is_sum", *_SAVED, "x_float", "x_double", "y_float", "y_double")
"""`struct formula`."""
ABSENT, SAME = -1, -2
_TEMPORARY, _MOST_TEMPORARIES = 4, 6
MOST = 1024
"""Elements of arrays, at most: for more of them NumPy lets other threads run meanwhile."""
_DTYPES = tuple(map(np.dtype, "fd"))


class Calls:
    """What the calls of all operators know. `kinds` are classes by what has the slots: "switch", "tensor" and so on."""

    def __init__(self, objects: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
        held = {"none": None, "true_": True, "hold": "hold", **objects}
        fields = {
            **{name: id(held[name]) for name in _OBJECTS},
            "flags": INVALID | DIVIDE | OVERFLOW | UNDERFLOW, "most": MOST,
            **{name: offset_of(kinds[name.rpartition("_")[2]], slot) for name, slot in _SLOTS.items()},
        }  # fmt: skip
        self._table = np.array([fields[name] for name in CALLS], np.int64)
        self._held = tuple(held.values())
        self._kinds = kinds
        self._call, self._direct, self._known = load_c("tape", ("call", "direct", "known"))

    def call_function(
        self, programs: Sequence[Program], node: type, loose: type, readers: Mapping[str, int]
    ) -> Callable[..., Any] | None:
        """The call of an elementwise operator; None if it is not made of loops of NumPy's for floating point numbers.

        `programs` say for both dtypes what it computes. Its nodes are of the class `node`, or of `loose`, with slots in
        the same places, if operands are of different shapes. `readers` has for "x", "y" and "out" whose gradients read
        that: 1 for that of x, 2 for that of y. The function returns None for what it leaves to others.
        """
        rest: list[int] = []
        count = len(programs[0].inputs)
        begins = [_steps(each, "xy"[:count], dtype, rest) for each, dtype in zip(programs, _DTYPES, strict=True)]
        if ABSENT in begins or _saved(node) != _saved(loose):
            return None
        fields = {
            "known": self._table.ctypes.data, "node": id(node), "loose": id(loose), "operands": count,
            **_saved(node), **{f"{name}_readers": readers.get(name, 0) for name in ("x", "y", "out")},
            "in_float": begins[0], "in_double": begins[1],
            "temporaries": max(len(each.nodes) for each in programs) - 1,
        }  # fmt: skip
        table = [fields[name] for name in CALL] + rest
        return builtin_function(self._call, table, (self, node, loose, *programs), "recorded")

    def direct_function(
        self, op: Any, kernel: Callable[..., Any], node: type | None, slots: Sequence[str] | None,
        readers: Mapping[str, int], has_params: bool, is_counted: bool, large: int,
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:  # fmt: skip
        """The call of another operator with one result, of a tuple of operands, which nodes have in `slots`, and
        parameters; without slots there are any number, and without a class of nodes nothing is recorded. If it
        `is_counted`, only kinds of calls are done here that have become native or never will; parameters of the class
        "settings" know them, and specs. Arrays of `large` elements or more are left to others. The second function
        takes an operand and arguments for which canonical parameters have been found."""
        settings, kind = self._kinds["settings"], self._kinds["kind"]
        held = {"op": op, "kernel": kernel, "asarray": np.asarray}
        fields = {
            "known": self._table.ctypes.data, "node": 0 if node is None else id(node),
            "settings": id(settings) if is_counted else 0,
            **{name: id(value) for name, value in held.items()},
            "call_of_settings": offset_of(settings, "call"), "function_of_kind": offset_of(kind, "function"),
            "left_of_kind": offset_of(kind, "left"), "known_of_spec": offset_of(self._kinds["spec"], "known"),
            "single_of_spec": offset_of(self._kinds["spec"], "single"),
            "is_differentiable_of_spec": offset_of(self._kinds["spec"], "is_differentiable"),
            "params_of_node": _place(node, "params"), "specs_of_node": _place(node, "operand_specs"),
            "out_data": _place(node, "out_data"), "out_readers": readers["out"], "has_params": int(has_params),
            "large": large, "operands": -1 if slots is None else len(slots),
        }  # fmt: skip
        table = [fields[name] for name in DIRECT]
        for v in slots or ():
            table += [_place(node, f"{v}_data"), _place(node, f"{v}_epoch"), readers[v]]
        holds = (self, node, *held.values())
        known = builtin_function(self._known, table, holds, "recorded", has_keywords=True)
        return builtin_function(self._direct, table, holds, "recorded"), known


def _place(node: type | None, name: str) -> int:
    """Where a slot of a class of nodes is, 0 if it does not have it."""
    if node is None:
        return 0
    has = any(name in each.__dict__.get("__slots__", ()) for each in node.__mro__)
    return offset_of(node, name) if has else 0


def _saved(node: type) -> dict[str, int]:
    return {name: _place(node, name) for name in _SAVED}


def _loop_of(ufunc: np.ufunc, dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """The address of the loop for arrays of one dtype, and what it is given."""
    functions, given, rows = structs.loops_of(ufunc)
    wanted = [dtype.num] * ufunc.nargs
    return next(((f, its) for f, its, row in zip(functions, given, rows, strict=True) if row == wanted), None)


def formula_table(node: type, gradients: Sequence[Any], is_loose: bool, is_sum: bool = False) -> Any:
    """The formula of a class of nodes, whose operands are broadcast if it `is_loose`. For each operand `gradients` has
    SAME, ABSENT, or for both dtypes a graph of what its gradient is of g and the values that are named beside it.
    For nodes that sum, it says what every element gets of g."""
    begins: dict[str, int] = dict.fromkeys(FORMULA[-4:], ABSENT)
    rest: list[int] = []
    for v, found in zip("xy", gradients, strict=False):
        for kind, dtype, each in zip(("float", "double"), _DTYPES, found if type(found) is list else (found,) * 2,
                                     strict=True):  # fmt: skip
            begins[f"{v}_{kind}"] = each if type(each) is int else _steps(each[0], each[1], dtype, rest)
    fields = {"operands": len(gradients), "is_loose": int(is_loose), "is_sum": int(is_sum), **_saved(node), **begins}
    return np.array([fields[name] for name in FORMULA] + rest, np.int64)


def _steps(program: Program, names: Sequence[str], dtype: np.dtype[Any], rest: list[int]) -> int:
    """Append the loops of a graph to `rest`, and return where they begin; ABSENT if it has other nodes as well."""
    places: dict[Any, int] = {value: ("g", "x", "y", "out").index(name) for value, name
                              in zip(program.inputs, names, strict=True)}  # fmt: skip
    constants: list[int] = []
    steps: list[list[Any]] = []
    if program.outputs != [program.nodes[-1].results[0]] or len(program.nodes) > _MOST_TEMPORARIES:
        return ABSENT
    for node in program.nodes:
        kernel = None if node.target is None else node.target.kernel
        loop = _loop_of(kernel, dtype) if isinstance(kernel, np.ufunc) and not node.attrs else None
        if loop is None or len(node.operands) > 2 or any(type(x) not in (float, int) and x not in places
                                                          for x in node.operands):  # fmt: skip
            return ABSENT
        read = []
        for x in node.operands:
            if type(x) in (float, int):
                constants.append(int(np.array([x, 0], dtype).view(np.int64)[0]))
                read.append(-len(constants))
            else:
                read.append(places[x])
        places[node.results[0]] = _TEMPORARY + len(steps)
        steps.append([*loop, len(read), *read, *([0] * (2 - len(read))), places[node.results[0]]])
    first = len(rest)  # the constants, then the steps
    rest += constants
    for step in steps:
        step[3:5] = [x if x >= 0 else -1 - (first + -1 - x) for x in step[3:5]]
    begin = len(rest)
    rest += [len(steps), *(number for step in steps for number in step)]
    return begin
