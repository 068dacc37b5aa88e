"""Native passes, calls and formulas against those of Python: values and gradients to the bit, order, hooks, errors,
complaints, memory."""

import contextvars
import gc
import itertools
import platform
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pullback as pb
from pullback.compiler.machine import structs
from pullback.declare.op import registry
from pullback.declare.samples import samples_of
from pullback.eager import large, small
from pullback.eager.direct import direct
from pullback.eager.native_tape import tape
from pullback.eager.pull import call_rules
from pullback.tape.engine import native
from tests.autograd.test_parts import Program
from tests.eager.test_formulas import dense
from tests.eager.test_small import PROGRAMS as small_programs

LOADED = []
pytestmark = pytest.mark.skipif(
    not structs.are_as_expected(), reason="native code does not read arrays in this interpreter, as free-threaded ones"
)


@contextmanager
def going(way):
    """Go this way inside the block."""
    if not LOADED:
        tape.load()
        LOADED.append(tape.functions)
    before = tape.functions
    tape.functions = (None, None) if way == "python" else LOADED[0]
    tape.reset()
    assert (native.loop is not None) == (way == "native")
    try:
        yield
    finally:
        tape.functions = before
        tape.reset()


@pytest.fixture(params=["python", "native"])
def way(request):
    """A test that has this runs both ways."""
    with going(request.param):
        yield request.param


def assert_same(compute):
    """Both ways give the same arrays to the bit, and whatever else is returned."""
    found = []
    for each in ("python", "native", "native"):
        with going(each):
            found.append(compute())
    for expected, *others in zip(*found, strict=True):
        for other in others:
            if isinstance(expected, np.ndarray):
                assert other.dtype == expected.dtype and other.shape == expected.shape
                assert other.tobytes() == expected.tobytes(), (expected, other)
            else:
                assert other == expected


def leaf(*shape, dtype=np.float64, seed=0):
    return pb.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(dtype), requires_grad=True)


def several(x, y):
    a, b = pb.linalg.eigh(x @ x.T + y.sum())
    q = pb.stack([x[0], x[1] * 2]) @ y
    u = x * 1.0
    u[1:] += y[:2]
    return (a * b).sum() + q.sum() + (x.T * x.T).sum() + u.exp().mean() + x[[0, 0, 2], [1, 1, 1]].prod()


def parts(x, y):
    """Reads and assignments by everything that an index may be."""
    u, z = x * 1.0, y.reshape(-1) * 1.0
    rows = pb.tensor([2, 0, 2])
    total = u[1].sum() * u[-1, 2] + u[..., 0].sum() + (u[::-2, None, 1:] * u[0, 0]).sum() + u[3:].sum()
    total = total + (u[np.array([0, -1, 0])] * u[rows]).sum() + u[np.array([[1, 1], [0, 2]])].sum()
    total = total + (u.T[1] * u[2]).sum() + (u.T * x.reshape(9)[None, :3].T).sum() + x.reshape((1, 9)).sum()
    total = total + (pb.permute_dims(u[None], (2, 0, 1)) * u.T.reshape((3, 1, 3))).sum() + pb.squeeze(x[None], 0)[1, 1]
    for _ in range(2):
        u[1] = z[0]
        u[0, 1:] = z[3:5]
        u[-1, -1] = z[2] * z[2]
        u[:, 1] = 2.0
        z[4] = z[1] * z[1]
        z[6:9] = u[1] * 2
        z[np.array([5, 5, -3])] = u[2]
        z[rows] = u[0] * y[0]
        u[rows] = y * 3
        u[np.array([0, 2])] = y[0]
        z[z.detach() > 1.4] = y[0, 0]
        u[:2] *= y[0, 1]
    return total + (u * z[:3]).sum() + (z * z).sum() * u[0, 2] + z[rows].sum()


PROGRAMS = {
    "parts": parts,
    "a chain": lambda x, y: ((x * y).sin() + x).tanh().sum(),
    "many uses": lambda x, y: sum(((x * k + y) * x for k in range(1, 9)), x).sum(),
    "constants": lambda x, y: (x * 2.0 - y.detach() * x * y).sum(),
    "several results and parts": several,
    "broadcasting": lambda x, y: (x + y[0]).sum() + (x * y.sum()).mean() + (y[:, :1] - x).prod(),
    "a write": lambda x, y: (lambda h: (h.mul_(y), h * h)[1].sum())(x * 1.0),
    "long arrays": lambda x, y: (pb.ones(700) * x.sum() * pb.linspace(0.0, 1.0, 700) * y.sum()).sum(),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_the_same_to_the_bit(name, dtype):
    if dtype is np.complex128 and name == "several results and parts":
        pytest.skip("vectors of complex matrices have a phase of their own")

    def gradients():
        x, y = leaf(3, 3, dtype=dtype), leaf(3, 3, dtype=dtype, seed=1)
        out = PROGRAMS[name](x, y)
        out = out.real if dtype is np.complex128 else out
        out.backward(retain_graph=True)
        first = [x.grad.numpy().copy(), y.grad.numpy().copy()]
        out.backward()  # now there is something to add to
        again = pb.autograd.grad(PROGRAMS[name](x, y), [y, x], pb.ones((), dtype=dtype))
        return [*first, x.grad.numpy(), y.grad.numpy(), *(g.numpy() for g in again)]

    assert_same(gradients)


@pytest.mark.parametrize("seeds", range(4))
def test_random_reads_and_writes_have_the_same_gradients_to_the_bit(seeds):
    for seed in range(15 * seeds, 15 * (seeds + 1)):

        def gradients(seed=seed):
            seen, found = Program(seed).run(True, False)
            return [*seen, *found]

        assert_same(gradients)


def uses_of_one(x, rows, count):
    h = x * 1.0
    total = h[0] * h[1]
    for k in range(count):
        h[k] = total
        h[rows] = x[k : k + 2]
        total = total + h[k + 1] * h[rows].sum() + h[k : k + 2].sum()
    return total


def test_parts_of_a_buffer_are_no_work_for_python(way):
    x, rows, calls = leaf(40), pb.tensor([30, 31]), []
    for count in (5, 25):
        out, seen = uses_of_one(x, rows, count), [0]

        def note(frame, event, what, seen=seen):
            seen[0] += event == "call" and frame.f_code.co_name == "hand_on"

        sys.setprofile(note)
        try:
            out.backward()
        finally:
            sys.setprofile(None)
        calls.append(seen[0])
    assert (calls[0] == calls[1]) == (way == "native")


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
        for name in ("many uses", "several results and parts", "a write", "parts"):
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
        out = PROGRAMS["parts" if number % 2 else "many uses"](x, y)
        context = contextvars.copy_context()  # NumPy may fail to leave its own
        memory.set_nomemory(number, number + 1)
        try:
            context.run(out.backward)
        except (MemoryError, SystemError):  # `np.add.at` forgets to say which error it is
            pass
        finally:
            memory.remove_mem_hooks()
        x.grad = y.grad = None
    for a, b in zip(pb.autograd.grad(PROGRAMS["many uses"](x, y), [x, y]), expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_the_switch_turns_it_off_and_on(way):
    before = pb.set_native_eager(False)
    try:
        assert native.loop is None and native.prepare is None and not tape.is_on
    finally:
        pb.set_native_eager(before)
    assert (native.loop is not None) == tape.is_on == (way == "native")


def test_where_arrays_are_not_as_expected_python_goes_on(monkeypatch, caplog):
    monkeypatch.setattr("pullback.compiler.are_as_expected", lambda: False)
    with going("python"):
        tape.functions = None
        tape.load()
        assert native.loop is None and not tape.is_on and not caplog.records
        x = leaf(3)
        (x * x).sum().backward()


def test_it_is_loaded_after_many_nodes(monkeypatch):
    with going("python"):
        tape.functions = None
        monkeypatch.setattr(native, "left", 20)
        x = leaf(3)
        (x * x).sum().backward()
        assert native.loop is None
        for _ in range(7):
            (x * x).sum().backward()
        assert native.loop is not None


# Calls and formulas of elementwise operators.

DIRECT = [
    op for op in registry.values()
    if op.sample_rule is not None and op.fast_rules is None and call_rules(op) and direct(op) is not None
    and not op.is_view and op.num_outputs == 1
]  # fmt: skip
ELEMENTWISE = sorted(name for name, op in registry.items() if op.fast_rules is not None)
SHAPES = [(), (1,), (7,), (3, 5), (0, 2), (1100,)]
BROADCAST = [
    ((), (3,)), ((3, 4), (4,)), ((3, 1), (3, 4)), ((3, 1), (4,)), ((2, 1, 4), (3, 1)), ((1, 1), (5,)), ((0, 4), (4,)),
    ((2, 3, 4, 5), (3, 1, 5)), ((2, 1, 1, 1, 1, 1, 3), (3,)), ((30, 1), (40,)), ((1,), ()), ((3,), (4,)),
]  # fmt: skip
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e300, 1e-310, 3.0])


def outcome(f, *operands):
    """Value, gradients, and what NumPy has to complain about."""
    found = [pb.tensor(x, requires_grad=True) if isinstance(x, np.ndarray) else x for x in operands]
    tensors = [x for x in found if isinstance(x, pb.Tensor)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        out = f(*found)
        assert out.grad_fn is not None or not out.requires_grad
        if out.requires_grad:
            pb.autograd.backward(out, pb.ones(out.shape, dtype=out.dtype) * 0.7)
    gradients = [None if x.grad is None else x.grad.numpy() for x in tensors]
    return [out.detach().numpy(), *gradients, sorted(str(each.message) for each in said)]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operators_are_the_same_to_the_bit(name):
    op = registry[name]
    rng = np.random.default_rng(3)

    def outcomes(*operands):
        def compute():
            try:
                return outcome(op.call, *operands)
            except Exception as error:
                return [type(error).__name__, str(error)]

        assert_same(compute)

    for dtype in (np.float64, np.float32, np.float16):
        for shape in SHAPES:
            outcomes(*[rng.uniform(0.05, 0.95, shape).astype(dtype) for _ in op.operands])
        with np.errstate(all="ignore"):
            special = SPECIAL.astype(dtype)
        outcomes(*[special, special[::-1].copy()][: len(op.operands)])
        outcomes(*[np.asfortranarray(rng.uniform(0.05, 0.95, (3, 4)).astype(dtype)) for _ in op.operands])
        if len(op.operands) == 2:
            x = rng.uniform(0.05, 0.95, (6,)).astype(dtype)
            for number in (0.5, 3, 0.0, -0.0, 0, True, -2, 1e300, np.inf, np.nan, 10**400, np.float64(0.25)):
                outcomes(x, number)
                outcomes(number, x)
            outcomes(special, special[::-1, None].copy())
            for shapes in BROADCAST:
                for pair in (shapes, shapes[::-1]):
                    outcomes(*[rng.uniform(0.05, 0.95, shape).astype(dtype) for shape in pair])
            outcomes(x, x.astype(np.float64 if dtype == np.float32 else np.float32)[:, None])


VIEWS = [
    lambda x: x[1:-1, 1:9], lambda x: x[::2, ::3], lambda x: x.T[:9], lambda x: x[::-1], lambda x: x[:, 2],
    lambda x: x[:, None, :1], lambda x: x[2:3],
]  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_operands_and_gradients_that_are_views_are_read_in_numpys_order(name):
    op = registry[name]
    rng = np.random.default_rng(5)
    for dtype in (np.float64, np.float32):
        for number, first in enumerate(VIEWS):
            views = [first, VIEWS[(2 * number + 1) % len(VIEWS)]][: len(op.operands)]
            arrays = [rng.uniform(0.05, 0.95, (11, 20)).astype(dtype) for _ in views]

            def compute(arrays=arrays, views=views):
                leaves = [pb.tensor(x, requires_grad=True) for x in arrays]
                try:
                    out = op.call(*[view(x) for view, x in zip(views, leaves, strict=True)])
                except ValueError as error:
                    return [str(error)]
                if out.requires_grad:
                    (out.sum(0).sum() + (out * out)[..., ::2].sum()).backward()
                found = [None if x.grad is None else x.grad.numpy() for x in leaves]
                return [out.detach().numpy(), out.stride(), *found]

            with np.errstate(all="ignore"):
                assert_same(compute)


def test_the_gradient_of_a_sum_is_read_where_it_lies():
    def compute():
        x, y = leaf(3, 4), leaf(4, seed=1)
        total = (x * y).sum() + ((x / y) - y).sum(1).sum() + pb.exp(x).sum(0)[1]
        total.backward()
        return [total.detach().numpy(), x.grad.numpy(), y.grad.numpy()]

    assert_same(compute)


def of_views():
    x = leaf(4, 4)
    y = x * x
    z = (y[1] * x[2]) + y[3, 1:3].sum() * y.T[0] - x.detach() * 2
    z.sum().backward()
    return [z.detach().numpy(), x.grad.numpy()]


def of_views_of_what_was_written_since():
    x = leaf(4)
    h = x * 1.0
    v = h[1:3]
    h.mul_(2.0)
    out = v * v
    h[2] = x[0]
    (out.sum() + (v * h[0]).sum()).backward()
    return [out.detach().numpy(), x.grad.numpy()]


def of_values_that_are_written_over():
    x = leaf(4)
    h = x * 2.0
    out = (h * h).sin()
    h.add_(1.0)
    (out.sum() + h.sum()).backward()
    return [x.grad.numpy()]


@pytest.mark.parametrize("compute", [of_views, of_views_of_what_was_written_since, of_values_that_are_written_over])
def test_gradients_of_views_and_of_writes_are_the_same(compute):
    assert_same(compute)


def test_values_that_are_written_over_are_missed_where_that_is_asked_for(way):
    x = leaf(4)
    with pb.autograd.overwrite_policy("raise"):
        h = x * 2.0
        out = h * h
        h.add_(1.0)
        with pytest.raises(RuntimeError, match="inplace"):
            out.sum().backward()


def test_nodes_are_what_they_are_otherwise(way):
    x, y = leaf(3), leaf(3, seed=1)
    z, w = x * y.detach(), pb.exp(x * 3.0)
    node = z.grad_fn
    assert node.name() == "MulBackward0" and node._saved_self is None and len(node.next_functions) == 2
    np.testing.assert_array_equal(node._saved_other.numpy(), y.detach().numpy())
    assert node.next_functions[1] == (None, 0) and w.grad_fn.next_functions[0][0]._saved_other == 3.0
    np.testing.assert_array_equal(w.grad_fn._saved_result.detach().numpy(), w.detach().numpy())
    assert z.grad_fn._sequence_nr() < w.grad_fn._sequence_nr()
    w.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        w.sum().backward()


def test_modes_are_asked(way):
    x = leaf(3)
    with pb.no_grad():
        assert not (x * x).requires_grad
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 0, lambda t: t + 7):
        y = (x * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 14)
    np.testing.assert_array_equal(pb.func.jvp(lambda x: x * x, (x.detach(),), (pb.ones(3),))[1].numpy(),
                                  2 * x.detach().numpy())  # fmt: skip
    assert pb.func.vmap(lambda x: x * x)(x.detach()).shape == (3,)
    second = pb.autograd.grad(pb.autograd.grad((x * x * x).sum(), x, create_graph=True)[0].sum(), x)[0]
    np.testing.assert_allclose(second.numpy(), 6 * x.detach().numpy())


def test_numpy_complains_as_it_is_told(way):
    x = pb.tensor([0.0, 1.0], requires_grad=True)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        1.0 / x
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf((1.0 / x).detach().numpy()[0])


def test_other_operands_go_the_usual_way(way):
    x = leaf(3)
    with pytest.raises(TypeError):
        pb.multiply(x)
    with pytest.raises(TypeError):
        x * {}
    assert (x * np.ones(3)).shape == (3,) and (x * [1.0, 2.0, 3.0]).requires_grad


def test_calls_do_not_leak(way):
    x, y = leaf(3), leaf(3, seed=1)

    def once():
        for h in (x * y, x[1:] * 2.5, pb.sin(x), x * 0.0, 1.0 / x, x.detach() * y.detach(), x[0] * x[1]):
            h * h

    once()
    gc.collect()
    before = len(gc.get_objects()), sys.getrefcount(None), sys.getrefcount(np.dtype(float))
    for _ in range(200):
        once()
    gc.collect()
    after = len(gc.get_objects()), sys.getrefcount(None), sys.getrefcount(np.dtype(float))
    assert all(b < a + 100 for a, b in zip(before, after, strict=True)), (before, after)


# Calls of other operators.

FAMILIES = {
    **{name: (f, *operands) for name, (f, *operands) in small_programs.items()},
    "sums": (lambda x: x.sum() * x.sum(0).sum() + x.mean(-1).prod(), (4, 5)),
    "sums of columns": (lambda x: pb.sum(x.T * 2, axis=0), (4, 5)),
    "products": (lambda x, y: (x @ y[0]) * (y @ x.T).sum() + x[0] @ y[1], (4, 5), (3, 5)),
    "a part of the gradients": (lambda x, y: x.detach() @ y + x @ y.detach(), (3, 3), (3, 3)),
    "numbers beside": (lambda x: pb.where(x > 1, x, 0.5).sum() + pb.clip(x, 0.7, None).prod(), (4,)),
    "integers": (lambda x: pb.sum(pb.tensor([1, 2, 3])) * x + pb.cumsum(pb.arange(3), 0)[2], (3,)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_other_operators_are_the_same_to_the_bit(name):
    f, *operands = FAMILIES[name]
    rng = np.random.default_rng(5)
    arrays = [each if isinstance(each, np.ndarray) else rng.uniform(0.5, 1.5, each) for each in operands]
    assert_same(lambda: outcome(f, *arrays))


@pytest.mark.parametrize("name", ["softmax", "std", "cumsum", "norm"])
def test_kinds_of_calls_that_are_native_are_the_same_to_the_bit(name, monkeypatch):
    monkeypatch.setattr(small, "CALLS", 2)
    monkeypatch.setattr(small, "_WORTH", np.inf)
    monkeypatch.setattr(large, "IMPORT_SECONDS", 0.0)
    f, shape = small_programs[name]
    x = np.random.default_rng(6).uniform(0.5, 1.5, tuple(n + 6 for n in shape))
    for _ in range(4):
        outcome(f, x)
    assert_same(lambda: outcome(f, x))


def test_a_parameter_too_many_and_a_singular_matrix_are_errors_as_always(way):
    x = leaf(3, 3)
    with pytest.raises(TypeError):
        pb.matmul(x, x, axis=1)
    with pytest.raises(np.linalg.LinAlgError):
        pb.linalg.inv(x * 0.0)
    with pytest.raises(ValueError, match="matmul"):
        x @ leaf(4)


# Other operators.


@pytest.mark.parametrize("op", DIRECT, ids=lambda op: op.name)
def test_samples_of_other_operators_are_the_same_to_the_bit(op):
    for sample in itertools.islice(samples_of(op), 4):
        operands = sample.inputs()

        def compute(operands=operands, params=sample.params):
            given = [x if not isinstance(x, np.ndarray) else pb.tensor(x, requires_grad=x.dtype.kind == "f")
                     for x in operands]  # fmt: skip
            out = op.run(tuple(given), dict(params))
            if out.requires_grad:
                out.backward(pb.ones(out.shape, dtype=out.dtype) * 0.7)
            found = [dense(x.grad) for x in given if isinstance(x, pb.Tensor)]
            return [out.detach().numpy(), out.stride(), type(out.grad_fn), *found]

        assert_same(compute)


SHARED = [op for op in registry.values() if op.share is not None]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of nothing
@pytest.mark.parametrize("op", SHARED, ids=lambda op: op.name)
def test_shares_of_a_gradient_are_the_same_to_the_bit(op):
    rng = np.random.default_rng(6)
    for dtype in (np.float64, np.float32, np.float16):
        for shape in ((), (1,), (5,), (3, 4), (2, 1, 3), (2, 3, 4, 5), (0, 3), (700,), (2,) * 7):
            x = rng.standard_normal(shape).astype(dtype)
            for axis in (None, *range(len(shape)), (0, -1)[: len(shape)]):
                for options in ({}, {"keepdims": True}, {"dtype": np.float64}):

                    def compute(x=x, axis=axis, options=options):
                        leaf = pb.tensor(x, requires_grad=True)
                        try:
                            out = op.function(leaf, axis, **options)
                        except Exception as error:
                            return [str(error)]
                        weights = np.linspace(0.5, 1.5, out.size).reshape(out.shape).astype(out.dtype)
                        out.backward(pb.tensor(weights.T.copy().T))
                        first, leaf.grad = leaf.grad.numpy(), None
                        (op.function(leaf, axis, **options) * 2.0).sum().backward()
                        return [first, leaf.grad.numpy()]

                    assert_same(compute)


def test_arguments_that_are_known_mean_what_they_mean_in_python():
    x = leaf(3, 4)

    def compute():
        found = []
        for _ in range(2):  # the second time they are known
            for axis in (0, 1, -1, True, None, 0.0, (0, 1), np.int64(1), "no axis"):
                for options in ({}, {"keepdims": True}, {"keepdims": 1}, {"keepdims": False}, {"dtype": np.float32}):
                    try:
                        out = x.sum(axis, **options)
                        found += [out.detach().numpy(), out.requires_grad]
                    except Exception as error:
                        found.append(f"{type(error).__name__}: {error}")
        return found

    assert_same(compute)


# Where the code comes from.

WITHOUT = {
    "llvmlite": "sys.modules['llvmlite'] = None",
    "object code": "shipped._code_of = lambda file: None",
}
PROGRAM = """
import sys
import numpy as np
import pullback as pb
from pullback.compiler.machine import shipped
from pullback.eager.native_tape import NODES, tape
{without}
x = pb.tensor(np.arange(1.0, 4.0), requires_grad=True)
for _ in range(NODES // 100 + 1):
    x.grad = None
    y = x
    for _ in range(100):
        y = y * 1.0
    (y * y).sum().backward()
assert tape.is_on
x.grad = None
(x * x).sum().backward()
print(x.grad.numpy().tolist(), sys.modules.get("llvmlite") is not None)
"""


@pytest.mark.skipif(not (sys.platform == "linux" and platform.machine() == "x86_64"), reason="there is no object code")
@pytest.mark.parametrize("without", WITHOUT)
def test_a_process_that_has_visited_some_nodes_has_native_code_without(without):
    program = PROGRAM.format(without=WITHOUT[without])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"[2.0, 4.0, 6.0] {without == 'object code'}\n", done.stderr
