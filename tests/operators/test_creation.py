"""Tensors made from data, shapes and numbers."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


@pytest.fixture
def single_precision():
    pb.set_default_dtype(pb.float32)
    yield
    pb.set_default_dtype(pb.float64)


def code_of(call):
    with pytest.raises(pb.AutogradError) as caught:
        call()
    return caught.value.code


def test_tensor_copies_and_is_a_leaf():
    data = np.array([1.0, 2.0])
    x = pb.tensor(data, requires_grad=True, name="weights")
    data[0] = 9.0
    assert x.tolist() == [1.0, 2.0]
    assert x.is_leaf and x.requires_grad and x.name == "weights" and x._version == 0
    y = pb.tensor(x * 2, requires_grad=False)
    assert y.is_leaf and not y.requires_grad and y.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    "data, dtype",
    [
        (1, "int64"), (1.0, "float64"), (True, "bool"), (1j, "complex128"), ([1, 2.5], "float64"), ([], "float64"),
        (np.float32(1), "float32"), (np.ones(2, "int8"), "int8"),
    ],
)  # fmt: skip
def test_the_dtype_comes_from_the_data(data, dtype):
    assert pb.tensor(data).dtype == np.dtype(dtype) == pb.asarray(data).dtype


def test_a_dtype_can_be_asked_for():
    assert pb.tensor([1, 2], dtype=pb.float32).dtype == pb.float32
    assert pb.asarray(np.ones(2), dtype=pb.float32).dtype == pb.float32


@pytest.mark.parametrize("data", [["a"], np.array([None]), np.array("2026-01-01", "M8[D]"), [[1], [2, 3]]])
def test_a_tensor_holds_numbers(data):
    for make in (pb.tensor, pb.asarray):
        with pytest.raises((TypeError, ValueError), match=r"dtype|different lengths"):
            make(data)


@pytest.mark.parametrize("data", [[1, 2], [True]], ids=["int", "bool"])
def test_only_floating_point_numbers_can_require_grad(data):
    pb.tensor(data)
    assert code_of(lambda: pb.tensor(data, requires_grad=True)) == "DTYPE"


def test_the_default_dtype_is_that_of_python_numbers_and_factories(single_precision):
    assert pb.get_default_dtype() == pb.float32
    assert (
        pb.tensor([1.0]).dtype == pb.zeros(2).dtype == pb.arange(2.0).dtype == pb.linspace(0, 1, 3).dtype == pb.float32
    )
    assert pb.full(2, 1.5).dtype == pb.eye(2).dtype == pb.float32
    assert pb.tensor(1j).dtype == pb.complex64
    assert pb.tensor([1]).dtype == pb.int64
    assert pb.tensor(np.ones(1)).dtype == pb.float64


def test_the_default_dtype_is_a_real_floating_one():
    with pytest.raises(TypeError):
        pb.set_default_dtype(pb.int64)
    assert pb.get_default_dtype() == pb.float64


def test_asarray_shares_what_it_can():
    memory = np.zeros(2)
    x = pb.asarray(memory)
    memory[0] = 1.0
    assert x.tolist() == [1.0, 0.0]
    assert pb.asarray(x) is x and pb.as_tensor(x) is x
    assert pb.asarray(x, copy=True) is not x
    assert not np.shares_memory(pb.asarray(memory, copy=True).numpy(), memory)
    with pytest.raises(ValueError, match="without a copy"):
        pb.asarray(memory, dtype=pb.float32, copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        pb.asarray([1.0], copy=False)
    assert not np.shares_memory(pb.array(memory).numpy(), memory)


def test_from_numpy_shares_and_respects_read_only_memory():
    memory = np.zeros(2)
    x = pb.from_numpy(memory)
    x.add_(1)
    assert memory.tolist() == [1.0, 1.0]
    memory.flags.writeable = False
    with pytest.raises(ValueError):
        pb.from_numpy(memory).add_(1)
    x = pb.from_numpy(memory)
    with pytest.raises(ValueError):
        x[0] = x[0]
    with pytest.raises(TypeError):
        pb.from_numpy([1.0])


def test_a_list_of_tensors_is_stacked_differentiably():
    a, b = pb.tensor(2.0, requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
    out = pb.asarray([[a, 1], b, [0.5, a * a]])
    assert out.tolist() == [[2.0, 1.0], [3.0, 4.0], [0.5, 4.0]]
    g_a, g_b = pb.autograd.grad((out * np.arange(1.0, 7.0).reshape(3, 2)).sum(), (a, b))
    assert g_a.item() == 1 + 6 * 4 and g_b.tolist() == [3.0, 4.0]


def test_python_numbers_give_way_to_the_dtypes_of_tensors():
    assert pb.asarray([pb.tensor(1.0, dtype=pb.float32), 2.0]).dtype == pb.float32
    assert pb.asarray([pb.tensor(1), 2.5]).dtype == pb.float64


def test_array_of_a_tensor_is_a_differentiable_copy():
    x = pb.tensor([1.0], requires_grad=True)
    out = pb.array(x)
    assert out is not x and pb.autograd.grad(out, x)[0].tolist() == [1.0]


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_every_spelling_of_a_shape(name):
    make = getattr(pb, name)
    for out in (make(2, 3), make((2, 3)), make([2, 3]), make(shape=(2, 3)), make(np.int64(2), 3)):
        assert out.shape == (2, 3) and out.dtype == pb.float64
    assert make(3).shape == (3,) and make(()).shape == () and make().shape == ()
    assert make((2, 3), np.float32).dtype == make(2, 3, dtype="float32").dtype == pb.float32
    assert make(2, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="negative"):
        make(-1)


def test_values_of_the_factories():
    assert pb.zeros(2).tolist() == [0, 0] and pb.ones(2).tolist() == [1, 1] and pb.full((2,), 7).tolist() == [7, 7]
    assert pb.eye(2, 3, 1).tolist() == [[0, 1, 0], [0, 0, 1]] and pb.identity(1).tolist() == [[1.0]]
    assert pb.tri(2, 3).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert pb.arange(3).tolist() == [0, 1, 2] and pb.arange(1, 7, 2).tolist() == [1, 3, 5]
    assert pb.arange(0.0, 1.0, 0.5).tolist() == [0.0, 0.5]
    assert pb.arange(pb.tensor(3)).tolist() == [0, 1, 2]
    assert [part.tolist() for part in pb.tril_indices(2)] == [[0, 1, 1], [0, 0, 1]]
    assert [part.tolist() for part in pb.triu_indices(2, 1)] == [[0], [1]]
    assert pb.indices((1, 2)).tolist() == np.indices((1, 2)).tolist()


def test_like_takes_shape_dtype_and_memory_order_but_no_flag():
    x = pb.from_numpy(np.asfortranarray(np.ones((2, 3), "float32"))).requires_grad_()
    for out in (pb.zeros_like(x), pb.ones_like(x), pb.empty_like(x), pb.full_like(x, 2)):
        assert out.shape == (2, 3) and out.dtype == pb.float32 and not out.requires_grad
        assert out.strides == x.strides
    assert pb.zeros_like(x, dtype=pb.int64).dtype == pb.int64
    assert pb.ones_like([1, 2]).tolist() == [1, 1]
    assert pb.zeros_like(pb.ones(1).expand(3)).add_(1).tolist() == [1, 1, 1]


def test_new_takes_the_dtype():
    x = pb.ones(1, dtype=pb.float32)
    assert x.new_zeros(2, 2).dtype == x.new_ones((2,)).dtype == x.new_full((1,), 3).dtype == pb.float32
    assert x.new_tensor([1, 2]).dtype == x.new_empty(1).dtype == pb.float32
    assert x.new_zeros(2, dtype=pb.int64, requires_grad=False).dtype == pb.int64


def test_full_is_differentiable_in_its_value():
    value = pb.tensor(2.0, requires_grad=True)
    out = pb.full((2, 3), value)
    assert out.tolist() == [[2.0] * 3] * 2
    assert pb.autograd.grad(out.sum(), value)[0].item() == 6.0
    out.add_(1)  # it has memory of its own


def test_arange_refuses_bounds_that_ask_for_a_derivative():
    with pytest.raises(TypeError, match="requires grad"):
        pb.arange(pb.tensor(3.0, requires_grad=True))


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_is_numpys_and_differentiable_in_its_ends(endpoint):
    start, stop = pb.tensor([0.0, 1.0], requires_grad=True), pb.tensor(3.0, requires_grad=True)
    out = pb.linspace(start, stop, 4, endpoint)
    assert_close(out, np.linspace([0.0, 1.0], 3.0, 4, endpoint))
    g_start, g_stop = pb.autograd.grad(out.sum(), (start, stop))
    weights = np.linspace(0.0, 1.0, 4, endpoint)
    assert_close(g_start, [(1 - weights).sum()] * 2)
    assert_close(g_stop, 2 * weights.sum())
    assert pb.linspace(start, 1.0, 4, axis=1).shape == (2, 4)
    assert pb.linspace(0, 1, 3).tolist() == [0, 0.5, 1]


def test_powers_and_quotients_at_equal_distances():
    assert_close(pb.logspace(0, 2, 3), [1.0, 10.0, 100.0])
    assert_close(pb.geomspace(1, 16, 5), [1.0, 2.0, 4.0, 8.0, 16.0])
    stop = pb.tensor(16.0, requires_grad=True)
    out = pb.geomspace(1.0, stop, 5)
    assert_close(out, [1.0, 2.0, 4.0, 8.0, 16.0])
    k = np.arange(5) / 4
    assert_close(pb.autograd.grad(out.sum(), stop)[0], (k * 16.0 ** (k - 1)).sum())


def test_meshgrid_gives_expanded_views():
    x, y = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0, 5.0])
    for indexing in ("xy", "ij"):
        ours, numpys = pb.meshgrid(x, y, indexing=indexing), np.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0], indexing=indexing)
        for a, b in zip(ours, numpys, strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b)
    assert ours[0]._base is x
    assert pb.autograd.grad(ours[0].sum(), x)[0].tolist() == [3.0, 3.0]
    assert [part.shape for part in pb.meshgrid(x, y, sparse=True)] == [(1, 2), (3, 1)]


def test_the_flag_is_honoured_in_every_mode():
    with pb.no_grad():
        assert pb.ones(1, requires_grad=True).requires_grad
    with pb.inference_mode():
        x = pb.zeros(2, requires_grad=True)
        assert x.is_inference() and x.requires_grad
        assert pb.tensor([1.0]).is_inference() and pb.arange(3).is_inference()


def test_the_only_device_is_the_cpu():
    assert pb.zeros(1, device="cpu").device == "cpu"
    with pytest.raises(ValueError, match="cpu"):
        pb.ones(1, device="gpu")


# Of tensors


@pytest.mark.parametrize("make", [pb.tensor, pb.asarray, pb.array, pb.as_tensor], ids=lambda make: make.__name__)
def test_what_is_made_of_tensors_is_differentiable_in_them(make):
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    total = make([x[0] ** 2, 1.0, x[1] ** 3]).sum() + make(x * 2).sum() + make([[x[0], np.float64(4.0)]]).sum()
    assert_close(pb.autograd.grad(total, x)[0], [4.0 + 2.0 + 1.0, 27.0 + 2.0])
    gradient = pb.func.grad(lambda x: x.sum() + make([x[0] ** 2, x[1] ** 3]).sum())(np.ones(2))
    assert_close(gradient, [3.0, 4.0])
    assert_close(pb.func.jvp(lambda x: make([x[0] * 2, x[1]]), (x.detach(),), (pb.ones(2),))[1], [2.0, 1.0])
    rows = np.arange(6.0).reshape(3, 2)
    assert_close(pb.func.vmap(lambda row: make([row[1], row[0] * 2]))(rows), rows[:, ::-1] * [1, 2])
    assert_close(pb.compile(lambda x: make([x[1], x[0]]) * 2)(x.detach()), [6.0, 4.0])


@pytest.mark.parametrize("make", [pb.tensor, pb.asarray, pb.array], ids=lambda make: make.__name__)
@pytest.mark.parametrize("flag", [True, False])
def test_a_flag_that_is_given_asks_for_a_new_leaf(make, flag):
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    for made in (make(x, requires_grad=flag), make(x * 2, requires_grad=flag), make([x[0]], requires_grad=flag)):
        assert made.is_leaf and made.requires_grad is flag and made is not x
    assert pb.full((2,), x[0], requires_grad=flag).is_leaf and pb.linspace(x[0], 1, 3, requires_grad=flag).is_leaf


def test_a_copy_of_a_tensor_has_memory_of_its_own_and_a_name():
    x = pb.tensor([2.0, 3.0])
    y = pb.tensor(x, name="copy")
    y[0] = 9.0
    assert x.tolist() == [2.0, 3.0] and y.name == "copy" and pb.tensor(x, pb.float32).dtype == pb.float32


def test_linspace_gives_its_step():
    start = pb.tensor(1.0, requires_grad=True)
    values, step = pb.linspace(start, 3.0, 5, retstep=True)
    assert_close(values, np.linspace(1.0, 3.0, 5))
    assert step.item() == 0.5 and pb.autograd.grad(step, start)[0].item() == -0.25
    assert pb.linspace(0, 1, 4, endpoint=False, retstep=True)[1].item() == 0.25


@pytest.mark.parametrize("base", [[2.0, 3.0], [[2.0], [3.0]]])
@pytest.mark.parametrize("bounds, axis", [
    ((2.0, 3.0), -1), ((2.0, 3.0), 0), (([2.0, 3.0], [4.0, 5.0]), 0), (([[2.0, 3.0]], [4.0, 5.0]), 1),
])  # fmt: skip
def test_logspace_with_a_base_for_each_of_the_bounds(bounds, axis, base):
    expected = np.logspace(*bounds, num=4, base=base, axis=axis)
    b = pb.tensor(base, requires_grad=True)
    actual = pb.logspace(*bounds, num=4, base=b, axis=axis)
    np.testing.assert_allclose(actual.detach(), expected)
    assert pb.autograd.gradcheck(lambda b: pb.logspace(*bounds, num=4, base=b, axis=axis), [b])
