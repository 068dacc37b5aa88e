"""Cases 6, 7, 11 to 37: communicators, meshes and collectives, values and derivatives, eager."""

import pickle
from itertools import pairwise

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.distributed._moves import split_sizes
from tests.distributed.oracle import check_against, raises

RANKS = 4
N = RANKS


def block():
    return np.arange(3.0) + dist.rank()


def total():
    return sum(np.arange(3.0) + r for r in range(N))


def case_002_ranks_and_sizes():
    comm = dist.init() if dist.world().name != "world" else dist.world()
    assert sorted(comm.gather_objects(dist.rank())) == [0, 1, 2, 3] and dist.size() == 4


def case_006_mesh():
    grid = dist.mesh((2, 2), ("x", "y"))
    assert grid.coords == divmod(dist.rank(), 2)
    assert grid["x"].size == 2 and grid["y"].size == 2
    assert grid["x"].gather_objects(dist.rank()) == [grid.coords[1], grid.coords[1] + 2]
    assert grid.neighbour("x", 1) == (grid.coords[0] + 1) % 2
    assert grid.neighbour("x", 1, periodic=False) == (1 if grid.coords[0] == 0 else None)
    raises(ValueError, lambda: dist.mesh((3, 2), ("x", "y")), "6 places")
    assert dist.mesh((-1, 2), ("x", "y")).shape == (2, 2)
    assert grid.submesh("y").shape == (2,) and grid.group(("x", "y")).size == 4


def case_007_equal_meshes_and_pickling():
    one, two = dist.mesh((2, 2), ("x", "y")), dist.mesh((2, 2), ("x", "y"))
    assert one == two and hash(one) == hash(two) and one != dist.mesh((4, 1), ("x", "y"))
    raises(TypeError, lambda: pickle.dumps(dist.world()), "belongs to this process")


def case_011_all_reduce_sum_and_mean():
    x = pb.tensor(block(), requires_grad=True)
    y = dist.all_reduce(x)
    np.testing.assert_array_equal(y.detach().numpy(), total())
    ((dist.rank() + 1) * (y * y).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * total() * 10, rtol=1e-12)
    check_against(lambda xs: [sum(xs)] * N, dist.all_reduce, block())
    check_against(lambda xs: [sum(xs) / N] * N, lambda x: dist.all_reduce(x, "mean"), block())
    assert dist.all_reduce(np.array([1, 2]), "mean").dtype == np.float64
    check_against(lambda xs: [sum(xs)] * N, lambda x: dist.all_reduce(x, deterministic=True), block())


def case_012_all_reduce_max_and_min():
    rank = dist.rank()
    for op, fold in (("max", np.maximum), ("min", np.minimum)):
        x = np.array([1.0, 5.0, -2.0]) * (rank + 1)
        check_against(lambda xs, fold=fold: [fold.reduce(xs)] * N, lambda x, op=op: dist.all_reduce(x, op), x, False)
    x = pb.tensor([1.0 if rank in (1, 3) else 0.0], requires_grad=True)
    dist.all_reduce(x, "max").sum().backward()
    assert x.grad.item() == (2.0 if rank in (1, 3) else 0.0)  # four losses, shared by two
    x = pb.tensor([np.nan if rank == 2 else 5.0], requires_grad=True)
    y = dist.all_reduce(x, "max")
    assert np.isnan(y.item())
    y.sum().backward()
    assert x.grad.item() == (4.0 if rank == 2 else 0.0)
    raises(TypeError, lambda: dist.all_reduce(np.ones(2, complex), "max"), "complex")
    assert dist.all_reduce(np.array([rank]), "max").item() == 3


def case_013_all_reduce_prod():
    rank = dist.rank()
    for zeros in ((), (1,), (1, 2)):
        x = np.array([0.0 if rank in zeros else rank + 1.5, 2.0])
        check_against(lambda xs: [np.prod(xs, 0)] * N, lambda x: dist.all_reduce(x, "prod"), x, False)
    z = pb.tensor(np.array([1 + 1j * rank], np.complex64), requires_grad=True)
    y = dist.all_reduce(z, "prod")
    assert y.dtype == np.complex64
    y.real.sum().backward()
    others = np.prod([1 + 1j * r for r in range(N) if r != rank])
    np.testing.assert_allclose(z.grad.numpy(), [N * np.conj(others)], rtol=1e-5)


def case_014_any_and_all():
    rank = dist.rank()
    flags = np.array([rank == 2, True, False])
    assert dist.all_reduce(flags, "any").tolist() == [True, True, False]
    assert dist.all_reduce(flags, "all").tolist() == [False, True, False]
    assert dist.all_reduce(np.array([1 << rank]), "bitwise_or").tolist() == [15]
    raises(TypeError, lambda: dist.all_reduce(flags), "astype")


def case_015_replicated_and_vary():
    x = pb.tensor(block(), requires_grad=True)
    (dist.all_reduce(x, replicated=True) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * total())
    x = pb.tensor(block(), requires_grad=True)
    (dist.all_reduce(x) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 8 * total())
    w = pb.tensor([2.0, 3.0], requires_grad=True)
    ((dist.rank() + 1) * (dist.vary(w) ** 2).sum()).backward()
    np.testing.assert_allclose(w.grad.numpy(), 10 * 2 * np.array([2.0, 3.0]))
    for op in ("max", "prod"):
        x = pb.tensor(block() + 1, requires_grad=True)
        dist.all_reduce(x, op, replicated=True).sum().backward()
        every = np.stack([np.arange(3.0) + r + 1 for r in range(N)])
        expected = every.prod(0) / every[dist.rank()] if op == "prod" else np.full(3, float(dist.rank() == 3))
        np.testing.assert_allclose(x.grad.numpy(), expected)


def case_016_the_mean_of_an_equal_loss_has_the_same_factor():
    grads = []
    for mean in (False, True):
        w = pb.tensor([2.0], requires_grad=True)
        loss = (dist.all_reduce(w) ** 2).sum()
        (dist.all_reduce(loss, "mean") if mean else loss).backward()
        grads.append(w.grad.item())
    assert grads[0] == grads[1] == 2 * 8.0 * N


def case_017_all_gather():
    rank = dist.rank()
    x = np.arange(6.0).reshape(2, 3) + rank
    for axis in (0, 1, -1):
        check_against(lambda xs, a=axis: [np.concatenate(xs, a)] * N, lambda x, a=axis: dist.all_gather(x, a), x)
        check_against(
            lambda xs, a=axis: [np.stack(xs, a)] * N, lambda x, a=axis: dist.all_gather(x, a, stack=True), x
        )


def case_018_all_gather_of_unequal_lengths():
    rank = dist.rank()
    x = np.arange(rank + 1.0)
    check_against(lambda xs: [np.concatenate(xs)] * N, lambda x: dist.all_gather(x, uneven=True), x)
    check_against(lambda xs: [np.concatenate(xs)] * N, lambda x: dist.all_gather(x, sizes=(1, 2, 3, 4)), x)
    comm = dist.world().dup()
    raises(dist.CollectiveMismatch, lambda: dist.all_gather(x, comm=comm), "all_gather", "[1]", "[2]")


def case_019_reduce_scatter():
    x = np.arange(10.0) * (dist.rank() + 1)
    cut = np.cumsum([0, 3, 3, 2, 2])

    def stacked(xs):
        return [sum(xs)[a:b] for a, b in pairwise(cut)]

    check_against(stacked, dist.reduce_scatter, x)
    check_against(lambda xs: [b / N for b in stacked(xs)], lambda x: dist.reduce_scatter(x, "mean"), x)


def case_020_broadcast_and_reduce():
    x = block()
    check_against(lambda xs: [xs[2]] * N, lambda x: dist.broadcast(x, 2), x)
    check_against(lambda xs: [sum(xs) if r == 1 else 0 * xs[0] for r in range(N)], lambda x: dist.reduce(x, 1), x)
    check_against(
        lambda xs: [np.maximum.reduce(xs) if r == 1 else 0 * xs[0] for r in range(N)],
        lambda x: dist.reduce(x, 1, "max"), x, False,
    )  # fmt: skip
    given = pb.tensor(x) if dist.rank() == 2 else pb.ShapeDtype((3,), np.float64)
    np.testing.assert_array_equal(dist.broadcast(given, 2).numpy(), np.arange(3.0) + 2)
    given, like = (x, None) if dist.rank() == 2 else (None, pb.ShapeDtype((3,), np.float64))
    np.testing.assert_array_equal(dist.broadcast(given, 2, like=like).numpy(), np.arange(3.0) + 2)


def case_021_gather_and_scatter():
    rank, sizes = dist.rank(), (1, 2, 3, 4)
    x = np.arange(rank + 1.0) + 10 * rank

    def gathered(xs):
        return [np.concatenate(xs) if r == 0 else np.zeros(0) for r in range(N)]

    check_against(gathered, lambda x: dist.gather(x, 0, sizes=sizes), x)
    whole = np.arange(10.0) + 100 * rank
    cut = np.cumsum([0, *sizes])
    check_against(
        lambda xs: [xs[3][a:b] for a, b in pairwise(cut)], lambda x: dist.scatter(x, 3, sizes=sizes), whole
    )
    cut = np.cumsum([0, *split_sizes(10, N)])
    check_against(lambda xs: [xs[3][a:b] for a, b in pairwise(cut)], lambda x: dist.scatter(x, 3), whole)


def case_022_all_to_all():
    rank = dist.rank()
    x = np.arange(8.0) + 10 * rank
    y = dist.all_to_all(x)
    np.testing.assert_array_equal(dist.all_to_all(y).numpy(), x)
    check_against(lambda xs: [np.concatenate([np.split(q, N)[r] for q in xs]) for r in range(N)], dist.all_to_all, x)
    matrix = np.arange(8.0).reshape(2, 4) + 10 * rank
    check_against(
        lambda xs: [np.concatenate([q[:, r : r + 1] for q in xs], 0) for r in range(N)],
        lambda x: dist.all_to_all(x, 1, 0), matrix,
    )  # fmt: skip
    sizes = [[(r + q) % 3 for q in range(N)] for r in range(N)]
    mine = np.arange(float(sum(sizes[rank]))) + 10 * rank

    def uneven(xs):
        cuts = [np.cumsum([0, *row]) for row in sizes]
        return [np.concatenate([xs[q][cuts[q][r] : cuts[q][r + 1]] for q in range(N)]) for r in range(N)]

    check_against(uneven, lambda x: dist.all_to_all(x, sizes=sizes), mine)
    lengths = (1, 2, 3, 4)
    rows = np.arange(4.0 * (rank + 1)).reshape(rank + 1, 4)
    check_against(
        lambda xs: [np.concatenate([q[:, r : r + 1] for q in xs], 0) for r in range(N)],
        lambda x: dist.all_to_all(x, 1, 0, joined=lengths), rows,
    )  # fmt: skip


def case_023_sendrecv():
    rank = dist.rank()

    def right(x):
        return dist.sendrecv(x, (rank + 1) % N, (rank - 1) % N)

    check_against(lambda xs: [xs[(r - 3) % N] for r in range(N)], lambda x: right(right(right(x))), block())
    dest, source = (rank + 1 if rank < N - 1 else None), (rank - 1 if rank else None)
    check_against(
        lambda xs: [xs[r - 1] if r else 0 * xs[0] for r in range(N)], lambda x: dist.sendrecv(x, dest, source), block()
    )
    comm = dist.world().dup()
    other = (rank + 1) % N
    raises(dist.CollectiveMismatch, lambda: dist.sendrecv(np.ones(2), other, other, comm=comm), "sends")


def case_024_shift():
    grid = dist.mesh((2, 2), ("x", "y"))
    check_against(lambda xs: [xs[(r + 2) % 4] for r in range(N)], lambda x: dist.shift(x, grid, "x"), block())
    check_against(
        lambda xs: [xs[r - 1] if r % 2 else 0 * xs[0] for r in range(N)],
        lambda x: dist.shift(x, grid, "y", periodic=False), block(),
    )  # fmt: skip


def case_025_send_and_recv():
    rank = dist.rank()
    x = pb.tensor(2.0, requires_grad=True)
    if rank == 0:
        token = dist.send(2 * x, 1)
        dist.tie(pb.tensor(0.0), token).backward()
        assert x.grad.item() == 2 * 3 * 16.0
    elif rank == 1:
        y = dist.recv(pb.ShapeDtype((), np.float64), 0, requires_grad=True)
        (y**3).backward()
    dist.barrier()


def case_026_pipeline():
    rank = dist.rank()
    like = pb.ShapeDtype((3,), np.float64)
    x = pb.tensor([0.1, 0.2, 0.3], requires_grad=True)
    h = pb.sin(x) if rank == 0 else pb.sin(dist.recv(like, rank - 1, requires_grad=True))
    if rank < N - 1:
        loss = dist.tie(pb.tensor(0.0), dist.send(h, rank + 1))
    else:
        loss = (h**2).sum()
    loss.backward()
    if rank == 0:
        z = pb.tensor([0.1, 0.2, 0.3], requires_grad=True)
        (pb.sin(pb.sin(pb.sin(pb.sin(z)))) ** 2).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), rtol=1e-12)
    dist.barrier()


def padded(whole, sizes, low, high, mode, axis=0, **options):
    """Blocks of an array with what is around them, by `np.pad` on the whole; `open` ends are cut off again."""
    widths = [(0, 0)] * whole.ndim
    widths[axis] = (low, high)
    wide = np.pad(whole, widths, mode="constant" if mode == "open" else mode, **options)
    at = np.cumsum([0, *sizes])
    found = []
    for r, size in enumerate(sizes):
        begin, end = at[r], at[r] + low + size + high
        if mode == "open":
            begin += low if r == 0 else 0
            end -= high if r == len(sizes) - 1 else 0
        found.append(np.take(wide, np.arange(begin, end), axis))
    return found


def case_027_halo_periodic():
    grid = dist.mesh(4, "x")
    x = np.arange(8.0).reshape(4, 2) + 10 * dist.rank()
    check_against(
        lambda xs: padded(np.concatenate(xs), [4] * N, 1, 1, "wrap"), lambda x: dist.halo_exchange(x, 1, mesh=grid), x
    )
    comm = dist.world()
    before = comm.messages
    y = dist.halo_exchange(pb.tensor(x, requires_grad=True), 1, mesh=grid)
    y.sum().backward()
    assert comm.messages - before == 2


def case_028_halo_ends():
    grid = dist.mesh(4, "x")
    rank, sizes = dist.rank(), (3, 2, 4, 3)
    x = np.arange(float(sizes[rank])) + 10 * rank
    check_against(
        lambda xs: padded(np.concatenate(xs), sizes, 2, 1, "open"),
        lambda x: dist.halo_exchange(x, (2, 1), mesh=grid, boundary="open"), x,
    )  # fmt: skip
    check_against(
        lambda xs: padded(np.concatenate(xs), sizes, 2, 1, "constant", constant_values=7.0),
        lambda x: dist.halo_exchange(x, (2, 1), mesh=grid, boundary="constant", fill=7.0), x,
    )  # fmt: skip
    check_against(
        lambda xs: padded(np.concatenate(xs), sizes, 2, 1, "edge"),
        lambda x: dist.halo_exchange(x, (2, 1), mesh=grid, boundary="edge"), x,
    )  # fmt: skip
    check_against(
        lambda xs: padded(np.concatenate(xs), sizes, 0, 2, "wrap"),
        lambda x: dist.halo_exchange(x, (0, 2), mesh=grid), x,
    )  # fmt: skip


def case_029_halo_on_two_axes():
    grid = dist.mesh((2, 2), ("x", "y"))
    x = np.random.default_rng(dist.rank()).normal(size=(3, 3))

    def stacked(xs):
        wide = np.pad(np.block([[xs[0], xs[1]], [xs[2], xs[3]]]), 2, mode="wrap")
        return [wide[3 * i : 3 * i + 7, 3 * j : 3 * j + 7] for i in range(2) for j in range(2)]

    check_against(stacked, lambda x: dist.halo_exchange(x, (2, 2), (0, 1), mesh=grid, mesh_axis=("x", "y")), x)


def case_029_halo_in_two_halves():
    grid = dist.mesh((2, 2), ("x", "y"))
    where = {"mesh": grid, "mesh_axis": ("x", "y"), "boundary": "edge"}

    def halves(x):
        begun = dist.halo_start(x, (1, 2), (0, 1), **where)
        inside = (x * x).sum()  # computed meanwhile
        return dist.halo_wait(begun) * inside

    def whole(x):
        return dist.halo_exchange(x, (1, 2), (0, 1), **where) * (x * x).sum()

    x = np.random.default_rng(dist.rank()).normal(size=(3, 3))
    found = []
    for f in (halves, whole):
        leaf = pb.tensor(x, requires_grad=True)
        y = f(leaf)
        (y**2).sum().backward()
        _, moved = pb.func.jvp(f, (pb.tensor(x),), (pb.tensor(x * 2),))
        found.append((y.detach().numpy(), leaf.grad.numpy(), moved.numpy(), pb.compile(f)(pb.tensor(x)).numpy()))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def case_030_halo_of_a_short_block():
    grid = dist.mesh(4, "x", comm=dist.world())
    x = np.ones(1 if dist.rank() == 2 else 3)
    raises(ValueError, lambda: dist.halo_exchange(x, 2, mesh=grid), "rank 2", "axis 0", "1 rows", "2 of them")
    dist.barrier()  # nothing is broken: all ranks know


def case_031_halo_along_an_axis_of_one_rank():
    grid = dist.mesh((4, 1), ("x", "y"))
    x = np.arange(3.0) + dist.rank()
    check_against(
        lambda xs: [np.pad(each, 1, mode="wrap") for each in xs],
        lambda x: dist.halo_exchange(x, 1, mesh=grid, mesh_axis="y"), x,
    )  # fmt: skip


def case_032_trees():
    comm, rank = dist.world(), dist.rank()
    tree = {
        "a": np.float32([1, 2]) + rank, "b": [np.arange(3.0) + rank, np.ones((2, 2)) * rank], "c": np.array(1j * rank),
    }  # fmt: skip
    before = comm.messages
    found = dist.all_reduce(tree)
    assert comm.messages - before == 3
    assert found["a"].dtype == np.float32 and found["a"].tolist() == [10, 14]
    np.testing.assert_array_equal(found["b"][0].numpy(), total())
    assert found["b"][1].shape == (2, 2) and found["c"].shape == () and found["c"].item() == 6j


def case_033_without_axes_and_without_elements():
    comm = dist.world()
    assert dist.all_reduce(pb.tensor(2.0)).item() == 8.0 and dist.all_reduce(pb.tensor(2.0)).shape == ()
    before = comm.seq
    assert dist.all_reduce(np.zeros((0, 3))).shape == (0, 3)
    assert dist.all_gather(np.zeros(0)).shape == (0,) and dist.all_to_all(np.zeros(0)).shape == (0,)
    assert comm.seq == before + 3
    raises(ValueError, lambda: dist.all_gather(pb.tensor(2.0)), "axis")


def case_034_dtypes_and_layouts():
    rank = dist.rank()
    for dtype in (np.int32, np.uint8, np.float16, np.longdouble, np.complex128):
        x = (np.arange(3) + rank).astype(dtype)
        for f in (dist.all_reduce, lambda x: dist.all_gather(x), lambda x: dist.broadcast(x, 1)):
            assert f(x).dtype == dtype
        np.testing.assert_array_equal(dist.all_reduce(x).numpy(), total().astype(dtype))
    big = block().astype(">f8")
    np.testing.assert_array_equal(dist.all_reduce(big).numpy(), total())
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3) + rank)
    np.testing.assert_array_equal(dist.all_reduce(x).numpy(), sum(np.arange(6.0).reshape(2, 3) + r for r in range(N)))
    assert dist.all_reduce(x).numpy().flags.c_contiguous
    np.testing.assert_array_equal(dist.all_reduce(np.repeat(block(), 2)[::2]).numpy(), total())
    fixed = block()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(dist.all_reduce(fixed).numpy(), total())
    raises(TypeError, lambda: dist.all_reduce(np.array(["a"])), "numbers")


def case_035_in_pieces():
    comm, rank = dist.world().dup(), dist.rank()
    x = np.arange(17.0) * (rank + 1)
    ring = {"dest": (rank + 1) % N, "source": (rank - 1) % N}
    functions = [
        lambda: dist.all_reduce(x, comm=comm), lambda: dist.all_reduce(x, deterministic=True, comm=comm),
        lambda: dist.all_gather(x, comm=comm), lambda: dist.gather(x, 1, comm=comm),
        lambda: dist.scatter(x, 1, comm=comm), lambda: dist.all_to_all(x, comm=comm),
        lambda: dist.broadcast(x, 2, comm=comm), lambda: dist.reduce(x, 2, comm=comm),
        lambda: dist.reduce_scatter(x, comm=comm), lambda: dist.sendrecv(x, comm=comm, **ring),
        lambda: dist.halo_exchange(x, 7, comm=comm),
    ]  # fmt: skip
    whole = [f().numpy() for f in functions]
    comm.chunk_elements = 5
    for f, expected in zip(functions, whole):
        np.testing.assert_array_equal(f().numpy(), expected)


def case_036_dtypes_differ():
    comm = dist.world().dup()
    x = np.ones(2, np.float32 if dist.rank() == 1 else np.float64)
    error = raises(dist.CollectiveMismatch, lambda: dist.all_reduce(x, comm=comm), "float32", "float64", "rank 1")
    assert error.seq == comm.seq and error.collective.startswith("all_reduce")
    raises(dist.CommunicatorBroken, lambda: dist.all_reduce(x, comm=comm), "CollectiveMismatch")
    raises(dist.CommunicatorBroken, comm.dup)


def case_037_second_derivative():
    rank = dist.rank()

    def loss(x):
        y = dist.all_reduce(x)
        return (rank + 1) * (y * y).sum()

    x = pb.tensor(block())
    found = pb.func.grad(lambda z: pb.func.grad(loss)(z).sum())(x)
    np.testing.assert_allclose(found.numpy(), np.full(3, 2 * N * 10.0))
