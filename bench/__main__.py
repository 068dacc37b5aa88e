"""Run the measurements named on the command line, or all of them. `make bench ARGS="eager --quick"` comes here."""

import argparse

from bench import (
    ahead,
    cold,
    custom_ops,
    eager,
    eager_large,
    executors,
    foreign,
    growth,
    memory,
    native,
    numpy_programs,
    operators,
    ragged,
    scipy,
    startup,
    transforms,
    workloads,
)
from bench.runner import Options

QUESTIONS = {
    "ahead": ahead.main,
    "cold": cold.main,
    "custom_ops": custom_ops.main,
    "eager": eager.main,
    "eager_large": eager_large.main,
    "executors": executors.main,
    "foreign": foreign.main,
    "growth": growth.main,
    "memory": memory.main,
    "native": native.main,
    "numpy_programs": numpy_programs.main,
    "operators": operators.main,
    "ragged": ragged.main,
    "scipy": scipy.main,
    "startup": startup.main,
    "transforms": transforms.main,
    "workloads": workloads.main,
}


def main() -> None:
    """Parse the command line and answer each question in turn."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    available = ", ".join(QUESTIONS)
    parser.add_argument("questions", nargs="*", metavar="question", help=f"any of: {available} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, for a first look")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the rows whose name contains TEXT")
    parser.add_argument("--torch-compile", action="store_true", help="torch.compile too: it compiles for minutes")
    arguments = parser.parse_args()
    unknown = set(arguments.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"unknown question {', '.join(sorted(unknown))}; there are {available}")
    for name in arguments.questions or QUESTIONS:
        QUESTIONS[name](Options(arguments.quick, arguments.only, arguments.torch_compile))


if __name__ == "__main__":
    main()
