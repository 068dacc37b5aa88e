"""Case 153 asks something of every case before it, so it is part of all of them: see `partitions.py`."""

from collections.abc import Iterator

import pytest

from .partitions import Joints


@pytest.fixture(autouse=True)
def joints(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Joints]:
    """What is split while a case of ahead-of-time capture runs is split in every way afterwards."""
    found = Joints()
    if request.module.__name__.rpartition(".")[2].startswith("test_aot_"):
        found.watch(monkeypatch)
    yield found
    found.check()
