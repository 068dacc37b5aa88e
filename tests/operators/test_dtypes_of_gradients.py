"""A gradient has the dtype of its operand, and a tangent that of its result, whatever the other operands are.

Asked of every operator: with each operand in turn in single and half precision beside the others as they are, as
integers, and as Python's numbers, for which rules may have other formulas.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import pullback as pb
from docs._ext import examples, names
from pullback.autograd import forward_ad
from pullback.declare.samples import samples_of
from tests.operators.declared import has_rule, is_floating, registry

NUMBERS = (0, 1, 2, -1, 0.0, 0.5, -0.5, True, 2.0 + 1.0j, np.float64(2.0), np.int64(3))
# RuntimeError is what SciPy raises for images of half precision, AutogradError being one too.
REFUSALS = (TypeError, ValueError, NotImplementedError, OverflowError, np.linalg.LinAlgError, RuntimeError)
LOWER = {"d": (np.float32, np.float16), "D": (np.complex64,)}


def narrowed(op, sample):
    """Calls of `op` with one operand of lower precision: its position and all operands."""
    inputs = sample.inputs()
    for position, x in enumerate(inputs):
        if not is_floating(x) or not has_rule(op, position):
            continue
        for dtype in LOWER.get(x.dtype.char, ()):
            beside = [None, lambda y: y.astype(int) if is_floating(y) else y]
            if op.family == "elementwise" and len(inputs) == 2:
                beside += [lambda y, number=number: number for number in NUMBERS]
            for change in beside[: None if len(inputs) > 1 else 1]:
                yield position, [
                    x.astype(dtype) if k == position else y if change is None else change(y)
                    for k, y in enumerate(inputs)
                ]


def cases():
    for op in registry.values():
        if op.is_differentiable and op.sample_rule is not None:
            for dtype in "dD":
                for sample in samples_of(op):
                    arrays = [x for x in sample.inputs() if is_floating(x)]
                    if arrays and all(x.dtype.char == dtype and x.size for x in arrays):
                        yield pytest.param(op, sample, id=f"{op.name}-{dtype}")
                        break


def results_of(op, operands, params):
    """The floating results; none if the operator does not take such operands."""
    try:
        out = op(*operands, **params)
    except REFUSALS:
        return []
    return [each for each in (out if isinstance(out, tuple) else (out,)) if each.dtype.kind in "fc"]


@pytest.mark.parametrize("op, sample", list(cases()))
def test_a_gradient_has_the_dtype_of_its_operand(op, sample):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for position, operands in narrowed(op, sample):
            leaf = pb.tensor(operands[position], requires_grad=True)
            outs = results_of(op, [leaf if k == position else x for k, x in enumerate(operands)], sample.params)
            for out in outs[:1]:
                if out.requires_grad:
                    with contextlib.suppress(*REFUSALS):
                        out.backward(pb.ones_like(out))
                    assert leaf.grad is None or leaf.grad.dtype == leaf.dtype, operands


@pytest.mark.parametrize("op, sample", list(cases()))
def test_a_tangent_has_the_dtype_of_its_result(op, sample):
    with warnings.catch_warnings(), np.errstate(all="ignore"), forward_ad.dual_level():
        warnings.simplefilter("ignore")
        for position, operands in narrowed(op, sample):
            primal = pb.tensor(operands[position])
            dual = forward_ad.make_dual(primal, pb.ones_like(primal))
            for out in results_of(op, [dual if k == position else x for k, x in enumerate(operands)], sample.params):
                value, tangent = forward_ad.unpack_dual(out)
                assert tangent is None or tangent.dtype == value.dtype, operands


def test_gradients_of_every_public_function_have_the_dtype_of_the_leaf():
    """The calls of the reference, with every leaf in single precision."""
    wrong = {}
    for entry in filter(names.is_array_function, names.entries()):
        call = examples.call_of(entry.names, entry.value, entry.op)
        space = {"pb": pb, "np": np, "nan": np.nan, "inf": np.inf}
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(*REFUSALS):
            warnings.simplefilter("ignore")
            for name, source in call.inputs.items():
                source = source.replace(", requires_grad=True)", ", dtype=pb.float32, requires_grad=True)")
                exec(f"{name} = {source}", space)
            out = eval(call.call, space)
            for each in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(each, pb.Tensor) and each.requires_grad:
                    each.backward(pb.ones_like(each), retain_graph=True)
            for name in call.inputs:
                leaf = space[name]
                if isinstance(leaf, pb.Tensor) and isinstance(leaf.grad, pb.Tensor) and leaf.grad.dtype != leaf.dtype:
                    wrong[entry.name] = leaf.grad.dtype
    assert wrong == {}
