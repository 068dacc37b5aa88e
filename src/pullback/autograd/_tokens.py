"""Tokens: which running transforms a tensor's history depends on.

Every reverse transform has a token that lives from its entry until its body has returned. A tensor with a history
knows the tokens that the history leads to (`Extra.deps`), and it requires grad while one of them lives; so what was
only recorded for a transform that is over is a constant again without anybody walking the graph. `deps` of None, the
usual case, stands for leaves of the user, which live for ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from pullback.core.state import next_stamp
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import CreationMeta


class Token:
    """Stands for one reverse transform, or for all leaves of the user."""

    __slots__ = ("__weakref__", "live", "stamp")

    def __init__(self) -> None:
        self.stamp = next_stamp()
        # How many bodies of the transform are running. A checkpoint runs a part of one again after it has ended.
        self.live = 1


Deps = frozenset[Token] | None

USER = Token()


def deps_of(tensor: Tensor) -> Deps:
    """The tokens behind a tensor that requires grad."""
    extra = tensor._extra
    if extra is None:
        return None
    info = extra.view
    if info is not None and info.creation_meta is CreationMeta.DEFAULT and info.base._node is not None:
        return deps_of(info.base)
    return extra.deps


def union(parts: Iterable[Deps]) -> Deps:
    """The living tokens of all parts together."""
    known: set[Deps] = set(parts)
    if len(known) == 1:
        (only,) = known
        return only
    tokens = {token for part in known for token in (part if part is not None else (USER,)) if token.live}
    return None if tokens == {USER} else frozenset(tokens)


def is_live(deps: Deps) -> bool:
    """Does somebody still want derivatives of what depends on these?"""
    if deps is None:
        return True
    for token in deps:  # noqa: SIM110  (a generator costs more than the few tokens there are)
        if token.live:
            return True
    return False


def deps_behind(operands: Iterable[object], needs: Iterable[bool]) -> Deps:
    """The tokens behind the result of a call whose `needs` say which operands require grad."""
    deps: Deps = None
    is_first = True
    for x, needed in zip(operands, needs, strict=True):
        if needed:
            own = deps_of(x)  # type: ignore[arg-type]
            if is_first:
                deps, is_first = own, False
            elif own is not deps:
                deps = union((deps, own))
    return deps
