"""Pictures of graphs."""

from itertools import pairwise
from xml.etree import ElementTree

import numpy as np

from pullback.graph.text.layout import laid_out
from pullback.graph.text.picture import boxes_of
from tests.graph.building import Builder
from tests.graph.test_text import joint

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_shows_inputs_nodes_and_outputs_in_their_colours():
    graph = joint()
    root = ElementTree.fromstring(graph.to_svg())
    groups = [group.get("class") for group in root.iter(f"{SVG}g")]
    assert [groups.count(kind) for kind in ("input", "fw", "bw", "output")] == [3, 3, 7, 3]
    fills = {group.get("class"): group.find(f"{SVG}rect").get("fill") for group in root.iter(f"{SVG}g")}
    assert len(set(fills.values())) == 4
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "matmul" in texts and "grad(args[1])" in texts and "%4: f64[2,2]" in texts
    assert graph._repr_svg_() == graph.to_svg()


def test_every_box_stands_below_what_it_reads_and_beside_its_neighbours():
    rows = laid_out(boxes_of(joint()))
    for row in rows:
        for left, right in pairwise(row):
            assert left.x + left.width / 2 < right.x - right.width / 2
        for box in row:
            assert all(source.row < box.row for source in box.above)
    assert {box.kind for box in rows[0]} == {"input"} and {box.kind for box in rows[-1]} == {"output"}


def test_lines_are_as_many_as_reads():
    graph = joint()
    paths = list(ElementTree.fromstring(graph.to_svg()).iter(f"{SVG}path"))
    reads = sum(len(set(node.inputs)) for node in graph.nodes) + len(graph.outputs)
    assert len(paths) == reads == graph.to_dot().count("->")


def test_text_in_pictures_is_escaped_and_shortened():
    b = Builder("forward", np.ones(3))
    b.store(b.inputs[0], b.multiply(b.inputs[0], b.constant(np.arange(3.0))))
    graph = b.returns(b("_basic_index", b.inputs[0], index=(slice(0, 100000), ...)))
    ElementTree.fromstring(graph.to_svg())
    assert "…" in graph.to_svg() and "stroke-dasharray" in graph.to_svg()
    dot = graph.to_dot()
    assert dot.startswith('digraph "forward" {') and dot.count("{") == dot.count("}")


def test_an_empty_graph_has_a_picture():
    ElementTree.fromstring(Builder("forward").graph.to_svg())
