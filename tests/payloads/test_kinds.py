"""What upstairs knows of payloads that are no ndarrays: gradients of their kind, and what metadata says of them."""

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import graph
from pullback.payloads.operators import bind_operators
from pullback.tensors.tensor import wrap


class Elsewhere:
    """An array on a device of its own, which makes its gradients there."""

    layout = "dense"
    is_tensor_subclass = False
    kind = "elsewhere"

    def __init__(self, array: Any, device: str = "elsewhere:0") -> None:
        self.array, self.device = np.asarray(array), device
        self.shape, self.dtype, self.ndim = self.array.shape, self.array.dtype, self.array.ndim

    @staticmethod
    def evaluate_op(op: Any, operands: Any, params: dict[str, Any]) -> Any:
        device = next(x.device for x in operands if isinstance(x, Elsewhere))
        return Elsewhere(op.call(*[x.array if isinstance(x, Elsewhere) else x for x in operands], **params), device)

    def zeros(self, shape: Any, dtype: Any) -> Any:
        return Elsewhere(np.zeros(shape, dtype), self.device)

    def ones(self, shape: Any, dtype: Any) -> Any:
        return Elsewhere(np.ones(shape, dtype), self.device)

    def hollow(self) -> Any:
        return Elsewhere(np.broadcast_to(np.zeros((), self.dtype), self.shape), self.device)

    def aliases_payload(self, source: Any) -> bool:
        return bool(np.may_share_memory(self.array, source.array))


def _read(self: Any, index: Any) -> Any:
    return Elsewhere(self.array[index], self.device)


bind_operators(Elsewhere, _read, None)  # type: ignore[arg-type]


def leaf(values: Any = (1.0, 2.0, 3.0), device: str = "elsewhere:0") -> pb.Tensor:
    return wrap(Elsewhere(np.array(values), device)).requires_grad_()


@pytest.mark.parametrize("f", [lambda x: x.sum(), lambda x: (x * 2).sum(), lambda x: (x * x).sum()])
def test_gradients_lie_where_their_values_lie(f: Any) -> None:
    x = leaf()
    seen = []
    y = x * 1
    y.register_hook(lambda g: seen.append(g._data.device))
    f(y).backward()
    assert type(x.grad._data) is Elsewhere and seen == ["elsewhere:0"]


def test_metadata_describes_the_payload() -> None:
    metadata = (leaf() * 2).grad_fn._input_metadata[0]
    assert (metadata.device, metadata.kind) == ("elsewhere:0", "elsewhere")
    assert (metadata.layout, metadata.stream) == ("dense", None)
    assert not metadata.is_tensor_subclass and not metadata.is_nested
    assert type(metadata.zeros_like()._data) is Elsewhere
    plain = (pb.ones(3, requires_grad=True) * 2).grad_fn._input_metadata[0]
    assert type(plain) is graph.InputMetadata and plain.device == "cpu" and plain.kind is None
    assert plain != metadata and metadata == (leaf() * 2).grad_fn._input_metadata[0]


class Given(pb.autograd.Function):
    """Returns the gradient that it is told to."""

    @staticmethod
    def forward(ctx: Any, x: Any, gradient: Any) -> Any:
        ctx.gradient = gradient
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.gradient, None


def test_a_gradient_on_another_device_is_refused() -> None:
    for wrong in (pb.ones(3), wrap(Elsewhere(np.ones(3), "elsewhere:1"))):
        with pytest.raises(pb.AutogradError, match="elsewhere:0") as error:
            Given.apply(leaf(), wrong).sum().backward()
        assert error.value.code == "GRAD_DEVICE"
    with pytest.raises(pb.AutogradError, match="elsewhere:0"):
        (leaf() * 2).backward(pb.ones(3))


def test_a_payload_with_a_wrong_sum_is_noticed() -> None:
    class Wrong(Elsewhere):
        def sum(self, *args: Any, **kwargs: Any) -> Any:
            return Wrong(np.ones(()), self.device)

    metadata = (pb.ones(2, requires_grad=True) * 2).grad_fn._input_metadata[0]
    with pytest.raises(pb.AutogradError) as error:
        metadata.reduce_grad(Wrong(np.ones((3, 2))))
    assert error.value.code == "GRAD_SHAPE"


def test_leaves_do_not_share_the_gradient_that_was_given() -> None:
    x, y, g = leaf(), leaf(), wrap(Elsewhere(np.ones(3)))
    (x + y).backward(g)
    assert not np.may_share_memory(x.grad._data.array, y.grad._data.array)
    assert not np.may_share_memory(x.grad._data.array, g._data.array)


def test_zeros_like_are_of_the_kind() -> None:
    for made, number in ((pb.zeros_like(leaf()), 0.0), (pb.ones_like(leaf()), 1.0), (pb.full_like(leaf(), 3), 3.0)):
        assert type(made._data) is Elsewhere and made._data.array.tolist() == [number] * 3
