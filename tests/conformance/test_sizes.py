"""Cases 131, 134, 135 and 137 of other arrays: lengths that vary."""

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
    compiled = pb.compile(lambda x: x * int(x.shape[0]))
    for length in (5, 6):
        assert compiled(varying(length)).tolist() == [float(k * length) for k in range(1, length + 1)]


def sizes_in(value: Any, seen: set[int]) -> list[Any]:
    """What of a record is a length of a trace."""
    if isinstance(value, Size):
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
