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
    assert compiled.cache_info() == (1, 2, 2)


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
