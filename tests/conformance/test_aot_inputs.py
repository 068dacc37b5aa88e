"""Ahead-of-time capture, inputs that share memory: conformance cases 104 to 122."""

import numpy as np

import pullback as pb
from pullback import aot

from .aot import VARIANTS, behind, check, inner, inputs_of, memory, outputs_of, plain, rg, trace, unchanged_by_errors


def compiled(f, **options):
    return VARIANTS["numpy"](f, **options)


def names(f, make, **options):
    """The descriptors of the inputs of the forward graph."""
    return [desc.expr() for desc in trace(f, *make(), **options).input_descs]


def twice(make_one):
    def make():
        x = make_one()
        return x, x

    return make


def test_104_one_object_twice_is_one_input():
    f = lambda a, b: a * b
    meta = check(f, twice(rg), I=["N", "N"], O=["NA"], T=["out 0"])
    assert meta.input_info[1].duplicate_of == 0
    assert names(f, twice(rg)) == ["args[0]"]
    x = rg()
    compiled(f)(x, x).sum().backward()
    assert np.array_equal(x.grad.numpy(), 2 * x.detach().numpy())


def written_and_added(a, b):
    a.mul_(2)
    return a + b


def test_105_one_object_twice_and_written():
    check(written_and_added, twice(inner), I=["OUT*", "OUT*"])
    assert names(written_and_added, twice(inner)) == ["args[0]"]
    v = inner()
    assert np.array_equal(compiled(written_and_added)(v, v).detach().numpy(), 2 * v.detach().numpy())


def test_106_changes_of_shape_happen_once_in_their_order():
    def f(a, b):
        a.t_()
        b.unsqueeze_(0)
        return a + b

    check(f, twice(lambda: inner((3, 3))))
    v = inner((3, 3))
    compiled(f)(v, v)
    assert v.shape == (1, 3, 3)


def test_107_the_first_and_third_argument_are_one():
    def f(p, q, third):
        p[0].add_(1)
        return third

    def make():
        b, c = plain(), plain(start=5.0)
        return b, c, b

    check(f, make, I=["IN", "N", "IN"], O=["II(0)"])
    b, c, _ = make()
    assert compiled(f)(b, c, b) is b


def incremented_and_added(a, b):
    a.add_(1)
    return a + b


def two_views(make_base, first, second):
    """Two views of one tensor; the tensor and what is behind it are watched."""

    def make():
        y = make_base()
        origins = getattr(y, "origins", ())
        return behind(y[first], y, *origins), behind(y[second], y, *origins)

    return make


def test_108_two_equal_views_of_a_constant_become_one_base():
    make = two_views(plain, 0, 0)
    check(incremented_and_added, make, I=["IN", "IN"], O=["NA"])
    assert names(incremented_and_added, make) == ["base_of(args[0])"]


def test_109_two_equal_views_of_an_inner_tensor():
    make = two_views(inner, 0, 0)
    check(incremented_and_added, make, I=["OUT*", "OUT*"])
    joint = aot.joint_graph(incremented_and_added, *make()).graph
    assert "grad(base_of(args[0]))" in [desc.expr() for desc in joint.output_descs]


def test_110_a_view_and_its_base_are_merged_and_disjoint_views_are_not():
    def with_base():
        y = inner()
        return behind(y[0], y, *y.origins), y

    f = lambda a, b: (a.add_(1), a.sum() + b.sum())[1]
    check(f, with_base)
    assert names(f, with_base) == ["base_of(args[0])"]
    for make in (two_views(plain, 0, 1), two_views(inner, 0, 1)):
        check(f, make)
        assert names(f, make) == ["args[0]", "args[1]"]


def test_111_overlap_is_decided_exactly():
    f = lambda a, b: (a.mul_(2), a.sum() * b.sum())[1]
    overlapping = two_views(lambda: plain((6,)), slice(0, 3), slice(1, 4))
    check(f, overlapping)
    assert names(f, overlapping) == ["base_of(args[0])"]
    every_other = two_views(lambda: plain((6,)), slice(0, None, 2), slice(1, None, 2))
    blocks = two_views(lambda: plain((4, 4)), (slice(None), slice(0, 2)), (slice(None), slice(2, 4)))
    for make in (every_other, blocks):
        check(f, make)
        assert names(f, make) == ["args[0]", "args[1]"]


def windows(first=slice(2, 5), second=slice(3, 7), dtype=float):
    """Two tensors on overlapping memory of which autograd does not know that they are related."""

    def make():
        buffer = np.arange(10.0).astype(dtype)
        return pb.asarray(buffer[first]), pb.asarray(buffer[second])

    return make


def test_112_overlapping_memory_without_a_common_tensor():
    f = lambda a, b: (a.mul_(2), a.sum() * b)[1]
    check(f, windows())
    graph = trace(f, *windows()())
    assert [desc.expr() for desc in graph.input_descs] == ["synthetic_base_of(args[0])"]
    assert graph.inputs[0].type.shape == (5,)


def test_113_the_same_with_an_input_that_requires_grad():
    check(lambda a, b, x: (a.mul_(2), b.sum() * x)[1], lambda: (*windows()(), rg()), T=["out 0"])


def test_114_overlapping_memory_that_requires_grad_without_a_relation():
    def make():
        a, b = windows()()
        return a, b.requires_grad_()

    error = unchanged_by_errors(lambda a, b: (a.mul_(2), b.sum())[1], make, aot.AliasError)
    assert "args[0]" in str(error) and "args[1]" in str(error)


def test_114_a_write_that_makes_one_require_grad():
    def make():
        return (*windows()(), rg((3,)))

    unchanged_by_errors(lambda a, b, x: (a.mul_(x), b.sum())[1], make, aot.AliasError)


def test_115_one_buffer_read_as_two_types():
    def make():
        buffer = np.ones(4, "f4")
        return pb.asarray(buffer), pb.asarray(buffer.view("i4"))

    unchanged_by_errors(lambda a, b: (a.mul_(2), b.sum())[1], make, aot.AliasError)


def test_116_changes_of_shape_do_not_merge():
    def f(a, b):
        a.t_()
        return a + b.T

    make = two_views(lambda: plain((2, 2, 3)), 0, 0)
    check(f, make)
    assert names(f, make) == ["args[0]", "args[1]"]


def test_117_a_member_of_a_group_that_is_transposed():
    def f(a, b):
        a.mul_(2)
        b.t_()
        return a * b

    for make_base in (lambda: plain((2, 3, 3)), lambda: inner((2, 3, 3))):
        meta = check(f, two_views(make_base, 0, 0), O=["NA"])
        assert meta.num_outputs == 1
    a, b = two_views(lambda: plain((2, 3, 3)), 0, 0)()
    compiled(f)(a, b)
    assert memory(b).strides == memory(a).strides[::-1]


def test_118_bases_come_before_other_inputs():
    def make():
        y = plain((3, 2))
        return plain((2,)), behind(y[0], y), plain((2,), start=3.0), behind(y[0:2], y)

    f = lambda p, q, r, s: (q.add_(1), p + q + r + s)[1]
    check(f, make)
    assert names(f, make) == ["base_of(args[1])", "args[0]", "args[2]"]


def test_119_the_base_of_a_group_is_returned_as_itself():
    def make():
        y = inner()
        return y, behind(y[None], y, *y.origins)

    f = lambda a, b: (b.add_(1), a)[1]
    check(f, make, O=["II(0)"])
    a, b = make()
    assert compiled(f)(a, b) is a


def test_120_overlapping_inputs_that_nobody_writes():
    f = lambda a, b: (a * b).sum()
    make = two_views(inner, 0, 0)
    check(f, make, I=["N", "N"])
    graph = aot.joint_graph(f, *make()).graph
    assert [desc.expr() for desc in graph.output_descs] == ["output[0]", "grad(args[0])", "grad(args[1])"]


def test_121_overlap_is_a_guard_where_something_is_written():
    f = lambda a, b: (a.mul_(2), a + b)[1]
    call = compiled(f)
    apart, together = windows(slice(0, 3), slice(5, 8)), windows(slice(0, 3), slice(1, 4))
    for make, misses in ((apart, 1), (together, 2), (together, 2), (apart, 2)):
        wanted = f(*make())
        assert call(*make()).tolist() == wanted.tolist()
        assert call.cache_info().misses == misses


def test_121_where_they_overlap_is_a_guard_too():
    f = lambda a, b: (a.mul_(2), a + b)[1]
    call = compiled(f)
    for start in (1, 2, 1):
        second = slice(start, start + 3)
        for make in (windows(slice(0, 3), second), two_views(lambda: inner((8,)), slice(0, 3), second)):
            wanted = f(*make())
            assert call(*make()).tolist() == wanted.tolist()
    assert call.cache_info().misses == 4


def test_122_arrays_without_elements_do_not_overlap():
    f = lambda a, b: (a.mul_(2), a.sum() + b.sum())[1]
    make = windows(slice(2, 2), slice(2, 2))
    check(f, make)
    assert names(f, make) == ["args[0]", "args[1]"]


def test_views_of_members_are_views_of_the_callers_tensors():
    f = lambda a, b: (a.mul_(2), b[0], a[1:])[1:]
    make = two_views(lambda: inner((4, 2)), slice(0, 3), slice(1, 4))
    meta = check(f, make)
    assert outputs_of(meta) == ["AI(1)(_basic_index)", "AI(0)(_basic_index)"]
    assert inputs_of(meta) == ["OUT*", "OUT*"]
