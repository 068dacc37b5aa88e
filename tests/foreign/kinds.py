"""The libraries that the tests of this folder run on: each with a function that makes its arrays.

array-api-strict is part of the development environment; the others are installed by `make foreign`, and skipped
elsewhere, with the reason.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pullback as pb

NAMES = ("strict", "torch", "jax", "dask", "cupy")
MODULES = {"strict": "array_api_strict", "torch": "torch", "jax": "jax", "dask": "dask.array", "cupy": "cupy"}
MUTABLE = ("torch", "cupy")


@dataclass(frozen=True)
class Library:
    """A library of arrays."""

    name: str
    module: Any

    def make(self, values):
        """An array of the library with these values."""
        values = np.array(values)
        if self.name == "torch":
            return self.module.from_numpy(values)
        if self.name == "dask":
            return self.module.from_array(values, chunks=2)
        return self.module.asarray(values)

    def tensor(self, values, **options):
        """A tensor on such an array."""
        return pb.foreign(self.make(values), **options)

    @property
    def is_mutable(self):
        return self.name in MUTABLE

    @property
    def array_type(self):
        return type(self.make([1.0]))


def library(name):
    """The library of this name; the test is skipped where it is not installed, or has no device."""
    if name == "cupy":
        try:
            count = importlib.import_module("cupy").cuda.runtime.getDeviceCount()
        except Exception as error:
            pytest.skip(f"no CUDA device ({type(error).__name__})")
        if not count:
            pytest.skip("no CUDA device")
    module = pytest.importorskip(MODULES[name], reason=f"{MODULES[name]} is not installed: see `make foreign`")
    if name == "jax":
        module.config.update("jax_enable_x64", True)
        module = importlib.import_module("jax.numpy")
    if name == "dask":
        importlib.import_module("dask").config.set(scheduler="synchronous")
    return Library(name, module)


def host(x):
    """The values of a tensor, a payload or an array as an ndarray."""
    if isinstance(x, pb.Tensor):
        x = x.detach()._data
    if hasattr(x, "data") and hasattr(x, "levels"):
        x = x.data
    return np.asarray(x.downloaded() if hasattr(x, "downloaded") else x)


def assert_equal(got, wanted, tolerance=1e-10):
    """Values agree, whatever libraries they are in."""
    np.testing.assert_allclose(host(got), host(wanted), rtol=tolerance, atol=tolerance)


def code_of(call, *args, **options):
    """The code of the error that a call raises."""
    with pytest.raises(pb.AutogradError) as raised:
        call(*args, **options)
    return raised.value.code
