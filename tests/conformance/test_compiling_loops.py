"""Cases 116 to 141 of `compiling-anything.md`: loops that end when a value says so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pullback as pb
from tests.conformance.compiling import check_calls, check_same, leaf, outcome
from tests.conformance.stranger_programs import bisection

NUMBERS = [lambda v=v: (leaf([v, v / 2]),) for v in (100.0, 1.0, 0.3, 5000.0, 7.0, 100.0, 1e6, 2.0)]


def loops_of(compiled):
    """How many loops there are in the graphs of all paths."""
    return sum(entry.graph.to_text().count(name) for entry in compiled.entries() for name in ("while_loop(", "scan("))


def newton(a):
    x = a * 1
    while (abs(x * x - a) > 1e-12 * a).any():
        x = 0.5 * (x + a / x)
    return x


def test_116_127_newton_is_one_loop_for_any_number_of_steps():
    compiled = check_calls(newton, NUMBERS, 2)
    assert loops_of(compiled) > 0 and compiled.cache_info().currsize <= 3
    check_same(outcome(compiled, lambda: (pb.tensor([4.0]),)), outcome(newton, lambda: (pb.tensor([4.0]),)))


def test_117_118_power_iteration_and_conjugate_gradients():
    def power(a, tol):
        v = pb.ones(a.shape[0])
        for i in range(500):  # noqa: B007
            w = a @ v
            w = w / pb.linalg.norm(w)
            err = float(pb.linalg.norm(w - v).detach())
            v = w
            if err < tol:
                break
        return v, err, i

    def gradients(a, b, tol):
        x = b * 0
        r = b - a @ x
        p, rs = r, r @ r
        for _ in range(50):
            ap = a @ p
            alpha = rs / (p @ ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = r @ r
            if new.sqrt() < tol:
                break
            p = r + (new / rs) * p
            rs = new
        return x

    draws = np.random.default_rng(0)
    matrices = [m + m.T for m in draws.random((4, 5, 5))]
    compiled = check_calls(power, [lambda m=m: (leaf(m), 1e-7) for m in matrices], 2)
    assert loops_of(compiled) > 0 and compiled.cache_info().currsize == 1
    matrices = [m @ m.T + 20 * np.eye(5) for m in draws.normal(size=(4, 5, 5))]
    sides = draws.normal(size=(4, 5))
    given = [lambda m=m, b=b: (leaf(m), leaf(b), 1e-5) for m, b in zip(matrices, sides, strict=True)]
    check_calls(gradients, given, 2, 1e-7)


def test_119_while_true_with_return():
    def f(x):
        while True:
            x = x * 0.7
            if x.sum() < 0.1:
                return x * 2

    assert check_calls(f, NUMBERS, 2).cache_info().currsize == 1


def test_120_bisection_has_two_arms():
    def f(c):
        low, high = c * 0, c * 0 + 10
        while (high - low) > 1e-2:
            middle = (low + high) / 2
            if middle**3 > c:
                high = middle
            else:
                low = middle
        return (low + high) / 2

    check_calls(f, [lambda v=v: (leaf(v),) for v in (2.0, 30.0, 2.0, 500.0)], backend="numpy", fallback="eager")


def test_121_122_loops_that_write_in_place():
    def fixed_point(x, k):
        y = x.detach() * 0
        while True:
            new = pb.cos(y) * k
            d = abs(new - y).max()
            y[:] = new
            if d < 1e-4:
                return y * x

    def gauss_seidel(a, b):
        x = pb.zeros(3)
        for _ in range(40):
            before = x.clone()
            for i in range(3):
                x[i] = (b[i] - a[i] @ x + a[i, i] * x[i]) / a[i, i]
            if abs(x - before).max() < 1e-6:
                break
        return x

    given = [lambda v=v: (leaf([v, 1.0]), 0.3) for v in (1.0, 2.0)]
    check_calls(fixed_point, given, counts_writes=False, backend="numpy")
    matrix = [[4.0, 1.0, 0.5], [1.0, 5.0, 1.0], [0.5, 1.0, 6.0]]
    given = [lambda v=v: (pb.tensor(matrix), pb.tensor([v, 1.0, 2.0])) for v in (1.0, 2.0)]
    check_calls(gauss_seidel, given, counts_writes=False, backend="numpy")


def test_123_adaptive_steps_with_rejections():
    def f(y, end):
        t, dt, steps = 0.0, 0.5, 0
        while t < end and steps < 30:
            steps += 1
            k = -y * y
            coarse = y + dt * k
            middle = y + dt / 2 * k
            fine = middle - dt / 2 * middle * middle
            err = abs(fine - coarse).max().item()
            if err > 1e-2:
                dt = dt * 0.5
                continue
            y, t = fine, t + dt
            dt = min(dt * 1.5, end - t + 1e-9)
        return y, t

    check_calls(f, [lambda v=v: (leaf([v, 0.5]), 1.5) for v in (1.0, 3.0, 0.2, 1.0)], backend="numpy", fallback="eager")


def hidden(x):
    fails = 0
    while x.sum() > 1:
        x = x * 0.8
        fails += 1
        if fails > 3:
            return -x
    return x


def hidden_in_a_closure(x):
    seen = [0]

    def step(v):
        seen[0] += 1
        return v * 0.5 if seen[0] != 5 else v + 1

    while x.sum() > 1:
        x = step(x)
    return x


def hidden_in_an_object(x):
    class Counter:
        count = 0

    counter = Counter()
    while x.sum() > 1:
        counter.count += 1
        x = x * 0.5 + (counter.count == 4)
    return x


def hidden_in_an_iterator(x):
    for _ in itertools.repeat(None, 6):
        x = x * 0.5
        if x.sum() < 0.01:
            break
    return x


def hidden_in_a_generator(x):
    factors = (0.5 if k < 4 else 0.25 for k in range(1000))
    while x.sum() > 1:
        x = x * next(factors)
    return x


def looked_at(x):
    for i in range(20):
        if i == 10:
            x = x + 1000
        x = x * 0.9
        if x.sum() < 1:
            break
    return x


@pytest.mark.parametrize(
    "function",
    [hidden, hidden_in_a_closure, hidden_in_an_object, hidden_in_an_iterator, hidden_in_a_generator, looked_at],
)
def test_124_126_what_counts_in_secret_is_never_missed(function):
    order = [*NUMBERS[1:3], NUMBERS[4], *NUMBERS]
    check_calls(function, order, 2, backend="numpy", fallback="eager")


def test_125_a_list_of_iterates():
    def f(x):
        found = []
        while x.sum() > 1:
            x = x * 0.5
            found.append(x)
        return found

    check_calls(f, NUMBERS[:4], 2, backend="numpy")


def test_128_129_140_nested_loops_pairs_and_else():
    def nested(x):
        while x.sum() > 1:
            y = x
            while abs(y).max() > 0.5:
                y = y * 0.5
            x = x * 0.3 + y * 0.01
        return x

    def paired(x):
        for a, b in zip([0.5, 0.7, 0.9], x, strict=False):
            x = x * a + b
            if x.sum() > 100:
                break
        return x

    def with_else(x):
        for _ in range(6):
            x = x * 0.5
            if x.sum() < 1:
                break
        else:
            x = x + 100
        return x

    for function in (nested, paired, with_else):
        check_calls(function, NUMBERS[:5], 2, backend="numpy")


def test_131_132_escape_time_and_line_search():
    def escape(c):
        z, n = c * 0, 0
        while n < 12 and abs(z) < 2:
            z, n = z * z + c, n + 1
        return z, n

    def search(x, g):
        t = 1.0
        while ((x - t * g) ** 2).sum() > (x**2).sum() - 0.5 * t * (g * g).sum():
            t *= 0.5
        return x - t * g

    check_calls(escape, [lambda v=v: (leaf(v),) for v in (0.1, 0.5, 1.0, 0.4)], 2, backend="numpy")
    pairs = (1.0, 1.0), (3.0, 8.0), (1.0, 2.0)
    given = [lambda v=v, s=s: (leaf([v, 2.0]), pb.tensor([2 * v, 4.0]) * s) for v, s in pairs]
    check_calls(search, given, 2, backend="numpy")


def test_133_to_136_derivatives_of_newton():
    compiled = pb.compile(lambda a: newton(a).sum(), fallback="raise")
    for value in (2.0, 900.0, 3.0):
        a = leaf([value, 5.0])
        (first,) = pb.autograd.grad(compiled(a), a, create_graph=True)
        (second,) = pb.autograd.grad(first.sum(), a)
        np.testing.assert_allclose(first.detach().numpy(), 0.5 * np.array([value, 5.0]) ** -0.5, rtol=1e-9)
        np.testing.assert_allclose(second.numpy(), -0.25 * np.array([value, 5.0]) ** -1.5, rtol=1e-6)
    _, tangent = pb.func.jvp(compiled, (pb.tensor([4.0, 9.0]),), (pb.tensor([1.0, 0.0]),))
    assert abs(tangent.item() - 0.25) < 1e-9


def test_137_to_139_checkpoints_draws_and_long_loops():
    def kept(x):
        while x.sum() > 1:
            x = pb.checkpoint(lambda v: pb.sin(v) * 0.5 + v * 0.25, x)
        return x

    def drawn(x):
        while x.sum() > 1:
            x = x * pb.random.uniform(low=0.2, high=0.8)
        return x

    def long(x):
        while x.sum() > 1:
            x = x * 0.999
        return x

    check_calls(kept, NUMBERS[:3], backend="numpy")
    check_calls(drawn, NUMBERS[:3], 2, backend="numpy")
    compiled = pb.compile(long, fallback="raise")
    for value in (1.002, 1.5, 20.0, 3000.0):  # up to 8000 steps
        with pb.no_grad():
            given = pb.tensor([value, 0.0])
            assert compiled(given).tolist() == pytest.approx(long(given).tolist(), rel=1e-9)
    assert compiled.cache_info().currsize <= 3


def test_133_transforms_inside_and_hooks():
    one = pb.tensor([1.0, 2.0])
    values = [lambda v=v: (pb.tensor([v, 2.0]),) for v in (2.0, 1e4)]
    for function in (lambda a: pb.func.jvp(newton, (a,), (one,)), pb.func.grad(lambda a: newton(a).sum())):
        check_calls(function, values, 2, backend="numpy")

    def hooked(a):
        x = a * 1
        while (abs(x) > 1).any():
            x = x * 0.5
            x.register_hook(lambda g: g * 1.5)
        return x

    check_calls(hooked, NUMBERS[:2], 2, backend="numpy")


def test_130_141_k_means_and_a_generator_expression_in_the_condition():
    def k_means(points, centres):
        labels = np.full(len(points), -1)
        while True:
            new = pb.argmin(((points[:, None] - centres[None]) ** 2).sum(-1), axis=1)
            if (new == labels).all():
                return centres, new
            labels = new
            chosen = [pb.where(new[:, None] == k, points, 0.0).sum(0) / ((new == k).sum() + 1e-9) for k in (0, 1)]
            centres = pb.stack(chosen)

    def until_all_are_small(x):
        while not all(each < 1 for each in x):
            x = x * 0.5
        return x

    clouds = [np.random.default_rng(k).normal(size=(7, 2)) for k in range(4)]
    makers = [lambda p=p: (leaf(p), leaf(p[:2] + 0.1)) for p in clouds]
    check_calls(k_means, makers, 2, fallback="eager", backend="numpy")
    makers = [lambda v=v: (leaf([v, 0.5]),) for v in (3.0, 9.0, 0.5, 100.0)]
    check_calls(until_all_are_small, makers, 2, backend="numpy")


def counted(a):
    x, steps = a * 1, 0
    while abs(x * x - a) > 1e-9 and steps < 40:
        x = 0.5 * (x + a / x)
        steps += 1
    return x, steps


def timed(x, dt):
    t = 0.0
    while x > 0.2:
        x = x * (1 - dt)
        t += dt
    return x, t


def relaxed(start):
    u, change, sweeps = start.copy(), 1.0, 0
    while change > 1e-3:
        before = u.copy()
        u[1:-1] = before[1:-1] + 0.25 * (before[2:] - 2 * before[1:-1] + before[:-2])
        change = np.abs(u - before).max()
        part = u[1:3]  # a view, which nobody reads in the next step
        sweeps += part.ndim
    return u, sweeps


def in_two_phases(x):
    is_fast = True
    for _ in range(30):
        x = x * (1.1 if is_fast else 1.01)
        if is_fast:
            if x > 3:
                is_fast = False
        elif x > 100:
            break
    return x


def looks_at_its_counter(x):
    steps = 0
    while x > 0.1:
        x = x * [0.5, 0.6, 0.7, 0.8][steps % 4]
        steps += 1
    return x


def adaptive(y, end):
    t, h, steps, rejected = 0.0, 0.1, 0, 0
    while t < end:
        h = min(h, end - t)
        middle = y - h / 2 * y * y
        new = y - h * middle * middle
        if abs(new - (y - h * y * y)).item() < 1e-2:
            y, t, steps, h = new, t + h, steps + 1, h * 1.2
        else:
            h, rejected = h * 0.5, rejected + 1
    return y, steps, rejected


def one_after_the_other(a):
    total = a * 0
    for _ in range(2):
        x = a * 1
        for _ in range(200):
            new = 0.5 * (x + a / x)
            if abs(new - x) < 1e-9:
                break
            x = new
        total = total + x
        a = a + x
    return total


def swapped(a, b):
    steps = 0
    while (a * b).sum() > steps:
        a, b = b, a
        steps += 1
    return a * 2, steps


NUMBERS_OF_LOOPS = {
    "beside arguments that are swapped": (swapped, lambda rng: (leaf(rng.uniform(1, 3)), leaf(rng.uniform(1, 3))), 40),
    "a step that is adapted": (adaptive, lambda rng: (leaf(rng.uniform(1, 4)), float(rng.uniform(0.5, 2))), 2),
    "loops one after the other": (one_after_the_other, lambda rng: (leaf(rng.uniform(1, 50)),), 4),
    "a counter": (counted, lambda rng: (leaf(rng.uniform(1, 50)),), 1),
    "a sum with an argument": (timed, lambda rng: (leaf(rng.uniform(1, 50)), float(rng.uniform(0.05, 0.2))), 1),
    "ends of a bracket": (bisection, lambda rng: (leaf(rng.uniform(1, 50, size=1)),), 1),
    "beside what is written": (relaxed, lambda rng: (leaf(rng.normal(size=8)),), 2),
    "a loop that a range goes on behind": (in_two_phases, lambda rng: (leaf(rng.uniform(0.5, 2)),), 40),
    "an index": (looks_at_its_counter, lambda rng: (leaf(rng.uniform(1, 50)),), 40),
}


@pytest.mark.parametrize("name", NUMBERS_OF_LOOPS)
def test_037_numbers_that_change_in_a_loop_are_carried(name):
    function, make, most = NUMBERS_OF_LOOPS[name]
    makers = [lambda seed=seed: make(np.random.default_rng(seed)) for seed in range(6)]
    compiled = check_calls(function, makers, counts_writes=False, backend="numpy", rtol=1e-7)
    found = compiled.explain(*makers[0]()).data["paths"]
    assert found["paths"] <= most and (most > 4 or found["loops"])


def test_036_adapted_programs_with_branches_and_loops_compile():
    def solve(a, b):
        x = np.zeros(2)
        for _ in range(50):
            step = b - a @ x
            x += 0.2 * step
            if np.linalg.norm(step) < 1e-6:
                break
        return x

    given = [lambda v=v: (pb.tensor([[2.0, 0.5], [0.5, 3.0]]), leaf([v, 1.0])) for v in (1.0, 2.0, 3.0)]
    check_calls(pb.func.adapt(solve), given, times=2, counts_writes=False, backend="numpy")


def held_at_the_edge(u, x):
    with pb.no_grad():
        u[0] *= 0.5


def held_through_an_alias(u, x):
    u.detach()[0] = 0.2


def held_through_data(u, x):
    u.data[0] *= 0.5


@pytest.mark.parametrize("hold", [held_at_the_edge, held_through_an_alias, held_through_data])
def test_037_writes_that_autograd_does_not_see_are_not_differentiated_in_loops(hold):
    def settled(x, y):
        u, steps = 2 * y, 0
        while (u * u).sum() > 0.05 and steps < 20:
            steps += 1
            u = u * x
            hold(u, x)
        return (u * x).sum()

    makers = [lambda v=v: (leaf([v, 0.6, 0.7]), leaf([1.0, v, 0.3])) for v in (0.5, 0.55, 0.6, 0.65)]
    check_calls(settled, makers, counts_writes=False, backend="numpy", rtol=1e-7)


def test_129_a_loop_over_pairs_that_is_left_by_a_value():
    def f(a, b):
        total = a[0] * 0
        for u, v in zip(a, b, strict=True):
            if u < 0:
                break
            total = total + u * v
        return total

    pairs = np.random.default_rng(0).normal(size=(8, 2, 4))
    makers = [lambda pair=pair: (leaf(pair[0] + 0.5), leaf(pair[1])) for pair in pairs]
    check_calls(f, makers, 2, backend="numpy")
