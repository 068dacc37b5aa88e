"""A compiled function as an object: it can be copied, and sent to other processes."""

import copy
import multiprocessing
import pickle

import pullback as pb
from pullback.testing import assert_close


def squares(x):
    return (x * x).sum()


@pb.compile
def cubes(x):
    return (x**3).sum()


compiled = pb.compile(squares, backend="numpy", recompile_limit=3)


class Model:
    def __init__(self, w):
        self.w = w
        self.loss = pb.compile(self._loss)

    def _loss(self, x):
        return (self.w * x).sum()


def test_a_pickle_of_a_compiled_function_is_the_function_and_how_it_is_compiled():
    compiled(pb.ones(3))
    again = pickle.loads(pickle.dumps(pb.compile(squares, backend="numpy", recompile_limit=3)))
    assert again.recompile_limit == 3 and again.cache_info().misses == 0
    assert_close(again(pb.ones(3)), 3.0)


def test_a_decorated_function_is_known_by_its_name():
    assert pickle.loads(pickle.dumps(cubes)) is cubes
    assert pickle.loads(pickle.dumps(compiled)) is not compiled


def test_another_process_runs_it():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert_close(pool.map(compiled, [pb.tensor([1.0, 2.0])])[0], 5.0)


def test_copies_are_as_those_of_functions():
    assert copy.deepcopy(compiled) is compiled and copy.copy(cubes) is not None
    model = Model(pb.ones(2))
    other = copy.deepcopy(model)
    other.w.mul_(3)
    assert_close(model.loss(pb.ones(2)), 2.0)
    assert_close(other.loss(pb.ones(2)), 6.0)
