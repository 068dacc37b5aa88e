"""What does the gradient of a whole NumPy program cost? `make bench ARGS="numpy_programs --quick"`

The programs are in `numpy_program_texts.py`. Four ways to their gradients are compared with the time of the program
itself on NumPy's arrays: eager, with Pullback in the place of NumPy; adapted, where the program stays as it is; adapted
and compiled; and HIPS autograd, where it can do the program at all (it has no writes to arrays).
"""

import functools
import importlib
import statistics
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

_TEXT = Path(__file__).with_name("numpy_program_texts.py")


@dataclass(frozen=True)
class Program:
    """A program under the name of its function, what draws its operands, and two sizes."""

    name: str
    operands: Callable[[np.random.Generator, int], list[Any]]
    small: int
    large: int
    overwrites: bool

    def arrays(self, size: int) -> list[np.ndarray]:
        """The operands, the same for everybody."""
        return [np.asarray(each, dtype=float) for each in self.operands(np.random.default_rng(7), size)]


@functools.cache
def texts(namespace: str) -> types.ModuleType:
    """The module of the programs, with this namespace as `np`."""
    module = types.ModuleType(f"numpy_programs_on_{namespace.partition('.')[0]}")
    text = _TEXT.read_text().replace("import numpy as np", f"import {namespace} as np", 1)
    exec(compile(text, str(_TEXT), "exec"), vars(module))
    return module


def programs() -> list[Program]:
    """All of them."""
    return [Program(name, *rest) for name, (_, *rest) in texts("numpy").PROGRAMS.items()]


# Ways to a gradient ---------------------------------------------------------------------------------------------------

Gradient = Callable[..., tuple[float, list[np.ndarray]]]
"""The value and the gradients by all operands."""


def by_pullback(function: Callable[..., Any]) -> Gradient:
    """The gradient of a function of tensors."""
    pullback = importlib.import_module("pullback")

    def gradient(*arrays: np.ndarray) -> tuple[float, list[np.ndarray]]:
        leaves = [pullback.tensor(array, requires_grad=True) for array in arrays]
        value = function(*leaves)
        found = pullback.autograd.grad(value, leaves)
        return value.item(), [each.numpy() for each in found]

    return gradient


def by_autograd(function: Callable[..., Any], count: int) -> Gradient:
    """The same by HIPS autograd."""
    return importlib.import_module("autograd").value_and_grad(function, tuple(range(count)))


def ways(name: str, count: int) -> dict[str, Callable[[], Gradient]]:
    """How to make each gradient of the program of this name, which has so many operands."""
    pullback = importlib.import_module("pullback")
    adapted = pullback.func.adapt(getattr(texts("numpy"), name))
    return {
        "eager": lambda: by_pullback(getattr(texts("pullback"), name)),
        "adapted": lambda: by_pullback(adapted),
        "compiled": lambda: by_pullback(pullback.compile(adapted)),
        "autograd": lambda: by_autograd(getattr(texts("autograd.numpy"), name), count),
    }


# Measuring ------------------------------------------------------------------------------------------------------------


def able(name: str, arrays: list[np.ndarray]) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """What to time, NumPy's own run first, and why the others cannot do the program."""
    function = getattr(texts("numpy"), name)
    runs: dict[str, Callable[[], Any]] = {"numpy": lambda: function(*arrays)}
    reasons, expected = {}, None
    for way, make in ways(name, len(arrays)).items():
        try:
            gradient = make()
            _, found = gradient(*arrays)
        except Exception as error:  # autograd has no class of its own for what it cannot do
            reasons[way] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        expected = expected or found
        for actual, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-6, atol=1e-8, err_msg=f"{name}: {way}")
        runs[way] = lambda gradient=gradient: gradient(*arrays)
    return runs, reasons


def measured(program: Program, options: Options) -> dict[str, Any]:
    """The best time of every way, and why some are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs, reasons = able(program.name, program.arrays(program.large))
        best = {name: min(times) for name, times in time_in_turns(runs, options).items()}
    return {"name": program.name, "best": best, "reasons": reasons}


def ratio(best: Mapping[str, float], name: str, base: str) -> float | None:
    """How many times as long one takes as the other, if both were measured."""
    return best[name] / best[base] if name in best and base in best else None


_COLUMNS = (("eager", "numpy"), ("adapted", "eager"), ("compiled", "numpy"), ("autograd", "numpy"))


def main(options: Options) -> None:
    """Measure, print and store everything in this file."""
    found = [measured(each, options) for each in programs() if options.only in each.name]
    rows, columns = [], {pair: [] for pair in _COLUMNS}
    for each in found:
        ratios = {pair: ratio(each["best"], *pair) for pair in _COLUMNS}
        rows.append([
            each["name"], format_seconds(each["best"]["numpy"]),
            *("-" if value is None else f"{value:.2f}" for value in ratios.values()),
        ])  # fmt: skip
        for pair, value in ratios.items():
            columns[pair] += [] if value is None else [value]
    rows.append(["median", "", *(f"{statistics.median(values):.2f}" if values else "-" for values in columns.values())])
    heads = [f"{name} / {base}" for name, base in _COLUMNS]
    print_table("gradients of whole programs, over a plain run by NumPy", ["program", "numpy", *heads], rows)
    for each in found:
        for way, reason in each["reasons"].items():
            if way != "autograd":
                print(f"  {each['name']}, {way}: {reason}")
    report = Report("numpy_programs")
    report.findings["programs"] = found
    report.write()


if __name__ == "__main__":
    main(Options())
