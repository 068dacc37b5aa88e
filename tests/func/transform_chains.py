"""Every transform of `pb.func` inside every other, to any depth, with maps at every position, against a closed form.

    python -m tests.func.transform_chains --depth 4 --jobs 2

A chain is a tuple of names, outermost first, around `x * exp(x)`. Its derivative of order n is `(x + n) * exp(x)`, so
a lost, a doubled and a mixed-up derivative all show, and it grows by one term per order. There are two maps:

- `vmap` maps over an axis of the point, so what is inside sees numbers that what is outside sees as vectors;
- `shared_vmap` maps over numbers that are added to the point in the innermost function, and averages: all transforms
  between differentiate with respect to an array without the batch dimension that their function captures.

`chains(depth)` yields all words of up to `depth` letters of the nine derivatives and `vmap`; and all words of the nine
derivatives alone with a map inserted, of either kind, at each position and at all positions at once.
"""

import argparse
import itertools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

import pullback as pb
from pullback.func import grad, grad_and_value, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap

Chain = tuple[str, ...]
Function = Callable[[pb.Tensor], pb.Tensor]

SHIFTS = np.array([-0.2, 0.1])
MOST_ELEMENTS = 4  # of the point: a Hessian has its square, and a Hessian of a Hessian the square of that


# The derivatives of an elementwise function, each by one transform ----------------------------------------------------


def total(f: Function) -> Function:
    return lambda x: f(x).sum()


def pulled_back(f: Function, x: pb.Tensor) -> pb.Tensor:
    out, pull = vjp(f, x)
    return pull(pb.ones_like(out))[0]


def row_sums(matrix: pb.Tensor, x: pb.Tensor) -> pb.Tensor:
    """The diagonal of a diagonal matrix, whose rows and columns have the shape of `x`."""
    return matrix.sum(axis=tuple(range(x.ndim, 2 * x.ndim))) if x.ndim else matrix


DERIVATIVES: dict[str, Callable[[Function, pb.Tensor], pb.Tensor]] = {
    "grad": lambda f, x: grad(total(f))(x),
    "grad_and_value": lambda f, x: grad_and_value(total(f))(x)[0],
    "vjp": pulled_back,
    "jvp": lambda f, x: jvp(f, (x,), (pb.ones_like(x),))[1],
    "linearize": lambda f, x: linearize(f, x)[1](pb.ones_like(x)),
    "jacrev": lambda f, x: row_sums(jacrev(f)(x), x),
    "jacfwd": lambda f, x: row_sums(jacfwd(f)(x), x),
    "hessian": lambda f, x: row_sums(hessian(total(f))(x), x),
    "hvp": lambda f, x: hvp(total(f), (x,), (pb.ones_like(x),))[1],
}
ORDERS = {name: 2 if name in ("hessian", "hvp") else 1 for name in DERIVATIVES}
MAPS = ("vmap", "shared_vmap")


# Chains ---------------------------------------------------------------------------------------------------------------


def chains(depth: int) -> Iterator[Chain]:
    """All chains that are to be true, the short ones first, each once."""
    for length in range(1, depth + 1):
        yield from itertools.product((*DERIVATIVES, "vmap"), repeat=length)
        for names in itertools.product(DERIVATIVES, repeat=length):
            yield from with_maps(names, depth)


def with_maps(names: Chain, depth: int) -> Iterator[Chain]:
    """A chain with a map at each position, and at all of them; without those that are words of ten letters anyway."""
    for kind in MAPS:
        once = [(*names[:place], kind, *names[place:]) for place in range(len(names) + 1)]
        everywhere = (kind, *itertools.chain.from_iterable((name, kind) for name in names))
        yield from (chain for chain in (*once, everywhere) if kind != "vmap" or len(chain) > depth)


def value(chain: Chain, x: pb.Tensor, shift: pb.Tensor | None = None) -> pb.Tensor:
    """The derivative of `y * exp(y)` that the chain takes, at `y = x + shift`."""
    if not chain:
        y = x if shift is None else x + shift
        return y * pb.exp(y)
    name, rest = chain[0], chain[1:]
    if name == "vmap":
        return vmap(lambda one: value(rest, one, shift))(x)
    if name == "shared_vmap":
        shifts = pb.tensor(SHIFTS)
        return vmap(lambda s: value(rest, x, s if shift is None else shift + s))(shifts).mean(axis=0)
    return DERIVATIVES[name](lambda at: value(rest, at, shift), x)


def order_of(chain: Chain) -> int:
    return sum(ORDERS.get(name, 0) for name in chain)


def point_for(chain: Chain) -> np.ndarray:
    """A vector, or an array with an axis for every map: few of them longer than one, others in other chains."""
    maps = chain.count("vmap")
    shape = [1] * max(maps, 1)
    for turn in range(min(len(shape), MOST_ELEMENTS.bit_length() - 1)):
        shape[(order_of(chain) + turn) % len(shape)] = 2
    return 0.7 - 0.4 * np.arange(np.prod(shape)).reshape(shape)


def closed_form(chain: Chain, point: np.ndarray) -> np.ndarray:
    sums = [sum(shifts) for shifts in itertools.product(SHIFTS, repeat=chain.count("shared_vmap"))]
    return np.mean([(point + s + order_of(chain)) * np.exp(point + s) for s in sums], axis=0)


def fault(chain: Chain) -> str | None:
    """What is wrong with this chain, or None."""
    point = point_for(chain)
    expected = closed_form(chain, point)
    try:
        found = value(chain, pb.tensor(point)).numpy()
    except Exception as error:  # whatever it is, it is the finding
        return f"{' '.join(chain)}: {type(error).__name__}: {error}"
    if found.shape == expected.shape and np.allclose(found, expected, rtol=1e-9, atol=0):
        return None
    return f"{' '.join(chain)}: {found.tolist()} instead of {expected.tolist()}"


# The command ----------------------------------------------------------------------------------------------------------


def faults(wanted: list[Chain], jobs: int) -> Iterator[str | None]:
    """What is wrong with each of these, as it is found."""
    if jobs == 1:
        yield from map(fault, wanted)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(fault, wanted, chunksize=50)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.func.transform_chains", description=__doc__.split("\n")[0])
    parser.add_argument("--depth", type=int, default=4, help="derivatives per chain, at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="leave out this many chains")
    parser.add_argument("--every", type=int, default=1, help="take one chain of this many")
    parser.add_argument("--only", default="", help="one chain: its names, separated by spaces")
    options = parser.parse_args()
    wanted = [tuple(options.only.split())] if options.only else [*chains(options.depth)]
    wanted = wanted[options.start :: options.every]
    started, wrong = time.monotonic(), 0
    for count, found in enumerate(faults(wanted, options.jobs), 1):
        if found is not None:
            wrong += 1
            print(found, flush=True)
        if count % 10_000 == 0:
            print(f"{count} of {len(wanted)}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(f"{len(wanted) - wrong} of {len(wanted)} chains agree, {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
