"""The examples on 1, 2 and 4 ranks: they compare themselves with the serial program. Case 103 is the first of them."""

import runpy
from pathlib import Path

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.distributed import Shard

EXAMPLES = Path(__file__).parents[2] / "examples"
RANKS = 4
ALSO_RANKS = (1, 2)
INITIALISES = True  # they call `init()` themselves
ON_THREADS = (2,)  # some ten thousand messages, which threads are slow at


def case_103_heat():
    runpy.run_path(str(EXAMPLES / "distributed_heat.py"))["main"]()


def case_103_logistic():
    runpy.run_path(str(EXAMPLES / "distributed_logistic.py"))["main"]()


def case_103_fit():
    runpy.run_path(str(EXAMPLES / "distributed_fit.py"))["main"]()


def case_103_heat_as_distributed_tensors():
    """The state, the gradient and a dot test of the example, with distributed tensors and a stencil."""
    example = runpy.run_path(str(EXAMPLES / "distributed_heat.py"))
    comm = dist.init()
    grid = dist.mesh((-1, 2) if comm.size > 1 else (1, 1), ("x", "y"))
    rng = np.random.default_rng(0)
    start, field, seen, direction = rng.uniform(0.2, 1.0, size=(4, 12, 10))

    def step(w, k):
        inner, low, high = slice(1, -1), slice(None, -2), slice(2, None)
        u = w[1:-1, 1:-1]
        flows = [(k[there] + k[1:-1, 1:-1]) / 2 * (w[there] - u)
                 for there in ((low, inner), (high, inner), (inner, low), (inner, high))]  # fmt: skip
        return u + example["DT"] * (sum(flows) + u * (1 - u))

    def evolved(u, k):
        for _ in range(example["STEPS"]):
            u = dist.stencil(step, (u, k), 1)
        return u

    def misfit(u, k, seen):
        return ((evolved(u, k) - seen) ** 2).sum()

    u, k, goal, t = (dist.distribute(x, grid, [Shard(0), Shard(1)]) for x in (start, field, seen, direction))
    serial = [pb.tensor(x) for x in (start, field)]
    expected = example["evolved"](*serial, example["wrapped"])
    np.testing.assert_allclose(evolved(u, k).full_tensor().numpy(), expected.numpy(), rtol=1e-12)
    found = pb.grad(misfit, argnums=(0, 1))(u, k, goal)
    plain = pb.grad(lambda u, k: ((example["evolved"](u, k, example["wrapped"]) - seen) ** 2).sum(), argnums=(0, 1))
    for mine, whole in zip(found, plain(*serial), strict=True):
        assert mine.placements == (Shard(0), Shard(1))
        np.testing.assert_allclose(mine.full_tensor().numpy(), whole.numpy(), rtol=1e-11, atol=1e-13)
    _, moved = pb.jvp(lambda u: evolved(u, k), (u,), (t,))
    _, pull = pb.func.vjp(lambda u: evolved(u, k), u)
    np.testing.assert_allclose(float((goal * moved).sum()), float((pull(goal)[0] * t).sum()), rtol=1e-12)
