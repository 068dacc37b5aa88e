"""Backward passes that fail for some results: for the others they do what they do in eager code, once."""

from __future__ import annotations

import pytest

import pullback as pb
from pullback.autograd import AutogradError
from pullback.errors import TraceError
from tests.aot.counting import Counting

SEEN: list[str] = []


@pb.library.custom_op("tests_trials::note", mutates_args=(), schema="(Tensor x) -> Tensor")
def note(x):
    SEEN.append("noted")
    return x * 1


note.register_fake(lambda x: pb.empty_like(x))
note.register_effect("ordered")


class Noting(pb.autograd.Function):
    """The identity. Its backward has an effect."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return note(g)


class Drawing(pb.autograd.Function):
    """The identity. Its backward draws."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * pb.random.normal(size=g.shape)


def destroyed(x):
    """A result that cannot be differentiated: what its gradient needs was overwritten."""
    y = pb.exp(x)
    y.mul_(2)
    return y


def observed(function, which, *args):
    SEEN.clear()
    pb.random.manual_seed(1)
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    outs = function(x, *args)
    try:
        sum(outs[k].sum() for k in which).backward()
    except AutogradError as error:
        return error.code, list(SEEN)
    return x.grad.tolist(), list(SEEN), pb.random.normal(size=1).tolist()


@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 2), (1, 2)])
@pytest.mark.parametrize("custom", [Noting, Drawing])
def test_effects_happen_once(custom, which):
    def f(x):
        return custom.apply(x) * 3, destroyed(x), x * 2

    compiled = pb.compile(f, backend="numpy", fallback="raise")
    expected = observed(f, which)
    assert observed(compiled, which) == expected
    assert observed(compiled, which) == expected


@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 2)])
def test_writes_happen_once(which):
    def f(x, counter):
        return Counting.apply(x, counter), destroyed(x), x * counter

    found = []
    for function in (f, pb.compile(f, backend="numpy", fallback="raise")):
        counter = pb.zeros(2)
        found.append((observed(function, which, counter), counter.tolist(), counter._version))
    assert found[0] == found[1]


def test_a_retained_gradient_is_looked_for_without_effects():
    def f(x):
        y = x * 2
        y.retain_grad()
        return y, Noting.apply(x)

    found = []
    for function in (f, pb.compile(f, backend="numpy", fallback="raise")):
        SEEN.clear()
        x = pb.tensor([1.0, 2.0], requires_grad=True)
        y, z = function(x)
        (y.sum() + z.sum()).backward()
        found.append((y.grad.tolist(), x.grad.tolist(), list(SEEN)))
    assert found[0] == found[1] and found[0][2] == ["noted"]


def test_the_function_runs_again_only_where_something_would_be_left():
    runs = []

    def f(x):
        runs.append(1)
        return x * 3, destroyed(x), x * 2

    pb.compile(f, fallback="raise", side_effects="trace")(pb.ones(2, requires_grad=True))
    assert len(runs) == 1


class Alone(pb.autograd.Function):
    """Two results of which not both may be differentiated at once."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx, g, h):
        if g is not None and h is not None:
            raise ValueError("one at a time")
        return g if h is None else h * 2


def test_results_that_can_not_be_differentiated_together_are_refused():
    x = pb.ones(2, requires_grad=True)
    with pytest.raises(TraceError, match="one at a time"):
        pb.compile(lambda x: Alone.apply(x), fallback="raise")(x)
    with pytest.warns(UserWarning, match="one at a time"):
        _, second = pb.compile(lambda x: Alone.apply(x))(x)
    second.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("ask", [
    lambda y, x: pb.autograd.grad(y, x), lambda y, x: pb.autograd.grad(y, x, allow_unused=True),
    lambda y, x: pb.autograd.grad(y, x, create_graph=True, materialize_grads=True), lambda y, x: y.backward(inputs=[x]),
], ids=["grad", "allow_unused", "create_graph", "backward"])  # fmt: skip
def test_who_asks_for_a_refused_gradient_of_one_result_is_told_and_not_given_none(ask):
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    compiled = pb.compile(lambda x: (pb.special.jn(x, 5), w**2), backend="numpy", fallback="raise")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="no derivative by its argument"):
        ask(compiled(x)[0].sum(), x)
    assert pb.autograd.grad(compiled(x)[1].sum(), [w, x], allow_unused=True)[1] is None


def test_who_asks_for_a_gradient_that_does_not_lead_to_a_refused_one_is_not_bothered():
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    compiled = pb.compile(lambda x: pb.special.jn(w, 5) + 0 * x.detach(), backend="numpy", fallback="raise")
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    assert pb.autograd.grad(compiled(x).sum(), x, allow_unused=True) == (None,)
    with pytest.raises(NotImplementedError, match="no derivative by its argument"):
        compiled(x).sum().backward()


@pb.autograd.overwrite_policy("raise")
def test_a_refused_gradient_of_what_was_written_by_an_earlier_call_concerns_its_arguments_only():
    held = pb.ones(2)

    def f(y):
        result = pb.sin(held)
        held[...] *= y
        return result

    compiled = pb.compile(f, backend="numpy", fallback="raise")
    first, second = (pb.tensor(2.0, requires_grad=True) for _ in range(2))
    compiled(first)
    result = compiled(second)
    assert pb.autograd.grad(result.sum(), second, allow_unused=True) == (None,)
    with pytest.raises(AutogradError, match="VERSION"):
        pb.autograd.grad(compiled(first).sum(), first)


@pytest.mark.parametrize("view", [lambda v: v, lambda v: v.T, lambda v: v[::-1], lambda v: v[1:, :2]],
                         ids=["all", "transposed", "reversed", "part"])  # fmt: skip
@pytest.mark.parametrize("part", [lambda x: x[1:], lambda x: x[:, 1:], lambda x: x[::-1, ::-2], lambda x: x.T],
                         ids=["rows", "columns", "reversed", "transposed"])  # fmt: skip
def test_a_part_of_an_argument_that_is_written_over_keeps_its_value(view, part):
    def f(x):
        return part(x).sin()

    def gradient(call):
        w = pb.arange(12.0).reshape(3, 4).clone().requires_grad_()
        v = w * 2
        out = call(view(v))
        v.add_(1.0)
        return pb.autograd.grad(out.sum(), w)[0].tolist()

    assert gradient(pb.compile(f, backend="numpy", fallback="raise")) == gradient(f)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_what_an_earlier_call_wrote_over_has_the_gradient_of_eager_code(backend):
    def gradients(wrapped):
        held = pb.ones(2)

        def f(y):
            result = pb.sin(held)
            held[...] *= y
            return result

        call = wrapped(f)
        first, second = (pb.tensor(2.0, requires_grad=True) for _ in range(2))
        call(first)
        result = call(second)
        # A compiled call is one node, which is on the way to `second`: it would be released as a whole.
        assert pb.autograd.grad(result.sum(), second, allow_unused=True, retain_graph=True) == (None,)
        return pb.autograd.grad(call(first).sum(), [first, second])

    found = gradients(lambda f: pb.compile(f, backend=backend, fallback="raise"))
    assert [x.item() for x in found] == pytest.approx([x.item() for x in gradients(lambda f: f)])
