"""Cases 131 to 137 of other arrays: lengths that vary."""

import pickle
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback.aot._dynamic.sizes import Size


def varying(length: int) -> pb.Tensor:
    return aot.mark_dynamic(pb.tensor(np.arange(1.0, length + 1), requires_grad=True), 0)


def test_131_metadata_says_which_lengths_of_results_vary() -> None:
    meta = aot.collect_metadata(lambda x: (x * 2, x.sum(), 3), varying(5))
    assert [info.dynamic_dims for info in meta.output_info] == [{0}, set(), None]
    assert meta.dynamic_outputs
    fixed = aot.collect_metadata(lambda x: x * 2, pb.ones(5, requires_grad=True))
    assert fixed.output_info[0].dynamic_dims == set() and not fixed.dynamic_outputs
    joined = aot.collect_metadata(lambda x, y: pb.concatenate([x, y]), varying(5), varying(7))
    assert joined.output_info[0].dynamic_dims == {0}


def test_132_metadata_of_a_node_has_the_formulas_of_its_lengths() -> None:
    seen: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        joined = pb.concatenate([x, y])
        seen.extend(part.grad_fn._input_metadata[0] for part in (joined, joined[1:], pb.concatenate([x, x])))
        return joined * 2

    aot.collect_metadata(f, varying(5), varying(7))
    assert [str(metadata.shape[0].expression) for metadata in seen[:3]] == ["s0+s1", "s0+s1-1", "2*s0"]
    assert "float64[s0+s1]" in repr(seen[0])
    assert aot.collect_metadata(lambda x: x * 2, varying(5)).output_info[0].dynamic_dims == {0}


class GradientOf(pb.autograd.Function):
    """A function whose formula gives a gradient of the length of its second argument."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(y)
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * 2, None


def test_133_gradients_of_another_length_are_found_at_run_time() -> None:
    same = pb.compile(lambda x: GradientOf.apply(x, x.detach()), fallback="raise")
    for length in (4, 6, 9):
        x = varying(length)
        same(x).sum().backward()
        assert x.grad.tolist() == (2 * x.detach()).tolist()
    assert same.cache_info().misses == 1
    other = pb.compile(lambda x, y: GradientOf.apply(x, y), fallback="raise")
    for length in (4, 6):
        x = varying(length)
        other(x, varying(length)).sum().backward()
        assert x.grad.tolist() == (2 * x.detach()).tolist()
    assert other.cache_info().misses == 1
    with pytest.raises(pb.AutogradError) as raised:
        other(varying(4), varying(6)).sum().backward()
    assert raised.value.code == "GRAD_SHAPE" and "[6]" in str(raised.value) and "[4]" in str(raised.value)


def test_136_metadata_says_which_sizes_backward_needs() -> None:
    for f, axes, count in (
        (lambda x: x / x.shape[0], {}, 1),
        (lambda x: x * x, {0: {0}}, 0),
        (lambda x: pb.exp(x).sum() / x.shape[0], {0: {0}}, 1),
    ):
        meta = aot.collect_metadata(f, varying(5))
        assert (meta.dynamic_saved_tensors_idxs, meta.num_symints_saved_for_bw) == (axes, count)
    meta = aot.collect_metadata(lambda x, y: pb.outer(x, y).sum(), varying(5), varying(7))
    assert meta.num_symints_saved_for_bw == 2


def test_134_lengths_that_are_equal_by_chance_are_not_taken_for_equal() -> None:
    weights = pb.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)
    row = pb.tensor([[1.0, 2.0, 3.0]], requires_grad=True)

    def f(x: Any, row: Any) -> Any:
        return x * row

    compiled = pb.compile(f)
    for rows in (4, 3, 5):
        x = aot.mark_dynamic(pb.tensor(np.ones((rows, 3)), requires_grad=True), 0)
        row.grad = None
        compiled(x, row).sum().backward()
        assert row.grad.tolist() == [[float(rows)] * 3]
    assert compiled.cache_info().misses == 1

    def g(x: Any) -> Any:
        return x * weights

    compiled = pb.compile(g)
    compiled(aot.mark_dynamic(pb.tensor(np.ones((3, 3))), 0))
    with pytest.raises(ValueError, match="broadcast"):
        compiled(aot.mark_dynamic(pb.tensor(np.ones((5, 3))), 0))


def test_135_a_length_that_is_used_as_a_number_does_not_vary() -> None:
    for f in (lambda x: x * int(x.shape[0]), lambda x: x[: 7 if x.shape[0] == 7 else 3]):
        meta = aot.collect_metadata(f, varying(5))
        assert meta.output_info[0].dynamic_dims == set()
    pinned = pb.compile(lambda x: x * int(x.shape[0]))
    assert f"{__file__}, line " in str(pinned.explain(varying(5)))
    compiled = pb.compile(lambda x: x * int(x.shape[0]))
    for length in (5, 6):
        assert compiled(varying(length)).tolist() == [float(k * length) for k in range(1, length + 1)]


# What a function may do with a length before it decides: for another length it decides otherwise.
DECISIONS = {
    "computed": lambda x: x[1:].shape[0] > 20,
    "joined": lambda x: pb.concatenate([x, x]).shape[0] > 40,
    "size": lambda x: (x[:, None] * x).size > 400,
    "numel": lambda x: x.numel() > 20,
    "bytes": lambda x: x.nbytes > 160,
    "strides": lambda x: (x[:, None] * x).strides[0] > 160,
    "len": lambda x: len(x) > 20,
    "np.shape": lambda x: np.shape(x)[0] > 20,
    "np.size": lambda x: np.size(x) > 20,
    "negative": lambda x: -x.shape[0] < -20,
    "absolute": lambda x: abs(x.shape[0]) > 20,
    "power": lambda x: x.shape[0] ** 2 > 400,
    "root": lambda x: x.shape[0] ** 0.5 > 4.5,
    "half": lambda x: 0.5 * x.shape[0] > 10,
    "reciprocal": lambda x: 1.0 / x.shape[0] < 0.05,
    "NumPy's number": lambda x: np.float64(0.5) * x.shape[0] > 10,
    "logarithm": lambda x: np.log(x.shape[0]) > 3,
    "shift": lambda x: x.shape[0] >> 2 > 5,
    "bits": lambda x: x.shape[0] & 16,
    "truth": lambda x: x.shape[0] - 24,
    "divmod": lambda x: divmod(x.shape[0], 20)[0],
    "rounded": lambda x: round(x.shape[0], -2),
    "text": lambda x: f"{x.shape[0]}" == "24",
    "key": lambda x: x.shape[0] in {24: 1},
    "index": lambda x: ([0] * 20 + [1] * 20)[x.shape[0]],
    "sum": lambda x: sum(x.shape) > 20,
    "largest": lambda x: max(x.shape[0], 20) > 20,
    "in a batch": None,
}


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_on_lengths_are_seen(name: str) -> None:
    asked = DECISIONS[name]

    def f(x: Any) -> Any:
        return x * 2 if asked(x) else x * 3

    def batch(x: Any) -> Any:
        return pb.vmap(lambda row: row * 2 if row.shape[0] > 20 else row * 3)(pb.ones((2, 1)) * x)

    f = batch if asked is None else f
    compiled = pb.compile(f, fallback="raise")
    for length in (6, 24, 7, 5):
        assert compiled(varying(length)).tolist() == f(varying(length)).tolist()


def sizes_in(value: Any, seen: set[int]) -> list[Any]:
    """What of a record is a length of a trace."""
    if type(value) is Size:
        return [value]
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, dict):
        return [found for part in value.values() for found in sizes_in(part, seen)]
    if isinstance(value, (tuple, list, set, frozenset)):
        return [found for part in value for found in sizes_in(part, seen)]
    if type(value).__module__.startswith("pullback.aot"):
        names = getattr(type(value), "__slots__", ()) or getattr(value, "__dict__", ())
        return [found for name in names for found in sizes_in(getattr(value, name, None), seen)]
    return []


def test_137_nothing_of_a_trace_is_in_results_or_metadata() -> None:
    def f(x: Any) -> Any:
        return (x * x).reshape(x.shape[0], 1), x.sum()

    compiled = pb.compile(f)
    for length in (4, 6):
        x = varying(length)
        out, total = compiled(x)
        (out.sum() + total).backward()
        for tensor in (out, total, x.grad):
            assert all(type(n) is int for n in (*tensor.shape, *tensor._spec.shape))
        for metadata in out.grad_fn._input_metadata:
            assert all(type(n) is int for n in metadata.shape)
    safe = aot.collect_metadata(f, varying(4)).make_runtime_safe()
    assert sizes_in(safe, set()) == [] and sizes_in(pickle.loads(pickle.dumps(safe)), set()) == []
