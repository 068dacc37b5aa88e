"""The verifier: every promise of a graph, broken once."""

import numpy as np
import pytest

from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.errors import InternalError
from pullback.graph.descriptors import GradAOTOutput, PlainAOTInput, PlainAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.ir import Value, array_type, type_of
from tests.graph.building import Builder, body, every_sample, graph_of_call

VECTOR = array_type((2,), np.dtype(float))


def fails(graph, what):
    with pytest.raises(InternalError, match=what):
        graph.verify()


def plain():
    b = Builder("forward", np.ones(2))
    return b, b.inputs[0]


def test_every_sample_of_every_operator_is_a_graph():
    for op, sample in every_sample():
        graph, _, _ = graph_of_call(op, sample)
        assert graph.verify() is graph


def test_operands_are_made_before_they_are_used():
    b, x = plain()
    graph = b.returns(b.cos(b.sin(x)))
    graph.nodes.reverse()
    fails(graph, "made further down")


def test_operands_belong_to_the_graph():
    b, _ = plain()
    b.graph.add(registry["sin"], (Value(VECTOR),), {}, [VECTOR])
    fails(b.graph, "another graph")


def test_a_node_stands_in_a_graph_once():
    b, x = plain()
    graph = b.returns(b.sin(x))
    graph.nodes *= 2
    fails(graph, "made twice")


def test_types_are_those_of_the_shape_rule():
    b, x = plain()
    node = b.graph.add(registry["sin"], (x,), {}, [array_type((3,), np.dtype(float))])
    fails(b.returns(node.result), r"should be float64\[2\]")


def test_the_error_names_the_node():
    b, x = plain()
    b.graph.add(registry["multiply"], (x, 2), {}, [array_type((2,), np.dtype(int))])
    fails(b.graph, r"graph forward at `%1 = multiply\(%0, 2\)`")


def test_a_store_comes_after_every_read():
    b, x = plain()
    y = b.multiply(x, 2)
    b.store(x, y)
    b.tag = "bw"
    graph = b.returns(y)
    graph.verify()
    b.cos(x)
    fails(graph, "%0 is read after a store into %0")


def test_a_view_of_a_stored_input_is_a_read_of_it():
    b, x = plain()
    view = b("_basic_index", x, index=(0, ...))
    b.store(x, b.multiply(x, 2))
    b.tag = "bw"
    b.cos(view)
    fails(b.graph, "read after a store")


def test_stores_are_the_last_of_their_half():
    b, x = plain()
    b.store(x, b.multiply(x, 2))
    b.zeros = None
    b.constant([1.0])
    fails(b.graph, "stores come last")


def test_an_input_is_stored_into_once_per_half():
    b, x = plain()
    y = b.multiply(x, 2)
    b.store(x, y)
    b.tag = "bw"
    z = b.multiply(y, 3)
    b.store(x, z)
    b.graph.verify()
    b.store(x, y)
    fails(b.graph, "twice in one half")


def test_a_store_writes_an_input_with_a_value_of_its_type():
    b, x = plain()
    y = b.multiply(x, 2)
    b.store(y, x)
    fails(b.graph, "must be an input")
    b, x = plain()
    b.store(x, b.sum(x, axis=(0,), dtype=None, keepdims=False))
    fails(b.graph, r"f64\[\] cannot be stored into f64\[2\]")


def test_the_backward_half_does_not_feed_the_forward_half():
    b, x = plain()
    b.sin(x)
    b.tag = "bw"
    y = b.cos(x)
    graph = b.returns(y)
    fails(graph, r"output\[0\] belongs to the forward half")
    b.tag = "fw"
    b.exp(y)
    fails(graph, "read by the forward half")


def test_gradients_come_from_the_backward_half():
    b, x = plain()
    y = b.sin(x)
    b.tag = "bw"
    g = b.cos(x)
    b.returns(y, g, None, descs=[PlainAOTOutput(0), GradAOTOutput(PlainAOTInput(0)), None]).verify()


def test_nodes_carry_a_tag_and_a_known_effect():
    b, x = plain()
    node = b.sin(x).node
    node.tag = ""
    fails(b.graph, "tag is ''")
    node.tag, node.effect = "fw", "loud"
    fails(b.graph, "'loud' is not an effect")


def test_constants_can_not_be_written():
    b = Builder()
    b.graph.add("constant", (), {"value": np.ones(2)}, [VECTOR])
    fails(b.graph, "can be written")


def test_every_input_and_output_has_a_descriptor():
    b, x = plain()
    graph = b.returns(x)
    graph.output_descs.append(PlainAOTOutput(1))
    fails(graph, "1 outputs and 2 descriptors")


def test_outputs_belong_to_the_graph():
    graph = Graph()
    graph.add_output(Value(VECTOR), PlainAOTOutput(0))
    fails(graph, "not a value of this graph")


def test_kinds_of_nodes_are_known():
    b, x = plain()
    b.graph.add("goto", (x,), {}, [VECTOR])
    fails(b.graph, "there is no operation 'goto'")


def test_branches_and_bodies_fit_what_they_are_given():
    b = Builder("forward", np.ones(2), np.array(True))
    x, p = b.inputs
    double = body("double", lambda inner, y: [inner.multiply(y, 2)], np.ones(2))
    longer = body("longer", lambda inner, y: [inner.multiply(y, 2)], np.ones(3))
    total = body("total", lambda inner, y: [inner.sum(y, axis=(0,), dtype=None, keepdims=False)], np.ones(2))
    for other, what in ((longer, "takes other values"), (total, "different types")):
        graph = Graph()
        graph.inputs, graph.input_descs = list(b.graph.inputs), list(b.graph.input_descs)
        graph.add("cond", (p, x), {"true": double, "false": other}, [VECTOR])
        fails(graph, what)
    graph.nodes = []
    graph.add("cond", (p, x), {"true": double}, [VECTOR])
    fails(graph, "there must be graphs true, false")


def test_bodies_are_verified_too():
    b = Builder("forward", np.ones(2), np.array(True))
    x, p = b.inputs
    wrong = body("wrong", lambda inner, y: [inner.cos(inner.sin(y))], np.ones(2))
    wrong.nodes.reverse()
    b.control("cond", (p, x), {"true": wrong, "false": wrong}, [np.ones(2)])
    fails(b.graph, "graph wrong")


def test_a_scan_has_as_many_slices_as_turns():
    b = Builder("forward", np.ones(()), np.ones(4))
    step = body("step", lambda inner, c, y: [inner.add(c, y), inner.multiply(c, y)], np.ones(()), np.ones(()))
    attrs = {"body": step, "carried": 1, "scanned": 1, "length": 4, "reverse": False}
    b.control("scan", b.inputs, attrs, [np.ones(()), np.ones(4)])
    b.graph.verify()
    b.graph.nodes[0].attrs["length"] = 5
    fails(b.graph, "has not 5 slices")


def test_a_scan_carries_on_what_it_is_given():
    b = Builder("forward", np.ones(2), np.ones(4))
    shorter = {"axis": (0,), "dtype": None, "keepdims": False}
    step = body("step", lambda inner, c, y: [inner.sum(c, **shorter)], np.ones(2), np.ones(()))
    attrs = {"body": step, "carried": 1, "scanned": 1, "length": 4, "reverse": False}
    b.graph.add("scan", b.inputs, attrs, [array_type((), np.dtype(float))])
    fails(b.graph, "does not return what it carries")


@pytest.mark.parametrize(
    ("base", "steps", "new", "what"),
    [
        (np.ones(3), [("_imag", {})], np.ones(3), "lead to no memory of|is no view"),
        (np.ones(3), [("_basic_index", {"index": (slice(1, 3),)})], np.ones(3), r"\[3\] cannot be written to"),
        (np.ones(3), [("_basic_index", {"index": (5,)})], np.array(1.0), "_basic_index is no view of this"),
        (np.ones(3), [("permute_dims", {"axes": (1, 0)})], np.ones(3), "permute_dims is no view of this"),
        (np.ones(3, complex), [("_imag", {})], np.ones(3, complex), "complex128 cannot be written to"),
    ],
)
def test_steps_of_an_update_fit_its_base(base, steps, new, what):
    b = Builder("forward", base, new)
    steps = tuple(ViewStep(registry[name], params) for name, params in steps)
    b.graph.add("update", b.inputs, {"steps": steps}, [type_of(base)])
    fails(b.graph, what)


def test_a_view_is_a_view():
    b, x = plain()
    b.graph.add(registry["_imag"], (x,), {}, [VECTOR])
    fails(b.graph, r"_imag is no view of f64\[2\]|there is no such call")


def test_a_call_that_the_operator_refuses_is_no_node():
    b, x = plain()
    b.graph.add(registry["permute_dims"], (x,), {"axes": (1, 0)}, [VECTOR])
    fails(b.graph, r"permute_dims\(%0\)`: there is no such call")
