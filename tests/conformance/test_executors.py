"""Work on executors: the same bits everywhere, and errors that say which item it was.

Numbers are those of the specification of several processes. What needs dask or MPI is in
`tests/distributed/cases_executors.py`; `make distributed` runs it.
"""

import _thread
import multiprocessing
import pickle
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import pullback as pb
from pullback.core import pickling
from pullback.core.state import inside_worker
from tests.distributed import far_work as far

SPAWN = multiprocessing.get_context("spawn")
X = np.linspace(0.5, 2.0, 7)


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as executor:
        yield executor


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


class Shuffled:
    """An executor that finishes what it has in another order."""

    def __init__(self, seed, workers):
        self.random, self.workers, self.held = np.random.default_rng(seed), workers, []
        self.lock = threading.Lock()

    def submit(self, function, /, *args):
        future = Future()
        with self.lock:
            self.held.append((future, function, args))
            if len(self.held) == 1:
                threading.Timer(0.02, self.finish).start()
        return future

    def finish(self):
        with self.lock:
            self.random.shuffle(self.held)
            held, self.held = self.held, []
        for future, function, args in held:
            future.set_result(function(*args))


TRANSFORMS = {
    "jacrev": (pb.func.jacrev, far.residual),
    "jacrev of products": (pb.func.jacrev, far.dense),
    "jacfwd": (pb.func.jacfwd, far.dense),
    "jacobian": (pb.func.jacobian, far.dense),
    "hessian": (pb.func.hessian, far.energy),
}


def bits(array):
    return np.asarray(array).tobytes()


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_105_the_same_bits_as_without_an_executor(name, chunk_size, pool, threads):
    transform, function = TRANSFORMS[name]
    expected = bits(transform(function, chunk_size=chunk_size)(pb.tensor(X)))
    for executor in (threads, pool):
        assert bits(transform(function, chunk_size=chunk_size, executor=executor)(pb.tensor(X))) == expected


@pytest.mark.parametrize("name", TRANSFORMS)
def test_105_without_chunk_size_there_are_sixteen_pieces(name, pool):
    transform, function = TRANSFORMS[name]
    size = -(-(49 if function is far.dense and transform is pb.func.jacrev else 12 if name == "jacrev" else 7) // 16)
    expected = transform(function, chunk_size=size)(pb.tensor(X))
    assert bits(transform(function, executor=pool)(pb.tensor(X))) == bits(expected)
    np.testing.assert_allclose(np.asarray(expected), np.asarray(transform(function)(pb.tensor(X))), rtol=1e-13)


def test_105_trees_aux_and_keywords(threads):
    tree = {"a": pb.tensor(X), "b": pb.tensor(2.0)}
    function = lambda p, scale: ({"y": p["a"] * p["b"] * scale}, {"kept": p["b"] + 1, "name": "n"})
    for transform in (pb.func.jacrev, pb.func.jacfwd):
        expected, aux = transform(function, has_aux=True)(tree, scale=3.0)
        found, found_aux = transform(function, has_aux=True, executor=threads)(tree, scale=3.0)
        for name in "ab":
            np.testing.assert_array_equal(np.asarray(found["y"][name]), np.asarray(expected["y"][name]))
        assert found_aux["name"] == "n" and float(found_aux["kept"]) == float(aux["kept"]) == 3.0


def test_105_sparse_jacobians_and_hessians(pool, threads):
    pytest.importorskip("scipy")
    x = pb.tensor(X)
    for executor in (pool, threads):
        jacobian = pb.func.sparse_jacobian(far.banded, chunk_size=1, executor=executor)(x)
        np.testing.assert_array_equal(jacobian.toarray(), np.asarray(pb.func.jacrev(far.banded)(x)))
        found = pb.func.sparse_hessian(far.energy, chunk_size=1, executor=executor)(x)
        np.testing.assert_allclose(found.toarray(), np.asarray(pb.func.hessian(far.energy)(x)), rtol=1e-13)


def test_105_a_function_that_writes_to_its_argument_writes_to_a_copy(threads):
    x = pb.tensor(X)
    found = pb.func.jacfwd(far.writes, executor=threads)(x)
    np.testing.assert_array_equal(np.asarray(found), np.diag(2 * X))
    np.testing.assert_array_equal(np.asarray(x), X)


def test_105_a_gradient_that_would_be_lost_is_refused(threads):
    x = pb.tensor(X, requires_grad=True)
    for transform in (pb.func.jacrev, pb.func.jacfwd):
        with pytest.raises(RuntimeError, match="detach"):
            transform(far.square, executor=threads)(x)
        with pb.no_grad():
            np.testing.assert_array_equal(np.asarray(transform(far.square, executor=threads)(x)), np.diag(2 * X))
        with pytest.raises(RuntimeError, match="inside of grad"):
            pb.func.grad(lambda x, of=transform: of(far.square, executor=threads)(x).sum())(pb.tensor(X))
    w = pb.tensor(2.0, requires_grad=True)
    with pytest.raises(pb.distributed.PieceError, match="detach"):  # seen by the worker only
        pb.func.jacrev(lambda x: x * w, executor=threads)(pb.tensor(X))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_108_any_number_of_workers_and_any_order_give_the_same_bits(workers):
    expected = bits(pb.func.jacrev(far.dense, chunk_size=4)(pb.tensor(X)))
    with ThreadPoolExecutor(workers) as executor:
        assert bits(pb.func.jacrev(far.dense, chunk_size=4, executor=executor)(pb.tensor(X))) == expected
    shuffled = Shuffled(workers, workers)
    assert bits(pb.func.jacrev(far.dense, chunk_size=4, executor=shuffled)(pb.tensor(X))) == expected
    assert pb.distributed.map(far.square, range(40), executor=shuffled) == [k * k for k in range(40)]


def test_109_transforms_travel_and_compute_the_same(pool):
    x = pb.tensor(X)
    functions = [
        pb.func.grad(far.energy), pb.func.value_and_grad(far.energy), pb.func.jacrev(far.residual),
        pb.func.jacfwd(far.residual), pb.func.hessian(far.energy), pb.func.vmap(far.square),
        pb.func.hvp_fn(far.energy, x)[1], pb.compile(pb.func.grad(far.energy), backend="numpy"),
    ]  # fmt: skip
    for function in functions:
        (found,) = pb.distributed.map(function, [x], executor=pool)
        for one, other in zip(pb.tree.leaves(found), pb.tree.leaves(function(x)), strict=True):
            assert bits(one) == bits(other)


def test_109_functions_with_a_graph_are_not_sent(pool):
    with pytest.raises(TypeError, match="send the inputs instead"):
        pb.distributed.map(pb.func.vjp(far.square, pb.tensor(X))[1], [pb.tensor(X)], executor=pool)


def test_109_tensors_with_a_history_are_not_sent(pool, threads):
    x = pb.tensor(X, requires_grad=True)
    for executor in (None, threads, pool):
        (found,) = pb.distributed.map(abs, [pb.tensor(X)], executor=executor)
        np.testing.assert_array_equal(np.asarray(found), X)
        with pytest.raises(TypeError, match="detach"):
            pb.distributed.map(far.square, [x * 2], executor=executor)
        with pytest.raises(pb.distributed.PieceError, match="detach"):
            pb.distributed.map(far.returns_history, [1], executor=executor)


def test_110_a_compiled_function_is_traced_once_per_worker(pool):
    work = far.CallsCompiled(pb.compile(far.square_sum, backend="numpy"))
    found = pb.distributed.map(work, [X] * 12, executor=pool)
    assert {misses for _, misses in found} == {1}


def test_111_the_first_failure_by_its_place_is_raised(pool, threads):
    for executor in (None, threads, pool):
        with pytest.raises(pb.distributed.PieceError) as caught:
            pb.distributed.map(far.fails_at_3_and_7, range(10), executor=executor)
        error = caught.value
        assert (error.index, error.item, error.attempts) == (3, "3", 1)
        assert "fails_at_3_and_7" in error.remote_traceback and "ValueError: no 3" in str(error)
        assert isinstance(error.__cause__, ValueError)
        again = pickle.loads(pickle.dumps(error))
        assert (again.index, again.remote_traceback) == (3, error.remote_traceback)


def test_111_collected_failures_have_the_places_of_their_items(pool):
    for pieces in (None, 3):
        found = pb.distributed.map(far.fails_at_3_and_7, range(10), executor=pool, pieces=pieces, on_error="collect")
        assert [each if isinstance(each, int) else each.index for each in found] == list(range(10))
        assert [isinstance(each, pb.distributed.PieceError) for each in found] == [k in (3, 7) for k in range(10)]


def test_111_what_cannot_be_sent_back_is_named(pool):
    with pytest.raises(pb.distributed.PieceError, match="Unreadable") as caught:
        pb.distributed.map(far.raises_unreadable, [1], executor=pool)
    assert caught.value.__cause__ is None
    with pytest.raises(pb.distributed.PieceError, match="the result"):
        pb.distributed.map(far.returns_lambda, [1], executor=pool)


def test_112_a_worker_that_dies_is_replaced(tmp_path):
    made = []

    def factory():
        made.append(ProcessPoolExecutor(1, mp_context=SPAWN))
        return made[-1]

    work = partial(far.dies_once, marker=str(tmp_path / "died"))
    assert pb.distributed.map(work, range(5), executor=factory) == [k * k for k in range(5)]
    assert len(made) == 2


def test_112_without_retries_the_pieces_are_named(tmp_path):
    with ProcessPoolExecutor(1, mp_context=SPAWN) as executor:
        with pytest.raises(pb.distributed.PieceError, match="pieces 0, 1, 2 were not finished") as caught:
            pb.distributed.map(far.dies, range(3), executor=executor, retries=0)
        assert caught.value.pieces == (0, 1, 2)
        with pytest.raises(pb.distributed.PieceError, match="not finished"):  # it is broken, and nobody makes another
            pb.distributed.map(far.square, range(3), executor=executor)


def test_112_a_piece_that_takes_too_long_is_sent_again(tmp_path):
    with ThreadPoolExecutor(2) as executor:
        work = partial(far.sleeps_once, marker=str(tmp_path / "slept"))
        assert pb.distributed.map(work, range(3), executor=executor, timeout=0.5) == [0, 1, 2]


def test_113_progress_is_monotone_and_may_stop_the_work(pool, threads):
    for executor in (None, threads, pool):
        told = []
        tell = lambda *news, told=told: told.append(news)
        pb.distributed.map(far.square, range(50), executor=executor, progress=tell)
        assert [done for done, _, _ in told] == list(range(1, 17))
        assert told[-1][:2] == (16, 16) and sorted(index for _, _, index in told) == list(range(16))

    held = []

    def stop(done, total, index):
        held.append(done)
        if done == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        pb.distributed.map(far.square, range(50), executor=threads, progress=stop)
    assert held == [1, 2]


def test_113_an_interrupt_cancels_what_is_pending():
    futures = []

    class Never:
        def submit(self, function, /, *args):
            futures.append(Future())
            return futures[-1]

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread is interrupted")
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        pb.distributed.map(far.square, range(5), executor=Never())
    assert all(future.cancelled() for future in futures)


def test_114_what_cannot_be_pickled_is_named(pool, monkeypatch):
    monkeypatch.setattr(pickling.util, "find_spec", lambda name: None)
    unpicklable = lambda x: x
    with pytest.raises(TypeError, match=r"lambda.*pip install cloudpickle"):
        pb.distributed.map(unpicklable, [1], executor=pool)
    with pytest.raises(TypeError, match="lock"):
        pb.distributed.map(far.square, [threading.Lock()], executor=pool)


def test_115_multi_start_does_not_depend_on_the_executor(pool, threads):
    starts = np.linspace(-5, 10, 20)
    expected = pb.distributed.multi_start(far.fit, starts)
    assert [each.value for each in expected.results] == sorted(each.value for each in expected.results)
    assert [error.index for error in expected.failures] == [19] and expected.best.value == min(
        far.fit(start)[0] for start in starts[:-1]
    )
    for executor in (threads, pool):
        found = pb.distributed.multi_start(far.fit, starts, executor)
        assert found.results == expected.results
        assert [error.index for error in found.failures] == [19]


def test_115_seeds_belong_to_items(pool, threads):
    expected = pb.distributed.map(far.draw, range(20), seed=7)
    assert len(set(expected)) == 20
    for executor, pieces in ((threads, 3), (pool, None)):
        assert pb.distributed.map(far.draw, range(20), seed=7, executor=executor, pieces=pieces) == expected
    assert pb.distributed.map(far.draw, range(20), seed=8) != expected


def test_115_per_sample_gradients_are_those_of_vmap(pool, threads):
    random = np.random.default_rng(0)
    params = {"w": pb.tensor(random.normal(size=4)), "b": pb.tensor(0.5)}
    batch = (pb.tensor(random.normal(size=(30, 4))), pb.tensor(random.normal(size=30)))
    expected = pb.func.vmap(pb.func.grad(far.loss), in_dims=(None, 0))(params, batch)
    for executor in (None, threads, pool):
        found = pb.distributed.per_sample_gradients(far.loss, params, batch, executor)
        for name in params:
            np.testing.assert_allclose(np.asarray(found[name]), np.asarray(expected[name]), rtol=1e-12)
    with pytest.raises(ValueError, match="same number of samples"):
        pb.distributed.per_sample_gradients(far.loss, params, (batch[0], batch[1][1:]))


def test_115_an_ensemble_is_stacked(pool):
    found = pb.distributed.ensemble(far.member, [1.0, 2.0, 3.0], pool)
    np.testing.assert_array_equal(np.asarray(found["end"]), [[1, 2], [2, 4], [3, 6]])
    np.testing.assert_array_equal(found["count"], [3, 3, 3])
    with pytest.raises(ValueError, match="no members"):
        pb.distributed.ensemble(far.member, [])


def test_116_mapped_functions_know_where_they_are(threads):
    assert not inside_worker.get()
    for executor in (None, threads):
        assert pb.distributed.map(lambda _: inside_worker.get(), [0], executor=executor) == [True]
    assert not inside_worker.get()


def test_116_collectives_are_refused_in_workers(threads):
    for executor in (None, threads):
        with pytest.raises(pb.distributed.PieceError, match="inside a worker") as caught:
            pb.distributed.map(lambda x: pb.distributed.all_reduce(pb.tensor(x)), [1.0], executor=executor)
        assert isinstance(caught.value.__cause__, pb.distributed.DistributedError)
    np.testing.assert_array_equal(np.asarray(pb.distributed.all_reduce(pb.tensor(X))), X)


def test_modes_of_the_caller_hold_in_workers(pool, threads):
    before = pb.get_default_dtype()
    pb.set_default_dtype(np.float32)
    try:
        with pb.no_grad(), np.errstate(divide="ignore"):
            ((*near, _, _),) = pb.distributed.map(far.modes, [0], executor=threads)
            ((*far_away, count, _),) = pb.distributed.map(far.modes, [0], executor=pool)
    finally:
        pb.set_default_dtype(before)
    assert near == far_away == [False, "float32", "ignore"]
    assert count >= 1


def test_items_may_come_one_by_one(threads):
    drawn = []

    def items():
        for k in range(200):
            drawn.append(k)
            yield k

    results = pb.distributed.map(far.square, items(), executor=threads, stream=True)
    assert [next(results) for _ in range(3)] == [0, 1, 4]
    assert len(drawn) < 60  # and not all
    assert list(results) == [k * k for k in range(3, 200)]


def test_arguments_are_checked(threads):
    with pytest.raises(TypeError, match="submit"):
        pb.distributed.map(far.square, [1], executor=3)
    with pytest.raises(ValueError, match="pieces"):
        pb.distributed.map(far.square, [1], pieces=0)
    with pytest.raises(ValueError, match="on_error"):
        pb.distributed.map(far.square, [1], on_error="ignore")
    with pytest.raises(ValueError, match="randomness"):
        pb.func.jacfwd(far.square, randomness="same", executor=threads)
    assert pb.distributed.map(far.square, []) == []


def test_a_large_function_goes_by_the_executors_own_broadcast():
    class Client:
        """As dask's: arguments that were scattered arrive as what they were."""

        scattered = 0

        def scatter(self, data, broadcast, hash):
            assert broadcast
            Client.scattered += 1
            return ("scattered", data)

        def submit(self, function, /, *args):
            future = Future()
            future.set_result(function(*[arg[1] if isinstance(arg, tuple) else arg for arg in args]))
            return future

    work = partial(far.dies_once, marker="x" * 100_000)
    assert pb.distributed.map(work, [3, 4, 5], executor=Client()) == [9, 16, 25]
    assert Client.scattered == 1


def test_a_pool_that_forks_behind_threads_is_warned_about():
    class Forks(ProcessPoolExecutor):
        def submit(self, function, /, *args):
            future = Future()
            future.set_result(function(*args))
            return future

    release = threading.Event()
    waiting = threading.Thread(target=release.wait)
    waiting.start()
    try:
        with pytest.warns(RuntimeWarning, match="spawn"):
            pb.distributed.map(far.square, [2], executor=Forks(1, mp_context=multiprocessing.get_context("fork")))
    finally:
        release.set()
        waiting.join()
