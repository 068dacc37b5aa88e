"""Cases 64 to 83: data parallelism."""

import hashlib
import itertools
import time

import numpy as np

import pullback as pb
from pullback import distributed as dist
from tests.distributed.oracle import raises

RANKS = 4
N = RANKS
ROWS = 8  # of each rank


def data(rows=ROWS * N):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(rows, 3))
    return x, np.tanh(x @ [1.0, -2.0, 0.5]) + 0.1 * rng.normal(size=rows)


def parameters(dtype=np.float64):
    rng = np.random.default_rng(6)
    return [pb.tensor(rng.normal(size=shape).astype(dtype), requires_grad=True) for shape in ((3, 4), (4,), (4,))]


def predict(params, x):
    w, b, v = params
    return pb.tanh(x @ w + b) @ v


def mse(params, x, y):
    return ((predict(params, pb.tensor(x)) - pb.tensor(y)) ** 2).mean()


def mine(x, rank=None):
    rank = dist.rank() if rank is None else rank
    return x[rank * ROWS : (rank + 1) * ROWS]


def whole_gradients(x=None, y=None):
    if x is None:
        x, y = data()
    params = parameters()
    mse(params, x, y).backward()
    return [p.grad.numpy() for p in params]


def check_grads(params, expected, rtol=1e-12):
    for p, g in zip(params, expected):
        np.testing.assert_allclose(p.grad.numpy(), g, rtol=rtol, atol=1e-14)


def case_064_averages_are_those_of_the_whole_batch():
    x, y = data()
    for first, reduction in ((1_000_000, "ordered"), (40, "ordered"), (40, "mpi")):
        params = parameters()
        dist.GradientAverager(params, first_bucket_bytes=first, bucket_bytes=max(first, 50), reduction=reduction)
        mse(params, mine(x), mine(y)).backward()
        check_grads(params, whole_gradients())
        mse(params, mine(x), mine(y)).backward()  # added to the first
        check_grads(params, [2 * g for g in whole_gradients()])


def case_064_buckets_that_are_larger_than_one_message():
    large = pb.tensor(np.random.default_rng(0).normal(size=5000), requires_grad=True)
    for options in ({}, {"bucket_bytes": 10_000}, {"reduction": "mpi"}):
        averager = dist.GradientAverager([large], **options)
        (large * pb.arange(5000.0) * (dist.rank() + 1)).sum().backward()
        np.testing.assert_allclose(large.grad.numpy(), 2.5 * np.arange(5000.0), rtol=1e-14)
        large.grad = None
        averager.remove()


def case_065_buckets_start_early_and_in_order():
    x, y = data()
    params = parameters()
    averager = dist.GradientAverager(params, first_bucket_bytes=8, bucket_bytes=8)
    mse(params, mine(x), mine(y)).backward()
    events = averager.events
    starts = [number for kind, number in events if kind == "started"]
    assert starts == [0, 1, 2]
    last = max(position for position, (kind, _) in enumerate(events) if kind == "arrived")
    assert events.index(("started", 0)) < last


def case_066_buckets_start_inside_of_a_compiled_step():
    rng = np.random.default_rng(1)
    layers = [pb.tensor(rng.normal(size=(6, 6)) / 2) for _ in range(4)]
    x = rng.normal(size=(4 * N, 6))

    def loss(layers, x):
        for w in layers:
            x = pb.tanh(x @ w)
        return (x**2).mean()

    mine_of_x = pb.tensor(x[4 * dist.rank() : 4 * dist.rank() + 4])
    _, expected = pb.func.value_and_grad(loss)(layers, pb.tensor(x))
    for backend in ("llvm", "numpy"):
        parallel = dist.data_parallel(loss, first_bucket_bytes=300, bucket_bytes=300)  # one layer each
        step = pb.compile(parallel, backend=backend, fallback="raise")
        for _ in range(2):
            _, found = step(layers, mine_of_x)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-15)
        for a, b in zip(found, parallel(layers, mine_of_x)[1], strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-16)
        made = step.explain(layers, mine_of_x).data
        starts = [each["started"] for each in made["collectives"]]
        assert len(starts) == 4 and None not in starts and starts == sorted(starts)
        # The first bucket is on its way while the gradients of the other layers are still to come.
        assert all(later - earlier > 3 for earlier, later in itertools.pairwise(starts)), starts
        assert all(each["awaited"] > starts[-1] for each in made["collectives"])


def case_067_data_parallel_compiled():
    x, y = data()

    def loss(tree, batch):
        a, b = batch
        value = ((predict([tree["w"], *tree["rest"]], a) - b) ** 2).mean()
        return value, value * 2

    w, b, v = (p.detach() for p in parameters())
    tree = {"w": w, "rest": (b, v)}
    batch = (pb.tensor(mine(x)), pb.tensor(mine(y)))
    step = dist.data_parallel(loss, has_aux=True)
    for f in (step, pb.compile(step)):
        (value, aux), grads = f(tree, batch)
        expected = whole_gradients()
        np.testing.assert_allclose(value.item(), mse(parameters(), x, y).item(), rtol=1e-12)
        np.testing.assert_allclose(aux.item(), 2 * mse(parameters(), mine(x), mine(y)).item(), rtol=1e-12)
        for found, g in zip((grads["w"], *grads["rest"]), expected):
            np.testing.assert_allclose(found.numpy(), g, rtol=1e-12)


def case_068_no_sync():
    x, y = data(4 * ROWS * N)
    params = parameters()
    averager = dist.GradientAverager(params)
    comm = averager._comm
    before = comm.seq
    for k in range(4):
        a, b = (mine(z[k * ROWS * N : (k + 1) * ROWS * N]) for z in (x, y))
        if k < 3:
            with averager.no_sync():
                (mse(params, a, b) / 4).backward()
            assert comm.seq == before
        else:
            (mse(params, a, b) / 4).backward()
    check_grads(params, whole_gradients(x, y), rtol=1e-11)

    params = parameters()
    averager = dist.GradientAverager(params)

    def run():
        for k in range(2):
            if dist.rank() == 1 and k == 0:
                with averager.no_sync():
                    mse(params, mine(x), mine(y)).backward()
            else:
                mse(params, mine(x), mine(y)).backward()

    raises(dist.CollectiveMismatch, run, "pass 1", "pass 2")


def case_069_unused_parameters():
    x, y = data()
    params = [*parameters(), pb.ones(2, requires_grad=True), pb.ones(2, requires_grad=True)]
    dist.GradientAverager(params)
    loss = mse(params[:3], mine(x), mine(y))
    if dist.rank() == 2:
        loss = loss + params[3].sum()
    loss.backward()
    assert params[4].grad is None and params[3].grad.tolist() == [0.25, 0.25]
    params = [*parameters(), pb.ones(2, requires_grad=True)]
    dist.GradientAverager(params, unused="error")
    loss = mse(params[:3], mine(x), mine(y))
    raises(dist.DistributedError, loss.backward, "parameter 3", "ranks [0, 1, 2, 3]")


def case_070_weights():
    x, y = data(10)
    cut = np.cumsum([0, 1, 2, 3, 4])
    begin, end = cut[dist.rank()], cut[dist.rank() + 1]
    params = parameters()
    averager = dist.GradientAverager(params)
    averager.weight = float(end - begin)
    mse(params, x[begin:end], y[begin:end]).backward()
    check_grads(params, whole_gradients(x, y))
    step = dist.data_parallel(lambda p, a, b: mse(p, a, b), weight=lambda a, b: len(a))
    value, grads = step([p.detach() for p in parameters()], x[begin:end], y[begin:end])
    np.testing.assert_allclose(value.item(), mse(parameters(), x, y).item(), rtol=1e-12)
    for found, g in zip(grads, whole_gradients(x, y)):
        np.testing.assert_allclose(found.numpy(), g, rtol=1e-12)


def case_071_join():
    x, y = data()
    for drop in (None, "last"):
        params = parameters()
        averager = dist.GradientAverager(params)
        done = 0
        with averager.join(drop=drop):
            for _ in range((3, 5, 4, 0)[dist.rank()]):
                mse(params, mine(x), mine(y)).backward()
                with pb.no_grad():
                    for p in params:
                        p -= 0.1 * p.grad
                        p.grad = None
                done += 1
        comm = dist.world()
        if drop == "last":
            assert done == 0
        else:
            assert done == (3, 5, 4, 0)[dist.rank()]
        digests = comm.gather_objects(averager._digest())
        assert len(set(digests)) == 1


def trained(steps=20, **options):
    """The digest of parameters after some steps, and what was reduced."""
    x, y = data()
    params = [p.detach() for p in parameters()]
    step = dist.data_parallel(lambda p, a, b: mse(p, a, b), **options)
    size, rank = dist.size(), dist.rank()
    rows = len(x) // size
    a, b = x[rank * rows : (rank + 1) * rows], y[rank * rows : (rank + 1) * rows]
    for _ in range(steps):
        _, grads = step(params, a, b)
        params = [p - 0.1 * g for p, g in zip(params, grads)]
    return params, hashlib.sha256(b"".join(p.numpy().tobytes() for p in params)).hexdigest()


def case_072_same_bits_in_every_run():
    digests = {trained()[1] for _ in range(3)}
    assert len(digests) == 1 and len(set(dist.world().gather_objects(digests.pop()))) == 1


def case_075_same_bits_in_any_order_of_arrival():
    x, y = data()
    digests = set()
    for attempt in range(3):
        params = parameters()
        averager = dist.GradientAverager(params, first_bucket_bytes=8, bucket_bytes=8)
        rng = np.random.default_rng([attempt, dist.rank()])
        for p in params:
            p.register_hook(lambda g, rng=rng: time.sleep(rng.uniform(0, 0.01)))
        mse(params, mine(x), mine(y)).backward()
        digests.add(hashlib.sha256(b"".join(p.grad.numpy().tobytes() for p in params)).hexdigest())
        averager.remove()
    assert len(digests) == 1


def case_076_unequal_parameters():
    params = parameters()
    with pb.no_grad():
        params[1] += float(dist.rank() == 2)
    raises(dist.DistributedError, lambda: dist.GradientAverager(params), "ranks [2]")
    averager = dist.GradientAverager(params, broadcast=True)
    assert len(set(dist.world().gather_objects(averager._digest()))) == 1


def case_077_kinds_of_gradients():
    rank = dist.rank()
    table = pb.tensor(np.arange(12.0).reshape(4, 3), requires_grad=True)
    z = pb.tensor(np.array([1 + 1j]), requires_grad=True)
    single = pb.tensor(np.float32([2.0]), requires_grad=True)
    dist.GradientAverager([table, z, single, table])
    rows = table[pb.tensor([rank, 0])]
    loss = rows.sum() + (z * z.conj()).real.sum() * rank + (single * rank).sum().astype(np.float64)
    loss.backward()
    expected = np.zeros((4, 3))
    expected[0] = 1.0
    expected += 0.25
    dense = table.grad.numpy() if hasattr(table.grad, "numpy") else table.grad.to_dense()
    np.testing.assert_allclose(dense, expected)
    np.testing.assert_allclose(z.grad.numpy(), 1.5 * 2 * (1 + 1j))
    assert single.grad.dtype == np.float32 and single.grad.item() == 1.5


def case_078_hooks():
    seen = []
    w = pb.ones(2, requires_grad=True)
    averager = dist.GradientAverager([w])
    w.register_hook(lambda g: seen.append(("local", g.tolist())))
    averager.register_hook(lambda p, g: seen.append(("average", g.tolist())))
    (w * dist.rank()).sum().backward()
    rank = float(dist.rank())
    assert seen == [("local", [rank, rank]), ("average", [1.5, 1.5])]


def case_081_two_averagers():
    a, b = pb.ones(2, requires_grad=True), pb.ones(3, requires_grad=True)
    dist.GradientAverager([a])
    dist.GradientAverager([b], average=False)
    ((a.sum() + b.sum()) * dist.rank()).backward()
    assert a.grad.tolist() == [1.5, 1.5] and b.grad.tolist() == [6.0, 6.0, 6.0]
