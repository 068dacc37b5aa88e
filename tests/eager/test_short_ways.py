"""Short ways for calls of which nobody wants gradients: writes in place, comparisons with numbers, powers, extremes."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import samples_of

VALUES = np.array([[1.0, -2.0, 0.0], [4.0, 0.5, -0.25]])


@pytest.mark.parametrize("other", [2.0, 3, np.full((2, 3), 1.5)])
def test_writes_are_numpys_and_are_counted(other):
    x, expected = pb.tensor(VALUES), VALUES.copy()
    given = pb.tensor(other) if isinstance(other, np.ndarray) else other
    before = x._version
    x += given
    x *= given
    x -= given
    x /= given
    expected += other
    expected *= other
    expected -= other
    expected /= other
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == before + 4


@pb.autograd.overwrite_policy("raise")
def test_a_write_to_what_was_saved_is_noticed():
    leaf, factor = pb.tensor(VALUES, requires_grad=True), pb.tensor(VALUES)
    out = leaf * factor
    factor += 1.0
    with pytest.raises(pb.autograd.AutogradError):
        out.sum().backward()


def test_writes_that_are_not_plain_go_the_long_way():
    leaf = pb.tensor(VALUES, requires_grad=True)
    with pytest.raises(pb.autograd.AutogradError):
        leaf += 1.0
    with pb.no_grad():
        leaf += 1.0  # as an optimizer does
    np.testing.assert_array_equal(leaf.detach().numpy(), VALUES + 1)
    target = pb.tensor(VALUES)
    target += leaf
    assert target.requires_grad
    row = pb.tensor(VALUES)
    row += pb.tensor(VALUES[0])
    np.testing.assert_array_equal(row.numpy(), VALUES + VALUES[0])
    with pytest.raises(pb.autograd.AutogradError):
        pb.broadcast_to(pb.ones(3), (2, 3)).add_(1.0)
    with pytest.raises(TypeError):
        whole = pb.tensor([1, 2])
        whole += 0.5
    part = target.detach().clone()
    part[:, 1] += 5.0
    assert part[0, 1].item() == target[0, 1].item() + 5


def test_comparisons_with_numbers_are_those_with_arrays():
    x = pb.tensor(VALUES)
    for compare in (pb.less, pb.less_equal, pb.equal, pb.not_equal, pb.greater, pb.greater_equal):
        for number in (0.5, 0, -2):
            found = compare(x, number)
            assert found.dtype == np.bool_ and not found.requires_grad
            np.testing.assert_array_equal(found.numpy(), compare(x, pb.full_like(x, number)).numpy())
    assert (x > 0.5).tolist() == (VALUES > 0.5).tolist()
    assert (pb.tensor([1, 2], dtype=pb.uint8) < 1.5).tolist() == [True, False]


@pytest.mark.parametrize("exponent", [2, 2.0, 3, 0.5, -1, 0, 1.5])
def test_powers_are_numpys_for_every_number(exponent):
    values = np.array([0.25, 2.0, 3.0], np.float32)
    x = pb.tensor(values, requires_grad=True)
    out = x**exponent
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out.detach().numpy(), values**exponent)
    np.testing.assert_array_equal(pb.power(pb.tensor(values), exponent).numpy(), values**exponent)
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), exponent * values ** (exponent - 1.0), rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_extremes_have_one_value_with_and_without_gradient(axis, keepdims):
    values = VALUES.copy()
    values[1, 1] = np.nan
    for x in (VALUES, values):
        for name in ("max", "min"):
            found = getattr(pb, name)(pb.tensor(x), axis, keepdims)
            recorded = getattr(pb, name)(pb.tensor(x, requires_grad=True), axis, keepdims)
            np.testing.assert_array_equal(found.numpy(), getattr(np, name)(x, axis=axis, keepdims=keepdims))
            np.testing.assert_array_equal(found.numpy(), recorded.detach().numpy())
            assert recorded.requires_grad and not found.requires_grad


def test_the_first_of_equal_elements_gets_the_tangent_of_a_constant_too():
    _, pushed = pb.func.jvp(lambda x: pb.max(x, axis=0), (pb.tensor([2.0, 2.0]),), (pb.tensor([1.0, 5.0]),))
    assert pushed.item() == 1.0


@pytest.mark.parametrize("shape, axis", [((300, 1100), 1), ((300, 1100), 0), ((7,), 0), ((3, 4), (0, 1)), ((), ())])
def test_variances_are_numpys_to_the_bit(shape, axis):
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    for correction in (0, 1):
        if np.size(x) > correction:
            for ours, theirs in ((pb.var, np.var), (pb.std, np.std)):
                found = ours(pb.tensor(x), axis, correction=correction).numpy()
                np.testing.assert_array_equal(found, theirs(x, axis=axis, ddof=correction))


@pb.autograd.overwrite_policy("raise")
def test_writes_to_parts_are_numpys_and_are_counted():
    x, expected = pb.tensor(VALUES), VALUES.copy()
    leaf = pb.tensor(np.ones(2), requires_grad=True)
    kept = leaf * x[:, 0]
    other = leaf * x[:, 2]
    before = x._version
    for index, value in [((slice(None), 0), 0.5), ((1, 1), 3), (slice(0, 1), VALUES[1:]), ((..., 1), VALUES[:, 0])]:
        x[index] = pb.tensor(value) if isinstance(value, np.ndarray) else value
        expected[index] = value
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == before + 4
    with pytest.raises(pb.autograd.AutogradError):
        kept.sum().backward()
    with pytest.raises(pb.autograd.AutogradError):
        other.sum().backward()
    whole = pb.tensor([1, 2, 3])
    whole[1:] = 7
    assert whole.tolist() == [1, 7, 7]
    x[0] = pb.tensor(VALUES[:, :1]).reshape((2,))[0]
    x[1] = leaf[0]
    assert x.requires_grad


@pytest.mark.parametrize("mode", [pb.enable_grad, pb.no_grad])
def test_what_a_tensor_says_of_arrays_in_another_byte_order_is_what_they_are(mode):
    """NumPy's loops give results in the machine's own order."""
    told = []
    for op in registry.values():
        sample = next(iter(samples_of(op)), None) if op.sample_rule is not None else None
        if sample is None or not all(isinstance(x, np.ndarray) and x.dtype.kind in "fc" for x in sample.inputs()):
            continue
        operands = [pb.asarray(x.astype(x.dtype.newbyteorder())) for x in sample.inputs()]
        with mode(), np.errstate(all="ignore"):
            made = op(*operands, **sample.params)
        results = made if isinstance(made, tuple) else (made,)
        told += [op.name for x in results if isinstance(x, pb.Tensor) and x.dtype != x.detach().numpy().dtype]
    assert not told


@pytest.mark.parametrize("function", [np.gradient, np.cumsum, lambda x: (x[1:] - x[:-1]) / 2, lambda x: np.sin(x) * x])
def test_gradients_by_arrays_in_another_byte_order_are_those_by_others(function):
    values = np.array([0.5, -1.5, 2.0])
    found = []
    for given in (values, values.astype(values.dtype.newbyteorder())):
        x = pb.asarray(given).requires_grad_()
        out = function(x)
        found.append(pb.autograd.grad(out, x, pb.ones(out.shape))[0].numpy())
    np.testing.assert_array_equal(found[1], found[0])
