"""Texts that outlive the process: partitions and generated source, by a digest of everything they depend on.

An entry is JSON of texts and numbers, sealed; nothing is pickled. Tracing always runs, so that the key
is what the function does here and now: two functions with the same graph share an entry, and one whose graph has
changed has another. Part of every key are the versions of Python, NumPy and Pullback, the processor and its byte order.

Generated source is executed, so it is read only from a directory that nobody else can write to (`core/disk.py`).
The cache is off unless a directory was given, by `set_cache_dir` or in the environment as PULLBACK_CACHE_DIR.
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

from pullback.core.disk import Cache, cache_dir, keep, read, reason_against, remove, shrink
from pullback.core.frames import warn
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, Program
from pullback.graph.text.printing import bodies_of, opaque_in

MOST_BYTES = 64 << 20
"""Size up to which the cache grows; then the entries that were not used for longest go."""

OBJECTS, OBJECT_SUFFIX = "objects", ".o"
"""Where the native backend keeps its object code, below the directory of the cache."""

_FORMAT = 2
_SUFFIX = ".pullback"
_told: set[str] = set()


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Keep compiled functions in this directory, for other processes to find; None keeps nothing.

    The directory is made if it is not there, readable for nobody else. Everything in it is executed: it must be yours,
    and neither it nor a directory above it may be one that others can write to. One that cannot be used is told of by
    a warning, and then nothing is kept.
    """
    if path is not None and not os.fspath(path):
        raise ValueError("the cache directory has no name; None turns the cache off")
    Cache.folder = "" if path is None else os.path.abspath(os.fsdecode(path))
    usable_dir()


def usable_dir() -> str | None:
    """The directory of the cache, which is there now; None if the cache is off, or cannot be used."""
    folder = cache_dir()
    reason = None if folder is None else reason_against(folder)
    if reason is None:
        return folder
    if (told := f"{folder}: {reason}") not in _told:
        _told.add(told)
        warn(f"nothing is kept in the cache directory {told}", UserWarning)
    return None


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
    content = None if folder is None else read(folder, f"{key}{_SUFFIX}", MOST_BYTES)
    try:
        return None if content is None else json.loads(content)
    except ValueError:
        return None


def store(key: str, value: Any) -> None:
    """Keep a value of texts, numbers, lists and dicts. A cache that cannot be written to is no error."""
    folder, name = cache_dir(), f"{key}{_SUFFIX}"
    if folder is None:
        return
    content = json.dumps(value).encode()
    if keep(folder, name, content):
        shrink(folder, _SUFFIX, MOST_BYTES, name, len(content))


# Which graphs may be looked up in the cache on disk.

def is_storable(graph: Graph) -> bool:
    """Does the text of a graph say everything about it? Custom operators are code of others, which may change, and
    which gradients lead to effects of a backward pass is no part of the text."""
    has_effects = any(node.tag == BACKWARD and (node.effect or node.op == "store") for node in graph.nodes)
    return not has_effects and not opaque_in(graph) and not _has_custom_operators(graph)


def _has_custom_operators(graph: Program) -> bool:
    return any(
        node.target.family == "custom" if node.target is not None
        else any(_has_custom_operators(body) for body in bodies_of(node).values())
        for node in graph.nodes
    )  # fmt: skip
