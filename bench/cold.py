"""How long does a new process take to its first gradient? Import, trace, compile and run, of a small network.

Each measurement is a process of its own, and the clock is the parent's, so starting the interpreter is in it, for
everybody alike. The processes take turns and the median counts. Bytecode is cached next to the source, as it is of what
is installed: the first process of each, which is not counted, writes it. Pullback is measured with an empty disk cache
and with what earlier processes left there.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.runner import Options, Report, format_seconds, print_table

GOAL_OF_JAX = 0.4
GOAL_FROM_CACHE = 0.25  # seconds

# The network is 32-64-10 with a batch of 64, in float32. `{...}` are filled in by `PROGRAMS`.
COMMON = """
import json, sys, time
start = time.perf_counter()
import numpy as np
rng = np.random.default_rng(0)
shapes = ((64, 32), (32, 64), (64,), (64, 10), (10,), (64, 10))
x, w1, b1, w2, b2, y = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
"""

PULLBACK = """
import pullback as pb
if sys.argv[2]:
    pb.aot.set_cache_dir(sys.argv[2])
def loss(w1, b1, w2, b2, x, y):
    return ((pb.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()
step = pb.func.grad_and_value(loss, (0, 1, 2, 3))
if sys.argv[1] != "eager":
    step = pb.compile(step, backend=sys.argv[1], fallback="raise")
gradients, _ = step(*(pb.asarray(array) for array in (w1, b1, w2, b2, x, y)))
result = gradients[0].numpy()
"""

JAX = """
import jax, jax.numpy as jnp
def loss(w1, b1, w2, b2, x, y):
    return ((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()
step = jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3)))
_, gradients = step(w1, b1, w2, b2, x, y)
result = np.asarray(gradients[0])
"""

TORCH = """
import torch
weights = [torch.from_numpy(array).requires_grad_() for array in (w1, b1, w2, b2)]
x, y = torch.from_numpy(x), torch.from_numpy(y)
def loss(w1, b1, w2, b2, x, y):
    return ((torch.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2).mean()
gradients = torch.autograd.grad(loss(*weights, x, y), weights)
result = gradients[0].numpy()
"""

AUTOGRAD = """
import autograd, autograd.numpy as anp
def loss(w1, b1, w2, b2, x, y):
    return anp.mean((anp.dot(anp.tanh(anp.dot(x, w1) + b1), w2) + b2 - y) ** 2)
_, gradients = autograd.value_and_grad(loss, (0, 1, 2, 3))(w1, b1, w2, b2, x, y)
result = gradients[0]
"""

NUMPY = "result = x.T @ (x @ w1)\n"

LAST = "print(json.dumps([time.perf_counter() - start, float(np.square(result, dtype=np.float64).sum())]))\n"
NO_CACHE, EMPTY_CACHE, FILLED_CACHE = "no cache", "empty cache", "from cache"

# Name, program, first argument, which cache.
CONTESTANTS = [
    ("numpy import and a product", NUMPY, "", NO_CACHE),
    ("pullback eager", PULLBACK, "eager", NO_CACHE),
    ("pullback numpy", PULLBACK, "numpy", EMPTY_CACHE),
    ("pullback numpy, from cache", PULLBACK, "numpy", FILLED_CACHE),
    ("pullback llvm", PULLBACK, "llvm", EMPTY_CACHE),
    ("pullback llvm, from cache", PULLBACK, "llvm", FILLED_CACHE),
    ("jax.jit", JAX, "", NO_CACHE),
    ("torch eager", TORCH, "", NO_CACHE),
    ("autograd", AUTOGRAD, "", NO_CACHE),
]


@contextmanager
def cache_of(kind: str, filled: str) -> Iterator[str]:
    """The directory to hand to the child, or nothing."""
    if kind == EMPTY_CACHE:
        with tempfile.TemporaryDirectory() as empty:
            yield empty
    else:
        yield filled if kind == FILLED_CACHE else ""


def first_gradient(program: str, argument: str, cache: str) -> tuple[float, float, float]:
    """Seconds outside and inside of a new process, and a number that stands for the gradient."""
    command = [sys.executable, "-c", COMMON + program + LAST, argument, cache]
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": ""}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    outside = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed and did not say why"])[-1])
    inside, gradient = json.loads(done.stdout)
    return outside, inside, gradient


def measure(options: Options, filled: str) -> dict[str, list[tuple[float, float, float]]]:
    """All samples of those who can run; a first process fills caches, the system's and ours, and is not counted."""
    runs = {}
    for name, program, argument, kind in CONTESTANTS:
        if options.only not in name:
            continue
        try:
            with cache_of(kind, filled) as cache:
                first_gradient(program, argument, cache)
            runs[name] = (program, argument, kind)
        except RuntimeError as error:
            print(f"without {name}: {error}")
    samples: dict[str, list[tuple[float, float, float]]] = {name: [] for name in runs}
    for _ in range(2 if options.quick else 9):
        for name, (program, argument, kind) in runs.items():
            with cache_of(kind, filled) as cache:
                samples[name].append(first_gradient(program, argument, cache))
    return samples


def check(samples: dict[str, list[tuple[float, float, float]]]) -> None:
    """All but the bare product computed the same gradient."""
    gradients = {name: runs[0][2] for name, runs in samples.items() if not name.startswith("numpy")}
    reference = next(iter(gradients.values()), 0.0)
    for name, gradient in gradients.items():
        if abs(gradient - reference) > 1e-4 * abs(reference):
            raise AssertionError(f"the gradient of {name} has the square {gradient}, others have {reference}")


def goal_of(name: str, seconds: float, inside: float, jax: float | None) -> str:
    """What the table of goals says about a line: from the disk cache, about import, trace and run in the process."""
    if not name.startswith("pullback") or "eager" in name:
        return ""
    if "from cache" in name:
        return f"{'<=' if inside <= GOAL_FROM_CACHE else '> '} {format_seconds(GOAL_FROM_CACHE)} from import on"
    return "" if jax is None else f"{'<=' if seconds <= GOAL_OF_JAX * jax else '> '} {GOAL_OF_JAX:.2f} of jax"


def main(options: Options) -> None:
    """Measure in turns, print and store."""
    report = Report("cold")
    with tempfile.TemporaryDirectory() as filled:
        samples = measure(options, filled)
    check(samples)
    outside = {name: statistics.median(run[0] for run in runs) for name, runs in samples.items()}
    inside = {name: statistics.median(run[1] for run in runs) for name, runs in samples.items()}
    jax = outside.get("jax.jit")
    rows = [
        [name, format_seconds(seconds), format_seconds(inside[name]), f"{seconds / jax:.2f}" if jax else "-",
         goal_of(name, seconds, inside[name], jax)]
        for name, seconds in outside.items()
    ]  # fmt: skip
    header = ["who", "process", "from import on", "of jax", "goal"]
    print_table("first gradient in a new process, medians", header, rows)
    report.findings |= {"process_seconds": outside, "inside_seconds": inside, "samples": samples}
    report.write()


if __name__ == "__main__":
    main(Options())
