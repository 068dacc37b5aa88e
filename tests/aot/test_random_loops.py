"""Random programs of loops and branches agree with plain code."""

import pytest

import pullback as pb
from tests.aot.control_programs import check_gradients, compiled, same
from tests.aot.random_loops import RandomLoops


@pytest.mark.parametrize("seed", range(6))
def test_random_loops(seed):
    function = RandomLoops(seed)
    args = function.arguments()
    check_gradients(function, args)
    args = [x.detach() for x in args]
    directions = tuple(pb.linspace(-1, 1, x.size).reshape(x.shape) for x in args)

    def second(*args):
        return pb.func.jvp(pb.func.grad(function), args, directions)[1]

    def mapped(matrix, vector, sequence):
        return pb.vmap(function, in_dims=(None, 0, None))(matrix, pb.stack([vector, -vector]), sequence)

    for way in (second, mapped):
        same(way(*args), compiled(way)(*args))
