"""What every operator must be checked on: which kinds of samples its family asks for, and that it has them.

The systematic tests can only find what the samples show them. A kind that an operator does not take is refused where
the operator is declared, with the reason; nothing is left out silently.
"""

from __future__ import annotations

import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.declare.samples import LAYOUTS, kinds_in, samples_of
from tests.operators.declared import is_floating

EVERYWHERE = {"empty", *LAYOUTS, "float32", "float64"}
BY_FAMILY = {
    "elementwise": EVERYWHERE | {"0-d", "expanded"},
    "special": EVERYWHERE | {"0-d"},
    "reduction": EVERYWHERE | {"0-d"},
    "view": EVERYWHERE | {"0-d"},
    "random": {"float64"},  # what is drawn depends on no layout
}
FLOATING = {"float32", "float64", "complex64", "complex128"}
SAMPLES = {name: list(samples_of(op)) for name, op in registry.items() if op.sample_rule is not None}
OPERATORS = [pytest.param(op, SAMPLES[name], id=name) for name, op in registry.items() if SAMPLES.get(name)]


def required_kinds(op, kinds):
    required = set(BY_FAMILY.get(op.family, EVERYWHERE))
    if op.family in ("elementwise", "special") and len(op.operands) > 1:
        required.add("broadcast")
    if "complex128" in kinds:
        required.add("complex64")
    if not kinds & FLOATING:
        required -= FLOATING  # an operator on integers or truth values
    return required - op.refused.keys()


@pytest.mark.parametrize("op, samples", OPERATORS)
def test_an_operator_has_every_kind_of_sample_that_its_family_asks_for(op, samples):
    kinds = kinds_in(samples)
    assert required_kinds(op, kinds) - kinds == set()


@pytest.mark.parametrize("op, samples", OPERATORS)
def test_what_an_operator_refuses_is_not_among_its_samples(op, samples):
    assert kinds_in(samples) & op.refused.keys() == set()


@pytest.mark.parametrize("op, samples", OPERATORS)
def test_complex_numbers_have_samples_or_are_refused(op, samples):
    """An operator that was not checked on complex numbers raises, or says why it computes with them all the same."""
    kinds = kinds_in(samples)
    if "complex128" in kinds or "complex derivative" in op.refused or not kinds & FLOATING:
        return
    operands, params = next(
        (sample.inputs(), sample.params)
        for sample in samples
        if any(is_floating(x) and x.dtype.char == "d" and x.size for x in sample.inputs())
    )
    complexes = [pb.tensor(x.astype(complex)) if is_floating(x) else x for x in operands]
    with pytest.raises((TypeError, ValueError)):
        op(*complexes, **params)
