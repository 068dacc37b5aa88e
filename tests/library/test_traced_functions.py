"""`autograd.Function` inside of traced functions: forward and backward run on traced tensors and are traced through."""

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback.autograd import Function
from tests.conformance.aot import check, inner, ops_of, plain, rg, trace
from tests.conformance.custom_ops import sq


class Square(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


class ScaledExp(Function):
    @staticmethod
    def forward(ctx, x, by):
        y = pb.exp(x) * by
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Flat(Function):
    @staticmethod
    def forward(ctx, x):
        return x.reshape(-1)

    @staticmethod
    def backward(ctx, g):
        return (g * 0.5).reshape(2, 2)


class Sorted(Function):
    @staticmethod
    def forward(ctx, x):
        places = x.argsort()
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        return x[places], places

    @staticmethod
    def backward(ctx, g, _):
        return g[ctx.saved_tensors[0].argsort()]


class Several(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.set_materialize_grads(False)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        first = None if g is None else g * y
        second = None if g is None else g * x
        return (h if first is None else first if h is None else first + h,
                h if second is None else second if h is None else second + h)  # fmt: skip


makers = pytest.mark.parametrize("make", [plain, rg, inner])


@makers
@pytest.mark.parametrize("f", [
    lambda x: pb.sin(Square.apply(x)), lambda x: Flat.apply(x), lambda x: Flat.apply(x) * 3,
    lambda x: Flat.apply(x).reshape(2, 2), lambda x: Flat.apply(x * 2), lambda x: Doubled.apply(x * 3) + 1,
    lambda x: (lambda y: (Doubled.apply(y[0]), y))(x * 3)[1] + 1,
])  # fmt: skip
def test_functions(f, make):
    check(f, lambda: (make(),))


@makers
def test_saved_outputs(make):
    check(lambda x: pb.sin(ScaledExp.apply(x, 3)), lambda: (make(),), poke=False)


def test_written_arguments():
    check(Doubled.apply, lambda: (plain(),), I=["IN"], O=["II(0)"])
    check(Doubled.apply, lambda: (inner(),), I=["OUT*"])


def test_results_without_derivative():
    check(lambda x: Sorted.apply(x), lambda: (rg((3,)),))


def test_several_results():
    check(lambda x, y: Several.apply(x, y), lambda: (rg(), rg(start=5)))
    check(lambda x, y: Several.apply(x, y)[1], lambda: (rg(), inner(start=5)))


def test_the_graph_looks_into_functions():
    graph = aot.joint_graph(lambda x: Square.apply(x).sum(), rg()).graph
    assert ops_of(graph, "fw") == ["multiply", "sum"] and ops_of(graph, "bw")[-2:] == ["multiply", "multiply"]


def test_tensors_from_outside_get_their_gradient():
    weight = rg()
    f = lambda x: Square.apply(weight) * x
    gradients = []
    for function in (f, pb.compile(f, fallback="raise")):
        function(plain()).sum().backward()
        gradients.append(weight.grad.tolist())
        weight.grad = None
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("f", [
    lambda x: (Square.apply(x) * x).sum(), lambda x: (ScaledExp.apply(x, 3) * x).sum(),
    lambda x: (Square.apply(x).detach() * x * x).sum(),
])  # fmt: skip
def test_second_derivatives(f):
    found = []
    for function in (f, pb.compile(f, fallback="raise")):
        x = rg()
        (first,) = pb.autograd.grad(function(x), x, create_graph=True)
        found.append(pb.autograd.grad(first.sum(), x)[0].numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


class OnHost(Function):
    @staticmethod
    def forward(ctx, x):
        return pb.tensor(np.sin(x.numpy()))

    @staticmethod
    def backward(ctx, g):
        return g


class HostGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.sin(x)

    @staticmethod
    def backward(ctx, g):
        return pb.tensor(np.cos(ctx.saved_tensors[0].numpy()) * g.numpy())


@pytest.mark.parametrize("function, where", [(OnHost, "OnHost.forward"), (HostGradient, "HostGradient.backward")])
def test_values_are_not_there_while_tracing(function, where):
    with pytest.raises(aot.ConcretizationError, match="NumPy array is wanted of a traced tensor") as caught:
        aot.joint_graph(function.apply, rg())
    assert where in caught.value.location and "custom op" in caught.value.fix
    with pytest.warns(UserWarning, match="runs without being compiled"):
        assert pb.compile(function.apply)(rg()).tolist() == pb.sin(plain()).tolist()


def test_functions_and_operators_call_each_other():
    made = sq()

    class Wrapped(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return made(x)

        @staticmethod
        def backward(ctx, g):
            return Square.apply(ctx.saved_tensors[0]) * g

    check(lambda x: Wrapped.apply(x) * 2, lambda: (rg(),))
    made.register_autograd(lambda ctx, g: Square.apply(g))
    check(lambda x: made(x) * 2, lambda: (rg(),))
    assert ops_of(trace(lambda x: Wrapped.apply(x), rg())) == [made.qualname]
