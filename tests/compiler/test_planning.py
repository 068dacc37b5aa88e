"""Storages, lifetimes and the use of memory again, without a backend."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.compiler.loops.planning import (
    CONSTANT,
    FOREVER,
    INPUT,
    LONGEST_WAIT,
    OWN,
    Lifetime,
    Traits,
    arena_offsets,
    is_dense,
    make_plan,
)
from pullback.graph.ir import array_type
from tests.compiler.graphs import Builder

F64 = np.dtype(np.float64)


def plan_of(b):
    """A plan for a backend that writes every elementwise result wherever it is told to."""

    def traits(node):
        if node.op == "constant":
            return Traits(kind=CONSTANT)
        if node.op == "update":
            return Traits(kind=OWN, writes_base=True)
        is_elementwise = node.target.family == "elementwise"
        return Traits(is_view=node.is_view, kind=OWN, takes_target=True, over_operands=is_elementwise)

    program = b.program
    return make_plan(program.inputs, program.nodes, program.outputs, lambda node: node.operands, traits)


def test_views_lie_in_the_storage_of_their_base():
    b = Builder(np.ones((2, 3)))
    base = b("exp", b.inputs[0])
    view = b("permute_dims", base, axes=(1, 0))
    b.output(b("sin", view))
    plan = plan_of(b)
    storage = plan.storage_of[base]
    assert storage is plan.storage_of[view] and storage.values == [base, view]
    assert (storage.start, storage.stop) == (0, 2)
    assert plan.storage_of[b.inputs[0]].kind == INPUT


def test_outputs_are_needed_for_ever_and_so_is_what_they_are_views_of():
    b = Builder(np.ones((2, 3)))
    base = b("exp", b.inputs[0])
    b.output(b("permute_dims", base, axes=(1, 0)))
    assert plan_of(b).storage_of[base].stop == FOREVER


def test_an_operand_that_dies_is_written_over_but_not_an_input():
    b = Builder(np.ones(3))
    first = b("exp", b.inputs[0])
    second = b("sin", first)
    b.output(second)
    plan = plan_of(b)
    assert plan.targets == {second.node: first}


def test_no_value_is_written_over_while_another_operand_lies_in_its_memory():
    b = Builder(np.ones((2, 2)))
    first = b("exp", b.inputs[0])
    b.output(b("add", first, b("permute_dims", first, axes=(1, 0))))
    assert not plan_of(b).targets


@pytest.mark.parametrize("wait, is_used", [(3, True), (LONGEST_WAIT + 2, False)])
def test_idle_memory_waits_for_a_while(wait, is_used):
    b = Builder(np.ones((2, 2)), np.ones(3))
    total = b("sum", b("exp", b.inputs[0]), axis=(0, 1), keepdims=False, dtype=None)
    other = b.inputs[1]
    for _ in range(wait):
        other = b("sin", other)
    last = b("multiply", b.inputs[0], total)
    b.output(last, other)
    assert (last.node in plan_of(b).targets) is is_used


def test_what_is_freed_was_never_used_again():
    b = Builder(np.ones((2, 2)))
    first = b("exp", b.inputs[0])
    second = b("sin", first)
    b.output(b("sum", second, axis=(0, 1), keepdims=False, dtype=None))
    plan = plan_of(b)
    assert second.node not in plan.freed
    assert set(plan.freed[b.program.outputs[0].node]) == {first, second}
    assert plan.freed[first.node] == (b.inputs[0],)


def test_a_thousand_nodes_in_one_buffer():
    b = Builder(np.ones(3))
    x = b.inputs[0]
    for _ in range(1500):
        x = b("sin", x)
    b.output(b("sum", x, axis=(0,), keepdims=False, dtype=None))
    plan = plan_of(b)
    assert len(plan.targets) == 1499
    assert len(plan.freed[b.program.nodes[-1]]) == 1500


def test_dense_types():
    assert is_dense(array_type((2, 3), F64)) and is_dense(array_type((2, 3), F64, (8, 16)))
    assert not is_dense(array_type((2, 3), F64, (48, 16))) and not is_dense(array_type((2, 3), F64, (0, 8)))
    assert not is_dense(array_type((3,), F64, (-8,)))


def test_pieces_of_an_arena_overlap_in_time_or_in_place_but_not_in_both():
    random = np.random.default_rng(3)
    starts = random.integers(0, 50, 80)
    lifetimes = [
        Lifetime(int(start), int(start + length), int(size))
        for start, length, size in zip(starts, random.integers(0, 12, 80), random.integers(1, 4000, 80), strict=True)
    ]
    offsets, total = arena_offsets(lifetimes)
    for k, one in enumerate(lifetimes):
        assert offsets[k] % 64 == 0 and offsets[k] + one.nbytes <= total
        for j, other in enumerate(lifetimes[:k]):
            meet = one.start <= other.stop and other.start <= one.stop
            apart = offsets[k] + one.nbytes <= offsets[j] or offsets[j] + other.nbytes <= offsets[k]
            assert apart or not meet
    assert total < sum(one.nbytes for one in lifetimes) / 2


def test_an_empty_arena():
    assert arena_offsets([]) == ([], 0)
