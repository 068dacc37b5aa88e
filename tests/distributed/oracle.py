"""The stacked oracle: one process that has the blocks of all ranks, and a NumPy function of them."""

import numpy as np

import pullback as pb
from pullback import distributed as dist


def blocks(x, comm=None):
    return (comm or dist.world()).gather_objects(np.asarray(x))


def stacked_jacobian(stacked, xs, is_linear):
    """The derivative of all outputs by all inputs, dense: columns are inputs, as `stacked` takes and returns blocks."""
    sizes = [x.size for x in xs]
    shapes = [x.shape for x in xs]
    flat = np.concatenate([x.ravel() for x in xs]) if sum(sizes) else np.zeros(0)

    def outputs(vector):
        parts = np.split(vector, np.cumsum(sizes)[:-1])
        return np.concatenate([np.ravel(y) for y in stacked([p.reshape(s) for p, s in zip(parts, shapes)])])

    columns = []
    for k in range(flat.size):
        step = np.zeros(flat.size)
        step[k] = 1.0
        if is_linear:
            columns.append(outputs(step) - outputs(np.zeros(flat.size)))
        else:
            columns.append((outputs(flat + 1e-6 * step) - outputs(flat - 1e-6 * step)) / 2e-6)
    return np.array(columns).T.reshape(-1, flat.size)


def check_against(stacked, f, x, is_linear=True, comm=None, rtol=None):
    """Value, jvp and vjp of `f` on this rank against the NumPy function of all blocks; the dot test besides."""
    comm = comm or dist.world()
    rtol = rtol or (1e-12 if is_linear else 1e-6)
    xs = blocks(x, comm)
    expected = stacked(xs)[comm.rank]
    y = f(pb.tensor(x))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12, atol=1e-12)
    jacobian = stacked_jacobian(stacked, xs, is_linear)
    rng = np.random.default_rng(7 + comm.rank)
    t, g = rng.normal(size=np.shape(x)), rng.normal(size=np.shape(expected))
    ts, gs = blocks(t, comm), blocks(g, comm)
    moved = jacobian @ np.concatenate([each.ravel() for each in ts])
    pulled = np.concatenate([each.ravel() for each in gs]) @ jacobian
    _, tangent = pb.func.jvp(f, (pb.tensor(x),), (pb.tensor(t),))
    outs = np.cumsum([0, *(np.size(each) for each in stacked(xs))])
    mine = moved[outs[comm.rank] : outs[comm.rank + 1]].reshape(np.shape(expected))
    np.testing.assert_allclose(tangent.numpy(), mine, rtol=rtol, atol=rtol)
    leaf = pb.tensor(x, requires_grad=True)
    f(leaf).backward(pb.tensor(g))
    ins = np.cumsum([0, *(np.size(each) for each in xs)])
    np.testing.assert_allclose(
        leaf.grad.numpy(), pulled[ins[comm.rank] : ins[comm.rank + 1]].reshape(np.shape(x)), rtol=rtol, atol=rtol
    )
    sums = comm.gather_objects((np.vdot(g, tangent.numpy()), np.vdot(leaf.grad.numpy(), t)))
    left, right = (sum(each) for each in zip(*sums))
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


def raises(kind, f, *words):
    """The error that `f` raises, which must be of this kind and contain these words."""
    try:
        f()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return error
    raise AssertionError(f"{kind} was not raised")
