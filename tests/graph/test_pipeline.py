"""`run`: passes are verified, leave their argument alone, and are told with their times."""

import functools

import numpy as np
import pytest

from pullback.errors import InternalError
from pullback.graph.graph import Graph
from pullback.graph.ir import Program, array_type
from pullback.graph.pipeline import JOINT, run
from pullback.graph.rewrite import dce, shared, with_operands
from tests.graph.building import Builder, body


def graph():
    b = Builder("forward", np.ones(2), np.array(True))
    x, p = b.inputs
    double = body("double", lambda inner, y: [inner.multiply(y, 2)], np.ones(2))
    chosen = b.control("cond", (p, x), {"true": double, "false": double}, [np.ones(2)])
    return b.returns(b.add(b.sin(x), chosen))


def mistyped(program: Program):
    made = shared(program)
    last = with_operands(made.nodes[-1], made.nodes[-1].operands)
    last.result.type = array_type((3,), np.dtype(float))
    made.nodes[-1], made.outputs[0] = last, last.result
    return made


def writes_operands(program):
    program.nodes[-1].operands = program.nodes[-1].operands[::-1]
    return program


def writes_attributes(program):
    program.nodes[0].attrs["true"] = program.nodes[0].attrs["true"].copy()
    return dce(program)


def writes_inside(program):
    program.nodes[0].attrs["true"].nodes[0].tag = "bw"
    return shared(program)


def writes_nodes(program):
    program.nodes.pop()
    return program


def writes_outputs(program, number):
    program.outputs[0] = program.inputs[number]
    return program


def test_a_graph_that_breaks_a_promise_names_the_pass_that_made_it():
    with pytest.raises(InternalError, match=r"pass mistyped: graph forward at `.*add.*: the results should be"):
        run((dce, mistyped, dce), graph())


def test_a_broken_graph_is_not_the_fault_of_the_first_pass():
    with pytest.raises(InternalError, match="what is given to the passes: graph forward"):
        run((dce,), mistyped(graph()))


@pytest.mark.parametrize(
    "change",
    [writes_operands, writes_attributes, writes_inside, writes_nodes, functools.partial(writes_outputs, number=0)],
    ids=["operands", "attributes", "inside", "nodes", "outputs"],
)
def test_a_pass_does_not_write_to_the_graph_that_it_is_given(change):
    with pytest.raises(InternalError, match=r"pass writes_.* writes to the graph that it is given"):
        run((dce, change), graph())


def test_without_the_flag_nobody_looks(monkeypatch):
    monkeypatch.setenv("PULLBACK_VERIFY", "0")
    run((dce, mistyped, writes_operands), graph())


def writes_nothing(program, number):
    return program


def test_every_pass_is_told_with_its_time_and_the_numbers_of_nodes(monkeypatch, capsys):
    monkeypatch.setenv("PULLBACK_LOG", "compile")
    run((dce, functools.partial(writes_nothing, number=1)), graph())
    told = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" in ")[0] for line in told] == [
        "pullback compile: pass dce of forward, 3 to 3 nodes,",
        "pullback compile: pass writes_nothing of forward, 3 to 3 nodes,",
    ]


def test_the_passes_of_joint_graphs_are_those_that_graphs_have_as_methods():
    made = graph()
    assert str(run(JOINT, made)) == str(Graph.dce(Graph.cse(Graph.simplify(made))))
