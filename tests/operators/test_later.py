"""What is loaded later is found under every name from the start, and nothing is loaded before it is needed."""

import importlib
import inspect
import subprocess
import sys

import pytest

import pullback as pb
from pullback.declare.composite import composites
from pullback.declare.op import Op, registry
from pullback.operators import functions
from pullback.operators import names as later
from pullback.operators.methods import Later

FAMILIES = sorted({*later.FUNCTIONS, *later.METHODS})


def declared_names():
    """The public names of every declaration, those of namespaces such as `linalg.solve` left out."""
    declarations = [*(op for op in registry.values() if op.is_public), *composites.values()]
    return {name for each in declarations for name in (each.name, *each.aliases) if "." not in name}


def method_names():
    """The methods that the declarations give `Tensor`."""
    found = {name for item in composites.values() if item.is_method for name in (item.name, *item.aliases)}
    for op in registry.values():
        names = (op.name, *op.aliases)
        if op.is_public and op.operands and not op.operands[0].startswith("*"):
            found.update(names)
        if op.has_inplace_twin:
            found.update(f"{name}_" for name in names)
    return {name for name in found if "." not in name and not name.startswith("_")}


def in_a_new_process(source):
    """What this program prints, as words."""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_every_declared_function_and_method_is_listed():
    for module in (*(f"operators.{family}" for family in FAMILIES), *later.LATER):
        importlib.import_module(f"pullback.{module}")
    functions.learn()
    assert declared_names() - set(pb.__all__) == set()
    assert {name for name in method_names() if not hasattr(pb.Tensor, name)} == set()


@pytest.mark.parametrize("family", later.FUNCTIONS)
def test_every_listed_function_is_declared_by_its_family(family):
    subscripted = getattr(functions.load(family), "subscripted", {})
    for name in later.FUNCTIONS[family]:
        if name in subscripted:
            assert getattr(pb, name) is subscripted[name]
        else:
            declared = functions.declaration(name)
            source = declared.kernel if isinstance(declared, Op) else declared.declared
            # Its `__module__` says where users find it.
            written_in = getattr(inspect.unwrap(source), "__globals__", {}).get("__name__") or source.__module__
            home = written_in.removeprefix("pullback.operators.")
            assert home.startswith(family.removesuffix(".family"))
            assert getattr(pb, name) is functions[name]


@pytest.mark.parametrize("family", later.METHODS)
def test_every_listed_method_is_a_method(family):
    for name in later.METHODS[family]:
        module = importlib.import_module(f"pullback.operators.{family}")
        listed = getattr(module, "members", {}) | getattr(module, "inplace_methods", {})
        assert name in method_names() or name in listed
        member = getattr(pb.Tensor, name)
        assert callable(member) or isinstance(member, property)
        assert not isinstance(vars(pb.Tensor)[name], Later)


def test_importing_the_package_loads_none_of_them():
    loaded = in_a_new_process("import sys, pullback; print(*sys.modules)")
    families = {*(f"pullback.operators.{name}" for name in FAMILIES), *(f"pullback.{name}" for name in later.LATER)}
    assert families & set(loaded) == set()
    lazy = {"func", "library", "random", "testing", "utils", "autograd.function", "autograd._gradcheck"}
    assert {f"pullback.{name}" for name in lazy} & set(loaded) == set()


@pytest.mark.parametrize(
    "use, family",
    [
        ("pb.quantile(x, 0.5)", "reductions.quantiles"),
        ("x.quantile(0.5)", "reductions.quantiles"),
        ("np.quantile(x, 0.5)", "reductions.quantiles"),
        ("np.trapezoid(x)", "reductions.integration"),
        ("pb.Tensor.trapz(x)", "reductions.integration"),
        ("x.uniform_()", "random.discrete"),
        ("pb.r_[x, x]", "arrays.grids"),
        ("np.sort(x)", "arrays.sorting"),
        ("x.searchsorted(x)", "arrays.sorting"),
        ("x.at[0].add(1)", "arrays.updates"),
        ("pb.shape(x)", "inspection"),
        ("np.linalg.norm(x)", "linalg.family"),
        ("pb.linalg.vander(x)", "polynomial"),
    ],
)
def test_any_way_to_use_a_family_loads_it(use, family):
    program = f"import sys, numpy as np, pullback as pb; x = pb.tensor([1.0, 2.0]); {use}; print(*sys.modules)"
    assert f"pullback.operators.{family}" in in_a_new_process(program)


def test_methods_and_functions_are_made_when_they_are_looked_up():
    program = """if True:
        import pullback as pb
        before = type(vars(pb.Tensor)["tanh"]).__name__, "tanh" in vars(pb), "tanh" in dir(pb), "tanh" in dir(pb.Tensor)
        function, method = pb.tanh, pb.Tensor.tanh
        print(*before, type(vars(pb.Tensor)["tanh"]).__name__, pb.tanh is function is vars(pb)["tanh"] is method)
    """
    assert in_a_new_process(program) == ["Later", "False", "True", "True", "function", "True"]


def test_aliases_are_one_function():
    assert pb.trapz is pb.trapezoid and pb.Tensor.trapz is pb.Tensor.trapezoid
    assert pb.mul is pb.multiply and pb.Tensor.mul_ is pb.Tensor.multiply_


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'pullback' has no attribute 'nothing_of_the_kind'"):
        pb.nothing_of_the_kind
    with pytest.raises(AttributeError, match=r"module 'pullback\.autograd' has no attribute 'nothing_of_the_kind'"):
        pb.autograd.nothing_of_the_kind
    assert not hasattr(pb.Tensor, "nothing_of_the_kind") and "nothing_of_the_kind" not in functions
