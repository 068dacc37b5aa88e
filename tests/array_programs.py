"""Random small programs, and ways to run them, for arrays of every kind: they mean what they compute on NumPy's."""

import random

import numpy as np

import pullback as pb

WAYS = ("gradient", "second", "jvp", "forward over reverse", "vmap", "compiled")


def statement(draw, x, y):
    """One more value, of two: reads, writes, views, reductions and products."""
    axis = draw.randrange(x.ndim) if x.ndim else None
    if axis is None:
        return draw.choice([pb.sin(x) * y.sum(), x**2 - y.mean(), pb.where(x > 0, x, 0.5 * x)])
    place = draw.randrange(x.shape[0])
    choice = draw.randrange(16)
    if choice == 0:
        return pb.tanh(x) * y.sum() + 2 / (x * x + 1)
    if choice == 1:
        return x.sum(axis, keepdims=True) - x.mean(axis, keepdims=draw.random() < 0.5).sum()
    if choice == 2:
        return pb.cumsum(x, axis) * pb.flip(x, axis)
    if choice == 3:
        return pb.nn.softmax(x, axis) + pb.sort(x, axis)
    if choice == 4:
        return draw.choice([x[place], x[place:], x[::-1], x[..., -1], x[None], x[[place, 0, place]]])
    if choice == 5:
        return draw.choice([x.reshape(-1), x.T if x.ndim == 2 else x[None], pb.broadcast_to(x, (2, *x.shape))])
    if choice == 6:
        return x @ x.T * 0.3 if x.ndim == 2 else x * x.max(axis, keepdims=True)
    if choice == 7:
        return draw.choice([pb.concatenate([x, x * 2], axis), pb.stack([x, pb.cos(x)], axis)])
    if choice == 8:
        return pb.take(x, np.array([place, 0]), axis=0) * pb.clip(y, -0.7, 0.8).sum()
    if choice == 9:
        return (x.astype(np.float32) * 1.5).astype(np.float64) + x.detach()
    if choice == 10:
        return (x * x + 0.5) ** 1.5 + pb.maximum(x, 0.1)
    if choice == 11:
        return pb.hypot(x, x.var() + 0.3) - pb.logsumexp(x, axis, keepdims=True)
    written = x.clone() if draw.random() < 0.5 else pb.zeros_like(x) + x
    if choice == 12:
        written[place] = y.sum() * 0.5
    elif choice == 13:
        written[place:] *= 3.0
        written.mul_(0.5)
    elif choice == 14:
        view = (written if x.ndim == 1 else written[0])[1:]  # a reshape is a view where memory lies so
        view += x.sum() * 0.1
    else:
        written = pb.zeros_like(x)
        written[...] = x * 2
        written[-1].sin_()
    return written


def program(seed):
    """A function of two tensors that is drawn anew, the same for the same seed, whenever it runs."""

    def run(x, y):
        draw = random.Random(seed)
        values = [x * 1.0, y * 1.0]
        for _ in range(draw.randrange(3, 7)):
            values.append(statement(draw, *draw.choices(values, k=2)))
        return sum(pb.tanh(value).sum() for value in values)

    return run


def results(function, x, y, way):
    """Values and derivatives of a function, however they are asked for."""
    if way == "jvp":
        return pb.func.jvp(function, (x, y), (pb.ones_like(x), pb.ones_like(y)))
    if way == "forward over reverse":
        return pb.func.jvp(pb.func.grad(function, argnums=(0, 1)), (x, y), (pb.ones_like(x), pb.ones_like(y)))[1]
    if way == "vmap":
        gradient = pb.func.vmap(pb.func.grad(function, argnums=(0, 1)))
        return gradient(pb.stack([x, x * 0.5, x + 0.3]), pb.stack([y, y - 1, y * 2]))
    x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
    value = (pb.compile(function) if way == "compiled" else function)(x, y)
    gradients = pb.autograd.grad(value, (x, y), create_graph=way == "second")
    if way != "second":
        return (value, *gradients)
    slope = sum((g * g).sum() for g in gradients)
    return (*gradients, *pb.autograd.grad(slope, (x, y), allow_unused=True, materialize_grads=True))
