"""Ahead-of-time capture, gradients and modes: conformance cases 123 to 142."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback import aot

from .aot import (
    VARIANTS,
    Run,
    agree,
    check,
    compare,
    inner,
    is_training,
    ops_of,
    plain,
    returned,
    rg,
    tangents_of,
    trace,
    unchanged_by_errors,
)
from .custom_ops import op
from .shorthand import Fn


def compiled(f, **options):
    return VARIANTS["numpy"](f, **options)


@pytest.fixture(params=list(VARIANTS))
def variant(request):
    """Every way to compile."""
    return VARIANTS[request.param]


def test_123_an_input_that_is_not_used_gets_no_gradient():
    f = lambda x, y: x * 2
    check(f, lambda: (rg(), rg()))
    graph = aot.joint_graph(f, rg(), rg()).graph
    assert returned(graph) == ["output[0]", "grad(args[0])"]
    x, y = rg(), rg()
    compiled(f)(x, y).sum().backward()
    assert y.grad is None


def test_124_a_backward_pass_through_one_result_only():
    f = lambda a, b: (a * 2, b * 3)
    check(f, lambda: (rg(), rg()))
    a, b = rg(), rg()
    compiled(f)(a, b)[0].sum().backward()
    assert a.grad is not None and b.grad is None


def test_125_a_backward_pass_through_a_view_of_an_input_only():
    f = lambda a, b: (a.reshape(-1), a * b)
    check(f, lambda: (rg(), rg()))
    a, b = rg(), rg()
    compiled(f)(a, b)[0].sum().backward()
    assert a.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]] and b.grad is None


def test_126_integers_have_no_gradients():
    check(lambda x: (pb.argmax(x), x * 2), lambda: (rg(),), T=["out 1"])
    make = lambda: (rg((3, 2)), pb.tensor([0, 2]))
    f = lambda x, k: x[k]
    check(f, make, T=["out 0"])
    assert returned(aot.joint_graph(f, *make()).graph) == ["output[0]", "grad(args[0])"]


def test_127_a_hook_inside_is_part_of_the_graph():
    def f(x):
        h = x * 2
        h.register_hook(lambda q: q * 10)
        return h.sum()

    check(f, lambda: (rg(),))
    x = rg()
    compiled(f)(x).backward()
    assert x.grad.tolist() == [[20.0, 20.0], [20.0, 20.0]]


def test_127_a_hook_of_the_callers_tensor_runs_once_in_every_backward_pass(variant):
    seen = []
    x = rg()
    x.register_hook(lambda q: seen.append(q.tolist()))
    call = variant(lambda x: (x * 2).sum())
    for count in (1, 2):
        call(x).backward()
        assert len(seen) == count and seen[-1] == [[2.0, 2.0], [2.0, 2.0]]


def test_128_a_gradient_taken_inside_is_a_forward_value():
    def first(x):
        return pb.autograd.grad(pb.exp(x).sum(), x)

    def second(x):
        (g,) = pb.autograd.grad(pb.exp(x).sum(), x, create_graph=True)
        return g.sum()

    make = lambda: (rg(),)
    check(first, make)
    assert not is_training(first, make)
    check(second, make)
    assert is_training(second, make)
    x = rg()
    compiled(second)(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()))


def test_129_a_grad_mode_that_is_left_changed(variant):
    def f(x):
        pb.set_grad_enabled(False)
        return x * 2

    make = lambda: (rg(),)
    meta = check(f, make)
    assert meta.grad_enabled_mutation is False
    call = variant(f)
    try:
        for _ in range(2):
            with pb.enable_grad():
                call(rg())
                assert not pb.is_grad_enabled()
    finally:
        pb.set_grad_enabled(True)
    (entry,) = call.entries()
    assert not entry.is_training
    aot.trace(f, rg())
    assert pb.is_grad_enabled()


def test_130_grad_mode_that_is_switched_on_inside():
    def f(x):
        with pb.enable_grad():
            return x * 2

    make = lambda: (rg(),)
    with pb.no_grad():
        check(f, make)
        assert is_training(f, make)
        x = rg()
        result = compiled(f)(x)
    assert result.requires_grad
    result.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_131_grad_mode_is_a_guard():
    call = compiled(lambda x: x * 2)
    with pb.no_grad():
        assert not call(rg()).requires_grad
    assert call(rg()).requires_grad
    assert call.cache_info().currsize == 2


def test_132_a_default_dtype_that_is_left_changed():
    def f(x):
        pb.set_default_dtype("float32")
        return x * 2

    try:
        with pytest.raises(RuntimeError, match="default dtype"):
            compiled(f)(rg())
    finally:
        pb.set_default_dtype("float64")


def writing_in_backward(amount):
    """`x * b`, whose backward pass adds to `b`."""

    def forward(c, x, b):
        c.save_for_backward(x, b)
        return x * 2

    def backward(c, q):
        _, b = c.saved_tensors
        b.add_(amount)
        return q * 2, None

    return Fn(forward, backward)


def after_backward(function, make, **options):
    """What a call and a backward pass leave behind."""
    run = Run(function, make)
    assert run.error is None, run.error
    loss = run.outs[0].sum()
    try:
        loss.backward(**options)
    except RuntimeError as error:
        run.after = error
    return run


def test_133_a_backward_pass_that_writes_to_an_input(variant):
    add = writing_in_backward(1.0)
    f = lambda x, b: add(x, b)
    make = lambda: (rg(), plain())
    call = variant(f)
    for _ in range(2):
        compare("written in backward", after_backward(f, make), after_backward(call, make), poked=False)
    (entry,) = call.entries()
    assert "store" not in ops_of(entry.partition.forward) and "store" in ops_of(entry.partition.backward)
    x, b = make()
    result = call(x, b)
    assert b._version == 0 and b.tolist() == [[1.0, 1.5], [2.0, 2.5]]
    result.sum().backward()
    assert b._version == 1 and b.tolist() == [[2.0, 2.5], [3.0, 3.5]]


def test_134_a_backward_pass_that_writes_to_an_input_that_requires_grad(variant):
    def forward(c, x):
        c.save_for_backward(x)
        return x * 2

    def backward(c, q):
        c.saved_tensors[0].add_(1.0)
        return q * 2

    function = Fn(forward, backward)
    f = lambda x: function(x)
    make = lambda: (rg(),)
    call = variant(f)
    compare("written in backward", after_backward(f, make), after_backward(call, make), poked=False)
    eager = after_backward(f, make, create_graph=True)
    again = after_backward(call, make, create_graph=True)
    assert eager.after is not None and again.after is not None
    assert again.things[1].tolist() == eager.things[1].tolist()


def test_135_a_buffer_written_in_both_passes(variant):
    add = writing_in_backward(10.0)

    def f(x, b):
        with pb.no_grad():
            b.add_(1.0)
        return add(x, b)

    make = lambda: (rg(), plain())
    call = variant(f)
    compare("written in both", after_backward(f, make), after_backward(call, make), poked=False)
    x, b = make()
    result = call(x, b)
    assert b.tolist() == [[2.0, 2.5], [3.0, 3.5]]
    result.sum().backward()
    assert b.tolist() == [[12.0, 12.5], [13.0, 13.5]]


def test_136_a_backward_pass_can_not_change_the_gradient_that_it_is_lent(variant):
    function = Fn(lambda c, x: x * 2, lambda c, q: q.mul_(2))
    f = lambda x: function(x)
    weight = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    outcomes = []
    for call in (f, variant(f)):
        x = rg()
        try:
            call(x).backward(weight)
            outcomes.append(x.grad.tolist())
        except pb.autograd.AutogradError as error:
            outcomes.append(error.code)
        assert weight.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert outcomes[0] == outcomes[1]


def test_137_a_history_that_no_gradient_leads_to_is_not_walked(variant):
    call = variant(lambda v, x: (v.detach() * x).sum())
    v, x = inner(), rg()
    v.exp().sum().backward()  # frees the history of v
    call(v, x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), v.detach().numpy())


def test_138_the_loss_is_found_by_what_it_is():
    def f(x, w, n):
        n.add_(1)
        return ((w * x).sum() + n.sum(),)

    joint = aot.joint_graph(f, rg(), rg(), plain(), loss_index=0)
    signature = joint.signature
    assert signature.backward.loss_output == "output[0]"
    assert signature.user_inputs_to_mutate == {"mutated(args[2])": "args[2]"}
    assert signature.backward.gradients_to_user_inputs == {"grad(args[0])": "args[0]", "grad(args[1])": "args[1]"}
    x, w, n = rg(), rg(start=3.0), plain()
    values = joint.graph.eval(*[each.detach().numpy() for each in (x, w, n)])
    position = [desc.expr() for desc in joint.graph.output_descs].index("grad(args[0])")
    np.testing.assert_array_equal(values[position], w.detach().numpy())


def test_139_the_function_runs_once_for_each_capture():
    calls = []

    def f(a, b):
        calls.append(1)
        a.mul_(2)
        return a + b

    call = compiled(f, side_effects="trace")
    for _ in range(3):
        call(plain(), plain())
    assert len(calls) == 1
    y = plain()
    call(y[0], y[0])  # once, and once more with the two merged
    assert len(calls) == 3


def test_140_effects_happen_in_their_order(variant):
    log = []

    def note(x: np.ndarray, number: int) -> np.ndarray:
        log.append(number)
        return x + 0.0

    noted = op(note)
    noted.register_fake(lambda x, number: pb.empty_like(x))
    noted.register_effect("ordered")

    def f(b):
        noted(b, 1)
        noted(b, 2)
        noted(b, 1)
        return b * 2

    call = variant(f)
    call(plain())
    assert log == [1, 2, 1]
    call(plain())
    assert log == [1, 2, 1] * 2
    graph = trace(f, plain())
    assert [node.effect for node in graph.nodes if node.effect is not None] == ["ordered"] * 3


def test_141_draws_are_those_of_eager_code(variant):
    def f(x):
        mask = pb.random.rand(2, 2) > 0.5
        return pb.where(mask, x * 2, 0.0).sum(), mask, pb.random.rand(2)

    def after(function):
        pb.random.manual_seed(7)
        results = []
        for _ in range(2):
            x = rg()
            total, mask, rest = function(x)
            total.backward()
            results.append((total.item(), mask.tolist(), rest.tolist(), x.grad.tolist()))
        return results, pb.random.rand(3).tolist()

    assert after(variant(f)) == after(f)


def test_141_a_draw_that_nobody_uses_is_drawn(variant):
    def f(x):
        pb.random.rand(5)
        return x * 2

    def after(function):
        pb.random.manual_seed(7)
        function(rg())
        return pb.random.rand(3).tolist()

    assert after(variant(f)) == after(f)


def test_142_tracing_draws_nothing():
    pb.random.manual_seed(3)
    wanted = pb.random.rand(3).tolist()
    pb.random.manual_seed(3)
    aot.trace(lambda x: x * pb.random.rand(2, 2), rg())
    aot.joint_graph(lambda x: x * pb.random.rand(2, 2), rg())
    assert pb.random.rand(3).tolist() == wanted


def test_142_randomness_of_the_host_becomes_a_constant():
    with pytest.warns(aot.TraceWarning, match="host randomness became a constant"):
        aot.trace(lambda x: x * np.random.rand(), plain())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aot.trace(lambda x: x * 2, plain())


def test_a_leaf_that_is_transposed_without_grad():
    def f(x):
        with pb.no_grad():
            x.t_()
        return x * 2

    agree(f, lambda: (rg((2, 3)),), poke=False)


def test_an_input_that_is_detached_in_place():
    def f(v):
        w = v * 2
        v.detach_()
        return w, v * 3

    agree(f, lambda: (inner(),))


def test_results_that_retain_their_gradient():
    def f(x):
        h = x * 2
        h.retain_grad()
        return h, x.sum()

    agree(f, lambda: (rg(),))

    def on_the_way(x):
        h = x * 2
        h.retain_grad()
        return h.sum()

    unchanged_by_errors(on_the_way, lambda: (rg(),), aot.TraceError)


def test_tangents_of_what_is_returned():
    assert tangents_of(aot.collect_metadata(lambda x: (x * 2, x + 1), rg())) == ["out 0", "out 1"]


def test_errors_of_the_function_itself_come_through():
    def f(x):
        raise KeyError("mine")

    unchanged_by_errors(f, lambda: (rg(),), KeyError)


def test_a_copy_can_be_written_while_its_original_is_saved():
    def copied(x):
        return pb.exp(x).copy()

    def copied_into(x):
        o = pb.zeros((2, 2))
        o.copy_(pb.exp(x))
        return o, o[0]

    def times_one(x):
        return pb.exp(x) * 1

    for f in (copied, copied_into, times_one):
        agree(f, lambda: (rg(),))


def test_a_broken_backward_pass_of_one_result_leaves_the_others():
    def f(x, v):
        broken = pb.exp(x)
        broken.mul_(2)
        v.mul_(3)
        return broken, x * 2

    agree(f, lambda: (rg(), inner()))
