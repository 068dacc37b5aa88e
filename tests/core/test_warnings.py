"""Warnings name the line of the user's program."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core import frames


def warned(program, *arguments):
    """What a program warns of, each with the text of the line that is named. It runs in a process of its own: pytest
    sets filters of its own around every test."""
    source = textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, *arguments, "-"], input=source, capture_output=True, text=True, timeout=60, check=False
    )
    lines = source.splitlines()
    found = []
    for line in done.stderr.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and "Warning" in parts[2]:
            number = int(parts[1]) if parts[0] == "<stdin>" else None
            found.append((parts[2].split(":")[0].strip(), lines[number - 1].strip() if number else parts[0]))
    return found, done


def test_numbers_that_overflow_are_warned_of_at_the_line_that_computes_them():
    found, _ = warned("""
        import pullback as pb
        x = pb.tensor([0.0, 1.0], requires_grad=True)
        a = pb.log(x)             # first
        b = 1.0 / x               # second
        c = pb.zeros(2) / x       # third
        def f(y):
            return y.exp()        # fourth
        f(x + 1000.0)
        with pb.no_grad():
            pb.sqrt(x - 1)        # fifth
        d = pb.matmul(x * 1e308, x * 1e308)
        x.detach().clone().log_() # sixth
        for _ in range(3):
            pb.log(x)             # seventh
    """)
    lines = [line for _, line in found]
    named = [line.rpartition("# ")[2] for line in lines if "#" in line]
    assert named == ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"], found
    assert {kind for kind, _ in found} == {"RuntimeWarning"} and not any("fast path" in line for line in lines)


def test_both_kinds_of_one_call_are_reported():
    found, done = warned("""
        import pullback as pb
        pb.tensor([0.0, 1.0]) / pb.tensor([0.0, 0.0])  # here
    """)
    assert len(found) == 2 and "divide by zero" in done.stderr and "invalid value" in done.stderr


def test_a_general_path_and_a_compiled_function_name_the_line_too():
    found, _ = warned("""
        import pullback as pb
        pb.tensor([0.0 + 0j]) / pb.tensor([0.0 + 0j])           # complex
        pb.vmap(pb.log)(pb.zeros(2))                            # batched
        f = pb.compile(lambda x: pb.log(x), backend="numpy")
        f(pb.zeros(2))                                          # compiled
    """)
    named = {line.rpartition("# ")[2] for _, line in found if "#" in line}
    assert named == {"complex", "batched", "compiled"}, found


def test_filters_of_the_user_decide_as_they_do_for_their_own_code():
    program = """
        import warnings
        import pullback as pb
        warnings.filterwarnings("ignore", message="divide by zero")
        pb.log(pb.zeros(2))
        pb.log(pb.zeros(2) - 1)  # told
    """
    found, _ = warned(program)
    assert found == [("RuntimeWarning", "pb.log(pb.zeros(2) - 1)  # told")]
    assert warned(program, "-W", "ignore")[0] == []
    _, done = warned("import pullback as pb\npb.log(pb.zeros(2))", "-W", "error::RuntimeWarning")
    assert done.returncode == 1 and "RuntimeWarning: divide by zero" in done.stderr


def test_warnings_of_plain_numpy_are_left_alone():
    found, _ = warned("""
        import numpy as np
        import pullback as pb
        pb.log(pb.ones(2))
        np.log(np.zeros(2))  # his own
    """)
    assert found == [("RuntimeWarning", "np.log(np.zeros(2))  # his own")]


def test_values_are_those_that_numpy_computes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frames.name_users_line()
        assert pb.log(pb.zeros(2)).tolist() == [-np.inf, -np.inf]
        x = pb.zeros(2)
        x.log_()
        assert x.tolist() == [-np.inf, -np.inf]


# A statement for each, and where it has to be found: in this file.
OURS = {
    ".T of a vector": lambda: pb.ones(3).T,
    "the .grad of a result": lambda: (pb.ones(3, requires_grad=True) * 2).grad,
    "a float of what requires grad": lambda: float(pb.ones((), requires_grad=True)),
    "anomaly mode": lambda: pb.autograd.detect_anomaly(),
    "randomness in a trace": lambda: pb.aot.trace(lambda x: x * np.random.rand(), pb.ones(2)),
    "a gradcheck in single precision": lambda: pb.autograd.gradcheck(
        lambda x: x * 2, pb.ones(2, dtype=pb.float32, requires_grad=True), atol=1, raise_exception=False
    ),
}


@pytest.mark.parametrize("name", OURS)
def test_a_warning_of_ours_names_the_user_s_line(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OURS[name]()
    assert caught and {each.filename for each in caught} == {__file__}, [str(each) for each in caught]


def test_generated_code_has_its_text_in_tracebacks():
    _, done = warned("""
        import traceback
        import numpy as np
        import pullback as pb
        pb.set_traceback("full")
        np.seterr(all="raise")
        try:
            pb.log(pb.zeros(2))
        except FloatingPointError:
            traceback.print_exc()
    """)
    assert "<fast path of log>" in done.stderr and "kernel" in done.stderr.split("<fast path of log>")[1]
