"""Threads: how many there are, that nothing depends on it, and calls from many threads and processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

import pullback as pb
from pullback.compiler.machine import jit
from pullback.compiler.machine import threads as pool
from pullback.core import threads

RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def as_before():
    """Leaves the number of threads as it was."""
    before = pb.get_num_threads()
    yield
    pb.set_num_threads(before)


def loss(x, w):
    """Loops that are shared, a product, and sums in blocks."""
    return (pb.log1p(pb.exp(x @ w)) * x).sum() + pb.softmax(x, axis=1).max()


def arguments(rows=600):
    return RANDOM.normal(size=(rows, 90)), RANDOM.normal(size=(90, 90))


def bits(result):
    value, gradients = result[1], result[0]
    return [value.numpy().tobytes(), *(gradient.numpy().tobytes() for gradient in gradients)]


# How many.


@pytest.mark.parametrize("own, general, expected", [
    ("1", "2", 1), ("", "1", 1), (None, "1,2", 1), ("many", "1", 1), ("0", "1", 1), ("1", None, 1), ("-3", "1", 1),
    ("\u00b2", "1", 1), ("000", "1", 1), ("0001", None, 1), ("1.5", " 1 ", 1),
])  # fmt: skip
def test_the_environment_says_how_many(monkeypatch, own, general, expected):
    for name, value in (("PULLBACK_NUM_THREADS", own), ("OMP_NUM_THREADS", general)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert threads.wanted_threads(*threads._VARIABLES) == expected


def test_without_a_word_there_are_as_many_as_processors(monkeypatch):
    monkeypatch.delenv("PULLBACK_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    count = threads.wanted_threads(*threads._VARIABLES)
    assert count == (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    for many in ("4096", "9" * 30, "9" * 5000):
        monkeypatch.setenv("PULLBACK_NUM_THREADS", many)
        assert threads.wanted_threads(*threads._VARIABLES) == count  # not more than can run at once


@pytest.mark.parametrize("processors, most", [(1, 16), (4, 16), (5, 20), (64, 256)])
def test_there_are_at_most_four_for_each_processor_or_sixteen(monkeypatch, processors, most):
    monkeypatch.setattr(threads, "_available", lambda: processors)
    assert threads.most_threads() == most


@pytest.mark.parametrize("count", [100_000, 1 << 63, 10**30])
def test_a_number_that_is_absurd_starts_no_more_threads_than_are_sensible(count):
    x = pb.tensor(RANDOM.normal(size=(300, 300)))
    f = pb.compile(lambda x: pb.exp(pb.sin(x)).sum() * 0.859375, fallback="raise", backend="llvm")
    wanted = f(x).numpy()
    pb.set_num_threads(count)
    assert pb.get_num_threads() == threads.most_threads() and f(x).numpy() == wanted
    again = pb.compile(lambda x: pb.exp(pb.sin(x)).sum() * 0.859375, fallback="raise", backend="llvm")
    assert again(x).numpy() == wanted and pool._started < threads.most_threads()
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/task")) < threads.most_threads() + 64  # those of BLAS and of others


@pytest.mark.parametrize("wrong, error", [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError)])
def test_numbers_that_are_none(wrong, error):
    before = pb.get_num_threads()
    with pytest.raises(error):
        pb.set_num_threads(wrong)
    assert pb.get_num_threads() == before


# Nothing depends on it.


def test_values_and_gradients_have_the_same_bits_with_any_number():
    x, w = map(pb.tensor, arguments())
    f = pb.compile(pb.func.grad_and_value(loss, (0, 1)), fallback="raise", backend="llvm")
    found = []
    for count in (1, 2, 3, 1, 2):
        pb.set_num_threads(count)
        found += [bits(f(x, w)) for _ in range(3)]
    assert "pullback_parallel" in f.llvm_ir()
    assert all(each == found[0] for each in found)


PROGRAM = """
import hashlib
import numpy as np, pullback as pb
random = np.random.default_rng(3)
x, w = pb.tensor(random.normal(size=(300, 70))), pb.tensor(random.normal(size=(70, 70)), requires_grad=True)
f = pb.compile(lambda x, w: pb.softmax(pb.tanh(x @ w), axis=0).std() + pb.exp(x).mean(), fallback="raise")
value = f(x, w)
value.backward()
print(hashlib.sha256(value.detach().numpy().tobytes() + w.grad.numpy().tobytes()).hexdigest())
"""


def test_results_are_the_same_from_run_to_run():
    runs = []
    for count in ("1", "2"):
        variables = {**os.environ, "PULLBACK_NUM_THREADS": count}
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=variables)
        assert done.returncode == 0, done.stderr
        runs.append(done.stdout)
    assert runs[0] == runs[1]


# Many threads of Python.


def in_threads(count, work):
    """Run `work(k)` in threads, and raise what they raise."""
    errors = []

    def run(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def test_a_function_may_be_called_by_many_threads_at_once():
    pb.set_num_threads(2)
    f = pb.compile(pb.func.grad_and_value(loss, (0, 1)), fallback="raise", backend="llvm")
    inputs = [tuple(map(pb.tensor, arguments(200 + k))) for k in range(4)]
    wanted = [bits(pb.compile(pb.func.grad_and_value(loss, (0, 1)), backend="llvm")(*each)) for each in inputs]

    def work(k):
        for _ in range(5):  # the first call of each compiles, at the same time as the others
            assert bits(f(*inputs[k])) == wanted[k]

    in_threads(4, work)
    assert f.cache_info().currsize == 4


def test_good_code_takes_over_while_others_are_calling():
    f = pb.compile(lambda x: pb.tanh(x) * 0.8125, fallback="raise", backend="llvm")
    x = np.linspace(-1, 1, 50)
    wanted = f(x).numpy()

    def work(_):
        for _ in range(150):
            np.testing.assert_array_equal(f(x).numpy(), wanted)

    in_threads(4, work)


def test_other_threads_run_while_native_code_does():
    f = pb.compile(lambda x: pb.sin(pb.exp(pb.sin(x))).sum(), fallback="raise", backend="llvm")
    x = pb.tensor(RANDOM.normal(size=4_000_000))
    f(x)
    begin, ran = threading.Lock(), []
    begin.acquire()

    def waiting():
        with begin:
            ran.append(True)

    other = threading.Thread(target=waiting)
    other.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # nobody is interrupted: another thread runs only if this one lets go of the interpreter
    try:
        begin.release()
        f(x)
        has_run = bool(ran)
    finally:
        sys.setswitchinterval(interval)
        other.join()
    assert has_run


# Processes.


def in_a_child(work):
    """Does `work()` come to a good end in a process that was forked?"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are threads is the point
        child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_process_calls_and_compiles():
    pb.set_num_threads(2)
    f = pb.compile(pb.func.grad_and_value(loss, (0, 1)), fallback="raise", backend="llvm")
    x, w = map(pb.tensor, arguments())
    wanted = bits(f(x, w))

    def work():
        again = bits(f(x, w)) == wanted
        pb.set_num_threads(2)
        new = pb.compile(lambda x: (pb.exp(x) * 0.4375).sum(), fallback="raise", backend="llvm")
        near = abs(new(x).item() / (np.exp(x.numpy()) * 0.4375).sum() - 1) < 1e-12
        return again and near and bits(f(x, w)) == wanted

    assert in_a_child(work)
    assert bits(f(x, w)) == wanted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_is_forked_while_a_thread_compiles_can_compile():
    stop = threading.Event()

    def compiling(_):
        k = 0
        while not stop.is_set():
            k += 1
            pb.compile(lambda x, k=k: pb.exp(x) * (k + 0.25), backend="llvm")(pb.ones(3))

    worker = threading.Thread(target=compiling, args=(0,))
    worker.start()
    try:
        for k in range(3):
            new = lambda x, k=k: (x * (k + 0.59375)).sum()
            work = lambda new=new: pb.compile(new, backend="llvm")(pb.ones(4)).item() == 4 * (k + 0.59375)  # noqa: B023
            assert in_a_child(work)
    finally:
        stop.set()
        worker.join()
    assert jit._lock.acquire(blocking=False)
    jit._lock.release()
