"""One operand too many is an error for every operator: a ufunc would take it for the place of its result."""

import warnings
from operator import attrgetter

import numpy as np
import pytest

import pullback as pb
import tests.operators.declared  # noqa: F401  every family of operators is loaded
from pullback.declare.op import registry

FIXED = [op for op in registry.values() if isinstance(op.kernel, np.ufunc) and op.variadic_from < 0 and op.is_public]


@pytest.mark.parametrize("op", FIXED, ids=lambda op: op.name)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_operand_too_many_is_refused_or_written_in_the_open(op, requires_grad):
    x = pb.tensor([0.5, 0.25], requires_grad=requires_grad)
    extra = pb.tensor([5.0, 5.0])
    try:
        result = attrgetter(op.name)(pb)(*[x] * len(op.operands), extra)
    except (TypeError, ValueError, RuntimeError):
        assert extra.tolist() == [5.0, 5.0] and extra._version == 0
    else:  # as NumPy's functions take it: the result is written to it, and counted
        assert result is extra and extra._version > 0


@pytest.mark.parametrize("name", ["conj", "isnan", "isinf", "isfinite", "signbit", "spacing", "less", "logical_and"])
def test_the_error_says_how_many_there_are(name):
    op = registry[name]
    operands = [pb.ones(2)] * len(op.operands)
    with pytest.raises(TypeError, match=f"{name} takes {len(operands)} operands"):
        getattr(pb, name)(*operands, pb.zeros(2))


SETTINGS = [  # functions with a number that has no derivative
    (pb.nn.leaky_relu, 0.5), (pb.nn.leaky_relu_, 0.5), (pb.nn.elu, 1.5), (pb.nn.elu_, 1.5), (pb.nn.celu, 1.5),
    (pb.nn.softplus, 2.0), (pb.nn.hardshrink, 0.1), (pb.nn.threshold_, 0.1),
]  # fmt: skip


@pytest.mark.parametrize("function, number", SETTINGS, ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_tensor_without_axes_is_taken_for_the_number_in_it(function, number, dtype):
    more = (3.0,) if function is pb.nn.threshold_ else ()

    def f(x, setting):
        return function(x * 1, setting, *more)

    x = pb.tensor([-1.0, 0.5, 2.0], dtype=dtype)
    expected = f(x, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiled function needs the number, and runs as it is
        for g in (f, pb.compile(f, backend="numpy")):
            result = g(x, pb.tensor(number))
            assert result.tolist() == expected.tolist() and result.dtype == expected.dtype
    with pytest.raises(TypeError, match="no derivative by"):
        f(x, pb.tensor(number, requires_grad=True))


@pytest.mark.parametrize("f", [
    lambda x, y: pb.clip(x, y, y + 1.0),
    lambda x, y: pb.clip(x, -0.5, y),
    lambda x, y: pb.isclose(x, y),
    lambda x, y: pb.masked_fill(x, y > 0, 7.0),
    lambda x, y: pb.as_strided_scatter(x, y[:2], (2,), (1,)),
])  # fmt: skip
def test_operators_that_look_at_their_arguments_take_arrays_in_the_first_place(f):
    x, y = np.array([0.2, -1.0, 3.0]), np.array([0.3, -1.0, 1.0])
    wanted = f(pb.tensor(x), pb.tensor(y)).tolist()
    assert f(x, pb.tensor(y)).tolist() == wanted
    assert f(x, y).tolist() == wanted


@pytest.mark.parametrize("given", [1j, [1j, 2.0], np.array([1j]), pb.tensor([1j])], ids=str)
def test_complex_numbers_are_refused_in_whatever_they_come(given):
    with pytest.raises(TypeError, match="relu does not take complex numbers"):
        pb.relu(given)
