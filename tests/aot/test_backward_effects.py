"""Effects of backward passes where gradients arrive at some results only: what eager code does, and nothing else."""

from __future__ import annotations

import itertools

import pytest

import pullback as pb
from pullback.aot import AOTError
from tests.aot.counting import Counting


class Constant(pb.autograd.Function):
    """Its gradient is 7, whatever arrives."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return pb.full((2,), 7.0)


class Noisy(pb.autograd.Function):
    """The identity, with a gradient that is drawn."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return pb.random.normal(size=2)


def counted_apart(x, a, b):
    return Counting.apply(x, a), Counting.apply(x, b), x * 2


def counted_behind_one_another(x, a, b):
    first = Counting.apply(x, a)
    return first, Counting.apply(first * 2, b), x * 2


def constant(x, a, b):
    return Constant.apply(x), x * a, Noisy.apply(x)


SUBSETS = [which for count in (1, 2, 3) for which in itertools.combinations(range(3), count)]


def observed(function, which, create_graph=False):
    pb.random.manual_seed(5)
    x, a, b = pb.ones(2, requires_grad=True), pb.zeros(2), pb.zeros(2)
    outs = function(x, a, b)
    roots = [outs[k] for k in which]
    (g,) = pb.autograd.grad(roots, x, [pb.ones(2)] * len(roots), create_graph=create_graph, allow_unused=True)
    return g if g is None else g.tolist(), a.tolist(), b.tolist(), a._version, b._version, pb.random.random(1).tolist()


@pytest.mark.parametrize("partitioner", ["default", "min_cut"])
@pytest.mark.parametrize("function", [counted_apart, counted_behind_one_another, constant])
def test_what_no_gradient_leads_to_does_not_happen(function, partitioner):
    compiled = pb.compile(function, backend="numpy", fallback="raise", partitioner=partitioner)
    for which in SUBSETS:
        expected = observed(function, which)
        assert observed(compiled, which) == expected, which
        assert observed(compiled, which) == expected, which


@pytest.mark.parametrize("which", SUBSETS)
def test_nor_where_the_pass_is_recorded(which):
    compiled = pb.compile(counted_apart, backend="numpy", fallback="raise")
    assert observed(compiled, which, create_graph=True) == observed(counted_apart, which, create_graph=True)


def test_one_buffer_that_several_formulas_write():
    """The graph has what they write together; where one of them does not run, there is an error."""

    def f(x, counter):
        return Counting.apply(x, counter), Counting.apply(x * 2, counter)

    compiled = pb.compile(f, fallback="raise")
    x, counter = pb.ones(2, requires_grad=True), pb.zeros(2)
    outs = compiled(x, counter)
    pb.autograd.backward(outs, [pb.ones(2), pb.ones(2)])
    assert counter.tolist() == [2.0, 2.0]
    with pytest.raises(AOTError, match="several formulas"):
        compiled(x, counter)[0].sum().backward()


class Loss(pb.autograd.Function):
    """A sum of squares that computes its gradient together with its value, for a gradient of one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(2 * x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0]


def test_a_loss_with_a_gradient_of_its_own_beside_other_results():
    def f(w, x):
        h = w * x
        return Loss.apply(h), h, pb.exp(w)

    compiled = pb.compile(f, backend="numpy", fallback="raise")
    for which in SUBSETS:
        found = []
        for function in (f, compiled):
            w, x = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor([3.0, 4.0], requires_grad=True)
            outs = function(w, x)
            roots = [outs[k] for k in which]
            gradients = pb.autograd.grad(roots, (w, x), [pb.ones_like(r) for r in roots], allow_unused=True)
            found.append([g if g is None else g.tolist() for g in gradients])
        assert found[0] == found[1], which
