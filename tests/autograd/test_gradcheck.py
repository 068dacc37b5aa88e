"""`gradcheck` and `gradgradcheck`: what passes, what is caught, and which error says so."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.errors import GradcheckError
from pullback.tape.input_metadata import SparseGrad
from pullback.testing import assert_close


def leaf(value):
    array = np.array(value)
    return pb.tensor(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64), requires_grad=True)


def custom(forward, backward):
    """`apply` of a Function with these two static methods."""
    statics = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Custom", (pb.autograd.Function,), statics).apply


def failure_of(func, inputs, check=gradcheck, **options):
    """The message of the GradcheckError; also checks that `raise_exception=False` turns it into False."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert check(func, inputs, raise_exception=False, **options) is False
        with pytest.raises(GradcheckError) as caught:
            check(func, inputs, **options)
    return str(caught.value)


X = [0.3, -1.2, 2.0]

triple_for_double = custom(lambda ctx, x: x * 2, lambda ctx, g: g * 3)


# Options and inputs


@pytest.mark.parametrize(
    "options",
    [
        {"check_backward_ad": False},
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
        {"check_batched_forward_grad": True},
    ],
)
def test_contradictory_options_are_an_assertion_error(options):
    with pytest.raises(AssertionError):
        gradcheck(lambda x: x * 2, leaf(X), raise_exception=False, **options)


@pytest.mark.parametrize("inputs", [pb.tensor(X), (pb.tensor(X), 3.0), ({"x": leaf(X)},), ()])
def test_inputs_without_a_tensor_that_requires_grad_are_a_value_error(inputs):
    with pytest.raises(ValueError, match="requires grad"):
        gradcheck(lambda *args: pb.tensor(X), inputs, raise_exception=False)


@pytest.mark.parametrize("dtype", [pb.float32, pb.complex64])
def test_an_input_in_single_precision_warns(dtype):
    x = pb.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
    with pytest.warns(UserWarning, match="input 0"):
        assert gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2)


def test_a_constant_in_single_precision_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x, c: x * c, (leaf(X), pb.tensor(X, dtype=pb.float32)))


def test_an_input_with_stride_0_is_refused_whatever_raise_exception_says():
    x = pb.tensor([1.0]).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="stride") as caught:
        gradcheck(lambda x: x * 2, x, raise_exception=False)
    assert not isinstance(caught.value, GradcheckError)


def test_an_input_whose_rows_overlap_in_memory_is_refused():
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3, writeable=True)
    with pytest.raises(RuntimeError, match="share memory"):
        gradcheck(lambda x: x * 2, pb.from_numpy(windows).requires_grad_())


def test_stride_0_is_fine_for_constants_and_for_axes_of_length_1():
    assert gradcheck(lambda x, c: x * c, (leaf(X), pb.tensor([2.0]).expand(3)))
    assert gradcheck(lambda x: x * 2, pb.tensor([[1.0, 2.0]]).expand(1, 2).requires_grad_())


def test_read_only_memory_is_refused_with_a_remedy():
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        gradcheck(lambda x: x * 2, pb.from_numpy(array).requires_grad_())


def test_a_tensor_a_list_and_a_tuple_are_accepted_and_other_arguments_pass_through():
    x, y = leaf(X), leaf([1.0, 2.0, 3.0])
    assert gradcheck(lambda x: x * x, x)
    assert gradcheck(lambda x, k, y, name: x * k * y, [x, 3.0, y, "name"])
    assert gradcheck(lambda x, k, y: x * k["k"] * y, (x, {"k": 2.0}, y))


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3)])
def test_every_shape_is_accepted(shape, fast_mode):
    x = pb.tensor(np.linspace(0.1, 1.0, int(np.prod(shape))).reshape(shape), requires_grad=True)
    assert gradcheck(lambda x: (x * x, x.sum()), x, fast_mode=fast_mode)


@pytest.mark.parametrize(
    "view",
    [lambda a: a[::2], lambda a: a[::-1], lambda a: a.T, lambda a: np.asfortranarray(a), lambda a: a[1:, ::-2]],
)
@pytest.mark.parametrize("fast_mode", [False, True])
def test_inputs_in_any_memory_layout_are_accepted(view, fast_mode):
    x = pb.from_numpy(view(np.linspace(0.5, 2.0, 24).reshape(4, 6))).requires_grad_()
    assert gradcheck(lambda x: x * x.sum(), x, fast_mode=fast_mode)


def test_an_interior_tensor_is_accepted_as_input():
    base = leaf(X)
    assert gradcheck(lambda x: x * x, base * 2)
    assert gradcheck(lambda x: x * x, base[1:])


def test_one_tensor_may_be_passed_twice():
    x = leaf(X)
    assert gradcheck(lambda a, b: a * a * b, (x, x))


# Outputs


@pytest.mark.parametrize("result", [2.0, None, {"y": 1}, (1.0,), np.ones(3)])
def test_an_output_that_is_no_tensor_is_a_value_error(result):
    with pytest.raises(ValueError, match="Tensor"):
        gradcheck(lambda x: result, leaf(X), raise_exception=False)
    with pytest.raises(ValueError, match="output 1"):
        gradcheck(lambda x: (x * 2, result), leaf(X))


def test_lists_tuples_and_single_tensors_are_accepted_as_outputs():
    assert gradcheck(lambda x: [x * 2, x * x], leaf(X))
    assert gradcheck(lambda x: (x * 2,), leaf(X))
    assert gradcheck(lambda x: x, leaf(X))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_an_output_that_hides_its_dependence_is_caught(fast_mode):
    assert "output 0" in failure_of(lambda x: x.detach() * 2, leaf(X), fast_mode=fast_mode)
    assert "output 1" in failure_of(lambda x: (x * 3, x.detach() * 2), leaf(X), fast_mode=fast_mode)
    with pb.no_grad():
        assert "no_grad" in failure_of(lambda x: x * 2, leaf(X), fast_mode=fast_mode)


def test_a_hidden_dependence_on_the_imaginary_part_is_caught():
    assert "output 0" in failure_of(lambda z: z.imag.detach(), leaf([1 + 2j]))


def test_outputs_that_do_not_depend_on_the_inputs_pass():
    constant = pb.tensor(X)
    assert gradcheck(lambda x: constant * 2, leaf(X))
    assert gradcheck(lambda x: (x * x, constant, x.argmax(), x > 0), leaf(X))
    assert gradcheck(lambda x, y: x * 2, (leaf(X), leaf(X)))
    assert gradcheck(lambda x: (), leaf(X))


# Numerical derivatives


@pytest.mark.parametrize("fast_mode", [False, True])
def test_the_inputs_come_back_bit_by_bit_without_version_or_gradient(fast_mode):
    x, z = leaf([0.1, -0.0, 1e300, np.nan]), leaf([1 / 3 + 1j / 7])
    before = [t.detach().numpy().tobytes() for t in (x, z)]
    gradcheck(lambda x, z: (x * 2, z * z), (x, z), raise_exception=False, fast_mode=fast_mode)
    assert [t.detach().numpy().tobytes() for t in (x, z)] == before
    assert (x._version, z._version) == (0, 0)
    assert x.grad is None and z.grad is None


@pytest.mark.parametrize("call", [2, 3, 4])
def test_the_inputs_come_back_when_the_function_raises(call):
    x, calls = leaf([0.1, 0.2]), []

    def fails_at(x):
        calls.append(x)
        if len(calls) == call:
            raise KeyError("from the function")
        return x * 2

    with pytest.raises(KeyError, match="from the function"):
        gradcheck(fails_at, x, raise_exception=False)
    assert x.detach().numpy().tolist() == [0.1, 0.2]


@pytest.mark.parametrize("change", [lambda y: y.reshape(3, 1), lambda y: y.astype(pb.float32), lambda y: (y, y)])
def test_outputs_that_change_their_kind_are_an_assertion_error(change):
    seen = []

    def unsteady(x):
        seen.append(x)
        return x * 2 if len(seen) == 1 else change(x * 2)

    with pytest.raises(AssertionError, match="output"):
        gradcheck(unsteady, leaf(X), raise_exception=False)


def test_a_value_saved_before_the_check_is_still_valid_afterwards():
    x = leaf(X)
    y = (x * x).sum()
    assert gradcheck(lambda x: x * 2, x)
    y.backward()
    assert_close(x.grad, 2 * np.array(X))


# Analytical derivatives


def test_a_wrong_factor_is_caught_and_both_jacobians_are_shown():
    text = failure_of(triple_for_double, leaf([1.0, 5.0]))
    assert "Jacobian mismatch for output 0 with respect to input 0" in text
    assert "2." in text.split("numerical:")[1].split("analytical:")[0]
    assert "3." in text.split("analytical:")[1]


def test_the_message_names_the_positions_of_argument_and_output():
    text = failure_of(
        lambda k, c, x, y: (c * 1, x * x, x * triple_for_double(y)), (2.0, pb.tensor(X), leaf(X), leaf([1.0, 2.0, 3.0]))
    )
    assert "output 2 with respect to input 3" in text


def test_a_missing_gradient_is_caught():
    forgets = custom(lambda ctx, x, y: x * y, lambda ctx, g: (None, None))
    assert "input 0" in failure_of(forgets, (leaf(X), leaf(X)))


def test_nan_and_infinity_are_mismatches_and_not_taken_for_nondeterminism():
    assert "Jacobian mismatch" in failure_of(lambda x: x * float("nan"), leaf([1.0]))
    infinite = custom(lambda ctx, x: x * 2, lambda ctx, g: g * np.inf)
    assert "Jacobian mismatch" in failure_of(infinite, leaf([1.0]))


def test_the_tolerances_decide():
    slightly_wrong = custom(lambda ctx, x: x * 2, lambda ctx, g: g * 2.01)
    failure_of(slightly_wrong, leaf(X))
    assert gradcheck(slightly_wrong, leaf(X), rtol=0.01)
    assert gradcheck(slightly_wrong, leaf(X), atol=0.02)


def test_eps_is_the_step_of_the_central_difference():
    seen = []

    def watch(x):
        seen.append(x.item())
        return x * x

    gradcheck(watch, leaf(0.5), eps=0.125, rtol=0.1, check_undefined_grad=False)
    assert seen == [0.5, 0.625, 0.375]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_gradient_that_changes_between_passes_is_caught(fast_mode):
    drift = [0.0]

    def backward(ctx, g):
        drift[0] += 1e-9
        return g * (2 + drift[0])

    drifting = custom(lambda ctx, x: x * 2, backward)
    assert "reentrant" in failure_of(drifting, leaf(X), fast_mode=fast_mode)
    assert gradcheck(drifting, leaf(X), nondet_tol=1e-6, fast_mode=fast_mode)


def test_gradients_of_another_dtype_are_caught_on_request():
    x = leaf(X)
    x.grad_dtype = pb.float32
    text = failure_of(lambda x: x * 2, x, check_grad_dtypes=True)
    assert "float32" in text and "float64" in text
    assert gradcheck(lambda x: x * 2, x)
    x.grad_dtype = None
    assert gradcheck(lambda x: x * 2, x, check_grad_dtypes=True)
    single = custom(lambda ctx, x: x * 2, lambda ctx, g: (g * 2).astype(pb.float32))
    assert gradcheck(single, x)
    assert "float32" in failure_of(single, x, check_grad_dtypes=True)
    assert gradcheck(lambda x, z: (x * z, z.real), (leaf(X), leaf([1j, 2j, 1 + 1j])), check_grad_dtypes=True)


# Complex numbers


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    "func",
    [
        lambda z: z * z,
        lambda z: z.exp() / 3,
        lambda z: abs(z),
        lambda z: z.conj(),
        lambda z: (z.real, z.imag),
        lambda z: (z * z.conj(), (z * 2).imag),
        lambda z: z.sum() * (2 - 1j),
    ],
)
def test_functions_of_complex_numbers_pass(func, fast_mode):
    assert gradcheck(func, leaf([1 + 2j, -0.5 + 0.3j]), fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_real_and_complex_arguments_mix(fast_mode):
    x, z = leaf([1.0, -2.0]), leaf([1 + 2j, -0.5 + 0.3j])
    assert gradcheck(lambda x: x * (1 + 2j), x, fast_mode=fast_mode)
    assert gradcheck(lambda x, z: (x * z, abs(x + z), x * x), (x, z), fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_missing_conjugate_fails_on_the_imaginary_part(fast_mode):
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    without_conj = custom(forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
    text = failure_of(without_conj, leaf([1 + 2j]), fast_mode=fast_mode)
    assert "the imaginary part of complex outputs" in text


@pytest.mark.parametrize("fast_mode", [False, True])
def test_an_error_in_the_real_part_alone_is_reported_for_the_real_part(fast_mode):
    wrong_for_real = custom(lambda ctx, z: z * 2, lambda ctx, g: g * 2 + g.real)
    text = failure_of(wrong_for_real, leaf([1 + 2j, 3j]), fast_mode=fast_mode)
    assert "the real part of complex outputs" in text


@pytest.mark.parametrize("fast_mode", [False, True])
def test_an_error_in_the_imaginary_axis_of_a_complex_input_is_caught(fast_mode):
    half = custom(lambda ctx, z: z.real + 2 * z.imag, lambda ctx, g: g * (1 + 1j))
    failure_of(half, leaf([1 + 2j, 3j]), fast_mode=fast_mode)


# What a right Jacobian does not show


def test_batched_gradients_equal_one_pass_for_each():
    assert gradcheck(lambda x, z: (x * z, x.sum()), (leaf(X), leaf([1j, 2.0, 1 - 1j])), check_batched_grad=True)
    assert gradcheck(lambda x, y: x * 2, (leaf(X), leaf(X)), check_batched_grad=True)


def test_batched_gradients_that_differ_are_caught():
    # Too small for the Jacobian to show, and changing with every pass.
    drift = [0.0]

    def backward(ctx, g):
        drift[0] += 1e-7
        return g * (2 + drift[0])

    drifting = custom(lambda ctx, x: x * 2, backward)
    assert gradcheck(drifting, leaf(X), nondet_tol=1e-3)
    assert "check_batched_grad" in failure_of(drifting, leaf(X), nondet_tol=1e-3, check_batched_grad=True)


def test_batched_second_derivatives_that_differ_are_caught():
    drift = [0.0]

    def backward(ctx, g):
        drift[0] += 1e-7
        return g * (2 + drift[0])

    # The drifting rule is the derivative of the gradient, not the gradient.
    drifting = custom(lambda ctx, x: x * 2, backward)
    doubles = custom(lambda ctx, x: x * 2, lambda ctx, g: drifting(g))
    assert gradgradcheck(doubles, leaf(X), nondet_tol=1e-3)
    text = failure_of(doubles, leaf(X), check=gradgradcheck, nondet_tol=1e-3, check_batched_grad=True)
    assert "check_batched_grad" in text


def test_an_error_in_the_batched_pass_is_a_gradcheck_error():
    def forward(ctx, x):
        ctx.passes = 0
        return x * 2

    def backward(ctx, g):
        ctx.passes += 1
        # Three rows of the Jacobian, twice, and two passes to compare the batch with.
        if ctx.passes > 8:
            raise ArithmeticError("no ninth pass")
        return g * 2

    text = failure_of(custom(forward, backward), leaf(X), check_batched_grad=True)
    assert "check_batched_grad" in text and "no ninth pass" in text


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_backward_that_ignores_its_gradient_is_caught(fast_mode):
    ignores = custom(lambda ctx, x: x * 2, lambda ctx, g: pb.full(g.shape, 2.0))
    assert "not multiplied by grad_output" in failure_of(ignores, leaf([1.0]), fast_mode=fast_mode)


def intolerant(forward, backward):
    def forward_without_zeros(ctx, *args):
        ctx.set_materialize_grads(False)
        return forward(*args)

    return custom(forward_without_zeros, backward)


def test_a_backward_that_cannot_take_none_is_caught_with_a_warning():
    doubles = intolerant(lambda x: x * 2, lambda ctx, g: g * 2)
    with pytest.warns(UserWarning, match="undefined"), pytest.raises(GradcheckError, match="undefined"):
        gradcheck(doubles, leaf(X))
    failure_of(doubles, leaf(X))
    assert gradcheck(doubles, leaf(X), check_undefined_grad=False)


def test_a_backward_that_makes_something_of_none_is_caught():
    invents = intolerant(lambda x: x * 2, lambda ctx, g: pb.ones(3) if g is None else g * 2)
    assert "undefined gradients for all outputs" in failure_of(invents, leaf(X))


def test_a_backward_that_takes_none_passes():
    careful = intolerant(lambda x: x * 2, lambda ctx, g: None if g is None else g * 2)
    assert gradcheck(careful, leaf(X))


def test_one_undefined_gradient_among_several_is_tried_too():
    def backward(ctx, first, second):
        if first is None and second is None:
            return None
        if first is None:
            return second * 3
        if second is None:
            # Right for the Jacobian, and wrong where the gradient is zero and has to give zero.
            return first * 2 if np.any(first.detach().numpy()) else pb.ones(3)
        return first * 2 + second * 3

    invents = intolerant(lambda x: (x * 2, x * 3), backward)
    assert "undefined gradients for output 1" in failure_of(invents, leaf(X))
    assert "undefined gradients for output 2" in failure_of(lambda x: (pb.ones(1), *invents(x)), leaf(X))


def test_errors_of_the_function_itself_propagate():
    def broken(ctx, g):
        raise ZeroDivisionError("in backward")

    with pytest.raises(ZeroDivisionError, match="in backward"):
        gradcheck(custom(lambda ctx, x: x * 2, broken), leaf(X), raise_exception=False)


# Fast mode


def test_fast_mode_calls_the_function_a_few_times_whatever_the_size():
    calls = []

    def counting(x):
        calls.append(x)
        return x * x

    assert gradcheck(counting, pb.linspace(0.1, 1.0, 500).requires_grad_(), fast_mode=True)
    assert len(calls) <= 6


def test_fast_mode_catches_a_wrong_factor_and_shows_the_whole_jacobians():
    text = failure_of(triple_for_double, leaf([1.0, 5.0]), fast_mode=True)
    assert "Jacobian mismatch for output 0 with respect to input 0" in text
    assert "fast_mode" in text
    whole = text.split("whole Jacobians")[1]
    assert "[[2. 0.]" in whole and "[[3. 0.]" in whole


def test_fast_mode_does_not_touch_the_global_generator():
    np.random.seed(5)
    before = np.random.get_state()[1].tolist()
    assert gradcheck(lambda x: x * x, leaf(X), fast_mode=True)
    assert np.random.get_state()[1].tolist() == before


def test_fast_mode_scales_atol_with_the_number_of_entries():
    """Every entry of a 40 x 40 Jacobian is wrong by 0.9 atol: both modes accept it, and neither accepts 3 atol."""

    def matrix_off_by(error):
        off = pb.full((40, 40), error)
        return custom(lambda ctx, x: pb.zeros((40, 40)) @ x, lambda ctx, g: off.T @ g)

    x = pb.linspace(0.1, 1.0, 40).requires_grad_()
    for fast_mode in (False, True):
        assert gradcheck(matrix_off_by(0.9e-5), x, fast_mode=fast_mode)
        failure_of(matrix_off_by(3e-5), x, fast_mode=fast_mode)


def test_fast_mode_says_when_the_entries_themselves_are_within_tolerance():
    signs = pb.tensor([1.0, -1.0])

    def backward(ctx, g):
        return g * (signs * 1000 + 0.9)

    def forward(ctx, x):
        return (x * signs * 1000).sum()

    assert gradcheck(custom(forward, backward), leaf([0.5, 0.25]))
    assert "fast_mode=False" in failure_of(custom(forward, backward), leaf([0.5, 0.25]), fast_mode=True)


# Sparse gradients


def take_rows(stored):
    """Reads rows 0 and 2 of a table; the gradient stores the rows `stored`."""

    def backward(ctx, g):
        rows = {0: g.detach().numpy()[0], 2: g.detach().numpy()[1]}
        zeros = np.zeros(2)
        return SparseGrad(np.array(stored), np.stack([rows.get(row, zeros) for row in stored]), (3, 2))

    return custom(lambda ctx, table: table[[0, 2]] * 1, backward)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_sparse_gradients_are_compared_as_dense_ones(fast_mode):
    table = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert gradcheck(take_rows([0, 2]), table, fast_mode=fast_mode)
    failure_of(take_rows([0]), table, fast_mode=fast_mode)
    failure_of(take_rows([0]), table, fast_mode=fast_mode, masked=False)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_masked_compares_only_the_rows_that_a_sparse_gradient_stores(fast_mode):
    table = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for stored in ([0, 1], [2], [1, 2], [2, 0]):
        assert gradcheck(take_rows(stored), table, masked=True, fast_mode=fast_mode)
    wrong = lambda table: triple_for_double(take_rows([0])(table))
    failure_of(wrong, table, masked=True, fast_mode=fast_mode)
    assert gradcheck(lambda x: x * x, leaf(X), masked=True, fast_mode=fast_mode)


# Second derivatives


def without_second_derivative():
    """The square, whose backward treats its input as a constant."""

    def forward(ctx, x):
        ctx.x = x.detach().clone()
        return x * x

    return custom(forward, lambda ctx, g: 2 * ctx.x * g)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_second_derivatives_of_products_and_of_linear_functions_pass(fast_mode):
    a, b = leaf(X), leaf([1.0, 2.0, 3.0])
    assert gradgradcheck(lambda a, b: a * a * b, (a, b), fast_mode=fast_mode)
    assert gradgradcheck(lambda a: 2 * a, a, fast_mode=fast_mode)
    assert gradgradcheck(lambda a, b, k: (a * b * k, a.exp().sum()), (a, b, 3.0), fast_mode=fast_mode)
    assert gradgradcheck(lambda a, b: a * a, (a, b), fast_mode=fast_mode)
    assert gradgradcheck(lambda z: z * z * z.conj(), leaf([1 + 2j, 0.5j]), fast_mode=fast_mode)
    assert a.grad is None and b.grad is None


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_missing_second_derivative_is_caught(fast_mode):
    square = without_second_derivative()
    assert gradcheck(square, leaf(X), fast_mode=fast_mode)
    failure_of(square, leaf(X), check=gradgradcheck, fast_mode=fast_mode)


def test_given_output_gradients_are_used():
    a = leaf(X)
    assert gradgradcheck(lambda a: a * a, a, pb.tensor([1.0, 2.0, 3.0]))
    assert gradgradcheck(lambda a: (a * a, a.sum()), a, [leaf([1.0, 2.0, 3.0]), pb.tensor(2.0)])
    assert gradgradcheck(lambda a: 2 * a, a, pb.tensor([1.0, 2.0, 3.0]))
    with pytest.raises(pb.autograd.AutogradError) as caught:
        gradgradcheck(lambda a: a * a, a, [pb.ones(3), pb.ones(3)])
    assert caught.value.code == "GRADOUT_COUNT"


def test_output_gradients_are_random_between_minus_1_and_1_and_require_grad():
    seen = []

    def backward(ctx, g):
        seen.append(g)
        return 2 * g

    assert gradgradcheck(custom(lambda ctx, x: x * 2, backward), pb.linspace(0.0, 1.0, 20).requires_grad_())
    first = seen[0].detach().numpy()
    assert np.all(np.abs(first) <= 1) and first.min() < -0.3 and first.max() > 0.3
    assert seen[0].requires_grad
    assert gradgradcheck(custom(lambda ctx, z: z * 2, backward), leaf([1j, 2j, 1 + 1j]))
    last = seen[-1].detach().numpy()
    assert last.dtype == np.complex128 and np.all(last.imag != 0) and np.all(np.abs(last.imag) <= 1)


@pytest.mark.parametrize("strided", [False, True])
def test_output_gradients_are_contiguous_unless_asked_otherwise(strided):
    contiguous = set()

    def backward(ctx, g):
        contiguous.add(bool(g.detach().numpy().flags.c_contiguous))
        return 2 * g

    doubles = custom(lambda ctx, x: x * 2, backward)
    assert gradgradcheck(doubles, leaf([[1.0, 2.0], [3.0, 4.0]]), gen_non_contig_grad_outputs=strided)
    assert (False in contiguous) is strided


def test_gradgradcheck_takes_the_options_of_gradcheck():
    a = leaf(X)
    assert gradgradcheck(lambda a: a * a * a, a, check_batched_grad=True, check_grad_dtypes=True, masked=False)
    assert gradgradcheck(without_second_derivative(), a, atol=100.0)
    doubles = intolerant(lambda x: x * 2, lambda ctx, g: None if g is None else g * 2)
    assert gradgradcheck(doubles, a, check_undefined_grad=True, nondet_tol=0.0, eps=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"check_rev_over_rev": False},
        {"check_rev_over_rev": False, "check_fwd_over_rev": True, "check_batched_grad": True},
    ],
)
def test_contradictory_options_of_gradgradcheck_are_an_assertion_error(options):
    with pytest.raises(AssertionError):
        gradgradcheck(lambda x: x * x, leaf(X), raise_exception=False, **options)


def test_gradgradcheck_needs_an_input_and_an_output_that_require_grad():
    with pytest.raises(ValueError, match="input"):
        gradgradcheck(lambda x: x * x, pb.tensor(X), raise_exception=False)
    with pytest.raises(ValueError, match="output"):
        gradgradcheck(lambda x: x.detach(), leaf(X), raise_exception=False)
