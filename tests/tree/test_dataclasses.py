"""`pb.dataclass` and `pb.register_dataclass`: classes with fields as trees."""

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close


@pb.dataclass
class Linear:
    w: Any
    b: Any = 0.0

    def __call__(self, x):
        return x @ self.w + self.b


@pb.dataclass(frozen=True, slots=True, static=("depth",))
class Network:
    layers: list
    depth: int = 2


@pb.dataclass(static=["act"])
class Base:
    w: Any
    act: str = "tanh"


@pb.dataclass
class Derived(Base):
    v: Any = 1.0


def test_the_gradient_of_a_dataclass_is_of_the_same_class():
    layer = Linear(pb.tensor([2.0, 3.0]), pb.tensor(1.0))
    slopes = pb.grad(lambda layer: layer(pb.tensor([5.0, 7.0])) ** 2)(layer)
    assert type(slopes) is Linear
    assert_close(slopes.w, [320.0, 448.0])
    assert_close(slopes.b, 64.0)
    assert pb.tree.paths(layer) == ["w", "b"]


def test_static_fields_are_structure():
    net = Network([Linear(pb.ones(2)), Linear(pb.ones(2))], depth=3)
    assert pb.tree.paths(net) == ["layers/0/w", "layers/0/b", "layers/1/w", "layers/1/b"]
    doubled = pb.tree.map(lambda x: x * 2, net)
    assert type(doubled) is Network and doubled.depth == 3
    assert_close(doubled.layers[0].w, [2.0, 2.0])
    assert pb.tree.structure(net) != pb.tree.structure(dataclasses.replace(net, depth=4))
    with pytest.raises(dataclasses.FrozenInstanceError):
        doubled.depth = 1


def test_a_compiled_function_is_compiled_again_for_another_static_value():
    @pb.compile
    def f(net):
        return (net.layers[0] ** net.depth).sum()

    for depth in (2, 2, 3, 3, 2):
        assert_close(f(Network([pb.tensor([1.0, 2.0])], depth)), 1.0 + 2.0**depth)
    assert f.cache_info().misses == 2


def test_static_fields_are_inherited_and_others_are_children():
    made = Derived(pb.ones(2), v=pb.ones(1))
    assert pb.tree.paths(made) == ["w", "v"]
    assert pb.tree.map(lambda x: x + 1, made).act == "tanh"


def test_a_static_value_that_is_not_hashable_is_refused():
    with pytest.raises(TypeError, match="static field 'depth' of Network is a ndarray"):
        pb.tree.leaves(Network([], np.ones(2)))


def test_a_static_name_that_is_no_field_is_refused():
    @dataclasses.dataclass
    class One:
        a: Any

    with pytest.raises(ValueError, match="One has no field 'b'"):
        pb.register_dataclass(One, static=("b",))
    with pytest.raises(TypeError, match="and int is none"):
        pb.register_dataclass(int)


def test_copies_and_pickles_are_what_they_are_for_every_dataclass():
    layer = Linear(pb.ones(2))
    for again in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert pb.tree.all_close(again, layer)
    structure = pickle.loads(pickle.dumps(pb.tree.structure(layer)))
    assert structure == pb.tree.structure(layer)


def test_vmap_over_a_dataclass_maps_its_leaves():
    many = Linear(pb.ones((4, 3)), pb.arange(4.0))
    assert_close(pb.vmap(lambda layer: layer(pb.ones(3)))(many), [3.0, 4.0, 5.0, 6.0])


@dataclasses.dataclass
class Unknown:
    w: Any


@pytest.mark.parametrize("transform", [pb.grad, pb.value_and_grad, pb.jacrev, pb.hessian, pb.jacfwd])
def test_a_dataclass_that_nobody_registered_says_what_to_add(transform):
    with pytest.raises(ValueError, match=r"pb\.register_dataclass\(Unknown\)"):
        transform(lambda p: p.w.sum())(Unknown(pb.ones(2)))


def test_a_compiled_function_says_what_to_add_as_well():
    with pytest.raises(pb.errors.AOTError, match=r"pb\.register_dataclass\(Unknown\)"):
        pb.compile(lambda p: p.w.sum(), fallback="raise")(Unknown(pb.ones(2)))


def test_classes_of_attrs_are_registered_in_the_same_way():
    attrs = pytest.importorskip("attrs")
    Point = pb.register_dataclass(attrs.make_class("Point", ["x", "name"], frozen=True), static="name")
    slopes = pb.grad(lambda p: p.x**2)(Point(pb.tensor(3.0), "p"))
    assert type(slopes) is Point and slopes.name == "p"
    assert_close(slopes.x, 6.0)


def test_models_of_pydantic_are_registered_in_the_same_way():
    pydantic = pytest.importorskip("pydantic")
    config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    Point = pydantic.create_model("Point", __config__=config, x=(pb.Tensor, ...), name=(str, "p"))
    Point = pb.register_dataclass(Point, static=("name",))
    slopes = pb.grad(lambda p: p.x**2)(Point(x=pb.tensor(3.0)))
    assert type(slopes) is Point and slopes.name == "p"
    assert_close(slopes.x, 6.0)
