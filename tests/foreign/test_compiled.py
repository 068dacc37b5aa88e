"""Compiled functions on arrays of other libraries: conformance cases 56 to 59."""

import numpy as np
import pytest

import pullback as pb
from tests.foreign.kinds import assert_equal, library

A = np.random.default_rng(0).normal(size=(4, 3))
W = np.random.default_rng(1).normal(size=(3, 2))


def f(x, w):
    return (pb.tanh(pb.sin(x) @ w + 1) ** 2).sum()


def double(x):
    x.mul_(2)
    return (x * x).sum()


@pytest.mark.parametrize("name", ["strict", "torch", "jax"])
def test_case_56_values_and_gradients_through_one_compiled_node(name):
    kind = library(name)
    compiled = pb.compile(f, fallback="raise")
    x, w, nx, nw = kind.tensor(A, requires_grad=True), kind.tensor(W), pb.tensor(A, requires_grad=True), pb.tensor(W)
    y = compiled(x, w)
    ((node, _),) = y.grad_fn.next_functions
    assert node.name() == "CompiledBackward" and y.device is x.device
    y.backward()
    f(nx, nw).backward()
    assert_equal(y, f(nx, nw))
    assert_equal(x.grad, nx.grad)
    assert x.grad.device is x.device


def test_case_56_another_library_is_another_capture():
    kinds = [library(name) for name in ("strict", "torch", "jax")]
    compiled = pb.compile(f, fallback="raise")
    wanted = f(pb.tensor(A), pb.tensor(W))
    for _ in range(2):
        for kind in kinds:
            x = kind.tensor(A)
            y = compiled(x, kind.tensor(W))
            assert y.device is x.device
            assert_equal(y, wanted)
        assert compiled(pb.tensor(A), pb.tensor(W)).device == "cpu"


def test_case_57_what_has_no_code_raises_or_says_so():
    strict = library("strict").module
    x = pb.foreign(strict.asarray(A, device=strict.Device("device1")))
    square = lambda x: (x * x).sum()
    with pytest.raises(TypeError, match="no compiled code"):
        pb.compile(square, fallback="raise")(x)
    with pytest.warns(pb.PerformanceWarning, match="uncompiled"):
        assert_equal(pb.compile(square)(x), (A * A).sum())


@pytest.mark.parametrize("name", ["strict", "torch", "jax"])
def test_case_58_writes_to_arguments_arrive(name):
    kind = library(name)
    x = kind.tensor(A)
    assert_equal(pb.compile(double)(x), 4 * (A * A).sum())
    assert x._version == 1
    assert_equal(x, 2 * A)
    leaf = kind.tensor(A, requires_grad=True)
    pb.compile(double)(leaf * 1).backward()
    assert_equal(leaf.grad, 8 * A)


def test_case_59_torch_arrays_are_not_copied():
    kind = library("torch")
    a = kind.make(A)
    shared = pb.foreign(a).to("cpu", copy=False)
    assert shared._data.ctypes.data == a.data_ptr()
    y = pb.compile(lambda x: x * 2)(pb.foreign(a))
    assert type(y.payload) is type(a)
    assert_equal(y, 2 * A)


def test_a_view_of_an_argument_cannot_be_returned():
    kind = library("strict")
    with pytest.raises(RuntimeError, match="view of an argument"):
        pb.compile(lambda x: x[1:])(kind.tensor(A))
