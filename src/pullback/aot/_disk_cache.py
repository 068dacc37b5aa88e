"""Texts that outlive the process: partitions and generated source, by a digest of everything they depend on.

An entry is a JSON file of texts and numbers, with a checksum; nothing is pickled. Tracing always runs, so that the key
is what the function does here and now: two functions with the same graph share an entry, and one whose graph has
changed has another. Part of every key are the versions of Python, NumPy and Pullback, the processor and its byte order.

Generated source is executed, so it is read only from a directory that nobody else can write to. The cache is off unless
a directory was given, by `set_cache_dir` or in the environment as PULLBACK_CACHE_DIR.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import sys
from typing import Any

import numpy as np

from pullback.core.kept_files import is_private, keep, make_private, remove, shrink

VARIABLE = "PULLBACK_CACHE_DIR"
MOST_BYTES = 64 << 20
"""Size up to which the cache grows; then the entries that were not used for longest go."""

OBJECTS, OBJECT_SUFFIX = "objects", ".o"
"""Where the native backend keeps its object code, below the directory of the cache."""

_FORMAT = 1
_SUFFIX = ".pullback.json"
_UNSET: Any = object()
_chosen: Any = _UNSET


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Keep compiled functions in this directory, for other processes to find; None keeps nothing.

    The directory is made if it is not there, readable for nobody else. Everything in it is executed: it must be yours.
    """
    global _chosen
    _chosen = None if path is None else os.fspath(path)
    if _chosen is not None:
        make_private(_chosen)


def cache_dir() -> str | None:
    """The directory of the cache; None if it is off."""
    if _chosen is not _UNSET:
        return _chosen
    named = os.environ.get(VARIABLE)
    return named or None


def clear_cache() -> None:
    """Remove everything from the cache directory that Pullback has put there."""
    folder = cache_dir()
    if folder is not None:
        remove(folder, _SUFFIX)
        remove(os.path.join(folder, OBJECTS), OBJECT_SUFFIX)


def key_of(kind: str, *parts: str) -> str:
    """The name of an entry: a digest of what it depends on."""
    digest = hashlib.sha256()
    for part in (kind, *environment(), *parts):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


@functools.cache
def environment() -> tuple[str, ...]:
    """What every entry depends on."""
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    processor = [platform.machine(), *sorted(name for name, there in features.items() if there)]
    return (
        f"format {_FORMAT}", sys.implementation.cache_tag or "", sys.version, np.__version__, sys.byteorder,
        " ".join(processor), _package(),
    )  # fmt: skip


def _package() -> str:
    """This very version of Pullback, also while it is being worked on: size and time of every file of source. There are
    hundreds, and the system tells of all in a folder at once."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    states, folders = [], [root]
    for folder in folders:
        with os.scandir(folder) as found:
            for each in found:
                if each.name.endswith(".py"):
                    state = each.stat()
                    states.append(f"{each.path[len(root) :]} {state.st_size} {state.st_mtime_ns}")
                elif each.name != "__pycache__" and each.is_dir():
                    folders.append(each.path)
    return " ".join(sorted(states))


# Reading and writing.


def load(key: str) -> Any:
    """What was stored under this name; None if there is nothing, or nothing that can be trusted."""
    folder = cache_dir()
    if folder is None or not is_private(folder):
        return None
    path = os.path.join(folder, f"{key}{_SUFFIX}")
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        content = record["content"]
        if record["key"] != key or record["checksum"] != _checksum(content):
            return None
        os.utime(path)  # it was used
        return json.loads(content)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(key: str, value: Any) -> None:
    """Keep a value of texts, numbers, lists and dicts. A cache that can not be written to is no error."""
    folder = cache_dir()
    if folder is None:
        return
    content = json.dumps(value)
    record = json.dumps({"key": key, "checksum": _checksum(content), "content": content})
    if keep(folder, f"{key}{_SUFFIX}", record.encode()):
        shrink(folder, _SUFFIX, MOST_BYTES)


def _checksum(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
