"""`help`: every public callable has a meaning, a signature and an example that was run, and leads back to itself."""

import importlib
import inspect
import pickle

import pytest

import pullback as pb
from tools.stubs.examples import examples

MODULES = (
    "", "linalg", "fft", "special", "signal", "nn", "random", "lax", "optim", "init", "func", "autograd", "library",
    "testing", "utils", "interop", "data", "tree", "masked",
)  # fmt: skip
# Classes that others make, whose fields are all there is to say.
SEE_THE_METHOD = {"impl_backward", "impl_save_for_backward", "register_effect", "register_jvp", "register_vmap"}
RECORDS = {"LBFGSState", "Optimizer", "State", "Rest", "Generator", "CustomOpDef", "SparseGrad", "LoadReport"}


def callables():
    for space in MODULES:
        module = getattr(pb, space) if space else pb
        for name in module.__all__:
            value = getattr(module, name)
            is_error = isinstance(value, type) and issubclass(value, BaseException)
            if callable(value) and not inspect.ismodule(value) and not is_error:
                yield f"{space}.{name}".lstrip("."), value


def test_every_public_callable_has_an_example():
    assert [
        name for name, value in callables()
        if ">>>" not in (inspect.getdoc(value) or "") and name.rpartition(".")[2] not in RECORDS | SEE_THE_METHOD
    ] == []  # fmt: skip


def test_every_public_callable_has_a_signature():
    for _, value in callables():
        inspect.signature(value)


def test_array_functions_lead_back_to_themselves_and_can_be_pickled():
    for name, value in callables():
        if inspect.isfunction(value) and name != "random.gumbel_softmax":  # which is that of `nn`
            found = importlib.import_module(value.__module__)
            for part in value.__qualname__.split("."):
                found = getattr(found, part)
            assert found is value, name
            assert pickle.loads(pickle.dumps(value)) is value


def test_the_examples_are_those_that_have_just_been_run():
    pytest.importorskip("scipy", reason="SciPy is an optional extra, and the examples use it")
    for path, text in examples().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make stubs`"
