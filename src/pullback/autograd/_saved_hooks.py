"""Hooks for values saved for backward: replace what is kept, or refuse that anybody does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.core.state import change, current


class saved_tensors_hooks:
    """Inside the block every tensor saved for backward goes through `pack`, and through `unpack` when it is read.

    `pack(tensor)` runs when the value is saved and may return anything; `unpack` turns that back into a tensor of the
    same shape and dtype. Of nested blocks the innermost applies. The tensor itself is no longer checked for writes.

    >>> def pack(tensor):
    ...     return tensor.numpy().astype("float32")
    >>> def unpack(array):
    ...     return pb.asarray(array.astype("float64"))
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> with pb.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = x * x  # keeps x in single precision
    >>> y.backward()
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        modes = current()
        if modes.hooks_disabled is not None:
            raise RuntimeError(modes.hooks_disabled)
        self._entered.append(change(saved_hooks=(*modes.saved_hooks, (self.pack_hook, self.unpack_hook))))

    def __exit__(self, *exc: object) -> None:
        change(**self._entered.pop())


class disable_saved_tensors_hooks:
    """Inside the block using `saved_tensors_hooks` is an error with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        if current().saved_hooks:
            raise RuntimeError(self.error_message)
        self._entered.append(change(hooks_disabled=self.error_message))

    def __exit__(self, *exc: object) -> None:
        change(**self._entered.pop())


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory. They are there already, so this changes nothing."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cpu") -> None:
        # A detached alias: an output that kept itself would keep its own node, too.
        super().__init__(lambda tensor: tensor.detach(), lambda tensor: tensor)
