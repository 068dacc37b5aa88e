"""Commands that go through the same rows run for some rows at a time, with the results of commands one by one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.llvm import compile_llvm
from pullback.compiler.plan import tiles
from pullback.compiler.plan import tiles as tile_parts
from pullback.compiler.plan import tiles as tile_runs
from pullback.core import threads
from tests.compiler.graphs import Builder

RANDOM = np.random.default_rng(29)


def layers(b):
    """Two products with softmax in between, and gradients of both weights: sums over the rows."""
    x, w, v = b.inputs
    scores = b("matmul", x, w)
    chosen = b("softmax", b("tanh", scores), axis=(1,))
    out = b("matmul", chosen, v)
    back = b("multiply", b("subtract", out, 1.0), chosen if out.type.shape == chosen.type.shape else 2.0)
    turned = b("permute_dims", x, axes=(1, 0))
    return b.output(
        b("matmul", turned, b("multiply", scores, chosen)), b("sum", chosen, axis=(0,), keepdims=False),
        b("sum", back, axis=(0, 1), keepdims=False), b("sum", b("exp", chosen), axis=(1,), keepdims=False),
    )  # fmt: skip


def network(rows, dtype=np.float64, width=96):
    shapes = ((rows, 10), (10, width), (width, width))
    b = Builder(*[RANDOM.normal(size=shape).astype(dtype) for shape in shapes])
    layers(b)
    return b


def tiles_in(made):
    return [c for each in made.segments for c in each.plan.commands if isinstance(c, tile_parts.Tiled)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [512, 1000, 1003, 2049])
def test_tiles_give_what_evaluation_gives(rows, dtype):
    b = network(rows, dtype)
    made = compile_llvm(b.program)
    assert tiles_in(made)
    arrays = [b.arrays[value] for value in b.program.inputs]
    bound = 1e-12 if dtype == np.float64 else 1e-4
    for out, wanted in zip(made.flat(*arrays), b.expected(), strict=True):
        np.testing.assert_allclose(out, wanted, rtol=bound, atol=bound * np.abs(wanted).max())


def test_values_of_one_tile_have_no_room_in_the_arena():
    made = compile_llvm(network(20_000).program)
    (tiled,) = tiles_in(made)
    assert len(tiled.private) >= 2
    assert made.segments[0].plan.arena_bytes < 1.1 * 20_000 * 96 * 8  # the one that is added up as a whole


def test_results_do_not_depend_on_the_number_of_threads():
    b = network(3000)
    arrays = [b.arrays[value] for value in b.program.inputs]
    made = compile_llvm(b.program)
    before = threads.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            found.append([out.tobytes() for out in made.flat(*arrays)])
    finally:
        threads.set_num_threads(before)
    found.append([out.tobytes() for out in compile_llvm(b.program, threads=1).flat(*arrays)])
    assert all(each == found[0] for each in found)


@pytest.fixture
def eager_for_tiles(monkeypatch):
    """Tiles wherever they are possible, and small ones."""
    monkeypatch.setattr(tiles, "FEWEST_ROWS", 2)
    monkeypatch.setattr(tiles, "SAVED", 1)
    monkeypatch.setattr(tile_runs, "CACHE", 512)
    monkeypatch.setattr(tile_runs, "MULTIPLE", 1)


ACTIVATIONS = [pb.tanh, pb.sin, lambda x: pb.softmax(x, -1), lambda x: x - x.mean(-1, keepdims=True), lambda x: x / 2]


def random_network(random):
    """A function of an array of rows and of weights, with one number as its result."""
    chosen = [ACTIVATIONS[random.integers(len(ACTIVATIONS))] for _ in range(random.integers(1, 5))]
    widths = [int(random.integers(1, 40)) for _ in chosen]
    kinds = [int(random.integers(3)) for _ in chosen]

    def function(x, *weights):
        total = 0.0
        for activation, kind, weight in zip(chosen, kinds, weights, strict=True):
            x = activation(x @ weight * 0.2)
            if kind == 0:
                total = total + (x.sum(0) ** 2).sum() * 1e-3
            elif kind == 1:
                x = pb.concat([x, x[:, :1]], 1)[:, 1:] + x
            total = total + pb.logsumexp(x, 1).sum()
        return total

    return function, widths


@pytest.mark.usefixtures("eager_for_tiles")
@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_networks(seed):
    random = np.random.default_rng(seed)
    function, widths = random_network(random)
    rows = int(random.choice([5, 16, 33, 100, 700]))
    sizes = [int(random.integers(1, 20)), *widths]
    x = pb.tensor(random.normal(size=(rows, sizes[0])))
    weights = [pb.tensor(random.normal(size=(n, m))) for n, m in zip(sizes, widths, strict=False)]
    gradient = pb.func.grad_and_value(function, tuple(range(1 + len(weights))))
    found, value = pb.compile(gradient, backend="llvm", fallback="raise")(x, *weights)
    wanted, expected = gradient(x, *weights)
    np.testing.assert_allclose(value.numpy(), expected.numpy(), rtol=1e-9)
    for out, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(out.numpy(), right.numpy(), rtol=1e-8, atol=1e-9 * float(abs(right).max()) + 1e-12)
