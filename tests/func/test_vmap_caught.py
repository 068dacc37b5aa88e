"""A function that catches what vmap refuses it must not go on: for one example it would not have been refused."""

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.testing import assert_close


def assigned(x):
    x.data = 2 * x
    return x


ASKED = {
    "data": lambda x: x.data * 2,
    "assigned data": assigned,
    "item": lambda x: x * x.sum().item(),
    "bool": lambda x: x if x.sum() > 0 else -x,
    "tolist": lambda x: x * len(x.tolist()),
    "asarray": lambda x: x * pb.asarray(np.asarray(x)),
    "nonzero": lambda x: x[x > 0],
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("depth", [1, 2])
def test_what_a_function_catches_is_raised(name, depth):
    def function(x):
        try:
            return ASKED[name](x)
        except AutogradError:
            return x * 100

    mapped = pb.func.vmap(function) if depth == 1 else pb.func.vmap(pb.func.vmap(function))
    with pytest.raises(AutogradError, match="VMAP_D"):
        mapped(pb.ones((2,) * depth + (3,)))


def test_what_pullback_catches_is_taken_care_of():
    roots = pb.func.vmap(lambda a: pb.scipy.optimize.brentq(lambda t: t * t - a if t > 0 else -a, 0.5, 3.0))
    assert_close(roots(pb.tensor([2.0, 4.0])), np.sqrt([2.0, 4.0]))
    assert_close(pb.func.vmap(lambda x: (repr(x), 2 * x)[1])(pb.ones((2, 3))), np.full((2, 3), 2.0))
