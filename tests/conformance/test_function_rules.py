"""Rules about `autograd.Function` (§10) that no numbered case states."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, g, it, ng, raises

Function = pb.autograd.Function
Node = pb.autograd.graph.Node


class Scale(Function):
    """Split style with a default argument."""

    @staticmethod
    def forward(x, k=2.0):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inputs = inputs

    @staticmethod
    def backward(ctx, q):
        return q * ctx.inputs[1], None


# Styles and apply (§10.1, §10.2)


def test_default_arguments_are_bound_before_setup_context():
    x = L([1.0])
    y = Scale.apply(x)
    assert len(y.grad_fn.inputs) == 2
    y.backward()
    assert it(x.grad) == [2.0]


def test_keyword_arguments_are_mapped_to_positions():
    x = L([1.0])
    y = Scale.apply(k=5.0, x=x)
    assert y.grad_fn.inputs[1] == 5.0
    y.backward()
    assert it(x.grad) == [5.0]
    for arguments, keywords in [((x,), {"q": 1}), ((x,), {"x": x}), ((), {"k": 2.0})]:
        with pytest.raises(TypeError):
            Scale.apply(*arguments, **keywords)


def test_a_keyword_argument_is_batched_like_one_given_by_position():
    class Product(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, q):
            x, y = ctx.saved_tensors
            return q * y, q * x

    x, y = C([[1.0, 2.0], [3.0, 4.0]]), C([[5.0, 6.0], [7.0, 8.0]])
    by_name = lambda x, y: Product.apply(x, y=y)
    assert it(pb.func.vmap(by_name)(x, y)) == it(x * y)
    slope = pb.func.vmap(pb.func.grad(lambda x, y: by_name(x, y).sum(), argnums=1))(x, y)
    assert it(slope) == it(x)


def test_vjp_is_another_name_for_backward():
    class Triple(Function):
        @staticmethod
        def forward(c, x):
            return x * 3

        @staticmethod
        def vjp(c, q):
            return q * 3

    x = L([1.0])
    Triple.apply(x).backward()
    assert it(x.grad) == [3.0]


def test_functions_are_not_instantiated_nor_called():
    with pytest.warns(DeprecationWarning):
        instance = Scale()
    with pytest.raises((RuntimeError, TypeError)):
        instance(L([1.0]))


def test_inplace_function_is_a_base_class():
    class Double(pb.autograd.function.InplaceFunction):
        @staticmethod
        def forward(c, x):
            return x * 2

        @staticmethod
        def backward(c, q):
            return q * 2

    x = L([1.0])
    Double.apply(x).backward()
    assert it(x.grad) == [2.0]


def test_the_context_is_the_node():
    contexts = []
    y = Fn(lambda c, x: (contexts.append(c), x * 1)[1], lambda c, q: (contexts.append(c), q)[1])(L([1.0]))
    y.backward()
    assert contexts[0] is contexts[1] is y.grad_fn
    assert isinstance(y.grad_fn, Node)
    assert y.grad_fn.name() == "FnBackward"


def test_tensors_inside_containers_are_not_tracked():
    x = L([1.0])
    with pytest.warns(UserWarning, match="no gradient reaches it"):
        y = Fn(lambda c, items: items[0] * 2, lambda c, q: None)([x])
    assert not y.requires_grad


def test_nothing_is_recorded_without_an_rg_argument_or_with_grad_mode_off():
    double = Fn(lambda c, x: x * 2, lambda c, q: q * 2)
    assert double(C([1.0])).grad_fn is None
    with ng():
        y = double(L([1.0]))
    assert y.grad_fn is None and not y.requires_grad


def test_history_built_inside_forward_is_replaced():
    def forward(c, x):
        with pb.enable_grad():
            return x * 2

    x = L([1.0])
    y = Fn(forward, lambda c, q: q * 100)(x)
    assert y.grad_fn.name() == "FnBackward"
    y.backward()
    assert it(x.grad) == [100.0]


def test_a_tuple_of_one_stays_a_tuple():
    (y,) = Fn(lambda c, x: (x * 2,), lambda c, q: q * 2)(L([1.0]))
    assert y.requires_grad and y.output_nr == 0


def test_outputs_are_numbered_by_position():
    first, second = Fn(lambda c, x: (x * 2, x * 3), lambda c, q, r: q * 2 + r * 3)(L([1.0]))
    assert first.grad_fn is second.grad_fn
    assert (first.output_nr, second.output_nr) == (0, 1)


# Outputs (§10.3)


def test_an_integer_output_takes_no_gradient():
    received = []

    def backward(c, q, r):
        received.append((r.dtype, it(r)))
        return q * 2

    x = L([1.5, 2.5])
    doubled, whole = Fn(lambda c, x: (x * 2, x.astype(pb.int64)), backward)(x)
    assert not whole.requires_grad and whole.grad_fn is None
    doubled.sum().backward()
    assert received == [(pb.int64, [0, 0])]


def test_an_input_marked_non_differentiable_comes_back_as_a_detached_alias():
    def forward(c, x):
        c.mark_non_differentiable(x)
        return x * 2, x

    x = L([1.0])
    _, alias = Fn(forward, lambda c, q, r: q * 2)(x)
    assert alias is not x and not alias.requires_grad
    assert np.shares_memory(array(alias), array(x))
    assert x.requires_grad


@pytest.mark.parametrize("make", [C, L], ids=["constant", "leaf"])
def test_a_returned_input_is_an_alias_even_without_recording(make):
    x = make([1.0])
    with ng():
        out = Fn(lambda c, x: x, lambda c, q: q)(x)
    assert out is not x and not out.requires_grad
    assert np.shares_memory(array(out), array(x))
    assert x.requires_grad is (make is L)


def test_a_returned_constant_is_an_alias_that_carries_the_node_if_another_input_requires_grad():
    constant, s = C([1.0]), L([2.0])
    out = Fn(lambda c, x, s: x, lambda c, q: (None, q * 7))(constant, s)
    assert out is not constant and out.requires_grad and not constant.requires_grad
    out.backward()
    assert it(s.grad) == [7.0]


def test_a_returned_view_of_an_input_keeps_its_view_record():
    x = L([1.0, 2.0, 3.0])
    v = Fn(lambda c, x: x[:2], lambda c, q: pb.concat([q * 5, pb.zeros(1)]))(x)
    assert v._base is x and v.grad_fn.name() == "FnBackward"
    v.sum().backward()
    assert it(x.grad) == [5.0, 5.0, 0.0]


# Dirty inputs (§10.4)


def test_a_marked_tensor_is_bumped_once_more_in_either_order():
    def marked_first(c, x):
        c.mark_dirty(x)
        return x.mul_(3)

    def marked_last(c, x):
        x.mul_(3)
        c.mark_dirty(x)
        return x

    for forward in (marked_first, marked_last):
        y = L([1.0]) * 1
        Fn(forward, lambda c, q: q * 3)(y)
        assert y._version == 2


def test_a_dirty_constant_becomes_interior_beside_an_rg_input():
    def forward(c, x, s):
        c.mark_dirty(x)
        return x.mul_(s)

    constant, s = C([2.0]), L([3.0])
    out = Fn(forward, lambda c, q: (q * 3, q * 2))(constant, s)
    assert out is constant and constant.requires_grad and not constant.is_leaf
    out.backward()
    assert it(s.grad) == [2.0]


def test_rebasing_clears_the_gradient_of_a_dirty_input_and_leaves_its_hooks_with_the_old_value():
    def forward(c, x, s):
        c.mark_dirty(x)
        return x.mul_(s)

    constant, s, calls = C([2.0]), L([3.0]), []
    constant.grad = C([1.0])
    Fn(forward, lambda c, q: (None, q * 2))(constant, s)
    constant.retain_grad()
    assert constant.grad is None

    y = L([1.0]) * 1
    y.register_hook(lambda q: calls.append(it(q)))
    Fn(lambda c, x: (c.mark_dirty(x), x.mul_(3))[1], lambda c, q: q * 3)(y)
    y.backward()
    assert calls == [[3.0]]  # it stayed with the old value


def test_dirty_views_keep_the_rules_of_in_place_writes():
    triple = Fn(lambda c, x: (c.mark_dirty(x), x.mul_(3))[1], lambda c, q: q * 3)
    leaf = L([1.0, 2.0])
    with raises("VIEW_OF_LEAF_INPLACE"):
        triple(leaf[:1])
    b = L([1.0, 2.0]) * 1
    with ng():
        v = b[:1]
    with raises("VIEW_NO_GRAD"):
        triple(v)
    assert it(leaf) == [1.0, 2.0]


def test_marking_takes_tensors_only():
    with pytest.raises(TypeError):
        Fn(lambda c, x: (c.mark_dirty(3), x * 1)[1], lambda c, q: q)(L([1.0]))


def test_marking_a_view_of_an_intermediate_is_refused():
    def forward(c, x):
        view = (x * 2)[:1]
        c.mark_dirty(view)
        return view

    with raises("DIRTY_NOT_INPUT"):
        Fn(forward, lambda c, q: q)(L([1.0, 2.0]))


def test_an_input_modified_without_a_mark_keeps_its_history():
    x = L([1.0])
    y = x * 1
    node = y.grad_fn
    out = Fn(lambda c, x: x.mul_(3), lambda c, q: q * 3)(y)
    assert out is not y and out._base is y
    assert y.grad_fn is node and y._version == 1


# Backward (§10.5, §10.6)


def test_gradients_for_constants_are_not_checked():
    x = L([1.0])
    Fn(lambda c, x, k: x * k, lambda c, q: (q, C([[1.0, 2.0, 3.0]])))(x, C([2.0])).backward()
    assert it(x.grad) == [1.0]


def test_gradients_are_summed_and_cast_like_those_of_primitives():
    x = L([1.0, 2.0])
    Fn(lambda c, x: x * 1, lambda c, q: pb.ones((4, 2), dtype=pb.float32))(x).sum().backward()
    assert it(x.grad) == [4.0, 4.0] and x.grad.dtype == pb.float64
    with raises("GRAD_SHAPE"):
        Fn(lambda c, x: x * 1, lambda c, q: q[:1])(x).sum().backward()


def test_backward_runs_with_the_grad_mode_of_the_pass():
    modes, x = [], L([1.0])
    observed = Fn(lambda c, x: x * 1, lambda c, q: (modes.append(pb.is_grad_enabled()), q)[1])
    g(observed(x), x)
    g(observed(x), x, create_graph=True)
    assert modes == [False, True]


def test_saved_tensors_come_back_as_the_same_objects():
    x, constant, seen = L([1.0]), C([2.0]), []

    def forward(c, x, k):
        c.save_for_backward(C([9.0]))
        c.save_for_backward(x, None, k)
        seen.append(c.saved_tensors)
        return x * k

    def backward(c, q):
        a, hole, b = c.saved_tensors
        seen.append((a is x, hole, b is constant))
        return q * b, None

    Fn(forward, backward)(x, constant).backward()
    assert seen == [(), (True, None, True)]


def test_saved_intermediates_are_constants_in_the_second_derivative():
    def forward(c, x):
        square = x * x
        c.save_for_backward(square)
        return square * x

    x = L([2.0])
    y = Fn(forward, lambda c, q: q * 3 * c.saved_tensors[0])(x)
    (first,) = g(y, x, create_graph=True)
    assert it(first.detach()) == [12.0]
    assert not first.requires_grad


def test_saved_tensors_are_released_with_the_graph_and_ctx_attributes_are_not():
    def forward(c, x):
        c.save_for_backward(x)
        c.note = "kept"
        return x * x

    y = Fn(forward, lambda c, q: 2 * q * c.saved_tensors[0])(L([3.0]))
    y.backward()
    with raises("SECOND_BACKWARD"):
        y.backward()
    with raises("SECOND_BACKWARD"):
        _ = y.grad_fn.saved_tensors
    assert y.grad_fn.note == "kept"


def test_a_function_that_saved_but_does_not_read_may_run_twice():
    x = L([3.0])
    y = Fn(lambda c, x: (c.save_for_backward(x), x * 2)[1], lambda c, q: q * 2)(x)
    y.backward()
    y.backward()
    assert it(x.grad) == [4.0]


@pb.autograd.overwrite_policy("raise")
def test_saved_tensors_are_version_checked_and_attributes_are_not():
    def saving(c, x, k):
        c.save_for_backward(k)
        return x * k

    def keeping(c, x, k):
        c.k = k
        return x * k

    x, constant = L([3.0]), C([2.0])
    checked = Fn(saving, lambda c, q: (q * c.saved_tensors[0], None))(x, constant)
    unchecked = Fn(keeping, lambda c, q: (q * c.k, None))(x, constant)
    constant.add_(1)
    with raises("VERSION"):
        checked.backward()
    unchecked.backward()
    assert it(x.grad) == [3.0]


def test_the_split_style_cannot_save_an_input_that_it_returns():
    class Same(Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, q):
            return q

    with raises("SAVE_RETURNED_INPUT"):
        Same.apply(L([1.0]))


def test_saved_tensors_cleared_on_access_are_read_once():
    def forward(c, x):
        c.save_for_backward(x)
        return x * x

    def backward(c, q):
        (x,) = c.saved_tensors
        _ = c.saved_tensors
        return q * x

    y = Fn(forward, backward, clear_saved_tensors_on_access=True)(L([3.0]))
    with raises("SAVED_ONCE"):
        y.backward()


def test_boxed_gradients_arrive_in_one_mutable_list():
    received = []

    def backward(c, gradients):
        received.append((type(gradients), len(gradients)))
        q, r = gradients
        gradients.clear()
        return q * 2 + r * 3

    x = L([1.0])
    first, second = Fn(lambda c, x: (x * 2, x * 3), backward, boxed_grads_call=True)(x)
    (first + second).backward()
    assert received == [(list, 2)]
    assert it(x.grad) == [5.0]


def test_materialization_also_happens_when_every_gradient_is_undefined():
    received = []

    def backward(c, q):
        received.append(it(q))
        return q

    x = L([1.0, 2.0])
    middle = Fn(lambda c, x: x * 1, backward)(x)
    Fn(lambda c, x: x * 1, lambda c, q: None)(middle).sum().backward()
    assert received == [[0.0, 0.0]]
    assert it(x.grad) == [0.0, 0.0]


def test_materialization_off_hands_over_none():
    received = []

    def forward(c, x):
        c.set_materialize_grads(False)
        return x * 1

    def backward(c, q):
        received.append(q)

    x = L([1.0])
    middle = Fn(forward, backward)(x)
    Fn(lambda c, x: x * 1, lambda c, q: None)(middle).backward()
    assert received == [None] and x.grad is None
    with pytest.raises(TypeError):
        Fn(lambda c, x: (c.set_materialize_grads(1), x * 1)[1], lambda c, q: q)(L([1.0]))


def test_an_exception_in_forward_or_backward_arrives_unchanged():
    class Trouble(Exception):
        pass

    def fail(*arguments):
        raise Trouble("here")

    with pytest.raises(Trouble, match="here"):
        Fn(fail, lambda c, q: q)(L([1.0]))
    with pytest.raises(Trouble, match="here"):
        Fn(lambda c, x: x * 1, fail)(L([1.0])).backward()


def test_the_graph_of_a_function_is_freed_without_the_collector():
    class Probe:
        pass

    def forward(c, x):
        out = pb.exp(x)
        c.probe = Probe()
        c.save_for_backward(x, out)
        return out

    gc.disable()
    try:
        y = Fn(forward, lambda c, q: q * c.saved_tensors[1])(L([1.0]))
        gone = weakref.ref(y.grad_fn.probe)
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_second_derivatives_flow_through_saved_outputs():
    def forward(c, x):
        out = pb.exp(x)
        c.save_for_backward(out)
        return out

    x = L([1.0])
    (first,) = g(Fn(forward, lambda c, q: q * c.saved_tensors[0])(x), x, create_graph=True)
    np.testing.assert_allclose(array(g(first, x)[0]), np.exp([1.0]))


# Forward mode and transforms (§10.8); these need the levels of `forward_ad` and `pb.func`.

class ForwardCube(Function):
    @staticmethod
    def forward(x, n):
        return x**n

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(inputs[0])
        ctx.n = inputs[1]

    @staticmethod
    def jvp(ctx, tangent, of_number):
        assert of_number is None
        (x,) = ctx.saved_tensors
        return tangent * ctx.n * x ** (ctx.n - 1)


def test_jvp_receives_one_tangent_per_argument():
    forward_ad = pb.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(C([2.0]), C([1.0]))
        primal, tangent = forward_ad.unpack_dual(ForwardCube.apply(dual, 3))
        assert it(primal) == [8.0] and it(tangent) == [12.0]


def test_a_combined_style_function_works_under_transforms():
    # Section 10.1 of the graph's specification refuses it, 7.9 of the transforms' accepts it. Nothing here needs the
    # restriction, so there is none.
    double = Fn(lambda c, x: x * 2, lambda c, q: q * 2)
    assert it(pb.func.grad(lambda x: double(x).sum())(C([1.0]))) == [2.0]
