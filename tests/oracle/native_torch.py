"""Programs run on torch as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from .machine import Array, Machine, Observation
from .saved import RuleError
from .statements import Program, Statement
from .torch_errors import code_of

DTYPES = {torch.float64: "float64", torch.float32: "float32", torch.int64: "int64", torch.bool: "bool"}


class NativeTorch(Machine):
    """Torch as it is."""

    namespace = torch

    def array(self, x: Any) -> Array:
        payload = x.data.numpy(force=True)  # force: torch has zeros without memory
        return payload.shape, DTYPES[x.dtype], payload.tobytes()

    def run(self, program: Program) -> list[Observation]:
        torch.set_grad_enabled(True)  # the previous program may have met rule D8 unaided
        return super().run(program)

    def error_code(self, error: BaseException) -> str:
        return error.code if isinstance(error, RuleError) else code_of(error)

    def text(self, statement: Statement) -> str:
        return statement.text if statement.torch is None else statement.torch

    def mode(self, name: str) -> AbstractContextManager[Any]:
        if name == "no_grad_twice":
            return twice(torch.no_grad())
        return MODES[name]()

    def narrower(self, g: Any) -> Any:
        return g.to(torch.float32 if g.dtype == torch.float64 else torch.float64)


MODES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "inference": torch.inference_mode,
    "normal": lambda: torch.inference_mode(False),
}


@contextmanager
def twice(mode: AbstractContextManager[Any]) -> Iterator[None]:
    with mode, mode:
        yield


@contextmanager
def recording(enabled: bool) -> Iterator[None]:
    """Outside inference mode, with history recorded or not."""
    with torch.inference_mode(False), torch.set_grad_enabled(enabled):
        yield


def is_recording() -> bool:
    """Whether a recorded operation is recorded here: `enable_grad` inside inference mode is not enough."""
    return torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
