"""`jvp` and `linearize`: derivatives in a direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback._sites import told
from pullback.core.doors import door, leave
from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.core.state import current, put_back
from pullback.func._grad import vjp
from pullback.func._made import kept_here
from pullback.tape.forward.duals import dual_argument, unpacked_at
from pullback.tape.forward.levels import Dual, ForwardLevel, live_levels
from pullback.tape.transform.body import argument_handle, as_differentiable, differentiating, split_aux
from pullback.tape.transform.recording import Recording, check_outputs
from pullback.tape.transform.tokens import without_room
from pullback.tensors.tensor import Tensor, as_constant, extra_for, gradient_like, shared_counter, zero_tangent


@door
def jvp(
    function: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """The value of a function at `primals` and its derivative in the direction `tangents`.

    Both are tuples with one entry per argument; a tangent of None is zero. With `strict` an output that does not
    depend on the primals is an error instead of a zero tangent. With `has_aux` the function returns `(output, aux)`,
    and the result is `(output, tangent, aux)`.

    >>> pb.func.jvp(pb.sin, (pb.tensor(0.0),), (pb.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if _are_plain(primals, tangents):
        leaves, directions, structure = primals, tangents, None
    else:
        leaves, directions, structure = _checked_arguments(primals, tangents)
    before = current()
    try:
        return _run(function, leaves, directions, structure, strict, has_aux)
    except BaseException as error:
        put_back(error, before)
        leave(error)
        raise


def _run(
    function: Callable[..., Any], leaves: Any, directions: Any, structure: Any, strict: bool, has_aux: bool
) -> Any:
    with differentiating("jvp", is_forward=True) as transform:
        given = [
            argument_handle(leaf, transform) if direction is None else dual_argument(leaf, direction, transform)
            for leaf, direction in zip(leaves, directions)  # as many of both: checked, or there is one structure
        ]
        output = function(*(given if structure is None else unflatten(structure, given)))
        if not has_aux:
            return _taken_apart(transform.level, output) or _parts(transform.level, output, strict)
        output, aux = split_aux("jvp", output, has_aux)
        values, slopes = _parts(transform.level, output, strict)
        return values, slopes, map_leaves(lambda leaf: _without(transform.level, leaf), aux)


def _taken_apart(level: ForwardLevel, output: Any) -> tuple[Tensor, Tensor] | None:
    """The value and the tangent of the usual output, a tensor with one tangent and nothing else, which it loses."""
    modes = current()
    dual: Any = output._extra if type(output) is Tensor and modes.trace is None else None
    if type(dual) is not Dual:
        return None
    if len(modes.transforms) > 1:
        shared_counter(output)  # knows when the memory was made, as the dual does
    elif type(dual.memory) is int:
        dual.memory = 0  # nobody asks when it was made, outside of all transforms
    slope = dual.take(level, output._spec)
    if slope is None:
        return None
    output._extra = None
    return output, slope


def _parts(level: ForwardLevel, output: Any, strict: bool) -> tuple[Any, Any]:
    """The values of all outputs without tangents at the level, and these tangents."""
    outputs, structure = check_outputs("jvp", output, allow_integers=True)
    parts = [_unpacked(level, out, strict) for out in outputs]
    for value, _ in parts:
        _strip(level, value)
    values = unflatten(structure, [value for value, _ in parts])
    return values, unflatten(structure, [slope for _, slope in parts])


def _are_plain(primals: Any, tangents: Any) -> bool:
    """Are these tuples of differentiable tensors, as many of both, as usual? Then nothing is to be flattened."""
    if type(primals) is not tuple or type(tangents) is not tuple or len(primals) != len(tangents) or not primals:
        return False
    for primal in primals:
        if type(primal) is not Tensor or not primal._spec.is_differentiable:
            return False
    for tangent in tangents:
        if tangent is not None and (type(tangent) is not Tensor or not tangent._spec.is_differentiable):
            return False
    return True


def _checked_arguments(primals: Any, tangents: Any) -> tuple[list[Tensor], list[Tensor | None], Any]:
    """The leaves of both, and the structure that they share."""
    if not isinstance(primals, tuple):
        raise told(
            RuntimeError(f"jvp: Expected primals to be a tuple, one entry per argument, got {type(primals).__name__}"),
            why="the function may have several arguments, each with a tangent",
            fix="write jvp(f, (x,), (t,)) for jvp(f, x, t)",
        )
    leaves, structure = flatten(primals)
    if not leaves:
        raise RuntimeError("jvp: Expected primals to have at least one Tensor")
    values = [_tensor_leaf(leaf, "primals") for leaf in leaves]
    directions, given = flatten(tangents)
    if given != structure:
        raise RuntimeError(
            f"jvp: Expected primals and tangents to have the same python structure, got {structure} and {given}"
        )
    return values, [None if leaf is None else _tensor_leaf(leaf, "tangents") for leaf in directions], structure


def _tensor_leaf(leaf: Any, name: str) -> Tensor:
    try:
        return as_differentiable(leaf, "jvp")
    except ValueError as error:
        raise told(
            RuntimeError(f"jvp: Expected {name} to only contain Tensors, got {type(leaf).__name__}"),
            why=getattr(error, "why", ""),
            fix=getattr(error, "fix", ""),
        ) from error


def _unpacked(level: ForwardLevel, out: Tensor, strict: bool) -> tuple[Tensor, Tensor]:
    slope = _only_tangent(level, out)
    if slope is not None:
        return out, slope if current().vmaps else without_room(slope)
    value, slope = (out, None) if level not in live_levels((out,)) else unpacked_at(level, out)
    if slope is None:
        if strict:
            raise RuntimeError(
                "jvp: with strict=True every output must depend on the primals, but one of them is independent of them"
            )
        slope = zero_tangent(out)
    return value, slope


def _only_tangent(level: ForwardLevel, out: Tensor) -> Tensor | None:
    """The tangent of a result that the body made, if it has no other: there is nothing to take apart then."""
    extra = out._extra
    if extra is None or extra.view is not None or extra.inference or extra.forward is None or len(extra.forward) != 1:
        return None
    return extra.forward.get(level)


def _strip(level: ForwardLevel, value: Tensor) -> None:
    """Remove a tangent that would vanish with the level in a moment, and with it what makes operations take care."""
    if _only_tangent(level, value) is None:
        return
    extra = value._extra
    extra.forward = None  # type: ignore[union-attr]
    if value._node is None and not extra.readonly and extra.deps is None:  # type: ignore[union-attr]
        shared_counter(value)
        value._extra = extra_for(value._data)


def _without(level: ForwardLevel, value: Any) -> Any:
    return unpacked_at(level, value).primal if isinstance(value, Tensor) and level in live_levels((value,)) else value


@door
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and its derivative at that point as a linear function of tangents.

    The function runs once. `lin(*tangents)` may be called any number of times, transformed and mapped; it is
    differentiable with respect to the tangents and, through the point, with respect to the primals.

    >>> output, lin = pb.func.linearize(lambda x: x * x, pb.tensor([1.0, 3.0]))
    >>> lin(pb.tensor([1.0, 1.0]))
    tensor([2., 6.])
    """
    # Gradients are a linear function of the cotangent, `c -> J^T c`. Recorded once, its own transpose is `t -> J t`.
    recording = Recording("linearize")
    returned = recording.run(function, primals, {})
    output, aux = split_aux("linearize", returned, has_aux)
    outputs, structure = check_outputs("linearize", output, allow_integers=False)
    recording.keep_outputs(outputs)
    transposed = Recording("linearize")
    seeds = tuple(gradient_like(out, 0) for out in outputs)
    gradients = transposed.run(lambda *cotangents: recording.pull(list(cotangents), True, True), seeds, {})
    flat, _ = flatten(gradients)
    transposed.keep_outputs(flat)
    arguments = flatten(primals)[1]

    @kept_here
    def lin(*tangents: Any) -> Any:
        leaves, given = flatten(tangents)
        if given != arguments:
            raise RuntimeError(
                f"linearize: the tangents must have the same argspec as the primals, {arguments}, got {given}"
            )
        directions = [_direction(index, leaf, at) for index, (leaf, at) in enumerate(zip(leaves, flat, strict=True))]
        return unflatten(structure, transposed.pull(directions, True, current().grad))

    finished = recording.finish(output)
    if has_aux:
        return finished, lin, recording.finish(aux)
    return finished, lin


def _direction(index: int, leaf: Any, primal: Tensor) -> Tensor | None:
    if leaf is None:
        return None
    value = as_constant(leaf)
    if value.shape != primal.shape or value.dtype != primal.dtype:
        raise RuntimeError(
            f"linearize: tangent {index}, counted over all leaves, is {value._spec!r}, but the primal is "
            f"{primal._spec!r}"
        )
    return value


@door
def linear_transpose(function: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function, such as `linearize` returns, as a function of cotangents.

    Of `primals` only structure, shapes and dtypes matter. The transpose returns a tuple with one entry per primal.

    >>> pb.func.linear_transpose(lambda x: x * 3, pb.zeros(2))(pb.tensor([1.0, 2.0]))
    (tensor([3., 6.]),)
    """
    zeros = [map_leaves(lambda leaf: zero_tangent(as_differentiable(leaf, "linear_transpose")), one) for one in primals]
    return vjp(function, *zeros)[1]
