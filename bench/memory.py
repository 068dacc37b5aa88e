"""What does the tape keep, and is it given back?

Three questions. How many bytes does a node cost, on chains of a million operators that also run backward and are freed
under the default recursion limit? Which arrays does a chain of 40 operators keep alive, against those the derivative
rules name? Is everything gone when the result is? Each answer comes from a process of its own, with the garbage
collector off: reference counting alone must do.
"""

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import frameworks
from bench.runner import Options, Report, format_seconds, print_table

# A chain whose rule reads nothing, one whose rule reads its operand, and one whose rule reads its result.
CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "h + 1.0": lambda m, h: h + 1.0,
    "sin(h)": lambda m, h: m.sin(h),
    "tanh(h)": lambda m, h: m.tanh(h),
}

# What each operator of `bench.eager.chain` may keep for backward. `in` is its operand h, `out` its result; w, b and x
# are leaves that the caller holds anyway.
KEPT_BY_RULE = [
    ("h * w", lambda m, h, x, w, b: h * w, {"in"}),
    ("h + b", lambda m, h, x, w, b: h + b, set()),
    ("sin(h)", lambda m, h, x, w, b: m.sin(h), {"in"}),
    ("h * 1.5", lambda m, h, x, w, b: h * 1.5, set()),
    ("tanh(h)", lambda m, h, x, w, b: m.tanh(h), {"out"}),
    ("h - x", lambda m, h, x, w, b: h - x, set()),
    ("exp(h)", lambda m, h, x, w, b: m.exp(h), {"out"}),
    ("h * 0.25", lambda m, h, x, w, b: h * 0.25, set()),
]
TURNS = 5


def resident_bytes() -> int:
    """Memory of this process that is really there."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def long_chain(framework: str, step: str, length: int) -> dict[str, float]:
    """Bytes and seconds per operator of a chain of `length` steps on 8 elements, built twice."""
    gc.disable()
    adapter = dict(frameworks.load())[framework]
    function, namespace = CHAINS[step], adapter.namespace
    seed = adapter.from_array(np.ones(8))

    def build(count: int) -> Any:
        h = leaf
        for _ in range(count):
            h = function(namespace, h)
        return h

    (leaf,) = adapter.leaves([np.full(8, 0.5)])
    build(1000).backward(seed)
    leaf.grad = None
    empty = resident_bytes()
    h = build(length)
    full = resident_bytes()
    dropping = time.perf_counter()
    del h
    start = time.perf_counter()
    h = build(length)
    built = time.perf_counter()
    full_again = resident_bytes()
    pulling = time.perf_counter()
    h.backward(seed)
    pulled = time.perf_counter()
    del h
    end = time.perf_counter()
    return {
        "bytes_per_node": (full - empty) / length,
        # Freed memory stays with the allocator, so giving back shows in the second chain needing nothing new.
        "growth_per_node": (full_again - full) / length,
        "forward": (built - start) / length,
        "backward": (pulled - pulling) / length,
        "dropped_alone": (start - dropping) / length,
        "dropped_after_backward": (end - pulled) / length,
    }


def live_arrays() -> int:
    """How many blocks of array data NumPy has allocated since tracing began and not freed."""
    only_arrays = [tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)]
    return len(tracemalloc.take_snapshot().filter_traces(only_arrays).traces)


def kept_arrays(framework: str) -> dict[str, int]:
    """How many arrays 40 operators keep alive: expected from the rules, counted, after backward, and after all."""
    gc.disable()
    adapter = dict(frameworks.load())[framework]
    # Blocks above a kilobyte, since NumPy keeps smaller ones for reuse.
    operands = adapter.leaves([np.full(4096, value) for value in (0.5, 0.7, 0.9)])
    x, w, b = operands
    seed = adapter.from_array(np.ones(4096))

    def build() -> tuple[Any, int]:
        h, fresh = x, False
        expected = 0
        is_kept = False
        for _, operator, reads in KEPT_BY_RULE * TURNS:
            # `h` counts once, whether its producer keeps it as `out`, its consumer as `in`, or both.
            expected += fresh and (is_kept or "in" in reads)
            h, fresh, is_kept = operator(adapter.namespace, h, x, w, b), True, "out" in reads
        return h, expected + 1

    warm, _ = build()
    warm.backward(seed)
    del warm
    for operand in operands:
        operand.grad = None
    tracemalloc.start()
    h, expected = build()
    counted = live_arrays()
    h.backward(seed)
    after_backward = live_arrays()
    del h
    for operand in operands:
        operand.grad = None
    afterwards = live_arrays()
    h, _ = build()
    del h
    dropped = live_arrays()
    tracemalloc.stop()
    return {
        "expected": expected,
        "counted": counted,
        "after_backward": after_backward,
        "after_release": afterwards,
        "after_drop": dropped,
    }


QUESTIONS: dict[str, Callable[..., dict[str, Any]]] = {"long_chain": long_chain, "kept_arrays": kept_arrays}


def ask(question: str, *arguments: Any) -> dict[str, Any]:
    """The answer of a fresh process."""
    call = json.dumps([question, *arguments])
    done = subprocess.run([sys.executable, "-m", "bench.memory", call], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{question}{arguments} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main(options: Options) -> None:
    """Ask every question of every framework that can answer it, print and store."""
    report = Report("memory")
    available = [name for name, _ in frameworks.load() if name in ("pullback", "torch")]
    length = 100_000 if options.quick else 1_000_000
    chains = {
        f"{name}: {step}": ask("long_chain", name, step, length)
        for step in CHAINS for name in available if options.only in f"{name}: {step}"
    }  # fmt: skip
    times = ("forward", "backward", "dropped_alone", "dropped_after_backward")
    rows = [
        [label, f"{found['bytes_per_node']:.0f}", f"{found['growth_per_node']:.1f}",
         *(format_seconds(found[key]) for key in times)]
        for label, found in chains.items()
    ]  # fmt: skip
    header = ["", "bytes", "more for a second chain", *(key.replace("_", " ") for key in times)]
    print_table(f"a chain of {length} operators on 8 elements, per operator", header, rows)
    report.findings["chains"] = {"length": length, "per_operator": chains}
    if "pullback" in available:
        found = ask("kept_arrays", "pullback")
        print_table("arrays kept alive by 40 operators", list(found), [[str(count) for count in found.values()]])
        report.findings["arrays"] = found
        if found["counted"] != found["expected"] or found["after_release"] or found["after_drop"]:
            print("  NOT WHAT THE RULES NAME: more is a leak, fewer means that the arrays were not all seen")
    report.write()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main(Options())
    else:
        asked, *given = json.loads(sys.argv[1])
        print(json.dumps(QUESTIONS[asked](*given)))
