"""Object code that another process makes, while this one goes on with the code that it has.

LLVM takes seconds for a module of a megabyte of text. A thread could not do it unnoticed: llvmlite has one lock for
everything, a fork would have to wait for it, and so would the end of the program. So there is one process, started when
it is first needed, which is told the names of files and writes others; it ends when nobody can tell it anything more.
What it could not make is not made: the code that is there is right as well.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from typing import Any

from pullback.compiler import machine
from pullback.core import threads
from pullback.core.disk import is_private

_MAIN = "from pullback.compiler.machine.elsewhere import serve; serve()"
_workshop: _Workshop | None = None
_is_tried = False  # if it could not be started once, it cannot
_lock = threading.Lock()


def ask(name: str, text: str, effort: int) -> bool:
    """Have a module made; says whether there is anybody to make it."""
    global _workshop, _is_tried
    with _lock:
        if not _is_tried:
            _is_tried = True
            with contextlib.suppress(OSError, ValueError):
                _workshop = _Workshop()
        if _workshop is None:
            return False
        with contextlib.suppress(OSError):
            _workshop.ask(name, text, effort)
        return True


def answer(name: str) -> bytes | None:
    """The object code of a module that was asked for; empty if it will never come, None if it is not there yet."""
    return b"" if _workshop is None else _workshop.answer(name)


class _Workshop:
    """The process, and the folder in which it finds text and leaves code."""

    def __init__(self) -> None:
        if os.name != "posix" or getattr(sys, "frozen", False) or "python" not in os.path.basename(sys.executable):
            raise OSError("there is no interpreter that could be started")
        self.folder = tempfile.mkdtemp(prefix="pullback-")
        if not is_private(self.folder):  # what is found there is executed
            _remove(self.folder)
            raise OSError(f"others can exchange what is in {self.folder}")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
        self.process: Any = subprocess.Popen(
            [sys.executable, "-c", _MAIN], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=environment, cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        atexit.register(self.close)

    def ask(self, name: str, text: str, effort: int) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        self.process.stdin.write(f"{name} {effort}\n".encode())
        self.process.stdin.flush()

    def answer(self, name: str) -> bytes | None:
        is_over = self.process.poll() is not None  # asked first: what it made before it ended counts
        try:
            with open(os.path.join(self.folder, f"{name}.o"), "rb") as file:
                return file.read()
        except OSError:
            return b"" if is_over else None

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.communicate()
        _remove(self.folder)

    def forget(self) -> None:
        """Leave the process to its owner, of whom this process is a child."""
        atexit.unregister(self.close)
        self.process.stdin.close()
        self.process.returncode = 0  # or its destructor would complain that it was not waited for


def serve() -> None:
    """What the other process does: make modules until there is nobody who could ask for more."""
    os.nice(10)  # others have work to do
    for line in sys.stdin:
        name, effort = line.split()
        code = b""
        with contextlib.suppress(Exception), open(name, encoding="utf-8") as file:
            code = machine.engine.compiled(file.read(), name, int(effort))
        with open(f"{name}.part", "wb") as made:
            made.write(code)
        os.replace(f"{name}.part", f"{name}.o")
    _remove(os.getcwd())


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        for each in os.listdir(folder):
            os.unlink(os.path.join(folder, each))
        os.rmdir(folder)


def _after_fork() -> None:
    global _workshop, _is_tried, _lock
    if _workshop is not None:
        _workshop.forget()
    _workshop, _is_tried, _lock = None, False, threading.Lock()


threads.after_fork(_after_fork)
