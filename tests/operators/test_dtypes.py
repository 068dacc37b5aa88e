"""Questions about dtypes, sizes, memory and text."""

import copy
import math
import pickle

import numpy as np
import pytest

import pullback as pb


def test_limits_accept_dtypes_and_tensors_and_are_python_numbers():
    for kind in (pb.float32, np.float32, pb.tensor([1.0], dtype=pb.float32), pb.zeros(2, dtype=pb.complex64)):
        limits = pb.finfo(kind)
        assert (limits.bits, limits.dtype, type(limits.eps)) == (32, pb.float32, float)
        assert limits.tiny == limits.smallest_normal == float(np.finfo(np.float32).tiny)
    assert pb.finfo(pb.float64).max == np.finfo(np.float64).max
    for kind in (pb.int8, pb.tensor([1], dtype=pb.int8)):
        limits = pb.iinfo(kind)
        assert (limits.bits, limits.min, limits.max, limits.dtype) == (8, -128, 127, pb.int8)


def test_limits_are_values():
    limits = pb.finfo(pb.float32)
    assert limits == pb.finfo(pb.complex64) and hash(limits) == hash(pb.finfo(pb.complex64))
    assert limits != pb.finfo(pb.float64) and limits != pb.iinfo(pb.int32)
    assert pickle.loads(pickle.dumps(limits)) == limits == copy.deepcopy(limits)
    assert repr(pb.iinfo(pb.int8)) == "IntegerLimits(bits=8, max=127, min=-128, dtype=dtype('int8'))"
    with pytest.raises(AttributeError, match="cannot be changed"):
        limits.eps = 1.0
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del limits.eps


def test_promotion_takes_tensors_dtypes_and_python_numbers():
    x = pb.zeros(2, dtype=pb.float32)
    assert pb.result_type(x, 1.0) == pb.float32
    assert pb.result_type(x, pb.float64) == pb.float64
    assert pb.result_type(x, 1j) == pb.complex64
    assert pb.result_type(x, pb.tensor(1.0)) == pb.float64
    assert pb.promote_types(pb.int64, pb.float32) == pb.float64
    for arguments in ((), (1, 2.0)):
        with pytest.raises(TypeError, match="at least one"):
            pb.result_type(*arguments)


def test_casts_and_kinds():
    assert pb.can_cast(pb.zeros(1, dtype=pb.int8), pb.int16)
    assert not pb.can_cast(pb.float64, pb.int64)
    assert pb.can_cast(pb.float64, pb.int64, casting="unsafe")
    assert pb.isdtype(pb.float32, ("integral", "real floating"))
    assert pb.isdtype(pb.int8, pb.int8) and not pb.isdtype(pb.bool, "numeric")
    assert pb.issubdtype(pb.float32, np.floating)
    assert pb.min_scalar_type(200) == pb.uint8 and pb.min_scalar_type(pb.tensor([1])) == pb.int64
    assert pb.common_type(pb.tensor([1]), pb.zeros(1, dtype=pb.float32)) == np.common_type(
        np.array([1]), np.zeros(1, np.float32)
    )
    assert pb.mintypecode(["d", "f", "S"]) == np.mintypecode(["d", "f", "S"])


def test_kinds_of_tensors():
    x, z = pb.tensor([1.0]), pb.tensor([1j])
    assert x.is_floating_point() and not z.is_floating_point() and z.is_complex()
    assert pb.iscomplexobj(z) and pb.isrealobj(x)
    assert pb.is_tensor(x) and not pb.is_tensor(np.zeros(1))
    assert pb.isscalar(2.0) and pb.isscalar(np.float32(2)) and not pb.isscalar(pb.tensor(2.0))
    assert pb.iterable(x) and not pb.iterable(pb.tensor(1.0)) and pb.iterable([1])
    assert x.type() == "float64" and x.type(pb.float32).dtype == pb.float32


def test_sizes():
    x = pb.zeros((2, 3), dtype=pb.float32)
    assert (pb.shape(x), pb.ndim(x), pb.size(x), pb.size(x, 1), pb.numel(x), x.numel()) == ((2, 3), 2, 6, 3, 6, 6)
    assert (pb.itemsize(x), pb.nbytes(x), pb.strides(x), pb.stride(x), x.stride(0)) == (4, 24, (12, 4), (3, 1), 3)
    assert pb.shape([[1, 2]]) == (1, 2)
    assert pb.isfortran(x.T) and not pb.isfortran(x)


def test_memory():
    x = pb.zeros(4)
    assert pb.shares_memory(x, x[1:]) and pb.may_share_memory(x, x[1:])
    assert not pb.shares_memory(x[::2], x[1::2])


def test_text():
    x = pb.tensor([1.0, math.pi], requires_grad=True)
    assert pb.array_repr(x) == repr(x)
    assert pb.array_str(x) == "[1.         3.14159265]"
    assert pb.array2string(x, precision=2) == "[1.   3.14]"
    before = pb.get_printoptions()["precision"]
    with pb.printoptions(precision=3):
        assert pb.get_printoptions()["precision"] == 3
        assert "3.142" in repr(x)
    assert pb.get_printoptions()["precision"] == before
    pb.set_printoptions(precision=before)
