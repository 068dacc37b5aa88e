"""Testers that draw a program of a number and assert: passes on graphs, functions whose way depends on values, NumPy
programs adapted, arrays of other kinds, SciPy's solvers with callbacks. Each has generators beside its own tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import array_api_strict
import numpy as np

import pullback as pb
from pullback.aot._partition import partition
from tests import array_programs
from tests.aot import random_numbers, random_selections
from tests.aot.random_joint import RandomJoint
from tests.aot.random_loops import RandomLoops
from tests.graph import random_steps

from . import callbacks
from .others import Wrapped
from .program import Disagreement
from .world import LENGTHS

Check = Callable[[int], None]


class Seeded:
    """Checks in turn, each a function of a number that raises if something differs."""

    def __init__(self, name: str, statements: int, calls: int, checks: dict[str, Check]):
        self.name, self.checks, self._count = name, checks, (statements, calls)

    def draw(self, seed: int) -> Wrapped:
        return Wrapped(self.name, seed, list(self.checks)[seed % len(self.checks)])

    def check(self, program: Wrapped) -> Disagreement | None:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                self.checks[program.inner](program.seed)
        except AssertionError as error:
            return Disagreement(program.inner, "values", "", str(error)[:3000])
        except Exception as error:
            return Disagreement(program.inner, "error", "", f"{type(error).__name__}: {error}")
        return None

    def smaller(self, program: Wrapped) -> Iterator[Wrapped]:
        return iter(())

    def count(self, program: Wrapped) -> tuple[int, int]:
        return self._count


# Passes on graphs.

WAYS = [{"method": "default"}] + [{"method": "min_cut", "memory_budget": b} for b in (1.0, 0.5, 0.2, 0.0)]


def split(seed: int) -> None:
    from tests.aot import test_partition_random as checks

    joint = RandomJoint(seed, with_tags=bool(seed % 2), with_effects=seed % 5 == 0, is_seeded=seed % 7 == 0)
    checks.check(joint, partition(joint.graph, joint.num_forward_outputs, **WAYS[seed % len(WAYS)]))


def loops(seed: int) -> None:
    from tests.aot import control_programs as checks

    function = RandomLoops(seed)
    checks.check_gradients(function, function.arguments())


# Ways that depend on values.


def branches(seed: int) -> None:
    from tests.aot.test_random_branches import compare

    compare(seed, backend=("numpy", "llvm")[seed % 8 == 0])


def branches_again(seed: int) -> None:
    """The same function for many calls: trees grow, arms are joined, and what is slower runs as it is."""
    from tests.aot.test_random_branches import compare

    compare(seed, 30, backend="numpy")


def numbers_in_captures(seed: int) -> None:
    found = random_numbers.check(seed)  # down to bits, which LLVM's sines do not keep
    assert found is None, found


def selections(seed: int) -> None:
    found = random_selections.check(seed, "llvm" if seed % 8 == 0 else "numpy")
    assert found is None, found


# NumPy's own programs.


def adapted(seed: int) -> None:
    from tests.func.test_written_numpy_programs import check

    check(seed, compiled=seed % 15 == 0)


# Arrays of other kinds.


def on_another_library(seed: int) -> None:
    draws = np.random.default_rng(seed)
    way = array_programs.WAYS[seed % len(array_programs.WAYS)]
    lengths = [n for n in LENGTHS if 0 < n <= (17 if way in ("second", "forward over reverse") else 513)]
    last = int(draws.choice(lengths))
    shape = [(last,), (2, last), (1, last), (2, 1, last)][int(draws.integers(4))]
    arrays = draws.normal(size=shape), draws.normal(size=(last,))
    function = array_programs.program(seed)
    wanted = array_programs.results(function, *map(pb.tensor, arrays), way)
    foreign = [pb.foreign(array_api_strict.asarray(x)) for x in arrays]
    for one, other in zip(array_programs.results(function, *foreign, way), wanted, strict=True):
        assert one.device.kind is not None and one.dtype == other.dtype, way
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 1e-7, 1e-7, err_msg=way)


def rows(seed: int) -> None:
    from tests.conformance import test_ragged_programs as checks

    draws = np.random.default_rng(seed)
    lengths = tuple(int(n) for n in draws.choice((0, 1, 2, 3, 5, 8, 17, 63), int(draws.integers(0, 9))))
    checks.check(seed, lengths, checks.WAYS[seed % len(checks.WAYS)])


def pairs(seed: int) -> None:
    from tests.conformance import test_payloads_in_use as checks

    checks.check_a_pair(seed, array_programs.WAYS[seed % len(array_programs.WAYS)])


SEEDED = (
    Seeded("passes", 5, 2, {"rolled": random_steps.compare, "split": split, "loops": loops}),
    Seeded("branches", 12, 12, {
        "branches": branches, "again": branches_again, "numbers": numbers_in_captures, "selections": selections,
    }),
    Seeded("adapted", 10, 14, {"adapted": adapted}),
    Seeded("payloads", 5, 2, {"another library": on_another_library, "rows": rows, "pairs": pairs}),
    Seeded("scipy", 3, 8, {name: callbacks.check(name) for name in callbacks.FORMS}),
)
