"""Numbers among the arguments of compiled functions: one capture for all values, with the results of eager code."""

import functools
import json
import math
import struct

import numpy as np
import pytest

import pullback as pb
from tests.aot.random_numbers import check


def leaf(*values, dtype=np.float64):
    return pb.tensor(np.array(values or (1.0, 2.0, 3.0), dtype), requires_grad=True)


def same(mine, theirs):
    """Are these two results the same, down to bits?"""
    if isinstance(theirs, pb.Tensor):
        left, right = mine.detach().numpy(), theirs.detach().numpy()
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(theirs, (tuple, list)):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return type(mine) is type(theirs) and repr(mine) == repr(theirs)


def captures(function, values, x=None, **options):
    """The number of captures that it takes for these values, each called twice and compared with eager code."""
    compiled = pb.compile(function, backend="numpy", fallback="raise", **options)
    x = leaf() if x is None else x
    for value in (*values, *values):
        found, wanted = compiled(x, value), function(x, value)
        assert same(found, wanted), (value, found, wanted)
        if isinstance(wanted, pb.Tensor) and wanted.requires_grad:
            seed = pb.ones(wanted.shape, dtype=wanted.dtype)
            slopes = [pb.autograd.grad(each, x, seed)[0] for each in (found, wanted)]
            assert same(*slopes), (value, slopes)
    return compiled.cache_info().misses


ONE = {
    "a factor": (lambda x, s: x * s, [0.1, 0.2, -0.0, math.inf, math.nan]),
    "whole numbers": (lambda x, s: x * s + s, [1, 2, -7, 2**60]),
    "complex numbers": (lambda x, s: x * s, [1j, 2 - 1j]),
    "float32 scalars": (lambda x, s: x * s, [np.float32(0.1), np.float32(0.3)]),
    "float64 scalars": (lambda x, s: x * s, [np.float64(0.1), np.float64(0.3)]),
    "arithmetic": (lambda x, s: x * ((s + 1) / (s - 3) - s // 2 + abs(-s) % 3), [0.1, 5.5, 7.0]),
    "math": (lambda x, s: x * (math.sqrt(s) + math.exp(-s)), [0.1, 5.5, 7.0]),
    "ufuncs": (lambda x, s: x * np.exp(s), [0.1, 0.5]),
    "large powers": (lambda x, s: 2**s, [5, 5000]),
    "sums": (lambda x, s: x * sum([s, s]), [0.1, 0.5]),
    "a base": (lambda x, s: s**x, [0.5, 2.0, 3.3]),
    "a divisor": (lambda x, s: x / s, [0.5, 3.0, 7.0]),
    "a dividend": (lambda x, s: s / x, [0.5, 3.0, 7.0]),
    "a bound": (lambda x, s: pb.clip(x, -s, s), [0.5, 2.0, 2.5]),
    "a choice": (lambda x, s: pb.where(x > s, x, s), [0.5, 2.0, 2.5]),
    "the larger one": (lambda x, s: pb.maximum(x, s), [0.5, 2.0, 2.5]),
    "kind": (lambda x, s: x * s if isinstance(s, float) else x, [0.5, 2.0]),
    "a result": (lambda x, s: (s * 2, s, [s + 1]), [0.5, 2.0]),
    "rounded results": (lambda x, s: (round(s), math.floor(s), divmod(s, 0.3)), [0.5, 2.7]),
    "a tensor of it": (lambda x, s: pb.sin(s) + x, [0.5, 2.7]),
    "an element": (lambda x, s: _with_element(x, s), [0.5, 2.7]),
    "in place": (lambda x, s: x.clone().mul_(s).add_(s), [0.5, 2.7]),
    "NumPy on tensors": (lambda x, s: np.multiply(x, s), [0.5, 2.7]),
    "a gradient inside": (lambda x, s: pb.func.grad(lambda y: (y * y * s).sum())(x), [0.5, 2.7]),
    "not used": (lambda x, s: x * 2, [0.5, 2.7]),
    "a loop": (lambda x, s: pb.scan(lambda c, _: (c + s * pb.sin(c), None), x, None, length=5)[0], [0.5, 2.7]),
    "an array": (lambda x, s: x * np.array([s, 1.0, s]) + np.full(3, 2 * s), [0.5, 0.25]),
    "arrays of the function's own": (lambda x, s: x * np.exp(-s * np.linspace(0, 1, 3)), [0.5, 0.25]),
    "float32 arrays": (lambda x, s: x * (s + np.ones(3, np.float32)), [0.5, 0.1]),
    "functions of NumPy": (lambda x, s: x * np.where(np.arange(3) > 1, s, 0.0), [0.5, 0.1]),
    "examples": (lambda x, s: pb.func.vmap(lambda t: t * s)(x), [0.5, 2.7]),
}


def _with_element(x, s):
    y = pb.zeros(3)
    y[1:] = x[1:] * s
    y[0] = s
    return y


def _filled(values):
    out = np.zeros(3)
    out[:] = values
    return out


@pytest.mark.parametrize("name", ONE)
def test_one_capture_serves_all_values_of(name):
    function, values = ONE[name]
    assert captures(function, values) == 1


SEVERAL = {
    "a comparison": (lambda x, s: x * s if s > 0.1 else x + s, [0.05, 0.2, 0.3, 0.01], 2),
    "a truth value": (lambda x, s: x * s if s else x, [0.0, 0.2, 0.3], 2),
    "the smaller one": (lambda x, s: x * min(s, 1.0), [0.5, 0.2, 3.0], 2),
    "a range": (lambda x, s: sum((x * k for k in range(s)), x), [3, 4, 3], 2),
    "a shape": (lambda x, s: x.reshape(s, -1), [1, 3], 2),
    "half of it as a length": (lambda x, s: x[: s // 2], [2, 3, 4], 2),
    "an index": (lambda x, s: x[round(s)], [0.9, 1.1, 2.0], 2),
    "an exponent": (lambda x, s: x**s, [2.0, 0.5, 3.3, 3.7, -1.2], 3),
    "a whole exponent": (lambda x, s: x**s, [2, 3], 2),
    "a text": (lambda x, s: f"{s:.2f}", [0.5, 0.25], 2),
    "a key": (lambda x, s: {s: x}[s] * 2, [0.5, 0.25], 2),
    "a returned key": (lambda x, s: {s: x * 2}, [0.5, 0.25], 2),
    "its type": (lambda x, s: x * 2 if type(s) is float else x, [0.5, 0.25], 2),
    "bytes": (lambda x, s: struct.pack("d", s), [0.5, 0.25], 2),
    "json": (lambda x, s: json.dumps({"s": s}), [0.5, 0.25], 2),
    "an array that is returned": (lambda x, s: s * np.arange(2.0), [0.5, 0.25], 2),
    "an array that is written": (lambda x, s: x * _filled(s * np.arange(3.0)), [0.5, 0.25], 2),
    "the type of an array": (lambda x, s: x * isinstance(s * np.arange(3.0), np.ndarray), [0.5, 0.25], 2),
    "a bound that is 0": (lambda x, s: pb.clip((x - 2) * s, -abs(s), abs(s)), [0.0, 0.5, 1.5, -0.0], 2),
    "an axis": (lambda x, s: x.sum(axis=s), [0, -1], 2),
    "a parameter": (lambda x, s: pb.nn.leaky_relu(-x, s), [0.5, 0.25], 2),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_what_looks_at_a_number_is_asked_again(name):
    function, values, count = SEVERAL[name]
    if name == "a returned key":
        compiled = pb.compile(function, backend="numpy", fallback="raise")
        assert [[*compiled(leaf(), s)] for s in values] == [[s] for s in values]
        return
    assert captures(function, values) == count


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.complex64, np.float64])
@pytest.mark.parametrize("kind", [int, float, complex, np.float32, np.float64, np.int8])
def test_numbers_promote_as_in_eager_code(dtype, kind):
    x = pb.tensor(np.array([1, 2, 3], dtype))
    assert captures(lambda x, s: (x * s, s - x, x / s, x > abs(s), s), [kind(2), kind(3)], x) == 1


def test_a_thousand_learning_rates_are_one_capture():
    step = pb.compile(lambda w, rate: w - rate * pb.func.grad(lambda v: (v * v).sum())(w), fallback="raise")
    w = pb.tensor([1.0, -2.0])
    for k in range(1000):
        assert same(step(w, 1 / (k + 1)), w - 1 / (k + 1) * (2 * w))
    assert step.cache_info().misses == 1


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_gradients_and_their_gradients_follow_the_number(backend):
    f = lambda x, s: (pb.sin(x * s) / s + x**2 * (s + 1)).sum()
    compiled = pb.compile(f, backend=backend, fallback="raise")
    for s in (0.5, 2.0, -3.0):
        found = []
        for function in (f, compiled):
            x = leaf()
            slope, = pb.autograd.grad(function(x, s), x, create_graph=True)
            found.append((slope, *pb.autograd.grad(slope.sum(), x)))
        for mine, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-12)
    assert compiled.cache_info().misses == 1


def test_two_calls_before_one_backward_keep_their_own_numbers():
    f = pb.compile(lambda x, s: (x * x * s).sum(), fallback="raise")
    x = leaf()
    first, second = f(x, 2.0), f(x, 3.0)
    (first + second).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [10.0, 20.0, 30.0])


def test_what_raises_in_eager_code_raises():
    f = pb.compile(lambda x, s: x * (1 / (s - 1)), fallback="raise")
    x = leaf()
    assert same(f(x, 2.0), x * 1.0)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            f(x, 1.0)
    assert same(f(x, 3.0), x * 0.5)
    assert f.cache_info().misses == 1


def test_an_exception_that_the_function_catches_belongs_to_its_number():
    def f(x, s):
        try:
            return x * (1 / s)
        except ZeroDivisionError:
            return x

    assert captures(f, [0.0, 2.0, 4.0, 0.0]) == 2


def test_numbers_too_large_for_a_dtype_raise_as_in_eager_code():
    x = pb.tensor(np.array([1, 2], np.int8))
    f = pb.compile(lambda x, s: x * s, fallback="raise")
    assert same(f(x, 3), x * 3)
    with pytest.raises(OverflowError):
        f(x, 300)
    assert same(f(x, 4), x * 4)


def test_containers_keywords_and_defaults():
    f = lambda p, *, scale=2.0, table=None: p["x"] * p["rate"][0] * scale + (table or {"k": 1})["k"]
    compiled = pb.compile(f, fallback="raise")
    for rate in (0.5, 0.25):
        for options in ({}, {"scale": rate}, {"table": {"k": rate}}):
            p = {"x": leaf(), "rate": [rate, 1]}
            assert same(compiled(p, **options), f(p, **options))
    assert compiled.cache_info().misses == 3
    partial = pb.compile(functools.partial(lambda s, x, t: x * s * t, 0.5), fallback="raise")
    assert [partial(leaf(), t)[0].item() for t in (1.0, 2.0)] == [0.5, 1.0]


def test_truth_values_are_static():
    assert captures(lambda x, s: x * s, [True, False]) == 2


def test_a_failure_for_one_number_is_not_one_for_others():
    def f(x, s):
        return x * np.asarray(x).max() if s > 1 else x * s

    compiled = pb.compile(f)
    x = pb.tensor([1.0, 2.0])
    with pytest.warns(UserWarning, match="runs without being compiled"):
        assert same(compiled(x, 2.0), f(x, 2.0))
    for s in (0.5, 0.25, 3.0, 2.0):
        assert same(compiled(x, s), f(x, s))
    assert compiled.cache_info().hits == 1 and len(compiled.entries()) == 1


def test_static_arguments_are_pinned_by_name_or_position():
    for static in (("s",), (1,)):
        f = pb.compile(lambda x, s, t=1.0: x * s * t, static=static, fallback="raise")
        for s, t in ((0.5, 2.0), (0.5, 3.0), (0.25, 3.0), (0.25, 1.0)):
            assert f(pb.ones(()), s, t).item() == s * t
        assert f.cache_info().misses == 2
        assert "static" in f.why_recompiled()[0]


def test_explain_says_what_becomes_of_numbers():
    def f(x, rate, count, other):
        return sum((x * rate for _ in range(count)), x)

    data = pb.aot.explain(f, leaf(), 0.5, 3, 7).data["numbers"]
    assert [(each["name"], each["kind"]) for each in data] == [
        ("rate", "dynamic"), ("count", "pinned"), ("other", "unused"),
    ]  # fmt: skip
    assert "count: an index, a length or an axis" in data[1]["pins"][0] and "test_numbers.py" in data[1]["pins"][0]
    assert "numbers  rate" in str(pb.aot.explain(f, leaf(), 0.5, 3, 7))


def test_lengths_and_numbers_vary_together():
    f = lambda x, s: (x - x.mean(axis=0)) * s
    compiled = pb.compile(f, dynamic=True, backend="numpy", fallback="raise")
    for count, s in ((4, 0.5), (7, 0.25), (100, -3.0), (7, 2.0)):
        x = pb.random.normal(size=(count, 3))
        assert same(compiled(x, s), f(x, s))
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_what_is_kept_on_disk_serves_other_numbers(tmp_path, backend):
    tmp_path.chmod(0o700)
    pb.aot.set_cache_dir(str(tmp_path))
    try:
        kept = []
        for s in (2.0, 3.0):
            x = leaf()
            f = pb.compile(lambda x, s: (pb.sin(x * s) / s).sum(), backend=backend, fallback="raise")
            slope, = pb.autograd.grad(f(x, s), x)
            np.testing.assert_allclose(slope.numpy(), np.cos(np.array([1.0, 2.0, 3.0]) * s), rtol=1e-12)
            kept.append(sum(path.is_file() for path in tmp_path.rglob("*")))
        assert kept[0] == kept[1] > 0
    finally:
        pb.aot.set_cache_dir(None)


def test_stand_ins_are_not_left_behind():
    kept = []

    def f(x, s):
        kept.append(s * 2)
        return x * s

    compiled = pb.aot.aot_function(f, lambda graph, types: graph.eval_boxed)
    compiled(pb.ones(2), 0.5)
    assert [(type(each), each) for each in kept] == [(float, 1.0)]


def test_a_custom_function_sees_the_number_of_the_call():
    class Scaled(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x, s):
            ctx.s = s
            return x * s

        @staticmethod
        def backward(ctx, g):
            return g * ctx.s, None

    f = pb.compile(lambda x, s: Scaled.apply(x * x, s).sum(), fallback="raise")
    for s in (2.0, 3.0, 5.0):
        x = leaf()
        slope, = pb.autograd.grad(f(x, s), x, create_graph=True)
        np.testing.assert_array_equal(slope.detach().numpy(), 2 * s * np.array([1.0, 2.0, 3.0]))
        np.testing.assert_array_equal(pb.autograd.grad(slope.sum(), x)[0].numpy(), 2 * s * np.ones(3))


@pytest.mark.parametrize("draw", [
    lambda s: pb.random.normal(0.0, s, size=3), lambda s: pb.random.uniform(-s, s, size=3),
    lambda s: pb.nn.dropout(pb.ones(3), s),
])  # fmt: skip
def test_draws_follow_the_number(draw):
    f = lambda x, s: x + draw(s)
    compiled = pb.compile(f, fallback="raise")
    for s in (0.5, 0.25, 0.125):
        found = []
        for function in (f, compiled):
            pb.random.manual_seed(3)
            found.append(function(pb.ones(3), s))
        assert same(*found)


def test_ufuncs_and_operators_of_scalars_give_their_own_types():
    x = pb.ones(2)
    for a, b in ((1j, np.float64(2.0)), (np.float32(3), 2), (2, np.float64(0.5)), (np.int8(3), np.int8(2))):
        f = lambda x, a, b: (np.multiply(a, b), a * b, b * a, np.float64(2.0) * a, np.power(abs(a), 2), a / b)
        assert same(pb.compile(f, fallback="raise")(x, a, b), f(x, a, b))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 24, 6))
def test_random_programs_of_numbers(first):
    for seed in range(first, first + 6):
        assert check(seed) is None


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_long_loop_with_numbers_is_differentiated(backend):
    """Loops that are rolled up have another graph than the trace, with the numbers among its inputs."""
    w = pb.tensor(0.7, requires_grad=True)

    def f(x, s, t):
        for _ in range(200):
            x = pb.sin(x * s) + w * t
        return x.sum()

    compiled = pb.compile(f, fallback="raise", backend=backend)
    for s, t in ((0.5, 1.0), (0.25, 2.0), (0.9, 3)):
        rows = []
        for call in (compiled, f):
            x = pb.tensor([1.0, 2.0], requires_grad=True)
            rows.append([each.numpy() for each in pb.autograd.grad(call(x, s, t), [x, w])])
        np.testing.assert_allclose(rows[0][0], rows[1][0], atol=1e-14)
        np.testing.assert_allclose(rows[0][1], rows[1][1], rtol=1e-12)
    assert compiled.cache_info().misses == 2
