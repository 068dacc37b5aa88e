"""Is any operator slower than plain NumPy? `python -m bench eager --only numpy`

Each row is a program of operators, run on arrays by NumPy and on tensors by Pullback, for several sizes in both
precisions. A Tensor costs something by itself, so a row is slow if it takes longer than `WRAPPING` and a twentieth more
than NumPy; only such rows are printed, the worst first. A second table has operators forward and backward, with native
code and without: native code must not be slower.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.plain_numpy_rows import BACKWARD, ROWS, Operands, Program
from bench.runner import Options, format_seconds, print_table

SIZES = (100, 20_000, 100_000, 1_000_000, 10_000_000)
DTYPES = ("float64", "float32")
WRAPPING = 3e-6
"""Seconds that a Tensor may cost."""
TOLERATED = 1.05
_AGAIN = 3
"""A slow row is measured again so often: another process may have been in its way."""


class Finding(NamedTuple):
    """A row for one size and dtype: the best time that we took, and the one to compare with."""

    name: str
    elements: int
    dtype: str
    ours: float
    other: float

    @property
    def is_slow(self) -> bool:
        """Is it slower by more than the price of a Tensor?"""
        return self.ours > TOLERATED * self.other + WRAPPING


def in_turns(runs: tuple[Callable[[], Any], ...], seconds: float) -> list[float]:
    """The best time of each, called one after the other for so long, and seven times at least."""
    best = [float("inf")] * len(runs)
    end, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or count < 7:
        count += 1
        for k, run in enumerate(runs):
            start = time.perf_counter()
            result = run()
            best[k] = min(best[k], time.perf_counter() - start)
            del result
    return best


def compared(program: Program, pullback: Any, arrays: Operands, seconds: float) -> tuple[float, float]:
    """Best times of Pullback and of NumPy."""
    tensors = Operands(*map(pullback.tensor, arrays))
    with np.errstate(all="ignore"):
        for _ in range(3):
            program.pullback(pullback, tensors)
        ours, numpys = in_turns(
            (lambda: program.pullback(pullback, tensors), lambda: program.numpy(np, arrays)), seconds
        )
    return ours, numpys


def forward_findings(pullback: Any, options: Options, dtype: str, size: int) -> Iterator[Finding]:
    """All rows for one dtype and size."""
    arrays = Operands.drawn(size, dtype)
    seconds = (0.02 if options.quick else 0.1) * (1 if size < 1_000_000 else 3)
    for program in ROWS:
        if size > program.most:
            continue
        finding = Finding(program.name, size, dtype, *compared(program, pullback, arrays, seconds))
        for _ in range(_AGAIN):
            if finding.is_slow:
                finding = Finding(program.name, size, dtype, *compared(program, pullback, arrays, seconds))
        yield finding


def backward_findings(pullback: Any, options: Options, dtype: str, size: int) -> Iterator[Finding]:
    """Forward and backward with native code, and with NumPy alone."""
    seconds = (0.02 if options.quick else 0.06) * (1 if size < 1_000_000 else 3)
    for program in BACKWARD:
        run = forward_and_backward(program, pullback, Operands.drawn(size, dtype))
        best = [float("inf"), float("inf")]
        for number in range(2 + _AGAIN):
            for is_native in (False, True):
                pullback.set_native_eager(is_native)
                for _ in range(3):
                    run()
                best[is_native] = min(best[is_native], *in_turns((run,), seconds / 2))
            finding = Finding(program.name, size, dtype, best[True], best[False])
            if number > 0 and not finding.is_slow:
                break
        yield finding


def forward_and_backward(program: Program, pullback: Any, arrays: Operands) -> Callable[[], None]:
    """A call that computes the program and the gradients of its operands."""
    tensors = Operands(*(pullback.tensor(each).requires_grad_(each.dtype.kind == "f") for each in arrays))
    seed = pullback.tensor(np.ones_like(program.pullback(pullback, tensors).detach().numpy()))

    def run() -> None:
        for leaf in tensors:
            leaf.grad = None
        program.pullback(pullback, tensors).backward(seed)

    return run


def print_slow(title: str, findings: list[Finding], other: str) -> None:
    """The slow ones, the worst first."""
    slow = sorted((each for each in findings if each.is_slow), key=lambda each: each.other / each.ours)
    rows = [
        [f"{each.name}, {each.elements} {each.dtype}", f"{each.ours / each.other:.2f}",
         format_seconds(each.ours), format_seconds(each.other)]
        for each in slow
    ]  # fmt: skip
    print_table(f"{title}: {len(slow)} of {len(findings)} are slower", ["row", "ratio", "pullback", other], rows)


def all_findings(pullback: Any, options: Options) -> dict[str, list[dict[str, Any]]]:
    """Print both tables, and return everything that was measured."""
    from pullback.eager import large  # native code is used at once: how long that takes to pay is another question

    large.IMPORT_SECONDS = large.COMPILE_SECONDS = 0.0
    found: dict[str, list[Finding]] = {"numpy": [], "backward": []}
    for dtype in DTYPES:
        for size in SIZES[:-1] if options.quick else SIZES:
            found["numpy"] += forward_findings(pullback, options, dtype, size)
            if 100 < size < SIZES[-1]:
                found["backward"] += backward_findings(pullback, options, dtype, size)
    print_slow("operators against plain NumPy", found["numpy"], "numpy")
    print_slow("forward and backward, native code against NumPy", found["backward"], "numpy only")
    return {key: [each._asdict() for each in values] for key, values in found.items()}
