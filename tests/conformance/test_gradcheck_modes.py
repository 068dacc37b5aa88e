"""Conformance cases 198 to 201: gradcheck in forward mode, and on batches."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import GradcheckError, gradcheck, gradgradcheck

both_modes = pytest.mark.parametrize("fast_mode", [False, True])


def leaf(*values):
    return pb.tensor(np.array(values), requires_grad=True)


def x64():
    return leaf(0.3, -1.2, 2.0)


@both_modes
def test_198_all_checks_of_first_derivatives(fast_mode):
    options = {
        "check_forward_ad": True,
        "check_batched_forward_grad": True,
        "check_batched_grad": True,
        "fast_mode": fast_mode,
    }
    assert gradcheck(pb.sin, (x64(),), **options) is True
    assert gradcheck(lambda a, k, b: (pb.outer(a, b) * k, (a * a).sum(), a.argmax()), (x64(), 2.0, x64()), **options)
    z = leaf(1 + 2j, -0.5 + 0.3j)
    assert gradcheck(lambda z: (z * z.conj(), abs(z), z.real, pb.exp(z)), z, **options)
    assert gradcheck(lambda x, z: x[0] * z, (x64(), z), **options)
    assert gradcheck(lambda a: pb.linalg.inv(a @ a.T + pb.eye(2)), leaf([1.0, 0.5], [-0.3, 2.0]), **options)


def test_198_writes_in_place_and_views():
    def f(x):
        y = pb.zeros(3)
        y[1:] = x[:2] * x[2]
        y[0] = x.sum()
        y.mul_(x)
        return y, y[1:]

    assert gradcheck(f, x64(), check_forward_ad=True, check_batched_forward_grad=True, check_batched_grad=True)


def test_199_options_that_do_not_go_together():
    for options in (
        {"check_batched_forward_grad": True},
        {"check_forward_ad": False, "check_backward_ad": False},
        {"check_forward_ad": True, "check_backward_ad": False, "check_batched_grad": True},
    ):
        with pytest.raises(AssertionError):
            gradcheck(pb.sin, (x64(),), **options)
    with pytest.raises(AssertionError):
        gradgradcheck(pb.sin, (x64(),), check_rev_over_rev=False)


def doubled(tangent, **members):
    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return tangent(t)

        locals().update(members)

    return Doubled.apply


@both_modes
def test_200_a_wrong_jvp_is_found(fast_mode):
    wrong = doubled(lambda t: t * 3)
    assert gradcheck(wrong, (x64(),), fast_mode=fast_mode)
    options = {"check_forward_ad": True, "fast_mode": fast_mode}
    with pytest.raises(GradcheckError, match="forward mode mismatch for output 0 with respect to input 0"):
        gradcheck(wrong, (x64(),), **options)
    assert gradcheck(wrong, (x64(),), raise_exception=False, **options) is False
    assert gradcheck(doubled(lambda t: t * 2), (x64(),), **options)


def test_200_a_function_that_does_not_support_batches_is_found():
    alone = doubled(lambda t: t * 2)
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    with pytest.raises(GradcheckError, match="check_batched_forward_grad"):
        gradcheck(lambda x: doubled(lambda t: pb.asarray(t.numpy() * 2))(x), (x64(),), **options)
    with pytest.raises(GradcheckError, match="check_batched_grad"):
        gradcheck(
            Converting.apply, (x64(),), check_batched_grad=True
        )  # the backward looks at values, which a batch has not
    assert gradcheck(alone, (x64(),), **options)


class Converting(pb.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return pb.asarray(g.detach().numpy() * 2)


@both_modes
def test_201_second_derivatives_in_all_modes(fast_mode):
    assert gradgradcheck(pb.sin, (x64(),), check_fwd_over_rev=True, fast_mode=fast_mode) is True
    assert gradgradcheck(pb.sin, (x64(),), check_fwd_over_fwd=True, fast_mode=fast_mode) is True
    options = {"check_fwd_over_rev": True, "check_fwd_over_fwd": True, "check_batched_grad": True}
    assert gradgradcheck(lambda a, k, b: (a * a * b * k).sum(), (x64(), 2.0, x64()), fast_mode=fast_mode, **options)
    assert gradgradcheck(lambda z: z * z * z.conj(), (leaf(1 + 2j, 0.3j),), fast_mode=fast_mode, **options)


def test_201_forward_over_forward_finds_a_tangent_that_is_not_differentiable():
    class Constant(pb.autograd.Function):
        """The sine, whose tangent is right but does not know that it depends on x."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            ctx.save_for_backward(x)
            return pb.sin(x)

        @staticmethod
        def backward(ctx, g):
            return g * pb.cos(ctx.saved_tensors[0])

        @staticmethod
        def jvp(ctx, t):
            return t * pb.cos(ctx.saved_tensors[0].detach())

    assert gradcheck(Constant.apply, (x64(),), check_forward_ad=True)
    assert gradgradcheck(Constant.apply, (x64(),), check_fwd_over_rev=True)
    with pytest.raises(GradcheckError, match="forward mode"):
        gradgradcheck(Constant.apply, (x64(),), check_fwd_over_fwd=True)
