"""Facts about operators: declarations state them, or they follow from the family, and nobody states what follows."""

import pkgutil
import sys
from importlib import import_module
from typing import get_args

import pytest

from pullback.declare import facts
from pullback.declare.op import Op, registry
from pullback.errors import InternalError


@pytest.fixture(autouse=True, scope="module")
def every_family():
    """Some families are loaded when they are first used."""
    for module in pkgutil.walk_packages(sys.modules["pullback.operators"].__path__, "pullback.operators."):
        import_module(module.name)


def declared(**stated):
    return Op("f", lambda x: x, ("x",), table={}, **stated)


def test_what_is_stated_is_the_fact():
    assert declared(flow="scans").flow == "scans" and declared(flow="scans", recompute="free").recompute == "free"


def test_what_is_not_stated_follows_from_family_and_flow():
    assert (declared().flow, declared().recompute) == ("opaque", "never")
    assert (declared(family="reduction").flow, declared(family="reduction").recompute) == ("reduces", "free")
    assert declared(flow="collects").recompute == "bearable"


def test_a_fact_that_does_not_exist_is_refused():
    with pytest.raises(InternalError, match=r"states .*flaw"):
        declared(flaw="scans")


@pytest.mark.parametrize("fact", ["flow", "recompute", "layout"])
def test_every_operator_has_one_of_the_known_words(fact):
    words = get_args(getattr(facts, fact.capitalize()))
    assert {getattr(op, fact) for op in registry.values()} <= set(words)


def test_every_flow_is_that_of_an_operator():
    assert {op.flow for op in registry.values()} == set(get_args(facts.Flow))


@pytest.mark.parametrize("fact", sorted(facts.FACTS))
def test_no_declaration_states_what_follows_from_the_rest_of_it(fact):
    stated = [op for op in registry.values() if fact in op.stated]
    assert [op.name for op in stated if op.stated[fact] == facts.derived(op, fact)] == []
