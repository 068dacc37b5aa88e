"""A list with tensors in it counts as the array that `stack` makes of it, with its gradient."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.composite import composites
from pullback.operators.public import functions
from pullback.testing import assert_close
from tests.operators.declared import registry

DATA = np.array([[0.3, 0.7], [0.5, 0.2]])
OF_PARTS = {  # whose first argument is a list of arrays or written to, or which draw numbers
    "broadcast_arrays", "broadcast_tensors", "block", "block_diag", "cartesian_prod", "chain_matmul", "concat",
    "concatenate", "cat", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack", "meshgrid",
    "multi_dot", "lexsort", "select", "choose", "ix_", "copyto_copy", "alpha_dropout", "feature_alpha_dropout",
    "dropout", "dropout1d", "dropout2d", "dropout3d", "bernoulli", "rrelu", "gumbel_softmax", "lobpcg",
    "svd_lowrank", "pca_lowrank", "multinomial",
}  # fmt: skip


def cases():
    """Every declared function that takes a square matrix, alone or with its like, and returns a tensor."""
    for name in sorted((*registry, *composites)):
        space, _, short = name.rpartition(".")
        if short in OF_PARTS or short.startswith("_") or short.endswith("_like") or space in ("random", "nested"):
            continue
        takes_arrays = name in registry or composites[name].arrays
        if name in functions and takes_arrays and (arguments := accepted(functions[name])) is not None:
            yield pytest.param(functions[name], arguments, id=name)


def accepted(function):
    """Further arguments with which the function gives something differentiable, or None."""
    for arguments in ((), (DATA,), (0.5,)):
        x = pb.tensor(DATA, requires_grad=True)
        try:
            with np.errstate(all="ignore"):
                out = function(x, *arguments)
                if isinstance(out, pb.Tensor):
                    pb.real(out).sum().backward()
                    return arguments
        except Exception:
            continue
    return None


CASES = list(cases())


def test_most_functions_are_asked():
    assert len(CASES) > 350


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function, arguments", CASES)
def test_a_list_of_tensors_is_their_stack(function, arguments):
    def slope(make):
        x = pb.tensor(DATA, requires_grad=True)
        out = function(make(x), *arguments)
        return out.detach(), pb.autograd.grad(pb.real(out).sum(), x)[0]

    wanted = slope(lambda x: x * 1)
    assert_close(slope(lambda x: [x[0], x[1]]), wanted, equal_nan=True)
    assert_close(slope(lambda x: [[x[0, 0], x[0, 1]], x[1]]), wanted, equal_nan=True)


def test_lists_stand_beside_tensors():
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    (x * [x[1], 5.0] + pb.maximum([x[0], 0.0], x) + pb.append(x, [x[0]])[:2]).sum().backward()
    assert_close(x.grad, [3.0 + 1 + 1, 2 + 5 + 1 + 1.0])


def test_lists_are_bounds_and_fillings():
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    (pb.full((3, 2), [x[0], 1.0]) + pb.full_like(x, [x[1], x[0]]) + pb.linspace([x[0], 0.0], 1.0, 3)).sum().backward()
    assert_close(x.grad, [3 + 3 + 1.5, 3.0])


def test_lists_have_tangents_and_examples():
    x, t = pb.tensor([0.3, 0.7]), pb.tensor([1.0, -2.0])
    slope = pb.func.jvp(lambda v: pb.sin([v[0], 2.0, v[1]]), (x,), (t,))[1]
    assert_close(slope, [np.cos(0.3), 0, -2 * np.cos(0.7)])
    assert_close(pb.func.vmap(lambda v: pb.sum([v[0], 1.0, v[1]]))(pb.tensor(DATA)), DATA.sum(1) + 1)
    assert_close(pb.compile(lambda v: pb.prod([[v[0], 2.0], [1.0, v[1]]]))(x), 0.42)


def test_numbers_in_the_list_give_way_to_the_dtype_of_tensors():
    assert pb.exp([pb.tensor(1.0, dtype=pb.float32), 2]).dtype == np.float32
    assert pb.sum([[1, 2], [pb.tensor(1.0), 4]]).dtype == np.float64


def test_lists_of_different_lengths_are_no_array():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError):
        pb.sin([x, [1.0]])
