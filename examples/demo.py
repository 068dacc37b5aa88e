"""What Pullback does, on one screen: a gradient, a check of it, what compiling buys, a fit, a mistake, and pictures.

The program is a small simulation as one writes it in NumPy: an array is allocated and filled row by row, in place.
Nothing is rewritten for the sake of derivatives. `make demo` runs this file.
"""

import os
import platform
import statistics
import time
from pathlib import Path

import numpy as np

import pullback as pb

STEPS, DT = 60, 0.1
TRUTH = np.array([1.1, 0.8, 0.6, 0.9])
START = pb.tensor([1.0, 0.5])
# Where the examples lie if that can be written to, as in a clone, and otherwise where the demo was started.
ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT if os.access(ROOT, os.W_OK) else Path.cwd()) / "build" / "demo.html"


def simulate(rates, steps=STEPS):
    """Predators and prey: the population over time, one row per step."""
    birth, hunt, growth, death = rates
    h = pb.zeros((steps + 1, 2))
    h[0] = START
    for i in range(steps):
        prey, predators = h[i]
        h[i + 1] = h[i]
        h[i + 1, 0] += DT * prey * (birth - hunt * predators)
        h[i + 1, 1] += DT * predators * (growth * prey - death)
    return h


def seconds(function, *args, calls=1):
    """The time of a call: the median of several."""
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def shown(duration):
    """A time as people read it."""
    return f"{duration:.1f} s" if duration > 1 else f"{1e3 * duration:.0f} ms" if duration > 1e-3 else (
        f"{1e6 * duration:.0f} µs")  # fmt: skip


def numbers(values):
    """Some numbers in a row."""
    return " ".join(f"{value:+.4f}" for value in np.asarray(values))


def fitted(gradient, guess, steps=120):
    """Rates that explain the observations, by steps of Adam, written out."""
    first, second = np.zeros(4), np.zeros(4)
    for t in range(1, steps + 1):
        slope = gradient(guess)[1].numpy()
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        guess = guess - 0.05 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)
    return guess


def mistake():
    """The message for one: a number is written over that a gradient needs, where that is not allowed."""
    x = pb.ones(3, requires_grad=True)
    with pb.autograd.overwrite_policy("raise"):
        y = x.exp()
        y += 1
    try:
        y.sum().backward()
    except pb.AutogradError as error:
        return error
    raise AssertionError("the mistake was not noticed")


def page(*pictures):
    """One file with all pictures, which loads nothing."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    parts = "".join(f"<h2>{title}</h2>{picture.to_svg()}" for title, picture in pictures)
    PAGE.write_text(f"<!doctype html><meta charset=utf-8><title>Pullback</title><style>body{{font-family:sans-serif;"
                    f"margin:2em}}svg{{max-width:100%;height:auto}}</style><h1>Pullback</h1>{parts}")  # fmt: skip


def main():
    """Five lines of proof."""
    print(f"Pullback {pb.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, "
          f"{pb.get_num_threads()} threads\n")  # fmt: skip
    print(f"  {STEPS} steps of predators and prey: a loop that writes rows of an array")

    rates = pb.tensor(TRUTH, requires_grad=True)
    simulate(rates)[-1, 0].backward()
    print(f"1 gradient   d(prey at the end)/d(rates)  {numbers(rates.grad)}")

    step = 1e-6 * np.eye(4)
    differences = [(simulate(TRUTH + e) - simulate(TRUTH - e))[-1, 0].item() / 2e-6 for e in step]
    error = np.abs(rates.grad.numpy() - differences).max()
    assert error < 1e-6
    print(f"2 checked    central differences agree to {error:.0e}")

    noise = 1 + 0.02 * np.random.default_rng(3).standard_normal((STEPS + 1, 2))
    observed = pb.asarray(simulate(pb.tensor(TRUTH)).numpy() * noise)
    eager = pb.func.value_and_grad(lambda guess: ((simulate(guess) - observed) ** 2).mean())
    compiled = pb.compile(eager)
    guess = pb.tensor([0.8, 0.6, 0.8, 0.7])
    first, slow = seconds(compiled, guess), seconds(eager, guess, calls=5)
    fast = seconds(compiled, guess, calls=200)
    assert np.allclose(compiled(guess)[1], eager(guess)[1], rtol=1e-10)
    print(f"3 compiled   {shown(slow)} a gradient as it stands, {shown(fast)} compiled: {slow / fast:.0f} times faster")
    print(f"             the first call took {shown(first)}, which is repaid after {first / (slow - fast):.0f} calls")

    began = time.perf_counter()
    result = fitted(compiled, guess)
    took = time.perf_counter() - began
    assert np.abs(result.numpy() - TRUTH).max() < 0.1
    print(f"4 fitted     four rates from noisy data, 120 steps of Adam, {shown(took)}")
    print(f"               true  {numbers(TRUTH)}\n               fit   {numbers(result)}")

    what, *_, _ = str(mistake()).splitlines()
    print("5 a mistake  y = x.exp(); y += 1; y.sum().backward()")
    print(f"               {what[:62]}…\n               fix: {mistake().fix[:58]}…")

    page(("Three steps on the tape", pb.show(simulate(rates, steps=3)[-1, 0])), ("Compiled", pb.show(compiled)))
    print(f"  pictures   {os.path.relpath(PAGE)}")


if __name__ == "__main__":
    main()
