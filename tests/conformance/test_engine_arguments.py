"""The arguments and results of `backward` and `grad` beyond the numbered cases."""

import types

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, L, bw, edge, g, it, raises, shares_memory

# --- 5.1 the arguments: roots and gradients ----------------------------------------------------------------------


def test_the_parameters_have_the_documented_names_and_order():
    x = L([1.0])
    out = x * x
    assert bw(out, C([2.0]), True, False, None, None) is None
    assert it(x.grad) == [4.0]
    out.backward(C([1.0]), True, False, None)
    assert it(x.grad) == [6.0]
    (r,) = g(out, x, C([1.0]), True, False, True, None, False, False)
    assert it(r) == [2.0]
    bw(tensors=out, grad_tensors=C([1.0]), retain_graph=True, create_graph=False, inputs=[x])
    out.backward(gradient=C([1.0]), retain_graph=True, create_graph=False, inputs=[x])
    assert it(x.grad) == [10.0]
    (r,) = g(
        outputs=[out],
        inputs=[x],
        grad_outputs=[C([1.0])],
        retain_graph=False,
        create_graph=False,
        allow_unused=True,
        is_grads_batched=False,
        materialize_grads=False,
    )
    assert it(r) == [2.0]


def test_gradients_may_be_ndarrays():
    x = L([1.0])
    (x * 2).backward(np.array([3.0]))
    assert it(x.grad) == [6.0]
    bw([x * 2], [np.array([1.0])])
    assert it(x.grad) == [8.0]
    assert it(g(x * 2, x, np.array([5.0]))[0]) == [10.0]


def test_an_ndarray_gradient_is_neither_written_nor_aliased():
    x, go = L([1.0, 2.0]), np.ones(2)
    bw([x, x], [go, go])
    x.grad.add_(10)
    assert go.tolist() == [1.0, 1.0]


def test_a_sequence_of_gradients_may_have_holes():
    x, w = L([1.0]), L([1.0])
    bw([x * 2, w * 3], [None, C([5.0])])
    assert it(x.grad) == [2.0] and it(w.grad) == [15.0]
    with raises("IMPLICIT_NONSCALAR"):
        bw([x * 2, L([1.0, 2.0]) * 3], [C([1.0]), None])


@pytest.mark.parametrize("gradient", [3.0, "ones", object()], ids=["float", "str", "object"])
def test_other_gradients_are_type_errors(gradient):
    x = L([1.0])
    with pytest.raises(TypeError):
        bw([x * 2], [gradient])
    with pytest.raises(TypeError):
        g([x * 2], [x], [gradient])


def test_roots_may_mix_tensors_and_edges():
    x = L([1.0])
    bw([x * 2, edge(x * 3)])
    assert it(x.grad) == [5.0]


def test_gradient_counts_are_checked_by_grad_too():
    x, o = L([1.0]), C([1.0])
    with raises("GRADOUT_COUNT"):
        g([x * 2, x * 3], x, [o])
    with raises("GRADOUT_COUNT"):
        g([x * 2], x, [o, o])


def test_a_root_gradient_of_another_precision_is_cast():
    x = pb.tensor(np.ones(1, dtype=np.float32), requires_grad=True)
    y = x * 2
    y.backward(C([3.0]))
    assert x.grad.dtype == np.float32 and it(x.grad) == [6.0]
    assert g(x * 2, x, pb.tensor([3]))[0].dtype == np.float32


@pytest.mark.parametrize("shape", [(), (1,), (1, 2), (2, 1), (3, 2)])
def test_root_gradients_are_not_broadcast_or_reduced(shape):
    x = L([1.0, 2.0])
    with raises("GRADOUT_SHAPE"):
        (x * 2).backward(C(np.ones(shape)))


def test_the_shape_of_a_root_gradient_is_checked_before_its_category():
    x = L([1.0, 2.0])
    with raises("GRADOUT_SHAPE"):
        (x * 2).backward(C([1.0 + 1.0j]))


def test_the_gradient_of_a_constant_root_is_checked_before_the_root():
    with raises("GRADOUT_SHAPE"):
        C([1.0, 2.0]).backward(C([1.0]))
    with raises("GRADOUT_COMPLEX"):
        C([1.0, 2.0]).backward(C([1.0j, 1.0j]))
    with raises("ROOT_NO_GRAD"):
        C([1.0, 2.0]).backward(C([1.0, 1.0]))
    with raises("ROOT_NO_GRAD"):
        C([1.0, 2.0]).backward()


def test_the_element_count_is_checked_before_the_dtype():
    with raises("IMPLICIT_NONSCALAR"):
        (L([1.0j, 2.0j]) * 2).backward()


def test_roots_are_checked_before_anything_runs():
    x = L([1.0])
    with raises("ROOT_NO_GRAD") as caught:
        bw([x * 2, x * 3, C([1.0])])
    assert "2" in str(caught.value)
    assert x.grad is None


def test_a_constant_root_is_an_error_even_with_allow_unused():
    x = L([1.0])
    with raises("ROOT_NO_GRAD"):
        g(C([1.0]), x, allow_unused=True)
    with raises("ROOT_NO_GRAD"):
        g([x * 2, C([1.0])], x, allow_unused=True)


# --- 5.1 the arguments: retain_graph and create_graph ------------------------------------------------------------


def test_retain_graph_defaults_to_create_graph():
    x = L([3.0])
    y = x * x
    y.backward(create_graph=True)
    y.backward()
    with raises("SECOND_BACKWARD"):
        y.backward()


def test_retain_graph_keeps_the_graph():
    x = L([3.0])
    y = x * x
    for _ in range(3):
        y.backward(retain_graph=True)
    assert it(x.grad) == [18.0]


def test_grad_frees_the_graph_like_backward():
    x = L([3.0])
    y = x * x
    g(y, x)
    with raises("SECOND_BACKWARD"):
        g(y, x)


def test_a_constant_derivative_carries_no_history():
    x = L([1.0])
    assert g(x * 2, x, create_graph=True)[0].requires_grad is False
    assert g(x * x, x, create_graph=True)[0].requires_grad is True
    assert g(x * x, x)[0].requires_grad is False


def test_under_create_graph_the_result_depends_on_the_output_gradient():
    x, go = L([3.0]), L([1.0])
    (r,) = g(x * x, x, go, create_graph=True)
    assert it(g(r, go)[0]) == [6.0]


# --- 5.1 the arguments: inputs -----------------------------------------------------------------------------------


def test_inputs_of_backward_may_be_a_mapping():
    x, w = L([1.0]), L([5.0])
    bw(x * w, inputs={"x": x})
    assert it(x.grad) == [5.0] and w.grad is None
    bw(x * w, inputs=types.MappingProxyType({"w": w}))
    assert it(w.grad) == [1.0]


@pytest.mark.parametrize("empty", [[], (), {}], ids=repr)
def test_every_empty_collection_of_inputs_is_refused(empty):
    x = L([1.0])
    with raises("INPUTS_EMPTY"):
        bw(x * 2, inputs=empty)
    with raises("INPUTS_EMPTY"):
        g(x * 2, empty)


def test_one_input_that_does_not_require_grad_spoils_all():
    x = L([1.0])
    with raises("INPUT_NO_GRAD"):
        bw(x * 2, inputs=[x, C([1.0])])
    with raises("INPUT_NO_GRAD"):
        g(x * 2, [x, C([1.0])], allow_unused=True)
    assert x.grad is None


def test_an_interior_input_keeps_retaining_in_later_passes():
    x = L([1.0])
    h = x * 3
    bw(h * 2, inputs=h)
    bw(h * 5)
    assert it(h.grad) == [7.0]
    assert it(x.grad) == [15.0]


def test_an_unused_input_is_named_by_its_index():
    x, z = L([1.0]), L([1.0])
    with raises("UNUSED_INPUT") as caught:
        g(x * 2, [x, x, x, z])
    assert "3" in str(caught.value)


def test_a_mapping_of_inputs_may_have_unused_entries():
    x, z = L([1.0]), L([1.0])
    with raises("UNUSED_INPUT"):
        g(x * 2, {"x": x, "z": z})
    result = g(x * 2, {"x": x, "z": z}, allow_unused=True)
    assert it(result["x"]) == [2.0] and result["z"] is None
    assert it(g(x * 2, {"z": z}, materialize_grads=True)["z"]) == [0.0]


def test_materialized_zeros_have_shape_and_dtype_of_the_input():
    x = L([1.0])
    z = pb.tensor(np.ones((2, 0, 3), dtype=np.complex64), requires_grad=True)
    (zeros,) = g(x * 2, z, materialize_grads=True)
    assert zeros.shape == (2, 0, 3) and zeros.dtype == np.complex64


# --- 5.1 the arguments: batched and deprecated -------------------------------------------------------------------


def test_batched_gradients_equal_single_calls():
    generator = np.random.default_rng(0)
    x, w = L(generator.normal(size=(2, 3))), L(generator.normal(size=3))
    vectors = generator.normal(size=(4, 2))
    out = ((x * w).exp() * x).sum(1)
    of_x, of_w = g(out, (x, w), C(vectors), is_grads_batched=True, retain_graph=True)
    for i, vector in enumerate(vectors):
        one_x, one_w = g(out, (x, w), C(vector), retain_graph=True)
        np.testing.assert_allclose(it(of_x)[i], it(one_x), rtol=1e-14)
        np.testing.assert_allclose(it(of_w)[i], it(one_w), rtol=1e-14)


def test_every_batched_gradient_is_required():
    x = L([1.0, 1.0])
    with raises("GRADOUT_NONE"):
        g([x * 2, x * 3], x, [C(np.eye(2)), None], is_grads_batched=True)


def test_only_inputs_is_deprecated_and_ignored():
    x = L([1.0])
    with pytest.warns(FutureWarning):
        (r,) = g(x * 2, x, only_inputs=False)
    assert it(r) == [2.0] and x.grad is None


def test_grad_variables_is_the_deprecated_spelling_of_grad_tensors():
    x = L([1.0])
    with pytest.warns(FutureWarning):
        bw(x * 2, grad_variables=[C([3.0])])
    assert it(x.grad) == [6.0]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_both_spellings_of_the_gradients_are_an_error():
    x = L([1.0])
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        bw(x * 2, [C([1.0])], grad_variables=[C([1.0])])
    assert x.grad is None


# --- 5.1 results -------------------------------------------------------------------------------------------------


def test_grad_fills_the_gradient_of_retaining_tensors_only():
    x = L([1.0])
    h = x * 3
    h.retain_grad()
    g(h * 2, x)
    assert it(h.grad) == [2.0] and x.grad is None


def test_the_gradient_of_the_root_is_a_copy_of_the_one_passed_in():
    y, go = L([1.0]) * 2, C([3.0])
    (r,) = g(y, y, go)
    assert it(r) == [3.0]
    assert r is not go and not shares_memory(r, go)


def test_results_are_disjoint_from_each_other_and_from_the_output_gradient():
    a, b, go = L([1.0, 2.0]), L([1.0, 2.0]), C([1.0, 1.0])
    total = a + b
    results = g(total, (a, b, total), go)
    tensors = [*results, go]
    for i, first in enumerate(tensors):
        for second in tensors[i + 1 :]:
            assert first is not second and not shares_memory(first, second)


def test_results_may_be_written():
    x, go = L([1.0, 2.0]), C([1.0, 1.0])
    for out in (x * C([2.0, 3.0]), x + 1, x):
        (r,) = g(out, x, go)
        before = it(r)
        r.add_(1)
        assert it(r) == [value + 1 for value in before]
    assert it(go) == [1.0, 1.0]
