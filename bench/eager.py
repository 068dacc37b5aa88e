"""How fast is eager differentiation? Ratios to torch on small and large arrays, and where the time goes.

The rows: a chain of 40 operators on 8 elements, where overhead is everything; a training step of a small network; a
chain of ten operators on a million elements, with native code and without; and single operators, each the reason for
one specialisation of the fast path.
"""

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from bench import families, frameworks, plain_numpy
from bench.frameworks import Arrays
from bench.runner import Options, Report, Workload, format_seconds, measure, print_rows, print_table, time_in_turns

EVERYBODY = ("pullback", "torch", "autograd", "jax", "numpy")
FUNCTIONAL = ("pullback", "torch", "autograd", "numpy")
TAPED = ("pullback", "torch")
MILLION = 1_000_000


def vectors(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    """Float64 operands of the given shapes, away from zero."""
    return lambda rng: [rng.uniform(0.5, 1.5, shape) for shape in shapes]


# The 40-operator chain ------------------------------------------------------------------------------------------------


def chain(m: Any, x: Any, w: Any, b: Any) -> Any:
    """40 operators: products, sums, functions and scalars, eight in a turn."""
    h = x
    for _ in range(5):
        h = h * w
        h = h + b
        h = m.sin(h)
        h = h * 1.5
        h = m.tanh(h)
        h = h - x
        h = m.exp(h)
        h = h * 0.25
    return h


# The training step ----------------------------------------------------------------------------------------------------


def network(rng: np.random.Generator) -> Arrays:
    """A batch of 64, its labels, and the weights of 32-64-64-10, in float32."""
    sizes = [32, 64, 64, 10]
    layers = [
        array
        for n, m in pairwise(sizes)
        for array in (rng.standard_normal((n, m)) / np.sqrt(n), np.zeros(m))
    ]
    batch = rng.standard_normal((64, 32))
    return [rng.integers(0, 10, (64, 1)), *(array.astype(np.float32) for array in (batch, *layers))]


def logits(m: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """Two hidden layers of tanh."""
    h = m.tanh(x @ w1 + b1)
    h = m.tanh(h @ w2 + b2)
    return h @ w3 + b3


def mlp_pullback(m: Any, labels: Any, *operands: Any) -> Any:
    """Mean cross entropy."""
    z = logits(m, *operands)
    return (m.logsumexp(z, axis=1, keepdims=True) - m.take_along_axis(z, labels, axis=1)).mean()


def mlp_torch(m: Any, labels: Any, *operands: Any) -> Any:
    """Mean cross entropy."""
    z = logits(m, *operands)
    return (m.logsumexp(z, dim=1, keepdim=True) - m.take_along_dim(z, labels, dim=1)).mean()


def mlp_autograd(m: Any, labels: Any, *operands: Any) -> Any:
    """Mean cross entropy; labels are read by advanced indexing, since `take_along_axis` has no gradient there."""
    z = logits(m, *operands)
    picked = z[np.arange(len(labels))[:, None], labels]
    peak = m.max(z, axis=1, keepdims=True)
    return m.mean(peak + m.log(m.sum(m.exp(z - peak), axis=1, keepdims=True)) - picked)


def mlp_jax(m: Any, labels: Any, *operands: Any) -> Any:
    """Mean cross entropy."""
    z = logits(m, *operands)
    peak = m.max(z, axis=1, keepdims=True)
    total = peak + m.log(m.sum(m.exp(z - peak), axis=1, keepdims=True))
    return m.mean(total - m.take_along_axis(z, labels, axis=1))


MLP = {"pullback": mlp_pullback, "torch": mlp_torch, "autograd": mlp_autograd, "jax": mlp_jax}


# A million elements ---------------------------------------------------------------------------------------------------

# Name of the step, and the step. Shared by the timed chain and by the breakdown.
STEPS: list[tuple[str, Callable[..., Any]]] = [
    ("h * w", lambda m, h, w: h * w),
    ("h + w", lambda m, h, w: h + w),
    ("sin(h)", lambda m, h, w: m.sin(h)),
    ("h * 1.5", lambda m, h, w: h * 1.5),
    ("tanh(h)", lambda m, h, w: m.tanh(h)),
    ("h - w", lambda m, h, w: h - w),
    ("exp(h)", lambda m, h, w: m.exp(h)),
    ("h * 0.25", lambda m, h, w: h * 0.25),
    ("h / w", lambda m, h, w: h / w),
    ("h * h", lambda m, h, w: h * h),
]


def large_chain(m: Any, x: Any, w: Any) -> Any:
    """The ten steps."""
    h = x
    for _, step in STEPS:
        h = step(m, h, w)
    return h


# Native code for large arrays ----------------------------------------------------------------------------------------

SIZES = (30_000, 100_000, MILLION, 4 * MILLION)


def native_seconds(adapters: Mapping[str, Any], options: Options) -> dict[str, dict[str, float]]:
    """Print and return the time of the ten steps, forward and backward: with native code, with NumPy alone, torch's."""
    found: dict[str, dict[str, float]] = {}
    for dtype in ("float64", "float32"):
        for size in SIZES:
            arrays = [array.astype(dtype) for array in vectors((size,), (size,))(np.random.default_rng(7))]
            runs = {name: adapters[name].differentiate(large_chain, arrays).run for name in TAPED if name in adapters}
            found[f"{size} {dtype}"] = switched_seconds(adapters["pullback"].namespace, runs, size, options)
    rows = [[label, *(format_seconds(seconds) for seconds in times.values())] for label, times in found.items()]
    print_table("ten operators, forward and backward", ["elements", *next(iter(found.values()))], rows)
    return found


def switched_seconds(pullback: Any, runs: dict[str, Any], size: int, options: Options) -> dict[str, float]:
    """Best times with native code and without, each in turns with torch."""
    best: dict[str, float] = {}
    for label, is_native in (("numpy only", False), ("native", True)):
        pullback.set_native_eager(is_native)
        for _ in range(40 * MILLION // size if is_native else 0):  # until native code has paid
            runs["pullback"]()
        for name, times in time_in_turns(runs, options).items():
            key = label if name == "pullback" else name
            best[key] = min(times + [best.get(key, float("inf"))])
    return {name: best[name] for name in ("native", "numpy only", "torch") if name in best}


# Single operators -----------------------------------------------------------------------------------------------------


def binary_small(m: Any, x: Any, y: Any) -> Any:
    """Two tensors of one shape."""
    return x * y


def unary_small(m: Any, x: Any) -> Any:
    """One tensor."""
    return m.sin(x)


def scalar_small(m: Any, x: Any) -> Any:
    """A tensor and a Python number."""
    return x * 2.5


def reflected_scalar_small(m: Any, x: Any) -> Any:
    """A Python number and a tensor."""
    return 2.5 - x


def broadcast_small(m: Any, x: Any, y: Any) -> Any:
    """Two shapes; the gradient must be summed back."""
    return x + y


def reduction_small(m: Any, x: Any) -> Any:
    """Everything to one number."""
    return x.sum()


def view_small(m: Any, x: Any) -> Any:
    """A slice."""
    return x[2:5]


def reshape_small(m: Any, x: Any) -> Any:
    """A view with another shape."""
    return x.reshape((2, 4))


def matmul_small(m: Any, x: Any, y: Any) -> Any:
    """Two 8 by 8 matrices."""
    return x @ y


def inplace_small(m: Any, x: Any, y: Any) -> Any:
    """A result, and a write to it that nobody saved."""
    h = x + y
    h += y
    return h


def fill_small(m: Any, x: Any, y: Any) -> Any:
    """A result, and a write to a slice of it."""
    h = x * 2.0
    h[2:5] = y
    return h


SINGLE: list[tuple[Callable[..., Any], tuple[tuple[int, ...], ...], tuple[str, ...]]] = [
    (binary_small, ((8,), (8,)), FUNCTIONAL),
    (unary_small, ((8,),), FUNCTIONAL),
    (scalar_small, ((8,),), FUNCTIONAL),
    (reflected_scalar_small, ((8,),), FUNCTIONAL),
    (broadcast_small, ((8, 8), (8,)), FUNCTIONAL),
    (reduction_small, ((8,),), FUNCTIONAL),
    (view_small, ((8,),), FUNCTIONAL),
    (reshape_small, ((8,),), FUNCTIONAL),
    (matmul_small, ((8, 8), (8, 8)), FUNCTIONAL),
    (inplace_small, ((8,), (8,)), TAPED),
    (fill_small, ((8,), (3,)), TAPED),
]


def workloads() -> list[Workload]:
    """The rows of the main table."""
    small = vectors((8,), (8,), (8,))
    large = vectors((MILLION,), (MILLION,))
    return [
        Workload("chain_forward", chain, small, "record", EVERYBODY, aim=0.5),
        Workload("chain_forward_backward", chain, small, "differentiate", EVERYBODY, aim=0.5),
        Workload("chain_no_grad", chain, small, "evaluate", EVERYBODY),
        Workload("mlp_step", MLP, network, "differentiate", EVERYBODY, aim=1.0, tolerance=2e-5),
        Workload("million_forward", large_chain, large, "record", EVERYBODY),
        Workload("million_forward_backward", large_chain, large, "differentiate", EVERYBODY),
    ]


def single_operators() -> list[Workload]:
    """Two rows for each operator alone: recorded, then recorded and pulled back."""
    rows = []
    for function, shapes, names in SINGLE:
        rows.append(Workload(function.__name__, function, vectors(*shapes), "record", names))
        rows.append(Workload(f"{function.__name__}_backward", function, vectors(*shapes), "differentiate", names))
    return rows


# Where the time goes --------------------------------------------------------------------------------------------------


def node_seconds(adapter: Any, rounds: int) -> list[float]:
    """Best time of each step's backward node, taken between its pre-hook and its post-hook."""
    best = [float("inf")] * len(STEPS)
    x, w = adapter.leaves(vectors((MILLION,), (MILLION,))(np.random.default_rng(7)))
    seed = adapter.from_array(np.ones(MILLION))
    for _ in range(rounds):
        started = [0.0] * len(STEPS)
        elapsed = [0.0] * len(STEPS)
        h = x
        for position, (_, step) in enumerate(STEPS):
            h = step(adapter.namespace, h, w)

            def before(_grads: Any, position: int = position, started: list[float] = started) -> None:
                started[position] = time.perf_counter()

            def after(
                _inputs: Any, _outputs: Any, position: int = position,
                started: list[float] = started, elapsed: list[float] = elapsed,
            ) -> None:  # fmt: skip
                elapsed[position] = time.perf_counter() - started[position]

            h.grad_fn.register_prehook(before)
            h.grad_fn.register_hook(after)
        h.backward(seed)
        best = [min(pair) for pair in zip(best, elapsed, strict=True)]
    return best


def forward_seconds(adapters: Mapping[str, Any], options: Options) -> dict[str, list[float]]:
    """Best time of each step's forward call on the values it has in the chain, for each framework, taken in turns."""
    columns: dict[str, list[float]] = {name: [] for name in adapters}
    h, w = vectors((MILLION,), (MILLION,))(np.random.default_rng(7))
    for _, step in STEPS:
        runs = {name: adapter.record(step, [h, w]).run for name, adapter in adapters.items()}
        for name, samples in time_in_turns(runs, options).items():
            columns[name].append(min(samples))
        h = step(np, h, w)
    return columns


def kernel_seconds(options: Options) -> dict[str, float]:
    """Best time of the ten NumPy kernels on the same values, with fresh results and with one warm buffer for all."""
    x, w = vectors((MILLION,), (MILLION,))(np.random.default_rng(7))
    h = np.empty_like(x)

    def into_buffer() -> None:
        np.multiply(x, w, out=h)
        np.add(h, w, out=h)
        np.sin(h, out=h)
        np.multiply(h, 1.5, out=h)
        np.tanh(h, out=h)
        np.subtract(h, w, out=h)
        np.exp(h, out=h)
        np.multiply(h, 0.25, out=h)
        np.divide(h, w, out=h)
        np.multiply(h, h, out=h)

    samples = time_in_turns({"fresh": lambda: large_chain(np, x, w), "warm": into_buffer}, options)
    return {name: min(times) for name, times in samples.items()}


def break_down(adapters: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Print and return, step by step, the kernel alone, the forward call, and the backward node."""
    taped = {name: adapters[name] for name in TAPED if name in adapters}
    forward = forward_seconds({**taped, "numpy": adapters["numpy"]}, options)
    backward = {name: node_seconds(adapter, options.rounds) for name, adapter in taped.items()}
    columns = {"kernel": forward.pop("numpy")}
    columns |= {f"{name} forward": times for name, times in forward.items()}
    columns |= {f"{name} backward": times for name, times in backward.items()}
    rows = [[label, *(format_seconds(times[i]) for times in columns.values())] for i, (label, _) in enumerate(STEPS)]
    rows.append(["sum", *(format_seconds(sum(times)) for times in columns.values())])
    print_table("where a million elements spend their time", ["step", *columns], rows)
    kernels = kernel_seconds(options)
    print(f"  the ten kernels in a row: {format_seconds(kernels['fresh'])} with fresh results,"
          f" {format_seconds(kernels['warm'])} into one warm buffer")  # fmt: skip
    return {"steps": [label for label, _ in STEPS], "seconds": columns, "kernels_in_a_row": kernels}


def main(options: Options) -> None:
    """Measure, print and store everything in this file."""
    report = Report("eager")
    adapters = dict(frameworks.load())
    for key, title, group in (
        ("workloads", "whole programs", workloads()),
        ("operators", "single operators, 8 elements", single_operators()),
    ):
        chosen = [workload for workload in group if options.only in workload.name]
        if chosen:
            rows = [measure(workload, adapters, options) for workload in chosen]
            print_rows(title, rows, adapters)
            report.add_rows(key, rows)
    chosen = [workload for workload in families.workloads() if options.only in ("", "families", workload.name)]
    if chosen:
        rows = [measure(workload, adapters, options) for workload in chosen]
        print_rows("families of operators, and small programs", rows, families.TAPED)
        report.add_rows("families", rows)
        report.findings["geometric mean"] = mean = families.geometric_mean(rows)
        print(f"  geometric mean of the ratios: {mean:.2f}")
    if options.only in "native":
        report.findings["native"] = native_seconds(adapters, options)
    if options.only == "numpy":  # which takes minutes
        report.findings["numpy"] = plain_numpy.all_findings(adapters["pullback"].namespace, options)
    if options.only in "breakdown":
        report.findings["breakdown"] = break_down(adapters, options)
    report.write()


if __name__ == "__main__":
    main(Options())
