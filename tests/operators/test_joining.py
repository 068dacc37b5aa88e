"""Joining arrays along an axis, splitting them into views, padding."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def leaf(*shape, start=1.0):
    values = start + np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    return pb.tensor(values, requires_grad=True)


def array(tensor):
    return tensor.detach().numpy()


JOINS = {
    "concat": lambda m, a, b: m.concatenate([a, b]),
    "concat columns": lambda m, a, b: m.concatenate([a, b], axis=1),
    "concat flat": lambda m, a, b: m.concatenate([a, b], axis=None),
    "stack": lambda m, a, b: m.stack([a, b]),
    "stack last": lambda m, a, b: m.stack((a, b), axis=-1),
    "vstack": lambda m, a, b: m.vstack([a, b[0]]),
    "hstack": lambda m, a, b: m.hstack([a, b]),
    "hstack vectors": lambda m, a, b: m.hstack([a[0], b[1]]),
    "dstack": lambda m, a, b: m.dstack([a, b]),
    "column_stack": lambda m, a, b: m.column_stack([a, b[:, 0]]),
    "append": lambda m, a, b: m.append(a, b, axis=0),
    "append flat": lambda m, a, b: m.append(a, b),
    "block": lambda m, a, b: m.block([[a, b], [b, a]]),
}


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in JOINS.items()])
def test_joined_values_are_numpys_and_gradients_are_cut_out(function):
    a, b = leaf(2, 2), leaf(2, 2, start=5.0)
    out = function(pb, a, b)
    expected = function(np, array(a), array(b))
    np.testing.assert_array_equal(array(out), expected)
    weight = np.arange(1.0, 1 + expected.size).reshape(expected.shape)
    g_a, g_b = pb.autograd.grad((out * weight).sum(), (a, b), allow_unused=True)
    sums = np.bincount(expected.astype(int).ravel(), weights=weight.ravel(), minlength=9)[1:]
    np.testing.assert_array_equal(array(g_a).ravel(), sums[:4])
    np.testing.assert_array_equal(array(g_b).ravel(), sums[4:])


def test_dtypes_are_promoted_and_gradients_cast_back():
    a, b = pb.ones(2, dtype=pb.float32, requires_grad=True), pb.ones(1, dtype=pb.complex128, requires_grad=True)
    out = pb.concat([a, b, [3]])
    assert out.dtype == pb.complex128
    g_a, g_b = pb.autograd.grad(out, (a, b), pb.tensor([1 + 1j, 2, 3j, 4]))
    assert (g_a.dtype, g_b.dtype) == (pb.float32, pb.complex128)
    assert g_a.tolist() == [1.0, 2.0] and g_b.tolist() == [3j]


def test_wrong_pieces_are_refused():
    with pytest.raises(ValueError, match="nothing"):
        pb.concat([])
    with pytest.raises(ValueError, match="stack"):
        pb.concat([1.0, 2.0])
    with pytest.raises(ValueError):
        pb.stack([pb.ones(2), pb.ones(3)])
    with pytest.raises(ValueError, match="depth"):
        pb.block([[1.0], 2.0])


@pytest.mark.parametrize("shape", [(0,), (2, 4), (3, 2, 5)])
def test_arrays_that_do_not_fit_are_refused_inside_vmap_as_outside(shape):
    with pytest.raises(ValueError):
        pb.concat([pb.ones(2, 5), pb.ones(shape)])
    with pytest.raises(ValueError, match="concat: arrays of shapes"):
        pb.func.vmap(lambda x: pb.concat([pb.ones(2, 5), x]))(pb.ones(3, *shape))


def test_dim_is_another_name_for_axis():
    a = leaf(2, 2)
    assert pb.cat([a, a], dim=1).shape == (2, 4) and pb.stack([a], dim=2).shape == (2, 2, 1)
    assert [part.shape for part in pb.split(a, 2, dim=1)] == [(2, 1), (2, 1)]


SPLITS = {
    "sections": lambda m, x: m.split(x, 2),
    "indices": lambda m, x: m.split(x, [1, 3]),
    "indices beyond": lambda m, x: m.split(x, [2, 9]),
    "indices backwards": lambda m, x: m.split(x, [3, 1]),
    "negative index": lambda m, x: m.split(x, [-1]),
    "columns": lambda m, x: m.split(x, 3, axis=1),
    "uneven": lambda m, x: m.array_split(x, 3),
    "more than there are": lambda m, x: m.array_split(x, 6),
    "hsplit": lambda m, x: m.hsplit(x, 3),
    "vsplit": lambda m, x: m.vsplit(x, 2),
    "dsplit": lambda m, x: m.dsplit(x[:, :, None], 1),
    "unstack": lambda m, x: m.unstack(x),
    "unstack columns": lambda m, x: m.unstack(x, axis=1),
}


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in SPLITS.items()])
def test_parts_are_numpys_views_with_one_node(function):
    x = leaf(4, 3)
    parts = function(pb, x)
    expected = function(np, array(x))
    assert len(parts) == len(expected)
    for number, (part, want) in enumerate(zip(parts, expected, strict=True)):
        np.testing.assert_array_equal(array(part), want)
        assert part._base is x and part.grad_fn is parts[0].grad_fn and part.output_nr == number
    weights = [np.arange(1.0, 1 + want.size).reshape(want.shape) for want in expected]
    total = sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True))
    sums = np.zeros(13)
    for want, weight in zip(expected, weights, strict=True):
        np.add.at(sums, want.astype(int), weight)
    np.testing.assert_array_equal(array(pb.autograd.grad(total, x)[0]), sums[1:].reshape(4, 3))


def test_parts_that_nobody_used_have_gradient_zero():
    x = leaf(4)
    _, second = x.split(2)
    assert pb.autograd.grad(second.sum(), x)[0].tolist() == [0, 0, 1, 1]
    assert pb.autograd.grad(x.unbind()[2], x)[0].tolist() == [0, 0, 1, 0]


def test_torchs_ways_to_split():
    x = leaf(5, 2)
    assert [len(part) for part in x.chunk(2)] == [3, 2]
    assert [len(part) for part in x.chunk(4)] == [2, 2, 1]
    assert [len(part) for part in x.split_with_sizes([1, 4])] == [1, 4]
    assert [len(part) for part in pb.tensor_split(x, 2)] == [3, 2]
    with pytest.raises(ValueError, match="add up"):
        x.split_with_sizes([1, 1])
    with pytest.raises(ValueError, match="equal"):
        x.split(2)


def test_a_write_to_one_part_is_seen_by_the_others():
    x = leaf(4)
    y = x * 1
    first, both = pb.split(y, [2])[0], y.split(1)[0]
    first.mul_(3)
    assert both.tolist() == [3.0, 6.0, 3.0, 4.0]
    assert pb.autograd.grad(both.sum(), x)[0].tolist() == [3.0, 3.0, 1.0, 1.0]


def test_iteration_goes_over_the_first_axis():
    x = leaf(3, 2)
    assert [row.tolist() for row in x] == array(x).tolist()
    a, b, c = x
    assert pb.autograd.grad((a * b).sum() + c.sum(), x)[0].tolist() == [[3, 4], [1, 2], [1, 1]]
    assert list(pb.zeros((0, 2))) == []
    with pytest.raises(TypeError):
        iter(pb.tensor(1.0))


PADS = {
    "number": lambda m, x: m.pad(x, 1),
    "value": lambda m, x: m.pad(x, ((1, 0), (0, 2)), constant_values=0.0),
    "sides": lambda m, x: m.pad(x, ((1, 1), (0, 2)), constant_values=((0.0, 0.0), (0.0, 0.0))),
    "edge": lambda m, x: m.pad(x, (2, 1), mode="edge"),
    "reflect": lambda m, x: m.pad(x, ((1, 0), (2, 2)), mode="reflect"),
    "symmetric": lambda m, x: m.pad(x, 2, mode="symmetric"),
    "wrap": lambda m, x: m.pad(x, ((0, 3), (4, 0)), mode="wrap"),
}


@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in PADS.items()])
def test_padding_is_numpys_and_gradients_come_back(function):
    x = leaf(2, 3)
    out, expected = function(pb, x), function(np, array(x))
    np.testing.assert_array_equal(array(out), expected)
    weight = np.arange(1.0, 1 + expected.size).reshape(expected.shape)
    sums = np.bincount(expected.astype(int).ravel(), weights=weight.ravel(), minlength=7)[1:]
    np.testing.assert_array_equal(array(pb.autograd.grad((out * weight).sum(), x)[0]).ravel(), sums)


def test_padding_by_sides_a_value_and_cropping():
    np.testing.assert_array_equal(
        pb.pad(pb.ones((1, 1)), 1, constant_values=((2, 3), (4, 5))).numpy(),
        np.pad(np.ones((1, 1)), 1, constant_values=((2, 3), (4, 5))),
    )
    value = pb.tensor(2.0, requires_grad=True)
    out = pb.pad(pb.ones(2), (1, 2), constant_values=value)
    assert out.tolist() == [2, 1, 1, 2, 2]
    assert pb.autograd.grad(out.sum(), value)[0].item() == 3.0
    x = leaf(4)
    assert pb.pad(x, (-1, 1)).tolist() == [2, 3, 4, 0]
    with pytest.raises(ValueError, match="mode"):
        pb.pad(x, 1, mode="some")
    assert_close(pb.pad(x, {0: (1, 0)}), [0, 1, 2, 3, 4])
