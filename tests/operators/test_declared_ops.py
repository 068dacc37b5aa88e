"""Every declared operator keeps its contract. The cases come from the declarations.

Nothing here knows a particular operator. A derivative is compared with what the operator's values say (central
differences) and forward with reverse (the adjoint identity, which holds to rounding); the same again for the
derivative of the derivative.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import SparseGrad
from pullback.core.spec import Spec, spec_of
from pullback.core.state import NORMAL, switch
from pullback.declare.derive import pull, push
from pullback.declare.op import registry
from pullback.declare.samples import Maker, samples_of
from pullback.eager.build import inplace_twin
from pullback.eager.record import apply
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import Tensor, as_constant
from pullback.testing import assert_close
from tests.operators.declared import has_rule, is_floating, random_like, tolerance
from tests.operators.forward import jvp, listed

SEED = 20

def all_cases():
    for op in registry.values():
        if op.sample_rule is None:
            continue
        for number, sample in enumerate(samples_of(op)):
            yield op, sample, f"{op.name}-{sample.label or number}"


def keeps_the_first_operand(op, sample):
    """Does the result fit into the first operand's memory?"""
    first = sample.inputs()[0]
    if not is_floating(first):
        return False
    out = evaluate(op, sample.inputs(), sample.params)
    return (out.shape, out.dtype) == (first.shape, first.dtype)


CASES = [pytest.param(op, sample, id=name) for op, sample, name in all_cases()]
SMOOTH = [
    case
    for case in CASES
    if case.values[0].is_differentiable and any(is_floating(x) for x in case.values[1].inputs())
]
DOUBLE = [case for case in SMOOTH if all(x.dtype.char in "dD" for x in case.values[1].inputs() if is_floating(x))]
FLOATING_INPLACE = [
    case for case in SMOOTH if case.values[0].has_inplace_twin and keeps_the_first_operand(*case.values)
]
VIEWS = [case for case in CASES if case.values[0].is_view]


def outputs_of(op, sample, operands):
    return listed(evaluate(op, operands, sample.params))


def observed(op, sample, tensors):
    """What is well defined of the results, as Tensors."""
    results = listed(apply(op, tuple(tensors), sample.params))
    return results if sample.observe is None else listed(sample.observe(*results))


def is_smooth_output(x):
    return x.dtype.kind in "fc"


def directions(op, sample, operands):
    positions = [k for k, x in enumerate(operands) if is_floating(x) and has_rule(op, k)]
    tangents = tuple(random_like(x, SEED + k) if k in positions else None for k, x in enumerate(operands))
    if sample.prepare is not None:
        tangents = sample.allowed(*[0 if t is None else t for t in tangents])
    return positions, tangents


def run_pull(op, sample, operands, outs, gradients, needs):
    with np.errstate(all="ignore"):
        return pull(
            op, gradients, needs, operands.__getitem__,
            lambda k: spec_of(operands[k]) if hasattr(operands[k], "shape") else None,
            outs.__getitem__, sample.params,
        )  # fmt: skip


def inner(left, right):
    return sum(
        float(np.real(np.sum(np.conj(a) * b))) for a, b in zip(left, right) if a is not None and b is not None
    )


def dense(gradient):
    """The values of a gradient; reads of rows hand out sparse ones."""
    if isinstance(gradient, SparseGrad):
        return gradient.to_dense()
    return gradient.numpy() if isinstance(gradient, Tensor) else gradient


def reduced(gradient, like):
    """A gradient in the operand's shape, as the engine reduces it."""
    gradient = dense(gradient)
    extra = np.ndim(gradient) - like.ndim
    gradient = np.asarray(gradient).sum(axis=tuple(range(extra))) if extra else np.asarray(gradient)
    axes = tuple(k for k, length in enumerate(like.shape) if length == 1 and gradient.shape[k] != 1)
    gradient = gradient.sum(axis=axes, keepdims=True) if axes else gradient
    return gradient.real if like.dtype.kind == "f" and gradient.dtype.kind == "c" else gradient


def copied(x):
    """A copy in the same memory layout, with its gaps and negative strides."""
    forward = tuple(slice(None, None, -1) if stride < 0 else slice(None) for stride in x.strides)
    straight = x[(*forward, ...)]
    reach = sum((length - 1) * stride for length, stride in zip(straight.shape, straight.strides)) if x.size else 0
    copy = np.ndarray(x.shape, x.dtype, np.zeros(reach + x.itemsize, np.uint8), strides=straight.strides)
    copy[...] = straight
    return copy[(*forward, ...)]


def as_tensors(operands, positions):
    tensors = [as_constant(copied(np.asarray(x))) if isinstance(x, (np.ndarray, np.generic)) else x for x in operands]
    for k in positions:
        tensors[k].requires_grad_()
    return tensors


@pytest.mark.parametrize("op, sample", CASES)
def test_a_tensor_call_gives_what_the_kernel_gives(op, sample):
    operands = sample.inputs()
    expected = outputs_of(op, sample, operands)
    got = listed(apply(op, tuple(as_tensors(operands, ())), sample.params))
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert isinstance(a, Tensor)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a.detach().numpy(), b)


@pytest.mark.parametrize("op, sample", CASES)
def test_the_shape_rule_equals_the_result(op, sample):
    operands = sample.inputs()
    if op.spec_rule is None:
        pytest.skip("the shape depends on the values, so there is no shape rule")
    specs = listed(op.specs_of(*[spec_of(x) if isinstance(x, np.ndarray) else x for x in operands], **sample.params))
    assert all(isinstance(spec, Spec) for spec in specs)
    assert specs == [spec_of(out) for out in outputs_of(op, sample, operands)]


@pytest.mark.parametrize("op, sample", SMOOTH)
def test_vjp_is_the_adjoint_of_jvp(op, sample):
    operands = sample.inputs()
    outs = outputs_of(op, sample, operands)
    positions, tangents = directions(op, sample, operands)
    with np.errstate(all="ignore"):
        pushed = listed(push(op, operands, tangents, outs if len(outs) > 1 else outs[0], sample.params))
    gradients = tuple(random_like(out, 7 + k) if is_smooth_output(out) else None for k, out in enumerate(outs))
    needs = tuple(k in positions for k in range(len(operands)))
    pulled = run_pull(op, sample, operands, outs, gradients, needs)
    pulled = [None if g is None else reduced(g, operands[k]) for k, g in enumerate(pulled)]
    for k, g in enumerate(pulled):
        assert g is None or g.shape == operands[k].shape
    assert_close(inner(gradients, pushed), inner(pulled, tangents), **tolerance(sample))


@pytest.mark.parametrize("op, sample", DOUBLE)
def test_jvp_equals_central_differences(op, sample):
    operands = sample.inputs()
    _, tangents = directions(op, sample, operands)
    outs, pushed = jvp(lambda *values: observed(op, sample, values), operands, tangents)
    step = 1e-6

    def moved(amount):
        moved_ones = [x if t is None else x + amount * t for x, t in zip(operands, tangents)]
        return [out.numpy() for out in observed(op, sample, as_tensors(moved_ones, ()))]

    for out, tangent, up, down in zip(outs, pushed, moved(step), moved(-step)):
        if is_smooth_output(out):
            assert_close(tangent, (up - down) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op, sample", DOUBLE)
def test_the_gradient_itself_has_the_right_derivative(op, sample):
    """d/ds <u, grad(x + s t)> by reverse over reverse equals its central difference."""
    operands = sample.inputs()
    outs = observed(op, sample, as_tensors(operands, ()))
    positions, tangents = directions(op, sample, operands)
    weights = [random_like(out, 7 + k) if is_smooth_output(out) else None for k, out in enumerate(outs)]
    probes = {k: random_like(operands[k], 91 + k) for k in positions}

    def gradient(values, create):
        tensors = as_tensors(values, positions)
        results = observed(op, sample, tensors)
        roots = [(out, as_constant(w)) for out, w in zip(results, weights) if w is not None and out.requires_grad]
        leaves = [tensors[k] for k in positions]
        if not roots:
            return leaves, [None] * len(leaves)
        return leaves, pb.autograd.grad(
            [root for root, _ in roots], leaves, [w for _, w in roots], create_graph=create, allow_unused=True
        )

    def probed(values):
        grads = gradient(values, False)[1]
        return sum(
            float(np.real(np.sum(np.conj(probes[k]) * dense(g)))) for k, g in zip(positions, grads) if g is not None
        )

    leaves, grads = gradient(operands, True)
    present = [(g, as_constant(probes[k])) for k, g in zip(positions, grads) if g is not None and g.requires_grad]
    derivative = 0.0
    if present:
        seconds = pb.autograd.grad([g for g, _ in present], leaves, [p for _, p in present], allow_unused=True)
        derivative = sum(
            float(np.real(np.sum(np.conj(s.numpy()) * tangents[k])))
            for k, s in zip(positions, seconds)
            if s is not None
        )
    step = 1e-5
    up, down = (
        probed(tuple(x if t is None else x + amount * t for x, t in zip(operands, tangents)))
        for amount in (step, -step)
    )
    assert_close(derivative, (up - down) / (2 * step), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op, sample", [case for case in CASES if case.values[0].batch_rule is not None])
def test_batching_equals_a_loop(op, sample):
    operands = sample.inputs()
    examples = [sample.allowed(*[random_or_same(x, n) for x in operands]) for n in range(3)]
    stacked = [
        np.stack([example[k] for example in examples]) if isinstance(x, np.ndarray) else x
        for k, x in enumerate(operands)
    ]
    batched = listed(op.batch_rule(*stacked, **sample.params))
    looped = [outputs_of(op, sample, example) for example in examples]
    for k, out in enumerate(batched):
        expected = np.stack([np.asarray(row[k]) for row in looped])
        assert_close(np.asarray(out), expected, **tolerance(sample))


def random_or_same(x, number):
    """Another example inside the operator's domain: the same values in another order."""
    if not is_floating(x) or x.ndim == 0 or x.size == 0:
        return x
    return np.roll(x, number, axis=0)


@pytest.mark.parametrize("op, sample", FLOATING_INPLACE)
def test_the_in_place_twin_writes_the_same_value_and_counts_one_write(op, sample):
    operands = sample.inputs()
    positions = [k for k, x in enumerate(operands) if is_floating(x)]
    plain = as_tensors(operands, positions)
    out = apply(op, tuple(plain), sample.params)
    written = as_tensors(operands, positions)
    target = written[0].clone()
    before = target._version
    result = inplace_twin(op)(target, *written[1:], **sample.params)
    assert result is target and target._version == before + 1
    # NumPy's loops for neighbours in memory and for others may differ in the last bit.
    rtol = 2 * np.finfo(out.dtype).eps if out.dtype.kind in "fc" else 0
    np.testing.assert_allclose(target.detach().numpy(), out.detach().numpy(), rtol=rtol)
    weight = as_constant(random_like(out.detach().numpy(), 3))
    if not out.requires_grad:
        assert not target.requires_grad
        return
    expected = pb.autograd.grad(out, [plain[k] for k in positions], weight, allow_unused=True)
    got = pb.autograd.grad(target, [written[k] for k in positions], weight, allow_unused=True)
    for k, a, b in zip(positions, got, expected):
        zeros = np.zeros_like(operands[k])
        assert_close(zeros if a is None else a, zeros if b is None else b, **tolerance(sample))


@pytest.mark.parametrize("op, sample", VIEWS)
def test_a_view_shares_memory_and_its_version(op, sample):
    operands = sample.inputs()
    base = as_constant(copied(operands[0]))
    outs = listed(apply(op, (base,), sample.params))
    for out in outs:
        if not out._is_view():
            assert op.may_copy
            continue
        assert out._base is base
        if out.size and base.size:
            assert np.shares_memory(out.detach().numpy(), base.detach().numpy())
    version = base._version
    with pb.no_grad():
        base.add_(1) if base.dtype.kind != "b" else base.logical_not_()
    for out in outs:
        assert out._version == (version + 1 if out._is_view() else 0)


@pytest.mark.parametrize("op, sample", SMOOTH)
def test_nothing_is_saved_that_no_rule_names(op, sample):
    operands = sample.inputs()
    positions, _ = directions(op, sample, operands)
    tensors = as_tensors(operands, positions)
    out = listed(apply(op, tuple(tensors), sample.params))[0]
    if not out.requires_grad:
        return
    node = out.grad_fn
    while not hasattr(node, "saved_operands") and node.next and node.next[0] is not None:
        node = node.next[0]
    needs = tuple(k in positions for k in range(len(operands)))
    reads, reads_out = op.reads(needs)
    saved = [k for k, value in enumerate(node.saved_operands) if value is not None]
    assert saved == [k for k in reads if isinstance(tensors[k], Tensor)]
    assert [k for k, value in enumerate(node.saved_outputs) if value is not None] == list(reads_out)


FAST = [case for case in SMOOTH if case.values[0].fast_rules is not None]


@pytest.mark.parametrize("op, sample", FAST)
def test_the_fast_path_means_what_the_general_path_means(op, sample):
    operands = sample.inputs()
    positions = [k for k, x in enumerate(operands) if is_floating(x)]

    def run(general):
        tensors = as_tensors(operands, positions)
        if general:
            switch.open()
        try:
            out = op.function(*tensors)
        finally:
            switch.close()
        weight = as_constant(random_like(out.detach().numpy(), 3))
        grads = pb.autograd.grad(out, [tensors[k] for k in positions], weight, create_graph=True)
        again = None
        rough = [g for g in grads if g.requires_grad]
        if rough:
            weights = [as_constant(random_like(g.detach().numpy(), 5)) for g in rough]
            again = pb.autograd.grad(rough, [tensors[k] for k in positions], weights, allow_unused=True)
        return out, grads, again

    def run_plain():
        tensors = as_tensors(operands, positions)
        out = op.function(*tensors)
        return pb.autograd.grad(out, [tensors[k] for k in positions], as_constant(random_like(out.detach().numpy(), 3)))

    fast, slow = run(False), run(True)
    for k, a, b in zip(positions, run_plain(), slow[1]):
        assert a.dtype == operands[k].dtype
        assert_close(a, b, **tolerance(sample))
    assert fast[0].dtype == slow[0].dtype
    assert fast[0].grad_fn.name() == slow[0].grad_fn.name()
    assert len(fast[0].grad_fn.next_functions) == len(slow[0].grad_fn.next_functions)
    np.testing.assert_array_equal(fast[0].detach().numpy(), slow[0].detach().numpy())
    for k, a, b in zip(positions, fast[1], slow[1]):
        assert a.dtype == b.dtype == operands[k].dtype
        assert_close(a, b, **tolerance(sample))
    for a, b in zip(fast[2] or (), slow[2] or ()):
        assert (a is None) == (b is None)
        if a is not None:
            assert_close(a, b, **tolerance(sample))


DIRECT = [
    case
    for case in CASES
    if len(case.values[0].operands) == 1 and case.values[0].num_outputs == 1 and case.values[0].variadic_from < 0
]


@pytest.mark.parametrize("op, sample", DIRECT)
def test_the_direct_path_means_what_the_general_path_means(op, sample):
    operands = sample.inputs()
    # A view without derivative is only ever made of a detached tensor.
    positions = [0] if is_floating(operands[0]) and (op.is_differentiable or not op.is_view) else []

    def run(through, x):
        out = through(x)
        facts = (out.dtype, out.shape, out.requires_grad, out._version, out._is_view(), out.output_nr)
        if out._is_view():
            facts = (*facts, out._base is (x if x._base is None else x._base))
        grads = None
        if out.requires_grad:
            assert out.grad_fn.name() == op.grad_name
            weight = as_constant(random_like(out.detach().numpy(), 3))
            (grads,) = pb.autograd.grad(out, x, weight, allow_unused=True)
        return facts, out, grads

    for of_a_view in (False, True):
        results = []
        for through in (lambda x: op.call(x, **sample.params), lambda x: apply(op, (x,), sample.params)):
            (x,) = as_tensors(operands, positions)
            results.append(run(through, x.view_as(x) if of_a_view else x))
        (facts, out, grad), (other_facts, other_out, other_grad) = results
        assert facts == other_facts
        np.testing.assert_array_equal(out.detach().numpy(), other_out.detach().numpy())
        assert (grad is None) == (other_grad is None)
        if grad is not None:
            np.testing.assert_array_equal(grad.numpy(), other_grad.numpy())


WITH_NUMBERS = [
    pytest.param(op, order, id=f"{op.name}-{order}")
    for op in registry.values()
    if op.fast_rules is not None and len(op.operands) == 2
    for order in ("tensor-number", "number-tensor", "tensor-int")
]


@pytest.mark.parametrize("op, order", WITH_NUMBERS)
def test_a_number_operand_means_the_same_on_both_paths(op, order):
    sample = next(s for s in op.sample_rule(Maker(op.name)) if s.label == "matrix")
    array, number = sample.operands[0], float(sample.operands[1].flat[0])
    if order == "number-tensor":
        array, number = sample.operands[1], float(sample.operands[0].flat[0])
    number = 2 if order == "tensor-int" else number

    def run(normal):
        x = as_constant(array.copy()).requires_grad_()
        (switch.open if normal is None else switch.close)()
        try:
            out = op.function(number, x) if order == "number-tensor" else op.function(x, number)
        finally:
            switch.close()
        (first,) = pb.autograd.grad(out, x, as_constant(np.ones(out.shape)), create_graph=True)
        second = None
        if first.requires_grad:
            (second,) = pb.autograd.grad(first, x, as_constant(np.ones(out.shape)), allow_unused=True)
        (plain,) = pb.autograd.grad(
            op.function(number, x) if order == "number-tensor" else op.function(x, number),
            x, as_constant(np.ones(out.shape)),
        )  # fmt: skip
        return out, first, second, plain

    for fast, slow in zip(run(NORMAL), run(None)):
        assert (fast is None) == (slow is None)
        if fast is not None:
            assert fast.dtype == slow.dtype
            assert_close(fast, slow, rtol=1e-12, atol=1e-12)


def test_every_operator_has_samples_or_says_why_not():
    # Samples are arrays, and operators that cross levels work on payloads of other kinds.
    # A collective needs ranks: tests/distributed has them.
    missing = [op.name for op in registry.values() if op.sample_rule is None and not op.takes_payloads]
    assert set(missing) <= {"_collective"}


def test_every_operator_is_differentiable_or_says_why_not():
    silent = [
        op.name for op in registry.values() if not op.is_differentiable and op.not_differentiable_because is None
    ]
    assert silent == []


def test_every_differentiable_operator_has_a_forward_rule():
    missing = [
        op.name
        for op in registry.values()
        if op.is_differentiable and op.jvp_rule is None and op.partials is None and op.linear_in is None
    ]
    assert missing == []
