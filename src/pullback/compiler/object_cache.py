"""Object code on disk: a process that needs a module which an earlier one has compiled loads it without running LLVM.

A file holds a digest and the code, and nothing is ever unpickled. Files are written under another name and then
renamed, so that nobody sees half of one; a file that was cut short or changed does not match its digest and is thrown
away. The folder belongs to the user alone; without one, nothing is kept. `pb.aot.set_cache_dir` chooses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from pullback.core.kept_files import is_private, keep, shrink

MOST_BYTES = 256 << 20
"""When files take more than this together, those that were used longest ago go."""
_MAGIC = b"pullback object 1\n"
_folder: str | os.PathLike[str] | None = None


def set_folder(path: str | os.PathLike[str] | None) -> None:
    """Keep object code in this folder, or nowhere."""
    global _folder
    _folder = path


def folder() -> str | os.PathLike[str] | None:
    """Where object code is kept; None if nowhere, or if the folder is not the user's own."""
    return _folder if _folder is not None and is_private(_folder) else None


def has(name: str) -> bool:
    """Is there a file for a module? Whether it is whole shows when it is read."""
    where = folder()
    return where is not None and os.path.exists(_file(where, name))


def read(name: str) -> bytes | None:
    """The code of a module, if it is there and whole."""
    where = folder()
    if where is None:
        return None
    path = _file(where, name)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    code = data[head:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : head] != _digest(name, code):
        with contextlib.suppress(OSError):
            os.unlink(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return code


def write(name: str, code: bytes) -> None:
    """Keep the code of a module; if that fails, it is not kept."""
    if _folder is not None and keep(_folder, f"{name}.o", _MAGIC + _digest(name, code) + code):
        shrink(_folder, ".o", MOST_BYTES)


def _file(folder: str | os.PathLike[str], name: str) -> str:
    return os.path.join(folder, f"{name}.o")


def _digest(name: str, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + code).digest()
