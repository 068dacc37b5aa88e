"""Conformance cases 1 to 54 of forward mode: levels, dual tensors, and propagation through operators."""

import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

fwd = pb.autograd.forward_ad
jvp = pb.func.jvp


def x3():
    return pb.tensor([1.0, 2.0, 3.0])


def t3():
    return pb.tensor([1.0, 10.0, 100.0])


def scalar(value):
    return pb.tensor(float(value))


def dual():
    return fwd.make_dual(x3(), t3())


def tan(value, level=None):
    return fwd.unpack_dual(value, level=level).tangent


@pytest.fixture
def level():
    with fwd.dual_level() as index:
        yield index


# Levels and API


def test_1_the_first_level_is_level_0():
    with fwd.dual_level() as index:
        assert index == 0


def test_2_levels_nest():
    with fwd.dual_level() as outer, fwd.dual_level() as inner:
        assert (outer, inner) == (0, 1)


def test_3_six_levels_are_no_limit():
    assert [fwd.enter_dual_level() for _ in range(6)] == list(range(6))
    for _ in range(6):
        fwd.exit_dual_level()


def test_4_levels_end_in_order():
    index = fwd.enter_dual_level()
    fwd.enter_dual_level()
    with pytest.raises(RuntimeError, match="last"):
        fwd.exit_dual_level(level=index)
    fwd.exit_dual_level()
    fwd.exit_dual_level()


def test_5_there_must_be_a_level_to_exit():
    with pytest.raises(RuntimeError, match="no level"):
        fwd.exit_dual_level()


def test_6_a_dual_needs_a_level():
    with pytest.raises(RuntimeError, match="no level exists"):
        fwd.make_dual(x3(), t3())


def test_7_without_a_level_unpacking_gives_the_tensor_itself():
    x = x3()
    primal, tangent = fwd.unpack_dual(x)
    assert primal is x and tangent is None


def test_8_an_unknown_level_is_an_error(level):
    with pytest.raises(RuntimeError, match="invalid"):
        fwd.unpack_dual(x3(), level=5)


def test_9_the_primal_must_be_floating(level):
    with pytest.raises(ValueError, match="Expected primal"):
        fwd.make_dual(pb.arange(3), t3())


def test_10_the_tangent_must_be_floating(level):
    with pytest.raises(ValueError, match="Expected tangent"):
        fwd.make_dual(x3(), pb.arange(3))


@pytest.mark.parametrize("case", [11, 12])
def test_11_and_12_the_tangent_has_the_primals_shape(level, case):
    with pytest.raises(RuntimeError, match="different size"):
        fwd.make_dual(x3(), pb.ones(2) if case == 11 else scalar(1))


def test_13_a_tensor_has_one_tangent_per_level(level):
    with pytest.raises(RuntimeError, match="same level"):
        fwd.make_dual(dual(), t3())


def test_14_a_tangent_is_a_constant_of_its_level(level):
    with pytest.raises(RuntimeError, match="same level"):
        fwd.make_dual(x3(), dual())


def test_15_two_levels_have_two_tangents():
    with fwd.dual_level() as outer, fwd.dual_level() as inner:
        both = fwd.make_dual(fwd.make_dual(x3(), t3(), level=outer), x3(), level=inner)
        assert_close(tan(both, outer), t3())
        assert_close(tan(both, inner), x3())


def test_16_a_dual_is_an_alias_that_its_primal_does_not_know_of(level):
    x, t = x3(), t3()
    d = fwd.make_dual(x, t)
    assert d._base is x and tan(d) is t and tan(x) is None


def test_17_an_expanded_tangent_gets_memory(level):
    tangent = tan(fwd.make_dual(x3(), scalar(1).expand(3)))
    assert tangent.strides == x3().strides


def test_18_the_tangent_gets_the_primals_dtype(level):
    d = fwd.make_dual(x3().astype(pb.float32), t3())
    assert tan(d).dtype == pb.float32


def test_19_a_real_primal_has_no_complex_tangent(level):
    with pytest.raises(ValueError, match="complex"):
        fwd.make_dual(x3(), t3() * 1j)


def test_20_a_complex_primal_makes_the_tangent_complex(level):
    assert tan(fwd.make_dual(x3() * 1j, t3())).dtype == pb.complex128


def test_21_primal_and_dual_share_their_version(level):
    x = x3()
    d = fwd.make_dual(x, t3())
    x.add_(1)
    assert d._version == x._version == 1


def test_22_every_unpacking_makes_a_new_primal(level):
    d = dual()
    assert fwd.unpack_dual(d).primal is not fwd.unpack_dual(d).primal
    assert tan(d) is tan(d)


def test_23_tangents_end_with_their_level():
    with fwd.dual_level():
        y = dual() * 2
    assert tan(y) is None
    with fwd.dual_level():
        assert tan(y) is None


def test_24_a_tangent_dies_with_its_dual(level):
    d = fwd.make_dual(x3(), t3())
    reference = weakref.ref(tan(d))
    del d
    assert reference() is None


def test_25_a_tangent_dies_with_its_level():
    with fwd.dual_level():
        y = dual() * 2
        reference = weakref.ref(tan(y))
    assert reference() is None and y is not None


def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_26_threads_have_levels_of_their_own(level):
    def work():
        with fwd.dual_level() as index:
            return index

    assert in_thread(work) == level == 0


def test_27_a_dual_may_be_used_in_another_thread(level):
    d = dual()
    assert_close(tan(in_thread(lambda: d * 2)), t3() * 2)


def test_28_an_exception_closes_the_level():
    with pytest.raises(KeyError), fwd.dual_level():
        raise KeyError
    with fwd.dual_level() as index:
        assert index == 0


def test_29_a_level_decorates_a_function():
    @fwd.dual_level()
    def body():
        return tan(dual() * 3)

    assert_close(body(), t3() * 3)


def test_30_the_text_of_a_dual_shows_its_tangent(level):
    d = dual()
    assert "tangent=" in repr(d)
    assert "tangent=" not in repr(fwd.unpack_dual(d).primal)


def test_31_the_level_of_a_transform_is_not_for_make_dual():
    with pytest.raises(RuntimeError, match="no level"):
        jvp(lambda v: fwd.make_dual(v, v), (x3(),), (t3(),))


def test_32_the_level_of_a_transform_is_invisible():
    value, _ = jvp(lambda v: pb.zeros(3) if tan(v) is None else v, (x3(),), (t3(),))
    assert_close(value, pb.zeros(3))


def masked(function):
    with fwd._set_fwd_grad_enabled(False):
        return function()


def test_33_a_mask_outside_does_not_concern_a_transform():
    assert_close(masked(lambda: jvp(pb.sin, (scalar(1),), (scalar(1),))[1]), 0.5403023058681398)
    assert fwd._is_fwd_grad_enabled()


def test_34_a_mask_inside_is_obeyed_at_every_depth():
    def f(x):
        return x**2 - masked(lambda: x**2)

    def slope(x):
        return jvp(f, (x,), (scalar(1),))[1]

    assert_close(slope(scalar(3)), 6.0)
    assert_close(jvp(slope, (scalar(3),), (scalar(1),))[1], 2.0)


# Propagation


def test_35_an_operator_pushes_the_tangent(level):
    assert_close(tan(dual().sin()), t3() * x3().cos())


def test_36_tangents_flow_under_no_grad(level):
    x = x3().requires_grad_()
    with pb.no_grad():
        y = fwd.make_dual(x, t3()).sin()
    assert_close(tan(y), t3() * x3().cos())
    assert not tan(y).requires_grad and not y.requires_grad


def test_37_inference_mode_stops_tangents(level):
    d = dual()
    with pb.inference_mode():
        assert tan(d * 2) is None


def test_38_what_detaches_and_what_copies(level):
    d = dual()
    assert tan(d.detach()) is None and tan(d.data) is None
    assert_close(tan(d.clone()), t3())


def test_39_integers_and_truth_values_have_no_tangent(level):
    d = dual()
    assert tan(d.astype(pb.int64)) is None and tan(d == d) is None and tan(d.argmax()) is None


def test_40_a_cast_casts_the_tangent(level):
    assert tan(dual().astype(pb.float32)).dtype == pb.float32


def test_41_a_derivative_that_is_zero_is_a_tangent(level):
    assert_close(tan(pb.floor(dual())), pb.zeros(3))


def test_42_what_only_takes_the_shape_has_no_tangent(level):
    assert tan(pb.zeros_like(dual())) is None and tan(pb.random.rand_like(dual())) is None


def test_43_out_is_refused(level):
    with pytest.raises(RuntimeError, match="out= function"):
        pb.sin(dual(), out=pb.zeros(3))


def test_44_an_operator_without_a_forward_rule_is_refused(level):
    @pb.library.custom_op("case::square_without_forward_rule", mutates_args=())
    def square(x: pb.Tensor) -> pb.Tensor:
        return pb.tensor(x.numpy() ** 2)

    assert_close(square(x3()), [1.0, 4.0, 9.0])
    with pytest.raises(NotImplementedError, match="square_without_forward_rule"):
        square(dual())
    with pytest.raises(NotImplementedError, match="square_without_forward_rule"):
        jvp(square, (x3(),), (t3(),))


def test_45_tangents_keep_the_dtype_of_their_primal():
    x = pb.tensor(2.0, dtype=pb.float32)
    _, slope = jvp(lambda x: x * x.item(), (x,), (x,))
    assert slope.dtype == pb.float32 and slope.item() == 4


def test_46_ties_are_shared_by_max_and_taken_by_index_otherwise(level):
    d = fwd.make_dual(pb.tensor([3.0, 1.0, 3.0]), pb.tensor([1.0, 2.0, 4.0]))
    assert_close(tan(d.max()), 2.5)
    assert_close(tan(d.max(axis=0)), 1.0)
    assert_close(tan(pb.sort(d)), [2.0, 1.0, 4.0])


def test_47_maximum_splits_ties(level):
    d = fwd.make_dual(pb.tensor([3.0, 1.0, 3.0]), pb.tensor([1.0, 2.0, 4.0]))
    assert_close(tan(pb.maximum(d, pb.tensor([3.0, 0.0, 5.0]))), [0.5, 2.0, 0.0])


def test_48_and_49_kinks(level):
    d = fwd.make_dual(pb.tensor([0.0, -1.0, 1.0]), pb.ones(3))
    assert_close(tan(pb.nn.relu(d)), [0.0, 0.0, 1.0])
    assert_close(tan(abs(d)), [0.0, -1.0, 1.0])
    assert_close(tan(pb.clip(d, 0, 1)), [1.0, 0.0, 1.0])


def test_50_a_constant_part_has_tangent_zero(level):
    assert_close(tan(pb.stack([dual(), pb.ones(3)])), pb.stack([t3(), pb.zeros(3)]))


def test_51_indexing_picks_tangents(level):
    assert_close(tan(dual()[[1, 1]]), [10.0, 10.0])


@pytest.mark.parametrize("outer_first", [True, False])
def test_52_mixed_derivatives_do_not_depend_on_the_order(outer_first):
    one = scalar(1)
    with fwd.dual_level() as outer, fwd.dual_level() as inner:
        first, second = (outer, inner) if outer_first else (inner, outer)
        e = fwd.make_dual(fwd.make_dual(scalar(2), one, level=first), one, level=second)
        y = e.sin() * e
        assert_close(tan(y, outer), 0.07700375373139783)
        assert_close(tan(y, inner), 0.07700375373139783)
        assert_close(tan(tan(y, inner), outer), -2.650888526745332)
        assert_close(tan(tan(y, outer), inner), -2.650888526745332)


def test_53_a_tangent_may_carry_a_newer_level():
    with fwd.dual_level() as outer, fwd.dual_level() as inner:
        tangent = fwd.make_dual(scalar(3), scalar(1), level=inner)
        y = fwd.make_dual(scalar(2), tangent, level=outer).sin()
        assert_close(tan(y, outer), 3 * np.cos(2.0))
        assert_close(tan(tan(y, outer), inner), np.cos(2.0))
        assert tan(y, inner) is None or tan(y, inner).item() == 0


def test_54_levels_do_not_confuse_perturbations():
    def derivative(function, at):
        with fwd.dual_level():
            return tan(function(fwd.make_dual(at, scalar(1))))

    assert_close(derivative(lambda x: x * derivative(lambda y: x + y, scalar(1)), scalar(3)), 1.0)
