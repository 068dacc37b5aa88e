"""All testers by name, and what each must have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from .compiled import Compiled
from .derivatives import Derivatives
from .eager import Eager
from .native import Guarded, Native
from .others import Aliasing, Chains, Oracle, Transforms
from .program import Disagreement
from .protocol import Protocol as NumPyProtocol
from .seeded import SEEDED
from .ways import Ways


class Tester(Protocol):
    """A kind of random programs that are run in two ways at least, and compared."""

    name: str

    def draw(self, seed: int) -> Any:
        """The program of a number, always the same."""

    def check(self, program: Any) -> Disagreement | None:
        """What is seen to differ, None if all agrees or the difference is documented."""

    def smaller(self, program: Any) -> Iterator[Any]:
        """Programs with something less."""

    def count(self, program: Any) -> tuple[int, int]:
        """Statements, and calls of what is tested."""


TESTERS: dict[str, Tester] = {
    each.name: each
    for each in (
        Compiled(),
        Derivatives(),
        NumPyProtocol(),
        Aliasing(),
        Native(),
        Guarded(),
        Transforms(),
        Chains(),
        Oracle(),
        Ways(),
        Eager(),
        *SEEDED,
    )
}


def source_of(program: Any) -> str:
    """The program for a reader."""
    tester = TESTERS[program.tester]
    return str(tester.source(program) if hasattr(tester, "source") else program.source())
