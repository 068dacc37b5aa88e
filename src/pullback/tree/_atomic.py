"""Files and folders that appear under their names when they are complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def write_atomically(path: str, write: Callable[[str], None]) -> None:
    """Let `write` fill a new file beside `path`, and put it in its place when it is on the disk.

    Whoever opens `path` sees the old file or the new one, also if the machine stops in between. A process that is
    killed leaves the new one behind under a name that begins with a dot and ends with `.tmp`.
    """
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        write(new)
        with open(new, "rb") as file:
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        if os.path.exists(new):
            os.unlink(new)
        raise
    sync_folder(folder)


def sync_folder(path: str) -> None:
    """See to it that names in a folder are on the disk as well."""
    with _folder(path) as descriptor:
        if descriptor is not None:
            os.fsync(descriptor)


@contextmanager
def _folder(path: str) -> Iterator[int | None]:
    """A descriptor of a folder, where the system has such."""
    if not hasattr(os, "O_DIRECTORY"):
        yield None
        return
    descriptor = os.open(path or os.curdir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
