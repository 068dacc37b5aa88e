"""Overwritten values in compiled code, in long chains, in memory, and in random programs. The numbers are those of the
cases in the specification."""

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.graph import report_overwrites
from pullback.tensors.versions import new_counter
from pullback.utils.checkpoint import checkpoint
from tests.conformance.test_overwrites import sir, sir_twin
from tests.conformance.writing_programs import check, check_freed


@pytest.fixture
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def operators_of(graph):
    return [node.op for node in graph.nodes]


def test_86_a_compiled_model_that_updates_its_state_is_one_loop_and_one_reverse_sweep():
    call = pb.compile(lambda beta: sir(beta, 50))
    call(pb.tensor(0.3, requires_grad=True)).backward()
    (entry,) = call.entries()
    assert operators_of(entry.forward_graph).count("scan") == 1
    assert operators_of(entry.partition.backward).count("scan") == 1
    assert len(entry.forward_graph.nodes) < 40 and len(entry.partition.backward.nodes) < 60


def peak(function):
    """The largest amount of memory that was in use at a time, beyond what was before."""
    function()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_87_compiled_code_needs_no_more_memory_than_the_eager_twin():
    n, steps = 5000, 20
    call = pb.compile(lambda beta: sir(beta, steps, n))

    def gradient(function):
        beta = pb.tensor(0.3, requires_grad=True)
        function(beta).backward()

    assert peak(lambda: gradient(call)) <= peak(lambda: gradient(lambda beta: sir_twin(beta, steps, n)))


def test_91_the_model_needs_the_memory_of_its_twin():
    n, steps = 20_000, 20

    def gradient(function):
        beta = pb.tensor(0.3, requires_grad=True)
        function(beta, steps, n).backward()

    own, twin = peak(lambda: gradient(sir)), peak(lambda: gradient(sir_twin))
    assert own <= 1.02 * twin + 8 * n  # one array more at a time, and no more


def calls(function):
    """How many functions of Python's a call goes through."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    function()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_91_a_write_without_a_graph_takes_few_steps_and_keeps_nothing():
    t = pb.ones(8)

    def steps():
        nonlocal t
        for _ in range(100):
            t += 1.0

    with report_overwrites() as report:
        assert calls(steps) <= 6 * 100 + 2
    assert not report


def test_91_a_model_that_writes_takes_little_more_steps_than_its_twin():
    beta = pb.tensor(0.3, requires_grad=True)
    own, twin = (calls(lambda f=f: f(beta, 30, 8).backward()) for f in (sir, sir_twin))
    assert own <= 4 * twin


def test_88_explain_names_what_is_kept_over_a_write():
    def model(x):
        y = x * 1
        z = y * y
        y *= 3
        return z

    found = pb.compile(model).explain(pb.ones(2, requires_grad=True))
    (kept,) = found.data["kept_over_writes"]
    assert kept["operator"] == "multiply" and kept["bytes"] == 16 and kept["count"] == 1
    assert kept["place"].startswith(f"{__file__}:")
    (line,) = [line for line in str(found).splitlines() if line.startswith("kept")]
    assert "over a write" in line and "16 B" in line and kept["place"] in found.to_html()


def test_88_explain_says_nothing_where_nothing_is_overwritten():
    found = pb.compile(lambda x: pb.exp(x) * x).explain(pb.ones(2, requires_grad=True))
    assert found.data["kept_over_writes"] == [] and "over a write" not in str(found)


@pytest.mark.parametrize("block", range(10))
def test_92_random_programs_have_what_is_promised(block):
    for seed in range(20 * block, 20 * block + 20):
        check(seed, compiled=seed % 20 == 0)


def test_92_random_programs_are_freed_without_the_collector(without_collector):
    for seed in range(100):
        check_freed(seed)


def test_94_a_chain_of_a_million_versions_is_freed_without_recursion(without_collector):
    counter = new_counter().made_shared()
    first = counter.epoch
    for _ in range(1_000_000):
        counter.end_epoch()
    assert first.next is not None and counter.epoch is not first
    del first


def test_94_every_version_of_a_long_loop_can_be_read(without_collector):
    c = pb.zeros(1)
    other = c.detach()  # so that the memory is shared, and every version is copied
    x = pb.tensor([2.0], requires_grad=True)
    total = pb.zeros(1)
    for _ in range(3000):
        c += 1.0
        total = total + x * c
    assert pb.autograd.grad(total.sum(), x)[0].tolist() == [3000 * 3001 / 2] and other.tolist() == [3000.0]
    np.testing.assert_array_equal(total.detach(), [3000 * 3001.0])


# Rings: a tensor whose new history leads to a node that kept it.


@pb.library.custom_op("overwrites_together::square", mutates_args=())
def custom_square(x: np.ndarray) -> np.ndarray:
    return x * x


custom_square.register_autograd(
    lambda ctx, g: g * 2 * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


class Square(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]


scaled_square = pb.compile(lambda x, c: c * x * x)

SQUARES = {
    "eager": lambda x: x * x,
    "compiled": pb.compile(lambda x: x * x),
    "compiled for numpy": pb.compile(lambda x: x * x, backend="numpy"),
    "compiled with a constant": lambda x: scaled_square(x, pb.ones(2)),
    "custom operator": custom_square,
    "Function": Square.apply,
    "checkpoint": lambda x: checkpoint(lambda t: t * t, x, use_reentrant=False),
}


@pytest.mark.parametrize("square", SQUARES.values(), ids=SQUARES)
@pytest.mark.parametrize("is_view", [False, True])
def test_what_saved_a_tensor_does_not_keep_it_alive(square, is_view, without_collector):
    for _ in range(3):  # the third call of a compiled function takes the shortest way
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        base = x * 1
        y = base[:] if is_view else base
        z = square(y)
        y += z
        alive = weakref.ref(y)
        assert pb.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [3, 5]
        del base, y, z
        assert alive() is None


@pytest.mark.parametrize("name", ["compiled", "compiled for numpy", "compiled with a constant"])
@pytest.mark.parametrize("written", [False, True])
def test_a_compiled_call_has_second_derivatives_at_inputs_that_are_gone(name, written):
    for _ in range(3):
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        y = x**2
        z = SQUARES[name](y)
        if written:
            y *= 0.0
        del y
        (first,) = pb.autograd.grad(z.sum(), x, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), x)
        assert first.tolist() == [4, 32] and second.tolist() == [12, 48]


def test_a_constant_that_a_compiled_call_read_and_is_written_with_its_result(without_collector):
    f = pb.compile(lambda x, c: x * c)
    for _ in range(3):
        x, c = pb.tensor([1.0, 2.0], requires_grad=True), pb.ones(2) * 3
        z = f(x, c)
        c += z
        alive = weakref.ref(c)
        (first,) = pb.autograd.grad((z * z).sum() + c.sum(), x, create_graph=True)
        assert first.tolist() == [21, 39]
        del c, z, first
        assert alive() is None
