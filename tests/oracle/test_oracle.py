"""The oracle itself, and a few hundred of its programs. The long run is `make oracle`."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from functools import lru_cache

import pytest

from .compare import disagreement
from .machine import Observation
from .oracle import Totals, run_pullback, run_share, torch_python
from .programs import generate
from .rules import RULES
from .shrink import shrink
from .statements import Statement, render
from .worker import Given, Seeded, TorchProcess

PYTHON = torch_python()
REASON = "torch is not installed; PULLBACK_TORCH_PYTHON may name an interpreter that has it"


@lru_cache
def has_torch() -> bool:
    """Whether the named interpreter really has torch."""
    return PYTHON is not None and subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


needs_torch = pytest.mark.skipif(not has_torch(), reason=REASON)


@pytest.fixture
def torch_process() -> Iterator[TorchProcess]:
    assert PYTHON is not None
    with TorchProcess(PYTHON) as process:
        yield process


def leaf(name: str, values: str, wants: bool = True) -> Statement:
    return Statement("leaf", f"{{ns}}.tensor({values}, dtype={{ns}}.float64, requires_grad={wants})", (), (name,))


def test_a_seed_and_an_index_give_the_same_program_every_time():
    assert generate(3, 14) == generate(3, 14)
    assert generate(3, 14) != generate(3, 15)


def test_every_deliberate_difference_has_a_rule_or_a_reason():
    assert {f"D{n}" for n in range(1, 38)} <= RULES.keys()
    for rule in RULES.values():
        assert bool(rule.where) != (rule.reach is not None)


def test_programs_are_printed_for_both_frameworks():
    program = generate(1, 8)
    for framework in ("pullback", "torch"):
        compile(render(program, framework), framework, "exec")


def test_a_different_value_is_a_disagreement():
    program = (leaf("x", "[1.0, 2.0]"), Statement("read", "{0} * 2.0", ("x",), ("y",), facts={"op": "mul"}))
    right = run_pullback(program)
    wrong = run_pullback((program[0], Statement("read", "{0} * 2.1", ("x",), ("y",), facts={"op": "mul"})))
    found = disagreement(wrong, right)
    assert found is not None and (found.step, found.what) == (1, "y.array")
    assert disagreement(right, run_pullback(program)) is None


def test_an_error_on_one_side_only_is_a_disagreement():
    refused = [Observation(error="LEAF_INPLACE")]
    found = disagreement([Observation()], refused)
    assert found is not None and found.what == "error"


def test_shrinking_keeps_what_matters():
    program = tuple(leaf(f"t{i}", "[1.0]") for i in range(20))
    small = shrink(program, lambda candidate: {"t3", "t11"} <= {s.out[0] for s in candidate})
    assert [s.out[0] for s in small] == ["t3", "t11"]


@needs_torch
def test_a_crash_of_torch_costs_one_program(torch_process: TorchProcess):
    crash = (Statement("leaf", "__import__('os').abort()", (), ("x",)),)
    answers = list(torch_process.run([Given((leaf("x", "[1.0]"),)), Given(crash), Seeded(1, 0)]))
    assert [answer is None for answer in answers] == [False, True, False]


@needs_torch
def test_a_planted_fault_is_found(torch_process: TorchProcess):
    """The first program of the seed in which a hook fires disagrees when the hook's log is dropped."""
    for index in range(200):
        program = generate(5, index)
        (reference,) = torch_process.run([Seeded(5, index)])
        assert reference is not None
        if any(observation.log for observation in reference):
            ours = run_pullback(program)
            assert disagreement(ours, reference) is None
            for observation in ours:
                observation.log.clear()
            found = disagreement(ours, reference)
            assert found is not None and found.what == "hook log"
            return
    pytest.fail("no program of this seed runs a hook")


@needs_torch
def test_pullback_agrees_with_torch_up_to_the_rules():
    arguments = argparse.Namespace(seed=2, subject="pullback", torch_python=PYTHON, show=3)
    totals, texts = Totals(), []
    run_share(arguments, range(300), lambda news: totals.add(news) if isinstance(news, Totals) else texts.append(news))
    assert totals.disagreed == 0, "\n".join(texts)
    assert totals.agreed + totals.crashed == 300
    assert totals.firings["D5"] and totals.firings["D6"] and totals.firings["D19"]
