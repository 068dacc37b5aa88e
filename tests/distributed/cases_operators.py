"""Case 87 for all operators, those of reductions, views, indices and products included."""

import itertools

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.declare.samples import samples_of
from pullback.distributed import Partial, Replicate, Shard
from tests.operators.declared import has_rule, registry, tolerance

RANKS = 3
ON_THREADS = (2,)


def case_087_every_declared_operator():
    """An operator on blocks gives what it gives on the whole, or refuses: samples of all, in random placements."""
    mesh, random = dist.mesh(dist.size(), "x"), np.random.default_rng(0)
    done = {"right": 0, "refused": 0}
    for op in registry.values():
        if op.takes_payloads or op.family in ("random", "custom") or op.sample_rule is None:
            continue
        for sample in itertools.islice(samples_of(op), 4):
            inputs = sample.inputs()
            if not any(isinstance(x, np.ndarray) for x in inputs):
                continue
            try:
                check_sample(op, sample, inputs, mesh, random)
            except dist.PlacementError:
                done["refused"] += 1
            except ModuleNotFoundError as missing:
                assert missing.name.partition(".")[0] == "scipy"  # which ranks may do without
            else:
                done["right"] += 1
    assert done["right"] > 700, done
    return f"{done['right']} right, {done['refused']} refused"


def check_sample(op, sample, inputs, mesh, random):
    placed = [
        dist.distribute(x, mesh, [some_placement(x, random)]) if isinstance(x, np.ndarray) else x for x in inputs
    ]  # fmt: skip
    plain = [pb.tensor(np.array(x)) if isinstance(x, np.ndarray) else x for x in inputs]
    for k, (x, y) in enumerate(zip(placed, plain, strict=True)):
        if op.is_differentiable and isinstance(y, pb.Tensor) and y.dtype.kind in "fc" and has_rule(op, k):
            x.requires_grad_(), y.requires_grad_()
    with np.errstate(all="ignore"):
        expected = pb.tree.leaves(op.run(tuple(plain), sample.params))
        found = pb.tree.leaves(op.run(tuple(placed), sample.params))
        for x, y in zip(found, expected, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype, op.name
            same(op, sample, x.detach(), y.detach())
        differentiable = [(x, y) for x, y in zip(found, expected, strict=True) if y.requires_grad]
        if differentiable:
            sum(pb.abs(x).sum() for x, _ in differentiable).backward()
            sum(pb.abs(y).sum() for _, y in differentiable).backward()
    for x, y in zip(placed, plain, strict=True):
        if isinstance(y, pb.Tensor) and y.grad is not None:
            gradient = y.grad.to_dense() if hasattr(y.grad, "to_dense") else y.grad
            same(op, sample, x.grad, gradient)


def same(op, sample, x, y):
    np.testing.assert_allclose(x.full_tensor().numpy(), np.asarray(y), **tolerance(sample), err_msg=op.name)


def some_placement(x, random):
    known = [Replicate(), *[Shard(dim) for dim in range(x.ndim)], *([Partial()] if x.dtype.kind in "fc" else [])]
    return known[random.integers(len(known))]
