"""Memory budgets: the table of five products in a row, and the knapsack behind it."""

import itertools
import random

import pytest

import pullback as pb
from pullback.aot import PartitionError, joint_graph, partition
from pullback.aot._partition import partition as split
from pullback.aot._partition.budget import keep_best, measured_seconds

UNIT = 8 * 8 * 8


def square():
    return pb.ones((8, 8), requires_grad=True)


def five_products(x, *ws):
    x = pb.cos(x)
    for w in ws:
        x = pb.cos(x @ w)
    return x.sum()


@pytest.fixture(scope="module")
def chain():
    return joint_graph(five_products, *[square() for _ in range(6)])


@pytest.mark.parametrize(
    "budget, saved, repeated",
    [(1.0, 10, 0), (0.99, 5, 0), (0.75, 5, 0), (0.51, 5, 0), (0.5, 5, 0), (0.4, 4, 1), (0.3, 3, 2), (0.2, 2, 3),
     (0.1, 1, 4), (0.05, 0, 5), (0.0, 0, 5)],
)  # fmt: skip
def test_five_products_in_a_row(chain, budget, saved, repeated):
    parts = partition(chain, "min_cut", memory_budget=budget)
    assert parts.stats["activation_bytes"] == saved * UNIT
    assert [node.op for node in parts.recomputed].count("matmul") == repeated
    assert sum(not each.is_input for each in parts.saved) == saved


@pytest.mark.parametrize("solver", ["dp", "greedy", "exact"])
@pytest.mark.parametrize("saved", [1, 2, 3, 4, 5])
def test_every_solver_follows_the_table(chain, solver, saved):
    parts = split(chain.graph, chain.num_forward_outputs, memory_budget=saved / 10, solver=solver)
    assert parts.stats["activation_bytes"] == saved * UNIT


def test_an_unknown_solver_is_refused(chain):
    with pytest.raises(PartitionError, match="solver"):
        split(chain.graph, chain.num_forward_outputs, memory_budget=0.3, solver="guess")


def test_what_costs_more_is_saved_first(chain):
    products = [node for node in chain.graph.nodes if node.op == "matmul" and node.tag == "fw"]
    dear = products[3]
    parts = partition(chain, "min_cut", memory_budget=0.1, cost=lambda node: 2.0 if node is dear else 1.0)
    (kept,) = [saved for saved in parts.saved if not saved.is_input]
    saved_product = [node for node in parts.forward.nodes if node.op == "matmul"].index(kept.value.node)
    assert saved_product == 3


def test_time_is_measured_on_the_types_of_the_node(chain):
    product = next(node for node in chain.graph.nodes if node.op == "matmul")
    assert 0 < measured_seconds(product) < 1
    parts = partition(chain, "min_cut", memory_budget=0.3, cost="time")
    assert parts.stats["activation_bytes"] == 3 * UNIT


def test_without_a_budget_only_inputs_are_saved_and_what_happens_once():
    joint = joint_graph(lambda x, w: (pb.sin(x) @ w).sum(), square(), square())
    parts = partition(joint, "min_cut", memory_budget=0)
    assert [saved.name for saved in parts.saved] == ["args[0]", "args[1]"]

    def noisy(x):
        return (x * pb.random.normal(size=(8, 8))).sum()

    parts = partition(joint_graph(noisy, square()), "min_cut", memory_budget=0)
    assert [saved.name for saved in parts.saved] == ["_draw"]
    assert not any(node.effect for node in parts.backward.nodes)


def test_less_memory_is_saved_with_less_budget():
    def deep(x, *ws):
        for w in ws:
            x = x + pb.tanh(x @ w) @ w.mT
        return (x * x).sum()

    joint = joint_graph(deep, *[square() for _ in range(5)])
    spent = [partition(joint, "min_cut", b).stats["activation_bytes"] for b in (0.0, 0.1, 0.3, 0.6, 1.0)]
    assert spent == sorted(spent) and spent[0] == 0 and spent[-1] > spent[0]


# The knapsack.


def best_by_trying(sizes, worths, room):
    subsets = itertools.product([0, 1], repeat=len(sizes))
    fitting = [s for s in subsets if sum(x * k for x, k in zip(sizes, s, strict=True)) <= room]
    return max(sum(w * k for w, k in zip(worths, s, strict=True)) for s in fitting)


@pytest.mark.parametrize("solver", ["dp", "exact"])
def test_the_best_choice_is_found(solver):
    numbers = random.Random(0)
    for _ in range(100):
        count = numbers.randint(1, 8)
        sizes = [numbers.randint(0, 20) for _ in range(count)]
        worths = [numbers.randint(0, 9) for _ in range(count)]
        share = numbers.choice([0.1, 0.25, 0.5, 0.9])
        kept = keep_best(sizes, worths, 100, share, solver)
        assert sum(sizes[k] for k in kept) <= share * 100
        assert sum(worths[k] for k in kept) == best_by_trying(sizes, worths, share * 100)
        assert kept == sorted(set(kept))


def test_the_greedy_choice_fits():
    kept = keep_best([6, 5, 5], [7, 5, 5], 20, 0.5, "greedy")
    assert kept == [0]  # worth most for its size, although the two others together are worth more
    assert keep_best([6, 5, 5], [7, 5, 5], 20, 0.5, "exact") == [1, 2]


def test_sizes_are_rounded_up():
    assert keep_best([1] * 3, [1.0] * 3, 3, 0.9999, "dp") == [0, 1]
    assert keep_best([1] * 10, [1.0] * 10, 10, 0.3, "dp") != []
    assert len(keep_best([1] * 10, [1.0] * 10, 10, 0.3, "dp")) == 3
