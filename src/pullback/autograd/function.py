"""Custom Functions: operations whose derivative is written by hand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.core.frames import warn
from pullback.core.state import change, current
from pullback.errors import AutogradError
from pullback.tape.function.apply import apply_function
from pullback.tape.function.node import FunctionNode
from pullback.tape.function.rules import Statics, check_one_backward
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.node import ErrorNode, Node
from pullback.tensors.tensor import Tensor, alias

__all__ = ["Function", "InplaceFunction", "once_differentiable"]


class Function(Statics):
    """Base class of operations with a hand-written derivative. Subclass it, and call the subclass's `apply`.

    `ctx` is the node of the call: `ctx.save_for_backward(...)` keeps tensors, any other attribute may be set on it.
    A `forward` without `ctx` is accompanied by `setup_context(ctx, inputs, output)`.

    >>> class Cube(pb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x**2 * g
    >>> x = pb.tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor([12.])
    """

    _node_class: type[FunctionNode] = FunctionNode

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_one_backward(cls)
        cls._node_class = _node_class_of(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self).__name__} should not be instantiated. Methods on autograd functions are static: use `apply`",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a Function is used through `apply`."""
        raise RuntimeError(
            f"a Function is not called but applied: {type(self).__name__}.apply(...). Legacy autograd function with "
            "non-static forward method is deprecated"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` on these arguments; what it returns is differentiated by `backward`."""
        return apply_function(cls, cls._node_class, args, kwargs)


def _node_class_of(cls: type[Function]) -> type[FunctionNode]:
    module = getattr(cls, "__module__", "")  # code that `exec` runs may have none
    members = {"__slots__": (), "__module__": module, "_function": cls, "__doc__": FunctionNode.__doc__}
    return type(f"{cls.__name__}Backward", (FunctionNode,), members)


Function._node_class = _node_class_of(Function)


class InplaceFunction(Function):
    """The same as `Function`; the name says that `forward` writes its arguments. See `ctx.mark_dirty`."""


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A `backward` that cannot be differentiated itself: it runs with grad mode off, and asking for a second
    derivative through it is an error instead of a silent zero.

    >>> class Erf(pb.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return pb.asarray(scipy.special.erf(x.numpy()))
    ...
    ...     @staticmethod
    ...     @pb.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * pb.asarray(2 / np.sqrt(np.pi) * np.exp(-(x.numpy() ** 2)))
    """

    @functools.wraps(backward)
    def guarded(ctx: Any, *grads: Any) -> Any:
        if not current().grad:
            return backward(ctx, *grads)
        gradients = grads[0] if ctx._function.boxed_grads_call else grads
        edges = [*ctx.edges(), *(edge_of(g) for g in gradients if isinstance(g, Tensor) and requires_grad(g))]
        previous = change(grad=False)
        try:
            results = backward(ctx, *grads)
        finally:
            change(**previous)
        if isinstance(results, tuple):
            return tuple(_not_differentiable(value, ctx, edges) for value in results)
        return _not_differentiable(results, ctx, edges)

    return guarded


def _not_differentiable(value: Any, ctx: FunctionNode, edges: list[tuple[Node | None, int]]) -> Any:
    """`value` with a history that raises when it is differentiated."""
    if not isinstance(value, Tensor) or not value._spec.is_differentiable:
        return value
    error = AutogradError(
        "ONCE_DIFFERENTIABLE",
        f"the backward of {ctx._function.__name__} is marked once_differentiable and is being differentiated",
        where=ctx.name(),
        why="it was run without recording, so the second derivative would be silently zero",
        fix="remove the decorator and write the backward with differentiable operations",
    )
    guarded = alias(value)
    guarded._node, guarded._nr = ErrorNode.behind(value._spec, edges, error), 0
    return guarded
