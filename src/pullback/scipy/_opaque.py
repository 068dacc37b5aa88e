"""A solver inside of a graph: one node that runs it, and one that runs its derivative.

While a function is traced there are no numbers to solve with. So what is recorded is a callback: it runs the solver on
the tensors that arrive when the compiled function is called, as eager code would, and its derivative is a callback
that runs what eager code does in backward. That has derivatives of its own, in the same way, to every order. What
eager code refuses, as a solution that did not converge, is refused by these callbacks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd import grad
from pullback.autograd.function import Function
from pullback.core.state import NORMAL, current, put_in_force
from pullback.func._grad import vjp
from pullback.func._implicit import Equation
from pullback.func._jvp import jvp
from pullback.library import ShapeDtype, pure_callback
from pullback.operators.arrays.joining import concat
from pullback.payloads.batched import bare
from pullback.payloads.traced.array import TracedArray
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, made_here

_MOST = 8  # solutions that are kept for their derivatives

Run = tuple[Tensor, list[Tensor]]


def is_traced(*tensors: Tensor) -> bool:
    """Is one of these without numbers, a part of a graph?"""
    return any(type(bare(tensor._data)) is TracedArray for tensor in tensors)


def opaque(name: str, function: Callable[..., Tensor], shape: Sequence[int], dtype: Any, *tensors: Tensor) -> Tensor:
    """`function(*tensors)` as one node of the graph that is being traced; it gives a tensor of this shape and type."""
    return _Node.apply(Opaque(name, function, ShapeDtype(shape, dtype)), *tensors)


def solved(equation: Equation, like: Callable[[], Tensor], *values: Tensor) -> Tensor:
    """The solution of an equation; in a trace one node, which gives a tensor like this."""
    if not is_traced(*values):
        return equation(*values)
    known = like()
    return opaque(equation.name, equation, known.shape, known.dtype, *values)


class Opaque:
    """A function of tensors that eager code runs. `quickly`, if given, computes the same without a history."""

    def __init__(
        self, name: str, function: Callable[..., Tensor], result: ShapeDtype,
        quickly: Callable[[list[Any]], Any] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.function = function
        self.result = result
        self._quickly = quickly
        self._runs: OrderedDict[Any, Run] = OrderedDict()  # the latest, with their history

    def computed(self, *arrays: Any) -> Any:
        """The value, for arrays."""
        before = current()
        put_in_force(NORMAL)
        try:
            found = None if self._quickly is None else self._quickly(list(arrays))
            return np.array(self.run(arrays)[0].detach().numpy() if found is None else found)
        finally:
            put_in_force(before)

    def run(self, arrays: Sequence[Any]) -> Run:
        """The value with its history, and the leaves that it leads to; known for arrays that were there before."""
        key = tuple([array.tobytes() for array in arrays])
        found = self._runs.get(key)
        if found is None:
            given = [made_here(np.array(array)) for array in arrays]
            for tensor in given:
                tensor.requires_grad_(tensor.dtype.kind in "fc")
            found = self._runs[key] = (self.function(*given), given)
            if len(self._runs) > _MOST:
                self._runs.popitem(last=False)
        return found

    def pulled(self, sizes: list[int]) -> Opaque:
        """The gradients of the arguments, as one vector, for that of the value, which comes behind the arguments."""

        def function(*given: Tensor) -> Tensor:
            *values, gradient = given
            return _as_vector(vjp(self.function, *values)[1](gradient), values)

        def quickly(arrays: list[Any]) -> Any:
            *values, gradient = arrays
            out, leaves = self.run(values)
            wanted = [leaf for leaf in leaves if leaf.requires_grad]
            found = iter(grad(out, wanted, made_here(np.array(gradient)), retain_graph=True, allow_unused=True)
                         if out.requires_grad else [None] * len(wanted))  # fmt: skip
            parts = [next(found) if leaf.requires_grad else None for leaf in leaves]
            return _as_vector(parts, leaves).detach().numpy()

        return Opaque(self.name, function, ShapeDtype((sum(sizes),), self.result.dtype), quickly)

    def pushed(self, number: int) -> Opaque:
        """The tangent of the value, for tangents, which come behind the arguments."""

        def function(*given: Tensor) -> Tensor:
            return jvp(self.function, given[:number], given[number:])[1]

        def quickly(arrays: list[Any]) -> Any:
            with no_grad():
                return function(*[made_here(np.array(array)) for array in arrays]).numpy()

        return Opaque(self.name, function, self.result, quickly)


def _as_vector(parts: Sequence[Tensor | None], like: Sequence[Tensor]) -> Tensor:
    return concat([x.reshape(-1) * 0.0 if part is None else part.reshape(-1) for part, x in zip(parts, like)])


class _Node(Function):
    """The value of an `Opaque`."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(node: Opaque, *values: Tensor) -> Tensor:
        if is_traced(*values):
            found: Tensor = pure_callback(node.computed, node.result, *values, vmap_method="sequential")
            return found
        return made_here(node.computed(*[value.detach().numpy() for value in values]))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.node, *values = inputs
        ctx.save_for_backward(*values)
        ctx.save_for_forward(*values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        values = ctx.saved_tensors
        sizes = [int(np.prod(value.shape)) for value in values]
        whole = _Node.apply(ctx.node.pulled(sizes), *values, gradient)
        parts, first = [], 0
        for value, size in zip(values, sizes, strict=True):
            part = whole[first : first + size].reshape(value.shape)
            parts.append(part.real if part.dtype.kind == "c" and value.dtype.kind != "c" else part)
            first += size
        return (None, *parts)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Tensor:
        values = ctx.saved_tensors
        moves = [value * 0 if move is None else move for move, value in zip(tangents, values, strict=True)]
        return _Node.apply(ctx.node.pushed(len(values)), *values, *moves)
