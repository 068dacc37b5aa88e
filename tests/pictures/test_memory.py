"""`pb.memory`: totals equal a count by hand, lines are the user's, and nothing is kept alive."""

import gc
import inspect

import numpy as np
import pytest

import pullback as pb

N = 1000
B = 8 * N  # the bytes of a vector


def vector():
    return pb.ones(N, requires_grad=True)


def leafless(x):
    return x.detach().clone().requires_grad_()


def two_steps(x):
    return pb.exp(pb.exp(x))


def written(x):
    h = x * 1
    h[: N // 2] *= x[: N // 2].clone()
    return h


def through_a_view(x):
    return pb.sin(x.reshape((10, 100)))


class Cube(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g


# A program, what is kept in all, and what of it is new. Counted by hand from the derivative rules.
PROGRAMS = {
    "a sum keeps nothing": (lambda x: x.sum(), 0, 0),
    "an addition keeps nothing": (lambda x: x + 1.0, 0, 0),
    "a product with a number keeps nothing of the vector": (lambda x: (x * 2.0), 0, 0),
    "a square keeps the leaf once": (lambda x: x * x, B, 0),
    "a sine keeps the leaf": (pb.sin, B, 0),
    "an exponential keeps its result": (pb.exp, B, B),
    "two exponentials keep two results": (two_steps, 2 * B, 2 * B),
    "tanh keeps its result": (pb.tanh, B, B),
    "a sine of a sine keeps the leaf and the inner one": (lambda x: pb.sin(pb.sin(x)), 2 * B, B),
    "a product of two results keeps both": (lambda x: pb.exp(x) * pb.tanh(x), 2 * B, 2 * B),
    "a value kept twice counts once": (lambda x: (lambda h: pb.sin(h) * h)(pb.exp(x)), 2 * B, 2 * B),
    "a view of a leaf is the leaf's memory": (through_a_view, B, 0),
    "a view of a result is the result's memory": (lambda x: pb.sin(pb.exp(x)[::2]), B, B),
    "a product with a matrix keeps both operands": (lambda x: pb.ones((3, N)) @ pb.exp(x), B + 3 * B, B),
    "a quotient keeps its divisor and itself": (lambda x: pb.exp(x) / pb.cosh(x), 4 * B, 3 * B),
    "a custom Function keeps what it saves": (lambda x: Cube.apply(x), B, 0),
    "under no_grad nothing is kept": (lambda x: pb.no_grad()(pb.exp)(x), 0, 0),
    "logsumexp keeps its operand and its result": (lambda x: pb.logsumexp(x), B + 8, 8),
    "an exponential of another leaf": (lambda x: leafless(x).exp(), B, B),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_kept_equals_the_count_by_hand(name):
    program, kept, new = PROGRAMS[name]
    x = vector()
    with pb.memory() as ledger:
        result = program(x)
    assert (ledger.saved_bytes, ledger.new_bytes) == (kept, new)
    assert ledger.live_bytes == kept == sum(saved.bytes for saved in ledger.live())
    del result
    gc.collect()
    assert ledger.live_bytes == 0


@pytest.mark.parametrize("program", [two_steps, written, through_a_view, Cube.apply, lambda x: pb.sin(x) * x])
def test_after_backward_nothing_is_kept_and_gradients_are_those_without_a_ledger(program):
    x, y = vector(), vector()
    with pb.memory() as ledger:
        program(x).sum().backward()
    program(y).sum().backward()
    assert ledger.live_bytes == 0 and ledger.live() == [] and ledger.peak_bytes == ledger.saved_bytes > 0
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())


def test_a_graph_that_is_dropped_is_not_kept():
    x = vector()
    with pb.memory() as ledger:
        y = pb.exp(x)
        assert ledger.live_bytes == B
        del y
        gc.collect()
        assert ledger.live_bytes == 0 and ledger.peak_bytes == B


def test_a_kept_graph_stays_in_the_ledger():
    x = vector()
    with pb.memory() as ledger:
        y = pb.exp(x).sum()
        y.backward(retain_graph=True)
        assert ledger.live_bytes == B
        y.backward()
        assert ledger.live_bytes == 0


def test_bytes_are_counted_at_the_line_that_kept_them():
    x = vector()
    first = inspect.currentframe().f_lineno + 2
    with pb.memory() as ledger:
        h = pb.exp(x)
        h = pb.tanh(h) * h
    found = ledger.by_line()
    assert found == {f"test_memory.py:{first + 1}": B, f"test_memory.py:{first}": B}
    assert h.requires_grad


def test_the_timeline_rises_in_forward_and_falls_in_backward():
    x = vector()
    with pb.memory() as ledger:
        two_steps(x).sum().backward()
    kinds = [kind for kind, _, _ in ledger.timeline]
    values = [count for _, _, count in ledger.timeline]
    turn = kinds.index("backward")
    assert values[:turn] == [B, 2 * B, 2 * B] and values[-1] == 0
    assert values[turn:] == sorted(values[turn:], reverse=True)


def test_a_compiled_call_lists_what_its_backward_reads():
    x = vector()
    f = pb.compile(lambda x: (pb.sin(x) * pb.exp(x)).sum(), backend="numpy")
    with pb.memory() as ledger:
        loss = f(x)
        kept = ledger.live_bytes
        loss.backward()
    assert kept >= B and ledger.live_bytes == 0 and {saved.kind for saved in ledger.saved} >= {"yours"}


def test_a_value_that_is_written_over_is_still_there_for_backward():
    x = vector()
    with pb.memory() as ledger:
        y = pb.exp(x)
        y += 1
        y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.exp(np.ones(N)))
    assert ledger.live_bytes == 0


def test_a_ledger_inside_of_itself_is_refused_and_the_modes_are_as_before():
    before = pb.is_grad_enabled()
    ledger = pb.memory()
    with ledger, pytest.raises(RuntimeError, match="already in force"):
        ledger.__enter__()
    from pullback.core.state import NORMAL, current

    assert current() is NORMAL and pb.is_grad_enabled() is before


def test_the_picture_has_the_totals():
    x = vector()
    with pb.memory() as ledger:
        two_steps(x).sum().backward()
    data = pb.show(ledger).data
    assert data["saved_bytes"] == 2 * B and data["live_bytes"] == 0 and len(data["saved"]) == 2
    assert "test_memory.py" in pb.show(ledger).to_text(100)
