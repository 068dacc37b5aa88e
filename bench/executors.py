"""What do executors and `pb.distributed` cost beside the work itself?

Rows are ratios: a Jacobian in pieces on two threads over half of the time that one thread takes, a map over what its
items take, and the import. Work is 10 ms a row that leaves the processor alone, so the ratios are those of our own
costs and not of the cores.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.runner import Options, Report, format_seconds, print_table
from bench.startup import import_seconds

ROW_SECONDS = 0.010
ROWS = 100


def slow_numbers(_: Any) -> int:
    """An item of 10 ms."""
    time.sleep(ROW_SECONDS)
    return 1


def row(x: Any) -> Any:
    """A scalar whose gradient takes 10 ms to prepare."""
    time.sleep(ROW_SECONDS)
    return (x * x).sum()


def best(work: Callable[[], Any], options: Options) -> float:
    """The shortest of a few runs; each takes half a second or more."""
    times = []
    for _ in range(2 if options.quick else 5):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def main(options: Options) -> None:
    """Measure, and print the ratios."""
    import pullback as pb

    report = Report("executors")
    rows = []
    x = pb.tensor(np.linspace(0.0, 1.0, 16))
    gradient = pb.func.jacfwd(row, chunk_size=1)
    with ThreadPoolExecutor(2) as pool:
        serial = best(lambda: gradient(x), options)
        measured = {
            "jacfwd of 16 columns, 10 ms each, two threads": (
                best(lambda: pb.func.jacfwd(row, chunk_size=1, executor=pool)(x), options), serial / 2, 1.1
            ),
            "map of 100 items, 10 ms each, two threads": (
                best(lambda: pb.distributed.map(slow_numbers, range(ROWS), executor=pool, pieces=50), options),
                ROWS * ROW_SECONDS / 2, 1.1,
            ),
        }  # fmt: skip
    for name, (seconds, ideal, aim) in measured.items():
        rows.append([name, format_seconds(seconds), format_seconds(ideal), f"{seconds / ideal:.2f}", f"<= {aim}"])
        report.findings[name] = {"seconds": seconds, "ideal": ideal, "ratio": seconds / ideal, "aim": aim}
    modules = ["numpy", "pullback", "pullback.distributed"]
    more = min(import_seconds(modules) or 0.0 for _ in range(3 if options.quick else 9))
    rows.append(["import pullback.distributed after pullback", format_seconds(more), "", "", "<= 10 ms"])
    report.findings["import pullback.distributed"] = {"seconds": more, "aim": 0.010}
    print_table("Executors", ["row", "seconds", "ideal", "ratio", "aim"], rows)
    report.write()
