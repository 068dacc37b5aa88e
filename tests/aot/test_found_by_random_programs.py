"""Mistakes that random programs have found, each with the smallest program that showed it."""

import warnings
from collections import Counter

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AliasError, FunctionalizationError, HigherOrderError, TraceError
from tests.aot.random_programs.check import check
from tests.aot.random_programs.parse import parse

AGREE = {
    "a result and its detached alias share memory": """
        x0 = pb.tensor([[-1.9, -1.7, -1.8], [-0.1, 0.4, 1.5]], requires_grad=True)
        def f(x0):
            t1 = x0 > 0.5
            t2 = t1.detach()
            return (t1, t2)
        """,
    "a copy of a written argument and its alias share memory": """
        w = pb.tensor([[-0.8, -0.1], [-0.9, -1.0]], requires_grad=True)
        x1 = w * 2.0
        def f(x1):
            x1.sub_(x1)
            with pb.no_grad():
                t1 = x1.copy()
            t2 = t1.detach()
            return (t1, t2)
        """,
    "a gradient that is computed inside lies in memory of its own": """
        x0 = pb.tensor([[-0.5, -1.3, -0.6], [1.7, 0.1, 1.2]], requires_grad=True)
        def f(x0):
            t1 = x0.mean(axis=1)
            t2 = pb.autograd.grad((t1 * t1).sum(), [x0], retain_graph=True)[0]
            t3 = pb.autograd.grad(x0.sum(), [x0], retain_graph=True)[0]
            t3.add_(t2)
            return (t2, t3)
        """,
    "two gradients that are equal are two arrays": """
        x0 = pb.tensor([-0.5, -1.3], requires_grad=True)
        x1 = pb.tensor([0.5, 1.1], requires_grad=True)
        def f(x0, x1):
            t1, t2 = pb.autograd.grad(((x0 + x1) * 2.0).sum(), [x0, x1])
            t1.add_(1.0)
            return (t1, t2)
        """,
    "a leaf is given the memory that it has": """
        x0 = pb.tensor([[-1.4, -0.1, 0.6], [-0.5, 0.7, -1.9]], requires_grad=True)
        x1 = x0[...]
        def f(x0, x1):
            with pb.no_grad():
                x1.add_(x0)
                x0.data = x1.detach()
                x1 *= x0
            return (x0, x1)
        """,
    "a view without elements of an argument that is overwritten": """
        w = pb.tensor([[1.2], [0.9]], requires_grad=True)
        x0 = w * 2.0
        x1 = x0[:, 1:]
        def f(x0, x1):
            x1.swapaxes_(0, -1)
            x0.fill_(2)
            t2 = x0.sum(axis=1)
            x1.add_(t2)
            return ()
        """,
    "a result and a view of the intermediate that it lies in share memory": """
        x0 = pb.tensor([0.6, 1.9], requires_grad=True)
        def f(x0):
            t1 = x0 * x0
            t2 = t1.tanh()
            t3 = t2.data
            t3.sub_(t2)
            t4, t5 = pb.array_split(t2, 2)
            return (t3, t5)
        """,
    "a custom view of an argument that is a view is a view of its base": """
        x0 = pb.tensor(1.2, requires_grad=True)
        x1 = x0[None]
        def f(x1):
            t2 = fn.Flattened.apply(x1)
            return (t2,)
        """,
    "a custom view of an argument that is a view and is returned as well": """
        w = pb.tensor([-1.7, -0.9], requires_grad=True)
        v = w.sin()
        x1 = v[1:]
        def f(x1):
            t1 = fn.Flattened.apply(x1)
            return (t1, x1)
        """,
    "a view of one of two arguments that are the same elements": """
        x0 = pb.tensor([0.1, -0.7, 1.0], requires_grad=True)
        with pb.no_grad():
            x1 = x0.T
        def f(x0, x1):
            t1 = x0.T
            with pb.no_grad():
                t1.sub_(t1)
            return (t1,)
        """,
    "a change of axes that changes nothing, and a second derivative": """
        w = pb.tensor([[1.2, 1.6, -1.5], [-0.2, 1.4, 1.9]], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            t1 = x0[:2, ::-1]
            t1.squeeze_()
            t2 = t1 + 0.5
            t3 = t2 ** 2
            return (t3,)
        roots: -1, order 2
        """,
    "a custom view that was made without a history": """
        x0 = pb.tensor([-0.3, 0.3, -1.7], requires_grad=True)
        def f(x0):
            with pb.no_grad():
                t2 = fn.Flattened.apply(x0)
            return (t2,)
        """,
    "a leaf gets other memory": """
        x1 = pb.tensor([[0.2], [0.4]], requires_grad=True)
        def f(x1):
            x1.data = x1 * 2.0
            return ()
        """,
    "a leaf is let go, and written": """
        x0 = pb.tensor([[-1.9, -0.9, 1.2], [-1.2, 1.3, 1.8]], requires_grad=True)
        x3 = pb.tensor([[1.2], [-0.5]], requires_grad=True)
        def f(x0, x3):
            t1 = x0 * 3.0
            x0.detach_()
            x0.copy_(x3)
            return (t1,)
        """,
    "a leaf is written without a history and gets the axes that it has": """
        x0 = pb.tensor([1.9, -1.0, -1.0, 1.4], requires_grad=True)
        def f(x0):
            with pb.no_grad():
                x0[:2] = -1.5
                x0.squeeze_()
            return ()
        """,
    "an argument is recomputed from, and written later": """
        w = pb.tensor([[-1.0, -1.2, 0.8], [-0.7, 1.3, 1.3]], requires_grad=True)
        v = w.sin()
        x0 = v[::-1]
        def f(x0):
            t3 = x0.exp()
            t4 = t3.mean(axis=1)
            return (t4,)
        later: o[1].mul_(2.0)
        """,
    "a part of an argument is saved, and another part written": """
        w = pb.tensor([[-1.5, 1.7], [-1.3, 1.9], [1.7, -1.9]], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            t2, t3 = pb.array_split(x0, 2)
            t4 = t2.sin()
            return (t3, t4)
        later: o[0].add_(1.0)
        """,
    "a saved result that these gradients do not need is written": """
        w = pb.tensor([0.4, 0.4], requires_grad=True)
        x3 = w * 2.0
        def f(x3):
            t1 = x3 + -1.5
            t2 = t1.cos()
            return (t1, t2)
        later: with pb.no_grad():
        later:     o[0].fill_(0.5)
        roots: 101
        """,
    "joined arrays keep their order": """
        x0 = pb.tensor([[1.4, 1.0], [-2.0, -1.7], [-0.3, -0.1]], requires_grad=True)
        x1 = x0.T
        def f(x1):
            return (pb.concatenate([x1, x1]), pb.stack([x1, x1]))
        """,
    "repeated elements in other types, and their products, keep their order": """
        v = pb.tensor([[0.8, -1.0, -0.7], [1.8, 0.6, -0.4]], requires_grad=True)
        x0 = pb.broadcast_to(v, (2, 2, 3))
        def f(x0):
            t1 = x0.astype(pb.float64)
            t2 = x0.copy()
            t3 = x0.prod(axis=1)
            return (t1, t2 + t2, pb.concatenate([t3, t3]))
        """,
    "elements picked from repeated ones keep their order": """
        x0 = pb.tensor([[1.5, -1.5], [-1.0, 1.6], [-1.2, 0.1]])
        def f(x0):
            t5 = pb.broadcast_to(x0, (2, 3, 2))
            return (t5[..., [0]],)
        """,
    "an inference tensor that requires grad": """
        x0 = pb.tensor([1.0, 2.0])
        def f(x0):
            with pb.inference_mode():
                t2 = x0 * x0
                t2.requires_grad_()
            return (t2,)
        """,
    "views of a leaf that is made here": """
        w = pb.tensor([[1.7, 1.2], [-0.4, -1.9]], requires_grad=True)
        x2 = w * 2.0
        def f(x2):
            x2.mul_(x2)
            t3 = pb.zeros_like(x2, requires_grad=True)
            t4, t5 = t3.unbind()
            return (t5, t4)
        """,
    "a second derivative where another argument got other axes": """
        w = pb.tensor([[1.9, -0.4], [0.4, 0.3]], requires_grad=True)
        x0 = w * 2.0
        x1 = x0[1:]
        def f(x0, x1):
            t1 = x1.square()
            x0.swapaxes_(0, -1)
            return (t1,)
        roots: 1, order 2
        """,
    "a view of a result that has other memory since": """
        x0 = pb.tensor([1.7, -1.0], requires_grad=True)
        def f(x0):
            t1 = x0 > 0.25
            t2, t3 = pb.split(t1, [1])
            t1.data = t1 * 2.0
            return (t1, t2)
        """,
    "an alias of a view has no base": """
        x0 = pb.tensor([[1.3, 1.7], [0.8, -0.1]])
        def f(x0):
            t1 = x0.mT
            t2 = t1.permute(1, 0)
            t3 = t2.detach()
            return (t3,)
        """,
    "a view of an alias that is returned": """
        w = pb.tensor([-0.9, -1.5], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            t1 = x0.detach()
            t3 = t1.view(t1.shape)
            return (t1, t3)
        """,
    "a gradient that is zero is there": """
        w1 = pb.tensor([[-1.5, 0.2, 1.5], [1.0, -1.3, -1.3]], requires_grad=True)
        x1 = w1 * 2.0
        w3 = pb.tensor([[0.7, -1.5, -0.2], [-0.6, -0.8, -0.3]], requires_grad=True)
        x3 = w3 * 2.0
        def f(x1, x3):
            x1.copy_(x3)
            x1[:2] = -1.5
            x3 -= 3.0
            return ()
        roots: 1
        """,
    "the largest of no elements": """
        x0 = pb.tensor(np.zeros(0))
        def f(x0):
            t1 = x0.amax(axis=0)
            return ()
        """,
    "an alias among the arguments is written and detached": """
        x0 = pb.tensor([-0.0, -1.5, 1.2, 0.1])
        x1 = x0.detach()
        def f(x0, x1):
            x1.mul_(0.5)
            x1.detach_()
            t1 = x1.expand_dims(1)
            return (t1,)
        """,
    "an argument gets the memory of a result": """
        w = pb.tensor([[-1.2, 0.1, 0.4], [-1.7, 0.1, -1.9]], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            t1 = x0 / 0.5
            t3 = t1 + t1
            x0.data = t3.detach()
            t6 = pb.moveaxis(t3, 0, 1)
            return (t6,)
        """,
    "a view of an argument that got other memory": """
        x1 = pb.tensor([[-0.5, -0.6, 0.2]])
        def f(x1):
            x1.data = x1 * 2.0
            x1.requires_grad_()
            t1 = x1.mT
            return (t1,)
        """,
    "a view of an argument is a leaf": """
        x3 = pb.tensor([[0.4, -1.8, 0.4], [1.8, 0.0, -0.7]])
        def f(x3):
            t1 = x3[1, 1:2]
            t1.requires_grad_()
            t4 = t1.expand_dims(0)
            return (t4,)
        """,
    "a view taken before the argument required grad": """
        x1 = pb.tensor([[-0.7, 0.7], [1.3, 0.1], [1.2, 1.8]])
        def f(x1):
            t1 = x1.expand_dims(1)
            x1.t_()
            x1.requires_grad_()
            return (t1,)
        """,
    "a view of a leaf that is let go": """
        x0 = pb.tensor([[0.5, -1.6, -0.9], [-1.7, 1.9, -1.8]], requires_grad=True)
        def f(x0):
            t1 = x0.flip(0)
            x0.detach_()
            return (t1,)
        """,
    "a view that is a leaf, of an argument that requires grad": """
        w = pb.tensor([[-0.8, 0.1], [1.8, 0.3]], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            with pb.no_grad():
                t1 = x0.diagonal()
            t1.requires_grad_()
            t2 = t1[::2]
            return (t2,)
        """,
    "a second derivative stops at detach": """
        x0 = pb.tensor([2.0, 3.0], requires_grad=True)
        def f(x0):
            return (x0.detach() * x0 * x0,)
        roots: 1, order 2
        """,
    "a second derivative stops where nothing is recorded": """
        x0 = pb.tensor([2.0, 3.0], requires_grad=True)
        def f(x0):
            with pb.no_grad():
                t1 = x0.sin()
            t2 = pb.zeros(2)
            t2[0] = x0[0].detach()
            t2[1] = x0[1]
            return (t1 * t2 * x0 * x0,)
        roots: 1, order 2
        """,
    "a second derivative beside an inner gradient": """
        x0 = pb.tensor([[1.1], [-0.1]], requires_grad=True)
        w = pb.tensor([1.4, 1.9, -0.2, -2.0], requires_grad=True)
        x1 = w * 2.0
        def f(x0, x1):
            t1 = x0 / x1
            t2 = pb.autograd.grad((t1 * t1).sum(), [x1], retain_graph=True)[0]
            t3 = x1 @ t2
            return (t3,)
        roots: 1, order 2
        """,
}


@pytest.mark.parametrize("text", AGREE.values(), ids=AGREE.keys())
def test_compiled_is_eager(text):
    rules: Counter[str] = Counter()
    assert check(parse(text), rules) is None
    assert not any(rule.startswith("refused") for rule in rules)


REFUSED = {
    "a leaf that is made here as an alias, used and returned": (TraceError, """
        x2 = pb.tensor([[-0.5, -0.3], [0.7, 1.0]], requires_grad=True)
        def f(x2):
            t1 = x2.detach()
            t1.requires_grad_()
            t4 = t1.sum(axis=None)
            return (t4, t1)
        """),
    "a result retains its gradient, and others depend on it": (TraceError, """
        w = pb.tensor([-1.7, -1.2, -1.6], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            t1 = x0 + x0
            t1.retain_grad()
            t2 = t1 + x0
            return (t2, t1)
        """),
    "a view of an argument retains its gradient, and others depend on it": (TraceError, """
        x0 = pb.tensor([[-1.5, 1.5], [0.5, 1.6]], requires_grad=True)
        def f(x0):
            t1 = x0.flip(0)
            t1.retain_grad()
            t2 = t1.contiguous()
            return (t2, t1)
        """),
    "an argument requires grad that others are views of": (AliasError, """
        x0 = pb.tensor([[-1.1, 1.0], [-1.9, -0.5]])
        x1 = x0.unbind()[0]
        def f(x0, x1):
            x0.requires_grad_()
            t4 = x1 @ x1
            return (t4,)
        """),
    "an argument requires grad that is a view": (AliasError, """
        v = pb.tensor([[1.3, 0.8], [1.0, 1.9]])
        x3 = v[None]
        def f(x3):
            t1 = x3[...]
            x3.requires_grad_()
            t3 = t1.exp()
            return (t3,)
        """),
    "one of several arguments on written memory requires grad": (AliasError, """
        x0 = pb.tensor([-0.1, -0.6, 1.8])
        x2 = x0[..., 0]
        def f(x0, x2):
            x0.copy_(x0)
            x2.requires_grad_()
            return ()
        """),
    "a view that could not be written, of an argument that is detached": (AliasError, """
        w = pb.tensor([-1.3, -0.8, 0.8], requires_grad=True)
        x0 = w * 2.0
        with pb.no_grad():
            x1 = x0[...]
        def f(x0, x1):
            x0.detach_()
            x1.mul_(x1)
            return ()
        """),
    "two results in memory that an intermediate no longer has": (FunctionalizationError, """
        x0 = pb.tensor([[1.7, 0.6], [-0.4, -1.6]], requires_grad=True)
        def f(x0):
            t1 = x0 - x0
            t2 = t1[None]
            t3 = t2.mT
            t1.data = t1 * 2.0
            return (t3, t2)
        """),
    "an argument gets another dtype, and a flag that its own does not allow": (FunctionalizationError, """
        x0 = pb.tensor([1, -1, 3])
        def f(x0):
            x0.data = x0 * 2.0
            x0.requires_grad_()
            return ()
        """),
    "a gradient inside is retained by an argument": (TraceError, """
        w = pb.tensor([-0.9, -0.9, -1.6], requires_grad=True)
        x0 = w * 2.0
        def f(x0):
            x0.retain_grad()
            t1 = pb.autograd.grad((x0 * x0).sum(), [x0], retain_graph=True)[0]
            return ()
        """),
    "a result in memory that an argument no longer has": (FunctionalizationError, """
        x0 = pb.tensor([-1.1, 0.3, 1.8, 0.8], requires_grad=True)
        def f(x0):
            t2 = x0[-1:]
            x0.data = x0 * 2.0
            t4 = t2.detach()
            return (t4,)
        """),
}  # fmt: skip


@pytest.mark.parametrize(("error", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_can_not_be_replayed_is_refused(error, text):
    program = parse(text)
    scope = program.scope()
    with pytest.raises(error):
        pb.compile(program.function(), fallback="raise")(*[scope[name] for name in program.parameters])


def test_a_second_derivative_through_a_hidden_write_is_refused():
    def f(x):
        y = x * 3
        y.detach().mul_(2.0)
        return (y * y * y).sum()

    x = pb.tensor([2.0, 3.0], requires_grad=True)
    with pytest.raises(HigherOrderError):
        pb.autograd.grad(pb.compile(f, fallback="raise")(x), [x], create_graph=True)


def test_a_call_that_saves_nothing_can_be_differentiated_again():
    x = pb.ones(3, requires_grad=True)
    y = pb.compile(lambda x: (x + 1).sum(), fallback="raise")(x)
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("zero", [0, 0.0])
def test_a_gradient_through_a_factor_of_zero_is_nan_where_it_was_infinite(backend, zero):
    if backend == "llvm":
        pytest.importorskip("llvmlite", reason="native code needs llvmlite")
    pull = lambda x, g: pb.func.vjp(lambda x: x * zero, x)[1](g)[0]
    push = lambda x, t: pb.func.jvp(lambda x: x * zero, (x,), (t,))[1]
    x, g = pb.tensor([1.0, 2.0, 3.0]), pb.tensor([np.inf, np.nan, 1.0])
    with np.errstate(invalid="ignore"):
        for function in (pull, push):
            wanted = function(x, g).numpy()
            np.testing.assert_array_equal(wanted, [np.nan, np.nan, 0.0])
            np.testing.assert_array_equal(pb.compile(function, backend=backend)(x, g).numpy(), wanted)


_PARTS = {
    "flipped": lambda x: x[::-1],
    "shorter": lambda x: x[1:],
    "all": lambda x: x[:],
    "reshaped": lambda x: x.reshape(1, -1),
    "computed": lambda x: x * 2.0,
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("taken", _PARTS)
@pytest.mark.parametrize("given", _PARTS)
def test_views_from_before_a_tensor_was_given_other_parts_of_its_memory_stay(given, taken, requires_grad):
    def f(x):
        part, new = _PARTS[taken](x), _PARTS[given](x)
        x.data = new.detach()
        return part, new, x[:1], x

    def observed(function):
        x = pb.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
        memory = x.detach()
        out = function(x)
        arrays = [each.detach().numpy() for each in (*out, memory)]
        shared = [np.shares_memory(a, b) for a in arrays for b in arrays]
        try:
            sum((each * each).sum() for each in out if each.requires_grad).backward()
            gradient = x.grad.tolist()
        except (pb.autograd.AutogradError, AttributeError) as error:
            gradient = type(error).__name__
        return [array.tolist() for array in arrays], shared, gradient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be told from the arguments runs eagerly, and says so
        assert observed(pb.compile(f, backend="numpy")) == observed(f)


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"backend": "numpy", "dynamic": True}], ids=str)
def test_what_has_no_history_has_none_in_second_derivatives_at_other_lengths_either(options):
    def f(x):
        with pb.no_grad():
            factor = x * 2
        return (factor * x).sum() + (x.detach() * x * x).sum()

    compiled = pb.compile(f, **options)
    for length in (2, 3, 4, 5):
        x = pb.tensor(np.linspace(1.0, 2.0, length), requires_grad=True)
        second = []
        for function in (f, compiled):
            (slope,) = pb.autograd.grad(function(x), x, create_graph=True)
            second.append(pb.autograd.grad(slope.sum(), x)[0].numpy())
        np.testing.assert_allclose(second[1], second[0])


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_result_in_the_memory_of_an_argument_stays_there_when_the_argument_is_written(backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite", reason="native code needs llvmlite")

    def f(x, y):
        alias = x.data
        alias += y
        return alias[0]

    for function in (f, pb.compile(f, backend=backend)):
        x, y = pb.tensor([[0.5, 1.0], [2.0, 3.0]]), pb.tensor([1.0, 2.0], requires_grad=True)
        first = function(x, y)
        x.mul_(x)
        assert first.tolist() == x[0].tolist() == [2.25, 9.0]


_LAID_OUT_BY_KERNELS = {
    "a transform": pb.fft.fft2,
    "softmax": lambda x: pb.softmax(x, 0),
    "log_softmax": lambda x: pb.log_softmax(x, 0),
    "a triangle": pb.tril,
    "a running sum": lambda x: pb.cumsum(x, 0),
    "moved": lambda x: pb.roll(x, 1),
    "sorted": pb.sort,
    "gelu": pb.nn.gelu,
    "layer_norm": lambda x: pb.nn.layer_norm(x, (4,)),
}


@pytest.mark.parametrize("name", _LAID_OUT_BY_KERNELS)
@pytest.mark.parametrize("lay", [np.asfortranarray, np.ascontiguousarray, lambda a: a.T.copy().T[::-1]], ids="FCN")
def test_a_reshape_of_a_result_is_a_view_where_it_is_one_in_eager_code(name, lay):
    """The result of a kernel may lie in memory as its operand does, and a reshape of it is then a copy."""
    def f(x):
        made = _LAID_OUT_BY_KERNELS[name](x)
        made.reshape(-1)[0] += 1
        return made

    x = pb.asarray(lay(np.linspace(0.1, 2.0, 12).reshape(3, 4)))
    np.testing.assert_allclose(pb.compile(f, backend="numpy", fallback="raise")(x), f(x), rtol=1e-12)


@pytest.mark.parametrize("move", ["swapaxes_(0, -1)", "transpose_(0, 1)", "unsqueeze_(0)"])
@pytest.mark.parametrize("view", ["x.real", "x[1:].imag", "pb.view_as_real(x)", "pb.view_as_complex(x)"])
def test_parts_of_numbers_are_views_of_an_argument_that_is_turned_afterwards(view, move):
    scope = {"pb": pb}
    exec(f"def f(x):\n    seen = {view}\n    x.{move}\n"
         "    return seen", scope)  # fmt: skip
    values = np.arange(12.0).reshape(3, 2, 2) * (1 if "as_complex" in view else 1 + 0.5j)
    found = []
    for f in (scope["f"], pb.compile(scope["f"], backend="numpy")):
        x = pb.tensor(values)
        seen = f(x)
        shown = seen.numpy().copy()
        seen.fill_(7)
        found.append((shown, seen.strides, x.numpy()))
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_array_equal(compiled, eager)
