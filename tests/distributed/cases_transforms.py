"""Cases 38 to 48: in-place twins, transforms, recording, checkpoints and hooks."""

import numpy as np

import pullback as pb
from pullback import distributed as dist
from tests.distributed.oracle import raises

RANKS = 4
N = RANKS


def block():
    return np.arange(3.0) + dist.rank()


def total():
    return sum(np.arange(3.0) + r for r in range(N))


def case_038_in_place():
    rank = dist.rank()
    leaf = pb.tensor(np.arange(6.0) + rank, requires_grad=True)
    base = leaf * 1
    before = base._version
    part = base[::2]
    dist.all_reduce_(part)
    assert base._version == before + 1
    whole = [np.arange(6.0) + r for r in range(N)]
    expected = np.arange(6.0) + rank
    expected[::2] = sum(whole)[::2]
    np.testing.assert_array_equal(base.detach().numpy(), expected)
    ((rank + 1) * base).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), [10, rank + 1, 10, rank + 1, 10, rank + 1])
    error = raises(pb.AutogradError, lambda: dist.all_reduce_(pb.ones(2, requires_grad=True)))
    assert error.code == "LEAF_INPLACE"
    x = pb.tensor(block())
    dist.broadcast_(x, 1)
    np.testing.assert_array_equal(x.numpy(), np.arange(3.0) + 1)
    grid = dist.mesh(4, "x")
    padded = pb.tensor(np.full(5, float(rank)))
    dist.halo_fill_(padded, 1, mesh=grid)
    assert padded.tolist() == [(rank - 1) % N, rank, rank, rank, (rank + 1) % N]
    x = pb.tensor(block(), requires_grad=True)
    y = x * 1
    z = pb.exp(y)
    w = z * 1
    dist.all_reduce_(z)  # `exp` saved its result, which is overwritten now: the old value is kept for backward
    w.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(block()), rtol=1e-12)


def two_collectives(x):
    y = dist.all_reduce(pb.sin(x))
    return (dist.rank() + 1) * (y * dist.sendrecv(x * x, (dist.rank() + 1) % N, (dist.rank() - 1) % N)).sum()


def stacked_loss(xs):
    """The sum of the losses of all ranks, of the stacked blocks, for one process."""
    y = pb.sin(xs).sum(0)
    weights = pb.tensor(np.arange(1.0, N + 1))
    return (weights[:, None] * y * pb.roll(xs * xs, 1, 0)).sum()


def case_039_transforms():
    rank = dist.rank()
    xs = pb.tensor(np.stack([np.arange(3.0) + r for r in range(N)]) / 3)
    ts = pb.tensor(np.random.default_rng(1).normal(size=(N, 3)))
    x, t = xs[rank], ts[rank]
    expected = pb.func.grad(stacked_loss)(xs)[rank].numpy()
    np.testing.assert_allclose(pb.func.grad(two_collectives)(x).numpy(), expected, rtol=1e-12)
    _, pull = pb.func.vjp(two_collectives, x)
    np.testing.assert_allclose(pull(pb.tensor(1.0))[0].numpy(), expected, rtol=1e-12)
    _, tangent = pb.func.jvp(two_collectives, (x,), (t,))
    _, whole = pb.func.jvp(stacked_loss, (xs,), (ts,))
    every = dist.world().gather_objects(tangent.item())
    np.testing.assert_allclose(sum(every), whole.item(), rtol=1e-12)
    _, moved = pb.func.linearize(two_collectives, x)
    np.testing.assert_allclose(moved(t).item(), tangent.item(), rtol=1e-12)
    _, second = pb.func.jvp(pb.func.grad(two_collectives), (x,), (t,))
    _, expected = pb.func.jvp(pb.func.grad(stacked_loss), (xs,), (ts,))
    np.testing.assert_allclose(second.numpy(), expected[rank].numpy(), rtol=1e-12)


def case_040_vmap():
    rank, comm = dist.rank(), dist.world()
    x = np.random.default_rng(rank).normal(size=(3, 4))
    grid = dist.mesh(4, "x")
    functions = [
        dist.all_reduce, lambda z: dist.all_gather(z), lambda z: dist.reduce_scatter(z), lambda z: dist.all_to_all(z),
        lambda z: dist.broadcast(z, 2), lambda z: dist.gather(z, 1), lambda z: dist.scatter(z, 1),
        lambda z: dist.halo_exchange(z, 1, mesh=grid), lambda z: dist.all_reduce(z, "max"),
        lambda z: dist.sendrecv(z, (rank + 1) % N, (rank - 1) % N), lambda z: dist.all_reduce(z, replicated=True),
    ]  # fmt: skip
    for f in functions:
        looped = np.stack([f(row).numpy() for row in pb.tensor(x)])
        before = comm.messages + grid["x"].messages
        found = pb.func.vmap(f)(pb.tensor(x))
        assert comm.messages + grid["x"].messages - before == (2 if grid["x"] is comm else 1)
        np.testing.assert_allclose(found.numpy(), looped, rtol=1e-12)
        gradient = pb.func.vmap(pb.func.grad(lambda z, f=f: (f(z) ** 2).sum()))(pb.tensor(x))
        rows = np.stack([pb.func.grad(lambda z, f=f: (f(z) ** 2).sum())(row).numpy() for row in pb.tensor(x)])
        np.testing.assert_allclose(gradient.numpy(), rows, rtol=1e-12)
    nested = pb.func.vmap(pb.func.vmap(dist.all_reduce))(pb.tensor(x.reshape(3, 2, 2)))
    every = sum(np.random.default_rng(r).normal(size=(3, 4)) for r in range(N))
    np.testing.assert_allclose(nested.numpy(), every.reshape(3, 2, 2), rtol=1e-12)
    other = comm.dup()
    batch = pb.tensor(np.ones((4 if rank == 1 else 3, 2)))
    raises(
        dist.CollectiveMismatch, lambda: pb.func.vmap(lambda z: dist.all_reduce(z, comm=other))(batch), "mapped over"
    )


def case_041_dense_transforms():
    rank = dist.rank()
    coefficients = np.random.default_rng(3).normal(size=(N, 3))

    def f(x):
        return dist.all_reduce(x * x * pb.tensor(coefficients[rank])) * (rank + 1.0)

    def stacked(xs):
        s = (xs * xs * pb.tensor(coefficients)).sum(0)
        return s * pb.tensor(np.arange(1.0, N + 1))[:, None]

    xs = pb.tensor(np.stack([np.arange(3.0) + r for r in range(N)]))
    blocks = pb.func.jacrev(stacked)(xs).numpy()  # r, i, q, j
    x = xs[rank]
    np.testing.assert_allclose(pb.func.jacrev(f)(x).numpy(), blocks[:, :, rank].sum(0), rtol=1e-12)
    np.testing.assert_allclose(pb.func.jacfwd(f)(x).numpy(), blocks[rank].sum(1), rtol=1e-12)
    whole = pb.func.hessian(lambda z: stacked(z).sum())(xs).numpy()
    np.testing.assert_allclose(pb.func.hessian(lambda z: f(z).sum())(x).numpy(), whole[rank].sum(1), rtol=1e-12)
    forward = dist.jacobian(f, mode="forward")(x)
    np.testing.assert_allclose(forward.numpy(), np.moveaxis(blocks[rank], 1, 0), rtol=1e-12)
    reverse = dist.jacobian(f, mode="reverse")(x)
    np.testing.assert_allclose(reverse.numpy(), blocks[:, :, rank], rtol=1e-12)


def case_042_gradcheck():
    x = pb.tensor(block() / 3, requires_grad=True)
    assert dist.gradcheck(lambda z: dist.all_reduce(pb.sin(z)) * (dist.rank() + 1.0), (x,))

    class Wrong(pb.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return dist.all_reduce(z)

        @staticmethod
        def backward(ctx, g):
            return g.clone()

    assert not dist.gradcheck(Wrong.apply, (x,), check_forward_ad=False, raise_exception=False)


def case_043_rows_and_columns():
    grid = dist.mesh((2, 2), ("x", "y"))
    x = pb.tensor(block(), requires_grad=True)
    y = dist.all_reduce(x, mesh=grid, axis="x") * dist.all_reduce(x * x, mesh=grid, axis="y")
    (y.sum() * (dist.rank() + 1)).backward()

    def loss(xs):
        cells = xs.reshape(2, 2, 3)
        along_x, along_y = cells.sum(0, keepdims=True), (cells * cells).sum(1, keepdims=True)
        weights = pb.tensor(np.arange(1.0, 5).reshape(2, 2, 1))
        return (weights * along_x * along_y).sum()

    expected = pb.func.grad(loss)(pb.tensor(np.stack([np.arange(3.0) + r for r in range(N)])))
    np.testing.assert_allclose(x.grad.numpy(), expected[dist.rank()].numpy(), rtol=1e-12)
    np.testing.assert_array_equal(dist.all_reduce(x.detach(), mesh=grid, axis=("x", "y")).numpy(), total())


def case_044_without_recording():
    x = pb.tensor(block(), requires_grad=True)
    with pb.no_grad():
        assert dist.all_reduce(x).grad_fn is None
    with pb.inference_mode():
        assert dist.all_reduce(x).grad_fn is None
    seen = []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = dist.all_reduce(x)
    assert y.grad_fn is not None and not seen


def case_045_recording_differs():
    comm = dist.world().dup()
    x = pb.tensor(block(), requires_grad=dist.rank() != 2)
    raises(
        dist.CollectiveMismatch, lambda: dist.all_reduce(x, comm=comm), "requires_grad differs", "rank 2",
        "cases_transforms.py",
    )  # fmt: skip
    y = dist.all_reduce(x, requires_grad=True)
    y.sum().backward()
    assert dist.rank() == 2 or x.grad.tolist() == [4.0, 4.0, 4.0]


def case_046_a_loss_that_ignores_the_result():
    rank, comm = dist.rank(), dist.world().dup()
    x = pb.tensor(block(), requires_grad=True)
    y = dist.all_reduce(x, comm=comm)
    loss = (x * x).sum() if rank == 1 else y.sum()

    def run():
        loss.backward()
        comm.barrier()

    raises(dist.DistributedError, run, "backward", "cases_transforms.py")
    x = pb.tensor(block(), requires_grad=True)
    y = dist.all_reduce(x)
    dist.tie((x * x).sum(), y).backward() if rank == 1 else y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 + (2 * block() if rank == 1 else 0))


def case_047_checkpoint():
    comm = dist.world()

    def f(x):
        return pb.sin(dist.all_reduce(pb.cos(x)))

    x = pb.tensor(block(), requires_grad=True)
    f(x).sum().backward()
    expected, x.grad = x.grad, None
    before = comm.seq
    y = pb.checkpoint(f, x, use_reentrant=False)
    assert comm.seq == before + 1
    y.sum().backward()
    assert comm.seq == before + 3  # once more, and backward
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-12)


def case_048_anomaly_and_hooks():
    x = pb.tensor(block(), requires_grad=True)
    with pb.autograd.detect_anomaly():
        y = dist.all_reduce(x)
        y.register_hook(lambda g: g * (2.0 if dist.rank() == 0 else 1.0))
        y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0, 5.0]
