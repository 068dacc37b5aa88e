"""`pb.show_versions()`: what a report of a mistake should say of the machine it happened on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

import numpy as np

from pullback.core.disk import cache_dir
from pullback.core.threads import get_num_threads

_PACKAGES = ("numpy", "scipy", "llvmlite")


def show_versions() -> None:
    """Print the versions of Python, Pullback and what it uses, the machine, the threads, the cache, and our settings.

    >>> import pullback as pb
    >>> pb.show_versions()                        # doctest: +ELLIPSIS
    python    3...
    """
    rows = {"python": f"{platform.python_version()} ({platform.python_implementation()}, {_lock()})"}
    package = __name__.partition(".")[0]
    rows[package] = sys.modules[package].__version__  # of what runs: a source tree need not be installed
    rows |= {name: _version(name) for name in _PACKAGES}
    rows["machine"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    rows["threads"] = str(get_num_threads())
    rows["blas"] = _blas()
    rows["simd"] = " ".join(np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])) or "baseline"
    rows["cache"] = cache_dir() or "none (pb.aot.set_cache_dir)"
    rows |= {name: value for name, value in sorted(os.environ.items()) if name.startswith(("PULLBACK_", "OMP_NUM"))}
    print("\n".join(f"{name:9s} {value}" for name, value in rows.items()))


def _lock() -> str:
    return "global lock" if getattr(sys, "_is_gil_enabled", lambda: True)() else "free-threaded"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> str:
    found = np.show_config(mode="dicts")
    blas = found.get("Build Dependencies", {}).get("blas", {}) if found else {}
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
