"""What does `import pullback` cost on top of `import numpy`? The median of fresh processes, bytecode already cached.

The clock runs inside the child, around each import in turn, so starting the interpreter is not counted and what NumPy
loads anyway is counted as NumPy's. The peers are measured the same way.
"""

import json
import statistics
import subprocess
import sys

from bench.runner import Options, Report, format_seconds, print_table

AIM_SECONDS = 0.060

CHILD = """
import json, sys, time
seconds = []
for name in sys.argv[1:]:
    start = time.perf_counter()
    __import__(name)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""

# What is imported, in order; the last import is the one in question.
SEQUENCES = {
    "numpy": ["numpy"],
    "pullback after numpy": ["numpy", "pullback"],
    "torch after numpy": ["numpy", "torch"],
    "jax after numpy": ["numpy", "jax"],
    "autograd after numpy": ["numpy", "autograd.numpy"],
}


def import_seconds(modules: list[str]) -> float | None:
    """Time of the last import of `modules` in a fresh process, or None where it cannot be imported."""
    done = subprocess.run([sys.executable, "-c", CHILD, *modules], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)[-1]
    if f"No module named '{modules[-1].partition('.')[0]}'" in done.stderr:
        return None
    raise RuntimeError(f"importing {modules[-1]} failed:\n{done.stderr}")


def main(options: Options) -> None:
    """Measure in turns, print and store."""
    report = Report("startup")
    chosen = {name: modules for name, modules in SEQUENCES.items() if options.only in name}
    available = {name: modules for name, modules in chosen.items() if import_seconds(modules) is not None}
    samples: dict[str, list[float]] = {name: [] for name in available}
    for _ in range(5 if options.quick else 15):
        for name, modules in available.items():
            samples[name].append(import_seconds(modules) or 0.0)
    rows = [
        [name, format_seconds(statistics.median(times)), format_seconds(min(times))] for name, times in samples.items()
    ]
    print_table("seconds to import", ["module", "median", "best"], rows)
    if "pullback after numpy" in samples:
        cost = statistics.median(samples["pullback after numpy"])
        print(f"  import pullback = import numpy + {format_seconds(cost)} (aim: at most {format_seconds(AIM_SECONDS)})")
    report.findings["seconds"] = samples
    report.findings["aim"] = AIM_SECONDS
    report.write()


if __name__ == "__main__":
    main(Options())
