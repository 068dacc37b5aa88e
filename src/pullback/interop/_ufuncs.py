"""`__array_ufunc__`: NumPy's universal functions on tensors.

`np.sin(x)`, `array + x`, `np.float64(2) * x` and `array @ x` all arrive here, and become the Pullback function that the
ufunc stands for: the operator whose kernel it is, or the public function with one of its names. A ufunc that Pullback
does not know is computed by NumPy where no derivative is asked for, and refused where one would be lost.

Results are Tensors. With `out=` NumPy writes by itself, which is only allowed where nobody differentiates.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.doors import leave
from pullback.core.state import current
from pullback.declare.op import registry
from pullback.eager.build import as_operand
from pullback.eager.inplace import check_writable, write
from pullback.interop._conversion import is_attached, payload_of
from pullback.operators import functions
from pullback.operators.arrays.index_operators import basic_view, index_put_arrays
from pullback.operators.arrays.indexing import as_basic, resolve
from pullback.operators.loading import from_family
from pullback.tape.history import bump_version
from pullback.tensors.overwrites import make_way
from pullback.tensors.tensor import Tensor, as_constant, wrap

Function = Callable[..., Any]


@functools.cache
def ufunc_names() -> dict[np.ufunc, str]:
    """The name of the Pullback function behind every ufunc: by kernel, then by any of NumPy's names for it."""
    names: dict[np.ufunc, str] = {}
    for op in registry.values():
        if op.is_public and isinstance(op.kernel, np.ufunc):
            names.setdefault(op.kernel, op.name)
    for name, ufunc in sorted(vars(np).items()):  # not dir(np), which would load numpy's lazy subpackages
        if isinstance(ufunc, np.ufunc) and name in functions:
            names.setdefault(ufunc, name)
    return names


@functools.lru_cache(maxsize=1024)
def twin_of(ufunc: np.ufunc) -> Function | None:
    """The Pullback function behind a ufunc, or None."""
    name = ufunc_names().get(ufunc)
    if name is not None:
        return functions[name]
    if ufunc.__name__ == "clip" and ufunc.nin == 3:
        return functions["clip"]  # what `array.clip(x, y)` calls, and what NumPy has no public name for
    return _special_twin(ufunc)


def _special_twin(ufunc: np.ufunc) -> Function | None:
    """The function behind a ufunc of SciPy, which must have been imported for the ufunc to be."""
    scipy_special = sys.modules.get("scipy.special")
    if getattr(scipy_special, ufunc.__name__, None) is not ufunc:
        return None
    return from_family("special", ufunc.__name__, functions.get(ufunc.__name__))


# Where a ufunc method is a function of its own.
REDUCTIONS: dict[np.ufunc, str] = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_and: "all",
    np.logical_or: "any", np.logaddexp: "logsumexp",
}  # fmt: skip
SCANS: dict[np.ufunc, str] = {
    np.add: "cumsum", np.multiply: "cumprod", np.maximum: "cummax", np.minimum: "cummin",
    np.logaddexp: "logcumsumexp",
}  # fmt: skip


def array_ufunc(tensor: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    """What NumPy calls when an operand or an output of a ufunc is a Tensor."""
    if any(is_foreign(type(x)) for x in (*inputs, *(out or ()))):
        return NotImplemented
    for name in ("signature", "sig", "extobj"):
        if name in options:
            raise TypeError(f"np.{ufunc.__name__}({name}=...) is not supported on Tensors")
    try:
        if method == "at":
            return add_at(ufunc, *inputs)
        if out is not None and any(target is not None for target in out):
            return write_into(ufunc, method, inputs, out, options)
        options.pop("order", None), options.pop("subok", None)
        result = METHODS[method](ufunc, inputs, dict(options))
        return compute_with_numpy(ufunc, method, inputs, options) if result is NotImplemented else result
    except Exception as error:
        leave(error, ufunc)
        raise


def is_foreign(kind: type) -> bool:
    """Does this type bring an `__array_ufunc__` of its own, which must be asked too?"""
    protocol = getattr(kind, "__array_ufunc__", None)
    if hasattr(kind, "as_tensor"):  # a number of a trace is an operand like any other
        return False
    return protocol is not np.ndarray.__array_ufunc__ and protocol is not None and not issubclass(kind, Tensor)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in an argument, also inside of lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(tuple(value.values()))


def holds_tensors(value: Any) -> bool:
    """Is a tensor in this argument?"""
    return next(tensors_in(value), None) is not None


def with_payloads(value: Any) -> Any:
    """An argument with arrays in the place of tensors."""
    if isinstance(value, Tensor):
        return payload_of(value)
    if type(value) in (list, tuple):
        return type(value)(with_payloads(part) for part in value)
    if type(value) is dict:
        return {name: with_payloads(part) for name, part in value.items()}
    return value


def with_tensors(value: Any, sources: Sequence[np.ndarray[Any, Any]]) -> Any:
    """A result of NumPy with constant Tensors in the place of arrays, none of which shares memory with `sources`.

    Objects and texts, which tensors do not hold, stay as they are."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "biufc":
        return value
    if isinstance(value, np.ndarray):
        # A view would have to share its version counter with the tensor it is a view of.
        shared = any(np.may_share_memory(value, source) for source in sources)
        return wrap(np.array(value) if shared or type(value) is not np.ndarray else value)
    if isinstance(value, np.generic):
        return wrap(np.asarray(value))
    if isinstance(value, tuple):
        parts = [with_tensors(part, sources) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return [with_tensors(part, sources) for part in value] if type(value) is list else value


def compute_with_numpy(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A call that Pullback has no function for, where no derivative would be lost."""
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    special = sys.modules.get("scipy.special")
    is_special = method == "__call__" and not options and getattr(special, ufunc.__name__, None) is ufunc
    if is_special and any(is_attached(tensor) for tensor in tensors_in(inputs)):  # it has a rule, or says why not
        return getattr(import_module(f"{__name__.partition('.')[0]}.scipy.special"), ufunc.__name__)(*inputs)
    refuse_attached(name, (inputs, options))
    sources = [payload_of(tensor) for tensor in tensors_in(inputs)]
    return with_tensors(getattr(ufunc, method)(*with_payloads(tuple(inputs)), **with_payloads(options)), sources)


def refuse_attached(name: str, arguments: Any) -> None:
    """Raise if a tensor among the arguments of a NumPy function is attached."""
    if any(is_attached(tensor) for tensor in tensors_in(arguments)):
        raise TypeError(
            f"{name} is not a function that Pullback can differentiate, and an argument requires grad; write it with "
            "pb functions, call it on x.detach() if no gradient is needed, or give it a derivative with "
            "pb.library.custom_op"
        )


def write_into(ufunc: np.ufunc, method: str, inputs: Sequence[Any], out: tuple[Any, ...], options: Any) -> Any:
    """A call with `out=`: NumPy computes into the memory of the targets, or the result is assigned to them if somebody
    differentiates, or if they are no plain arrays."""
    name = f"np.{ufunc.__name__}"
    if is_recorded((inputs, out, options)):
        refuse_arrays(name, (inputs, options), out)
        where = options.get("where", True) if method == "__call__" else True
        result = array_ufunc(next(tensors_in((inputs, out))), ufunc, method, *apart_from(out, inputs), **options)
        return assign(name, out, result, where, options.get("casting", "same_kind"))
    targets = [target for target in out if isinstance(target, Tensor)]
    for target in targets:
        prepare_write(target)
    given = with_payloads(tuple(inputs))
    found = getattr(ufunc, method)(*given, out=with_payloads(tuple(out)), **with_payloads(options))
    for target in targets:
        bump_version(target)
    if len(out) == 1:
        return out[0]
    return tuple(with_tensors(part, ()) if target is None else target for target, part in zip(out, found, strict=True))


def is_recorded(arguments: Any) -> bool:
    """Is a tensor among the arguments that somebody differentiates, or whose values are not in an array of NumPy's?"""
    return any(is_attached(tensor) or type(tensor._data) is not np.ndarray for tensor in tensors_in(arguments))


def apart_from(out: Any, arguments: Sequence[Any]) -> list[Any]:
    """The arguments, with copies of those that are overwritten when the result is stored."""
    targets = out if isinstance(out, tuple) else (out,)
    return [functions["copy"](each) if any(each is target for target in targets) else each for each in arguments]


def assign(name: str, out: Any, result: Any, where: Any = True, casting: Any = "same_kind") -> Any:
    """What `out=` of a NumPy function means for tensors: an assignment, which is recorded as any other."""
    if isinstance(out, tuple):
        if len(out) > 1:
            return tuple(
                found if target is None else assign(name, target, found, where, casting)
                for target, found in zip(out, result, strict=True)
            )
        (out,) = out
    result = as_constant(result)
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(f"{name}: a result of {result.dtype} cannot be cast to out= of {out.dtype}, {casting=}")
    if where is True and result.ndim > out.ndim:
        raise ValueError(f"{name}: out= has shape {list(out.shape)}, but the result has {list(result.shape)}")
    out[...] = result if where is True else functions["where"](where, result, out)
    return out


def refuse_arrays(name: str, arguments: Any, targets: Sequence[Any]) -> None:
    """Raise if a result that somebody could differentiate, or that is not known yet, is about to be written into an
    array."""
    arrays = [target for target in targets if isinstance(target, np.ndarray)]
    for tensor in tensors_in(arguments) if arrays else ():
        if hasattr(tensor._data, "recorder"):
            tensor._data.assign_payload(arrays[0], tensor._data)
        if is_attached(tensor):
            error = told(
                TypeError(f"{name}: the result would be stored in a NumPy array and lose its gradient"),
                why="a NumPy array carries no gradient",
                fix="make the target a tensor (pb.zeros), write a = a + x for a new one, or detach() the operands",
            )
            error.code = "NUMPY_ON_GRAD"
            raise error


def prepare_write(target: Tensor) -> None:
    """Check that the memory of `target` may be written, and tell whoever keeps old values."""
    modes = current()
    check_writable(target, modes)
    payload_of(target)
    make_way(target)


def call(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """`ufunc(*inputs)`."""
    function = twin_of(ufunc)
    if function is None:
        return NotImplemented
    mask, casting = options.pop("where", True), options.pop("casting", "same_kind")
    if (dtype := options.pop("dtype", None)) is not None and np.dtype(dtype) != np.bool_:
        inputs = _as_computed(ufunc, inputs, dtype, casting)
    if mask is not True:
        inputs = [_defined(ufunc, x, mask) for x in inputs]
    keepdims, axes = options.pop("keepdims", False), options.pop("axes", None)
    if axes is not None:
        if keepdims:
            return NotImplemented
        inputs = [_core_axes_last(x, own) for x, own in zip(inputs, axes, strict=False)]
    result = function(*inputs, **options)
    if axes is not None and len(axes) > len(inputs):
        result = _core_axes_back(result, axes[-1])
    if keepdims:
        result = functions["expand_dims"](result, options.get("axis", -1))
    if mask is True:
        return result
    where = functions["where"]
    if isinstance(result, tuple):
        return tuple(where(mask, part, 0) for part in result)
    return where(mask, result, False if result.dtype == np.bool_ else 0)


def _as_computed(ufunc: np.ufunc, inputs: Sequence[Any], dtype: Any, casting: Any) -> list[Any]:
    """The operands in the dtypes that NumPy computes in if the result is to have this one."""
    kinds = [type(x) if type(x) in (int, float, complex) else as_constant(x).dtype for x in inputs]
    wanted = (np.dtype(np.dtype(dtype).type),) * ufunc.nout
    signature: Any = (None,) * ufunc.nin + wanted
    found = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), signature=signature, casting=casting)
    return [cast(x, kind) for x, kind in zip(inputs, found, strict=False)]


def _defined(ufunc: np.ufunc, x: Any, mask: Any) -> Any:
    """An operand that is harmless where NumPy does not compute: an infinite slope there would make the gradient NaN."""
    if type(x) in (int, float, complex):
        return x  # which takes the dtype of the others
    x = as_constant(x)
    harmless = 1.5 if ufunc is np.arccosh else 0.5
    return functions["where"](mask, x, harmless if x.dtype.kind in "fc" else True)


def cast(x: Any, dtype: Any, casting: str = "unsafe") -> Any:
    """An operand in the dtype that `dtype=` asks the computation to be done in."""
    if not isinstance(x, Tensor):
        x = as_constant(np.asarray(x)) if not isinstance(x, (int, float, complex)) else x
    if not isinstance(x, Tensor) or x.dtype == dtype:
        return x
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"cannot cast an operand from {x.dtype} to {np.dtype(dtype)} with casting={casting!r}")
    return x.astype(dtype)


def _core_axes_last(x: Any, axes: Any) -> Any:
    axes = axes if isinstance(axes, tuple) else (axes,)
    return functions["moveaxis"](x, axes, tuple(range(-len(axes), 0)))


def _core_axes_back(x: Any, axes: Any) -> Any:
    axes = axes if isinstance(axes, tuple) else (axes,)
    return functions["moveaxis"](x, tuple(range(-len(axes), 0)), axes)


def reduce(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """`ufunc.reduce(x, axis=0)`."""
    function = functions.get(REDUCTIONS.get(ufunc, ""))
    if function is None:
        return NotImplemented
    x, axis, keepdims = inputs[0], options.pop("axis", 0), options.pop("keepdims", False)
    mask, initial = options.pop("where", True), options.pop("initial", None)
    dtype = options.pop("dtype", None)
    if ufunc in (np.add, np.multiply):  # which make small integers wider unless they are told
        return function(x, axis=axis, keepdims=keepdims, where=mask, initial=initial, dtype=dtype)
    x = x if dtype is None else cast(x, dtype)
    if ufunc in (np.maximum, np.minimum):
        return function(x, axis=axis, keepdims=keepdims, where=mask, initial=initial)
    if ufunc is np.logaddexp:
        x = cast(x, ufunc.resolve_dtypes((as_constant(x).dtype,) * 2 + (None,))[0])
    if mask is not True:
        if ufunc.identity is None:
            return NotImplemented
        x = functions["where"](mask, x, ufunc.identity)
    result = function(x, axis=axis, keepdims=keepdims)
    return result if initial is None else functions[ufunc_names()[ufunc]](result, initial)


def accumulate(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """`ufunc.accumulate(x, axis=0)`."""
    function = functions.get(SCANS.get(ufunc, ""))
    if function is None:
        return NotImplemented
    axis, dtype = options.pop("axis", 0), options.pop("dtype", None)
    if ufunc in (np.add, np.multiply):  # which make small integers wider unless they are told
        return function(inputs[0], axis=axis, dtype=dtype)
    result = function(inputs[0] if dtype is None else cast(inputs[0], dtype), axis=axis)
    return result[0] if isinstance(result, tuple) else result


def outer(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """`ufunc.outer(x, y)`: the ufunc of every element of `x` with every element of `y`."""
    if twin_of(ufunc) is None:
        return NotImplemented
    x, y = (as_constant(as_operand(value, beside=True)) for value in inputs)
    return call(ufunc, (x.reshape((*x.shape, *(1,) * y.ndim)), y), options)


def reduceat(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """`np.add.reduceat(x, indices)`: sums of the slices between neighbouring indices."""
    if ufunc is not np.add or "sum" not in functions or "stack" not in functions:
        return NotImplemented
    x, indices = as_constant(inputs[0]), [int(index) for index in with_payloads(inputs[1])]
    axis = range(x.ndim)[options.pop("axis", 0)]
    total = functools.partial(functions["sum"], axis=axis, dtype=options.pop("dtype", None))
    ends = [*indices[1:], x.shape[axis]]
    # An index that is not below the next one stands for its own element.
    parts = [slice(start, end if start < end else start + 1) for start, end in zip(indices, ends, strict=True)]
    before = (slice(None),) * axis
    return functions["stack"]([total(x[(*before, part)]) for part in parts], axis=axis)


def add_at(ufunc: np.ufunc, target: Any, index: Any, *values: Any) -> None:
    """`ufunc.at(target, index, value)`: in place, and once for every time an index occurs."""
    attached = any(is_attached(tensor) for tensor in tensors_in((target, values)))
    if not isinstance(target, Tensor):
        refuse_arrays(f"np.{ufunc.__name__}.at", values, (target,))
        ufunc.at(target, *with_payloads((index, *values)))
    elif not attached:
        prepare_write(target)
        ufunc.at(target._data, *with_payloads((index, *values)))
        bump_version(target)
    elif ufunc in (np.add, np.subtract):
        (value,) = values
        _add_recorded(target, index, as_operand(value if ufunc is np.add else -value))
    else:
        raise TypeError(
            f"np.{ufunc.__name__}.at cannot be differentiated; np.add.at can, and so can an assignment x[index] = ... "
            "where no index occurs twice"
        )


def _add_recorded(target: Tensor, index: Any, value: Any) -> None:
    basic = as_basic(index)
    if basic is not None:
        basic_view(target, index=basic).add_(value)
        return
    target, arrays, template, distinct = resolve(target, index)
    params = {"template": template, "accumulate": True, "distinct": distinct}
    write(index_put_arrays, target, (value, *arrays), params)


METHODS: dict[str, Callable[[np.ufunc, Sequence[Any], dict[str, Any]], Any]] = {
    "__call__": call,
    "reduce": reduce,
    "accumulate": accumulate,
    "outer": outer,
    "reduceat": reduceat,
}
