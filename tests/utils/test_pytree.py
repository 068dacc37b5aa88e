"""`pb.utils.pytree`: containers of tensors, and classes that users add to them."""

import collections
import subprocess
import sys

import pytest

import pullback as pb
from pullback.core.pytree import Structure
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


PLAIN = [
    1.5, None, "text", (), [], {}, (1, 2), [1, (2, [3])], {"b": 1, "a": (2, {"z": 3, "y": [4]})}, ((), [{}], None),
]  # fmt: skip


@pytest.mark.parametrize("tree", PLAIN, ids=repr)
def test_plain_trees_are_taken_apart_as_optree_does_it(tree):
    import optree

    leaves, structure = pytree.flatten(tree)
    expected_leaves, expected = optree.tree_flatten(tree, none_is_leaf=True, namespace="pullback")
    assert type(structure) is Structure and leaves == expected_leaves
    assert structure == expected and expected == structure and repr(structure) == repr(expected)
    assert repr(pytree.unflatten(structure, iter(leaves))) == repr(tree)
    assert (structure.num_leaves, structure.num_children) == (expected.num_leaves, expected.num_children)
    assert structure.children() == expected.children() and structure.is_leaf() == expected.is_leaf()
    assert structure.type is expected.type


def test_large_trees_have_one_structure_too():
    tree = {"b": list(range(40)), "a": (1, {"c": 2})}
    leaves, structure = pytree.flatten(tree)
    assert type(structure) is not Structure and structure == pytree.flatten(tree)[1]
    assert pytree.unflatten(structure, leaves) == tree and leaves[:2] == [1, 2]


def test_structures_differ_where_trees_do_and_not_by_the_order_of_keys():
    structures = [pytree.flatten(tree)[1] for tree in PLAIN]
    for k, one in enumerate(structures):
        for j, other in enumerate(structures):
            assert (one == other) == (k == j or k < 3 > j)  # the first three are leaves
    one, other = (pytree.flatten(tree)[1] for tree in ({"a": 1, "b": 2}, {"b": 1, "a": 2}))
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize("leaves", [[1], [1, 2, 3]])
def test_the_number_of_leaves_must_fit(leaves):
    with pytest.raises(ValueError, match="leaves"):
        pytree.unflatten(pytree.flatten((1, 2))[1], leaves)


def test_plain_trees_do_not_need_optree():
    program = "import sys, pullback as pb; x = pb.ones(3); pb.compile(pb.func.grad(lambda t: (t[0] * t[1]['a']).sum()))"
    program += "((x, {'a': x})); assert 'optree' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_objects_of_other_classes_are_leaves():
    thing = object()
    assert pytree.flatten([thing, "text", 1])[0] == [thing, "text", 1]
