"""Simplification is exact, keeps memory apart that the caller can tell apart, and forwards what updates wrote."""

import numpy as np
import pytest

from pullback.graph.descriptors import GradAOTOutput, PlainAOTInput, PlainAOTOutput
from tests.graph.building import Builder, operators_of

SPECIAL = np.array([0.0, -0.0, 1.5, -3.0, np.inf, -np.inf, np.nan])
COMPLEX = np.empty((7, 7), complex)
COMPLEX.real, COMPLEX.imag = SPECIAL[:, None], SPECIAL


def left_of(write, array=SPECIAL, *more):
    """The operators that remain of `write`, whose result goes into `exp`; results must be the same to the last bit."""
    b = Builder("forward", array, *more)
    with np.errstate(all="ignore"):
        graph = b.returns(b.exp(write(b, *b.inputs)))
        simpler = graph.simplify().dce().verify()
        for got, expected in zip(simpler.eval(array, *more), graph.eval(array, *more), strict=True):
            assert got.tobytes() == expected.tobytes()
    assert operators_of(simpler)[-1] == "exp"
    return [name for name in operators_of(simpler)[:-1] if name != "constant"]


GONE = {
    "x*1": lambda b, x: b.multiply(x, 1),
    "1.0*x": lambda b, x: b.multiply(1.0, x),
    "x*constant": lambda b, x: b.multiply(x, b.constant(1.0)),
    "x/1": lambda b, x: b.divide(x, 1),
    "x-0.0": lambda b, x: b.subtract(x, 0.0),
    "x-0": lambda b, x: b.subtract(x, 0),
    "x+(-0.0)": lambda b, x: b.add(x, -0.0),
    "-0.0+x": lambda b, x: b.add(-0.0, x),
    "x**1": lambda b, x: b.pow(x, 1),
    "-(-x)": lambda b, x: b.negative(b.negative(x)),
    "conj pair": lambda b, x: b.conj(b.conj(x)),
    "cast to same": lambda b, x: b("_astype", x, dtype=np.dtype(float)),
    "there and back": lambda b, x: b("_astype", b("_astype", x, dtype=np.dtype("g")), dtype=np.dtype(float)),
    "same shape": lambda b, x: b("_reshape", x, shape=x.type.shape),
    "two reshapes": lambda b, x: b("_reshape", b("_reshape", x, shape=(1, 7)), shape=(7,)),
    "broadcast": lambda b, x: b.broadcast_to(x, shape=x.type.shape),
    "full slice": lambda b, x: b("_basic_index", x, index=(slice(None), ...)),
    "full range": lambda b, x: b("_basic_index", x, index=(slice(0, 9, 1), ...)),
    "all of it": lambda b, x: b("_same", x),
    "all together": lambda b, x: b.multiply(b.divide(b.negative(b.negative(b.add(x, -0.0))), 1.0), 1),
}
KEPT = {
    "x+0.0": lambda b, x: b.add(x, 0.0),
    "x-(-0.0)": lambda b, x: b.subtract(x, -0.0),
    "x*0": lambda b, x: b.multiply(x, 0),
    "x-x": lambda b, x: b.subtract(x, x),
    "1/x": lambda b, x: b.divide(1, x),
    "1**x": lambda b, x: b.pow(1, x),
    "float32 and back": lambda b, x: b("_astype", b("_astype", x, dtype=np.dtype("f")), dtype=np.dtype(float)),
    "sum over no axes": lambda b, x: b.sum(x, axis=(), dtype=None, keepdims=False),
    "half": lambda b, x: b("_basic_index", x, index=(slice(1, None), ...)),
    "reversed": lambda b, x: b("_basic_index", x, index=(slice(None, None, -1), ...)),
    "new axis": lambda b, x: b("_basic_index", x, index=(None, ...)),
}


@pytest.mark.parametrize("name", GONE)
def test_what_changes_nothing_is_removed(name):
    assert left_of(GONE[name]) == []


@pytest.mark.parametrize("name", KEPT)
def test_what_changes_a_bit_somewhere_is_kept(name):
    assert left_of(KEPT[name]) != []


@pytest.mark.parametrize("write, kept", [
    (lambda b, x: b.multiply(x, 1), ["multiply"]),
    (lambda b, x: b.divide(x, 1), ["divide"]),
    (lambda b, x: b.add(x, -0.0), ["add"]),
    (lambda b, x: b.subtract(x, 0.0), []),
    (lambda b, x: b.conj(b.conj(x)), []),
])  # fmt: skip
def test_complex_numbers_are_different(write, kept):
    assert left_of(write, COMPLEX) == kept


def test_integers_have_one_zero():
    integers = np.arange(3)
    assert left_of(lambda b, x: b.add(x, 0), integers) == []
    assert left_of(lambda b, x: b.subtract(x, 0), integers) == []
    assert left_of(lambda b, x: b.sum(x, axis=(), dtype=None, keepdims=False), integers) == []
    assert left_of(lambda b, x: b.multiply(x, 1.0), integers) == ["multiply"]  # makes floats
    there = lambda b, x: b("_astype", b("_astype", x, dtype=np.dtype(float)), dtype=np.dtype(int))
    assert left_of(there, integers) == ["_astype", "_astype"]  # large ones are rounded
    there = lambda b, x: b("_astype", b("_astype", x, dtype=np.dtype(float)), dtype=np.dtype("i4"))
    assert left_of(there, np.arange(3, dtype="i4")) == []


def test_broadcasting_is_not_removed_with_the_number():
    assert left_of(lambda b, x, one: b.multiply(x, one), np.float64(3.0), np.ones((2, 2))) == ["multiply"]
    assert left_of(lambda b, x: b.multiply(x, b.constant([[1.0]]))) == ["multiply"]


def test_two_permutations_become_one_or_none():
    cube = np.arange(24.0).reshape(2, 3, 4)
    there_and_back = lambda b, x: b.permute_dims(b.permute_dims(x, axes=(1, 2, 0)), axes=(2, 0, 1))
    twice = lambda b, x: b.permute_dims(b.permute_dims(x, axes=(1, 2, 0)), axes=(1, 2, 0))
    assert left_of(there_and_back, cube) == []
    assert left_of(twice, cube) == ["permute_dims"]


def test_an_absent_gradient_adds_nothing():
    b = Builder("backward", np.ones(2))
    node = b.graph.add(b.add(b.inputs[0], 1).node.target, (b.inputs[0], None), {}, [b.inputs[0].type])
    graph = b.returns(b.graph.add(b.sin(b.inputs[0]).node.target, (node.result,), {}, [node.result.type]).result)
    assert operators_of(graph.simplify().dce()) == ["sin"]


# Memory.


def shares(graph, *arrays):
    """Which outputs share memory with which inputs, and with each other."""
    outputs = graph.eval(*arrays)
    everything = [*arrays, *outputs]
    return [[np.shares_memory(x, y) for x in everything] for y in everything]


def test_a_returned_product_with_one_is_not_the_input():
    b = Builder("forward", np.ones(3))
    graph = b.returns(b.multiply(b.inputs[0], 1))
    assert operators_of(graph.simplify().dce()) == ["multiply"]


def test_two_outputs_do_not_become_one_array():
    b = Builder("forward", np.ones(3))
    y = b.sin(b.inputs[0])
    graph = b.returns(y, b.multiply(y, 1))
    assert shares(graph.simplify().dce(), np.ones(3)) == shares(graph, np.ones(3))


def test_an_output_may_be_the_value_that_it_is_equal_to():
    b = Builder("forward", np.ones(3))
    y = b.sin(b.inputs[0])
    graph = b.returns(b.multiply(y, 1))
    assert operators_of(graph.simplify().dce()) == ["sin"]
    graph.add_output(b.divide(y, 1), PlainAOTOutput(1))
    simpler = graph.simplify().dce()  # one of the two is the sine itself
    assert len(simpler.nodes) == 2 and shares(simpler, np.ones(3)) == shares(graph, np.ones(3))


def test_a_returned_view_stays_a_view_of_what_is_returned():
    b = Builder("forward", np.ones((2, 3)))
    y = b.sin(b.inputs[0])
    back = b.permute_dims(b.permute_dims(y, axes=(1, 0)), axes=(1, 0))
    graph = b.returns(y, back)
    simpler = graph.simplify().dce()
    first, second = simpler.eval(np.ones((2, 3)))
    assert first is not second and np.shares_memory(first, second)


def test_what_was_read_before_a_store_is_not_read_after_it():
    b = Builder("joint", np.ones(3))
    (x,) = b.inputs
    y = b.multiply(x, 1)
    b.store(x, b.sin(x))
    b.tag = "bw"
    graph = b.returns(None, b.cos(y), descs=[PlainAOTOutput(0), GradAOTOutput(PlainAOTInput(0))])
    simpler = graph.simplify().dce().verify()
    np.testing.assert_array_equal(simpler.eval(np.ones(3))[1], np.cos(np.ones(3)))


# Updates.

FIRST = ("_basic_index", {"index": (0, ...)})
SECOND = ("_basic_index", {"index": (1, ...)})
COLUMN = ("_basic_index", {"index": (slice(None), 0, ...)})
TURNED = ("permute_dims", {"axes": (1, 0)})
SQUARE = np.arange(4.0).reshape(2, 2)
ROW = np.array([7.0, 8.0])


def view(b, x, *steps):
    for name, params in steps:
        x = b(name, x, **params)
    return x


def test_what_an_update_wrote_is_not_read_back():
    read = lambda b, x, v: view(b, b.update(x, b.sin(v), FIRST), FIRST)
    assert left_of(read, SQUARE, ROW) == ["sin"]
    read = lambda b, x, v: view(b, b.update(x, b.sin(v), TURNED, SECOND), TURNED, SECOND)
    assert left_of(read, SQUARE, ROW) == ["sin"]


def test_another_part_of_an_update_is_read_from_it():
    read = lambda b, x, v: view(b, b.update(x, b.sin(v), FIRST), SECOND)
    assert left_of(read, SQUARE, ROW) == ["sin", "update", "_basic_index"]
    read = lambda b, x: view(b, b.update(x, 3.0, FIRST), FIRST)  # the row is longer than what was written
    assert left_of(read, SQUARE) == ["update", "_basic_index"]


def test_a_part_of_several_views_is_forwarded():
    def read(b, x, v):
        params = {"whole": b("_unbind", x, axis=0)[0].node.target, "params": {"axis": 0}, "index": 1}
        return b("_unbind", b.update(x, b.sin(v), ("_part", params)), axis=0)[1]

    b = Builder("forward", SQUARE, ROW)
    graph = b.returns(b.exp(b("_basic_index", read(b, *b.inputs), index=(0, ...))))
    assert operators_of(graph.simplify().dce()) == ["sin", "update", "_unbind", "_basic_index", "exp"]


def test_a_column_that_was_written_is_forwarded_although_it_lies_elsewhere():
    read = lambda b, x, v: view(b, b.update(x, b.sin(v), COLUMN), COLUMN)
    assert left_of(read, SQUARE, ROW) == ["sin"]


def test_a_returned_view_of_an_update_is_kept():
    b = Builder("forward", SQUARE, ROW)
    x, v = b.inputs
    out = b.update(x, b.sin(v), FIRST)
    graph = b.returns(out, view(b, out, FIRST))
    assert shares(graph.simplify().dce(), SQUARE, ROW) == shares(graph, SQUARE, ROW)


def test_writing_back_what_is_there_is_nothing():
    write = lambda b, x: b.update(x, view(b, x, FIRST), FIRST)
    assert left_of(write, SQUARE) == []
    write = lambda b, x: b.update(x, view(b, x, FIRST), SECOND)
    assert left_of(write, SQUARE) == ["_basic_index", "update"]


def test_an_update_that_is_overwritten_is_dropped():
    write = lambda b, x, v: b.update(b.update(x, b.sin(v), FIRST), b.cos(v), FIRST)
    assert left_of(write, SQUARE, ROW) == ["cos", "update"]
    write = lambda b, x, v: b.update(b.update(x, 1.0, FIRST, FIRST), b.cos(v), FIRST)
    assert left_of(write, SQUARE, ROW) == ["cos", "update"]
    write = lambda b, x, v: b.update(b.update(x, b.sin(v), FIRST), 1.0, FIRST, FIRST)
    assert left_of(write, SQUARE, ROW) == ["sin", "update", "update"]


def test_an_update_of_everything_is_what_was_written():
    assert left_of(lambda b, x, v: b.update(x, b.sin(v)), SQUARE, SQUARE) == ["sin"]
    flat = ("_reshape", {"shape": (4,)})
    assert left_of(lambda b, x, v: b.update(x, b.sin(v), flat), SQUARE, np.arange(4.0)) == ["sin", "_reshape"]
    assert left_of(lambda b, x, v: b.update(x, b.sin(v), TURNED), SQUARE, SQUARE) == ["sin", "permute_dims", "copy"]
    everything = ("_basic_index", {"index": (..., slice(None))})
    write = lambda b, x, v: b.update(x, b.sin(v), everything, flat)
    assert left_of(write, SQUARE, np.arange(4.0)) == ["sin", "_reshape"]


def test_an_update_of_everything_with_an_input_that_is_returned_is_a_copy():
    b = Builder("forward", SQUARE, SQUARE)
    graph = b.returns(b.update(*b.inputs))
    simpler = graph.simplify().dce()
    assert operators_of(simpler) == ["copy"] and not np.any(shares(simpler, SQUARE, SQUARE + 1)[2][:2])


def test_an_update_that_casts_or_broadcasts_is_kept():
    assert left_of(lambda b, x, v: b.update(x, v), SQUARE, np.arange(4).reshape(2, 2)) == ["update"]
    assert left_of(lambda b, x, v: b.update(x, v), SQUARE, ROW) == ["update"]


def test_simplification_keeps_tags_and_places():
    b = Builder("forward", np.arange(24.0).reshape(2, 3, 4))
    b.tag = "bw"
    twice = b.permute_dims(b.permute_dims(b.inputs[0], axes=(1, 2, 0)), axes=(1, 2, 0))
    twice.node.place = ("model.py", 7, "f")
    node = b.returns(b.exp(twice)).simplify().dce().nodes[0]
    assert (node.op, node.tag, node.place) == ("permute_dims", "bw", ("model.py", 7, "f"))
