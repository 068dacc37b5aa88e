"""What all solvers have in common: callbacks, their parameters, and results with tensors in them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from pullback.compiler.scalar_source import RAISED
from pullback.core.pytree import flatten
from pullback.errors import AutogradError, TraceError
from pullback.func._grad import value_and_grad
from pullback.func._implicit import Equation
from pullback.func._implicit.lift import Lifted, alone, constant_example, is_plain, lift
from pullback.func._implicit.linear import Array, Diff
from pullback.func._jacobian import jacobian, jacrev
from pullback.func._jvp import jvp
from pullback.payloads.batched import levels_of
from pullback.scipy._compiled import Fast, Rule, floating, known_lift, value_of
from pullback.scipy._opaque import is_traced, solved
from pullback.scipy._surface import Call, joined, numbers, scipy_module
from pullback.tape.function.batching import looped
from pullback.tensors.tensor import Tensor, made_here


def bound_to(function: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Callable[[Tensor], Any]:
    """A callback with its further arguments, as SciPy's `args` are understood."""
    further = args if isinstance(args, tuple) else (args,)
    if not further and not kwargs and isinstance(function, FunctionType):
        return function
    return lambda x: function(x, *further, **(kwargs or {}))


def one_tensor(x: Any) -> Any:
    """One tensor in the place of a list with tensors in it, whose derivatives its numbers would lose."""
    has_tensors = isinstance(x, list | tuple) and any(isinstance(leaf, Tensor) for leaf in flatten(x)[0])
    return joined(x) if has_tensors else x


def start(x: Any) -> Tensor:
    """A start value, a bracket end: a tensor of real or complex numbers."""
    x = one_tensor(x)
    if isinstance(x, Tensor):
        return x if x.dtype.kind in "fc" else made_here(x.detach().numpy().astype(float))
    x = np.asarray(numbers(x))
    return made_here(x.astype(np.result_type(x.dtype, np.float64)) if x.dtype != np.float32 else x.astype(float))


def flat_start(x0: Any) -> Tensor:
    """A start value as a vector."""
    x0 = start(x0)
    return x0.reshape(1) if not x0.ndim else x0


def outcome(call: Call, results: list[Any], **fields: Any) -> Any:
    """The result of the solver's run, with tensors in these fields. In a trace nothing has run, and they are all."""
    if not results:
        return traced_outcome(call.name, fields)
    result = results[-1]
    for name, value in fields.items():
        result[name] = value
    return result


def traced_outcome(name: str, fields: dict[str, Any]) -> Any:
    """What is known of a result while a function is traced: other fields end the trace."""

    class Outcome(scipy_module("optimize").OptimizeResult):  # type: ignore[misc]
        def __getattr__(self, field: str) -> Any:
            if field in self:
                return self[field]
            if field.startswith("__"):
                raise AttributeError(field)
            raise TraceError(
                f"`{field}` of the result of scipy.{name} is asked for inside of a compiled function",
                why=f"the solver runs when the compiled function does; until then only {', '.join(self)} are known",
                fix="ask for it outside of the compiled function",
            )

    return Outcome(fields)


class Callback:
    """A function of one tensor that a solver calls with arrays: itself, its gradient, its Jacobian.

    `values` are what stands in the places of the tensors that the function takes from outside.
    """

    __slots__ = ("_is_own", "fast", "function")

    def __init__(self, lifted: Lifted, values: Sequence[Tensor], diff: Diff | None = None) -> None:
        self._is_own = all(map(operator.is_, values, lifted.tensors))
        self.function = lambda x: joined(lifted(values, x))
        self.fast = Fast(lifted, values) if diff is None or diff.compile else None

    @property
    def is_traced(self) -> bool:
        """Does compiled code stand for the function, which then uses the same tensors at every place?"""
        return self.fast is not None and self.fast.is_traced

    def supplied(self, given: Any) -> Any:
        """A derivative that the user gave, or None if it would see other values than the function: it closes over the
        batch of a map, or over what a trace has recorded, and the function is solved for one example or one call."""
        return None if callable(given) and not self._is_own else given

    def __call__(self, x: Any) -> Array:
        return self._computed("value", value_of, x)

    def number(self, x: Any) -> Any:
        """The value at a number."""
        out = self._computed("value", value_of, x)
        return out.item() if out.size == 1 else out

    def of_numbers(self) -> Callable[[float], Any]:
        """The function of a number, for a solver that calls nothing else of the user's."""
        computed = None if self.fast is None else self.fast.on_numbers("value")
        if computed is None:
            return self.number

        def number(x: float) -> Any:
            try:
                out = computed(x)[0]
            except RAISED:
                return self.number(x)
            return out if type(out) is float else self.number(x)  # one number, in a vector

        return number

    def jacobian(self, x: Any) -> Array:
        """The matrix of derivatives."""
        return self._computed("jacobian", _slopes_of, x).reshape(-1, np.size(x))

    def slope(self, x: Any) -> Any:
        """The derivative of a function of one number, or of each by its own."""
        return self.jacobian(x).item() if np.ndim(x) == 0 else np.diagonal(self.jacobian(x)).reshape(np.shape(x))

    def with_gradient(self, x: Any) -> tuple[float, Array]:
        """The value of a scalar function and its gradient."""
        gradient, value = self._computed("gradient", _gradient_of, x)
        return float(value), gradient

    def hessian(self, x: Any) -> Array:
        """The matrix of second derivatives."""
        return self._computed("hessian", _hessian_of, x)

    def hessian_product(self, x: Any, direction: Any) -> Array:
        """Its product with a direction."""
        return self._computed("product", _product_of, x, direction)

    def _computed(self, kind: str, make: Callable[[Any], Any], *args: Any) -> Any:
        """`make(function)` at these arrays, by compiled code where there is some."""
        found = None if self.fast is None else self.fast(kind, make, *args)
        if found is not None:
            return found
        out = make(self.function)(*(made_here(floating(arg)) for arg in args))
        return tuple(part.detach().numpy() for part in out) if isinstance(out, tuple) else out.detach().numpy()


def _slopes_of(function: Callable[[Tensor], Any]) -> Callable[[Tensor], Tensor]:
    return lambda x: slopes(function, x)


def _gradient_of(function: Callable[[Tensor], Any]) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    return lambda x: value_and_grad_of(function, x)


def _hessian_of(function: Callable[[Tensor], Any]) -> Callable[[Tensor], Tensor]:
    return lambda x: jacrev(lambda v: value_and_grad_of(function, v)[0])(x)


def _product_of(function: Callable[[Tensor], Any]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, along: jvp(lambda v: value_and_grad_of(function, v)[0], (x,), (along,))[1]


def slopes(function: Callable[[Tensor], Any], at: Tensor) -> Tensor:
    """The Jacobian of a function, as a vector, in the cheaper mode that it can be computed in."""

    def flat(v: Tensor) -> Tensor:
        return joined(function(v)).reshape(-1)

    try:
        return jacobian(flat)(at)
    except AutogradError as error:
        if error.code != "SCIPY_DYNAMIC_SHAPE":
            raise
        return jacrev(flat)(at)  # a solution inside, which takes its own steps for each direction forwards


def value_and_grad_of(function: Callable[[Tensor], Any], x: Tensor) -> tuple[Tensor, Tensor]:
    """`(gradient, value)` of a function that returns one number, with or without axes."""
    value, gradient = value_and_grad(lambda v: joined(function(v)).reshape(()))(x)
    return gradient, value


def solution(
    call: Call,
    function: Callable[[Tensor], Any],
    x0: Tensor,
    residual: Callable[[Callable[[Tensor], Any], Tensor], Any],
    solver: Callable[[Callback, Tensor], tuple[Any, str]],
    **more: Any,
) -> Tensor:
    """What `solver` finds for a callback, from a start value on, as a function of all that the callback depends on.

    `residual(function, y)` is zero at the solution; `solver` gets the callback for arrays and the start, and returns
    the solution and what went wrong. The start has no influence on a solution: its derivative is zero.
    """
    known: list[tuple[Any, Any]] = []
    fast: Fast | None = None
    lifted = (known_lift if call.diff.compile else lift)(call.name, function, constant_example(x0))
    if is_plain(x0, *lifted.tensors):  # solved here, so that what is used close to the solution is found as well
        callback = Callback(lifted, lifted.tensors, call.diff)
        with alone():
            known.append(solver(callback, x0))
        if not callback.is_traced:
            lifted = lifted.at(made_here(np.array(known[0][0])))
        elif residual is zero:
            fast = callback.fast

    def found(values: list[Tensor]) -> tuple[Any, Any]:
        if known:
            return known.pop()
        y, failure = solver(Callback(lifted, values[1:], call.diff), values[0])
        lifted.check(values[1:], made_here(np.array(y)))
        return y, failure

    equation = Equation(
        call.name, lambda values, y: residual(lambda v: joined(lifted(values[1:], v)), y), found, call.diff,
        rule=rule_of(call, lifted, lambda y: residual(lambda v: joined(function(v)), y), fast), **more,
    )  # fmt: skip
    return solved(equation, lambda: x0, x0, *lifted.tensors)


def rule_of(
    call: Call, lifted: Lifted, residual: Callable[[Any], Any], fast: Fast | None = None
) -> Callable[[list[Tensor]], Rule] | None:
    """The compiled rule of an equation whose first value is the start, if callbacks are compiled."""
    return (lambda values: Rule(lifted, values, residual, 1, fast)) if call.diff.compile else None


def zero(function: Callable[[Tensor], Any], y: Tensor) -> Any:
    """What is zero at a root: the function itself."""
    return function(y)


def mapped(name: str, function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """A function of tensors that is called for one example of the innermost vmap after the other."""
    levels = {level for tensor in tensors for level in levels_of(tensor._data)}
    example = SimpleNamespace(apply=function, __name__=name)
    found: Tensor = looped(example, tensors, max(levels, key=lambda level: level.stamp))
    return found


def refuse_traced(name: str, *tensors: Tensor) -> None:
    """Refuse tensors without values: what runs SciPy cannot be a part of a graph."""
    if is_traced(*tensors):
        raise TraceError(
            f"scipy.{name} cannot be traced",
            why="how many results there are is only known when SciPy has computed, and a graph has to know it before",
            fix="give t_eval, and neither events, dense_output nor full_output; or call it outside",
        )
