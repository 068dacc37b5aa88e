"""How close is compiled code to C? Value and gradient, beside the same written by hand.

The C is in this folder, with gradients derived on paper, and is compiled here, by the system's compiler, with
everything that it can do (`FLAGS`). It runs with one thread and with as many as Pullback has, and the better one
counts. Results are compared, then all take turns. `make bench ARGS=native`.
"""

import ctypes
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

import pullback as pb
from bench import workload_derivatives, workload_lstm, workload_mixture
from bench.runner import Options, Report, format_seconds, print_table, time_in_turns
from bench.workload_bodies import SOFTENING, STEP, by_writing, operands

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")
NAMES = (
    "stencil_1d", "stencil_2d", "elementwise", "black_scholes", "bodies", "lstm", "mixture", "process", "reaction",
)  # fmt: skip
Call = Callable[[], tuple[Any, list[Any]]]
"""The value, and the gradients."""


@dataclass(frozen=True)
class Row:
    """A function of arrays, the call of C on them, and the ratio that is aimed at.

    Behind the arrays by which it is differentiated are `fixed` others. With `jacobian` its result is not one number."""

    name: str
    function: Callable[..., Any]
    arrays: Sequence[np.ndarray]
    by_hand: Callable[[ctypes.CDLL, Sequence[np.ndarray]], Call]
    aim: float
    small: bool = True
    fixed: int = 0
    jacobian: bool = False

    def compiled(self) -> Call:
        """Pullback's."""
        wanted = tuple(range(len(self.arrays) - self.fixed))
        if self.jacobian:
            both: Any = lambda x: ((pb.func.jacfwd(self.function)(x),), self.function(x).sum())
        else:
            both = pb.func.grad_and_value(self.function, wanted)
        whole = pb.compile(both, fallback="raise")
        given = [pb.asarray(array) for array in self.arrays]

        def call() -> tuple[Any, list[Any]]:
            gradients, value = whole(*given)
            return value, list(gradients)

        return call


def library(folder: str) -> ctypes.CDLL | None:
    """The functions in C; None if the system has no compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    sources = sorted(map(str, Path(__file__).parent.glob("*.c")))
    made = os.path.join(folder, "by_hand.so")
    subprocess.run([compiler, *FLAGS, *sources, "-o", made, "-lm"], check=True)
    found = ctypes.CDLL(made)
    for name in NAMES:
        getattr(found, name).restype = ctypes.c_double
    return found


def _given(x: Any) -> Any:
    """An argument as C takes it."""
    if isinstance(x, np.ndarray):
        return ctypes.c_void_p(x.ctypes.data)
    return ctypes.c_longlong(x) if isinstance(x, int) else ctypes.c_double(x)


def calling(function: Any, arguments: Sequence[Any], gradients: list[np.ndarray]) -> Call:
    """A call of a function in C, which writes the gradients."""
    given = [_given(x) for x in arguments]

    def call(held: Any = arguments) -> tuple[Any, list[Any]]:  # C has their addresses
        return function(*given), gradients

    return call


# Stencils -------------------------------------------------------------------------------------------------------------

# The offsets of the taps, and their weights.
TAPS_1D = {3: ((-1, 0, 1), (0.2, 0.6, 0.2)), 5: ((-2, -1, 0, 1, 2), (0.1, 0.2, 0.4, 0.2, 0.1))}
CROSS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
SQUARE = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1))
DIAMOND = (*SQUARE, (0, 2), (0, -2), (2, 0), (-2, 0))
TAPS_2D = {
    5: (CROSS, (0.6, *(0.1,) * 4)),
    9: (SQUARE, (*(0.05,) * 4, 0.6, *(0.05,) * 4)),
    13: (DIAMOND, (1 / 13,) * 13),
}


def steps_of(count: int, offsets: Any, weights: Any, reach: int, in_place: bool) -> Callable[[Any], Any]:
    """Steps of a stencil, and the sum of squares behind them, as one writes them in NumPy."""
    offsets = [offset if isinstance(offset, tuple) else (offset,) for offset in offsets]

    def f(u: Any) -> Any:
        inside = tuple(slice(reach, -reach) for _ in u.shape)
        if in_place:
            u = u.copy()
        for _ in range(count):
            new = sum(
                weight * u[tuple(slice(reach + k, n - reach + k) for n, k in zip(u.shape, offset, strict=True))]
                for offset, weight in zip(offsets, weights, strict=True)
            )
            if not in_place:
                u = u.copy()
            u[inside] = new
        return (u * u).sum()

    return f


def stencil(
    found: ctypes.CDLL, arrays: Sequence[np.ndarray], count: int, offsets: Any, weights: Any, reach: int
) -> Call:
    """The same in C."""
    (u,), gradient = arrays, np.empty_like(arrays[0])
    places, factors = np.ascontiguousarray(np.array(offsets, np.int64).T), np.array(weights)
    function = found.stencil_1d if u.ndim == 1 else found.stencil_2d
    return calling(function, [u, gradient, *u.shape, count, len(weights), places, factors, reach], [gradient])


def stencils() -> Iterator[Row]:
    """One and two dimensions, of three to thirteen points, in place and out of place."""
    rng = np.random.default_rng(1)
    cases: list[tuple[tuple[int, ...], int, int, Any]] = [
        ((1_000,), 1000, 3, TAPS_1D), ((100_000,), 100, 3, TAPS_1D), ((100_000,), 100, 5, TAPS_1D),
        ((64, 64), 100, 5, TAPS_2D), ((256, 256), 100, 5, TAPS_2D), ((256, 256), 100, 9, TAPS_2D),
        ((256, 256), 100, 13, TAPS_2D), ((1000, 1000), 20, 5, TAPS_2D),
    ]  # fmt: skip
    for shape, count, points, taps in cases:
        offsets, weights = taps[points]
        reach = 1 if points in (3, 9) or (points == 5 and len(shape) == 2) else 2
        for in_place in (True, False):
            way = "in place" if in_place else "out of place"
            name = f"stencil {' x '.join(map(str, shape))}, {points} points, {count} steps, {way}"
            by_hand = partial(stencil, count=count, offsets=offsets, weights=weights, reach=reach)
            function = steps_of(count, offsets, weights, reach, in_place)
            yield Row(name, function, [rng.standard_normal(shape)], by_hand, 1.5, math.prod(shape) < 1e6)


# Elementwise ----------------------------------------------------------------------------------------------------------


def softplus_and_tanh(x: Any) -> Any:
    """A few functions of every element, added up."""
    return pb.tanh(pb.log(pb.exp(x) + 1.0) * x).sum()


def calls(spot: Any, strike: Any, time: Any, volatility: Any, rate: Any) -> Any:
    """Prices of European calls after Black and Scholes, added up."""
    width = volatility * pb.sqrt(time)
    d1 = (pb.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / width
    normal = lambda d: 0.5 + 0.5 * pb.special.erf(d / math.sqrt(2))
    return (spot * normal(d1) - strike * pb.exp(-rate * time) * normal(d1 - width)).sum()


def elementwise() -> Iterator[Row]:
    """Mathematics of many elements."""
    rng = np.random.default_rng(2)
    for n in (1_000, 100_000, 1_000_000):

        def by_hand(found: ctypes.CDLL, arrays: Sequence[np.ndarray]) -> Call:
            gradient = np.empty_like(arrays[0])
            return calling(found.elementwise, [*arrays, gradient, len(gradient)], [gradient])

        yield Row(f"elementwise chain, {n}", softplus_and_tanh, [rng.uniform(0.1, 1, n)], by_hand, 1.1, n < 1e6)
    for n in (1_000, 100_000, 1_000_000):

        def by_greeks(found: ctypes.CDLL, arrays: Sequence[np.ndarray]) -> Call:
            gradient = np.empty((5, len(arrays[0])))
            return calling(found.black_scholes, [*arrays, gradient, gradient.shape[1]], list(gradient))

        arrays = [rng.uniform(low, high, n) for low, high in ((80, 120), (80, 120), (0.2, 2), (0.1, 0.5), (0.0, 0.1))]
        yield Row(f"Black-Scholes, {n}", calls, arrays, by_greeks, 1.1, n < 1e6)


# Bodies ---------------------------------------------------------------------------------------------------------------


def bodies() -> Iterator[Row]:
    """The workload of `workload_bodies.py`, written in place."""
    for count, steps in ((5, 1000), (100, 100)):

        def by_hand(found: ctypes.CDLL, arrays: Sequence[np.ndarray], count: int = count, steps: int = steps) -> Call:
            gradients = [np.empty_like(array) for array in arrays]
            return calling(found.bodies, [*arrays, *gradients, count, steps, STEP, SOFTENING], gradients)

        arrays = operands(count)(np.random.default_rng(7))
        yield Row(f"n-body, {count} bodies, {steps} steps", partial(by_writing, steps, pb), arrays, by_hand, 1.3)


# Statistics and networks ----------------------------------------------------------------------------------------------


def lstms() -> Iterator[Row]:
    """The workload of `workload_lstm.py`, by a plain loop."""
    for layers, steps in ((2, 64), (2, 1024)):

        def by_hand(found: ctypes.CDLL, arrays: Sequence[np.ndarray], layers: int = layers, steps: int = steps) -> Call:
            gradients = [np.empty_like(array) for array in arrays[:2]]
            return calling(found.lstm, [*arrays, *gradients, layers, steps], gradients)

        arrays = workload_lstm.operands(layers, steps)(np.random.default_rng(3))
        function = partial(workload_lstm.forward, workload_lstm.by_loop, pb)
        yield Row(f"LSTM, {layers} layers, {steps} steps", function, arrays, by_hand, 1.1, fixed=2)


def mixtures() -> Iterator[Row]:
    """The workload of `workload_mixture.py`."""
    for n, d, k in ((1000, 2, 5), (1000, 10, 25), (10_000, 10, 100)):

        def by_hand(found: ctypes.CDLL, arrays: Sequence[np.ndarray], n: int = n, d: int = d, k: int = k) -> Call:
            gradients = [np.empty_like(array) for array in arrays[:3]]
            return calling(found.mixture, [*arrays[:4], *gradients, n, d, k], gradients)

        arrays = workload_mixture.operands(n, d, k)(np.random.default_rng(4))
        less = workload_mixture.constant(n, d, k)

        def function(*given: Any, less: float = less) -> Any:
            return workload_mixture.objective(pb.concat, pb.logsumexp, pb, *given) - less

        yield Row(f"Gaussian mixture, n={n} d={d} K={k}", function, arrays, by_hand, 1.5, n * d * k < 1e6, fixed=2)


def processes() -> Iterator[Row]:
    """The likelihood of a Gaussian process of `workload_derivatives.py`. C has LAPACK from SciPy."""
    for n in (20, 100, 200):

        def by_hand(found: ctypes.CDLL, arrays: Sequence[np.ndarray], n: int = n) -> Call:
            gradient = np.empty(3)
            lapack = [address_of(cython_lapack.__pyx_capi__[name]) for name in ("dpotrf", "dpotri")]
            return calling(found.process, [*arrays[:3], gradient, n, *lapack], [gradient])

        arrays = workload_derivatives.points(n)(np.random.default_rng(5))
        function = partial(workload_derivatives.process, pb)
        yield Row(f"Gaussian process, n={n}", function, arrays, by_hand, 1.2, fixed=3)


def address_of(capsule: Any) -> int:
    """Where a function of Cython's lies."""
    ctypes.pythonapi.PyCapsule_GetName.restype = ctypes.c_char_p
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    name = ctypes.pythonapi.PyCapsule_GetName(ctypes.py_object(capsule))
    return ctypes.pythonapi.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name))


def jacobians() -> Iterator[Row]:
    """All derivatives of a reaction on a ring, as a dense matrix."""
    for n in (10, 100, 500):

        def by_hand(found: ctypes.CDLL, arrays: Sequence[np.ndarray], n: int = n) -> Call:
            jacobian = np.empty((n, n))
            return calling(found.reaction, [*arrays, jacobian, n], [jacobian])

        function = partial(workload_derivatives.reaction, pb)
        arrays = [np.random.default_rng(6).standard_normal(n)]
        yield Row(f"Jacobian of a reaction, n={n}", function, arrays, by_hand, 1.2, jacobian=True)


def rows(options: Options) -> list[Row]:
    """What was asked for."""
    found = [*stencils(), *elementwise(), *bodies(), *lstms(), *mixtures(), *processes(), *jacobians()]
    return [row for row in found if options.only in row.name and (row.small or not options.quick)]


def measure(row: Row, found: ctypes.CDLL, options: Options) -> dict[str, Any]:
    """Compare, then time in turns."""
    ours, by_hand = row.compiled(), row.by_hand(found, row.arrays)
    (value, gradients), (expected, theirs) = ours(), by_hand()
    np.testing.assert_allclose(value.numpy(), expected, rtol=1e-8)
    for mine, wanted in zip(gradients, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), wanted, rtol=1e-7, atol=1e-8 * np.abs(wanted).max())

    def with_threads(count: int) -> Any:
        found.omp_set_num_threads(count)
        return by_hand()

    runs = {"pullback": ours}
    for count in sorted({1, pb.get_num_threads()}):
        runs[f"C, {count} thread{'s' * (count > 1)}"] = partial(with_threads, count)
    best = {name: min(times) for name, times in time_in_turns(runs, options).items()}
    ratio = best["pullback"] / min(seconds for name, seconds in best.items() if name != "pullback")
    return {"name": row.name, "best": best, "ratio": ratio, "aim": row.aim}


def main(options: Options) -> None:
    """Print the table and store it."""
    report = Report("native")
    with tempfile.TemporaryDirectory() as folder:
        found = library(folder)
        if found is None:
            print("  there is no C compiler here")
            return
        measured = [measure(row, found, options) for row in rows(options)]
    lines = [
        [each["name"], f"{each['ratio']:.2f} {'<=' if each['ratio'] <= each['aim'] else '> '} {each['aim']:.2f}",
         *map(format_seconds, each["best"].values())]
        for each in measured
    ]  # fmt: skip
    print_table("value and gradient", ["", "ratio to C", *measured[0]["best"]], lines)
    report.findings["rows"] = measured
    report.write()
