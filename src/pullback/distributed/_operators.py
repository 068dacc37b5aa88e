"""The collectives as operators: namespace `dist`, one for every kind of move, with all its rules derived from it."""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

import numpy as np

from pullback.core.frames import is_own
from pullback.core.records import replace
from pullback.core.spec import Spec, spec_for
from pullback.core.state import current, open_levels, switch
from pullback.declare.families import primitive
from pullback.distributed._halo import HaloExchange, HaloFold, HaloWait
from pullback.distributed._moves import (
    AllGather,
    AllReduce,
    AllToAll,
    Array,
    Broadcast,
    Gather,
    Move,
    OwnBlock,
    Reduce,
    ReduceScatter,
    Scatter,
    SendRecv,
    Shape,
    Vary,
)
from pullback.library import CustomOpDef, custom_op
from pullback.operators.arrays.joining import concat
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, as_constant, wrap


class Send(Move, frozen=True):
    """A message to one rank. The result is a token, a zero without axes, by which its backward pass is reached."""

    dest: int = 0
    tag: int = 0

    name: ClassVar[str] = "send"

    def shape(self, shape: Shape) -> Shape:
        """None but those of a vmap."""
        return shape[: self.lead]

    def run(self, wire: Any, x: Array) -> Array:
        """Hand the block over; nobody is waited for."""
        wire.send(x, self.dest, (self.tag, self.way))
        return np.zeros(self.shape(x.shape), x.dtype)

    def transposed(self, shape: Shape) -> Move:
        """The receiver sends the gradient back."""
        return self._turned(Recv, source=self.dest, tag=self.tag, like=shape[self.lead :])


class Recv(Move, frozen=True):
    """A message from one rank. The operand is an anchor without axes, by which the result is recorded."""

    source: int = 0
    tag: int = 0
    like: Shape = ()

    name: ClassVar[str] = "recv"

    def shape(self, shape: Shape) -> Shape:
        """That of the message."""
        return (*shape, *self.like)

    def run(self, wire: Any, x: Array) -> Array:
        """Wait for the message."""
        text = f"recv from rank {self.source}, tag {self.tag} at {self.site}"
        result: Array = wire.receive(self.shape(x.shape), x.dtype, self.source, (self.tag, self.way), text)
        return result

    def transposed(self, shape: Shape) -> Move:
        """The gradient goes back to the sender."""
        return self._turned(Send, dest=self.source, tag=self.tag)


def _kernel(x: Tensor, move: Move) -> Tensor:
    if isinstance(move, (Send, Recv)):
        return wrap(move.comm.perform_point(move, x._data))
    return wrap(move.comm.perform(move, x._data))


def _fake(x: Any, move: Move) -> Any:
    return x.new_empty(move.shape(tuple(x.shape)))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.shape, ctx.move = tuple(inputs[0].shape), inputs[1]


def _backward(ctx: Any, g: Any) -> tuple[Any, None]:
    return _pulled(ctx.move, g, ctx.shape), None


def _pulled(move: Move, g: Any, shape: Shape) -> Any:
    """The gradient for an operand of this shape."""
    move = move.transposed(shape)
    found = apply(move, g)
    if isinstance(move, Gather) and tuple(found.shape) != shape:
        # What this rank gave to `scatter` was a description. Its gradient is zeros, which stay connected to the
        # gather, so that a derivative of the backward pass reaches it on every rank.
        found = concat((found, wrap(np.zeros(shape, g.dtype))), axis=move.lead + move.axis)
    return found


@primitive(name="_collective")
def _recorded(x: Any, *, move: Move) -> Any:
    """A collective on a plain array that is recorded, and that nobody else looks at: the operator without its checks.
    bench/distributed.py::recorded"""
    return move.comm.perform(move, x)


@_recorded.vjp
def _recorded_vjp(g: Any, x: Spec, move: Move) -> Any:
    if type(g) is np.ndarray and not isinstance(move, Scatter) and current().trace is None:
        return move.comm.perform(move.transposed(x.shape), g)
    return _pulled(move, g, x.shape)


@_recorded.jvp
def _recorded_jvp(t_x: Any, move: Move) -> Any:
    return apply(move.tangent(), t_x)


@_recorded.spec
def _recorded_spec(x: Spec, *, move: Move) -> Spec:
    return spec_for(move.shape(tuple(x.shape)), x.dtype)


def _forward(ctx: Any, t: Any, _: Any) -> Any:
    return apply(ctx.move.tangent(), t)


def _batched(info: Any, in_dims: tuple[Any, ...], x: Any, move: Move) -> tuple[Any, int]:
    return apply(move.batched(), x), 0


def _declared(kind: type[Move]) -> CustomOpDef:
    made: CustomOpDef = custom_op(
        f"dist::{kind.name}", _kernel, mutates_args=(), schema="(Tensor x, Any move) -> Tensor"
    )
    made.__doc__ = kind.__doc__
    made.register_fake(_fake)
    made.register_autograd(_backward, setup_context=_keep)
    made.register_jvp(_forward)
    made.register_vmap(_batched)
    if not kind.is_local:
        made.register_effect("collective")
    return made


_KINDS = (
    AllReduce, Vary, Reduce, Broadcast, AllGather, ReduceScatter, OwnBlock, Gather, Scatter, AllToAll, SendRecv,
    HaloExchange, HaloWait, HaloFold, Send, Recv,
)  # fmt: skip
OPERATORS: dict[str, CustomOpDef] = {kind.name: _declared(kind) for kind in _KINDS}


def apply(move: Move, x: Any) -> Any:
    """A collective on tensors or arrays, as an operator."""
    return OPERATORS[move.name](x, move)


def call(move: Move, x: Any, needs_grad: bool | None = None) -> Tensor:
    """A collective as the user called it: with the line, and with whether it is recorded."""
    tensor = as_constant(x)
    modes = current()
    is_recording = modes.grad and not modes.inference and tensor._spec.is_differentiable
    if needs_grad and is_recording and not requires_grad(tensor):
        tensor = tensor.detach().requires_grad_()
    records = is_recording and requires_grad(tensor)
    ready = _called_from(move, records, sys._getframe(1))
    is_plain = modes is switch.no_grad or (modes is switch.normal and not records)
    if is_plain and not open_levels and type(tensor._data) is np.ndarray:
        return wrap(ready.comm.perform(ready, tensor._data))  # nobody watches: the operator would do the same
    if records and modes is switch.normal and not open_levels and type(tensor._data) is np.ndarray and not (
        isinstance(ready, (Send, Recv))
    ):
        return _recorded(tensor, move=ready)
    result: Tensor = apply(ready, tensor)
    return result


def _called_from(move: Move, records: bool, frame: Any) -> Move:
    """The move with the user's line in it; the same object for every call from there."""
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return replace(move, records=records)
    key = (move, records, frame.f_code, frame.f_lineno)
    found = _ready.get(key)
    if found is None:
        if len(_ready) > 2_000:
            _ready.clear()
        site = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        found = _ready[key] = replace(move, records=records, site=site)
    return found


_ready: dict[Any, Move] = {}
