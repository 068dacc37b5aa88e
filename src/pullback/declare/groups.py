"""Groups of operators that a payload can have one rule for. They follow from the declarations; nobody keeps a list.

| group         | operators                                                                                  |
|---------------|--------------------------------------------------------------------------------------------|
| `copy`        | the same numbers: copies, casts, and what `detach` and transforms do                        |
| `write`       | a value written into an array, or into places of it                                         |
| `index`       | elements at places that are given, and the adjoint                                          |
| `view`        | views                                                                                       |
| `comparison`  | truth values of two arrays                                                                  |
| `reduction`   | everything along some axes                                                                  |
| `contraction` | products that sum: `matmul`, `einsum`, convolutions                                         |
| `gufunc`      | functions of matrices                                                                       |
| `random`      | random numbers                                                                              |
| `linear`      | linear in all operands together, for fixed positions and conditions                         |
| `multilinear` | linear in each of several operands                                                          |
| `elementwise` | an element of the result depends on the elements at its place                               |
| `any`         | all                                                                                         |

An operator is in several; the narrowest comes first, in the order of this table.
"""

from __future__ import annotations

import functools
from typing import Any

from pullback.declare.op import Op

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_CONTRACTIONS = frozenset({"contracts", "multiplies", "crosses", "convolves", "affine"})
_REDUCTIONS = frozenset({"reduces"})


def _is_linear(op: Op) -> bool:
    if op.group == "linear":
        return True
    if op.linear_in is None:
        return op.partials is not None and all(rule.constant for rule in op.partials)
    if op.multilinear:
        return len(op.linear_in) == 1 and set(op.gradients) <= op.linear_in
    return True


def _is_multilinear(op: Op) -> bool:
    return op.group == "multilinear" or (op.multilinear and len(op.linear_in or ()) > 1)


_TESTS: dict[str, Any] = {
    "copy": lambda op: op.group == "copy" or op.flow == "casts",
    "write": lambda op: op.flow in ("assigns", "puts"),
    "index": lambda op: op.group == "index" or op.flow == "gathers",
    "view": lambda op: op.is_view,
    "comparison": lambda op: op.group == "comparison" or op.scalar in _COMPARISONS,
    "reduction": lambda op: op.family == "reduction" or op.flow in _REDUCTIONS,
    "contraction": lambda op: op.flow in _CONTRACTIONS or (_is_multilinear(op) and op.flow != "elementwise"),
    "gufunc": lambda op: op.family == "gufunc",
    "random": lambda op: op.family == "random",
    "linear": _is_linear,
    "multilinear": _is_multilinear,
    "elementwise": lambda op: op.flow == "elementwise",
    "any": lambda op: True,
}
GROUPS = tuple(_TESTS)


@functools.cache
def groups_of(op: Op) -> tuple[str, ...]:
    """The groups of an operator, the narrowest first."""
    return tuple([group for group, is_in in _TESTS.items() if is_in(op)])


@functools.cache
def public_name(op: Op) -> str:
    """What users call an operator: `linalg.solve` for `_linalg_solve`, `reshape` for `_reshape`."""
    name = op.name.lstrip("_")
    family = (getattr(op.kernel, "__module__", None) or "").partition(".operators.")[2].split(".")[0]
    return f"{family}.{name[len(family) + 1:]}" if name.startswith(f"{family}_") else name


@functools.cache
def names_of(op: Op) -> tuple[str, ...]:
    """All that users may call an operator: also without its family, and by other names."""
    public = public_name(op)
    return tuple(dict.fromkeys([op.name, public, public.rpartition(".")[2], *op.aliases]))
