"""Operators as NumPy expressions: for each node the cheapest call with the same result to the last bit.

`lower(node, operands)` returns what the backend can do about memory for this node (`Traits`) and how it is written.
Operators that are one NumPy call have a form, those whose kernel is a ufunc need none; the rest call their kernel,
which is the same function that eager execution calls. A form may decline by returning None.
"""

from __future__ import annotations

import numpy as np

from pullback.compiler.numpy_source import arithmetic, views
from pullback.compiler.numpy_source.forms import FORMS, Lowered, Operands, Writing, of_kernel, of_ufunc
from pullback.graph.ir import Node

__all__ = ["FORM_MODULES", "Lowered", "Writing", "lower"]

FORM_MODULES = (arithmetic, views)
"""The modules that enter forms."""


def lower(node: Node, operands: Operands) -> Lowered:
    """How a node of a declared operator is written."""
    op = node.target
    assert op is not None
    form = FORMS.get(op.name) if op.family != "custom" else None
    lowered = form(node, operands) if form is not None else None
    if lowered is None and isinstance(op.kernel, np.ufunc) and not node.attrs and len(node.results) == 1:
        lowered = of_ufunc(op.kernel, node, operands)
    return lowered or of_kernel(node, operands)
