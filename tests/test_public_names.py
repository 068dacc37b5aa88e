"""The public surface is what `__all__` says: complete, existing, documented, and in the reference."""

import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest

import pullback as pb
from docs._ext.names import entries, public_modules


def is_defined_outside(value: Any) -> bool:
    """Whether `value` says that it comes from another distribution. Plain values (dtypes, numbers) say nothing."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return False
    origin = getattr(value, "__module__", None)
    return origin is not None and origin.split(".")[0] != "pullback"


def names_to_export(module: ModuleType) -> set[str]:
    """The names without underscore that `module` offers.

    A package, or a module of names such as `pullback.linalg`, offers everything of ours that it binds; a module deeper
    down offers what it defines, since what it imports from elsewhere is there for its own use.
    """
    is_package = hasattr(module, "__path__") or module.__name__.count(".") == 1
    found = set()
    for name, value in vars(module).items():
        if name.startswith("_") or inspect.ismodule(value) or is_defined_outside(value):
            continue
        if is_package or getattr(value, "__module__", None) == module.__name__:
            found.add(name)
    return found - {"annotations", "TYPE_CHECKING"}


def has_docstring(value: Any) -> bool:
    """Whether a class, function, callable or module has a docstring of its own. Other values need none."""
    if inspect.isclass(value):
        return bool(vars(value).get("__doc__"))
    if inspect.ismodule(value) or inspect.isroutine(value):
        return bool(value.__doc__)
    if callable(value):
        return bool(value.__doc__) and value.__doc__ != type(value).__doc__
    return True


MODULES = public_modules()


def test_the_foundation_is_public():
    expected = {"pullback", "pullback.autograd", "pullback.autograd.graph", "pullback.autograd.function"}
    assert expected | {"pullback.utils", "pullback.utils.checkpoint"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_all_lists_existing_names_once_and_no_public_name_is_missing(name):
    module = importlib.import_module(name)
    exported = list(module.__all__)
    assert len(exported) == len(set(exported))
    assert [n for n in exported if not hasattr(module, n)] == []
    assert names_to_export(module) - set(exported) == set()


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_has_a_docstring(name):
    module = importlib.import_module(name)
    assert has_docstring(module)
    assert [n for n in module.__all__ if not has_docstring(getattr(module, n))] == []


@pytest.mark.parametrize("name", MODULES)
def test_the_reference_has_an_entry_for_every_public_name(name):
    prefix = name.removeprefix("pullback").lstrip(".")
    described = {each for entry in entries() if entry.meaning for each in entry.names}
    assert {f"{prefix}.{each}".lstrip(".") for each in importlib.import_module(name).__all__} - described == set()


class WithDocstring:
    """Something."""


class Inheriting(WithDocstring):
    pass


def test_the_checks_themselves_can_fail():
    module = ModuleType("pullback.made.up")
    exec("import os\nfrom typing import Any\ndef offered(): pass\ndef _hidden(): pass\n", vars(module))
    assert names_to_export(module) == {"offered"}
    assert not has_docstring(module.offered)
    assert has_docstring(WithDocstring) and not has_docstring(Inheriting)
    package = ModuleType("pullback.made_up_package")
    package.__path__ = []
    package.float32 = 1.0
    package.grad = pb.autograd.grad
    package.sqrt = importlib.import_module("math").sqrt
    assert names_to_export(package) == {"float32", "grad"}
