"""The families of operators and what each derives from the little that its members state.

| family      | stated                                       | derived                                               |
|-------------|----------------------------------------------|-------------------------------------------------------|
| elementwise | kernel, partial derivatives, domain          | vjp, jvp, shape rule, batching, in-place twin, samples|
| reduction   | kernel (axes kept), transpose or vjp and jvp | axis/dim/keepdims, shape rule, batching, samples      |
| view        | kernel, transpose, batch                     | aliasing, replay, shape rule (on a stand-in)          |
| gufunc      | core signature, kernel, vjp, jvp, samples    | shape rule, batching                                  |
| primitive   | kernel and every rule that applies           | nothing                                               |
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Literal, Unpack

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes
from pullback.core.spec import Spec, spec_for, spec_of
from pullback.declare.facts import Facts
from pullback.declare.op import Op, Rule
from pullback.declare.samples import Maker, Sample, layouts

Domain = tuple[float, float]


def elementwise(
    name: str,
    kernel: Callable[..., Any],
    operands: tuple[str, ...],
    partials: tuple[Any, ...] | None,
    *,
    domain: Domain | tuple[Domain, ...] = (-2.0, 2.0),
    complex_domain: bool = False,
    inplace: bool = True,
    params: tuple[str, ...] = (),
    doc: str = "",
    aliases: tuple[str, ...] = (),
    torch: str | None = None,
    **facts: Unpack[Facts],
) -> Op:
    """An operator that works element by element and broadcasts.

    `partials` has one entry per operand: a number, a function of what it reads, or None for an operand that has no
    derivative. `partials=None` leaves it to attached `vjp` and `jvp` rules. `complex_domain` adds complex samples.
    """
    op = Op(
        name, kernel, operands, params=params, family="elementwise", doc=doc, aliases=aliases, torch=torch, **facts
    )
    if partials is not None:
        op.partials = tuple(Rule(op, 0 if partial is None else partial, is_partial=True) for partial in partials)
    op.has_inplace_twin = inplace
    op.spec_rule = _elementwise_spec(op)
    op.batch_rule = _elementwise_batch(op)
    op.sample_rule = _elementwise_samples(op, domain, complex_domain)
    return op


def unary(name: str, kernel: Callable[..., Any], partial: Any = None, **options: Any) -> Op:
    """An elementwise operator of one operand `x`; `partial=None` means that `vjp` and `jvp` are attached."""
    return elementwise(name, kernel, ("x",), None if partial is None else (partial,), **options)


def binary(name: str, kernel: Callable[..., Any], partials: tuple[Any, Any] | None = None, **options: Any) -> Op:
    """An elementwise operator of two operands `x` and `y` that broadcast against each other."""
    return elementwise(name, kernel, ("x", "y"), partials, **options)


def predicate(name: str, kernel: Callable[..., Any], operands: tuple[str, ...], reason: str, **options: Any) -> Op:
    """An elementwise operator whose results are truth values or integers, and which has no derivative."""
    op = elementwise(name, kernel, operands, None, inplace=False, **options)
    return op.not_differentiable(reason)


def _elementwise_spec(op: Op) -> Callable[..., Spec]:
    dtypes: dict[Any, np.dtype[Any]] = {}

    def rule(*operands: Any, **params: Any) -> Spec:
        key = tuple(x.dtype if isinstance(x, Spec) else type(x) for x in operands)
        shapes = [x.shape for x in operands if isinstance(x, Spec)]
        if key not in dtypes:
            stand_ins = [np.ones(1, x.dtype) if isinstance(x, Spec) else x for x in operands]
            with np.errstate(all="ignore"):
                dtypes[key] = op.kernel(*stand_ins, **params).dtype
        return spec_for(np.broadcast_shapes(*shapes), dtypes[key])

    return rule


def _elementwise_batch(op: Op) -> Callable[..., Any]:
    def rule(*operands: Any, **params: Any) -> Any:
        rank = max(x.ndim for x in operands if hasattr(x, "ndim"))
        aligned = [
            x if not hasattr(x, "ndim") or x.ndim == rank
            else x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:])
            for x in operands
        ]  # fmt: skip
        return op(*aligned, **params)

    return rule


def _elementwise_samples(op: Op, domain: Any, complex_domain: bool) -> Callable[[Maker], Iterator[Sample]]:
    count = len(op.operands)
    domains = domain if isinstance(domain[0], tuple) else (domain,) * count

    def rule(make: Maker) -> Iterator[Sample]:
        def operands(shapes: list[tuple[int, ...]], dtype: Any = np.float64) -> tuple[Any, ...]:
            return tuple(
                make(shape, dtype, low, high) for shape, (low, high) in zip(shapes, domains, strict=True)
            )

        # Without axes, and not the only element of its memory.
        yield Sample(tuple(x[..., 1] for x in operands([(2,)] * count)), label="scalar")
        yield Sample(operands([(3, 4)] * count), label="matrix")
        yield Sample(operands([(0, 2)] * count), label="empty")
        yield Sample(operands([(5,)] * count, np.float32), label="float32")
        for label, array in layouts(operands([(3, 4)] * count)[0]):
            yield Sample((array, *operands([(3, 4)] * count)[1:]), label=label)
        if count > 1:
            yield Sample(operands([(2, 1, 3), *[(4, 1)] * (count - 1)]), label="broadcast")
            yield Sample(operands([(), *[(3,)] * (count - 1)]), label="broadcast-scalar")
            yield Sample(operands([(0, 3), *[(1, 3)] * (count - 1)]), label="broadcast-empty")
            single, double = operands([(3,)] * count, np.float32), operands([(3,)] * count)
            yield Sample((*single[:1], *double[1:]), label="float32-and-float64")
        if complex_domain:
            yield Sample(operands([(3,)] * count, np.complex128), label="complex")
            if count > 1:
                mixed = (operands([(3,)] * count)[0], *operands([(3,)] * count, np.complex128)[1:])
                yield Sample(mixed, label="real-and-complex")

    return rule


def _function_parts(fn: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    code = fn.__code__
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & 0x04:
        starred = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        positional = (*positional, f"*{starred}")
    return positional, keywords


def primitive(
    fn: Callable[..., Any] | None = None, *, name: str | None = None, outputs: tuple[str, ...] = ("out",),
    family: str = "general", any_number_of_outputs: bool = False, aliases: tuple[str, ...] = (),
    torch: str | None = None, batch: Literal["shifted"] | None = None, spec: Literal["same", "shape"] | None = None,
    **facts: Unpack[Facts],
) -> Any:  # fmt: skip
    """An operator whose kernel is the decorated function: positional operands, keyword-only static parameters.

    `batch="shifted"` does to a batch what it does to one example, with parameters that name axes or shapes adapted. The
    result is like the first operand where `spec` is "same", and has the `shape` of the parameters where it is "shape".
    """

    def declare(kernel: Callable[..., Any]) -> Op:
        operands, params = _function_parts(kernel)
        op = Op(
            name or kernel.__name__, kernel, operands, params=params, outputs=outputs, family=family,
            aliases=aliases, torch=torch, **facts,
        )  # fmt: skip
        if any_number_of_outputs:
            op.num_outputs = None
        if batch is not None:
            op.batch_rule = _shifted_batch(op)
        if spec is not None:
            op.spec_rule = _same if spec == "same" else _of_shape
        return op

    return declare if fn is None else declare(fn)


_NAME_AXES, _NAME_SHAPES = frozenset({"axis", "axes", "axis1", "axis2"}), frozenset({"shape"})


def _shifted_batch(op: Op) -> Callable[..., Any]:
    def shifted(name: str, value: Any, count: int) -> Any:
        if name in _NAME_AXES:
            return tuple([axis + 1 for axis in value]) if isinstance(value, tuple) else value + 1
        return (count, *value) if name in _NAME_SHAPES else value

    def rule(*operands: Any, **params: Any) -> Any:
        count = operands[0].shape[0]
        return op(*operands, **{name: shifted(name, value, count) for name, value in params.items()})

    return rule


def _same(x: Spec, *others: Any, **params: Any) -> Spec:
    return x


def _of_shape(x: Spec, *others: Any, shape: tuple[int, ...], **params: Any) -> Spec:
    return spec_for(shape, x.dtype)


def view(
    fn: Callable[..., Any] | None = None, *, may_copy: bool = False, any_number_of_outputs: bool = False,
    name: str | None = None, aliases: tuple[str, ...] = (), torch: str | None = None,
    batch: Literal["shifted"] | None = None, spec: Literal["same", "shape"] | None = None, **facts: Unpack[Facts],
) -> Any:  # fmt: skip
    """An operator whose result shares memory with its operand. `may_copy`: NumPy cannot always do that."""

    def declare(kernel: Callable[..., Any]) -> Op:
        op = primitive(
            kernel, family="view", any_number_of_outputs=any_number_of_outputs, name=name, aliases=aliases,
            torch=torch, batch=batch, spec=spec, **facts,
        )  # fmt: skip
        op.is_view = True
        op.may_copy = may_copy
        if spec is None:
            op.spec_rule = _view_spec(op)
        return op

    return declare if fn is None else declare(fn)


def _view_spec(op: Op) -> Callable[..., Any]:
    def rule(x: Spec, **params: Any) -> Any:
        stand_in = np.broadcast_to(np.zeros((), x.dtype), x.shape)
        out = op.kernel(stand_in, **params)
        return tuple(map(spec_of, out)) if isinstance(out, (tuple, list)) else spec_of(out)

    return rule


def reduction(
    fn: Callable[..., Any] | None = None, *, domain: Domain = (-2.0, 2.0),
    complex_domain: bool = False, distinct: bool = False, empty: bool = True, name: str | None = None,
    aliases: tuple[str, ...] = (), torch: str | None = None, **facts: Unpack[Facts],
) -> Any:  # fmt: skip
    """An operator that reduces `axis`. The kernel keeps the reduced axes at length 1, and so do `g` and `out`.

    A kernel that takes `keepdims` itself does as it is told, which saves a reshape. Rules see kept axes all the same.
    `distinct` asks for samples without ties; `empty=False` says that reducing nothing is an error.
    """

    def declare(kernel: Callable[..., Any]) -> Op:
        operands, params = _function_parts(kernel)

        def reduce(x: Any, *, axis: tuple[int, ...], keepdims: bool = False, **others: Any) -> Any:
            out = kernel(x, axis=axis, **others)
            return out if keepdims else out.reshape(reduced_shape(x.shape, axis, False))

        if "keepdims" in params:
            params = tuple(name for name in params if name != "keepdims")
            reduce = kernel
        op = Op(
            name or kernel.__name__, reduce, operands, params=(*params, "keepdims"), family="reduction",
            doc=kernel.__doc__ or "", aliases=aliases, torch=torch, **facts,
        )  # fmt: skip
        op.adapt_output = _keep_axes
        op.adapt_array = _keep_axes_of_array
        op.restore_output = _drop_axes
        op.door_rule = _reduction_door(kernel, params)
        op.spec_rule = _reduction_spec(op)
        op.batch_rule = _reduction_batch(op)
        op.sample_rule = _reduction_samples(domain, complex_domain, distinct, empty, kernel)
        return op

    return declare if fn is None else declare(fn)


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """`shape` after reducing `axes`."""
    if keepdims:
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)


def _keep_axes(value: Any, x: Spec, params: dict[str, Any]) -> Any:
    return value if params["keepdims"] else value.reshape(reduced_shape(x.shape, params["axis"], True))


def _keep_axes_of_array(value: Any, x: Spec, params: dict[str, Any]) -> Any:
    """The same for arrays, whose shapes are plain numbers: each is found once."""
    return value if params["keepdims"] else value.reshape(_kept_shape(x.shape, params["axis"]))


@functools.lru_cache(1024)
def _kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return reduced_shape(shape, axes, True)


def _drop_axes(value: Any, x: Spec, params: dict[str, Any]) -> Any:
    return value if params["keepdims"] else value.reshape(reduced_shape(x.shape, params["axis"], False))


# Written out: taking it from each door would be a large part of what declaring a reduction costs.
_POSITIONAL, _NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_SHOWN_BY_REDUCTIONS = [
    inspect.Parameter("x", _POSITIONAL, annotation="Any"),
    inspect.Parameter("axis", _POSITIONAL, default=None, annotation="Any"),
    inspect.Parameter("keepdims", _POSITIONAL, default=False, annotation="bool"),
    inspect.Parameter("dim", _NAMED, default=None, annotation="Any"),
    inspect.Parameter("keepdim", _NAMED, default=None, annotation="Any"),
]


def _reduction_door(kernel: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    def door(
        x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None, **others: Any
    ) -> Any:
        if not hasattr(x, "ndim"):
            x = np.asarray(x)
        if dim is not None:
            axis = merge_spellings("axis/dim", axis, dim)
        if keepdim is not None:
            keepdims = keepdim
        return (x,), {"axis": normalize_axes(axis, x.ndim), "keepdims": bool(keepdims), **others}

    own = [name for name in names if name != "axis"]
    parameters = inspect.signature(kernel).parameters if own else {}
    shown = [*_SHOWN_BY_REDUCTIONS, *(parameters[name] for name in own)]
    door.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return door


def _reduction_spec(op: Op) -> Callable[..., Spec]:
    def rule(x: Spec, *, axis: tuple[int, ...], keepdims: bool = False, **others: Any) -> Spec:
        if "correction" in others:
            others["correction"] = 0  # of which NumPy warns for one element
        with np.errstate(all="ignore"):
            dtype = op.kernel(np.ones((1,) * x.ndim, x.dtype), axis=axis, keepdims=True, **others).dtype
        return spec_for(reduced_shape(x.shape, axis, keepdims), dtype)

    return rule


def _reduction_batch(op: Op) -> Callable[..., Any]:
    def rule(x: Any, *, axis: tuple[int, ...], **others: Any) -> Any:
        return op(x, axis=tuple(a + 1 for a in axis), **others)

    return rule


def _reduction_samples(
    domain: Domain, complex_domain: bool, distinct: bool, empty: bool, kernel: Any
) -> Callable[[Maker], Iterator[Sample]]:
    defaults = {name: value for name, value in (kernel.__kwdefaults__ or {}).items() if name != "keepdims"}

    def rule(make: Maker) -> Iterator[Sample]:
        make.domain = domain
        array = make.distinct if distinct else make

        def sample(shape: Any, axis: tuple[int, ...], keepdims: bool, label: str, dtype: Any = float) -> Sample:
            params = {**defaults, "axis": axis, "keepdims": keepdims}
            return Sample((array(shape, dtype),), params, label)

        yield sample((3, 4), (0, 1), False, "all")
        yield sample((3, 4), (1,), False, "last")
        yield sample((2, 3, 4), (0, 2), True, "keepdims")
        yield sample((5,), (0,), False, "float32", np.float32)
        yield sample((), (), False, "scalar")
        yield sample((0, 3) if empty else (3, 0), (0,), False, "empty")
        for label, values in layouts(array((3, 4), float)):
            yield Sample((values,), {**defaults, "axis": (0,), "keepdims": False}, label)
        if complex_domain:
            yield sample((3, 2), (0,), False, "complex", np.complex128)

    return rule


def gufunc(
    signature: str, *, outputs: tuple[str, ...] = ("out",), name: str | None = None, aliases: tuple[str, ...] = (),
    torch: str | None = None, **facts: Unpack[Facts],
) -> Callable[..., Any]:  # fmt: skip
    """An operator with a core signature such as `(n,n)->(n),(n,n)`; further leading axes are batches."""

    def declare(kernel: Callable[..., Any]) -> Op:
        op = primitive(kernel, outputs=outputs, family="gufunc", name=name, aliases=aliases, torch=torch, **facts)
        cores, results = (_core_dimensions(side) for side in signature.replace(" ", "").split("->"))
        op.cores = cores
        op.spec_rule = _gufunc_spec(op, cores, results)
        op.batch_rule = _gufunc_batch(op, cores)
        return op

    return declare


def _core_dimensions(side: str) -> list[tuple[str, ...]]:
    groups = side[1:-1].split("),(")
    return [tuple(name for name in group.split(",") if name) for group in groups]


def _gufunc_spec(op: Op, cores: list[tuple[str, ...]], results: list[tuple[str, ...]]) -> Callable[..., Any]:
    def rule(*operands: Spec, **params: Any) -> Any:
        sizes: dict[str, int] = {}
        for spec, core in zip(operands, cores, strict=True):
            for name, length in zip(core, spec.shape[spec.ndim - len(core) :], strict=True):
                sizes[name] = length
        batch = np.broadcast_shapes(
            *(spec.shape[: spec.ndim - len(core)] for spec, core in zip(operands, cores, strict=True))
        )
        tiny = [np.ones((1,) * len(core), spec.dtype) for spec, core in zip(operands, cores, strict=True)]
        out = op.kernel(*tiny, **params)
        outs = out if isinstance(out, tuple) else (out,)
        specs = tuple(
            spec_for((*batch, *(sizes[name] for name in core)), array.dtype)
            for core, array in zip(results, outs, strict=True)
        )
        return specs if len(specs) > 1 else specs[0]

    return rule


def _gufunc_batch(op: Op, cores: list[tuple[str, ...]]) -> Callable[..., Any]:
    def rule(*operands: Any, **params: Any) -> Any:
        rank = max(x.ndim - len(core) for x, core in zip(operands, cores, strict=True))
        aligned = [
            x.reshape(x.shape[:1] + (1,) * (rank - (x.ndim - len(core))) + x.shape[1:])
            for x, core in zip(operands, cores, strict=True)
        ]
        return op(*aligned, **params)

    return rule
