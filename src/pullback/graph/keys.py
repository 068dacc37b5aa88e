"""Keys of attributes and operands: equal for what computes the same, and hashable.

Python says that 1, 1.0 and True are equal, that 0.0 is -0.0, and that a slice has no hash. A key tells all of those
apart, and an array is known by its type and bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.declare.steps import ViewStep
from pullback.graph.ir import Program, Value
from pullback.graph.printing import opaque_in, program_text
from pullback.graph.types import ArrayType, type_of

_LARGEST_COMPARED = 4096  # bytes of an array that is compared with others; larger ones are the same only if identical


def operand_key(x: Any) -> Any:
    """The key of an operand."""
    return x if type(x) is Value or x is None or type(x) is int else attribute_key(x)


def attributes_key(attrs: dict[str, Any]) -> Any:
    """The key of all attributes of a node."""
    if not attrs:
        return ()
    return tuple([(name, attribute_key(value)) for name, value in sorted(attrs.items())])


def attribute_key(x: Any) -> Any:
    """The key of one value."""
    kind = type(x)
    if kind in (int, str, bytes, type(None)):
        return x
    if kind is tuple:
        for part in x:
            if type(part) is not int:
                return tuple(map(attribute_key, x))
        return x
    if kind is bool:
        return ("bool", x)
    if kind in (float, complex):
        return (kind, repr(x))
    if kind is slice:
        return ("slice", attribute_key(x.start), attribute_key(x.stop), attribute_key(x.step))
    if kind is list:
        return ("list", *map(attribute_key, x))
    if kind is dict:
        return ("dict", *((attribute_key(name), attribute_key(value)) for name, value in x.items()))
    if kind is ViewStep:
        return (x.op, attributes_key(x.params))
    if isinstance(x, np.generic):
        return (kind, x.tobytes())
    if isinstance(x, np.ndarray):
        return (type_of(x), x.tobytes()) if x.nbytes <= _LARGEST_COMPARED and not x.dtype.hasobject else ("at", id(x))
    if isinstance(x, Program):
        return (program_text(x), *map(id, opaque_in(x)))
    return x if isinstance(x, (np.dtype, Op, type, ArrayType)) else ("at", id(x))
