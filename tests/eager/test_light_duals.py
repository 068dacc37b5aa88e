"""Results of elementwise operators on duals carry their tangents as bare arrays, and nobody can tell."""

import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.core.state import current, open_levels
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.eager.dual_source import written
from pullback.tape.forward.levels import Dual, DualAlias
from pullback.tensors.tensor import Extra
from pullback.testing import assert_close

fwd = pb.autograd.forward_ad


def x3(dtype=None):
    return pb.tensor([1.0, 2.0, 3.0], dtype=dtype)


def t3(dtype=None):
    return pb.tensor([1.0, 10.0, 100.0], dtype=dtype)


def tangent(x):
    return fwd.unpack_dual(x).tangent


@pytest.fixture
def level():
    with fwd.dual_level():
        yield next(iter(open_levels))


@pytest.fixture
def dual(level):
    """A result of an operation: twice x3, with twice t3."""
    result = fwd.make_dual(x3(), t3()) * 2.0
    assert type(result._extra) is Dual and type(result._extra.slope) is np.ndarray
    return result


# Tangents that two tensors have in common -----------------------------------------------------------------------------


def test_writing_to_a_shifted_dual_leaves_the_tangent_of_the_first(dual):
    shifted = dual + 1.0
    shifted.mul_(5.0)
    assert_close(tangent(shifted), 10 * t3())
    assert_close(tangent(dual), 2 * t3())


def test_writing_to_a_dual_leaves_the_tangent_of_what_was_shifted(dual):
    shifted = 1.0 + dual
    dual.mul_(5.0)
    assert_close(tangent(shifted), 2 * t3())
    assert_close(tangent(dual), 10 * t3())


def test_a_tangent_is_lent_again_after_it_was_copied(dual):
    first = dual + 1.0
    dual.mul_(2.0)
    second = dual + 1.0
    second.mul_(3.0)
    assert_close(tangent(dual), 4 * t3())
    dual.mul_(5.0)
    assert_close(tangent(first), 2 * t3())
    assert_close(tangent(second), 12 * t3())


def test_a_shifted_alias_leaves_the_tangent_of_the_caller(level):
    direction = t3()
    alias = fwd.make_dual(x3(), direction)
    shifted = alias + 1.0
    shifted.mul_(5.0)
    alias.mul_(7.0)
    assert_close(direction, t3())
    assert_close(tangent(alias), 7 * t3())
    assert_close(tangent(shifted), 5 * t3())


def test_tangents_on_one_memory_count_their_versions_together(dual):
    shifted = dual + 1.0
    first, second = tangent(dual), tangent(shifted)
    assert np.shares_memory(first.numpy(), second.numpy())
    first.mul_(2.0)
    assert first._version == second._version == 1


@pb.autograd.overwrite_policy("raise")
def test_a_write_to_a_tangent_is_noticed_by_who_saved_the_other(dual):
    shifted = dual + 1.0
    leaf = pb.ones(3, requires_grad=True)
    product = leaf * tangent(shifted)
    tangent(dual).mul_(2.0)
    with pytest.raises(pb.autograd.AutogradError, match="modified by an inplace operation"):
        product.sum().backward()


# What a tangent is once it was seen -----------------------------------------------------------------------------------


def test_the_tangent_is_one_object_and_is_written_in_place(dual):
    seen = tangent(dual)
    assert tangent(dual) is seen
    assert_close(tangent(pb.sin(dual)), pb.cos(2 * x3()) * 2 * t3())
    dual.mul_(3.0)
    assert tangent(dual) is seen
    assert_close(seen, 6 * t3())


def test_a_tangent_that_was_seen_and_requires_grad_is_recorded(dual):
    seen = tangent(dual).requires_grad_()
    tangent(dual * 3.0).sum().backward()
    assert_close(seen.grad, [3.0, 3.0, 3.0])


def test_a_light_dual_that_requires_grad_becomes_the_general_thing(dual):
    dual.requires_grad_()
    assert type(dual._extra) is Extra
    result = dual * dual
    assert_close(tangent(result), 2 * (2 * x3()) * (2 * t3()))
    result.sum().backward()
    assert_close(dual.grad, 4 * x3())


def test_tangents_at_two_levels_meet(dual):
    with fwd.dual_level():
        inner = fwd.make_dual(dual, pb.ones(3))
        result = inner * inner
        assert_close(tangent(result), 4 * x3())
        assert_close(fwd.unpack_dual(tangent(result), level=0).tangent, 4 * t3())
    assert_close(tangent(result), 2 * (2 * x3()) * (2 * t3()))


def test_an_alias_follows_the_memory_it_shares_at_other_levels(level):
    base = x3()
    with fwd.dual_level():
        alias = fwd.make_dual(base, t3())
        assert type(alias._extra) is DualAlias
        base.mul_(fwd.make_dual(pb.ones(3), pb.ones(3), level=0))
        product = alias * 3.0
        assert_close(fwd.unpack_dual(product, level=0).tangent, 3 * x3())
        assert_close(fwd.unpack_dual(product, level=1).tangent, 3 * t3())


def test_duals_of_no_dimension_and_of_single_precision(level):
    number = fwd.make_dual(pb.tensor(2.0), pb.tensor(3.0))
    assert_close(tangent(number * number + 1.0), 12.0)
    single = fwd.make_dual(x3(pb.float32), t3(pb.float32))
    for result in (single * 2.5, single + 0.1, 1 - pb.tanh(single), single / single, pb.log(single) ** 2):
        assert tangent(result).dtype == pb.float32


# Levels that close ----------------------------------------------------------------------------------------------------


def test_a_closed_level_takes_the_array_from_a_living_dual():
    with fwd.dual_level():
        dual = fwd.make_dual(x3(), t3()) * 2.0
        shifted = dual + 1.0
        memory = weakref.ref(dual._extra.slope)
    assert memory() is None
    assert tangent(dual) is None and "tangent" not in repr(dual)
    assert_close(shifted * dual, (2 * x3() + 1) * 2 * x3())


def test_a_dual_that_dies_frees_its_tangent_at_once(level):
    dual = fwd.make_dual(x3(), t3()) * 2.0
    memory = weakref.ref(dual._extra.slope)
    result = pb.sin(dual)
    assert memory() is not None
    del dual
    assert memory() is None
    assert_close(tangent(result), pb.cos(2 * x3()) * 2 * t3())


def test_tangents_of_intermediate_results_are_not_kept(level):
    memories = []
    value = fwd.make_dual(x3(), t3())
    for _ in range(5):
        value = pb.sin(value)
        memories.append(weakref.ref(value._extra.slope))
    assert [memory() is not None for memory in memories] == [False, False, False, False, True]


def test_a_level_forgets_those_that_died(level):
    kept = value = fwd.make_dual(x3(), t3()) * 1.0
    for _ in range(5000):
        value = value * 0.5
    assert len(level.references) < 2100
    assert any(holder is kept._extra for holder in level.holders)


def test_what_is_made_while_another_thread_closes_the_level_has_no_tangent():
    fwd.enter_dual_level()
    level = next(iter(open_levels))
    dual = fwd.make_dual(x3(), t3()) * 2.0
    references = level.references
    closing = threading.Thread(target=level.close)
    closing.start()
    closing.join()
    late = Dual()
    late.level, late.slope, late.memory = level, np.ones(3), 0
    references.append(weakref.ref(late))
    level.register(late)
    assert late.slope is None and late.forward is None
    assert dual._extra.slope is None
    fwd.exit_dual_level()


# Inside transforms ----------------------------------------------------------------------------------------------------


def test_a_result_inside_jvp_may_be_written():
    def body(x):
        y = x * 2.0
        y[0] = x[1] * x[1]
        shifted = y + 1.0
        shifted[2] = x[0]
        return shifted

    value, slope = pb.func.jvp(body, (x3(),), (t3(),))
    assert_close(value, [5.0, 5.0, 1.0])
    assert_close(slope, [40.0, 20.0, 1.0])


def test_jvp_of_the_same_output_twice_and_of_the_argument_itself():
    def body(x):
        y = x * 2.0
        return y, y, x

    (a, b, c), (da, db, dc) = pb.func.jvp(body, (x3(),), (t3(),))
    assert_close(a, b)
    assert_close(da, 2 * t3())
    assert_close(db, 2 * t3())
    assert_close(c, x3())
    assert_close(dc, t3())


def test_a_mode_that_the_body_of_jvp_changes_for_good_stays_changed():
    def body(x):
        pb.set_grad_enabled(False)
        return x * 2.0

    try:
        assert_close(pb.func.jvp(body, (x3(),), (t3(),))[1], 2 * t3())
        assert not pb.is_grad_enabled()
        assert current().transforms == ()
    finally:
        pb.set_grad_enabled(True)


# Rules as source ------------------------------------------------------------------------------------------------------

RULES = [
    (op, v, rule)
    for op in registry.values()
    if op.fast_rules is not None and op.partials is not None
    for v, rule in zip(op.operands, op.partials, strict=True)
    if rule.constant is None
]


@pytest.mark.parametrize("op, v, rule", RULES, ids=lambda part: getattr(part, "name", ""))
def test_a_written_rule_is_the_rule(op, v, rule):
    (sample,) = [sample for sample in op.sample_rule(Maker(op.name)) if sample.label == "matrix"]
    operands = [np.array(x) for x in sample.operands]
    known = {**dict(zip(op.operands, operands, strict=True)), "out": op.kernel(*operands)}
    names = rule.fn.__code__.co_varnames[: rule.fn.__code__.co_argcount]
    scope = {}
    source = written(rule.fn, names, scope)
    if source is not None:
        found = eval(source, {**scope, **known, "spec": pb.tensor(operands[0])._spec})
        np.testing.assert_array_equal(found, rule.fn(*[known[name] for name in names]))


def test_rules_that_compute_are_written_and_those_that_look_at_values_are_not():
    texts = {op.name: written(rule.fn, ["x"], {}) for op, _, rule in RULES if len(rule.plan) == 1}
    assert texts["tanh"] == "subtract((spec.numbers.get(1) or spec.number(1)), multiply(x, x))"
    assert texts["cos"] == "negative(kernel_of_sin(x))"
    for name in ("atan", "cosh", "exp", "log", "log1p", "reciprocal", "sigmoid", "sin", "square", "tan"):
        assert texts[name] is not None
    for refused in (lambda x: 1 if x > 0 else x, lambda x: x if x == 0 else 1, lambda x: x.dtype, lambda x: 3.0):
        assert written(refused, ["x"], {}) is None


def test_a_value_that_is_needed_twice_is_not_written():
    def rule(x):
        square = x * x
        return square + 1 / square

    assert written(rule, ["x"], {}) is None
