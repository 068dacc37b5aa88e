"""Cases 73, 74, 82, 83 and 1: the same program on 1, 2 and 4 ranks."""

import numpy as np

import pullback as pb
from pullback import distributed as dist
from tests.distributed import cases_data_parallel as parallel

RANKS = 4
ALSO_RANKS = (1, 2)


def in_one_process(steps=20, shards=4):
    """What `virtual_shards` promises, without ranks: parts one by one, added along a binary tree."""
    x, y = parallel.data()
    params = [p.detach() for p in parallel.parameters()]
    rows = len(x) // shards
    for _ in range(steps):
        parts = []
        for k in range(shards):
            part = slice(k * rows, (k + 1) * rows)
            _, grads = pb.func.value_and_grad(lambda p, part=part: parallel.mse(p, x[part], y[part]))(params)
            parts.append(grads)
        sums = [((a + b) + (c + d)) / shards for a, b, c, d in zip(*parts)]
        params = [p - 0.1 * g for p, g in zip(params, sums)]
    return params


def case_073_virtual_shards_give_the_same_bits():
    found, _ = parallel.trained(virtual_shards=4)
    for a, b in zip(found, in_one_process()):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def case_073_an_averager_with_virtual_shards():
    x, y = parallel.data()
    params = parallel.parameters()
    averager = dist.GradientAverager(params, virtual_shards=4, first_bucket_bytes=40, bucket_bytes=50)
    rows, here = len(x) // 4, averager.parts
    assert here == 4 // dist.size()
    for _ in range(20):
        for k in range(here):
            part = slice((dist.rank() * here + k) * rows, (dist.rank() * here + k + 1) * rows)
            parallel.mse(params, x[part], y[part]).backward()
            assert (params[0].grad is None) is (k < here - 1)
        with pb.no_grad():
            for p in params:
                p -= 0.1 * p.grad
                p.grad = None
    for a, b in zip(params, in_one_process()):
        np.testing.assert_array_equal(a.detach().numpy(), b.numpy())


def case_074_without_them_the_difference_is_bounded():
    found, _ = parallel.trained(steps=1)
    x, y = parallel.data()
    whole = [p.detach() for p in parallel.parameters()]
    _, grads = pb.func.value_and_grad(lambda p: parallel.mse(p, x, y))(whole)
    for a, p, g in zip(found, whole, grads):
        np.testing.assert_allclose(a.numpy(), (p - 0.1 * g).numpy(), rtol=1e-14, atol=1e-15)


def case_082_one_rank_sends_nothing():
    w = pb.ones(2, requires_grad=True)
    averager = dist.GradientAverager([w], weight=3.0)
    comm = averager._comm
    before = comm.seq
    (w * 5).sum().backward()
    assert w.grad.tolist() == [5.0, 5.0]
    assert (comm.seq == before) is (dist.size() == 1)


def case_083_sampler():
    comm = dist.world()
    rows = [batch.tolist() for batch in dist.sampler(10, 4, seed=3, epoch=1)]
    every = comm.gather_objects(rows)
    dealt = [[row for rank in range(comm.size) for row in every[rank][k]] for k in range(len(rows))]
    order = np.random.default_rng([3, 1]).permutation(10).tolist()
    assert dealt == [order[:4], order[4:8], order[8:]]
    draws = comm.gather_objects(dist.rank_generator(1).integers(2**60))
    assert len(set(draws)) == comm.size
