"""`pb.utils.pytree`: containers of tensors, and classes that users add to them."""

import collections
import functools
import operator
import os
import pickle

import pytest

import pullback as pb
from pullback.core.pytree import paths, prefix_leaves
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


Deep = collections.namedtuple("Deep", "left right")
OTHER = [
    Pair(1, 2), Deep(Pair(1, 2), [3]), collections.deque([1, (2, 3)]), collections.deque([1, 2], maxlen=4),
    collections.OrderedDict(z=1, y=(2, 3)), collections.defaultdict(list, b=1, a=[2, 3]), {1: 2, "a": 3, (4, 5): [6]},
    list(range(40)), {f"k{k}": {"w": k, "b": (k, k)} for k in range(30)}, os.terminal_size((80, 24)),
    {"b": object, "a": [object(), 1]},
]  # fmt: skip


@pytest.mark.parametrize("tree", PLAIN + OTHER, ids=lambda tree: repr(tree)[:50])
def test_trees_are_put_together_as_they_were(tree):
    leaves, structure = pytree.flatten(tree)
    assert structure.num_leaves == len(leaves) and structure == pytree.flatten(tree)[1]
    assert hash(structure) == hash(pytree.flatten(tree)[1])
    again = pytree.unflatten(structure, iter(leaves))
    assert type(again) is type(tree) and repr(again) == repr(tree)  # the order of the keys of a dict, too
    assert getattr(again, "maxlen", None) == getattr(tree, "maxlen", None)
    assert len(paths(tree)) == len(leaves)
    for path, leaf in zip(paths(tree), leaves, strict=True):
        assert functools.reduce(operator.getitem, path, tree) is leaf
    assert sum(child.num_leaves for child in structure.children()) == (0 if structure.is_leaf() else len(leaves))
    assert structure.num_children == len(structure.children())
    if "object" not in repr(tree):
        stored = pickle.loads(pickle.dumps(structure))
        assert stored == structure and repr(pytree.unflatten(stored, leaves)) == repr(tree)


@pytest.mark.parametrize(
    "tree, leaves",
    [
        ({"b": 1, "a": (2, {"z": 3, "y": [4]})}, [2, 4, 3, 1]),
        (collections.defaultdict(int, b=1, a=2), [2, 1]),
        (collections.OrderedDict(b=1, a=2), [1, 2]),
        ({10: 1, 9: 2}, [2, 1]),
        ({"a": 1, 10: 2, 9: 3}, [3, 2, 1]),  # what cannot be compared, by class first
        ({1j: 1, 0j: 2}, [1, 2]),
        (collections.deque([1, [2, 3]]), [1, 2, 3]),
        (Deep(1, Pair(2, 3)), [1, 2, 3]),
    ],
    ids=repr,
)
def test_the_leaves_of_a_dict_come_by_its_sorted_keys_and_others_as_they_lie(tree, leaves):
    assert pytree.flatten(tree)[0] == leaves


class Name(str):
    """Equal to a text, and yet another key."""

    __slots__ = ()


def test_keys_that_are_equal_are_still_those_that_were_given():
    for tree in ({"a": 1, "b": 2}, {Name("a"): 1, Name("b"): 2}, {1: 1, 2: 2}, {True: 1, 2.0: 2}):
        leaves, structure = pytree.flatten(tree)
        assert [type(key) for key in pytree.unflatten(structure, leaves)] == [type(key) for key in tree]


@pytest.mark.parametrize(
    "tree, text",
    [
        (1, "*"), ((1, [2]), "(*, [*])"), ({"b": 1, "a": ()}, "{'b': *, 'a': ()}"), (Pair(1, [2]), "Pair(x=*, y=[*])"),
        (collections.deque([1], 3), "deque([*], maxlen=3)"),
    ],
)  # fmt: skip
def test_a_structure_is_shown_with_stars_for_leaves(tree, text):
    assert repr(pytree.flatten(tree)[1]) == text


def test_a_registered_class_is_shown_with_what_it_is_besides():
    assert repr(pytree.flatten([Line(1, (2, 3), "a line")])[1]) == "[Line['a line'](*, (*, *))]"


def test_structures_differ_by_what_containers_are_besides():
    kinds = [
        (1, 2), [1, 2], Pair(1, 2), Deep(1, 2), collections.deque([1, 2]), collections.deque([1, 2], 3),
        {"a": 1, "b": 2}, collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=1, a=2), {"a": 1, "c": 2},
        collections.defaultdict(int, a=1, b=2), collections.defaultdict(list, a=1, b=2), Line(1, 2, "a"),
        Line(1, 2, "b"), Line(1, 2, ["no hash"]), ((1, 2),), ((1,), 2), (1, (2,)),
    ]  # fmt: skip
    structures = [pytree.flatten(tree)[1] for tree in kinds]
    assert [[one == other for other in structures] for one in structures] == [
        [k == j for j in range(len(kinds))] for k in range(len(kinds))
    ]
    assert len(set(structures)) == len(kinds)


def test_where_a_tree_has_a_leaf_another_may_have_a_tree():
    pairs = pytree.map_leaves(lambda a, b: (a, b), [1, {"x": 2}], [(3, 4), {"x": None}])
    assert pairs == [(1, (3, 4)), {"x": (2, None)}]
    ordered = collections.OrderedDict(b=1, a=2)
    assert pytree.map_leaves(lambda a, b: a - b, {"a": 10, "b": 20}, ordered) == {"a": 8, "b": 19}


@pytest.mark.parametrize(
    "tree, other",
    [
        ((1, 2), (1,)), ((1, 2), [1, 2]), ((1, (2,)), (1, 2)), ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 1, "b": 2}),
        (Pair(1, 2), (1, 2)), (Pair(1, 2), Deep(1, 2)), (collections.deque([1]), [1]),
        (Line(1, 2, "a"), Line(1, 2, "b")),
    ],
)  # fmt: skip
def test_a_function_is_not_mapped_over_trees_that_differ(tree, other):
    with pytest.raises(ValueError, match="expected a"):
        pytree.map_leaves(lambda a, b: a, tree, other)


def test_a_prefix_has_a_leaf_for_every_leaf_below_it():
    tree = ((1, [2, 3]), {"b": 4, "a": (5, 6)}, Pair(7, 8))
    assert prefix_leaves(0, tree) == [0] * 8
    assert prefix_leaves((0, {"a": 1, "b": None}, Pair(2, 3)), tree) == [0, 0, 0, 1, 1, None, 2, 3]
    with pytest.raises(ValueError, match="expected a"):
        prefix_leaves((0, 1), tree)


def test_a_class_is_registered_once_and_built_in_containers_are_known():
    for cls in (Line, dict, collections.deque):
        with pytest.raises(ValueError, match="already"):
            pytree.register(cls, tuple, tuple)
    with pytest.raises(TypeError, match="class"):
        pytree.register(3, tuple, tuple)


def test_subclasses_of_containers_are_leaves_unless_they_are_namedtuples():
    class Own(dict):
        pass

    class Point(Pair):
        pass

    own = Own(a=1)
    assert pytree.flatten([own])[0] == [own]
    leaves, structure = pytree.flatten(Point(1, 2))
    assert leaves == [1, 2] and type(pytree.unflatten(structure, leaves)) is Point


@pytest.mark.parametrize("tree", PLAIN + OTHER[:9], ids=lambda tree: repr(tree)[:50])
def test_a_tree_is_written_as_an_expression_if_its_containers_are_plain(tree):
    leaves, structure = pytree.flatten(tree)
    names = [f"v{k}" for k in range(len(leaves))]
    written = structure.written(iter(names))
    assert (written is None) == any(tree is each for each in OTHER[:7])
    if written is not None:
        assert repr(eval(written, dict(zip(names, leaves, strict=True)))) == repr(tree)


def test_compiled_functions_return_and_take_all_containers():
    def f(tree):
        return collections.OrderedDict(b=[v * 2 for v in tree["many"]], a=Pair(tree["one"].x + 1, {"z": 1.5, "y": 2}))

    tree = {"one": Pair(pb.ones(2), pb.ones(2)), "many": collections.deque(pb.full(2, float(k)) for k in range(20))}
    expected, found = f(tree), pb.compile(f)(tree)
    assert pytree.flatten(found)[1] == pytree.flatten(expected)[1] and list(found) == ["b", "a"]
    assert_close(found["b"], expected["b"])
    gradient = pb.func.grad(lambda tree: sum(v.sum() for v in tree["many"]) + tree["one"].y.sum())(tree)
    assert type(gradient["many"]) is collections.deque and type(gradient["one"]) is Pair
    assert_close(gradient["one"].y, [1.0, 1.0])


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


def test_objects_of_other_classes_are_leaves():
    thing = object()
    assert pytree.flatten([thing, "text", 1])[0] == [thing, "text", 1]


@pytest.mark.parametrize("make", [
    lambda x: {"low": x, "high": x}, lambda x: [x, x], lambda x: (x, {"a": x}), lambda x: {}, lambda x: [(x,), [x]],
])  # fmt: skip
def test_a_structure_does_not_depend_on_the_types_of_its_leaves(make):
    first, *others = (pytree.flatten(make(leaf))[1] for leaf in (1.0, pb.ones(2), object(), pb.ShapeDtype(())))
    assert all(each == first and hash(each) == hash(first) for each in others)
