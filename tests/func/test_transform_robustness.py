"""What transforms leave behind and how they behave where things go wrong: memory, threads, exceptions, edges."""

import asyncio
import contextvars
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import forward_ad as fwd
from pullback.core.state import NORMAL, current, open_levels
from pullback.func import (
    grad,
    jvp,
    linearize,
    vjp,
    vmap,
)
from pullback.tape.forward.levels import ForwardLevel
from pullback.tape.node import Node
from pullback.tape.transform.tokens import Token
from pullback.testing import assert_close
from tests.func.transform_cases import TRANSFORMS, is_clean, program, t3, x3


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
        seen.append(weakref.ref(inside._data))
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


@pytest.mark.parametrize("run", [grad, vmap, pb.compile, lambda f: pb.no_grad()(f)])
def test_a_worker_that_was_started_inside_of_a_block_does_not_stay_in_it(run):
    """Free-threaded Python hands the context of the block on to threads, and a pool keeps them."""
    with ThreadPoolExecutor(1) as pool:

        def body(x):
            pool.submit(int).result()
            return (x * x).sum()

        run(body)(np.ones((2, 2)))
        assert pool.submit(current).result() is NORMAL


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


# Tangents that several tensors have -----------------------------------------------------------------------------------


class Passes(pb.autograd.Function):
    """Returns the tangent it gets, and one tangent for two outputs."""

    @staticmethod
    def forward(ctx, x):
        return x * 1, x * 2, x * 2

    @staticmethod
    def backward(ctx, g, h, k):
        return g + 2 * (h + k)

    @staticmethod
    def jvp(ctx, t):
        doubled = t * 2
        return t, doubled, doubled


def shares_by_adding(x):
    kept = x * 2
    return kept, kept + 1


def shares_by_viewing(x):
    kept = x * 2
    return kept, kept[::-1] + 1


def shares_by_a_function(x):
    kept = x * 2
    return kept, Passes.apply(kept)[0]


def shares_between_outputs(x):
    return Passes.apply(x)[1:]


@pytest.mark.parametrize("written", [0, 1])
@pytest.mark.parametrize(
    "function", [shares_by_adding, shares_by_viewing, shares_by_a_function, shares_between_outputs]
)
def test_a_write_changes_the_tangent_of_what_is_written_only(function, written):
    def body(x):
        outputs = function(x)
        outputs[written].mul_(3)
        return outputs

    slopes = jvp(body, (x3(),), (t3(),))[1]
    other = t3() * 2
    for index, slope in enumerate(slopes):
        wanted = other.flip(0) if index and function is shares_by_viewing else other
        assert_close(slope, wanted * 3 if index == written else wanted)


def test_the_callers_tangent_is_not_written_by_a_function_that_writes():
    class Doubles(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2)

    x, t = x3(), t3()
    assert_close(jvp(Doubles.apply, (x,), (t,))[1], 2 * t3())
    assert_close(t, t3())
    assert_close(x, 2 * x3())


def test_gradients_computed_inside_a_transform_may_be_written_there():
    def body(x):
        gradient = grad(lambda w: (w * w).sum())(t3())
        gradient += x
        return gradient

    assert_close(jvp(body, (x3(),), (t3(),)), (2 * t3() + x3(), t3()))
    assert_close(vmap(body)(pb.stack([x3(), t3()])), pb.stack([2 * t3() + x3(), 3 * t3()]))


def test_gradients_inside_vmap_are_separate_tensors():
    def body(row):
        a, b = pb.zeros(3).requires_grad_(), pb.zeros(3).requires_grad_()
        first, second = pb.autograd.grad(((a + b) * row).sum(), (a, b))
        first.mul_(2)
        return first, second

    rows = pb.stack([x3(), t3()])
    first, second = vmap(body)(rows)
    assert_close(first, 2 * rows)
    assert_close(second, rows)


@pytest.mark.parametrize("write", [lambda y: y.fill_(0.5), lambda y: y.zero_(), lambda y: y.copy_(pb.ones(3))])
def test_an_overwritten_value_does_not_require_grad_after_the_transform(write):
    kept = []

    def body(x):
        y = abs(x)
        write(y)
        kept.append(y)
        return (x * y).sum()

    assert not grad(body)(x3()).requires_grad
    assert not kept[0].requires_grad
