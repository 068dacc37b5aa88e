"""The examples in docstrings do what they show."""

import doctest
import importlib.util
import pkgutil
import sys
import types

import numpy as np
import pytest

import pullback as pb

NEEDS_SCIPY = ("pullback.func._spars", "pullback.special", "pullback.signal")


def needs_what_is_not_here(case):
    """Bridges to other libraries can be shown only where those are installed (`make foreign`)."""
    imported = {each.source.strip().removeprefix("import ") for each in case.examples}
    return any(importlib.util.find_spec(name) is None for name in imported & {"jax", "torch"})


def with_examples():
    for module in pkgutil.walk_packages(pb.__path__, "pullback."):
        source = importlib.util.find_spec(module.name).loader.get_source(module.name)
        if source is not None and ">>> " in source:
            yield module.name


@pytest.mark.parametrize("name", list(with_examples()))
@pytest.mark.filterwarnings("ignore")
def test_examples_run_as_they_are_written(name, monkeypatch):
    if name.startswith(NEEDS_SCIPY):
        pytest.importorskip("scipy", reason="SciPy is an optional extra")
    # The examples are programs of users, and define their operators in a namespace of their own. Dataclasses look for
    # the module of their class.
    monkeypatch.setitem(sys.modules, "examples", types.ModuleType("examples"))
    names = {"pb": pb, "np": np, "__name__": "examples"}
    runner = doctest.DocTestRunner()
    for case in doctest.DocTestFinder().find(importlib.import_module(name), extraglobs=names):
        # Generated examples have just been run, with fewer digits: tests/test_help.py
        if "\nExample:\n\n>>>" not in (case.docstring or "") and not needs_what_is_not_here(case):
            runner.run(case)
    assert runner.summarize().failed == 0
