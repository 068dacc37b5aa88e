"""Case 106: ragged tensors whose values are arrays of other libraries do what those on NumPy's do, cases 69 to 79."""

import numpy as np
import pytest

import pullback as pb
from tests.foreign.kinds import assert_equal, code_of, library

OFFSETS, FULL = np.array([0, 2, 5, 5, 9]), np.array([0, 2, 5, 9])
VALUES = np.random.default_rng(5).permutation(np.linspace(-1.3, 1.4, 18)).reshape(9, 2)
RNG = np.random.default_rng(6)
W, STACK, VECTOR = RNG.normal(size=(2, 3)), RNG.normal(size=(4, 2, 5)), RNG.normal(size=2)
ONE_EACH = RNG.normal(size=(4, 1, 2))

# Functions of a ragged tensor and of what makes dense tensors beside it, by the number of the case.
FUNCTIONS = {
    "69 elementwise": lambda x, t: pb.sin(x) * x + 1,
    "70 vector": lambda x, t: x * t(VECTOR),
    "70 by row": lambda x, t: x * t(ONE_EACH),
    "70 number by row": lambda x, t: t(ONE_EACH[:, :, :1]) - x,
    "70 number": lambda x, t: 3 * x,
    "72 over rows": lambda x, t: x.sum(1),
    "72 over rows of all": lambda x, t: x.sum((0, 1)),
    "72 over the rest": lambda x, t: x.sum(2),
    "73 over all": lambda x, t: x.sum(),
    "74 kept": lambda x, t: x / (1 + (x * x).sum(1, keepdims=True)),
    "76 var": lambda x, t: x.var(1),
    "76 std": lambda x, t: x.std(1, correction=1),
    "76 prod": lambda x, t: x.prod(1),
    "76 logsumexp": lambda x, t: x.logsumexp(1),
    "76 norm": lambda x, t: pb.linalg.vector_norm(x, axis=1),
    "76 mean": lambda x, t: x.mean(1),
    "76 max": lambda x, t: x.max(1),
    "76 amin": lambda x, t: x.amin(1),
    "76 median": lambda x, t: x.median(1),
    "76 any": lambda x, t: (x > 0).any(1),
    "76 all": lambda x, t: (x > -1).all(1),
    "76 argmax": lambda x, t: x.argmax(1),
    "77 softmax": lambda x, t: x.softmax(1),
    "77 log_softmax": lambda x, t: x.log_softmax(1),
    "77 softmax of the rest": lambda x, t: x.softmax(2),
    "78 cumsum": lambda x, t: x.cumsum(1),
    "78 cumprod": lambda x, t: x.cumprod(1),
    "78 sort": lambda x, t: pb.sort(x, 1),
    "78 argsort": lambda x, t: pb.argsort(x, 1),
    "78 flip": lambda x, t: x.flip(1),
    "79 matrix": lambda x, t: x @ t(W),
    "79 matrices": lambda x, t: x @ t(STACK),
    "79 vector": lambda x, t: x @ t(VECTOR),
    "79 product of rows": lambda x, t: x.transpose(0, 2, 1) @ x,
}
ON_FULL_ROWS = ("std", "logsumexp", "mean", "max", "amin", "median", "argmax", "matrices", "by row")


def run(function, name, make):
    """Result, gradient and second derivative of a function; values are made, and dense operands, by `make`."""
    on_full = any(each in name for each in ON_FULL_ROWS)
    values = make(VALUES).requires_grad_()
    x = pb.nested.from_values(values, FULL if on_full else OFFSETS)
    dense = lambda a: make(a[:3] if on_full and a.ndim == 3 else a)
    out = function(x, dense)
    assert out.device is values.device
    flat = out.values() if out.is_nested else out
    found = [flat]
    if flat.dtype.kind == "f":
        (gradient,) = pb.autograd.grad((flat * flat).sum(), values, create_graph=True)
        (second,) = pb.autograd.grad(pb.sin(gradient).sum(), values)
        assert gradient.device is values.device and second.device is values.device
        found += [gradient, second]
    return found


@pytest.mark.filterwarnings("ignore::pullback.PerformanceWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("library_name", ["strict", "torch", "jax"])
def test_case_106_rows_of_other_libraries_are_those_of_numpy(library_name, name):
    kind = library(library_name)
    for got, wanted in zip(*(run(FUNCTIONS[name], name, make) for make in (kind.tensor, pb.tensor)), strict=True):
        assert_equal(got, wanted)


@pytest.mark.parametrize("library_name", ["strict", "torch", "jax"])
def test_case_106_gradients_metadata_and_refusals(library_name):
    kind = library(library_name)
    x = pb.nested.from_values(kind.tensor(VALUES), OFFSETS).detach().requires_grad_()
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.device))
    y.sum().backward()
    assert x.grad.device is x.device and x.grad.is_nested and seen == [x.device]
    assert_equal(x.grad.values(), np.full((9, 2), 2.0))
    (metadata,) = y.grad_fn._input_metadata
    assert metadata.device is x.device and metadata.is_nested and metadata.zeros_like().device is x.device
    assert code_of(lambda: x * pb.ones((4, 1, 2))) == "KIND_MIX"
    assert code_of(lambda: x * kind.tensor(np.ones((4, 3, 2)))) == "RAGGED_MISMATCH"
    assert code_of(lambda: x.sum(0)) == "RAGGED_OP"
    assert code_of(lambda: x @ x.transpose(0, 2, 1)) == "RAGGED_OP"
    with pytest.raises(ValueError, match="row 2"):
        x.amax(1)
    assert np.isnan(x.mean(1).detach().cpu().numpy()[2]).all()
    assert pb.zeros_like(x).device is x.device


@pytest.mark.parametrize("library_name", ["strict", "torch", "jax"])
def test_offsets_and_lengths_may_lie_on_a_device_and_are_read_once(library_name):
    kind = library(library_name)
    values, offsets = kind.tensor(VALUES), kind.tensor(OFFSETS)
    for cut in (offsets, kind.make(OFFSETS)):
        assert_equal(pb.nested.segment_sum(values, cut), np.add.reduceat(VALUES, [0, 2, 5, 5]) * [[1], [1], [0], [1]])
    x = pb.nested.from_values(values, lengths=kind.tensor(np.diff(OFFSETS)))
    assert x.device is values.device and x.lengths().tolist() == [2, 3, 0, 4]
    with pb.interop.no_sync():
        assert code_of(pb.nested.segment_sum, values, offsets) == "FOREIGN_SYNC"
