"""The leaves of what loops carry and branches return: made tensors, and compared, with errors that name the leaf."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.aot._wrappers import is_wrapped
from pullback.core import pytree
from pullback.core.pytree import flatten, unflatten
from pullback.core.spec import describe
from pullback.core.state import current
from pullback.declare.op import registry
from pullback.errors import TraceError
from pullback.payloads.recorder import user_location
from pullback.tensors.tensor import Tensor, as_constant

_NUMBERS = (int, float, complex, np.ndarray, np.generic)


class Tree:
    """A tree of tensors taken apart. None is a leaf that stays None; everything else is made a tensor."""

    __slots__ = ("leaves", "structure", "what")

    def __init__(self, what: str, tree: Any) -> None:
        self.what = what
        found, self.structure = flatten(tree)
        self.leaves: list[Tensor | None] = []
        for position, leaf in enumerate(found):
            if leaf is None or isinstance(leaf, Tensor):
                if current().trace is not None and is_wrapped(leaf):
                    raise of_payload(leaf, f"{what}{paths(tree, len(found))[position]}")
                self.leaves.append(leaf)
            elif isinstance(leaf, _NUMBERS):
                self.leaves.append(as_constant(leaf))
            else:
                raise _no_tensor(leaf, f"{what}{paths(tree, len(found))[position]}")

    @property
    def tensors(self) -> list[Tensor]:
        """The leaves that are not None."""
        return [leaf for leaf in self.leaves if leaf is not None]

    def filled(self, tensors: Iterable[Any]) -> Any:
        """The tree with these tensors in place of its own."""
        remaining = iter(tensors)
        return unflatten(self.structure, [None if leaf is None else next(remaining) for leaf in self.leaves])

    def named(self) -> list[tuple[str, Tensor | None]]:
        """The leaves, with what they are called in messages."""
        tree = unflatten(self.structure, self.leaves)
        names = [f"{self.what}{path}" for path in paths(tree, len(self.leaves))]
        return list(zip(names, self.leaves, strict=True))


def paths(tree: Any, count: int) -> list[str]:
    """How to get from a tree to each of its leaves: `['h'][0]`."""
    found = pytree.paths(tree)
    return ["".join(f"[{key!r}]" for key in path) for path in found] if len(found) == count else [""] * count


def _no_tensor(leaf: Any, name: str) -> TypeError:
    return TypeError(
        f"{name} is of type {type(leaf).__name__}: loops and branches take and return tensors, arrays and numbers; "
        "let the function close over anything else"
    )


def of_payload(tensor: Any, name: str) -> TraceError:
    """The error for a tensor on a payload made of arrays, inside of control flow."""
    kind = type(tensor._data).__name__
    return TraceError(
        f"{name} is a tensor on a {kind}: compiled loops and branches take and return plain tensors only",
        location=user_location(),
        why="the graph of a body has arrays, and what they are the parts of is known to the function around it only",
        fix=f"pass the parts of the {kind} as tensors and put them together behind, use pb.where for a choice, or call "
        "the loop outside of the compiled function",
    )


def check_same(who: str, first: Tree, second: Tree, first_role: str, second_role: str) -> None:
    """Raise unless two trees have the same structure, and leaves of the same shapes and dtypes."""
    if first.structure != second.structure:
        raise TypeError(
            f"{who}: {second_role} has another structure than {first_role}\n"
            f"  {first_role}: {first.structure}\n  {second_role}: {second.structure}"
        )
    for position, (mine, theirs) in enumerate(zip(first.leaves, second.leaves, strict=True)):
        if (None if mine is None else mine._spec) != (None if theirs is None else theirs._spec):
            name, _ = first.named()[position]
            raise TypeError(
                f"{who}: {name} is {_kind(mine)} in {first_role} and {_kind(theirs)} in {second_role}; "
                f"{_advice(mine, theirs)}"
            )


def _kind(leaf: Tensor | None) -> str:
    return "None" if leaf is None else describe(leaf.shape, leaf.dtype)


def _advice(mine: Tensor | None, theirs: Tensor | None) -> str:
    if mine is None or theirs is None:
        return "a leaf is None everywhere or nowhere"
    if mine.shape == theirs.shape:
        return f"make them alike, with .astype({str(mine.dtype)!r}) for example"
    return "shapes must stay the same: pb.broadcast_to or an index may be missing"


def pair_of(who: str, returned: Any) -> tuple[Any, Any]:
    """What the body of a scan returned."""
    if not (isinstance(returned, tuple) and len(returned) == 2):
        shown = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
        raise TypeError(f"{who}: the body must return a pair (carry, y), and returned {shown}; y may be None")
    return returned


def length_of(who: str, xs: Tree, length: int | None) -> int:
    """The number of steps of a scan."""
    found = None if length is None else operator.index(length)  # int() would fix a length that varies
    if found is not None and found < 0:
        raise ValueError(f"{who}: length must not be negative, got {length}")
    for name, leaf in xs.named():
        if leaf is None:
            continue
        if not leaf.ndim:
            raise ValueError(f"{who}: {name} has no axis to go along: it is {_kind(leaf)}")
        if found is None:
            found = leaf.shape[0]
        elif leaf.shape[0] != found:
            raise ValueError(f"{who}: {name} has {leaf.shape[0]} slices, where {found} steps are to be made")
    if found is None:
        raise ValueError(f"{who}: with xs=None the number of steps has to be given as length=")
    return found


def check_predicate(who: str, predicate: Any) -> Any:
    """What decides: a bool, or a tensor without axes."""
    if isinstance(predicate, (bool, np.bool_, int, float)):
        return bool(predicate)
    if isinstance(predicate, np.ndarray):
        predicate = as_constant(predicate)
    if not isinstance(predicate, Tensor):
        raise TypeError(f"{who}: what decides must be a bool or a tensor without axes, got {type(predicate).__name__}")
    if predicate.shape != ():
        raise TypeError(
            f"{who}: what decides must have no axes, and has shape {list(predicate.shape)}; use .all() or .any(), or "
            "pb.where to choose element by element"
        )
    return predicate if predicate.dtype.kind == "b" else registry["not_equal"].function(predicate, 0)
