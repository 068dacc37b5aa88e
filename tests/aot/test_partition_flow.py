"""The largest flow and the cut nearest the sink, compared with all cuts of small networks."""

import itertools
import random
import sys

from pullback.graph.network import UNLIMITED, FlowNetwork


def network(count, edges):
    flow = FlowNetwork()
    for _ in range(count):
        flow.add_vertex()
    for tail, head, capacity in edges:
        flow.add_edge(tail, head, capacity)
    return flow


def all_cuts(count, edges):
    """The size of every set that contains the sink (1) and not the source (0)."""
    for chosen in itertools.product([False, True], repeat=count - 2):
        late = [False, True, *chosen]
        yield sum(capacity for tail, head, capacity in edges if late[head] and not late[tail]), late


def random_edges(seed):
    numbers = random.Random(seed)
    count = numbers.randint(2, 8)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    chosen = [pair for pair in pairs if numbers.random() < 0.4]
    return count, [(a, b, numbers.choice([0, 1, 2, 3, 7])) for a, b in chosen]


def test_the_flow_is_as_large_as_the_smallest_cut():
    for seed in range(300):
        count, edges = random_edges(seed)
        assert network(count, edges).push_all(0, 1) == min(size for size, _ in all_cuts(count, edges))


def test_the_cut_is_the_one_nearest_the_sink():
    for seed in range(300):
        count, edges = random_edges(seed)
        flow = network(count, edges)
        smallest = flow.push_all(0, 1)
        late = flow.sink_side(1)
        smallest_sets = [set_ for size, set_ in all_cuts(count, edges) if size == smallest]
        assert late in smallest_sets
        assert all(other[v] for other in smallest_sets for v in range(count) if late[v])


def test_an_unlimited_edge_is_never_cut():
    flow = network(4, [(0, 2, UNLIMITED), (2, 3, 5), (3, 1, UNLIMITED)])
    assert flow.push_all(0, 1) == 5
    assert flow.sink_side(1) == [False, True, False, True]


def test_ten_thousand_vertices_in_a_row():
    edges = [(0, 2, UNLIMITED), *((v, v + 1, 9) for v in range(2, 10_000)), (10_000, 1, 4)]
    assert network(10_001, edges).push_all(0, 1) == 4


def steps(count):
    """How many lines are run to solve a network of `count` vertices with many short paths."""
    numbers = random.Random(1)
    edges = [(0, v, numbers.randint(1, 1000)) for v in range(2, count, 3)]
    edges += [(v, numbers.randint(v + 1, min(v + 50, count - 1)), numbers.randint(1, 1000))
              for v in range(2, count - 1) for _ in range(3)]  # fmt: skip
    edges += [(v, 1, numbers.randint(1, 1000)) for v in range(3, count, 4)]
    solved, lines = network(count, edges), 0

    def note(frame, event, arg):
        nonlocal lines
        lines += event == "line"
        return note

    sys.settrace(note)
    try:
        assert solved.push_all(0, 1) > 0
    finally:
        sys.settrace(None)
    return lines


def test_the_work_for_many_short_paths_grows_with_their_number():
    assert steps(1200) < 3 * steps(600)
