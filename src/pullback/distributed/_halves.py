"""Collectives in two halves, as compiled graphs make them: `dist::start` and `dist::wait`.

Which collectives can be cut: sums in the order of ranks, messages to neighbours, and halos. Their messages are the same
as in one piece, so that ranks may differ in it. `graph/passes/overlap.py` says where the halves go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.distributed._communicator import pending
from pullback.distributed._halo import HaloExchange
from pullback.distributed._moves import AllReduce, Array, Move, SendRecv, Shape, ordered_sum
from pullback.distributed._operators import OPERATORS
from pullback.distributed._sums import Begun, Running
from pullback.graph.ir import ArrayType, type_of
from pullback.library import custom_op
from pullback.library._call import STATIC, TENSOR, Call, Promise
from pullback.tensors.tensor import Tensor, wrap


def _start(x: Tensor, move: Move) -> Tensor:
    return wrap(np.asarray(move.comm.begin(move, x._data)))


def _wait(token: Tensor, move: Move) -> Tensor:
    handle = pending.begun[int(token._data)]
    try:
        return wrap(handle.wait())
    finally:
        del pending.begun[int(token._data)]


def _declared(name: str, kernel: Any, schema: str) -> Any:
    made = custom_op(f"dist::{name}", kernel, mutates_args=(), schema=schema)
    made.register_effect("collective")
    return made


START = _declared("start", _start, "(Tensor x, Any move) -> Tensor")
WAIT = _declared("wait", _wait, "(Tensor token, Any move) -> Tensor")
_TOKEN = type_of(np.zeros((), np.int64))


class Half(NamedTuple):
    """A node of a graph, without its operands."""

    op: Any
    call: Call
    types: tuple[ArrayType, ...]


def _half(definition: Any, move: Move, kind: ArrayType) -> Half:
    call = Call(definition, ((TENSOR, 0), (STATIC, move)), {})
    call.promise = Promise(schema=str(definition.schema), results=(kind,))
    return Half(definition.op, call, (kind,))


def halves(node: Any) -> tuple[Half, Half] | None:
    """Both halves of a node, if it is of a collective that can be cut."""
    move = next(data for kind, data in node.attrs["call"].layout if kind == STATIC)
    if not move.can_begin(tuple(node.operands[0].type.shape)):
        return None
    return _half(START, move, _TOKEN), _half(WAIT, move, node.results[0].type)


# What can be cut.


def _is_sum_in_order(self: AllReduce, shape: Shape) -> bool:
    return self.op == "sum" and self.ordered


def _begin_sum(self: AllReduce, x: Array, text: str) -> Any:
    return Running(self.comm, text, x.reshape(-1), ordered_sum, site=self.site, shape=x.shape)


def _is_allowed(self: Any, shape: Shape) -> bool:
    return self.refusal(shape) is None


def _begin_halo(self: HaloExchange, x: Array, text: str) -> Any:
    return Begun(self.comm, text, self.site, *self.messages(x), finish=lambda came: self.around(x, came))


def _begin_pair(self: SendRecv, x: Array, text: str) -> Any:
    sends, wanted = self.messages(x)
    return Begun(self.comm, text, self.site, sends, wanted, finish=lambda came: self.received(x, came),
                 route=self.route(x))  # fmt: skip


_CUT: tuple[tuple[Any, Any, Any], ...] = (
    (AllReduce, _is_sum_in_order, _begin_sum),
    (HaloExchange, _is_allowed, _begin_halo),
    (SendRecv, _is_allowed, _begin_pair),
)
for _kind, _test, _begin in _CUT:
    _kind.can_begin, _kind.begun = _test, _begin
    OPERATORS[_kind.name].halves = halves
