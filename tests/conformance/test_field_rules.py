"""The rules about a tensor's autograd fields beyond the numbered cases, in the order of their sections."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, accumulator, array, g, it, ng, raises, shares_memory

DIFFERENTIABLE = [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128]
NOT_DIFFERENTIABLE = [
    np.array([True]),
    np.array([1], dtype=np.int8),
    np.array([1], dtype=np.uint8),
    np.array([1], dtype=np.int64),
    np.array([object()], dtype=object),
    np.array(["text"]),
    np.array(["2000-01-01"], dtype="datetime64[D]"),
]


def ignore(*arguments):
    """A hook that changes nothing."""


# --- 1.1 the field table -----------------------------------------------------------------------------------------


def test_every_default_of_the_field_table():
    x = C([1.0])
    assert x.grad is None
    assert x.name is None
    assert x.retains_grad is False
    assert x.grad_dtype == np.float64
    assert x._is_view() is False and x._base is None
    assert x.is_inference() is False


@pytest.mark.parametrize("field", ["output_nr", "is_leaf", "retains_grad", "_base", "name"])
def test_derived_fields_are_not_settable(field):
    x = L([1.0])
    with pytest.raises(AttributeError):
        setattr(x, field, None)


def test_a_name_is_given_at_construction():
    assert pb.tensor([1.0], name="weight").name == "weight"


def test_data_of_an_interior_tensor_has_no_history_and_a_fresh_version():
    y = L([1.0]) * 2
    y.add_(1)
    d = y.data
    assert d.requires_grad is False and d.grad_fn is None and d.is_leaf
    assert d._version == 0 and y._version == 1
    assert shares_memory(d, y)


def test_retains_grad_is_true_on_interior_tensors_only():
    x = L([1.0])
    y = x * 2
    x.retain_grad()
    y.retain_grad()
    assert x.retains_grad is False
    assert y.retains_grad is True


def test_output_nr_counts_the_outputs_of_the_node():
    first, second = Fn(lambda c, x: (x * 1, x * 2), lambda c, p, q: p + q)(L([1.0]))
    assert (first.output_nr, second.output_nr) == (0, 1)
    assert first.grad_fn is second.grad_fn


# --- 1.2 setting requires_grad -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DIFFERENTIABLE)
def test_floating_and_complex_dtypes_may_require_grad(dtype):
    values = np.ones(2, dtype=dtype)
    assert pb.tensor(values, requires_grad=True).requires_grad is True
    x = pb.tensor(values)
    x.requires_grad = True
    assert x.requires_grad is True
    assert pb.tensor(values).requires_grad_().requires_grad is True


@pytest.mark.parametrize("values", NOT_DIFFERENTIABLE, ids=lambda values: values.dtype.name)
def test_other_dtypes_may_not_require_grad_by_any_spelling(values):
    if values.dtype.kind not in "biu":
        # What holds no numbers is refused already when a tensor is to be made of it.
        for flag in (True, False):
            with pytest.raises(TypeError, match="dtype"):
                pb.tensor(values, requires_grad=flag)
        return
    with raises("DTYPE"):
        pb.tensor(values, requires_grad=True)
    x = pb.tensor(values)
    with raises("DTYPE"):
        x.requires_grad = True
    with raises("DTYPE"):
        x.requires_grad_()
    x.requires_grad = False
    assert x.requires_grad_(False) is x
    assert x.requires_grad is False


@pytest.mark.parametrize("value", [1, 0, None, 1.0, "", [True]], ids=repr)
def test_only_a_bool_is_a_flag(value):
    x = C([1.0])
    with pytest.raises(TypeError):
        x.requires_grad = value
    with pytest.raises(TypeError):
        x.requires_grad_(value)
    assert x.requires_grad is False


def test_a_numpy_bool_is_a_flag():
    x = C([1.0])
    x.requires_grad = np.bool_(True)
    assert x.requires_grad is True


def test_the_flag_cannot_be_deleted():
    x = L([1.0])
    with pytest.raises((AttributeError, TypeError, RuntimeError)):
        del x.requires_grad
    assert x.requires_grad is True


def test_clearing_the_flag_attribute_of_an_interior_tensor_is_refused():
    y = L([1.0]) * 2
    with raises("NONLEAF_FLAG"):
        y.requires_grad = False
    assert y.requires_grad is True


def test_setting_the_flag_returns_self_and_does_not_bump_the_version():
    x = C([1.0])
    assert x.requires_grad_() is x
    assert x._version == 0


def test_a_view_of_a_constant_base_can_be_a_leaf_of_its_own():
    base = C([1.0, 2.0])
    view = base[:1]
    view.requires_grad_()
    (view * 3).sum().backward()
    assert it(view.grad) == [3.0]
    assert base.requires_grad is False and base.grad is None


def test_a_view_that_is_a_leaf_refuses_in_place_writes():
    view = C([1.0, 2.0])[:1].requires_grad_()
    with raises("VIEW_OF_LEAF_INPLACE"):
        view.add_(1)
    assert it(view) == [1.0] and view._version == 0


def test_writing_constants_to_the_base_of_a_leaf_view_leaves_it_a_leaf():
    base = C([1.0, 2.0])
    view = base[:1].requires_grad_()
    base.add_(1)
    assert view.is_leaf and view.requires_grad and base.requires_grad is False
    assert it(view) == [2.0]
    (view * 3).sum().backward()
    assert it(view.grad) == [3.0]


def test_a_leaf_turned_off_is_no_input_and_turned_on_again_accumulates_through_the_same_node():
    x = L([1.0])
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    x.requires_grad_(False)
    with raises("INPUT_NO_GRAD"):
        g(y, x)
    y.backward()
    assert x.grad is None
    x.requires_grad_()
    assert (x * 3).grad_fn.next_functions[0][0] is node
    y.backward()
    assert it(x.grad) == [2.0]


# --- 1.3 detach, detach_, data, numpy ----------------------------------------------------------------------------


def test_clone_shares_nothing_and_is_differentiable():
    x = L([1.0])
    y = x.clone()
    assert y.requires_grad and not y.is_leaf and y._is_view() is False
    assert not shares_memory(x, y)
    y.add_(1)
    assert x._version == 0 and y._version == 1
    y.backward()
    assert it(x.grad) == [1.0]


def test_a_slice_shares_memory_and_version_and_follows_the_flag():
    x = L([1.0, 2.0])
    v = x[1:]
    assert shares_memory(x, v) and v._is_view() and v._base is x and v.requires_grad
    with ng():
        v.add_(1)
    assert x._version == v._version == 1


def test_detach_and_data_do_not_require_grad():
    y = L([1.0]) * 2
    for alias in (y.detach(), y.data):
        assert alias.requires_grad is False and alias.is_leaf and alias._base is None
        assert shares_memory(alias, y)


def test_asarray_exports_like_numpy():
    x = L([1.0])
    with raises("NUMPY_ON_GRAD"):
        np.asarray(x)
    with raises("NUMPY_ON_GRAD"):
        (x * 2).numpy()
    with ng():
        assert np.shares_memory(np.asarray(x), array(x))
    constant = C([1.0])
    assert np.shares_memory(constant.numpy(), array(constant))


def test_detach_in_place_clears_the_history_and_keeps_the_version():
    _, y = Fn(lambda c, x: (x * 1, x * 2), lambda c, p, q: p + q)(L([1.0]))
    y.add_(1)
    y_again = y.detach_()
    assert y_again is y
    assert y.grad_fn is None and y.is_leaf and y.requires_grad is False
    assert y.output_nr == 0
    assert y._version == 1


def test_detach_in_place_resets_the_output_number():
    _, y = Fn(lambda c, x: (x * 1, x * 2), lambda c, p, q: p + q)(L([1.0]))
    assert y.output_nr == 1
    y.detach_()
    assert y.output_nr == 0


def test_detach_in_place_keeps_the_name_and_the_hooks_of_a_leaf():
    x = pb.tensor([1.0], requires_grad=True, name="weight")
    calls = []
    x.register_hook(lambda q: calls.append(it(q)))
    x.detach_()
    assert x.name == "weight"
    x.requires_grad_()
    (x * 2).backward()
    assert calls == [[2.0]]


def test_assigning_none_to_the_private_grad_fn_detaches():
    y = L([1.0]) * 2
    node = y.grad_fn
    with pytest.raises((AttributeError, TypeError, RuntimeError)):
        y._grad_fn = node
    assert y.grad_fn is node
    y._grad_fn = None
    assert y.grad_fn is None and y.requires_grad is False


def test_assigning_none_to_the_private_grad_fn_of_a_view_is_refused_like_detach():
    v = C([1.0, 2.0])[:1]
    with raises("DETACH_VIEW"):
        v._grad_fn = None


def test_python_numbers_comparisons_and_indices_come_without_grad():
    x = L([2.5])
    assert x.item() == 2.5
    assert float(x) == 2.5
    assert int(x) == 2
    assert bool(x) is True
    assert (x > 1).requires_grad is False and it(x > 1) == [True]
    assert L([1.0, 3.0]).argmax().requires_grad is False


def test_repr_tells_leaf_from_interior():
    x = L([1.0])
    assert "requires_grad=True" in repr(x)
    assert "grad_fn=<MulBackward0>" in repr(x * 2)
    assert "requires_grad" not in repr(C([1.0])) and "grad_fn" not in repr(C([1.0]))


def test_repr_of_a_view_whose_history_is_lost_says_invalid():
    base = L([1.0, 2.0]) * 1
    view = Fn(lambda c, x: x[:1], lambda c, q: pb.concat([q, pb.zeros(1)]))(base)
    base.mul_(2)
    with raises("VIEW_CUSTOM"):
        _ = view.grad_fn
    assert "grad_fn=<Invalid>" in repr(view)


# --- 1.4 assigning grad ------------------------------------------------------------------------------------------


def test_assigning_none_clears_grad():
    x = C([1.0])
    x.grad = C([2.0])
    x.grad = None
    assert x.grad is None


def test_self_is_recognized_before_the_dtype():
    x = L([1.0])
    x.grad_dtype = pb.float32
    with raises("GRAD_SELF"):
        x.grad = x


def test_the_dtype_of_grad_is_checked_before_its_shape():
    x = C([[1.0], [2.0]])
    with raises("GRAD_DTYPE"):
        x.grad = C([1.0, 2.0]).astype(pb.float32)


@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (1, 2), (3,)])
def test_grad_is_not_broadcast(shape):
    x = C([1.0, 2.0])
    with raises("GRAD_SHAPE"):
        x.grad = C(np.ones(shape))


def test_a_refused_grad_leaves_the_old_one():
    x, old = C([1.0]), C([3.0])
    x.grad = old
    with raises("GRAD_SHAPE"):
        x.grad = C([1.0, 2.0])
    assert x.grad is old


def test_grad_may_be_stored_on_interior_tensors_and_may_carry_history():
    y = L([1.0]) * 2
    gradient = L([1.0]) * 3
    y.grad = gradient
    assert y.grad is gradient
    assert gradient.grad_fn is not None


def test_reading_the_missing_grad_of_an_interior_tensor_warns_once_per_site():
    y = L([1.0]) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert y.grad is None
    assert [(warning.category, warning.filename) for warning in caught] == [(UserWarning, __file__)]


def test_reading_the_grad_of_an_interior_tensor_that_has_one_is_silent():
    y = L([1.0]) * 2
    y.grad = C([1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert it(y.grad) == [1.0]


@pytest.mark.parametrize("value", [3, "grad", [1.0], np.ones(1)], ids=repr)
def test_grad_must_be_a_tensor(value):
    with pytest.raises(TypeError):
        L([1.0]).grad = value


# --- 1.5 grad_dtype ----------------------------------------------------------------------------------------------


def test_grad_dtype_of_an_interior_tensor_cannot_be_set():
    with raises("GRAD_DTYPE_NONLEAF"):
        (L([1.0]) * 2).grad_dtype = pb.float32


@pytest.mark.parametrize("value", [3, 1.5, [np.float32]], ids=repr)
def test_grad_dtype_must_be_a_dtype_or_none(value):
    with pytest.raises(TypeError):
        L([1.0]).grad_dtype = value


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8"])
def test_grad_dtype_must_be_differentiable(dtype):
    with raises("GRAD_DTYPE_INVALID"):
        L([1.0]).grad_dtype = np.dtype(dtype)


def test_grad_dtype_defaults_to_the_dtype_of_the_tensor():
    assert L([1.0]).grad_dtype == np.float64
    assert pb.tensor(np.ones(1, dtype=np.complex64)).grad_dtype == np.complex64


def test_setting_a_dtype_cancels_none():
    x = L([1.0])
    x.grad_dtype = None
    assert x.grad_dtype is None
    x.grad_dtype = pb.float32
    assert x.grad_dtype == np.float32
    with raises("GRAD_DTYPE"):
        x.grad = C([1.0])


def test_with_a_gradient_present_its_own_dtype_or_none_may_be_set():
    x = L([1.0])
    x.grad = C([1.0])
    x.grad_dtype = pb.float64
    x.grad_dtype = None
    assert x.grad_dtype is None


def test_grad_dtype_is_checked_against_the_present_gradient_even_after_none():
    x = L([1.0])
    x.grad_dtype = None
    x.grad = C([1.0]).astype(pb.float32)
    with raises("GRAD_DTYPE_CONFLICT"):
        x.grad_dtype = pb.float64
    x.grad_dtype = pb.float32
    assert x.grad_dtype == np.float32


def test_a_complex_grad_dtype_gives_a_real_leaf_a_complex_gradient():
    x = L([1.0])
    x.grad_dtype = pb.complex128
    (x * 2).backward()
    assert x.grad.dtype == np.complex128
    assert it(x.grad) == [2.0 + 0.0j]


def test_grad_dtype_none_never_casts():
    x = L([1.0])
    x.grad_dtype = None
    Fn(lambda c, x: x * 1, lambda c, q: q.astype(pb.float32))(x).backward()
    assert x.grad.dtype == np.float32


def test_accumulation_under_grad_dtype_none_keeps_the_dtype_of_the_present_gradient():
    x = L([1.0])
    x.grad_dtype = None
    narrow = C([1.0]).astype(pb.float32)
    x.grad = narrow
    (x * 2).backward()
    assert x.grad is narrow
    assert x.grad.dtype == np.float32 and it(x.grad) == [3.0]


def test_the_metadata_of_a_live_accumulator_follows_grad_dtype():
    x = L([1.0])
    node = accumulator(x)
    assert node._input_metadata[0].grad_dtype == np.float64
    x.grad_dtype = pb.float32
    assert node._input_metadata[0].grad_dtype == np.float32
    x.grad_dtype = None
    assert node._input_metadata[0].grad_dtype is None


@pytest.mark.parametrize(
    "derive",
    [
        pb.Tensor.detach,
        lambda x: x.data,
        pb.Tensor.clone,
        lambda x: pickle.loads(pickle.dumps(x)),
        copy.deepcopy,
    ],
    ids=["detach", "data", "clone", "pickle", "deepcopy"],
)
def test_grad_dtype_is_not_propagated(derive):
    x = C([1.0])
    x.grad_dtype = pb.float32
    assert derive(x).grad_dtype == np.float64
    assert x.grad_dtype == np.float32


# --- 1.6 assigning data ------------------------------------------------------------------------------------------


def test_data_must_be_a_tensor_and_cannot_be_deleted():
    x = C([1.0])
    with pytest.raises(TypeError):
        x.data = np.ones(1)
    with pytest.raises(TypeError):
        x.data = 1.0
    with pytest.raises((AttributeError, TypeError, RuntimeError)):
        del x.data
    assert it(x) == [1.0]


def test_data_may_change_shape_and_dtype_of_a_constant():
    x = C([1.0])
    x.data = pb.tensor([[1, 2]])
    assert x.shape == (1, 2) and x.dtype == np.int64
    assert it(x) == [[1, 2]]


def test_assigning_data_keeps_everything_but_the_payload():
    x = L([1.0])
    x.grad = C([5.0])
    gradient, calls = x.grad, []
    x.register_hook(lambda q: calls.append(it(q)))
    with ng():
        x.add_(1)
    replacement = C([7.0])
    x.data = replacement
    assert it(x) == [7.0] and shares_memory(x, replacement)
    assert x.requires_grad and x.is_leaf
    assert x.grad is gradient
    assert x._version == 1
    (x * 2).backward()
    assert calls == [[2.0]]
    assert it(x.grad) == [7.0]


def test_assigning_data_keeps_the_history_of_an_interior_tensor():
    x = L([1.0])
    y = x * 2
    node = y.grad_fn
    y.data = C([9.0])
    assert y.grad_fn is node and it(y) == [9.0]
    y.backward()
    assert it(x.grad) == [2.0]


def test_views_made_before_data_was_assigned_share_the_counter_but_not_the_memory():
    x = C([1.0, 2.0])
    view = x[:1]
    replacement = C([5.0, 6.0])
    x.data = replacement
    assert x._version == 0
    x.add_(1)
    assert x._version == view._version == 1
    assert replacement._version == 0
    assert it(view) == [1.0] and it(x) == [6.0, 7.0]


def test_a_graph_built_before_data_changed_shape_keeps_its_accumulator_and_metadata():
    x = L([1.0, 2.0])
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    x.data = C([1.0, 1.0, 1.0])
    assert y.grad_fn.next_functions[0][0] is node
    assert node._input_metadata[0].shape == (2,)
    assert accumulator(x)._input_metadata[0].shape == (3,)


def test_assigning_data_of_the_same_kind_keeps_the_accumulator():
    x = L([1.0, 2.0])
    y = x * 2
    x.data = C([3.0, 4.0])
    assert accumulator(x) is y.grad_fn.next_functions[0][0]


# --- 1.7 copying and serialization -------------------------------------------------------------------------------


def test_deepcopy_copies_instance_attributes():
    x = L([1.0])
    x.notes = ["first"]
    y = copy.deepcopy(x)
    assert y.notes == ["first"]
    assert y.notes is not x.notes


def test_deepcopy_of_a_view_of_a_leaf_is_refused():
    with raises("DEEPCOPY_NONLEAF"):
        copy.deepcopy(L([1.0, 2.0])[:1])


def test_deepcopy_of_a_base_and_its_view_keeps_the_aliasing_only():
    base = C([1.0, 2.0])
    base_copy, view_copy = copy.deepcopy((base, base[:1]))
    assert shares_memory(base_copy, view_copy)
    assert not shares_memory(base, base_copy)
    assert view_copy._is_view() is False and view_copy._base is None


def test_deepcopy_starts_a_version_counter_of_its_own():
    x = C([1.0])
    x.add_(1)
    y = copy.deepcopy(x)
    y.add_(1)
    assert y._version == 1 and x._version == 1


@pytest.mark.parametrize("requires_grad", [False, True])
def test_copy_shares_payload_and_version(requires_grad):
    x = C([1.0]).requires_grad_(requires_grad)
    y = copy.copy(x)
    assert y is not x and shares_memory(x, y)
    assert y.requires_grad is requires_grad
    with ng():
        y.add_(1)
    assert x._version == y._version == 1


def test_pickle_warns_about_hooks_and_starts_a_fresh_version():
    x = L([1.0])
    with ng():
        x.add_(1)
    x.register_hook(ignore)
    with pytest.warns(UserWarning):
        text = pickle.dumps(x)
    y = pickle.loads(text)
    assert y._version == 0 and it(y) == [2.0]
    (y * 2).backward()
    assert it(y.grad) == [2.0] and x.grad is None


@pytest.mark.parametrize("dtype", DIFFERENTIABLE)
def test_pickle_keeps_dtype_shape_and_flag(dtype):
    for requires_grad in (False, True):
        x = pb.tensor(np.arange(6).reshape(2, 3).astype(dtype)).requires_grad_(requires_grad)
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype == x.dtype and y.shape == (2, 3) and y.requires_grad is requires_grad
        assert (array(y) == array(x)).all()
