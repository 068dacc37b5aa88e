"""Files that outlive the process: in a folder that is the user's own, whole or not there, and not too many.

What is kept is executed by later processes. So it is read only from a folder that nobody else can write to, and each
kind of file has a digest that its reader compares. A cache that can not be written to is no error. Paths are texts:
`pathlib` takes longer to load than all the reading.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

Folder = str | os.PathLike[str]


def is_private(folder: Folder) -> bool:
    """Is this a directory that only its owner, who is running this, can write to?"""
    try:
        state = os.stat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True  # a system without such rights
    return state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_private(folder: Folder) -> None:
    """Make a directory, readable for nobody else, if it is not there; those above it are made as usual."""
    os.makedirs(folder, mode=0o700, exist_ok=True)


def keep(folder: Folder, name: str, data: bytes) -> bool:
    """Write a file such that others see all of it, or nothing. False if it is not kept."""
    import tempfile  # which readers never need, and which takes longer to load than they read

    try:
        make_private(folder)
        if not is_private(folder):
            return False
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, os.path.join(folder, name))
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError:
        return False
    return True


def files_of(folder: Folder, suffix: str) -> Iterator[str]:
    """The files of one kind in a folder, which need not exist."""
    with suppress(OSError):
        yield from (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(suffix))


def remove(folder: Folder, suffix: str) -> None:
    """Remove all files of one kind."""
    for file in files_of(folder, suffix):
        with suppress(OSError):
            os.unlink(file)


def shrink(folder: Folder, suffix: str, most_bytes: int) -> None:
    """Remove what was not used for longest, until the rest is small enough."""
    found = []
    for file in files_of(folder, suffix):
        with suppress(OSError):
            state = os.stat(file)
            found.append((state.st_mtime_ns, state.st_size, file))
    total = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if total <= most_bytes:
            break
        with suppress(OSError):
            os.unlink(file)
        total -= size
