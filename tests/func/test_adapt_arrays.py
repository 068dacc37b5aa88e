"""Arrays in adapted code: NumPy's manners there and nowhere else, and arrays of the caller that are written."""

import asyncio
import collections
import copy
import functools
import threading
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.func import DetachedArrayWarning, adapt
from pullback.func._arrays import MARK
from pullback.testing import assert_close
from tests.func import far_away
from tests.func.checking import check, leaf

# `Tensor` itself is not touched ---------------------------------------------------------------------------------------


def test_the_class_tensor_is_the_same_before_and_after_use():
    before = dict(vars(pb.Tensor))
    adapt(lambda x: (x[0] + sum(x)) * np.zeros(3))(leaf([1.0, 2.0, 3.0]))
    assert {name: id(member) for name, member in vars(pb.Tensor).items()} == {
        name: id(member) for name, member in before.items()
    }


def test_another_thread_reads_views_while_adapted_code_reads_numbers():
    shared = pb.zeros(3)
    inside, done = threading.Event(), threading.Event()

    def f(x):
        inside.set()
        done.wait(10)
        number = x[0]
        number += 1
        return number

    def outside():
        inside.wait(10)
        element = shared[1]
        element += 1
        done.set()

    thread = threading.Thread(target=outside)
    thread.start()
    assert adapt(f)(shared).item() == 1.0
    thread.join()
    assert shared.tolist() == [0.0, 1.0, 0.0] and type(shared) is pb.Tensor


kept = []


def keeps(x):
    kept.append(x * 2)
    kept.append({"row": np.zeros((2, 3))[0]})
    return [x[0], {"a": (np.ones(2), np.arange(2))}]


def test_whatever_survives_a_call_is_an_ordinary_tensor():
    kept.clear()
    first, table = adapt(keeps)(leaf([1.0, 2.0, 3.0]))
    assert {type(t) for t in (first, table["a"][0], kept[0], kept[1]["row"])} == {pb.Tensor}
    assert type(table["a"][1]) is np.ndarray


def test_an_exception_leaves_ordinary_tensors_behind_too():
    kept.clear()

    def f(x):
        kept.append(x * 2)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        adapt(f)(leaf([1.0]))
    assert type(kept[0]) is pb.Tensor


def test_what_a_nested_call_made_keeps_the_manners_until_the_outer_one_ends():
    inner = adapt(np.cumsum)

    def f(x):
        y = inner(x)
        held = y[0]
        y[0] = 5.0
        held += 1
        return held * y[1]

    x = leaf([2.0, 3.0])
    adapt(f)(x).backward()
    assert_close(x.grad, [3.0 + 5.0, 3.0])
    kept.clear()
    adapt(lambda x: kept.append(inner(x)))(leaf([1.0]))
    assert type(kept[0]) is pb.Tensor


def test_functions_of_pullback_give_arrays_too():
    def f(x):
        y = pb.exp(x)
        held = y[0]
        y[0] = 5.0
        return held * held + y.sum()

    x = leaf([0.5, 1.0])
    adapt(f)(x).backward()
    assert_close(x.grad, [2 * np.exp(1.0), np.exp(1.0)])


def test_derivatives_inside_of_adapted_code():
    def f(x):
        out = np.zeros(3)
        out[:] = x**3
        (first,) = pb.autograd.grad(out.sum(), x, create_graph=True)
        held = first[0]
        first[0] = 0.0
        return (held * x).sum() + first.sum()

    x = leaf([1.0, 2.0, 3.0])
    adapt(f)(x).backward()
    assert_close(x.grad, [6.0 * 6 + 3.0, 12.0 + 3.0, 18.0 + 3.0])


def test_a_tensor_of_the_caller_receives_what_is_written_with_its_gradient():
    def f(x, out):
        out[1:] = x * x
        number = out[0]
        number += 1

    x, out = leaf([2.0, 3.0]), pb.zeros(3)
    adapt(f)(x, out)
    assert out.tolist() == [0.0, 4.0, 9.0] and type(out) is pb.Tensor
    out.sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


Pair = collections.namedtuple("Pair", "left right")


def test_arguments_in_tuples_lists_and_dicts_have_the_manners():
    def f(pair, listed, table):
        total = pair.left[0]
        total += listed[0][0]
        total += table["x"][0]
        return Pair(total, pair.right)

    parts = [pb.tensor([float(i)]) for i in range(4)]
    result = adapt(f)(Pair(parts[0], parts[1]), [parts[2]], {"x": parts[3]})
    assert type(result) is Pair and result.left.item() == 5.0 and result.right is parts[1]
    assert [part.item() for part in parts] == [0.0, 1.0, 2.0, 3.0]


def test_the_same_tensor_given_twice_is_one_array():
    def f(x, y):
        x[0] = 5.0
        return (x is y) and type(x) == np.ndarray and y  # noqa: E721

    x = leaf([1.0, 2.0])
    assert adapt(f)(x, x).tolist() == [5.0, 2.0] and x.tolist() == [1.0, 2.0]


def test_functions_of_other_modules_meet_the_same_manners():
    x = pb.tensor([1.0, 2.0])
    assert adapt(lambda x: far_away.running_total(x))(x).item() == 3.0
    assert x.tolist() == [1.0, 2.0]


# Methods that only NumPy has ------------------------------------------------------------------------------------------


def sorts_in_place(x):
    y = np.array([x[1] * 2, x[0] * 3, x[2]])
    assert y.sort() is None
    return (y * np.array([1.0, 2.0, 3.0])).sum()


def fills(x):
    y = np.empty((2, 3))
    y.fill(x[0])
    y.flat[4] = x[1]
    return (y.view() * x).sum() + sum(v for v in y.flat) + len(x) * int(x.searchsorted(0.4))


def partitions(x):
    y = x[::-1] * 2
    y.partition(1)
    return y[1] * y.base if y.base is not None else y[1] + len(y.tobytes()) * y.flags.c_contiguous


def copies(x):
    y = copy.copy(x)
    z = copy.deepcopy(x * 2)
    y[0] = z[1]
    return (y * x).sum() + z[0]


@pytest.mark.parametrize("function", [sorts_in_place, partitions, copies])
def test_methods_of_numpy_only(function):
    check(function)


def test_fill_flat_and_searchsorted():
    check(fills)
    with pytest.raises(TypeError, match=r"x\.flat of an array that is not contiguous"):
        adapt(lambda x: np.outer(x, x).T.flat)(leaf([1.0, 2.0, 3.0]))


# Arrays of the caller -------------------------------------------------------------------------------------------------

BUFFER = np.zeros(3)


def uses_buffer(x):
    BUFFER[:] = x * x
    BUFFER[0] += x[1]
    return (BUFFER * x).sum()


def test_the_gradient_flows_through_an_array_of_the_module():
    x = leaf([1.0, 2.0, 3.0])
    with pytest.warns(DetachedArrayWarning, match=r"an array from outside, float64\[3\]"):
        adapt(uses_buffer)(x).backward()
    assert_close(x.grad, [3.0 + 2.0, 12.0 + 1.0, 27.0])
    assert type(BUFFER) is np.ndarray and BUFFER.tolist() == [3.0, 4.0, 9.0]


def test_an_argument_that_is_written_is_named_unless_it_is_returned():
    def f(x, out):
        out[0] = x[0] * 3
        return out

    x, out = leaf([2.0]), np.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = adapt(f)(x, out)
    result.sum().backward()
    assert x.grad.tolist() == [3.0] and out.tolist() == [6.0, 0.0]
    with pytest.warns(DetachedArrayWarning, match="its argument `out`"):
        adapt(lambda x, out: f(x, out)[0])(x, out=out)
    with pytest.warns(DetachedArrayWarning, match="its argument number 2"):
        adapt(lambda x, out: f(x, out)[0])(x, out)


def test_values_without_a_gradient_are_written_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapt(uses_buffer)(pb.tensor([1.0, 2.0, 3.0]))
        with pb.no_grad():
            adapt(uses_buffer)(leaf([1.0, 2.0, 3.0]))
    assert BUFFER.tolist() == [3.0, 4.0, 9.0]


@pytest.mark.filterwarnings("ignore::pullback.func.DetachedArrayWarning")
def test_a_buffer_may_be_overwritten_by_a_later_call_before_backward():
    first, second = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0])
    results = adapt(uses_buffer)(first), adapt(uses_buffer)(second)
    BUFFER[:] = 0.0
    results[0].backward()
    results[1].backward()
    assert_close(first.grad, [3.0 + 2.0, 12.0 + 1.0, 27.0])
    assert_close(second.grad, [3 * 16.0 + 5, 3 * 25.0 + 4, 3 * 36.0])


def test_an_array_that_was_read_and_is_written_by_a_later_call_is_noticed_by_backward():
    weights = np.ones(3)

    def reads(x):
        return (weights * x).sum()

    def writes(x):
        weights[:] = 2.0

    x = leaf([1.0, 2.0, 3.0])
    result = adapt(reads)(x)
    adapt(writes)(x)
    with pytest.raises(pb.AutogradError) as caught:
        result.backward()
    assert caught.value.code == "VERSION"


def overwrites_what_exp_needs(x):
    y = np.exp(x)
    y += 1
    z = y * y
    y[0] = z[1]
    z -= y
    np.tanh(z / 10, out=z)
    return (z * y).sum()


def test_values_that_backward_needs_may_be_overwritten():
    check(overwrites_what_exp_needs)
    x = leaf([0.5, 1.5])
    (first,) = pb.autograd.grad(adapt(overwrites_what_exp_needs)(x), x, create_graph=True)
    assert pb.autograd.gradgradcheck(adapt(overwrites_what_exp_needs), (x,)) and first.requires_grad
    with pytest.raises(pb.AutogradError):  # ordinary code is still told
        y = pb.exp(x)
        y += 1
        y.sum().backward()


def test_two_arrays_on_the_same_memory_are_refused_where_a_gradient_could_be_lost():
    state = np.zeros((2, 3))
    row = state[1]

    def f(x):
        row[:] = x
        return state.sum()

    with pytest.raises(pb.AutogradError) as caught:
        adapt(f)(leaf([1.0, 2.0, 3.0]))
    assert caught.value.code == "ADAPT_OVERLAP" and "inside of the function" in caught.value.fix
    assert adapt(f)(pb.tensor([1.0, 2.0, 3.0])).item() == 6.0
    halves = state[0, :1], state[0, 2:]

    def g(x):
        halves[0][:] = x
        return halves[0] + halves[1]

    with pytest.warns(DetachedArrayWarning):
        adapt(g)(leaf([1.0]))


def test_whole_numbers_can_not_hold_a_gradient():
    def f(x):
        counts = np.zeros(3, dtype=int)
        counts[0] = x[0]

    with pytest.raises(pb.AutogradError) as caught:
        adapt(f)(leaf([1.5]))
    assert caught.value.code == "ADAPT_WHOLE" and "np.zeros(n)" in caught.value.fix
    assert adapt(lambda x: np.array([0, 0]) + int(x[0]))(leaf([1.5])).tolist() == [1, 1]


# Names are looked up when they are used -------------------------------------------------------------------------------

TOUCHED = []
REMOVED = 1


class Loud:
    def __getattribute__(self, name):
        TOUCHED.append(name)
        return object.__getattribute__(self, name)


loud = Loud()


def max(*values):
    """A module may have names of its own for built-in functions."""
    return np.array(values).sum()


def uses_its_own_max(x):
    return max(x[0], x[1]) + min(x[0], x[1])


def defines_a_class(x):
    class Local:
        weights = np.zeros(3)
        helper = functools.partial(max, 1.0)

        def run(self, x):
            out = np.empty(3)
            out[:] = x + self.weights
            return out

    return Local().run(x).sum() + Local.helper(x[0])


def evaluates(x):
    return eval("max(x[0], 1.0) + np.zeros(2).sum() + float(x[1])")


@pytest.mark.parametrize("function", [uses_its_own_max, defines_a_class, evaluates])
def test_names_of_the_module_come_before_built_in_ones_everywhere(function):
    check(function)


def test_a_name_that_is_not_used_is_not_touched():
    TOUCHED.clear()
    adapt(lambda x: x if x.ndim else loud.value)(leaf([1.0]))
    assert TOUCHED == []


def test_names_that_are_missing_or_deleted():
    def f(x):
        global REMOVED
        before = REMOVED
        del REMOVED
        with pytest.raises(NameError):
            eval("REMOVED")
        return before

    assert adapt(f)(leaf([1.0])) == 1 and "REMOVED" not in globals()
    with pytest.raises(NameError, match="never_defined"):
        adapt(lambda x: never_defined)(leaf([1.0]))  # noqa: F821


# Threads, generators --------------------------------------------------------------------------------------------------


def test_threads_that_the_function_starts_are_adapted():
    def f(x):
        results = [None] * 4

        def work(i):
            out = np.zeros(2)
            out[0] = x[i] ** 2
            held = out[0]
            held += 1
            results[i] = out

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(result[0] for result in results)

    x = leaf([1.0, 2.0, 3.0, 4.0])
    adapt(f)(x).backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_generators_take_turns():
    def running(x):
        total = x[0]
        for value in x[1:]:
            yield total
            total += value

    x, y = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0, 30.0])
    pairs = list(zip(adapt(running)(x), adapt(running)(y), strict=True))
    assert [(a.item(), b.item()) for a, b in pairs] == [(1.0, 10.0), (3.0, 30.0)]
    pairs[1][0].backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0]
    abandoned = adapt(running)(x)
    held = next(abandoned)
    abandoned.close()
    assert type(held) is pb.Tensor


def test_coroutines_are_adapted_until_they_end():
    async def row(x, i):
        await asyncio.sleep(0)
        out = np.zeros(2)
        out[i] = x[i] ** 2
        held = out[i]
        held += 1
        return out

    async def f(x):
        rows = await asyncio.gather(row(x, 0), row(x, 1))
        return sum(rows)

    async def both():
        return await asyncio.gather(adapt(f)(x), adapt(f)(y))

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    first, second = asyncio.run(both())
    assert first.tolist() == [1.0, 4.0] and second.tolist() == [9.0, 16.0] and type(first) is pb.Tensor
    (first + second).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0] and y.grad.tolist() == [6.0, 8.0]

    async def rows(x):
        yield x

    with pytest.raises(TypeError, match="async generator"):
        adapt(rows)(x)


def test_a_generator_can_be_sent_values_and_errors():
    def averages(x):
        total = x[0]
        try:
            while True:
                total += yield total * np.ones(2)
        except KeyError:
            return total

    x = leaf([1.0])
    generator = adapt(averages)(x)
    assert next(generator).tolist() == [1.0, 1.0] and generator.send(2.0).tolist() == [3.0, 3.0]
    with pytest.raises(StopIteration) as caught:
        generator.throw(KeyError())
    assert caught.value.value.item() == 3.0 and type(caught.value.value) is pb.Tensor


def test_a_function_that_was_returned_runs_as_ordinary_code():
    def model(x):
        weights = np.ones(2) * x

        def predict(value):
            return (weights * value).sum()

        return predict

    x = leaf([2.0, 3.0])
    result = adapt(model)(x)(pb.tensor(2.0))
    result.backward()
    assert x.grad.tolist() == [2.0, 2.0] and type(result) is pb.Tensor


def test_a_long_call_does_not_remember_what_it_dropped():
    sizes = []

    def f(x):
        total = x.detach()
        for _ in range(2500):
            total = total + 1.0
        sizes.append(len(globals()[MARK]._made))
        return total

    assert adapt(f)(leaf([1.0])).item() == 2501.0 and sizes[0] < 1500
