"""A tensor without axes is a vector of one element for functions along an axis: its axis is 0 or -1."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

FIRST, POSITION = pb.tensor([0]), pb.tensor(0)
KEEP_VALUE = {
    **{
        name: lambda x, axis, name=name: getattr(pb, name)(x, axis)
        for name in ("sum", "prod", "mean", "max", "min", "amax", "amin", "cumsum", "cumprod", "logcumsumexp", "nansum",
                     "nanmean", "median", "nanmedian", "logsumexp", "flip", "squeeze", "sort")
    },
    "max_with_indices": lambda x, axis: pb.max_with_indices(x, axis)[0],
    "cummax": lambda x, axis: pb.cummax(x, axis)[0],
    "cummin": lambda x, axis: x.cummin(dim=axis)[0],
    "topk": lambda x, axis: x.topk(1, axis)[0],
    "kthvalue": lambda x, axis: pb.kthvalue(x, 1, axis, keepdims=True)[0],
    "mode": lambda x, axis: pb.mode(x, axis)[0],
    "quantile": lambda x, axis: pb.quantile(x, 0.3, dim=axis, keepdim=True),
    "aminmax": lambda x, axis: pb.aminmax(x, dim=axis)[1],
    "index_select": lambda x, axis: x.index_select(axis, FIRST),
    "gather": lambda x, axis: x.gather(axis, POSITION),
    "vector_norm": lambda x, axis: pb.linalg.vector_norm(x, dim=axis),
    "index_add": lambda x, axis: x.index_add(axis, FIRST, pb.tensor(0.0)),
    "scatter_add": lambda x, axis: x.scatter_add(axis, POSITION, pb.tensor(0.0)),
    "scatter_reduce": lambda x, axis: x.scatter_reduce(axis, POSITION, pb.tensor(1.0), "prod"),
    "index_reduce": lambda x, axis: x.index_reduce(axis, FIRST, pb.tensor(1.0), "prod"),
}  # fmt: skip


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", KEEP_VALUE)
def test_functions_of_one_element_give_it_back_with_its_gradient(name, axis):
    x = pb.tensor(3.0, requires_grad=True)
    out = KEEP_VALUE[name](x, axis)
    assert out.shape == () and out.item() == 3
    out.backward()
    assert x.grad.item() == 1
    assert pb.func.jvp(lambda x: KEEP_VALUE[name](x, axis), (pb.tensor(3.0),), (pb.tensor(2.0),))[1].item() == 2


@pytest.mark.parametrize("name", KEEP_VALUE)
def test_other_axes_do_not_exist(name):
    for axis in (1, -2):
        with pytest.raises((IndexError, ValueError)):
            KEEP_VALUE[name](pb.tensor(3.0), axis)


def test_positions_of_one_element():
    x = pb.tensor(3.0)
    for out in (x.argmax(0), x.argmin(-1), x.argsort(0), pb.max_with_indices(x, 0)[1], pb.sort_with_indices(x, 0)[1]):
        assert out.shape == () and out.item() == 0
    assert pb.softmax(x, 0).item() == 1 and pb.log_softmax(x, -1).item() == 0
    assert pb.all(x, 0).item() and pb.count_nonzero(x, -1).item() == 1


def test_what_writes_at_an_axis():
    x = pb.tensor(3.0)
    five = pb.tensor(5.0)
    for out in (x.index_fill(0, FIRST, five), x.index_copy(0, FIRST, five), x.scatter(0, POSITION, five)):
        assert out.shape == () and out.item() == 5
    y = x.clone()
    assert y.scatter_add_(0, POSITION, pb.tensor(1.0)) is y and y.item() == 4
    assert_close(x.unfold(0, 1, 1), [3.0])


def test_views_and_joins_still_need_an_axis():
    for function in (lambda x: pb.concat([x, x], 0), lambda x: x.unbind(0), lambda x: pb.moveaxis(x, 1, 0)):
        with pytest.raises((IndexError, ValueError, np.exceptions.AxisError)):
            function(pb.tensor(3.0))
