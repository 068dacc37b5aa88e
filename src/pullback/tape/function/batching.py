"""A custom Function on batched arguments: the author's `vmap`, the methods as they are, or one example at a time.

Operators commute with vmap, so for them it does not matter whether one records first or batches first. A Function with
a `vmap` of its own need not commute: its `backward` may look at the whole gradient. So the order is that of the
transforms. If the batch is innermost, the boundary is crossed and `vmap` runs, recorded, on arrays with the batch
axis; if a differentiation is further in, the Function is recorded for one example, and `vmap` only computes values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pullback.core.spec import describe
from pullback.core.state import VmapLevel, change, changed, current, in_force, reinstate
from pullback.declare.op import registry
from pullback.payloads.batched import levels_of
from pullback.payloads.batched.crossing import enter_level, leave_level
from pullback.tape.forward.levels import live_levels
from pullback.tape.function.outputs import tensors_in, with_tensors
from pullback.tape.function.rules import CallPlan, Statics, batching_rule, check_batched_result
from pullback.tape.history import requires_grad
from pullback.tape.transform.tokens import deps_of
from pullback.tensors.tensor import Tensor, made_here
from pullback.tensors.views import view_of


class VmapInfo(NamedTuple):
    """What a batching rule is told about the map it is part of."""

    batch_size: int
    randomness: str


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """`value` with the function's results for what is in its lists, tuples and dictionaries, or for itself."""
    if type(value) in (list, tuple):
        return type(value)([_mapped(function, part) for part in value])
    if type(value) is dict:
        return {key: _mapped(function, part) for key, part in value.items()}
    return function(value)


def answered_by_rule(
    cls: type[Statics], inputs: tuple[Any, ...], kwargs: dict[str, Any], plan: CallPlan
) -> tuple[bool, Any]:
    """`(True, result)` if batching answers the whole call, else `(False, what to run as forward)`."""
    levels = {level for x in tensors_in(inputs) for level in levels_of(x._data)}
    if not levels:
        return False, plan.forward
    level = max(levels, key=lambda each: each.stamp)
    rule = batching_rule(cls)
    if cls.generate_vmap_rule == "loop":
        return True, looped(cls, inputs, level)
    if rule is None:
        return False, plan.forward
    if _is_innermost(level, inputs):
        return True, _by_rule(cls, rule, inputs, level)
    if not plan.is_split:
        return False, plan.forward  # this style of forward fills ctx itself, so it has to run
    return False, lambda *values: _values_of(_by_rule(cls, rule, values, level), values)


def _is_innermost(level: VmapLevel, inputs: tuple[Any, ...]) -> bool:
    """Is every differentiation that wants something of this call older than the level?"""
    if any(forward.stamp > level.stamp for forward in live_levels(inputs)):
        return False
    return not any(
        token.live and token.stamp > level.stamp
        for x in inputs
        if isinstance(x, Tensor) and requires_grad(x)
        for token in deps_of(x) or ()
    )


def _values_of(result: Any, inputs: tuple[Any, ...]) -> Any:
    """What a rule computed, where only values are wanted: tensors of their own, and not views of what crossed the
    boundary of the batch, which have no tangents. A view of an input stays one."""
    if isinstance(result, tuple):
        return tuple(_values_of(part, inputs) for part in result)
    info = view_of(result) if isinstance(result, Tensor) else None
    if info is None or any(info.base is _root(x) for x in inputs if isinstance(x, Tensor)):
        return result
    return made_here(result._data)


def _root(tensor: Tensor) -> Tensor:
    info = view_of(tensor)
    return tensor if info is None else info.base


def _without(level: VmapLevel) -> tuple[VmapLevel, ...]:
    return tuple(other for other in current().vmaps if other is not level)


def _by_rule(cls: type[Statics], rule: Callable[..., Any], inputs: tuple[Any, ...], level: VmapLevel) -> Any:
    def is_batched(x: Any) -> bool:
        return isinstance(x, Tensor) and level in levels_of(x._data)

    in_dims = _mapped(lambda x: 0 if is_batched(x) else None, inputs)
    physical = _mapped(lambda x: leave_level(x, axis=0, level=level) if is_batched(x) else x, inputs)
    settings = in_force()
    change(vmaps=_without(level))
    try:
        result = rule(VmapInfo(level.size, level.randomness), in_dims, *physical)
        check_batched_result(cls, result)
        output, out_dims = result
        output = with_tensors(output, physical)
    finally:
        reinstate(settings)
    if not isinstance(output, tuple):
        if isinstance(out_dims, tuple) and len(out_dims) == 1:
            (out_dims,) = out_dims
        return _entered(cls, output, out_dims, level)
    if not isinstance(out_dims, tuple):
        out_dims = (out_dims,) * len(output)
    if len(out_dims) != len(output):
        raise RuntimeError(
            f"the vmap method of {cls.__name__} returned an incompatible (out_dims, output) pair, {out_dims!r} for "
            f"{len(output)} outputs: return one int or None for each"
        )
    return tuple(_entered(cls, out, dim, level) for out, dim in zip(output, out_dims, strict=True))


def _entered(cls: type[Statics], out: Any, dim: Any, level: VmapLevel) -> Any:
    if type(out) in (list, tuple) and type(dim) is type(out) and len(dim) == len(out):
        return type(out)([_entered(cls, part, own, level) for part, own in zip(out, dim, strict=True)])
    if dim is None or not isinstance(out, Tensor):
        return out
    if not isinstance(dim, int) or not -out.ndim <= dim < out.ndim or out.shape[dim] != level.size:
        raise RuntimeError(
            f"the vmap method of {cls.__name__} returned an incompatible (out_dims, output) pair, {dim!r} for "
            f"{describe(out.shape, out.dtype)}: return None, or the int of an axis of length {level.size}"
        )
    return enter_level(out, axis=dim % out.ndim, level=level)


def looped(cls: Any, inputs: tuple[Any, ...], level: VmapLevel) -> Any:
    """Example by example. Every tensor gets the batch axis, so that its gradient is known for each of them."""
    physical = _mapped(lambda x: leave_level(x, axis=0, level=level) if isinstance(x, Tensor) else x, inputs)

    def example(index: int) -> Any:
        return _mapped(lambda x: x[index] if isinstance(x, Tensor) else x, physical)

    with changed(vmaps=_without(level)):
        rows = [cls.apply(*example(index)) for index in range(level.size)]
        if not rows:
            raise RuntimeError(f"{cls.__name__}: an empty batch has no example for generate_vmap_rule='loop' to run")
        if isinstance(rows[0], tuple):
            stacked = tuple(_stacked(parts) for parts in zip(*rows, strict=True))
            return tuple(_entered(cls, part, 0, level) for part in stacked)
        return _entered(cls, _stacked(rows), 0, level)


def _stacked(parts: Any) -> Any:
    first = parts[0]
    return registry["_stack"](*parts, axis=0) if isinstance(first, Tensor) else first
