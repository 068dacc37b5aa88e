"""Is there memory for LLVM? It ends the process if it gets none while it compiles, so it is asked for beforehand.

Address space is asked for by taking it and giving it back, which every limit has a say in; what the machine or the
control group has left is read where Linux tells it. Who raises `MemoryError` here has lost nothing: graphs then run
with NumPy, and quick code stays as it is.
"""

from __future__ import annotations

import mmap
import sys

_LIBRARY = 224 << 20
"""Address space that LLVM's library and what it makes of the target take when they are loaded: 165 MB, measured."""
_MODULE, _FOR_A_BYTE, _FOR_A_LONG_FUNCTION = 32 << 20, 64, 5e-5
"""Memory for compiling: up to 9 MB and 28 bytes for a byte of text were measured, and more if a function is very long,
533 MB for one of 20 000 products of vectors in a row, 3.7 MB of text."""


def check(text: str) -> None:
    """Raise `MemoryError` if LLVM could run out of memory while it compiles this text."""
    need = needed(text)
    if "llvmlite.binding" not in sys.modules:
        need += _LIBRARY
    if not _is_there(need):
        enough = -(-need >> 26) << 6  # one number for many sizes: what differs is told anew
        raise MemoryError(f"LLVM may need {enough} MB to compile, and the system does not give as much")


def needed(text: str) -> int:
    """Bytes that are enough for compiling a text."""
    longest = max(map(len, text.split("\n}")))
    return _MODULE + _FOR_A_BYTE * len(text) + int(_FOR_A_LONG_FUNCTION * longest**2)


def _is_there(need: int) -> bool:
    try:
        mmap.mmap(-1, need, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except AttributeError:
        return True  # a system of another kind, which is not asked
    except (OSError, ValueError, OverflowError, MemoryError):
        return False
    return all(left is None or left > need for left in (_left_on_machine(), _left_in_group()))


def _left_on_machine() -> int | None:
    return _number("/proc/meminfo", "MemAvailable:", 1024)


def _left_in_group() -> int | None:
    """What the control group may still use; pages of files go when they are in the way."""
    group = "/sys/fs/cgroup/memory."
    most, used = _number(group + "max"), _number(group + "current")
    if most is None or used is None:
        return None
    return most - used + (_number(group + "stat", "file") or 0)


def _number(file: str, label: str = "", unit: int = 1) -> int | None:
    """A number in a file, behind a label if there is one; None if it is not there, or no number."""
    try:
        with open(file, encoding="ascii") as opened:
            for line in opened:
                words = line.split()
                if not label or words[0] == label:
                    return unit * int(words[-1 if not label else 1])
    except (OSError, ValueError, IndexError):
        pass
    return None
