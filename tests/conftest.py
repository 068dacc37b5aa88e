"""Graphs are verified behind every pass (`graph/pipeline.py`), in processes that tests start too.

With PULLBACK_COUNT_PATHS in the environment, the special ways that tests go are counted: see `tests/paths.py`.
"""

import os
import signal

import tests.paths  # noqa: F401  (before anything imports the package)

os.environ.setdefault("PULLBACK_VERIFY", "1")
# A shell without job control starts background processes with interrupts ignored, and tests that interrupt themselves
# would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
