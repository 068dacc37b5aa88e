"""Programs with branches and loops, and how to compare what is compiled with plain code."""

import numpy as np

import pullback as pb
from pullback.graph.text.printing import bodies_of

BACKENDS = {"interpreted": lambda graph, types: graph.verify().eval_boxed, "numpy": "numpy"}


def tensors(*shapes, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    return [pb.tensor(rng.normal(size=shape) * scale, requires_grad=True) for shape in shapes]


def compiled(function, backend="numpy", **options):
    return pb.compile(function, backend=BACKENDS[backend], fallback="raise", **options)


def same(first, second):
    first, second = ([x.detach().numpy() for x in pb.utils.pytree.flatten(tree)[0]] for tree in (first, second))
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def gradients(function, args):
    return pb.autograd.grad(function(*args), args, allow_unused=True, materialize_grads=True)


def check_gradients(function, args, backend="numpy"):
    same(function(*args), compiled(function, backend)(*args))
    same(gradients(function, args), gradients(compiled(function, backend), args))


def nodes_of(graph, kind):
    """All nodes of a kind, those in bodies too."""
    found = [node for node in graph.nodes if node.op == kind]
    bodies = [body for node in graph.nodes for body in bodies_of(node).values()]
    return found + [node for body in bodies for node in nodes_of(body, kind)]


# Programs.


def recurrent(weights, xs, state, reverse=False):
    def step(h, x):
        new = (h @ weights.T + x).tanh()
        return new, (new * new).sum()

    last, ys = pb.scan(step, state, xs, reverse=reverse)
    return (last * last).sum() + (ys * ys).sum()


def branches_in_a_loop(state, xs):
    def step(c, x):
        new = pb.cond(x.sum() > 0, lambda c: c * x + 1, lambda c: c.sin(), c)
        return new, new.sum()

    last, ys = pb.scan(step, state, xs)
    return (last * last).sum() + (ys * ys).sum()


def nested(weights, xs, state):
    def outer(h, x):
        def inner(g, row):
            return (g * row + h).tanh(), g

        last, all_of_them = pb.scan(inner, h * 0.5, weights * x)
        return last + x, all_of_them.sum()

    last, ys = pb.scan(outer, state, xs)
    return (last * ys.sum()).sum()


def integer_carry(xs, state):
    def step(carry, x):
        i, h = carry
        return (i + 1, h * x.sum() + i * 0.1), i

    (count, last), ys = pb.scan(step, (0, state), xs)
    return (last * (ys * 1.0).sum()).sum() + count


def bodies_that_write(position, velocity):
    def step(carry, _):
        p, v = carry
        d = p[:, None] - p[None, :]
        v.add_(-(d / (d * d + 0.1)).sum(1) * 0.1)
        p += v * 0.1
        p[0] *= 0.5
        return (p, v), p

    (p, v), path = pb.scan(step, (position, velocity), None, length=6)
    return (p * v).sum() + (path * path).sum()


def a_loop_of_five(x):
    return pb.while_loop(lambda c: c[1] < 5, lambda c: (c[0] * 1.1 + c[0].sin(), c[1] + 1), (x, 0), max_steps=8)[
        0
    ].sum()


def a_loop_until(x):
    return pb.while_loop(lambda c: (c * c).sum() < 20, lambda c: c * c.cos() + 2 * c + 0.5, x, max_steps=12).sum()


def gradient_in_a_body(state, xs):
    def step(c, x):
        slope = pb.func.grad(lambda z: (z.sin() * z * x).sum())(c)
        return c - 0.1 * slope, c

    last, ys = pb.scan(step, state, xs)
    return (last * last).sum() + ys.sum()


def branch_of_outside_values(x, y):
    return pb.cond(x.sum() > 0, lambda a: (a * y).sum(), lambda a: (a.sin() * y).sum() * x.sum(), x)


def detaching(state, xs):
    def step(c, x):
        fixed = c.detach() * x
        new = (c * fixed + pb.func.stop_gradient(c)[0] + x).sin()
        return new, new * fixed

    last, ys = pb.scan(step, state, xs)
    return (last * last).sum() + (ys * ys).sum()


PROGRAMS = {
    "recurrent": (recurrent, (3, 3), (5, 3), (3,)),
    "recurrent, reversed": (lambda *args: recurrent(*args, reverse=True), (3, 3), (5, 3), (3,)),
    "one step": (lambda w, xs, h: recurrent(w, xs[:1], h), (3, 3), (5, 3), (3,)),
    "no steps": (lambda w, xs, h: recurrent(w, xs[:0], h) + (w * w).sum(), (3, 3), (5, 3), (3,)),
    "branches in a loop": (branches_in_a_loop, (3,), (5, 3)),
    "nested": (nested, (3, 3), (4, 3), (3,)),
    "integer carry": (integer_carry, (5, 3), (3,)),
    "bodies that write": (bodies_that_write, (4,), (4,)),
    "a loop of five": (a_loop_of_five, (3,)),
    "a loop until": (a_loop_until, (3,)),
    "gradient in a body": (gradient_in_a_body, (3,), (5, 3)),
    "branch of outside values": (branch_of_outside_values, (3,), (3,)),
    "branch not taken": (lambda x, y: branch_of_outside_values(x - 10, y), (3,), (3,)),
    "detaching": (detaching, (3,), (5, 3)),
}
