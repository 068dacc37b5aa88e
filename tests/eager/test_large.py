"""Tensors of large arrays: native kernels and formulas, when they are used, and the switch.

Kernels by themselves are compared with NumPy's in tests/compiler/test_llvm_ufuncs.py.
"""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import pullback as pb
from pullback import compiler
from pullback.compiler.machine import structs
from pullback.core.spec import LARGE, spec_for
from pullback.core.threads import sums
from pullback.declare.samples import Maker
from pullback.eager import large, native
from tests.operators.declared import registry

LENGTH = (1 << 16) + 5
OPS = [op for op in registry.values() if op.fast_rules is not None]
FLOATS = (np.float32, np.float64)
needs_structs = pytest.mark.skipif(
    not structs.are_as_expected(), reason="native code does not know the objects of this interpreter, as without a GIL"
)


@pytest.fixture(autouse=True)
def eager_natives(monkeypatch):
    """Native code from the first call on; everything as before afterwards."""
    monkeypatch.setattr(large, "IMPORT_SECONDS", 0.0)
    monkeypatch.setattr(large, "COMPILE_SECONDS", 0.0)
    before = large.set_native_eager(True)
    yield
    large.set_native_eager(before)


def forget(op):
    """Let an operator begin as in a new process."""
    meter = large.kernel_meter(op)
    meter.made = None
    meter.reset()


def gradients(op, given, cotangent):
    leaves = [pb.tensor(x, requires_grad=True) if isinstance(x, np.ndarray) else x for x in given]
    out = op.function(*leaves)
    with np.errstate(all="ignore"):
        out.backward(pb.tensor(cotangent))
    return out.detach().numpy(), [x.grad.numpy() for x in leaves if isinstance(x, pb.Tensor)]


def close(found, expected, atol=1e-30):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=40 * np.finfo(found.dtype).eps, atol=atol)


def close_gradient(found, expected):
    """A formula may subtract what is nearly equal (`sigmoid(x) - y`), so the largest element is the measure."""
    close(found, expected, atol=4 * np.finfo(found.dtype).eps * np.abs(expected[np.isfinite(expected)]).max())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_gradients_are_those_of_numpy(op, dtype):
    """Tensors and numbers, in both orders; the second pass is the first with native formulas."""
    rng = np.random.default_rng(5)
    sample = next(s for s in op.sample_rule(Maker(op.name)) if s.label == "matrix")
    given = [np.resize(np.ravel(x), LARGE).astype(dtype) for x in sample.operands]
    cotangent = rng.standard_normal(LARGE).astype(dtype)
    for case in [given, [given[0], 0.75], [0.75, given[-1]]][: 3 if len(given) == 2 else 1]:
        large.set_native_eager(False)
        expected, wanted = gradients(op, case, cotangent)
        large.set_native_eager(True)
        for _ in range(2):
            found, grads = gradients(op, case, cotangent)
        close(found, expected)
        for g, w in zip(grads, wanted, strict=True):
            close_gradient(g, w)


def chain(x, y):
    h = pb.sin(x * y) + y
    h = pb.exp(h * 0.5) / (y + 2.0)
    return pb.tanh(h) * h - x


@needs_structs
def test_transforms_and_modes_use_the_same_kernels():
    x, y = (np.random.default_rng(k).uniform(0.5, 1.5, LARGE) for k in (1, 2))

    def all_of_them():
        total = lambda x, y: chain(x, y).sum()
        with pb.no_grad():
            plain = chain(pb.tensor(x), pb.tensor(y)).numpy()
        reverse = pb.func.grad(total)(x, y)
        forward = pb.func.jvp(lambda x: chain(x, y), (x,), (y,))[1]
        views = chain(pb.tensor(x).reshape(64, -1).T, pb.tensor(y).reshape(64, -1).T).numpy()
        return [plain, np.asarray(reverse), np.asarray(forward), views]

    large.set_native_eager(False)
    expected = all_of_them()
    large.set_native_eager(True)
    for _ in range(2):
        found = all_of_them()
    assert registry["sin"].native is not None
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_higher_derivatives_and_kept_graphs():
    values = np.linspace(0.5, 1.5, LARGE)

    def second():
        x = pb.tensor(values, requires_grad=True)
        y = pb.sin(x) * pb.exp(x)
        (first,) = pb.autograd.grad(y.sum(), x, create_graph=True)
        return pb.autograd.grad(first.sum(), x, retain_graph=True)[0].numpy()

    for _ in range(2):
        found = second()
    np.testing.assert_allclose(found, 2 * np.cos(values) * np.exp(values), rtol=1e-12, atol=1e-13)


@pb.autograd.overwrite_policy("raise")
def test_writes_in_place_and_the_checks_of_saved_values():
    values = np.linspace(0.5, 1.5, LENGTH)
    x = pb.tensor(values, requires_grad=True)
    for _ in range(2):
        h = x * 2.0
        h += x
        h.exp_()
    np.testing.assert_allclose(h.detach().numpy(), np.exp(3 * values), rtol=1e-14)
    h.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.exp(3 * values), rtol=1e-13)
    y = pb.tensor(values)
    out = (x * y).sum()
    y += 1
    with pytest.raises(pb.AutogradError):
        out.backward()


def test_sums_of_gradients():
    values = np.linspace(0.5, 1.5, LENGTH)
    for _ in range(2):
        x = pb.tensor(values, requires_grad=True)
        ((x * x + x) * x + x).sum().backward()
    assert sums.large_add is not np.add
    np.testing.assert_allclose(x.grad.numpy(), 3 * values**2 + 2 * values + 1, rtol=1e-14)


@needs_structs
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_functions_of_rows_use_the_native_exponential(name, dtype):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((300, 200)).astype(dtype)
    values[3], values[4, 5], values[5, 6] = -np.inf, np.inf, np.nan
    weights = rng.standard_normal((300, 200)).astype(dtype)

    def both():
        x = pb.tensor(values, requires_grad=True)
        with np.errstate(all="ignore"):
            out = getattr(pb, name)(x, axis=1)
            (out * pb.tensor(weights[:, : out.shape[1] if out.ndim == 2 else 1].reshape(out.shape))).sum().backward()
        return out.detach().numpy(), x.grad.numpy()

    large.set_native_eager(False)
    expected = both()
    large.set_native_eager(True)
    for _ in range(2):
        found = both()
    assert registry["exp"].native is not None
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=60 * np.finfo(dtype).eps, atol=30 * np.finfo(dtype).eps)


# The switch, and what it costs.


@needs_structs
def test_one_thread_leaves_arithmetic_to_numpy():
    add, sin = (native.native_kernels(registry[name], is_alone=True) for name in ("add", "sin"))
    assert add.any_size is np.add and add.large is not np.add
    assert sin.any_size is not np.sin
    x = np.ones(LENGTH)
    np.testing.assert_array_equal(add.large(x, x), x + x)


def test_specs_know_which_arrays_are_large():
    assert spec_for((LARGE - 1,), np.dtype("f8")).is_plain
    assert not spec_for((2, LARGE), np.dtype("f4")).is_plain
    assert spec_for((LARGE,), np.dtype("f2")).is_plain and spec_for((LARGE,), np.dtype("g")).is_plain
    assert not spec_for((3,), np.dtype("D")).is_plain


@needs_structs
def test_the_switch():
    x = pb.tensor(np.ones(LENGTH))
    assert pb.is_native_eager()
    pb.sin(x)
    assert registry["sin"].native is not None
    assert pb.set_native_eager(False) is True
    assert registry["sin"].native is None and not pb.is_native_eager()
    np.testing.assert_array_equal(pb.sin(x).numpy(), np.sin(x.numpy()))
    assert registry["sin"].native is None
    assert sums.add is sums.large_add is np.add
    pb.set_native_eager(True)
    pb.sin(x)
    assert registry["sin"].native is not None


def test_small_arrays_stay_with_numpy_to_the_bit():
    pb.sin(pb.tensor(np.ones(LENGTH)))
    x = np.random.default_rng(0).uniform(-100, 100, LARGE - 1)
    np.testing.assert_array_equal(pb.sin(pb.tensor(x)).numpy(), np.sin(x))


def test_a_failure_is_told_and_numpy_goes_on(monkeypatch, caplog):
    def fail(*args):
        raise RuntimeError("no code today")

    monkeypatch.setattr(compiler, "twin", fail, raising=False)
    forget(registry["cos"])
    x = np.linspace(0, 1, LENGTH)
    with caplog.at_level("WARNING", "pullback.autograd"):
        np.testing.assert_array_equal(pb.cos(pb.tensor(x)).numpy(), np.cos(x))
        np.testing.assert_array_equal(pb.cos(pb.tensor(x)).numpy(), np.cos(x))
    assert caplog.text.count("no code today") == 1
    forget(registry["cos"])


def test_without_llvmlite_numpy_goes_on(monkeypatch, caplog):
    def missing(*args):
        raise ImportError("No module named 'llvmlite'")

    monkeypatch.setattr(compiler, "twin", missing, raising=False)
    monkeypatch.setattr(large.state, "failed", False)
    forget(registry["cos"])
    with caplog.at_level("INFO", "pullback.autograd"):
        pb.cos(pb.tensor(np.ones(LENGTH)))
    assert large.state.failed and "llvmlite" in caplog.text
    forget(registry["cos"])


def run(code, **environment):
    everything = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, env=everything)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


_PROGRAM = """
import sys
import numpy as np
import pullback as pb
x = pb.tensor(np.ones({size}), requires_grad=True)
for _ in range({times}):
    pb.sin(x).sum().backward()
print("llvmlite" in sys.modules)
"""


def test_llvmlite_is_imported_only_when_it_pays():
    assert run(_PROGRAM.format(size=100_000, times=2)) == "False"
    assert run(_PROGRAM.format(size=1_000_000, times=40)) == "True"
    assert run(_PROGRAM.format(size=1_000_000, times=40), PULLBACK_NATIVE_EAGER="0") == "False"


def test_many_threads_of_python():
    values = np.linspace(0.5, 1.5, LENGTH)
    expected = np.exp(np.sin(values) * values)
    wrong = []

    def work():
        for _ in range(5):
            x = pb.tensor(values, requires_grad=True)
            out = pb.exp(pb.sin(x) * x)
            out.sum().backward()
            if not np.allclose(out.detach().numpy(), expected, rtol=1e-13):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("dtype", FLOATS)
def test_choices_are_numpys(dtype):
    """`where` and `clip`: arrays, numbers, and what native code leaves to NumPy."""
    rng = np.random.default_rng(8)
    x, y = (rng.standard_normal(LENGTH).astype(dtype) for _ in range(2))
    x[::7], x[3::11], x[5::13] = np.nan, -0.0, np.inf
    mask = x > y
    rows, column = x[: 256 * 256].reshape(256, 256), y[:256]
    for _ in range(2):  # the second time with native code
        for chosen, args in [
            (np.where, (mask, x, y)), (np.where, (mask, x, 0)), (np.where, (mask, 0.5, y)),
            (np.where, (mask[: 256 * 256].reshape(256, 256), rows, column)), (np.where, (mask[::2], x[::2], y[::2])),
            (np.where, (mask, x, y.astype(np.float64))), (np.where, (mask.astype(np.int8), x, y)),
            (np.clip, (x, -0.5, 0.5)), (np.clip, (x, y, 1)), (np.clip, (x, None, 0.5)), (np.clip, (rows, 0.0, column)),
            (np.clip, (x, 0.5, np.nan)), (np.clip, (x, 1.0, -1.0)),
        ]:  # fmt: skip
            given = [pb.tensor(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
            found, expected = getattr(pb, chosen.__name__)(*given).numpy(), chosen(*args)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    assert registry["where"].native.__name__ == registry["clip"].native.__name__ == "compute"
    large.set_native_eager(False)
    assert registry["where"].native is None


def test_native_choices_are_between_arrays_of_one_shape_and_dtype():
    x, mask = np.ones((2, 3), np.float32), np.ones((2, 3), bool)
    choice = (True, False, False)
    found = native._of_one_kind((mask, x, 0.5), x.shape, choice)
    assert found[0] is mask and found[1] is x and found[2].dtype == np.float32 and found[2] == 0.5
    assert native._of_one_kind((x, 1, x), x.shape, (False, False, False)) is not None
    for others in [
        (mask.astype(np.int8), x, x), (mask, x, x.astype(float)), (mask, x, x[0]), (mask[0], x, x), (True, x, x),
        (mask, x, "a"), (mask, 1, 2), (mask, x.astype(int), x.astype(int)),
    ]:  # fmt: skip
        assert native._of_one_kind(others, x.shape, choice) is None
