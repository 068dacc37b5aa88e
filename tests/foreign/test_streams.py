"""Streams, on a kind of strict arrays whose streams are names and write down what happens to them."""

from contextlib import contextmanager

import numpy as np
import pytest

import pullback as pb
from pullback.payloads.foreign import register_kind, taken_over
from tests.foreign.kinds import assert_equal, library


class Streams:
    """The streams of a library: a current one, and a log of uses, waits and records."""

    def __init__(self):
        self.now = "main"
        self.log = []

    def current_stream(self):
        return self.now

    @contextmanager
    def use(self, stream):
        before, self.now = self.now, stream
        self.log.append(("use", stream))
        try:
            yield
        finally:
            self.now = before

    def wait(self, consumer, producer):
        self.log.append(("wait", consumer, producer))

    def record(self, array, stream):
        self.log.append(("record", stream))


@pytest.fixture
def streamed():
    strict = library("strict")
    strict.tensor([1.0])  # the kind is known from now on
    from pullback.payloads.foreign.libraries.strict_arrays import StrictKind

    streams = Streams()
    kind = register_kind(StrictKind("streamed", (), strict.module, streams=streams))

    def tensor(values):
        return pb.asarray(np.zeros(0)) if values is None else _leaf(taken_over(strict.make(values), kind))

    return tensor, streams


def _leaf(payload):
    from pullback.tensors.tensor import wrap

    return wrap(payload).requires_grad_()


def test_case_30_nodes_run_on_the_streams_of_their_forward(streamed):
    tensor, streams = streamed
    x = tensor([1.0, 2.0])
    with streams.use("a"):
        y = pb.sin(x)
    with streams.use("b"):
        z = (y * y).sum()
    assert ("wait", "b", "a") in streams.log  # the product reads what another stream computes
    (metadata,) = y.grad_fn._input_metadata
    assert metadata.stream == "a"
    streams.log.clear()
    z.backward()
    used = [entry[1] for entry in streams.log if entry[0] == "use"]
    assert used == ["b", "b", "a"]  # the sum, the product, the sine
    # Two gradients of y are added on the caller's stream, which the sine waits for.
    assert {("wait", "main", "b"), ("wait", "a", "main"), ("record", "a")} <= set(streams.log)
    assert {entry[2] for entry in streams.log if entry[:2] == ("wait", "main")} == {"a", "b"}
    assert_equal(x.grad, 2 * np.sin([1.0, 2.0]) * np.cos([1.0, 2.0]))


def test_case_31_the_caller_waits_before_an_error_leaves(streamed):
    tensor, streams = streamed
    x = tensor([1.0, 2.0])
    with streams.use("a"):
        y = pb.sin(x)
        z = (y * 2).sum()

    def fail(gradient):
        raise ArithmeticError("a hook")

    y.register_hook(fail)
    streams.log.clear()
    with pytest.raises(ArithmeticError):
        z.backward()
    assert ("wait", "main", "a") in streams.log


def test_kinds_without_streams_have_none(kind):
    y = kind.tensor([1.0], requires_grad=True) * 2
    assert y.grad_fn.stream is None
