"""The shorthands in which the conformance cases are written, under the names the specification gives them.

`L` and `C` make float64 tensors (complex128 if the value is complex). `raises(code)` checks the code of an
`AutogradError` and, since every code promises words to the reader, also that the message contains them.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import pullback as pb

g = pb.autograd.grad
bw = pb.autograd.backward
ng = pb.no_grad
edge = pb.autograd.graph.get_gradient_edge

# Words (regular expressions, case ignored) which the message of each error must contain.
FRAGMENTS: dict[str, tuple[str, ...]] = {
    "DTYPE": ("floating point",),
    "NONLEAF_FLAG": ("leaf",),
    "GRAD_SELF": ("grad",),
    "GRAD_SHAPE": ("grad",),
    "GRAD_DTYPE": ("grad",),
    "GRAD_LAYOUT": ("grad",),
    "GRAD_DEVICE": ("grad",),
    "GRAD_COMPLEX": ("complex",),
    "GRAD_DTYPE_NONLEAF": ("grad_dtype",),
    "GRAD_DTYPE_INVALID": ("grad_dtype",),
    "GRAD_DTYPE_CONFLICT": ("grad_dtype",),
    "DATA_DTYPE": ("data",),
    "DATA_LAYOUT": ("data",),
    "NUMPY_ON_GRAD": (r"detach\(\)",),
    "DETACH_VIEW": ("view",),
    "DEEPCOPY_NONLEAF": ("leaves",),
    "NO_EDGE": ("gradient edge",),
    "BACKWARD_IN_TRANSFORM": ("transform",),
    "ROOT_NO_GRAD": ("does not require grad",),
    "IMPLICIT_NONSCALAR": ("scalar",),
    "IMPLICIT_COMPLEX": ("real scalar",),
    "GRADOUT_SHAPE": ("grad_output",),
    "GRADOUT_COMPLEX": ("grad_output",),
    "GRADOUT_COUNT": ("grad_output",),
    "GRADOUT_NONE": ("grad_output",),
    "INPUTS_EMPTY": ("inputs",),
    "INPUT_NO_GRAD": ("require grad",),
    "UNUSED_INPUT": ("allow_unused=True",),
    "EDGE_BATCHED": ("GradientEdge",),
    "EDGE_MATERIALIZE": ("GradientEdge",),
    "SECOND_BACKWARD": ("retain_graph=True",),
    "NUM_GRADS": (r"expected \d+", r"got \d+"),
    "GRAD_FOR_NONTENSOR": ("position",),
    "LEAF_MOVED": ("leaf",),
    "LEAF_INPLACE": ("leaf", "in-?place"),
    "VIEW_OF_LEAF_INPLACE": ("leaf", "in-?place"),
    "VIEW_CUSTOM": ("view", "in-?place"),
    "VIEW_MULTI": ("view", "in-?place"),
    "VIEW_NO_GRAD": ("view", "in-?place", "no_grad"),
    "VIEW_INFERENCE": ("view", "in-?place", "inference"),
    "OVERLAP_WRITE": ("single memory location",),
    "OUT_GRAD": ("out=",),
    "RESIZE_GRAD": ("resize",),
    "VERSION": ("modified by an inplace operation",),
    "PACK_MUTATED": ("pack",),
    "UNPACK_META": ("unpack",),
    "HOOKS_TWICE": ("already",),
    "HOOKS_FREED": ("freed",),
    "HOOKS_NONE": ("None",),
    "VERSION_NEGATIVE": ("below 0",),
    "HOOK_NO_GRAD": ("require",),
    "RETAIN_NO_GRAD": ("require",),
    "HOOK_SHAPE": ("hook",),
    "HOOK_DTYPE": ("hook",),
    "HOOK_COUNT": ("hook",),
    "HOOK_FILL_NONE": ("hook",),
    "POST_ACC_NONLEAF": ("post accumulate",),
    "POST_ACC_RETURN": ("post accumulate",),
    "READONLY_GRAD": ("read-only",),
    "INFERENCE_VERSION": ("inference",),
    "INFERENCE_INPLACE": ("inference",),
    "INFERENCE_SAVE": ("inference",),
    "INFERENCE_FLAG": ("inference",),
    "DIRTY_LEAF": ("dirty|in-?place",),
    "DIRTY_NOT_RETURNED": ("dirty|in-?place",),
    "DIRTY_NOT_INPUT": ("dirty|in-?place",),
    "DIRTY_VIEW_MULTI": ("dirty|in-?place",),
    "FN_BOTH": ("Function",),
    "FN_NEEDS_SETUP": ("Function",),
    "FN_NO_VMAP": ("Function",),
    "FN_VMAP_AMBIGUOUS": ("Function",),
    "FN_VMAP_RETURN": ("Function",),
    "SAVE_RETURNED_INPUT": ("saved",),
    "SAVED_ONCE": ("saved",),
    "ONCE_DIFFERENTIABLE": ("once_differentiable",),
    "CALLBACK_OUTSIDE": ("backward pass",),
    "ANOMALY_NAN": ("nan",),
}


def C(value: Any) -> pb.Tensor:
    """A constant holding a copy of `value`: float64, or complex128 for complex values."""
    array = np.array(value)
    return pb.tensor(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))


def L(value: Any) -> pb.Tensor:
    """A leaf that requires grad, with a copy of `value`: float64, or complex128 for complex values."""
    return C(value).requires_grad_()


def Fn(forward: Callable[..., Any], backward: Callable[..., Any], **members: Any) -> Callable[..., Any]:
    """The `apply` of a combined-style Function with these two static methods (and further class members)."""
    statics = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Fn", (pb.autograd.Function,), {**statics, **members}).apply


ID = Fn(lambda c, x: x * 1, lambda c, q: q)


def it(tensor: pb.Tensor) -> Any:
    """The values of a tensor as Python numbers in nested lists."""
    return array(tensor).tolist()


def array(tensor: pb.Tensor) -> np.ndarray:
    """The memory of a tensor, whether or not it requires grad."""
    return tensor.detach().numpy()


def shares_memory(first: pb.Tensor, second: pb.Tensor) -> bool:
    """Whether two tensors have an element in common."""
    return np.shares_memory(array(first), array(second))


def accumulator(leaf: pb.Tensor) -> pb.autograd.graph.Node:
    """The AccumulateGrad node of a leaf; it lives as long as a graph or the caller holds it."""
    return edge(leaf).node


def names_shapes(text: object, *shapes: tuple[int, ...]) -> bool:
    """Whether a message contains every one of these shapes, written like `(2,)` or like `float64[2]`."""
    lengths = (", ".join(map(str, shape)) for shape in shapes)
    return all(re.search(rf"\({inside},?\)|\[{inside}\]", str(text)) for inside in lengths)


def logged(log: list, label: str) -> Callable[[pb.Tensor], None]:
    """A tensor hook that notes in `log` when the gradient of its tensor is computed."""

    def hook(q: pb.Tensor) -> None:
        log.append(label)

    return hook


def failing(error: BaseException) -> Callable[..., Any]:
    """The `apply` of a Function like the identity whose backward raises `error`."""

    def raise_in_backward(c: Any, q: pb.Tensor) -> None:
        raise error

    return Fn(lambda c, x: x * 1, raise_in_backward)


@contextmanager
def raises(code: str) -> Iterator[pytest.ExceptionInfo]:
    """Expect an AutogradError with this code and with the words its catalogue entry promises."""
    with pytest.raises(pb.autograd.AutogradError) as caught:
        yield caught
    assert caught.value.code == code, f"expected {code}, got {caught.value.code}: {caught.value}"
    for fragment in FRAGMENTS[code]:
        assert re.search(fragment, str(caught.value), re.IGNORECASE), f"{code}: no {fragment!r} in: {caught.value}"
