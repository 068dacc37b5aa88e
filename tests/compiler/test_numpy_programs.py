"""Random graphs with views, updates and outputs that alias: compiled functions equal evaluation."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pullback.compiler.numpy_source import compile_numpy
from pullback.declare.op import registry
from pullback.declare.views import ViewStep
from pullback.graph.ir import type_of
from tests.compiler.graphs import Builder, same_bits

SHAPE = (4, 3)


def root_of(value):
    """The value that a view is a view of, in the end."""
    while value.node is not None and value.node.is_view:
        value = value.node.operands[0]
    return value


def random_graph(seed, size):
    """A graph of `size` nodes over two inputs and a constant."""
    random = np.random.default_rng(seed)
    b = Builder(random.normal(size=SHAPE), random.normal(size=(3,)))
    pool = [*b.inputs, b.constant(random.normal(size=SHAPE))]

    def pick(shape=None):
        fitting = [x for x in pool[-8:] + pool[:3] if shape is None or x.type.shape == shape]
        return fitting[random.integers(len(fitting))] if fitting else None

    def binary():
        x, y = pick(), pick()
        try:
            np.broadcast_shapes(x.type.shape, y.type.shape)
        except ValueError:
            y = x
        return b(str(random.choice(["add", "multiply", "subtract", "maximum"])), x, y)

    def with_number():
        return b(str(random.choice(["add", "multiply"])), pick(), float(random.normal()))

    def unary():
        return b(str(random.choice(["tanh", "sin", "negative", "sigmoid", "relu"])), pick())

    def reduce():
        x = pick()
        axis = tuple(range(x.type.ndim))[: random.integers(x.type.ndim + 1)]
        return b("sum", x, axis=axis, keepdims=bool(random.integers(2)), dtype=None)

    def transpose():
        x = pick()
        return b("permute_dims", x, axes=tuple(range(x.type.ndim))[::-1])

    def index():
        x = pick()
        if not x.type.ndim or not x.type.size:
            return b("_same", x)
        choices = [(0, ...), (slice(1, None), ...), (slice(None, None, -1), ...)]
        return b("_basic_index", x, index=choices[random.integers(3)])

    def broadcast():
        x = pick()
        return b("broadcast_to", x, shape=(2, *x.type.shape))

    def product():
        return b("matmul", pick(SHAPE), b("permute_dims", pick(SHAPE), axes=(1, 0)))

    def update():
        base = pick(SHAPE)
        choice = random.integers(4)
        index, flip = registry["_basic_index"], registry["permute_dims"]
        if choice == 0:
            row = pick((3,))
            return b.update(base, 0.5 if row is None else row, ViewStep(index, {"index": (1, ...)}))
        if choice == 1:
            return b.update(base, pick(SHAPE))
        if choice == 2:
            steps = ViewStep(flip, {"axes": (1, 0)}), ViewStep(index, {"index": (slice(1, None), 0, ...)})
            return b.update(base, 2.0, *steps)
        above = b("_basic_index", base, index=(slice(None, -1), ...))
        return b.update(base, above, ViewStep(index, {"index": (slice(1, None), ...)}))

    kinds = [binary, binary, with_number, unary, unary, reduce, transpose, index, broadcast, product, update, update]
    while len(b.program.nodes) < size:
        made = kinds[random.integers(len(kinds))]()
        if made.type.size < 500:
            pool.append(made)
    outputs = [pool[k] for k in sorted(set(random.integers(3, len(pool), 4)))]
    b.output(*outputs)
    return b


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs(seed):
    with np.errstate(all="ignore"):
        b = random_graph(seed, 5 + seed % 40)
        arrays = [b.arrays[value] for value in b.program.inputs]
        before = [x.copy() for x in arrays]
        compiled = compile_numpy(b.program)
        results = compiled.flat(*arrays), compiled(list(arrays))
    for outputs in results:
        for out, wanted in zip(outputs, b.expected(), strict=True):
            assert same_bits(out, wanted), compiled.source
            assert type_of(out) == type_of(wanted)
        check_aliases(b.program, outputs, arrays)
    assert all(same_bits(x, y) for x, y in zip(arrays, before, strict=True))


def check_aliases(program, outputs, arrays):
    """Outputs share memory where views say so, and nowhere else."""
    roots = [root_of(value) for value in program.outputs]
    for position, (out, root) in enumerate(zip(outputs, roots, strict=True)):
        for x, value in zip(arrays, program.inputs, strict=True):
            assert value is root or not np.may_share_memory(out, x)
        for other, its_root in zip(outputs[:position], roots[:position], strict=True):
            assert its_root is root or not np.may_share_memory(out, other)


def test_calls_at_the_same_time_do_not_disturb_each_other():
    b = random_graph(7, 40)
    compiled = compile_numpy(b.program)
    arrays = [b.arrays[value] for value in b.program.inputs]
    inputs = [[x + k for x in arrays] for k in range(4)]
    wanted = [compiled.flat(*each) for each in inputs]
    wrong = []

    def work(k):
        for _ in range(50):
            if not all(same_bits(x, y) for x, y in zip(compiled.flat(*inputs[k]), wanted[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
