"""What transforms leave behind and how they behave where things go wrong: memory, threads, exceptions, edges."""

import asyncio
import contextvars
import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad as fwd
from pullback.autograd._levels import ForwardLevel
from pullback.autograd._node import Node
from pullback.autograd._tokens import Token
from pullback.core.state import current, open_levels, running_pass
from pullback.func import (
    grad,
    grad_and_value,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from pullback.testing import assert_close


def x3(**options):
    return pb.tensor([1.0, 2.0, 3.0], **options)


def t3():
    return pb.tensor([1.0, 10.0, 100.0])


def program(x):
    """Some of everything: views, writes, a reduction."""
    y = pb.zeros(4)
    y[1:] = pb.sin(x) * x
    y[0] += y[1:].sum()
    part = y[::2]
    part *= 2
    return (y * y).sum()


TRANSFORMS = {
    "grad": lambda f: grad(f)(x3()),
    "grad_and_value": lambda f: grad_and_value(f)(x3()),
    "vjp": lambda f: vjp(f, x3())[1](pb.tensor(1.0)),
    "jvp": lambda f: jvp(f, (x3(),), (t3(),)),
    "vmap": lambda f: vmap(f)(pb.stack([x3(), t3()])),
    "vmap in chunks": lambda f: vmap(f, chunk_size=1)(pb.stack([x3(), t3()])),
    "linearize": lambda f: linearize(f, x3())[1](t3()),
    "jacrev": lambda f: jacrev(f)(x3()),
    "jacfwd": lambda f: jacfwd(f)(x3()),
    "hessian": lambda f: hessian(f)(x3()),
    "hvp": lambda f: hvp(f, (x3(),), (t3(),)),
    "hvp rev_fwd": lambda f: hvp(f, (x3(),), (t3(),), strategy="rev_fwd"),
    "hvp rev_rev": lambda f: hvp(f, (x3(),), (t3(),), strategy="rev_rev"),
    "grad of grad": lambda f: grad(lambda x: grad(f)(x).sum())(x3()),
    "vmap of grad": lambda f: vmap(grad(f))(pb.stack([x3(), t3()])),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(pb.stack([x3(), t3()])),
    "jvp of vmap": lambda f: jvp(vmap(f), (pb.stack([x3(), t3()]),), (pb.ones((2, 3)),)),
}


@pytest.fixture(autouse=True, scope="module")
def only_what_is_new_is_counted():
    """What other tests left is set aside: looking through it for every test would take most of the time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


every_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())


def living(*kinds):
    """How many objects of each kind there are."""
    gc.collect()
    counts = dict.fromkeys(kinds, 0)
    for thing in gc.get_objects():
        for kind in kinds:
            if isinstance(thing, kind):
                counts[kind] += 1
    return counts


def is_clean():
    return current().transforms == () and current().vmaps == () and not open_levels and running_pass.get() is None


# Memory ---------------------------------------------------------------------------------------------------------------


@every_transform
def test_a_transform_leaves_no_level_token_node_or_tensor_behind(transform):
    transform(program)
    before = living(pb.Tensor, Node, Token, ForwardLevel)
    for _ in range(3):
        transform(program)
    assert living(pb.Tensor, Node, Token, ForwardLevel) == before
    assert is_clean()


@every_transform
def test_what_a_transform_makes_is_freed_without_the_garbage_collector(transform):
    seen = []

    def body(x):
        inside = pb.sin(x)
        seen.append(weakref.ref(inside))
        return program(x) + inside.sum()

    transform(program)
    gc.collect()
    gc.disable()
    try:
        transform(body)
        assert seen and all(reference() is None for reference in seen)
    finally:
        gc.enable()


def test_a_vjp_function_keeps_the_graph_and_lets_it_go():
    seen = []

    def body(x):
        inside = pb.sin(x)
        seen.append(weakref.ref(inside))
        return inside * inside

    output, vjp_fn = vjp(body, x3())
    assert_close(vjp_fn(pb.ones(3))[0], 2 * pb.sin(x3()) * pb.cos(x3()))
    assert seen[0]() is not None
    del output, vjp_fn
    gc.collect()
    assert seen[0]() is None


def test_a_long_loop_of_jvps_in_an_open_level_does_not_grow():
    with fwd.dual_level():
        dual = fwd.make_dual(x3(), t3())
        level = next(iter(open_levels))
        jvp(program, (dual,), (t3(),))
        held = len(level.holders)
        for _ in range(50):
            jvp(program, (dual,), (t3(),))
        assert len(level.holders) == held
        assert len(open_levels) == 1


def test_a_long_loop_in_an_open_level_keeps_only_the_last_dual():
    with fwd.dual_level():
        dual = fwd.make_dual(x3(), t3())
        level = next(iter(open_levels))
        for _ in range(200):
            dual = pb.sin(dual) + dual * 0.5
            dual.mul_(0.5)
        gc.collect()
        assert len(level.holders) < 5


def test_a_tensor_that_escapes_from_grad_is_a_constant_and_keeps_no_graph():
    kept = []
    seen = []

    def body(x):
        inside = pb.sin(x)
        seen.append(weakref.ref(inside._node))
        kept.append(inside.detach())
        return inside.sum()

    grad(body)(x3())
    gc.collect()
    assert seen[0]() is None
    assert not (kept[0] * 2).requires_grad


def test_escaped_tensors_lose_what_the_transform_gave_them():
    kept = []

    def body(x):
        kept.append(x * 2)
        return (x * x).sum()

    grad(body)(x3())
    jvp(body, (x3(),), (t3(),))
    vmap(body)(pb.ones((2, 3)))
    from_grad, from_jvp, from_vmap = kept
    assert not from_grad.requires_grad and from_grad.grad_fn is None
    assert not (from_grad + 1).requires_grad
    with fwd.dual_level():
        assert fwd.unpack_dual(from_jvp + 1).tangent is None
    with pytest.raises(RuntimeError, match="escaped"):
        from_vmap + 1


def test_an_escaped_tensor_keeps_the_history_that_it_has_outside():
    kept = []
    w = x3(requires_grad=True)

    def body(x):
        kept.append(x * w)
        return kept[-1].sum()

    grad(body)(t3())
    assert kept[0].requires_grad
    kept[0].sum().backward()
    assert_close(w.grad, t3())


# Threads and tasks ----------------------------------------------------------------------------------------------------


def run_in_threads(*functions):
    """Run all at once; their results in order."""
    results = [None] * len(functions)
    barrier = threading.Barrier(len(functions))

    def work(index, function):
        barrier.wait()
        try:
            results[index] = function()
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def test_threads_in_different_transforms_do_not_disturb_each_other():
    expected = {name: run(program) for name, run in TRANSFORMS.items()}

    def repeat(name):
        def work():
            for _ in range(5):
                result = TRANSFORMS[name](program)
            return result

        return work

    names = ["grad", "jvp", "vmap", "hessian", "vmap of grad", "linearize"]
    for name, result in zip(names, run_in_threads(*map(repeat, names)), strict=True):
        flat = result if isinstance(result, tuple) else (result,)
        wanted = expected[name] if isinstance(expected[name], tuple) else (expected[name],)
        for one, other in zip(flat, wanted, strict=True):
            assert_close(one, other)
    assert is_clean()


def test_one_vjp_function_serves_several_threads():
    _, vjp_fn = vjp(lambda x: pb.sin(x) * x, x3())
    slope = pb.cos(x3()) * x3() + pb.sin(x3())

    def work(factor):
        def call():
            return [vjp_fn(pb.full((3,), factor))[0] for _ in range(10)]

        return call

    for factor, results in zip((1.0, 2.0, 3.0), run_in_threads(*map(work, (1.0, 2.0, 3.0))), strict=True):
        for result in results:
            assert_close(result, slope * factor)


def test_one_linear_function_serves_several_threads():
    _, lin = linearize(lambda x: pb.sin(x) * x, x3())
    slope = pb.cos(x3()) * x3() + pb.sin(x3())
    work = [lambda f=factor: [lin(pb.full((3,), f)) for _ in range(10)] for factor in (1.0, 2.0)]
    for factor, results in zip((1.0, 2.0), run_in_threads(*work), strict=True):
        for result in results:
            assert_close(result, slope * factor)


def test_levels_belong_to_the_thread_that_opened_them():
    def work():
        with fwd.dual_level() as index:
            dual = fwd.make_dual(x3(), t3())
            return index, fwd.unpack_dual(pb.sin(dual)).tangent

    with fwd.dual_level():
        for index, tangent in run_in_threads(work, work, work):
            assert index == 0
            assert_close(tangent, pb.cos(x3()) * t3())


def test_a_new_thread_is_outside_of_the_transform_that_starts_it():
    seen = []

    def body(x):
        (modes,) = run_in_threads(current)
        seen.append(modes)
        return x.sum()

    grad(body)(x3())
    assert seen[0].transforms == () and seen[0].vmaps == ()


def test_a_thread_in_a_copied_context_is_inside():
    def body(x):
        context = contextvars.copy_context()
        (result,) = run_in_threads(lambda: context.run(lambda: pb.sin(x) * x))
        return result.sum()

    slope = pb.cos(x3()) * x3() + pb.sin(x3())
    assert_close(grad(body)(x3()), slope)
    assert_close(jvp(body, (x3(),), (t3(),))[1], (slope * t3()).sum())
    assert_close(vmap(body)(pb.stack([x3(), t3()]))[0], (pb.sin(x3()) * x3()).sum())
    assert is_clean()


def test_tasks_have_their_own_levels_and_modes():
    async def one(factor):
        with fwd.dual_level() as index:
            dual = fwd.make_dual(x3(), t3() * factor)
            await asyncio.sleep(0)
            out = pb.sin(dual)
            await asyncio.sleep(0)
            return index, fwd.unpack_dual(out).tangent

    async def other():
        with pb.no_grad():
            await asyncio.sleep(0)
            return grad(lambda x: pb.sin(x).sum())(x3())

    async def main():
        return await asyncio.gather(one(1.0), other(), one(2.0))

    (first, slope_1), gradient, (second, slope_2) = asyncio.run(main())
    assert first == second == 0
    assert_close(slope_1, pb.cos(x3()) * t3())
    assert_close(slope_2, 2 * pb.cos(x3()) * t3())
    assert_close(gradient, pb.cos(x3()))
    assert is_clean()


def test_many_threads_make_and_drop_duals_while_a_level_closes():
    level_open = threading.Event()
    stop = threading.Event()
    shared = []

    def use():
        level_open.wait()
        while not stop.is_set():
            kept = [dual * 2 for dual in list(shared)]
            del kept
        return True

    def own():
        try:
            for _ in range(20):
                with fwd.dual_level():
                    shared[:] = [fwd.make_dual(x3(), t3()) for _ in range(20)]
                    level_open.set()
                    for dual in shared:
                        pb.sin(dual)
        finally:
            stop.set()
        return True

    assert run_in_threads(own, use, use) == [True, True, True]
    assert not open_levels


# Exceptions -----------------------------------------------------------------------------------------------------------


@every_transform
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_an_exception_in_the_body_restores_everything(transform, error):
    def body(x):
        y = pb.sin(x)
        y[0] = 1.0
        raise error("on the way")

    before = current()
    with pytest.raises(error):
        transform(body)
    assert current() is before
    assert is_clean()
    assert_close(grad(lambda x: (x * x).sum())(x3()), 2 * x3())


@every_transform
def test_an_exception_in_a_derivative_restores_everything(transform):
    class Refuses(pb.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyboardInterrupt

        @staticmethod
        def jvp(ctx, t):
            raise KeyboardInterrupt

    before = current()
    try:
        transform(lambda x: Refuses.apply(x).sum())
    except KeyboardInterrupt:
        pass
    assert current() is before
    assert is_clean()


def test_an_exception_in_a_dual_level_closes_it_and_what_was_opened_inside():
    with pytest.raises(ValueError, match="on the way"), fwd.dual_level():
        fwd.make_dual(x3(), t3())
        with fwd.dual_level():
            jvp(lambda x: (_ for _ in ()).throw(ValueError("on the way")), (x3(),), (t3(),))
    assert is_clean()
    with fwd.dual_level() as index:
        assert index == 0


def test_modes_inside_a_body_do_not_come_out():
    def body(x):
        pb.set_grad_enabled(False)
        return pb.sin(x).sum()

    before = current()
    grad(body)(x3())
    assert current() is before


# Edges ----------------------------------------------------------------------------------------------------------------


def test_ten_gradients_of_one_another():
    def derivative(function, order):
        for _ in range(order):
            function = grad(function)
        return function

    assert_close(derivative(pb.exp, 10)(pb.tensor(0.5)), np.exp(0.5))
    assert_close(derivative(lambda x: x**10, 10)(pb.tensor(0.3)), 3628800.0, rtol=1e-12)


def test_eight_directions_of_one_another():
    def derivative(function, order):
        for _ in range(order):
            function = (lambda inner: lambda x: jvp(inner, (x,), (pb.ones_like(x),))[1])(function)
        return function

    assert_close(derivative(pb.exp, 8)(pb.tensor(0.5)), np.exp(0.5))


def test_six_maps_of_one_another():
    function = lambda x: pb.sin(x) * 2
    for _ in range(6):
        function = vmap(function)
    x = pb.arange(64.0).reshape((2,) * 6)
    assert_close(function(x), pb.sin(x) * 2)
    assert_close(grad(lambda x: function(x).sum())(x), pb.cos(x) * 2)


def smooth(x):
    return pb.sin(x) * x


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (1, 1)])
def test_shapes_without_axes_or_without_elements(shape):
    x = pb.ones(shape)
    assert_close(grad(lambda x: smooth(x).sum())(x), pb.cos(x) * x + pb.sin(x))
    slope = jvp(smooth, (x,), (x,))[1]
    assert_close(slope, (pb.cos(x) * x + pb.sin(x)) * x)
    assert jacrev(smooth)(x).shape == jacfwd(smooth)(x).shape == shape * 2
    assert hessian(lambda x: smooth(x).sum())(x).shape == shape * 2
    _, lin = linearize(smooth, x)
    assert_close(lin(x), slope)


def test_an_empty_batch():
    x = pb.zeros((0, 3))
    assert vmap(smooth)(x).shape == (0, 3)
    assert vmap(grad(program))(x).shape == (0, 3)
    assert vmap(lambda row: jvp(program, (row,), (row,))[1])(x).shape == (0,)
    assert grad(lambda x: vmap(program)(x).sum())(x).shape == (0, 3)
    assert vmap(hessian(lambda row: (row**3).sum()))(x).shape == (0, 3, 3)
    w = x3()
    assert_close(grad(lambda w: vmap(lambda row: (row * w).sum())(x).sum())(w), pb.zeros(3))


def test_a_batch_of_one():
    x = x3()[None]
    assert_close(vmap(grad(program))(x)[0], grad(program)(x3()))
    assert_close(vmap(program)(x)[0], program(x3()))


@pytest.mark.parametrize("dtype", [pb.float32, pb.float64])
def test_every_transform_keeps_the_precision(dtype):
    x = x3().astype(dtype)

    def body(x):
        y = pb.zeros(4, dtype=dtype)
        y[1:] = pb.sin(x) * 0.5
        y[0] += (y * 2).sum()
        return (y * y).sum()

    assert grad(body)(x).dtype == dtype
    value, slope = jvp(body, (x,), (x,))
    assert value.dtype == slope.dtype == dtype
    assert jacrev(body)(x).dtype == jacfwd(body)(x).dtype == hessian(body)(x).dtype == dtype
    assert vmap(body)(x[None]).dtype == vmap(grad(body))(x[None]).dtype == dtype
    assert linearize(body, x)[1](x).dtype == dtype
    for strategy in ("fwd_rev", "rev_fwd", "rev_rev"):
        assert all(part.dtype == dtype for part in hvp(body, (x,), (x,), strategy=strategy))


def test_complex_arguments():
    z = pb.tensor([1.0 + 2.0j, -0.5 + 0.25j])
    t = pb.tensor([0.5 - 1.0j, 2.0 + 1.0j])

    def holomorphic(z):
        return pb.sin(z) * z

    slope = pb.cos(z) * z + pb.sin(z)
    assert_close(jvp(holomorphic, (z,), (t,))[1], slope * t)
    vjp_fn = vjp(holomorphic, z)[1]
    (cotangent,) = vjp_fn(t)
    assert_close((cotangent.conj() * t).real.sum(), (t.conj() * slope * t).real.sum())
    gradient = grad(lambda z: (abs(z) ** 2).sum())(z)
    assert_close(gradient, 2 * z)
    assert_close(vmap(lambda z, t: jvp(holomorphic, (z,), (t,))[1])(z, t), slope * t)
    assert_close(vmap(grad(lambda z: abs(z) ** 2))(z), 2 * z)
    assert_close(linearize(holomorphic, z)[1](t), slope * t)
    x = pb.tensor([1.0, 2.0])
    slope = jvp(lambda x: holomorphic(x * (1 + 0j)).real, (x,), (pb.ones(2),))[1]
    assert_close(slope, pb.cos(x) * x + pb.sin(x))


def test_tensors_inside_transforms_can_be_printed():
    seen = []

    def body(x):
        seen.extend([repr(x), repr(x * 2), str(x[0])])
        return (x * x).sum()

    for transform in TRANSFORMS.values():
        transform(body)
    assert all(isinstance(text, str) and text for text in seen)
    seen.clear()
    jvp(body, (x3(),), (t3(),))
    assert "tangent=" in seen[0]


def test_a_batched_tensor_prints_what_it_is():
    seen = []
    vmap(lambda x: seen.append(repr(x)) or x)(pb.arange(6.0).reshape(2, 3))
    assert "float64" in seen[0] or "vmap" in seen[0] or "batch" in seen[0].lower()


def test_copies_of_a_dual():
    with fwd.dual_level():
        dual = fwd.make_dual(x3(), t3())
        shallow, deep = copy.copy(dual), copy.deepcopy(dual)
        assert_close(fwd.unpack_dual(shallow).tangent, t3())
        assert_close(fwd.unpack_dual(deep).tangent, t3())
        deep.mul_(2)
        assert_close(fwd.unpack_dual(dual).tangent, t3())
        assert_close(fwd.unpack_dual(dual).primal, x3())
        with pytest.raises(RuntimeError):
            pickle.dumps(dual)
        with pytest.raises(RuntimeError, match="tangent"):
            dual.numpy()
        assert pickle.loads(pickle.dumps(dual.detach())).tolist() == [1.0, 2.0, 3.0]
    assert pickle.loads(pickle.dumps(dual)).tolist() == [1.0, 2.0, 3.0]


def test_a_copy_inside_vmap():
    rows = pb.stack([x3(), t3()])
    assert_close(vmap(lambda x: copy.copy(x) * 2)(rows), rows * 2)


def twice(vjp_fn):
    return vjp_fn(pb.ones(3), retain_graph=False), vjp_fn(pb.ones(3))


@pytest.mark.parametrize(
    "code, call",
    [
        ("VMAP_DATA", lambda: vmap(lambda x: x.item())(x3())),
        ("VMAP_DATA", lambda: vmap(lambda x: x if x > 0 else -x)(x3())),
        ("VMAP_DATA", lambda: vmap(lambda x: x.numpy())(x3())),
        ("VMAP_DYNAMIC_SHAPE", lambda: vmap(lambda x: pb.nonzero(x))(pb.ones((2, 3)))),
        ("VMAP_INPLACE", lambda: (lambda c: vmap(lambda x: c.add_(x))(x3()))(pb.zeros(()))),
        ("CAPTURE_MUTATED", lambda: (lambda c: jvp(lambda x: c.copy_(x).sum(), (x3(),), (t3(),)))(pb.zeros(3))),
        ("CAPTURE_MUTATED", lambda: (lambda c: grad(lambda x: c.copy_(x).sum())(x3()))(pb.zeros(3))),
        ("LEAF_INPLACE", lambda: grad(lambda x: x.mul_(2).sum())(x3())),
        ("BACKWARD_IN_TRANSFORM", lambda: grad(lambda x: (x.sum().backward(), x.sum())[1])(x3())),
        ("FORWARD_NO_LEVEL", lambda: fwd.make_dual(x3(), t3())),
        ("FORWARD_NO_LEVEL", lambda: fwd.exit_dual_level()),
        ("FORWARD_SHAPE", lambda: jvp(pb.sin, (x3(),), (pb.ones(2),))),
        ("SECOND_BACKWARD", lambda: twice(vjp(pb.sin, x3())[1])),
    ],
)
def test_errors_say_what_why_and_what_to_do(code, call):
    with pytest.raises(pb.AutogradError) as caught:
        call()
    error = caught.value
    assert error.code == code
    assert error.what and error.why and error.fix
    assert all(part in str(error) for part in (error.what, error.why, error.fix))
    assert is_clean()
