"""The examples on 1, 2 and 4 ranks: they compare themselves with the serial program. Case 103 is the first of them."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
RANKS = 4
ALSO_RANKS = (1, 2)
INITIALISES = True  # they call `init()` themselves
ON_THREADS = (2,)  # some ten thousand messages, which threads are slow at


def case_103_heat():
    runpy.run_path(str(EXAMPLES / "distributed_heat.py"))["main"]()


def case_103_logistic():
    runpy.run_path(str(EXAMPLES / "distributed_logistic.py"))["main"]()
