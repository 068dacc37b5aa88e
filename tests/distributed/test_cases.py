"""The numbered cases that need no processes, on ranks that are threads. `make distributed` runs all of them on MPI."""

import importlib
from pathlib import Path

import pytest

from pullback import distributed as dist

FILES = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))


def collected():
    for name in FILES:
        module = importlib.import_module(f"tests.distributed.{name}")
        for case in sorted(name for name in vars(module) if name.startswith("case_")):
            every = (*getattr(module, "ALSO_RANKS", ()), module.RANKS)
            for ranks in getattr(module, "ON_THREADS", every):
                yield pytest.param(getattr(module, case), ranks, id=f"{case} on {ranks}")


@pytest.mark.parametrize("case, ranks", list(collected()))
def test_on_threads(case, ranks):
    dist.simulate(case, ranks, timeout=30)


def test_the_rest_needs_processes():
    names = [path.stem for path in Path(__file__).parent.glob("faults_*.py")]
    modules = [importlib.import_module(f"tests.distributed.{name}") for name in names + FILES]
    rest = [each for each in modules if hasattr(each, "EXPECTED") or getattr(each, "ON_THREADS", None) == ()]
    count = sum(name.startswith("case_") for module in rest for name in vars(module))
    assert count > 20
    pytest.skip(f"{count} cases need ranks that are processes: make distributed")
