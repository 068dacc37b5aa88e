"""Custom Functions beyond the conformance cases: arguments, names on `ctx`, histories, memory, rules for transforms."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.autograd.function import Function, InplaceFunction, once_differentiable
from pullback.errors import AutogradError
from pullback.tape.function.rules import backward_of, batching_rule, check_batched_result
from pullback.testing import assert_close

grad = pb.autograd.grad


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def constant(value):
    return pb.tensor(np.array(value, dtype=float))


def custom(forward, backward, **members):
    """`apply` of a Function with these two static methods."""
    statics = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (Function,), {**statics, **members}).apply


def code_of(function, *args, **kwargs):
    with pytest.raises(AutogradError) as caught:
        function(*args, **kwargs)
    return caught.value.code


# Arguments


def test_the_combined_style_answers_for_the_arguments_it_was_given():
    scale = custom(lambda ctx, x, k=2.0: x * k, lambda ctx, g: g * 2)
    x = leaf([1.0])
    scale(x).backward()
    assert_close(x.grad, [2.0])


def test_defaults_fill_the_gaps_between_keyword_arguments():
    seen = []

    def forward(ctx, x, a=1.0, b=2.0, c=3.0):
        seen.append((a, b, c, len(ctx.needs_input_grad)))
        return x * b

    x = leaf([1.0])
    y = custom(forward, lambda ctx, g: (g * 5, None, None))(b=5.0, x=x)
    y.backward()
    assert seen == [(1.0, 5.0, 3.0, 3)]
    assert_close(x.grad, [5.0])


def test_tensors_given_by_keyword_are_tracked():
    x, w = leaf([2.0]), leaf([3.0])
    custom(lambda ctx, x, w: x * w, lambda ctx, g: (g * 3, g * 2))(x, w=w).backward()
    assert_close(w.grad, [2.0])


def test_any_number_of_arguments_is_accepted():
    total = custom(lambda ctx, *xs: xs[0] + xs[1] + xs[2], lambda ctx, g: (g, g * 2, g * 3))
    xs = [leaf([1.0]), leaf([1.0]), leaf([1.0])]
    total(*xs).backward()
    assert [x.grad.item() for x in xs] == [1.0, 2.0, 3.0]


def test_an_argument_without_a_position_is_refused():
    by_keyword = custom(lambda ctx, x, *, k=2.0: x * k, lambda ctx, g: g * 2)
    with pytest.raises(TypeError, match="position"):
        by_keyword(leaf([1.0]), k=3.0)
    assert_close(by_keyword(leaf([1.0])).detach(), [2.0])
    open_ended = custom(lambda ctx, x, **more: x * 1, lambda ctx, g: g)
    with pytest.raises(TypeError, match="position"):
        open_ended(leaf([1.0]), k=3.0)


def test_methods_replaced_after_the_class_was_made_are_used():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert_close(Scale.apply(constant([1.0])), [2.0])
    Scale.forward = staticmethod(lambda x, k=3.0: x * k)
    Scale.setup_context = staticmethod(lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]))
    Scale.backward = staticmethod(lambda ctx, g: (g * ctx.k, None))
    x = leaf([1.0])
    Scale.apply(x).backward()
    assert_close(x.grad, [3.0])


def test_one_edge_belongs_to_each_tensor_argument():
    x, k = leaf([1.0]), constant([2.0])
    node = custom(lambda ctx, a, n, b: a * n * b, lambda ctx, g: (g, None, None))(x, 3, k).grad_fn
    assert [edge[0] is None for edge in node.next_functions] == [False, True]


# ctx


@pytest.mark.parametrize("name", ["next", "spec", "seq", "name", "num_outputs", "metadata", "saved_tensors", "rare"])
def test_names_that_the_graph_uses_can_not_be_set_on_ctx(name):
    with pytest.raises(AttributeError, match=name):
        custom(lambda ctx, x: (setattr(ctx, name, 1), x * 1)[1], lambda ctx, g: g)(leaf([1.0]))


def test_hooks_and_metadata_work_on_the_node_of_a_function():
    calls, x = [], leaf([1.0])
    y = custom(lambda ctx, x: x * 1, lambda ctx, g: g * 2)(x)
    y.grad_fn.metadata["note"] = "here"
    y.grad_fn.register_prehook(lambda gs: calls.append("pre"))
    y.grad_fn.register_hook(lambda gi, go: calls.append("post"))
    y.register_hook(lambda g: calls.append("tensor"))
    y.grad_fn._set_sequence_nr(y.grad_fn._sequence_nr())
    y.backward()
    assert calls == ["tensor", "pre", "post"] and y.grad_fn.metadata["note"] == "here"


def test_the_methods_of_a_call_that_is_over_are_refused():
    y = custom(lambda ctx, x: x * 1, lambda ctx, g: g)(leaf([1.0]))
    for method in ("save_for_backward", "mark_dirty", "mark_non_differentiable", "save_for_forward"):
        with pytest.raises(RuntimeError, match=method):
            getattr(y.grad_fn, method)(constant([1.0]))


def test_needs_input_grad_tells_which_tensors_require_grad_also_under_no_grad():
    seen = []
    double = custom(lambda ctx, x, k: (seen.append(ctx.needs_input_grad), x * 2)[1], lambda ctx, g: (g, None))
    with pb.no_grad():
        double(leaf([1.0]), constant([1.0]))
    assert seen == [(True, False)]


def test_a_node_called_by_hand_obeys_the_grad_mode_and_releases_nothing():
    modes = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        modes.append(pb.is_grad_enabled())
        return 2 * g * ctx.saved_tensors[0]

    node = custom(forward, backward)(leaf([3.0])).grad_fn
    assert_close(node(constant([1.0])).detach(), [6.0])
    with pb.no_grad():
        node(constant([1.0]))
    assert modes == [True, False]
    with pytest.raises(TypeError):
        node(constant([1.0]), constant([1.0]))


def test_raw_saved_tensors_can_be_given_hooks():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    x = leaf([3.0])
    y = custom(forward, lambda ctx, g: 2 * g * ctx.saved_tensors[0])(x)
    (handle,) = y.grad_fn._raw_saved_tensors
    handle.register_hooks(lambda t: t * 10, lambda t: t)
    y.backward()
    assert_close(x.grad, [60.0])
    assert code_of(lambda: y.grad_fn.saved_tensors) == "SECOND_BACKWARD"


def test_cleared_saved_tensors_are_freed_by_the_first_read():
    def forward(ctx, x):
        middle = x * 2
        gone.append(weakref.ref(middle))
        ctx.save_for_backward(middle)
        return middle * 3

    def backward(ctx, g):
        (middle,) = ctx.saved_tensors
        del middle
        assert gone[0]() is None
        return g * 6

    gone, x = [], leaf([1.0])
    custom(forward, backward, clear_saved_tensors_on_access=True)(x).backward()
    assert_close(x.grad, [6.0])


def test_anomaly_mode_remembers_where_a_function_was_applied():
    with pytest.warns(UserWarning), pb.autograd.detect_anomaly():
        y = custom(lambda ctx, x: x * 1, lambda ctx, g: g)(leaf([1.0]))
    assert "where_a_function_was_applied" in y.grad_fn.metadata["traceback_"][-1]


# Outputs


def test_a_leaf_from_elsewhere_stays_a_leaf():
    other, x = leaf([5.0]), leaf([1.0])
    out = custom(lambda ctx, x: other, lambda ctx, g: g * 7)(x)
    assert other.is_leaf and other.requires_grad and out is not other
    out.backward()
    assert_close(x.grad, [7.0])
    assert other.grad is None
    with pb.no_grad():
        out = custom(lambda ctx, x: other, lambda ctx, g: g)(x)
    assert other.requires_grad and not out.requires_grad


def test_a_recorded_intermediate_marked_non_differentiable_loses_its_history():
    def forward(ctx, x):
        with pb.enable_grad():
            out = x * 2
        ctx.mark_non_differentiable(out)
        return out

    assert not custom(forward, lambda ctx, g: g)(leaf([1.0])).requires_grad


def test_gradients_given_to_backward_are_read_only_and_may_be_passed_on():
    x = leaf([1.0])
    write = custom(lambda ctx, x: x * 1, lambda ctx, g: g.mul_(2))
    assert code_of(write(x).backward) == "READONLY_GRAD"
    same = custom(lambda ctx, x: x * 1, lambda ctx, g: g)
    (result,) = grad(same(x), x, constant([2.0]), create_graph=True)
    result.detach().mul_(2)
    assert_close(result.detach(), [4.0])


def test_sparse_gradients_may_be_returned():
    def backward(ctx, g):
        return pb.autograd.SparseGrad([1, 1], np.array([1.0, 2.0]), (3,))

    x = leaf([0.0, 0.0, 0.0])
    custom(lambda ctx, x: x * 1, backward)(x).sum().backward()
    assert_close(x.grad.to_dense(), [0.0, 3.0, 0.0])


# Dirty arguments


def exp_in_place(ctx, x):
    ctx.mark_dirty(x)
    x.exp_()
    ctx.save_for_backward(x)
    return x


def exp_backward(ctx, g):
    (out,) = ctx.saved_tensors
    return g * out


def test_second_derivatives_flow_through_a_dirty_argument():
    x = leaf([0.5])
    y = x * 1
    custom(exp_in_place, exp_backward)(y)
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first, x)
    assert_close(second, np.exp([0.5]))


def test_second_derivatives_flow_through_a_dirty_view():
    x = leaf([0.5, 1.0])
    b = x * 1
    custom(exp_in_place, exp_backward)(b[:1])
    (first,) = grad(b.sum(), x, create_graph=True)
    assert_close(first.detach(), [np.exp(0.5), 1.0])
    (second,) = grad(first.sum(), x)
    assert_close(second, [np.exp(0.5), 0.0])


def test_a_dirty_argument_among_several_outputs_keeps_its_number_and_its_retained_gradient():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 5, x.mul_(3)

    y = leaf([1.0]) * 1
    y.retain_grad()
    _, out = custom(forward, lambda ctx, g, h: g * 5 + h * 3)(y)
    assert out is y and y.output_nr == 1
    (y * 2).sum().backward()
    assert_close(y.grad, [2.0])


def test_needs_input_grad_is_narrowed_behind_a_dirty_view_too():
    seen = []

    def forward(ctx, v, s):
        ctx.mark_dirty(v)
        return v.mul_(s)

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g * 3, (g * 1).sum()

    x, s = leaf([1.0, 1.0]), leaf(3.0)
    b = x * 1
    custom(forward, backward)(b[:1], s)
    grad(b.sum(), x, retain_graph=True)
    grad(b.sum(), s)
    assert seen == [(True, False), (False, True)]


def test_a_dirty_argument_without_recording_is_only_bumped():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    x = constant([1.0])
    assert custom(forward, lambda ctx, g: g)(x) is x
    assert x._version == 2 and not x.requires_grad
    w = leaf([1.0])
    with pb.no_grad():
        assert custom(forward, lambda ctx, g: g)(w) is w
    assert w.is_leaf and w.requires_grad


# Differentiating once


def test_once_differentiable_guards_every_result_and_leaves_none_alone():
    a, b = leaf([2.0]), leaf([3.0])
    product = custom(lambda ctx, a, b, c: a * b, once_differentiable(lambda ctx, g: (g * 3, g * 2, None)))
    first = grad(product(a, b, 7), (a, b), create_graph=True)
    for value, wanted in zip(first, (b, a), strict=True):
        assert code_of(grad, value, wanted, retain_graph=True) == "ONCE_DIFFERENTIABLE"


def test_once_differentiable_reaches_the_incoming_gradient():
    x, g = leaf([2.0]), leaf([1.0])
    double = custom(lambda ctx, x: x * 2, once_differentiable(lambda ctx, g: g * 2))
    (first,) = grad(double(x), x, g, create_graph=True)
    assert code_of(grad, first, g) == "ONCE_DIFFERENTIABLE"


def test_once_differentiable_works_with_boxed_gradients():
    def backward(ctx, gradients):
        (g,) = gradients
        gradients.clear()
        return g

    x = leaf([2.0])
    same = custom(lambda ctx, x: x * 1, once_differentiable(backward), boxed_grads_call=True)
    (first,) = grad(same(x), x, leaf([1.0]), create_graph=True)
    assert code_of(grad, first, x) == "ONCE_DIFFERENTIABLE"


# Gradients that are leaves


def test_a_leaf_given_as_gradient_accumulates_through_functions_and_hooks():
    x, g = leaf([2.0]), leaf([1.0])
    (first,) = grad(custom(lambda ctx, x: x * 3, lambda ctx, g: g * 3)(x), x, g, create_graph=True)
    first.backward()
    assert_close(g.grad, [3.0])

    x, g = leaf([2.0]), leaf([1.0])
    y = x * 2
    y.register_hook(lambda q: q * 5)
    (first,) = grad(y, x, g, create_graph=True)
    first.backward()
    assert_close(g.grad, [10.0])


# Memory and threads


class Probe:
    pass


def probed(ctx, save):
    ctx.probe = Probe()
    ctx.save_for_backward(*save)
    return weakref.ref(ctx.probe)


def forward_new(ctx, x, seen):
    out = pb.exp(x)
    seen.append(probed(ctx, (x, out)))
    return out


def forward_same(ctx, x, seen):
    seen.append(probed(ctx, (x,)))
    return x


def forward_view(ctx, x, seen):
    out = x[:1]
    seen.append(probed(ctx, (x, out)))
    return out


def forward_view_of_a_temporary(ctx, x, seen):
    temporary = x * 2
    out = temporary[:1]
    seen.append(probed(ctx, (temporary, out)))
    return out


def forward_dirty(ctx, x, seen):
    ctx.mark_dirty(x)
    seen.append(probed(ctx, (x,)))
    return x.exp_()


def forward_two(ctx, x, seen):
    first, second = x * 2, x[:1]
    seen.append(probed(ctx, (x, first, second)))
    return first, second


@pytest.mark.parametrize("prepare", [lambda x: x * 1, lambda x: (x * 1)[:2]], ids=["interior", "view"])
@pytest.mark.parametrize(
    "forward",
    [forward_new, forward_same, forward_view, forward_view_of_a_temporary, forward_dirty, forward_two],
    ids=lambda f: f.__name__,
)
def test_the_graph_of_a_function_dies_with_its_outputs(forward, prepare):
    seen = []
    gc.collect()
    gc.disable()
    try:
        x = prepare(leaf([1.0, 2.0, 3.0]))
        out = custom(forward, lambda ctx, *gs: (None, None))(x, seen)
        assert seen[0]() is not None
        del out, x
        assert seen[0]() is None
    finally:
        gc.enable()


def test_a_dirty_view_leaves_no_cycle_behind_its_base():
    seen = []
    gc.collect()
    gc.disable()
    try:
        base = leaf([1.0, 2.0]) * 1
        custom(forward_dirty, lambda ctx, g: (g * ctx.saved_tensors[0], None))(base[:1], seen)
        base.sum().backward()
        del base
        assert seen[0]() is None
    finally:
        gc.enable()


def test_one_graph_runs_on_several_threads_and_each_sees_its_own_needs():
    barrier, seen = threading.Barrier(2), []

    def backward(ctx, g):
        barrier.wait()
        seen.append(ctx.needs_input_grad)
        barrier.wait()
        return g * 3, g * 2

    a, b = leaf([2.0]), leaf([3.0])
    y = custom(lambda ctx, a, b: a * b, backward)(a, b)
    threads = [threading.Thread(target=grad, args=(y, wanted), kwargs={"retain_graph": True}) for wanted in (a, b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [(False, True), (True, False)]


# Rules for forward mode and transforms


class Plain(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Generated(Plain):
    generate_vmap_rule = True


class Written(Plain):
    @staticmethod
    def vmap(info, in_dims, x):
        return Written.apply(x), in_dims[0]


class Ambiguous(Written):
    generate_vmap_rule = True


def test_a_batching_rule_is_written_generated_or_missing():
    assert batching_rule(Generated) is None
    assert batching_rule(Written) is Written.vmap
    assert code_of(batching_rule, Plain) == "FN_NO_VMAP"
    assert code_of(batching_rule, Ambiguous) == "FN_VMAP_AMBIGUOUS"
    check_batched_result(Written, (constant([1.0]), 0))
    assert code_of(check_batched_result, Written, constant([1.0])) == "FN_VMAP_RETURN"
    assert code_of(check_batched_result, Written, (constant([1.0]), 0, 0)) == "FN_VMAP_RETURN"


def test_both_styles_of_forward_can_be_transformed():
    class Combined(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    for function in (Plain, Combined):
        assert_close(pb.func.grad(lambda x, function=function: function.apply(x).sum())(constant([1.0])), [2.0])


def test_backward_has_two_names_and_only_one_may_be_used():
    class Named(Function):
        vjp = staticmethod(lambda ctx, g: g)

    assert backward_of(Named) is Named.vjp
    assert backward_of(Plain) is Plain.backward
    Named.backward = staticmethod(lambda ctx, g: g)
    assert code_of(backward_of, Named) == "FN_BOTH"
    with pytest.raises(NotImplementedError, match="InplaceFunction"):
        backward_of(InplaceFunction)
    with pytest.raises(AutogradError, match="Function Both"):

        class Both(Named):
            pass


def test_jvp_sees_what_was_saved_for_it_and_zeros_for_missing_tangents():
    seen = []

    class Recording(Function):
        materializes = True

        @staticmethod
        def forward(ctx, x, y, n):
            ctx.save_for_backward(y)
            ctx.save_for_forward(x)
            ctx.set_materialize_grads(Recording.materializes)
            return x * y

        @staticmethod
        def jvp(ctx, t_x, t_y, t_n):
            seen.append((ctx.saved_tensors, t_y, t_n))
            return t_x * 3

    x, y = constant([2.0]), constant([3.0])
    _, tangent = pb.func.jvp(lambda x: Recording.apply(x, y, 4), (x,), (constant([1.0]),))
    Recording.materializes = False
    pb.func.jvp(lambda x: Recording.apply(x, y, 4), (x,), (constant([1.0]),))
    (saved, zeros, number), (_, nothing, _) = seen
    assert len(saved) == 1 and number is None and nothing is None
    assert_close(saved[0], [2.0])
    assert_close(zeros, [0.0])
    assert_close(tangent, [3.0])
    with pytest.raises(NotImplementedError, match="implement the jvp"):
        Plain.jvp(None, constant([1.0]))


def test_jvp_returns_one_tangent_per_output():
    class Short(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def jvp(ctx, t):
            return t

    with pytest.raises(RuntimeError, match="invalid number"):
        pb.func.jvp(Short.apply, (constant([1.0]),), (constant([1.0]),))


# What is kept, and for how long


def memory(tensor):
    array = tensor._data
    while isinstance(array.base, np.ndarray):
        array = array.base
    return weakref.ref(array)


@pytest.mark.parametrize("several", [False, True], ids=["one output", "two outputs"])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("hooked", [False, True])
def test_boxed_gradients_are_freed_when_backward_empties_the_list(several, create_graph, hooked):
    alive = []

    class Doubled(pb.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return (x * 2, x * 2) if several else x * 2

        @staticmethod
        def backward(ctx, grads):
            watched = [reference for g in grads for reference in (weakref.ref(g), memory(g))]
            result = sum(g.sum() for g in grads) * pb.ones(3)
            grads.clear()
            if not create_graph:  # what is recorded may read them again
                alive.extend(reference() is not None for reference in watched)
            return result

    x = pb.ones(3, requires_grad=True)
    results = Doubled.apply(x)
    results = results if several else (results,)
    for result in results:
        if hooked:
            result.register_hook(lambda g: g * 1)
    sum(pb.exp(result).sum() for result in results).backward(create_graph=create_graph)
    assert not any(alive)
    assert x.grad is not None


def test_boxed_gradients_may_be_passed_on_and_are_seen_by_hooks_of_the_node():
    class Same(pb.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grads):
            return grads.pop()

    x, seen = pb.ones(3, requires_grad=True), []
    y = Same.apply(x)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend((inputs[0].tolist(), outputs[0].tolist())))
    (y * 3).sum().backward()
    assert seen == [[3.0] * 3] * 2
    assert x.grad.tolist() == [3.0] * 3
    assert pb.compile(lambda x: pb.autograd.grad((Same.apply(x) * 3).sum(), x))(x)[0].tolist() == [3.0] * 3


@pytest.mark.parametrize("clears", [False, True])
def test_raw_saved_tensors_are_gone_after_release(clears):
    class Square(pb.autograd.Function):
        clear_saved_tensors_on_access = clears

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    y = Square.apply(pb.ones(3, requires_grad=True))
    assert len(y.grad_fn._raw_saved_tensors) == 1
    y.sum().backward()
    with pytest.raises(pb.AutogradError) as caught:
        _ = y.grad_fn._raw_saved_tensors
    assert caught.value.code == "SECOND_BACKWARD"


@pytest.mark.parametrize("ending", ["early stop", "error in setup_context", "error in pack hook"])
def test_an_output_that_is_to_be_saved_is_freed_where_the_call_does_not_end(ending):
    outputs = []

    class Exp(pb.autograd.Function):
        @staticmethod
        def forward(x):
            out = pb.exp(x)
            outputs.append(weakref.ref(out))
            return out

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            if ending == "error in setup_context":
                raise KeyError(ending)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    def refuse(tensor):
        raise KeyError(ending)

    x = pb.ones(3, requires_grad=True)
    gc.disable()
    try:
        if ending == "early stop":
            pb.checkpoint(Exp.apply, x).sum().backward()
        elif ending == "error in setup_context":
            with pytest.raises(KeyError):
                Exp.apply(x)
        else:
            with pytest.raises(KeyError), pb.autograd.graph.saved_tensors_hooks(refuse, lambda t: t):
                Exp.apply(x)
        assert [reference() for reference in outputs if reference() is not None] == []
    finally:
        gc.enable()


@pytest.mark.parametrize("materialize", [None, True, False])
def test_gradients_of_outputs_that_take_none_are_zeros_unless_said_otherwise(materialize):
    arrived = []

    class Halves(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if materialize is not None:
                ctx._materialize_non_diff_grads = materialize
            constant = x * 3
            ctx.mark_non_differentiable(constant)
            return x * 2, x > 0, constant, x * 4

        @staticmethod
        def backward(ctx, *grads):
            arrived.extend(None if g is None else g.tolist() for g in grads)
            return grads[0] * 2

    Halves.apply(leaf([1.0, 2.0]))[0].sum().backward()
    constant = [[False, False], [0.0, 0.0]] if materialize in (None, True) else [None, None]
    assert arrived == [[1.0, 1.0], *constant, [0.0, 0.0]]


def test_apply_of_a_node_runs_backward():
    class Double(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2 + y * 3

        @staticmethod
        def backward(ctx, g):
            return g * 2, g * 3

    node = Double.apply(leaf([1.0]), leaf([1.0])).grad_fn
    assert [g.item() for g in node.apply(pb.ones(1))] == [2.0, 3.0]
    assert [g.item() for g in node(pb.ones(1))] == [2.0, 3.0]
