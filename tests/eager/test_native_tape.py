"""Backward passes in native code against the engine's own: gradients to the bit, order, hooks, errors, memory."""

import contextvars
import gc
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pullback as pb
from pullback.eager.native_tape import tape
from pullback.tape.engine import native


@pytest.fixture(params=["python", "native"], autouse=True)
def way(request):
    """Every test here runs both ways."""
    before = tape.functions
    if request.param == "native":
        tape.load()
        assert native.loop is not None
    else:
        native.prepare = native.loop = None
    yield request.param
    tape.functions = before
    tape.reset()


def leaf(*shape, dtype=np.float64, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(dtype), requires_grad=True)


def several(x, y):
    a, b = pb.linalg.eigh(x @ x.T + y.sum())
    q = pb.stack([x[0], x[1] * 2]) @ y
    u = x * 1.0
    u[1:] += y[:2]
    return (a * b).sum() + q.sum() + (x.T * x.T).sum() + u.exp().mean() + x[[0, 0, 2], [1, 1, 1]].prod()


PROGRAMS = {
    "a chain": lambda x, y: ((x * y).sin() + x).tanh().sum(),
    "many uses": lambda x, y: sum(((x * k + y) * x for k in range(1, 9)), x).sum(),
    "constants": lambda x, y: (x * 2.0 - y.detach() * x * y).sum(),
    "several results and parts": several,
    "broadcasting": lambda x, y: (x + y[0]).sum() + (x * y.sum()).mean() + (y[:, :1] - x).prod(),
    "a write": lambda x, y: (lambda h: (h.mul_(y), h * h)[1].sum())(x * 1.0),
    "long arrays": lambda x, y: (pb.ones(700) * x.sum() * pb.linspace(0.0, 1.0, 700) * y.sum()).sum(),
}
SEEN = {}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_the_same_to_the_bit(way, name, dtype):
    x, y = leaf(3, 3, dtype=dtype), leaf(3, 3, dtype=dtype, seed=1)
    if dtype is np.complex128 and name == "several results and parts":
        pytest.skip("vectors of complex matrices have a phase of their own")
    out = PROGRAMS[name](x, y)
    out = out.real if dtype is np.complex128 else out
    out.backward(retain_graph=True)
    first = [x.grad.numpy().copy(), y.grad.numpy().copy()]
    out.backward()  # now there is something to add to
    found = [*first, x.grad.numpy(), y.grad.numpy(), *(g.numpy() for g in pb.autograd.grad(PROGRAMS[name](x, y), [y, x],
                                                       pb.ones((), dtype=dtype)))]  # fmt: skip
    for a, b in zip(found, SEEN.setdefault((name, dtype), found), strict=True):
        np.testing.assert_array_equal(a, b)


def test_nodes_run_from_the_newest_to_the_oldest(way):
    x, order = leaf(3), []
    nodes = [x * 1.0]
    for k in range(12):
        nodes.append(nodes[(k * 7) % len(nodes)] * nodes[(k * 5) % len(nodes)])
    for h in nodes:
        h.register_hook(lambda g, node=h.grad_fn: order.append(node._sequence_nr()))
    sum(nodes, nodes[0]).sum().backward()
    assert order == sorted(order, reverse=True) and len(order) == 13


def test_a_hook_is_called_once_and_may_change_what_goes_on(way):
    x, seen = leaf(3), []
    y = x * 2.0
    y.register_hook(lambda g: (seen.append(g.numpy().copy()), g * 3)[1])
    (y * y + y).sum().backward()
    np.testing.assert_allclose(seen[0], 2 * y.detach().numpy() + 1)
    np.testing.assert_array_equal(x.grad.numpy(), seen[0] * 6)
    assert len(seen) == 1


def test_what_others_hold_is_not_written(way):
    x, kept = leaf(4), []
    y = x * 1.0
    y.retain_grad()
    z = y + 0.5
    z.register_hook(kept.append)
    seed = pb.ones(4)
    pb.autograd.backward([z, z, y, z], [seed, seed, seed, seed])
    np.testing.assert_array_equal(seed.numpy(), 1)
    np.testing.assert_array_equal(kept[0].numpy(), 3)
    np.testing.assert_array_equal(y.grad.numpy(), 4)
    np.testing.assert_array_equal(x.grad.numpy(), 4)
    x.grad += 1
    np.testing.assert_array_equal(y.grad.numpy(), 4)


def test_an_error_in_a_formula_leaves_the_pass_and_nothing_behind(way):
    class Failing(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError("of mine")

    x = leaf(3)

    def failing():
        h = Failing.apply(x * 2.0)
        with pytest.raises(ZeroDivisionError, match="of mine"):
            ((h * x).sum() + (x.exp() * h).sum() + x.sum()).backward()

    failing()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        failing()
    gc.collect()
    assert len(gc.get_objects()) < before + 40


def test_a_second_pass_over_released_values_says_so(way):
    x = leaf(3)
    y = (x * x).sin().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_restricted_passes_touch_no_other_leaf(way):
    x, y = leaf(3), leaf(3, seed=1)
    h = x * y
    out = (h.exp() * y).sum()
    (g,) = pb.autograd.grad(out, h, retain_graph=True)
    np.testing.assert_allclose(g.numpy(), (h.exp() * y).detach().numpy())
    out.backward(inputs=[y])
    assert x.grad is None and y.grad is not None


def test_passes_do_not_leak(way):
    x, y = leaf(3, 3), leaf(3, 3, seed=1)

    def once():
        for name in ("many uses", "several results and parts", "a write"):
            PROGRAMS[name](x, y).backward()
        pb.autograd.grad(PROGRAMS["a chain"](x, y), x)

    for _ in range(3):
        once()
    gc.collect()
    dtype = np.dtype(np.float64)
    before = sys.getrefcount(dtype), len(gc.get_objects()), sys.getrefcount(None)
    for _ in range(50):
        once()
    gc.collect()
    after = sys.getrefcount(dtype), len(gc.get_objects()), sys.getrefcount(None)
    assert all(b < a + 50 for a, b in zip(before, after, strict=True)), (before, after)


def test_without_memory_there_is_an_error_and_the_next_pass_is_right(way):
    memory = pytest.importorskip("_testcapi", reason="this Python cannot be told to have no memory")
    x, y = leaf(3, 3), leaf(3, 3, seed=1)
    expected = pb.autograd.grad(PROGRAMS["many uses"](x, y), [x, y])
    for number in range(0, 240, 3):
        out = PROGRAMS["many uses"](x, y)
        context = contextvars.copy_context()  # NumPy may fail to leave its own
        memory.set_nomemory(number, number + 1)
        try:
            context.run(out.backward)
        except MemoryError:
            pass
        finally:
            memory.remove_mem_hooks()
        x.grad = y.grad = None
    for a, b in zip(pb.autograd.grad(PROGRAMS["many uses"](x, y), [x, y]), expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_the_switch_turns_it_off_and_on():
    loaded = tape.functions is not None
    before = pb.set_native_eager(False)
    try:
        assert native.loop is None and native.prepare is None
    finally:
        pb.set_native_eager(before)
    assert (native.loop is not None) == loaded


def test_it_is_loaded_after_many_nodes(monkeypatch):
    monkeypatch.setattr(native, "left", 20)
    monkeypatch.setattr(tape, "functions", None)
    native.prepare = native.loop = None
    x = leaf(3)
    (x * x).sum().backward()
    assert native.loop is None
    for _ in range(7):
        (x * x).sum().backward()
    assert native.loop is not None
