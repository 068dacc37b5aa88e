"""Cases 90 to 115 of `compiling-anything.md`: branches on values, compiled without being rewritten."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import check_calls, check_same, leaf, outcome

UP, DOWN = [0.5, 1.5, -0.25], [-1.0, 0.25, -2.0]


def both(*more):
    """Arguments for which a sum is positive, and others for which it is not, in turn."""
    given = UP, DOWN, [3.0, 1.0, 2.0], [-3.0, -1.0, 0.0], UP
    return [lambda values=values: (leaf(values), *more) for values in given]


def test_090_both_arms():
    def f(x):
        if x.sum() > 0:
            return (x * x).sum()
        return pb.exp(x).sum()

    compiled = check_calls(f, both(), 2)
    info = compiled.cache_info()
    assert info.misses == 1 and info.currsize == 1  # the arms are joined


def test_091_an_arm_that_is_seen_late_is_one_exit():
    def f(x):
        return x * 2 if x.sum() > 0 else x * 3

    compiled = check_calls(f, [lambda k=k: (leaf([1.0 + k]),) for k in range(10)])
    (tree,) = compiled._trees.values()
    assert tree.exits == 0 and compiled.cache_info().currsize == 1
    check_same(outcome(compiled, lambda: (leaf([-1.0]),)), outcome(f, lambda: (leaf([-1.0]),)))
    assert tree.exits == 1 and compiled.cache_info().currsize == 1
    check_same(outcome(compiled, lambda: (leaf([-2.0]),)), outcome(f, lambda: (leaf([-2.0]),)))
    assert tree.exits == 1


def test_092_to_095_arms_that_return_write_and_alias_different_things():
    def nothing(x):
        return x.exp() if x.sum() > 0 else None

    def shapes(x):
        return x[:2] if x.sum() > 0 else pb.stack([x, x]).astype(np.float32)

    def writes(x, y):
        y.add_(1)
        if x.sum() > 0:
            y.mul_(x.detach())
        else:
            y[1:] = 7.0
        return y * x

    def alias(x):
        return x if x.sum() > 0 else (x[1:] if x[0] < -2 else x.detach())

    check_calls(nothing, both(), 2)
    check_calls(shapes, both(), 2)
    check_calls(writes, [lambda m=m: (*m(), pb.tensor([1.0, 2.0, 3.0])) for m in both()], 2)
    check_calls(alias, both(), 2)


def test_094_arms_that_write_to_what_has_a_history():
    def f(x, y):
        z = x * 1
        if y.sum() > 0:
            z[0] = y[0] * 3
        z.mul_(y)
        return z

    check_calls(f, [lambda m=m: (leaf([1.0, 2.0, 3.0]), *m()) for m in both()], 2)

    def inner(x):
        if x.sum() > 0:
            x.mul_(2)
        return x + 1

    check_calls(lambda x: inner(x * 2), both(), 2)
    check_calls(inner, [lambda m=m: (m()[0] * 2,) for m in both()], 2)


def test_096_097_what_an_arm_does_not_use_has_no_gradient_and_a_result_may_have_none():
    def unused(x, y):
        return (x * y).sum() if x.sum() > 0 else (x * 2).sum()

    def flags(x):
        return x * 2 if x.sum() > 0 else x.detach() * 2

    compiled = check_calls(unused, [lambda m=m: (*m(), leaf([1.0, 2.0, 3.0])) for m in both()], 2)
    y = leaf([1.0, 2.0, 3.0])
    (found,) = pb.autograd.grad(compiled(leaf(DOWN), y), y, allow_unused=True)
    assert found is None
    check_calls(flags, both(), 2)


def test_098_six_ifs_in_a_row_are_right_however_they_come():
    def f(x):
        total = x.sum()
        for k in range(6):
            total = total * 2 if x[k] > 0 else total - x[k]
        return total

    def helped(x):
        total = x.sum()
        for k in range(6):
            total = total + huber(x[k], 0.5) * clipped(x[k] * total)
        return total, -total

    draws = np.random.default_rng(0)
    signs = [draws.normal(size=6) for _ in range(24)]
    for function in (f, helped):
        makers = [lambda s=s: (leaf(s),) for s in signs]
        compiled = check_calls(function, makers, fallback="eager", backend="numpy")
        (tree,) = compiled._trees.values()
        assert tree.exits < 12
    last = compiled.entries()[0]
    assert len(last.capture.joined) >= 6


def clipped(a):
    """A helper that may return what it is given."""
    return a * 3 if a > 1 else a


def huber(r, d):
    """A helper that returns early, as people write it."""
    if abs(r) <= d:
        return 0.5 * r * r
    return d * (abs(r) - 0.5 * d)


def test_099_a_branch_in_every_step_is_one_path():
    """Of a GARCH model: the variable that differs between the arms is a number."""

    def garch(r, a, b):
        h, total = (r * r).mean(), 0.0
        hits = 0
        for t in range(8):
            total = total + pb.log(h) + r[t] ** 2 / h
            lever = 0.1 if r[t] < 0 else 0.0
            if r[t] > 1:
                hits += 1
            h = 0.05 + (a + lever) * r[t] ** 2 + b * h
        return total, hits

    draws = np.random.default_rng(0)
    values = [(draws.normal(size=8), float(a), 0.6) for a in draws.uniform(0.05, 0.2, size=24)]
    for backend in ("numpy", "auto"):
        makers = [lambda v=v: (leaf(v[0]), *v[1:]) for v in values]
        compiled = check_calls(garch, makers, backend=backend)
        (tree,) = compiled._trees.values()
        assert tree.exits <= 12 and len(compiled.entries()[0].capture.joined) == 16


ARMS = {}


def arms(function):
    """A function of x, a leaf of three elements, y and a tensor to write to."""
    ARMS[function.__name__] = function
    return function


@arms
def one_tensor_in_two_variables(x, y, w):
    best = x * 2
    other = y * 1
    if x.sum() > 0:
        best = other
    other.mul_(3)
    return best + other


@arms
def an_argument_in_one_arm(x, y, w):
    if x.sum() > 0:
        w = w * 2
    w += 1
    return w * x


@arms
def an_argument_that_is_returned(x, y, w):
    if x.sum() > 0:
        w = w * 2
    return w


@arms
def one_arm_has_a_gradient_by_more(x, y, w):
    z = x * 2
    if x.sum() > 0:
        z = z * y
    return z.sum()


@arms
def results_that_are_one_object(x, y, w):
    z = x * 2 if x.sum() > 0 else x * 3
    return z, z, [z]


@arms
def a_list_that_an_arm_writes_to(x, y, w):
    rows = [x]
    if x.sum() > 0:
        rows.append(y)
    if y.sum() > 0:
        rows[0] = y * 2
    return sum(rows[1:], rows[0])


@arms
def a_variable_of_one_arm_only(x, y, w):
    if x.sum() > 0:
        factor = 2.0
    else:
        x = x * 3
    if y.sum() > 0:
        return x
    return x * factor


@arms
def variables_of_closures(x, y, w):
    scale = x.sum()

    def scaled(z):
        return z * scale

    if x.sum() > 0:
        scale = scale * 2
    return scaled(y) * 2


@arms
def arms_in_arms(x, y, w):
    z = x * y
    if x.sum() > 0 and y[0] > 0:
        z = z + 1
        if y[1] > 0:
            z = z * z
    elif y[2] > 0:
        z = z - 1
    n = 1 if z.sum() > 0 else 2
    return z * n, n


@arms
def no_gradient_in_one_arm(x, y, w):
    z = x * 1
    if x.sum() > 0:
        z = z.detach()
    return z * w


@arms
def draws_and_prints(x, y, w):
    if x.sum() > 0:
        x = x + pb.random.uniform()
    return x * 2


@arms
def numbers_of_both_kinds(x, y, w):
    n, rate = 0, 0.5
    for k in range(3):
        if x[k] > 0:
            n += 1
            rate = rate / 2
        if y[k] > 1:
            rate = float(y.detach()[k])
    return x * rate, n, rate


@pytest.mark.parametrize("name", ARMS)
def test_098_joined_arms_do_what_the_arms_do(name):
    draws = np.random.default_rng(1)
    values = [draws.normal(size=(3, 3)) for _ in range(12)]
    makers = [lambda v=v: (leaf(v[0]), leaf(v[1]), pb.tensor(v[2])) for v in values]
    check_calls(ARMS[name], makers, 2, fallback="eager", backend="numpy")


def test_100_and_or_not_and_chains():
    def f(x, y):
        if (x > 0 and y > 0) or not x < 5:
            return x * y
        if 0 <= y < 2:
            return x + y
        return x - y

    values = [(1.0, 1.0), (6.0, -1.0), (-1.0, 1.0), (-1.0, 3.0), (1.0, -1.0)]
    check_calls(f, [lambda v=v: (leaf(v[0]), leaf(v[1])) for v in values], 2, backend="numpy")


def test_101_min_max_and_sorted_of_tensors():
    def f(x):
        a, b, c = x[0], x[1], x[2]
        first, *_, last = sorted([a, b, c])
        return min(a, b) * 2 + max(b, c) + first * last

    check_calls(f, [lambda v=v: (leaf(v),) for v in ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 2.0, 1.0])], 2)


def test_102_early_return_in_a_loop():
    def f(x):
        y = x
        for _ in range(6):
            y = y * 1.5
            if y.sum() > 10:
                return y
        return -y

    check_calls(f, [lambda v=v: (leaf([v, v]),) for v in (8.0, 2.0, 0.1, 3.0, 2.0)], 2, backend="numpy")


def test_103_to_105_assertions_and_exceptions():
    def asserted(x):
        assert (x > 0).all(), "positive numbers only"
        return pb.log(x)

    def formatted(x):
        if x.min() < -2:
            raise ValueError(f"too small: {x.min().item():.2f}")
        return x * 2

    def after_a_write(x, y):
        y.add_(1)
        if x.sum() > 0:
            raise KeyError("after a write")
        y.mul_(2)
        return y * x

    check_calls(asserted, [lambda v=v: (leaf(v),) for v in ([1.0, 2.0], [-1.0, 2.0], [3.0, 4.0])], 2)
    check_calls(formatted, [lambda v=v: (leaf(v),) for v in ([1.0, 2.0], [-5.0, 2.0], [-6.0, 4.0])], 2)
    check_calls(after_a_write, [lambda m=m: (*m(), pb.tensor([1.0, 2.0, 3.0])) for m in both()], 2)


def test_106_an_exception_of_a_kernel_that_is_caught():
    def f(a):
        if a[0, 0] > 100:
            return a
        try:
            factor = pb.linalg.cholesky(a)
            if factor[0, 0] < 0:
                return a
        except np.linalg.LinAlgError:
            factor = pb.eye(2) * a.sum()
        return factor * 2

    matrices = [[[2.0, 0.0], [0.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]], [[4.0, 1.0], [1.0, 3.0]]]
    check_calls(f, [lambda v=v: (leaf(v),) for v in matrices], 2)

    def jitter(a, log):
        """Nothing is asked, so there is one path, which the second matrix leaves by an exception."""
        log += 1
        for k in range(4):
            try:
                return pb.linalg.cholesky(a + k * pb.eye(2)).sum() + pb.random.uniform()
            except np.linalg.LinAlgError:
                log += 10
        raise ValueError("not positive definite")

    bad = [[-9.0, 2.0], [2.0, 1.0]]
    makers = [lambda v=v: (leaf(v), pb.zeros(2)) for v in (*matrices, bad)]
    for backend in ("numpy", "auto"):
        check_calls(jitter, makers, 3, backend=backend)


def test_107_to_109_item_bool_and_match():
    def item(x):
        return x * 2 if x.sum().item() > 0 else -x

    def truth(x):
        return x * 2 if bool(x.sum() > 0) else -x

    def matched(x):
        match float(x.detach().sum()):
            case 0.0:
                return x
            case s if s > 0:
                return x * s
            case s:
                return x / s

    check_calls(item, both(), 2)
    check_calls(truth, both(), 2)
    check_calls(matched, [*both(), lambda: (leaf([1.0, -1.0]),), lambda: (leaf([1.0, 2.0, 3.0]),)], 2)


def test_110_the_truth_of_two_elements_is_refused_as_in_eager_code():
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(ValueError, match="ambiguous"):
        pb.compile(f)(pb.ones(2))


def test_111_conditions_that_are_nan():
    def f(x):
        if x.sum() > 0:
            return x
        if x.sum() <= 0:
            return -x
        return x * 0 + 1

    check_calls(f, [lambda v=v: (leaf(v),) for v in (UP, DOWN, [math.nan, 1.0, 1.0], UP)], 2)


def test_112_a_branch_on_a_draw_leaves_the_generators_as_eager_code_does():
    def f(x):
        first, second = pb.random.uniform(size=(2,)), pb.random.normal(size=(2,))
        if second[0] > 0:
            return x * first
        return x * first + pb.random.uniform(size=(2,))

    assert check_calls(f, [lambda: (leaf([1.0, 2.0]),)] * 8, 2).cache_info().currsize == 2


def test_113_a_branch_on_the_value_of_a_captured_tensor():
    k = pb.tensor(1.0)

    def f(x):
        return x * 2 if k > 0 else x * k

    compiled = pb.compile(f, fallback="raise")
    for value in (1.0, -1.0, 2.0, -3.0):
        k.fill_(value)
        check_same(outcome(compiled, lambda: (leaf(UP),)), outcome(f, lambda: (leaf(UP),)))


class Model:
    def __init__(self):
        self.w = leaf([0.5, -0.5, 1.0])

    def chosen(self, x):
        return x * self.w if (x * self.w).sum() > 0 else x - self.w


def test_114_helpers_lambdas_and_methods_that_branch():
    def helper(x):
        return x.exp() if x.mean() > 0 else x

    choose = lambda x: helper(x) if x.max() > 1 else x * 3
    model = Model()
    check_calls(lambda x: helper(x) + choose(x), both(), 2)
    check_calls(model.chosen, both(), 2)


def test_115_recursion_on_a_value():
    def f(x, depth=0):
        if depth == 5 or x.sum() > 10:
            return x
        return f(x * 2, depth + 1) + 1

    check_calls(f, [lambda v=v: (leaf([v, 1.0]),) for v in (0.1, 4.0, 11.0, 0.1)], 2)


def test_107_functions_of_math_and_arrays_of_numbers_keep_the_numbers():
    """A float that `math` makes of a tensor, and an array of floats, are for all values."""

    def rotated(x):
        angle = math.atan(x.sum()) + math.sqrt(abs(x[0].item()))
        matrix = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        return matrix @ x * math.exp(-x[1])

    compiled = check_calls(rotated, [lambda k=k: (pb.tensor([1.0 + k, 0.5 * k]),) for k in range(12)])
    assert compiled.cache_info().currsize == 1


def test_107_a_path_that_its_own_call_leaves_is_not_made_often(monkeypatch):
    """Where rounding decides, native code may go another way than the trace did."""
    monkeypatch.setattr("pullback.aot._tree.calls.taken", lambda *args: None)
    traced = []

    def f(x):
        traced.append(1)
        return x * 2 if x.sum() > 0 else x * 3

    compiled = pb.compile(f, backend="numpy", side_effects="trace")
    assert [compiled(pb.tensor([float(k)])).item() for k in range(1, 40)] == [2.0 * k for k in range(1, 40)]
    assert compiled.cache_info().currsize <= 6


def test_101_the_smaller_of_numbers_of_the_graph_asks_nothing():
    def f(x, bound):
        size = x.sum().item()
        return x * min(size, bound) + max(size, 1.0, bound), min(size, 1.5)

    sizes = [(1.0, 2.0), (3.0, 2.0), (-1.0, -2.0), (float("nan"), 2.0), (0.0, -0.0)]
    made = check_calls(f, [lambda a=a: (leaf([a[0], 0.0]), a[1]) for a in sizes], times=2, backend="numpy")
    assert made.cache_info().misses == 1


def test_164_a_function_of_which_every_call_takes_its_own_way_is_given_up_soon():
    def f(x):
        return sum((v * k if v > 0 else v - k for k, v in enumerate(x)), x[0] * 0)

    compiled = pb.compile(f, backend="numpy")
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = leaf(rng.normal(size=12))
        np.testing.assert_allclose(compiled(x).detach().numpy(), f(x).detach().numpy())
    (entries,) = compiled._entries.values()
    assert len(entries) <= 16


def test_101_the_smaller_of_numbers_within_a_body_is_never_stale():
    def f(x):
        size = x.sum().item()
        return pb.scan(lambda c, _: (c * min(size, 1.5), None), x, None, length=2)[0]

    compiled = pb.compile(f, backend="numpy")
    for size in (1.0, 3.0, 0.5, 2.0):
        x = pb.tensor([size, 0.0])
        np.testing.assert_allclose(compiled(x).numpy(), f(x).numpy())


@pytest.mark.filterwarnings("ignore:.*without being compiled")
@pytest.mark.parametrize("name", ["divide", "pow", "maximum", "atan2", "logaddexp", "xlogy", "remainder"])
@pytest.mark.parametrize("kind", [float, int], ids=["float", "int"])
def test_107_what_a_rule_of_a_gradient_computes_of_a_number_is_never_stale(name, kind):
    """The rules of operators look at numbers that the function has taken out of tensors, in the backward half, too."""
    function = getattr(pb, name)

    def f(x, t):
        number = kind(t)
        return function(x, number).sum() + (function(number, x) * x).sum() + (x * x).mean() / number

    makers = [lambda t=t: (leaf([0.5, 1.5, 3.25]), pb.tensor(t)) for t in (2.0, 3.0, 1.25, 7.5, 2.0)]
    check_calls(f, makers, 2, fallback="eager", backend="numpy")


def test_098_six_ifs_in_a_row_are_six_branches_of_one_path():
    def f(x):
        y = x * 1
        for k in range(6):
            if x[k] > 0:
                y = y * 1.5
            else:
                y = y + 0.5
        return y

    makers = [lambda v=v: (leaf(v),) for v in np.random.default_rng(0).normal(size=(40, 6))]
    compiled = check_calls(f, makers, backend="numpy")
    found = compiled.explain(*makers[0]()).data["paths"]
    assert len(found["joined"]) == 6 and not found["events"]
