"""Good code of large modules is made by another process, and calls go on meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

from pullback.compiler.llvm import compile_llvm
from pullback.compiler.machine import elsewhere, entry, jit
from tests.compiler.graphs import Builder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="another process is used on POSIX systems only")


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(entry, "_LARGE", 0)
    monkeypatch.setattr(entry, "_MOST_CALLS", 3)


def chain(factor):
    b = Builder(np.random.default_rng(2).normal(size=40))
    b.output(b("tanh", b("multiply", b("exp", b.inputs[0]), factor)))
    return compile_llvm(b.program), b.arrays[b.inputs[0]]


def calls(made, x, stop):
    """The different results of calls until `stop`."""
    code, found = made.segments[0].code, set()
    for _ in range(10_000_000):
        if stop(code):
            break
        found.add(made.flat(x)[0].tobytes())
    return found


def test_calls_go_on_with_quick_code_until_good_code_is_there(everything_is_large):
    made, x = chain(0.6543)
    code = made.segments[0].code
    quick = code._memory[0]
    before = calls(made, x, lambda code: code._awaited is not None)
    assert code.is_quick and code._memory[0] == quick
    after = calls(made, x, lambda code: not code.is_quick)
    assert code._memory[0] != quick and jit.is_asked(code._awaited)
    assert len(before | after | {made.flat(x)[0].tobytes()}) == 1


def test_nothing_is_compiled_here_if_the_other_process_can_not_do_it(everything_is_large, monkeypatch):
    made, x = chain(0.7654)
    code = made.segments[0].code
    monkeypatch.setattr(elsewhere, "answer", lambda name: b"")
    quick = code._memory[0]
    found = calls(made, x, lambda code: not code.is_quick)
    assert code._memory[0] == quick and found == {made.flat(x)[0].tobytes()}


def test_text_that_llvm_refuses_is_answered_by_nothing():
    assert elsewhere.ask("wrong", "this is no module", 2)
    answers = (elsewhere.answer("wrong") for _ in range(100_000_000))
    assert next(answer for answer in answers if answer is not None) == b""


def test_without_another_process_good_code_is_made_here(everything_is_large, monkeypatch):
    monkeypatch.setattr(elsewhere, "ask", lambda *job: False)
    made, x = chain(0.8765)
    quick = made.segments[0].code._memory[0]
    calls(made, x, lambda code: not code.is_quick)
    assert made.segments[0].code._memory[0] != quick


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_after_a_fork_asks_by_itself(everything_is_large):
    for attempt in range(100):
        made, x = chain(0.9876 + attempt / 1024)
        calls(made, x, lambda code: code._awaited is not None)
        if made.segments[0].code.is_quick:
            break  # the other process is at work; it may also have been quicker than this one could look
    child = os.fork()
    if not child:
        try:
            code = made.segments[0].code
            is_ours = elsewhere._workshop is None and not jit.is_asked(code._awaited)
            calls(made, x, lambda code: not code.is_quick)
            elsewhere._workshop.close()
            os._exit(0 if is_ours and jit.is_asked(code._awaited) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert elsewhere._workshop.process.poll() is None


PROGRAM = """
from pullback.compiler.machine import elsewhere
text = "define void @f() {{ ret void }}"
assert elsewhere.ask("module", text, 2)
print(elsewhere._workshop.folder)
{ending}
"""


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "import os; os._exit(0)"])
def test_a_program_that_ends_takes_the_other_process_with_it(ending):
    out = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(ending=ending)], stdout=subprocess.PIPE, check=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    folder = out.stdout.strip()
    if "_exit" in ending:  # it was not told, and finds out when it is done with what it was asked for
        for _ in range(100_000_000):
            if not os.path.exists(folder):
                break
    assert not os.path.exists(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no such rights on this system")
def test_a_folder_that_others_can_exchange_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "open"))
    with pytest.raises(OSError, match="others can exchange"):
        elsewhere._Workshop()
    assert not list((tmp_path / "open").iterdir())


def test_the_other_process_is_not_interrupted_with_this_one(everything_is_large):
    made, x = chain(0.8765)
    calls(made, x, lambda code: code._awaited is not None)
    assert os.getsid(elsewhere._workshop.process.pid) != os.getsid(0)
