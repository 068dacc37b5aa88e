"""Conformance cases 86 to 88, 99 to 102, 107 and 113: custom operators in captured and compiled functions."""

import itertools

import numpy as np
import pytest
import scipy.special as sp

import pullback as pb
from pullback import aot
from pullback.library import (
    AliasError,
    DynamicOutputShapeError,
    FakeMismatchError,
    OpCheckError,
    get_ctx,
    io_callback,
    opcheck,
    primitive,
    pure_callback,
)
from pullback.testing import assert_close
from pullback.utils.checkpoint import checkpoint
from tests.conformance.aot import VARIANTS, check, inner, interpret, ops_of, plain, rg, trace
from tests.conformance.custom_ops import T3, P, bare, cube, like_first, name, op, save_input, sq

pytestmark = pytest.mark.filterwarnings("ignore::pullback.errors.PerformanceWarning")

variants = pytest.mark.parametrize("variant", VARIANTS)


def counted():
    """The square, and a list with one entry for every run of its kernel."""
    runs = []

    def f(x: np.ndarray) -> np.ndarray:
        runs.append(1)
        return x * x

    made = op(f)
    made.register_fake(like_first)
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=save_input)
    return made, runs


# 86 to 88: fakes.


def test_086_without_a_fake_there_is_no_trace():
    def f(x: np.ndarray) -> np.ndarray:
        return x * 2

    made = op(f)
    with pytest.raises(aot.TraceError, match="no fake impl") as caught:
        trace(lambda x: made(x), T3())
    assert made.qualname in str(caught.value) and "register_fake" in caught.value.fix
    assert "test_custom_ops_ahead.py" in caught.value.location
    with pytest.warns(UserWarning, match="no fake impl"):
        assert pb.compile(made)(T3()).tolist() == [2.0] * 3
    # A run tells what another one returns.
    assert ops_of(trace(made, T3())) == [made.qualname]


def test_086_what_writes_and_returns_nothing_needs_none():
    def scale_(x: np.ndarray, by: float) -> None:
        x *= by

    made = op(scale_, ("x",))
    graph = trace(lambda x: made(x, 3.0), T3())
    assert ops_of(graph) == [made.qualname, "store"]


def test_086_a_fake_may_not_return_its_argument():
    made = bare()
    made.register_fake(lambda x: x)
    assert made(T3()).tolist() == [1.0] * 3
    with pytest.raises(AliasError, match="returns an argument"):
        trace(made, T3())


def places(largest):
    def f(x: np.ndarray) -> np.ndarray:
        return np.flatnonzero(x)

    made = op(f)
    made.register_fake(lambda x: pb.empty(get_ctx().new_dynamic_size(max=largest), dtype=pb.int64))
    return made


def test_087_sizes_that_depend_on_data_are_not_traced():
    made = places(2)
    with pytest.raises(DynamicOutputShapeError, match="data-dependent shape") as caught:
        trace(made, T3())
    assert isinstance(caught.value, aot.AOTError)


def test_087_a_function_that_was_to_be_compiled_checks_the_bounds():
    made = places(2)
    compiled = pb.compile(lambda x: made(x) + 1)
    with pytest.warns(UserWarning, match="data-dependent shape"):
        assert compiled(pb.tensor([0.0, 5.0, 0.0])).tolist() == [2]
    for _ in range(2):
        with pytest.raises(FakeMismatchError, match="length 3, outside of the bounds"):
            compiled(T3())
    assert made(T3()).tolist() == [0, 1, 2]  # eager code never asks the fake


@variants
@pytest.mark.parametrize("fake", [
    lambda x: pb.empty(7), lambda x: pb.empty((3, 1)), lambda x: pb.empty(3, dtype=pb.float32),
])  # fmt: skip
def test_088_a_wrong_fake_is_found_when_the_graph_runs(variant, fake):
    made = cube()
    made.register_fake(fake)
    x = P()
    assert made(x).tolist() == [1.0] * 3
    with pytest.raises(FakeMismatchError, match="was promised") as caught:
        VARIANTS[variant](lambda x: made(x) * 2)(T3())
    assert made.qualname in str(caught.value) and str(caught.value).count("registered at") == 2


# 99: one opaque node.


def test_099_an_operator_is_one_node_and_does_not_run_while_tracing():
    made, runs = counted()
    graph = trace(lambda x: pb.sin(made(x)), P())
    assert ops_of(graph) == [made.qualname, "sin"] and not runs
    node = graph.nodes[0]
    assert node.target is made.op and node.attrs["call"].definition is made
    (out,) = graph.eval(np.array([1.0, 2.0, 3.0]))
    assert_close(out, np.sin([1.0, 4.0, 9.0]))
    assert len(runs) == 1


def test_099_formulas_are_traced_through_and_operators_in_them_stay_nodes():
    made, runs = counted()
    slope = op(lambda x, g: 2 * x * g, schema="(Tensor x, Tensor g) -> Tensor")
    slope.register_fake(like_first)
    setups = []

    def setup(ctx, inputs, output):
        setups.append(type(inputs[0]))
        ctx.save_for_backward(inputs[0])

    made.register_autograd(lambda ctx, g: slope(ctx.saved_tensors[0], g), setup_context=setup)
    graph = aot.joint_graph(lambda x: pb.sin(made(x)), P()).graph
    assert ops_of(graph, "fw") == [made.qualname, "sin"]
    assert ops_of(graph, "bw") == ["cos", "multiply", slope.qualname]
    assert not runs and setups == [pb.Tensor]
    check(lambda x: pb.sin(made(x)), lambda: (rg(),), O=["NA"], T=["out 0"])


def test_099_formulas_that_look_at_values_are_refused():
    for backward in (
        lambda ctx, g: g if g.sum() > 0 else -g,
        lambda ctx, g: pb.asarray(g.numpy() * 2),
        lambda ctx, g: g * float(g.sum()),
    ):
        made = bare()
        made.register_autograd(backward)
        with pytest.raises(aot.ConcretizationError, match="is wanted of a traced tensor"):
            aot.joint_graph(made, P())
    with pytest.raises(RuntimeError, match="wrap this NumPy code in a custom op"):
        trace(lambda x: np.sin(x.numpy()), T3())


def test_099_a_missing_formula_is_missed_in_backward():
    made = bare()
    check(lambda x: made(x) * 2, lambda: (rg(),))
    compiled = pb.compile(made, fallback="raise")
    with pytest.raises(RuntimeError, match="no autograd formula"):
        compiled(P()).sum().backward()


# 100: what may be left out.


def test_100_an_unused_pure_operator_is_removed():
    made = sq()
    graph = trace(lambda x: (made(x), x + 1)[1], T3())
    assert ops_of(graph) == ["add"]


@variants
def test_100_effects_stay_in_their_order(variant):
    log = []

    def note(x: np.ndarray, what: str) -> np.ndarray:
        log.append(what)
        return x * 1

    made = op(note)
    made.register_fake(like_first)
    made.register_effect("ordered")
    made.register_autograd(lambda ctx, g: (made(g, "backward"), None))

    def f(x):
        made(x, "first")
        made(x, "first")
        y = made(x * 2, "second")
        made(x, "third")
        return y

    graph = aot.joint_graph(f, P()).graph.cse().dce()
    assert [node.effect for node in graph.nodes if node.op == made.qualname] == ["ordered"] * 5
    assert not log
    expected = ["first", "first", "second", "third"]
    compiled = VARIANTS[variant](f)
    x = P()
    y = compiled(x)
    assert log == expected
    y.sum().backward()
    assert log == [*expected, "backward"] and x.grad.tolist() == [2.0] * 3


def test_100_callbacks():
    log = []

    def f(x):
        io_callback(lambda: log.append("no argument"), None)
        y = io_callback(lambda a: (log.append("unordered"), a * 2)[1], pb.ShapeDtype(3), x, ordered=False)
        io_callback(lambda a: log.append(a.tolist()), None, y)
        pure_callback(lambda a: log.append("never") or a, pb.ShapeDtype(3), x)
        return pure_callback(np.sort, pb.ShapeDtype(3), x) + 1

    graph = trace(f, T3())
    assert ops_of(graph) == ["callback::io_callback"] * 3 + ["callback::pure_callback", "add"] and not log
    expected = ["no argument", "unordered", [6.0, 2.0, 4.0]]
    for run in (graph.eval, pb.compile(f, fallback="raise")):
        log.clear()
        (result,) = run(np.array([3.0, 1.0, 2.0])) if run == graph.eval else (run(pb.tensor([3.0, 1.0, 2.0])),)
        assert result.tolist() == [2.0, 3.0, 4.0] and log == expected
    wrong = pb.compile(lambda x: pure_callback(lambda a: a[:2], pb.ShapeDtype(3), x), fallback="raise")
    with pytest.raises(FakeMismatchError, match="promised"):
        wrong(T3())
    with pytest.raises(RuntimeError, match="use primitive"):
        trace(lambda x: pure_callback(np.sort, pb.ShapeDtype(3), x), P())


# 101: operators that write.


def scale_(**options):
    def scale_(x: np.ndarray, by: float) -> None:
        x *= by

    return op(scale_, ("x",), **options)


def test_101_a_written_input_is_written_after_the_run():
    made = scale_()

    def f(b):
        made(b, 2.0)
        return b + 1

    graph = trace(f, T3())
    assert ops_of(graph) == [made.qualname, "add", "store"]
    before = np.array([1.0, 2.0, 3.0])
    (out,) = graph.dce().run_on(x := pb.tensor(before))
    assert out.tolist() == [3.0, 5.0, 7.0] and x.tolist() == [2.0, 4.0, 6.0]
    for make in (plain, lambda: plain((4, 3)).T, lambda: plain((4, 6))[::2, ::-2]):
        check(f, lambda make=make: (make(),), I=["IN"], O=["NA"])
    b = T3()
    pb.compile(f, fallback="raise")(b)
    assert b._version == 1 and b.tolist() == [2.0] * 3


def test_101_writes_to_views_reach_their_base():
    made = scale_()

    def f(x):
        y = x * 1.5
        rows = y.T
        made(y[:, 1], 3.0)
        made(y[0], 2.0)
        return y, rows + 1

    check(f, lambda: (plain(),))

    def g(x):
        y = x * 1.5
        with pb.no_grad():
            made(y[0], 3.0)
        return y

    check(g, lambda: (rg(),))


def test_101_what_was_written_has_no_derivative():
    made = scale_()

    def f(v):
        made(v, 2.0)
        return v + 1

    check(f, lambda: (inner(),))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        trace(f, P())


def test_101_several_written_arguments():
    def swap(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x[...], y[...] = y.copy(), x.copy()
        return x - y

    made = op(swap, ("x", "y"))
    made.register_fake(like_first)
    check(lambda x, y: made(x, y) * 2, lambda: (plain(), plain(start=5)), I=["IN", "IN"])
    check(lambda x: made(x, x) * 2, lambda: (plain(),))
    check(lambda x: made(x[0], x[1]) * 2, lambda: (plain(),))
    with pytest.raises(aot.AliasError, match="writes its argument x, which overlaps y"):
        trace(lambda x: made(x[:2], x[1:]), T3())
    with pytest.raises(aot.ConstantMutationError, match="an array that is not traced"):
        trace(lambda x: made(x, np.ones(3)), T3())


def test_101_inplace_and_out():
    def add_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x += y
        return x

    made = op(add_, ("x",), tags="inplace")
    check(lambda x, y: made(x, y), lambda: (plain(), plain(start=5)), I=["IN", "N"], O=["II(0)"])
    check(lambda x, y: made(x * 1, y) + 1, lambda: (plain(), plain(start=5)), O=["NA"])

    def sine(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
        np.sin(x, out=out)
        return out

    made = op(sine, ("out",), tags="out")
    check(lambda x, y: made(x, out=y), lambda: (plain(), plain(start=5)), I=["N", "IN"], O=["II(1)"])
    graph = trace(lambda x, y: made(x, out=y), plain(), plain())
    assert f"{made.qualname}(%0, out=%1)" in str(graph)


def test_101_hidden_writes_are_not_counted():
    made = scale_(tags="autograd_hidden")

    def f(b):
        made(b, 2.0)
        return b * 3

    for make in (plain, rg, inner):
        (info,) = check(f, lambda make=make: (make(),), I=["IN"]).input_info
        assert info.mutations_hidden_from_autograd and info.version_bumps == 0 and not info.tracked

    def g(b):
        made(b, 2.0)
        with pb.no_grad():
            b.add_(1)
        return b * 3

    (info,) = check(g, lambda: (rg(),)).input_info
    assert not info.mutations_hidden_from_autograd and info.mutations_under_no_grad_or_inference_mode
    with pytest.raises(ValueError, match="autograd_hidden"):
        op(lambda x: x * 1, schema="(Tensor x) -> Tensor", tags="autograd_hidden")


# Declared views (case 45 in a graph).


def head():
    made = op(lambda x: x[:2], schema="(Tensor(a) x) -> Tensor(a)")
    made.register_fake(lambda x: x[:2])
    made.register_autograd(lambda ctx, g: pb.concatenate([g, pb.zeros((1,))]))
    return made


@pytest.mark.parametrize("make", [plain, rg, inner])
def test_045_a_declared_view_is_a_view_in_a_graph(make):
    made = head()
    for f in (
        made, lambda x: made(x) * 2, lambda x: made(x * 2), lambda x: made(x)[:1],
        lambda x: (lambda y: (y, made(y)))(x * 2),
    ):  # fmt: skip
        check(f, lambda: (make((3,)),))


def test_045_writes_go_through_declared_views():
    made = head()

    def to_the_base(x):
        y = made(x)
        x.mul_(2)
        return y + 1

    def to_the_view(x):
        made(x).mul_(2)
        return x

    check(to_the_base, lambda: (plain((3,)),), I=["IN"])
    check(to_the_view, lambda: (plain((3,)),), I=["IN"], O=["II(0)"])
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        trace(to_the_view, inner((3,)))


@pytest.mark.parametrize("fake, message", [
    (None, "no fake impl"), (lambda x: pb.empty(2), "alias annotations"), (lambda x: x[: int(x.sum())], "reads values"),
])  # fmt: skip
def test_045_the_fake_of_a_view_takes_the_view(fake, message):
    made = op(lambda x: x[:2], schema="(Tensor(a) x) -> Tensor(a)")
    if fake is not None:
        made.register_fake(fake)
    with pytest.raises(RuntimeError, match=message):
        trace(made, T3())


def test_045_views_of_several_tensors_are_refused():
    made = op(lambda x, y: x[:2], schema="(Tensor(a) x, Tensor y) -> Tensor(a)")
    with pytest.raises(RuntimeError, match="alias annotations"):
        trace(made, T3(), T3())


# 102, 107, 113.


def test_102_opcheck_looks_at_compiled_code():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = opcheck(cube(), (x,), test_utils="ALL")
    assert found["test_aot_dispatch_dynamic"] == found["test_aot_dispatch_static"] == "SUCCESS"
    assert set(found.values()) == {"SUCCESS"}
    made = cube()
    made.register_autograd(lambda ctx, g: g if g.sum() > 0 else -g)
    with pytest.raises(OpCheckError, match="test_aot_dispatch_dynamic failed with ConcretizationError"):
        opcheck(made, (x,))


def test_102_opcheck_of_operators_that_write_and_of_views():
    double = op(lambda x: x.mul_(2), ("x",), tags="inplace", schema="(Tensor(a!) x) -> Tensor(a!)")
    sine = op(lambda x, *, out: out.copy_(pb.sin(x)), ("out",), tags="out",
              schema="(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")  # fmt: skip
    for made, args, keywords in [
        (scale_(), (T3(), 2.0), {}), (double, (T3(),), {}), (sine, (T3(),), {"out": pb.zeros(3)}), (head(), (P(),), {}),
    ]:  # fmt: skip
        found = opcheck(made, args, keywords, test_utils=["test_aot_dispatch_dynamic", "test_aot_dispatch_static"])
        assert set(found.values()) == {"SUCCESS"}


def test_107_partials_are_enough_in_a_graph():
    @primitive(elementwise=True, name=name())
    def jv(n, x):
        return sp.jv(n, x)

    jv.defpartials(None, lambda ans, n, x: 0.5 * (jv(n - 1, x) - jv(n + 1, x)))
    graph = aot.joint_graph(lambda x: jv(2, x), P()).graph
    assert ops_of(graph, "fw") == [jv.qualname] and ops_of(graph, "bw").count(jv.qualname) == 2
    for make in (plain, rg, inner, lambda: rg((2, 3)).T):
        check(lambda x: jv(2, x) * 3, lambda make=make: (make(),))
    compiled = pb.compile(lambda x: jv(0, x).sum(), fallback="raise")
    x = pb.tensor([0.5, 1.0], requires_grad=True)
    (first,) = pb.autograd.grad(compiled(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), x)
    assert_close(first, -sp.j1(x.detach().numpy()))
    assert_close(second, -sp.jvp(1, x.detach().numpy()))


@pytest.mark.parametrize("partitioner", ["auto", "default", "min_cut"])
def test_113_a_checkpoint_in_a_graph_runs_the_kernel_twice(partitioner):
    made, runs = counted()
    f = lambda x: checkpoint(lambda y: pb.sin(made(y)), x, use_reentrant=False).sum()
    compiled = pb.compile(f, fallback="raise", partitioner=partitioner)
    x, y = P(), P()
    compiled(x).backward()
    assert len(runs) == 2
    f(y).backward()
    assert_close(x.grad, y.grad)


def test_113_an_ordered_effect_is_not_traced_in_a_checkpoint():
    made = sq()
    made.register_effect("ordered")
    with pytest.raises(RuntimeError, match="inside a checkpoint"):
        aot.joint_graph(lambda x: checkpoint(made, x, use_reentrant=False), P())


# What is computed again (tags of section 1.5).


@pytest.mark.parametrize("tags, budget, expected", [
    ((), 0.0, 1), ("recomputable", 0.0, 2), (("recomputable", "nondeterministic"), 0.0, 1), ((), 1.0, 1),
])  # fmt: skip
def test_operators_run_again_only_if_they_say_so(tags, budget, expected):
    runs = itertools.count()

    def f(x: np.ndarray) -> np.ndarray:
        next(runs)
        return x * x

    made = op(f, tags=tags)
    made.register_fake(like_first)
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=save_input)
    compiled = aot.aot_function(
        lambda x: pb.sin(made(x)).sum(), interpret, partitioner="min_cut", memory_budget=budget
    )
    compiled(pb.ones(100).requires_grad_()).backward()
    assert next(runs) == expected
