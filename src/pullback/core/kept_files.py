"""Files that outlive the process: in a folder that is the user's own, whole or not there, and not too many.

What is kept is executed by later processes. So it is read only from a folder that nobody else can write to, and each
kind of file has a digest that its reader compares. A cache that can not be written to is no error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def is_private(folder: Path) -> bool:
    """Is this a directory that only its owner, who is running this, can write to?"""
    try:
        state = folder.stat()
    except OSError:
        return False
    if not stat.S_ISDIR(state.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True  # a system without such rights
    return state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def keep(folder: Path, name: str, data: bytes) -> bool:
    """Write a file such that others see all of it, or nothing. False if it is not kept."""
    import tempfile  # which readers never need, and which takes longer to load than they read

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(folder):
            return False
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, folder / name)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError:
        return False
    return True


def files_of(folder: Path, suffix: str) -> Iterator[Path]:
    """The files of one kind in a folder, which need not exist."""
    with suppress(OSError):
        yield from (file for file in folder.iterdir() if file.name.endswith(suffix))


def remove(folder: Path, suffix: str) -> None:
    """Remove all files of one kind."""
    for file in files_of(folder, suffix):
        with suppress(OSError):
            file.unlink()


def shrink(folder: Path, suffix: str, most_bytes: int) -> None:
    """Remove what was not used for longest, until the rest is small enough."""
    found = []
    for file in files_of(folder, suffix):
        with suppress(OSError):
            state = file.stat()
            found.append((state.st_mtime_ns, state.st_size, file))
    total = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if total <= most_bytes:
            break
        with suppress(OSError):
            file.unlink()
        total -= size
