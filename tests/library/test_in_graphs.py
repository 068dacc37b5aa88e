"""Custom operators as nodes of graphs: arguments of every kind, text, transforms, derivatives of every order."""

import threading

import numpy as np
import pytest
import scipy.linalg as sla

import pullback as pb
from pullback import aot
from pullback.func import grad, hessian, jacfwd, jvp, vmap
from pullback.graph.graph import Graph
from pullback.library import FakeMismatchError, custom_op, define, primitive, pure_callback
from pullback.testing import assert_close
from tests.conformance.aot import check, inner, ops_of, plain, rg, trace
from tests.conformance.custom_ops import T3, P, bare, cube, like_first, name, op, save_input, sq

pytestmark = pytest.mark.filterwarnings("ignore::pullback.errors.PerformanceWarning")


# Arguments and results.


def combine():
    """Lists of tensors in and out, some of them missing, and a number among the arguments."""

    def f(xs: list[pb.Tensor], ys: list[pb.Tensor | None], k: int = 2) -> tuple[list[pb.Tensor], pb.Tensor]:
        return [x * k for x in xs], sum(y for y in ys if y is not None) + 0

    def backward(ctx, gs, g):
        return [ctx.k * each for each in gs], [g if there else None for there in ctx.there], None

    def setup(ctx, inputs, output):
        ctx.there, ctx.k = [y is not None for y in inputs[1]], inputs[2]

    made = op(f)
    made.register_fake(lambda xs, ys, k: ([pb.empty_like(x) for x in xs], pb.empty_like(xs[0])))
    made.register_autograd(backward, setup_context=setup)
    return made


def test_lists_of_tensors():
    made = combine()

    def f(x, y):
        (a, b, c), d = made([x, y, x], [None, y], 3)
        return a + 3 * b + 5 * c + d

    for make in (plain, rg, inner):
        check(f, lambda make=make: (make(), make(start=7)))
    graph = aot.joint_graph(f, rg(), rg()).graph
    assert f"{made.qualname}([%0, %1, %0], [None, %1], 3)" in str(graph)
    assert Graph.from_text(graph.to_text()) == graph


def test_numbers_are_what_the_fake_says_or_an_error():
    def f(x: np.ndarray) -> tuple[np.ndarray, int]:
        return x * 2, x.size

    made = op(f)
    made.register_fake(lambda x: (pb.empty_like(x), x.size))
    made.register_autograd(lambda ctx, g, _: g * 2)

    def g(x):
        y, size = made(x)
        return y * size, size

    for make in (plain, rg):
        check(g, lambda make=make: (make(),))
    made.register_fake(lambda x: (pb.empty_like(x), 7))
    with pytest.raises(FakeMismatchError, match="returned 4 for output 1, and the graph was made with 7"):
        pb.compile(g, fallback="raise")(plain())


def test_results_lie_in_memory_as_the_fake_says():
    made = op(lambda x: pb.asarray(np.asfortranarray(x.numpy() * 2)), schema="(Tensor x) -> Tensor")
    made.register_fake(like_first)
    compiled = pb.compile(lambda x: made(x).reshape(-1), fallback="raise")
    assert compiled(plain((2, 3))).tolist() == (plain((2, 3)) * 2).reshape(-1).tolist()
    double = op(lambda x: pb.asarray(x.numpy() * 2), schema="(Tensor x) -> Tensor", tags="pointwise")
    check(lambda x: double(x) + 1, lambda: (plain((2, 3)).T,))


def test_tensors_from_outside_and_arrays():
    made, weight, array = cube(), pb.tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0])
    f = lambda x: made(weight) * x + made(array)
    joint = aot.joint_graph(f, pb.ones(2))
    assert [desc.expr() for desc in joint.graph.input_descs][:2] == ["args[0]", "captured[0]"]
    compiled = pb.compile(f, fallback="raise")
    out = compiled(pb.ones(2))
    assert out.tolist() == [28.0, 72.0]
    out.sum().backward()
    assert weight.grad.tolist() == [3.0, 12.0]
    with pb.no_grad():
        weight.mul_(2)
    assert compiled(pb.ones(2)).tolist() == [35.0, 128.0]


def test_a_written_tensor_from_outside():
    def count_(x: np.ndarray) -> None:
        x += 1

    made, count = op(count_, ("x",)), pb.zeros(2)

    def f(x):
        made(count)
        return x + count

    compiled = pb.compile(f, fallback="raise")
    assert [compiled(pb.zeros(2)).tolist() for _ in range(2)] == [[1.0, 1.0], [2.0, 2.0]]
    assert count.tolist() == [2.0, 2.0] and count._version == 2


def test_operators_without_tensors():
    made = op(lambda n: pb.ones(n) * 2, schema="(int n) -> Tensor")
    made.register_fake(lambda n: pb.empty(n))
    graph = trace(lambda x: made(3) + x, T3())
    assert f"{made.qualname}(3)" in str(graph)
    assert graph.eval(np.ones(3))[0].tolist() == graph.run_on(T3())[0].tolist() == [3.0] * 3
    check(lambda x: made(2) * x, lambda: (rg(),))


def test_an_operator_without_a_kernel_is_traced_and_does_not_run():
    made = define(name(), "(Tensor x) -> Tensor")
    made.register_fake(like_first)
    assert ops_of(trace(made, T3())) == [made.qualname]
    with pytest.raises(NotImplementedError, match="no cpu impl"):
        pb.compile(made, fallback="raise")(T3())
    with pytest.raises(RuntimeError, match="Autograd has not been implemented"):
        trace(made, P())


# Text.


def test_graphs_are_written_and_read():
    made = op(lambda x, k, *, s="a": x * k, schema='(Tensor x, float k, *, str s="a") -> Tensor')
    made.register_fake(lambda x, k, s: pb.empty_like(x))
    made.register_autograd(lambda ctx, g: (g * 2.5, None))
    graph = aot.joint_graph(lambda x: made(x, 2.5).sum(), rg()).graph.verify()
    assert f"{made.qualname}(%0, 2.5, s='a')" in str(graph)
    again = Graph.from_text(graph.to_text())
    assert again == graph and again.verify().hash() == graph.hash()
    x, g = np.ones((2, 2)), np.array(1.0)
    assert_close(again.eval(x, g)[1], graph.eval(x, g)[1])


def test_writes_and_views_are_written_and_read():
    def swap(x: np.ndarray, y: np.ndarray) -> None:
        x[...], y[...] = y.copy(), x.copy()

    made, rows = op(swap, ("x", "y")), op(lambda x: x[:1], schema="(Tensor(a) x) -> Tensor(a)")
    rows.register_fake(lambda x: x[:1])

    def f(x, y):
        made(x, y)
        made(y, y)
        return rows(x * 1) + 1

    graph = trace(f, plain(), plain())
    again = Graph.from_text(graph.to_text())
    assert again == graph
    arrays = np.zeros((2, 2)), np.ones((2, 2))
    assert again.eval(*arrays)[0].tolist() == [[2.0, 2.0]]
    assert arrays[0].tolist() == [[1.0, 1.0]] * 2 and arrays[1].tolist() == [[0.0, 0.0]] * 2


def test_a_graph_of_another_schema_is_not_read():
    first = custom_op("graphs::changing", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    first.register_fake(like_first)
    text = trace(first, T3()).to_text()
    with pytest.warns(UserWarning, match="defined again"):
        custom_op("graphs::changing", changed, mutates_args=(), schema="(Tensor x, int k=1) -> Tensor")
    with pytest.raises(RuntimeError, match="another schema") as caught:
        Graph.from_text(text)
    assert "(Tensor x) -> Tensor" in str(caught.value) and "int k=1" in str(caught.value)


def changed(x, k=1):
    return x * k


def test_callbacks_have_no_name_in_a_text():
    graph = trace(lambda x: pure_callback(np.sort, pb.ShapeDtype(3), x), T3())
    with pytest.raises(LookupError, match="custom_op"):
        Graph.from_text(graph.to_text())


# Transforms inside of a traced function.


def test_transforms():
    made = cube()
    check(lambda x: vmap(grad(lambda row: made(row).sum()))(x), lambda: (plain((3, 2)),))
    check(lambda x: vmap(made)(x) * 2, lambda: (rg((3, 2)),))
    check(lambda x: jvp(made, (x,), (x,))[1], lambda: (plain(),))
    check(lambda x: jacfwd(made)(x), lambda: (plain((2,)),))
    check(lambda x: hessian(lambda y: made(y).sum())(x), lambda: (plain((2,)),))
    graph = trace(lambda x: vmap(lambda row: pb.sin(made(row)))(x), plain((3, 2)))
    assert ops_of(graph).count(made.qualname) == 3  # no rule: one node for every example


@pytest.mark.parametrize("rule", [
    "sequential", "expand_dims", "broadcast_all", "(n)->(n)", lambda info, dims, x: (x**3, dims[0]),
])  # fmt: skip
def test_batching_rules(rule):
    made = cube()
    made.register_vmap(rule)
    check(lambda x: vmap(made)(x), lambda: (plain((3, 2)),))
    check(lambda x: vmap(vmap(made))(x), lambda: (plain((2, 3, 2)),))


def test_an_elementwise_operator_is_mapped_by_one_node():
    made = primitive(elementwise=True, name=name())(lambda x: np.sin(x))
    made.defpartials(lambda ans, x: pb.cos(x))
    f = lambda x: vmap(lambda row: made(row))(x)
    assert ops_of(trace(f, plain((3, 2)))) == [made.qualname]
    check(f, lambda: (rg((3, 2)),))


def test_examples_are_written_one_by_one():
    def scale_(x: np.ndarray, by: np.ndarray) -> None:
        x *= by

    made = op(scale_, ("x",))

    def f(x, by):
        vmap(lambda row, factor: (made(row, factor), row)[1])(x, by)
        return x + 1

    check(f, lambda: (plain((3, 2)), plain((3,))), I=["IN", "N"])


def test_control_flow():
    made = sq()
    f = lambda x: pb.cond(x.sum() > 0, lambda x: made(x), lambda x: x * 3, x)
    check(f, lambda: (rg(),))
    check(f, lambda: (rg(start=-9.0),))


# Derivatives.


def test_higher_derivatives_call_the_operator_again():
    made = cube()
    f = lambda x: (made(x) * x).sum()
    compiled = pb.compile(f, fallback="raise")
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    (first,) = pb.autograd.grad(compiled(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = pb.autograd.grad(second.sum(), x)
    assert_close(first, 4 * x.detach() ** 3)
    assert_close(second, 12 * x.detach() ** 2)
    assert_close(third, 24 * x.detach())


def test_a_saved_intermediate_keeps_its_part_of_the_second_derivative():
    made = bare()
    made.register_autograd(
        lambda ctx, g: ctx.saved_tensors[0] * g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(2 * (inputs[0] * 1)),
    )
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    (first,) = pb.autograd.grad(pb.compile(lambda x: (made(x) * x).sum(), fallback="raise")(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), x)  # eager code has no graph of it, and raises
    assert_close(second, 6 * x.detach())


def test_the_pair_and_rules():
    pair = bare()
    pair.impl_save_for_backward(lambda inputs, output: {"x": inputs.x, "two": 2})
    pair.impl_backward(lambda ctx, saved, g: {"x": saved["two"] * saved["x"] * g})
    rules = primitive(name=name())(lambda x, y: x * y)
    rules.register_fake(like_first)
    rules.defvjp(lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    forward = primitive(name=name())(lambda x: x * x)
    forward.register_fake(like_first)
    forward.defjvp(lambda t, ans, x: 2 * x * t)
    for f in (pair, lambda x: rules(x, x + 1), forward):
        for make in (plain, rg, inner):
            check(lambda x, f=f: f(x) * 3, lambda make=make: (make(),))


def solver():
    made = primitive(name=name())(lambda a, b: sla.cho_solve(sla.cho_factor(a), b))
    apply = primitive(name=name())(lambda c, low, b: sla.cho_solve((c, low), b))
    apply.register_fake(lambda c, low, b: pb.empty_like(b))
    apply.defvjp(None, None, lambda ans, c, low, b: lambda g: apply(c, low, g))

    def fwd(a, b):
        c, low = sla.cho_factor(a)
        x = sla.cho_solve((c, low), b)
        return x, (c, bool(low), x)  # SciPy 1.18 has it in an array

    def bwd(residuals, g):
        c, low, x = residuals
        solution = apply(c, low, g)
        return -pb.outer(solution, x), solution

    return made.defvjp_all(fwd, bwd)


def spd():
    return pb.tensor(np.array([[2.0, 0.5], [0.5, 3.0]]), requires_grad=True)


def test_residuals_are_values_of_the_graph():
    made = solver()
    f = lambda a, b: made(a, b) * 2
    with pytest.raises(aot.TraceError, match="no fake impl for the fwd"):
        aot.joint_graph(f, spd(), rg((2,)))
    f(spd(), rg((2,)))  # a run tells what is kept
    graph = aot.joint_graph(f, spd(), rg((2,))).graph
    assert [len(node.results) for node in graph.nodes if node.op == made.qualname] == [2]
    assert Graph.from_text(graph.to_text()) == graph
    check(f, lambda: (spd(), rg((2,))))
    a, b = spd(), rg((2,))
    (first,) = pb.autograd.grad(pb.compile(f, fallback="raise")(a, b).sum(), b, create_graph=True)
    with pytest.raises(RuntimeError, match="saved intermediate"):
        pb.autograd.grad(first.sum(), a)


def test_residuals_that_change_are_noticed():
    seen = []

    def fwd(x):
        seen.append(1)
        return x * 2, (x[: len(seen)].copy(),)

    made = primitive(name=name())(lambda x: x * 2).defvjp_all(fwd, lambda residuals, g: g * 2)
    made(P())
    compiled = pb.compile(lambda x: made(x) + 1, fallback="raise")
    with pytest.raises(FakeMismatchError, match="was promised"):
        compiled(P())


# Running.


def test_one_capture_for_all_lengths():
    made = sq()
    tile = op(lambda x, n: pb.concatenate([x] * n), schema="(Tensor x, int n) -> Tensor")
    tile.register_fake(lambda x, n: pb.empty(x.shape[0] * n))
    tile.register_autograd(lambda ctx, g: (g.reshape(2, -1).sum(0), None))
    compiled = pb.compile(lambda x: tile(pb.sin(made(x)), 2), fallback="raise")
    for length in (3, 4, 5, 9):
        x = aot.mark_dynamic(pb.ones(length).requires_grad_())
        out = compiled(x)
        out.sum().backward()
        assert out.shape == (2 * length,)
        assert_close(x.grad, np.full(length, 4 * np.cos(1.0)))
    assert compiled.cache_info().misses == 1


def test_threads():
    made = sq()
    compiled = pb.compile(lambda x: made(x).sum(), fallback="raise")
    found = []

    def work():
        for _ in range(50):
            x = P()
            compiled(x).backward()
            found.append(x.grad.tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[2.0] * 3] * 200


def test_a_kernel_that_shares_memory_is_caught_when_the_graph_runs():
    made = op(lambda x: x, schema="(Tensor x) -> Tensor")
    made.register_fake(like_first)
    with pytest.raises(pb.library.AliasError, match="may not alias"):
        pb.compile(lambda x: made(x) + 1, fallback="raise")(T3())


@pb.autograd.overwrite_policy("raise")
def test_saved_inputs_are_watched():
    made = op(lambda x: x * x, schema="(Tensor x) -> Tensor")
    made.register_fake(like_first)
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=save_input)
    x = inner()
    out = pb.compile(lambda x: made(x), fallback="raise")(x)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
