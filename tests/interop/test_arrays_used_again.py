"""Arrays of NumPy's that meet tensors and are written afterwards: backward computes with what they were."""

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.testing import assert_close

SIZE = 6
RANDOM = np.random.default_rng(0)


def vector():
    return RANDOM.uniform(0.5, 1.5, SIZE)


def matrix():
    return RANDOM.uniform(0.5, 1.5, (SIZE, SIZE)) + 3 * np.eye(SIZE)


def positions():
    return RANDOM.permutation(SIZE)[:3]


def truths():
    return np.arange(SIZE) % 2 == 0


def written_in_place(x, w):
    y = x * 1
    y *= w
    return y


def written_at(x, w):
    y = x * 1
    y[w] *= x[:3]
    return y


PROGRAMS = {
    "x * w": (vector, lambda x, w: x * w),
    "w / x": (vector, lambda x, w: w / x),
    "x / w": (vector, lambda x, w: x / w),
    "x ** w": (vector, lambda x, w: x**w),
    "w @ x": (matrix, lambda x, w: w @ x),
    "x @ w": (matrix, lambda x, w: x @ w),
    "x *= w": (vector, written_in_place),
    "x[w]": (positions, lambda x, w: 2 * x[w]),
    "x[mask]": (truths, lambda x, w: 2 * x[w]),
    "x[w] *= y": (positions, written_at),
    "np.multiply": (vector, lambda x, w: np.multiply(w, x)),
    "np.where": (truths, lambda x, w: np.where(w, x, 2 * x)),
    "np.maximum": (vector, lambda x, w: np.maximum(x, w)),
    "np.dot": (vector, lambda x, w: np.dot(w, x)),
    "np.outer": (vector, lambda x, w: np.outer(w, x)),
    "np.multiply.outer": (vector, lambda x, w: np.multiply.outer(w, x)),
    "np.einsum": (matrix, lambda x, w: np.einsum("ij,j->i", w, x)),
    "np.convolve": (vector, lambda x, w: np.convolve(w, x)),
    "np.average": (vector, lambda x, w: np.average(x, weights=w)),
    "np.linalg.solve": (matrix, lambda x, w: np.linalg.solve(w, x)),
    "pb.kron": (vector, lambda x, w: pb.kron(w, x)),
    "pb.nn.linear": (matrix, lambda x, w: pb.nn.linear(x, w)),
    "pb.special.xlogy": (vector, lambda x, w: pb.special.xlogy(w, x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_array_may_be_used_again(name):
    make, function = PROGRAMS[name]
    w, x = make(), pb.tensor(vector(), requires_grad=True)
    (expected,) = pb.autograd.grad((function(x, w) ** 2).sum(), x)
    loss = (function(x, w) ** 2).sum()
    w[...] = w[::-1] if w.dtype.kind != "f" else 0.3 * w
    assert_close(pb.autograd.grad(loss, x)[0], expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_writing_to_an_array_that_is_too_large_to_be_copied_is_an_error(name, monkeypatch):
    """Unless backward does not need it: what was computed in forward is there already."""
    monkeypatch.setattr("pullback.eager.build.COPIED", 0)
    make, function = PROGRAMS[name]
    w, x = make(), pb.tensor(vector(), requires_grad=True)
    loss = (function(x, w) ** 2).sum()
    expected = pb.autograd.grad(loss, x, retain_graph=True)[0]  # nobody has written yet
    w[...] = w[::-1] if w.dtype.kind != "f" else 0.3 * w
    try:
        assert_close(pb.autograd.grad(loss, x)[0], expected, rtol=0, atol=0)
        assert name in ("w / x", "x[w]", "x[mask]", "x[w] *= y")
    except AutogradError as error:
        assert "needs the NumPy array" in str(error)


def protected(w):
    view = w[:]
    view.flags.writeable = False
    return view


SHOWN = {
    "read-only": protected,
    "broadcast": lambda w: np.broadcast_to(w, (3, SIZE)),
    "as_strided": lambda w: np.lib.stride_tricks.as_strided(w, w.shape, w.strides, writeable=False),
    "recarray": lambda w: w.view(np.recarray),
    "memmap": lambda w: w.view(np.memmap),
}


@pytest.mark.parametrize("copied", [1000, 0])
@pytest.mark.parametrize("function", [lambda x, w: x * w, lambda x, w: w * x, np.multiply, pb.multiply])
@pytest.mark.parametrize("name", SHOWN)
def test_an_array_is_written_behind_what_shows_it(name, function, copied, monkeypatch):
    monkeypatch.setattr("pullback.eager.build.COPIED", copied)
    w = vector()
    shown = SHOWN[name](w)
    x, expected = pb.ones(shown.shape, requires_grad=True), np.array(shown)
    loss = function(x, shown).sum()
    w *= 0.3
    if copied:
        loss.backward()
        assert_close(x.grad, expected, rtol=0, atol=0)
    else:
        with pytest.raises(AutogradError, match="needs the NumPy array"):
            loss.backward()


@pytest.mark.parametrize("period", range(2, 11))
def test_a_write_to_all_but_every_so_many_elements_is_seen(period):
    for size in (20_000, 40_000, 105 * 500, 82_500):
        x, w = pb.ones(size, requires_grad=True), np.arange(size) % period == 0
        loss = (x * w).sum()
        w[:] = True
        with pytest.raises(AutogradError, match="needs the NumPy array"):
            loss.backward()


@pytest.mark.parametrize("layout", [lambda w: w, np.asfortranarray, lambda w: np.repeat(w, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize("start", [0, 11, 39_000, 39_880])
def test_a_write_to_the_five_hundredth_part_in_a_row_is_seen(layout, start):
    x, w = pb.ones((200, 200), requires_grad=True), layout(np.ones((200, 200)))
    loss = (x * w).sum()
    flat = w.T if w.flags.f_contiguous else w
    flat[np.unravel_index(np.arange(start, start + 81), flat.shape)] = 2.0
    with pytest.raises(AutogradError, match="needs the NumPy array"):
        loss.backward()


@pytest.mark.parametrize("size", [5, 1000, 20_000])
def test_arrays_that_are_arguments_of_compiled_functions_may_be_used_again(size):
    compiled = pb.compile(lambda x, w: (x * x * w).sum())
    x, w = pb.ones(size, requires_grad=True), np.empty(size)
    for _ in range(3):  # the traced call, one by the general way, and one by the short one
        w[:] = 2.0
        loss, other = compiled(x, w), compiled(x, w)
        w[:] = 3.0
        assert_close(pb.autograd.grad(loss, x)[0], np.full(size, 4.0))
        with pytest.raises(AutogradError, match="needs the NumPy array"):
            pb.autograd.grad(other, x, create_graph=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_that_adapted_functions_met_may_be_used_again(name):
    make, function = PROGRAMS[name]
    w, x = make(), pb.tensor(vector(), requires_grad=True)
    adapted = pb.func.adapt(lambda x: (function(x, w) ** 2).sum())
    (expected,) = pb.autograd.grad(adapted(x), x)
    loss = adapted(x)
    w[...] = w[::-1] if w.dtype.kind != "f" else 0.3 * w
    assert_close(pb.autograd.grad(loss, x)[0], expected, rtol=0, atol=0)


def test_arrays_in_keywords_of_composites_may_be_used_again():
    x, w = pb.tensor(vector(), requires_grad=True), np.ones(SIZE)
    loss = pb.average(x, weights=w)
    w[0] = 100.0
    loss.backward()
    assert_close(x.grad, np.full(SIZE, 1 / SIZE))


def test_a_buffer_is_filled_anew_in_every_step():
    x, buffer, total = pb.tensor(vector(), requires_grad=True), np.empty(SIZE), 0.0
    for step in range(3):
        buffer[:] = step + 1.0
        total = total + (x * buffer).sum()
    total.backward()
    assert x.grad.tolist() == [6.0] * SIZE


def test_views_of_an_array_share_its_memory():
    array = vector()
    assert np.shares_memory(pb.reshape(array, (2, 3)).numpy(), array)
