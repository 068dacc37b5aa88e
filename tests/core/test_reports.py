"""Reports by `logging`, the phases of compiling, and `paused`: Python does not look for garbage for a while."""

import gc
import logging
import subprocess
import sys
import time

import pytest

import pullback as pb
from pullback.core import progress
from pullback.core.reports import compiling, listener, paused, report, reported


@pytest.fixture(autouse=True)
def as_before():
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


def test_the_collector_rests_inside_and_works_again_behind():
    gc.enable()
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with paused():
        pass
    assert not gc.isenabled()


def test_an_error_inside_ends_the_pause():
    gc.enable()
    with pytest.raises(ValueError, match="inside"), paused():
        raise ValueError("inside")
    assert gc.isenabled()


# Loggers.

TOPICS = ("compile", "cache", "autograd", "optim")


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_has_a_logger_and_a_short_way_to_print_it(topic, caplog, capsys, monkeypatch):
    report("nobody listens", topic)
    with caplog.at_level("DEBUG", f"pullback.{topic}"):
        assert listener(topic) is logging.getLogger(f"pullback.{topic}")
        report("somebody listens", topic)
    assert [record.getMessage() for record in caplog.records] == ["somebody listens"]
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("PULLBACK_LOG", f"nothing,{topic}")
    report("it is printed", topic)
    monkeypatch.delenv("PULLBACK_LOG")
    report("it is printed no more", topic, logging.INFO)
    assert capsys.readouterr() == ("", f"pullback {topic}: it is printed\n")


PROGRAM = """
import sys
import pullback as pb
from pullback.core.reports import report
x = pb.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
print("logging" in sys.modules)
import logging
report("a warning that nobody handles", "cache", logging.WARNING)
pb.optim.SGD(x, lr=float("nan"), on_nonfinite="skip").step()
"""


def test_a_program_that_says_nothing_of_logging_sees_nothing_and_loads_nothing():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_compiling_passes_and_steps_tell_what_they_did(caplog):
    caplog.set_level("DEBUG", "pullback")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.compile(lambda x: (x * 0.125).sum())(x)
    sgd = pb.optim.SGD(x, lr=0.1, on_nonfinite="skip")
    x.grad = pb.tensor([float("nan"), 0.0])
    sgd.step()
    z = x * 2
    z.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        z.sum().backward()
    told = {(record.name, record.getMessage()) for record in caplog.records}
    assert any(name == "pullback.compile" and "capture of" in text for name, text in told)
    assert ("pullback.optim", "step 1 was left out: the gradient of 0 is not finite") in told


# Phases.


def test_a_phase_says_what_is_done_and_counts_its_time():
    with compiling("f") as phases:
        with reported("capture of f", "trace"):
            assert str(phases) == "compiling f: capture of f"
            with reported("LLVM 1 of 2"):
                assert str(phases) == "compiling f: LLVM 1 of 2"
            assert str(phases) == "compiling f: capture of f"
        with reported("more of it", "trace"):
            pass
    assert phases.spent.keys() == {"trace"} and phases.spent["trace"] >= 0


LINE = "\rcompiling step: LLVM 3 of 7"


@pytest.mark.parametrize("mode", ["on", "off", "auto"])
def test_what_takes_long_has_a_line_which_goes_with_it(mode, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_QUIET_FOR", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN", 0.0)
    monkeypatch.setattr(progress, "_mode", [mode])
    seen = []
    monkeypatch.setattr(progress, "_write", seen.append)
    with compiling("step"), reported("LLVM 3 of 7"):
        began = time.monotonic()
        while mode == "on" and LINE not in seen and time.monotonic() < began + 30:
            time.sleep(0.001)
    assert capsys.readouterr() == ("", "")  # and a test has nobody who watches
    assert (LINE in seen) == bool(seen) == (mode == "on")
    assert not seen or set(seen[-1]) == {"\r", " "}
