"""Calls that are traced again leave the graph, the tape and the gradients that the general path leaves."""

import numpy as np
import pytest

import pullback as pb
from pullback.aot._trace import trace as traces
from pullback.core.state import switch

STEPS = 3


def chain(x, w):
    for _ in range(STEPS):
        x = pb.sin(x * w) + 0.5 * x - 2 / (x + 3)
    return x.sum()


def broadcast(x, w):
    for _ in range(STEPS):
        x = (x + w[0]) * (w * 2).sum() + pb.exp(-x) * w[:, None][0]
    return x.sum()


def parts(x, w):
    total = 0.0
    for k in range(STEPS):
        total = total + x[k] * w[-1] + x[k:].sum() + x[None, k][0] + x[..., :2][0] * x[::-1][0]
    return total


def written(x, w):
    h = x * 1
    for k in range(STEPS):
        h[k] = h[k] * w[k] + h[0]
        h[1:] *= 0.5
    return (h * w).sum()


def view_of_what_is_written(x, w):
    h = x * w
    row, other = h[1], h[1:]
    for k in range(STEPS):
        row += x[k]
        h = h * 1.5 if k == 1 else h
        other = other * row
    return (h * row).sum() + other.sum()


def detached(x, w):
    for _ in range(STEPS):
        y = x.detach() * w
        with pb.no_grad():
            z = x * w + y
        x = x * z + y * x[0].detach()
    return x.sum()


def without_gradient(x, w):
    counts = pb.arange(4)
    for k in range(STEPS):
        counts = counts + counts[k]
        x = x * (x > 0.1) + counts * pb.sign(w)
    return x.sum()


def types(x, w):
    small = x.astype(np.float32)
    for _ in range(STEPS):
        small = small * 2 + 1.5
        x = x * small + small * w
    return x.sum()


def gradients_inside(x, w):
    inner = pb.func.grad(lambda v: ((v * w) ** 2 * v[1]).sum())
    for _ in range(STEPS):
        x = x + 0.1 * inner(x) * x[2]
    return x.sum()


def swapped(x, w):
    x, h = x * 1, x * 2
    for k in range(STEPS):
        x.data = h.detach() + k
        h = h * x + x[k]
    return (h * w).sum()


PROGRAMS = [
    chain, broadcast, parts, written, view_of_what_is_written, detached, without_gradient, types, gradients_inside,
    swapped,
]  # fmt: skip


class Forgetful(dict):
    """Rows that were read are read again, as the general path does."""

    def __setitem__(self, key, value):
        pass


@pytest.fixture
def forgetful(monkeypatch):
    original = traces.Trace.__init__

    def begin(self, *args):
        original(self, *args)
        self.parts = Forgetful()

    monkeypatch.setattr(traces.Trace, "__init__", begin)


def joint(function):
    """The text of the graph of forward and backward, and the gradients that it gives."""
    x = pb.tensor(np.linspace(0.2, 0.9, 4), requires_grad=True)
    w = pb.tensor(np.linspace(0.5, 1.5, 4), requires_grad=True)
    text = str(pb.aot.joint_graph(function, x, w).graph)
    value = pb.compile(function, fallback="raise", backend="numpy")(x, w)
    return text, [value.detach().numpy(), *[g.numpy() for g in pb.autograd.grad(value, (x, w))]]


def eagerly(function):
    x = pb.tensor(np.linspace(0.2, 0.9, 4), requires_grad=True)
    w = pb.tensor(np.linspace(0.5, 1.5, 4), requires_grad=True)
    value = function(x, w)
    return [value.detach().numpy(), *[g.numpy() for g in pb.autograd.grad(value, (x, w))]]


@pytest.fixture
def counted(monkeypatch):
    """How many calls were traced again."""
    found = []
    for name in ("elementwise_again", "part_again"):
        original = getattr(traces.Trace, name)

        def counting(*args, original=original):
            result = original(*args)
            found.append(result is not None)
            return result

        monkeypatch.setattr(traces.Trace, name, counting)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_traced_again_is_what_the_general_path_records(program, counted, forgetful):
    text, values = joint(program)
    assert any(counted)
    counted.clear()
    switch.open()
    try:
        general, others = joint(program)
    finally:
        switch.close()
    assert not any(counted)
    assert text == general
    for mine, theirs in zip(values, others, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_that_are_read_once_change_no_value(program):
    for mine, theirs in zip(joint(program)[1], eagerly(program), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_places_are_the_lines_that_made_the_nodes():
    def function(x):
        a = x * 2.0
        b = a * 2.0
        return b * 2.0

    graph = pb.aot.joint_graph(function, pb.tensor(np.ones(3), requires_grad=True)).graph
    lines = [node.place[1] for node in graph.nodes if node.op == "multiply" and node.tag == "fw"]
    first = function.__code__.co_firstlineno
    assert lines == [first + 1, first + 2, first + 3]


def test_a_row_that_is_read_twice_is_one_value():
    def function(x):
        return (x[1] * x[1]).sum() + x[1].sum()

    x = pb.tensor(np.ones((3, 2)), requires_grad=True)
    nodes = pb.aot.joint_graph(function, x).graph.nodes
    assert [node.op for node in nodes if node.tag == "fw"].count("_basic_index") == 1
