"""Cases 54 to 67: the surface of a node, what it saves, and when it lets go of it."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb

from .shorthand import ID, C, Fn, L, accumulator, bw, g, it, ng, raises

Node = pb.autograd.graph.Node


# --- the numbered cases -----------------------------------------------------------------------------------------


def test_054_every_node_is_a_node():
    kinds = []

    def forward(c, x):
        kinds.append(isinstance(c, Node))
        return x * 1

    x = L([1.0, 2.0])
    y = x * 2
    written = y.clone()
    written[:1] = 5.0
    assert isinstance(y.grad_fn, Node)
    assert isinstance(accumulator(x), Node)
    assert isinstance(written.grad_fn, Node) and written.grad_fn.name() == "CopySlices"
    out = Fn(forward, lambda c, q: (kinds.append(isinstance(c, Node)), q)[1])(x)
    assert isinstance(out.grad_fn, Node)
    out.backward(C([1.0, 1.0]))
    assert kinds == [True, True]


def test_055_grad_fn_is_one_object():
    y = L([1.0]) * 2
    assert y.grad_fn is y.grad_fn


def test_056_the_outputs_of_one_operation_share_a_node():
    a, b = L([1.0, 2.0, 3.0, 4.0]).split(2)
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)


def test_057_saved_values_are_gone_after_backward_and_edges_are_not():
    x = L([1.0])
    y = x * x
    y.backward()
    with raises("SECOND_BACKWARD"):
        _ = y.grad_fn._saved_self
    assert y.grad_fn.next_functions == ((accumulator(x), 0), (accumulator(x), 0))


def test_058_a_product_cannot_be_backpropagated_twice():
    x = L([1.0])
    y = x * x
    y.backward()
    with raises("SECOND_BACKWARD"):
        y.backward()
    assert it(x.grad) == [2.0]


def test_059_a_sum_can_be_backpropagated_twice():
    x = L([1.0])
    y = x + 1
    y.backward()
    y.backward()
    assert it(x.grad) == [2.0]


def test_060_a_product_with_a_number_can_be_backpropagated_twice():
    x = L([1.0])
    y = x * 2
    y.backward()
    y.backward()
    assert it(x.grad) == [4.0]


def test_061_static_arguments_survive_the_release():
    y = L([2.0]) ** 3
    y.backward()
    assert y.grad_fn._saved_exponent == 3


def test_062_grad_over_part_of_a_graph_frees_only_that_part():
    x = L([3.0])
    y = x * x
    z = y * y
    g(z, y)
    with raises("SECOND_BACKWARD"):
        _ = z.grad_fn._saved_self
    assert y.grad_fn._saved_self is x


def test_063_a_saved_output_is_a_twin_of_the_output():
    y = L([1.0]).exp()
    twin = y.grad_fn._saved_result
    assert twin is not y
    assert twin.grad_fn is y.grad_fn
    assert it(twin) == it(y)


def test_064_a_saved_interior_input_has_the_history_of_the_input():
    y = L([1.0]) * 2
    z = y * y
    for saved in (z.grad_fn._saved_self, z.grad_fn._saved_other):
        assert saved.grad_fn is y.grad_fn and it(saved) == it(y)


def test_065_only_what_the_needed_formulas_read_is_saved():
    x, c = L([1.0]), C([2.0])
    y = x * c
    assert y.grad_fn._saved_self is None
    assert it(y.grad_fn._saved_other) == it(c)


def test_066_a_node_is_called_with_one_gradient_per_output():
    node = L([1.0]).exp().grad_fn
    with pytest.raises(TypeError):
        node(C([1.0]), C([1.0]))
    with pytest.raises(TypeError):
        node()


def test_067_sequence_numbers_grow_across_threads():
    x = L([1.0])
    numbers = [(x * 2).grad_fn._sequence_nr()]

    def record():
        numbers.append((x * 2).grad_fn._sequence_nr())

    for _ in range(3):
        thread = threading.Thread(target=record)
        thread.start()
        thread.join()
        record()
    assert numbers == sorted(set(numbers))


# --- 3.1 the surface --------------------------------------------------------------------------------------------


class Scale(pb.autograd.Function):
    """Twice the argument."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, q):
        return q * 2


def test_names_tell_the_operation():
    x = L([1.0])
    assert (x * x).grad_fn.name() == "MulBackward0"
    assert x.exp().grad_fn.name() == "ExpBackward0"
    assert Scale.apply(x).grad_fn.name() == "ScaleBackward"
    assert accumulator(x).name() == "AccumulateGrad"


def test_the_forward_name_is_the_name_without_its_ending():
    x = L([1.0])
    assert (x * x).grad_fn.forward_op_name() == "Mul"
    assert x.exp().grad_fn.forward_op_name() == "Exp"
    assert Scale.apply(x).grad_fn.forward_op_name() == "Scale"


def test_next_functions_is_a_tuple_of_pairs():
    x = L([1.0])
    y = x * C([2.0])
    functions = (y * x).grad_fn.next_functions
    assert type(functions) is tuple
    assert functions == ((y.grad_fn, 0), (accumulator(x), 0))


def test_metadata_belongs_to_the_node_and_is_the_users():
    y, z = L([1.0]) * 2, L([1.0]) * 2
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["note"] = "mine"
    assert y.grad_fn.metadata == {"note": "mine"}
    assert z.grad_fn.metadata == {}
    y.backward()
    assert y.grad_fn.metadata["note"] == "mine"


def test_there_is_one_metadata_record_per_forward_output():
    a, b = L([1.0, 2.0, 3.0, 4.0]).split(2)
    assert [record.shape for record in a.grad_fn._input_metadata] == [(2,), (2,)]
    assert type(a.grad_fn._input_metadata) is tuple
    assert b.grad_fn._input_metadata[1].shape == b.shape


def test_the_raw_handle_of_a_saved_value_survives_the_release():
    y = L([1.0]) * C([2.0])
    handle = y.grad_fn._raw_saved_other
    assert handle is not None
    y.backward()
    assert y.grad_fn._raw_saved_other is handle
    with raises("SECOND_BACKWARD"):
        _ = y.grad_fn._saved_other


def test_an_unknown_saved_name_is_an_attribute_error():
    node = L([1.0]).exp().grad_fn
    with pytest.raises(AttributeError):
        _ = node._saved_nonsense


def test_scalars_are_attributes_and_never_saved_tensors():
    packed = []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(t), t)[1], lambda t: t):
        x = L([1.0])
        _ = x * 2, x * 2.5, x * np.float64(3.0), x + 1, x / 4
    assert packed == []


def test_a_node_created_later_has_a_larger_number():
    x = L([1.0])
    numbers = [node._sequence_nr() for node in ((x * 2).grad_fn, x.exp().grad_fn, ID(x).grad_fn, (x + 1).grad_fn)]
    assert numbers == sorted(set(numbers))


def test_a_sequence_number_can_be_set_and_decides_the_order():
    a, b, order = L([1.0]), L([1.0]), []
    p = a * 2
    r = b * 3
    p.register_hook(lambda q: order.append("p"))
    r.register_hook(lambda q: order.append("r"))
    number = r.grad_fn._sequence_nr() + 1
    p.grad_fn._set_sequence_nr(number)
    assert p.grad_fn._sequence_nr() == number
    (p + r).backward()
    assert order == ["p", "r"]


def test_the_topological_number_counts_the_longest_way_to_a_leaf():
    x = L([1.0])
    y = x * 2
    z = y * y
    total = z + x
    assert y.grad_fn.topological_nr == 1
    assert z.grad_fn.topological_nr == 2
    assert total.grad_fn.topological_nr == 3
    assert accumulator(x).topological_nr == 0


def test_a_node_requires_grad():
    x = L([1.0])
    assert (x * 2).grad_fn.requires_grad is True
    assert accumulator(x).requires_grad is True


def test_node_hooks_return_removable_handles():
    calls = []
    y = L([1.0]) * 2
    before = y.grad_fn.register_prehook(lambda qs: calls.append("before"))
    after = y.grad_fn.register_hook(lambda gi, go: calls.append("after"))
    y.backward(retain_graph=True)
    assert calls == ["before", "after"]
    before.remove()
    after.remove()
    y.backward()
    assert calls == ["before", "after"]


def test_calling_a_node_runs_the_formula():
    x = L([3.0])
    single = x.exp().grad_fn(C([2.0]))
    assert isinstance(single, pb.Tensor)
    assert it(single) == [2 * np.exp(3.0)]
    several = (x * L([5.0])).grad_fn(C([1.0]))
    assert type(several) is tuple
    assert [it(gradient) for gradient in several] == [[5.0], [3.0]]


def test_calling_a_node_with_none_gives_none():
    assert L([1.0]).exp().grad_fn(None) is None


def test_calling_a_node_obeys_the_ambient_grad_mode():
    node = L([1.0]).exp().grad_fn
    assert node(C([1.0])).requires_grad is True
    with ng():
        assert node(C([1.0])).requires_grad is False


def test_calling_a_node_runs_no_hooks_and_frees_nothing():
    calls = []
    x = L([3.0])
    y = x * x
    y.register_hook(lambda q: calls.append("tensor"))
    y.grad_fn.register_prehook(lambda qs: calls.append("before"))
    y.grad_fn.register_hook(lambda gi, go: calls.append("after"))
    y.grad_fn(C([1.0]))
    y.grad_fn(C([1.0]))
    assert calls == []
    assert x.grad is None
    assert y.grad_fn._saved_self is x


def test_calling_a_node_validates_nothing():
    node = L([1.0, 2.0]).exp().grad_fn
    assert node(C(np.ones((3, 2)))).shape == (3, 2)


def test_a_node_does_not_hold_its_outputs():
    collecting = gc.isenabled()
    gc.disable()
    try:
        x = L([1.0])
        for operation in (pb.Tensor.exp, lambda t: t * t, lambda t: t[:1], ID):
            y = operation(x)
            node, output = y.grad_fn, weakref.ref(y)
            del y
            assert output() is None
            assert node.next_functions[0][0] is accumulator(x)
    finally:
        if collecting:
            gc.enable()


# --- 3.2 what is saved and when it is released ------------------------------------------------------------------


def test_saved_values_stay_while_the_graph_is_kept():
    x = L([3.0])
    y = x * x
    y.backward(retain_graph=True)
    assert y.grad_fn._saved_self is x
    y.backward()
    assert it(x.grad) == [12.0]
    with raises("SECOND_BACKWARD"):
        _ = y.grad_fn._saved_self


def test_saved_values_are_released_after_the_post_hooks():
    x, seen = L([3.0]), []
    y = x * x
    node = y.grad_fn
    node.register_hook(lambda gi, go: seen.append(it(node._saved_self)))

    def after_release(q):
        with raises("SECOND_BACKWARD"):
            _ = node._saved_self
        seen.append("released")

    x.register_hook(after_release)
    y.backward()
    assert seen == [[3.0], "released"]


def test_a_pruned_node_keeps_its_values():
    x, w = L([3.0]), L([2.0])
    y, z = x * x, w * w
    bw(y + z, inputs=w)
    assert x.grad is None
    assert y.grad_fn._saved_self is x
    with raises("SECOND_BACKWARD"):
        _ = z.grad_fn._saved_self


def test_a_node_whose_formula_raised_keeps_its_values():
    attempts = []

    def forward(c, x):
        c.save_for_backward(x)
        return x * x

    def fail_once(c, q):
        (x,) = c.saved_tensors
        attempts.append(it(x))
        if len(attempts) == 1:
            raise KeyError("once")
        return 2 * x * q

    x = L([3.0])
    y = Fn(forward, fail_once)(x)
    with pytest.raises(KeyError):
        y.backward()
    assert x.grad is None
    y.backward()
    assert it(x.grad) == [6.0]
    assert attempts == [[3.0], [3.0]]


def test_a_released_function_has_no_saved_tensors_and_keeps_its_attributes():
    def forward(c, x):
        c.save_for_backward(x)
        c.factor = 4
        return x * x

    y = Fn(forward, lambda c, q: c.saved_tensors[0] * q)(L([3.0]))
    y.backward()
    with raises("SECOND_BACKWARD"):
        _ = y.grad_fn.saved_tensors
    assert y.grad_fn.factor == 4
    with raises("SECOND_BACKWARD"):
        y.backward()


def test_calling_a_released_node_is_an_error():
    x = L([3.0])
    y = x * x
    y.backward()
    with raises("SECOND_BACKWARD"):
        y.grad_fn(C([1.0]))


def test_a_function_that_does_not_read_what_it_saved_may_run_twice():
    def forward(c, x):
        c.save_for_backward(x)
        return x * 2

    x = L([1.0])
    y = Fn(forward, lambda c, q: q * 2)(x)
    y.backward()
    y.backward()
    assert it(x.grad) == [4.0]


def test_hooks_stay_on_a_released_node():
    calls, x = [], L([1.0])
    y = x + 1
    y.grad_fn.register_prehook(lambda qs: calls.append("before"))
    y.backward()
    y.backward()
    assert calls == ["before", "before"]


def test_dropping_the_last_reference_releases_saved_values():
    collecting = gc.isenabled()
    gc.disable()
    try:
        x, c = L([1.0]), C([2.0])
        y = x * c
        constant = weakref.ref(c._data)
        del c
        assert constant() is not None
        del y
        assert constant() is None
    finally:
        if collecting:
            gc.enable()
