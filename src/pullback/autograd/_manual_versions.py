"""Version counters changed by hand, for code that writes memory behind Pullback's back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pullback.autograd._variable import bump_version
from pullback.errors import AutogradError
from pullback.tensors.tensor import Tensor, shared_counter


def increment_version(tensors: Tensor | Iterable[Tensor]) -> None:
    """Say that the memory of these tensors was written. Inference tensors are not counted.

    >>> x = pb.tensor([1.0, 2.0])
    >>> x.numpy()[0] = 5.0
    >>> pb.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for tensor in _listed(tensors):
        bump_version(tensor, None)


def _listed(tensors: Any) -> list[Tensor]:
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for tensor in found:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensors, got {type(tensor).__name__}")
    return found


class _unsafe_preserve_version_counter:
    """Writes to these tensors inside the block are not counted: backward will not notice them."""

    def __init__(self, tensors: Tensor | Iterable[Tensor]) -> None:
        self._counters = [shared_counter(tensor) for tensor in _listed(tensors)]
        self._versions = [0 if counter is None else counter.value for counter in self._counters]

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        for counter, version in zip(self._counters, self._versions, strict=True):
            if counter is not None:
                counter.rewind(version)


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Give these tensors these versions: a larger one counts as a write to all of the memory."""
    pairs = list(zip(_listed(tensors), versions, strict=True))
    for _, version in pairs:
        if version < 0:
            raise AutogradError(
                "VERSION_NEGATIVE",
                f"a version can not be set to {version}, which is below 0",
                why="versions count writes",
                fix="pass a version that was read from a tensor",
            )
    for tensor, version in pairs:
        counter = shared_counter(tensor)
        if counter is None:
            continue
        if version > counter.value:
            counter.value = version - 1
            counter.bump()
        else:
            counter.rewind(version)
