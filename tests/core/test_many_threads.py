"""Threads that use everything at once: eager code, leaves in common, functions made at first use, one compilation.

The suite runs it for a moment; `python -m tests.core.test_many_threads 60` for as many seconds, as on the free-threaded
build, where nothing else keeps threads apart.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import pullback as pb

THREADS = 8


def hard_work(seconds):
    """The number of rounds that threads made; raises if one of them saw something else than it would alone."""
    leaf = pb.tensor(np.arange(1.0, 9.0), requires_grad=True)
    compiled = pb.compile(lambda x: (pb.sin(x) * x).sum())
    alone = pb.grad(lambda x: (pb.sin(x) * x).sum())(np.arange(1.0, 9.0)).numpy()
    names = [name for name in dir(pb.special) if name.startswith(("log", "e"))]
    end = time.monotonic() + seconds
    barrier = threading.Barrier(THREADS)

    def work(number):
        rounds = 0
        barrier.wait()
        while rounds == 0 or time.monotonic() < end:
            own = pb.tensor(np.full(4, number + 1.0), requires_grad=True)
            y = own * 2
            y[1:3] *= own[1:3]
            y.sum().backward()
            assert own.grad.tolist() == [2.0, 4.0 * (number + 1), 4.0 * (number + 1), 2.0]
            (leaf * leaf).sum().backward()  # adds 2 * leaf
            getattr(pb.special, names[(number + rounds) % len(names)])
            x = pb.tensor(np.arange(1.0, 9.0), requires_grad=True)
            compiled(x).backward()
            np.testing.assert_allclose(x.grad.numpy(), alone, rtol=1e-13)
            batch = pb.vmap(pb.grad(lambda t: (t * t).sum()))(np.ones((2, 3)))
            assert batch.tolist() == [[2.0] * 3] * 2
            with pb.no_grad():
                assert not (leaf * 2).requires_grad
            rounds += 1
        return rounds

    with ThreadPoolExecutor(THREADS) as pool:
        rounds = sum(pool.map(work, range(THREADS)))
    assert leaf.grad.tolist() == (2 * rounds * np.arange(1.0, 9.0)).tolist()
    assert leaf._version == 0 and compiled.cache_info().misses == 1
    return rounds


def test_eight_threads_see_what_each_would_see_alone():
    assert hard_work(0.5) >= THREADS


if __name__ == "__main__":
    began = time.monotonic()
    print(hard_work(float(sys.argv[1])), "rounds in", round(time.monotonic() - began, 1), "s, GIL",
          getattr(sys, "_is_gil_enabled", lambda: True)())  # fmt: skip
