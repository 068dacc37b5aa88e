"""Cases 161 to 178 of `compiling-anything.md` for functions that ask for values: cost, and looking inside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.aot._tree import clock
from pullback.aot._tree.paths import Tree
from pullback.aot._tree.reasons import Reason
from tests.conformance.compiling import leaf


def chosen(x):
    return x * 2 if x.sum() > 0 else x * 3


@pytest.mark.parametrize(("wall", "process", "thread", "expected"), [
    (9.0, 1.0, 1.0, 1.0),  # beside other processes, the clock on the wall goes on
    (2.0, 4.0, 2.0, 2.0),  # a thread works along
    (2.0, 3.0, 0.1, 2.0),  # the thread waits for another one
])  # fmt: skip
def test_163_time_is_that_of_the_thread_unless_others_work(monkeypatch, wall, process, thread, expected):
    monkeypatch.setattr(clock, "reading", lambda: (wall, process, thread))
    assert clock.seconds_since((0.0, 0.0, 0.0)) == expected


def test_163_what_is_slower_rests_and_is_tried_again():
    tree = Tree()
    for _ in range(32):
        assert not tree.runs_eagerly() and not tree.timed(1.0)
    for _ in range(3):  # to see how long the function itself takes
        assert tree.runs_eagerly() and tree.timed_eagerly(lambda: 5, (), {}) == 5
    assert tree.timed(1.0) and tree.is_slower
    for _ in range(64):
        assert tree.runs_eagerly()
        tree.timed_eagerly(lambda: 5, (), {})
    assert not tree.runs_eagerly()
    assert [tree.timed(1.0) for _ in range(4)] == [False, False, False, True]  # and rests for twice as long
    assert all(tree.runs_eagerly() for _ in range(128)) and not tree.is_slower
    tree.timed_eagerly(lambda: sum(range(100000)), (), {})
    assert not any(tree.timed(0.0) for _ in range(40)) and not tree.is_slower


def test_164_random_outcomes_are_right_and_cost_a_bounded_number_of_traces():
    traced = []

    def f(x):
        traced.append(None)
        total = x.sum()
        for k in range(8):
            total = total * 1.1 if x[k] > 0 else total - x[k]
        return total

    f = pb.compile(f, backend="numpy", side_effects="trace")
    draws = np.random.default_rng(0)
    for _ in range(80):
        values = draws.normal(size=8)
        expected = values.sum()
        for each in values:
            expected = expected * 1.1 if each > 0 else expected - each
        np.testing.assert_allclose(f(pb.tensor(values)).item(), expected)
    assert f.cache_info().currsize <= 32


def test_169_threads_that_find_new_paths():
    compiled, wrong = pb.compile(chosen, backend="numpy"), []

    def work(seed):
        draws = np.random.default_rng(seed)
        for _ in range(30):
            value = draws.normal()
            x = leaf([value])
            y = compiled(x)
            if y.item() != value * (2 if value > 0 else 3):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert not wrong


def test_171_a_graph_of_an_evicted_path_runs_backward():
    compiled = pb.compile(chosen, backend="numpy")
    x = leaf([1.0, 2.0])
    y = compiled(x)
    compiled.clear()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_173_explain_shows_what_a_call_is_told():
    compiled = pb.compile(chosen, backend="numpy")
    compiled(pb.ones(2))
    found = compiled.explain(pb.ones(2)).data["paths"]
    (event,) = found["events"]
    assert event["function"] == "chosen" and event["outcome"] is True and event["seen"] == ["True"]
    assert found["paths"] == 1 and found["exits"] == 0 and found["calls"] == 1
    assert "a truth value" in str(compiled.explain(pb.ones(2)))
    compiled(-pb.ones(2))
    found = compiled.explain(pb.ones(2)).data["paths"]
    (event,) = found["joined"]
    assert event["function"] == "chosen" and found["events"] == [] and found["exits"] == 1
    assert "joined   line" in str(compiled.explain(pb.ones(2)))

    def newton(a):
        x = a * 1
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    assert pb.compile(newton).explain(pb.tensor(9.0)).data["paths"]["loops"] == 1


def test_175_177_reasons():
    def opaque(x):
        return x * np.asarray(x).max()

    def effect(x):
        kept.add(1)
        return x

    kept = set()
    with pytest.raises(pb.aot.NotCompiledError, match="NumPy array") as caught:
        pb.compile(opaque, fallback="raise")(pb.ones(3))
    assert "in test_175_177_reasons.<locals>.opaque" in caught.value.location
    with pytest.raises(pb.aot.NotCompiledError, match="changes what is in kept"):
        pb.compile(effect, fallback="raise")(pb.ones(3))
    compiled = pb.compile(lambda x, way: opaque(x) if way else x)
    with pytest.warns(UserWarning, match="without being compiled"):
        compiled(pb.ones(3), True)
    (found,) = compiled.explain(pb.ones(3), False).data["reasons"]
    assert found["reason"] == Reason.OPAQUE_VALUE.value and "opaque" in found["location"]


def test_178_switched_off_nothing_is_compiled():
    text = (
        "import pullback as pb\n"
        "f = pb.compile(lambda x: x * 2 if x.sum() > 0 else x * 3)\n"
        "print(f(pb.ones(2)).tolist(), f(-pb.ones(2)).tolist(), f.cache_info().misses)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "PULLBACK_COMPILE": "0"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert found.stdout == "[2.0, 2.0] [-3.0, -3.0] 0\n"


def test_161_162_lengths_that_never_end_are_evicted_and_compile_again():
    f = pb.compile(lambda x: (x * 2).sum(), backend="numpy")
    for count in (*range(2, 90), 2):
        assert f(pb.ones(count)).item() == 2 * count
    info = f.cache_info()
    assert info.evicted > 0 and info.currsize <= 64


def test_055_no_limit_is_for_good():
    """A function that was called often enough may be compiled for another kind of arguments."""
    f = pb.compile(lambda x: x * 2, backend="numpy", recompile_limit=1)
    f(pb.ones(2))
    with pytest.warns(UserWarning, match="run without being compiled"):
        f(pb.ones(2, dtype=np.float32))
    assert f.cache_info().currsize == 1
    for _ in range(64):
        f(pb.ones(2))
    f(pb.ones(2, dtype=np.float32))
    assert f.cache_info().currsize == 2


def test_053_what_has_no_fast_path_is_run_by_what_takes_less_time():
    """Two results that share new memory go the long way, which takes longer than this function itself."""

    def f(x):
        y = x * 2
        return y[:2], y[1:]

    compiled = pb.compile(f, backend="numpy")
    x = pb.ones(4)
    for _ in range(100):
        a, b = compiled(x)
        assert a.tolist() == [2.0, 2.0] and np.may_share_memory(a.numpy(), b.numpy())
    (tree,) = compiled._trees.values()
    assert tree.slow >= 32 and compiled.cache_info().hits >= 0


def test_165_166_traces_grow_with_the_program():
    """Twice the statements are twice the nodes, and helpers that call helpers are traced once for each call."""

    def statements(count):
        lines = [f"    x = x * {1 + 1 / (k + 2)} + 0.1\n" for k in range(count)]
        space = {"__name__": __name__}
        exec(f"def f(x):\n{''.join(lines)}    return x", space)
        return space["f"]

    counts = [len(pb.aot.trace(statements(count), pb.ones(2)).graph.nodes) for count in (100, 200, 400)]
    assert counts[1] == 2 * counts[0] and counts[2] == 4 * counts[0]
    helpers = [lambda x: x * 1.5]
    for _ in range(6):
        helpers.append(lambda x, inner=helpers[-1]: inner(inner(x)) if x.sum() > 0 else x)
    compiled = pb.compile(helpers[-1], backend="numpy", fallback="raise")
    assert compiled(pb.ones(1)).item() == pytest.approx(1.5**64) and compiled(-pb.ones(1)).item() == -1.0
    assert compiled.cache_info().currsize <= 2


def test_170_a_process_that_was_forked_goes_on():
    text = (
        "import os, pullback as pb\n"
        "f = pb.compile(lambda x: x * 2 if x.sum() > 0 else x * 3)\n"
        "f(pb.ones(2))\n"
        "child = os.fork()\n"
        "found = f(pb.ones(2)).tolist(), f(-pb.ones(2)).tolist(), f(pb.ones(3)).tolist()\n"
        "ok = found == ([2.0, 2.0], [-3.0, -3.0], [2.0, 2.0, 2.0])\n"
        "os._exit(not ok) if child == 0 else None\n"
        "print(ok, os.waitpid(child, 0)[1])\n"
    )
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout == "True 0\n"


def test_174_176_what_was_recompiled_and_how_often():
    rate = 0.1
    compiled = pb.compile(lambda x: x * rate, backend="numpy")
    compiled(pb.ones(2))
    rate = 0.5
    compiled(pb.ones(2))
    assert compiled.why_recompiled() == ["rate: 0.1 before, 0.5 now"]
    compiled(pb.ones(2))
    info = compiled.cache_info()
    assert (info.hits, info.misses, info.evicted) == (1, 2, 0)
