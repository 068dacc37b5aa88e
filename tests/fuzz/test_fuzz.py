"""A slice of every random tester, and the fuzzer itself: what it would not notice, it could not find."""

import multiprocessing
import os
import random
import re
import runpy
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.eager import large, small
from tests.fuzz import numpy_calls, run, worker, world
from tests.fuzz.compiled import Compiled
from tests.fuzz.derivatives import Derivatives
from tests.fuzz.findings import Findings, Totals
from tests.fuzz.program import Call, Disagreement, Input, Program
from tests.fuzz.shrink import all_inputs, shrink, smaller
from tests.fuzz.testers import TESTERS

# How many programs of each tester are run here. `make fuzz` runs all others.
SLICES = {
    "compiled": 25, "derivatives": 20, "protocol": 150, "aliasing": 40, "native": 20, "guarded": 10, "transforms": 2,
    "chains": 60, "passes": 9, "ways": 12, "eager": 60, "branches": 6, "adapted": 2, "payloads": 12, "scipy": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", SLICES)
def test_a_slice_of_each_tester_agrees(name):
    tester = TESTERS[name]
    for seed in range(SLICES[name]):
        found = tester.check(tester.draw(seed))
        assert found is None, f"{name}, program {seed}: {found}\n(python -m tests.fuzz --only {name} makes it small)"


@pytest.mark.parametrize("name", TESTERS)
def test_a_number_gives_the_same_program_every_time(name):
    tester = TESTERS[name]
    assert repr(tester.draw(5)) == repr(tester.draw(5))
    assert repr(tester.draw(5)) != repr(tester.draw(6))
    assert all(number > 0 for number in tester.count(tester.draw(5)))
    assert pb.is_grad_enabled()


def test_the_world_has_every_length_dtype_and_layout():
    draws = world.World(random.Random(0))
    shapes = [draws.shape() for _ in range(4000)]
    assert {n for shape in shapes for n in shape} >= set(world.LENGTHS)
    assert {len(shape) for shape in shapes} == {0, 1, 2, 3, 4}
    assert any(len(s) == 2 and s[0] >= 4096 and 1 < s[1] < 20 for s in shapes)
    assert any(len(s) == 2 and s[1] >= 4096 and 1 < s[0] < 20 for s in shapes)
    assert {draws.dtype() for _ in range(500)} == set(world.DTYPES)
    assert {draws.layout() for _ in range(500)} == set(world.LAYOUTS)


# What docs/design/random-programs.md says of the first testers, and no draw may be without.
DRAWN = {
    "compiled": {"dtypes": set(world.DTYPES), "orders": {0, 1, 2, 3}, "modes": {"", "no_grad", "inference"}},
    "eager": {"dtypes": set(world.DTYPES), "orders": {0, 1, 2, 3}, "modes": {"", "no_grad", "inference"}},
    "protocol": {"dtypes": set(world.DTYPES), "orders": {1}, "modes": {""}},
    "derivatives": {"dtypes": {"float64", "float32", "complex128"}, "orders": {1, 2, 3}, "modes": {""}},
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_testers_draw_from_the_world_as_the_page_says(name):
    programs = [TESTERS[name].draw(seed) for seed in range(2000 if name == "protocol" else 600)]
    inputs = [each for program in programs for each in all_inputs(program)]
    calls = [call for program in programs for call in program.calls]
    assert {n for each in inputs for n in each.shape} >= set(world.LENGTHS)
    assert {each.layout for each in inputs} >= set(world.LAYOUTS) - ({"broadcast"} if name == "derivatives" else set())
    found = {"dtypes": {x.dtype for x in inputs}, "orders": {p.order for p in programs}}
    found["modes"] = {call.mode for call in calls}
    assert found == DRAWN[name]
    assert any(each.values == "edge" for each in inputs) is (name != "derivatives")
    text = "\n".join(line for program in programs for line in program.body)
    if name != "protocol":
        assert re.search(r"pb\.(scan|cond|while_loop)[\s\S]*?\.detach\(\)", text) and "with pb.no_grad():" in text
        assert any(program.setup for program in programs)
    if name in ("compiled", "eager"):
        assert all(any(getattr(call, what) for call in calls) for what in ("before", "inputs", "in_thread", "threads"))


@pytest.mark.parametrize("layout", world.LAYOUTS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 2)])
def test_layouts_keep_values(layout, shape):
    made = world.array(shape, "float64", layout, "normal", 3)
    plain = world.array(shape, "float64", "C", "normal", 3)
    assert made.shape == shape
    if layout != "broadcast":
        assert np.array_equal(made, plain)
    if layout == "unaligned" and plain.size:
        assert not made.flags.aligned
    if layout == "swapped":
        assert not made.dtype.isnative


def test_every_public_function_of_numpy_is_called_or_left_out_by_name():
    called = set()
    for phrase in (*numpy_calls.CALLS, *numpy_calls.WRITES):
        called.update(re.findall(r"np\.(\w+)", phrase.text))
    callables = {n for n in np.__all__ if callable(getattr(np, n)) and not isinstance(getattr(np, n), type)}
    aliases = {name for name in callables if getattr(getattr(np, name), "__name__", name) != name}
    assert callables - called - numpy_calls.NOT_CALLED - aliases == set()


def first_found(tester, seeds):
    for seed in seeds:
        program = tester.draw(seed)
        found = tester.check(program)
        if found is not None:
            return program, found
    raise AssertionError("the planted mistake was not found")


def made_small(tester, program, found):
    def disagrees(candidate):
        other = tester.check(candidate)
        return other is not None and other.kind == found.kind

    return shrink(program, tester.smaller, disagrees, budget=300, seconds=20)


def test_a_wrong_derivative_is_found_and_made_small(monkeypatch):
    """The partial derivative of tanh, as forward mode reads it."""
    monkeypatch.setattr(registry["tanh"].partials[0], "fn", lambda out: 1 - out)
    tester = Derivatives()
    program, found = first_found(tester, (s for s in range(200) if any("tanh" in t for t in tester.draw(s).body)))
    small = made_small(tester, program, found)
    assert "tanh" in small.source() and len(small.body) <= 2


def test_a_wrong_compiled_value_is_found_and_made_small(monkeypatch):
    """A kernel that is right for short arrays only, as compiled code calls it."""
    op, compiled_by = registry["cumsum"], pb.compile
    right = op.kernel

    def compiled_wrongly(f, **options):
        compiled = compiled_by(f, **options)

        def call(*given):
            with monkeypatch.context() as patch:
                patch.setattr(op, "kernel", lambda x, **k: right(x, **k) if x.shape[0] < 100 else x * 1.0)
                return compiled(*given)

        return call

    monkeypatch.setattr(pb, "compile", compiled_wrongly)
    text = "t1 = pb.sin(x)", "t2 = t1 * y", "t3 = pb.cumsum(t2 + 1, 0)", "t4 = t3.sum(0)"
    inputs = Input("x", (1000, 5), "float32", "strided", "edge"), Input("y", (5,), kind="leaf")
    program = Program("compiled", inputs, text, ("t1", "t3", "t4"), calls=(Call(), Call(mode="no_grad")),
                      options=(("backend", "numpy"),))  # fmt: skip
    tester = Compiled()
    found = tester.check(program)
    assert found is not None
    small = made_small(tester, program, found)
    assert len(small.body) == 1 and "cumsum" in small.body[0] and len(small.calls) == 1
    assert [each.dtype for each in small.inputs] == ["float64"] and small.inputs[0].shape[0] == 100


def test_the_native_tape_is_not_blamed_for_calls_that_become_native_meanwhile(monkeypatch):
    """Sums have another order then. Without `as_they_are` the run before the native tape's makes native code."""
    monkeypatch.setattr(large.state, "spent", 10.0)
    monkeypatch.setattr(small, "CALLS", 1)
    monkeypatch.setattr(small, "_WORTH", np.inf)
    for length in range(1011, 1014):  # lengths that no other test has: kinds of calls stay
        program = Program("eager", (Input("x", (length, 1)),), ("t = x.mean()",), ("t",))
        assert TESTERS["eager"].check(program) is None


def test_smaller_programs_are_valid_programs():
    program = Compiled().draw(3)
    for other in smaller(program):
        compile(other.definition(), "<program>", "exec")
        assert eval(repr(other)) == other


@dataclass(frozen=True)
class Trivial:
    tester: str
    seed: int

    def source(self):
        return f"program {self.seed}"


class Bad:
    """A tester whose programs disagree, end the process, or never end."""

    name = "bad"

    def draw(self, seed):
        return Trivial("bad", seed)

    def check(self, program):
        if program.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if program.seed == 2:
            while True:
                pass
        return Disagreement("somewhere", "values", "1", "2") if program.seed == 0 else None

    def smaller(self, program):
        return iter(())

    def count(self, program):
        return 3, 2


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_disagreements_ends_and_hangs_are_kept_and_counted(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(TESTERS, "bad", Bad())
    monkeypatch.setattr(run, "context", forked := multiprocessing.get_context("fork"))
    monkeypatch.setattr(forked, "set_forkserver_preload", lambda names: None)
    monkeypatch.setattr(run, "PATIENCE", 0.7)
    arguments = ["--only", "bad", "--minutes", "0.03", "--findings", str(tmp_path)]
    assert run.main(arguments) == 1
    names = sorted(path.name for path in tmp_path.glob("*.py"))
    kinds = "bad-process-ended-with-sigkill", "bad-process-no-result-after-1-s", "bad-somewhere-values"
    assert tuple(name.rpartition("-")[0] for name in names) == kinds
    totals = Totals(tmp_path / "totals.json")
    first = dict(totals.of("bad"))
    assert first["kinds"] == first["disagreements"] == 3 and first["statements"] == 3 * first["programs"] > 0
    assert first["next"] >= 3 and totals.data["last"] is not None
    assert run.main(arguments) == 0  # goes on behind them
    assert Totals(tmp_path / "totals.json").of("bad")["programs"] > first["programs"]
    assert "SIGKILL" in capsys.readouterr().out


def test_a_finding_is_kept_once_and_runs(tmp_path, monkeypatch, capsys):
    program = Program("protocol", (Input("x", (3,)),), ("t = np.sin(x)",), ("t",))
    found = Disagreement("np.sin(tensor)", "values", "1", "2")
    findings = Findings(tmp_path)
    path, is_new = findings.save("protocol", 7, program, found, program.source())
    assert is_new and not findings.save("protocol", 8, program, found, program.source())[1]
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code and "agreed" in capsys.readouterr().out


def test_what_nobody_reads_may_go_wrong_in_eager_code_alone():
    inputs, options = (Input("x", (1, 1)),), (("backend", "numpy"),)
    dead = Program("compiled", inputs, ("t1 = x * 2.0", "t2 = t1 * 1", "t1[[3, -1]] = 1"), ("t2",), options=options)
    assert Compiled().check(dead) is None
    chain = "t1 = x * 2.0", "t2 = x[[5]]", "t3 = t2.clone()", "t3.mul_(t2)", "t2[:1] = t3[:1]", "t3"
    assert Compiled().check(dead.but(body=chain, result=("t1",))) is None
    assert not Compiled().is_unused(dead.but(body=("t1 = x * 2.0", "t2 = t1[:]", "t1[0] = 1")))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="told by the system")
def test_the_time_of_processes_that_still_run_is_counted():
    before = worker.spent()
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint(1, flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        assert worker.spent() - before > 0.4
        process.communicate(b"\n")
    assert worker.spent() - before > 0.4
