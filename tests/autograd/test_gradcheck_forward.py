"""The forward-mode stages of `gradcheck`, on a `jvp` made of two reverse passes and a map that is a loop.

Reverse mode gives `g -> J^T g`, which is linear in `g`; pulling a tangent `t` back through it gives `J t`. So the
stages are tested on an implementation of forward mode that shares no code with them.
"""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import grad, gradcheck, gradgradcheck
from pullback.autograd._gradcheck import forward as forward_stages
from pullback.autograd._gradcheck import reverse as second_order
from pullback.errors import GradcheckError

X = [0.3, -1.2, 2.0]
Z = [1 + 2j, -0.5 + 0.3j]
both_modes = pytest.mark.parametrize("fast_mode", [False, True])


def leaf(value):
    array = np.array(value)
    return pb.tensor(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64), requires_grad=True)


def jvp_from_two_reverse_passes(func, primals, tangents):
    slots = list(zip(primals, tangents, strict=True))
    primals = [p if t is None or p.requires_grad else p.detach().requires_grad_() for p, t in slots]
    outputs = func(*primals)
    recorded = [y for y in outputs if y.requires_grad]
    if not recorded:
        return [None] * len(outputs)
    varied = [(p, t) for p, t in zip(primals, tangents, strict=True) if t is not None]
    cotangents = [pb.zeros(y.shape, dtype=y.dtype, requires_grad=True) for y in recorded]
    gradients = grad(recorded, [p for p, _ in varied], cotangents, create_graph=True, allow_unused=True)
    pulled = [(g, t) for g, (_, t) in zip(gradients, varied, strict=True) if g is not None and g.requires_grad]
    if not pulled:
        return [None] * len(outputs)
    found = iter(
        grad([g for g, _ in pulled], cotangents, [t for _, t in pulled], create_graph=True, allow_unused=True)
    )
    return [next(found) if y.requires_grad else None for y in outputs]


def map_by_loop(func, tensors):
    (stacked,) = tensors
    columns = zip(*[func(row) for row in stacked], strict=True)
    return [None if column[0] is None else stack(column) for column in columns]


def stack(rows):
    return pb.asarray(np.stack([row.detach().numpy() for row in rows]))


@pytest.fixture(autouse=True)
def install(monkeypatch):
    """Installs the two; a test may install others with `install(jvp=..., map_over=...)`."""

    def install(jvp=None, map_over=None):
        if jvp is not None:
            monkeypatch.setattr(forward_stages, "jvp_of_tuple", jvp)
            monkeypatch.setattr(second_order, "jvp_of_tuple", jvp)
        if map_over is not None:
            monkeypatch.setattr(forward_stages, "map_over", map_over)

    install(jvp_from_two_reverse_passes, map_by_loop)
    return install


def failure_of(func, inputs, check=gradcheck, **options):
    """The message of the GradcheckError; also checks that `raise_exception=False` turns it into False."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert check(func, inputs, raise_exception=False, **options) is False
        with pytest.raises(GradcheckError) as caught:
            check(func, inputs, **options)
    return str(caught.value)


def changed(change):
    """The jvp, with `change(tangent, tangents_in)` applied to every tangent it returns."""

    def jvp(func, primals, tangents):
        found = jvp_from_two_reverse_passes(func, primals, tangents)
        return [None if t is None else change(t, tangents) for t in found]

    return jvp


@both_modes
@pytest.mark.parametrize("check_backward_ad", [False, True])
def test_right_tangents_pass(fast_mode, check_backward_ad):
    options = {"check_forward_ad": True, "check_backward_ad": check_backward_ad, "fast_mode": fast_mode}
    x, y, z = leaf(X), leaf([1.0, 2.0, 3.0]), leaf(Z)
    assert gradcheck(lambda x: x.sin(), x, **options)
    assert gradcheck(lambda x, k, y: (x * k * y, x.sum(), x.argmax()), (x, 2.0, y), **options)
    assert gradcheck(lambda z: (z * z, abs(z), z.conj(), z.real), z, **options)
    assert gradcheck(lambda x, z: x[0] * z, (x, z), **options)
    assert gradcheck(lambda x: x * 2, leaf(np.zeros((0, 3))), **options)
    assert gradcheck(lambda x: x * x, leaf(0.5), **options)
    assert x.grad is None and x._version == 0


@both_modes
def test_a_wrong_factor_is_caught_and_named_after_forward_mode(fast_mode, install):
    install(jvp=changed(lambda t, _: t * 1.5))
    text = failure_of(lambda k, x: (x * 0, x * 2), (1.0, leaf(X)), check_forward_ad=True, fast_mode=fast_mode)
    assert "Jacobian computed with forward mode mismatch for output 1 with respect to input 1" in text
    assert gradcheck(lambda x: x * 2, leaf(X), fast_mode=fast_mode)


@both_modes
def test_an_output_without_tangent_counts_as_zero(fast_mode, install):
    install(jvp=changed(lambda t, _: None))
    assert gradcheck(lambda x: x * 0, leaf(X), check_forward_ad=True, fast_mode=fast_mode)
    assert "forward mode" in failure_of(lambda x: x * 2, leaf(X), check_forward_ad=True, fast_mode=fast_mode)


@both_modes
def test_the_two_axes_of_a_complex_input_are_checked_separately(fast_mode, install):
    options = {"check_forward_ad": True, "fast_mode": fast_mode}

    def wrong_along(is_wrong):
        return changed(lambda t, given: t * 1.5 if is_wrong(given[0].detach().numpy()) else t)

    install(jvp=wrong_along(lambda tangent: np.any(tangent.imag)))
    assert "the imaginary part of complex inputs" in failure_of(lambda z: z * 2, leaf(Z), **options)
    install(jvp=wrong_along(lambda tangent: np.any(tangent.real)))
    assert "the real part of complex inputs" in failure_of(lambda z: z * 2, leaf(Z), **options)


@both_modes
def test_the_two_parts_of_a_complex_output_are_compared_separately(fast_mode, install):
    options = {"check_forward_ad": True, "fast_mode": fast_mode}
    install(jvp=changed(lambda t, _: t + 1j * t.real))
    assert "the imaginary part of complex outputs" in failure_of(lambda x: x * (2 + 0j), leaf(X), **options)
    install(jvp=changed(lambda t, _: t + t.real))
    assert "the real part of complex outputs" in failure_of(lambda x: x * (2 + 0j), leaf(X), **options)


@pytest.mark.parametrize("kind", [lambda t, _: t.astype(pb.float32), lambda t, _: t.reshape(1, 3)])
def test_a_tangent_of_another_kind_than_its_output_is_caught(kind, install):
    install(jvp=changed(kind))
    assert "float64[3]" in failure_of(lambda x: x * 2, leaf(X), check_forward_ad=True)


def test_the_inputs_are_passed_without_history(install):
    seen = []

    def jvp(func, primals, tangents):
        seen.append([p.requires_grad for p in primals])
        return jvp_from_two_reverse_passes(func, primals, tangents)

    install(jvp=jvp)
    assert gradcheck(lambda x, c: x * c, (leaf(X), pb.tensor(X)), check_forward_ad=True)
    assert seen and all(flags == [False, False] for flags in seen)


# Inputs without tangent


def test_a_missing_tangent_that_is_not_taken_for_zero_is_caught_with_a_warning(install):
    install(jvp=changed(lambda t, given: t if sum(g is not None for g in given) != 1 else t * (1 + 1e-6)))
    x, y = leaf(X), leaf([1.0, 2.0, 3.0])
    with pytest.warns(UserWarning, match="undefined"), pytest.raises(GradcheckError, match="undefined tangents"):
        gradcheck(lambda x, y: x * y, (x, y), check_forward_ad=True)
    assert gradcheck(lambda x, y: x * y, (x, y), check_forward_ad=True, check_undefined_grad=False)


def test_an_exception_for_a_missing_tangent_is_caught(install):
    def jvp(func, primals, tangents):
        given = [t for t in tangents if t is not None]
        # The Jacobian is computed from basis vectors; random tangents are those of the undefined stage.
        if len(given) == 1 and np.count_nonzero(given[0].detach().numpy()) == 3:
            raise TypeError("a tangent is missing")
        return jvp_from_two_reverse_passes(func, primals, tangents)

    install(jvp=jvp)
    x, y = leaf(X), leaf([1.0, 2.0, 3.0])
    text = failure_of(lambda x, y: x * y, (x, y), check_forward_ad=True)
    assert "input 0" in text and "a tangent is missing" in text


# Batches


@both_modes
def test_batched_tangents_equal_one_pass_for_each(fast_mode):
    options = {"check_forward_ad": True, "check_batched_forward_grad": True, "fast_mode": fast_mode}
    assert gradcheck(lambda x: x.sin(), leaf(X), **options)
    assert gradcheck(lambda x, z: (x.sum() * z, x * 2, x.argmax()), (leaf(X), leaf(Z)), **options)


def test_batched_tangents_that_differ_are_caught(install):
    install(map_over=lambda func, tensors: [t * 1.001 for t in map_by_loop(func, tensors)])
    text = failure_of(lambda x: x * 2, leaf(X), check_forward_ad=True, check_batched_forward_grad=True)
    assert "check_batched_forward_grad" in text


def test_an_error_in_the_batched_pass_is_a_gradcheck_error(install):
    def fails(func, tensors):
        raise ArithmeticError("no batching rule")

    install(map_over=fails)
    text = failure_of(lambda x: x * 2, leaf(X), check_forward_ad=True, check_batched_forward_grad=True)
    assert "check_batched_forward_grad" in text and "no batching rule" in text


# Second derivatives


@both_modes
@pytest.mark.parametrize("check_rev_over_rev", [False, True])
def test_forward_over_reverse_passes(fast_mode, check_rev_over_rev):
    options = {"check_fwd_over_rev": True, "check_rev_over_rev": check_rev_over_rev, "fast_mode": fast_mode}
    a, b = leaf(X), leaf([1.0, 2.0, 3.0])
    assert gradgradcheck(lambda a, b: a * a * b, (a, b), **options)
    assert gradgradcheck(lambda a: 2 * a, a, **options)
    assert gradgradcheck(lambda z: z * z * z.conj(), leaf(Z), **options)


def test_forward_over_reverse_runs_the_backward_formula_as_reverse_mode_does():
    seen = []

    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(g.requires_grad)
            return g * 2

    assert gradgradcheck(Doubled.apply, leaf(X), check_fwd_over_rev=True, check_rev_over_rev=False)
    assert len(seen) > 6 and all(seen)


@both_modes
def test_forward_over_forward_passes(fast_mode):
    options = {"check_fwd_over_fwd": True, "check_rev_over_rev": False, "fast_mode": fast_mode}
    assert gradgradcheck(lambda x: x.sin(), leaf(X), **options)
    assert gradgradcheck(lambda a, k, b: a * a * b * k, (leaf(X), 2.0, leaf([1.0, 2.0, 3.0])), **options)
    assert gradgradcheck(lambda x: x.sin(), leaf(X), check_fwd_over_fwd=True, fast_mode=fast_mode)


@both_modes
@pytest.mark.parametrize(
    "option, change",
    [("check_fwd_over_rev", lambda t, _: t * 0), ("check_fwd_over_fwd", lambda t, _: t.detach())],
    ids=["zero", "right but constant"],
)
def test_a_missing_second_derivative_is_caught(option, change, fast_mode, install):
    install(jvp=changed(change))
    options = {option: True, "check_rev_over_rev": False, "fast_mode": fast_mode}
    assert "forward mode" in failure_of(lambda x: x * x * x, leaf(X), check=gradgradcheck, **options)
