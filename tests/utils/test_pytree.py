"""`pb.utils.pytree`: containers of tensors, and classes that users add to them."""

import collections

import pytest

import pullback as pb
from pullback.testing import assert_close
from pullback.utils import pytree

Pair = collections.namedtuple("Pair", "x y")


def test_containers_are_taken_apart_and_put_together():
    tree = {"b": [1, (2, None)], "a": Pair(3, collections.OrderedDict(z=4, y=5)), "c": collections.deque([6])}
    leaves, structure = pytree.flatten(tree)
    assert leaves == [3, 4, 5, 1, 2, None, 6]  # a dict by its sorted keys, an OrderedDict in its own order
    again = pytree.unflatten(structure, leaves)
    assert again == tree and type(again["a"]) is Pair and type(again["c"]) is collections.deque


def test_a_function_is_mapped_over_trees_of_one_structure():
    assert pytree.map_leaves(lambda a, b: a + b, {"x": (1, 2)}, {"x": (10, 20)}) == {"x": (11, 22)}
    with pytest.raises(ValueError):
        pytree.map_leaves(lambda a, b: a + b, (1, 2), (1, 2, 3))


class Line:
    def __init__(self, slope, offset, label):
        self.slope, self.offset, self.label = slope, offset, label


pytree.register(
    Line, lambda line: ((line.slope, line.offset), line.label), lambda label, children: Line(*children, label)
)


def test_transforms_know_registered_classes():
    line = Line(pb.tensor(2.0), pb.tensor(1.0), "a line")
    slopes = pb.func.grad(lambda line: (line.slope * 3 + line.offset) ** 2)(line)
    assert type(slopes) is Line and slopes.label == "a line"
    assert_close(slopes.slope, 42.0)
    assert_close(slopes.offset, 14.0)
    many = Line(pb.arange(3.0), pb.ones(3), "lines")
    assert_close(pb.vmap(lambda line: line.slope * 2 + line.offset)(many), [1.0, 3.0, 5.0])


def test_objects_of_other_classes_are_leaves():
    thing = object()
    assert pytree.flatten([thing, "text", 1])[0] == [thing, "text", 1]
