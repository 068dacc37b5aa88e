"""Parts of complex numbers, other dtypes on the same memory, windows, and arbitrary strides."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def test_the_imaginary_part_of_real_numbers_is_a_constant_zero():
    x = leaf([1.0, 2.0])
    assert x.imag.tolist() == [0.0, 0.0] and not x.imag.requires_grad
    assert x.real._base is x


def test_parts_of_complex_numbers_are_written_through():
    z = pb.tensor([1 + 2j, 3 + 4j])
    z.imag.mul_(10)
    pb.real(z).add_(1)
    assert z.tolist() == [2 + 20j, 4 + 40j]


def test_gradients_of_parts_point_in_their_direction():
    z = leaf([1 + 2j])
    assert pb.autograd.grad(z.real.sum(), z)[0].tolist() == [1 + 0j]
    assert pb.autograd.grad(z.imag.sum(), z)[0].tolist() == [1j]


def test_complex_numbers_as_pairs_and_back():
    z = leaf([1 + 2j, 3 + 4j])
    pairs = pb.view_as_real(z)
    assert pairs.tolist() == [[1.0, 2.0], [3.0, 4.0]] and pairs._base is z
    assert pb.view_as_complex(pairs).tolist() == [1 + 2j, 3 + 4j]
    (gradient,) = pb.autograd.grad((pairs * np.array([1.0, 10.0])).sum(), z)
    assert gradient.tolist() == [1 + 10j, 1 + 10j]
    with pytest.raises(TypeError, match="complex"):
        pb.view_as_real(pb.ones(2))
    with pytest.raises(TypeError, match="length 2"):
        pb.view_as_complex(pb.ones(3))
    with pytest.raises(ValueError, match="neighbours"):
        pb.view_as_complex(pb.ones((2, 3)).T)


def test_view_of_a_dtype_reads_bits_without_history():
    x = leaf([1.0, 2.0])
    bits = x.view(np.int64)
    assert bits.tolist() == np.array([1.0, 2.0]).view(np.int64).tolist()
    assert not bits.requires_grad
    with pb.no_grad():
        x.add_(1)
    assert bits.tolist() == np.array([2.0, 3.0]).view(np.int64).tolist() and bits._version == 1


def test_view_between_real_and_complex_is_differentiable():
    x = leaf([1.0, 2.0, 3.0, 4.0])
    z = x.view(pb.complex128)
    assert z.tolist() == [1 + 2j, 3 + 4j] and z._base is x
    assert pb.autograd.grad(z.imag.sum(), x)[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert z.view(pb.float64).tolist() == x.tolist()
    assert pb.ones(2).view("float64").shape == (2,)


@pytest.mark.parametrize("old", [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int32])
@pytest.mark.parametrize("new", [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.uint8])
def test_view_as_another_dtype_reads_the_memory_as_numpy_does(old, new):
    values = np.arange(16).reshape(2, 8).astype(old)
    result = pb.tensor(values).view(new)
    expected = values.view(new)
    assert result.dtype == expected.dtype
    assert result.numpy().tobytes() == expected.tobytes()
    assert result.shape == expected.shape


def test_windows_are_numpys_and_their_gradients_overlap():
    x = leaf(np.arange(12.0).reshape(3, 4))
    out = pb.sliding_window_view(x, (2, 2))
    np.testing.assert_array_equal(
        out.detach().numpy(), np.lib.stride_tricks.sliding_window_view(x.detach().numpy(), (2, 2))
    )
    assert out._base is x
    (gradient,) = pb.autograd.grad(out.sum(), x)
    assert gradient.tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [1, 2, 2, 1]]
    with pytest.raises(ValueError, match="does not fit"):
        pb.sliding_window_view(x, 5, axis=0)


def test_unfold_takes_windows_some_steps_apart():
    x = leaf(np.arange(7.0))
    out = x.unfold(0, 3, 2)
    assert out.tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert pb.autograd.grad(out.sum(), x)[0].tolist() == [1, 1, 2, 1, 2, 1, 1]


def test_as_strided_counts_in_elements_and_adds_up_what_repeats():
    x = leaf(np.arange(6.0))
    out = pb.as_strided(x, (3, 2), (1, 2), 1)
    assert out.tolist() == [[1, 3], [2, 4], [3, 5]] and out._base is x
    assert pb.autograd.grad(out.sum(), x)[0].tolist() == [0, 1, 1, 2, 1, 1]


def test_as_strided_stays_inside_the_elements_of_its_operand():
    x = pb.arange(6.0)
    with pytest.raises(ValueError, match="outside"):
        pb.as_strided(x, (4,), (2,))
    with pytest.raises(ValueError, match="outside"):
        pb.as_strided(x[::2], (3,), (1,))
    assert pb.as_strided(x[::2], (2,), (2,), 2).tolist() == [2.0, 4.0]
    assert pb.as_strided(x[::-1], (2,), (-3,)).tolist() == [5.0, 2.0]


@pytest.mark.parametrize("order", ["C", "F", "gaps", "reversed"])
def test_a_write_through_as_strided_reaches_the_base_whatever_its_memory_order(order):
    values = {
        "C": lambda v: v,
        "F": np.asfortranarray,
        "gaps": lambda v: np.repeat(v, 2, axis=1)[:, ::2],
        "reversed": lambda v: v[:, ::-1].copy()[:, ::-1],
    }[order](np.arange(1.0, 7.0).reshape(2, 3))
    x = leaf(values)
    base = pb.from_numpy(values.copy(order="K") if order != "gaps" else np.repeat(values, 2, axis=1)[:, ::2])
    base.mul_(x)
    steps = [stride // 8 for stride in base.strides]
    pb.as_strided(base, (2, 2), (steps[0], 2 * steps[1])).mul_(10)
    factor = np.array([[10.0, 1.0, 10.0], [10.0, 1.0, 10.0]])
    assert_close(base, values * values * factor)
    assert_close(pb.autograd.grad(base.sum(), x)[0], values * factor)


def test_as_strided_of_an_expanded_tensor_shares_the_gradient_among_the_repeated():
    x = leaf([1.0, 2.0])
    wide = x.expand(3, 2)
    out = pb.as_strided(wide, (2,), (1,))
    assert out.tolist() == [1.0, 2.0]
    assert_close(pb.autograd.grad(out.sum(), x)[0], [1.0, 1.0])


def test_as_strided_scatter_writes_what_as_strided_reads():
    x = pb.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    src = pb.tensor([10.0, 20.0], requires_grad=True)
    out = pb.as_strided_scatter(x, src, (2,), (5,), 1)
    assert out.tolist() == [[0.0, 10.0, 2.0, 3.0], [4.0, 5.0, 20.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
    assert pb.as_strided(out, (2,), (5,), 1).tolist() == [10.0, 20.0]
    (out * out).sum().backward()
    assert src.grad.tolist() == [20.0, 40.0]
    assert x.grad.tolist() == [[0.0, 0.0, 4.0, 6.0], [8.0, 10.0, 0.0, 14.0], [16.0, 18.0, 20.0, 22.0]]


def test_as_strided_scatter_counts_in_the_memory_order_of_its_operand():
    x = pb.tensor(np.arange(6.0).reshape(2, 3)).T
    out = pb.as_strided_scatter(x, [7.0, 8.0], (2,), (1,))
    assert out.tolist() == [[7.0, 3.0], [8.0, 4.0], [2.0, 5.0]]


def test_as_strided_scatter_refuses_to_write_an_element_twice():
    with pytest.raises(ValueError, match="more than once"):
        pb.as_strided_scatter(pb.zeros(4), pb.ones((2, 2)), (2, 2), (1, 1))
    with pytest.raises(ValueError, match="more than once"):
        pb.as_strided_scatter(pb.zeros(1).expand(4), pb.ones(1), (1,), (1,))
    with pytest.raises(TypeError, match="complex128 cannot be written into float64"):
        pb.as_strided_scatter(pb.zeros(4), 1j, (2,), (1,))


def test_parts_of_complex_numbers_are_assigned_and_changed_in_place():
    z = pb.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    w = z * 1
    w.imag *= 2
    w.real = pb.tensor([5.0, 6.0])
    assert w.tolist() == [5 + 4j, 6 + 8j]
    assert_close(pb.autograd.grad((w.imag**2).sum(), z)[0], [16j, 32j])
    w.real += 1
    w.imag = 0.0
    assert w.tolist() == [6, 7]
    x = pb.zeros(2)
    x.real = 3.0
    assert x.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="imaginary part"):
        x.imag = 1.0


def test_parts_of_complex_numbers_are_assigned_in_transforms():
    def energy(z):
        z = z * 1
        z.imag *= 2
        return (z.imag**2 + z.real**2).sum()

    z = pb.tensor([1 + 2j, 3 + 4j])
    assert_close(pb.func.grad(energy)(z), [2 + 16j, 6 + 32j])
    assert_close(pb.func.vmap(energy)(z[None]), [energy(z).item()])
    assert_close(pb.compile(energy, backend="numpy")(z), energy(z))
    assert_close(pb.func.grad(pb.func.adapt(energy))(z), [2 + 16j, 6 + 32j])


WINDOWS = {
    "unfold": lambda x: x.unfold(0, 3, 2), "apart": lambda x: x.unfold(0, 2, 2), "all": lambda x: x.unfold(0, 3),
    "strides": lambda x: x.as_strided((4, 3), (2, 1)), "windows": lambda x: pb.sliding_window_view(x, 4),
}  # fmt: skip
WRITES = {
    "product": lambda v: v.mul_(2), "sine": lambda v: v.sin_(), "row": lambda v: v[0].mul_(3),
    "element": lambda v: v[1, 0].fill_(0.5), "column": lambda v: v[:, 1].exp_(),
    "numbers": lambda v: v.copy_(pb.arange(1.0 * v.size).reshape(v.shape)),
}  # fmt: skip


@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_to_windows_reaches_the_array_and_all_other_windows(windows, write):
    def program(x):
        array = x * 1
        view = windows(array)
        write(view)
        return (array * pb.cos(pb.arange(10.0))).sum() + (view**2).sum()

    x = pb.tensor(np.arange(1.0, 11.0) / 7, requires_grad=True)
    assert pb.autograd.gradcheck(program, x, check_forward_ad=True)
    value, compiled = program(x), pb.compile(program, backend="numpy")(x)
    assert_close(compiled.detach(), value.detach())
    assert_close(pb.autograd.grad(compiled, x)[0], pb.autograd.grad(value, x)[0])


@pytest.mark.parametrize("name", ["unfold", "all", "strides", "windows"])
def test_values_with_a_gradient_are_not_written_to_windows_that_overlap(name):
    view = WINDOWS[name](pb.ones(10) * 1)
    values = pb.ones(view.shape, requires_grad=True)
    with pytest.raises(pb.AutogradError) as caught:
        view.copy_(values)
    assert caught.value.code == "OVERLAP_WRITE"
    view[0].copy_(values[0])
    assert pb.autograd.grad(view.sum(), values)[0][0].sum() >= 3


def test_values_with_a_gradient_are_written_to_windows_that_do_not_overlap():
    view = (pb.ones(10) * 1).unfold(0, 2, 2)
    values = pb.ones(view.shape, requires_grad=True)
    view.copy_(values)
    assert pb.autograd.grad(view.sum(), values)[0].tolist() == [[1, 1]] * 5


def test_windows_go_forward():
    with pytest.raises(ValueError, match="must be > 0"):
        pb.ones(7).unfold(0, 1, -1)
