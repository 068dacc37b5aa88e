"""`Formulas`: what is in force for an operator's derivatives, resolved from its slots.

| wanted  | first                    | else                          | else                  |
|---------|--------------------------|-------------------------------|-----------------------|
| reverse | the registered formula   | transpose of the forward one  | the fallback mode     |
| forward | the registered formula   | transpose of the reverse one  | the fallback mode     |

They are resolved when the operator is called after a registration, and a recorded node keeps those it was made with.
"""

from __future__ import annotations

from typing import Any

from pullback.core.pytree import flatten
from pullback.library import _forward, _reverse
from pullback.library._call import Call
from pullback.library._kernel import _arguments, checked
from pullback.library._memory import root_of
from pullback.library._node import node_class
from pullback.payloads.batched import each_example
from pullback.payloads.batched_array import levels_of, plain_array
from pullback.tensors.tensor import Tensor, wrap


class Formulas:
    """The reverse and forward formulas of an operator, and how a call is prepared for them."""

    def __init__(self, definition: Any) -> None:
        reverse, forward = definition.reverse, definition.forward
        self.definition = definition
        self.setup = definition.setup
        self.has_any = reverse is not None or forward is not None
        self.reverse = reverse or (_reverse.Missing() if forward is None else _reverse.Transposed(forward))
        self.forward = forward or _forward.forward_from(self.reverse)
        self.reads_values = self.reverse.reads_values or self.forward.reads_values
        self.is_constant = not self.has_any and definition.autograd_fallback == "nondiff"
        self.pair = reverse if isinstance(reverse, _reverse.Pair) else None
        self.residuals = reverse if isinstance(reverse, _reverse.Residuals) else None
        self.node_class = node_class(definition, self)

    def check_call(self, call: Call, needs_grad: bool) -> None:
        """Raise if the operator has no derivative and says so when it is called."""
        if not self.has_any and self.definition.autograd_fallback == "forward" and needs_grad:
            raise RuntimeError(
                f"Autograd has not been implemented for {self.definition.qualname}, and an argument requires grad; "
                "give it a formula with register_autograd, or call it under pb.no_grad()"
            )

    def check_outputs(self, call: Call, outputs: list[Any]) -> None:
        """Raise if the outputs contradict what was said about their derivatives."""
        if self.pair is not None:
            self.pair.check_outputs(call, outputs)

    def set_up(self, ctx: Any, call: Call, operands: list[Tensor], outputs: list[Any]) -> None:
        """Run the author's setup."""
        if self.pair is not None:
            self.pair.set_up(ctx, call, operands, outputs)
        if self.setup is not None:
            inputs = tuple(call.arguments(operands))
            if self.definition.schema.keyword_only:
                self.setup[0](ctx, inputs, dict(call.keywords), call.results(outputs))
            else:
                self.setup[0](ctx, inputs, call.results(outputs))

    def outputs_of(self, ctx: Any, call: Call, operands: list[Tensor]) -> list[Any] | None:
        """The outputs, if something else than the kernel computes them: `fwd` of `defvjp_all`."""
        if self.residuals is None:
            return None
        payloads = [x._data for x in operands]
        structure: Any = None
        places: list[tuple[str | None, Any]] = []
        count = 0

        def run(*arrays: Any) -> Any:
            nonlocal structure, places, count
            given = _arguments(call, arrays)
            returned = self.residuals.forward(*given, **call.keywords)  # type: ignore[union-attr]
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError(
                    f"the fwd of {self.definition.qualname}, registered at {self.reverse.location}, must return a pair "
                    f"(output, residuals), got {type(returned).__name__}"
                )
            flat = checked(call, returned[0], arrays, given, call.keywords)
            leaves, structure = flatten(returned[1])
            places, saved = _placed(leaves, arrays, flat, returned[0])
            count = len(flat)
            return (*flat, *saved)

        if any(levels_of(x) for x in payloads):
            everything = each_example(self.definition.qualname, run, *payloads)
        else:
            everything = run(*[plain_array(x) for x in payloads])
        ctx._residuals = structure, places
        ctx.save_for_backward(*[wrap(each) for each in everything[count:]])
        return [wrap(each) for each in everything[:count]]


def _placed(
    leaves: list[Any], arrays: Any, outputs: Any, returned: Any
) -> tuple[list[tuple[str | None, Any]], list[Any]]:
    """For every leaf of the residuals where it is kept, and the arrays that are neither argument nor output."""
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    places: list[tuple[str | None, Any]] = []
    saved: list[Any] = []
    for leaf in leaves:
        payload = leaf._data if isinstance(leaf, Tensor) else leaf
        if not hasattr(payload, "__array_interface__"):
            places.append((None, leaf))
            continue
        operand = next((k for k, x in enumerate(arrays) if _is_whole(payload, x)), None)
        output = next((k for k, x in enumerate(outputs) if payload is x or payload is results[k]), None)
        if operand is not None:
            places.append(("operand", operand))
        elif output is not None:
            places.append(("output", output))
        else:
            places.append(("saved", len(saved)))
            saved.append(payload)
    return places, saved


def _is_whole(view: Any, array: Any) -> bool:
    """Is one the other, or a plain view of all of it?"""
    return view is array or (
        root_of(view) is root_of(array)
        and view.__array_interface__["data"][0] == array.__array_interface__["data"][0]
        and view.shape == array.shape
        and view.strides == array.strides
        and view.dtype == array.dtype
    )
