"""Activation checkpointing: conformance cases 226 to 231, and what §11 says besides."""

import contextlib
import functools
import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.errors import CheckpointError
from pullback.utils.checkpoint import (
    CheckpointPolicy,
    GraphExecGroup,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

from .shorthand import C, Fn, L, array, bw, g, it, ng, raises


class Counted:
    """A function that knows how often it ran."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def changing(*functions):
    """A function whose n-th run is the n-th of `functions`, and the last one from then on."""
    runs = []

    def function(x):
        runs.append(x)
        return functions[min(len(runs), len(functions)) - 1](x)

    return function


def sin_exp(x):
    return x.sin().exp()


def gradient_of(function, value):
    x = L(value)
    return array(g(function(x).sum(), x)[0])


def test_226_a_checkpointed_function_runs_once_more_per_pass():
    function, x = Counted(sin_exp), L([1.0])
    y = checkpoint(function, x)
    assert function.calls == 1
    y.backward()
    assert function.calls == 2
    np.testing.assert_array_equal(array(x.grad), gradient_of(sin_exp, [1.0]))

    function, x = Counted(sin_exp), L([1.0])
    y = checkpoint(function, x)
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert function.calls == 3


def test_226_nothing_is_run_again_if_nothing_is_saved_or_grad_is_off():
    function, x = Counted(lambda x: x + 1), L([1.0])
    checkpoint(function, x).backward()
    assert function.calls == 1 and it(x.grad) == [1.0]

    function = Counted(sin_exp)
    with ng():
        y = checkpoint(function, L([1.0]))
    assert function.calls == 1 and not y.requires_grad


def sin_with_tail(tail):
    def function(x):
        y = x.sin()
        tail.append("reached")
        return y + 1

    return function


def test_227_the_second_run_stops_as_soon_as_everything_saved_is_there():
    tail = []
    checkpoint(sin_with_tail(tail), L([1.0])).backward()
    assert len(tail) == 1
    tail.clear()
    checkpoint(sin_with_tail(tail), L([1.0]), early_stop=False).backward()
    assert len(tail) == 2


@pytest.mark.parametrize("context, argument", [(False, True), (True, False)])
def test_227_the_context_overrides_the_argument_at_forward_time(context, argument):
    tail = []
    with set_checkpoint_early_stop(context):
        y = checkpoint(sin_with_tail(tail), L([1.0]), early_stop=argument)
    y.backward()
    assert len(tail) == (1 if context else 2)


def test_228_the_second_run_draws_the_same_numbers_and_leaves_the_generator_alone():
    draws = []

    def noisy(x):
        noise = pb.random.standard_normal(3)
        draws.append(it(noise))
        return (x * noise).sin()

    pb.random.manual_seed(5)
    expected = [it(pb.random.standard_normal(3)) for _ in range(3)]
    pb.random.manual_seed(5)
    y = checkpoint(noisy, L([1.0, 2.0, 3.0]))
    between = it(pb.random.standard_normal(3))
    y.sum().backward()
    after = it(pb.random.standard_normal(3))
    assert draws == [expected[0], expected[0]]
    assert [between, after] == expected[1:]


@pytest.mark.parametrize("again", [lambda x: x.sin() + x, lambda x: x + 1], ids=["one less", "none"])
def test_229_fewer_saved_values_are_detected(again):
    y = checkpoint(changing(sin_exp, again), L([1.0]))
    with pytest.raises(CheckpointError, match="2"):
        y.backward()


def test_229_more_saved_values_are_detected_without_early_stop():
    longer = changing(sin_exp, lambda x: x.sin().exp().sin())
    y = checkpoint(longer, L([1.0]), early_stop=False)
    with pytest.raises(CheckpointError, match="2"):
        y.backward()
    longer = changing(sin_exp, lambda x: x.sin().exp().sin())
    checkpoint(longer, L([1.0])).backward()


@pytest.mark.parametrize("again", [lambda x: x[:1].sin(), lambda x: x.astype(pb.float32).sin()], ids=["shape", "dtype"])
def test_229_saved_values_of_another_shape_or_dtype_are_detected(again):
    y = checkpoint(changing(lambda x: x.sin(), again), L([1.0, 2.0]))
    with pytest.raises(CheckpointError):
        y.sum().backward()


def test_229_the_check_of_shapes_and_dtypes_can_be_switched_off():
    x = L([1.0, 2.0])
    function = changing(lambda x: x.sin(), lambda x: x.astype(pb.float32).sin())
    checkpoint(function, x, determinism_check="none").sum().backward()
    np.testing.assert_allclose(array(x.grad), np.cos([1.0, 2.0]), rtol=1e-6)


def test_230_nested_checkpoints_run_all_enclosing_levels():
    inner = Counted(lambda x: x.sin().exp())
    outer = Counted(lambda x: checkpoint(inner, x.cos()).sin())
    x = L([1.0])
    checkpoint(outer, x).backward()
    assert (inner.calls, outer.calls) == (3, 2)
    np.testing.assert_allclose(array(x.grad), gradient_of(lambda x: x.cos().sin().exp().sin(), [1.0]))


def test_230_double_backward_equals_the_plain_one():
    def second_derivative(function):
        x = L([0.5, 1.0])
        (first,) = g(function(x).sum(), x, create_graph=True)
        (second,) = g(first.sum(), x)
        return array(second)

    def nested(x):
        return checkpoint(lambda x: checkpoint(lambda x: x.sin().exp(), x.cos()).sin(), x)

    plain = second_derivative(lambda x: x.cos().sin().exp().sin())
    np.testing.assert_allclose(second_derivative(lambda x: checkpoint(lambda x: sin_exp(x.cos()).sin(), x)), plain)
    np.testing.assert_allclose(second_derivative(nested), plain)


def selective(function, x, policy, **options):
    contexts = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    return checkpoint(function, x, context_fn=contexts)


@pytest.mark.parametrize("decision", [CheckpointPolicy.MUST_SAVE, CheckpointPolicy.MUST_RECOMPUTE, True, False])
def test_231_a_selective_policy_is_asked_once_per_operator_in_the_forward_only(decision):
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append(op)
        return decision

    x = L([1.0])
    y = selective(sin_exp, x, policy)
    assert len(asked) == 2 and asked[0] is not asked[1]
    y.backward()
    assert len(asked) == 2
    np.testing.assert_allclose(array(x.grad), gradient_of(sin_exp, [1.0]))


def test_231_a_second_pass_over_a_selective_region_is_an_error():
    y = selective(sin_exp, L([1.0]), lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE)
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError):
        y.backward()


# Arguments, results, structure (§11.1)


def test_arguments_and_results_have_any_structure():
    w, x = L([3.0]), L([2.0])

    def function(pair, *, scale, named):
        first, second = pair
        return {"product": (first * second * w).sin(), "others": [named["k"] * scale, "text"]}

    out = checkpoint(function, (x, C([5.0])), scale=2.0, named={"k": x})
    assert out["others"][1] == "text"
    (out["product"] + out["others"][0]).backward()
    np.testing.assert_allclose(array(x.grad), [15 * np.cos(30.0) + 2])
    np.testing.assert_allclose(array(w.grad), [10 * np.cos(30.0)])


def test_inputs_need_not_require_grad():
    w = L([2.0])
    checkpoint(lambda x: (x * w).sin(), C([1.0])).backward()
    np.testing.assert_allclose(array(w.grad), np.cos([2.0]))


def test_the_reentrant_design_is_one_node_and_has_to_be_asked_for():
    assert checkpoint(sin_exp, L([1.0]), use_reentrant=True).grad_fn.name() == "CheckpointFunctionBackward"
    for option in (None, False):
        assert checkpoint(sin_exp, L([1.0]), use_reentrant=option).grad_fn.name() == "ExpBackward0"


def test_no_saved_value_is_kept():
    kept = []

    def function(x):
        y = x.exp()
        z = y.sin()
        kept.append(weakref.ref(y))
        return z

    gc.disable()
    try:
        z = checkpoint(function, L([1.0]))
        assert kept[0]() is None
        z.backward()
    finally:
        gc.enable()


# Re-running (§11.2 to §11.4)


@pb.autograd.overwrite_policy("raise")
def test_an_input_written_after_the_forward_is_detected():
    x, c = L([1.0]), C([2.0])
    y = checkpoint(lambda x, c: (x * c).sin(), x, c)
    c.add_(1)
    with raises("VERSION"):
        y.backward()


def test_one_pass_runs_the_function_once_however_many_values_it_unpacks():
    function, x = Counted(lambda x: x.sin().exp().cos().tanh()), L([1.0])
    checkpoint(function, x).backward()
    assert function.calls == 2


def test_reading_a_saved_value_outside_a_pass_runs_again_each_time():
    function, x = Counted(lambda x: x.sin()), L([1.0])
    y = checkpoint(function, x)
    assert it(y.grad_fn._saved_self) == [1.0]
    assert it(y.grad_fn._saved_self) == [1.0]
    assert function.calls == 3


def test_the_second_run_has_grad_mode_on_even_if_the_pass_has_not():
    modes = []

    def function(x):
        modes.append(pb.is_grad_enabled())
        return x.sin()

    checkpoint(function, L([1.0])).backward()
    assert modes == [True, True]


def test_saved_tensors_of_a_function_can_be_read_twice_in_one_execution():
    def forward(c, x):
        c.save_for_backward(x)
        return x * x

    def backward(c, q):
        return q * (c.saved_tensors[0] + c.saved_tensors[0])

    x = L([3.0])
    checkpoint(Fn(forward, backward), x, early_stop=False).backward()
    assert it(x.grad) == [6.0]


def test_finally_blocks_see_the_early_stop():
    log = []

    def function(x):
        try:
            y = x.sin()
            log.append("after sin")
            return y
        finally:
            log.append("finally")

    checkpoint(function, L([1.0])).backward()
    assert log == ["after sin", "finally", "finally"]


def test_the_early_stop_context_nests():
    tail = []
    with set_checkpoint_early_stop(False):
        with set_checkpoint_early_stop(True):
            first = checkpoint(sin_with_tail(tail), L([1.0]))
        second = checkpoint(sin_with_tail(tail), L([1.0]))
    tail.clear()
    first.backward()
    assert tail == []
    second.backward()
    assert tail == ["reached"]


# Random numbers (§11.5)


def test_numpys_global_generator_is_replayed_too():
    draws = []

    def noisy(x):
        noise = np.random.random(2)
        draws.append(noise.tolist())
        return (x * C(noise)).sin()

    before = np.random.get_state()
    try:
        np.random.seed(3)
        expected = [np.random.random(2).tolist() for _ in range(2)]
        np.random.seed(3)
        checkpoint(noisy, L([1.0, 2.0])).sum().backward()
        assert draws == [expected[0], expected[0]]
        assert np.random.random(2).tolist() == expected[1]
    finally:
        np.random.set_state(before)


def test_replaying_random_numbers_can_be_switched_off():
    draws = []

    def noisy(x):
        noise = pb.random.standard_normal(3)
        draws.append(it(noise))
        return (x * noise).sin()

    checkpoint(noisy, L([1.0, 2.0, 3.0]), preserve_rng_state=False).sum().backward()
    assert draws[0] != draws[1]


# Checks and contexts (§11.6, §11.7)


def test_an_unknown_determinism_check_is_refused():
    with pytest.raises(ValueError):
        checkpoint(sin_exp, L([1.0]), determinism_check="perhaps")


def test_debug_mode_tells_both_runs_and_excludes_a_context():
    y = checkpoint(changing(sin_exp, lambda x: x.cos()), L([1.0]), debug=True)
    with pytest.raises(CheckpointError, match=r"(?is)sin.*cos|cos.*sin"):
        y.backward()
    contexts = lambda: (contextlib.nullcontext(), contextlib.nullcontext())
    with pytest.raises(ValueError):
        checkpoint(sin_exp, L([1.0]), debug=True, context_fn=contexts)


def test_context_fn_wraps_the_forward_and_the_second_run():
    log = []

    @contextlib.contextmanager
    def logging(label):
        log.append(f"enter {label}")
        try:
            yield
        finally:
            log.append(f"leave {label}")

    y = checkpoint(sin_exp, L([1.0]), context_fn=lambda: (logging("forward"), logging("again")))
    assert log == ["enter forward", "leave forward"]
    y.backward()
    assert log == ["enter forward", "leave forward", "enter again", "leave again"]


def test_exceptions_in_either_run_arrive_unchanged():
    class Trouble(Exception):
        pass

    def fail(x):
        raise Trouble

    with pytest.raises(Trouble):
        checkpoint(fail, L([1.0]))
    y = checkpoint(changing(sin_exp, fail), L([1.0]))
    with pytest.raises(Trouble):
        y.backward()


def test_a_forward_context_must_not_swallow_an_exception():
    def fail(x):
        raise KeyError("lost")

    with pytest.raises(RuntimeError):
        checkpoint(fail, L([1.0]), context_fn=lambda: (contextlib.suppress(KeyError), contextlib.nullcontext()))


# Nesting, passes, memory (§11.8, §11.9)


def test_checkpoints_work_with_grad_and_with_inputs():
    w, x = L([2.0]), L([1.0])
    y = checkpoint(lambda x: (x * w).sin(), x)
    np.testing.assert_allclose(array(g(y, w)[0]), np.cos([2.0]))
    y = checkpoint(lambda x: (x * w).sin(), x)
    bw(y, inputs=x)
    np.testing.assert_allclose(array(x.grad), 2 * np.cos([2.0]))
    assert w.grad is None


def test_a_pass_inside_the_function_is_allowed():
    x = L([1.0])

    def function(x):
        (inner,) = g((x * x * x).sum(), x, create_graph=True)
        return inner.sin()

    checkpoint(function, x).backward()
    np.testing.assert_allclose(array(x.grad), 6 * np.cos([3.0]))


def test_a_dropped_graph_dies_without_the_collector():
    class Probe:
        pass

    gc.collect()
    gc.disable()
    try:
        y = checkpoint(lambda x: checkpoint(sin_exp, x).cos(), L([1.0]))
        probe = Probe()
        y.grad_fn.metadata["probe"] = probe
        gone = weakref.ref(probe)
        del y, probe
        assert gone() is None
    finally:
        gc.enable()


def two_outputs(x, w):
    return x.sin(), w.cos()


def test_passes_of_one_group_share_a_run():
    function, x, w = Counted(two_outputs), L([1.0]), L([2.0])
    first, second = checkpoint(function, x, w)
    with GraphExecGroup():
        first.backward()
        second.backward()
    assert function.calls == 2
    np.testing.assert_allclose(array(x.grad), np.cos([1.0]))
    np.testing.assert_allclose(array(w.grad), -np.sin([2.0]))


def test_passes_of_one_group_must_not_overlap_and_groups_do_not_nest():
    y = checkpoint(sin_exp, L([1.0]))
    with GraphExecGroup():
        y.backward(retain_graph=True)
        with pytest.raises(CheckpointError):
            y.backward()
    with GraphExecGroup(), pytest.raises(RuntimeError), GraphExecGroup():
        pass


# Selective policies (§11.10) and sequences (§11.11)


def scaled_sin(factors):
    """`sin(k * x)` with another `k` on each run, to see whether the product is run again."""
    return changing(*(lambda x, k=k: (x * k).sin() for k in factors))


def test_saved_operators_are_not_executed_again():
    for decision, seen in [(True, 2.0), (False, 3.0)]:
        x = L([1.0])
        selective(scaled_sin([2.0, 3.0]), x, lambda ctx, op, *args, d=decision, **kwargs: d).backward()
        np.testing.assert_allclose(array(x.grad), 2 * np.cos([seen]))


def test_a_list_of_operators_names_those_to_save():
    asked = []
    selective(scaled_sin([2.0]), L([1.0]), lambda ctx, op, *args, **kwargs: bool(asked.append(op)))
    product = asked[0]
    x = L([1.0])
    selective(scaled_sin([2.0, 3.0]), x, [product]).backward()
    np.testing.assert_allclose(array(x.grad), 2 * np.cos([2.0]))


def test_a_new_operator_in_the_second_run_is_an_error():
    y = selective(changing(sin_exp, lambda x: x.cos().sin().exp()), L([1.0]), lambda ctx, op, *args, **kwargs: True)
    with pytest.raises(RuntimeError):
        y.backward()


@pb.autograd.overwrite_policy("raise")
def test_a_saved_value_that_was_written_is_an_error_unless_allowed():
    def leaking(x):
        doubled = x * 2.0
        leaked.append(doubled)
        return (doubled + 1).sin()

    def run(**options):
        x = L([1.0])
        leaked.clear()
        y = selective(leaking, x, lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE, **options)
        leaked[0].detach().add_(10)
        y.backward()
        return array(x.grad)

    leaked = []
    with pytest.raises(RuntimeError):
        run()
    np.testing.assert_allclose(run(allow_cache_entry_mutation=True), 2 * np.cos([3.0]))


def test_all_segments_but_the_last_are_checkpointed():
    functions = [Counted(lambda x: x.sin()) for _ in range(4)]
    x = L([1.0])
    checkpoint_sequential(functions, 2, x).backward()
    assert [function.calls for function in functions] == [2, 2, 1, 1]
    np.testing.assert_allclose(array(x.grad), gradient_of(lambda x: x.sin().sin().sin().sin(), [1.0]))
