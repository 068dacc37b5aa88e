"""From a declaration to its derivatives: `pull` runs the reverse rules, `push` the forward ones.

Both work on whatever the rules work on: arrays, batched or traced payloads, Tensors. They only use operators and
the methods that all of these share, so one text serves every order of differentiation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.spec import spec_of
from pullback.declare.op import Op, Rule, run_rule
from pullback.errors import InternalError

_NUMBERS = (int, float, complex, bool)


def times_conjugate(g: Any, partial: Any) -> Any:
    """`g * conj(partial)`: the adjoint of multiplication by a partial derivative."""
    if partial.__class__ in _NUMBERS:  # also of numbers in a trace
        return times(g, partial.conjugate())
    return g * (partial.conj() if partial.dtype.kind == "c" else partial)


def times(t: Any, partial: Any) -> Any:
    """`t * partial`, without the multiplication where it is not needed; 0 times infinity is NaN, as everywhere."""
    if type(partial) in _NUMBERS:
        if partial == 1:
            return t
        return -t if partial == -1 else t * partial
    return t * partial


def times_constant(t: Any, constant: Any) -> Any:
    """`t` times a partial derivative that is declared: where that is 0, the result does not depend on the operand."""
    return times(t, constant) if constant else np.zeros(t.shape, t.dtype)


def pull(
    op: Op,
    gradients: tuple[Any, ...],
    needs: tuple[bool, ...],
    operand: Callable[[int], Any],
    operand_spec: Callable[[int], Any],
    output: Callable[[int], Any],
    params: dict[str, Any],
) -> list[Any]:
    """Gradients of the operands that need one, None for the others. They may still be broadcast or promoted."""
    count = len(needs)
    adapt = op.adapt_output
    if adapt is not None:
        gradients = tuple(None if g is None else adapt(g, operand_spec(0), params) for g in gradients)
        plain_output = output

        def output(k: int) -> Any:
            return adapt(plain_output(k), operand_spec(0), params)

    if op.joint is not None:
        result = run_rule(op.joint, gradients, operand, operand_spec, output, params, needs, None, count)
        if not isinstance(result, (tuple, list)):
            result = (result,)
        if len(result) != count:
            raise InternalError(f"the rule of {op.name} returned {len(result)} gradients for {count} operands")
        return [value if needed else None for value, needed in zip(result, needs, strict=True)]
    results: list[Any] = [None] * count
    for position in range(count):
        if not needs[position]:
            continue
        rule = op.rule_for(position)
        if rule is None:
            raise InternalError(f"operator {op.name} has no reverse rule for operand {position}")
        if rule.constant is not None:
            results[position] = times_constant(gradients[0], rule.constant.conjugate())
            continue
        value = run_rule(rule, gradients, operand, operand_spec, output, params, needs, None, count)
        results[position] = times_conjugate(gradients[0], value) if rule.is_partial else value
    return results


def push(op: Op, operands: tuple[Any, ...], tangents: tuple[Any, ...], outputs: Any, params: dict[str, Any]) -> Any:
    """Tangents of the outputs from tangents of the operands, None standing for zero."""
    count = len(operands)
    outs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    if op.adapt_output is not None:
        outs = tuple(op.adapt_output(out, spec_of(operands[0]), params) for out in outs)

    def run(rule: Rule) -> Any:
        return run_rule(
            rule, None, operands.__getitem__, lambda k: spec_of(operands[k]), outs.__getitem__, params, None, tangents,
            count,
        )  # fmt: skip

    if op.jvp_rule is not None:
        result = run(op.jvp_rule)
        return result if op.restore_output is None else op.restore_output(result, spec_of(operands[0]), params)
    terms: list[Any] = []
    if op.partials is not None:
        terms = [
            times(tangent, run(rule)) if rule.constant is None else times_constant(tangent, rule.constant)
            for rule, tangent in zip(op.partials, tangents, strict=True)
            if tangent is not None
        ]
    elif op.linear_in is not None and op.multilinear:
        for position, tangent in enumerate(tangents):
            if tangent is not None:
                terms.append(op(*operands[:position], tangent, *operands[position + 1 :], **params))
    elif op.linear_in is not None:
        filled = [
            tangent if tangent is not None else 0 if value.__class__ in _NUMBERS else np.zeros(value.shape, value.dtype)
            for value, tangent in zip(operands, tangents, strict=True)
        ]
        return op(*filled, **params)
    else:
        raise InternalError(f"operator {op.name} has no forward rule")
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
