"""Long programs that are no loops: a list of commands over few kernels, whose number does not grow with the program."""

import re

import numpy as np
import pytest

import pullback as pb
from pullback.compiler.native import compile_native
from pullback.graph.reroll import reroll

pytest.importorskip("llvmlite", reason="native code needs llvmlite")


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def products(x, weights):
    for w in weights:
        x = pb.tanh(x @ w)
    return (x * x).sum()


def rows(x, weights):
    for w in weights:
        x = pb.tanh(x * w[0] + w[1])
    return (x * x).sum()


def of_two_kinds(x, weights):
    for k, w in enumerate(weights):
        x = pb.tanh(x @ w)
        if k % 7 == 6:
            x = x - x.mean(0)
    return (x * x).sum()


def native(function, layers):
    """The joint graph of a network of so many layers, made native, with the graph and its inputs."""
    arrays = [array(2, 4), *(array(4, 4, seed=k) for k in range(layers))]
    x, *weights = [pb.tensor(each, requires_grad=True) for each in arrays]
    graph = pb.aot.joint_graph(function, x, weights).graph
    return compile_native(graph, strict=True), graph, [*arrays, np.array(1.0)]


def kernels_in(text):
    """The parameters of each kernel."""
    return re.findall(r"define internal void @NAME_k\d+\((.*?)\)", text)


@pytest.mark.parametrize("function", [products, rows, of_two_kinds])
def test_the_number_of_kernels_does_not_grow_with_the_number_of_layers(function):
    for layers in (160, 240):
        kernels = kernels_in(native(function, layers)[0].llvm_ir())
        assert len(kernels) < 20
        assert max(kernel.count("ptr") for kernel in kernels) < 300


@pytest.mark.parametrize("function", [products, of_two_kinds])
def test_a_list_of_commands_gives_what_the_graph_gives(function):
    compiled, graph, given = native(function, 60)
    assert reroll(graph) is graph
    assert "@NAME_list" in compiled.llvm_ir()
    for mine, theirs in zip(compiled(list(given)), graph.eval(*given), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def many_kinds(x, weights, places):
    """Calls of BLAS, loops, sums in blocks, routines and gathers, each with arrays of its own."""
    for w in weights:
        x = pb.tanh(x @ w)[places]
        x = x + pb.scan(lambda carry, row: (pb.sin(carry + row), carry), x[0], x)[1]
        x = x / pb.linalg.cholesky(x.T @ x + pb.eye(x.shape[1])).sum()
    return x


def test_commands_of_all_kinds_can_be_in_a_list():
    weights = [array(24, 24, seed=k) / 5 for k in range(25)]
    x, places = array(30, 24, seed=90), np.random.default_rng(3).integers(0, 30, 30)
    compiled = pb.compile(many_kinds, backend="llvm", fallback="raise")
    eager = many_kinds(pb.asarray(x), [pb.asarray(w) for w in weights], places)
    np.testing.assert_allclose(compiled(x, weights, places).numpy(), eager.numpy(), rtol=1e-9)
    assert "@NAME_list" in compiled.llvm_ir()
    with pytest.raises(IndexError):
        compiled(x, weights, places + 30)


def test_threads_share_commands_of_a_list():
    weights = [array(200, 200, seed=k) / 14 for k in range(30)]
    x = array(300, 200)

    def f(x, weights):
        for w in weights:
            x = pb.tanh(x @ w) + x
        return x

    before = pb.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            pb.set_num_threads(threads)
            found.append(np.asarray(pb.compile(f, backend="llvm", fallback="raise")(x, weights)))
    finally:
        pb.set_num_threads(before)
    np.testing.assert_array_equal(*found)
    for w in weights:
        x = np.tanh(x @ w) + x
    np.testing.assert_allclose(found[0], x, rtol=1e-9)


def test_kernels_that_differ_in_the_sign_of_a_zero_are_two():
    def f(x, weights):
        found = []
        for k, w in enumerate(weights):
            zero = (x @ w) * (0.0 if k % 2 else -0.0)
            found.append(zero)
            x = x + zero
        return found

    compiled = pb.compile(f, backend="llvm", fallback="raise")
    found = compiled(np.ones((40, 40)), [np.ones((40, 40))] * 4)
    assert [np.signbit(each.numpy()).all() for each in found] == [True, False, True, False]
    assert not np.signbit(found[1].numpy()).any()
