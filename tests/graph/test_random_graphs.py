"""Random graphs with views, updates and stores: every pass gives the same bits, and the same sharing of memory.

Values are drawn so that zeros of both signs, infinities and nan occur, and operators so that rules find something.
"""

import random

import numpy as np
import pytest

from pullback.graph.graph import Graph
from pullback.graph.ir import root_of, stored_inputs
from tests.graph.building import Builder

NUMBERS = (0.0, -0.0, 1, 1.0, 2.0, -1.0, np.inf, 0)
UNARY = ("sin", "negative", "exp", "negative", "conj", "square")
BINARY = ("add", "multiply", "subtract", "divide", "maximum")


def random_graph(seed):
    choose = random.Random(seed)
    pool = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan])
    arrays = [pool[np.random.default_rng((seed, k)).integers(0, 6, (2, 2))] for k in range(2)]
    b = Builder("forward", *arrays)
    values = list(b.inputs)
    for _ in range(choose.randint(3, 14)):
        values.append(_step(b, choose, values))
    outputs = [choose.choice(values) for _ in range(choose.randint(1, 3))]
    for target in b.inputs:
        written = stored_inputs(b.graph)
        fitting = [y for y in values if y.type.spec == target.type.spec and root_of(y) not in written]
        if choose.random() < 0.3 and fitting:
            b.store(target, choose.choice(fitting))
    return b.returns(*outputs), arrays


def _step(b, choose, values):
    x = choose.choice(values)
    kind = choose.randrange(8)
    if kind == 0:
        return b(choose.choice(UNARY), x)
    if kind in (1, 2):
        same = [y for y in values if y.type.shape == x.type.shape]
        pair = [x, choose.choice([*NUMBERS, choose.choice(same)])]
        choose.shuffle(pair)
        return b(choose.choice(BINARY), *pair)
    if kind == 3:
        return b.constant(np.float64(choose.choice(NUMBERS)))
    name, params = _view(choose, x.type.shape)
    if kind in (4, 5):
        return b(name, x, **params) if _can_view(b, x, name, params) else b.copy(x, order="C")
    steps = [(name, params)] if choose.random() < 0.8 else []
    if not all(_can_view(b, x, *step) for step in steps):
        return b("_same", x)
    if kind == 6 and steps:
        return b.update(x, b(name, x, **params), *steps)
    shape = b.arrays[b(name, x, **params)].shape if steps else x.type.shape
    fitting = [y for y in values if y.type.shape == shape]
    return b.update(x, choose.choice([*fitting, 3.0]), *steps)


def _can_view(b, x, name, params):
    """A reshape that copies is not a view; traces never have one. Nor is one written that a copy would not be."""
    array = b.arrays[x]
    return name != "_reshape" or (array.flags.c_contiguous and array.copy().flags.c_contiguous)


def _view(choose, shape):
    if len(shape) == 2:
        return choose.choice([
            ("permute_dims", {"axes": (1, 0)}), ("permute_dims", {"axes": (0, 1)}), ("_reshape", {"shape": (4,)}),
            ("_basic_index", {"index": (choose.randrange(2), ...)}), ("_basic_index", {"index": (slice(None), ...)}),
            ("_basic_index", {"index": (..., slice(None, None, -1))}), ("_same", {}),
        ]) if shape == (2, 2) else ("_same", {})  # fmt: skip
    if shape == (4,):
        return choose.choice([("_reshape", {"shape": (2, 2)}), ("_basic_index", {"index": (slice(0, 2), ...)})])
    return ("_same", {})


def results(graph, arrays):
    """Bits of outputs and inputs after a run, and who shares memory with whom."""
    own = [array.copy() for array in arrays]
    with np.errstate(all="ignore"):
        outputs = graph.eval(*own)
    everything = [*own, *outputs]
    memory = [[x is y or np.shares_memory(x, y) for x in everything] for y in everything]
    return [(x.dtype, x.shape, _bits(x)) for x in everything], memory


def _bits(x):
    """All bits, except that one nan is as good as another: which of two is handed on depends on their order."""
    return np.where(np.isnan(x), np.nan, x).tobytes()


PASSES = {
    "dce": lambda g: g.dce(),
    "cse": lambda g: g.cse(),
    "fold": lambda g: g.fold(),
    "simplify": lambda g: g.simplify(),
    "canonical": lambda g: g.canonical(),
    "copy": lambda g: g.copy(),
    "text": lambda g: Graph.from_text(g.to_text()),
    "all": lambda g: g.fold().simplify().cse().simplify().dce(),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_changes_neither_bits_nor_memory(name):
    for seed in range(200):
        graph, arrays = random_graph(seed)
        graph.verify()
        changed = PASSES[name](graph).verify()
        expected, got = results(graph, arrays), results(changed, arrays)
        assert got == expected, f"seed {seed}\n{graph}\n{changed}"
        assert [value.type for value in changed.outputs] == [value.type for value in graph.outputs]
