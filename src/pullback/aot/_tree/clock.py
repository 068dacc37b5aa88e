"""How long something takes, beside other work on the machine as well.

The clock on the wall counts the time that a process waits for a processor, so that beside other work the slower of two
ways may seem the faster one. The processor time of a thread does not, but misses what other threads do for it. So that
is taken where no other thread has worked meanwhile, and the clock on the wall otherwise.
"""

from __future__ import annotations

from time import perf_counter, process_time, thread_time

_OTHERS = 0.1  # of the processor time: more than that was not this thread's
Reading = tuple[float, float, float]


def reading() -> Reading:
    """What the clocks say."""
    return perf_counter(), process_time(), thread_time()


def seconds_since(start: Reading) -> float:
    """The seconds that something took that began then."""
    wall, process, thread = [now - then for now, then in zip(reading(), start, strict=True)]
    return thread if process - thread <= _OTHERS * process else wall
