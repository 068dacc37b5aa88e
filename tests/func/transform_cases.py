"""What the tests of robustness share: a program, and every transform applied to it."""

import pullback as pb
from pullback.core.state import current, open_levels, running_pass
from pullback.func import grad, grad_and_value, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap


def x3(**options):
    return pb.tensor([1.0, 2.0, 3.0], **options)


def t3():
    return pb.tensor([1.0, 10.0, 100.0])


def program(x):
    """Some of everything: views, writes, a reduction."""
    y = pb.zeros(4)
    y[1:] = pb.sin(x) * x
    y[0] += y[1:].sum()
    part = y[::2]
    part *= 2
    return (y * y).sum()


TRANSFORMS = {
    "grad": lambda f: grad(f)(x3()),
    "grad_and_value": lambda f: grad_and_value(f)(x3()),
    "vjp": lambda f: vjp(f, x3())[1](pb.tensor(1.0)),
    "jvp": lambda f: jvp(f, (x3(),), (t3(),)),
    "vmap": lambda f: vmap(f)(pb.stack([x3(), t3()])),
    "vmap in chunks": lambda f: vmap(f, chunk_size=1)(pb.stack([x3(), t3()])),
    "linearize": lambda f: linearize(f, x3())[1](t3()),
    "jacrev": lambda f: jacrev(f)(x3()),
    "jacfwd": lambda f: jacfwd(f)(x3()),
    "hessian": lambda f: hessian(f)(x3()),
    "hvp": lambda f: hvp(f, (x3(),), (t3(),)),
    "hvp rev_fwd": lambda f: hvp(f, (x3(),), (t3(),), strategy="rev_fwd"),
    "hvp rev_rev": lambda f: hvp(f, (x3(),), (t3(),), strategy="rev_rev"),
    "grad of grad": lambda f: grad(lambda x: grad(f)(x).sum())(x3()),
    "vmap of grad": lambda f: vmap(grad(f))(pb.stack([x3(), t3()])),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(pb.stack([x3(), t3()])),
    "jvp of vmap": lambda f: jvp(vmap(f), (pb.stack([x3(), t3()]),), (pb.ones((2, 3)),)),
}


def is_clean():
    return current().transforms == () and current().vmaps == () and not open_levels and running_pass.get() is None
