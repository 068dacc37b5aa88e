"""Running fakes: shapes and dtypes of results, without data.

A fake sees tensors whose payload is an `Outline`: shape, dtype and strides, and an error for whoever asks for values.
Operators on outlines give outlines, by their shape rules. Creation functions give arrays as always, of which only the
shape is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.core.state import changed
from pullback.library._call import Call
from pullback.library._errors import DynamicOutputShapeError
from pullback.library._kernel import promoted
from pullback.tensors.tensor import Tensor, wrap


class ShapeDtype:
    """The shape and dtype of an array that is not there.

    >>> pb.ShapeDtype((2, 3), pb.float32)
    ShapeDtype((2, 3), float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any = "float64") -> None:
        self.shape = (int(shape),) if isinstance(shape, int) else tuple(int(length) for length in shape)
        self.dtype = np.dtype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtype) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtype({self.shape}, {self.dtype})"


class Outline:
    """A payload without data."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.strides = contiguous(shape, self.dtype.itemsize) if strides is None else strides

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))

    @classmethod
    def evaluate_op(cls, op: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """The outlines of an operator's results."""
        specs = op.specs_of(*map(_spec, operands), **params)
        if isinstance(specs, (tuple, list)):
            return tuple(cls(spec.shape, spec.dtype) if hasattr(spec, "shape") else spec for spec in specs)
        return cls(specs.shape, specs.dtype)

    def aliases_payload(self, source: Any) -> bool:
        """Without data there is nothing to share; a view is taken for one."""
        return True

    def _no_data(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "a fake reads values, but its arguments have none: results may depend on shapes and dtypes only. A "
            "data-dependent size is made with pb.library.get_ctx().new_dynamic_size()"
        )

    __array__ = __bool__ = __int__ = __float__ = __index__ = __complex__ = item = tolist = __iter__ = _no_data


def contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array in row-major order."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def _spec(x: Any) -> Any:
    return spec_for(tuple(x.shape), x.dtype) if hasattr(x, "shape") else x


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
            raise DynamicOutputShapeError(
                f"{self.definition.qualname} has a data-dependent shape, which can not be known without running it\n"
                f"  fake  registered at {self.definition.fake[1]}"
            )
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
    token = _context.set(context)
    try:
        # The interceptor keeps every operator off the short ways, which take payloads for arrays.
        with changed(grad=False, vmaps=(), transforms=(), interceptors=(_let,)):
            returned = definition.fake[0](*call.arguments(tensors), **call.keywords)
    except TypeError as error:
        if "can not become" in str(error):  # how conversions refuse a payload without values
            Outline._no_data(outlines[0])
        raise
    finally:
        _context.reset(token)
    return _flat(definition, call, returned), context


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
    raise RuntimeError(
        f"there is no fake impl for {definition.qualname}, so the shapes of its results are not known without running "
        f"it{why}: register one with {definition.name}.register_fake(...)"
    )


def as_spec(value: Any) -> Any:
    """A fake output as users see it."""
    return ShapeDtype(value.shape, value.dtype) if hasattr(value, "shape") else value


__all__ = ["FakeContext", "Outline", "ShapeDtype", "Spec", "as_spec", "get_ctx", "outputs_of_fake", "run_fake"]
