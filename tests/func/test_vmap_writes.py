"""Writes inside vmap: what they may change, and when a later gradient still finds the values it needs."""

import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.func import vmap
from pullback.testing import assert_close


def filled(x):
    h = pb.zeros(4)
    h[0] = x
    for i in range(3):
        h[i + 1] = pb.sin(h[i]) * x
    return h[3]


def overwritten(x):
    h = pb.zeros(4)
    h[0] = x
    y = pb.sin(h[0])
    h[0] = x * 2
    return y


def rows():
    return pb.linspace(0.1, 1.0, 5)


def test_a_preallocated_array_that_is_filled_differentiates():
    assert_close(pb.func.vmap(pb.func.grad(filled))(rows()), pb.stack([pb.func.grad(filled)(x) for x in rows()]))
    by_batch = pb.func.grad(lambda xs: pb.func.vmap(filled)(xs).sum())(rows())
    assert_close(by_batch, pb.func.vmap(pb.func.grad(filled))(rows()))
    assert_close(pb.func.vmap(pb.func.hessian(filled))(rows()), pb.stack([pb.func.hessian(filled)(x) for x in rows()]))


@pb.autograd.overwrite_policy("raise")
def test_a_write_that_destroys_a_saved_value_is_noticed():
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.grad(overwritten)(pb.tensor(0.3))
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.vmap(pb.func.grad(overwritten))(rows())


@pb.autograd.overwrite_policy("raise")
def test_a_write_before_the_array_got_room_for_the_examples_is_remembered():
    def f(x):
        h = pb.ones(4)
        y = x * h  # keeps h while it is the same for all examples
        h[0] = 3.0  # destroys what was kept
        h[1] = x  # gives h room for the examples, in other memory
        return y.sum() + h[1]

    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.grad(f)(pb.tensor(0.3))
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        pb.func.vmap(pb.func.grad(f))(rows())


@pytest.mark.parametrize("shape", [(2, 0), (2, 0, 3), (2, 3, 0), (0, 3), (0, 0)])
@pytest.mark.parametrize("write", [lambda x: x.add_(1), lambda x: x.detach().mul_(2), lambda x: x.fill_(1.0)])
def test_examples_without_elements_can_be_written(shape, write):
    """Strides of arrays without elements are zero and mean nothing."""
    assert pb.func.vmap(lambda x: write(x.clone()))(pb.zeros(shape)).shape == shape
    assert pb.func.vmap(write)(pb.zeros(shape)).shape == shape


# In chunks -----------------------------------------------------------------------------------------------------------


def doubles_then_adds(x, s):
    s[0] = s[0] * 2
    y = s[0] * x
    s[1:] += 3.0
    return y + s.sum()


def adds_in_place(x, s):
    s += 1.0
    return x * (s * s).sum()


def overwrites(x, s):
    y = s.exp()
    s.copy_(y * s)
    return (s * x).sum()


@pytest.mark.parametrize("function", [doubles_then_adds, adds_in_place, overwrites])
@pytest.mark.parametrize("chunk_size", [1, 2, 3])
@pytest.mark.parametrize("named", [False, True])
def test_chunks_write_to_what_all_examples_share_once(function, chunk_size, named):
    x = pb.tensor([1.0, 2.0, 3.0, 4.0, 5.0])

    def run(**options):
        w = pb.tensor([0.5, 0.7], requires_grad=True)
        s = w * 1
        if named:
            out = vmap(lambda x, *, s: function(x, s), **options)(x, s=s)
        else:
            out = vmap(function, (0, None), **options)(x, s)
        (out.sum() + (s * s).sum()).backward()
        return out.detach(), s.detach(), w.grad

    for chunked, at_once in zip(run(chunk_size=chunk_size), run(), strict=True):
        assert_close(chunked, at_once)


@pytest.mark.parametrize("compiled", [False, True])
def test_chunks_write_once_inside_of_grad_and_of_compiled_code(compiled):
    x = pb.tensor([1.0, 2.0, 3.0])

    def loss(w, chunk_size):
        s = w * 2
        return vmap(adds_in_place, (0, None), chunk_size=chunk_size)(x, s).sum() + s.sum()

    gradients = [pb.func.grad(lambda w, size=size: loss(w, size)) for size in (None, 2)]
    if compiled:
        gradients = [pb.compile(each) for each in gradients]
    at_once, chunked = (each(pb.tensor([0.5, 1.5])) for each in gradients)
    assert_close(chunked, at_once)


def test_chunks_write_once_without_recording():
    for block in (pb.no_grad, pb.inference_mode):
        with block():
            s = pb.tensor([1.0, 2.0])
            out = vmap(adds_in_place, (0, None), chunk_size=1)(pb.tensor([1.0, 2.0]), s)
        assert out.tolist() == [13.0, 26.0] and s.tolist() == [2.0, 3.0]


def test_an_argument_given_twice_is_one_in_every_chunk():
    def f(x, s, t):
        s += 1.0
        return x * t.sum()

    s = pb.tensor([1.0, 2.0])
    assert vmap(f, (0, None, None), chunk_size=1)(pb.tensor([1.0, 2.0]), s, s).tolist() == [5.0, 10.0]
    with pytest.raises(ValueError, match="must not have the same memory"):
        vmap(f, (0, None, None), chunk_size=1)(pb.tensor([1.0, 2.0]), s, s[1:])


def test_chunks_that_only_read_the_parts_of_one_tensor_are_fine():
    s = pb.tensor([1.0, 2.0])
    out = vmap(lambda x, s, t: x * s.sum() * t, (0, None, None), chunk_size=1)(pb.tensor([1.0, 2.0]), s, s[1])
    assert out.tolist() == [6.0, 12.0]


def test_a_leaf_that_chunks_would_write_to_is_refused_as_everywhere():
    w = pb.tensor([1.0], requires_grad=True)
    with pytest.raises(AutogradError) as caught:
        vmap(adds_in_place, (0, None), chunk_size=1)(pb.tensor([1.0, 2.0]), w)
    assert caught.value.code == "LEAF_INPLACE" and w.tolist() == [1.0]
