"""Cases 1 to 33: the autograd fields of a tensor, detaching, `.grad`, `.data`, copying and serialization."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import pullback as pb

from .shorthand import ID, C, L, bw, g, it, names_shapes, ng, raises, shares_memory


def test_001_a_constant_has_the_default_fields():
    x = C([1.0])
    assert x.requires_grad is False
    assert x.grad_fn is None
    assert x.is_leaf is True
    assert x.output_nr == 0
    assert x._version == 0


def test_002_an_integer_tensor_cannot_be_made_to_require_grad():
    with raises("DTYPE"):
        pb.tensor([1, 2], requires_grad=True)


def test_003_the_flag_may_be_cleared_on_a_bool_tensor():
    x = pb.tensor([True])
    x.requires_grad = False
    assert x.requires_grad is False


def test_004_the_flag_attribute_of_an_interior_tensor_cannot_be_set():
    y = L([1.0]) * 2
    with raises("NONLEAF_FLAG"):
        y.requires_grad = True


def test_005_requires_grad_on_an_interior_tensor_returns_it():
    y = L([1.0]) * 2
    assert y.requires_grad_() is y


def test_006_requires_grad_false_on_an_interior_tensor_is_refused():
    with raises("NONLEAF_FLAG") as caught:
        (L([1.0]) * 2).requires_grad_(False)
    assert "detach()" in str(caught.value)


def test_007_the_flag_must_be_a_bool():
    x = C([1.0])
    with pytest.raises(TypeError):
        x.requires_grad = "yes"
    assert x.requires_grad is False


def test_008_grad_fn_and_version_are_not_settable():
    x = L([1.0])
    with pytest.raises(AttributeError):
        x.grad_fn = None
    with pytest.raises(AttributeError):
        x._version = 3


def test_009_a_constant_may_hold_a_gradient():
    x, gradient = C([1.0]), C([2.0])
    x.grad = gradient
    assert x.grad is gradient


def test_010_grad_of_another_shape_is_refused():
    x = C([[1.0], [2.0]])
    with raises("GRAD_SHAPE") as caught:
        x.grad = C([1.0, 2.0])
    assert names_shapes(caught.value, (2,), (2, 1))
    assert x.grad is None


def test_011_grad_of_another_dtype_is_refused():
    x = C([1.0])
    with raises("GRAD_DTYPE") as caught:
        x.grad = C([1.0]).astype(pb.float32)
    assert "float32" in str(caught.value) and "float64" in str(caught.value)


def test_012_a_tensor_is_not_its_own_gradient():
    x = C([1.0])
    with raises("GRAD_SELF"):
        x.grad = x
    alias = x.detach()
    x.grad = alias
    assert x.grad is alias


def test_013_grad_must_be_a_tensor_and_may_be_deleted():
    x = L([1.0])
    x.grad = C([3.0])
    with pytest.raises(TypeError):
        x.grad = 2.0
    assert it(x.grad) == [3.0]
    del x.grad
    assert x.grad is None


def test_014_reading_grad_of_an_interior_tensor_warns_unless_it_is_retained():
    y = L([1.0]) * 2
    with pytest.warns(UserWarning):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


def test_015_detach_shares_the_version_and_is_no_view():
    x = L([1.0])
    d = x.detach()
    d.add_(1)
    assert x._version == d._version == 1
    assert d._base is None
    assert d._is_view() is False


def test_016_writes_through_data_are_invisible_to_the_version():
    x = L([1.0])
    d = x.data
    d.add_(1)
    assert x._version == 0
    assert it(x) == [2.0]


def test_017_data_is_a_new_object_on_each_read():
    x = C([1.0])
    assert x.data is not x.data


def test_018_a_view_cannot_be_detached_in_place():
    v = C([1.0, 2.0])[:1]
    with raises("DETACH_VIEW"):
        v.detach_()


def test_019_detaching_a_base_leaves_its_views_attached():
    x = L([1.0, 2.0])
    v = x[:1]
    node = v.grad_fn
    x.detach_()
    assert v.requires_grad is True
    assert v._base is x
    assert v.grad_fn is node
    assert x.requires_grad is False


def test_020_data_of_a_leaf_that_requires_grad_stays_differentiable():
    x = L([1.0])
    with raises("DATA_DTYPE"):
        x.data = pb.tensor([1])
    assert it(x) == [1.0]


def test_021_assigning_data_renews_the_accumulator():
    x = L([1.0, 2.0])
    y = x * 2
    before = y.grad_fn.next_functions[0][0]
    x.data = C([1.0, 1.0, 1.0])
    z = x * 2
    assert z.grad_fn.next_functions[0][0] is not before
    z.sum().backward()
    assert x.grad.shape == (3,)
    assert it(x.grad) == [2.0, 2.0, 2.0]


def test_022_assigning_data_does_not_change_saved_values():
    x = L([1.0, 2.0])
    y = x * x
    x.data = C([9.0, 9.0])
    y.sum().backward()
    assert it(x.grad) == [2.0, 4.0]


def test_023_grad_dtype_is_the_dtype_of_the_accumulated_gradient():
    x = L([1.0])
    x.grad_dtype = pb.float32
    (x * 2).backward()
    assert x.grad.dtype == np.float32
    assert it(x.grad) == [2.0]


def test_024_grad_dtype_reaches_graphs_that_exist_already():
    x = L([1.0])
    y = x * 2
    x.grad_dtype = pb.float32
    y.backward()
    assert x.grad.dtype == np.float32


def test_025_grad_dtype_none_accepts_any_gradient():
    x = L([1.0])
    x.grad_dtype = None
    gradient = C([1.0]).astype(pb.float32)
    x.grad = gradient
    assert x.grad is gradient


def test_026_grad_dtype_must_agree_with_the_present_gradient():
    x = L([1.0])
    x.grad = C([1.0])
    with raises("GRAD_DTYPE_CONFLICT"):
        x.grad_dtype = pb.float32
    assert x.grad_dtype == np.float64


def test_027_grad_dtype_belongs_to_leaves_and_is_differentiable():
    with raises("GRAD_DTYPE_NONLEAF"):
        _ = (L([1.0]) * 2).grad_dtype
    x = L([1.0])
    with raises("GRAD_DTYPE_INVALID"):
        x.grad_dtype = pb.int64
    assert x.grad_dtype == np.float64


def test_028_grad_honours_grad_dtype():
    x = L([1.0])
    x.grad_dtype = pb.float32
    assert g(x * 2, x)[0].dtype == np.float32


def test_029_deepcopy_of_a_leaf_copies_flag_and_grad_but_no_hook():
    x = L([1.0])
    x.grad = C([5.0])
    calls = []
    x.register_hook(calls.append)
    y = copy.deepcopy(x)
    assert y.requires_grad is True and y.is_leaf
    assert not shares_memory(x, y)
    assert it(y.grad) == [5.0]
    assert y.grad is not x.grad and not shares_memory(x.grad, y.grad)
    (y * 2).backward()
    assert calls == []
    assert it(y.grad) == [7.0] and it(x.grad) == [5.0]


def test_030_deepcopy_of_an_interior_tensor_is_refused():
    with raises("DEEPCOPY_NONLEAF"):
        copy.deepcopy(L([1.0]) * 2)


def test_031_pickle_keeps_payload_and_flag_only():
    y = pickle.loads(pickle.dumps(L([1.0]) * 2))
    assert y.is_leaf and y.requires_grad is True
    assert it(y) == [2.0]
    x = L([1.0])
    x.grad = C([5.0])
    z = pickle.loads(pickle.dumps(x))
    assert z.grad is None and z.requires_grad is True


def test_032_numpy_refuses_a_tensor_that_requires_grad_unless_grad_mode_is_off():
    x = L([1.0])
    with raises("NUMPY_ON_GRAD"):
        x.numpy()
    with ng():
        exported = x.numpy()
    assert type(exported) is np.ndarray
    assert exported.tolist() == [1.0]


def test_033_factories_ignore_the_grad_mode():
    with ng():
        assert pb.ones(1, requires_grad=True).requires_grad is True
        assert C([1.0]).requires_grad_().requires_grad is True


# --- 16 the shape of an error ------------------------------------------------------------------------------------


def test_errors_are_runtime_errors_with_named_parts():
    with raises("ROOT_NO_GRAD") as caught:
        bw(C([1.0]))
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert error.what and error.what in str(error)
    for part in (error.where, error.why, error.fix):
        assert isinstance(part, str) and part in str(error)


def test_the_identity_function_of_these_tests_is_the_identity():
    x = L([2.0])
    y = ID(x)
    y.backward()
    assert it(y) == [2.0] and it(x.grad) == [1.0]
