"""Conformance cases 86 to 98: fakes, kernels, vmap and forward mode."""

import contextvars
import logging
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.errors import PerformanceWarning
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from pullback.library import custom_op, define, get_ctx
from pullback.testing import assert_close
from tests.conformance.custom_ops import T3, P, bare, cube, name, op, save_input, sq

pytestmark = pytest.mark.filterwarnings("ignore::pullback.errors.PerformanceWarning")


def unary(x: np.ndarray) -> np.ndarray:
    return x * 2


def test_086_shapes_need_a_fake():
    with pytest.raises(RuntimeError, match="no fake impl"):
        op(unary).specs(T3())

    def writes(x: np.ndarray) -> None: ...

    assert op(writes, ("x",)).specs(T3()) is None
    assert sq().specs(T3()) == pb.ShapeDtype(3, pb.float64)
    pointwise = op(unary, tags="pointwise")
    assert pointwise.specs(pb.ones((2, 3), dtype=pb.float32)) == pb.ShapeDtype((2, 3), pb.float32)


def test_086_a_fake_has_no_data():
    made = op(unary)
    made.register_fake(lambda x: pb.empty(int(x.sum())))
    with pytest.raises(RuntimeError, match="data-dependent"):
        made.specs(T3())
    made.register_fake(lambda x: pb.sin(x).reshape(-1, 1) + pb.ones((1, 4)))
    assert made.specs(T3()) == pb.ShapeDtype((3, 4), pb.float64)


def nonzero(x: np.ndarray) -> np.ndarray:
    return np.flatnonzero(x)


def test_087_sizes_that_depend_on_data():
    made = op(nonzero)
    made.register_fake(lambda x: pb.empty(get_ctx().new_dynamic_size(), dtype=pb.int64))
    with pytest.raises(RuntimeError, match=r"data-dependent shape(.|\n)*test_custom_ops_systems.py:\d+"):
        made.specs(T3())
    made.register_fake(lambda x: pb.empty(get_ctx().new_dynamic_size(min=-1), dtype=pb.int64))
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        made.specs(T3())
    with pytest.raises(RuntimeError):
        get_ctx()


def test_088_a_wrong_fake_does_not_touch_eager_calls():
    made = op(unary)
    made.register_fake(lambda x: pb.empty(7))
    assert made(T3()).tolist() == [2.0] * 3


def test_089_kernels_are_replaced():
    for devices in (None, ("cpu", "meta")):
        made = custom_op(name(), unary, mutates_args=(), device_types=devices)
        assert made(T3()).tolist() == [2.0] * 3
        made.register_kernel("cpu", lambda x: x * 5)
        assert made(T3()).tolist() == [5.0] * 3
    with pytest.raises(RuntimeError, match="unknown device"):
        made.register_kernel("nope", unary)
    with pytest.raises(NotImplementedError, match="no Tensor inputs"):
        define(name(), "(int n) -> Tensor")(1)
    with pytest.raises(ValueError, match="device"):
        define(name(), "(int n) -> Tensor").register_kernel("cpu", lambda n: pb.zeros(n))


def test_090_a_kernel_is_switched_off_here_only(caplog):
    made = op(unary)
    made.register_kernel("cpu", lambda x: x * 5)
    elsewhere = []
    with made.set_kernel_enabled("cpu", False):
        assert made(T3()).tolist() == [2.0] * 3
        thread = threading.Thread(target=lambda: elsewhere.extend(made(T3()).tolist()))
        thread.start()
        thread.join()
        assert contextvars.copy_context().run(made, T3()).tolist() == [2.0] * 3
    assert elsewhere == made(T3()).tolist() == [5.0] * 3
    with caplog.at_level(logging.WARNING), op(unary).set_kernel_enabled("cpu", False):
        pass
    assert "there is no kernel for cpu" in caplog.text
    with made.set_kernel_enabled("autograd", False):
        assert not made(P()).requires_grad


def test_091_vmap_without_rule_is_a_loop():
    def f(xs: list[np.ndarray], n: int) -> tuple[np.ndarray, int]:
        return xs[0] * n + xs[1], n

    made = op(f)
    x, y = pb.arange(6.0).reshape(2, 3), pb.ones(3)
    out, number = vmap(lambda v: (made([v, y], 2)[0], pb.tensor(made([v, y], 2)[1])))(x)
    assert_close(out, x * 2 + y)
    assert number.tolist() == [2, 2]

    def add_(x: np.ndarray, y: np.ndarray) -> None:
        x += y

    writes = op(add_, ("x",))
    target = pb.zeros((2, 3))

    def body(t, v):
        writes(t, v)
        return t * 1

    assert_close(vmap(body)(target, x), x)
    assert_close(target, x)
    with pytest.raises(RuntimeError, match=r"the same for all examples|captured|outside"):
        shared = pb.zeros(3)
        vmap(lambda v: (writes(shared, v), v)[1])(x)
    empty = vmap(sq())(pb.zeros((0, 3)))
    assert empty.shape == (0, 3)
    assert vmap(op(unary))(pb.zeros((0, 3))).shape == (0, 3)


def test_091_the_loop_warns_once():
    made = op(unary)
    with pytest.warns(PerformanceWarning, match=made.qualname):
        vmap(made)(pb.ones((2, 3)))


@pytest.mark.parametrize("returned", [lambda o: o, lambda o: (o,), lambda o: [o, 0], lambda o: (o, 0, 0)])
def test_092_a_rule_returns_two_things(returned):
    made = op(unary)
    made.register_vmap(lambda info, in_dims, x: returned(x * 2))
    with pytest.raises(RuntimeError, match="two returns"):
        vmap(made)(pb.ones((2, 3)))


def test_092_where_the_axis_of_a_result_is():
    made = op(unary)
    made.register_vmap(lambda info, in_dims, x: (pb.ones(4), None))
    assert vmap(made)(pb.ones((2, 3))).shape == (2, 4)
    made.register_vmap(lambda info, in_dims, x: (x * 2, 5))
    with pytest.raises(IndexError):
        vmap(made)(pb.ones((2, 3)))
    made.register_vmap(lambda info, in_dims, x: ((x * 2).T, -1))
    assert_close(vmap(made)(pb.arange(6.0).reshape(2, 3)), pb.arange(6.0).reshape(2, 3) * 2)
    made.register_vmap(lambda info, in_dims, x: (x * 2, "0"))
    with pytest.raises(RuntimeError, match="out_dims"):
        vmap(made)(pb.ones((2, 3)))


def test_093_a_rule_is_called_once_for_each_level():
    made = op(unary)
    seen = []

    def rule(info, in_dims, x):
        seen.append((info.batch_size, in_dims))
        return made(x), in_dims[0]

    made.register_vmap(rule)
    made(T3())
    assert seen == []
    assert_close(vmap(vmap(made))(pb.ones((2, 4, 3))), pb.full((2, 4, 3), 2.0))
    assert [size for size, _ in seen] == [4, 2]

    def lst(xs: list[np.ndarray]) -> np.ndarray:
        return xs[0] + xs[1]

    listed = op(lst)
    listed.register_vmap(lambda info, in_dims, xs: (seen.append(in_dims), (xs[0] + xs[1], 0))[1])
    vmap(lambda a: listed([a, T3()]))(pb.ones((2, 3)))
    assert seen[-1] == ([0, None],)


@pytest.mark.parametrize("rule", ["sequential", "expand_dims", "broadcast_all"])
def test_093_rules_by_name(rule):
    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + 2 * y

    made = op(f)
    made.register_vmap(rule)
    x, y = pb.arange(6.0).reshape(2, 3), pb.arange(3.0)
    assert_close(vmap(made, in_dims=(0, None))(x, y), x + 2 * y)
    assert_close(vmap(vmap(made, in_dims=(0, None)), in_dims=(None, 0))(x, x), x[None] + 2 * x[:, None])


def test_094_forward_from_reverse():
    x, t = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 5.0])
    value, slope = jvp(sq(), (x,), (t,))
    assert_close(value, x * x)
    assert_close(slope, 2 * x * t)


def test_095_every_transform():
    made = cube()
    x = pb.tensor([1.0, 2.0])
    assert_close(jacfwd(made)(x), jacrev(made)(x))
    assert_close(hessian(lambda v: made(v).sum())(x), np.diag([6.0, 12.0]))
    assert_close(vmap(grad(made))(x), 3 * x**2)
    assert_close(grad(lambda v: vmap(made)(v).sum())(x), 3 * x**2)
    assert_close(jacfwd(jacfwd(made))(x)[0], np.diag([6.0, 0.0]))
    assert pb.autograd.gradcheck(made, (x.requires_grad_(),), check_forward_ad=True, check_batched_grad=True)


def test_096_never_a_silent_zero():
    with pytest.raises(NotImplementedError, match="register_jvp"):
        jvp(bare(), (T3(),), (T3(),))
    fwd = pb.autograd.forward_ad
    with fwd.dual_level(), pytest.raises(NotImplementedError, match="register_jvp"):
        bare()(fwd.make_dual(T3(), T3()))

    def constant(x: np.ndarray) -> np.ndarray:
        return np.sign(x)

    made = op(constant, autograd_fallback="nondiff")
    assert_close(jvp(made, (T3(),), (T3(),))[1], [0.0] * 3)
    assert not made(P()).requires_grad


def test_097_reverse_from_forward():
    made = bare()

    @made.register_jvp
    def made_jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 2 * x * t

    made.setup = (save_input, "here")
    leaf = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    made(leaf).sum().backward()
    assert_close(leaf.grad, [2.0, 4.0, 6.0])
    assert pb.autograd.gradgradcheck(made, (leaf,))
    other = bare()
    other.defjvp(lambda t, ans, x: 2 * x * t)
    assert pb.autograd.gradcheck(other, (leaf,), check_forward_ad=True) and pb.autograd.gradgradcheck(other, (leaf,))


def test_098_linear_operators():
    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + 2 * y

    made = op(f)
    made.register_jvp(linear=True)
    x, y = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    assert_close(jvp(made, (x, y), (y, x))[1], y + 2 * x)
    assert_close(jvp(lambda v: made(v, y), (x,), (y,))[1], y)
    with pytest.raises(NotImplementedError, match="register_autograd"):
        grad(lambda v: made(x, v).sum())(y)

    def product(A: np.ndarray, b: np.ndarray) -> np.ndarray:
        return A @ b

    made = op(product)
    made.register_jvp(linear=("A", "b"))
    A = pb.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert_close(jvp(made, (A, x), (A.T, y))[1], A.T @ x + A @ y)
    leaves = (A.clone().requires_grad_(), x.clone().requires_grad_())
    assert pb.autograd.gradcheck(made, leaves, check_forward_ad=True, check_backward_ad=False)
