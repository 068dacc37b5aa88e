"""How fast is a gradient in native code, compared with the compilers and the tapes of others?

Value and gradient of small and large problems: `pb.compile(pb.func.grad_and_value(f), backend="llvm")` next to
`jax.jit`, torch's tape and HIPS autograd; `BENCH_TORCH_COMPILE=1` adds `torch.compile`, which takes minutes to compile.
Gradients are compared before anything is timed. The ratio is our time over that of the best peer.
"""

import importlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

Function = Callable[..., Any]
_random = np.random.default_rng(5)


@dataclass(frozen=True)
class Problem:
    """A function `f(xp, constants, *variables)` whose gradient by the variables is wanted."""

    name: str
    function: Function
    variables: Sequence[np.ndarray]
    constants: Sequence[np.ndarray] = ()
    aim: float = 1.0

    @property
    def tolerance(self) -> float:
        """How far gradients may be apart."""
        return 1e-8 if self.variables[0].dtype == np.float64 else 2e-3


def chain(xp: Any, constants: Any, x: Any) -> Any:
    """Forty operators."""
    for _ in range(10):
        x = xp.tanh(xp.sin(x) * 1.1 + 0.1)
    return x.sum()


def rosenbrock(xp: Any, constants: Any, x: Any) -> Any:
    """The valley."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def logistic(xp: Any, constants: Any, w: Any) -> Any:
    """The loss of logistic regression."""
    features, labels = constants
    scores = features @ w
    return (xp.log1p(xp.exp(-scores)) + (1 - labels) * scores).mean()


def elementwise(xp: Any, constants: Any, x: Any) -> Any:
    """A few functions of every element, added up."""
    return xp.tanh(xp.log(xp.exp(x) + 1.0) * x).sum()


def network(xp: Any, constants: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """A network with two hidden layers."""
    (x,) = constants
    h = xp.tanh(xp.tanh(x @ w1 + b1) @ w2 + b2)
    return ((h @ w3 + b3) ** 2).mean()


def softmax_loss(xp: Any, constants: Any, z: Any) -> Any:
    """Cross-entropy of rows, written out."""
    (y,) = constants
    powers = xp.exp(z)
    return -(y * (z - xp.log(powers.sum(1))[:, None])).sum(1).mean()


def network_problem(batch: int, width: int, aim: float) -> Problem:
    """A network of this size, in single precision."""
    shapes = [(width, width), (width,), (width, width), (width,), (width, 10), (10,)]
    weights = [(_random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]
    x = _random.normal(size=(batch, width)).astype(np.float32)
    return Problem(f"MLP {batch} x {width}, f32", network, weights, (x,), aim)


def problems() -> list[Problem]:
    """The rows of the table."""
    rows = [Problem("chain of 40 on 8", chain, [_random.normal(size=8)], aim=0.4)]
    for n, aim in ((2, 0.5), (100, 0.5), (10_000, 0.5), (1_000_000, 1.0)):
        rows.append(Problem(f"Rosenbrock, n = {n}", rosenbrock, [_random.normal(size=n)], aim=aim))
    for n, d in ((100, 10), (1000, 50), (10_000, 100), (100_000, 100)):
        data = (_random.normal(size=(n, d)), (_random.random(n) > 0.5).astype(float))
        rows.append(Problem(f"logistic regression, {n} x {d}", logistic, [_random.normal(size=d)], data, 0.6))
    for dtype in (np.float64, np.float32):
        for n in (1_000, 100_000, 1_000_000, 10_000_000):
            x = _random.uniform(0.1, 1.0, size=n).astype(dtype)
            name = f"elementwise chain, {n}, f{8 * x.itemsize}"
            rows.append(Problem(name, elementwise, [x], aim=0.5 if n < 1_000_000 else 1.0))
    rows += [network_problem(64, 32, 0.7), network_problem(64, 256, 0.8), network_problem(256, 512, 1.0)]
    for batch in (64, 4096):
        labels = np.eye(100)[_random.integers(100, size=batch)]
        z = _random.normal(size=(batch, 100))
        rows.append(Problem(f"softmax cross-entropy, {batch} x 100", softmax_loss, [z], (labels,), 0.8))
    return rows


# The frameworks: each makes a call without arguments, and reads its result as [value, *gradients].


def pullback(problem: Problem) -> tuple[Function, Function]:
    """Native code."""
    pb = importlib.import_module("pullback")
    constants = [pb.tensor(x) for x in problem.constants]
    variables = [pb.tensor(x) for x in problem.variables]
    positions = tuple(range(len(variables)))
    whole = pb.func.grad_and_value(lambda *xs: problem.function(pb, constants, *xs), argnums=positions)
    compiled = pb.compile(whole, backend="llvm", fallback="raise")
    return (lambda: compiled(*variables)), lambda out: [out[1].numpy(), *(g.numpy() for g in out[0])]


def jax(problem: Problem) -> tuple[Function, Function]:
    """`jax.jit`."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = importlib.import_module("jax.numpy")
    constants = [jnp.asarray(x) for x in problem.constants]
    variables = [jnp.asarray(x) for x in problem.variables]
    positions = tuple(range(len(variables)))
    whole = jax.jit(jax.value_and_grad(lambda *xs: problem.function(jnp, constants, *xs), argnums=positions))
    return (lambda: jax.block_until_ready(whole(*variables))), lambda out: [np.asarray(x) for x in (out[0], *out[1])]


def torch(problem: Problem, compiles: bool = False) -> tuple[Function, Function]:
    """Torch's tape, or its compiler."""
    torch = importlib.import_module("torch")
    constants = [torch.asarray(x) for x in problem.constants]
    variables = [torch.asarray(x).requires_grad_() for x in problem.variables]
    function = lambda *xs: problem.function(torch, constants, *xs)
    function = torch.compile(function) if compiles else function

    def run() -> Any:
        value = function(*variables)
        return value, torch.autograd.grad(value, variables)

    return run, lambda out: [out[0].detach().numpy(), *(g.numpy() for g in out[1])]


def hips(problem: Problem) -> tuple[Function, Function]:
    """HIPS autograd."""
    make_vjp, xp = importlib.import_module("autograd").make_vjp, importlib.import_module("autograd.numpy")
    positions = tuple(range(len(problem.variables)))
    forward = make_vjp(lambda *xs: problem.function(xp, problem.constants, *xs), positions)

    def run() -> Any:
        pull, value = forward(*problem.variables)
        return value, pull(1.0)

    return run, lambda out: [np.asarray(out[0]), *(np.asarray(g) for g in out[1])]


def frameworks() -> dict[str, Callable[[Problem], tuple[Function, Function]]]:
    """Those that can be imported."""
    found: dict[str, Callable[[Problem], tuple[Function, Function]]] = {"pullback": pullback}
    for name, module, make in (("jax.jit", "jax", jax), ("torch", "torch", torch), ("autograd", "autograd", hips)):
        if importlib.util.find_spec(module) is not None:
            found[name] = make
    if "torch" in found and os.environ.get("BENCH_TORCH_COMPILE"):
        found["torch.compile"] = lambda problem: torch(problem, compiles=True)
    return found


def measure(problem: Problem, options: Options) -> dict[str, Any]:
    """Seconds per call for each framework, after all gradients were found equal, and the time of the first call."""
    runs, first, results = {}, {}, {}
    for name, make in frameworks().items():
        began = time.perf_counter()
        run, read = make(problem)
        results[name] = read(run())
        first[name] = time.perf_counter() - began
        runs[name] = run
    for name, arrays in results.items():
        for own, other in zip(results["pullback"], arrays, strict=True):
            scale = float(np.abs(own).max())
            np.testing.assert_allclose(
                other, own, rtol=problem.tolerance, atol=problem.tolerance * scale, err_msg=f"{problem.name}: {name}"
            )
    samples = time_in_turns(runs, options)
    best = {name: min(times) for name, times in samples.items()}
    peers = [seconds for name, seconds in best.items() if name != "pullback"]
    ratio = best["pullback"] / min(peers) if peers else None
    return {"name": problem.name, "best": best, "first": first, "ratio": ratio, "aim": problem.aim}


def main(options: Options) -> None:
    """Print and store the table."""
    report = Report("native")
    rows = [measure(problem, options) for problem in problems() if options.only in problem.name]
    names = list(frameworks())
    body = []
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f} {'<=' if row['ratio'] <= row['aim'] else '> '}"
        times = [format_seconds(row["best"].get(name)) for name in names]
        body.append([row["name"], f"{ratio} {row['aim']}", *times, format_seconds(row["first"]["pullback"])])
    print_table("value and gradient", ["workload", "ratio to the best peer", *names, "our first call"], body)
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if ratios:
        print(f"\n  geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.2f}")
    report.findings["rows"] = rows
    report.write()
