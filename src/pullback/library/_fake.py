"""Running fakes: shapes and dtypes of results, without data.

A fake sees tensors whose payload is an `Outline`: shape, dtype and strides, and an error for whoever asks for values.
Operators on outlines give outlines, by their shape rules. Creation functions give arrays as always, of which only the
shape is read.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.core.state import change, changed, current, in_force, reinstate
from pullback.errors import TraceError
from pullback.graph.ir import row_major
from pullback.library._batching import CoreSignature
from pullback.library._call import STATIC, Call
from pullback.library._errors import AliasError, DynamicOutputShapeError, FakeMismatchError
from pullback.library._kernel import promoted
from pullback.payloads.traced import user_location
from pullback.payloads.traced.evaluate import laid_out
from pullback.tensors.tensor import Tensor, wrap

__all__ = [
    "FakeContext",
    "Outline",
    "ShapeDtype",
    "as_spec",
    "both_answers",
    "check_against_fake",
    "get_ctx",
    "outputs_of_fake",
    "run_fake",
    "view_of_fake",
]


# Eager code in which operators are compared with their fakes.
#
# Plain eager calls never run a fake. A function that was to be compiled, and is not because an operator in it has a
# shape that depends on data, keeps the promise of compiled code: a size outside of the bounds that the fake gives is an
# error.

Function = Callable[..., Any]


def compares_fakes(op: Any, operands: Any, params: Any, proceed: Function) -> Any:
    """Stands among the interceptors: lets every operator happen, and compares those of users with their fakes."""
    outputs = proceed(op, operands, params)
    if op.family == "custom" and "call" in params:
        plain = [x._data if isinstance(x, Tensor) else x for x in outputs]
        check_against_fake(params["call"], [x._data for x in operands], plain)
    return outputs


def with_checked_fakes(function: Function) -> Function:
    """The function, with its operators compared where it runs eagerly."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        modes = current()
        if modes.trace is not None or compares_fakes in modes.interceptors:
            return function(*args, **kwargs)
        with changed(interceptors=(*modes.interceptors, compares_fakes)):
            return function(*args, **kwargs)

    return run


def compare(real: Sequence[Any], fake: Sequence[Any], other: Sequence[Any], bounds: Sequence[Any]) -> None:
    """Raise if results differ from what a fake said. Lengths in which its two answers differ are within the bounds."""
    if len(real) != len(fake):
        raise RuntimeError(f"number of returns {len(fake)} != {len(real)}")
    for number, (value, promised, varied) in enumerate(zip(real, fake, other, strict=True)):
        if not isinstance(value, np.ndarray):
            continue
        if not hasattr(promised, "shape"):
            raise RuntimeError(f"output {number} is a Tensor, and the fake returns {type(promised).__name__}")
        dynamic = [one != two for one, two in zip(promised.shape, varied.shape, strict=True)]
        if len(value.shape) != len(promised.shape) or any(
            length != expected and not free
            for length, expected, free in zip(value.shape, promised.shape, dynamic, strict=True)
        ):
            raise RuntimeError(f"Shapes {value.shape} and {tuple(promised.shape)} are not equal: output {number}")
        for length, free in zip(value.shape, dynamic, strict=True):
            if free and not any(low <= length and (high is None or length <= high) for low, high in bounds):
                raise RuntimeError(f"output {number} has length {length}, outside of the bounds {list(bounds)}")
        if value.dtype != promised.dtype:
            raise RuntimeError(f"Dtypes {value.dtype} and {promised.dtype} are not equal: output {number}")
        if not any(dynamic) and _steps(value) != _steps(promised):
            raise RuntimeError(f"Stride mismatch: {value.strides} and {tuple(promised.strides)} for output {number}")


def _steps(value: Any) -> list[int]:
    return [step for step, length in zip(value.strides, value.shape, strict=True) if length > 1]


# Arrays that are not there: `ShapeDtype`, as users see them, and `Outline`, a payload without data.

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
        self.strides = row_major(shape, self.dtype.itemsize) if strides is None else strides

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))

    @property
    def shadow(self) -> np.ndarray[Any, Any]:
        """An array of this form, whose elements mean nothing."""
        reach = [stride * (length - 1) for stride, length in zip(self.strides, self.shape, strict=True) if length]
        low, high = sum(step for step in reach if step < 0), sum(step for step in reach if step > 0)
        return np.ndarray(
            self.shape, self.dtype, np.empty(high - low + self.dtype.itemsize, np.uint8), -low, self.strides
        )

    @classmethod
    def evaluate_op(cls, op: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """The outlines of an operator's results."""
        specs = op.specs_of(*map(_spec, operands), **params)
        shadows = [x.shadow if type(x) is cls else x for x in operands]
        if op.is_view:
            views = op.kernel(shadows[0], **params)
            return tuple(map(cls.of, views)) if isinstance(views, (tuple, list)) else cls.of(views)
        if isinstance(specs, (tuple, list)):
            return tuple(cls.of(laid_out(op, shadows, params, spec)) if hasattr(spec, "shape") else spec
                         for spec in specs)  # fmt: skip
        return cls.of(laid_out(op, shadows, params, specs))

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Outline:
        """The outline of an array."""
        return cls(array.shape, array.dtype, array.strides)

    def aliases_payload(self, source: Any) -> bool:
        """Without data there is nothing to share; a view is taken for one."""
        return True

    def _no_data(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "a fake reads values, but its arguments have none: results may depend on shapes and dtypes only. A "
            "data-dependent size is made with pb.library.get_ctx().new_dynamic_size()"
        )

    __array__ = __bool__ = __int__ = __float__ = __index__ = __complex__ = item = tolist = __iter__ = _no_data


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
            error = DynamicOutputShapeError(
                f"{self.definition.qualname} has a data-dependent shape, which cannot be known without running it",
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
    if definition.seen_outputs is not None:
        known = definition.seen_outputs.outputs(call, operands)
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
        if "cannot become" in str(error):  # how conversions refuse a payload without values
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
    token, settings = _context.set(context), in_force()
    try:
        # The interceptor keeps every operator off the fast paths, which take payloads for arrays.
        change(grad=False, vmaps=(), transforms=(), interceptors=(_let,), trace=None)
        return call.definition.fake[0](*call.arguments(tensors), **call.keywords)
    finally:
        reinstate(settings)
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
    varies = definition.seen_outputs is not None and definition.seen_outputs.varies
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


# What an operator without a fake was seen to return: its runs, by the shapes, dtypes and constants they were given.
#
# A run tells what another one with arguments of the same form returns, unless the operator's shapes depend on data. One
# that was seen to return two forms for the same arguments does that, and is never described from its runs again.

_MOST_RUNS = 64
_CONSTANTS = (int, float, complex, str, type(None))

Form = tuple[tuple[tuple[int, ...], Any], ...]
"""Shapes and dtypes."""


class SeenOutputs:
    """The runs of one operator."""

    __slots__ = ("_runs", "varies")

    def __init__(self) -> None:
        self._runs: dict[Any, dict[Form, tuple[Form, Any]]] = {}  # by constants, then by the form of operands
        self.varies = False

    def note(self, call: Call, operands: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Remember a run."""
        if self.varies:
            return
        constants = constants_of(call)
        if constants is None or not all(isinstance(out, np.ndarray) for out in outputs):
            return  # numbers are data
        given, returned = form_of(operands), form_of(outputs)
        counts = call.counts
        if not call.definition.schema.is_dynamic and set(counts or ()) <= {None}:
            counts = None  # what the fast path leaves it at
        runs = self._runs.setdefault(constants, {})
        known = runs.get(given)
        if known is not None and known != (returned, counts):
            self.varies = True
            self._runs = {}
        elif known is None:
            if len(runs) >= _MOST_RUNS or len(self._runs) > _MOST_RUNS:
                self._runs = {constants: (runs := {})}
            runs[given] = (returned, counts)

    def outputs(self, call: Call, operands: Sequence[Any]) -> Form | None:
        """The form of what this call returns; None if no run tells. Sets the call's `counts`."""
        constants = constants_of(call)
        if constants is None:
            return None
        given = form_of(operands)
        runs = self._runs.get(constants, {})
        known = runs.get(given) or _by_signature(call, given, runs)
        if known is None:
            return None
        call.counts = known[1]
        return known[0]


def _by_signature(call: Call, given: Form, runs: dict[Form, tuple[Form, Any]]) -> tuple[Form, Any] | None:
    """With a core signature shapes are known for operands of any size, and a run with these dtypes tells the others."""
    signature = None if call.definition.batch is None else call.definition.batch[0]
    if not isinstance(signature, CoreSignature):
        return None
    dtypes = [dtype for _, dtype in given]
    for form, (returned, counts) in tuple(runs.items()):
        if [dtype for _, dtype in form] == dtypes:
            shapes = signature.result_shapes(call, [shape for shape, _ in given])
            if any(None in shape for shape in shapes) or len(shapes) != len(returned):
                return None
            return tuple([(shape, dtype) for shape, (_, dtype) in zip(shapes, returned, strict=True)]), counts  # type: ignore[misc]
    return None


def form_of(arrays: Sequence[Any]) -> Form:
    """Shapes and dtypes of arrays."""
    return tuple([(tuple(x.shape), x.dtype) for x in arrays])


def constants_of(call: Call) -> Any:
    """The arguments of a call that are no tensors, and where its tensors are; None if that cannot be compared."""
    found: list[tuple[Any, Any]] = [(kind, data if kind != STATIC else _frozen(data)) for kind, data in call.layout]
    found += [(name, _frozen(value)) for name, value in call.keywords.items()]
    return None if any(each is NotImplemented for _, each in found) else tuple(found)


def _frozen(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        parts = tuple([_frozen(each) for each in value])
        return NotImplemented if any(part is NotImplemented for part in parts) else (type(value), parts)
    return (type(value), value) if isinstance(value, _CONSTANTS) else NotImplemented
