"""Torch in a process of its own: it may crash, and then only the program that crashed it is lost.

The process reads pickled requests from its input and answers with one pickle per program. `TorchProcess` is the other
end: it notices the end of the stream, names the program it was waiting for, and starts a new process for the rest.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .machine import Observation
from .programs import generate
from .statements import Program

# The package may be imported as `tests.oracle` or, by pytest, under another name: both ends must agree on it.
PACKAGE = __package__ or "tests.oracle"
ROOT = Path(__file__).parents[PACKAGE.count(".") + 1]
READY = "ready"
PATIENCE = 60.0


@dataclass(frozen=True)
class Seeded:
    """Program number `index` of `seed`."""

    seed: int
    index: int

    def program(self) -> Program:
        return generate(self.seed, self.index)


@dataclass(frozen=True)
class Given:
    """A program spelled out."""

    statements: Program

    def program(self) -> Program:
        return self.statements


Request = Seeded | Given


class TorchProcess:
    """Runs programs on torch elsewhere. Answers None for a program that ended the process or never ended."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, requests: list[Request]) -> Iterator[list[Observation] | None]:
        """The observations of each request, in order."""
        remaining = list(requests)
        while remaining:
            done = 0
            for answer in self.attempt(remaining):
                done += 1
                yield answer
            remaining = remaining[done:]
            if remaining:
                self.stop()
                yield None
                remaining = remaining[1:]

    def attempt(self, requests: list[Request]) -> Iterator[list[Observation]]:
        """Answers until the process ends or stays silent too long."""
        process = self.started()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(requests, process.stdin)
            process.stdin.flush()
            for _ in requests:
                watchdog = threading.Timer(PATIENCE, process.kill)
                watchdog.start()
                try:
                    answer: list[Observation] | str = pickle.load(process.stdout)
                finally:
                    watchdog.cancel()
                if isinstance(answer, str):
                    raise RuntimeError(f"the oracle itself failed:\n{answer}")
                yield answer
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            return

    def started(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [self.python, "-m", f"{PACKAGE}.worker"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert self.process.stdout is not None
            try:
                pickle.load(self.process.stdout)
            except EOFError:
                raise RuntimeError(f"{self.python} cannot run {PACKAGE}.worker; see its message above") from None
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                assert stream is not None
                stream.close()
            self.process = None

    def __enter__(self) -> TorchProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve() -> None:
    """Answer requests until the input ends. Whatever a library prints goes to the error stream."""
    import torch  # only the process that serves needs torch

    from .run_torch import run_ruled

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    pickle.dump(READY, answers)
    answers.flush()
    while True:
        try:
            requests: list[Request] = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for request in requests:
            answer: list[Observation] | str
            try:
                answer = run_ruled(request.program())
            except Exception:
                answer = f"{request}\n{traceback.format_exc()}"
            pickle.dump(answer, answers)
            answers.flush()


if __name__ == "__main__":
    serve()
