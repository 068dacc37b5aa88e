"""Reverse formulas, whichever way they were registered. The `vjp` of each becomes the rule of the operator.

It turns gradients of the outputs, `gs`, into those of the operands, one each. What else it reads its parameters say, as
for any other rule (`declare/op.py`).

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

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, NamedTuple

from pullback.core.pytree import flatten, unflatten
from pullback.core.state import current
from pullback.declare.op import Op, Rule
from pullback.errors import AutogradError, TraceError
from pullback.library._call import STATIC, TENSOR, Call
from pullback.library._fake import constants_of, form_of
from pullback.library._gradients import flat_gradients, gradients_by_name, transposed
from pullback.library._kernel import _arguments, checked, root_of
from pullback.library._tracing import run_forward_traced
from pullback.payloads.batched import each_example
from pullback.payloads.traced import user_location
from pullback.tensors.tensor import Tensor, alias, wrap


class Reverse:
    """A reverse formula."""

    node_name: str | None = None
    location = "nowhere"
    vjp: Callable[..., list[Any]]

    def rule(self, op: Op) -> Rule:
        """The formula as a rule of `op`."""
        return Rule(op, self.vjp)


# `Residuals`: the reverse formula of `defvjp_all`, and what its `fwd` was seen to keep.
#
# `fwd` is NumPy code, as a kernel is, so a trace cannot run it. What a run with arguments of the same form has kept
# tells the shapes of the residuals; without such a run a trace is refused.

_MOST_RUNS = 64
Place = tuple[str | None, Any]


class ForwardRun(NamedTuple):
    """One run of `fwd`: arrays, or only their forms where the run is remembered."""

    outputs: Sequence[Any]
    saved: Sequence[Any]  # the residuals that are neither argument nor output
    places: list[Place]  # where each leaf of the residuals is found
    structure: Any
    counts: Any

    @property
    def statics(self) -> tuple[Any, ...]:
        """The residuals that are no arrays."""
        return tuple([value for source, value in self.places if source is None])


class Residuals(Reverse):
    """`fwd(*args, **kw) -> (output, residuals)` in place of the kernel, and `bwd(residuals, *g)`."""

    def __init__(self, forward: Any, backward: Any, location: str) -> None:
        self.forward = forward
        self.function = backward
        self.location = location
        self._runs: dict[Any, ForwardRun] = {}

    def run(self, call: Call, arrays: Sequence[Any]) -> ForwardRun:
        """Run `fwd`, and remember the form of what it returned."""
        given = _arguments(call, arrays)
        returned = self.forward(*given, **call.keywords)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(
                f"the fwd of {call.definition.qualname}, registered at {self.location}, must return a pair "
                f"(output, residuals), got {type(returned).__name__}"
            )
        flat = checked(call, returned[0], arrays, given, call.keywords)
        leaves, structure = flatten(returned[1])
        places, saved = _placed(leaves, arrays, flat, returned[0])
        found = ForwardRun(flat, saved, places, structure, call.counts)
        constants = constants_of(call)
        if constants is not None and all(hasattr(each, "dtype") for each in flat):
            if len(self._runs) >= _MOST_RUNS:
                self._runs.clear()
            self._runs[constants, form_of(arrays)] = found._replace(outputs=form_of(flat), saved=form_of(saved))
        return found

    def known_run(self, call: Call, operands: Sequence[Any]) -> ForwardRun:
        """The forms of what `fwd` returns for operands like these. Sets the call's `counts`."""
        constants = constants_of(call)
        found = None if constants is None else self._runs.get((constants, form_of(operands)))
        if found is None:
            name = call.definition.qualname
            raise TraceError(
                f"there is no fake impl for the fwd of {name}, so the shapes of its residuals are not known without "
                "running it",
                location=user_location(),
                why=f"fwd, registered at {self.location}, is NumPy code, which does not run while a function is traced",
                fix="call the operator once on arguments of these shapes that require grad before, or give it a "
                "formula with register_autograd, which can be traced",
            )
        call.counts = found.counts
        return found

    def set_up(self, ctx: Any, call: Call, operands: Any, outputs: Any) -> None:
        """Keep the residuals that the run of `fwd` has left with the call, or those of another run."""
        if call.residuals is None:
            run_forward(self, call, [x._data for x in operands])
        structure, places, saved = call.residuals
        call.residuals = None
        ctx._residuals = structure, places
        ctx.save_for_backward(*[wrap(each) for each in saved])

    def vjp(self, ctx: Any, gs: Any, operands: Any, outs: Any, call: Call) -> list[Any]:
        structure, places = ctx._residuals
        sources = {"operand": operands, "output": outs, "saved": ctx.saved_tensors}
        leaves = [value if source is None else sources[source][value] for source, value in places]
        return flat_gradients(call, self.function(unflatten(structure, leaves), *gs), self.location)


def run_forward(residuals: Residuals, call: Call, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a call, computed by `fwd` in place of the kernel; the residuals stay with the call."""
    trace = current().trace
    last: Any = None

    def run(*arrays: Any) -> Any:
        nonlocal last
        if trace is None:
            last = residuals.run(call, arrays)
            return (*last.outputs, *last.saved)
        last = residuals.known_run(call, arrays)
        return run_forward_traced(trace, call, arrays, last.outputs, last.saved, last.statics)

    everything = each_example(call.definition.qualname, run, *operands)
    count = len(last.outputs)
    call.residuals = last.structure, last.places, everything[count:]
    return tuple(everything[:count])


def _placed(leaves: list[Any], arrays: Any, outputs: Any, returned: Any) -> tuple[list[Place], list[Any]]:
    """For every leaf of the residuals where it is kept, and the arrays that are neither argument nor output."""
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    places: list[Place] = []
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


class Formula(Reverse):
    """`backward(ctx, *gradients)` with gradients by return, lists as lists."""

    def __init__(self, function: Callable[..., Any], location: str) -> None:
        self.function = function
        self.location = location

    def vjp(self, ctx: Any, gs: Any, call: Call) -> list[Any]:
        return flat_gradients(call, self.function(ctx, *call.per_return(gs)), self.location)


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

    def vjp(self, ctx: Any, gs: Any, call: Call) -> list[Any]:
        structure, leaves = ctx._tree
        tensors = iter(ctx.saved_tensors)
        saved = unflatten(structure, [next(tensors) if leaf is None else leaf[0] for leaf in leaves])
        returned = self.function(SimpleNamespace(), saved, *call.per_return(gs))
        return gradients_by_name(call, returned, self.location)


class Rules(Reverse):
    """`rule(ans, *args, **kw) -> (g -> gradient)`, one per argument; None says that there is no gradient."""

    registered_by = "defvjp"

    def __init__(self, rules: dict[int, Any], location: str) -> None:
        self.rules = rules
        self.location = location

    def vjp(self, gs: Any, operands: Any, outs: Any, needs: tuple[bool, ...], call: Call) -> list[Any]:
        arguments, ans = call.arguments(operands), call.results(outs)
        flat: list[Any] = [None] * len(operands)
        for position, (kind, data) in enumerate(call.layout):
            places = () if kind == STATIC else (data,) if kind == TENSOR else data
            if not any(index is not None and needs[index] for index in places):
                continue
            if position not in self.rules:
                raise no_rule(call, position, self.registered_by)
            rule = self.rules[position]
            value = None if rule is None else self.gradient(rule(ans, *arguments, **call.keywords), gs, ans)
            if kind == TENSOR:
                flat[data] = value
            elif value is not None:
                for index, each in zip(places, value, strict=True):
                    if index is not None:
                        flat[index] = each
        return flat

    def gradient(self, made: Any, gs: Any, ans: Any) -> Any:
        """The gradient of an argument, from what its rule has made."""
        return made(tuple(gs) if isinstance(ans, tuple) else gs[0])


class Partials(Rules):
    """`rule(ans, *args, **kw) -> partial derivative`, one per argument of an elementwise operator."""

    registered_by = "defpartials"

    def gradient(self, made: Any, gs: Any, ans: Any) -> Any:
        if hasattr(made, "conj"):
            made = made.conj()
        elif isinstance(made, complex):
            made = made.conjugate()
        return gs[0] * made


# The operators whose forward formula is being transposed here.
_transposing: ContextVar[frozenset[str]] = ContextVar("pullback_transposing", default=frozenset())


class Transposed(Reverse):
    """The transpose of the forward formula. If the formula sends tangents through the operator itself, which is then
    said to be linear, there is nothing to take the transpose of."""

    def __init__(self, forward: Any) -> None:
        self.forward = forward
        self.location = forward.location

    def rule(self, op: Op) -> Rule:
        """The rule, which reads what the forward one reads."""
        made, forward = super().rule(op), self.forward.rule(op)
        made.reads_all_operands, made.reads_all_outputs = forward.reads_all_operands, forward.reads_all_outputs
        return made

    def vjp(self, ctx: Any, gs: Any, needs: tuple[bool, ...], call: Call) -> list[Any]:
        specs = ctx._specs
        name = call.definition.qualname
        if name in _transposing.get():
            raise NotImplementedError(
                f"{name} is linear, which gives it a forward formula, but not its transpose: give it a reverse formula "
                "with register_autograd"
            )
        needed = [index for index, wanted in enumerate(needs) if wanted]

        def push(tangents: list[Any]) -> list[Any]:
            every: list[Any] = [None] * len(specs)
            for index, tangent in zip(needed, tangents, strict=True):
                every[index] = tangent
            return list(ctx._pushed(every))

        token = _transposing.set(_transposing.get() | {name})
        try:
            found = transposed(
                name, push, [specs[index] for index in needed], gs,
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
            flat[index] = alias(gradient) if any(gradient is g for g in gs) else gradient
        return flat


class Missing(Reverse):
    """No formula: results require grad, and asking for it raises."""

    def vjp(self, ctx: Any, call: Call) -> list[Any]:
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
