"""Forward formulas, whichever way they were registered. The `jvp` of each becomes the rule of the operator.

It turns tangents of the operands, `t_operands`, None standing for zero, into those of the outputs, one each. What else
it reads its parameters say, as for any other rule (`declare/op.py`).

| class      | registered by                               |
|------------|---------------------------------------------|
| Formula    | `register_jvp`                              |
| Linear     | `register_jvp(linear=...)`                  |
| Rules      | `defjvp`, `defpartials`                     |
| Transposed | nobody: derived from the reverse formula    |
| Refused    | nobody: raises when it is needed            |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.declare.op import Op, Rule
from pullback.library._call import LIST, STATIC, TENSOR, Call
from pullback.library._gradients import transposed, zeros_of
from pullback.library._reverse import Missing, Reverse, no_rule
from pullback.tape.function.node import _in_backward
from pullback.tape.input_metadata import conform
from pullback.tensors.tensor import Tensor


class Forward:
    """A forward formula."""

    location = "nowhere"
    by_spec: tuple[int, ...] = ()  # (0,) if all it wants to know of the operands are their specs
    jvp: Callable[..., list[Any]]

    def rule(self, op: Op) -> Rule:
        """The formula as a rule of `op`."""
        return Rule(op, self.jvp, specs=self.by_spec)


class Formula(Forward):
    """`fn(ctx, *tangents)` with tangents by argument and returns by return, as `register_jvp` takes it."""

    def __init__(self, function: Callable[..., Any], location: str) -> None:
        self.function = function
        self.location = location

    def jvp(self, ctx: Any, t_operands: Any, call: Call) -> list[Any]:
        if ctx._call.materialize:
            t_operands = [
                zeros_of(spec) if tangent is None and spec.is_differentiable else tangent
                for tangent, spec in zip(t_operands, ctx._specs, strict=True)
            ]
        returned = self.function(ctx, *call.per_argument(t_operands))
        count = len(call.counts) if call.counts is not None else 1
        if not isinstance(returned, (tuple, list)) or (count == 1 and isinstance(returned, list)):
            returned = (returned,)
        if len(returned) != count:
            raise RuntimeError(
                f"the jvp of {call.definition.qualname}, registered at {self.location}, returned {len(returned)} "
                f"tangents for {count} outputs"
            )
        return call.flat_returns(returned)


class Linear(Forward):
    """The operator is linear in all tensors together."""

    by_spec: tuple[int, ...] = (0,)
    names: tuple[str, ...] | None = None

    def __init__(self, location: str) -> None:
        self.location = location

    def jvp(self, operands: Any, t_operands: Any, call: Call) -> list[Any]:
        filled = [zeros_of(spec) if t is None else t for t, spec in zip(t_operands, operands, strict=True)]
        return flat_results(call, call.definition(*call.arguments(filled), **call.keywords))


class LinearIn(Linear):
    """The operator is linear in each of the named arguments for fixed others."""

    by_spec = ()

    def __init__(self, names: tuple[str, ...], location: str) -> None:
        super().__init__(location)
        self.names: tuple[str, ...] = names

    def jvp(self, operands: Any, t_operands: Any, call: Call, ctx: Any = None) -> list[Any]:
        definition = call.definition
        positions = {argument.name: index for index, argument in enumerate(definition.schema.positional)}
        named = {positions[name] for name in self.names}
        total: list[Any] | None = None
        for position, (kind, data) in enumerate(call.layout):
            own = [data] if kind == TENSOR else [i for i in data if i is not None] if kind == LIST else []
            if all(t_operands[index] is None for index in own):
                continue
            if position not in named:
                raise NotImplementedError(
                    f"{definition.qualname} is declared linear in {self.names}, and has no forward rule for the "
                    f"argument at position {position}: use register_jvp"
                )
            replaced = list(operands)
            for index in own:
                tangent = t_operands[index]
                replaced[index] = zeros_of(operands[index]._spec) if tangent is None else tangent
            term = flat_results(call, definition(*call.arguments(replaced), **call.keywords))
            total = term if total is None else added(total, term)
        return total if total is not None else [None] * ctx.num_outputs


class Rules(Forward):
    """`rule(t, ans, *args, **kw) -> tangent`, summed over the arguments; "same" for a linear argument."""

    def __init__(self, rules: dict[int, Any], location: str, are_partials: bool = False) -> None:
        self.rules = rules
        self.location = location
        self.are_partials = are_partials

    def jvp(self, operands: Any, t_operands: Any, outs: Any, call: Call) -> list[Any]:
        arguments, ans = call.arguments(operands), call.results(outs)
        total: list[Any] | None = None
        for position, ((kind, _), t) in enumerate(zip(call.layout, call.per_argument(t_operands), strict=True)):
            is_zero = all(each is None for each in t) if kind == LIST else t is None
            if kind == STATIC or is_zero:
                continue
            if position not in self.rules:
                raise no_rule(call, position, "defpartials" if self.are_partials else "defjvp")
            rule = self.rules[position]
            if rule is None:
                continue
            if rule == "same":
                given = [*arguments[:position], t, *arguments[position + 1 :]]
                value = call.definition(*given, **call.keywords)
            elif self.are_partials:
                value = rule(ans, *arguments, **call.keywords) * t
            else:
                value = rule(t, ans, *arguments, **call.keywords)
            term = list(value) if isinstance(ans, tuple) else [value]
            total = term if total is None else added(total, term)
        if total is None:
            return [None] * len(outs)
        return [
            value.expand(out.shape) if isinstance(value, Tensor) and value.shape != out.shape else value
            for value, out in zip(total, outs, strict=True)
        ]


class Transposed(Forward):
    """The transpose of the reverse formula, by a second vjp."""

    def __init__(self, reverse: Reverse) -> None:
        self.location = reverse.location

    def jvp(self, ctx: Any, t_operands: Any, call: Call) -> list[Any]:
        record = ctx._call
        outputs = record.output_specs if any(record.output_specs) else record.value_specs
        watched = [index for index, spec in enumerate(outputs) if spec is not None and spec.is_differentiable
                   and not _is_constant(ctx, index)]  # fmt: skip
        needs = tuple(t is not None for t in t_operands)

        def pull(cotangents: list[Any]) -> list[Any]:
            every: list[Any] = [
                zeros_of(spec) if spec is not None and record.materialize else None for spec in record.value_specs
            ]
            for index, cotangent in zip(watched, cotangents, strict=True):
                every[index] = cotangent
            token = _in_backward.set((ctx, needs))
            try:
                gradients = ctx._pulled(every, needs)
            finally:
                _in_backward.reset(token)
            return [
                conform(g, spec.shape, spec.dtype) if isinstance(g, Tensor) and needed else None
                for g, needed, spec in zip(gradients, needs, ctx._specs, strict=True)
            ]

        found = transposed(
            call.definition.qualname, pull, [outputs[index] for index in watched], t_operands,
            lambda: NotImplementedError(
                f"forward AD: the cotangent left Pullback in the formula of {call.definition.qualname}, registered at "
                f"{self.location}, so no forward formula follows from it; use register_jvp"
            ),
        )  # fmt: skip
        flat: list[Any] = [None] * len(outputs)
        for index, tangent in zip(watched, found, strict=True):
            flat[index] = tangent
        return flat


class Refused(Forward):
    """No formula of either kind."""

    def jvp(self, call: Call) -> list[Any]:
        name = call.definition.qualname
        raise NotImplementedError(
            f"forward AD: {name} has no forward formula, and no reverse formula from which one would follow; its "
            "tangent would silently be lost. Give it one with register_jvp"
        )


def forward_from(reverse: Reverse) -> Forward:
    """What serves forward mode where only a reverse formula was given, or none."""
    return Refused() if isinstance(reverse, Missing) else Transposed(reverse)


def flat_results(call: Call, value: Any) -> list[Any]:
    """The results of a call of the operator itself as flat outputs."""
    schema = call.definition.schema
    if schema.is_dynamic:
        return list(value) if call.counts is not None else [value]
    return call.flat_returns(value if schema.returns_tuple else [value])


def added(first: list[Any], second: list[Any]) -> list[Any]:
    """The sum of tangents, None standing for zero and for what is no tensor."""
    return [
        b if not isinstance(a, Tensor) else a if not isinstance(b, Tensor) else a + b
        for a, b in zip(first, second, strict=True)
    ]


def _is_constant(ctx: Any, index: int) -> bool:
    """Was this output marked as not differentiable?"""
    forward = ctx._call.forward
    return forward is not None and bool(forward.non_differentiable) and ctx._call.output_specs[index] is None and any(
        ctx._call.output_specs)  # fmt: skip
