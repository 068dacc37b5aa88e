"""Arrays in adapted code: NumPy's manners there and nowhere else, and arrays of the caller that are written."""

import asyncio
import collections
import copy
import functools
import threading
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.func import DetachedArrayWarning, adapt
from pullback.testing import assert_close
from tests.func import far_away
from tests.func.checking import check, leaf

# `Tensor` itself is not touched ---------------------------------------------------------------------------------------


def test_the_class_tensor_is_the_same_before_and_after_use():
    def f(x):
        return (x[0] + sum(x)) * np.zeros(3)

    f(leaf([1.0, 2.0, 3.0]))  # a member is made when it is first used
    before = dict(vars(pb.Tensor))
    adapt(f)(leaf([1.0, 2.0, 3.0]))
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


@pb.autograd.overwrite_policy("raise")
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


def test_a_long_call_does_not_keep_what_it_dropped():
    gone = []

    def f(x):
        total = x.detach()
        for _ in range(10):
            total = total + 1.0
            weakref.finalize(total, gone.append, True)
        return len(gone)

    assert adapt(f)(leaf([1.0])) == 9


# Elements ------------------------------------------------------------------------------------------------------------


def iterates_over_what_it_writes(x):
    y = x.copy()
    total = 0.0
    for i, value in enumerate(y):
        if i + 1 < len(y):
            y[i + 1] += value * value  # seen when its turn comes
        total += value
    return total


def keeps_elements_while_it_writes(x):
    y = x * 2
    first, grid = y[0], np.outer(y, y)
    corner, column = grid[1, np.int64(2)], grid[:, 0]
    y[0] = 10.0
    grid[1, 2] = 5.0
    column += first
    return first * corner + grid.sum() + y.sum() + column[-1]


def reads_numbers_of_numbers(x):
    total = x.sum()
    other = total[()]
    total += 1.0
    view = total[...]
    view *= 2.0  # a view without axes stands for a number as well
    return other * total + view


@pytest.mark.parametrize(
    "function", [iterates_over_what_it_writes, keeps_elements_while_it_writes, reads_numbers_of_numbers]
)
def test_an_element_that_was_read_is_a_number_of_its_own(function):
    check(function)


def test_elements_of_elements_have_second_derivatives():
    def f(x):
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] * x[i - 1] * x[0]
        return y[0] * y[1] + y[2]

    x = pb.tensor([0.5, 1.5, 2.5])
    assert_close(pb.func.hessian(adapt(f))(x), pb.func.hessian(lambda x: x[0] ** 2 * x[2] * x[1] * x[0] ** 2
                 + x[2] * x[1] * x[0])(x))  # fmt: skip


def test_pullbacks_own_code_reads_views_of_what_adapted_code_hands_over():
    class Twice(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def f(x):
        return pb.nn.functional.softmax(x, -1)[0] + Twice.apply(x)[1] + np.linalg.norm(x) + pb.func.grad(
            lambda y: y[0] * y[1])(x)[0]  # fmt: skip

    x = leaf([0.5, 1.0])
    adapt(f)(x).backward()
    y = leaf([0.5, 1.0])
    (pb.nn.functional.softmax(y, -1)[0] + 2 * y[1] + (y * y).sum().sqrt() + y[1]).backward()
    assert_close(x.grad, y.grad)


# NumPy's ways ---------------------------------------------------------------------------------------------------------


def sums_a_list(x):
    return sum(x.tolist()) + np.array((x.reshape(2, 2) ** 2).tolist()).prod()


def takes_items(x):
    table = x.reshape(2, 2)
    return x[:1].item() * x.item(1) + table.item(3) * table.item(1, 0) + table.item((0, 1)) + np.max(x).item()


def divides_where_it_can(x):
    gaps = x - x[0]
    parts = np.divide(x, gaps, out=np.zeros_like(x), where=gaps != 0)
    roots = np.sqrt(gaps**2, out=np.ones_like(x), where=[False, True, True, True])
    counts = np.full(4, 2.0)
    np.divide(np.arange(4), np.arange(4), counts, where=np.arange(4) > 0)
    return parts.sum() + roots.sum() + (counts * x).sum()


def reverses_axes(x):
    return x.T @ x + x.reshape(1, 2, 2).T[1, 0, 0] + x.sum().T


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", [sums_a_list, takes_items, divides_where_it_can, reverses_axes])
@pytest.mark.parametrize("compiled", [False, True])
def test_what_numpy_code_does_with_elements_is_followed(function, compiled):
    adapted = adapt(function)
    call = pb.compile(adapted, fallback="raise") if compiled else adapted
    start = np.array([0.5, -1.5, 2.0, 0.75])
    x = pb.tensor(start, requires_grad=True)
    y = call(x)
    steps = 1e-6 * np.eye(4)
    slopes = [(function(start + step) - function(start - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(y.item(), function(start), rtol=1e-12)
    np.testing.assert_allclose(pb.autograd.grad(y, x)[0].numpy(), slopes, rtol=1e-7)


def test_what_has_no_history_gives_python_numbers():
    def f(x):
        constants = np.array([1.0, 2.0])
        return x * constants.item(1), constants.tolist(), constants[:1].item()

    _, numbers, number = adapt(f)(pb.tensor(1.0, requires_grad=True))
    assert numbers == [1.0, 2.0] and type(numbers[0]) is float and type(number) is float


def test_item_of_several_elements_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="one element"):
        adapt(lambda x: x.item())(pb.ones(3, requires_grad=True))


def iterates(x):
    total = 0.0
    for element in np.nditer(x):
        total = total + element**2
    cubes = np.zeros((2, 2))
    positions = np.nditer(cubes, flags=["multi_index"])
    while not positions.finished:
        cubes[positions.multi_index] = x.reshape(2, 2)[positions.multi_index] ** 3
        positions.iternext()
    with np.nditer(cubes, op_flags=["readwrite"]) as elements:
        for element in elements:
            element[...] = 2 * element
    return total + cubes.sum() + sum(int(k) for k in np.nditer(np.arange(3)))


def strides(x):
    windows = np.lib.stride_tricks.as_strided(x, (3, 2), (x.strides[0], x.itemsize))
    return windows.prod(axis=1).sum()


def lists_as_arrays(x):
    pair = [x[0], x[1]]
    return np.sum(pair - x[2]) + np.sum(x[:2] * pair) + (x[2:] @ pair) + np.sum((pair > x[3]) * x[:2])


def checks_and_shows(x):
    np.testing.assert_allclose(x, [float(v) for v in x], err_msg=f"{np.sum(x)}")
    assert np.array_str(x).startswith("[")
    return x.sum()


@pytest.mark.parametrize("function", [iterates, strides, lists_as_arrays, checks_and_shows])
def test_more_of_what_numpy_code_does(function):
    start = np.array([0.5, -1.5, 2.0, 0.75])
    x = pb.tensor(start, requires_grad=True)
    y = adapt(function)(x)
    slopes = [(function(start + step) - function(start - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(y.item(), function(start), rtol=1e-12)
    np.testing.assert_allclose(pb.autograd.grad(y, x)[0].numpy(), slopes, rtol=1e-7)


def draws_from_numpy(x):
    np.random.seed(3)
    return np.sum(np.random.normal(x, 2.0)) + np.sum(np.random.uniform(x.min(), x[2], (2, 3)) ** 2)


def draws_from_a_generator(x):
    rng = np.random.default_rng(3)
    return np.sum(rng.normal(loc=x[0], scale=x[2], size=5) ** 2) + rng.exponential(x[3]) + rng.normal(size=4) @ x


def draws_from_the_old_one(x):
    state = np.random.RandomState(5)
    assert isinstance(state, np.random.RandomState)
    levels = state.rand(3)
    levels[1] = x[1]
    return state.lognormal(x[0], 0.3, size=3) @ levels + state.uniform()


@pytest.mark.parametrize("function", [draws_from_numpy, draws_from_a_generator, draws_from_the_old_one])
def test_draws_are_numpys_and_differentiable_in_place_and_scale(function):
    start = np.array([0.5, -1.5, 2.0, 0.75])
    x = pb.tensor(start, requires_grad=True)
    y = adapt(function)(x)
    slopes = [(function(start + step) - function(start - step)) / 2e-6 for step in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(y.item(), function(start), rtol=1e-12)
    np.testing.assert_allclose(pb.autograd.grad(y, x)[0].numpy(), slopes, rtol=1e-7, atol=1e-8)
