"""Graphs are verified behind every pass (`graph/pipeline.py`), in processes that tests start too.

With PULLBACK_COUNT_PATHS in the environment, the special ways that tests go are counted: see `tests/paths.py`.
"""

import os

import tests.paths  # noqa: F401  (before anything imports the package)

os.environ.setdefault("PULLBACK_VERIFY", "1")
