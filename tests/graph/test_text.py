"""The text of graphs: what it looks like, and that reading it gives the graph again."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.graph.descriptors import GradAOTOutput, PlainAOTInput, PlainAOTOutput, TangentAOTInput
from pullback.graph.graph import Graph
from pullback.graph.ir import array_type, type_of
from pullback.graph.text.literals import Scanner, Writer, laid_out, type_text
from tests.graph.building import Builder, body, every_sample, graph_of_call

F64 = np.dtype(float)


def joint():
    """`(sin(x) @ w).sum()` with its gradients."""
    b = Builder("joint", np.ones((2, 3)), np.ones((3, 2)))
    x, w = b.inputs
    t = b.input(1.0, TangentAOTInput(PlainAOTOutput(0)))
    s = b.sin(x)
    total = b.sum(b.matmul(s, w), axis=(0, 1), dtype=None, keepdims=False)
    b.tag = "bw"
    g = b.broadcast_to(t, shape=(2, 2))
    g_s = b.matmul(g, b.permute_dims(w, axes=(1, 0)))
    g_w = b.matmul(b.permute_dims(s, axes=(1, 0)), g)
    g_x = b.multiply(g_s, b.cos(x))
    descs = [PlainAOTOutput(0), GradAOTOutput(PlainAOTInput(0)), GradAOTOutput(PlainAOTInput(1))]
    return b.returns(total, g_x, g_w, descs=descs)


def test_a_graph_prints_one_node_per_line_with_aligned_tags():
    assert str(joint()).splitlines() == [
        "graph joint(%0: f64[2,3] = args[0], %1: f64[3,2] = args[1], %2: f64[] = tangent(output[0])) {",
        "  %3: f64[2,3] = sin(%0)                                       # fw",
        "  %4: f64[2,2] = matmul(%3, %1)                                # fw",
        "  %5: f64[] = sum(%4, axis=(0, 1), dtype=None, keepdims=False) # fw",
        "  %6: f64[2,2]{0,0} = broadcast_to(%2, shape=(2, 2))           # bw",
        "  %7: f64[2,3]{1,2} = permute_dims(%1, axes=(1, 0))            # bw",
        "  %8: f64[2,3] = matmul(%6, %7)                                # bw",
        "  %9: f64[3,2]{1,3} = permute_dims(%3, axes=(1, 0))            # bw",
        "  %10: f64[3,2] = matmul(%9, %6)                               # bw",
        "  %11: f64[2,3] = cos(%0)                                      # bw",
        "  %12: f64[2,3] = multiply(%8, %11)                            # bw",
        "  return (output[0]=%5, grad(args[0])=%12, grad(args[1])=%10)",
        "}",
    ]


def test_updates_stores_constants_and_absent_gradients_are_readable():
    b = Builder("forward", np.zeros((2, 3)))
    (x,) = b.inputs
    row = b.constant([1.0, 2.0, 3.0])
    new = b.update(x, row, ("_basic_index", {"index": (0, ...)}))
    b.store(x, new)
    graph = b.returns(new, None)
    assert str(graph).splitlines()[1:5] == [
        "  %1: f64[3] = constant([1.0, 2.0, 3.0])                             # fw",
        "  %2: f64[2,3] = update(%0, %1, view=(_basic_index(index=(0, ...)))) # fw",
        "  store %0 <- %2                                                     # fw",
        "  return (output[0]=%2, output[1]=None)",
    ]
    assert Graph.from_text(graph.to_text()) == graph


def round_trip(graph):
    text = graph.to_text()
    again = Graph.from_text(text)
    assert again.to_text() == text
    assert again == graph
    return again


def test_the_text_of_every_sample_of_every_operator_is_read_again():
    """All parameters that declared operators have: axes, shapes, dtypes, slices, numbers, names, other operators."""
    count = 0
    for op, sample in every_sample():
        graph, arrays, outs = graph_of_call(op, sample)
        if op.family == "random":
            continue  # a generator has no text
        text = graph.to_text()
        again = Graph.from_text(text)
        assert again.to_text() == text
        for got, expected in zip(again.eval(*arrays), outs, strict=True):
            assert type(got) is np.ndarray
            np.testing.assert_array_equal(got, expected, err_msg=f"{op.name}-{sample.label}")
        count += 1
    assert count > 3000


VALUES = [
    None, True, 0, -7, 1.5, -0.0, 1e-300, float("inf"), -float("inf"), 2j, 1 - 2j, complex(-0.0, float("inf")), "it's",
    'a "quoted"\nword', b"bytes", (), (1,), (1, (2, ())), [1, [2]], {"a": (1, 2), 3: None}, slice(None), slice(1, -3),
    slice(None, None, 2), slice(4, None, -2), ..., (slice(1, 3), None, ..., 0), np.dtype("f4"), np.dtype(">i4"),
    np.dtype("M8[s]"), np.float32(0.1), np.bool_(True), np.int64(-5), np.complex64(1 + 0.1j), np.float64, float, bool,
    ("array", slice(None), "array"), array_type((2, 3), F64, (8, 16)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_attributes_are_read_as_they_were_written(value):
    writer = Writer(True)
    text = writer.value(value)
    again = Scanner(text).value()
    assert type(again) is type(value) and Writer(True).value(again) == text and not writer.opaque
    assert again == value


def test_nan_and_operators_and_steps_and_arrays_are_attributes_too():
    text = Writer(True).value({"x": float("nan"), "op": registry["_split"], "a": np.arange(3)})
    assert text == "{'x': nan, 'op': @_split, 'a': array(i64[3], [0, 1, 2])}"
    again = Scanner(text).value()
    assert np.isnan(again["x"]) and again["op"] is registry["_split"]
    assert again["a"].tolist() == [0, 1, 2] and not again["a"].flags.writeable


@pytest.mark.parametrize("array", [
    np.array(0.1), np.float32([0.1, 1e-30, np.nan]), np.arange(200.0), np.zeros((0, 3)), np.array([True, False]),
    np.array([[1 + 1j, -0.0]]), np.arange(6.0).reshape(2, 3).T, np.broadcast_to(1.5, (3, 2)), np.arange(5)[::-1],
    np.longdouble([0.1, 2]), np.array([1, 2], ">i4"), np.arange(90.0).reshape(9, 10)[::2, ::3],
    np.frombuffer(b"\x01\x00\x00\x00\x00\x00\xf8\xff", "f8"),
], ids=lambda a: f"{a.dtype}{a.shape}{a.strides}")  # fmt: skip
def test_constants_keep_every_bit_and_their_layout(array):
    b = Builder()
    value = laid_out(array, type_of(array))
    node = b.graph.add("constant", (), {"value": value}, [type_of(array)])
    graph = b.returns(node.result)
    (again,) = round_trip(graph).nodes
    assert again.attrs["value"].tobytes() == array.tobytes()
    assert type_of(again.attrs["value"]) == type_of(array) and not again.attrs["value"].flags.writeable


def test_large_constants_are_abbreviated_for_people_only():
    b = Builder()
    graph = b.returns(b.constant(np.arange(100.0)))
    assert "constant([0, 1, 2, ..., 99])" in str(graph)
    with pytest.raises(AutogradError, match="abbreviated"):
        Graph.from_text(str(graph))
    round_trip(graph)


def test_types_name_strides_that_are_not_row_major():
    assert type_text(array_type((), F64)) == "f64[]"
    assert type_text(array_type((2, 3), np.dtype("c8"), (8, 16))) == "c64[2,3]{1,2}"
    assert type_text(array_type((3,), np.dtype("i2"), (-2,))) == "i16[3]{-1}"
    assert type_text(array_type((3,), np.dtype("f4"), (9,))) == "f32[3]{9B}"
    assert type_text(array_type((1, 3), F64, (999, 8))) == "f64[1,3]"
    assert type_text(array_type((2,), np.dtype(">f8"))) == "dtype('>f8')[2]"
    b = Builder("odd", np.ndarray((3,), "f4", np.zeros(40, np.uint8), 0, (9,)))
    round_trip(b.returns(b.inputs[0]))


def test_remarks_behind_the_tag_are_kept():
    b = Builder("forward", np.ones(2))
    value = b.sin(b.inputs[0])
    value.node.effect, value.node.recompute, value.node.region = "ordered", "must_save", 3
    graph = b.returns(value)
    assert str(graph).splitlines()[1].endswith("# fw ordered recompute=must_save region=3")
    (again,) = round_trip(graph).nodes
    assert (again.effect, again.recompute, again.region) == ("ordered", "must_save", 3)


def test_many_inputs_stand_below_each_other():
    b = Builder("wide", *[np.ones(2)] * 9)
    graph = b.returns(*b.inputs)
    lines = str(graph).splitlines()
    assert lines[:2] == ["graph wide(", "  %0: f64[2] = args[0],"] and ") {" in lines
    round_trip(graph)


def test_bodies_of_control_flow_are_indented_and_numbered_anew():
    b = Builder("forward", np.ones(2), np.array(True))
    x, p = b.inputs
    branches = {
        "true": body("double", lambda inner, y: [inner.multiply(y, 2)], np.ones(2)),
        "false": body("same", lambda inner, y: [inner.copy(y, order="C")], np.ones(2)),
    }
    out = b.control("cond", (p, x), branches, [np.ones(2)])
    graph = b.returns(out)
    assert str(graph).splitlines()[1:6] == [
        "  %2: f64[2] = cond(%1, %0) # fw",
        "    true: graph double(%0: f64[2] = input[0]) {",
        "      %1: f64[2] = multiply(%0, 2) # fw",
        "      return (result[0]=%1)",
        "    }",
    ]
    again = round_trip(graph)
    assert again.verify().eval(np.ones(2), np.array(False))[0].tolist() == [1.0, 1.0]


def test_a_generator_is_a_placeholder_that_can_not_be_read():
    def draw(generator):
        b = Builder()
        params = {"kind": "standard_normal", "shape": (2,), "dtype": F64, "generator": generator}
        return b.returns(b("_draw", **params))

    first, second = np.random.default_rng(0), np.random.default_rng(0)
    graph = draw(first)
    assert "generator=<Generator>" in str(graph)
    with pytest.raises(AutogradError) as caught:
        Graph.from_text(graph.to_text())
    assert caught.value.code == "GRAPH_TEXT" and "line 2" in caught.value.where
    assert graph == draw(first) and graph != draw(second)


def test_custom_operators_are_found_by_their_qualified_name():
    @pb.library.custom_op("graph_text::scaled", mutates_args=())
    def scaled(x: pb.Tensor, by: float) -> pb.Tensor:
        return x * by

    text = "\n".join([
        "graph forward(%0: f64[2] = args[0]) {",
        "  %1: f64[2] = graph_text::scaled(%0, call=Call('graph_text::scaled', ((0, 0), (2, 2.5)), {})) # fw",
        "  return (output[0]=%1)",
        "}",
    ])
    graph = Graph.from_text(text)
    assert graph.to_text() == text
    assert graph.eval(np.ones(2))[0].tolist() == [2.5, 2.5]
    assert graph.run_on(pb.ones(2))[0].tolist() == [2.5, 2.5]
    assert graph.to_text() == text


@pytest.mark.parametrize("text, what", [
    ("graph f(%0: f64[2] = args[0]) { return (output[0]=%1) }", "%1 is not made"),
    ("graph f(%0: f65[2] = args[0]) { return () }", "not a dtype"),
    ("graph f(%0: f64[2] = arg[0]) { return () }", "descriptor"),
    ("graph f() { %0: f64[2] = no_such_operator() # fw\n return () }", "no_such_operator"),
    ("graph f() { %0: f64[2] = zeros( # fw\n return () }", "expected"),
    ("graph f() { return () } more", "nothing may follow"),
    ("graph f(%0: f64[2], %0: f64[2]) { return () }", "new value"),
    ("graph f(%0: f64[2]) { %1: f64[2] = sin(%0) # sideways\n return () }", "was expected behind"),
    ("graph f() $", "not expected"),
])  # fmt: skip
def test_text_that_is_no_graph_is_refused_with_its_line(text, what):
    with pytest.raises(AutogradError, match=what) as caught:
        Graph.from_text(text)
    assert caught.value.code in ("GRAPH_TEXT", "GRAPH_OPERATOR")


def test_graphs_are_equal_if_their_texts_are():
    assert joint() == joint() and hash(joint()) == hash(joint())
    other = joint()
    other.nodes[-1].tag = "fw"
    assert joint() != other and joint() != "text"
    assert repr(joint()) == "<graph joint: 3 inputs, 10 nodes, 3 outputs>"
