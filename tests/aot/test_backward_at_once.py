"""`backward()` on the result of a compiled function: the short pass equals the engine's, and leaves it the unusual."""

import gc
import threading
import warnings
import weakref
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

import pullback as pb
from pullback._compile import compile
from pullback.tape import backward as _api


def leaf(*shape, dtype=float):
    return pb.tensor(np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype), requires_grad=True)


def warm(f, *args, **options):
    """A compiled function whose calls have nodes with a compiled backward."""
    compiled = compile(f, fallback="raise", **options)
    compiled(*args).backward()
    return compiled


@contextmanager
def engine():
    """Every pass is the engine's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_api, "goes_to_leaves", lambda root: False)
        yield


@pytest.fixture
def short(monkeypatch):
    """Counts the passes that were short."""
    counted = []

    def counting(root, keep):
        was_short = pass_at_once(root, keep)
        counted.append(was_short)
        return was_short

    pass_at_once = _api.pass_at_once
    monkeypatch.setattr(_api, "pass_at_once", counting)
    return counted


captured = leaf(3)

CASES = {
    "one leaf": (lambda x: (x * x).sum(), lambda: (leaf(3),)),
    "scalars": (lambda x, y: x * y, lambda: (leaf(), leaf())),
    "the gradient itself": (lambda x: x + 0, lambda: (leaf(),)),
    "one gradient for several": (lambda x, y: (x + y).sum(), lambda: (leaf(3), leaf(3))),
    "views": (lambda x, y: (x.T * y).sum(), lambda: (leaf(2, 3), leaf(3, 2))),
    "constants": (lambda x, c, k: (x * c).sum() * k, lambda: (leaf(3), pb.ones(3), 2.0)),
    "an array": (lambda x, a: (x * a).sum(), lambda: (leaf(3), np.full(3, 2.0))),
    "captured": (lambda x: (x * captured).sum(), lambda: (leaf(3),)),
    "unused": (lambda x, y: (x * 2).sum(), lambda: (leaf(3), leaf(3))),
    "single precision": (lambda x: pb.exp(x).mean(), lambda: (leaf(3, dtype=np.float32),)),
    "complex": (lambda z: (z * z.conj()).real.sum(), lambda: (leaf(3, dtype=complex),)),
    "a dict": (lambda p: (p["w"] @ p["v"]).sum(), lambda: ({"w": leaf(2, 2), "v": leaf(2)},)),
    "an output that is saved": (lambda x: pb.exp(x), lambda: (leaf(),)),
    "broadcast": (lambda x, b: ((x + b) ** 2).sum(), lambda: (leaf(4, 3), leaf(1, 3))),
}  # fmt: skip


def leaves_of(args):
    flat = [x for each in args for x in (each.values() if isinstance(each, dict) else [each])]
    return [*(x for x in flat if isinstance(x, pb.Tensor) and x.requires_grad), captured]


@pytest.mark.parametrize("already", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_engine(name, already, short):
    f, make = CASES[name]
    compiled = warm(f, *make())
    short.clear()
    found = []
    for way in (nullcontext, engine):
        args = make()
        leaves = leaves_of(args)
        for x in leaves:
            x.grad = pb.full(x.shape, 0.1, dtype=x.dtype) if already else None
        before = [x.grad for x in leaves]
        with way():
            compiled(*args).backward()
        found.append([x.grad for x in leaves])
        for x, old in zip(leaves, before, strict=True):
            assert x.grad is old if already else x.grad is None or (x.grad._spec is x._spec and x.grad._node is None)
    captured.grad = None
    assert short == [True]
    for mine, theirs in zip(*found, strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_array_equal(mine._data, theirs._data)
            assert mine.dtype == theirs.dtype and mine._data.strides == theirs._data.strides
            assert mine._version == theirs._version and mine._data.flags.writeable


@pytest.mark.parametrize("name", CASES)
def test_results_of_grad_are_those_of_the_engine(name, monkeypatch):
    f, make = CASES[name]
    compiled = warm(f, *make())
    answers = []
    at_once = _api.gradients_at_once
    monkeypatch.setattr(_api, "gradients_at_once", lambda *given: answers.append(at_once(*given)) or answers[-1])
    args = make()
    captured.grad = None
    behind = [node.variable for node in compiled(*args).grad_fn.next if node is not None]
    used = [x for x in leaves_of(args) if any(x is variable for variable in behind)]
    mine = pb.autograd.grad(compiled(*args), used)
    with engine():
        theirs = pb.autograd.grad(compiled(*args), used)
    assert len(answers) == 1 and answers[0] is not None
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one._data, other._data)
        assert one.dtype == other.dtype and one._node is None and one._data.flags.writeable
        assert one._data.base is None and all(one is x or one._data is not x._data for x in mine)
    assert all(x.grad is None for x in used)


def test_grad_of_unusual_inputs_is_for_the_engine():
    compiled = warm(lambda x, y: (x * x).sum(), leaf(3), leaf(3))
    x, y, z = leaf(3), leaf(3), leaf(3)
    assert pb.autograd.grad(compiled(x, y), {"y": y, "x": x}, allow_unused=True)["y"] is None
    for unused in (y, z):
        with pytest.raises(pb.autograd.AutogradError) as caught:
            pb.autograd.grad(compiled(x, y), [x, unused])
        assert caught.value.code == "UNUSED_INPUT"
    first, second = pb.autograd.grad(compiled(x, y), [x, x])
    assert first.tolist() == second.tolist() and not np.may_share_memory(first._data, second._data)
    loss = compiled(x, y)
    (edge,) = pb.autograd.grad(loss, [pb.autograd.graph.get_gradient_edge(x)], retain_graph=True)
    assert edge.tolist() == first.tolist()
    assert pb.autograd.grad(loss, loss, retain_graph=True)[0].item() == 1.0
    x.register_hook(lambda g: g * 2)
    assert pb.autograd.grad(loss, x)[0].tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(pb.autograd.AutogradError) as caught:
        pb.autograd.grad(loss, x)
    assert caught.value.code == "SECOND_BACKWARD"


def test_gradients_share_no_memory_with_anything():
    compiled = warm(lambda x, y: (x + y).sum() + x[0], leaf(3), leaf(3))
    x, y = leaf(3), leaf(3)
    for _ in range(2):
        compiled(x, y).backward()
        x.grad.add_(100)
    assert x.grad.tolist() == [204.0, 202.0, 202.0] and y.grad.tolist() == [2.0, 2.0, 2.0]
    same = warm(lambda x: x + 0, leaf())
    for _ in range(2):
        x = leaf()
        same(x).backward()
        assert x.grad.item() == 1.0
        x.grad.add_(1)


def test_a_graph_is_kept_or_released(short):
    compiled = warm(lambda x: (x**3).sum(), leaf(3))
    x = leaf(3)
    loss = compiled(x)
    for _ in range(2):
        loss.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad._data, 6 * x._data**2)
    loss.backward()
    with pytest.raises(pb.autograd.AutogradError) as caught:
        loss.backward()
    assert caught.value.code == "SECOND_BACKWARD" and all(short)
    linear = warm(lambda x: x.sum(), leaf(3))(x)  # nothing is saved, so nothing is missing
    linear.backward()
    linear.backward()


@pb.autograd.overwrite_policy("raise")
def test_what_was_written_since_is_noticed(short):
    compiled = warm(lambda x, c: (x * c).sum(), leaf(3), pb.ones(3))
    x, c = leaf(3), pb.ones(3)
    loss = compiled(x, c)
    c.add_(1)
    with pytest.raises(pb.autograd.AutogradError) as caught:
        loss.backward()
    assert caught.value.code == "VERSION" and x.grad is None


def test_leaves_that_are_none_any_more():
    compiled = warm(lambda x: (x * 2).sum(), leaf(3))
    x = leaf(3)
    loss = compiled(x)
    x.requires_grad_(False)
    loss.backward()
    assert x.grad is None
    x = leaf(3)
    loss = compiled(x)
    x.requires_grad_(False)
    x.mul_(leaf(3))
    with pytest.raises(pb.autograd.AutogradError) as caught:
        loss.backward()
    assert caught.value.code == "LEAF_MOVED"


def runs_by_the_engine(compiled, prepare, short):
    """A pass after `prepare(x, loss)` is not a short one; returns the leaf."""
    x = leaf(3)
    loss = compiled(x)
    kept = prepare(x, loss)
    short.clear()
    loss.backward()
    assert True not in short
    del kept
    return x


def test_hooks_are_run_by_the_engine(short):
    compiled = warm(lambda x: (x * x).sum(), leaf(3))
    seen = []
    twice = lambda g: g * 2
    assert runs_by_the_engine(compiled, lambda x, _: x.register_hook(twice), short).grad.tolist() == [4.0, 8.0, 12.0]
    assert runs_by_the_engine(compiled, lambda _, y: y.register_hook(twice), short).grad.tolist() == [4.0, 8.0, 12.0]
    runs_by_the_engine(compiled, lambda x, _: x.register_post_accumulate_grad_hook(seen.append), short)
    runs_by_the_engine(compiled, lambda _, y: y.grad_fn.register_hook(lambda *given: seen.append(given)), short)
    runs_by_the_engine(compiled, lambda _, y: y.grad_fn.register_prehook(lambda given: seen.append(given)), short)

    def on_accumulator(x, loss):
        accumulator = loss.grad_fn.next_functions[0][0]
        return accumulator.register_prehook(seen.append)

    runs_by_the_engine(compiled, on_accumulator, short)
    assert len(seen) == 4
    loss = compiled(leaf(3))
    loss.retain_grad()
    loss.backward()
    assert loss.grad.item() == 1.0


def test_a_hook_on_an_accumulator_that_only_the_graph_holds_is_run():
    compiled = warm(lambda x: (x * x).sum(), leaf(3))
    x, seen = leaf(3), []
    loss = compiled(x)
    pb.autograd.graph.get_gradient_edge(x).node.register_prehook(seen.append)
    gc.collect()
    loss.backward()
    assert len(seen) == 1


def test_other_arguments_and_modes_are_for_the_engine(short):
    compiled = warm(lambda x: (x**3).sum(), leaf(3))
    x = leaf(3)
    compiled(x).backward(pb.tensor(2.0))
    assert x.grad.tolist() == [6.0, 24.0, 54.0]
    x, y = leaf(3), leaf(3)
    pair = warm(lambda x, y: (x * y).sum(), leaf(3), leaf(3))
    short.clear()
    pair(x, y).backward(inputs=[x])
    assert y.grad is None and x.grad is not None
    x = leaf(3)
    with warnings.catch_warnings(action="ignore"):
        compiled(x).backward(create_graph=True)
    assert x.grad.requires_grad and short == []
    x.grad = None
    with warnings.catch_warnings(action="ignore"), pb.autograd.detect_anomaly():
        loss = compiled(x)
        loss.backward()
    assert x.grad is not None
    loss = compiled(x)
    events = []
    observer = lambda *event: events.append(event[:2])
    pb.autograd.profiler.observers.append(observer)
    try:
        loss.backward()
    finally:
        pb.autograd.profiler.observers.remove(observer)
    assert ("backward", "CompiledBackward") in events
    assert True not in short
    with pb.no_grad():
        loss = pb.enable_grad()(compiled)(x)
        loss.backward()
    assert short[-1]


def test_other_dtypes_of_gradients_are_for_the_engine(short):
    compiled = warm(lambda x: (x * x).sum(), leaf(3, dtype=np.float32))
    x = leaf(3, dtype=np.float32)
    x.grad_dtype = np.float64
    short.clear()
    compiled(x).backward()
    assert x.grad.dtype == np.float64 and short == [False]


def test_errors_of_roots_are_those_of_the_engine():
    compiled = warm(lambda x: (x * x).sum(), leaf(3))
    several = compile(lambda x: x * 2, fallback="raise")
    several(leaf(3)).sum().backward()
    with pytest.raises(pb.autograd.AutogradError) as caught:
        several(leaf(3)).backward()
    assert caught.value.code == "IMPLICIT_NONSCALAR"
    with pytest.raises(pb.autograd.AutogradError) as caught:
        pb.func.grad(lambda x: (compiled(leaf(3)).backward(), x)[1])(pb.tensor(1.0))
    assert caught.value.code == "BACKWARD_IN_TRANSFORM"


def test_what_is_captured_and_given_gets_one_sum(short):
    w = leaf(3)
    compiled = warm(lambda x: (x * w * w).sum(), leaf(3))
    found = []
    for way in (nullcontext, engine):
        w.grad = pb.full((3,), 0.1)
        with way():
            compiled(w).backward()
        found.append(w.grad.tolist())
    assert found[0] == found[1]


def test_numpy_warns_of_nothing_and_its_settings_stay(short):
    compiled = warm(lambda x: pb.sqrt(x).sum(), leaf(3))
    x = pb.zeros(3, requires_grad=True)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = np.geterr()
        compiled(x).backward()
        assert np.geterr() == settings
    assert x.grad.tolist() == [np.inf] * 3 and short[-1]


def test_a_pass_within_a_pass(short):
    compiled = warm(lambda x: (x * x).sum(), leaf(3))
    x, y = leaf(3), leaf(3)
    x.register_hook(pb.enable_grad()(lambda g: compiled(y).backward()))
    (x * 1).sum().backward()
    assert y.grad.tolist() == [2.0, 4.0, 6.0] and short[-1]


def test_operators_of_users_are_run_by_the_engine(short):
    seen = []

    @pb.library.custom_op("at_once::halved", mutates_args=())
    def halved(x: pb.Tensor) -> pb.Tensor:
        seen.append(pb.autograd.graph.current_graph_task_id() >= 0)
        return x / 2

    halved.register_fake(lambda x: pb.empty_like(x))
    halved.register_autograd(lambda ctx, g: halved(g))
    compiled = compile(lambda x: halved(x * x).sum(), fallback="raise")
    for _ in range(3):
        x = leaf(3)
        compiled(x).backward()
        assert x.grad.tolist() == [1.0, 2.0, 3.0]
    assert True not in short and seen[-1] is True


def test_a_compiler_of_the_user_may_return_what_it_likes(short):
    def returning_scalars(graph, types):
        return lambda arrays: [x if x is None else x[()] for x in graph.eval_boxed(arrays)]

    compiled = pb.aot.aot_function(lambda x: x * x, lambda graph, types: graph.eval_boxed, returning_scalars)
    for _ in range(3):
        x = leaf()
        compiled(x).backward()
        assert type(x.grad._data) is np.ndarray and x.grad.item() == 2.0
    assert True not in short


def test_nodes_between_others_are_pulled_at_once(monkeypatch):
    compiled = warm(lambda x: (x * x).sum(), leaf(3))
    middle = compile(lambda x: pb.sin(x) * 2, fallback="raise")
    x = leaf(3)
    for f in (lambda x: middle(x), lambda x: compiled(middle(x * 1))):
        f(x).sum().backward()
    x.grad = None
    y = middle(x * 1)
    assert y.grad_fn.is_fast
    evaluated = []
    monkeypatch.setattr(type(y.grad_fn), "evaluate", lambda *given: evaluated.append(given))
    compiled(y).backward()
    assert evaluated == []
    np.testing.assert_allclose(x.grad._data, 8 * np.sin(x._data) * np.cos(x._data), rtol=1e-14)
    (found,) = pb.autograd.grad(middle(x).sum(), x)
    np.testing.assert_allclose(found._data, 2 * np.cos(x._data), rtol=1e-14)


def test_a_loss_that_comes_with_other_results(short):
    both = compile(lambda x, y, z: ((x * y).sum(), pb.exp(y) * z), fallback="raise")
    found = []
    for way in (engine, nullcontext):
        x, y, z = leaf(3), leaf(3), leaf(3)
        with way():
            loss, beside = both(x, y, z)
            loss.backward(retain_graph=True)
            assert z.grad is None
            loss.backward(retain_graph=True)
            pb.autograd.backward([loss, beside.sum()])
        found.append([each.grad.tolist() for each in (x, y, z)])
        with pytest.raises(pb.autograd.AutogradError) as caught:
            loss.backward()
        assert caught.value.code == "SECOND_BACKWARD"
    assert found[0] == found[1] and short[:2] == [True, True]
    x, y, z = leaf(3), leaf(3), leaf(3)
    loss, beside = both(x, y, z)
    (loss * 2 + beside.sum()).backward()
    np.testing.assert_allclose(y.grad._data, 2 * x._data + np.exp(y._data) * z._data)
    loss, beside = both(x * 1, y, z)
    (loss * 3).backward()
    loss, beside = both(x * 1, y, z)
    assert loss.grad_fn.is_fast and not loss.grad_fn.goes_to_leaves
    before = x.grad._data.copy()
    (loss * 3).backward()  # by the engine, which pulls the node
    np.testing.assert_allclose(x.grad._data - before, 3 * y._data)
    with pytest.raises(pb.autograd.AutogradError) as caught:
        pb.autograd.grad(both(x, y, z)[0], [x, z])
    assert caught.value.code == "UNUSED_INPUT"


def test_gradients_in_another_order_are_laid_out_as_the_graph_expects():
    middle = compile(lambda x: (x * x).reshape(6), fallback="raise")
    for _ in range(2):
        x = leaf(2, 3)
        y = middle(x)
        y.backward(pb.tensor(np.arange(12.0)).detach()[::2])
        np.testing.assert_array_equal(x.grad._data, 2 * x._data * np.arange(0, 12.0, 2).reshape(2, 3))


def test_everything_is_freed():
    compiled = warm(lambda x, y: (pb.exp(x) * y).sum(), leaf(3), leaf(3))
    gc.collect()
    gc.disable()
    try:
        x, y = leaf(3), leaf(3)
        loss = compiled(x, y)
        saved = [weakref.ref(value) for value in loss.grad_fn.saved]
        loss.backward()
        watched = [weakref.ref(thing) for thing in (x, y, loss, loss.grad_fn, x._data)]
        assert [ref() for ref in saved if ref() is not y._data] == [None] * (len(saved) - 1)
        del x, y, loss
        assert [ref() for ref in watched] == [None] * len(watched)
    finally:
        gc.enable()


def test_threads_add_to_the_same_leaf():
    compiled = warm(lambda x: (x * 3).sum(), leaf(5))
    x = leaf(5)

    def work():
        for _ in range(200):
            compiled(x).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [4 * 200 * 3.0] * 5
