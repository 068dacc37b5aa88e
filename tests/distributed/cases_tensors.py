"""Cases 84 to 104, as far as they need no processes: placements, operators, derivatives, refusals."""

import itertools

import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.distributed import Partial, Replicate, Shard
from tests.distributed.oracle import raises
from tests.operators.declared import registry

RANKS = 4
A = np.random.default_rng(0).standard_normal((7, 6))
B = np.random.default_rng(1).standard_normal((6, 5))
C = np.random.default_rng(2).standard_normal((7, 6))


def line():
    return dist.mesh(4, "x")


def square():
    return dist.mesh((2, 2), ("x", "y"))


def whole(x):
    return x.detach().full_tensor().numpy()


def close(x, expected):
    np.testing.assert_allclose(whole(x), expected, rtol=1e-12, atol=1e-12)


ALL = [Shard(0), Shard(1), Replicate(), Partial()]


def case_084_distribute_and_full_tensor():
    for shape in ((7, 6), (3, 2), (0, 4), (8, 8)):
        array = np.arange(float(np.prod(shape))).reshape(shape)
        for one in ALL:
            close(dist.distribute(array, line(), [one]), array)
        for pair in itertools.product(ALL, ALL):
            x = dist.distribute(array, square(), pair)
            assert dist.placements(x) == pair and x.shape == shape
            close(x, array)
            if Partial() not in pair:
                np.testing.assert_array_equal(dist.to_local(x).numpy(), array[dist.local_part(x)])


def case_085_redistribute_and_its_derivatives():
    weights = np.arange(42.0).reshape(7, 6)
    for have, want in itertools.product(ALL, ALL):
        x = dist.distribute(A, line(), [have]).requires_grad_()
        y = dist.redistribute(x, [want])
        close(y, A)
        (y * dist.distribute(weights, line(), [Replicate()])).sum().backward()
        close(x.grad, weights)
        expected = Replicate() if have == Partial() else have
        assert dist.placements(x.grad) == (expected,)
        tangent = dist.distribute(C, line(), [have])
        close(pb.jvp(lambda x, want=want: dist.redistribute(x, [want]), (x.detach(),), (tangent,))[1], C)
    for have, want in itertools.product(itertools.product(ALL, ALL), itertools.product(ALL, ALL)):
        close(dist.redistribute(dist.distribute(A, square(), have), want), A)


def case_086_local_parts():
    mesh, rank = line(), dist.rank()
    local = pb.tensor(np.arange(6.0).reshape(2, 3) + rank, requires_grad=True)
    x = dist.from_local(local, mesh, [Shard(0)], shape=(8, 3))
    (x * x).sum().backward()
    np.testing.assert_allclose(local.grad.numpy(), 2 * local.detach().numpy())
    y = dist.distribute(np.ones(3), mesh, [Replicate()]).requires_grad_()
    (dist.to_local(y) * (rank + 1.0)).sum().backward()
    close(y.grad, np.full(3, 10.0))
    z = (x.detach() * 1).requires_grad_()
    (dist.to_local(z) * 2).sum().backward()
    assert dist.placements(z.grad) == (Shard(0),)
    total = z.sum()
    assert dist.placements(total) == (Partial(),)
    raises(dist.PlacementError, lambda: dist.to_local(total), "redistribute")
    raises(dist.PlacementError, lambda: dist.from_local(np.ones((3, 3)), mesh, [Shard(0)], shape=(8, 3)))
    rows = np.ones((3 if rank < 3 else 1, 3))  # those of a length of 10 are 3, 3, 2, 2
    raises(dist.PlacementError, lambda: dist.from_local(rows, mesh, [Shard(0)]), "block")
    blocks = pb.tensor(np.full((3 if rank < 2 else 2, 3), float(rank)), requires_grad=True)
    z = dist.from_local(blocks, mesh, [Shard(0)])
    assert z.shape == (10, 3) and z.local_shape == blocks.shape and z.mesh == mesh
    (z**3).sum().backward()
    np.testing.assert_allclose(blocks.grad.numpy(), 3 * blocks.detach().numpy() ** 2)
    assert dist.from_local(np.ones(2), mesh, [Shard(0)], even=True).shape == (8,)
    alike = dist.distribute(np.ones(2), mesh, [Replicate()]).requires_grad_()
    (alike.to_local(grad_placements=[Replicate()]) ** 2).sum().backward()
    close(alike.grad, [2.0, 2.0])
    for placed in ALL:  # one rank has the array, and sends the parts
        given = A if rank == 2 else np.empty_like(A)
        close(dist.distribute(given, mesh, [placed], root=2), A)
        assert float(dist.distribute(np.array(3.0), mesh, [Partial()])) == 3.0


def compare(f, *arrays, mesh=None, placements=ALL):
    """A function of distributed tensors, with all placements of the first, against that of plain ones: with gradients
    and tangents."""
    mesh = mesh or line()
    for placed in placements:
        each = placed if isinstance(placed, tuple) else [placed]
        given = [dist.distribute(x, mesh, each).requires_grad_() for x in arrays]
        plain = [pb.tensor(x, requires_grad=True) for x in arrays]
        found, expected = f(*given), f(*plain)
        assert found.shape == expected.shape
        close(found, expected.detach().numpy())
        weights = np.random.default_rng(7).standard_normal(expected.shape)
        everywhere = dist.distribute(weights, mesh, [Replicate()] * len(mesh.shape))
        (found * everywhere).sum().backward()
        (expected * pb.tensor(weights)).sum().backward()
        for x, y in zip(given, plain, strict=True):
            close(x.grad, y.grad.numpy())
            assert x.grad.placements == tuple([Replicate() if p == Partial() else p for p in x.placements])
        found, expected = (
            pb.jvp(f, tuple([x.detach() for x in both]), tuple([x.detach() * 0.5 for x in both]))[1]
            for both in (given, plain)
        )
        close(found, expected.numpy())


def case_087_elementwise_operators():
    mesh = line()
    checked = 0
    for op in registry.values():
        if op.family != "elementwise" or op.params or op.refused.get("float64") or len(op.operands) > 2:
            continue
        inputs = [np.random.default_rng(k).uniform(0.2, 0.8, (5, 3)) for k in range(len(op.operands))]
        try:
            with np.errstate(all="ignore"):
                expected = op.kernel(*inputs)
        except TypeError:
            continue  # of integers only
        for placement in (Shard(0), Shard(1)):
            given = [dist.distribute(x, mesh, [placement]) for x in inputs[:1]]
            given += [dist.distribute(x, mesh, [Replicate()]) for x in inputs[1:]]
            with np.errstate(all="ignore"):
                out = op.run(tuple(given), {})
            assert dist.placements(out) == (placement,), op.name
            np.testing.assert_array_equal(whole(out), expected, err_msg=op.name)
        checked += 1
    assert checked > 60
    row = dist.distribute(np.arange(3.0), mesh, [Replicate()])
    x = dist.distribute(np.ones((5, 3)), mesh, [Shard(0)])
    close(x * row + 1, 1 + np.ones((5, 3)) * np.arange(3.0))
    column = dist.distribute(np.arange(5.0)[:, None], mesh, [Shard(0)])
    close(column * row, np.outer(np.arange(5.0), np.arange(3.0)))


def case_088_reductions():
    for mesh, placed in ((line(), [Shard(0)]), (line(), [Shard(1)]), (square(), [Shard(0), Shard(1)]),
                         (square(), [Shard(0), Shard(0)])):
        x = dist.distribute(A, mesh, placed)
        for axis in (None, 0, 1, (0, 1)):
            for keepdims in (False, True):
                close(x.sum(axis=axis, keepdims=keepdims), A.sum(axis=axis, keepdims=keepdims))
                close(x.mean(axis=axis, keepdims=keepdims), A.mean(axis=axis, keepdims=keepdims))
    x = dist.distribute(A, line(), [Shard(0)])
    close(pb.amax(x, axis=0), A.max(axis=0))
    close(pb.amin(x), A.min())
    close(x.prod(axis=1), A.prod(axis=1))
    y = dist.distribute(A, line(), [Shard(0)]).requires_grad_()
    (y.mean() * 3).backward()
    close(y.grad, np.full((7, 6), 3 / 42))
    ties = np.array([[1.0, 5.0, 5.0, 2.0, 5.0], [7.0, np.nan, 0.0, np.nan, 1.0], [3.0, 3.0, 3.0, 3.0, 3.0]])
    for array, mesh, placed in ((A, line(), [Shard(0)]), (ties, line(), [Shard(1)]), (ties, line(), [Shard(0)]),
                                (ties, square(), [Shard(1), Shard(0)]), (A[:2], line(), [Shard(0)])):
        x = dist.distribute(array, mesh, placed)
        for axis in (None, 0, 1):
            for name in ("argmax", "argmin"):
                close(getattr(pb, name)(x, axis=axis), getattr(np, name)(array, axis=axis))
            for name in ("amax", "amin", "var", "std", "any", "all", "count_nonzero"):
                close(getattr(pb, name)(x, axis=axis), getattr(np, name)(array, axis=axis))
    for f in (lambda x: pb.logsumexp(x, axis=0), lambda x: pb.softmax(x, axis=0), lambda x: pb.linalg.norm(x, axis=0),
              lambda x: x.prod(axis=0), lambda x: pb.amax(x, axis=0), lambda x: x.std(axis=(0, 1))):  # fmt: skip
        compare(f, A)


def case_089_sums_travel_as_summands():
    mesh = line()
    x = dist.distribute(A, mesh, [Partial()])
    y = dist.distribute(C, mesh, [Partial()])
    z = dist.distribute(C, mesh, [Replicate()])
    before = mesh["x"].seq
    for out in (x + y, x - y, -x, x * 3.0, x / 2.0, x.T, x.sum(axis=0), x + z):
        assert dist.placements(out) == (Partial(),)
    assert mesh["x"].seq == before
    close(x + y, A + C)
    close(x * 3.0, 3 * A)
    close(x.T, A.T)
    close(x + dist.distribute(C, mesh, [Replicate()]), A + C)
    before = mesh["x"].seq
    out = pb.sin(x)
    assert mesh["x"].seq == before + 1
    close(out, np.sin(A))
    close(x * y, A * C)
    close(x + 1.0, A + 1)
    condition = dist.distribute(A > 0, mesh, [Replicate()])
    close(pb.where(condition, x, y), np.where(A > 0, A, C))
    close(pb.where(condition, x, 0), np.where(A > 0, A, 0))
    close((x * 10).astype(np.int64), (A * 10).astype(np.int64))
    close(x.astype(np.complex128), A)
    huge = dist.distribute(np.full((7, 6), np.inf), mesh, [Replicate()])
    assert np.isinf(whole(x + huge)).all()


def case_090_matmul_of_all_placements():
    expected = {
        (Shard(0), Replicate()): Shard(0), (Replicate(), Shard(1)): Shard(1), (Shard(1), Shard(0)): Partial(),
        (Replicate(), Replicate()): Replicate(), (Partial(), Replicate()): Partial(),
        (Shard(1), Replicate()): Partial(), (Replicate(), Shard(0)): Partial(),
    }  # fmt: skip
    for first, second in itertools.product(ALL, ALL):
        a = dist.distribute(A, line(), [first]).requires_grad_()
        b = dist.distribute(B, line(), [second]).requires_grad_()
        out = a @ b
        close(out, A @ B)
        if (first, second) in expected:
            assert dist.placements(out) == (expected[first, second],), (first, second)
        out.sum().backward()
        close(a.grad, np.ones((7, 5)) @ B.T)
        close(b.grad, A.T @ np.ones((7, 5)))
    thin, flat = A[:, :1], B[:1]
    close(dist.distribute(thin, line(), [Shard(1)]) @ dist.distribute(flat, line(), [Shard(0)]), thin @ flat)
    v = dist.distribute(B[:, 0], line(), [Shard(0)])
    close(dist.distribute(A, line(), [Shard(0)]) @ v, A @ B[:, 0])


def case_091_einsum():
    mesh, random = square(), np.random.default_rng(3)
    cases = {"ij,jk->ik": ((4, 6), (6, 5)), "bij,bjk->bik": ((3, 4, 6), (3, 6, 5)), "i,i->": ((7,), (7,))}
    for text, shapes in cases.items():
        arrays = [random.standard_normal(shape) for shape in shapes]
        for dims in itertools.product(*[range(len(shape)) for shape in shapes]):
            given = [dist.distribute(x, mesh, [Shard(d), Replicate()]) for x, d in zip(arrays, dims, strict=True)]
            close(pb.einsum(text, *given), np.einsum(text, *arrays))


def case_092_take_and_scatter():
    places = np.array([0, 5, 2, 2, -1])
    compare(lambda x: pb.take(x, places, axis=0), A)
    compare(lambda x: x[places, np.array([1, 0, 5, 1, 1])], A)
    compare(lambda x: x[:, places.reshape(5, 1)], A)
    compare(lambda x: pb.take_along_axis(x, np.argsort(A, axis=0), axis=0), A, placements=ALL[:3])
    mesh = line()
    for placed in ALL[:3]:
        x = dist.distribute(A, mesh, [placed]).requires_grad_()
        plain = pb.tensor(A, requires_grad=True)
        value = dist.distribute(C[:5], mesh, [Replicate()]).requires_grad_()
        other = pb.tensor(C[:5], requires_grad=True)
        added, expected = pb.index_add(x, 0, places % 7, value), pb.index_add(plain, 0, places % 7, other)
        close(added, expected.detach().numpy())
        (added**2).sum().backward()
        (expected**2).sum().backward()
        close(x.grad, plain.grad.numpy())
        close(value.grad, other.grad.numpy())
    raises(IndexError, lambda: dist.distribute(A, mesh, [Shard(0)])[np.array([7])])


def case_093_views():
    for f in (
        lambda x: x.T, lambda x: x.reshape(7, 2, 3), lambda x: x[:, 1:4], lambda x: x[:, 0], lambda x: x[None],
        lambda x: pb.flip(x, axis=1), lambda x: x[1:4], lambda x: x[::-2, 1:], lambda x: x[3], lambda x: x[-1, 2:4],
        lambda x: x.reshape(42), lambda x: x.reshape(6, 7), lambda x: pb.flip(x, axis=(0, 1)),
        lambda x: x[2:][None, ::2],
        lambda x: pb.roll(x, 3, 0), lambda x: pb.roll(x, (1, -2), (0, 1)), lambda x: pb.pad(x, ((1, 2), (0, 1))),
        lambda x: pb.tril(x, 1), lambda x: pb.repeat(x, 2, axis=0), lambda x: pb.diff(x, axis=0),
        lambda x: x[2:] - x[:-2],
        lambda x: pb.concat([x, x * 2], axis=0), lambda x: pb.concat([x, x * 2], axis=1), lambda x: pb.stack([x, x], 1),
        lambda x: pb.split(x, [2, 5])[1], lambda x: pb.broadcast_to(x, (3, 7, 6)), lambda x: x[7:], lambda x: x[:0],
    ):  # fmt: skip
        compare(f, A)
    pairs = [(Shard(0), Shard(1)), (Shard(1), Shard(0)), (Shard(0), Shard(0)), (Replicate(), Shard(1))]
    for f in (lambda x: x[1:6, ::2], lambda x: x[::-1], lambda x: pb.roll(x, 1, 0).T):
        compare(f, A, mesh=square(), placements=pairs)
    mesh = line()
    x = dist.distribute(A, mesh, [Shard(0)])
    assert x.T.placements == (Shard(1),) and x[1:4].placements == (Shard(0),)
    raises(dist.PlacementError, lambda: pb.diagonal(x), "redistribute")
    with dist.implicit("refuse"):
        close(x[:, 1:4], A[:, 1:4])
        raises(dist.PlacementError, lambda: x[1:4], "redistribute")
    with dist.trace_comm() as moves:
        x[1:4]
        pb.sin(dist.distribute(A, mesh, [Partial()]))
    assert [move.operator for move in moves] == ["basic_index", "sin"] and "cases_tensors.py" in moves[0].site
    part = x[1:4]
    raises(dist.PlacementError, lambda: part.mul_(2), "copy")


def case_094_writes():
    mesh = line()
    x = dist.distribute(A, mesh, [Shard(0)])
    y = x * 1
    y.add_(dist.distribute(C, mesh, [Replicate()]))
    assert dist.placements(y) == (Shard(0),) and y._version == 1
    close(y, A + C)
    view = y[:, 0]
    view.mul_(2)
    expected = A + C
    expected[:, 0] *= 2
    close(y, expected)
    y.copy_(x)
    close(y, A)
    leaf = dist.distribute(A, mesh, [Shard(0)]).requires_grad_()
    z = leaf * 1
    z[:, 1] = 0.0
    z.sum().backward()
    ones = np.ones((7, 6))
    ones[:, 1] = 0
    close(leaf.grad, ones)
    raises(dist.PlacementError, lambda: dist.distribute(A, mesh, [Partial()]).exp_(), "redistribute")
    everywhere = dist.distribute(A, mesh, [Replicate()])
    everywhere.add_(dist.distribute(C, mesh, [Shard(0)]))
    assert dist.placements(everywhere) == (Replicate(),)
    close(everywhere, A + C)
    summed = dist.distribute(A, mesh, [Partial()])
    summed.add_(dist.distribute(C, mesh, [Partial()]))
    close(summed, A + C)


def case_095_stacks_of_matrices():
    mesh, random = line(), np.random.default_rng(4)
    matrices = random.standard_normal((5, 3, 3)) + 4 * np.eye(3)
    right = random.standard_normal((5, 3, 2))
    a = dist.distribute(matrices, mesh, [Shard(0)]).requires_grad_()
    out = pb.linalg.solve(a, dist.distribute(right, mesh, [Shard(0)]))
    close(out, np.linalg.solve(matrices, right))
    out.sum().backward()
    plain = pb.tensor(matrices, requires_grad=True)
    pb.linalg.solve(plain, pb.tensor(right)).sum().backward()
    close(a.grad, plain.grad.numpy())
    cut = dist.distribute(matrices, mesh, [Shard(1)])
    raises(dist.PlacementError, lambda: pb.linalg.cholesky(cut), "redistribute")


def case_096_backward():
    mesh = line()
    for placed in ALL:
        x = dist.distribute(A, mesh, [placed]).requires_grad_()
        (x * x).sum().backward()
        close(x.grad, 2 * A)
        assert dist.placements(x.grad) == (Replicate() if placed == Partial() else placed,)
    x = dist.distribute(A, mesh, [Shard(0)]).requires_grad_()
    x.sum().backward()
    close(x.grad, np.ones((7, 6)))


def case_097_hooks_see_whole_gradients():
    mesh, seen = line(), []
    w = dist.distribute(B, mesh, [Replicate()]).requires_grad_()
    v = w * 1
    v.register_hook(lambda g: seen.append(dist.placements(g)))
    v.retain_grad()
    (dist.distribute(A, mesh, [Shard(0)]) @ v).sum().backward()
    assert seen == [(Replicate(),)] and dist.placements(v.grad) == (Replicate(),)
    close(v.grad, A.T @ np.ones((7, 5)))


def loss(x, w):
    return (pb.tanh(x @ w) ** 2).sum()


def case_098_transforms():
    mesh = line()
    x, w = dist.distribute(A, mesh, [Shard(0)]), dist.distribute(B, mesh, [Replicate()])
    plain = pb.tensor(A), pb.tensor(B)
    expected = pb.grad(loss, argnums=(0, 1))(*plain)
    for got, other in zip(pb.grad(loss, argnums=(0, 1))(x, w), expected, strict=True):
        close(got, other.numpy())
    tangents = dist.distribute(C, mesh, [Shard(0)]), w
    close(pb.jvp(loss, (x, w), tangents)[1], pb.jvp(loss, plain, (pb.tensor(C), plain[1]))[1].numpy())
    curved = pb.func.hvp(lambda w: loss(x, w), (w,), (w,))
    other = pb.func.hvp(lambda w: loss(plain[0], w), (plain[1],), (plain[1],))
    for got, found in zip(pb.tree.leaves(curved), pb.tree.leaves(other), strict=True):
        close(got, found.numpy())
    mapped = [
        lambda x, w: pb.vmap(lambda row: pb.tanh(row @ w).sum())(x),
        lambda x, w: pb.vmap(lambda row: row @ w, out_dims=1)(x),
        lambda x, w: pb.vmap(lambda row, other: row * other.sum())(x, x * 2),
        lambda x, w: pb.vmap(lambda column: (column**2).sum() + w.sum(), in_dims=1)(x),
        lambda x, w: pb.vmap(lambda row: pb.vmap(lambda e: e * w.sum() + row.sum())(row))(x),
        lambda x, w: pb.vmap(pb.grad(lambda w, row: (pb.tanh(row @ w) ** 2).sum()), in_dims=(None, 0))(w, x),
        lambda x, w: pb.vmap(lambda row: pb.tanh(row @ w).sum(), chunk_size=3)(x),
        lambda x, w: pb.grad(lambda w: (pb.vmap(lambda row: pb.tanh(row @ w).sum())(x) ** 2).sum())(w),
        lambda x, w: pb.func.jacrev(lambda w: pb.tanh(x @ w).sum(axis=0))(w),
        lambda x, w: pb.func.jacrev(lambda x: pb.tanh(x @ w).sum(axis=1))(x),
        lambda x, w: pb.func.jacfwd(lambda w: pb.tanh(x @ w).sum(axis=0))(w),
        lambda x, w: pb.func.hessian(lambda x: (pb.tanh(x @ w) ** 2).sum())(x),
        pb.compile(lambda x, w: pb.vmap(lambda row: pb.tanh(row @ w).sum())(x), fallback="raise"),
    ]
    for f in mapped:
        expected = f(*plain).numpy()
        for placed in (Shard(0), Shard(1), Replicate()):
            close(f(dist.distribute(A, mesh, [placed]), w), expected)
    assert mapped[0](x, w).placements == (Shard(0),)
    raises(dist.PlacementError, lambda: pb.vmap(lambda row, k: row * k)(x, pb.ones(7)), "distribute")


def case_099_compiled():
    mesh = line()
    step = pb.compile(loss, fallback="raise")
    for _ in range(2):
        x = dist.distribute(A, mesh, [Shard(0)]).requires_grad_()
        w = dist.distribute(B, mesh, [Replicate()]).requires_grad_()
        step(x, w).backward()
        plain = pb.tensor(A, requires_grad=True), pb.tensor(B, requires_grad=True)
        loss(*plain).backward()
        close(x.grad, plain[0].grad.numpy())
        close(w.grad, plain[1].grad.numpy())
    assert step.cache_info().misses == 1
    gradients = pb.compile(pb.grad(loss, argnums=(0, 1)), fallback="raise")(x.detach(), w.detach())
    for got, other in zip(gradients, plain, strict=True):
        close(got, other.grad.numpy())


def seed_the_first_rank():
    """It tells the others; threads have one generator together."""
    if dist.rank() == 0:
        pb.random.manual_seed(3)


def case_100_random_numbers_are_the_same_on_every_mesh():
    shape = (300, 301)
    drawn = [
        (dist.mesh(4, "x"), [Shard(0)]), (square(), [Shard(1), Shard(0)]), (square(), [Shard(0), Replicate()]),
        (dist.mesh(1, "x", comm=dist.world().split(dist.rank())), [Replicate()]),
    ]  # fmt: skip
    for draw in (dist.normal, dist.uniform):
        found = [whole(draw(shape, mesh, placed, seed=5)) for mesh, placed in drawn]
        assert all(np.array_equal(each, found[0]) for each in found)
    assert abs(found[0].mean() - 0.5) < 0.01
    seed_the_first_rank()
    first, second = (whole(dist.normal(5, line(), [Shard(0)])) for _ in range(2))
    seed_the_first_rank()
    assert np.array_equal(first, whole(dist.normal(5, square(), [Shard(0), Shard(0)]))) and (first != second).all()
    close(dist.zeros((3, 2), line(), [Shard(1)]), np.zeros((3, 2)))
    close(dist.full((3, 2), 4.0, line(), [Partial()]), np.full((3, 2), 4.0))
    assert dist.ones(7, line(), [Shard(0)], dtype=np.float32).dtype == np.float32


def case_101_refusals():
    mesh = line()
    x = dist.distribute(A, mesh, [Shard(0)])
    raises(dist.PlacementError, lambda: x * pb.ones(6), "distribute")
    raises(dist.PlacementError, lambda: x + dist.distribute(A, square(), [Shard(0), Replicate()]), "mesh")
    raises(dist.PlacementError, lambda: pb.sort(x, axis=0), "redistribute")
    raises(dist.PlacementError, lambda: np.asarray(x), "full_tensor")
    row = dist.distribute(A[0], mesh, [Shard(0)])
    raises(dist.PlacementError, lambda: pb.convolve(row, row), "redistribute")
    raises(dist.PlacementError, lambda: pb.cumsum(x, 0), "redistribute")
    if dist.rank() == 0:
        assert "Shard" in repr(x)
    close(pb.sort(dist.redistribute(x, [Replicate()]), axis=0), np.sort(A, axis=0))
    assert float(dist.redistribute(x.sum(), [Replicate()])) == float(np.asarray(whole(x.sum())))
    close(x * 2 + pb.tensor(1.0), 2 * A + 1)


def case_104_stencils_with_uneven_blocks():
    def serial(u, boundary):
        modes = {"periodic": "wrap", "edge": "edge", "constant": "constant"}
        return spread(u if boundary == "open" else pb.pad(u, ((1, 1), (2, 1)), mode=modes[boundary]))

    def spread(w):
        return w[2:, 2:-1] * w[:-2, 2:-1] + w[1:-1, 3:] - w[1:-1, 2:-1] + w[1:-1, :-3]

    whole_one = np.random.default_rng(8).standard_normal((11, 9))
    for mesh, placed in ((line(), (Shard(0),)), (square(), (Shard(0), Shard(1))), (square(), (Shard(0), Shard(0)))):
        for boundary in ("periodic", "edge", "constant", "open"):
            u = dist.distribute(whole_one, mesh, placed).requires_grad_()
            plain = pb.tensor(whole_one, requires_grad=True)
            found = dist.stencil(spread, u, (1, (2, 1)), boundary=boundary)
            expected = serial(plain, boundary)
            close(found, expected.detach().numpy())
            (found**2).sum().backward()
            (expected**2).sum().backward()
            close(u.grad, plain.grad.numpy())
            assert u.grad.placements == placed
        compiled = pb.compile(pb.grad(lambda u: (dist.stencil(spread, u, (1, (2, 1)), boundary="open") ** 2).sum()))
        close(compiled(u.detach()), plain.grad.numpy())
    raises(dist.PlacementError, lambda: dist.stencil(lambda w: w, u, 1), "every element")


def case_102_tensor_parallel_network():
    mesh, random = line(), np.random.default_rng(5)
    first, second = random.standard_normal((6, 8)), random.standard_normal((8, 5))

    def network(x, first, second):
        return pb.tanh(x @ first) @ second

    x = dist.distribute(A, mesh, [Replicate()])
    w1 = dist.distribute(first, mesh, [Shard(1)]).requires_grad_()
    w2 = dist.distribute(second, mesh, [Shard(0)]).requires_grad_()
    hidden = pb.tanh(x @ w1)
    assert dist.placements(hidden) == (Shard(1),)
    out = network(x, w1, w2)
    assert dist.placements(out) == (Partial(),)
    (out**2).sum().backward()
    plain = [pb.tensor(array, requires_grad=True) for array in (first, second)]
    (network(pb.tensor(A), *plain) ** 2).sum().backward()
    close(w1.grad, plain[0].grad.numpy())
    close(w2.grad, plain[1].grad.numpy())
    assert dist.placements(w1.grad) == (Shard(1),) and dist.placements(w2.grad) == (Shard(0),)
