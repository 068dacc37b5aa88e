"""The fast path of elementwise operators inside the body of a reverse transform (bench/transforms.py).

There every tensor with a history says which transforms it depends on (`Extra.deps`), and new memory is dated. The code
is that of the usual fast path with these differences put in, so it is made from the same source.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from pullback.autograd._tokens import Deps, is_live, union
from pullback.core.state import current, observers
from pullback.declare.op import Op
from pullback.eager.fast import SHARED, compiled_call, fast_source
from pullback.eager.large import large_function, metered_pull
from pullback.eager.nodes import TokenNode, large_node_classes, token_node_classes
from pullback.tensors.tensor import Extra, Tensor
from pullback.tensors.versions import dated_counter

ndarray = np.ndarray


def is_heavy(x: Tensor) -> bool:
    """Is there more to a tensor than an array, and a history that depends on transforms?"""
    extra = x._extra
    return extra is not None and bool(
        type(x._data) is not ndarray
        or extra.view is not None
        or extra.forward is not None
        or extra.output_nr
        or extra.inference
        or extra.readonly
    )


def living(x: Tensor) -> Any:
    """The node behind a tensor if somebody still asks for its derivative."""
    extra = x._extra
    return x._node if extra is None or extra.deps is None or is_live(extra.deps) else None


def finish(result: Tensor, node: Any, x: Any, y: Any = None) -> None:
    """Say what the result of a recorded call depends on, and that it was made here."""
    if result._counter is None:
        result._counter = dated_counter()
    first, second = node.next if len(node.next) == 2 else (node.next[0], None)
    if first is None:
        deps = _deps(y)
    elif second is None:
        deps = _deps(x)
    else:
        deps, other = _deps(x), _deps(y)
        if other is not deps:
            deps = union((deps, other))
    node.deps = deps
    if deps is not None:
        result._extra = extra = Extra()
        extra.deps = deps


def _deps(x: Tensor) -> Deps:
    extra = x._extra
    return None if extra is None else extra.deps


# What is different from the usual fast path: the usual line, and the one in its place.
_DIFFERENCES = (
    ("current() is not switch.normal", "not current().records or observers"),
    ("if modes.transforms", "if False"),
    ("if modes is switch.no_grad", "if False"),
    ("x._extra is not None", "is_heavy(x)"),
    ("y._extra is not None", "is_heavy(y)"),
    ("behind_x = x._node\n", "behind_x = living(x)\n"),
    ("behind_y = y._node\n", "behind_y = living(y)\n"),
    ("result._node = None\n", "result._node, result._counter = None, dated_counter()\n"),
    ("node.out_counter = result._counter = counter = VersionCounter()", "node.out_counter = result._counter = "
     "counter = dated_counter()"),
    ("node.seq = next_stamp()\n", "node.seq = next_stamp()\n{indent}finish(result, node, {operands})\n"),
)  # fmt: skip


def _source(op: Op) -> str:
    lines = []
    for line in fast_source(op, False).splitlines(keepends=True):
        indent = line[: len(line) - len(line.lstrip())]
        for usual, here in _DIFFERENCES:
            if usual in line:
                line = line.replace(usual, here.format(indent=indent, operands=", ".join(op.operands)))
        lines.append(line)
    return "".join(lines)


def with_tokens(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    """The general function of an elementwise op, with the short way inside reverse transforms before it."""
    scope: dict[str, Any] = {
        **SHARED, "kernel": op.kernel, "general": general, "unusual": general, "dated_counter": dated_counter,
        "finish": finish, "is_heavy": is_heavy, "living": living, "observers": observers,
    }  # fmt: skip
    scope["large"] = large_function(op, lambda: _source(op), scope, lambda: large_node_classes(
        op, op.fast_rules or (), TokenNode, metered_pull
    ))  # fmt: skip
    compiled: list[Callable[..., Any]] = []

    def call(*operands: Any, out: Any = None) -> Any:
        if out is None and current().records:
            if not compiled:
                scope["Saved"], scope["Loose"] = token_node_classes(op, op.fast_rules or ())
                compiled.append(FunctionType(compiled_call(_source(op), op.name), scope, op.name, (None,)))
            return compiled[0](*operands)
        return general(*operands) if out is None else general(*operands, out=out)

    return call
