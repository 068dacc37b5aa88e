"""Random programs on rows of different lengths compute, and differentiate, what a loop over rows does."""

import random

import numpy as np
import pytest

import pullback as pb

LENGTHS = ((2, 3, 0, 4), (1,), (3, 3), (0,), (0, 0), (1, 1, 1), (5, 1), (2, 0, 0, 1), ())
WAYS = ("first", "second", "jvp", "vmap", "compiled")


def doubled(x):
    made = x.clone()
    made.mul_(2.0)
    made += x
    return made


# By the axis of the row, which is 1 of all rows and 0 of one: what works on rows that may be empty.
STATEMENTS = (
    lambda x, row: pb.sin(x) * x - 2 / (x * x + 1),
    lambda x, row: pb.where(x > 0.1, x, 0.2 * x) + pb.clip(x, -0.7, 0.9),
    lambda x, row: x - 0.1 * x.sum(row, keepdims=True),
    lambda x, row: x / pb.sqrt((x * x).sum(row, keepdims=True) + 1),
    lambda x, row: x * pb.prod(0.5 * x, row, keepdims=True),
    lambda x, row: pb.nn.softmax(x, row) * x,
    lambda x, row: pb.nn.log_softmax(x, row),
    lambda x, row: pb.cumsum(x, row) + pb.sort(x, row),
    lambda x, row: pb.flip(x, row) * x,
    lambda x, row: x[(slice(None),) * row + (slice(1, None),)],
    lambda x, row: pb.concatenate([x, 2 * x], row),
    lambda x, row: x @ np.array([[0.5, -0.2], [0.3, 0.7]]) * x[..., 0:1],
    lambda x, row: x * x.sum(row + 1, keepdims=True),
    lambda x, row: doubled(x),
)
FOR_VMAP = STATEMENTS[:-1]  # rows inside of vmap are values, and not written


def program(seed, row, statements):
    chosen = random.Random(seed).choices(statements, k=4)

    def run(x):
        for statement in chosen:
            x = statement(x, row)
        return pb.tanh(x).sum()

    return run


def joined(rows):
    return np.concatenate([row.detach().numpy() for row in rows]) if rows else np.zeros((0, 2))


def derivatives(function, inputs, way):
    """The value of a function of these tensors, and derivatives by each of them."""
    if way == "jvp":
        return function(*inputs), pb.func.jvp(function, tuple(inputs), tuple(map(pb.ones_like, inputs)))[1]
    value = (pb.compile(function) if way == "compiled" else function)(*inputs)
    options = {"allow_unused": True, "materialize_grads": True}
    gradients = pb.autograd.grad(value, inputs, create_graph=way == "second", **options) if inputs else ()
    if way == "second":
        slope = sum(((g * g).sum() for g in gradients), pb.tensor(0.0))
        gradients = pb.autograd.grad(slope, inputs, **options) if slope.requires_grad else [0 * g for g in gradients]
    return value, list(gradients)


@pytest.mark.filterwarnings("ignore::pullback.errors.PerformanceWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(len(LENGTHS)))
def test_a_program_on_rows_is_a_loop_over_rows(seed, way):
    check(seed, LENGTHS[seed], way)


def check(seed, lengths, way):
    """Run the program of a number on rows of these lengths, and on each of them alone."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=(length, 2)) for length in lengths]
    statements = FOR_VMAP if way == "vmap" else STATEMENTS
    one = program(seed, 0, statements)
    values = np.concatenate(arrays) if arrays else np.zeros((0, 2))
    rows = pb.nested.from_values(values, offsets=np.cumsum([0, *lengths])).requires_grad_()
    leaves = [pb.tensor(x, requires_grad=True) for x in arrays]
    if way == "vmap":
        got = pb.vmap(pb.grad(one))(rows.detach()).values().numpy()
        np.testing.assert_allclose(got, joined([pb.grad(one)(x.detach()) for x in leaves]), 1e-9, 1e-10)
        return
    value, got = derivatives(program(seed, 1, statements), [rows], way)
    looped = lambda *leaves: sum((one(x) for x in leaves), pb.tensor(0.0))
    wanted_value, wanted = derivatives(looped, leaves, "first" if way == "compiled" else way) if leaves else (0.0, [])
    np.testing.assert_allclose(float(value), float(wanted_value), 1e-9)
    if way == "jvp":
        np.testing.assert_allclose(float(got), float(wanted) if leaves else 0.0, 1e-9, 1e-10)
    else:
        np.testing.assert_allclose(got[0].detach().values().numpy(), joined(wanted), 1e-9, 1e-10)
