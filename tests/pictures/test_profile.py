"""`pb.profile`: what it records, whose time is whose, and the file that trace viewers read."""

import contextvars
import gc
import inspect
import json
import subprocess
import sys
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import NORMAL, current, switch, watching


def program(x, w):
    with pb.profile.range("model"):
        h = pb.tanh(w @ x)
    return (h * h).sum()


def arguments():
    return pb.ones(4, requires_grad=True), pb.ones((3, 4), requires_grad=True)


@pytest.fixture(scope="module")
def profiled():
    x, w = arguments()
    program(x, w).backward()  # so that nothing is built meanwhile
    with pb.profile(memory=True) as p:
        program(x, w).backward()
    return p


def test_forward_and_backward_are_recorded_by_name_and_share_their_number(profiled):
    forward = [event for event in profiled.events if event.kind == "forward"]
    backward = [event for event in profiled.events if event.kind == "backward"]
    assert [event.name for event in forward] == ["matmul", "tanh", "multiply", "sum"]
    assert [event.name for event in backward if event.name != "AccumulateGrad"] == [
        "SumBackward0", "MulBackward0", "TanhBackward0", "MatmulBackward0",
    ]  # fmt: skip
    numbers = [event.seq for event in backward if event.name != "AccumulateGrad"]
    assert numbers == [event.seq for event in forward][::-1]


def test_an_event_has_its_line_its_shapes_its_range_and_the_bytes_of_its_result(profiled):
    first = next(event for event in profiled.events if event.kind == "forward")
    line = inspect.getsourcelines(program)[1] + 2
    assert first.line == f"test_profile.py:{line}" and first.shapes == "f64[3,4] f64[4]"
    assert first.range == "model" and first.bytes == 24 and first.depth == 1
    assert next(event for event in profiled.events if event.name == "sum").range == ""


def test_events_of_a_thread_contain_each_other_or_are_apart(profiled):
    events = profiled.events
    for a in events:
        for b in events:
            if a is b or a.thread != b.thread or b.start < a.start:
                continue
            end_a, end_b = a.start + a.duration, b.start + b.duration
            assert b.start >= end_a - 1e-6 or end_b <= end_a + 1e-6


@pytest.mark.parametrize("by", ["op", "line", "range"])
def test_the_sum_of_self_times_is_the_span(profiled, by):
    rows = profiled.totals(by)
    assert sum(row["self"] for row in rows) == pytest.approx(profiled.span, rel=0.02)
    assert all(row["self"] >= -1e-9 and row["total"] >= row["self"] - 1e-9 for row in rows)
    assert [row["self"] for row in rows[:-1]] == sorted((row["self"] for row in rows[:-1]), reverse=True)


def test_results_and_gradients_are_those_without_a_profile():
    (x, w), (a, b) = arguments(), arguments()
    plain = program(a, b)
    plain.backward()
    with pb.profile():
        watched = program(x, w)
        watched.backward()
    assert type(watched.grad_fn) is type(plain.grad_fn) and watched.item() == plain.item()
    np.testing.assert_array_equal(x.grad.numpy(), a.grad.numpy())
    np.testing.assert_array_equal(w.grad.numpy(), b.grad.numpy())


def test_transforms_writes_functions_and_second_derivatives_are_seen():
    x = pb.ones(3)
    with pb.profile() as p:
        pb.func.hessian(lambda x: pb.exp(x).sum())(x)
        pb.vmap(pb.func.grad(lambda x: (x * x).sum()))(pb.ones((2, 3)))
        y = x * 2.0
        y[1:] += 1.0
        y.mul_(2.0)
    names = {event.name for event in p.events if event.kind == "forward"}
    assert {"exp", "multiply", "multiply_", "add_"} <= names
    assert y.tolist() == [4.0, 6.0, 6.0]


def test_a_tangent_is_computed_under_a_profile_as_without():
    f = lambda x: (pb.sin(x) * x).sum()
    x = pb.tensor([0.5, 1.0])
    expected = pb.func.jvp(f, (x,), (x,))
    with pb.profile() as p:
        found = pb.func.jvp(f, (x,), (x,))
    assert [t.item() for t in found] == [t.item() for t in expected] and p.events


def test_compilation_is_recorded_by_phase_and_the_compiled_call_as_one_event():
    f = pb.compile(lambda x: (pb.sin(x) * x).sum(), backend="numpy")
    x = pb.ones(4, requires_grad=True)
    with pb.profile() as p:
        f(x).backward()
        f(x)
    kinds = [event.kind for event in p.events]
    phases = [event.name for event in p.events if event.kind == "compile"]
    assert kinds.count("compiled") == 2 and any(name.startswith("capture") for name in phases)
    assert any(event.name == "CompiledBackward" for event in p.events)
    assert not any(event.kind == "forward" and event.name == "sin" for event in p.events)


def test_hooks_and_collections_of_garbage_are_events():
    x = pb.ones(2, requires_grad=True)
    y = pb.exp(x)

    def doubled(g):
        return g * 2

    y.register_hook(doubled)
    with pb.profile() as p:
        y.sum().backward()
        gc.collect()
    assert {"doubled"} <= {event.name for event in p.events if event.kind == "hook"}
    assert any(event.kind == "gc" for event in p.events)
    inner = next(e for e in p.events if e.kind == "forward" and e.name == "multiply")
    assert inner.depth >= 1


def test_a_failing_operation_ends_and_the_modes_are_as_before():
    x = pb.ones(3)
    with pytest.raises(ValueError), pb.profile() as p:
        x + pb.ones(4)
    assert [event.name for event in p.events if event.kind == "forward"] == ["add"]
    assert current() is NORMAL is switch.normal and watching.get() is None


def test_a_thread_in_a_copy_of_the_context_is_a_row_of_its_own():
    x = pb.ones(3)
    with pb.profile() as p:
        x + 1
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(lambda: pb.sin(x)))
        thread.start()
        thread.join()
    assert len({event.thread for event in p.events if event.kind == "forward"}) == 2


# What an event of the trace file must have, by its phase.
SCHEMA = {
    "X": {"name": str, "cat": str, "ts": (int, float), "dur": (int, float), "pid": int, "tid": int, "args": dict},
    "s": {"name": str, "cat": str, "ts": (int, float), "pid": int, "tid": int, "id": int},
    "f": {"name": str, "cat": str, "ts": (int, float), "pid": int, "tid": int, "id": int, "bp": str},
}


def test_the_file_is_what_trace_viewers_read(profiled, tmp_path):
    profiled.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    for event in events:
        fields = SCHEMA[event["ph"]]
        assert set(event) == {*fields, "ph"} and all(isinstance(event[name], kind) for name, kind in fields.items())
        assert event["ts"] >= 0 and event.get("dur", 0) >= 0
    matmul = next(event for event in events if event["name"] == "matmul")
    assert matmul["cat"] == "forward" and set(matmul["args"]) == {"line", "shapes", "seq", "bytes"}
    starts, ends = ({e["id"] for e in events if e["ph"] == phase} for phase in "sf")
    assert starts == ends and len(starts) == 4
    assert {event["cat"] for event in events} >= {"forward", "backward", "user", "flow"}


def test_tables_refuse_what_they_do_not_know(profiled):
    assert "multiply" in profiled.table() and "test_profile.py" in profiled.table(by="line")
    assert "model" in profiled.table(by="range", sort="total")
    with pytest.raises(ValueError, match="by is one of"):
        profiled.table(by="color")
    with pytest.raises(ValueError, match="sort is one of"):
        profiled.table(sort="name")


def test_without_a_profile_every_call_takes_the_fast_path():
    with pb.profile():
        pb.ones(3) * 2.0
    assert current() is switch.normal


def test_a_range_at_the_top_of_a_program_is_on_its_line():
    program = 'import pullback as pb\nwith pb.profile() as p:\n    with pb.profile.range("a"):\n        pb.ones(3)\n'
    names = {}
    exec(compile(program, "/programs/top.py", "exec"), names)
    assert "top.py:3" in str(names["p"].table(by="line"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # there are no more frames above it
