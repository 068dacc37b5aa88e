"""Files that outlive the process: in a folder that is the user's own, sealed, whole or not there, and not too many.

What is kept is executed by later processes, so three things have to hold before any of it is read. Nobody else can put
anything into the folder or exchange it: it belongs to the user alone, and those above it to the user or to root. The
file is a plain one of the user's own: links are not followed, and a pipe, a device or something huge is not waited for.
And it carries a seal, made of its name and content with a key that only the user can read; so what others put there
while the folder was open, or copied from elsewhere, is nothing.

A folder is opened from the root down, one name at a time, and files by their names in the open folder: to exchange a
folder in between has no effect. A cache that cannot be used or written is no error, only of no use. Paths are texts:
`pathlib` takes longer to load than all the reading.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pullback.core.reports import WARNING, report

Folder = str | os.PathLike[str]

_HAS_RIGHTS = hasattr(os, "getuid") and os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_WRITEABLE_FOR_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
_MAGIC = b"pullback kept 1\n"
_HEAD = len(_MAGIC) + 65
_KEY, _KEY_BYTES = ".key", 64
_WRITING = ".writing-"
_HOUR = 3600.0


VARIABLE = "PULLBACK_CACHE_DIR"


class Cache:
    """Where compiled functions are kept: the folder that was chosen, "" to keep nothing; None asks the environment."""

    folder: str | None = None


def cache_dir() -> str | None:
    """The directory that was named; None if the cache is off."""
    named = os.environ.get(VARIABLE) if Cache.folder is None else Cache.folder
    return named or None


class Refused(OSError):
    """A folder is not one to keep things in that will be executed; the message says why."""


# Folders.


class _Open:
    """A folder that was found to be the user's own. `path` is used where the system has no descriptors of folders."""

    def __init__(self, descriptor: int | None, path: str) -> None:
        self.descriptor, self.path = descriptor, path

    def place(self, name: str) -> str:
        """What a file of this name is called together with `dir_fd=descriptor`."""
        return os.path.join(self.path, name) if self.descriptor is None else name

    def names(self) -> list[str]:
        """Everything in it."""
        return os.listdir(self.path if self.descriptor is None else self.descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file, if it is there and can be removed."""
        with suppress(OSError):
            os.unlink(self.place(name), dir_fd=self.descriptor)


@contextmanager
def _opened(folder: Folder, make: bool = False) -> Iterator[_Open]:
    """The folder, if it is the user's own; `make` makes what is not there. Raises an OSError, `Refused` for one."""
    path = os.path.abspath(os.fsdecode(folder))
    if not _HAS_RIGHTS:
        if make:
            os.makedirs(path, exist_ok=True)
        yield _Open(None, path)
        return
    parent, name = os.path.split(path)
    parts = [each for each in (*os.path.realpath(parent).split(os.sep), name) if each]
    descriptor = os.open(os.sep, _walking())
    try:
        _check(descriptor, os.sep, is_last=not parts)
        for number, part in enumerate(parts, 1):
            inner = _entered(descriptor, part, make)
            os.close(descriptor)
            descriptor = inner
            _check(descriptor, os.sep + os.sep.join(parts[:number]), is_last=number == len(parts))
        inner = os.open(os.curdir, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
        yield _Open(descriptor, path)
    finally:
        os.close(descriptor)


def _walking() -> int:
    """Flags for a folder that is gone through, which need not be readable."""
    return getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


def _entered(descriptor: int, part: str, make: bool) -> int:
    """A folder in a folder, which only the user can write to if it has to be made."""
    try:
        return os.open(part, _walking(), dir_fd=descriptor)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):  # another process was quicker
        os.mkdir(part, 0o700, dir_fd=descriptor)
    return os.open(part, _walking(), dir_fd=descriptor)


def _check(descriptor: int, path: str, is_last: bool) -> None:
    """Raise if others could put something into a folder, or into the place of what is in it."""
    state = os.fstat(descriptor)
    owners = {os.getuid()} if is_last else {os.getuid(), 0}
    if state.st_uid not in owners:
        raise Refused(f"{path} belongs to another user")
    # In a folder with the sticky bit, as /tmp is one, others cannot exchange what is not theirs.
    if state.st_mode & _WRITEABLE_FOR_OTHERS and (is_last or not state.st_mode & stat.S_ISVTX):
        raise Refused(f"other users can write to {path} (`chmod go-w` ends that)")


def reason_against(folder: Folder) -> str | None:
    """Why a folder cannot be used; None if it can be. It is made if it is not there."""
    try:
        with _opened(folder, make=True):
            return None
    except Refused as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def is_private(folder: Folder) -> bool:
    """Is this a folder that is there, and that nobody else could put anything into?"""
    with suppress(OSError, ValueError), _opened(folder):
        return True
    return False


# Files.


def read(folder: Folder, name: str, most_bytes: int) -> bytes | None:
    """What was kept under a name; None if there is nothing, or nothing that can be trusted, which is removed."""
    try:
        with _opened(folder) as own:
            data = _content(own, name, most_bytes + _HEAD, is_used=True)
            key = _content(own, _KEY, _KEY_BYTES)
            if data is None:
                own.unlink(name)
            elif key is not None and len(key) == _KEY_BYTES:
                if data[:_HEAD] == _MAGIC + _seal(key, name, data[_HEAD:]):
                    # path: file from disk
                    report(f"{name} read, {len(data)} bytes", "cache")
                    return data[_HEAD:]
                own.unlink(name)
                report(f"{name} is not what was written, and was removed", "cache", WARNING)
    except FileNotFoundError:
        report(f"{name} is not there", "cache")
    except (OSError, MemoryError) as error:
        report(f"{name} was not read: {type(error).__name__}: {error}", "cache")
    return None


def has(folder: Folder, name: str) -> bool:
    """Is there a plain file of this name? Whether it can be trusted shows when it is read."""
    with suppress(OSError), _opened(folder) as own:
        return stat.S_ISREG(os.lstat(own.place(name), dir_fd=own.descriptor).st_mode)
    return False


def keep(folder: Folder, name: str, data: bytes) -> bool:
    """Write a file such that others see all of it, or nothing. False if it is not kept."""
    try:
        with _opened(folder, make=True) as own:
            seal = _seal(_key(own), name, data)
            _write(own, name, _MAGIC + seal + data)
    except (OSError, MemoryError) as error:
        report(f"{name} was not kept: {type(error).__name__}: {error}", "cache", WARNING)
        return False
    report(f"{name} kept, {len(data)} bytes", "cache")
    return True


def remove(folder: Folder, suffix: str) -> None:
    """Remove all files of one kind, what was left half written, and the key: there is nothing it could be for."""
    with suppress(OSError), _opened(folder) as own:
        for name in own.names():
            if name.endswith(suffix) or name.startswith(_WRITING) or name == _KEY:
                own.unlink(name)


_since: dict[tuple[str, str], int] = {}  # bytes that this process has kept since it looked through a folder


def shrink(folder: Folder, suffix: str, most_bytes: int, newest: str, size: int) -> None:
    """Remove what was not used for longest, until the rest is small enough; `newest`, of `size` bytes, stays.

    To look through a folder of many files takes longer than to write one, so a process does it first, and again
    whenever it has added a sixteenth of what may be there. What was used in the future was used before somebody set
    the clock, and counts as used long ago.
    """
    kind = os.fspath(folder), suffix
    since = _since.get(kind, most_bytes) + size
    is_due = since >= most_bytes // 16
    _since[kind] = 0 if is_due else since
    if not is_due:
        return
    with suppress(OSError), _opened(folder) as own:
        now, found = time.time(), []
        for name in own.names():
            with suppress(OSError):
                state = os.lstat(own.place(name), dir_fd=own.descriptor)
                age = now - state.st_mtime
                if name.startswith(_WRITING) and abs(age) > _HOUR:
                    own.unlink(name)  # of a process that has ended
                elif name.endswith(suffix):
                    found.append((name == newest, -age if age > -_HOUR else -float("inf"), state.st_size, name))
        total = sum(size for _, _, size, _ in found)
        for is_newest, _, size, name in sorted(found):
            if total <= most_bytes or is_newest:
                break
            own.unlink(name)
            total -= size


def _content(own: _Open, name: str, most_bytes: int, is_used: bool = False) -> bytes | None:
    """The bytes of a plain file that nobody else can write to; None if it is something else. OSError if it is not
    there."""
    descriptor = os.open(own.place(name), _READ, dir_fd=own.descriptor)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > most_bytes:
            return None
        if _HAS_RIGHTS and (state.st_uid != os.getuid() or state.st_mode & _WRITEABLE_FOR_OTHERS):
            return None
        pieces, left = [], most_bytes + 1
        while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        if is_used and os.utime in os.supports_fd:
            with suppress(OSError):
                os.utime(descriptor)
        return b"".join(pieces) if left > 0 else None
    finally:
        os.close(descriptor)


def _write(own: _Open, name: str, data: bytes, replaces: bool = True) -> None:
    """Write a file under another name and rename it; without `replaces`, a file that is there stays."""
    temporary = f"{_WRITING}{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(own.place(temporary), flags, 0o600, dir_fd=own.descriptor)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
        both = own.place(temporary), own.place(name)
        if replaces:
            os.replace(*both, src_dir_fd=own.descriptor, dst_dir_fd=own.descriptor)
        else:
            os.link(*both, src_dir_fd=own.descriptor, dst_dir_fd=own.descriptor)
    finally:
        own.unlink(temporary)


# The seal.


def _seal(key: bytes, name: str, data: bytes) -> bytes:
    """A line that only who knows the key can write above this content."""
    import hashlib  # which brings OpenSSL

    made = hashlib.blake2b(key=key, digest_size=32, person=b"pullback")
    made.update(name.encode() + b"\0")
    made.update(data)
    return made.hexdigest().encode() + b"\n"


def _key(own: _Open) -> bytes:
    """The key of a folder, which is made with the first file. Of several processes that make one, the first has the
    say; where a file cannot get a second name, the last."""
    for replaces in (False, True):
        with suppress(OSError):
            found = _content(own, _KEY, _KEY_BYTES)
            if found is not None and len(found) == _KEY_BYTES:
                return found
        with suppress(OSError, NotImplementedError):
            _write(own, _KEY, os.urandom(_KEY_BYTES // 2).hex().encode(), replaces)
    found = _content(own, _KEY, _KEY_BYTES)
    if found is None or len(found) != _KEY_BYTES:
        raise Refused("there is no key")
    return found
