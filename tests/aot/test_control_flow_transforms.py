"""Branches and loops in a trace under the transforms: forward mode, second derivatives, vmap."""

import pytest

import pullback as pb
from tests.aot.control_programs import PROGRAMS, compiled, recurrent, same, tensors

SMALL = ["recurrent", "branches in a loop", "nested", "bodies that write", "a loop until", "branch of outside values",
         "detaching"]  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_forward_mode_in_a_trace(name):
    function, *shapes = PROGRAMS[name]
    args = [x.detach() for x in tensors(*shapes)]
    directions = tuple(x.detach() for x in tensors(*shapes, seed=1))

    def slope(*args):
        return pb.func.jvp(function, args, directions)

    same(slope(*args), compiled(slope)(*args))


@pytest.mark.parametrize("name", SMALL)
def test_second_derivatives_in_all_four_ways(name):
    function, *shapes = PROGRAMS[name]
    args = [x.detach() for x in tensors(*shapes)]
    directions = tuple(x.detach() for x in tensors(*shapes, seed=1))
    grad, jvp = pb.func.grad, pb.func.jvp
    ways = [
        lambda *a: grad(lambda *b: (grad(function)(*b) * directions[0]).sum())(*a),
        lambda *a: jvp(grad(function), a, directions)[1],
        lambda *a: grad(lambda *b: jvp(function, b, directions)[1])(*a),
        lambda *a: jvp(lambda *b: jvp(function, b, directions)[1], a, directions)[1],
    ]
    for way in ways:
        same(way(*args), compiled(way)(*args))


def test_double_backward_through_a_compiled_scan():
    args = tensors((3, 3), (5, 3), (3,))

    def second(function):
        first = pb.autograd.grad(function(*args), args, create_graph=True)
        return pb.autograd.grad(sum((x * x).sum() for x in first), args)

    same(second(recurrent), second(compiled(recurrent)))


@pytest.mark.parametrize("name", SMALL)
def test_vmap_in_a_trace(name):
    function, *shapes = PROGRAMS[name]
    args = [x.detach() for x in tensors(*shapes)]
    batches = [pb.stack([x, x * 2, x + 1]) for x in args]
    only_first = (0, *(None,) * (len(args) - 1))
    for way, given in [
        (pb.vmap(function), batches),
        (lambda *a: pb.vmap(function, in_dims=only_first)(batches[0], *a[1:]), args),
        (pb.vmap(pb.func.grad(function)), batches),
        (pb.func.grad(lambda *a: pb.vmap(function)(*a).sum()), batches),
    ]:
        same(way(*given), compiled(way)(*given))


def test_hessian_of_a_scan():
    args = [x.detach() for x in tensors((3, 3), (5, 3), (3,))]
    same(pb.func.hessian(recurrent, argnums=2)(*args), compiled(pb.func.hessian(recurrent, argnums=2))(*args))
