"""Anomaly mode, gradcheck and observers: conformance cases 232 to 235, and what §12 says besides."""

import threading
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.errors import GradcheckError

from .shorthand import C, Fn, L, array, g, it, raises

gradcheck = pb.autograd.gradcheck
gradgradcheck = pb.autograd.gradgradcheck
set_detect_anomaly = pb.autograd.set_detect_anomaly


def square_forward(c, x):
    c.save_for_backward(x)
    return x * x


def square_with_factor(factor):
    """`x * x` whose backward uses `factor` where 2 is right."""
    return Fn(square_forward, lambda c, q: q * factor * c.saved_tensors[0])


# Anomaly mode


def sqrt_times_zero(x):
    root = x.sqrt()
    return root, (root * 0.0).sum()


def test_232_a_nan_is_reported_with_the_node_that_made_it():
    with set_detect_anomaly(True):
        _, y = sqrt_times_zero(L([0.0]))
        with pytest.warns(UserWarning), raises("ANOMALY_NAN") as caught:
            y.backward()
    assert "SqrtBackward0" in str(caught.value)


def test_232_without_the_check_the_nan_arrives_and_inf_is_always_allowed():
    x = L([0.0])
    with set_detect_anomaly(True, check_nan=False):
        _, y = sqrt_times_zero(x)
        y.backward()
    assert np.isnan(array(x.grad)).all()

    x = L([0.0])
    with set_detect_anomaly(True):
        x.sqrt().sum().backward()
    assert it(x.grad) == [np.inf]


def test_232_nodes_remember_where_they_were_created_and_by_which_node():
    x = L([2.0])
    plain = x * x
    with set_detect_anomaly(True):
        y = x * x * x
        (first,) = g(y, x, create_graph=True)
    assert "traceback_" not in plain.grad_fn.metadata
    assert "traceback_" in y.grad_fn.metadata and "parent_" not in y.grad_fn.metadata
    assert "traceback_" in first.grad_fn.metadata
    assert isinstance(first.grad_fn.metadata["parent_"], pb.autograd.graph.Node)


def test_detect_anomaly_warns_on_construction_and_restores_the_flags():
    with pytest.warns(UserWarning):
        mode = pb.autograd.detect_anomaly()
    with mode:
        assert "traceback_" in (L([1.0]) * 2).grad_fn.metadata
    assert "traceback_" not in (L([1.0]) * 2).grad_fn.metadata


def nan_is_found():
    _, y = sqrt_times_zero(L([0.0]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y.backward()
    except pb.autograd.AutogradError as error:
        return error.code == "ANOMALY_NAN"
    return False


def test_nested_scopes_restore_both_flags():
    with set_detect_anomaly(True):
        with set_detect_anomaly(True, check_nan=False):
            assert not nan_is_found()
            with set_detect_anomaly(False):
                assert "traceback_" not in (L([1.0]) * 2).grad_fn.metadata
            assert "traceback_" in (L([1.0]) * 2).grad_fn.metadata
            assert not nan_is_found()
        assert nan_is_found()
    assert not nan_is_found()


def test_set_detect_anomaly_works_as_a_call():
    try:
        set_detect_anomaly(True)
        assert nan_is_found()
    finally:
        set_detect_anomaly(False)
    assert not nan_is_found()


def test_anomaly_flags_are_thread_local():
    seen = []
    with set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: seen.append("traceback_" in (L([1.0]) * 2).grad_fn.metadata))
        thread.start()
        thread.join()
    assert seen == [False]


class Trouble(Exception):
    pass


def fail(c, q):
    raise Trouble("in backward")


def a_line_worth_finding(x):
    return Fn(lambda c, x: x * 1, fail)(x)


def test_a_failing_node_shows_the_forward_traceback():
    with set_detect_anomaly(True):
        y = a_line_worth_finding(L([1.0]))
        with pytest.warns(UserWarning, match="a_line_worth_finding"), pytest.raises(Trouble):
            y.backward()


def test_a_failing_node_made_during_a_pass_shows_its_parents():
    def make_trouble_in_backward(c, q):
        return a_line_worth_finding(q * C([1.0]))

    x, gradient = L([1.0]), L([1.0])
    with set_detect_anomaly(True):
        y = Fn(lambda c, x: x * 1, make_trouble_in_backward)(x)
        (first,) = g(y, x, gradient, create_graph=True)
        with pytest.warns(UserWarning) as caught, pytest.raises(Trouble):
            first.backward()
    assert len(caught) == 2
    assert "a_line_worth_finding" in str(caught[0].message)


def test_a_node_from_before_the_mode_says_that_no_traceback_was_recorded():
    y = a_line_worth_finding(L([1.0]))
    with set_detect_anomaly(True), pytest.warns(UserWarning) as caught, pytest.raises(Trouble):
        y.backward()
    assert len(caught) == 1
    assert "a_line_worth_finding" not in str(caught[0].message)


def test_if_warnings_are_errors_the_text_goes_to_stderr_and_the_exception_still_arrives(capsys):
    with set_detect_anomaly(True):
        y = a_line_worth_finding(L([1.0]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(Trouble):
                y.backward()
    assert "a_line_worth_finding" in capsys.readouterr().err


def test_root_gradients_are_not_checked_for_nan():
    x = L([1.0])
    with set_detect_anomaly(True):
        x.backward(C([np.nan]))
    assert np.isnan(array(x.grad)).all()


# gradcheck


def test_233_a_right_gradient_passes():
    assert gradcheck(lambda x: (x * x).sin(), (L([0.5, 1.0]),)) is True
    assert gradcheck(square_with_factor(2), (L([0.5, 1.0]),)) is True


def test_233_a_wrong_factor_is_found():
    with pytest.raises(GradcheckError):
        gradcheck(square_with_factor(3), (L([0.5, 1.0]),))
    assert gradcheck(square_with_factor(3), (L([0.5, 1.0]),), raise_exception=False) is False


@pytest.mark.parametrize("raise_exception", [True, False])
def test_233_inputs_must_require_grad_and_must_not_overlap_themselves(raise_exception):
    with pytest.raises(ValueError):
        gradcheck(lambda x: x * 2, (C([1.0]),), raise_exception=raise_exception)
    wide = pb.broadcast_to(pb.ones(1), (3,)).requires_grad_()
    with pytest.raises(RuntimeError) as caught:
        gradcheck(lambda x: x * 2, (wide,), raise_exception=raise_exception)
    assert not isinstance(caught.value, GradcheckError)


def test_233_a_backward_that_changes_from_call_to_call_is_found():
    calls = []

    def drifting(c, q):
        calls.append(1)
        return q * 2 + q * (1e-9 * len(calls))

    drifts = Fn(lambda c, x: x * 2, drifting)
    with pytest.raises(GradcheckError):
        gradcheck(drifts, (L([1.0]),))
    assert gradcheck(drifts, (L([1.0]),), nondet_tol=1e-3) is True


def test_233_a_backward_that_is_not_multiplied_by_its_gradient_is_found():
    with pytest.raises(GradcheckError):
        gradcheck(Fn(lambda c, x: x * 2, lambda c, q: pb.full_like(q, 2.0)), (L([1.0]),))


def test_233_a_backward_that_does_not_expect_none_is_found():
    def forward(c, x):
        c.set_materialize_grads(False)
        return x * 2

    intolerant = Fn(forward, lambda c, q: q * 2)
    tolerant = Fn(forward, lambda c, q: None if q is None else q * 2)
    with pytest.warns(UserWarning), pytest.raises(GradcheckError):
        gradcheck(intolerant, (L([1.0]),))
    assert gradcheck(intolerant, (L([1.0]),), check_undefined_grad=False) is True
    assert gradcheck(tolerant, (L([1.0]),)) is True


def test_234_a_missing_conjugate_is_found_in_the_imaginary_part():
    z = L([1.0 + 2.0j, 3.0 - 1.0j])
    right = Fn(square_forward, lambda c, q: q * 2 * c.saved_tensors[0].conj())
    assert gradcheck(right, (z,)) is True
    with pytest.raises(GradcheckError, match=r"(?i)imag"):
        gradcheck(square_with_factor(2), (z,))


def test_234_the_absolute_value_of_complex_numbers_passes_in_fast_mode():
    z = L([1.0 + 2.0j, 3.0 - 1.0j])
    assert gradcheck(lambda z: z.abs(), (z,), fast_mode=True) is True
    assert gradcheck(lambda z: z.abs(), (z,)) is True


def test_235_second_derivatives_pass_even_where_they_vanish():
    a, b = L([0.5, 1.0]), L([2.0, 3.0])
    assert gradgradcheck(lambda a, b: a * a * b, (a, b)) is True
    assert gradgradcheck(lambda a: 2 * a, (a,)) is True


# Stages of gradcheck (§12.2)


@pytest.mark.parametrize(
    "options",
    [
        {"check_backward_ad": False},
        {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
        {"check_batched_forward_grad": True},
    ],
    ids=["nothing to check", "batched without backward", "batched forward without forward"],
)
def test_contradictory_options_are_refused(options):
    with pytest.raises(AssertionError):
        gradcheck(lambda x: x * 2, (L([1.0]),), **options)


def test_single_precision_warns():
    x = C([1.0]).astype(pb.float32).requires_grad_()
    with pytest.warns(UserWarning):
        gradcheck(lambda x: x * 2, (x,), eps=1e-2, atol=1e-1)


def test_outputs_must_be_tensors():
    with pytest.raises(ValueError):
        gradcheck(lambda x: 3.0, (L([1.0]),))


def test_an_output_that_does_not_require_grad_must_not_depend_on_the_inputs():
    assert gradcheck(lambda x: (x * 2, C([5.0])), (L([1.0]),)) is True
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: (x * 2, x.detach() * 3), (L([1.0]),))


def test_outputs_must_keep_their_shape_between_calls():
    calls = []

    def unsteady(x):
        calls.append(1)
        return x * 2 if len(calls) % 2 else (x * 2)[:1]

    with pytest.raises(AssertionError):
        gradcheck(unsteady, (L([1.0, 2.0]),))


def test_inputs_are_left_as_they_were():
    x = L([0.1, 0.2, 0.3])
    before = array(x).copy()
    assert gradcheck(lambda x: x.exp() * x, (x,))
    assert array(x).tobytes() == before.tobytes()
    assert x._version == 0 and x.grad is None


def test_gradient_dtypes_are_checked_on_request():
    x = L([1.0])
    x.grad_dtype = pb.float32
    assert gradcheck(lambda x: x * 2, (x,)) is True
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x * 2, (x,), check_grad_dtypes=True)


def test_the_message_shows_both_jacobians():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(square_with_factor(3), (L([2.0]),))
    message = str(caught.value).lower()
    assert "numerical" in message and "analytical" in message


def test_only_gradcheck_errors_are_turned_into_false():
    def forward_fails(x):
        raise Trouble

    with pytest.raises(Trouble):
        gradcheck(forward_fails, (L([1.0]),), raise_exception=False)
    assert issubclass(GradcheckError, RuntimeError)


def test_fast_mode_finds_a_wrong_factor_and_shows_the_full_jacobians():
    assert gradcheck(square_with_factor(2), (L([0.5, 1.0]),), fast_mode=True) is True
    with pytest.raises(GradcheckError, match=r"(?i)numerical"):
        gradcheck(square_with_factor(3), (L([0.5, 1.0]),), fast_mode=True)


def test_inputs_may_be_a_tensor_a_list_or_hold_other_things():
    assert gradcheck(lambda x: x * 2, L([1.0])) is True
    assert gradcheck(lambda x, y: x * y, [L([1.0]), C([2.0])]) is True
    assert gradcheck(lambda x, n: x * n, (L([1.0]), 3)) is True


@pytest.mark.parametrize("value", [1.5, np.zeros((0,)), np.zeros((0, 3))], ids=["0-d", "empty", "empty 2-d"])
def test_scalars_and_empty_tensors_can_be_checked(value):
    assert gradcheck(lambda x: x * x, (L(value),)) is True


def test_gradgradcheck_finds_a_wrong_second_derivative():
    def backward(c, q):
        (x,) = c.saved_tensors
        return q * 2 * x.detach()  # right to first order only

    square = Fn(square_forward, backward)
    assert gradcheck(square, (L([0.5, 1.0]),)) is True
    with pytest.raises(GradcheckError):
        gradgradcheck(square, (L([0.5, 1.0]),))


def test_gradgradcheck_accepts_output_gradients_and_strided_ones():
    x = L([0.5, 1.0])
    assert gradgradcheck(lambda x: x.sin() * x, (x,), (L([1.0, -0.5]),)) is True
    assert gradgradcheck(lambda x: x.sin() * x, (x,), gen_non_contig_grad_outputs=True) is True


# The checks below need vmap and forward mode.


def test_batched_gradients_pass():
    assert gradcheck(lambda x: x.sin() * x, (L([0.5, 1.0]),), check_batched_grad=True) is True


def test_forward_mode_passes():
    assert gradcheck(lambda x: x.sin() * x, (L([0.5, 1.0]),), check_forward_ad=True) is True


# Observers (§12.3)


def test_record_function_changes_no_result():
    x = L([2.0])
    with pb.autograd.profiler.record_function("step"):
        (x * x).backward()
    assert it(x.grad) == [4.0]


def test_observers_see_forward_and_backward_of_a_node_under_one_number():
    events = []

    def observe(kind, name, sequence_nr, thread_id):
        events.append((kind, name, sequence_nr, thread_id))

    x = L([2.0])
    observers = pb.autograd.profiler.observers
    observers.append(observe)
    try:
        y = x.sin()
        number = y.grad_fn._sequence_nr()
        y.backward()
    finally:
        observers.remove(observe)
    kinds = {kind for kind, _, sequence_nr, _ in events if sequence_nr == number}
    assert kinds == {"forward", "backward"}
    assert {thread_id for *_, sequence_nr, thread_id in events if sequence_nr == number} == {threading.get_ident()}
    seen = len(events)
    x.sin().backward()
    assert len(events) == seen
    np.testing.assert_allclose(array(x.grad), 2 * np.cos([2.0]))
