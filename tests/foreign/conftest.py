"""Every test that asks for `kind` runs on each library, and all results are compared with the declared rules."""

import pytest

from pullback.payloads.foreign import evaluate
from tests.foreign.kinds import NAMES, library


@pytest.fixture(params=NAMES)
def kind(request):
    return library(request.param)


@pytest.fixture(autouse=True)
def results_are_checked(monkeypatch):
    monkeypatch.setattr(evaluate, "checks_results", True)
