"""How fast are eager operators on large arrays? Ratios to torch, forward and with backward, each operator alone.

Every operator that is not a plain elementwise loop: rows, reductions, scans, pooling, convolutions, special functions,
joining and choosing, linear algebra. Pullback is measured twice, with native code and with NumPy alone, in turns with
torch. A call is repeated before it is timed until native code has come to pay.

    python -m bench eager_large --only softmax
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bench import frameworks
from bench.runner import Options, Report, format_seconds, print_table, time_in_turns

WARM_SECONDS = 0.4
"""Long enough for native code to pay, and for its trials."""


class Line(NamedTuple):
    """An operator in both frameworks, and the shapes of its operands."""

    pullback: Callable[..., Any]
    torch: Callable[..., Any]
    shapes: tuple[Any, ...]


def _functional(torch: Any) -> Any:
    return torch.nn.functional


SQUARE, IMAGES = (512, 512), (64, 8, 26, 26)
LABELS = np.random.default_rng(1).integers(0, 128, 2048)
PLACES = np.random.default_rng(2).integers(0, 4096, 8192)


def lines(pb: Any, torch: Any) -> dict[str, Line]:
    """All rows by name."""
    n, f = pb.nn, _functional(torch)
    labels, places = torch.from_numpy(LABELS), torch.from_numpy(PLACES)
    rows = {
        "softmax": (lambda x: pb.softmax(x, axis=-1), lambda x: f.softmax(x, -1), SQUARE),
        "softmax of columns": (lambda x: pb.softmax(x, axis=0), lambda x: f.softmax(x, 0), SQUARE),
        "log_softmax": (lambda x: pb.log_softmax(x, axis=-1), lambda x: f.log_softmax(x, -1), SQUARE),
        "logsumexp": (lambda x: pb.logsumexp(x, axis=-1), lambda x: torch.logsumexp(x, -1), SQUARE),
        "cross_entropy": (lambda x: n.cross_entropy(x, LABELS), lambda x: f.cross_entropy(x, labels), (2048, 128)),
        "layer_norm": (lambda x, w, b: n.layer_norm(x, (512,), w, b), lambda x, w, b: f.layer_norm(x, (512,), w, b),
                       SQUARE, (512,), (512,)),
        "rms_norm": (lambda x, w: n.rms_norm(x, (512,), w), lambda x, w: f.rms_norm(x, (512,), w), SQUARE, (512,)),
        "group_norm": (lambda x, w, b: n.group_norm(x, 4, w, b), lambda x, w, b: f.group_norm(x, 4, w, b),
                       (16, 16, 32, 32), (16,), (16,)),
        "batch_norm": (lambda x, w, b: n.batch_norm(x, None, None, w, b, True),
                       lambda x, w, b: f.batch_norm(x, None, None, w, b, True), (16, 16, 32, 32), (16,), (16,)),
        "std": (lambda x: pb.std(x, axis=1, correction=1), lambda x: torch.std(x, 1), SQUARE),
        "var of columns": (lambda x: pb.var(x, axis=0, correction=1), lambda x: torch.var(x, 0), SQUARE),
        "sum": (lambda x: pb.sum(x), lambda x: torch.sum(x), SQUARE),
        "sum of rows": (lambda x: pb.sum(x, axis=1), lambda x: torch.sum(x, 1), SQUARE),
        "sum of columns": (lambda x: pb.sum(x, axis=0), lambda x: torch.sum(x, 0), SQUARE),
        "sum of triples": (lambda x: pb.sum(x, axis=1), lambda x: torch.sum(x, 1), (120_000, 3)),
        "mean": (lambda x: pb.mean(x, axis=1), lambda x: torch.mean(x, 1), SQUARE),
        "prod": (lambda x: pb.prod(x, axis=1), lambda x: torch.prod(x, 1), SQUARE),
        "amax of rows": (lambda x: pb.amax(x, axis=1), lambda x: torch.amax(x, 1), SQUARE),
        "amax of columns": (lambda x: pb.amax(x, axis=0), lambda x: torch.amax(x, 0), SQUARE),
        "vector_norm": (lambda x: pb.linalg.vector_norm(x, axis=1), lambda x: torch.linalg.vector_norm(x, dim=1),
                        SQUARE),
        "cumsum": (lambda x: pb.cumsum(x, axis=1), lambda x: torch.cumsum(x, 1), SQUARE),
        "cumsum of columns": (lambda x: pb.cumsum(x, axis=0), lambda x: torch.cumsum(x, 0), SQUARE),
        "cumprod": (lambda x: pb.cumprod(x, axis=1), lambda x: torch.cumprod(x, 1), SQUARE),
        "logcumsumexp": (lambda x: pb.logcumsumexp(x, axis=1), lambda x: torch.logcumsumexp(x, 1), SQUARE),
        "pooling by reshape": (lambda x: pb.amax(x.reshape((64, 8, 13, 2, 13, 2)), axis=(3, 5)),
                               lambda x: torch.amax(x.reshape((64, 8, 13, 2, 13, 2)), (3, 5)), IMAGES),
        "max_pool2d": (lambda x: n.max_pool2d(x, 2), lambda x: f.max_pool2d(x, 2), IMAGES),
        "avg_pool2d": (lambda x: n.avg_pool2d(x, 2), lambda x: f.avg_pool2d(x, 2), IMAGES),
        "conv1d": (lambda x, w: n.conv1d(x, w), lambda x, w: f.conv1d(x, w), (32, 8, 512), (16, 8, 5)),
        "conv2d, 8 channels": (lambda x, w: n.conv2d(x, w), lambda x, w: f.conv2d(x, w), (64, 8, 13, 13),
                               (16, 8, 3, 3)),
        "conv2d, 1 channel": (lambda x, w: n.conv2d(x, w), lambda x, w: f.conv2d(x, w), (64, 1, 28, 28), (8, 1, 3, 3)),
        "conv2d, 16 channels": (lambda x, w: n.conv2d(x, w, padding=1), lambda x, w: f.conv2d(x, w, padding=1),
                                (8, 16, 56, 56), (32, 16, 3, 3)),
        "conv2d, depthwise": (lambda x, w: n.conv2d(x, w, padding=1, groups=16),
                              lambda x, w: f.conv2d(x, w, padding=1, groups=16), (8, 16, 56, 56), (16, 1, 3, 3)),
        "conv3d": (lambda x, w: n.conv3d(x, w), lambda x, w: f.conv3d(x, w), (4, 4, 16, 16, 16), (8, 4, 3, 3, 3)),
        "conv_transpose2d": (lambda x, w: n.conv_transpose2d(x, w, stride=2),
                             lambda x, w: f.conv_transpose2d(x, w, stride=2), (16, 16, 14, 14), (16, 8, 3, 3)),
        "attention": (lambda q, k, v: n.scaled_dot_product_attention(q, k, v),
                      lambda q, k, v: f.scaled_dot_product_attention(q, k, v), *[(4, 8, 128, 64)] * 3),
        "gelu": (lambda x: n.gelu(x), lambda x: f.gelu(x), (262_144,)),
        "silu": (lambda x: n.silu(x), lambda x: f.silu(x), (262_144,)),
        "softplus": (lambda x: n.softplus(x), lambda x: f.softplus(x), (262_144,)),
        "mse_loss": (lambda x, y: n.mse_loss(x, y), lambda x, y: f.mse_loss(x, y), (262_144,), (262_144,)),
        "take rows": (lambda x: x[PLACES], lambda x: x[places], (4096, 64)),
        "where": (lambda x, y: pb.where(x > 0.9, x, y), lambda x, y: torch.where(x > 0.9, x, y), (262_144,),
                  (262_144,)),
        "concat": (lambda x, y: pb.concat([x, y], axis=1), lambda x, y: torch.cat([x, y], 1), (512, 256), (512, 256)),
        "stack": (lambda x, y: pb.stack([x, y], axis=1), lambda x, y: torch.stack([x, y], 1), (262_144,), (262_144,)),
        "pad": (lambda x: n.pad(x, (1, 1, 1, 1)), lambda x: f.pad(x, (1, 1, 1, 1)), IMAGES),
        "add a row": (lambda x, y: x + y, lambda x, y: x + y, SQUARE, (512,)),
        "multiply by a column": (lambda x, y: x * y, lambda x, y: x * y, SQUARE, (512, 1)),
        "add a transpose": (lambda x, y: x.T + y, lambda x, y: x.T + y, SQUARE, SQUARE),
        "rfft": (lambda x: pb.fft.rfft(x).real, lambda x: torch.fft.rfft(x).real, (256, 1024)),
        "sort": (lambda x: pb.sort(x, axis=1), lambda x: torch.sort(x, 1)[0], SQUARE),
        "matmul": (lambda x, y: x @ y, lambda x, y: x @ y, SQUARE, SQUARE),
        "solve_triangular": (lambda a, b: pb.linalg.solve_triangular(a, b, upper=False),
                             lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), "lower", (400, 400)),
        "solve_triangular, 1 column": (lambda a, b: pb.linalg.solve_triangular(a, b, upper=False),
                                       lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), "lower",
                                       (400, 1)),
        "cholesky": (lambda a: pb.linalg.cholesky(a), lambda a: torch.linalg.cholesky(a), "definite"),
        "solve": (lambda a, b: pb.linalg.solve(a, b), lambda a, b: torch.linalg.solve(a, b), "definite", (400, 10)),
        "inv": (lambda a: pb.linalg.inv(a), lambda a: torch.linalg.inv(a), "definite"),
    }  # fmt: skip
    for name in ("erf", "erfc", "ndtr", "erfinv", "gammaln", "digamma", "i0e", "i1"):
        ours, theirs = getattr(pb.special, name), getattr(torch.special, name)
        scale = 0.5 if name == "erfinv" else 1.0
        rows[name] = (lambda x, g=ours, s=scale: g(x * s), lambda x, g=theirs, s=scale: g(x * s), (100_000,))
    return {name: Line(ours, theirs, tuple(shapes)) for name, (ours, theirs, *shapes) in rows.items()}


def operand(shape: Any, dtype: str) -> Any:
    """Numbers near 1, or a matrix of 400 rows."""
    rng = np.random.default_rng(7)
    if isinstance(shape, tuple):
        return rng.uniform(0.5, 1.5, shape).astype(dtype)
    a = rng.standard_normal((400, 400))
    definite = a @ a.T / 400 + 2 * np.eye(400)
    return (definite if shape == "definite" else np.linalg.cholesky(definite)).astype(dtype)


def measured(adapters: Any, line: Line, dtype: str, options: Options) -> dict[str, dict[str, float]]:
    """Seconds forward and with backward: native, with NumPy alone, and torch's."""
    pb = adapters["pullback"].namespace
    arrays = [operand(shape, dtype) for shape in line.shapes]
    best: dict[str, dict[str, float]] = {}
    for mode in ("record", "differentiate"):
        runs = {}
        for name, function in (("pullback", line.pullback), ("torch", line.torch)):
            case = getattr(adapters[name], mode)(lambda _, *operands, g=function: g(*operands), arrays)
            runs[name] = case.run
        found = best[mode] = {}
        for label, is_native in (("numpy", False), ("native", True)):
            pb.set_native_eager(is_native)
            end = time.perf_counter() + (WARM_SECONDS if is_native else 0)
            while time.perf_counter() < end:
                runs["pullback"]()
            for name, times in time_in_turns(runs, options).items():
                key = label if name == "pullback" else name
                found[key] = min([*times, found.get(key, float("inf"))])
    return best


def main(options: Options) -> None:
    """Measure, print and store: ratios to torch with native code and without."""
    report = Report("eager_large")
    adapters = {name: maker for name, maker in frameworks.load() if name in ("pullback", "torch")}
    rows = lines(adapters["pullback"].namespace, adapters["torch"].namespace)
    findings: dict[str, Any] = {}
    for dtype in ("float32", "float64"):
        table = []
        for name, line in rows.items():
            if options.only not in name:
                continue
            found = findings[f"{name} {dtype}"] = measured(adapters, line, dtype, options)
            cells = [name]
            for mode in found.values():
                cells += [f"{mode['native'] / mode['torch']:.2f}", f"{mode['numpy'] / mode['torch']:.2f}"]
                cells.append(format_seconds(mode["torch"]))
            table.append(cells)
        head = ["operator", "forward", "NumPy alone", "torch", "with backward", "NumPy alone", "torch"]
        print_table(f"ratios to torch, {dtype}", head, table)
    report.findings["operators"] = findings
    report.write()
