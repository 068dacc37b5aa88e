"""What computing an operator again costs: declarations say it, or it follows from what kind of operator it is."""

import pkgutil
import sys
from importlib import import_module

import pytest

from pullback.aot._partition.bans import is_denied, is_fusible, is_recomputable, recompute_of
from pullback.declare.op import Op, registry
from pullback.graph.ir import Node

EXPECTED = {
    "free": [
        "sin", "add", "where", "relu", "_astype", "masked_fill", "permute_dims", "broadcast_to", "_basic_index",
        "_reshape", "sum", "mean", "var", "amax", "_index", "_concat", "triu", "softmax",
    ],
    "bearable": ["cumsum", "special.gamma", "_index_add"],
    "never": ["matmul", "einsum", "_convolve", "_argsort", "_draw", "_linalg_solve", "_fft_c2c"],
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def every_family():
    """Some families are loaded when they are first used."""
    for module in pkgutil.walk_packages(sys.modules["pullback.operators"].__path__, "pullback.operators."):
        import_module(module.name)


def node(target, op=""):
    return Node(target, target.name if target is not None else op, (), {})


@pytest.mark.parametrize("kind", EXPECTED)
def test_well_known_operators(kind):
    found = {name: recompute_of(node(registry[name])) for name in EXPECTED[kind]}
    assert found == dict.fromkeys(EXPECTED[kind], kind)


def test_kinds_of_nodes_that_are_no_operators():
    kinds = {op: recompute_of(node(None, op)) for op in ("constant", "update", "cond", "scan", "while_loop")}
    assert kinds == {"constant": "free", "update": "free", "cond": "never", "scan": "never", "while_loop": "never"}


def test_custom_operators_are_heavy():
    op = Op("acme::f", lambda x: x, ("x",), family="custom", table={})
    assert is_denied(node(op)) and not is_fusible(node(registry["sin"]), node(op))


def test_a_custom_operator_that_may_run_again_is_a_barrier_for_fusion():
    op = Op("acme::f", lambda x: x, ("x",), family="custom", table={}, recompute="free")
    assert is_recomputable(node(op)) and not is_fusible(node(registry["sin"]), node(op))


def test_fusing():
    sin, total, product, joined, draw = (node(registry[name]) for name in ("sin", "sum", "matmul", "_concat", "_draw"))
    assert is_fusible(sin, total) and is_fusible(draw, sin)
    assert not is_fusible(sin, product) and not is_fusible(product, sin)
    assert is_fusible(product, joined)
    assert not is_fusible(None, sin)


def test_short_memory_admits_what_is_merely_slow():
    assert not is_denied(node(registry["cumsum"])) and not is_denied(node(registry["sin"]))
    assert is_denied(node(registry["matmul"])) and is_denied(node(registry["_draw"])) and is_denied(node(None, "scan"))
