"""Einstein's sums on the arrays of one device, from transposes, products and sums of `numpy_names`."""

from __future__ import annotations

from typing import Any

from pullback.payloads.foreign.array import ForeignArray


def einsum(names: Any, subscripts: str, operands: list[ForeignArray]) -> Any:
    """A sum of products over letters, by transposes, products and sums; pairs from the left."""
    inputs, result = explicit(subscripts, operands).split("->")
    terms = inputs.split(",")
    letters, array = terms[0], operands[0]
    letters, array = _merged(names, letters, array)
    for term, other in zip(terms[1:], operands[1:], strict=True):
        term, other = _merged(names, term, other)
        joined = "".join(dict.fromkeys(letters + term))
        array = _spread(names, array, letters, joined) * _spread(names, other, term, joined)
        letters = joined
    gone = tuple([k for k, c in enumerate(letters) if c not in result])
    if gone:
        array = names.sum(array, gone, array.dtype)
        letters = "".join(c for c in letters if c in result)
    return names.transpose(array, tuple([letters.index(c) for c in result])) if result else array


def explicit(subscripts: str, operands: list[ForeignArray]) -> str:
    """Subscripts with a letter for every axis, and with a result."""
    subscripts = subscripts.replace(" ", "")
    inputs, arrow, result = subscripts.partition("->")
    terms = inputs.split(",")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    named = [len(term.replace("...", "")) for term in terms]
    hidden = [x.ndim - count if "..." in term else 0 for term, x, count in zip(terms, operands, named, strict=True)]
    letters = "".join(free[: max(hidden)])
    if not arrow:
        used = "".join(terms).replace("...", "")
        result = ("..." if "..." in inputs else "") + "".join(sorted(c for c in set(used) if used.count(c) == 1))
    terms = [term.replace("...", letters[len(letters) - count :]) for term, count in zip(terms, hidden, strict=True)]
    return f"{','.join(terms)}->{result.replace('...', letters)}"


def _merged(names: Any, letters: str, array: ForeignArray) -> tuple[str, ForeignArray]:
    """Equal letters of one operand as one: its diagonal."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            first, second = letters.index(c), letters.rindex(c)
            array = names.diagonal(array, 0, first, second)
            letters = "".join(x for k, x in enumerate(letters) if k not in (first, second)) + c
    return letters, array


def _spread(names: Any, array: ForeignArray, letters: str, joined: str) -> ForeignArray:
    order = tuple([letters.index(c) for c in joined if c in letters])
    return names.transpose(array, order)[tuple([slice(None) if c in letters else None for c in joined])]
