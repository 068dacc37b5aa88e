"""Grad modes: conformance cases 205 to 211, and what §9 says besides."""

import asyncio
import threading

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, L, array, bw, g, it, ng, raises


def in_thread(function):
    """The result of `function` called in a new thread."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def inference(value):
    with pb.inference_mode():
        return C(value)


def test_205_one_no_grad_object_can_be_nested():
    mode = pb.no_grad()
    with mode:
        with mode:
            assert not pb.is_grad_enabled()
        assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()


def test_206_a_decorated_generator_has_the_mode_only_while_its_body_runs():
    @pb.no_grad()
    def generate():
        seen.append(pb.is_grad_enabled())
        yield 1
        seen.append(pb.is_grad_enabled())
        yield 2

    seen, outside = [], []
    for _ in generate():
        outside.append(pb.is_grad_enabled())
    assert seen == [False, False]
    assert outside == [True, True]
    assert pb.is_grad_enabled()


def test_207_a_decorated_coroutine_has_the_mode_in_its_body_and_classes_are_rejected():
    @pb.no_grad()
    async def body():
        before = pb.is_grad_enabled()
        await asyncio.sleep(0)
        return before, pb.is_grad_enabled()

    assert asyncio.run(body()) == (False, False)
    assert pb.is_grad_enabled()
    with pytest.raises(TypeError):

        @pb.no_grad()
        class Model:
            pass


def test_208_set_grad_enabled_persists_as_a_call_and_does_not_leak_as_a_decorator():
    try:
        pb.set_grad_enabled(False)
        assert not pb.is_grad_enabled()
    finally:
        pb.set_grad_enabled(True)

    @pb.set_grad_enabled(False)
    def body():
        return pb.is_grad_enabled()

    assert pb.is_grad_enabled()
    assert body() is False
    assert pb.is_grad_enabled()


def test_209_a_new_thread_starts_with_grad_enabled():
    with ng():
        assert in_thread(pb.is_grad_enabled) is True
        assert not pb.is_grad_enabled()


def test_210_inference_tensors_outside_inference_mode():
    frozen, x = inference([2.0]), L([3.0])
    assert frozen.is_inference()
    with raises("INFERENCE_VERSION"):
        _ = frozen._version
    with raises("INFERENCE_INPLACE"):
        frozen.add_(1)
    assert it(frozen) == [2.0]
    total = frozen + x
    assert total.requires_grad and not total.is_inference()
    total.backward()
    assert it(x.grad) == [1.0]
    with raises("INFERENCE_SAVE"):
        frozen * x
    copy = frozen.clone()
    assert not copy.is_inference() and copy._version == 0
    with raises("INFERENCE_FLAG"):
        frozen.requires_grad_()


@pb.autograd.overwrite_policy("raise")
def test_211_a_write_inside_inference_mode_to_a_normal_tensor_is_seen_by_saved_uses():
    x, c = L([2.0]), C([3.0])
    y = x * c
    with pb.inference_mode():
        c.add_(1)
    assert c._version == 1 and not c.is_inference()
    with raises("VERSION"):
        y.backward()


# Forms (§9.2)

MODES = {
    "no_grad": (pb.no_grad, False),
    "enable_grad": (pb.enable_grad, True),
    "inference_mode": (pb.inference_mode, False),
}


@pytest.mark.parametrize("mode, enabled", MODES.values(), ids=MODES.keys())
def test_a_mode_works_as_context_and_as_decorator_with_and_without_parentheses(mode, enabled):
    def body():
        return pb.is_grad_enabled()

    ambient = not enabled
    with pb.set_grad_enabled(ambient):
        with mode():
            assert body() is enabled
        assert mode()(body)() is enabled
        assert mode(body)() is enabled
        assert pb.is_grad_enabled() is ambient


@pytest.mark.parametrize("mode, enabled", MODES.values(), ids=MODES.keys())
def test_a_mode_is_restored_after_an_exception(mode, enabled):
    @mode
    def fail():
        raise ValueError("no")

    with pb.set_grad_enabled(not enabled):
        with pytest.raises(ValueError), mode():
            raise ValueError("no")
        with pytest.raises(ValueError):
            fail()
        assert pb.is_grad_enabled() is (not enabled)
    assert not pb.is_inference_mode_enabled()


def test_the_modes_live_in_autograd_too():
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled"):
        assert getattr(pb.autograd, name) is getattr(pb, name)


def test_a_decorator_keeps_name_arguments_and_result():
    @pb.no_grad()
    def scale(x, *, factor=2):
        """Scaled."""
        return x * factor

    assert scale.__name__ == "scale" and scale.__doc__ == "Scaled."
    assert it(scale(L([3.0]), factor=5)) == [15.0]


def test_enable_grad_records_inside_no_grad():
    x = L([2.0])
    with ng():
        with pb.enable_grad():
            y = x * x
        z = x * x
    assert y.requires_grad and not z.requires_grad


def test_set_grad_enabled_as_context_restores_the_value_seen_at_construction():
    with pb.set_grad_enabled(False):
        assert not pb.is_grad_enabled()
        with pb.set_grad_enabled(True):
            assert pb.is_grad_enabled()
        assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()


def test_one_object_may_be_entered_again_under_another_ambient_mode():
    mode = pb.enable_grad()
    with mode:
        pass
    with ng():
        with mode:
            assert pb.is_grad_enabled()
        assert not pb.is_grad_enabled()
    assert pb.is_grad_enabled()


def test_send_throw_close_and_return_pass_through_a_decorated_generator():
    events = []

    @pb.no_grad
    def generate():
        try:
            received = yield "first"
            events.append((received, pb.is_grad_enabled()))
            try:
                yield "second"
            except KeyError:
                events.append(("thrown", pb.is_grad_enabled()))
            yield "third"
            return "result"
        finally:
            events.append(("closed", pb.is_grad_enabled()))

    generator = generate()
    assert next(generator) == "first" and pb.is_grad_enabled()
    assert generator.send("hello") == "second" and pb.is_grad_enabled()
    assert generator.throw(KeyError()) == "third" and pb.is_grad_enabled()
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == "result"
    assert events == [("hello", False), ("thrown", False), ("closed", False)]

    events.clear()
    generator = generate()
    next(generator)
    generator.close()
    assert events == [("closed", False)]
    assert pb.is_grad_enabled()


def test_a_suspended_generator_keeps_its_mode_from_the_caller():
    @pb.enable_grad()
    def generate():
        while True:
            yield pb.is_grad_enabled()

    generator = generate()
    with ng():
        assert next(generator) is True
        assert not pb.is_grad_enabled()
    assert next(generator) is True


def test_a_decorated_coroutine_gives_the_mode_back_while_it_waits():
    outside = []

    @pb.no_grad
    async def body():
        seen = [pb.is_grad_enabled()]
        await asyncio.sleep(0)
        seen.append(pb.is_grad_enabled())
        return seen

    async def watch():
        outside.append(pb.is_grad_enabled())

    async def both():
        return await asyncio.gather(body(), watch())

    assert asyncio.run(both())[0] == [False, False]
    assert outside == [True]


def test_a_decorated_async_generator_has_the_mode_only_while_its_body_runs():
    inside, outside = [], []

    @pb.no_grad()
    async def generate():
        inside.append(pb.is_grad_enabled())
        yield 1
        await asyncio.sleep(0)
        inside.append(pb.is_grad_enabled())
        yield 2

    async def consume():
        values = []
        async for value in generate():
            outside.append(pb.is_grad_enabled())
            values.append(value)
        return values

    assert asyncio.run(consume()) == [1, 2]
    assert inside == [False, False] and outside == [True, True]


@pytest.mark.parametrize("mode", [pb.no_grad, pb.enable_grad, pb.inference_mode], ids=lambda mode: mode.__name__)
def test_a_bare_mode_rejects_classes(mode):
    with pytest.raises(TypeError):

        @mode
        class Model:
            pass


# Under no_grad (§9.3)


def test_results_under_no_grad_are_leaves_without_history():
    x = L([2.0])
    with ng():
        y = x * x
    assert y.grad_fn is None and y.is_leaf and y.requires_grad is False


def test_factories_ignore_the_mode():
    with ng():
        assert pb.ones(1, requires_grad=True).requires_grad
        assert pb.zeros(1).requires_grad_().requires_grad


# Inference mode (§9.4)


def test_inside_inference_mode_results_are_inference_tensors():
    x = L([2.0])
    with pb.inference_mode():
        made, product, flagged = pb.ones(1), x * x, pb.ones(1, requires_grad=True)
        assert pb.is_inference_mode_enabled() and not pb.is_grad_enabled()
        assert made.is_inference() and product.is_inference()
        assert product.requires_grad is False
        assert flagged.requires_grad
        assert (flagged * 2).requires_grad is False
        with raises("INFERENCE_VERSION"):
            _ = made._version
        made.add_(1)
        assert made.is_inference() and it(made) == [2.0]
        assert made.requires_grad_().requires_grad
        assert made.clone().is_inference() and made.detach().is_inference()
    assert not pb.is_inference_mode_enabled() and pb.is_grad_enabled()


def test_every_way_to_write_an_inference_tensor_outside_is_refused():
    frozen = inference([1.0, 2.0])
    with raises("INFERENCE_INPLACE"):
        frozen.copy_(C([3.0, 4.0]))
    with raises("INFERENCE_INPLACE"):
        frozen[0] = 3.0
    with raises("INFERENCE_INPLACE"):
        pb.multiply(C([1.0, 1.0]), C([2.0, 2.0]), out=frozen)
    assert it(frozen) == [1.0, 2.0]
    with ng(), raises("INFERENCE_INPLACE"):
        frozen.add_(1)


def test_functional_operators_outside_give_normal_tensors():
    frozen = inference([1.0, 2.0])
    product = frozen * 2
    assert not product.is_inference() and product._version == 0
    assert product.requires_grad is False


def test_a_view_of_an_inference_tensor_is_an_inference_tensor_and_no_view():
    frozen = inference([1.0, 2.0])
    for view in (frozen[:1], in_inference(lambda: frozen[:1])):
        assert view.is_inference()
        assert not view._is_view() and view._base is None
    assert frozen.detach().is_inference()


def in_inference(function):
    with pb.inference_mode():
        return function()


def test_a_view_of_a_normal_tensor_made_inside_is_a_normal_tensor():
    base = pb.ones(3)
    view = in_inference(lambda: base[:2])
    assert not view.is_inference() and view._base is base
    base.add_(1)
    assert view._version == 1


def test_a_flagged_inference_leaf_receives_a_gradient():
    with pb.inference_mode():
        leaf = pb.ones(1, requires_grad=True)
    (leaf + C([2.0])).backward()
    assert it(leaf.grad) == [1.0]


def test_a_write_to_a_normal_tensor_inside_is_untracked():
    x = L([1.0])
    y = x * 1
    node = y.grad_fn
    with pb.inference_mode():
        y.mul_(5)
        x.mul_(2)
    assert y.grad_fn is node and y._version == 1
    assert it(x) == [2.0] and x.is_leaf
    assert it(g(y, x)[0]) == [1.0]


def test_backward_inside_inference_mode_makes_inference_gradients():
    x = L([3.0])
    y = x * x
    with pb.inference_mode():
        bw(y)
    assert it(x.grad) == [6.0]
    assert x.grad.is_inference()


def test_inference_mode_false_restores_recording():
    x = L([3.0])
    with pb.inference_mode():
        with pb.inference_mode(False):
            y = x * x
            assert not pb.is_inference_mode_enabled()
        assert pb.is_inference_mode_enabled()
    assert y.requires_grad and not y.is_inference()
    y.backward()
    assert it(x.grad) == [6.0]


def test_enable_grad_inside_inference_mode_reports_but_does_not_record():
    x = L([3.0])
    with pb.inference_mode(), pb.enable_grad():
        assert pb.is_grad_enabled()
        y = x * x
    assert y.is_inference() and y.grad_fn is None and y.requires_grad is False


# Thread state (§9.5)


def test_modes_are_thread_local():
    with pb.inference_mode():
        assert in_thread(pb.is_inference_mode_enabled) is False
    in_thread(lambda: pb.set_grad_enabled(False))
    assert pb.is_grad_enabled()


def test_multithreading_switch_changes_no_result():
    x = L([1.0, 2.0])
    with pb.autograd.set_multithreading_enabled(False):
        (x.exp() * x).sum().backward()
    np.testing.assert_allclose(array(x.grad), np.exp([1.0, 2.0]) * np.array([2.0, 3.0]))
