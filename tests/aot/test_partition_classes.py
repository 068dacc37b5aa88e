"""The classes of operators: every declared one has a class, and those everybody knows have the right one."""

import pkgutil
import sys
from importlib import import_module

import pytest

from pullback.aot._op_classes import _BEARABLE_NAMES, _CHEAP_NAMES, _POINTWISE_NAMES, is_denied, is_fusible, op_class
from pullback.declare.op import Op, registry
from pullback.graph.ir import Node

EXPECTED = {
    "pointwise": ["sin", "add", "where", "relu", "_astype", "masked_fill"],
    "view": ["permute_dims", "broadcast_to", "_basic_index", "_reshape"],
    "cheap": ["sum", "mean", "var", "amax", "_index", "_concat", "triu", "softmax"],
    "random": ["_draw"],
    "heavy": ["matmul", "einsum", "_convolve", "cumsum", "_argsort"],
}


@pytest.fixture(autouse=True, scope="module")
def every_family():
    """Some families are loaded when they are first used."""
    for module in pkgutil.iter_modules(sys.modules["pullback.ops"].__path__):
        import_module(f"pullback.ops.{module.name}")


def node(target, op=""):
    return Node(target, target.name if target is not None else op, (), {})


@pytest.mark.parametrize("kind", EXPECTED)
def test_well_known_operators(kind):
    assert {name: op_class(node(registry[name])) for name in EXPECTED[kind]} == dict.fromkeys(EXPECTED[kind], kind)


def test_kinds_of_nodes_that_are_no_operators():
    kinds = {op: op_class(node(None, op)) for op in ("constant", "update", "cond", "scan", "while_loop")}
    assert kinds == {"constant": "cheap", "update": "cheap", "cond": "heavy", "scan": "heavy", "while_loop": "heavy"}


def test_every_name_in_the_tables_is_an_operator():
    assert set(registry) >= _CHEAP_NAMES | _POINTWISE_NAMES | _BEARABLE_NAMES


def test_custom_operators_are_heavy():
    op = Op("acme::f", lambda x: x, ("x",), family="custom", table={})
    assert op_class(node(op)) == "heavy" and is_denied(node(op))


def test_fusing():
    sin, total, product, joined, draw = (node(registry[name]) for name in ("sin", "sum", "matmul", "_concat", "_draw"))
    assert is_fusible(sin, total) and is_fusible(draw, sin)
    assert not is_fusible(sin, product) and not is_fusible(product, sin)
    assert is_fusible(product, joined)
    assert not is_fusible(None, sin)


def test_short_memory_admits_what_is_merely_slow():
    assert not is_denied(node(registry["cumsum"])) and not is_denied(node(registry["sin"]))
    assert is_denied(node(registry["matmul"])) and is_denied(node(registry["_draw"])) and is_denied(node(None, "scan"))
