"""An array in blocks on several ranks
=====================================

A distributed tensor as a payload: every rank has a block of the rows, or the whole, or a summand of it.

What a payload needs for that is in its meta: how the array is spread. A value that is spread as a sum has a gradient
that every rank has as a whole; operators run on blocks, and communicate only where one needs what others have. The
ranks are threads here; `pb.distributed` has the same on processes and with more placements.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

ROWS, WHOLE, SUM = "rows", "whole", "sum"


class Spread(pb.Payload, parts=("local",), meta=("comm", "placement", "lengths")):
    """This rank's part of an array: a block of its rows, all of it, or a summand. `lengths` is its shape."""

    default = "refuse"

    @property
    def shape(self):
        """That of the whole array."""
        return self.lengths

    @staticmethod
    def dual_meta(value, root):
        """The gradient of a sum is the same for every summand."""
        return value._replace(placement=WHOLE) if value.placement == SUM else value

    @staticmethod
    def check_gradient(value, gradient, root):
        """A gradient that is spread in another way is sent to where it belongs."""
        return gradient.to(WHOLE if value.placement == SUM else value.placement)

    @staticmethod
    def from_plain(array, meta):
        """A plain gradient is one that every rank has."""
        return Spread(array, meta.comm, WHOLE, tuple(array.shape)).to(meta.placement)

    def ones(self, shape, dtype):
        """A seed counts once, however many ranks have it."""
        return Spread(np.ones(shape, dtype), self.comm, WHOLE, tuple(shape)).to(self.placement)

    def zeros(self, shape, dtype):
        """Zeros, spread like this."""
        return Spread(np.zeros(shape, dtype), self.comm, WHOLE, tuple(shape)).to(self.placement)

    def to(self, placement):
        """The same array, spread in another way."""
        local, comm = pb.asarray(self.local), self.comm
        if placement == self.placement:
            return self
        if self.placement == SUM:
            local = pb.distributed.all_reduce(local, comm=comm)
        elif self.placement == ROWS:
            local = pb.distributed.all_gather(local, comm=comm, sizes=np.diff(edges(self.lengths[0], comm)).tolist())
        if placement == ROWS:
            local = local[block(self.lengths[0], comm)]
        elif placement == SUM:
            local = local if comm.rank == 0 else local * 0
        return self.with_parts(local.detach().numpy(), placement=placement)


def edges(rows, comm):
    """Where the blocks of the ranks begin and end."""
    return np.linspace(0, rows, comm.size + 1).astype(int)


def block(rows, comm):
    """The rows of a rank."""
    low, high = edges(rows, comm)[comm.rank : comm.rank + 2]
    return slice(int(low), int(high))


def spread(array, comm, placement):
    """A tensor that every rank has made of the whole array."""
    array = np.asarray(array, float)
    return pb.wrap(Spread(array, comm, WHOLE, array.shape).to(placement))


def whole(x):
    """The array, on every rank."""
    return x.payload.to(WHOLE).local


def result(like, local, placement, size):
    """A result that is spread in this way."""
    return Spread(local, like.comm, placement, size)


def aligned(operands):
    """Operands without rows to themselves as blocks of rows, if one is; sums as wholes."""
    arrays = [x for x in operands if isinstance(x, Spread)]
    placement = ROWS if any(x.placement == ROWS for x in arrays) else WHOLE
    return [x.to(placement).local if isinstance(x, Spread) and x.lengths else as_local(x) for x in operands], placement


def as_local(x):
    """A number as it is; arrays that only one rank has are refused."""
    return x.to(WHOLE).local if isinstance(x, Spread) else x


@Spread.rule("elementwise", "copy")
def elementwise(call, *operands, **params):
    """Elements at one place are on one rank."""
    like = next(x for x in operands if isinstance(x, Spread))
    size = np.broadcast_shapes(*[x.lengths if isinstance(x, Spread) else np.shape(x) for x in operands])
    if {x.placement for x in operands if isinstance(x, Spread)} == {SUM} and call.op.group == "copy":
        return result(like, call(like.local), SUM, size)
    local, placement = aligned(operands)
    return result(like, call(*local), placement, size)


@Spread.rule("add")
def add(call, x, y):
    """Summands add up where they are."""
    if isinstance(x, Spread) and isinstance(y, Spread) and x.placement == y.placement and x.lengths == y.lengths:
        return result(x, call(x.local, y.local), x.placement, x.lengths)
    return NotImplemented


@Spread.rule("sum")
def total(call, x, axis, keepdims=False, **params):
    """A sum over rows is one of summands."""
    local = call(x.to(ROWS).local) if x.lengths else x.local
    size = np.sum(np.empty(x.lengths), axis=axis, keepdims=keepdims).shape if x.lengths else ()
    return result(x, local, SUM if 0 in axis else ROWS, size)


@Spread.rule("view")
def view(call, x, **params):
    """Views other than the array itself are those of what every rank has."""
    local = call(x.to(WHOLE).local)
    return result(x, local, WHOLE, tuple(local.shape))


@Spread.rule("matmul")
def matmul(call, a, b):
    """Rows times a whole matrix are rows; columns times rows are summands."""
    if a.placement == ROWS:
        return result(a, call(a.local, b.to(WHOLE).local), ROWS, (*a.lengths[:-1], *b.lengths[1:]))
    mine = (slice(None), block(b.lengths[0], b.comm)) if b.placement == ROWS else ()
    return result(a, call(a.to(WHOLE).local[mine], b.local), SUM if mine else WHOLE, (*a.lengths[:-1], *b.lengths[1:]))


DATA = np.random.default_rng(0).standard_normal((7, 3))
WEIGHTS = np.random.default_rng(1).standard_normal((3, 2))


def loss(x, w):
    """The same program for plain tensors and for those that are spread."""
    return (pb.tanh(x @ w) ** 2).sum()


def on_a_rank():
    """What every rank runs: the loss and its gradients."""
    comm = pb.distributed.world()
    x = spread(DATA, comm, ROWS).requires_grad_()
    w = spread(WEIGHTS, comm, WHOLE).requires_grad_()
    value = loss(x, w)
    value.backward()
    return whole(value.detach()), whole(x.grad), whole(w.grad), x.grad.payload.local.shape


if __name__ == "__main__":
    x, w = pb.tensor(DATA, requires_grad=True), pb.tensor(WEIGHTS, requires_grad=True)
    loss(x, w).backward()
    for rank, (value, x_grad, w_grad, rows) in enumerate(pb.distributed.simulate(on_a_rank, 2)):
        np.testing.assert_allclose(value, loss(x, w).detach().numpy())
        np.testing.assert_allclose(x_grad, x.grad.numpy())
        np.testing.assert_allclose(w_grad, w.grad.numpy())
        print(f"rank {rank}: loss {float(value):.6f}, its block of the gradient {rows}")
    plt.imshow(x.grad.numpy().T, cmap="coolwarm")
    plt.axvline(len(DATA) - rows[0] - 0.5, color="k")
    plt.title("the gradient by the data: each rank has its rows")
    plt.show()
