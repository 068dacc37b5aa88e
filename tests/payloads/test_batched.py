"""The payload of `vmap` by hand: levels, views, widening, writing, the boundary, refusals, the fallback and draws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import AutogradError
from pullback.core.state import VmapLevel, changed, running_pass
from pullback.declare.op import Op, registry
from pullback.errors import PerformanceWarning
from pullback.payloads.batched import (
    BatchedArray,
    NeedsWidening,
    assign,
    each_example,
    enter,
    leave,
    levels_of,
    set_vmap_fallback,
    sum_level,
    widen_in_place,
    widened,
)
from pullback.payloads.batched.randomness import check_fill, check_mode
from pullback.payloads.evaluate import evaluate


@pytest.fixture
def levels():
    """An outer level of two examples and an inner one of three, both active."""
    both = (VmapLevel(2, "different"), VmapLevel(3, "different"))
    with changed(vmaps=both):
        yield both


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


# The boundary.


def test_entering_a_level_hides_an_axis_and_shares_memory(levels):
    _, inner = levels
    array = counted(4, 3)
    payload = enter(array, 1, inner)
    assert payload.shape == (4,) and payload.levels == (inner,)
    assert np.shares_memory(payload.data, array)
    np.testing.assert_array_equal(payload.data, array.T)


def test_batch_axes_are_ordered_by_age_whatever_the_order_of_entering(levels):
    outer, inner = levels
    payload = enter(enter(counted(2, 3, 5), 1, inner), 0, outer)
    assert payload.levels == (outer, inner) and payload.data.shape == (2, 3, 5)


def test_leaving_is_the_inverse_of_entering(levels):
    outer, inner = levels
    array = counted(2, 5, 3)
    back = leave(leave(enter(enter(array, 2, inner), 0, outer), 1, inner), 0, outer)
    np.testing.assert_array_equal(np.asarray(back), array)


def test_leaving_a_level_that_a_payload_lacks_repeats_it_without_memory():
    level = VmapLevel(4)
    out = leave(counted(5), -1, level)
    assert type(out) is np.ndarray and out.shape == (5, 4) and out.strides[1] == 0
    assert not out.flags.writeable


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
def test_a_level_that_a_payload_lacks_is_repeated_along_any_axis(axis, levels):
    outer, inner = levels
    array = counted(2, 5, 4, 6)
    for payload in (array[0], enter(array, 0, outer)):
        out = leave(payload, axis, inner)
        one = out if type(out) is np.ndarray else leave(out, 0, outer)[0]
        np.testing.assert_array_equal(one, np.stack([array[0]] * inner.size, axis))


def test_leaving_the_last_level_gives_a_plain_array():
    level = VmapLevel(3)
    with changed(vmaps=(level,)):
        assert type(leave(enter(counted(3, 2), 0, level), 1, level)) is np.ndarray


def test_a_payload_can_not_enter_a_level_twice(levels):
    _, inner = levels
    with pytest.raises(AutogradError, match="twice"):
        enter(enter(counted(3, 3), 0, inner), 0, inner)


def test_the_sum_over_a_level(levels):
    outer, inner = levels
    payload = enter(counted(3, 2), 0, inner)
    np.testing.assert_array_equal(sum_level(payload, inner), counted(3, 2).sum(axis=0))
    both = enter(enter(counted(2, 3), 0, outer), 0, inner)
    assert sum_level(both, outer).levels == (inner,)
    np.testing.assert_array_equal(sum_level(both, outer).data, counted(2, 3).sum(axis=0))


def test_the_sum_over_a_level_that_a_payload_lacks_counts_its_examples(levels):
    outer, inner = levels
    np.testing.assert_array_equal(sum_level(counted(4), inner), 3 * counted(4))
    assert sum_level(enter(counted(3, 2), 0, inner), outer).levels == (inner,)


def test_levels_of_other_payloads_are_none():
    assert levels_of(counted(3)) == () and levels_of(2.0) == ()


# What one example looks like.


def test_shape_and_strides_are_those_of_one_example(levels):
    _, inner = levels
    payload = enter(np.asfortranarray(counted(3, 4, 5)), 0, inner)
    assert (payload.shape, payload.ndim, payload.size, len(payload)) == ((4, 5), 2, 20, 4)
    assert payload.nbytes == 20 * 8 and payload.itemsize == 8 and payload.dtype == np.float64
    assert payload.strides == payload.data.strides[1:]
    assert not payload.is_contiguous()
    rows = enter(counted(3, 4, 5), 0, inner)
    assert rows.is_contiguous() and rows.flags.c_contiguous and not rows.is_contiguous("F")


def test_iteration_runs_over_the_first_axis_of_one_example(levels):
    _, inner = levels
    rows = list(enter(counted(3, 2, 4), 0, inner))
    assert len(rows) == 2 and rows[1].shape == (4,)
    np.testing.assert_array_equal(rows[1].data, counted(3, 2, 4)[:, 1])


def test_batch_axes_do_not_count_for_broadcasting(levels):
    _, inner = levels
    out = enter(counted(3, 4), 0, inner) + counted(2, 5, 4)
    assert out.shape == (2, 5, 4)
    np.testing.assert_array_equal(out.data, counted(3, 1, 1, 4) + counted(2, 5, 4))


def test_levels_of_the_operands_unite(levels):
    outer, inner = levels
    out = enter(counted(3), 0, inner) * enter(counted(2), 0, outer)
    assert out.levels == (outer, inner)
    np.testing.assert_array_equal(out.data, counted(2)[:, None] * counted(3))


def test_operators_and_methods_are_those_of_arrays(levels):
    _, inner = levels
    array = counted(3, 2, 2) + 1
    x = enter(array, 0, inner)
    for out, expected in [
        (2 - x, 2 - array), (x @ x, array @ array), (array[0] / x, array[0] / array), (x**2, array**2), (-x, -array),
        (abs(-x), array), (x // 2, array // 2), (x % 2, array % 2), (x > 2, array > 2), (x == x, array == array),
        (x.sum(axis=0), array.sum(axis=1)), (x.sum(), array.sum(axis=(1, 2))), (x.reshape(-1), array.reshape(3, 4)),
        (x.reshape((4, 1)), array.reshape(3, 4, 1)), (x.transpose(), array.transpose(0, 2, 1)),
        (x.T, array.transpose(0, 2, 1)), (x.astype(np.float32), array.astype(np.float32)), (x.conj(), array),
        (x.real, array), (x.copy(), array), (x.mean(axis=-1, keepdims=True), array.mean(axis=-1, keepdims=True)),
        (x[0], array[:, 0]), (x[..., None], array[..., None]), (x[:, 1:], array[:, :, 1:]),
        (x[[1, 0]], array[:, [1, 0]]),
    ]:  # fmt: skip
        assert out.levels == (inner,)
        np.testing.assert_array_equal(out.data, expected)


def test_an_array_leaves_the_operator_to_the_batch(levels):
    _, inner = levels
    x = enter(counted(3, 2), 0, inner)
    assert type(counted(2) + x) is type(np.float64(2) * x) is type([1.0, 2.0] - x) is BatchedArray


def test_a_batch_is_found_in_sets_by_identity(levels):
    _, inner = levels
    x, y = enter(counted(3), 0, inner), enter(counted(3), 0, inner)
    assert len({x, y, x}) == 2


# Escapes.


def test_a_batch_is_of_no_use_after_its_level():
    level = VmapLevel(3)
    with changed(vmaps=(level,)):
        payload = enter(counted(3), 0, level)
    with pytest.raises(AutogradError, match="escaped from inside a function being vmapped") as caught:
        payload + 1
    assert caught.value.code == "VMAP_ESCAPED"


def test_in_a_backward_pass_ended_levels_live_again():
    level = VmapLevel(3)
    payload = enter(counted(3), 0, level)
    token = running_pass.set(object())
    try:
        assert (payload + 1).levels == (level,)
    finally:
        running_pass.reset(token)


# Views and widening.


def test_views_of_a_batch_are_views_of_its_memory(levels):
    _, inner = levels
    array = counted(3, 4)
    x = enter(array, 0, inner)
    view = x[1:].reshape((3, 1)).transpose()
    assert view.aliases_payload(view._parent) and np.shares_memory(view.data, array)
    assert not (x * 1).aliases_payload(x)


def test_widening_moves_the_owner_and_all_its_views(levels):
    _, inner = levels
    base = BatchedArray(np.zeros((2, 3)))
    row, column, flat = base[0], base[:, 1], base.reshape(-1)
    corner = row[1:]
    widen_in_place(corner, (inner,))
    assert base.levels == row.levels == column.levels == flat.levels == corner.levels == (inner,)
    assign(row, enter(counted(3, 3), 0, inner))
    np.testing.assert_array_equal(base.data[:, 0], counted(3, 3))
    np.testing.assert_array_equal(column.data[:, 0], counted(3, 3)[:, 1])
    np.testing.assert_array_equal(flat.data[:, :3], counted(3, 3))
    np.testing.assert_array_equal(corner.data, counted(3, 3)[:, 1:])


def test_widening_keeps_the_layout_of_one_example(levels):
    _, inner = levels
    base = BatchedArray(np.asfortranarray(counted(2, 3)))
    strides = base.strides
    widen_in_place(base, (inner,))
    assert base.strides == strides
    np.testing.assert_array_equal(base.data[2], counted(2, 3))


def test_widening_a_view_that_entered_a_level_widens_its_source_by_the_others(levels):
    outer, inner = levels
    base = BatchedArray(np.zeros((3, 2)))
    inside = enter(base, 0, inner)
    value = enter(enter(counted(2, 3, 2), 0, outer), 0, inner)
    with pytest.raises(NeedsWidening) as caught:
        assign(inside, value)
    assert caught.value.levels == (outer,)
    widen_in_place(inside, caught.value.levels)
    assign(inside, value)
    assert base.levels == (outer,) and inside.levels == (outer, inner)
    np.testing.assert_array_equal(base.data, counted(2, 3, 2))


def test_pieces_of_a_split_follow_their_source(levels):
    _, inner = levels
    base = BatchedArray(np.zeros(4))
    first, second = evaluate(registry["_split"], (base,), {"pieces": ((0, 2), (2, 4)), "axis": 0})
    widen_in_place(base, (inner,))
    assign(second, enter(counted(3, 2), 0, inner))
    np.testing.assert_array_equal(base.data[:, 2:], counted(3, 2))
    np.testing.assert_array_equal(first.data, np.zeros((3, 2)))


def test_widened_is_functional_and_takes_no_memory_until_it_is_written(levels):
    _, inner = levels
    array = counted(4)
    wide = widened(array, (inner,))
    assert wide.levels == (inner,) and np.shares_memory(wide.data, array)
    assert widened(wide, (inner,)) is wide
    assign(wide, 7.0)
    np.testing.assert_array_equal(wide.data, np.full((3, 4), 7.0))
    np.testing.assert_array_equal(array, counted(4))


# Writing.


def test_writing_goes_through_to_the_memory_behind(levels):
    _, inner = levels
    array = counted(3, 2)
    x = enter(array, 0, inner)
    assign(x, x * 2)
    np.testing.assert_array_equal(array, 2 * counted(3, 2))
    assign(x[0], 5)
    np.testing.assert_array_equal(array[:, 0], [5, 5, 5])


def test_writing_broadcasts_one_example_against_one_example(levels):
    outer, inner = levels
    target = enter(enter(np.zeros((2, 3, 4, 5)), 0, outer), 0, inner)
    assign(target, enter(counted(3, 5), 0, inner))
    np.testing.assert_array_equal(target.data, np.broadcast_to(counted(3, 1, 5), (2, 3, 4, 5)))


def test_writing_a_batch_into_one_array_says_what_is_missing(levels):
    _, inner = levels
    array = np.zeros(2)
    with pytest.raises(NeedsWidening) as caught:
        assign(array, enter(counted(3, 2), 0, inner))
    assert caught.value.levels == (inner,) and not array.any()


def test_overlapping_memory_is_read_before_it_is_written(levels):
    _, inner = levels
    array = counted(3, 4)
    x = enter(array, 0, inner)
    assign(x[1:], x[:-1])
    np.testing.assert_array_equal(array[:, 1:], counted(3, 4)[:, :-1])


def test_examples_that_the_caller_expanded_can_not_be_written():
    level = VmapLevel(3)
    with changed(vmaps=(level,)):
        payload = enter(np.broadcast_to(counted(2), (3, 2)), 0, level)
        with pytest.raises(AutogradError) as caught:
            assign(payload, 1.0)
    assert caught.value.code == "OVERLAP_WRITE"


def test_subscripts_write_and_widen(levels):
    outer, inner = levels
    x = BatchedArray(np.zeros((2, 3)))
    x[0] = enter(counted(3, 3), 0, inner)
    x[1, 2] = enter(counted(2), 0, outer)
    assert x.levels == (outer, inner)
    np.testing.assert_array_equal(x.data[1, :, 0], counted(3, 3))
    np.testing.assert_array_equal(x.data[1, :, 1], [[0, 0, 1]] * 3)
    x[..., [0, 2]] = 9.0
    np.testing.assert_array_equal(x.data[..., [0, 2]], np.full((2, 3, 2, 2), 9.0))
    x[...] = counted(2, 3)
    np.testing.assert_array_equal(x.data, np.broadcast_to(counted(2, 3), (2, 3, 2, 3)))


# Indices that differ between examples.


@pytest.mark.parametrize("batched", ["source", "index", "both"])
@pytest.mark.parametrize(
    "index", [lambda i, j: (i,), lambda i, j: (i, j), lambda i, j: (slice(None), i), lambda i, j: (i, slice(None), j),
              lambda i, j: (1, slice(None), j)],
)  # fmt: skip
def test_arrays_of_indices_are_placed_as_in_one_example(levels, index, batched):
    _, inner = levels
    source = counted(3, 4, 5, 6)
    rows, columns = np.array([[0, 2], [3, 3], [1, 0]]), np.array([[1, 4], [0, 0], [2, 3]])

    def one(n):
        i, j = (rows[n], columns[n]) if batched != "source" else (rows[0], columns[0])
        return source[n if batched != "index" else 0][index(i, j)]

    x = enter(source, 0, inner) if batched != "index" else source[0]
    pair = (rows, columns) if batched != "source" else (rows[0], columns[0])
    i, j = (enter(part, 0, inner) if batched != "source" else part for part in pair)
    found = x[index(i, j)] if type(x) is BatchedArray else BatchedArray(x)[index(i, j)]
    np.testing.assert_array_equal(found.data, np.stack([one(n) for n in range(3)]))


def test_an_integer_that_differs_between_examples_is_an_index(levels):
    _, inner = levels
    out = enter(counted(3, 4), 0, inner)[enter(np.array([0, 3, -1]), 0, inner)]
    assert out.shape == ()
    np.testing.assert_array_equal(out.data, [0, 7, 11])


def test_equal_indices_accumulate_within_one_example_only(levels):
    _, inner = levels
    places = enter(np.array([[0, 0], [1, 0], [2, 2]]), 0, inner)
    params = {"template": ("array",), "shape": (3,), "distinct": False}
    out = evaluate(registry["_index_add"], (np.array([1.0, 10.0]), places), params)
    np.testing.assert_array_equal(out.data, [[11, 0, 0], [10, 1, 0], [0, 0, 11]])


# Data dependence.


@pytest.mark.parametrize(
    "use, fragment",
    [
        (int, r"item\(\) on a Tensor"), (float, r"item\(\) on a Tensor"), (lambda x: x.item(), r"item\(\) on a Tensor"),
        (range, r"item\(\) on a Tensor"), (bool, "data-dependent control flow"), (np.asarray, "do not exist singly"),
        (lambda x: x.tolist(), "do not exist singly"), (lambda x: counted(5)[x > 0], "do not exist singly"),
        (lambda x: x.reshape(1)[x.reshape(1) > 0], "dynamic shape"),
        (lambda x: x.reshape(1).nonzero(), "dynamic shape"),
    ],
)  # fmt: skip
def test_the_values_of_a_batch_do_not_exist_singly(levels, use, fragment):
    _, inner = levels
    with pytest.raises(AutogradError, match=fragment) as caught:
        use(enter(np.arange(3), 0, inner))
    assert caught.value.why and caught.value.fix


def test_without_levels_values_are_values():
    x = BatchedArray(np.array(3))
    assert (int(x), float(x), x.item(), x.tolist(), bool(x), list(range(x))) == (3, 3.0, 3, 3, True, [0, 1, 2])
    assert np.asarray(BatchedArray(counted(2))).tolist() == [0, 1]
    values = BatchedArray(counted(4))
    np.testing.assert_array_equal(np.asarray(values[values > 1]), [2, 3])


# Operators without a rule.


@pytest.fixture
def without_rule():
    op = Op("_only_for_this_test", lambda x, y: np.sort(x) + y, ("x", "y"))
    try:
        yield op
    finally:
        del registry["_only_for_this_test"]


@pytest.fixture
def fallback_mode():
    previous = set_vmap_fallback("warn")
    yield
    set_vmap_fallback(previous)


def test_an_operator_without_rule_runs_example_by_example_and_warns_once(levels, without_rule, fallback_mode):
    outer, inner = levels
    array = counted(2, 3, 4)[..., ::-1]
    x = enter(enter(array, 0, outer), 0, inner)
    with pytest.warns(PerformanceWarning, match="_only_for_this_test"):
        out = evaluate(without_rule, (x, 1.0), {})
    np.testing.assert_array_equal(out.data, np.sort(array) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(without_rule, (x, 1.0), {})


def test_the_fallback_can_be_silent_or_an_error(levels, without_rule, fallback_mode):
    _, inner = levels
    x = enter(counted(3, 4), 0, inner)
    assert set_vmap_fallback("error") == "warn"
    with pytest.raises(AutogradError, match="Batching rule not implemented"):
        evaluate(without_rule, (x, 1.0), {})
    set_vmap_fallback("silent")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(without_rule, (x, 1.0), {})
    with pytest.raises(ValueError, match="mode"):
        set_vmap_fallback("maybe")


def test_results_of_different_shapes_can_not_be_stacked(levels, fallback_mode):
    _, inner = levels
    set_vmap_fallback("silent")
    with pytest.raises(AutogradError, match="dynamic shape"):
        each_example("positions", lambda x: x.nonzero()[0], enter(np.array([[0, 1], [1, 1], [0, 0]]), 0, inner))


def test_a_batch_of_nothing_goes_through_the_fallback(fallback_mode):
    set_vmap_fallback("silent")
    level = VmapLevel(0)
    with changed(vmaps=(level,)):
        out = each_example("sorted", np.sort, enter(np.empty((0, 4)), 0, level))
    assert out.shape == (4,) and out.data.shape == (0, 4)


# Draws.


def drawn_with(*modes, function=lambda: pb.random.standard_normal(3), seed=5):
    """The array of a draw under levels of sizes 2, 3, ... with these modes, and which levels it has."""
    active = tuple(VmapLevel(2 + n, mode) for n, mode in enumerate(modes))
    pb.random.manual_seed(seed)
    with changed(vmaps=active):
        payload = function()._data
        return np.asarray(payload.data), tuple(active.index(level) for level in payload.levels)


def eager(shape, seed=5):
    pb.random.manual_seed(seed)
    return pb.random.standard_normal(shape).numpy()


def test_random_numbers_are_refused_unless_the_level_says_how():
    for modes in (("error",), ("different", "error"), ("error", "same")):
        with pytest.raises(AutogradError, match="randomness error mode"):
            drawn_with(*modes)


def test_different_numbers_are_one_draw_with_a_batch_axis():
    values, found = drawn_with("different")
    assert found == (0,)
    np.testing.assert_array_equal(values, eager((2, 3)))
    values, found = drawn_with("different", "different")
    assert found == (0, 1)
    np.testing.assert_array_equal(values, eager((2, 3, 3)))


def test_the_same_numbers_are_one_draw_for_all():
    values, found = drawn_with("same")
    assert found == ()
    np.testing.assert_array_equal(values, eager((3,)))


def test_each_level_draws_in_its_own_way():
    values, found = drawn_with("different", "same")
    assert found == (0,)
    np.testing.assert_array_equal(values, eager((2, 3)))
    values, found = drawn_with("same", "different")
    assert found == (1,)
    np.testing.assert_array_equal(values, eager((3, 3)))


def test_permutations_are_drawn_for_each_example():
    values, found = drawn_with("different", function=lambda: pb.random.permutation(6))
    assert found == (0,)
    pb.random.manual_seed(5)
    np.testing.assert_array_equal(values, np.stack([pb.random.permutation(6).numpy() for _ in range(2)]))


def test_the_same_draw_can_not_have_parameters_that_differ():
    level = VmapLevel(2, "same")
    with changed(vmaps=(level,)):
        rates = pb.tensor([1.0])
        rates._data = enter(counted(2, 1) + 1, 0, level)
        with pytest.raises(AutogradError, match="same randomness with a batched tensor input"):
            pb.random.poisson(rates)


def test_filling_one_array_with_numbers_of_every_example_is_refused():
    level = VmapLevel(2, "different")
    with changed(vmaps=(level,)):
        check_fill(enter(counted(2, 3), 0, level))
        with pytest.raises(AutogradError, match="different inplace randomness on an unbatched"):
            check_fill(counted(3))
    with changed(vmaps=(VmapLevel(2, "same"),)):
        check_fill(counted(3))


def test_a_way_to_draw_is_one_of_three():
    check_mode("same")
    with pytest.raises(AutogradError, match="randomness must be"):
        check_mode("maybe")
