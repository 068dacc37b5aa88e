"""What do derivatives of SciPy's functions cost? Value and gradient, as a multiple of SciPy's own call for the value.

Each row is a problem as users write it. SciPy is given a callback in NumPy; Pullback the same in `pb`, which it
compiles once it was called often enough: every row runs a few times before it is timed. Values are compared first.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.runner import Options, Report, format_seconds, print_table, time_in_turns


@dataclass(frozen=True)
class Problem:
    """A row: SciPy's call for the value, ours for value and gradient, and the ratio that we aim at."""

    name: str
    plain: Callable[[], Any]
    ours: Callable[[], Any]
    aim: float


def problems() -> list[Problem]:
    """All rows."""
    import scipy.integrate as si
    import scipy.interpolate as sp
    import scipy.ndimage as sn
    import scipy.optimize as so
    import scipy.sparse as ss
    import scipy.sparse.linalg as sl
    import scipy.stats as st

    pb = importlib.import_module("pullback")
    names = ("integrate", "interpolate", "ndimage", "optimize", "stats")
    ours = {name: importlib.import_module(f"pullback.scipy.{name}") for name in names}
    ours["sparse"] = importlib.import_module("pullback.scipy.sparse.linalg")
    sparse = importlib.import_module("pullback.scipy.sparse")

    def with_gradient(function: Callable[..., Any], *values: Any) -> Callable[[], Any]:
        leaves = [pb.tensor(np.asarray(value, dtype=float), requires_grad=True) for value in values]

        def run() -> Any:
            out = function(*leaves)
            pb.autograd.grad(out.sum(), leaves)
            return out.detach().numpy()

        return run

    rates = np.array([1.5, 1.0, 3.0, 1.0])

    def hunting(p: Any) -> Any:
        return ours["integrate"].solve_ivp(
            lambda t, y: [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]],
            (0, 10), [10.0, 5.0], rtol=1e-6,
        ).y[:, -1]  # fmt: skip

    def plain_hunting() -> Any:
        p = rates
        return si.solve_ivp(
            lambda t, y: [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]],
            (0, 10), [10.0, 5.0], rtol=1e-6,
        ).y[:, -1]  # fmt: skip

    levels = np.linspace(1, 2, 10)
    times = np.linspace(0, 4, 1000)
    data = 2.5 * np.exp(-1.3 * times) + 0.5
    side = 40
    line = ss.diags_array([-np.ones(side - 1), 2.0 * np.ones(side), -np.ones(side - 1)], offsets=[-1, 0, 1])
    plate = (ss.kron(line, ss.eye_array(side)) + ss.kron(ss.eye_array(side), line)).tocsr()
    load = np.ones(side * side)
    knots = np.linspace(0, 10, 200)
    points = np.random.default_rng(0).random(10_000) * 10

    image = np.random.default_rng(1).standard_normal((1024, 1024))
    places = np.indices(image.shape) + np.random.default_rng(2).uniform(-3, 3, (2, *image.shape))
    sample = np.abs(np.random.default_rng(1).standard_normal(1_000_000)) + 0.1
    laws: list[tuple[str, list[float]]] = [("norm", []), ("gamma", [2.0]), ("t", [3.0])]

    def density(name: str) -> Callable[..., Any]:
        return lambda x, *parameters: getattr(ours["stats"], name).logpdf(x, *parameters)

    def plain_density(name: str, shapes: list[float]) -> Callable[[], Any]:
        return lambda: getattr(st, name).logpdf(sample, *shapes, 0.0, 1.2)

    def system(level: Any, xp: Any) -> Callable[[Any], Any]:
        return lambda y: y**3 + 0.1 * xp.sum(y) - level

    return [
        Problem("brentq", lambda: so.brentq(lambda y: np.cos(y) - 0.5 * y, 0, 2),
                with_gradient(lambda p: ours["optimize"].brentq(lambda y: pb.cos(y) - p * y, 0, 2), 0.5), 3.0),
        Problem("root of 10 equations", lambda: so.root(system(levels, np), np.ones(10)).x,
                with_gradient(lambda a: ours["optimize"].root(system(a, pb), np.ones(10)).x, levels), 2.0),
        Problem("minimum of 20 variables", lambda: so.minimize(so.rosen, np.full(20, 0.9)).x,
                with_gradient(lambda a: ours["optimize"].minimize(
                    lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2).sum(), np.full(20, 0.9)
                ).x, 1.0), 0.3),
        Problem("curve_fit of 1000 points",
                lambda: so.curve_fit(lambda t, a, b, c: a * np.exp(-b * t) + c, times, data, p0=[1.0, 1.0, 0.0])[0],
                with_gradient(lambda y: ours["optimize"].curve_fit(
                    lambda t, a, b, c: a * pb.exp(-b * t) + c, times, y, p0=[1.0, 1.0, 0.0]
                )[0], data), 2.0),
        Problem("quad", lambda: si.quad(lambda t: np.exp(-1.3 * t * t), 0, 2)[0],
                with_gradient(lambda p: ours["integrate"].quad(lambda t: pb.exp(-p * t * t), 0, 2)[0], 1.3), 3.0),
        Problem("solve_ivp, hunters and hunted", plain_hunting, with_gradient(hunting, rates), 3.0),
        Problem("spsolve of 1600 unknowns", lambda: sl.spsolve(plate, load),
                with_gradient(lambda d, b: ours["sparse"].spsolve(
                    sparse.csr_array((d, plate.indices, plate.indptr), shape=plate.shape), b
                ), plate.data, load), 2.2),
        Problem("spline of 200 knots at 10000 points", lambda: sp.CubicSpline(knots, np.sin(knots))(points),
                with_gradient(lambda y, x: ours["interpolate"].CubicSpline(knots, y)(x), np.sin(knots), points), 3.0),
        Problem("gaussian_filter of 1024 x 1024", lambda: sn.gaussian_filter(image, 2.0),
                with_gradient(lambda x: ours["ndimage"].gaussian_filter(x, 2.0), image), 3.0),
        *(Problem(f"map_coordinates, order {order}, by image and coordinates",
                  lambda order=order: sn.map_coordinates(image, places, order=order),
                  with_gradient(lambda x, at, order=order: ours["ndimage"].map_coordinates(x, at, order=order),
                                image, places), 3.0) for order in (1, 3)),
        *(Problem(f"{name}.logpdf of 1000000", plain_density(name, shapes),
                  with_gradient(density(name), sample, *shapes, 0.0, 1.2), 1.5) for name, shapes in laws),
    ]  # fmt: skip


def main(options: Options) -> None:
    """Compare the values, then time in turns and print the ratios."""
    report = Report("scipy")
    rows = []
    for problem in problems():
        if options.only and options.only not in problem.name:
            continue
        for _ in range(12):
            found = problem.ours()
        np.testing.assert_allclose(found, problem.plain(), rtol=1e-4, err_msg=problem.name)
        samples = time_in_turns({"SciPy": problem.plain, "Pullback": problem.ours}, options)
        best = {name: min(times) for name, times in samples.items()}
        ratio = best["Pullback"] / best["SciPy"]
        rows.append([problem.name, *map(format_seconds, best.values()), f"{ratio:.1f}", f"<= {problem.aim}"])
        report.findings[problem.name] = {**best, "ratio": ratio, "aim": problem.aim}
    print_table("value and gradient, over SciPy's value", ["problem", "SciPy", "Pullback", "ratio", "aim"], rows)
    report.write()


if __name__ == "__main__":
    main(Options())
