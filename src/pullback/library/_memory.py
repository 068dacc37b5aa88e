"""Who shares memory with whom: results must be in memory of their own, unless the schema declares a view.

Two arrays share memory if the chains of `.base` end in one object, or if their bytes overlap: an array made from a
pointer or a buffer has another root. Slices of one buffer that do not overlap count as shared, since they live and
die together, and a caller who frees one would keep the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.library._call import LIST, TENSOR, Call
from pullback.library._errors import AliasError
from pullback.library._schema import Type

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
