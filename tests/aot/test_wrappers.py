"""Tensors on payloads of your own in captured functions: guards, captures, payloads in payloads, and what is refused.

The conformance cases about them are in tests/conformance/test_aot_wrappers.py.
"""

from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from pullback.tensors.tensor import wrap
from tests.conformance.aot import VARIANTS
from tests.conformance.wrappers import ONES, A, B, Coercing, TwoPart, Y, check, contents, inputs_of, leaf, two

VARIANT = pytest.mark.parametrize("variant", list(VARIANTS))


def product(x: pb.Tensor, y: pb.Tensor) -> pb.Tensor:
    return x * y


def product_args() -> Any:
    return leaf(two(A, B)), leaf(pb.tensor(Y))


def test_guards_are_on_type_meta_and_parts() -> None:
    f = VARIANTS["numpy"](lambda x: x * 2)
    f(pb.ones(3))
    f(two(A, B))
    assert f.why_recompiled()[-1] == "args[0]: payload: a plain array before, TwoPart now"
    f(two(B, A))
    assert f.cache_info().misses == 2
    f(two(A, B, tag="other"))
    assert "payload" in f.why_recompiled()[-1]
    f(two(A, B, Coercing))
    f(leaf(two(A, B)))
    assert "requires_grad" in f.why_recompiled()[-1]
    f(two([*A, 1.0], [*B, 1.0]))
    assert f.cache_info().misses == 6


def test_a_payload_is_asked_for_what_it_needs() -> None:
    class Half:
        shape, dtype = (2,), np.dtype(float)

    with pytest.raises(TypeError, match="Half has no evaluate_op, __tensor_flatten__, __tensor_unflatten__"):
        pb.aot.wrap_payload(Half())
    with pytest.raises(TypeError, match="ndarray has no evaluate_op"):
        pb.aot.wrap_payload(np.ones(3))
    with pytest.raises(TypeError, match="none of the parts of TwoPart is an array"):
        payload = TwoPart(1.0, 2.0)
        payload.a = np.float64(1)
        pb.aot.wrap_payload(payload)


def test_a_payload_without_the_protocol_runs_the_function() -> None:
    class Opaque(TwoPart):
        __tensor_flatten__ = None

    calls = []

    def f(x: pb.Tensor) -> pb.Tensor:
        calls.append(1)
        return x

    compiled = pb.compile(f)
    tensor = wrap(Opaque(np.array(A), np.array(B)))
    assert compiled(tensor) is tensor and compiled(tensor) is tensor and len(calls) == 2


@VARIANT
def test_wrappers_that_are_not_arguments_are_inputs_as_well(variant: str) -> None:
    held, counted = leaf(two(A, B)), two(B, A)

    def f(y: pb.Tensor) -> Any:
        counted.add_(1)
        return held * y + counted

    compiled = VARIANTS[variant](f)
    assert inputs_of(aot.trace(f, pb.tensor(Y)).graph) == [
        "args[0]", "captured[0].a", "captured[0].b", "captured[1].a", "captured[1].b",
    ]  # fmt: skip
    for turn in range(3):
        held.grad = None
        y = leaf(pb.tensor(Y))
        compiled(y).backward(ONES)
        assert contents(held.grad) == contents(pb.tensor(Y).detach() * ONES)
        assert contents(y.grad) == contents(two(A, B) * ONES)
        assert counted._data.a.tolist() == [x + turn + 1 for x in B]
    assert compiled.cache_info().misses == 1
    held = leaf(two(B, B))
    assert contents(compiled(leaf(pb.tensor(Y)))) == contents(two(B, B) * pb.tensor(Y) + counted)
    assert "held" in compiled.why_recompiled()[-1]
    for mode in ("constant", "error"):
        with pytest.raises(aot.CaptureError, match="not among its arguments"):
            VARIANTS[variant](f, captures=mode)(pb.tensor(Y))


def test_an_argument_that_is_captured_as_well_is_one_input() -> None:
    held = two(A, B)
    compiled = VARIANTS["numpy"](lambda x: x + held)
    assert contents(compiled(held)) == contents(compiled(held)) == contents(held + held)
    assert contents(compiled(two(B, A))) == contents(two(B, A) + held)
    assert compiled.cache_info()[:3] == (1, 2, 2)


@VARIANT
def test_a_function_may_make_wrappers_and_take_them_apart(variant: str) -> None:
    def f(x: pb.Tensor, y: pb.Tensor) -> Any:
        return pb.aot.wrap_payload(TwoPart((x * 2)._data, (y * 3)._data)) + 1

    check(f, lambda: (pb.tensor(A), pb.tensor(B)), None, variant)


@VARIANT
def test_wrappers_in_wrappers(variant: str) -> None:
    def make() -> Any:
        pair = TwoPart(np.array(A), np.array(B), "inner")
        pb.aot.wrap_payload(pair)
        return leaf(pb.aot.wrap_payload(TwoPart(pair, np.array(Y), "outer"))), leaf(pb.tensor(Y))

    def tangent() -> pb.Tensor:
        return pb.aot.wrap_payload(TwoPart(TwoPart(np.ones(3), np.full(3, 2.0), "inner"), np.full(3, 3.0), "outer"))

    check(product, make, lambda out, _: out.backward(tangent()), variant)
    assert inputs_of(aot.trace(product, *make()).graph) == ["args[0].a.a", "args[0].a.b", "args[0].b", "args[1]"]


@VARIANT
def test_higher_derivatives_run_the_function_again(variant: str) -> None:
    def f(x: pb.Tensor, y: pb.Tensor, power: int) -> Any:
        return x * x * y**power, y * 2

    compiled, found = VARIANTS[variant](f), []
    for function in (f, compiled, compiled):
        x, y = product_args()
        out, _ = function(x, y, 3)
        first = pb.autograd.grad(out, (x, y), ONES, create_graph=True)
        second = [pb.autograd.grad(g, (x, y), ONES, retain_graph=True) for g in first]
        found.append([contents(g) for g in (*first, *second[0], *second[1])])
    assert found[0] == found[1] == found[2]
    assert compiled.cache_info().misses == 1


def test_a_higher_derivative_sees_the_same_random_numbers() -> None:
    def f(x: pb.Tensor) -> Any:
        return x * x * pb.random.normal(size=3)

    found = []
    for function in (f, VARIANTS["numpy"](f)):
        pb.random.manual_seed(3)
        x = leaf(two(A, B))
        (first,) = pb.autograd.grad(function(x), x, ONES, create_graph=True)
        (second,) = pb.autograd.grad(first, x, ONES)
        found.append((contents(first), contents(second), pb.random.normal(size=2).tolist()))
    assert found[0] == found[1]


def test_higher_derivatives_that_are_refused() -> None:
    x, y = product_args()
    out = VARIANTS["numpy"](product, higher_order="error")(x, y)
    with pytest.raises(aot.DoubleBackwardError, match="retrace"):
        pb.autograd.grad(out, x, ONES, create_graph=True)
    out = VARIANTS["numpy"](product)(x, y)
    with pb.no_grad():
        y.add_(1)
    with pytest.raises(pb.autograd.AutogradError, match="modified"):
        pb.autograd.grad(out, x, ONES, create_graph=True)

    def overwriting(x: pb.Tensor, y: pb.Tensor) -> Any:
        y.mul_(2)
        return x * y

    x = leaf(two(A, B))
    out = VARIANTS["numpy"](overwriting)(x, pb.tensor(Y))
    with pytest.raises(aot.HigherOrderError, match="payloads of your own"):
        pb.autograd.grad(out, x, ONES, create_graph=True)


def test_what_is_explained() -> None:
    text = str(aot.explain(product, *product_args()))
    assert "tangent(output[0]).a" in text and "args[0].b" in text


def test_a_value_that_was_written_after_the_call_is_missed() -> None:
    x, y = product_args()
    inner = x * 1
    out = VARIANTS["interpreted"](product)(inner, y)
    with pb.no_grad():
        inner.add_(1)
    with pytest.raises(pb.autograd.AutogradError, match="modified"):
        out.backward(ONES)


IN_CONTROL_FLOW = {
    "argument": lambda x, y: pb.cond(y.sum() > 0, lambda a: a * 2, lambda a: a * 3, x),
    "what the branch true_fn uses": lambda x, y: pb.cond(y.sum() > 0, lambda: (x * y).sum(), lambda: y.sum()),
    "result": lambda x, y: pb.cond(
        y.sum() > 0, lambda a: pb.aot.wrap_payload(TwoPart(a._data, a._data)), lambda a: a, y
    ),
    "carry": lambda x, y: pb.while_loop(lambda a: y.sum() > 0, lambda a: a * 2, x),
    "xs": lambda x, y: pb.scan(lambda total, a: (total + a, None), y[0], x),
}


@pytest.mark.parametrize("name", IN_CONTROL_FLOW)
def test_control_flow_says_that_it_takes_plain_tensors(name: str) -> None:
    function = IN_CONTROL_FLOW[name]
    with pytest.raises(aot.TraceError, match=rf"{name}.* is a tensor on a TwoPart"):
        pb.compile(function, fallback="raise")(two(A, B), pb.tensor(Y))


def test_control_flow_on_payloads_is_eager_where_it_is_not_traced() -> None:
    choose = IN_CONTROL_FLOW["argument"]
    with pytest.warns(UserWarning, match="plain tensors only"):
        got = pb.compile(choose)(two(A, B), pb.tensor(Y))
    assert contents(got) == contents(two(A, B) * 2)


# Gradients that nobody gave.

SCALARS = {
    "product": lambda x: (x * x).sum(),
    "linear": lambda x: (x * 2).sum(),
    "sum": lambda x: x.sum(),
    "slice": lambda x: x[1:].sum(),
    "exp": lambda x: pb.exp(x).mean(),
    "concat": lambda x: pb.concatenate([x, x]).sum(),
    "index": lambda x: (x * x)[1],
}


@VARIANT
@pytest.mark.parametrize("f", SCALARS.values(), ids=SCALARS.keys())
def test_the_first_gradient_of_a_payload_is_one(f: Any, variant: str) -> None:
    parts = []
    for values in (A, B):
        x = pb.tensor(values, requires_grad=True)
        f(x).backward()
        parts.append(x.grad.tolist())
    for g in (f, VARIANTS[variant](f)):
        x = leaf(two(A, B, tag="tag"))
        g(x).backward()
        assert contents(x.grad)[:2] == ("TwoPart", "tag")
        np.testing.assert_allclose([x.grad._data.a, x.grad._data.b], parts, rtol=1e-12)
    gradient = pb.func.grad(f)(two(A, B))._data
    np.testing.assert_allclose([gradient.a, gradient.b], parts, rtol=1e-12)


@VARIANT
def test_a_part_of_a_compiled_call_may_be_reduced_outside(variant: str) -> None:
    x = leaf(two(A, B))
    VARIANTS[variant](lambda x: x * x)(x).sum().backward()
    assert contents(x.grad) == contents(two([2.0, 4.0, 6.0], [8.0, 10.0, 12.0]))


def test_a_class_may_make_its_gradients_itself() -> None:
    class Certain(TwoPart):
        def ones(self, shape: Any, dtype: Any) -> Any:
            return Certain(np.ones(shape, dtype), np.zeros(shape, dtype))

    x = leaf(two(A, B, Certain))
    (x * x).sum().backward()
    assert contents(x.grad._data.a) == contents(np.array([2.0, 4.0, 6.0]))
    assert contents(x.grad._data.b) == contents(np.zeros(3))


def test_unused_results_of_a_function_have_zeros_of_their_kind() -> None:
    arrived = []

    class Both(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            arrived.append(contents(second))
            return first * 2 + second * 3

    x = leaf(two(A, B))
    Both.apply(x)[0].sum().backward()
    assert arrived == [contents(two([0.0] * 3, [0.0] * 3))]
    assert contents(x.grad) == contents(two([2.0] * 3, [2.0] * 3))


def test_nodes_know_that_their_values_are_payloads() -> None:
    x = leaf(two(A, B))
    results = [x * 2, pb.exp(x), x[1:], (x * 1).mul_(2), VARIANTS["numpy"](lambda x: x * x)(x)]
    base = x * 1
    base[1:].mul_(2)
    results.append(base)
    edges = [*((result.grad_fn, 0) for result in results), results[0].grad_fn.next_functions[0]]
    for node, number in edges:
        metadata = node._input_metadata[number]
        assert metadata.is_tensor_subclass and metadata.kind is TwoPart, node
        assert contents(metadata.zeros_like())[0] == "TwoPart"
        assert metadata.zeros_like().shape == metadata.shape
    plain = (pb.ones(3, requires_grad=True) * 2).grad_fn._input_metadata[0]
    assert not plain.is_tensor_subclass and plain.kind is None and plain.zeros_like().tolist() == [0.0] * 3
    seen = []
    pb.func.vmap(lambda x: seen.append((x * 2).grad_fn._input_metadata[0].is_tensor_subclass) or x)(
        pb.ones((2, 3), requires_grad=True)
    )
    assert seen == [False]


# Writes in a backward pass.

WRITES = {
    "gradient": (lambda: two(Y, Y), lambda noted, g: noted.add_(g * 3)),
    "part": (lambda: two(Y, Y), lambda noted, g: noted[1:].add_(g[1:] * 3)),
    "constant": (lambda: two(Y, Y), lambda noted, g: noted.mul_(2)),
    "plain": (lambda: pb.tensor(Y), lambda noted, g: noted.mul_(2)),
}


@VARIANT
@pytest.mark.parametrize("make, write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_what_a_backward_pass_writes_arrives(variant: str, make: Any, write: Any, is_wrapped: bool) -> None:
    class Noting(pb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, noted: Any) -> Any:
            ctx.noted = noted
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with pb.no_grad():
                write(ctx.noted, g)
            return g * 2, None, None

    def left_by(f: Any) -> Any:
        x, y = (two(A, B), pb.tensor(Y)) if is_wrapped else (pb.tensor(A), two(Y, Y))
        noted = make()
        for _ in range(2):
            f(leaf(x), y, noted).sum().backward()
        return contents(noted), noted._version, contents(x.grad)

    assert left_by(VARIANTS[variant](lambda x, y, noted: Noting.apply(x, y, noted))) == left_by(Noting.apply)


ZEROS = {
    "materialized": lambda x, u: pb.autograd.grad((x * x).sum(), [x, u], materialize_grads=True)[1],
    "func.grad": lambda x, u: pb.func.grad(lambda u: (x * x).sum())(u),
    "func.jvp": lambda x, u: pb.func.jvp(lambda u: x * x, (u.detach(),), (x.detach(),))[1],
    "functional.vjp": lambda x, u: pb.autograd.functional.vjp(lambda u: (x.detach() * 2).sum() + 0 * u.sum(), u)[1],
}


@pytest.mark.parametrize("made", ZEROS.values(), ids=ZEROS.keys())
def test_derivatives_that_are_zero_are_payloads(made: Any) -> None:
    zeros = made(leaf(two(A, B)), leaf(two(B, A)))
    assert contents(zeros) == contents(two([0.0] * 3, [0.0] * 3))


def test_a_traced_graph_makes_each_result_of_its_own_arrays_also_behind_written_inputs():
    def f(x, y):
        x.mul_(y)
        return x * 3, y + 1, x - y

    def given():
        return two(A, B), two(B, A)

    outs, _ = aot.trace(f, *given()).eval(*given())
    assert [contents(each) for each in outs] == [contents(each) for each in f(*given())]
