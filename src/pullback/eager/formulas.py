"""The formulas of the fast paths' nodes for the engine: reading, checking, computing and releasing in one function.

`make_pull` writes such a function out from the declaration and compiles it when the operator is differentiated for the
first time. It means what `evaluate`, the engine's validation and `release` mean together; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from pullback.autograd._input_metadata import fitted
from pullback.autograd._node import Node, released_error
from pullback.declare.derive import times_conjugate, times_constant
from pullback.declare.op import GRADIENT, NEEDS, OPERAND, OUTPUT, PARAM, SPEC, Op, Rule
from pullback.errors import InternalError

RELEASED: Any = object()
"""Stands where a node had a saved value that a pass has released."""

SLOTS = ("x", "y")
"""What a node calls the operands it saves, whatever the operator calls them."""

_NONE: Mapping[str, Any] = MappingProxyType({})
_KINDS = (GRADIENT, NEEDS, OPERAND, OUTPUT, PARAM, SPEC)


def released(node: Node) -> Exception:
    """The error for reading what a pass has released."""
    return released_error(node.name())


def missing(node: Any, position: int) -> None:
    """Raise: a gradient is asked for that the operator has no rule for."""
    raise InternalError(f"operator {node.op.name} has no reverse rule for operand {position}")


_SHARED: dict[str, Any] = {
    "RELEASED": RELEASED, "asarray": np.asarray, "fitted": fitted, "ndarray": np.ndarray, "released": released,
    "missing": missing, "times_conjugate": times_conjugate, "times_constant": times_constant, "zeros": np.zeros,
}  # fmt: skip

_READ_OPERAND = """
{v} = node.{v}_data
tensor = node.{v}
if tensor is not None:
    if tensor is RELEASED or {v} is None:
        raise released(node)
    counter = tensor._counter
    if (counter is not None and counter.value != node.{v}_version) or (
        tensor._node is None and node.next[{i}] is not None
    ):
        node.check({i})
"""
_READ_OUTPUT = """
out, counter = node.out_data, node.out_counter
if counter is RELEASED or out is None:
    raise released(node)
if counter.value != 0:
    node.saved_handle("output", 0).unpack(node, False)
"""
_TERM = """
if behind_{v} is None:
    g_{v} = None
else:
{reads}
    g_{v} = {formula}
{fit}
"""
# The gradient has the operand's shape and dtype by construction.
_AS_ARRAY = """
if type(g_{v}) is not ndarray:
    g_{v} = asarray(g_{v})
"""
# It may be broadcast or promoted.
_FIT = """
spec = behind_{v}.spec
if type(g_{v}) is not ndarray or g_{v}.dtype is not spec.dtype or g_{v}.shape != spec.shape:
    g_{v} = fitted(g_{v}, behind_{v})
"""
# A rule for all operands may return a tuple with the gradient of the only one.
_ONE_OF_ONE = """
    if type(g_{v}) is tuple or type(g_{v}) is list:
        (g_{v},) = g_{v}"""
_RELEASE = """
if node.{v} is not None:
    node.{v} = RELEASED
    node.{v}_data = None
"""
_RELEASE_OUTPUT = """
if node.out_data is not None:
    node.out_counter = RELEASED
    node.out_data = None
"""
_PULL = """
def pull(node, g, keep):
    {unpack_next} = node.next
{adapt}
{terms}
    if not keep:
{release}
    return ({results})
"""


def pulled_rules(op: Op) -> tuple[Rule | None, ...] | None:
    """The rule of each operand, if `make_pull` can write this operator's formula: one or two operands, one result."""
    if not 1 <= len(op.operands) <= 2 or op.variadic_from >= 0 or op.num_outputs != 1 or not op.is_differentiable:
        return None
    if op.joint is not None:
        rules: tuple[Rule | None, ...] = (op.joint,)
    else:
        rules = tuple(op.rule_for(position) for position in range(len(op.operands)))
    is_readable = all(rule is None or all(kind in _KINDS for kind, _ in rule.plan) for rule in rules)
    return rules if len(rules) == len(op.operands) and is_readable else None


def saved_names(rules: tuple[Rule | None, ...]) -> list[str]:
    """What a node has to have room for: any of "x", "y" and "out"."""
    present = [rule for rule in rules if rule is not None]
    names = [SLOTS[k] for k in range(len(rules)) if any(k in rule.reads_operands for rule in present)]
    return names + (["out"] if any(rule.reads_outputs for rule in present) else [])


def make_pull(
    op: Op, rules: tuple[Rule | None, ...], fits: bool, is_real: bool, fused: Mapping[str, Callable[..., Any]] = _NONE
) -> Callable[[Any, Any, bool], tuple[Any, ...]]:
    """The formula of `op`.

    `fits` promises that gradients have the shapes and dtypes of their operands, `is_real` that no operand is complex.
    `fused` has functions that do at once what rules do, by the operand whose gradient it is, and a product under
    "times" (eager/native.py).
    """
    scope = dict(_SHARED, adapt=op.adapt_output)
    scope |= {f"fused_{v}": function for v, function in fused.items()}
    adapt_output = ""
    terms = ""
    if op.adapt_output is not None:
        adapt_output = "out = adapt(out, node.operand_specs[0], node.params)"
    for position, rule in enumerate(rules):
        v = SLOTS[position]
        if rule is None:
            formula, reads = f"missing(node, {position})", ""
        else:
            reads = "".join(_READ_OPERAND.format(v=SLOTS[i], i=i) for i in rule.reads_operands)
            reads += _READ_OUTPUT + adapt_output if rule.reads_outputs else ""
            scope[f"rule_{v}"] = rule.fn
            formula = _fused_formula(v, rule) if v in fused else _formula(v, rule, is_real)
            if rule is op.joint:
                formula += _ONE_OF_ONE.format(v=v)
        fit = (_AS_ARRAY if fits else _FIT).format(v=v)
        terms += _TERM.format(v=v, reads=indented(reads, 1), formula=formula, fit=indented(fit, 1))
    names = saved_names(rules)
    release = "".join(_RELEASE.format(v=v) for v in names if v != "out")
    release += _RELEASE_OUTPUT if "out" in names else ""
    source = _PULL.format(
        unpack_next="".join(f"behind_{v}, " for v in SLOTS[: len(rules)]),
        adapt="" if op.adapt_output is None else "    g = adapt(g, node.operand_specs[0], node.params)",
        terms=indented(terms, 1),
        release=indented(release or "pass", 2),
        results="".join(f"g_{v}, " for v in SLOTS[: len(rules)]),
    )
    exec(compile(source, f"<pull of {op.name}>", "exec"), scope)
    return scope["pull"]


def _same(x: Any) -> Any:
    return x


_SPELLED: dict[int, Callable[[Any], str]] = {
    GRADIENT: lambda key: "g",
    NEEDS: lambda key: "tuple([n is not None for n in node.next])",
    OPERAND: lambda key: SLOTS[key],
    OUTPUT: lambda key: "out",
    PARAM: lambda key: f"node.params[{key!r}]",
    SPEC: lambda key: f"node.operand_specs[{key}]",
}


def _formula(v: str, rule: Rule, is_real: bool) -> str:
    """The gradient as source. `is_real` promises that no operand is complex, so that nothing is to be conjugated."""
    constant = rule.constant
    if constant is not None:
        if not is_real:
            return f"times_constant(g, {constant.conjugate()!r})"
        return {1: "g", -1: "-g", 0: "zeros(g.shape, g.dtype)"}.get(constant, f"g * {constant!r}")
    arguments = ", ".join(_SPELLED[kind](key) for kind, key in rule.plan)
    if not rule.is_partial:
        return f"rule_{v}({arguments})"
    if not is_real:
        return f"times_conjugate(g, rule_{v}({arguments}))"
    if len(rule.plan) == 1 and rule.fn.__code__.co_code == _same.__code__.co_code:
        return f"g * {arguments}"
    return f"g * rule_{v}({arguments})"


def _fused_formula(v: str, rule: Rule) -> str:
    """The call of a function of the gradient and of what the rule reads.

    If that is one operand and a number, so is the partial derivative, and is found once and not for each element.
    """
    read = [_SPELLED[kind](key) for kind, key in rule.plan if kind != GRADIENT]
    fused = f"fused_{v}({', '.join(['g', *read])})"
    if not rule.is_partial or [kind for kind, _ in rule.plan] != [OPERAND]:
        return fused
    return f"{fused} if type({read[0]}) is ndarray and {read[0]}.ndim else fused_times(g, rule_{v}({read[0]}))"


def spelled_rule(rule: Rule) -> Callable[..., Any]:
    """The gradient as a function of `g` and of what an elementwise rule reads, in that order."""

    def formula(g: Any, *read: Any) -> Any:
        if rule.constant is not None:
            return -g if rule.constant == -1 else g * rule.constant
        values = iter(read)
        args = [g if kind == GRADIENT else next(values) for kind, _ in rule.plan]
        return g * rule.fn(*args) if rule.is_partial else rule.fn(*args)

    return formula


def indented(text: str, depth: int) -> str:
    """Lines of source, further to the right. `textwrap` asks every line whether it is empty, and none of ours is."""
    margin = "    " * depth
    return margin + text.strip("\n").replace("\n", f"\n{margin}")
