"""Handing memory to other libraries and taking it from them."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


def test_memory_is_shared_both_ways():
    source = np.arange(4.0)
    tensor = pb.from_dlpack(source)
    assert np.shares_memory(tensor.numpy(), source)
    array = np.from_dlpack(tensor)
    assert np.shares_memory(array, source)
    assert not np.shares_memory(pb.from_dlpack(source, copy=True).numpy(), source)
    assert pb.from_dlpack(tensor).shape == (4,)


def test_the_device_is_the_cpu():
    assert tuple(pb.zeros(1).__dlpack_device__()) == (1, 0)
    assert_close(pb.from_dlpack(np.ones(2), device="cpu"), [1.0, 1.0])
    with pytest.raises(ValueError, match="device"):
        pb.from_dlpack(np.ones(2), device="gpu")


def test_a_tensor_that_requires_grad_is_not_exported():
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match="detach"):
        x.__dlpack__()
    assert_close(np.from_dlpack(x.detach()), [1.0, 1.0])
    with pb.no_grad():
        assert_close(np.from_dlpack(x), [1.0, 1.0])


def test_negative_strides_are_copied():
    x = pb.tensor([1.0, 2.0, 3.0])
    backwards = pb.flip(x)
    assert_close(np.from_dlpack(backwards), [3.0, 2.0, 1.0])
    with pytest.raises(BufferError, match="negative strides"):
        backwards.__dlpack__(copy=False)


@pytest.mark.parametrize("version", [None, (0, 0), (0, 8), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("copy", [None, True, False])
def test_every_version_is_served(version, copy):
    assert pb.ones(2).__dlpack__(max_version=version, copy=copy) is not None


def test_read_only_memory_needs_a_version_that_can_say_so():
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    tensor = pb.from_numpy(frozen)
    with pytest.raises(BufferError):
        tensor.__dlpack__()
    assert tensor.__dlpack__(max_version=(1, 0)) is not None


def test_memory_of_the_cpu_has_no_streams():
    with pytest.raises(BufferError, match="stream"):
        pb.ones(1).__dlpack__(stream=3)
