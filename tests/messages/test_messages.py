"""Mistakes and what is said of them: the table of `programs.txt`, whose numbers are those of the specification.

Each program is run as a file of its own. Its error has the class and the phrases of the table, names the line that the
program marks, and shows at most one frame of the package in its traceback.
"""

import math
import pickle
import random
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import pullback as pb
from pullback._sites import PACKAGE, is_own
from pullback.core.foreign import FOREIGN
from pullback.errors import InternalError

TABLE = (Path(__file__).parent / "programs.txt").read_text().split("\n== ")[1:]


class Case:
    """A program of the table, and what must be said of it."""

    def __init__(self, text: str) -> None:
        self.title, _, rest = text.partition("\n")
        self.number = self.title.split()[0]
        source, _, said = rest.partition("\n! ")
        self.source = source
        self.error, *phrases = said.strip("\n").split("\n")
        self.phrases = [phrase.removeprefix("> ") for phrase in phrases]
        self.marked = next((k for k, line in enumerate(source.split("\n"), 1) if line.endswith("# <-")), None)

    def run(self) -> Exception:
        """The error that the program ends with."""
        names = {"np": np, "pb": pb, "f": lambda x: (x * x).sum(), "__name__": "program"}
        names |= {name: getattr(pb.func, name) for name in ("grad", "vmap", "jvp", "vjp")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(self.source, f"/programs/{self.number}", "exec"), names)
            except Exception as error:
                return error
        raise AssertionError("the program ended without an error")


PHRASES = (Path(__file__).parent / "phrases.txt").read_text().split("\n", 1)[1].strip("\n").split("\n")
CASES = [pytest.param(Case(text), id=text.partition("\n")[0].replace(" ", "-")) for text in TABLE]
# Plain functions that call operators are no doors of their own: what they raise shows where it went.
NOT_DOORS = {"1", "14", "20", "21", "24", "25", "34", "35", "44", "46", "47", "49", "50", "53", "54", "56"}


@pytest.mark.parametrize("case", CASES)
def test_the_message_says_what_happened_where_and_what_to_write(case):
    error = case.run()
    assert type(error).__name__ == case.error
    text = "".join(traceback.format_exception_only(error))
    for phrase in case.phrases:
        assert phrase in text
    if case.marked is not None:
        assert error.site == f"/programs/{case.number}:{case.marked}"
        assert error.site in text
    assert "<lambda>" not in text and "gufunc" not in text and PACKAGE not in text


@pytest.mark.parametrize("case", CASES)
def test_tracebacks_hide_our_frames(case):
    error = case.run()
    shown = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [name for name in shown if is_own(name)]
    assert f"/programs/{case.number}" in shown
    if case.number not in NOT_DOORS:
        assert len(own) <= 1
    hidden = [
        frame.f_locals.get("__tracebackhide__", False)
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if is_own(frame.f_code.co_filename)
    ]
    if case.marked is not None:  # all others are of GradcheckError, and of plain TypeErrors
        assert all(hidden)


@pytest.mark.parametrize("arguments", [(object(),), (7, 7), (np.ones((5, 7)),)], ids=["object", "numbers", "array"])
def test_every_method_of_a_tensor_names_the_user_s_line_and_hides_our_frames(arguments):
    pb.func.adapt(np.sin)  # gives tensors the manners of arrays, which other tests may have done before
    wrong, count = [], 0
    for name in dir(pb.Tensor):
        if name[0] == "_" or isinstance(getattr(pb.Tensor, name), property) or "polygamma" in name:
            continue  # whose kernel is SciPy's and raises there
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(pb.ones((2, 3), requires_grad=True) * 1, name)(*arguments)
        except Exception as error:
            count += 1
            own = sum(is_own(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__))
            text = "".join(traceback.format_exception_only(error))
            if own > 1 or (own and __file__ not in text):  # Python itself refuses other calls
                wrong.append((name, own, text[:100]))
    assert count > 100 and not wrong


@pytest.mark.parametrize(("program", "phrase"), [*zip(PHRASES[::2], PHRASES[1::2], strict=True)])
def test_what_torch_says_is_part_of_the_message(program, phrase):
    with pytest.raises(Exception) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "/programs/torch", "exec"), {"pb": pb, "__name__": "program"})
    assert phrase.removeprefix("> ") in "".join(traceback.format_exception_only(caught.value))


def test_a_list_where_an_array_was_meant():
    with pytest.raises(TypeError, match="can't multiply sequence") as caught:
        pb.grad(lambda x: (x * x).sum())([1.0, 2.0])
    assert "argument 0 is a list" in caught.value.__notes__[0] and "np.array" in caught.value.__notes__[1]


def test_set_traceback_full_shows_our_frames_and_internal_errors_always_do():
    def frames():
        try:
            pb.ones(3) + pb.ones(4)
        except ValueError as error:
            return sum(is_own(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__))

    hidden = frames()
    pb.set_traceback("full")
    try:
        assert frames() >= hidden
        with pytest.raises(pb.AutogradError) as caught:
            pb.ones(3).sum().backward()
        assert sum(is_own(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(caught.value.__traceback__)) > 1
    finally:
        pb.set_traceback("user")
    with pytest.raises(ValueError, match="full"):
        pb.set_traceback("all")
    assert "pb.show_versions()" in str(InternalError("nothing"))


def test_frames_of_the_user_between_ours_stay():
    def loss(x):
        return pb.ones(3) @ pb.ones(4) + x

    with pytest.raises(ValueError, match="inner lengths") as caught:
        pb.grad(loss)(1.0)
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert "loss" in names
    assert names[1:] == ["transformed", "loss"]  # what `grad` made, and the user's function


def test_an_error_of_user_code_is_left_as_it_is():
    def loss(x):
        raise ValueError("operands could not be broadcast together, says the user")

    with pytest.raises(ValueError, match=r"says the user$") as caught:
        pb.grad(loss)(1.0)
    assert not hasattr(caught.value, "site")


def test_errors_survive_pickling_with_their_fields():
    with pytest.raises(pb.AutogradError) as caught:
        pb.ones(3).sum().backward()
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.code, again.where, again.site, str(again)) == (
        caught.value.code, caught.value.where, caught.value.site, str(caught.value),
    )  # fmt: skip


def test_5_arguments_that_hold_arrays_are_accepted():
    class Series:
        """What pandas has, as far as it matters here."""

        def __init__(self, values):
            self.values, self.dtype, self.name = np.asarray(values), np.asarray(values).dtype, "height"

        def __array__(self, dtype=None, copy=None):
            return self.values

    gradient = pb.grad(lambda x: (x * x).sum())(Series([1.0, 2.0]))
    assert isinstance(gradient, pb.Tensor) and gradient.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="column 'height' is of dtype <U1"):
        pb.grad(lambda x: (x * x).sum())(Series(["a", "b"]))


def test_15_in_axes_is_another_name_for_in_dims():
    assert pb.vmap(lambda a: a.sum(), in_axes=1)(np.ones((2, 3))).tolist() == [2.0, 2.0, 2.0]


def test_21_dtypes_of_torch_count_as_those_of_numpy():
    class dtype:
        __module__ = "torch"

        def __repr__(self):
            return "torch.float32"

    assert pb.zeros(3, dtype=dtype()).dtype == np.float32
    assert pb.ones(3).to(dtype()).dtype == np.float32


def test_32_a_leaf_that_was_not_reached_is_marked_in_the_picture():
    x, w = pb.ones(3, requires_grad=True), pb.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    loss.backward()
    assert w.grad is None
    assert str(pb.show([loss, w])).endswith("\nleaf w  float64[2]  no .grad  not reached from the others")
    with pytest.warns(UserWarning, match=r"retain_grad\(\)"):
        assert loss.grad is None


def test_33_a_number_that_a_numpy_array_cannot_keep():
    array, x = np.zeros(3), pb.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="setting an array element") as caught:
        array[0] = x[0]
    assert "pb.zeros for what is filled" in str(caught.value.__cause__ or caught.value.__context__)
    assert "adapt" in str(caught.value.__cause__ or caught.value.__context__)


def test_34_the_library_that_asks_is_named():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with pytest.raises(pb.AutogradError, match="matplotlib asked for it") as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plt.plot(pb.ones(3, requires_grad=True))
    assert caught.value.site.startswith(__file__)
    plt.close("all")


def test_37_math_warns():
    with pytest.warns(pb.interop.DetachedScalarWarning, match=r"pb.sin"):
        math.sin(pb.tensor(1.0, requires_grad=True))


def test_40_and_42_compiled_functions_say_why_they_are_not():
    def chooses(x):
        return x * 2 if x.sum() > 0 else x

    compiled = pb.compile(chooses, backend="numpy", fallback="raise")  # which has the values of the call
    assert (compiled(pb.ones(2)).tolist(), compiled(-pb.ones(2)).tolist()) == ([2.0, 2.0], [-1.0, -1.0])
    with pytest.raises(pb.aot.ConcretizationError) as refused:
        pb.aot.trace(chooses, pb.ones(3))
    text = str(refused.value)
    assert f"{Path(__file__).name}, line" in text and "pb.where" in text and "pb.cond" in text

    @pb.compile(backend="numpy")
    def leaves(x):
        return x * float(np.asarray(x).max())

    with pytest.warns(UserWarning, match="leaves runs without being compiled") as caught:
        leaves(pb.ones(3))
    text = str(caught[0].message)
    assert f"{Path(__file__).name}, line" in text and "custom op" in text

    @pb.compile(backend="numpy", recompile_limit=2)
    def repeats(x, n):
        for _ in range(n):
            x = x * 2
        return x

    with pytest.warns(UserWarning, match="compiled for 2 kinds of arguments") as caught:
        for n in range(4):
            repeats(pb.ones(3), n)
    text = str(caught[-1].message)
    assert "args[1] was" in text and "mark_dynamic" in text and "as tensors" in text

    @pb.compile(backend="numpy", recompile_limit=4)
    def named(x, mode):
        return x * 2

    with pytest.warns(UserWarning, match="compiled for 4 kinds of arguments") as caught:
        for n in range(5):
            named(pb.ones(3), f"mode{n}")
    text = str(caught[-1].message)
    assert all(f"args[1]: value: mode{n} before, mode{n + 1} now" in text for n in (1, 2, 3))


def _noise():
    return random.gauss(0.0, 1.0)  # the line that is named; draws of numpy.random happen at every call


def test_41_the_line_that_draws_is_named():
    @pb.compile(backend="numpy", fallback="raise")
    def noisy(x):
        return x * _noise()

    with pytest.raises(pb.errors.SideEffectError, match=r"numpy\.random or random") as caught:
        for _ in range(3):
            noisy(pb.ones(2))
    line = _noise.__code__.co_firstlineno + 1
    assert f"at {__file__}:{line}" in str(caught.value) and "pb.random" in str(caught.value)


def test_55_a_missing_extra_is_named_and_compiled_functions_do_without_native_code():
    program = """
import sys, warnings
sys.modules["scipy"] = sys.modules["llvmlite"] = None
import pullback as pb
for call in (lambda: pb.special.gammaln(pb.ones(2)), lambda: pb.optim.minimize(lambda x: x * x, pb.ones(()))):
    try:
        call()
    except ImportError as error:
        print("needs SciPy" in str(error), "pip install 'pullback[scipy]'" in str(error), "<string>:5" in str(error))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for factor in (2, 3):
        print(pb.compile(lambda x: x * factor)(pb.ones(1)).tolist())
print(len(caught), "pip install 'pullback[compile]'" in str(caught[0].message), caught[0].filename)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == ["True True True"] * 2 + ["[2.0]", "[3.0]", "1 True <string>"]


def test_43_a_tensor_that_leaves_a_trace_has_a_value():
    leaked = []

    @pb.compile(backend="numpy")
    def leaks(x):
        leaked.append(x * 2)
        return leaked[-1] + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        leaks(pb.ones(2))
    assert (leaked[0] + 1).tolist() == [3.0, 3.0]


def test_56_names_of_other_libraries_are_known():
    assert len(FOREIGN) >= 60
    wanted = {
        "jit": "pb.compile", "Variable": "requires_grad=True", "Parameter": "requires_grad=True", "pmap": "one CPU",
        "value_and_gradient": "pb.value_and_grad", "elementwise_grad": "pb.vmap", "make_vjp": "pb.vjp",
        "GradientTape": "backward()", "config": "float64 is the default", "DataLoader": "pb.data.batches",
        "gradient_descent": "pb.optim", "primitive": "pb.library", "tensorr": "did you mean 'tensor'",
    }  # fmt: skip
    for name, answer in wanted.items():
        with pytest.raises(AttributeError, match=r"has no attribute") as caught:
            getattr(pb, name)
        assert answer in str(caught.value)
        assert (caught.value.name, caught.value.obj) == (name, pb)
    for owner, name, answer in (
        (pb.nn, "Linear", "@pb.dataclass"), (pb.nn, "Module", "tree"), (pb.lax, "switch", "pb.cond"),
        (pb.linalg, "solv", "did you mean 'solve'"),
        (pb.ones(2).at[0], "set_", "x.at[i].set(v)"), (pb.optim, "lr_scheduler", "pb.optim.cosine"),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match="has no attribute") as caught:
            getattr(owner, name)
        assert answer in str(caught.value)


def test_56_a_misspelt_member_of_a_tensor_is_answered_by_python_itself():
    """A `__getattr__` of the class would make every other member slower, and Python compares with 750 names at most."""
    program = "import pullback as pb; pb.ones(2).backwards()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Did you mean: 'backward'?" in done.stderr
    assert len(dir(pb.ones(2))) <= 750


def test_what_is_recommended_for_foreign_names_exists():
    """Every dotted name after `pb.` in the answers leads somewhere."""
    import re

    for answer in FOREIGN.values():
        for path in re.findall(r"pb\.([A-Za-z_0-9.]*[A-Za-z_0-9])", answer):
            found = pb
            for part in path.split("."):
                found = getattr(found, part)


def test_has_attribute_does_not_pay_for_hints():
    program = "import sys, pullback as p; print(hasattr(p, 'a'), 'difflib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
