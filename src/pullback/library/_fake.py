"""Running fakes: shapes and dtypes of results, without data.

A fake sees tensors whose payload is an `Outline`: shape, dtype and strides, and an error for whoever asks for values.
Operators on outlines give outlines, by their shape rules. Creation functions give arrays as always, of which only the
shape is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.core.state import changed, current
from pullback.errors import TraceError
from pullback.library._call import Call
from pullback.library._checked_fakes import compare, with_checked_fakes
from pullback.library._errors import AliasError, DynamicOutputShapeError, FakeMismatchError
from pullback.library._kernel import promoted
from pullback.library._outline import Outline, ShapeDtype
from pullback.payloads.traced import user_location
from pullback.tensors.tensor import Tensor, wrap


class FakeContext:
    """What a fake may ask for while it runs."""

    def __init__(self, definition: Any, stand_in: int | None) -> None:
        self.definition = definition
        self.stand_in = stand_in  # the length to use for sizes that are not known; None refuses them
        self.bounds: list[tuple[int, int | None]] = []

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A length that depends on data, between these bounds."""
        for bound in (min, max):
            if bound is not None and not isinstance(bound, int):
                raise ValueError(f"the bounds of a dynamic size must be ints, not SymInt or {type(bound).__name__}")
        if min < 0:
            raise ValueError(f"min of a dynamic size must be greater than or equal to 0, got {min}")
        self.bounds.append((min, max))
        if self.stand_in is None:
            error = DynamicOutputShapeError(
                f"{self.definition.qualname} has a data-dependent shape, which can not be known without running it",
                location=f"fake registered at {self.definition.fake[1]}",
                why="a graph has fixed shapes",
                fix="call it outside of the compiled function, or return an array of a fixed length and a count",
            )
            error.instead = with_checked_fakes
            raise error
        length = min + self.stand_in
        return length if max is None or length <= max else max


_context: ContextVar[FakeContext | None] = ContextVar("pullback_fake", default=None)


def get_ctx() -> FakeContext:
    """The context of the fake that is running, for sizes that depend on data.

    >>> @pb.library.custom_op("examples::places", mutates_args=())
    ... def places(x: pb.Tensor) -> pb.Tensor:
    ...     return pb.tensor(np.flatnonzero(x.numpy()))
    >>> @places.register_fake
    ... def places_fake(x):
    ...     count = pb.library.get_ctx().new_dynamic_size(max=x.size)
    ...     return pb.empty(count, dtype=pb.int64)
    """
    found = _context.get()
    if found is None:
        raise RuntimeError("get_ctx() is for fakes: it may be called while one is running")
    return found


def outputs_of_fake(
    definition: Any, call: Call, operands: Sequence[Any], stand_in: int | None = None
) -> Sequence[Any]:
    """Outlines, or arrays, like the outputs of a call; numbers where the schema returns those.

    Without a fake they come from a recorded run. Checks, and whoever needs a promise, use `run_fake`.
    """
    if definition.recorded is not None:
        known = definition.recorded.outputs(call, operands)
        if known is not None:
            return [Outline(shape, dtype) for shape, dtype in known]
    return run_fake(definition, call, operands, stand_in)[0]


def run_fake(
    definition: Any, call: Call, operands: Sequence[Any], stand_in: int | None = None
) -> tuple[list[Any], FakeContext]:
    """The outputs of a fake, flat, and the context it ran in."""
    context = FakeContext(definition, stand_in)
    outlines = [Outline(tuple(x.shape), x.dtype, tuple(x.strides)) for x in operands]
    if definition.fake is None:
        return _derived(definition, call, outlines), context
    tensors = [wrap(outline) for outline in outlines]
    try:
        flat = _flat(definition, call, _returned(call, tensors, context))
    except TypeError as error:
        if "can not become" in str(error):  # how conversions refuse a payload without values
            Outline._no_data(outlines[0])
        raise
    if current().trace is not None and not definition.schema.returns_views:
        _check_new(definition, flat, outlines)
    return flat, context


def both_answers(definition: Any, call: Call, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """What a fake says for two choices of the lengths that depend on data, and the bounds of those."""
    first, context = run_fake(definition, call, operands, stand_in=0)
    return first, run_fake(definition, call, operands, stand_in=1)[0], context.bounds


def check_against_fake(call: Call, operands: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Raise if a call returned something else than its fake says."""
    definition, counts = call.definition, call.counts
    if definition.fake is None or not all(type(x) is np.ndarray for x in operands):
        return
    try:
        compare(outputs, *both_answers(definition, call, operands))
    except RuntimeError as error:
        raise FakeMismatchError(
            f"{definition.qualname}: {error}\n  kernel  registered at {definition.kernel_for(call)[1]}\n"
            f"  fake    registered at {definition.fake[1]}"
        ) from None
    call.counts = counts


def _returned(call: Call, tensors: list[Tensor], context: FakeContext) -> Any:
    """What the author's fake returns. It runs by itself, whatever runs around it."""
    token = _context.set(context)
    try:
        # The interceptor keeps every operator off the short ways, which take payloads for arrays.
        with changed(grad=False, vmaps=(), transforms=(), interceptors=(_let,), trace=None):
            return call.definition.fake[0](*call.arguments(tensors), **call.keywords)
    finally:
        _context.reset(token)


def _check_new(definition: Any, flat: list[Any], outlines: list[Outline]) -> None:
    for number, each in enumerate(flat):
        if any(each is outline for outline in outlines):
            raise AliasError(
                f"the fake of {definition.qualname} returns an argument as output {number}; results of an operator may "
                f"not alias its arguments\n  fake  registered at {definition.fake[1]}\n"
                "  fix   return pb.empty_like of the argument"
            )


def view_of_fake(call: Call, array: np.ndarray[Any, Any]) -> Any:
    """The view that a declared view takes of an array, whose elements mean nothing: the fake takes it."""
    definition = call.definition
    if definition.fake is None:
        raise missing_fake(definition, "; it is declared a view, and its fake takes that view of its argument")
    run_fake(definition, call, [array])  # raises if the fake reads values
    given = wrap_outside(array)
    (out,) = _flat(definition, call, _returned(call, [given], FakeContext(definition, None)))
    if not isinstance(out, np.ndarray) or (out.size and not np.may_share_memory(out, array)):
        raise TraceError(
            f"the fake of {definition.qualname} returns new memory, and the alias annotations of its schema say that "
            "the result is a view of the argument",
            location=f"fake registered at {definition.fake[1]}",
            why="a trace takes the view again with the fake, whenever its argument has changed",
            fix="let the fake return the view that the kernel returns, such as x[1:]",
        )
    return out[...]


def wrap_outside(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor on this very array, also inside a trace."""
    with changed(trace=None):
        return wrap(array)


def _let(op: Any, operands: Any, params: Any, proceed: Any) -> Any:
    return proceed(op, operands, params)


def _flat(definition: Any, call: Call, returned: Any) -> list[Any]:
    schema = definition.schema
    if schema.is_dynamic:
        several = isinstance(returned, (tuple, list))
        parts = list(returned) if several else [returned]
        call.counts = (None,) * len(parts) if several else None
        return [part._data if isinstance(part, Tensor) else part for part in parts]
    if not schema.returns:
        return []
    results = list(returned) if schema.returns_tuple else [returned]
    if len(results) != len(schema.returns):
        raise RuntimeError(f"fake of {definition.name}: number of returns {len(results)} != {len(schema.returns)}")
    flat: list[Any] = []
    counts: list[int | None] = []
    for value in results:
        if isinstance(value, (list, tuple)):
            flat += [part._data if isinstance(part, Tensor) else part for part in value]
            counts.append(len(value))
        else:
            flat.append(value._data if isinstance(value, Tensor) else value)
            counts.append(None)
    call.counts = tuple(counts)
    return flat


def _derived(definition: Any, call: Call, outlines: list[Outline]) -> list[Any]:
    """What is known without a fake of the author's."""
    if definition.tags & {"inplace", "out"} or (not definition.schema.returns and not definition.schema.is_dynamic):
        return []
    if definition.is_elementwise and outlines:
        shape = np.broadcast_shapes(*[outline.shape for outline in outlines])
        return [Outline(shape, promoted(call, outlines))]
    varies = definition.recorded is not None and definition.recorded.varies
    why = ", and it was seen to return different shapes for arguments of the same shapes" if varies else ""
    raise missing_fake(definition, why)


def missing_fake(definition: Any, why: str = "") -> TraceError:
    """The error for an operator of which nobody knows what it returns."""
    return TraceError(
        f"there is no fake impl for {definition.qualname}, so the shapes of its results are not known without running "
        f"it{why}",
        location=user_location(),
        fix=f"register one with {definition.name}.register_fake(...)",
    )


def as_spec(value: Any) -> Any:
    """A fake output as users see it."""
    return ShapeDtype(value.shape, value.dtype) if hasattr(value, "shape") else value


__all__ = [
    "FakeContext", "Outline", "ShapeDtype", "as_spec", "both_answers", "check_against_fake", "get_ctx",
    "outputs_of_fake", "run_fake", "view_of_fake",
]  # fmt: skip
