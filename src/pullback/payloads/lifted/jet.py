"""`JetArray`: the payload of Taylor mode. The coefficients of a power series in one variable, element by element.

The parts are Taylor coefficients, `x(s) = parts[0] + parts[1] s + parts[2] s**2 + ...`, so products need no binomials.
No operator has a rule of its own here:

| operator                     | coefficient `k` of its result                                               |
|------------------------------|-----------------------------------------------------------------------------|
| linear in all operands, sums | the operator on the coefficients `k`                                        |
| linear in each of several    | the sum of the operator on coefficients whose orders add up to `k`          |
| quotient                     | solved from `y * b = a`, since most rules divide and would nest otherwise   |
| any other                    | `1/k` times coefficient `k - 1` of `y' = push(op, x, x', y)`                |

In the last row the declared forward rule runs on series that are shorter by one. A rule that does not read its result
runs once for all coefficients; where it does, as for `exp`, they become known one after the other.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from pullback.declare.derive import push
from pullback.declare.op import Op, registry
from pullback.payloads.batched.indexing import read, store
from pullback.payloads.evaluate import evaluate
from pullback.payloads.lifted import (
    Lift,
    LiftedArray,
    is_continuous,
    laid_out_beside,
    newest_lift,
    zeros_beside,
)
from pullback.payloads.operators import bind_operators

# Instructions of elementwise operators.
_PRODUCT, _CHOICE, _QUOTIENTS = "mul", "select", ("div", "reciprocal")


class JetLift(Lift):
    """A running `jet` of this order."""

    def __init__(self, order: int) -> None:
        super().__init__(JetArray, "jet")
        self.order = order

    def constant(self, payload: Any) -> JetArray:
        """A series that is its first coefficient."""
        return JetArray(self, [payload, *(zeros_beside(payload) for _ in range(self.order))])

    def opaque(self, name: str, given: list[LiftedArray], results: list[Any]) -> list[Any]:
        """Refused: values do not say what the coefficients are."""
        raise NotImplementedError(
            f"jet: `{name}` is a custom function, whose Taylor coefficients are not known; use nested pb.func.jvp, or "
            "write it with Pullback's own functions"
        )


class JetArray(LiftedArray):
    """Taylor coefficients of every element, the values first."""

    __slots__ = ()

    def varies(self) -> bool:
        """Is there a coefficient behind the first?"""
        return any(bool(np.any(np.asarray(part) != 0)) for part in self.parts[1:])


def evaluate_jet(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result of `op` on operands of which at least one is a `JetArray`."""
    lift = newest_lift(operands)
    jets = [position for position, x in enumerate(operands) if isinstance(x, JetArray) and x.lift is lift]
    values = tuple([x.parts[0] if position in jets else x for position, x in enumerate(operands)])
    out = evaluate(op, values, params)
    if op.not_differentiable_because is not None or not any(map(is_continuous, _each(out))):
        return out
    order = min(len(operands[position].parts) for position in jets) - 1
    linear_in = frozenset({0, 1}) if op.scalar == _PRODUCT else op.linear_in
    if (op.linear_in is not None and not op.multilinear) or (op.scalar == _CHOICE and 0 not in jets):
        series = _linear(op, operands, params, jets, order)
    elif linear_in is not None and linear_in.issuperset(map(op.operand_index, jets)):
        series = _multilinear(op, operands, values, params, jets, order)
    elif op.partials is not None and all(op.partials[position].constant is not None for position in jets):
        series = _affine(op, operands, values, params, jets, order, out)
    elif op.scalar in _QUOTIENTS:
        series = _quotient(operands, values, jets, order, out)
    else:
        series = _by_slopes(op, operands, values, params, jets, order, out, lift)
    results = []
    for index, first in enumerate(_each(out)):
        if is_continuous(first):
            rest = [_fitting(_each(coefficient)[index], first) for coefficient in series]
            if not op.is_view:
                rest = [laid_out_beside(coefficient, first) for coefficient in rest]
            results.append(JetArray(lift, [first, *rest]))
        else:
            results.append(first)
    return tuple(results) if isinstance(out, tuple) else results[0]


def _each(out: Any) -> Any:
    return out if isinstance(out, (tuple, list)) else (out,)


def _linear(op: Op, operands: Any, params: dict[str, Any], jets: list[int], order: int) -> list[Any]:
    nothing = [
        None if position in jets
        else x if op.scalar == _CHOICE and not position
        else np.zeros(x.shape, x.dtype) if hasattr(x, "shape") else 0
        for position, x in enumerate(operands)
    ]  # fmt: skip
    return [
        evaluate(op, [x.parts[k] if zero is None else zero for x, zero in zip(operands, nothing, strict=True)], params)
        for k in range(1, order + 1)
    ]


def _affine(
    op: Op, operands: Any, values: tuple[Any, ...], params: dict[str, Any], jets: list[int], order: int, out: Any
) -> list[Any]:
    """Constant partial derivatives, as those of a sum."""
    series = []
    for k in range(1, order + 1):
        along = [operands[position].parts[k] if position in jets else None for position in range(len(operands))]
        term = push(op, values, tuple(along), out, params)
        # The only operand's coefficient itself, where the derivative is 1, must not be shared.
        series.append(_scaled(term, 1) if any(term is given for given in along) else term)
    return series


def _multilinear(
    op: Op, operands: Any, values: tuple[Any, ...], params: dict[str, Any], jets: list[int], order: int
) -> list[Any]:
    series = []
    for k in range(1, order + 1):
        total: Any = None
        for orders in itertools.product(range(k + 1), repeat=len(jets) - 1):
            last = k - sum(orders)
            if last < 0:
                continue
            chosen = list(values)
            for position, own in zip(jets, (*orders, last), strict=True):
                chosen[position] = operands[position].parts[own]
            term = evaluate(op, chosen, params)
            total = term if total is None else total + term
        series.append(total)
    return series


def _quotient(operands: Any, values: tuple[Any, ...], jets: list[int], order: int, out: Any) -> list[Any]:
    """The coefficients of `y = a / b`: those of `a` less what the lower ones contribute to `y * b`, over `b`."""
    below = len(operands) - 1
    if below not in jets:
        return [operands[0].parts[k] / values[below] for k in range(1, order + 1)]
    above = operands[0].parts if below and 0 in jets else None
    divisor = operands[below].parts
    known = [out]
    for k in range(1, order + 1):
        rest = -(divisor[1] * known[k - 1])
        for j in range(2, k + 1):
            rest = rest - divisor[j] * known[k - j]
        if above is not None:
            rest = rest + above[k]
        known.append(rest / divisor[0])
    return known[1:]


def _by_slopes(
    op: Op, operands: Any, values: tuple[Any, ...], params: dict[str, Any], jets: list[int], order: int, out: Any,
    lift: Any,
) -> list[Any]:  # fmt: skip
    if op.context is not None or (op.jvp_rule is None and op.partials is None and op.linear_in is None):
        raise NotImplementedError(f"jet: `{op.name}` has no forward rule, which its Taylor coefficients are found by")
    known: list[list[Any]] = [[first] for first in _each(out)]
    for k in range(order) if _reads_result(op, jets) else (order - 1,):
        if k < 0:
            break
        slopes = _slopes(op, operands, values, params, jets, known, k, lift, isinstance(out, tuple))
        for coefficients, slope, first in zip(known, slopes, _each(out), strict=True):
            for order_of in range(len(coefficients) - 1, k + 1):
                coefficients.append(_scaled(_coefficient(slope, order_of, first, lift), 1 / (order_of + 1)))
    series = list(zip(*[coefficients[1:] for coefficients in known], strict=True))
    return series if isinstance(out, tuple) else [single for (single,) in series]


def _slopes(
    op: Op, operands: Any, values: tuple[Any, ...], params: dict[str, Any], jets: list[int], known: Any, k: int,
    lift: Any, several: bool,
) -> Any:  # fmt: skip
    """The derivatives of the results as series up to order `k`."""
    at: list[Any] = list(values)
    along: list[Any] = [None] * len(values)
    for position in jets:
        parts = operands[position].parts
        at[position] = _series(lift, parts[: k + 1])
        along[position] = _series(lift, [_scaled(parts[j + 1], j + 1) for j in range(k + 1)])
    # A result that is not known so far yet is not read by the rule.
    results = [_series(lift, coefficients[: k + 1]) for coefficients in known]
    pushed = push(op, tuple(at), tuple(along), tuple(results) if several else results[0], params)
    return _each(pushed)


def _reads_result(op: Op, jets: list[int]) -> bool:
    if op.jvp_rule is not None:
        return bool(op.jvp_rule.reads_outputs)
    return op.partials is not None and any(op.partials[position].reads_outputs for position in jets)


def _series(lift: Any, parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else JetArray(lift, parts)


def _coefficient(slope: Any, k: int, like: Any, lift: Any) -> Any:
    if isinstance(slope, JetArray) and slope.lift is lift:
        return slope.parts[k] if k < len(slope.parts) else zeros_beside(like)
    return zeros_beside(like) if slope is None or k else slope


def _scaled(payload: Any, factor: float) -> Any:
    product = payload * factor
    return product if type(product) is not np.float64 and not isinstance(product, np.generic) else np.asarray(product)


def _fitting(coefficient: Any, first: Any) -> Any:
    """A coefficient with the shape and dtype that the value has."""
    if not hasattr(coefficient, "shape"):
        coefficient = np.asarray(coefficient)
    if coefficient.dtype != first.dtype:
        if coefficient.dtype.kind == "c" and first.dtype.kind != "c":
            coefficient = coefficient.real
        coefficient = coefficient.astype(first.dtype)
    if coefficient.shape != first.shape:
        spread = evaluate(registry["broadcast_to"], (coefficient,), {"shape": first.shape})
        coefficient = evaluate(registry["copy"], (spread,), {"order": "C"})
    return coefficient if hasattr(type(coefficient), "evaluate_op") else np.asarray(coefficient)


JetArray.evaluate_op = staticmethod(evaluate_jet)
bind_operators(JetArray, read, store)
