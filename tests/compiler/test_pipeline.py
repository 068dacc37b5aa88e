"""The passes from a graph to native code: what comes out of them keeps the promises of graphs."""

import numpy as np
import pytest

import pullback as pb

pytest.importorskip("llvmlite")

from pullback.compiler import llvm, pipeline
from pullback.compiler.items.flow import align_inputs, cut_segments
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.pipeline import NATIVE, PLAN, prepared
from pullback.compiler.plan.plan import Draft
from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.errors import InternalError
from pullback.graph.ir import type_of
from tests.compiler.graphs import Builder


def written_elsewhere():
    """An update of real numbers whose imaginary parts are written: they have none, and lie nowhere."""
    b = Builder(np.ones(8), np.arange(8.0))
    node = b.program.add("update", b.inputs, {"steps": (ViewStep(registry["_imag"], {}),)}, [type_of(np.ones(8))])
    b.program.add("store", (b.inputs[0], node.result), {}, ())
    return b.program


@pytest.mark.parametrize("flag", ["0", "1"])
def test_an_update_that_would_write_elsewhere_never_becomes_code(monkeypatch, flag):
    monkeypatch.setenv("PULLBACK_VERIFY", flag)
    with pytest.raises(InternalError, match=r"lead to no memory|is no view|view that is a copy"):
        compile_llvm(written_elsewhere())


def breaks_a_promise(program):
    return written_elsewhere()


def test_a_broken_graph_is_no_reason_to_go_on_with_numpy(monkeypatch):
    monkeypatch.setattr(pipeline, "NATIVE", (breaks_a_promise,))
    with pytest.raises(InternalError, match="pass breaks_a_promise: graph"):
        pb.compile(lambda x: pb.exp(x) + 0.25, backend="llvm")(pb.ones(3))


def test_a_lone_segment_takes_all_inputs_and_the_one_before_stays_as_it_is():
    b = Builder(np.ones(3), np.ones(2), np.ones(3))
    b.output(b("add", b.inputs[2], b.inputs[0]))
    program = b.program
    for each in NATIVE[: NATIVE.index(cut_segments) + 1]:
        program = each(program)
    (before,) = program.nodes
    (after,) = align_inputs(program).nodes
    assert list(before.operands) == before.attrs["segment"].inputs == [b.inputs[2], b.inputs[0]]
    assert list(after.operands) == after.attrs["segment"].inputs == b.inputs
    assert after.attrs["segment"].items is before.attrs["segment"].items


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_stores_stay_behind_everything_that_is_read(dtype):
    def f(x, y):
        z = pb.sort(y) + x
        x *= 2
        return z, x * 1j, pb.real(z)

    arrays = np.arange(4.0)[::-1].astype(dtype), np.array([2.0, 1.0, 4.0, 3.0], np.float32)
    compiled = pb.compile(f, backend="llvm", fallback="raise")
    mine, theirs = pb.tensor(arrays[0].copy()), pb.tensor(arrays[0].copy())
    for out, wanted in zip(compiled(mine, arrays[1]), f(theirs, pb.tensor(arrays[1])), strict=True):
        np.testing.assert_array_equal(out.numpy(), wanted.numpy())
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    kinds = [node.op for node in prepared(compiled.graph()).nodes]
    assert kinds.index("store") == len(kinds) - kinds.count("store") and "native" in kinds


@pytest.mark.parametrize("dtype", [">c16", ">c8"])
def test_numbers_in_the_other_byte_order_keep_it(dtype):
    f = pb.compile(lambda x: (x * 2).astype(np.dtype(dtype)), backend="llvm", fallback="raise")
    out = f(pb.tensor(np.arange(3) * (1 + 1j)))
    assert out.numpy().dtype == np.dtype(dtype)
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(3) * (1 + 1j))


def layers(x, w, b):
    """Loops, products, an assembly and an update that is written over."""
    out = pb.tanh(x @ w + b)
    parts = pb.concat([out[:, :2] * 2.0, pb.zeros((8, 1)), out[:, 2:] - x], axis=1)
    parts[0] = parts[1] * 3.0
    return pb.softmax(parts, axis=1).sum(axis=0), parts


def drafts_of(segment):
    """The drafts behind each step, and what was in them when they were made."""
    draft, found = Draft(segment), []
    for step in PLAN:
        found.append((draft, contents(draft)))
        draft = step(draft)
    return [*found, (draft, contents(draft))]


def contents(draft):
    groups = [(group, tuple(group.items), dict(group.stage), group.placed) for group in draft.groups]
    items = [(item, item.reads, item.what) for item in (*draft.segment.items, *draft.items)]
    return (groups, items, draft.commands, dict(draft.offsets), dict(draft.overwritten), draft.arena_bytes)


def test_steps_of_a_plan_leave_the_draft_alone_that_they_are_given(monkeypatch):
    segments = []
    plan_segment = llvm.plan_segment
    monkeypatch.setattr(llvm, "plan_segment", lambda segment: segments.append(segment) or plan_segment(segment))
    arrays = [pb.tensor(np.random.default_rng(0).normal(size=shape)) for shape in ((8, 3), (3, 3), (3,))]
    pb.compile(layers, backend="llvm", fallback="raise")(*arrays)
    assert segments
    for segment in segments:
        for draft, before in drafts_of(segment):
            assert contents(draft) == before


def test_a_segment_can_be_planned_twice(monkeypatch):
    plans = []
    plan_segment = llvm.plan_segment
    monkeypatch.setattr(llvm, "plan_segment", lambda segment: plans.append(plan_segment(segment)) or plans[-1])
    pb.compile(layers, backend="llvm", fallback="raise")(pb.ones((8, 3)), pb.ones((3, 3)), pb.ones(3))
    for plan in plans:
        again = plan_segment(plan.segment)
        assert [type(each) for each in again.commands] == [type(each) for each in plan.commands]
        assert again.arena_bytes == plan.arena_bytes
