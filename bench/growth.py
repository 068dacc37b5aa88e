"""How do the costs of reading and writing parts grow, with the size of the array and with the number of steps?

A step reads or writes one element or a slice of three. It should cost the same whatever the size of the array, and the
thousandth step what the first did; what a whole array costs in a pass comes once. Each table has the cost of one step,
forward and backward, and the last column says how much more the last column of sizes costs than the first.

The last table is about compiled functions: what the first value and gradient cost for every operator that is traced, by
the number of those, where a loop is found and where nothing repeats itself.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from bench import frameworks
from bench.runner import Options, Report, format_seconds, print_table

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
STEPS = (100, 1_000, 10_000, 100_000)
FEW = 100  # steps, where the size of the array is asked about
# Who makes a whole array at every step is not asked to make more bytes than this.
MOST_BYTES = 20_000_000_000


def read_elements(x: Any, steps: int) -> Any:
    """`x[i] * x[i]`, added up."""
    total = x[0]
    for i in range(steps):
        total = total + x[i] * x[i]
    return total


def read_slices(x: Any, steps: int) -> Any:
    """Slices of three, added up."""
    total = x[0:3]
    for i in range(steps):
        total = total + x[i : i + 3]
    return total.sum()


def write_elements(x: Any, steps: int) -> Any:
    """A constant to each element."""
    h = x * 1
    for i in range(steps):
        h[i] = 0.5
    return h.sum()


def write_slices(x: Any, steps: int) -> Any:
    """`*=` on slices of three."""
    h = x * 1
    for i in range(steps):
        h[i : i + 3] *= 0.9
    return h.sum()


def fill(x: Any, steps: int) -> Any:
    """Each element from the one before."""
    h = x * 1
    for i in range(steps):
        h[i + 1] = h[i] * 0.9
    return h.sum()


PROGRAMS: dict[str, Callable[[Any, int], Any]] = {
    "t + x[i] * x[i]": read_elements,
    "t + x[i:i+3]": read_slices,
    "h[i] = 0.5": write_elements,
    "h[i:i+3] *= 0.9": write_slices,
    "h[i+1] = h[i] * 0.9": fill,
}


def seconds(adapter: Any, program: Callable[..., Any], size: int, steps: int, rounds: int) -> tuple[float, float]:
    """The least processor time of a forward and of a backward pass."""
    (x,) = adapter.leaves([np.linspace(0.5, 1.5, size)])
    forward = backward = float("inf")
    program(x, 3).backward()
    gc.collect()
    for _ in range(rounds):
        x.grad = None
        start = time.process_time()
        out = program(x, steps)
        middle = time.process_time()
        out.backward()
        end = time.process_time()
        forward, backward = min(forward, middle - start), min(backward, end - middle)
    return forward, backward


def table(title: str, sizes: list[tuple[int, int]], labels: list[str], options: Options) -> dict[str, Any]:
    """Print what one step costs for each pair of size and steps, and return it."""
    found: dict[str, Any] = {}
    rows = []
    for label, program in PROGRAMS.items():
        for name, adapter in frameworks.load():
            if name not in ("pullback", "torch") or options.only not in f"{name}: {label}":
                continue
            passes: tuple[list[float | None], list[float | None]] = ([], [])
            for size, steps in sizes:
                is_feasible = name == "pullback" or 8 * size * steps <= MOST_BYTES / (10 if options.quick else 1)
                rounds = max(1, min(3 if options.quick else 9, 30_000 // steps))
                costs = seconds(adapter, program, size, steps, rounds) if is_feasible else (None, None)
                for costs_of_pass, cost in zip(passes, costs, strict=True):
                    costs_of_pass.append(None if cost is None else cost / steps)
            for direction, costs_of_pass in zip(("forward", "backward"), passes, strict=True):
                known = [cost for cost in costs_of_pass if cost is not None]
                growth = f"{known[-1] / known[0]:.1f} x"
                rows.append([f"{label}, {name}, {direction}", *map(format_seconds, costs_of_pass), growth])
                found[f"{label}, {name}, {direction}"] = costs_of_pass
    print_table(title, ["one step", *labels, "last to first"], rows)
    return found


# Compiled functions ---------------------------------------------------------------------------------------------------

OPERATORS = (1_000, 10_000, 100_000, 1_000_000)
IN_A_STEP = 5


def repeated(count: int) -> Callable[[Any, Any], Any]:
    """A loop of so many operators in all."""

    def function(x: Any, w: Any) -> Any:
        h = x[0]
        for k in range(count // IN_A_STEP):
            h = pb.tanh(h * w + x[k]) * 0.5
        return h.sum()

    return function


def irregular(count: int) -> Callable[[Any, Any], Any]:
    """So many operators in an order that does not repeat itself."""
    order = np.random.default_rng(0).integers(0, 4, count).tolist()

    def function(x: Any, w: Any) -> Any:
        h, v = x[0], w
        for choice in order:
            if choice == 0:
                h = pb.tanh(h)
            elif choice == 1:
                h, v = h * v, h
            elif choice == 2:
                h = h + v
            else:
                h, v = pb.sin(v), h
        return h.sum()

    return function


def first_call(make: Callable[[int], Callable[..., Any]], count: int) -> float:
    """Processor time of the first value and gradient for each operator that is traced."""
    x = pb.tensor(np.linspace(0.1, 0.9, 4 * (count // IN_A_STEP)).reshape(-1, 4), requires_grad=True)
    w = pb.tensor(np.linspace(0.2, 1.2, 4), requires_grad=True)
    compiled = pb.compile(make(count), fallback="raise")
    gc.collect()
    start = time.process_time()
    compiled(x, w).backward()
    return (time.process_time() - start) / count


def first_calls(options: Options) -> dict[str, Any]:
    """Print what operators cost until the first gradient is there, and return it."""
    counts = OPERATORS[:2] if options.quick else OPERATORS
    found: dict[str, Any] = {}
    rows = []
    for label, make in (("a loop", repeated), ("nothing repeated", irregular)):
        if options.only in label:
            first_call(make, 500)  # what is imported and compiled once
            found[label] = costs = [first_call(make, count) for count in counts]
            rows.append([label, *map(format_seconds, costs), f"{costs[-1] / costs[0]:.1f} x"])
    title = "first value and gradient of a compiled function, by the number of operators"
    print_table(title, ["one operator", *[f"{count:,}" for count in counts], "last to first"], rows)
    return found


def main(options: Options) -> None:
    """Print the tables and store them."""
    report = Report("growth")
    sizes = [(size, min(FEW, size - 4)) for size in SIZES]
    report.findings["sizes"] = table(
        f"{FEW} steps, by the size of the array", sizes, [f"{size:,}" for size in SIZES], options
    )
    lengths = STEPS[:3] if options.quick else STEPS
    steps = [(count + 4, count) for count in lengths]
    report.findings["steps"] = table(
        "an array of as many elements as there are steps", steps, [f"{count:,}" for count in lengths], options
    )
    report.findings["compiled"] = first_calls(options)
    report.write()


if __name__ == "__main__":
    main(Options())
