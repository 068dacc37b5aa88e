"""`autograd.Function`: conformance cases 212 to 225. The other rules of §10 are in `test_function_rules.py`."""

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, bw, g, it, raises

Function = pb.autograd.Function
once_differentiable = pb.autograd.function.once_differentiable


def test_212_forward_sees_the_callers_objects_with_grad_mode_off():
    x, constant, seen = L([1.0]), C([2.0]), []

    def forward(c, a, number, b):
        seen.append((a is x, a.requires_grad, number, b is constant, pb.is_grad_enabled(), c.needs_input_grad))
        return a * number * b

    y = Fn(forward, lambda c, q: (q * 6, None, None))(x, 3, constant)
    assert seen == [(True, True, 3, True, False, (True, False, False))]
    assert pb.is_grad_enabled()
    y.backward()
    assert it(x.grad) == [6.0]


def test_213_needs_input_grad_tells_what_the_running_pass_needs():
    a, b, seen = L([2.0]), L([3.0]), []

    def backward(c, q):
        seen.append(c.needs_input_grad)
        return q * 3, q * 2

    y = Fn(lambda c, a, b: a * b, backward)(a, b)
    bw(y, inputs=a, retain_graph=True)
    y.backward(retain_graph=True)
    g(y, b)
    assert seen == [(True, False), (True, True), (False, True)]


def test_214_outputs_that_are_no_tensors_pass_through():
    received = []

    def backward(c, *gradients):
        received.append([q if q is None else it(q) for q in gradients])
        return gradients[0] * 2

    x = L([1.0])
    doubled, nothing, text = Fn(lambda c, x: (x * 2, None, "text"), backward)(x)
    assert nothing is None and text == "text"
    doubled.backward()
    assert received == [[[1.0], None, None]]

    with pytest.warns(UserWarning, match="return a tuple"):
        opaque = Fn(lambda c, x: [x * 2, x * 3], backward)(x)
    assert isinstance(opaque, list) and len(opaque) == 2
    assert not opaque[0].requires_grad


def test_215_an_input_returned_as_it_is_comes_back_as_an_alias_view():
    x = L([1.0])
    out = Fn(lambda c, x: x, lambda c, q: q * 5)(x)
    assert out is not x
    assert out._base is x and out.requires_grad
    out.backward()
    assert it(x.grad) == [5.0]


def triple_in_place(c, x):
    c.mark_dirty(x)
    return x.mul_(3)


def test_216_an_input_marked_dirty_is_the_output_with_its_history_rebased():
    leaf = L([1.0, 2.0])
    y = leaf * 1
    out = Fn(triple_in_place, lambda c, q: q * 3)(y)
    assert out is y and it(y) == [3.0, 6.0]
    out.sum().backward()
    assert it(leaf.grad) == [3.0, 3.0]


def test_216_a_leaf_cannot_be_marked_dirty():
    leaf = L([1.0])
    with raises("DIRTY_LEAF"):
        Fn(triple_in_place, lambda c, q: q * 3)(leaf)
    assert it(leaf) == [1.0] and leaf._version == 0


def test_216_a_dirty_input_must_be_returned():
    def forward(c, x):
        c.mark_dirty(x)
        return x.mul_(3) * 1

    with raises("DIRTY_NOT_RETURNED"):
        Fn(forward, lambda c, q: q * 3)(L([1.0]) * 1)


def test_216_marking_something_else_dirty_warns():
    def forward(c, x):
        other = x * 2
        c.mark_dirty(other)
        return other

    x = L([1.0])
    with pytest.warns(UserWarning):
        y = Fn(forward, lambda c, q: q * 2)(x)
    y.backward()
    assert it(x.grad) == [2.0]


def test_216_a_dirty_view_needs_a_single_output_and_goes_through_its_base():
    def two_outputs(c, v):
        c.mark_dirty(v)
        return v.mul_(3), v * 2

    b = L([1.0, 1.0, 1.0, 1.0]) * 1
    with raises("DIRTY_VIEW_MULTI"):
        Fn(two_outputs, lambda c, q, r: q * 3)(b[:2])

    x = L([1.0, 1.0, 1.0, 1.0])
    b = x * 1
    v = b[:2]
    assert Fn(triple_in_place, lambda c, q: q * 3)(v) is v
    b.sum().backward()
    assert it(x.grad) == [3.0, 3.0, 1.0, 1.0]


@pytest.mark.parametrize("materialize, expected", [(True, [0.0, 0.0]), (False, None)])
def test_217_a_non_differentiable_output_has_no_gradient(materialize, expected):
    received = []

    def forward(c, x):
        c.set_materialize_grads(materialize)
        rounded = x * 10
        c.mark_non_differentiable(rounded)
        return x * 2, rounded

    def backward(c, q, r):
        received.append(r if r is None else it(r))
        return q * 2

    doubled, rounded = Fn(forward, backward)(L([1.0, 2.0]))
    assert doubled.requires_grad and not rounded.requires_grad and rounded.grad_fn is None
    doubled.sum().backward()
    assert received == [expected]


@pytest.mark.parametrize("materialize, expected", [(True, [0.0, 0.0]), (False, None)])
def test_218_an_unused_output_is_materialized_on_request(materialize, expected):
    received = []

    def forward(c, x):
        c.set_materialize_grads(materialize)
        return x * 2, x * 3

    def backward(c, q, r):
        received.append((it(q), r if r is None else it(r)))
        return q * 2

    used, _ = Fn(forward, backward)(L([1.0, 2.0]))
    used.sum().backward()
    assert received == [([1.0, 1.0], expected)]


def test_219_only_tensors_are_saved_and_a_saved_output_is_a_twin():
    with pytest.raises(TypeError):
        Fn(lambda c, x: (c.save_for_backward(3), x * 1)[1], lambda c, q: q)(L([1.0]))

    def forward(c, x):
        out = pb.exp(x)
        c.save_for_backward(out)
        return out

    def backward(c, q):
        (saved,) = c.saved_tensors
        seen.append((saved is y, saved.grad_fn is y.grad_fn))
        return q * saved

    seen, x = [], L([1.0])
    y = Fn(forward, backward)(x)
    y.backward()
    assert seen == [(False, True)]
    np.testing.assert_allclose(array(x.grad), np.exp([1.0]))


@pytest.mark.parametrize("result", [lambda q: q, lambda q: (q, q, q), lambda q: None, lambda q: ()])
def test_220_a_wrong_number_of_gradients_is_refused(result):
    a, b = L([1.0]), L([1.0])
    with raises("NUM_GRADS"):
        Fn(lambda c, a, b: a * b, lambda c, q: result(q))(a, b).backward()


def test_220_surplus_trailing_nones_are_ignored():
    x = L([1.0])
    Fn(lambda c, x: x * 2, lambda c, q: (q * 2, None, None))(x).backward()
    assert it(x.grad) == [2.0]


def test_220_gradients_are_for_tensors_and_are_tensors():
    with raises("GRAD_FOR_NONTENSOR"):
        Fn(lambda c, x, n: x * n, lambda c, q: (q, q))(L([1.0]), 3).backward()
    with pytest.raises(TypeError):
        Fn(lambda c, x: x * 1, lambda c, q: 1.0)(L([1.0])).backward()
    with pytest.raises(TypeError):
        Fn(lambda c, x: x * 1, lambda c, q: ([1.0],))(L([1.0])).backward()


def cube_forward(c, x):
    c.save_for_backward(x)
    return x * x * x


def test_221_saved_inputs_carry_history_for_the_second_derivative():
    x = L(3.0)
    y = Fn(cube_forward, lambda c, q: q * 3 * c.saved_tensors[0] ** 2)(x)
    (first,) = g(y, x, create_graph=True)
    assert it(first.detach()) == 27.0
    assert it(g(first, x)[0]) == 18.0


@pytest.mark.parametrize("gradient_requires_grad", [False, True])
def test_222_a_once_differentiable_backward_refuses_the_second_derivative(gradient_requires_grad):
    cube = Fn(cube_forward, once_differentiable(lambda c, q: q * 3 * c.saved_tensors[0] ** 2))
    x, gradient = L([3.0]), C([1.0])
    gradient.requires_grad_(gradient_requires_grad)
    (first,) = g(cube(x), x, gradient, create_graph=True)
    assert it(first.detach()) == [27.0]
    with raises("ONCE_DIFFERENTIABLE"):
        g(first, x, retain_graph=True)
    with raises("ONCE_DIFFERENTIABLE"):
        first.backward()


def test_222_a_once_differentiable_backward_runs_with_grad_mode_off():
    modes, x = [], L([3.0])
    cube = Fn(cube_forward, once_differentiable(lambda c, q: (modes.append(pb.is_grad_enabled()), q)[1]))
    g(cube(x), x)
    g(cube(x), x, create_graph=True)
    assert modes == [False, False]


def test_223_backward_and_vjp_exclude_each_other_and_something_must_be_defined():
    with raises("FN_BOTH"):

        class Both(Function):
            @staticmethod
            def forward(c, x):
                return x * 1

            @staticmethod
            def backward(c, q):
                return q

            @staticmethod
            def vjp(c, q):
                return q

        Both.apply(L([1.0])).backward()

    class ForwardOnly(Function):
        @staticmethod
        def forward(c, x):
            return x * 1

    class Nothing(Function):
        pass

    y = ForwardOnly.apply(L([1.0]))
    with pytest.raises(NotImplementedError):
        y.backward()
    with pytest.raises(NotImplementedError):
        Nothing.apply(L([1.0]))


def test_224_one_tensor_returned_twice_has_one_slot_for_the_total():
    def forward(c, x):
        y = x * 2
        return y, y

    def backward(c, q, r):
        received.append((it(q), it(r)))
        return (q + r) * 2

    received, x = [], L([1.0, 1.0])
    first, second = Fn(forward, backward)(x)
    assert first is second and first.output_nr == 1
    (first * 3 + second * 4).sum().backward()
    assert received == [([0.0, 0.0], [7.0, 7.0])]
    assert it(x.grad) == [14.0, 14.0]


class SplitCube(Function):
    """A split-style Function without any batching rule; the classes below add one or two."""

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, q):
        return q * 3 * ctx.saved_tensors[0] ** 2


class GeneratedCube(SplitCube):
    generate_vmap_rule = True


class AmbiguousCube(GeneratedCube):
    @staticmethod
    def vmap(info, in_dims, x):
        return AmbiguousCube.apply(x), in_dims[0]


class WrongReturnCube(SplitCube):
    @staticmethod
    def vmap(info, in_dims, x):
        return WrongReturnCube.apply(x)


# The last case needs `pb.func.vmap`, which comes with the function transforms.
def test_225_batching_a_function_needs_exactly_one_rule():
    x = C([[1.0, 2.0], [3.0, 4.0]])
    with raises("FN_NO_VMAP"):
        pb.func.vmap(SplitCube.apply)(x)
    with raises("FN_VMAP_AMBIGUOUS"):
        pb.func.vmap(AmbiguousCube.apply)(x)
    with raises("FN_VMAP_RETURN"):
        pb.func.vmap(WrongReturnCube.apply)(x)


def test_225_a_generated_batching_rule_matches_the_loop():
    x = L([[1.0, 2.0], [3.0, 4.0]])
    batched = pb.func.vmap(GeneratedCube.apply)(x)
    looped = pb.stack([GeneratedCube.apply(row) for row in x])
    assert it(batched) == it(looped)
    assert it(g(batched.sum(), x)[0]) == it(g(looped.sum(), x)[0])


def test_225_a_generated_rule_sums_the_gradient_of_an_unbatched_input():
    class Product(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, w):
            return x * w

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, q):
            x, w = ctx.saved_tensors
            return q * w, q * x

    x, w = L([[1.0, 2.0], [3.0, 4.0]]), L([5.0, 6.0])
    batched = pb.func.vmap(Product.apply, in_dims=(0, None))(x, w)
    x_grad, w_grad = g(batched.sum(), (x, w))
    assert it(x_grad) == [[5.0, 6.0], [5.0, 6.0]]
    assert it(w_grad) == [4.0, 6.0]
