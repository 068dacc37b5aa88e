"""Conformance cases 102 to 120: opcheck, primitives, callbacks and interactions."""

import ctypes
import threading

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as ss
import scipy.sparse.linalg as sl
import scipy.special as sp

import pullback as pb
from pullback.func import jvp, vmap
from pullback.library import FakeMismatchError, OpCheckError, custom_op, opcheck, primitive, pure_callback
from pullback.testing import assert_close
from pullback.utils.checkpoint import checkpoint
from tests.conformance.custom_ops import T3, P, bare, cube, name, op, save_input, sq

pytestmark = pytest.mark.filterwarnings("ignore::pullback.errors.PerformanceWarning")


def P64():
    return pb.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_102_an_honest_operator():
    found = opcheck(cube(), (P64(),), test_utils="ALL")
    assert set(found.values()) == {"SUCCESS"} and len(found) == 10


def test_103_a_write_through_a_pointer():
    def f(x: np.ndarray) -> np.ndarray:
        out = x.copy()
        pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        pointer[0] *= 2
        return out

    with pytest.raises(OpCheckError, match=r"test_schema failed with .*x is not defined as mutable but was mutated"):
        opcheck(op(f), (pb.zeros(3),))


def test_104_wrong_formulas_and_fakes():
    made = cube()
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] ** 2 * g, setup_context=save_input)
    with pytest.raises(OpCheckError, match="test_gradcheck failed"):
        opcheck(made, (P64(),))
    made = cube()
    made.register_fake(lambda x: pb.empty(x.shape, dtype=pb.float32))
    with pytest.raises(OpCheckError, match=r"test_fake failed with .*Dtypes"):
        opcheck(made, (P64(),))


def test_105_what_opcheck_takes():
    with pytest.raises(ValueError, match="rtol"):
        opcheck(cube(), (P64(),), rtol=1e-3)
    with pytest.raises(ValueError, match="subset of"):
        opcheck(cube(), (P64(),), test_utils="test_nothing")
    with pytest.raises(ValueError):
        opcheck(np.sin, (P64(),))

    def f(x: np.ndarray) -> np.ndarray:
        return x + 1

    custom_op("case105::f", f, mutates_args=())
    assert opcheck(pb.ops.case105.f, (T3(),), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    custom_op("case105::f.other", f, mutates_args=())
    with pytest.raises(RuntimeError, match="without overloads"):
        opcheck(pb.ops.case105.f, (T3(),))


def test_106_failures_as_results():
    made = cube()
    made.register_fake(lambda x: pb.empty(7))
    found = opcheck(made, (P64(),), raise_exception=False)
    assert found["test_schema"] == "SUCCESS" and isinstance(found["test_fake"], RuntimeError)


def bessel():
    @primitive(elementwise=True, name=name())
    def jv(n, x):
        return sp.jv(n, x)

    return jv.defpartials(None, lambda ans, n, x: 0.5 * (jv(n - 1, x) - jv(n + 1, x)))


def test_107_partials_are_enough():
    jv, x = bessel(), P64()
    assert pb.autograd.gradcheck(lambda v: jv(2, v), (x,), check_forward_ad=True)
    assert pb.autograd.gradgradcheck(lambda v: jv(2, v), (x,))
    x = x.detach()
    assert_close(jvp(lambda v: jv(0, v), (x,), (T3(),))[1], -sp.j1(x.numpy()))
    assert_close(vmap(lambda n, v: jv(n, v), in_dims=(0, None))(pb.arange(2.0), x), sp.jv([[0], [1]], x.numpy()))
    assert jv.specs(2, pb.ones((2, 1), dtype=pb.float32)) == pb.ShapeDtype((2, 1), pb.float32)
    assert jv(2, pb.ones(3, dtype=pb.float32)).dtype == pb.float32


def product():
    @primitive(name=name())
    def f(x, y):
        return x * y

    return f


def test_108_rules_by_position():
    made = product().defvjp(lambda ans, x, y: lambda g: g * y)
    x, y = P64(), P64()
    made(x, y.detach()).sum().backward()
    assert_close(x.grad, y)
    with pytest.raises(NotImplementedError, match="position 1"):
        made(x, y).sum().backward()
    made.defvjp(lambda ans, x, y: lambda g: g * x, argnums=(1,))
    assert pb.autograd.gradcheck(made, (x, y), check_forward_ad=True) and pb.autograd.gradgradcheck(made, (x, y))


def test_109_keywords_are_not_differentiated():
    with pytest.raises(TypeError, match="positionally"):
        product()(T3(), y=P())


def test_110_views_are_copied():
    @primitive(name=name())
    def f(x):
        return x.reshape(-1)

    x = T3()
    out = f(x)
    x.add_(1)
    assert out.tolist() == [1.0] * 3


def test_111_residuals():
    kernel_runs = []

    @primitive(name=name())
    def solve(A, b):
        kernel_runs.append(1)
        return sla.solve(A, b)

    @primitive(name=name())
    def cho_apply(c, low, b):
        return sla.cho_solve((c, low), b)

    cho_apply.defjvp(None, None, "same").defvjp(None, None, lambda ans, c, low, b: lambda g: cho_apply(c, low, g))

    def fwd(A, b):
        c, low = sla.cho_factor(A)
        x = sla.cho_solve((c, low), b)
        return x, (c, low, x)

    def bwd(residuals, g):
        c, low, x = residuals
        lam = cho_apply(c, low, g)
        return -pb.outer(lam, x), lam

    solve.defvjp_all(fwd, bwd)
    A = pb.tensor(np.eye(3) * 3 + 0.1, requires_grad=True)
    b = P64()
    f = lambda A, b: solve((A + A.T) / 2, b)
    f(A, b).sum().backward()
    assert kernel_runs == []
    assert pb.autograd.gradcheck(f, (A, b))
    with pytest.raises(RuntimeError, match="saved intermediate"):
        pb.autograd.gradgradcheck(f, (A, b))
    assert_close(vmap(pb.func.grad(lambda b: solve(A.detach(), b).sum()))(pb.ones((2, 3))),
                 np.linalg.solve(A.detach().numpy(), np.ones((3, 2))).T)  # fmt: skip
    solve.defvjp_all(lambda A, b: 3, bwd)
    with pytest.raises(TypeError, match=r"\(output, residuals\)"):
        f(A, b)
    solve.defvjp_all(fwd, lambda residuals, g: (g,))
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        f(A, b).sum().backward()


@pb.autograd.overwrite_policy("raise")
def test_112_hooks_and_versions():
    packed = []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        sq()(P()).sum()
    assert len([t for t in packed if t.shape == (3,)]) == 1
    made = product().defvjp(lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    x, y = P(), P() * 1
    out = made(x, y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_113_checkpoint():
    kernels, setups = [], []

    def f(x: np.ndarray) -> np.ndarray:
        kernels.append(1)
        return x * x

    def setup(ctx, inputs, output):
        setups.append(1)
        ctx.save_for_backward(*inputs)

    made = op(f)
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=setup)
    x = P64()
    checkpoint(made, x).sum().backward()
    assert_close(x.grad, 2 * x.detach())
    assert (len(kernels), len(setups)) == (2, 2)


@pytest.mark.parametrize("around", ["nothing", "no_grad", "hooks", "kernel"])
def test_113_an_ordered_effect_is_not_checkpointed(around):
    runs = []

    def f(x: np.ndarray) -> np.ndarray:
        runs.append(1)
        return x * 2

    made = op(f)
    made.register_autograd(lambda ctx, g: 2 * g)
    made.register_effect("ordered")

    def g(x: pb.Tensor) -> pb.Tensor:
        return made(x).detach()

    outer = op(g)

    def body(x):
        if around == "no_grad":
            with pb.no_grad():
                return x * made(x)
        if around == "hooks":
            with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                return made(x) ** 2
        return outer(x) if around == "kernel" else made(x) ** 2

    x = P64()
    with pytest.raises(RuntimeError, match="ordered effect and is called inside a checkpoint"):
        checkpoint(body, x)
    assert not runs
    with pb.no_grad():
        checkpoint(body, x)  # a plain call
    with pb.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        made(x)
    made(checkpoint(pb.sin, x))
    assert len(runs) == 3
    made.register_effect(None)
    checkpoint(made, x).sum().backward()


def test_113_an_ordered_callback_is_not_checkpointed():
    def body(x):
        pb.library.io_callback(print, None, x.detach())
        return x * x

    with pytest.raises(RuntimeError, match="ordered effect"):
        checkpoint(body, P64())


@pytest.mark.filterwarnings("ignore")
def test_114_anomaly_mode_names_the_node():
    made = bare()
    made.register_autograd(lambda ctx, g: g * float("nan"))
    with pb.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="GeneratedBackwardFor_case"):
        made(P()).sum().backward()


def test_115_errors_of_kernels_are_not_wrapped():
    def f(x: np.ndarray) -> np.ndarray:
        raise ValueError("mine")

    for x in (T3(), P()):
        with pytest.raises(ValueError, match=r"^mine$") as caught:
            op(f)(x)
        assert caught.type is ValueError


def test_116_callbacks():
    with pytest.raises(FakeMismatchError):
        pure_callback(lambda x: x[:2], pb.ShapeDtype(3), T3())
    with pytest.raises(FakeMismatchError):
        pure_callback(lambda x: x.astype("f"), pb.ShapeDtype(3), T3())
    with pytest.raises(RuntimeError, match="use primitive"):
        pure_callback(np.sort, pb.ShapeDtype(3), P())
    with pytest.raises(NotImplementedError):
        vmap(lambda x: pure_callback(np.sort, pb.ShapeDtype(3), x))(pb.ones((2, 3)))
    x = pb.tensor([[2.0, 1.0], [4.0, 3.0]])
    for method in ("sequential", "expand_dims", "broadcast_all"):
        out = vmap(lambda v: pure_callback(np.sort, pb.ShapeDtype(2), v, vmap_method=method))(x)  # noqa: B023
        assert_close(out, np.sort(x.numpy()))
    tree = {"low": pb.ShapeDtype(()), "high": pb.ShapeDtype(())}
    found = pure_callback(lambda v: {"low": v.min(), "high": v.max()}, tree, T3())
    assert found["low"].item() == found["high"].item() == 1.0
    seen = []
    pb.library.io_callback(lambda v: seen.append(v.sum()), None, T3())
    assert seen == [3.0]
    with pytest.raises(RuntimeError, match="ordered"):
        vmap(lambda v: (pb.library.io_callback(seen.append, None, v), v)[1])(x)


def test_117_operators_inside_kernels_are_not_recorded():
    inner = sq()

    def f(x: pb.Tensor) -> pb.Tensor:
        assert not pb.is_grad_enabled()
        return inner(x) + 1

    out = op(f)(P())
    with pytest.raises(RuntimeError, match="no autograd formula"):
        out.sum().backward()


def test_118_threads():
    made = sq()
    results = []

    def work():
        leaf = P64()
        for _ in range(50):
            made(leaf).sum().backward()
        results.append(leaf.grad.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[100.0, 200.0, 300.0]] * 4


def test_119_one_tensor_in_two_places():
    made = product().defvjp(lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    x = P64()
    made(x, x).sum().backward()
    assert_close(x.grad, 2 * x.detach())


def spsolve_op():
    @custom_op(name(), mutates_args=())
    def spsolve(
        vals: np.ndarray, row: np.ndarray, col: np.ndarray, b: np.ndarray, trans: bool = False
    ) -> np.ndarray:
        A = ss.csc_matrix((vals, (row, col)), (b.shape[0],) * 2)
        return sl.splu(A).solve(b, "T" if trans else "N")

    def setup(ctx, inputs, output):
        vals, row, col, _, ctx.trans = inputs
        ctx.save_for_backward(vals, row, col, output)

    def backward(ctx, g):
        vals, row, col, x = ctx.saved_tensors
        lam = spsolve(vals, row, col, g, not ctx.trans)
        i, j = (col, row) if ctx.trans else (row, col)
        return -(lam[i] * x[j]), None, None, lam, None

    spsolve.register_autograd(backward, setup_context=setup)
    return spsolve


def test_120_the_examples_of_the_specification():
    spsolve = spsolve_op()
    row, col = pb.tensor([0, 1, 2, 0]), pb.tensor([0, 1, 2, 2])
    vals = pb.tensor([2.0, 3.0, 4.0, 0.5], requires_grad=True)
    f = lambda vals, b: spsolve(vals, row, col, b)
    assert pb.autograd.gradcheck(f, (vals, P64())) and pb.autograd.gradgradcheck(f, (vals, P64()))

    @custom_op(name(), mutates_args=(), tags="pointwise")
    def polygamma(n: int, x: np.ndarray) -> np.ndarray:
        return sp.polygamma(n, x).astype(x.dtype, copy=False)

    def setup(ctx, inputs, output):
        ctx.n = inputs[0]
        ctx.save_for_backward(inputs[1])

    polygamma.register_autograd(
        lambda ctx, g: (None, g * polygamma(ctx.n + 1, ctx.saved_tensors[0])), setup_context=setup
    )
    g = lambda x: polygamma(1, x)
    assert pb.autograd.gradcheck(g, (P64(),)) and pb.autograd.gradgradcheck(g, (P64(),))

    @custom_op(name(), mutates_args=("x",))
    def scale_(x: np.ndarray, a: float) -> None:
        c = np.ascontiguousarray(x)
        c *= a
        if not np.shares_memory(c, x):
            x[...] = c

    x = pb.ones((4, 2))
    scale_(x[::2, 0], 3.0)
    assert x.tolist() == [[3.0, 1.0], [1.0, 1.0], [3.0, 1.0], [1.0, 1.0]] and x._version == 1
