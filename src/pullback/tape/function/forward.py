"""Forward mode through a custom Function: its `jvp`, once for every level, and the checks on what it returns."""

from __future__ import annotations

from typing import Any

from pullback.core.spec import describe
from pullback.core.state import current, in_force, reinstate
from pullback.tape.forward.duals import attach_new, attach_written
from pullback.tape.forward.levels import ForwardLevel, handle, lend_tangent, live_levels, owned_tangent, tangent_of
from pullback.tape.function.node import ContextNode, Forward, in_jvp
from pullback.tape.function.rules import Statics
from pullback.tape.transform.interception import stand_in
from pullback.tensors.tensor import Tensor, zero_tangent
from pullback.tensors.views import view_of


def push_function(node: ContextNode, forward: Forward, raw: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    """Give the outputs of a call their tangents. `raw` is what `forward` returned, `results` what the caller gets."""
    levels = live_levels(forward.inputs)
    if levels and node._function.jvp is Statics.jvp:
        raise NotImplementedError(
            f"forward AD: an input of the Function {node._function.__name__} is dual, but it has no forward rule; "
            "implement the jvp static method"
        )
    twins = {id(out): result for out, result in zip(raw, results, strict=True) if isinstance(out, Tensor)}
    for index, level in enumerate(levels):
        older = levels[:index]
        tangents = tuple(_tangent(x, level, forward) for x in forward.inputs)
        saved = tuple(handle(twins.get(id(tensor), tensor), older) for tensor in forward.to_save_forward)
        versions = [None if tangent is None else tangent._version for tangent in tangents]
        pushed = _call_jvp(node, forward, tangents, saved)
        written = [t is not None and t._version != before for t, before in zip(tangents, versions, strict=True)]
        for number, (out, tangent) in enumerate(zip(results, pushed, strict=True)):
            if _attach(node, forward, number, out, level, tangent, tangents, written, pushed[:number]):
                for value in (*forward.inputs, *results[:number]):
                    lend_tangent(value, level)


def _tangent(value: Any, level: ForwardLevel, forward: Forward) -> Tensor | None:
    """The tangent of an input. That of an input which was written is going to be written too, so it is its own."""
    if not isinstance(value, Tensor):
        return None
    is_dirty = any(value is dirty for dirty in forward.dirty)
    return owned_tangent(value, level) if is_dirty else tangent_of(value, level)


def _call_jvp(node: ContextNode, forward: Forward, tangents: tuple[Any, ...], saved: tuple[Any, ...]) -> Any:
    """The tangents that the author's `jvp` computes, one per output.

    It runs while the call is in progress: `ctx.saved_tensors` is what `save_for_forward` kept, without this level.
    """
    fills = node._fills_tangents and node._call.materialize
    filled = tuple(
        zero_tangent(value)
        if tangent is None and fills and isinstance(value, Tensor) and value._spec.is_differentiable
        else tangent
        for tangent, value in zip(tangents, forward.inputs, strict=True)
    )
    if current().interceptors:
        stand_in([x for x in (*filled, *saved) if isinstance(x, Tensor)])
    settings = in_force()
    token = in_jvp.set((node, saved))
    try:
        results = node._function.jvp(node, *filled)
    finally:
        in_jvp.reset(token)
        reinstate(settings)
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != node.num_outputs:
        raise _problem(
            node,
            f"returned an invalid number of forward gradients: expected {node.num_outputs}, got {len(results)}",
        )
    return results


def _problem(node: ContextNode, what: str) -> RuntimeError:
    return RuntimeError(f"jvp of {node._function.__name__} {what}")


def _attach(
    node: ContextNode,
    forward: Forward,
    number: int,
    out: Any,
    level: ForwardLevel,
    tangent: Any,
    tangents: tuple[Any, ...],
    written: list[bool],
    earlier: tuple[Any, ...],
) -> bool:
    """True if the tangent is one of an input, or of an earlier output, too."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise _problem(node, f"returned a {type(tangent).__name__} for output {number}, expected a Tensor or None")
    is_differentiable = (
        isinstance(out, Tensor)
        and out._spec.is_differentiable
        and not any(out is value or out._data is value._data for value in forward.non_differentiable)
    )
    if not is_differentiable:
        if tangent is not None:
            raise _problem(
                node,
                f"returned a tangent for output {number}, which is not a differentiable output. You should return None "
                "at that position instead",
            )
        return False
    if tangent is not None and tangent.shape != out.shape:
        raise _problem(
            node,
            f"returned a tangent {describe(tangent.shape, tangent.dtype)} of different size for output {number}, which "
            f"is {describe(out.shape, out.dtype)}",
        )
    if any(out is dirty for dirty in forward.dirty):
        position = next(k for k, value in enumerate(forward.inputs) if value is out)
        own = tangents[position]
        if own is None:
            attach_written(out, level, tangent, tangents)
        elif tangent is not own or not written[position]:
            fault = "left a tangent as it was" if tangent is own else "is not returning them as-is"
            raise _problem(
                node,
                f"{fault}: for an input that is marked dirty the jvp function must modify the corresponding gradient "
                "inplace and return it as-is. This inplace custom Function is not modifying the forward mode gradients "
                "inplace",
            )
        return False
    source = _viewed_tangent(out, forward, tangents)
    if source is not None and not _is_view_of(tangent, source):
        raise _problem(
            node,
            f"broke the rule for output {number}, which is a view of an input: jvp is not returning a view of the "
            "given Tensor; return the same view of the input's tangent, such as t.view_as(t)",
        )
    return attach_new(out, level, tangent, (*tangents, *earlier))


def _viewed_tangent(out: Tensor, forward: Forward, tangents: tuple[Any, ...]) -> Tensor | None:
    """The tangent of the input that `out` is a view of."""
    info = view_of(out)
    if info is None:
        return None
    for value, tangent in zip(forward.inputs, tangents, strict=True):
        if isinstance(value, Tensor) and tangent is not None:
            own = view_of(value)
            if info.base is (value if own is None else own.base):
                return tangent
    return None


def _is_view_of(tangent: Tensor | None, source: Tensor) -> bool:
    if tangent is None or tangent is source:
        return False
    info, own = view_of(tangent), view_of(source)
    return info is not None and info.base is (source if own is None else own.base)
