"""Anomaly mode: where the operation behind a failing node was called, and a look for NaN after every node."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from pullback.core.frames import PACKAGE, warn
from pullback.core.state import change, current, last_entered, note_entered
from pullback.errors import AutogradError
from pullback.tape.node import Node
from pullback.tape.task import current_node


def remember_place(node: Node) -> None:
    """Keep where the node was made, and during a backward pass by which node."""
    import traceback  # only where somebody looks for an anomaly

    stack = traceback.extract_stack()
    while stack and stack[-1].filename.startswith((PACKAGE, "<fast path")):
        stack.pop()
    node.metadata["traceback_"] = traceback.format_list(stack)
    parent = current_node()
    if parent is not None:
        node.metadata["parent_"] = parent


def warn_about_origin(node: Node) -> None:
    """Say where the forward call of `node` was made, and that of every node it was made by."""
    text = f"Error detected in {node.name()}. "
    if node.rare is None or "traceback_" not in node.rare.metadata:
        _warn(text + "No forward traceback was recorded: run the forward pass inside detect_anomaly() as well.")
        return
    _warn(text + "Traceback of the forward call that caused it:\n" + "".join(node.rare.metadata["traceback_"]))
    parent = node.rare.metadata.get("parent_")
    while parent is not None:
        places = [] if parent.rare is None else parent.rare.metadata.get("traceback_", [])
        _warn(f"It was made by {parent.name()}, itself recorded at:\n" + "".join(places))
        parent = None if parent.rare is None else parent.rare.metadata.get("parent_")


def _warn(text: str) -> None:
    try:
        warn(text, UserWarning)
    except UserWarning:
        # Warnings are errors here, and the error of the pass must not be replaced by one.
        print(text, file=sys.stderr)


def _has_nan(payload: Any) -> bool:
    if isinstance(payload, np.ndarray):
        return payload.dtype.kind in "fc" and bool(np.isnan(payload).any())
    kind = getattr(getattr(payload, "device", None), "kind", None)
    if kind is None or payload.dtype.kind not in "fc":
        return False
    if kind.lazy:
        if kind.name not in _not_looked_at:
            _not_looked_at.add(kind.name)
            warn(f"anomaly mode does not look for nan in arrays of {kind.name}, which are computed later", UserWarning)
        return False
    return bool((payload != payload).any())


_not_looked_at: set[str] = set()


def check_nan(node: Node, gradients: tuple[Any, ...], given: Any = ()) -> None:
    """Raise if the formula of `node` produced NaN, of the gradients `given` to it."""
    for index, gradient in enumerate(gradients):
        payload = getattr(gradient, "_data", gradient)
        if _has_nan(payload):
            warn_about_origin(node)
            raise AutogradError(
                "ANOMALY_NAN",
                f"Function '{node.name()}' returned nan values in its {index}th output.",
                where=f"{node.name()}{_recorded_at(node)}",
                why="anomaly mode looks for nan after every node; the forward call is in the warning above",
                fix=_nan_fix(np.isnan(payload), given),
            )


def _recorded_at(node: Node) -> str:
    """The line of the forward call, if it was kept."""
    places = [] if node.rare is None else node.rare.metadata.get("traceback_", [])
    match = re.match(r'\s*File "(.*)", line (\d+)', places[-1]) if places else None
    return "" if match is None else f" of {match[1]}:{match[2]}"


def _nan_fix(is_nan: Any, given: Any) -> str:
    """What to do about NaN. Behind a choice it is 0 times an infinite slope, which the choice does not stop."""
    fix = "look at the values there, or use check_nan=False to allow nan"
    incoming = [getattr(each, "_data", each) for each in given if each is not None]
    if len(incoming) == 1 and getattr(incoming[0], "shape", None) == is_nan.shape and not incoming[0][is_nan].any():
        fix = (
            "under pb.where the other branch is differentiated as well, and 0 times an infinite slope is nan: choose "
            "its argument first, pb.where(c, pb.sqrt(pb.where(c, x, 1.0)), 0.0); or " + fix
        )
    return fix


class set_detect_anomaly:
    """Switch anomaly mode on or off; as a context manager it goes back to the previous setting.

    >>> with pb.autograd.set_detect_anomaly(True):
    ...     pb.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = change(anomaly=bool(mode), check_nan=bool(check_nan))

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        change(**self._previous)


class detect_anomaly:
    """Inside the block nodes remember where they were made, failing backward passes say so, and NaN is an error.

    >>> x = pb.tensor(-1.0, requires_grad=True)
    >>> with pb.autograd.detect_anomaly(check_nan=False):
    ...     (x * x).backward()
    >>> x.grad
    tensor(-2.)
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._previous: list[dict[str, Any]] = []
        warn("anomaly mode is for finding mistakes: it makes every operation slower")

    def __enter__(self) -> None:
        note_entered(self._previous, change(anomaly=True, check_nan=self._check_nan))

    def __exit__(self, *exc: object) -> None:
        change(**last_entered(self._previous, self))


def is_anomaly_enabled() -> bool:
    """True inside `detect_anomaly`.

    >>> pb.autograd.is_anomaly_enabled()
    False
    """
    return current().anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly mode also looks for NaN.

    >>> pb.autograd.is_anomaly_check_nan_enabled()
    True
    """
    return current().check_nan
