"""Cases 49 to 63: compiled programs."""

import threading
import time

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.errors import TraceError
from tests.distributed.oracle import raises

RANKS = 4
N = RANKS
BACKENDS = ("llvm", "numpy")


def block():
    return np.arange(3.0) + dist.rank()


def total():
    return sum(np.arange(3.0) + r for r in range(N))


def ring(x):
    return dist.sendrecv(x, (dist.rank() + 1) % N, (dist.rank() - 1) % N)


def case_049_compile_and_backward():
    factor = dist.rank() + 1.0
    for backend in BACKENDS:
        traced = []

        def loss(x):
            traced.append(1)  # noqa: B023
            y = dist.all_reduce(x)
            return factor * (y * y).sum()

        f = pb.compile(loss, backend=backend, side_effects="trace")
        for _ in range(2):
            x = pb.tensor(block(), requires_grad=True)
            value = f(x)
            np.testing.assert_allclose(value.item(), factor * (total() ** 2).sum())
            value.backward()
            np.testing.assert_allclose(x.grad.numpy(), 2 * total() * 10, rtol=1e-12)
        assert len(traced) == 1


def case_050_compiled_gradient():
    comm = dist.world()
    factor = dist.rank() + 1.0
    for backend in BACKENDS:
        f = pb.compile(pb.func.grad(lambda x: factor * (dist.all_reduce(x) ** 2).sum()), backend=backend)
        before = comm.seq
        np.testing.assert_allclose(f(pb.tensor(block())).numpy(), 2 * total() * 10, rtol=1e-12)
        assert comm.seq == before + 2


def case_051_order_is_kept():
    comm = dist.world()
    for backend in BACKENDS:

        @pb.compile(backend=backend)
        def f(x):
            a = dist.all_reduce(x)
            b = dist.all_reduce(x * 2, "max")
            dist.all_reduce(x * 5)  # used by nobody
            c = ring(x)
            d = dist.all_reduce(x)  # as the first
            return d + c * 2 + b * 3 + a * 4

        x = pb.tensor(block())
        before = comm.seq
        found = f(x)
        assert comm.seq == before + 5
        expected = 5 * total() + 2 * (np.arange(3.0) + (dist.rank() - 1) % N) + 3 * 2 * (np.arange(3.0) + N - 1)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def case_052_one_rank_compiles_again():
    f = pb.compile(lambda x: dist.all_reduce(x.sum()) * 2)
    assert f(pb.ones(3)).item() == 2 * 3 * N
    size = 5 if dist.rank() == 1 else 3
    assert f(pb.ones(size)).item() == 2 * (3 * (N - 1) + 5)


def case_053_a_communicator_is_an_argument():
    comm, alone = dist.world(), dist.world().split(dist.rank())
    f = pb.compile(lambda x, group: dist.all_reduce(x, comm=group), fallback="raise")
    grid = dist.mesh(4, "x")
    for _ in range(2):
        assert f(pb.ones(2), comm).tolist() == [4.0, 4.0] and f(pb.ones(2), alone).tolist() == [1.0, 1.0]
        assert f(pb.ones(2), grid).tolist() == [4.0, 4.0]


def case_053_one_compiled_and_one_eager():
    def loss(x):
        return (dist.all_reduce(pb.sin(x)) ** 2).sum()

    f = pb.compile(loss) if dist.rank() == 0 else loss
    x = pb.tensor(block(), requires_grad=True)
    f(x).backward()
    s = sum(np.sin(np.arange(3.0) + r) for r in range(N))
    np.testing.assert_allclose(x.grad.numpy(), 2 * N * s * np.cos(block()), rtol=1e-12)


def case_054_scan_with_halo():
    grid = dist.mesh(4, "x")
    x0 = np.random.default_rng(dist.rank()).normal(size=4)

    def step(u, _):
        wide = dist.halo_exchange(u, 1, mesh=grid)
        return pb.sin(u + 0.1 * (wide[2:] - 2 * u + wide[:-2])), None

    def scanned(u):
        return (pb.scan(step, u, None, length=5)[0] ** 2).sum()

    def looped(u):
        for _ in range(5):
            u, _nothing = step(u, None)
        return (u**2).sum()

    x = pb.tensor(x0, requires_grad=True)
    looped(x).backward()
    for f in (scanned, pb.compile(scanned), pb.compile(scanned, backend="numpy"), pb.compile(looped)):
        y = pb.tensor(x0, requires_grad=True)
        value = f(y)
        np.testing.assert_allclose(value.item(), looped(pb.tensor(x0)).item(), rtol=1e-12)
        value.backward()
        np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-12)
    recomputed = pb.compile(lambda u: pb.checkpoint(looped, u, use_reentrant=False))
    y = pb.tensor(x0, requires_grad=True)
    recomputed(y).backward()
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-12)


def case_055_branches_that_communicate_differently():
    f = pb.compile(lambda x: pb.cond(x.sum() > 0, lambda z: dist.all_reduce(z), lambda z: z * 2, x), fallback="raise")
    raises(TraceError, lambda: f(pb.tensor(block())), "branches communicate differently")
    g = pb.compile(lambda x: pb.cond(dist.all_reduce(x.sum()) > 0, dist.all_reduce, lambda z: dist.all_reduce(z), x))
    np.testing.assert_array_equal(g(pb.tensor(block())).numpy(), total())


def case_056_while_loop():
    def halved(x):
        return pb.while_loop(lambda v: dist.all_reduce((v * v).sum()) > 1.0, lambda v: v / 2, x)

    x = pb.tensor(block())
    expected = block()
    while sum((np.arange(3.0) + r) @ (np.arange(3.0) + r) for r in range(N)) * (expected[2] / block()[2]) ** 2 > 1:
        expected = expected / 2
    np.testing.assert_allclose(pb.compile(halved)(x).numpy(), expected, rtol=1e-12)


def case_057_second_derivative_of_a_compiled_call():
    factor = dist.rank() + 1.0
    f = pb.compile(lambda x: factor * (dist.all_reduce(x) ** 3).sum())
    x = pb.tensor(block(), requires_grad=True)
    (g,) = pb.autograd.grad(f(x), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 3 * total() ** 2 * 10, rtol=1e-12)
    (h,) = pb.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), 6 * total() * 10 * N, rtol=1e-12)


def case_058_same_program():
    f = pb.compile(lambda x: dist.all_reduce(x).sum())
    x = pb.tensor(block(), requires_grad=True)
    assert dist.same_program(f, x)
    extra = dist.rank() == 1
    g = pb.compile(lambda x: dist.all_reduce(dist.all_reduce(x)) if extra else dist.all_reduce(x))
    assert not dist.same_program(g, x)
    text = str(f.explain(x))
    assert "all_reduce(sum)" in text and "24 B" in text and "backward" in text


def case_060_messages_start_early_and_are_awaited_late():
    comm = dist.world()

    def f(x):
        a = dist.all_reduce(x, deterministic=True)
        b = ring(pb.cos(x))
        wide = dist.halo_exchange(x, 1, comm=comm)
        here = pb.sin(x)
        for _ in range(3):
            here = pb.tanh(here * 2) + x
        return (wide[2:] + wide[:-2]) * here + b * a

    for backend in BACKENDS:
        compiled = pb.compile(f, backend=backend, fallback="raise")
        for size in (3, 30_000):
            x = pb.tensor(np.linspace(0, 1 + dist.rank(), size), requires_grad=True)
            y = pb.tensor(x.detach().numpy(), requires_grad=True)
            before = comm.seq
            value = compiled(x) if dist.rank() else f(x)  # ranks may differ in it
            assert comm.seq == before + 3
            expected = f(y)
            np.testing.assert_allclose(value.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-13)
            value.sum().backward()
            expected.sum().backward()
            np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-12, atol=1e-13)
        made = [each for each in compiled.explain(x).data["collectives"] if each["half"] == "forward"]
        starts = [each["started"] for each in made]
        assert len(starts) == 3 and None not in starts and starts == sorted(starts)
        assert all(each["awaited"] > each["started"] + 1 for each in made)
        assert "started at node" in str(compiled.explain(x))


def case_061_one_capture_for_all_lengths():
    longer = dist.rank() % 2

    def f(x):
        short = x.shape[0] - longer
        return dist.all_gather(pb.sin(x), sizes=[short, short + 1] * (N // 2)) * 2

    compiled = pb.compile(f, dynamic=True, fallback="raise")
    for length in (3, 4, 9):
        x = pb.tensor(np.arange(float(length + longer)), requires_grad=True)
        found = compiled(x)
        blocks = [2 * np.sin(np.arange(float(length + rank % 2))) for rank in range(N)]
        np.testing.assert_allclose(found.detach().numpy(), np.concatenate(blocks), rtol=1e-12)
        found.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), N * 2 * np.cos(x.detach().numpy()), rtol=1e-12)
    assert compiled.cache_info().misses == 1


def case_062_other_threads_run_while_a_rank_waits():
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    helper = threading.Thread(target=count)
    helper.start()
    if dist.rank() == 1:
        board, seq = dist.world()._board, dist.world().seq
        while any(board.ranks[r]["seq"] <= seq for r in range(N) if r != 1):
            time.sleep(0.01)  # until all the others wait
        time.sleep(0.2)
    before = counted[0]
    dist.all_reduce(pb.ones(2))
    gained = counted[0] - before
    stop.set()
    helper.join()
    assert dist.rank() == 1 or gained > 0


def case_063_two_threads():
    comm, other = dist.world().dup(), dist.world().dup()
    results = {}

    def talk(name, group):
        try:
            results[name] = dist.all_reduce(pb.ones(2), comm=group).tolist()
        except dist.DistributedError as error:
            results[name] = str(error)

    import contextvars

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(talk, name, group))
        for name, group in (("a", comm), ("b", other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"a": [4.0, 4.0], "b": [4.0, 4.0]}
    comm._lock.acquire()
    try:
        raises(dist.DistributedError, lambda: dist.all_reduce(pb.ones(2), comm=comm), "another thread")
    finally:
        comm._lock.release()
    dist.barrier()
