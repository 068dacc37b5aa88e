"""What does compiling ahead of time bring, with NumPy alone, and what does a compiled call cost?

Three small problems, gradient included: eager code, the same function compiled and differentiated by `backward()`, and
its `grad_and_value` compiled as a whole. Then what a call costs (`bench/ahead_calls.py`), and how long the trace of a
function of a thousand operators takes.
"""

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.ahead_calls import calls
from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

AIM_OF_GRADIENTS = 0.5
AIM_OF_A_TRACE = 50e-3

_random = np.random.default_rng(7)
FEATURES, LABELS = _random.normal(size=(100, 10)), (_random.normal(size=100) > 0).astype(float)
IMAGES = _random.normal(size=(64, 32))


def rosenbrock(x: Any) -> Any:
    """The valley, ten dimensions."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def logistic(pb: Any) -> Callable[..., Any]:
    """The loss of logistic regression on a hundred examples."""
    features, labels = pb.asarray(FEATURES), pb.asarray(LABELS)

    def loss(w: Any) -> Any:
        scores = features @ w
        return (pb.log1p(pb.exp(-scores)) + (1 - labels) * scores).mean()

    return loss


def network(pb: Any) -> Callable[..., Any]:
    """The loss of a network with one hidden layer."""
    images = pb.asarray(IMAGES)

    def loss(w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        return ((pb.tanh(images @ w1 + b1) @ w2 + b2) ** 2).mean()

    return loss


def problems(pb: Any) -> dict[str, tuple[Callable[..., Any], list[np.ndarray]]]:
    """The functions and where their gradient is taken."""
    shapes = [(32, 32), (32,), (32, 8), (8,)]
    return {
        "Rosenbrock, n = 10": (rosenbrock, [_random.normal(size=10)]),
        "logistic regression, 100 x 10": (logistic(pb), [_random.normal(size=10)]),
        "network, 64 x 32": (network(pb), [_random.normal(size=shape) for shape in shapes]),
    }


def steps(pb: Any, function: Callable[..., Any], at: list[np.ndarray]) -> dict[str, Callable[[], Any]]:
    """The gradient, computed in three ways."""

    def backward(f: Callable[..., Any]) -> Callable[[], Any]:
        leaves = [pb.tensor(array, requires_grad=True) for array in at]

        def run() -> list[Any]:
            for leaf in leaves:
                leaf.grad = None
            f(*leaves).backward()
            return [leaf.grad for leaf in leaves]

        return run

    whole = pb.compile(pb.func.grad_and_value(function, argnums=tuple(range(len(at)))), backend="numpy")
    constants = [pb.tensor(array) for array in at]
    return {
        "eager": backward(function),
        "compiled, backward()": backward(pb.compile(function, backend="numpy")),
        "compiled grad_and_value": lambda: whole(*constants)[0],
    }


def trace_of_a_thousand(pb: Any) -> float:
    """Seconds for the trace of a function of 1000 operators."""

    def long(x: Any) -> Any:
        for _ in range(333):
            x = pb.sin(x) * 2 + 1
        return x.sum()

    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        pb.aot.trace(long, pb.aot.spec((8,)))
        best = min(best, time.perf_counter() - start)
    return best


def main(options: Options) -> None:
    """Compare the gradients, then time in turns and print the ratios."""
    pb: Any = importlib.import_module("pullback")
    report = Report("ahead")
    rows = []
    for name, (function, at) in problems(pb).items():
        if options.only not in name:
            continue
        cases = steps(pb, function, at)
        expected = cases["eager"]()
        for who, run in cases.items():
            for gradient, other in zip(run(), expected, strict=True):
                np.testing.assert_allclose(gradient.numpy(), other.numpy(), rtol=1e-12, err_msg=f"{name}: {who}")
        best = {who: min(times) for who, times in time_in_turns(cases, options).items()}
        report.findings[name] = best
        for who, seconds in best.items():
            aim = "" if who == "eager" else f"<= {AIM_OF_GRADIENTS:.2f}"
            rows.append([name, who, format_seconds(seconds), f"{seconds / best['eager']:.2f}", aim])
    print_table("gradients of small problems, NumPy backend", ["problem", "how", "best", "of eager", "aim"], rows)
    _print_calls(pb, report, options)
    seconds = report.findings["trace"] = trace_of_a_thousand(pb)
    print_table("the trace of 1000 operators", ["best", "aim"], [[format_seconds(seconds), "<= 50 ms"]])
    report.write()


def _print_calls(pb: Any, report: Report, options: Options) -> None:
    known = {name: call for name, call in calls(pb).items() if options.only in name}
    samples = time_in_turns({name: run for name, (run, _) in known.items()}, options)
    best = report.findings["call"] = {name: min(times) for name, times in samples.items()}
    rows = [[name, format_seconds(best[name]), _aim(best[name], aim)] for name, (_, aim) in known.items()]
    print_table("a call with arrays of 8 elements, native", ["how", "best", "aim"], rows)


def _aim(seconds: float, aim: float | None) -> str:
    return "" if aim is None else f"{'<=' if seconds <= aim else '> '} {aim * 1e6:.0f} us"


if __name__ == "__main__":
    main(Options())
