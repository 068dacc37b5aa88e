"""Views inside vmap: whatever is written through one, or to what it is a view of, the result is that of a loop."""

import numpy as np
import pytest

import pullback as pb
from pullback.func import vmap

MATRIX = np.array([[0.3, 0.7, -0.4], [1.1, 0.2, 0.5]])

MADE = {
    "the argument": lambda a: a,
    "a copy": lambda a: a.clone(),
    "a product": lambda a: a * 2,
    "an ordered product": lambda a: (a.T * 1).T,
    "a sum": lambda a: pb.stack([a, a]).sum(0),
    "joined": lambda a: pb.concatenate([a[:1], a[1:]]),
    "stacked": lambda a: pb.stack([a[:, 0], a[:, 1], a[:, 2]], 1),
    "chosen": lambda a: pb.where(a > 0, a, -a),
    "indexed": lambda a: a[:, pb.tensor([0, 1, 2])],
    "multiplied": lambda a: a @ pb.eye(3),
    "cast": lambda a: a.astype(np.float32),
    "empty_like": lambda a: pb.empty_like(a).copy_(a),
    "zeros": lambda a: pb.zeros((2, 3)),
}
VIEWS = {
    "view": lambda b: b.view(6),
    "view of a part": lambda b: b[:, :2].view(4),
    "reshape": lambda b: b.reshape(3, 2),
    "ravel": lambda b: np.ravel(b),
    "transposed": lambda b: b.T.reshape(-1),
    "contiguous": lambda b: b.contiguous(),
    "diagonal": pb.diagonal,
    "row": lambda b: b[1],
    "expand": lambda b: b[:1].expand(2, 3),
    "unflatten": lambda b: b.reshape(-1).unflatten(0, (3, 2)),
    "as_strided": lambda b: pb.as_strided(b, (2, 2), (3, 1)),
}
WRITES = {
    "after": lambda b, v, a: v.mul_(3),
    "before": lambda b, v, a: b.add_(a.sum()),
    "both": lambda b, v, a: (b.mul_(a), v.__setitem__(0, a[0, 0])),
}


def outcome(function):
    try:
        return function()
    except (ValueError, RuntimeError) as error:
        return type(error)


def stacked(axis):
    return pb.tensor(np.ascontiguousarray(np.stack([MATRIX, 2 * MATRIX - 0.1, MATRIX * MATRIX], axis)))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("made", MADE)
def test_writes_and_views_are_those_of_a_loop(made, axis):
    for view in VIEWS:
        for write in WRITES:

            def function(a, view=view, write=write):
                b = MADE[made](a)
                v = VIEWS[view](b)
                WRITES[write](b, v, a)
                return b.clone(), v.clone(), pb.tensor(list(v.strides) if v.size else []), b.reshape(-1)

            def looped(function=function):
                whole = stacked(axis)
                rows = [function(whole[(*(slice(None),) * axis, k)]) for k in range(3)]
                return [whole, *(np.stack(column) for column in zip(*rows, strict=True))]

            def mapped(function=function):
                whole = stacked(axis)
                return [whole, *vmap(function, in_dims=axis)(whole)]

            expected, found = outcome(looped), outcome(mapped)
            if isinstance(expected, type) or isinstance(found, type):
                assert found is expected, (view, write)
            else:
                for a, b in zip(expected, found, strict=True):
                    np.testing.assert_allclose(a, b, 1e-6, err_msg=f"{view}, {write}")


def test_a_view_that_the_memory_of_an_example_does_not_have_is_refused_in_terms_of_one_example():
    with pytest.raises(ValueError, match=r"shape \(2, 5\) .* has no view of shape \(10,\)"):
        vmap(lambda a: (a.view(10).zero_(), a.sum())[1], in_dims=1)(pb.ones((2, 3, 5)))
    with pytest.raises(ValueError, match=r"shape \(2, 5\)"):
        vmap(vmap(lambda a: a.view(10)), in_dims=2)(pb.ones((4, 2, 3, 5)))
    in_order = pb.ones((3, 2, 5)).permute(1, 0, 2)
    assert vmap(lambda a: a.view(10), in_dims=1)(in_order).shape == (3, 10)


def test_the_elements_of_an_expanded_tensor_are_not_written_in_vmap():
    with pytest.raises(pb.errors.AutogradError, match="OVERLAP_WRITE"):
        vmap(lambda a: a[:1].expand(4).mul_(2))(pb.ones((2, 3)))


ROWS = pb.tensor([[3.0, 1.0, 2.0], [4.0, 5.0, 6.0]])


def test_what_is_written_to_an_element_that_each_example_picks_is_written_to_its_array():
    def function(a):
        b = a * 1
        v = b[pb.argmax(b)]
        v += 10
        b[pb.argmin(b)] += 100
        return b

    np.testing.assert_array_equal(vmap(function)(ROWS), np.stack([function(row) for row in ROWS]))
    slope = vmap(pb.func.grad(lambda a: (function(a) ** 2).sum()))(ROWS)
    np.testing.assert_array_equal(slope, 2 * vmap(function)(ROWS))


def test_an_element_that_each_example_picked_is_not_read_after_a_write_to_its_array():
    def function(a, late):
        b = a * 1
        v = b[pb.argmax(b)]
        b.mul_(3)
        return v if late else b[pb.argmax(b)]

    np.testing.assert_array_equal(vmap(lambda a: function(a, False))(ROWS), [9.0, 18.0])
    with pytest.raises(pb.errors.AutogradError, match="VMAP_PICKED"):
        vmap(lambda a: function(a, True))(ROWS)
