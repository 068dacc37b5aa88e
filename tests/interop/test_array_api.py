"""`pullback` is a namespace of the array API standard: what it says of itself, and how its functions are called."""

import inspect

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

INFO = pb.__array_namespace_info__()


def test_a_tensor_names_pullback_as_its_namespace():
    assert pb.zeros(2).__array_namespace__() is pb
    assert pb.zeros(2).__array_namespace__(api_version="2025.12") is pb
    assert pb.__array_api_version__ == "2025.12"


def test_an_unknown_version_is_refused():
    with pytest.raises(ValueError, match=r"no version '1999\.12'; the versions are 2021\.12"):
        pb.zeros(2).__array_namespace__(api_version="1999.12")


def test_an_earlier_version_has_lists_where_the_standard_had_them():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    earlier = x.__array_namespace__(api_version="2024.12")
    assert earlier is pb.zeros(1).__array_namespace__(api_version="2024.12")
    assert earlier.__array_api_version__ == "2024.12"
    assert type(earlier.meshgrid(x, x)) is list and type(pb.meshgrid(x, x)) is tuple
    assert type(earlier.broadcast_arrays(x, x[:1])) is list and type(pb.broadcast_arrays(x, x[:1])) is tuple
    assert earlier.__array_namespace_info__().devices() == ["cpu"]
    assert earlier.sum is pb.sum and earlier.float32 is pb.float32
    (gradient,) = pb.autograd.grad(earlier.meshgrid(x, x)[0].sum(), [x])
    assert_close(gradient, [2.0, 2.0])


def test_the_device_is_the_cpu():
    assert INFO.default_device() == "cpu"
    assert INFO.devices() == ("cpu",)
    assert pb.zeros(2).device in INFO.devices()


def test_to_device_returns_the_tensor_or_says_that_there_is_no_such_device():
    x = pb.tensor([1.0], requires_grad=True)
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        x.to_device("cuda")
    with pytest.raises(ValueError, match="there are no streams"):
        x.to_device("cpu", stream=1)


def test_the_capabilities_are_all_there():
    assert INFO.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert pb.zeros((1,) * 64).ndim == 64
    with pytest.raises(ValueError):
        pb.zeros((1,) * 65)


def test_default_dtypes_are_those_of_new_tensors():
    defaults = INFO.default_dtypes(device="cpu")
    assert pb.asarray(1.0).dtype == defaults["real floating"]
    assert pb.asarray(1j).dtype == defaults["complex floating"]
    assert pb.asarray(1).dtype == defaults["integral"]
    assert pb.argmax(pb.asarray([1.0])).dtype == defaults["indexing"]


def test_default_dtypes_follow_set_default_dtype():
    pb.set_default_dtype(pb.float32)
    try:
        assert INFO.default_dtypes()["real floating"] == pb.float32
        assert INFO.default_dtypes()["complex floating"] == pb.complex64
    finally:
        pb.set_default_dtype(pb.float64)


@pytest.mark.parametrize(
    "kind, names",
    [
        ("bool", {"bool"}),
        ("signed integer", {"int8", "int16", "int32", "int64"}),
        ("unsigned integer", {"uint8", "uint16", "uint32", "uint64"}),
        ("real floating", {"float32", "float64"}),
        ("complex floating", {"complex64", "complex128"}),
        (("bool", "real floating"), {"bool", "float32", "float64"}),
        ((), set()),
    ],
)
def test_dtypes_by_kind(kind, names):
    assert INFO.dtypes(kind=kind) == {name: getattr(pb, name) for name in names}


def test_dtypes_of_broader_kinds_and_of_all():
    assert len(INFO.dtypes(kind="integral")) == 8
    assert len(INFO.dtypes(kind="numeric")) == 12
    assert len(INFO.dtypes(device="cpu")) == 13


def test_wrong_questions_about_dtypes_are_refused():
    with pytest.raises(ValueError, match="there is no kind 'text'; the kinds are bool, signed integer"):
        INFO.dtypes(kind="text")
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        INFO.dtypes(device="cuda")
    with pytest.raises(ValueError, match="there is no device 'cuda'"):
        INFO.default_dtypes(device="cuda")


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("zeros", ["shape", "dtype", "device"]),
        ("ones", ["shape", "dtype", "device"]),
        ("empty", ["shape", "dtype", "device"]),
        ("reshape", ["x", "shape", "copy"]),
        ("broadcast_to", ["x", "shape"]),
        ("permute_dims", ["x", "axes"]),
        ("sum", ["x", "axis", "dtype", "keepdims"]),
        ("prod", ["x", "axis", "dtype", "keepdims"]),
        ("max", ["x", "axis", "keepdims"]),
        ("clip", ["x", "min", "max"]),
        ("sort", ["x", "axis", "descending", "stable"]),
    ],
)
def test_signatures_show_the_parameters_of_the_standard(name, parameters):
    shown = inspect.signature(getattr(pb, name)).parameters
    assert set(parameters) <= set(shown)


def test_functions_can_be_called_as_their_signatures_say():
    x = pb.asarray(np.arange(6.0))
    assert pb.reshape(x, shape=(2, 3)).shape == pb.reshape(x, (2, 3)).shape == (2, 3)
    assert pb.zeros(shape=(2, 3)).shape == (2, 3)
    assert pb.permute_dims(pb.reshape(x, (2, 3)), axes=(1, 0)).shape == (3, 2)
    assert pb.broadcast_to(x, shape=(2, 6)).shape == (2, 6)
    assert pb.sum(pb.asarray([1, 2], dtype=pb.int8), axis=0, dtype=pb.float32).dtype == pb.float32


def test_what_a_promotion_does_can_be_asked_for_as_a_cast():
    dtypes = INFO.dtypes().values()
    promotions = {(low, pb.result_type(low, other)) for low in dtypes for other in dtypes}
    assert all(pb.can_cast(low, high) for low, high in promotions)
    assert not pb.can_cast(pb.complex64, pb.float64)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("im", [0.5, 2.0, -0.5, -2.0])
def test_tanh_at_infinity_has_the_sign_of_its_limit(dtype, im):
    """array_api_xfails.txt says why this is not the sign that the standard asks for."""
    at_infinity, before = pb.tanh(pb.asarray([complex(np.inf, im), complex(1000.0, im)], dtype=dtype)).numpy()
    assert at_infinity == before == 1
    assert np.signbit(at_infinity.imag) == np.signbit(before.imag) == (np.sin(2 * im) < 0)


def standardized(x, axis):
    """A function as libraries for the standard write them: it knows its namespace from its argument alone."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    return centred / xp.sqrt(xp.mean(xp.square(centred), axis=axis, keepdims=True))


def test_code_written_for_the_standard_is_differentiable():
    values = np.random.default_rng(0).normal(size=(3, 4))
    assert_close(standardized(pb.asarray(values), 1), standardized(values, 1))
    assert pb.autograd.gradcheck(lambda x: standardized(x, 1), pb.tensor(values, requires_grad=True))
