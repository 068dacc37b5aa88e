"""What a trace refuses, and the function catches: the call has to be what it is without a trace."""

import contextlib
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pullback as pb

REFUSED = {
    "numpy": lambda x: x.numpy().sum(),
    "asarray": lambda x: np.asarray(x).max(),
    "tolist": lambda x: x.tolist()[1],
    "memoryview": lambda x: memoryview(x.numpy())[2],
    "dlpack": lambda x: np.from_dlpack(x)[1],
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).sum() / 2,
    "unique": lambda x: len(pb.unique(x)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_a_function_that_catches_what_a_trace_refuses(ask):
    def caught(x):
        try:
            factor = ask(x)
        except Exception:
            factor = 100.0
        return x * factor

    def suppressed(x):
        factor = 100.0
        with contextlib.suppress(Exception):
            factor = ask(x)
        return x * factor

    x = pb.tensor([1.0, 2.0, 3.0])
    for function in (caught, suppressed):
        compiled = pb.compile(function)
        for scale in (1.0, 2.0):
            assert compiled(x * scale).tolist() == function(x * scale).tolist()


def with_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(pb.sin(x).sum()))
    thread.start()
    thread.join()
    return x * found[0] if found else x


def with_a_pool(x):
    with ThreadPoolExecutor(2) as pool:
        return x * sum(pool.map(lambda k: (x * k).sum(), [1, 2]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [with_a_thread, with_a_pool])
def test_a_function_that_computes_in_threads(function, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    compiled = pb.compile(function)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x).detach().numpy(), function(x).detach().numpy())
        found, expected = (pb.autograd.grad(each(x).sum(), x)[0].numpy() for each in (compiled, function))
        np.testing.assert_allclose(found, expected)


def test_what_was_refused_is_raised_where_nothing_may_run_without_being_compiled():
    def function(x):
        with contextlib.suppress(Exception):
            x = x * x.numpy().sum()
        return x

    with pytest.raises(pb.aot.ConcretizationError, match="a NumPy array is wanted"):
        pb.compile(function, fallback="raise")(pb.tensor([1.0, 2.0]))
    with pytest.raises(pb.aot.ConcretizationError, match="a NumPy array is wanted"):
        pb.aot.trace(function, pb.tensor([1.0, 2.0]))
