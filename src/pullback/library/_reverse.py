"""Reverse formulas, whichever way they were registered. Each turns gradients of the outputs into those of operands.

| class      | registered by                                |
|------------|----------------------------------------------|
| Formula    | `register_autograd`                          |
| Pair       | `impl_save_for_backward` + `impl_backward`   |
| Rules      | `defvjp`                                     |
| Partials   | `defpartials`                                |
| Residuals  | `defvjp_all`                                 |
| Transposed | nobody: derived from the forward formula     |
| Missing    | nobody: raises when it is needed             |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

from pullback.core.pytree import flatten, unflatten
from pullback.errors import AutogradError
from pullback.library._call import LIST, TENSOR, Call
from pullback.library._derived import transposed, zeros_of
from pullback.library._gradients import flat_gradients, gradients_by_name, num_operands
from pullback.library._residuals import Residuals
from pullback.library._reverse_base import Reverse
from pullback.tensors.tensor import Tensor, alias


class Formula(Reverse):
    """`backward(ctx, *gradients)` with gradients by return, lists as lists."""

    def __init__(self, function: Callable[..., Any], location: str) -> None:
        self.function = function
        self.location = location

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        return flat_gradients(call, self.function(ctx, *call.per_return(gradients)), self.location)


class Pair(Reverse):
    """`save(inputs, output) -> tree` and `backward(ctx, tree, *gradients) -> {argument: gradient}`."""

    def __init__(self, name: str, save: Any, backward: Any, differentiability: list[bool] | None) -> None:
        self.save = save
        self.function, self.location = backward
        self.differentiability = differentiability
        self.node_name = f"{name}_customopBackward"

    def set_up(self, ctx: Any, call: Call, operands: list[Any], outputs: list[Any]) -> None:
        """Run the author's `save` and keep what it returns: tensors as saved variables, the rest on the node."""
        inputs = call.definition.arguments_type(*call.arguments(operands), **call.keywords)
        leaves, structure = flatten(self.save[0](inputs, call.results(outputs)))
        ctx.save_for_backward(*[leaf for leaf in leaves if isinstance(leaf, Tensor)])
        ctx._tree = structure, [None if isinstance(leaf, Tensor) else (leaf,) for leaf in leaves]
        if self.differentiability is not None:
            for is_differentiable, value in zip(self.differentiability, call.per_return(outputs), strict=True):
                if not is_differentiable:
                    tensors = [each for each in (value if isinstance(value, list) else [value])
                               if isinstance(each, Tensor)]  # fmt: skip
                    ctx.mark_non_differentiable(*tensors)

    def check_outputs(self, call: Call, outputs: list[Any]) -> None:
        """Raise if a value that is no tensor is said to be differentiable."""
        if self.differentiability is None:
            return
        nested = call.per_return(outputs)
        if len(nested) != len(self.differentiability):
            raise RuntimeError(
                f"{call.definition.qualname}: output_differentiability has {len(self.differentiability)} entries for "
                f"{len(nested)} outputs"
            )
        for index, (is_differentiable, value) in enumerate(zip(self.differentiability, nested, strict=True)):
            if is_differentiable and not isinstance(value, (Tensor, list)):
                raise RuntimeError(
                    f"{call.definition.qualname}: output_differentiability is True for output {index}, which is not a "
                    f"Tensor but {type(value).__name__}"
                )

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        structure, leaves = ctx._tree
        tensors = iter(ctx.saved_tensors)
        saved = unflatten(structure, [next(tensors) if leaf is None else leaf[0] for leaf in leaves])
        returned = self.function(SimpleNamespace(), saved, *call.per_return(gradients))
        return gradients_by_name(call, returned, self.location)


class PerArgument(Reverse):
    """One rule per argument, of the result and the arguments; None says that there is no gradient."""

    reads_values = True
    registered_by = ""

    def __init__(self, rules: dict[int, Any], location: str) -> None:
        self.rules = rules
        self.location = location

    def wanted(self, ctx: Any, call: Call) -> Iterator[tuple[Any, Any, Any]]:
        """The rule, kind and place of every argument whose gradient is asked for."""
        for position, (needed, (kind, data)) in enumerate(zip(ctx.needs_input_grad, call.layout, strict=True)):
            if not (any(needed) if isinstance(needed, list) else needed):
                continue
            if position not in self.rules:
                raise no_rule(call, position, self.registered_by)
            if self.rules[position] is not None:
                yield self.rules[position], kind, data


class Rules(PerArgument):
    """`rule(ans, *args, **kw) -> (g -> gradient)`, one per argument."""

    registered_by = "defvjp"

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        operands, outputs = ctx._values()
        arguments = call.arguments(operands)
        ans = call.results(outputs)
        g = tuple(gradients) if isinstance(ans, tuple) else gradients[0]
        flat: list[Any] = [None] * num_operands(call)
        for rule, kind, data in self.wanted(ctx, call):
            value = rule(ans, *arguments, **call.keywords)(g)
            if kind == TENSOR:
                flat[data] = value
            elif kind == LIST and value is not None:
                for index, each in zip(data, value, strict=True):
                    if index is not None:
                        flat[index] = each
        return flat


class Partials(PerArgument):
    """`rule(ans, *args, **kw) -> partial derivative`, one per argument of an elementwise operator."""

    registered_by = "defpartials"

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        operands, outputs = ctx._values()
        arguments = call.arguments(operands)
        ans = call.results(outputs)
        flat: list[Any] = [None] * num_operands(call)
        for rule, _, data in self.wanted(ctx, call):
            partial = rule(ans, *arguments, **call.keywords)
            if hasattr(partial, "conj"):
                partial = partial.conj()
            elif isinstance(partial, complex):
                partial = partial.conjugate()
            flat[data] = gradients[0] * partial
        return flat


# The operators whose forward formula is being transposed here.
_transposing: ContextVar[frozenset[str]] = ContextVar("pullback_transposing", default=frozenset())


class Transposed(Reverse):
    """The transpose of the forward formula. If the formula sends tangents through the operator itself, which is then
    said to be linear, there is nothing to take the transpose of."""

    def __init__(self, forward: Any) -> None:
        self.forward = forward
        self.location = forward.location
        self.reads_values = forward.reads_values

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        specs = ctx._operand_specs
        name = call.definition.qualname
        if name in _transposing.get():
            raise NotImplementedError(
                f"{name} is linear, which gives it a forward formula, but not its transpose: give it a reverse formula "
                "with register_autograd"
            )
        needed = [index for index, wanted in enumerate(ctx._flat_needs()) if wanted]

        def push(tangents: list[Any]) -> list[Any]:
            every: list[Any] = [None] * len(specs)
            for index, tangent in zip(needed, tangents, strict=True):
                every[index] = tangent
            return list(self.forward.jvp(ctx, call, every))

        token = _transposing.set(_transposing.get() | {name})
        try:
            found = transposed(
                name, push, [specs[index] for index in needed], gradients,
                lambda: NotImplementedError(
                    f"the jvp of {name}, registered at {self.location}, computes tangents outside of Pullback, so no "
                    "reverse formula follows from it; use register_autograd"
                ),
            )  # fmt: skip
        finally:
            _transposing.reset(token)
        flat: list[Any] = [None] * len(specs)
        for index, gradient in zip(needed, found, strict=True):
            # A new object: the caller compares gradients by identity with what it lent.
            flat[index] = alias(gradient) if any(gradient is g for g in gradients) else gradient
        return flat


class Missing(Reverse):
    """No formula: results require grad, and asking for it raises."""

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        name = call.definition.qualname
        raise AutogradError(
            "NO_FORMULA",
            f"the custom operator {name} was differentiated, but there is no autograd formula for it",
            where=ctx.name(),
            why="Pullback does not look into kernels",
            fix=f"give it one: register_autograd, register_jvp or defvjp of {name}; or say that it has no derivative "
            'with autograd_fallback="nondiff"',
        )


def no_rule(call: Call, position: int, method: str) -> NotImplementedError:
    """The error for an argument whose derivative is needed and was not given."""
    return NotImplementedError(
        f"{call.definition.qualname} has no derivative for the argument at position {position}: give it a rule with "
        f"{method}(..., argnums=({position},)), None meaning zero"
    )


__all__ = [
    "Formula", "Missing", "Pair", "Partials", "Residuals", "Reverse", "Rules", "Transposed", "no_rule", "zeros_of",
]  # fmt: skip
