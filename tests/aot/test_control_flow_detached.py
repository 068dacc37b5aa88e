"""What has no history in bodies of branches and loops, and among what they are given, at every order of derivative."""

import numpy as np
import pytest

import pullback as pb
from tests.aot.control_programs import compiled, same

POINT = pb.tensor([0.7, 0.4, 1.1])
DIRECTION = pb.tensor([0.5, -0.4, -1.0])


def branch(true_fn, x, *more):
    return pb.cond(x.sum() > 0, true_fn, lambda x, *more: x.sum(), x, *more)


def loop(step, x, first=None):
    last, ys = pb.scan(step, x if first is None else first, pb.stack([x, x * 2, x + 1]))
    last = last if first is None else last[0]
    return (last**2).sum() + (ys**2 * x).sum()


def under_no_grad(function, *args):
    with pb.no_grad():
        return function(*args)


def a_captured_value(x):
    fixed, quiet = x.detach(), under_no_grad(lambda: x * x)
    return branch(lambda t: (t * t * fixed * quiet).sum(), x)


def a_loop_of_recorded_gradients(x):
    def step(c, row):
        leaf = row.detach().requires_grad_()
        (slope,) = pb.autograd.grad((leaf**3 * c).sum(), leaf, create_graph=True)
        return c * slope, c * c

    return loop(step, x)


def a_loop_of_gradients(x):
    def step(c, row):
        quiet = under_no_grad(lambda: c * row)
        return c * pb.func.grad(lambda z: (z**3 * c * z.detach()).sum())(quiet), c * c

    return loop(step, x)


def modes_in_modes(x):
    def step(c, row):
        with pb.no_grad():
            s = c * row
            with pb.enable_grad():
                u = s * c + c.detach() * row
            v = u * c
        return u * v + row, v * c

    return loop(step, x)


def a_buffer_without_history(x):
    def step(c, row):
        d = c.detach().clone()
        d[0] = row[0] * c[1]
        e = under_no_grad(lambda: c * row)
        e[1] = row[2] * c[0]
        return d * c, e * d

    return loop(step, x)


def a_loop_in_a_loop(x):
    fixed = x.detach()

    def outer(h, row):
        before = h.detach()
        g, gs = pb.scan(lambda g, r: (g * r * before + fixed * h, g), h * 0.5, pb.stack([row, x]))
        quiet, _ = under_no_grad(lambda: pb.scan(lambda g, r: (g * r, None), h, pb.stack([row, x])))
        return g + row.detach() * h, gs.sum(0) * before * quiet

    return loop(outer, x)


PROGRAMS = {
    "argument": lambda x: branch(lambda t, d: (t * t * d).sum(), x, x.detach()),
    "argument of no_grad": lambda x: branch(lambda t, d: (t * t * d).sum(), x, under_no_grad(lambda: x.sin() * x)),
    "view of an argument": lambda x: branch(lambda t, d: (t[1:] ** 2 * d).sum(), x, x.detach()[1:]),
    "captured": a_captured_value,
    "in a branch": lambda x: branch(lambda t: (t**3 * (t * t).detach() * t.sin()).sum(), x),
    "no_grad in a branch": lambda x: branch(lambda t: (t**3 * under_no_grad(lambda: t * t)).sum(), x),
    "both in a branch": lambda x: branch(lambda t: (t**3 * under_no_grad(lambda: t.detach() * t)).sum(), x),
    "view of no_grad": lambda x: branch(lambda t: (t[1:] ** 3 * under_no_grad(lambda: t[:-1])).sum(), x),
    "data": lambda x: branch(lambda t: (t**3 * t.data).sum(), x),
    "result of a branch": lambda x: (pb.cond(x.sum() > 0, lambda t: t.detach(), lambda t: t, x) * x**3).sum(),
    "branch in no_grad": lambda x: (under_no_grad(pb.cond, x.sum() > 0, lambda t: t * t, lambda t: t, x) * x**3).sum(),
    "carry": lambda x: loop(lambda c, r: ((c[0] * r + c[1] * c[0], c[1] * 1.1), c[0] * c[1]), x, (x, x.detach())),
    "carry of both": lambda x: loop(lambda c, r: ((c[0] * c[1], c[0] * r), c[0] * r), x, (x, x.detach())),
    "carry that is detached": lambda x: loop(lambda c, r: ((c[0] * r * c[1], (c[0] * r).detach()), c[1]), x, (x, x)),
    "carry of no_grad": lambda x: loop(lambda c, r: (under_no_grad(lambda: c * r), c * c * r * r), x),
    "slices": lambda x: loop(lambda c, r: (c.detach() * r * c, x * c * r.detach()), x),
    "baseline": lambda x: loop(lambda c, r: (c + ((c * r).sum() - (c * r).sum().detach()) * r.log(), c * r), x),
    "vmap in a loop": lambda x: loop(lambda c, r: (c * pb.vmap(lambda z, w: z**2 * w.detach())(r, c), c * r), x),
    "loop in vmap": lambda x: pb.vmap(lambda z, u: loop(lambda c, r: (c * r * u, c * u), z))(x, x.detach()).sum(),
    "branch in vmap": lambda x: pb.vmap(lambda z, u: pb.cond(z > 0.5, lambda: z**2 * u, lambda: z**3 * u))(
        x, x.detach()
    ).sum(),
    "while_loop": lambda x: pb.while_loop(
        lambda c: (c * c).sum() < 30, lambda c: c * c * x.detach() + x + c.detach() * x, x, max_steps=5
    ).sum(),
    "fori_loop": lambda x: pb.fori_loop(0, 3, lambda i, c: (c[1] * x, c[0]), (x, x.detach()))[0].pow(2).sum(),
    "recorded gradients": a_loop_of_recorded_gradients,
    "gradients": a_loop_of_gradients,
    "modes in modes": modes_in_modes,
    "a buffer": a_buffer_without_history,
    "a loop in a loop": a_loop_in_a_loop,
}


def along(gradient, x):
    return (gradient * DIRECTION).sum()


def backward_times(function, order):
    x = POINT.clone().requires_grad_()
    value = function(x)
    for further in reversed(range(order)):
        if not value.requires_grad:
            return pb.zeros(3)
        (found,) = pb.autograd.grad(value, x, create_graph=further > 0, allow_unused=True, materialize_grads=True)
        value = along(found, x)
    return found


grad, jvp = pb.func.grad, pb.func.jvp
WAYS = {
    "jvp": lambda f: lambda x: jvp(f, (x,), (DIRECTION,))[1],
    "reverse over reverse": lambda f: grad(lambda x: along(grad(f)(x), x)),
    "forward over reverse": lambda f: lambda x: jvp(grad(f), (x,), (DIRECTION,))[1],
    "reverse over forward": lambda f: grad(lambda x: jvp(f, (x,), (DIRECTION,))[1]),
    "vmap": lambda f: lambda x: pb.vmap(grad(lambda x: along(grad(f)(x), x)))(pb.stack([x, x * 1.2])),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_gradients_of_every_order_are_those_of_plain_code(name):
    plain = PROGRAMS[name]
    fast = compiled(plain)
    for order in (1, 2, 3):
        same(backward_times(plain, order), backward_times(fast, order))


@pytest.mark.parametrize("name", PROGRAMS)
def test_transforms_inside_of_a_compiled_function_are_those_of_plain_code(name):
    for way in WAYS.values():
        if not (name == "data" and way is WAYS["vmap"]):  # .data is refused in a vmap of plain code
            same(way(PROGRAMS[name])(POINT), compiled(way(PROGRAMS[name]))(POINT))


def test_a_detached_argument_of_a_branch_in_closed_form():
    x = pb.tensor(0.7, requires_grad=True)
    f = compiled(lambda x: pb.cond(x > 0, lambda t, d: t * t * d, lambda t, d: t * d, x, x.detach()))
    (first,) = pb.autograd.grad(f(x), x, create_graph=True)  # 2 t d
    (second,) = pb.autograd.grad(first, x)  # 2 d
    np.testing.assert_allclose([first.item(), second.item()], [0.98, 1.4])


class Odd(pb.autograd.Function):
    """A square with a derivative of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2


HIDDEN = {
    "a custom Function": lambda c, r: (Odd.apply(c) * r, c),
    "a write while grad mode was off": lambda c, r: ((b := c * r), under_no_grad(b.mul_, c))[:1] * 2,
    "a write through a detached alias": lambda c, r: ((b := c * r), b.detach().mul_(2.0))[:1] * 2,
}


@pytest.mark.parametrize("what", HIDDEN)
def test_what_no_graph_can_say_is_right_backward_and_refused_in_transforms(what):
    def function(x):
        return loop(HIDDEN[what], x)

    same(backward_times(function, 2), backward_times(compiled(function), 2))
    with pytest.raises(pb.aot.TraceError, match=what):
        compiled(WAYS["reverse over reverse"](function))(POINT)


def test_results_have_no_history_while_grad_mode_is_off():
    def recording(x):
        with pb.enable_grad():
            return x * x

    def function(x):
        with pb.no_grad():
            y = pb.cond(x.sum() > 0, recording, lambda x: x, x)
            z = pb.cond(x.sum() > 9, recording, lambda x: x, x)
            w = pb.while_loop(lambda c: c.sum() < 9, recording, x + 1)
            last, _ = pb.scan(lambda c, row: (recording(c), None), x, pb.stack([x, x]))
        return ((y + z + w + last) * x).sum()

    x = POINT.clone().requires_grad_()
    with pb.no_grad():
        assert not pb.cond(x.sum() > 9, recording, lambda x: x, x).requires_grad
    for way in (lambda f: lambda x: backward_times(f, 1), WAYS["jvp"]):
        same(way(function)(POINT), way(compiled(function))(POINT))
    same(WAYS["jvp"](function)(POINT), compiled(WAYS["jvp"](function))(POINT))


def test_a_tangent_that_leaves_a_vmap_of_a_loop_is_a_plain_array():
    def slope(x):
        return pb.func.jvp(pb.vmap(lambda z: pb.scan(lambda c, r: (c * r, None), z, x)[0]), (x,), (x,))[1]

    same(slope(POINT), compiled(slope)(POINT))


def a_buffer_that_is_written_in_both_modes(x):
    def step(c, row):
        b = pb.zeros(3)
        with pb.no_grad():
            b.copy_(c * row)
            b += c
        b[0] = c[1] * row[0]
        return b * c, b * row * c

    return loop(step, x)


def a_view_that_was_taken_before_a_write(x):
    def step(c, row):
        b = c * row
        v = b[1:]
        b.mul_(row)
        return b, pb.concatenate([v, c[:1].detach()])

    return loop(step, x)


def a_buffer_outside_of_bodies(x):
    b = pb.zeros(3)
    with pb.no_grad():
        b.copy_(x * x)
        b += x
    b[0] = x[1] * x[0]
    return (b * x**3).sum()


@pytest.mark.parametrize(
    "function",
    [a_buffer_that_is_written_in_both_modes, a_view_that_was_taken_before_a_write, a_buffer_outside_of_bodies],
)
def test_what_is_written_to_memory_without_history_begins_one_or_not(function):
    for order in (1, 2, 3):
        same(backward_times(function, order), backward_times(compiled(function), order))
    for way in WAYS.values():
        same(way(function)(POINT), compiled(way(function))(POINT))


def quiet_sine(c):
    with pb.no_grad():
        return pb.sin(c)


RESULTS_OF_LOOPS = {
    "a row": lambda x: pb.scan(lambda c, row: (c, quiet_sine(c)), x[0], x)[1],
    "a carry": lambda x: pb.scan(lambda c, row: (quiet_sine(c), row), x[0], x)[0],
    "another carry": lambda x: pb.scan(lambda c, row: ((c[0] * row, c[1] + 1), None), (x[0], pb.ones(())), x)[0][1],
    "a carry of no steps": lambda x: pb.scan(lambda c, row: (quiet_sine(c), row), x[0], x[:0])[0],
    "a counted loop": lambda x: pb.fori_loop(0, 3, lambda i, c: c.detach(), x),
    "a recorded row": lambda x: pb.scan(lambda c, row: (quiet_sine(c), c * row), x[0], x)[1],
}


@pytest.mark.parametrize("function", RESULTS_OF_LOOPS.values(), ids=RESULTS_OF_LOOPS.keys())
def test_results_of_loops_require_grad_where_they_do_in_eager_code(function):
    x = pb.tensor([0.7, 0.4, 1.1], requires_grad=True)
    got, expected = pb.compile(function, backend="numpy", fallback="raise")(x), function(x)
    assert got.requires_grad == expected.requires_grad
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy())


WRITTEN_AFTERWARDS = {
    "scan": lambda t: pb.scan(lambda c, _: (c * c, None), t, None, 2)[0],
    "an idle loop": lambda t: pb.fori_loop(0, 2, lambda i, c: c, t),
    "a constant": lambda t: pb.fori_loop(0, 3, lambda i, c: c * 0.5 + t * i, pb.ones(3)),
    "slices": lambda t: pb.scan(lambda c, row: (c + row, None), pb.ones(()), t)[0],
    "a branch": lambda t: pb.cond(t.sum() > 0, lambda u: u * 2, lambda u: u + 1, t),
    "what a branch finds": lambda t: pb.cond(t.sum() > 0, lambda u: u + t, lambda u: u - t, pb.ones(3)),
    "while": lambda t: pb.while_loop(lambda c: c[1] < 2, lambda c: (c[0].sin(), c[1] + 1), (t, 0), max_steps=4)[0],
}


@pytest.mark.parametrize("loop", WRITTEN_AFTERWARDS.values(), ids=WRITTEN_AFTERWARDS.keys())
@pytest.mark.parametrize("made", [lambda x: x * 1, lambda x: (x * 1).flip(0), lambda x: x.cos()])
def test_what_a_loop_began_with_may_be_written_afterwards(loop, made):
    def f(x):
        start = made(x)
        last = loop(start)
        start.add_(5.0)
        return (last * start).sum()

    gradients = []
    for function in (f, pb.compile(f, backend="numpy", fallback="raise")):
        x = pb.tensor([0.7, 0.4, 1.1], requires_grad=True)
        function(x).backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-12)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_what_goes_around_lies_in_rows(steps):
    def f(x):
        start = (x * 1).T
        assert not start.is_contiguous()
        scanned = pb.scan(lambda c, _: (c.T.exp().T, None), start, None, steps)[0]
        turned = pb.while_loop(lambda c: c[1] < steps, lambda c: (c[0].T.sin().T, c[1] + 1), (start, 0))[0]
        return scanned, turned, scanned.as_strided((2,), (1,), 1), turned.as_strided((2,), (1,), 1)

    x = pb.tensor(np.arange(6.0).reshape(2, 3))
    for got, expected in zip(pb.compile(f, backend="numpy", fallback="raise")(x), f(x), strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy())
        assert got.is_contiguous() and expected.is_contiguous()


BRANCHES_OF_EXAMPLES = {
    "as it is": (lambda s: s, lambda s: s.detach()),
    "products": (lambda s: s * s, lambda s: s.detach() * s * s),
    "without grad mode": (lambda s: quiet_sine(s) * s * s, lambda s: s**3),
    "a loop": (lambda s: pb.fori_loop(0, 2, lambda i, c: c * s, s), lambda s: s * s.detach()),
}


@pytest.mark.parametrize("branches", BRANCHES_OF_EXAMPLES.values(), ids=BRANCHES_OF_EXAMPLES.keys())
@pytest.mark.parametrize("threshold", [0.0, 0.6, 2.0])
def test_branches_that_examples_choose_have_second_derivatives(branches, threshold):
    def f(x):
        return pb.sin(pb.vmap(lambda u: pb.cond(u.sum() > threshold, *branches, u))(x)).sum()

    found = []
    for function in (f, pb.compile(f, backend="numpy", fallback="raise")):
        x = pb.tensor([0.7, 0.4, 1.1], requires_grad=True)
        (first,) = pb.autograd.grad(function(x), x, create_graph=True, materialize_grads=True)
        second = pb.autograd.grad((first * first).sum(), x, materialize_grads=True)[0] if first.requires_grad else x * 0
        found.append(np.stack([first.detach().numpy(), second.detach().numpy()]))
    np.testing.assert_allclose(*found, rtol=1e-10)
