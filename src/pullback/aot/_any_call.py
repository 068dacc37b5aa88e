"""Capturing, compiling and running calls, whether or not there are wrappers among their tensors.

What is about wrappers is loaded when the first of them comes by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.aot import _capture as plain
from pullback.aot import _later
from pullback.aot._capture import Capture, Options
from pullback.aot._compilers import Compilers
from pullback.aot._entry import Entry
from pullback.aot._runtime import run as run_plain
from pullback.aot._wrappers import HasWrappers, is_array, is_wrapped
from pullback.tensors.tensor import Tensor


def capture(
    function: Callable[..., Any], leaves: list[Any], in_tree: Any, options: Options, *, backward: bool = True
) -> Capture:
    """`_capture.capture`, for calls with and without wrappers."""
    if not has_wrappers(leaves):
        try:
            return plain.capture(function, leaves, in_tree, options, backward=backward)
        except HasWrappers:
            pass  # the function makes them by itself
    captured: Capture = _later.capture_wrapped(function, leaves, in_tree, options, backward=backward)
    return captured


def entry_for(
    captured: Capture, compilers: Compilers, options: Options, function: Callable[..., Any] | None = None
) -> Any:
    """The compiled form of a capture."""
    kind: Any = Entry if captured.flat is None else _later.WrappedEntry
    return kind(captured, compilers, options, function)


def run(entry: Any, leaves: list[Any]) -> Any:
    """The result of a call that fits `entry`."""
    return run_plain(entry, leaves) if type(entry) is Entry else _later.run_wrapped(entry, leaves)


def has_wrappers(leaves: list[Any]) -> bool:
    """Is a tensor on a payload made of arrays among the arguments?"""
    return any(map(is_wrapped, leaves))


def is_capturable(leaf: Any) -> bool:
    """Is this argument no tensor, a plain one, or one whose payload can be taken apart?"""
    if not isinstance(leaf, Tensor) or is_array(leaf._data):
        return True
    return is_wrapped(leaf)
