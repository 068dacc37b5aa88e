"""Running a kernel: what it sees, and what its results must be.

Kernels run below differentiation and below every transform. Arguments that the schema does not write reach them
read-only; results are compared with the schema, and must be in memory of their own unless the schema says otherwise.
Every complaint names the operator, the place where the kernel was registered, and the position.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.core.state import change, change_grad, current, in_force, reinstate
from pullback.errors import AutogradError
from pullback.library._call import LIST, STATIC, TENSOR, Call
from pullback.library._errors import AliasError, KernelResultError
from pullback.library._schema import Type
from pullback.payloads.batched import plain_array
from pullback.payloads.devices import device_of
from pullback.tensors.tensor import Extra, Tensor, alias, from_outside, wrap

# Who shares memory with whom: results must be in memory of their own, unless the schema declares a view.
#
# Two arrays share memory if the chains of `.base` end in one object, or if their bytes overlap: an array made from a
# pointer or a buffer has another root. Slices of one buffer that do not overlap count as shared, since they live and
# die together, and a caller who frees one would keep the other.

ndarray = np.ndarray


def root_of(array: Any) -> Any:
    """The object at the end of the chain of bases."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def shares(first: Any, second: Any) -> bool:
    """Do two arrays share an allocation?"""
    if root_of(first) is root_of(second):
        return True
    if not first.size or not second.size:
        return False
    low, high = byte_bounds(first)
    other_low, other_high = byte_bounds(second)
    return low < other_high and other_low < high


def copies(arrays: list[Any], operands: Sequence[Any]) -> list[Any]:
    """The arrays, copied where they share memory with an operand or with one another."""
    owned: list[Any] = []
    for array in arrays:
        if any(shares(array, other) for other in (*operands, *owned)):
            array = array.copy()
        owned.append(array)
    return owned


def check_aliases(
    call: Call, outputs: Sequence[Any], places: Sequence[tuple[str, Type]], operands: Sequence[Any]
) -> None:
    """Raise if an output shares memory that the schema does not let it share, or does not share what it should."""
    names: list[tuple[str, Type | None]] | None = None
    for index, (out, (place, kind)) in enumerate(zip(outputs, places, strict=True)):
        if type(out) is not ndarray:
            continue
        is_view = bool(kind.alias)
        if is_view or out.base is not None or any(out is each or each.base is out for each in operands):
            names = names if names is not None else argument_names(call, len(operands))
            found = False
            for operand, (name, declared) in zip(operands, names, strict=True):
                if shares(out, operand):
                    if declared is not None and set(declared.alias) & set(kind.alias):
                        found = True
                    else:
                        raise _aliased(call, place, f"the argument {name}")
            if is_view and not found:
                raise _not_a_view(call, place)
        for other in range(index):
            if type(outputs[other]) is ndarray and shares(out, outputs[other]):
                raise _aliased(call, place, places[other][0])


def argument_names(call: Call, count: int) -> list[tuple[str, Type | None]]:
    """For every operand, how its argument is called and declared."""
    arguments = call.definition.schema.positional
    found: list[tuple[str, Type | None]] = [("", None)] * count
    for position, (kind, data) in enumerate(call.layout):
        name = arguments[position].name if position < len(arguments) else str(position)
        declared = arguments[position].type if position < len(arguments) else None
        if kind == TENSOR:
            found[data] = (name, declared)
        elif kind == LIST:
            for place, index in enumerate(data):
                if index is not None:
                    found[index] = (f"{name}[{place}]", declared)
    return found


def _aliased(call: Call, place: str, partner: str) -> AliasError:
    definition = call.definition
    return AliasError(
        f"{place} of {definition.qualname} shares memory with {partner}; results of an operator may not alias its "
        f"arguments or one another\n  kernel  registered at {definition.kernel_for(call)[1]}\n"
        "  why     a later write to one would silently change the other\n"
        "  fix     return a copy, or declare a view in the schema: (Tensor(a) x) -> Tensor(a)"
    )


def _not_a_view(call: Call, place: str) -> AliasError:
    definition = call.definition
    return AliasError(
        f"{place} of {definition.qualname} is declared a view, but shares no memory with its argument\n"
        f"  kernel  registered at {definition.kernel_for(call)[1]}\n"
        "  why     a copy that is marked as a view would follow writes that it does not see\n"
        "  fix     return a view, or declare a plain Tensor"
    )


_DTYPES = "?bBhHiIlLqQefdgFDG"


def run_kernel(call: Call, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a call on plain arrays: arrays, and Python numbers where the schema returns those."""
    definition = call.definition
    function, _ = definition.kernel_for(call)
    given = _arguments(call, payloads)
    keywords = call.keywords if "out" not in definition.tags else _out_keywords(call)
    modes, settings = current(), in_force()
    if modes.vmaps or modes.transforms:
        change(vmaps=(), transforms=(), grad=False)
    change_grad(False)
    try:
        result = function(*given, **keywords)
    finally:
        reinstate(settings)
    flat = checked(call, result, payloads, given, keywords)
    if definition.view_op is not None:
        _give_back_rights(flat, payloads)
    if definition.seen_outputs is not None:
        definition.seen_outputs.note(call, payloads, flat)
    return flat


def run_foreign(call: Call, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a call on arrays of another library, by the kernel that was registered for it."""
    definition = call.definition
    place = next(device_of(x) for x in payloads if device_of(x).kind is not None)
    kernel = definition.kernels.get(str(place)) or definition.kernels.get(place.kind.name)
    if kernel is None:
        raise AutogradError(
            "FOREIGN_OP",
            f"{definition.qualname} cannot be computed on {place}",
            why="it has kernels for NumPy's arrays only",
            fix=f'register one that takes and returns tensors there: op.register_kernel("{place.kind.name}", fn)',
        )
    given: list[Any] = []
    for kind, data in call.layout:
        if kind == STATIC:
            given.append(data)
        elif kind == TENSOR:
            given.append(wrap(payloads[data]))
        else:
            given.append([None if k is None else wrap(payloads[k]) for k in data])
    settings = in_force()
    change_grad(False)
    try:
        result = kernel[0](*given, **call.keywords)
    finally:
        reinstate(settings)
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(definition.schema.returns):
        raise _wrong(call, f"returned {len(results)} values, but its schema returns {len(definition.schema.returns)}")
    for each in results:
        if not isinstance(each, Tensor) or each.device is not place:
            raise _wrong(call, f"returned {_kind(each)}, but the call is on {place}: return a tensor there")
    return tuple([each._data for each in results])


def readonly(array: Any) -> Any:
    """The array as a kernel sees it that has not declared to write it."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def _give_back_rights(views: Sequence[Any], payloads: Sequence[Any]) -> None:
    """Kernels see arguments read-only, and a declared view is as writable as its argument."""
    if all(payload.flags.writeable for payload in payloads):
        for view in views:
            with contextlib.suppress(ValueError):  # NumPy lets a view of foreign memory stay read-only
                view.flags.writeable = True


def _arguments(call: Call, payloads: Sequence[Any]) -> list[Any]:
    definition = call.definition
    given: list[Any] = []
    for position, (kind, data) in enumerate(call.layout):
        if kind == STATIC:
            given.append(data)
            continue
        as_array, writes = definition.adapters[position] if definition.adapters is not None else (True, False)
        if kind == TENSOR:
            given.append(_argument(call, payloads[data], data, as_array, writes))
        else:
            given.append(
                [None if k is None else _argument(call, payloads[k], k, as_array, writes) for k in data]
            )
    return given


def _argument(call: Call, payload: Any, index: int, as_array: bool, writes: bool) -> Any:
    if not writes:
        array = readonly(payload)
        if as_array:
            return array
        tensor = wrap(array)
        if array is not payload or not payload.flags.writeable:
            tensor._extra = Extra()
            tensor._extra.readonly = True
        return tensor
    if as_array:
        return payload
    owner = None if call.written is None else call.written.get(index)
    if owner is None or owner._data is not payload:
        return from_outside(wrap(payload))
    return alias(owner)


def _out_keywords(call: Call) -> dict[str, Any]:
    kinds = {argument.name: argument.type for argument in call.definition.schema.keyword_only}
    return {
        name: value if not isinstance(value, Tensor) else value._data if kinds[name].as_array else alias(value)
        for name, value in call.keywords.items()
    }


# Results.


def checked(
    call: Call, result: Any, payloads: Sequence[Any], given: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """The results of a kernel as flat outputs, or an error that says what is wrong with them."""
    definition = call.definition
    schema = definition.schema
    is_plain = type(result) is ndarray and result.base is None and result.dtype.char in _DTYPES
    if is_plain and definition.returns_one_array:
        # The usual case, at once: an array with memory of its own, which is no argument's.
        for payload in payloads:
            if payload is result or payload.base is result:
                break
        else:
            return (result,)
    if schema.is_dynamic:
        return _dynamic(call, result, payloads)
    if "inplace" in definition.tags or "out" in definition.tags:
        return _returned_arguments(call, result, given, keywords)
    if not schema.returns:
        if result is not None:
            raise _wrong(call, f"returned {_kind(result)}, but its schema returns nothing")
        return ()
    if schema.returns_tuple:
        if not isinstance(result, (tuple, list)):
            raise _wrong(call, f"returned {_kind(result)}, but its schema returns {len(schema.returns)} values")
        if len(result) != len(schema.returns):
            raise _wrong(call, f"returned {len(result)} values, but its schema returns {len(schema.returns)}")
        results: Sequence[Any] = result
    else:
        results = (result,)
    flat: list[Any] = []
    counts: list[int | None] = []
    places: list[tuple[str, Type]] = []
    for position, (kind, value) in enumerate(zip(schema.returns, results, strict=True)):
        place = f"output {position}"
        if not kind.is_list:
            flat.append(_converted(call, kind, value, place))
            counts.append(None)
            places.append((place, kind))
            continue
        if not isinstance(value, (list, tuple)):
            raise _wrong(call, f"returned {_kind(value)} for {place}, which is a {kind}")
        for index, each in enumerate(value):
            flat.append(_converted(call, kind, each, f"{place}[{index}]"))
            places.append((f"{place}[{index}]", kind))
        counts.append(len(value))
    call.counts = tuple(counts)
    check_aliases(call, flat, places, payloads)
    return tuple(flat)


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _wrong(call: Call, what: str) -> KernelResultError:
    definition = call.definition
    return KernelResultError(
        f"the kernel of {definition.qualname} {what}\n  kernel  registered at {definition.kernel_for(call)[1]}\n"
        f"  schema  {definition.qualname}{definition.schema}"
    )


def _converted(call: Call, kind: Type, value: Any, place: str) -> Any:
    if kind.base == "Tensor":
        return _array(call, kind, value, place)
    if kind.base in ("SymInt", "int"):
        if isinstance(value, (int, np.integer, np.bool_)):
            return int(value)
        if isinstance(value, Tensor) and not value.ndim and value.dtype.kind in "iub":
            return int(value.detach())
    elif kind.base == "float":
        if isinstance(value, (int, float, np.integer, np.floating)):
            return float(value)
    elif kind.base == "bool":
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
    elif isinstance(value, (int, float, complex, np.generic)):
        return value.item() if isinstance(value, np.generic) else value
    raise _wrong(call, f"returned {_kind(value)} for {place}, which is a {kind}")


def _array(call: Call, kind: Type, value: Any, place: str) -> Any:
    if isinstance(value, Tensor):
        plain = plain_array(value._data)
        if plain is None:
            raise _wrong(call, f"returned a batched or traced Tensor for {place}")
        return plain
    if kind.as_array and isinstance(value, (ndarray, np.generic, int, float, complex)):
        return _plain(call, value, place)
    fix = "; return pb.asarray(...) or annotate the return as numpy.ndarray" if isinstance(value, ndarray) else ""
    raise _wrong(call, f"returned {_kind(value)} for {place}, which is a Tensor{fix}")


def _plain(call: Call, value: Any, place: str) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        raise _wrong(call, f"returned a masked array for {place}; the mask would be lost")
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise _wrong(call, f"returned an array of dtype {array.dtype} for {place}")
    return array


def _dynamic(call: Call, result: Any, payloads: Sequence[Any]) -> tuple[Any, ...]:
    several = isinstance(result, (tuple, list))
    parts = list(result) if several else [result]
    flat: list[Any] = []
    for position, value in enumerate(parts):
        if isinstance(value, Tensor):
            value = plain_array(value._data)
        if not isinstance(value, (ndarray, np.generic, int, float, complex)):
            raise _wrong(call, f"returned {_kind(value)} for output {position}; a primitive returns arrays or numbers")
        flat.append(_plain(call, value, f"output {position}"))
    flat = copies(flat, payloads)
    call.counts = (None,) * len(flat) if several else None
    if call.definition.casts_results:
        flat = [_cast(call, array, payloads) for array in flat]
    return tuple(flat)


def _cast(call: Call, array: Any, payloads: Sequence[Any]) -> Any:
    """The result of an elementwise primitive in the dtype that NumPy's promotion gives its arguments."""
    dtype = promoted(call, payloads)
    if dtype is None or array.dtype == dtype or not np.can_cast(array.dtype, dtype, "same_kind"):
        return array
    return array.astype(dtype)


def promoted(call: Call, operands: Sequence[Any]) -> Any:
    """The dtype of an elementwise result; Python's numbers promote weakly. None without arrays."""
    numbers = [data for kind, data in call.layout if kind == STATIC and isinstance(data, (int, float, complex))]
    if not operands:
        return None
    return np.result_type(*[x.dtype for x in operands], *numbers)


def _returned_arguments(
    call: Call, result: Any, given: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """Operators that write and return arguments: what the kernel returned must be those very arguments."""
    definition = call.definition
    place = f"\n  kernel  registered at {definition.kernel_for(call)[1]}"
    if "inplace" in definition.tags:
        if result is not given[0]:
            raise RuntimeError(f"{definition.qualname} is tagged inplace and must return its first argument{place}")
        return ()
    names = [argument.name for argument in definition.schema.keyword_only if argument.type.writes]
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(names) or not all(
        value is keywords[name] for value, name in zip(results, names, strict=True)
    ):
        raise RuntimeError(
            f"{definition.qualname} is tagged out and must return its written keyword-only arguments {names}{place}"
        )
    return ()
