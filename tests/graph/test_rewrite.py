"""Passes that remove, merge and evaluate nodes, and tools for editing."""

import sys

import numpy as np
import pytest

from pullback.declare.op import registry
from pullback.errors import InternalError
from tests.graph.building import Builder, body, operators_of


def vector(*arrays):
    b = Builder("forward", *(arrays or (np.arange(3.0),)))
    return (b, *b.inputs)


# dce


def test_dce_removes_what_nobody_needs():
    b, x = vector()
    b.cos(b.exp(x))
    graph = b.returns(b.sin(x))
    assert operators_of(graph.dce()) == ["sin"]
    assert operators_of(graph) == ["exp", "cos", "sin"]


def test_dce_keeps_stores_and_effects():
    b, x = vector()
    b.store(x, b.sin(x))
    b.graph.nodes[0].place = "here"
    loud = b.cos(x).node
    loud.effect = "ordered"
    graph = b.returns()
    assert operators_of(graph.dce()) == ["sin", "store", "cos"]


def test_dce_works_inside_of_control_flow_and_keeps_effects_there():
    def quiet(inner, y):
        inner.exp(y)
        return [inner.sin(y)]

    def loud(inner, y):
        inner.exp(y).node.effect = "ordered"
        return [inner.sin(y)]

    for function, inside, outside in ((quiet, ["sin"], []), (loud, ["exp", "sin"], ["cond"])):
        b, x, p = vector(np.ones(2), np.array(True))
        branch = body("branch", function, np.ones(2))
        out = b.control("cond", (p, x), {"true": branch, "false": branch}, [np.ones(2)])
        assert operators_of(b.returns().dce()) == outside
        (node,) = b.returns(out).dce().nodes
        assert operators_of(node.attrs["true"]) == inside


# cse


def test_cse_merges_equal_nodes_and_what_follows_from_them():
    b, x = vector()
    graph = b.returns(b.add(b.exp(b.sin(x)), b.exp(b.sin(x))))
    merged = graph.cse()
    assert operators_of(merged) == ["sin", "exp", "add"]
    assert merged.verify().eval(np.ones(3))[0].tolist() == graph.eval(np.ones(3))[0].tolist()


@pytest.mark.parametrize("first, second", [(1, 1.0), (1, True), (0.0, -0.0), (np.float32(1), np.float64(1))])
def test_cse_tells_numbers_apart_that_python_calls_equal(first, second):
    b, x = vector()
    graph = b.returns(b.exp(b.add(x, first)), b.exp(b.add(x, second)))
    assert operators_of(graph.cse()).count("add") == 2
    same = Builder("forward", np.arange(3.0))
    (y,) = same.inputs
    graph = same.returns(same.exp(same.add(y, first)), same.exp(same.add(y, first)))
    assert operators_of(graph.cse()).count("add") == 1


def test_cse_compares_attributes_that_have_no_hash():
    b, x = vector()
    rows = [b("_basic_index", x, index=(slice(0, stop), ...)) for stop in (2, 2, 1)]
    graph = b.returns(*[b.exp(row) for row in rows])
    assert operators_of(graph.cse()).count("_basic_index") == 2


def test_cse_merges_small_equal_constants():
    b, x = vector()
    graph = b.returns(b.add(b.add(x, b.constant([1.0, 2.0, 3.0])), b.constant([1.0, 2.0, 3.0])))
    assert operators_of(graph.cse()).count("constant") == 1


def test_two_equal_outputs_stay_two_arrays():
    b, x = vector()
    first, second = b.sin(x), b.sin(x)
    graph = b.returns(first, b("_basic_index", second, index=(0, ...))).cse()
    out, element = graph.eval(np.ones(3))
    assert not np.shares_memory(out, element)


def test_cse_leaves_draws_and_effects_alone():
    b, x = vector()
    generator = np.random.default_rng(0)
    params = {"kind": "standard_normal", "shape": (3,), "dtype": np.dtype(float), "generator": generator}
    total = b.add(b("_draw", **params), b("_draw", **params))
    for _ in range(2):
        loud = b.sin(x)
        loud.node.effect = "ordered"
        total = b.add(total, loud)
    assert operators_of(b.returns(total).cse()) == operators_of(b.graph)


def test_cse_does_not_make_backward_save_a_value_of_the_forward_half():
    b, x = vector()
    y = b.exp(b.cos(x))
    b.tag = "bw"
    g = b.sin(b.cos(x))
    assert operators_of(b.returns(y, g).cse()).count("cos") == 2


def test_cse_shares_a_forward_value_that_backward_reads_anyway():
    b, x = vector()
    c = b.cos(x)
    y = b.exp(c)
    b.tag = "bw"
    g = b.multiply(b.sin(b.cos(x)), c)
    assert operators_of(b.returns(y, g).cse()).count("cos") == 1


def test_cse_does_not_look_across_a_store():
    b, x, z = vector(np.ones(2), np.ones(2))
    c = b.cos(z)
    y = b.exp(c)
    b.store(x, y)
    b.tag = "bw"
    g = b.multiply(b.sin(b.cos(z)), c)
    assert operators_of(b.returns(y, g).cse()).count("cos") == 2


# fold


def test_fold_computes_with_constants():
    b, x = vector()
    c = b.multiply(b.constant([1.0, 2.0, 3.0]), 2)
    graph = b.returns(b.add(x, b.exp(c)))
    folded = graph.fold().dce().verify()
    assert operators_of(folded) == ["constant", "add"]
    np.testing.assert_array_equal(folded.eval(np.zeros(3))[0], np.exp([2.0, 4.0, 6.0]))


def test_fold_leaves_nodes_alone_that_warn_or_raise():
    b, x = vector()
    with np.errstate(all="ignore"):
        out = b.add(x, b.log(b.constant([0.0, 1.0, 2.0])))
    assert operators_of(b.returns(out).fold()) == ["constant", "log", "add"]
    b = Builder()
    square, three = b.constant(np.ones((2, 2))), b.constant([1.0] * 3)
    wrong = b.graph.add(registry["_view"], (square,), {"shape": (3,)}, [three.type])
    assert "_view" in operators_of(b.returns(wrong.result).fold())


def test_fold_keeps_large_results_and_draws_to_be_computed():
    b = Builder()
    big = b.broadcast_to(b.constant(1.0), shape=(100, 100))
    params = {"kind": "random", "shape": (2,), "dtype": np.dtype(float), "generator": np.random.default_rng(0)}
    graph = b.returns(b.exp(big), b("_draw", **params))
    assert operators_of(graph.fold()) == ["constant", "broadcast_to", "exp", "_draw"]


def test_fold_keeps_tags_and_places():
    b = Builder()
    b.tag = "bw"
    value = b.exp(b.constant([1.0]))
    value.node.place = ("model.py", 3, "f")
    constant = b.returns(value).fold().nodes[-1]
    assert (constant.op, constant.tag, constant.place) == ("constant", "bw", ("model.py", 3, "f"))
    assert not constant.attrs["value"].flags.writeable


# editing


def test_passes_share_unchanged_nodes_and_copy_shares_none():
    b, x = vector()
    graph = b.returns(b.sin(x))
    assert graph.dce().nodes[0] is graph.nodes[0]
    own = graph.copy()
    assert own == graph and own.nodes[0] is not graph.nodes[0] and own.inputs[0] is not graph.inputs[0]


def test_replace_uses_keeps_what_the_new_value_is_made_of():
    b, x = vector()
    y = b.sin(x)
    graph = b.returns(b.exp(y), y)
    graph, node = graph.insert_before(graph.nodes[1], registry["multiply"], (y, 3.0), {}, [y.type])
    graph = graph.replace_uses(y, node.result).verify()
    assert operators_of(graph) == ["sin", "multiply", "exp"]
    out, second = graph.eval(np.ones(3))
    np.testing.assert_array_equal(out, np.exp(np.sin(np.ones(3)) * 3.0))
    np.testing.assert_array_equal(second, np.sin(np.ones(3)) * 3.0)


def test_replace_uses_of_an_input_and_by_an_input():
    b, x, y = vector(np.ones(2), np.zeros(2))
    graph = b.returns(b.sin(x), x)
    swapped = graph.replace_uses(x, y)
    assert [a.tolist() for a in swapped.eval(np.ones(2), np.zeros(2))] == [[0.0, 0.0], [0.0, 0.0]]
    assert graph.outputs[1] is x


def test_values_of_other_graphs_are_refused():
    b, x = vector()
    graph = b.returns(b.sin(x))
    _, other = vector()
    with pytest.raises(InternalError):
        graph.replace_uses(x, other)


def calls_of_passes(repetitions):
    """How many functions `simplify`, `cse` and `dce` call together on a chain of four nodes, repeated."""
    b, x = vector()
    value = x
    for index in range(repetitions):
        value = b.sin(b.negative(b.add(b.multiply(value, 1.5), float(index % 7))))
    graph, calls = b.returns(value), 0

    def note(frame, event, arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        graph.simplify().cse().dce()
    finally:
        sys.setprofile(None)
    return calls


def test_the_work_of_passes_grows_with_the_number_of_nodes():
    calls_of_passes(10)  # what is loaded and kept at the first call
    assert calls_of_passes(250) < 10.5 * calls_of_passes(25)


