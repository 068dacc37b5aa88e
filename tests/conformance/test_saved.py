"""Version counters and saved values: conformance cases 192 to 204, and what §8 says besides."""

import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, g, it, ng, raises, shares_memory

graph = pb.autograd.graph
saved_tensors_hooks = graph.saved_tensors_hooks
disable_saved_tensors_hooks = graph.disable_saved_tensors_hooks
allow_mutation = graph.allow_mutation_on_saved_tensors


def same(tensor):
    return tensor


# Versions


@pb.autograd.overwrite_policy("raise")
def test_192_only_a_value_that_was_saved_is_protected():
    x, c = L([2.0]), C([3.0])
    y = x * c
    c.add_(1)
    with raises("VERSION"):
        y.backward()

    leaf, c = L([2.0]), C([3.0])
    x = leaf * 1
    y = x * c
    x.add_(1)
    y.backward()
    assert it(leaf.grad) == [3.0]


def test_193_writes_through_detach_are_seen_and_writes_through_data_are_not():
    x = L([1.0, 2.0])
    y = x * x
    x.detach().add_(1)
    with raises("VERSION"):
        y.sum().backward()

    x = L([1.0, 2.0])
    y = x * x
    x.data.add_(1)
    y.sum().backward()
    assert it(x.grad) == [4.0, 6.0]


def test_194_what_was_saved_may_be_detached():
    x = L([1.0])
    a = x * 1
    y = a.sin()
    a.detach_()
    y.backward()
    assert it(x.grad) == [np.cos(1.0)]

    x = L([1.0])
    a = x * 1
    y = a.exp()
    a.detach_()
    y.backward()
    np.testing.assert_allclose(array(x.grad), np.exp([1.0]))

    x = L([1.0])
    y = x.exp()
    z = y * 2
    y.detach_()
    z.backward()
    np.testing.assert_allclose(array(x.grad), 2 * np.exp([1.0]))


# Saved-tensor hooks


def test_195_hooks_are_called_once_per_saved_slot_and_once_per_pass():
    x, c, packs, unpacks = L([3.0]), C([2.0]), [], []

    def pack(tensor):
        packs.append(tensor)
        return tensor

    def unpack(packed):
        unpacks.append(packed)
        return packed

    with saved_tensors_hooks(pack, unpack):
        y = x * c
    assert len(packs) == 1 and packs[0] is c
    y.backward(retain_graph=True)
    y.backward()
    assert len(unpacks) == 2
    assert it(x.grad) == [4.0]

    packs.clear()
    with saved_tensors_hooks(pack, unpack):
        x * 3
        assert packs == []
        x * x
    assert len(packs) == 2


def test_196_pack_sees_the_leaf_itself_with_grad_mode_off():
    x, seen = L([3.0]), []

    def pack(tensor):
        seen.append((tensor is x, pb.is_grad_enabled()))
        return tensor

    with saved_tensors_hooks(pack, same):
        x.sin()
    assert seen == [(True, False)]


def test_197_unpack_must_return_a_tensor_of_the_saved_shape_and_dtype():
    def run(result):
        x = L([1.0, 2.0])
        with saved_tensors_hooks(same, lambda packed: result):
            y = x * x
        y.sum().backward()

    with pytest.raises(TypeError):
        run(1)
    with raises("UNPACK_META"):
        run(C([1.0]))
    with raises("UNPACK_META"):
        run(C([1.0, 2.0]).astype(pb.float32))


def test_198_pack_must_not_write_to_its_argument():
    c = C([2.0])
    with raises("PACK_MUTATED"), saved_tensors_hooks(lambda tensor: tensor.add_(1), same):
        L([3.0]) * c


def test_199_the_innermost_hooks_apply_and_disabling_refuses_both_ways():
    x, calls = L([1.0]), []

    def logging(label):
        return lambda tensor: (calls.append(label), tensor)[1]

    with saved_tensors_hooks(logging("outer"), same):
        with saved_tensors_hooks(logging("inner"), same):
            x.sin()
        x.cos()
    assert calls == ["inner", "outer"]

    hooks, disabled = (lambda: saved_tensors_hooks(same, same)), (lambda: disable_saved_tensors_hooks("not here"))
    with disabled(), pytest.raises(RuntimeError, match="not here"), hooks():
        pass
    with hooks(), pytest.raises(RuntimeError, match="not here"), disabled():
        pass


def test_200_hooks_do_not_apply_in_another_thread():
    x, packs = L([1.0]), []
    with saved_tensors_hooks(lambda tensor: (packs.append(tensor), tensor)[1], same):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
    assert packs == []


def test_201_hooks_on_a_handle_are_registered_once_before_release_and_on_a_value():
    y = L([2.0]) * L([3.0])
    handle = y.grad_fn._raw_saved_self
    handle.register_hooks(lambda tensor: tensor * 10, lambda packed: packed / 10)
    with raises("HOOKS_TWICE"):
        handle.register_hooks(same, same)

    y = L([2.0]) * L([3.0])
    handle = y.grad_fn._raw_saved_self
    y.backward()
    with raises("HOOKS_FREED"):
        handle.register_hooks(same, same)

    y = L([2.0]) * C([3.0])
    with raises("HOOKS_NONE"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


def test_202_a_pack_that_copies_makes_later_writes_harmless():
    leaf = L([3.0])
    x = leaf * 1
    with saved_tensors_hooks(lambda tensor: array(tensor).copy(), pb.asarray):
        y = x * x
    x.add_(10)
    y.backward()
    assert it(leaf.grad) == [6.0]


# Mutation of saved values


def test_203_writes_to_saved_values_are_allowed_inside_the_context():
    a = L([1.0, 2.0])
    with allow_mutation():
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
    assert it(a.grad) == [2.0, 4.0]

    a = L([1.0, 2.0])
    with allow_mutation():
        b = a.clone()
        out = (b**2).sum()
        b[1:].sin_()
        out.backward()
    assert it(a.grad) == [2.0, 4.0]

    a = L([1.0, 2.0])
    with allow_mutation():
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
    out.backward()
    assert it(a.grad) == [2.0, 4.0]

    with allow_mutation(), allow_mutation():
        pass


def test_204_versions_can_be_bumped_and_preserved_by_hand():
    x = C([1.0])
    graph.increment_version([x, x])
    assert x._version == 2
    graph.increment_version(x)
    assert x._version == 3
    with graph._unsafe_preserve_version_counter(x):
        x.add_(1)
        assert x._version == 4
    assert x._version == 3 and it(x) == [2.0]


# What is kept and what comes back (§8.2)


@pb.autograd.overwrite_policy("raise")
def test_a_saved_leaf_comes_back_as_the_same_object_and_other_values_as_twins():
    x = L([1.0])
    h = x * 2
    saved = (h * h).grad_fn._saved_self
    assert saved.grad_fn is h.grad_fn and it(saved) == it(h)
    assert (x * x).grad_fn._saved_self is x
    y = h.exp()
    twin = y.grad_fn._saved_result
    assert twin is not y
    assert twin.grad_fn is y.grad_fn and shares_memory(twin, y)
    y.add_(1)
    with raises("VERSION"):
        _ = y.grad_fn.next_functions[0][0]._saved_result


def test_an_input_with_a_new_payload_comes_back_as_a_twin_with_the_saved_one():
    x = L([1.0, 2.0])
    y = x * x
    x.data = C([9.0, 9.0])
    twin = y.grad_fn._saved_self
    assert twin is not x and it(twin) == [1.0, 2.0]
    y.sum().backward()
    assert it(x.grad) == [2.0, 4.0]


def test_an_output_written_in_place_through_a_view_is_saved_with_its_history():
    x = L([0.0, 1.0])
    b = x * 1
    v = b[:1]
    v.exp_()
    (first,) = g(b.sum(), x, create_graph=True)
    assert it(first) == [1.0, 1.0]
    assert it(g(first.sum(), x)[0]) == [1.0, 0.0]


@pb.autograd.overwrite_policy("raise")
def test_the_version_error_tells_dtype_shape_producer_and_both_versions():
    a = L([1.0, 2.0]) * 3
    y = a.sin()
    a.add_(1)
    a.add_(1)
    with raises("VERSION") as caught:
        y.sum().backward()
    message = str(caught.value)
    for part in ("float64", "MulBackward0", "2", "0", "anomaly"):
        assert part in message


def test_a_write_that_misses_the_saved_region_is_harmless():
    x, b = L([2.0]), C([1.0, 2.0, 3.0])
    y = x * b[:1]
    b[1:].add_(1)
    b[2] = 7.0
    y.backward()
    assert it(x.grad) == [1.0]


@pytest.mark.parametrize(
    "write",
    [lambda b: b.add_(1), lambda b: b[:2].add_(1), lambda b: b.__setitem__([1], 0.0)],
    ids=["whole", "overlapping slice", "integer index"],
)
@pb.autograd.overwrite_policy("raise")
def test_a_write_that_hits_the_saved_region_is_caught(write):
    x, b = L([2.0, 2.0]), C([1.0, 2.0, 3.0])
    y = x * b[1:]
    write(b)
    with raises("VERSION"):
        y.sum().backward()


@pb.autograd.overwrite_policy("raise")
def test_a_hit_between_two_misses_is_caught():
    x, b = L([2.0]), C([1.0, 2.0, 3.0])
    y = x * b[:1]
    b[1:].add_(1)
    b[:1].add_(1)
    b[1:].add_(1)
    with raises("VERSION"):
        y.backward()


@pb.autograd.overwrite_policy("raise")
def test_a_write_under_no_grad_is_seen_too():
    x, c = L([2.0]), C([3.0])
    y = x * c
    with ng():
        c.add_(1)
    with raises("VERSION"):
        y.backward()


def test_an_inference_tensor_cannot_be_saved():
    with pb.inference_mode():
        frozen = C([2.0])
    with raises("INFERENCE_SAVE"):
        L([1.0]) * frozen


# Hooks on saved values (§8.3)


def test_the_documented_example_packs_the_constant_once():
    seen = []
    with saved_tensors_hooks(lambda t: (seen.append(t.shape), t.numpy().copy())[1], pb.asarray):
        y = L([3.0]) * C([2.0])
    y.backward()
    assert seen == [(1,)]


def test_unpacked_values_are_used_as_given_on_every_access():
    x, unpacks = L([3.0]), []
    with saved_tensors_hooks(same, lambda packed: (unpacks.append(1), packed * 10)[1]):
        y = x * C([2.0])
    assert it(y.grad_fn._saved_other) == [20.0]
    assert it(y.grad_fn._saved_other) == [20.0]
    assert len(unpacks) == 2
    y.backward()
    assert it(x.grad) == [20.0]
    assert len(unpacks) == 3


def test_pack_sees_an_output_with_its_node_and_an_interior_input_itself():
    x, seen = L([1.0]), []
    h = x * 2
    with saved_tensors_hooks(lambda tensor: (seen.append(tensor), tensor.detach())[1], same):
        y = h.exp()
        h.sin()
    assert seen[0].grad_fn is y.grad_fn
    assert seen[1] is h


def test_history_is_restored_on_unpacking_so_that_double_backward_works():
    leaf = L([2.0])
    for x in (leaf, leaf * 1):
        with saved_tensors_hooks(lambda tensor: array(tensor).copy(), pb.asarray):
            y = x * x * x
        (first,) = g(y, leaf, create_graph=True)
        assert it(first.detach()) == [12.0]
        assert it(g(first, leaf)[0]) == [12.0]


def test_hooks_apply_to_a_create_graph_pass_run_inside_the_block():
    x, packs = L([2.0]), []
    y = x * x * x
    with saved_tensors_hooks(lambda tensor: (packs.append(tensor), tensor)[1], same):
        g(y, x, create_graph=True)
    assert packs


@pb.autograd.overwrite_policy("raise")
def test_hooked_values_have_no_version_check():
    x, c = L([2.0]), C([3.0])
    with saved_tensors_hooks(same, same):
        y = x * c
    c.add_(1)
    y.backward()
    assert it(x.grad) == [4.0]


def test_any_object_may_be_packed():
    x, shelf = L([3.0]), {}

    def pack(tensor):
        shelf[len(shelf)] = array(tensor).copy()
        return f"box {len(shelf) - 1}"

    with saved_tensors_hooks(pack, lambda name: pb.asarray(shelf[int(name.split()[1])])):
        y = x * x
    y.backward()
    assert it(x.grad) == [6.0]


def test_function_saved_tensors_go_through_the_hooks():
    def forward(c, x):
        c.save_for_backward(x)
        return x * x

    x, events = L([3.0]), []
    square = Fn(forward, lambda c, q: 2 * q * c.saved_tensors[0])
    with saved_tensors_hooks(lambda t: (events.append("pack"), t)[1], lambda t: (events.append("unpack"), t)[1]):
        y = square(x)
    y.backward()
    assert events == ["pack", "unpack"]
    assert it(x.grad) == [6.0]


def test_exceptions_from_pack_surface_in_the_forward_and_from_unpack_in_the_backward():
    class Trouble(Exception):
        pass

    def fail(value):
        raise Trouble

    x = L([1.0])
    with pytest.raises(Trouble), saved_tensors_hooks(fail, same):
        x * x
    with saved_tensors_hooks(same, fail):
        y = x * x
    with pytest.raises(Trouble):
        y.backward()
    assert it((x * x).detach()) == [1.0]


def test_register_hooks_packs_at_once_and_checks_its_arguments():
    x, packs = L([3.0]), []
    y = x * C([2.0])
    handle = y.grad_fn._raw_saved_other
    with pytest.raises(TypeError):
        handle.register_hooks(same)
    handle.register_hooks(lambda tensor: (packs.append(tensor), tensor * 10)[1], lambda packed: packed / 5)
    assert len(packs) == 1 and packs[0].requires_grad is False
    assert it(y.grad_fn._saved_other) == [4.0]
    y.backward()
    assert it(x.grad) == [4.0]


def test_disabling_nests_and_restores_the_outer_message():
    with disable_saved_tensors_hooks("outer"):
        inner = disable_saved_tensors_hooks("inner")
        with inner, pytest.raises(RuntimeError, match="inner"), saved_tensors_hooks(same, same):
            pass
        with pytest.raises(RuntimeError, match="outer"), saved_tensors_hooks(same, same):
            pass
    with saved_tensors_hooks(same, same):
        pass


def test_a_pack_hook_that_returns_its_argument_leaves_no_uncollectable_cycle():
    with saved_tensors_hooks(same, same):
        y = L([1.0]).exp()
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


def test_save_on_cpu_changes_no_result():
    x = L([3.0])
    with graph.save_on_cpu(pin_memory=False):
        y = x * x
    y.backward()
    assert it(x.grad) == [6.0]


# Allowed mutation (§8.4) and manual versions (§8.5)


def test_each_version_of_a_saved_value_keeps_its_own_copy():
    a = L([1.0, 2.0])
    with allow_mutation():
        b = a.clone()
        first = (b * b * b).sum()
        b.mul_(2)
        second = (b * b).sum()
        b.zero_()
        (first + second).backward()
    assert it(a.grad) == [3 * 1 + 8 * 1, 3 * 4 + 8 * 2]


def test_writes_by_out_and_through_an_alias_are_covered():
    x, c = L([3.0, 3.0]), C([1.0, 2.0])
    with allow_mutation():
        y = (x * c).sum()
        c.detach()[1:].zero_()
        pb.multiply(C([5.0, 5.0]), C([5.0, 5.0]), out=c)
        y.backward()
    assert it(x.grad) == [1.0, 2.0]


def test_backward_may_run_in_another_instance_of_the_context():
    a = L([1.0])
    with allow_mutation():
        b = a.clone()
        out = b * b
        b.zero_()
    with allow_mutation():
        out.backward()
    assert it(a.grad) == [2.0]


@pb.autograd.overwrite_policy("raise")
def test_after_the_context_writes_are_checked_again():
    with allow_mutation():
        pass
    x, c = L([3.0]), C([2.0])
    y = x * c
    c.zero_()
    with raises("VERSION"):
        y.backward()


def test_versions_set_by_hand():
    first, second = C([1.0]), C([1.0])
    graph._unsafe_set_version_counter((first, second), (3, 5))
    assert (first._version, second._version) == (3, 5)
    with raises("VERSION_NEGATIVE"):
        graph._unsafe_set_version_counter((first,), (-1,))
    with graph._unsafe_preserve_version_counter((first, second)):
        first.add_(1)
        second.add_(1)
    assert (first._version, second._version) == (3, 5)


def test_incrementing_the_version_of_an_inference_tensor_does_nothing():
    with pb.inference_mode():
        frozen = C([2.0])
    graph.increment_version(frozen)
    graph.increment_version([frozen, frozen])


def test_an_incremented_version_invalidates_saved_values():
    x, c = L([3.0]), C([2.0])
    y = x * c
    array(c)[...] = 5.0
    graph.increment_version(c)
    with raises("VERSION"):
        y.backward()
