"""Programs run on Pullback."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

import pullback as pb

from .machine import Array, Machine

# Errors about shapes, indices and argument types, which belong to the array side and carry no code.
ARRAY_ERRORS = (ValueError, TypeError, IndexError, KeyError)


class PullbackMachine(Machine):
    """The side under test. Nothing is translated here but spelling."""

    namespace = pb

    def array(self, x: Any) -> Array:
        payload = np.asarray(x.data)
        return payload.shape, payload.dtype.name, payload.tobytes()

    def error_code(self, error: BaseException) -> str:
        if isinstance(error, pb.autograd.AutogradError):
            return str(error.code)
        if isinstance(error, ARRAY_ERRORS):
            return "ARRAY"
        if isinstance(error, AttributeError) and "NoneType" in str(error):
            return "NONE"
        return f"INTERNAL {type(error).__name__}"

    def mode(self, name: str) -> AbstractContextManager[Any]:
        if name == "no_grad_twice":
            return twice(pb.no_grad())
        made: AbstractContextManager[Any] = {
            "no_grad": pb.no_grad,
            "enable_grad": pb.enable_grad,
            "inference": pb.inference_mode,
            "normal": lambda: pb.inference_mode(False),
        }[name]()
        return made

    def narrower(self, g: Any) -> Any:
        return g.astype(pb.float32 if g.dtype == pb.float64 else pb.float64)


@contextmanager
def twice(mode: AbstractContextManager[Any]) -> Any:
    """The same context manager entered inside itself (rule D8)."""
    with mode, mode:
        yield
