"""Conformance cases 55 to 76 of forward mode: views and in-place writes carry tangents in both directions."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

fwd = pb.autograd.forward_ad


def x3():
    return pb.tensor([1.0, 2.0, 3.0])


def t3():
    return pb.tensor([1.0, 10.0, 100.0])


def tan(value):
    return fwd.unpack_dual(value).tangent


@pytest.fixture(autouse=True)
def level():
    with fwd.dual_level() as index:
        yield index


@pytest.fixture
def d():
    return fwd.make_dual(x3(), t3())


@pytest.fixture
def b():
    return pb.zeros(3)


def test_55_a_write_to_a_view_reaches_the_base(b, d):
    v = b[:1]
    v.copy_(d[:1])
    assert_close(tan(b), [1.0, 0.0, 0.0])
    assert_close(tan(v), [1.0])
    assert tan(v)._base is tan(b)


def test_56_a_write_to_the_base_reaches_its_views(b, d):
    v = b[1:]
    b.copy_(d)
    assert_close(tan(v), [10.0, 100.0])
    assert tan(v)._base is tan(b)


def test_57_a_write_to_one_view_is_seen_by_another(b, d):
    other = b[1:]
    b[:2].add_(d[:2])
    assert_close(tan(other), [10.0, 0.0])


def test_58_a_detached_alias_keeps_its_tangent_to_itself(b, d):
    v = b.detach()
    v.copy_(d)
    assert tan(b) is None
    assert_close(tan(v), t3())


def test_59_a_view_taken_under_no_grad_is_a_forward_view(b, d):
    with pb.no_grad():
        v = b[:2]
    v.copy_(d[:2])
    assert_close(tan(b), [1.0, 10.0, 0.0])


def test_60_pieces_of_a_split_are_forward_views(d):
    base = pb.zeros(4)
    first, second = pb.chunk(base, 2)
    first.copy_(d[:2])
    assert_close(tan(base), [1.0, 10.0, 0.0, 0.0])
    assert_close(tan(second), [0.0, 0.0])


def test_61_pieces_of_a_base_that_requires_grad_can_be_written(d):
    # torch refuses this write (multiple views of one base); here they can be written, difference D6.
    base = pb.zeros((2, 3)).requires_grad_() * 1
    first, second = pb.unbind(base)
    first.copy_(d)
    assert_close(tan(base), pb.stack([t3(), pb.zeros(3)]))
    assert_close(tan(second), pb.zeros(3))


@pytest.mark.parametrize("write", [lambda d: d.copy_(pb.zeros(3)), lambda d: d.zero_(), lambda d: d.fill_(3)])
def test_62_overwriting_with_a_constant_makes_the_tangent_zero(d, write):
    write(d)
    assert_close(tan(d), pb.zeros(3))


def test_63_overwriting_a_part_makes_that_part_zero(d):
    d[0] = 5.0
    assert_close(tan(d), [0.0, 10.0, 100.0])


def test_64_a_write_to_a_detached_alias_leaves_the_tangent(d):
    d.detach().mul_(2)
    assert_close(fwd.unpack_dual(d).primal, x3() * 2)
    assert_close(tan(d), t3())


def test_65_a_write_to_a_dual_changes_the_memory_of_both_parts():
    foo, bar = x3(), t3()
    dual = fwd.make_dual(foo, bar)
    dual.mul_(2)
    assert_close(foo, x3() * 2)
    assert_close(bar, t3() * 2)
    assert tan(foo) is None and tan(dual) is bar


def test_66_a_transposed_view():
    base = pb.zeros((2, 2))
    tangent = pb.arange(4.0).reshape(2, 2)
    view = base.T
    view.copy_(fwd.make_dual(pb.ones((2, 2)), tangent))
    assert_close(tan(base), tangent.T)
    assert tan(view)._base is tan(base)


def test_67_a_dual_is_no_forward_view_of_its_primal(b):
    v = b[:2]
    e = fwd.make_dual(b, pb.ones(3))
    v.mul_(3)
    assert_close(tan(e), pb.ones(3))
    assert tan(v) is None


def test_68_a_write_to_a_dual_of_a_view_stays_there(b):
    e = fwd.make_dual(b[:2], pb.ones(2))
    e.mul_(2)
    assert tan(b) is None
    assert_close(tan(e), pb.full((2,), 2.0))


def test_69_a_write_casts_the_tangent():
    target = pb.zeros(3)
    target.copy_(fwd.make_dual(x3().astype(pb.float32), t3().astype(pb.float32)))
    assert tan(target).dtype == pb.float64


def test_70_an_integer_target_drops_the_tangent():
    target = pb.zeros(3, dtype=pb.int64)
    target.copy_(fwd.make_dual(pb.tensor([1.5, 2.5, 3.5]), t3()))
    assert target.tolist() == [1, 2, 3] and tan(target) is None


def test_71_a_dual_can_not_be_resized(d):
    with pytest.raises(RuntimeError, match="resize"):
        d.clone().resize_(3)


def test_72_detach_in_place_drops_the_tangent(d):
    assert tan(d.clone().detach_()) is None


def test_73_a_tangent_lies_in_memory_like_its_primal():
    primal, tangent = pb.zeros((2, 3)).T, pb.ones((3, 2))
    found = tan(fwd.make_dual(primal, tangent))
    assert found.strides == primal.strides and found is not tangent
    found.mul_(2)
    assert_close(tangent, pb.ones((3, 2)))


def test_74_a_tangent_has_a_buffer_like_its_primals():
    # as_strided reaches only elements of the tensor itself here, not others of its buffer; those at other strides.
    primal = pb.arange(10.0)[1:8:2]
    dual = fwd.make_dual(primal, t := pb.tensor([1.0, 10.0, 100.0, 1000.0]))
    assert_close(tan(dual.as_strided((2,), (4,), 2)), t[1::2])


def test_75_an_empty_tangent_is_adopted_as_it_is():
    tangent = pb.zeros((3, 0)).T
    assert tan(fwd.make_dual(pb.zeros((0, 3)), tangent)) is tangent


def test_76_a_saved_output_has_its_tangent_while_the_level_is_open(level):
    y = pb.exp(fwd.make_dual(x3().requires_grad_(), t3()))
    saved = y.grad_fn._saved_result
    assert_close(tan(saved), np.exp([1.0, 2.0, 3.0]) * t3().numpy())
    fwd.exit_dual_level()
    assert tan(y.grad_fn._saved_result) is None
    fwd.enter_dual_level()


def test_writes_follow_each_other_between_base_and_view(b, d):
    v = b[:2]
    b.add_(d)
    v.mul_(2)
    assert_close(tan(b), [2.0, 20.0, 100.0])


def test_a_transform_never_writes_to_the_callers_tangent():
    y, t = x3(), t3()
    _, slope = pb.func.jvp(lambda v: v.mul_(2), (y,), (t,))
    assert_close(y, x3() * 2)
    assert_close(t, t3())
    assert_close(slope, t3() * 2)


def test_results_that_share_a_tangent_do_not_share_writes(d):
    shifted = d + 1  # its tangent is that of d
    shifted.mul_(2)
    assert_close(tan(d), t3())
    assert_close(tan(shifted), t3() * 2)


def test_a_write_uses_the_values_from_before(d):
    e = d.clone()
    e.mul_(e)
    assert_close(tan(e), 2 * x3() * t3())
    e = d.clone()
    e[1:] = e[:-1] * e[1:]
    assert_close(tan(e), [1.0, 1 * 10.0 + 1 * 2.0, 2 * 100.0 + 3 * 10.0])


def test_writes_at_two_levels_give_mixed_derivatives():
    def f(x):
        y = pb.zeros(2)
        y[0] = x * x
        y[1] = y[0] * x
        y.mul_(x)
        return y[1]

    def slope(g):
        return lambda x: pb.func.jvp(g, (x,), (pb.tensor(1.0),))[1]

    assert_close(slope(f)(pb.tensor(2.0)), 32.0)
    assert_close(slope(slope(f))(pb.tensor(2.0)), 48.0)
    assert_close(slope(slope(slope(f)))(pb.tensor(2.0)), 48.0)


@pytest.mark.parametrize("part", [pb.real, pb.imag, lambda z: pb.real(z)[1:], lambda z: pb.imag(z)[::-1]])
def test_parts_of_complex_numbers_have_tangents_of_their_own(part):
    primal = part(pb.tensor([1 + 2j, 3 - 1j, 0.5 + 0j]))
    tangent = pb.arange(1.0, primal.size + 1)
    dual = fwd.make_dual(primal, tangent)
    assert_close(tan(dual), tangent)
    dual[0] *= 3
    assert_close(tan(dual)[0], 3.0)
