"""What Pullback does, on one screen: a gradient, a check of it, what compiling buys, a fit, a mistake, and pictures.

The program is a small simulation as one writes it in NumPy: an array is allocated and filled row by row, in place.
Nothing is rewritten for the sake of derivatives. `make demo` runs this file.
"""

import html
import inspect
import os
import platform
import statistics
import sys
import textwrap
import time
import webbrowser
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


def rounded(number):
    """A number with its first two digits."""
    return f"{float(f'{number:.2g}'):,.0f}".replace(",", " ")


def uncertainties(loss, best):
    """The standard errors of the rates, from the curvature of the loss: a mean of squares of as many numbers."""
    count = 2 * (STEPS + 1)
    curvature = pb.hessian(loss)(best).numpy() * count / 2
    return np.sqrt(np.diag(np.linalg.inv(curvature)) * loss(best).item() * count / (count - len(TRUTH)))


def fitted(gradient, guess, steps=120):
    """Rates that explain the observations, by steps of Adam, written out."""
    first, second = np.zeros(4), np.zeros(4)
    for t in range(1, steps + 1):
        slope = gradient(guess)[1].numpy()
        first, second = 0.9 * first + 0.1 * slope, 0.99 * second + 0.01 * slope**2
        guess = guess - 0.05 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.99**t)) + 1e-8)
    return guess


def mistake():
    """The message for one that everybody makes: a step of descent as one would write it for numbers."""
    rates = pb.tensor(TRUTH, requires_grad=True)
    try:
        rates -= 0.1
    except pb.AutogradError as error:
        return error
    raise AssertionError("the mistake was not noticed")


def curves(observed, best):
    """The fit and the data, drawn by hand."""
    places = lambda values, column: [(8 * k, 155 - 38 * v) for k, v in enumerate(np.asarray(values)[:, column])]
    paths = []
    for column, colour in enumerate(("#2f74b5", "#c4691c")):
        line = " ".join(f"{x},{y:.1f}" for x, y in places(simulate(best), column))
        paths.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        dots = [f'<circle cx="{x}" cy="{y:.1f}" r="2"/>' for x, y in places(observed, column)]
        paths.append(f'<g fill="{colour}" fill-opacity="0.55">{"".join(dots)}</g>')
    return f'<svg viewBox="0 0 490 160" role="img"><title>prey and predators</title>{"".join(paths)}</svg>'


def page(parts):
    """One file with all pictures, which loads nothing."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(f"<h2>{title}</h2><div>{part}</div>" for title, part in parts)
    style = ":root{color-scheme:light dark}body{font-family:sans-serif;margin:2em;max-width:70em}"
    style += "svg{max-width:100%;height:auto}div{max-height:32em;overflow:auto}"
    head = "<meta charset=utf-8><meta name=viewport content='width=device-width'><title>Pullback</title>"
    head = f"<!doctype html><html lang=en><head>{head}<style>{style}</style></head>"
    PAGE.write_text(f"{head}<body><h1>Pullback</h1>{body}</body></html>", encoding="utf-8")


def listing(text):
    """A text as it is."""
    return f"<pre>{html.escape(text)}</pre>"


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
    loss = lambda guess: ((simulate(guess) - observed) ** 2).mean()
    eager = pb.func.value_and_grad(loss)
    compiled = pb.compile(eager)
    guess = pb.tensor([0.8, 0.6, 0.8, 0.7])
    first, slow = seconds(compiled, guess), seconds(eager, guess, calls=5)
    fast = seconds(compiled, guess, calls=200)
    assert np.allclose(compiled(guess)[1], eager(guess)[1], rtol=1e-10)
    gain = rounded(slow / fast)
    print(f"3 compiled   {shown(slow)} a gradient as it stands, {shown(fast)} compiled: {gain} times faster")
    print(f"             the first call took {shown(first)}, which is repaid after {first / (slow - fast):.0f} calls")

    began = time.perf_counter()
    result = fitted(compiled, guess)
    took = time.perf_counter() - began
    assert np.abs(result.numpy() - TRUTH).max() < 0.1
    print(f"4 fitted     four rates from noisy data, 120 steps of Adam, {shown(took)}")
    print(f"               true  {numbers(TRUTH)}\n               fit   {numbers(result)}")
    print(f"               +-    {numbers(uncertainties(loss, result))}   (from the Hessian)")

    error = mistake()
    print("5 a mistake  rates -= 0.1")
    for text in (f"[{error.code}] {error.what}", f"fix: {error.fix}"):
        print(textwrap.indent("\n".join(textwrap.wrap(text, 64)), " " * 15))

    with pb.profile() as profile:
        simulate(rates, steps=3)[-1, 0].backward()
    with pb.memory() as memory:
        end = simulate(rates, steps=3)[-1, 0]
        tape = pb.show(end)
        end.backward()
    page([
        ("The program", listing(inspect.getsource(simulate))),
        ("Data (dots) and fit (lines)", curves(observed, result)),
        ("Three steps on the tape", tape.to_svg()),
        ("What they take", profile.show().to_svg() + listing(profile.table())),
        ("What is kept for backward", memory.show().to_svg()),
        ("All steps, compiled", pb.show(compiled).to_svg() + listing(str(compiled.explain(guess)))),
        ("A mistake", listing(str(error))),
    ])  # fmt: skip
    print(f"  pictures   {os.path.relpath(PAGE)}")
    if "--open" in sys.argv:
        webbrowser.open(PAGE.as_uri())


if __name__ == "__main__":
    main()
