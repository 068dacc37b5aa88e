"""Every declared operator, and every derivative rule, does with a batch what a loop over its examples does.

Nothing here knows a particular operator: the cases come from the declarations. Each operator is run with all operands
batched and with each single one, on one level and on two, and so are its rules for reverse and forward mode.
"""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import pytest

from pullback.autograd import SparseGrad
from pullback.core.spec import spec_of
from pullback.core.state import VmapLevel, changed
from pullback.declare.derive import pull, push
from pullback.declare.op import registry
from pullback.declare.samples import Maker
from pullback.errors import AutogradError
from pullback.operators import LATER
from pullback.payloads.batched import BatchedArray, enter, leave, levels_of
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import Tensor
from pullback.testing import assert_close

for family in LATER:
    importlib.import_module(f"pullback.{family}")

WITHOUT_RULE = {"_nonzero"}
"""Operators that have no batching rule. This list may only become shorter."""

SLOW = ("random", "special")  # families of which one sample must do
MOST_SAMPLES = 5


def declared_operators():
    for op in registry.values():
        crosses = op.takes_payloads and op.family != "random"
        if op.sample_rule is not None and op.batch_rule is not None and not crosses:
            yield op


def samples_to_run(op, most=MOST_SAMPLES):
    """The first samples of an operator."""
    return list(itertools.islice(op.sample_rule(Maker(op.name)), 1 if op.family in SLOW else most))


OPERATORS = [pytest.param(op, id=op.name) for op in declared_operators()]
SMOOTH = [case for case in OPERATORS if case.values[0].is_differentiable]


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def is_array(x):
    return isinstance(x, np.ndarray)


def is_floating(x):
    return is_array(x) and x.dtype.kind in "fc"


def another(op, position, x, number):
    """Another example inside the operator's domain: the same values in another order, or the same steps."""
    if not is_array(x) or x.ndim == 0 or x.size == 0:
        return x
    if is_ascending(op, position):
        steps = np.roll(np.diff(x, axis=-1), number, axis=-1)
        return np.cumsum(np.concatenate([x[..., :1], steps], axis=-1), axis=-1, dtype=x.dtype)
    return np.roll(x, number, axis=0)


def tolerance(sample):
    single = any(is_floating(x) and x.dtype.char in "fF" for x in sample.inputs())
    return {"rtol": 2e-4, "atol": 2e-4} if single else {"rtol": 1e-9, "atol": 1e-9}


class Batches:
    """Examples as payloads on new levels of these sizes, and back."""

    def __init__(self, *sizes):
        self.levels = tuple(VmapLevel(size, "different") for size in sizes)
        self.sizes = sizes
        self.count = math.prod(sizes)

    def active(self):
        return changed(vmaps=self.levels)

    def batch(self, rows):
        stacked = np.stack(rows)
        payload = stacked.reshape((*self.sizes, *stacked.shape[1:]))
        for level in self.levels:
            payload = enter(payload, 0, level)
        return payload

    def rows(self, payload):
        for level in reversed(self.levels):
            payload = leave(payload, 0, level)
        out = np.asarray(payload)
        return out.reshape((self.count, *out.shape[len(self.sizes) :]))


def is_ascending(op, position):
    return op.operands[op.operand_index(position)] in op.ascending


def choices_of_batched(operands, and_none=False, but=()):
    """Which operands are batched: all of them, each alone, and none of them on request."""
    positions = [k for k, x in enumerate(operands) if is_array(x) and k not in but]
    choices = [set(positions)] if positions else []
    if len(positions) > 1:
        choices += [{k} for k in positions]
    return [*choices, set()] if and_none else choices


def examples_of(op, operands, chosen, batches):
    """The operands of every example, and the same as payloads."""
    rows = [
        tuple(another(op, k, x, n) if k in chosen else x for k, x in enumerate(operands)) for n in range(batches.count)
    ]
    return rows, tuple(batches.batch([row[k] for row in rows]) if k in chosen else x for k, x in enumerate(operands))


def check_values(op, sample, chosen, batches):
    rows, payloads = examples_of(op, sample.inputs(), chosen, batches)
    with batches.active(), np.errstate(all="ignore"):
        found = listed(evaluate(op, payloads, sample.params))
        with changed(vmaps=()):
            expected = [listed(evaluate(op, row, sample.params)) for row in rows]
        assert len(found) == len(expected[0])
        for k, out in enumerate(found):
            assert type(out) is BatchedArray and out.levels == batches.levels
            wanted = np.stack([row[k] for row in expected])
            assert out.shape == wanted.shape[1:] and out.dtype == wanted.dtype
            assert_close(batches.rows(out), wanted, **tolerance(sample))


@pytest.mark.parametrize("op", OPERATORS)
def test_a_batch_equals_a_loop(op):
    for sample in samples_to_run(op):
        for chosen in choices_of_batched(sample.inputs()):
            check_values(op, sample, chosen, Batches(2))


@pytest.mark.parametrize("op", [case for case in OPERATORS if case.values[0].family != "random"])
def test_two_levels_equal_two_loops(op):
    for sample in samples_to_run(op, 2):
        for chosen in choices_of_batched(sample.inputs()):
            check_values(op, sample, chosen, Batches(3, 2))


@pytest.mark.parametrize("op", OPERATORS)
def test_operands_on_different_levels_meet(op):
    for sample in samples_to_run(op, 2):
        operands = sample.inputs()
        positions = [k for k, x in enumerate(operands) if is_array(x)]
        if len(positions) < 2:
            continue
        batches = Batches(3, 2)
        outer, inner = batches.levels
        first = positions[0]
        with batches.active(), np.errstate(all="ignore"):
            payloads = [
                enter(np.stack([another(op, k, x, n) for n in range(3 if k == first else 2)]), 0,
                      outer if k == first else inner) if k in positions else x
                for k, x in enumerate(operands)
            ]  # fmt: skip
            found = listed(evaluate(op, payloads, sample.params))
            with changed(vmaps=()):
                expected = [
                    listed(evaluate(
                        op, [another(op, k, x, i if k == first else j) for k, x in enumerate(operands)], sample.params
                    ))
                    for i in range(3) for j in range(2)
                ]  # fmt: skip
            for k, out in enumerate(found):
                assert_close(batches.rows(out), np.stack([row[k] for row in expected]), **tolerance(sample))


@pytest.mark.parametrize("op", OPERATORS)
def test_a_batch_of_nothing_has_the_shape_of_a_batch(op):
    for sample in samples_to_run(op, 2):
        operands = sample.inputs()
        if not any(is_array(x) for x in operands):
            continue
        level = VmapLevel(0, "different")
        with changed(vmaps=(level,)), np.errstate(all="ignore"):
            payloads = [enter(np.empty((0, *x.shape), x.dtype), 0, level) if is_array(x) else x for x in operands]
            found = listed(evaluate(op, payloads, sample.params))
        expected = listed(evaluate(op, operands, sample.params))
        for out, wanted in zip(found, expected, strict=True):
            assert (out.shape, out.dtype, out.levels) == (wanted.shape, wanted.dtype, (level,))


@pytest.mark.parametrize("op", [case for case in OPERATORS if case.values[0].is_view])
def test_views_of_a_batch_share_its_memory(op):
    for sample in samples_to_run(op):
        (x,) = sample.inputs()
        batches = Batches(2)
        with batches.active():
            source = batches.batch([x, x])
            for out in listed(evaluate(op, (source,), sample.params)):
                if out.aliases_payload(source):
                    assert not out.size or np.may_share_memory(out.data, source.data)
                else:
                    assert op.may_copy


@pytest.mark.parametrize("op", OPERATORS)
def test_an_array_without_levels_is_a_plain_array(op):
    for sample in samples_to_run(op, 1):
        operands = [BatchedArray(x) if is_array(x) else x for x in sample.inputs()]
        with np.errstate(all="ignore"):
            found = listed(evaluate(op, operands, sample.params))
            expected = listed(evaluate(op, sample.inputs(), sample.params))
        for out, wanted in zip(found, expected, strict=True):
            assert levels_of(out) == ()
            assert_close(np.asarray(out), wanted, **tolerance(sample))


# Derivative rules.


def random_like(x, seed):
    random = np.random.default_rng(seed)
    values = random.uniform(-1, 1, x.shape)
    if x.dtype.kind == "c":
        values = values + 1j * random.uniform(-1, 1, x.shape)
    return np.asarray(values, dtype=x.dtype)


def has_rule(op, position):
    return op.joint is not None or op.rule_for(position) is not None


def dense(value):
    value = value.to_dense() if isinstance(value, SparseGrad) else value
    value = value._data if isinstance(value, Tensor) else value
    return value if hasattr(value, "ndim") else np.asarray(value)


def reduced(gradient, like):
    """A gradient in the operand's shape, as the engine reduces it."""
    gradient = dense(gradient)
    extra = gradient.ndim - like.ndim
    gradient = gradient.sum(axis=tuple(range(extra))) if extra else gradient
    axes = tuple(k for k, length in enumerate(like.shape) if length == 1 and gradient.shape[k] != 1)
    gradient = gradient.sum(axis=axes, keepdims=True) if axes else gradient
    return gradient.real if like.dtype.kind == "f" and gradient.dtype.kind == "c" else gradient


def pulled(op, sample, operands, outs, gradients, needs):
    return pull(
        op, gradients, needs, operands.__getitem__,
        lambda k: spec_of(operands[k]) if hasattr(operands[k], "shape") else None, outs.__getitem__, sample.params,
    )  # fmt: skip


def check_reverse_rule(op, sample, chosen, batches):
    operands = sample.inputs()
    needs = tuple(is_floating(x) and has_rule(op, k) for k, x in enumerate(operands))
    rows, payloads = examples_of(op, operands, chosen, batches)
    with batches.active(), np.errstate(all="ignore"):
        outs = listed(evaluate(op, payloads, sample.params))
        with changed(vmaps=()):
            outs_of = [listed(evaluate(op, row, sample.params)) for row in rows]
        gradients_of = [
            tuple(random_like(out, 10 * n + k) if out.dtype.kind in "fc" else None for k, out in enumerate(row))
            for n, row in enumerate(outs_of)
        ]
        gradients = tuple(None if column[0] is None else batches.batch(column) for column in zip(*gradients_of))
        found = pulled(op, sample, payloads, outs, gradients, needs)
        with changed(vmaps=()):
            expected = [
                pulled(op, sample, row, row_outs, row_gradients, needs)
                for row, row_outs, row_gradients in zip(rows, outs_of, gradients_of, strict=True)
            ]
        for k, like in enumerate(operands):
            if needs[k] and expected[0][k] is not None:
                wanted = np.stack([np.asarray(reduced(row[k], like)) for row in expected])
                assert_close(batches.rows(reduced(found[k], like)), wanted, **tolerance(sample))


def check_forward_rule(op, sample, chosen, which, batches):
    operands = sample.inputs()
    rows, payloads = examples_of(op, operands, chosen, batches)
    tangents_of = [
        tuple(random_like(x, 10 * n + k) if is_floating(x) else None for k, x in enumerate(operands))
        for n in range(batches.count)
    ]
    if sample.prepare is not None:
        tangents_of = [sample.allowed(*[0 if t is None else t for t in row]) for row in tangents_of]
    tangents_of = [tuple(t if k in which else None for k, t in enumerate(row)) for row in tangents_of]
    with batches.active(), np.errstate(all="ignore"):
        tangents = tuple(batches.batch(column) if k in which else None for k, column in enumerate(zip(*tangents_of)))
        outs = evaluate(op, payloads, sample.params)
        found = listed(push(op, payloads, tangents, outs, sample.params))
        with changed(vmaps=()):
            expected = [
                listed(push(op, row, row_tangents, evaluate(op, row, sample.params), sample.params))
                for row, row_tangents in zip(rows, tangents_of, strict=True)
            ]
        for k, out in enumerate(listed(outs)):
            if expected[0][k] is not None:
                wanted = [np.broadcast_to(dense(row[k]), out.shape) for row in expected]
                rows_found = [np.broadcast_to(row, out.shape) for row in batches.rows(dense(found[k]))]
                assert_close(np.stack(rows_found), np.stack(wanted), **tolerance(sample))


def fixed_for_derivatives(op, operands):
    """Operands that may not vary by example where a rule is wanted, as the declaration says."""
    refused = "varying derivative" in op.refused
    return {k for k in range(len(operands)) if refused and is_ascending(op, k)}


@pytest.mark.parametrize("op", SMOOTH)
def test_reverse_rules_work_on_batches(op):
    for number, sample in enumerate(samples_to_run(op, 2)):
        operands = sample.inputs()
        if not any(is_floating(x) and has_rule(op, k) for k, x in enumerate(operands)):
            continue
        fixed = fixed_for_derivatives(op, operands)
        for chosen in choices_of_batched(operands, and_none=True, but=fixed):
            check_reverse_rule(op, sample, chosen, Batches(2))
        if not number and op.family not in SLOW:
            check_reverse_rule(op, sample, choices_of_batched(operands, but=fixed)[0], Batches(2, 3))


@pytest.mark.parametrize("op", SMOOTH)
def test_forward_rules_work_on_batches(op):
    assert op.jvp_rule is not None or op.partials is not None or op.linear_in is not None, "has no forward rule"
    for number, sample in enumerate(samples_to_run(op, 2)):
        operands = sample.inputs()
        positions = {k for k, x in enumerate(operands) if is_floating(x) and has_rule(op, k)}
        if not positions:
            continue
        fixed = fixed_for_derivatives(op, operands)
        for chosen in (choices_of_batched(operands, but=fixed)[0], set()):
            check_forward_rule(op, sample, chosen, positions, Batches(2))
        if len(positions) > 1 and op.family not in SLOW:
            for position in positions:
                check_forward_rule(op, sample, set(), {position}, Batches(2))
        if not number and op.family not in SLOW:
            check_forward_rule(op, sample, choices_of_batched(operands, but=fixed)[0], positions, Batches(2, 3))


@pytest.mark.parametrize("op", [case for case in SMOOTH if "varying derivative" in case.values[0].refused])
def test_derivatives_that_may_not_vary_by_example_say_so(op):
    (sample,) = samples_to_run(op, 1)
    operands = sample.inputs()
    positions = {k for k, x in enumerate(operands) if is_floating(x) and has_rule(op, k)}
    with pytest.raises(AutogradError, match="differ by example"):
        check_forward_rule(op, sample, fixed_for_derivatives(op, operands), positions, Batches(2))


def test_the_operators_without_a_batching_rule_are_known():
    missing = {op.name for op in registry.values() if op.batch_rule is None and not op.takes_payloads}
    assert missing - {"_collective"} == WITHOUT_RULE  # which is there if ranks are, and never gets a batch
