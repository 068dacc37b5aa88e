"""The formulas of the fast paths' nodes for the engine: reading, checking, computing and releasing in one function.

`make_pull` writes such a function out from the declaration and compiles it when the operator is differentiated for the
first time. It means what `evaluate`, the engine's validation and `release` mean together; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from pullback.declare.derive import times_conjugate, times_constant
from pullback.declare.op import (
    GRADIENT,
    GRADIENTS,
    NEEDS,
    OPERAND,
    OPERANDS,
    OUTPUT,
    PARAM,
    SPEC,
    SPECS,
    Op,
    Rule,
)  # fmt: skip
from pullback.eager.call_source import SLOTS, CallRules, kind_source
from pullback.eager.source import indented
from pullback.errors import InternalError
from pullback.tape.input_metadata import fitted
from pullback.tape.node import Node, released_error
from pullback.tensors.overwrites import UNWRITTEN, disturbed

NOT_SAVED: Any = object()
"""Stands where a node has room for a result that none of its gradients reads."""

_NONE: Mapping[str, Any] = MappingProxyType({})
_KINDS = (GRADIENT, GRADIENTS, NEEDS, OPERAND, OPERANDS, OUTPUT, PARAM, SPEC, SPECS)


def released(node: Node) -> Exception:
    """The error for reading what a pass has released."""
    return released_error(node.name())


def missing(node: Any, position: int) -> None:
    """Raise: a gradient is asked for that the operator has no rule for."""
    raise InternalError(f"operator {node.op.name} has no reverse rule for operand {position}")


_SHARED: dict[str, Any] = {
    "NOT_SAVED": NOT_SAVED, "UNWRITTEN": UNWRITTEN, "asarray": np.asarray, "disturbed": disturbed, "fitted": fitted,
    "ndarray": np.ndarray, "released": released,
    "missing": missing, "times_conjugate": times_conjugate, "times_constant": times_constant, "zeros": np.zeros,
}  # fmt: skip

_READ_OPERAND = """
{v} = node.{v}_data
epoch = node.{v}_epoch
if {v} is None and epoch is not UNWRITTEN:
    raise released(node)
if (disturbed and id({v}) in disturbed) if epoch is None else epoch.next is not None:
    {v} = node.operand_value({i}, False)
"""
_READ_REST = """
rest = node.rest_values()
"""
_READ_OUTPUT = """
out{k} = node.out{k}_data
if out{k} is None:
    raise released(node)
if disturbed and id(out{k}) in disturbed:
    out{k} = node.saved_handle("output", {position}).unpack(node, False)
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
# It is to lie where the operand lies: rules make constants with NumPy.
_FIT_THERE = """
spec = behind_{v}.spec
if type(g_{v}) is not Foreign or g_{v}.dtype is not spec.dtype or g_{v}.shape != spec.shape:
    g_{v} = fitted_there(g_{v}, behind_{v}, node.place)
"""
# One rule computes all gradients.
_JOINT = """
{reads}
{targets} = {formula}
"""
# It may return a tuple with the gradient of the only one.
_JOINT_OF_ONE = """
{reads}
g_x = {formula}
if type(g_x) is tuple or type(g_x) is list:
    (g_x,) = g_x
"""
_FIT_JOINT = """
if behind_{v} is None:
    g_{v} = None
else:
{fit}
"""
_FIT_REST = """
position = 0
for behind in behind_rest:
    if behind is None:
        g_rest[position] = None
    else:
        gradient = g_rest[position]
        spec = behind.spec
        if type(gradient) is not ndarray or gradient.dtype is not spec.dtype or gradient.shape != spec.shape:
            g_rest[position] = fitted(gradient, behind)
    position += 1
"""
_FIT_REST_THERE = _FIT_REST.replace("ndarray", "Foreign").replace("fitted(gradient, behind)",
                                                                "fitted_there(gradient, behind, node.place)")
_NO_REST = """
g_rest = [None if behind is None else missing(node, {position}) for behind in behind_rest]
"""
_RELEASE = """
if node.{v}_epoch is not UNWRITTEN:
    node.{v}_data = None
"""
_RELEASE_REST = """
if node.rest_epochs:
    node.rest_data = None
"""
_RELEASE_OUTPUT = """
if node.{name}_data is not NOT_SAVED:
    node.{name}_data = None
"""
_SEVERAL = """
gs = tuple(g) if type(g) is list else (g, {nones})
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
# Visits are counted, and when there are many, native code takes the place of the formula (eager/small.py).
_COUNTED = """
def pull(node, g, keep):
    {unpack_next} = node.next
{begin}
{kind}
    function = kind.function
    if function is None:
        if kind.left:
            kind.left -= 1
            if not kind.left:
{reads_3}
                pull_due(kind, op, {gradients}, needs, {{{operands}}}, node.operand_specs, {{{outputs}}}, node.params)
        return plain(node, g, keep)
{reads_1}
    # path: small segment backward
    {targets} = function({given})
{fits}
    if not keep:
{release}
    return ({results})
"""


def call_rules(op: Op) -> CallRules | None:
    """The rules of an operator that is not elementwise, if `make_pull` can write its formula."""
    if not op.is_differentiable or op.num_outputs is None or len(op.operands) > len(SLOTS):
        return None
    rules = CallRules(op)
    written = (rules.joint, *rules.each, *op.array_rules.values())
    if op.num_outputs > 1 and (rules.joint is None or op.adapt_output is not None):
        return None
    if any(kind not in _KINDS for rule in written if rule is not None for kind, _ in rule.plan):
        return None
    return rules


def saved_names(rules: tuple[Rule | None, ...]) -> list[str]:
    """What the node of an elementwise operator has to have room for: any of "x", "y" and "out"."""
    present = [rule for rule in rules if rule is not None]
    names = [SLOTS[k] for k in range(len(rules)) if any(k in rule.reads_operands for rule in present)]
    return names + (["out"] if any(rule.reads_outputs for rule in present) else [])


def names_of(op: Op, rules: CallRules) -> list[str]:
    """What the node of any other operator has to have room for: slots of operands, "rest", and "out", "out1", ..."""
    fixed = len(op.operands) if op.variadic_from < 0 else op.variadic_from
    names = [SLOTS[k] for k in range(fixed) if rules.readers_of_operand(k)]
    names += ["rest"] if rules.reads_rest else []
    return names + [_out(k) for k in range(op.num_outputs or 1) if rules.readers_of_output(k)]


def _out(position: int) -> str:
    return f"out{position}" if position else "out"


def make_pull(
    op: Op, rules: tuple[Rule | None, ...], fits: bool, is_real: bool, fused: Mapping[str, Callable[..., Any]] = _NONE
) -> Callable[[Any, Any, bool], tuple[Any, ...]]:
    """The formula of an elementwise operator.

    `fits` promises that gradients have the shapes and dtypes of their operands, `is_real` that no operand is complex.
    `fused` has functions that do at once what rules do, by the operand whose gradient it is, and a product under
    "times" (eager/native.py).
    """
    scope = {f"fused_{v}": function for v, function in fused.items()}
    chosen = [rule if fused else op.array_rules.get(k, rule) for k, rule in enumerate(rules)]
    fit = _AS_ARRAY if fits else _FIT
    terms = "".join(_term(op, position, rule, fit, is_real, scope) for position, rule in enumerate(chosen))
    return _compiled_pull(op, SLOTS[: len(rules)], terms, saved_names(rules), scope)


def call_pull(
    op: Op, rules: CallRules, there: Mapping[str, Any] = _NONE
) -> Callable[[Any, Any, bool], tuple[Any, ...]]:
    """The formula of any other operator. Rules that are declared for arrays stand in for the others.

    `there` has the names for arrays of another library (eager/elsewhere.py), to which the former do not apply.
    """
    scope: dict[str, Any] = dict(there)
    array_rules = {} if there else op.array_rules
    fit, fit_rest = (_FIT_THERE, _FIT_REST_THERE) if there else (_FIT, _FIT_REST)
    fixed = SLOTS[: len(op.operands) if op.variadic_from < 0 else op.variadic_from]
    has_rest = op.variadic_from >= 0
    if rules.joint is None:
        chosen = [array_rules.get(k, rule) for k, rule in enumerate(rules.each)]
        terms = "".join(_term(op, k, chosen[k], fit, False, scope) for k in range(len(fixed)))
        terms += _NO_REST.format(position=op.variadic_from) if has_rest else ""
    else:
        joint = array_rules.get(None, rules.joint)
        scope["rule_all"] = joint.fn
        template = _JOINT_OF_ONE if len(op.operands) == 1 and not has_rest else _JOINT
        targets = "".join(f"g_{v}, " for v in fixed) + ("*g_rest, " if has_rest else "")
        terms = template.format(reads=_reads(op, joint), targets=targets, formula=_formula("all", joint, False, op))
        terms += "".join(_FIT_JOINT.format(v=v, fit=indented(fit.format(v=v), 1)) for v in fixed)
        terms += fit_rest if has_rest else ""
    return _compiled_pull(op, fixed, terms, names_of(op, rules), scope)


def counted_pull(
    op: Op, rules: CallRules, needs: tuple[bool, ...], names: Mapping[str, Any]
) -> Callable[[Any, Any, bool], tuple[Any, ...]]:
    """The same, with native code in its place once it has been called often for the gradients that are needed here;
    `names` are those of eager/small.py."""
    fixed = SLOTS[: len(op.operands)]
    several = (op.num_outputs or 1) > 1
    operands, outputs = op.reads(needs)
    reads = "".join(_READ_OPERAND.format(v=SLOTS[i], i=i) for i in operands)
    reads += "".join(_READ_OUTPUT.format(k=k or "", position=k) for k in outputs)
    which = "tuple([g is None for g in gs])" if several else "True"
    is_one = len(fixed) == 1 and not several
    kind = kind_source(is_one, "node.operand_specs", "node.params", which, "pull")
    if len(fixed) > 1:
        tests = [f"behind_{v} is {'None' if needed else 'not None'}" for v, needed in zip(fixed, needs, strict=True)]
        kind = f"if {' or '.join(tests)}:\n    kind = NEVER\nel{kind}"
    arrays = [SLOTS[i] for i in operands] + [_out(k) for k in outputs]
    wanted = [v for v, needed in zip(fixed, needs, strict=True) if needed]
    source = _COUNTED.format(
        unpack_next="".join(f"behind_{v}, " for v in fixed),
        begin=indented(_several_gradients(op) if several else "", 1),
        kind=indented(kind, 1),
        reads_1=indented(reads, 1),
        reads_3=indented(reads, 4),
        gradients="gs" if several else "(g,)",
        operands=", ".join(f"{i}: {SLOTS[i]}" for i in operands),
        outputs=", ".join(f"{k}: {_out(k)}" for k in outputs),
        given=", ".join([*(["*[g for g in gs if g is not None]"] if several else ["g"]), *arrays]),
        targets="".join(f"g_{v}, " for v in wanted),
        fits=indented("".join(_FIT.format(v=v) for v in wanted), 1),
        release=indented(_releases(fixed, names_of(op, rules)) or "pass", 2),
        results="".join(f"g_{v}, " if v in wanted else "None, " for v in fixed),
    )
    scope = dict(_SHARED, **names, op=op, needs=needs, plain=call_pull(op, rules), tally=names["Tally"]())
    exec(compile(source, f"<counted pull of {op.name}>", "exec"), scope)
    return scope["pull"]


def _several_gradients(op: Op) -> str:
    return _SEVERAL.format(nones="None, " * ((op.num_outputs or 1) - 1))


def _releases(fixed: tuple[str, ...], names: list[str]) -> str:
    release = "".join(_RELEASE.format(v=v) for v in names if v in fixed)
    release += _RELEASE_REST if "rest" in names else ""
    return release + "".join(_RELEASE_OUTPUT.format(name=name) for name in names if name.startswith("out"))


def _compiled_pull(op: Op, fixed: tuple[str, ...], terms: str, names: list[str], scope: dict[str, Any]) -> Any:
    scope |= dict(_SHARED, adapt=op.adapt_output if "Foreign" in scope else op.adapt_array or op.adapt_output)
    has_rest = op.variadic_from >= 0
    begin = "" if op.adapt_output is None else "g = adapt(g, node.operand_specs[0], node.params)"
    if (op.num_outputs or 1) > 1:
        begin = _several_gradients(op)
    source = _PULL.format(
        unpack_next="".join(f"behind_{v}, " for v in fixed) + ("*behind_rest, " if has_rest else ""),
        adapt=indented(begin, 1),
        terms=indented(terms, 1),
        release=indented(_releases(fixed, names) or "pass", 2),
        results="".join(f"g_{v}, " for v in fixed) + ("*g_rest, " if has_rest else ""),
    )
    exec(compile(source, f"<pull of {op.name}>", "exec"), scope)
    return scope["pull"]


def _term(op: Op, position: int, rule: Rule | None, fit: str, is_real: bool, scope: dict[str, Any]) -> str:
    """What computes the gradient of one operand, and makes it `fit`."""
    v = SLOTS[position]
    formula, reads = f"missing(node, {position})", ""
    if rule is not None:
        reads = _reads(op, rule)
        scope[f"rule_{v}"] = rule.fn
        formula = _fused_formula(v, rule, op) if f"fused_{v}" in scope else _formula(v, rule, is_real, op)
    return _TERM.format(v=v, reads=indented(reads, 1), formula=formula, fit=indented(fit.format(v=v), 1))


def _reads(op: Op, rule: Rule) -> str:
    reads = "".join(_READ_OPERAND.format(v=SLOTS[i], i=i) for i in rule.reads_operands)
    reads += _READ_REST if rule.reads_all_operands else ""
    for position in rule.reads_outputs:
        reads += _READ_OUTPUT.format(k=position or "", position=position)
    if rule.reads_outputs and op.adapt_output is not None:
        reads += "out = adapt(out, node.operand_specs[0], node.params)"
    return reads


def _same(x: Any) -> Any:
    return x


def _spelled(kind: int, key: Any, op: Op) -> str:
    """An argument of a rule as source."""
    several = (op.num_outputs or 1) > 1
    if kind == OPERAND:
        return SLOTS[key]
    if kind == OUTPUT:
        return _out(key)
    return {
        GRADIENT: f"gs[{key}]" if several else "g",
        GRADIENTS: "gs" if several else "(g,)",
        NEEDS: "tuple([n is not None for n in node.next])",
        OPERANDS: "rest",
        PARAM: f"node.params[{key!r}]",
        SPEC: f"node.operand_specs[{key}]",
        SPECS: f"node.operand_specs[{key}:]",
    }[kind]


def _formula(v: str, rule: Rule, is_real: bool, op: Op) -> str:
    """The gradient as source. `is_real` promises that no operand is complex, so that nothing is to be conjugated."""
    constant = rule.constant
    if constant is not None:
        if not is_real:
            return f"times_constant(g, {constant.conjugate()!r})"
        return {1: "g", -1: "-g", 0: "zeros(g.shape, g.dtype)"}.get(constant, f"g * {constant!r}")
    arguments = ", ".join(_spelled(kind, key, op) for kind, key in rule.plan)
    if not rule.is_partial:
        return f"rule_{v}({arguments})"
    if not is_real:
        return f"times_conjugate(g, rule_{v}({arguments}))"
    if len(rule.plan) == 1 and rule.fn.__code__.co_code == _same.__code__.co_code:
        return f"g * {arguments}"
    return f"g * rule_{v}({arguments})"


def _fused_formula(v: str, rule: Rule, op: Op) -> str:
    """The call of a function of the gradient and of what the rule reads.

    If that is one operand and a number, so is the partial derivative, and is found once and not for each element.
    """
    read = [_spelled(kind, key, op) for kind, key in rule.plan if kind != GRADIENT]
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

