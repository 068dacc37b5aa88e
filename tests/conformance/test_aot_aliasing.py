"""Ahead-of-time capture, outputs that are aliases: conformance cases 46 to 103.

Pieces of a split are ordinary views in Pullback, and views made without grad do not require grad; where the
specification says otherwise, the cases state what eager code does (docs/design/ahead-of-time.md).
"""

import numpy as np
import pytest

import pullback as pb
from pullback import aot

from .aot import VARIANTS, address, agree, behind, check, inner, memory, ops_of, plain, rg, trace, unchanged_by_errors
from .shorthand import Fn, raises, shares_memory


def compiled(f, **options):
    """The function, compiled by the default backend."""
    return VARIANTS["numpy"](f, **options)


def one():
    return (rg(),)


def test_046_returning_an_input():
    check(lambda x: x, one, O=["II(0)"], T=[])
    x = rg()
    assert compiled(lambda x: x)(x) is x


def test_047_returning_an_input_twice():
    check(lambda x: (x, x), one, O=["II(0)", "II(0)"])
    x = rg()
    first, second = compiled(lambda x: (x, x))(x)
    assert first is x and second is x


def test_048_an_input_and_a_view_of_it():
    def f(v):
        return v, v.reshape(-1)

    check(f, lambda: (inner(),), O=["II(0)", "AI(0)(_reshape)"])
    v = inner()
    _, flat = compiled(f)(v)
    flat.mul_(2)
    v.sum().backward()
    assert v.origins[0].grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_049_a_chain_of_views_of_an_input():
    f = lambda x: x.reshape(-1)[1:][None]
    check(f, one, O=["AI(0)(_reshape,_basic_index,_basic_index)"])


def test_050_a_view_of_a_constant_input():
    meta = check(lambda b: b.reshape(-1), lambda: (plain(),), O=["AI(0)"])
    assert not meta.output_info[0].requires_grad


def test_051_a_detached_input():
    check(lambda x: x.detach(), one, O=["AI(0)()"])
    x = rg()
    result = compiled(lambda x: x.detach())(x)
    assert not result.requires_grad and shares_memory(result, x)


def test_052_a_detached_input_beside_a_result():
    check(lambda x, y: (x.detach(), y * 2), lambda: (rg(), rg()), O=["AI(0)", "NA"], T=["out 1"])


def test_053_a_lone_view_of_an_intermediate_is_hidden():
    f = lambda x: (x * 2).reshape(-1)
    check(f, one, O=["UV"], T=["out 0"])
    assert compiled(f)(rg())._base is None


def test_054_two_views_of_an_intermediate_share_its_base():
    def f(x):
        o = x * 3
        return o.reshape(-1), o.reshape(-1)

    meta = check(f, one, O=["SB(0)(_reshape)", "AB(0)(_reshape)"], T=["ibase 0"])
    assert meta.num_intermediate_bases == 1
    first, second = compiled(f)(rg())
    assert first._base is second._base is not None


def test_055_a_view_before_its_base():
    def f(x):
        o = x * 3
        return o.reshape(-1), o

    check(f, one, O=["UO(1)(_reshape)", "NA"], T=["out 1"])


def test_056_a_view_behind_its_base():
    def f(x):
        o = x * 3
        return o, o.reshape(-1)

    check(f, one, O=["NA", "UO(0)(_reshape)"], T=["out 0"])


def test_057_one_result_twice():
    def f(x):
        o = x * 3
        return o, o

    check(f, one, O=["NA", "dup 0"], T=["out 0"])
    first, second = compiled(f)(rg())
    assert first is second


def test_058_one_view_twice():
    def f(x):
        w = (x * 3).reshape(-1)
        return w, w

    check(f, one, O=["UV", "dup 0"])
    first, second = compiled(f)(rg())
    assert first is second


def test_059_a_base_around_its_view():
    def f(x):
        o = x * 3
        return o, o.reshape(-1), o

    check(f, one, O=["NA", "UO(0)", "dup 0"])


def test_060_a_result_and_itself_detached():
    def f(x):
        o = x * 3
        return o, o.detach()

    check(f, one, O=["NA", "UO(0)()"])
    first, second = compiled(f)(rg())
    assert not second.requires_grad and shares_memory(first, second)


def test_061_a_result_behind_itself_detached():
    def f(x):
        o = x * 3
        return o.detach(), o

    check(f, one, O=["UO(1)()", "NA"])


def transposed_and_detached(x):
    o = (x + 1).T
    return o.detach(), o


def test_062_a_chain_begins_at_the_base_that_it_is_replayed_on():
    make = lambda: (pb.tensor([[0.0, 1.0], [2.0, 3.0]]).requires_grad_(),)
    # A single output is on the base of `o` besides the detached one, which is no view of it.
    check(transposed_and_detached, make, O=["UO(1)()", "SB(0)(permute_dims)"])
    assert compiled(transposed_and_detached)(*make())[0].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_063_the_same_where_the_shapes_differ():
    check(transposed_and_detached, lambda: (rg((2, 3)),))
    assert compiled(transposed_and_detached)(rg((2, 3)))[0].shape == (3, 2)


def test_064_a_row_of_a_leaf_that_was_made_by_detaching():
    def f(x):
        q = (x * 1).T.detach().requires_grad_()
        return q[0], q

    make = lambda: (pb.tensor([[0.0, 1.0], [2.0, 3.0]]).requires_grad_(),)
    check(f, make, O=["UO(1)(_basic_index)", "NA"], T=[])
    assert compiled(f)(*make())[0].tolist() == [0.0, 2.0]


def test_065_a_detached_row_beside_its_base():
    def f(x):
        o = x * 3
        return o.reshape(-1), o, o[0].detach()

    meta = check(f, one, O=["UO(1)(_reshape)", "NA", "NA"])
    assert len({info.alias_group for info in meta.output_info}) == 1
    assert not compiled(f)(rg())[2].requires_grad


def test_066_a_view_of_a_detached_alias():
    def f(x):
        o = x * 3
        return o.detach().reshape(-1), o

    meta = check(f, one, O=["NA", "NA"])
    assert meta.output_info[0].alias_group == meta.output_info[1].alias_group is not None


def test_067_detached_twice():
    def f(x):
        o = x * 3
        return o.detach(), o.detach(), o

    check(f, one, O=["UO(2)", "UO(2)", "NA"])


def test_068_detached_before_a_view_of_the_same_place():
    def f(x):
        o = x * 3
        return o.detach(), o.reshape(2, 2)

    check(f, one, O=["UO(1)()", "SB(0)"])


def test_069_a_result_its_transpose_and_that_detached():
    def f(x):
        o = x * 3
        return o, o.T, o.T.detach()

    check(f, one, O=["NA", "UO(0)(permute_dims)", "UO(1)()"])


def test_070_pieces_of_an_input_are_views_of_it():
    check(lambda x: x.unbind(0), one, O=["AI(0)", "AI(0)"], T=[])


def test_071_pieces_of_a_constant_input():
    check(lambda b: b.unbind(0), lambda: (plain(),), O=["AI(0)", "AI(0)"])


def test_072_pieces_of_an_input_and_the_input():
    check(lambda x: (*x.unbind(0), x), one, O=["AI(0)", "AI(0)", "II(0)"])


def test_073_pieces_of_an_input_and_another_view():
    check(lambda x: (*x.unbind(0), x.reshape(2, 2)), one, O=["AI(0)", "AI(0)", "AI(0)"])


@pytest.mark.parametrize("cut", [lambda o: o.unbind(0), lambda o: tuple(o.split([1]))])
def test_074_pieces_of_an_intermediate(cut):
    check(lambda x: cut(x * 3), one, O=["SB(0)", "AB(0)"], T=["ibase 0"])


def test_075_pieces_of_an_intermediate_and_itself():
    def f(x):
        o = x * 3
        return (*o.unbind(0), o)

    check(f, one, O=["UO(2)", "UO(2)", "NA"], T=["out 2"])


def test_076_pieces_of_an_intermediate_and_another_view():
    def f(x):
        o = x * 3
        return (*o.unbind(0), o.reshape(2, 2))

    check(f, one, O=["SB(0)", "AB(0)", "AB(0)"], T=["ibase 0"])


def test_077_pieces_of_an_intermediate_itself_and_another_view():
    def f(x):
        o = x * 3
        return (*o.unbind(0), o, o.reshape(2, 2))

    check(f, one, O=["UO(2)", "UO(2)", "NA", "UO(2)"], T=["out 2"])


def test_078_a_view_and_a_view_of_it():
    def f(x):
        flat = (x * 3).reshape(-1)
        return flat, flat[0:2]

    check(f, one, O=["SB(0)(_reshape)", "AB(0)(_reshape,_basic_index)"])


def test_079_an_intermediate_of_which_a_row_is_written():
    def f(x):
        o = x * 3
        o[0].add_(1)
        return o

    check(f, one, O=["NA"])
    assert "update" in ops_of(trace(f, rg()))
    x = rg()
    compiled(f)(x).sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_080_a_row_that_was_written():
    def row(x):
        p = (x * 3)[0]
        p.add_(1)
        return p

    def row_and_base(x):
        o = x * 3
        p = o[0]
        p.add_(1)
        return p, o

    check(row, one, O=["UV"])
    check(row_and_base, one, O=["UO(1)(_basic_index)", "NA"])


def test_081_a_view_sees_a_later_write_to_its_input():
    def f(v):
        y = v.reshape(-1)
        v.mul_(2)
        return y

    check(f, lambda: (inner(),), I=["OUT*"], O=["AI(0)(_reshape)"], T=["mut 0"])


def test_082_an_input_that_was_written_and_views_of_it():
    def f(v):
        return v.add_(1), v.reshape(-1), v

    check(f, lambda: (inner(),), O=["II(0)", "AI(0)", "II(0)"], T=["mut 0"])


def test_083_a_view_of_an_input_that_was_transposed_in_place():
    def f(v):
        v.t_()
        v[0].mul_(2)
        return v[...]

    check(f, lambda: (inner((2, 3)),), O=["AI(0)(_basic_index)"])


def test_084_a_detached_alias_sees_a_later_write():
    def f(v):
        w = v.detach()
        v.mul_(2)
        return v, w

    check(f, lambda: (inner(),), O=["II(0)", "AI(0)()"])
    _, w = compiled(f)(inner())
    assert not w.requires_grad


HALF = Fn(lambda c, x: x, lambda c, q: q * 0.5)
FLAT_HALF = Fn(lambda c, x: x.reshape(-1), lambda c, q: q.reshape(2, 2) * 0.5)


def gradient_through(f):
    x = rg()
    compiled(f)(x).sum().backward()
    return x.grad.tolist()


def test_085_a_custom_function_that_returns_its_input():
    check(lambda x: HALF(x), one, O=["CF"], T=["out 0"])
    assert gradient_through(lambda x: HALF(x)) == [[0.5, 0.5], [0.5, 0.5]]


def test_086_a_view_of_the_view_of_a_custom_function():
    f = lambda x: FLAT_HALF(x).reshape(2, 2)
    check(f, one, O=["CF"])
    assert gradient_through(f) == [[0.5, 0.5], [0.5, 0.5]]


def test_087_a_custom_function_view_of_an_intermediate():
    f = lambda x: FLAT_HALF(x * 1)
    check(f, one, O=["UV"])
    assert gradient_through(f) == [[0.5, 0.5], [0.5, 0.5]]


def test_087_beside_its_base_it_keeps_its_backward():
    def f(x):
        o = x * 1
        return o, FLAT_HALF(o)

    check(f, one, O=["NA", "UV"])


def test_088_a_custom_function_on_a_constant():
    check(lambda b: HALF(b), lambda: (plain(),), O=["AI(0)"])


def test_089_a_view_made_without_grad_of_an_intermediate():
    def f(x):
        o = x * 3
        with pb.no_grad():
            w = o.reshape(-1)
        return o.sum(), w

    check(f, one, O=["NA", "NA"], T=["out 0"])
    _, w = compiled(f)(rg())
    assert w.grad_fn is None


def test_090_a_view_made_without_grad_of_an_input():
    def f(x):
        with pb.no_grad():
            w = x.reshape(-1)
        return w, x * 2

    check(f, one, O=["AI(0)", "NA"])
    assert compiled(f)(rg())[0].grad_fn is None


def test_091_a_leaf_made_from_an_input():
    def f(x):
        return x.detach().requires_grad_(), x * 2

    check(f, one, O=["AI(0)()", "NA"])
    x = rg()
    leaf, _ = compiled(f)(x)
    assert leaf.is_leaf and leaf.requires_grad
    leaf.sum().backward()
    assert x.grad is None and leaf.grad is not None


def test_092_a_leaf_that_is_made_used_and_returned():
    def f(x):
        q = pb.ones(2, requires_grad=True)
        return x * q, q

    unchanged_by_errors(f, one, aot.TraceError)


def test_093_a_constant_result_is_new_in_every_call():
    def f(x):
        return pb.ones(2), x * 2

    check(f, one, O=["NA", "NA"], T=["out 1"])
    call = compiled(f)
    first, second = call(rg())[0], call(rg())[0]
    assert not shares_memory(first, second)
    first.mul_(5)
    assert call(rg())[0].tolist() == [1.0, 1.0]


def test_094_results_that_are_no_tensors():
    meta = check(lambda x: (x * 2, 3, None, "s", 2.5, True), one, O=["NA"] * 6)
    assert all(info.dynamic_dims is None for info in meta.output_info[1:])
    assert compiled(lambda x: (x * 2, 3, None, "s", 2.5, True))(rg())[1:] == (3, None, "s", 2.5, True)


def test_095_a_result_of_an_unknown_type():
    error = unchanged_by_errors(lambda x: (x * 2, object()), one, aot.UnsupportedTypeError)
    assert "output[1]" in str(error)


def test_096_results_in_containers():
    def f(x):
        o = x * 3
        return [o, {"k": o.reshape(-1)}, (o,)]

    check(f, one, O=["NA", "UO(0)", "dup 0"])


def test_097_views_without_grad_share_memory():
    def f(x):
        with pb.no_grad():
            o = x * 3
            return o, o.reshape(-1)

    meta = check(f, one, O=["NA", "NA"])
    assert meta.output_info[0].alias_group == meta.output_info[1].alias_group is not None
    first, second = compiled(f)(rg())
    first.mul_(2)
    assert second.tolist() == first.reshape(-1).tolist()


def test_097_a_write_with_history_reaches_the_base():
    def f(b):
        o = b * 3
        return o, o.reshape(-1)

    def then_written(function):
        y = rg((4,))
        base, flat = function(plain())
        flat.mul_(y)
        base.sum().backward()
        return y.grad.tolist()

    assert then_written(compiled(f)) == then_written(f)


def test_098_what_returns_the_tensor_itself():
    check(lambda x: (x.contiguous(), x.astype("f8", copy=False)), one, O=["II(0)", "II(0)"])


def test_099_copies_and_views():
    check(lambda x: (x[[0, 1]], x[0:2], x.copy()), one, O=["NA", "AI(0)", "NA"])


def test_100_a_reshape_that_copies():
    check(lambda x: x.T.reshape(-1), lambda: (rg((2, 3)),), O=["NA"])
    check(lambda x: x.reshape(-1), lambda: (rg((2, 3)),), O=["AI(0)"])


def test_101_parts_of_complex_numbers():
    def make():
        return (pb.tensor(np.array([1.0 + 2.0j, 3.0 - 1.0j])).requires_grad_(),)

    check(lambda z: (z.real, z.imag, z.conj()), make, O=["AI(0)", "AI(0)", "NA"])


def test_102_bytes_read_as_another_type():
    check(lambda b: b.view("i8"), lambda: (plain(),), O=["AI(0)(_bitcast)"])


def test_103_a_broadcast_view_can_not_be_written():
    f = lambda x: (pb.broadcast_to(x, (3, 2, 2)), x)
    check(f, one, O=["AI(0)", "II(0)"])
    with raises("OVERLAP_WRITE"):
        compiled(f)(plain())[0].add_(1)


def test_results_share_memory_with_arguments_at_the_same_place():
    v = inner()
    row = compiled(lambda v: v[1])(v)
    assert address(row) - address(v) == memory(v).strides[0]


def test_views_of_views_that_were_passed():
    def make():
        leaf = rg((4, 2))
        y = leaf * 1
        return (behind(y[1:3], y, leaf),)

    agree(lambda v: (v[0], v.T), make)
