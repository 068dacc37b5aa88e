"""Random programs of custom operators: compiled, they do what they do in eager code, effects included."""

import random

import numpy as np
import pytest

import pullback as pb
from pullback import aot
from tests.conformance.aot import Run, agree, inner, plain, rg
from tests.conformance.custom_ops import like_first, op, save_input

log: list[float] = []


def _square(x: np.ndarray) -> np.ndarray:
    return x * x


def _pair(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(x * y), np.ascontiguousarray(x - y)


def _scale(x: np.ndarray, by: float) -> None:
    x *= by


def _accumulate(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x += y
    return x


def _noted(x: np.ndarray) -> np.ndarray:
    log.append(float(x.sum()))
    return x + 0


square, pair, noted = op(_square), op(_pair), op(_noted)
scale, hidden = op(_scale, ("x",)), op(_scale, ("x",), tags="autograd_hidden")
accumulate = op(_accumulate, ("x",), tags="inplace")
backwards = op(lambda x: x[::-1], schema="(Tensor(a) x) -> Tensor(a)")
square.register_fake(like_first)
square.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=save_input)
pair.register_fake(lambda x, y: (pb.empty(x.shape), pb.empty(x.shape)))
pair.register_autograd(
    lambda ctx, g, h: (g * ctx.saved_tensors[1] + h, g * ctx.saved_tensors[0] - h),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)
noted.register_fake(like_first)
noted.register_autograd(lambda ctx, g: g)
noted.register_effect("ordered")
backwards.register_fake(lambda x: x[::-1])
backwards.register_autograd(lambda ctx, g: pb.flip(g, axis=(0,)))


def scaled_without_grad(values, x, y):
    with pb.no_grad():
        scale(x, 1.5)


STATEMENTS = [
    lambda values, x, y: values.append(square(x)),
    lambda values, x, y: values.extend(pair(x, y)),
    lambda values, x, y: values.append(noted(x)),
    lambda values, x, y: values.append(backwards(x * 2) + 1),
    lambda values, x, y: values.append(x * y + 0.5),
    lambda values, x, y: values.append(x.T),
    lambda values, x, y: values.append(x[:, ::-1]),
    lambda values, x, y: values.append(x.detach()),
    lambda values, x, y: values.append(accumulate(x.detach() * 1, y.detach())),
    lambda values, x, y: hidden(x, 0.5),
    scaled_without_grad,
]  # fmt: skip


def program(seed):
    """A function of two tensors, and what makes the tensors."""
    chance = random.Random(seed)
    statements = [(chance.choice(STATEMENTS), chance.random(), chance.random()) for _ in range(chance.randint(2, 7))]
    returned = [chance.random() for _ in range(chance.randint(1, 3))]
    makers = [chance.choice([plain, rg, inner]) for _ in range(2)]

    def function(*args):
        values = list(args)
        for statement, first, second in statements:
            statement(values, values[int(first * len(values))], values[int(second * len(values))])
        return tuple([values[int(place * len(values))] for place in returned])

    return function, lambda: tuple([make(start=1.0 + 3 * k) for k, make in enumerate(makers)])


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program(seed):
    function, make = program(seed)
    log.clear()
    if Run(function, make).error is not None:
        return  # eager code refuses it
    expected, _ = list(log), log.clear()
    aot.collect_metadata(function, *make())
    assert not log  # nothing runs while a function is traced
    Run(pb.compile(function, fallback="raise"), make)
    assert log == expected
    agree(function, make, poke=False, variants=("numpy", "min_cut"))


def test_most_programs_run():
    assert sum(Run(*program(seed)).error is None for seed in range(60)) > 45
