"""`pb.func.adapt` differentiates NumPy functions as they are. Gradients are compared with central differences."""

import cmath
import functools
import gc
import linecache
import math
import sys
import types
import weakref

import numpy
import numpy as np
import numpy.lib.stride_tricks as tricks
import numpy.linalg as la
import pytest
from numpy import array, float64, pi, sin, zeros

import pullback as pb
from pullback.errors import AutogradError
from pullback.func import adapt
from pullback.testing import assert_close
from tests.func import far_away
from tests.func.checking import check, leaf

# Arrays that are made and filled --------------------------------------------------------------------------------------


def fills_zeros(x):
    h = np.zeros((4, 3))
    h[0] = x
    for i in range(3):
        h[i + 1] = h[i] + 0.1 * np.sin(h[i])
    return h[-1].sum()


def fills_one_element_at_a_time(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] ** 2
    return out.sum()


def fills_empty_like(x):
    out = np.empty_like(x)
    out[:] = 3 * x
    out[1] = x[0] * x[2]
    return np.prod(out)


def fills_ones_and_full(x):
    a, b = np.ones(2), np.full(2, x[0])
    a[1] = x[1]
    b[0] *= x[2]
    return a @ b


def adds_in_place_to_linspace(x):
    t = np.linspace(0, 1, 3)
    t += x
    t[1:] *= x[:2]
    t -= np.linspace(x[0], x[1], 3)
    return (t**2).sum()


def makes_arrays_of_numbers(x):
    m = np.array([[x[0], 1.0], [x[1] * x[2], x[0]]])
    return m[0, 0] * m[1, 0] + np.asarray([x[0], 2.0]).sum() + np.array(x, dtype=float, ndmin=2)[0, 2]


def counts_with_whole_numbers(x):
    grid = np.arange(3) / 2
    grid[0] = x[0]
    ramp = np.arange(3).astype(float)
    ramp[2] = x[1]
    order = np.array([2, 0, 1])
    hits = np.zeros(3, dtype=int)
    hits[order[0]] += 1
    table = {k: i for i, k in enumerate(order)}
    return (grid * ramp * x[order]).sum() + table[np.int64(2)] + hits.sum()


def mixes_whole_and_real_numbers(x):
    steps = np.arange(1, 4)
    chosen = np.ones(3, dtype=bool)
    chosen &= x > 0.6
    small = np.empty(3, dtype=bool)
    np.less(x, 1, out=small)
    hits = np.zeros(3, dtype=int)
    hits += chosen
    hits[x > 1] += 2
    total = steps @ x + (steps * x + np.maximum(steps, x) - steps**x).sum() + np.dot(steps, x) + steps.dot(x)
    return total + (x[chosen & small] * 3).sum() + (hits * x).sum() + (np.arange(3) > x).sum() + steps.mean() * x[0]


def masks_and_scatters(x):
    out = np.zeros(3)
    mask = np.zeros(3, dtype=bool)
    mask[0] = x[0] > 0
    out[mask] = x[0]
    out[[1, 2]] = x[:2] * 2
    np.add.at(out, [0, 0], x[1:])
    return (out**2).sum()


def hands_lists_to_numpy(x):
    a, b = x[0], x[1]
    return np.sum([a, b]) + np.max([a * b, -1.0]) + np.concatenate([[a, b], x]).sum() + np.dot([a, b], [b, 2.0])


def joins_pieces(x):
    return (np.r_[x, 1.0, x[0] * 2] ** 2).sum() + (np.c_[x, x[::-1]][:, 0] ** 3).sum() + np.r_[0:3].sum()


def keeps_sequences_of_arrays(x):
    total = np.block([[x], [x * x]])[1, 2] + np.select([x < 0.6, x > 1], [x * x, x[0]], 0.0).sum()
    return total + np.vstack([x, [x[0], 1.0, x[1]]])[1].sum() + np.hstack((x[0], x))[0]


def stores_into_out(x):
    out, rest = np.zeros(3), np.ones(2)
    np.multiply(x, 2.0, out=out)
    np.add(out, x, out)
    np.multiply(out, out, out=out, where=x > 0.6)
    np.sum(np.outer(x, x[:2]), axis=0, out=rest)
    return (out * x).sum() + rest[1]


def goes_along_an_axis(x):
    matrix = np.outer(x, np.arange(1.0, 3.0))
    lines = np.apply_along_axis(lambda line: line * line[0], 0, matrix)
    return np.apply_along_axis(np.sum, 1, lines)[1] + sum(v * i for (i, _), v in np.ndenumerate(matrix))


GENERATOR = np.random.RandomState(7)


def draws_noise(x):
    GENERATOR.seed(3)
    noise = np.random.default_rng(0).normal(size=3)
    noise *= x
    path = GENERATOR.standard_normal(4)
    path[0] = x[0]
    np.random.seed(0)
    path[1:] += np.random.rand(3) * x
    return noise.sum() + np.cumsum(path)[-1] + np.random.default_rng(5).integers(10)


def builds_from_an_iterator(x):
    return np.fromiter((v * v for v in x), float).sum() + np.fromfunction(lambda i: x * i, (3,)).sum()


def uses_scalar_types(x):
    total = np.float64(0.0)
    if isinstance(x, np.ndarray) and isinstance(x[0], float) and np.isscalar(x[0]):
        total += np.float64(x[0]) * float(x[1])
    return total * complex(x[2]).real + (x.astype(np.float64) * x.astype(float)).sum() + round(1.26, 1)


def uses_math(x):
    a, b, c = x
    total = math.sin(a) + math.exp(b) * math.sqrt(c) + math.log(b) + math.log(b, 2) + math.pow(a, 3.0)
    total += math.atan2(a, b)
    total += math.hypot(a, b, c) + math.degrees(a) + math.fsum(v * v for v in x) + math.prod([a, b]) + math.fabs(-a)
    return total + math.floor(b) + math.dist((a, b), (1.0, c)) + (2.0 if math.isnan(a) else math.sin(1.0)) + math.pi


@pytest.mark.parametrize("function", [
    fills_zeros, fills_one_element_at_a_time, fills_empty_like, fills_ones_and_full, adds_in_place_to_linspace,
    makes_arrays_of_numbers, counts_with_whole_numbers, mixes_whole_and_real_numbers, masks_and_scatters,
    hands_lists_to_numpy, joins_pieces, keeps_sequences_of_arrays, stores_into_out, draws_noise, goes_along_an_axis,
    builds_from_an_iterator, uses_scalar_types, uses_math,
])  # fmt: skip
def test_value_and_gradient_are_those_of_the_numpy_function(function):
    check(function)


def test_complex_arrays_can_be_filled():
    def f(x):
        z = np.zeros(2, dtype=complex)
        z[0] = x[0] + 1j * x[1]
        z[1] = complex(x[1], x[2])
        return (np.abs(z) ** 2 * np.array([1.0, 2.0])).sum()

    check(f)


def test_second_derivatives():
    def f(x):
        out = np.zeros(2)
        out[0] = x**3
        out[1] = math.sin(x)
        return out.sum()

    x = leaf(0.5)
    (first,) = pb.autograd.grad(adapt(f)(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first, x)
    assert_close(second, 6 * 0.5 - math.sin(0.5))


def test_float32_stays_float32():
    def f(x):
        out = np.zeros(2, dtype=np.float32)
        out[0] = x[0]
        return np.float32(out) * np.zeros_like(x)[0]

    assert adapt(f)(pb.tensor([1.0], dtype=pb.float32)).dtype == np.float32


# Numbers behave as NumPy's --------------------------------------------------------------------------------------------


def swaps(x):
    y = x * 1
    held = y[0]
    y[0] = y[2]
    y[2] = held
    first, _, last = y
    y[0] = 9.0
    return first * first + 3 * last


def accumulates(x):
    total = x[0]
    before = total
    total += x[1]
    total *= x[2]
    return total + 10 * before + x.sum()


def test_an_element_is_a_copy_and_is_not_written_in_place():
    check(swaps)
    check(accumulates)


def test_an_element_is_still_a_view_outside_of_adapted_code():
    adapt(swaps)(leaf([1.0, 2.0, 3.0]))
    y = pb.zeros(3)
    element = y[0]
    element += 1
    assert y.tolist() == [1.0, 0.0, 0.0]


def test_a_row_is_a_view_as_in_numpy():
    def f(x):
        m = np.zeros((2, 3))
        row = m[1]
        row += x
        m[0, ...] = x * x
        return (m * m).sum()

    check(f)


def test_an_argument_may_be_written_and_the_leaf_keeps_its_value():
    def f(x):
        x += 1
        x[0] = x[1] * x[2]
        return x.sum()

    x = leaf([1.0, 2.0, 3.0])
    adapt(f)(x).backward()
    assert x.grad.tolist() == [0.0, 5.0, 4.0] and x.tolist() == [1.0, 2.0, 3.0]


# Names of NumPy, and what else the module defines ---------------------------------------------------------------------

WEIGHTS = np.array([1.0, 2.0, 3.0])


def helper(x):
    out = np.zeros(3)
    out[:] = x
    return out


def helper_of_helper(x, factor=2.0):
    return factor * helper(x)


def even(x, n):
    return helper(x) if n == 0 else odd(x, n - 1)


def odd(x, n):
    return -even(x, n - 1)


def by_names(x):
    out = zeros(3)
    out[0] = sin(x[0]) * pi
    out[1] = la.norm(WEIGHTS) * tricks.sliding_window_view(x, 2)[1, 0]
    out[2] = numpy.exp(x[2]) + float64(x[0])
    return out.sum() + array([x[0], x[1]]).sum()


def imports_inside(x):
    from math import cos

    import numpy as other
    from numpy import ones

    out = ones(3)
    out[0] = cos(x[0])
    return other.multiply(out, x).sum()


def of_defaults(x, *, xp=np, f=sin, h=helper_of_helper):
    out = xp.zeros(3)
    out[1] = f(x[1])
    return (out + h(x)).sum()


def of_globals(x):
    scaled = WEIGHTS.copy()
    scaled[0] = x[0]
    return (scaled * WEIGHTS * x).sum()


RULES = {"double": helper_of_helper, "even": lambda x: even(x, 2)}


def of_a_table(x):
    return sum(rule(x).sum() for rule in RULES.values()) + RULES["double"](x)[0]


@functools.lru_cache
def remembered(n):
    return helper(np.arange(3) * n)


@functools.cache
def filled_with(x):
    return helper(np.array([x, 1.0, 2.0]))


def of_caches(x):
    return (remembered(2) * x).sum() + filled_with(x[0]).sum() + helper(x)[1]


def twice(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args) + function(*args)

    return call


@twice
def decorated(x):
    return helper(x)[1] * x[0]


@np.vectorize
def softly(value, weight):
    return math.sin(value) * weight if value > 0.6 else value * weight


def of_vectorize(x):
    half = np.vectorize(lambda v: (v / 2, v * v), otypes=[float, float])
    return softly(x, 2).sum() + half(x)[1].sum()


@pytest.mark.parametrize("function", [
    by_names, imports_inside, of_defaults, of_globals, of_a_table, of_caches, decorated, of_vectorize,
    lambda x: helper(x)[0] * helper(x)[1], lambda x: even(x, 2).sum(), lambda x: even(x, 4).sum(),
], ids=lambda function: function.__name__)  # fmt: skip
def test_names_and_helpers_of_the_module_are_seen(function):
    check(function)


def test_closures_are_seen():
    offset = np.array([1.0, 2.0, 3.0])
    numeric = np
    rules = [lambda x: inner(x)]

    def inner(x, depth=0):
        out = numeric.zeros(3)
        out[:] = x if depth == 3 else inner(x, depth + 1)
        return out

    def outer(x):
        shifted = offset.copy()
        shifted[0] = x[0]
        return (inner(x) * shifted * rules[0](x)).sum()

    check(outer)
    assert type(offset) is np.ndarray and numeric is np


def test_a_closure_keeps_its_variables():
    calls = 0
    last = np.zeros(2)

    def f(x):
        nonlocal calls, last
        calls += 1
        last = np.array([x[0], calls])
        return last.sum()

    adapted = adapt(f)
    adapted(leaf([1.0]))
    adapted(leaf([4.0]))
    assert calls == 2 and last.tolist() == [4.0, 2.0]


def test_partials_are_seen():
    def scaled(factor, x, *, shift):
        out = np.zeros(3)
        out[:] = factor * x + shift
        return out.sum()

    check(functools.partial(scaled, np.array([1.0, 2.0, 3.0]), shift=helper(np.ones(3))))
    check(functools.partial(functools.partial(scaled, 2.0), shift=0.5))


def test_a_function_given_as_argument_is_seen():
    def apply(f, x, xp):
        return (f(x) * xp.ones(3)).sum()

    x = leaf([1.0, 2.0, 3.0])
    adapt(apply)(helper, x, np).backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


@far_away.logged
def logged_elsewhere(x, n=2):
    out = np.zeros(3)
    out[:] = x if n == 0 else logged_elsewhere(x, n - 1)
    return out.sum()


def test_a_function_decorated_by_another_module_is_seen():
    check(logged_elsewhere)
    check(lambda x: logged_elsewhere(x) * x[0])


def test_generators_are_seen():
    def rows(x):
        for i in range(2):
            row = np.zeros(3)
            row[i] = x[i]
            yield row

    check(lambda x: sum((row * x).sum() for row in rows(x)))


# Use as a decorator ---------------------------------------------------------------------------------------------------


@adapt
def factorial_like(x, n):
    """Calls itself."""
    out = np.ones(1)
    out[0] = x if n == 0 else x * factorial_like(x, n - 1)
    return out[0]


@adapt()
def with_far_away(x):
    return far_away.shifted(x).sum()


class Holder:
    @adapt
    def fill(self, x):
        return helper(x).sum() * self.scale()

    def scale(self):
        out = np.zeros(())
        out[...] = 2.0
        return out


def test_as_a_decorator_of_functions_and_methods():
    x = leaf(2.0)
    factorial_like(x, 2).backward()
    assert x.grad.item() == 12.0 and factorial_like.__doc__ == "Calls itself."
    y = leaf([1.0, 2.0, 3.0])
    with_far_away(y).backward()
    assert y.grad.tolist() == [2.0, 1.0, 1.0]
    z = leaf([1.0, 2.0, 3.0])
    Holder().fill(z).backward()
    assert z.grad.tolist() == [2.0, 2.0, 2.0]


def test_an_adapted_function_may_be_called_by_adapted_functions():
    inner = adapt(helper)
    x = leaf([1.0, 2.0, 3.0])
    adapt(adapt(lambda x: (inner(x) * factorial_like(x[0], 1)).sum()))(x).backward()
    assert_close(x.grad, [2 * 6.0 + 1, 1.0, 1.0])


def test_arguments_that_numpy_does_not_look_for_tensors_in():
    whole = np.arange(3)
    check(lambda x: (np.full_like(whole, x[0], dtype=np.float64) * x).sum())
    check(lambda x: np.interp(0.5, [1, 2], [3, 4], left=x[0]) * x[1])
    check(lambda x: np.select([whole > 1], [whole], default=x[0]).sum())
    check(lambda x: np.require(3 * x, requirements=["F", "W"]).sum())
    with pytest.raises(TypeError, match=r"use np\.block"):
        adapt(lambda x: np.bmat([[x[None], x[None]]]))(leaf([1.0, 2.0]))


# The functions of `math` and `cmath` ----------------------------------------------------------------------------------

TWO = {"atan2", "copysign", "dist", "fmod", "hypot", "pow", "rect", "remainder", "sumprod"}
WHOLE = {"ceil", "floor", "trunc", "isclose", "isfinite", "isinf", "isnan"}
REFUSED = {"comb", "factorial", "frexp", "gcd", "isqrt", "lcm", "nextafter", "perm", "ulp"}
NAMES = [
    (module, name) for module in (math, cmath) for name in dir(module)
    if callable(getattr(module, name)) and not name.startswith("_") and name not in WHOLE
]  # fmt: skip


def arguments_of(name, x):
    if name in ("dist", "sumprod"):
        return [x[0], x[1]], [x[2], 0.7]
    if name in ("fsum", "prod"):
        return (list(x),)
    if name in TWO:
        return x[0], x[1]
    if name == "fma":
        return x[0], x[1], x[2]
    if name == "ldexp":
        return x[0], 3
    return (1 + x[0] if name == "acosh" else x[0],)


@pytest.mark.parametrize("module, name", NAMES, ids=[f"{module.__name__}.{name}" for module, name in NAMES])
def test_every_function_of_math_is_differentiated_or_refused(module, name):
    function = getattr(module, name)

    def total(x):
        parts = function(*arguments_of(name, x))
        parts = parts if isinstance(parts, tuple) else (parts,)
        return sum(2 * part.real + 3 * part.imag if module is cmath else 2 * part for part in parts)

    if name in REFUSED:
        with pytest.raises(TypeError, match=f"math.{name} of a tensor cannot be differentiated"):
            adapt(total)(leaf([0.3, 0.6, 0.9]))
    else:
        check(total, [0.3, 0.7, 0.9])


@pytest.mark.parametrize("function, value, error", [
    (math.sqrt, -1.0, ValueError), (math.log, 0.0, ValueError), (math.exp, 1000.0, OverflowError),
    (math.gamma, -1.0, ValueError), (cmath.log, 0.0, ValueError),
])  # fmt: skip
def test_functions_of_math_fail_where_they_do_for_numbers(function, value, error):
    """A program may go on from there with something else."""

    def guarded(x):
        try:
            return function(x[0])
        except (ValueError, OverflowError):
            return 3 * x[0]

    with pytest.raises(error):
        function(value)
    x = leaf([value])
    adapt(guarded)(x).backward()
    assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize("pack", [lambda x: [x], lambda x: (2.0, {"x": [x]}), lambda x: {"x": x}])
def test_leaves_in_containers_may_be_written_to(pack):
    def write(held):
        while not hasattr(held, "shape"):
            held = held["x"] if isinstance(held, dict) else held[-1]
        held[0] *= held[1]
        return held.sum()

    x = leaf([2.0, 3.0])
    adapt(write)(pack(x)).backward()
    assert x.grad.tolist() == [3.0, 3.0] and x.tolist() == [2.0, 3.0]


def test_a_numpy_function_is_taken_as_it_is():
    x = leaf([3.0, 4.0])
    adapt(np.sum)([x[0], x[1]]).backward()
    adapt(np.multiply)([x[0], x[1]], 2.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# Where it does not see ------------------------------------------------------------------------------------------------


def as_a_library(name):
    """`far_away` as if it were a module of the library of this name."""
    module = types.ModuleType(name)
    source = linecache.getlines(far_away.__file__)
    exec(compile("".join(source), far_away.__file__, "exec"), vars(module))
    return module


library = as_a_library("sklearn.far_away")
filled_by_library, scale_of_library = library.filled, library.Scale(2.0)
from_far_away, scale_far_away = far_away.filled, far_away.Scale(2.0)


def uses_far_away(x):
    return far_away.filled(x).sum()


def uses_library(x):
    return library.filled(x).sum()


@pytest.mark.parametrize("function", [
    uses_far_away, lambda x: from_far_away(x).sum(), lambda x: scale_far_away(x).sum(),
    lambda x: far_away.Scale(2.0)(x).sum(), lambda x: far_away.as_a_number(x) + far_away.added_to_an_array(x).sum(),
])  # fmt: skip
def test_other_modules_of_the_program_are_seen(function):
    check(function)


@pytest.mark.parametrize("function, name", [
    (uses_library, "filled"), (lambda x: filled_by_library(x).sum(), "filled"),
    (lambda x: scale_of_library(x).sum(), "Scale.__call__"), (lambda x: library.Scale(2.0)(x).sum(), "Scale.__call__"),
])  # fmt: skip
def test_a_library_is_seen_only_if_it_is_named(function, name):
    with pytest.raises(pb.AutogradError) as caught:
        adapt(function)(leaf([1.0, 2.0, 3.0]))
    assert caught.value.code == "ADAPT_UNSEEN"
    assert name in caught.value.what and "sklearn.far_away" in caught.value.what
    assert "sklearn.far_away" in caught.value.fix
    assert "far_away.py" in caught.value.where and "out[" in caught.value.where
    check(function, modules=[library])
    check(function, modules=[library.__name__])


def test_other_uses_in_libraries_are_refused_or_warned_about():
    x = leaf([1.0, 2.0, 3.0])
    with pytest.warns(pb.interop.DetachedScalarWarning):
        assert type(adapt(lambda x: library.as_a_number(x))(x)) is float
    with pytest.raises(pb.AutogradError) as caught:
        adapt(lambda x: library.added_to_an_array(x))(x)
    assert caught.value.code == "ADAPT_UNSEEN" and "out += x" in caught.value.where
    check(lambda x: library.as_a_number(x) + library.added_to_an_array(x).sum(), modules=[library])


def test_naming_a_package_names_its_modules():
    check(uses_library, modules=["sklearn"])


def test_without_a_gradient_other_modules_run_as_they_are():
    plain = np.array([1.0, 2.0, 3.0])
    assert adapt(uses_library)(plain) == uses_library(plain)


def test_compiled_code_says_so():
    buffer = types.SimpleNamespace(array=[np.zeros(3)])

    def f(x):
        buffer.array[0][1] = x[1]

    with pytest.raises(pb.AutogradError) as caught:
        adapt(f)(leaf([1.0, 2.0, 3.0]))
    assert caught.value.code == "ADAPT_UNSEEN" and "buffer.array[0][1] = x[1]" in caught.value.where

    def g(x):
        return np.random.default_rng(0).gamma(x)

    with pytest.raises(pb.AutogradError) as caught:
        adapt(g)(leaf([1.0, 2.0, 3.0]))
    assert caught.value.code == "ADAPT_UNSEEN" and "gamma(x)" in caught.value.where


def test_functions_of_math_without_a_derivative_are_refused():
    with pytest.raises(TypeError, match=r"math\.ulp"):
        adapt(lambda x: math.ulp(x))(leaf(1.0))
    assert adapt(lambda x: math.ulp(1.0) + math.comb(4, 2))(leaf(1.0)) == math.ulp(1.0) + 6


@pytest.mark.parametrize("function", [math.sin, len, int, dict, far_away.Scale, 3, "f"])
def test_what_is_not_a_python_function_is_refused(function):
    with pytest.raises(TypeError, match="adapt: expected a Python function"):
        adapt(function)


@pytest.mark.parametrize("modules, error", [
    ("far_away", TypeError), (far_away, TypeError), ([3], TypeError),
    ([np], ValueError), (["numpy.linalg"], ValueError), ([pb], ValueError),
])  # fmt: skip
def test_modules_that_can_not_be_named(modules, error):
    with pytest.raises(error, match="adapt: "):
        adapt(helper, modules=modules)


def test_errors_of_the_function_itself_pass_unchanged():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        adapt(f)(leaf([1.0]))


def test_bounds_of_arange_that_require_grad_are_refused():
    with pytest.raises(TypeError, match="arange"):
        adapt(lambda x: np.arange(x[0]))(leaf([3.0]))


# Nothing is left behind -----------------------------------------------------------------------------------------------

COUNT = 0
LAST = None


def counts(x, fail=False):
    global COUNT, LAST
    COUNT += 1
    LAST = np.array([COUNT, 2])
    if fail:
        raise ValueError("stop")
    return helper(x).sum()


def test_global_assignments_reach_the_module_also_after_an_exception():
    before = COUNT
    adapt(counts)(leaf([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="stop"):
        adapt(counts)(leaf([1.0]), fail=True)
    assert before + 2 == COUNT and LAST.tolist() == [before + 2, 2] and type(LAST) is np.ndarray


def test_the_module_is_the_same_after_calls_and_exceptions():
    module = sys.modules[__name__]
    numpy_before = dict(vars(np))
    before = {name: value for name, value in vars(module).items() if name not in ("COUNT", "LAST")}
    functions = [by_names, of_globals, of_caches, of_vectorize, of_a_table, lambda x: counts(x, True)]
    codes = {f: (f.__code__, f.__globals__, f.__defaults__, f.__closure__) for f in functions}
    for function in functions:
        try:
            adapt(function)(leaf([0.5, 1.5, 0.7]))
        except ValueError:
            pass
    after = {name: value for name, value in vars(module).items() if name not in ("COUNT", "LAST")}
    assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)
    assert all(vars(np)[name] is value for name, value in numpy_before.items())
    assert codes == {f: (f.__code__, f.__globals__, f.__defaults__, f.__closure__) for f in functions}
    assert WEIGHTS.tolist() == [1.0, 2.0, 3.0] and type(WEIGHTS) is np.ndarray


def test_calls_keep_nothing_alive():
    def f(x):
        out = np.zeros(3)
        out[:] = x
        return out

    x = leaf([1.0, 2.0, 3.0])
    result = adapt(f)(x)
    watched = weakref.ref(result)
    del result
    gc.collect()
    assert watched() is None


def test_redefined_helpers_are_seen_at_the_next_call(monkeypatch):
    adapted = adapt(lambda x: helper(x).sum())
    x = leaf([1.0, 2.0, 3.0])
    first = adapted(x)
    monkeypatch.setitem(globals(), "helper", lambda x: 10 * x)
    assert (first.item(), adapted(x).item()) == (6.0, 60.0)


def test_results_are_ordinary_tensors_arrays_and_numbers():
    def f(x):
        return x * 2, np.arange(3), [np.arange(2)], {"n": len(x)}, np.array([1.0])

    tensor, whole, (listed,), table, constant = adapt(f)(leaf([1.0]))
    assert type(tensor) is pb.Tensor and tensor.requires_grad
    assert type(whole) is np.ndarray and type(listed) is np.ndarray and table == {"n": 1}
    assert type(constant) is pb.Tensor and not constant.requires_grad


def test_array_arguments_are_constants_whose_memory_is_written():
    def f(x, out):
        out[:2] = 5.0
        return (out * x).sum()

    out = np.ones(3)
    x = leaf([1.0, 2.0, 3.0])
    adapt(f)(x, out=out).backward()
    assert out.tolist() == [5.0, 5.0, 1.0] and x.grad.tolist() == [5.0, 5.0, 1.0]


def test_without_grad_mode_nothing_is_recorded():
    with pb.no_grad():
        assert not adapt(fills_zeros)(leaf([1.0, 2.0, 3.0])).requires_grad


# Functions handed to SciPy


def integral(rate):
    from scipy.integrate import quad

    return quad(lambda u: np.exp(-rate * u), 0, 1)[0] + rate


def integral_with_arguments(rate):
    import scipy.integrate

    return scipy.integrate.quad(lambda u, r: np.exp(-r * u), 0, 1, args=(rate,))[0]


def root(level):
    from scipy import optimize

    return optimize.brentq(lambda u: u * u - level, 0, 2) * level


def minimum(level):
    from scipy.optimize import minimize_scalar

    return minimize_scalar(lambda u: (u - level) ** 2, method="golden").x


def path(rate):
    from scipy.integrate import solve_ivp

    return solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0]).y[0, -1]


@pytest.mark.parametrize("function", [integral, integral_with_arguments, root, minimum, path])
def test_functions_of_scipys_differentiate(function):
    pytest.importorskip("scipy", reason="SciPy calls back")
    step = 1e-4
    numerical = (function(0.7 + step) - function(0.7 - step)) / (2 * step)
    x = pb.tensor(0.7, requires_grad=True)
    adapt(function)(x).backward()
    np.testing.assert_allclose(x.grad.item(), numerical, rtol=1e-3)
    np.testing.assert_allclose(float(adapt(function)(pb.tensor(0.7))), function(0.7))


def differences(level):
    from scipy.optimize import approx_fprime

    return approx_fprime([1.0], lambda u: u[0] * level)


def test_a_function_of_scipys_without_a_derivative_is_refused():
    pytest.importorskip("scipy", reason="SciPy calls back")
    with pytest.raises(AutogradError) as caught:
        adapt(differences)(pb.tensor(0.7, requires_grad=True))
    assert caught.value.code == "SCIPY_NO_RULE" and "scipy.optimize.approx_fprime" in str(caught.value)


def test_a_callback_of_scipys_may_return_constants():
    pytest.importorskip("scipy", reason="SciPy calls back")

    def scaled(x):
        from scipy.integrate import quad

        return quad(lambda u: np.exp(-2.0 * u), 0, 1)[0] * x

    x = pb.tensor(3.0, requires_grad=True)
    adapt(scaled)(x).backward()
    np.testing.assert_allclose(x.grad.item(), (1 - np.exp(-2)) / 2)


def test_a_function_of_scipys_that_is_made_of_operators_is_differentiated():
    pytest.importorskip("scipy", reason="SciPy calls back")

    def integral(rate):
        from scipy.integrate import fixed_quad

        return fixed_quad(lambda u: np.exp(-rate * u), 0, 1, n=8)[0]

    rate = pb.tensor(0.7, requires_grad=True)
    adapt(integral)(rate).backward()
    np.testing.assert_allclose(rate.grad.item(), (np.exp(-0.7) * 1.7 - 1) / 0.49)
