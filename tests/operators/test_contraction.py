"""Products and contractions, by hand: what NumPy says of the values, and what calculus says of the gradients."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.core.einsum import canonical, contract, plan_pair
from pullback.operators import contraction
from pullback.testing import assert_close

RANDOM = np.random.default_rng(11)


def leaf(*shape, dtype=float):
    values = RANDOM.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RANDOM.uniform(-1, 1, shape)
    return pb.tensor(values.astype(dtype), requires_grad=True)


def array(tensor):
    return tensor.detach().numpy()


# matmul


@pytest.mark.parametrize(
    "left, right",
    [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((4, 1, 2, 3), (5, 3, 2))],
)
def test_matmul_has_the_values_of_numpy_and_gradients_of_the_operands_shapes(left, right):
    a, b = leaf(*left), leaf(*right)
    out = a @ b
    np.testing.assert_array_equal(array(out), array(a) @ array(b))
    out.sum().backward()
    assert a.grad.shape == left and b.grad.shape == right


def test_the_gradient_of_a_matrix_product():
    a, b = leaf(2, 3), leaf(3, 4)
    weight = RANDOM.uniform(-1, 1, (2, 4))
    (a @ b).backward(pb.tensor(weight))
    assert_close(a.grad, weight @ array(b).T)
    assert_close(b.grad, array(a).T @ weight)


def test_matmul_of_complex_matrices_conjugates_the_other_operand():
    a, b = leaf(2, 3, dtype=complex), leaf(3, 4)
    weight = RANDOM.uniform(-1, 1, (2, 4)) * (1 + 2j)
    (a @ b).backward(pb.tensor(weight))
    assert_close(a.grad, weight @ array(b).T)
    assert_close(b.grad, (array(a).conj().T @ weight).real)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_products_have_the_bits_of_the_rules_that_define_them(dtype):
    rng = np.random.default_rng(3)
    shapes = [((5, 7), (7, 3)), ((7,), (7, 3)), ((5, 7), (7,)), ((1, 40), (40, 33)), ((0, 3), (3, 2)), ((7,), (7,))]
    for left, right in shapes:
        a, b = (rng.standard_normal(shape).astype(dtype) for shape in (left, right))
        g = rng.standard_normal(np.matmul(a, b).shape).astype(dtype)
        for first in (a, np.asfortranarray(a), np.repeat(a, 2, 0)[::2]):
            pairs = [(contraction.matmul_pulled_a, contraction.matmul_transpose_a),
                     (contraction.matmul_pulled_b, contraction.matmul_transpose_b)]  # fmt: skip
            for quick, rule in pairs:
                found, expected = quick(g, first, b), rule(g, first, b)
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)


def test_matmul_saves_only_the_operand_that_the_other_gradient_reads():
    a, b = leaf(2, 3), pb.tensor(np.ones((3, 4)))
    node = (a @ b).grad_fn
    assert node._saved_a is None and node._saved_b is not None


def test_einsum_saves_only_the_operand_that_the_other_gradient_reads():
    a, b = leaf(2, 3), pb.tensor(np.ones((3, 4)))
    node = pb.einsum("ij,jk->ik", a, b).grad_fn
    assert node.name() == "EinsumBackward0" and node._saved_a is None and node._saved_b is not None
    assert not any(pb.einsum("ij->j", a).grad_fn.saved_operands)


def test_matmul_float32_stays_float32_in_both_directions():
    a, b = leaf(2, 3, dtype=np.float32), leaf(3, 4, dtype=np.float32)
    out = a @ b
    out.sum().backward()
    assert out.dtype == a.grad.dtype == b.grad.dtype == np.float32


def test_matmul_refuses_shapes_that_do_not_fit():
    with pytest.raises(ValueError):
        leaf(2, 3) @ leaf(2, 3)
    with pytest.raises(ValueError):
        pb.matmul(leaf(2, 3), 2.0)


def test_matmul_of_an_array_and_a_tensor_from_either_side():
    values, x = RANDOM.uniform(-1, 1, (2, 2)), leaf(2, 2)
    for out in (values @ x, x @ values):
        assert isinstance(out, pb.Tensor) and out.requires_grad
    assert_close(values @ x, values @ array(x))
    assert_close(x @ values, array(x) @ values)


def test_matvec_and_vecmat_are_batched_and_vecmat_conjugates():
    m, v = leaf(5, 2, 3, dtype=complex), leaf(5, 3, dtype=complex)
    assert_close(pb.matvec(m, v), np.matvec(array(m), array(v)))
    w = leaf(5, 2, dtype=complex)
    assert_close(pb.vecmat(w, m), np.vecmat(array(w), array(m)))
    assert pb.autograd.gradcheck(pb.vecmat, (leaf(2, dtype=complex), leaf(2, 3, dtype=complex)))


# einsum

SUBSCRIPTS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ba,cb", [(2, 3), (4, 2)]),
    ("i,i", [(3,), (3,)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("ij->ji", [(2, 3)]),
    ("...ij->...ji", [(4, 2, 3)]),
    ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
    ("...,...", [(2, 1), (3,)]),
    ("i...,i...->...", [(2, 3), (2, 1)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 2), (2, 3, 5, 2)]),
    ("iij,jii->i", [(2, 2, 3), (3, 2, 2)]),
    ("ij,kj,kl->il", [(2, 3), (4, 3), (4, 2)]),
    ("a,b,c,d,e->edcba", [(2,), (3,), (2,), (1,), (2,)]),
    (" i j , j k -> i k ", [(2, 3), (3, 4)]),
    ("ij,ij->j", [(1, 3), (2, 3)]),
    (",i->i", [(), (3,)]),
]


@pytest.mark.parametrize("subscripts, shapes", SUBSCRIPTS)
def test_einsum_has_the_values_of_numpy_and_right_gradients(subscripts, shapes):
    operands = [leaf(*shape) for shape in shapes]
    assert_close(pb.einsum(subscripts, *operands), np.einsum(subscripts, *map(array, operands)))
    assert pb.autograd.gradcheck(lambda *xs: pb.einsum(subscripts, *xs), operands)
    assert pb.autograd.gradgradcheck(lambda *xs: pb.einsum(subscripts, *xs), operands)


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", ["einsum_path", (1, 2), (0, 1)]], ids=str)
def test_the_order_of_contraction_does_not_change_the_result(optimize):
    operands = [leaf(2, 3), leaf(3, 4), leaf(4, 2)]
    expected = np.einsum("ij,jk,kl->il", *map(array, operands))
    out = pb.einsum("ij,jk,kl->il", *operands, optimize=optimize)
    assert_close(out, expected)
    out.sum().backward()
    assert_close(operands[1].grad, array(operands[0]).sum(0)[:, None] * array(operands[2]).sum(1))


def test_einsum_understands_sublists():
    a, b = leaf(2, 3), leaf(3, 4)
    assert_close(pb.einsum(a, [0, 1], b, [1, 2], [0, 2]), array(a) @ array(b))
    assert_close(pb.einsum(a, [5, 1], b, [1, 2]), (array(a) @ array(b)).T)
    assert_close(pb.einsum(a, [Ellipsis, 0], [Ellipsis]), array(a).sum(-1))


def test_einsum_of_one_operand_has_memory_of_its_own():
    x = pb.tensor([[1.0, 2.0], [3.0, 4.0]])
    for subscripts in ("ij->ij", "ij->ji", "ii->i"):
        out = pb.einsum(subscripts, x)
        assert not np.shares_memory(array(out), array(x))


def test_the_gradient_of_a_diagonal_is_zero_beside_it_even_for_infinite_gradients():
    x = leaf(2, 2)
    pb.einsum("ii->i", x).backward(pb.tensor([np.inf, 1.0]))
    assert x.grad.tolist() == [[np.inf, 0.0], [0.0, 1.0]]


def test_einsum_of_lists_and_arrays_is_a_tensor():
    out = pb.einsum("i,i->i", [1.0, 2.0], np.array([3.0, 4.0]))
    assert isinstance(out, pb.Tensor) and out.tolist() == [3.0, 8.0]


def test_einsum_of_integers_has_no_gradient_and_the_other_operand_has_one():
    x, counts = leaf(3), pb.tensor([1, 2, 3])
    pb.einsum("i,i->", x, counts).backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_einsum_conjugates_the_other_operands_in_the_gradient():
    a, b = leaf(3, dtype=complex), leaf(3, dtype=complex)
    pb.einsum("i,i->i", a, b).backward(pb.ones(3, dtype=complex))
    assert_close(a.grad, array(b).conj())


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ij,jk->ik", [(2, 3)]),
        ("ij->i", [(2,)]),
        ("...ijk->i", [(2, 3)]),
        ("i,j->ik", [(2,), (3,)]),
        ("ij->ii", [(2, 3)]),
        ("i,i->i", [(2,), (3,)]),
        ("ii->i", [(2, 3)]),
        ("i!->i", [(2, 3)]),
        ("..i->i", [(2, 3)]),
        ("...i->i", [(2, 3)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (5, 2)]),
    ],
)
def test_einsum_refuses_subscripts_that_do_not_fit(subscripts, shapes):
    with pytest.raises(ValueError, match="einsum"):
        pb.einsum(subscripts, *[pb.ones(shape) for shape in shapes])


def test_einsum_needs_operands():
    with pytest.raises(TypeError):
        pb.einsum("i->i")
    with pytest.raises(ValueError, match="sublist"):
        pb.einsum(pb.ones(2), [-1])


def test_einsum_path_is_numpys():
    shapes = [(2, 3), (3, 400), (400, 5)]
    path, text = pb.einsum_path("ij,jk,kl->il", *[pb.ones(shape) for shape in shapes])
    expected, _ = np.einsum_path("ij,jk,kl->il", *[np.ones(shape) for shape in shapes])
    assert path == expected and "ij,jk,kl->il" in text


def random_terms(random):
    """Random subscripts with operands: repeated labels, broadcast and empty axes, labels that only one operand has."""
    labels = "abcdeXY"
    lengths = {label: int(random.choice([0, 1, 2, 3, 4], p=[0.03, 0.1, 0.3, 0.3, 0.27])) for label in labels}
    terms, operands = [], []
    for _ in range(random.integers(1, 5)):
        term = "".join(random.choice(list(labels), random.integers(0, 5)))
        own = {label: 1 if random.random() < 0.12 else lengths[label] for label in term}
        dtype = random.choice([np.float64, np.complex128, np.int64, np.float32])
        terms.append(term)
        operands.append(random.integers(-4, 5, [own[label] for label in term]).astype(dtype))
    seen = sorted(set("".join(terms)))
    output = "".join(random.permutation([label for label in seen if random.random() < 0.5])) if seen else ""
    return f"{','.join(terms)}->{output}", operands


def test_random_contractions_are_numpys_and_share_no_memory():
    random = np.random.default_rng(5)
    for _ in range(500):
        subscripts, operands = random_terms(random)
        expected = np.einsum(subscripts, *operands)
        for optimize in (True, False):
            out = contract(canonical(subscripts, tuple(x.ndim for x in operands)), operands, optimize)
            assert out.dtype == expected.dtype, subscripts
            np.testing.assert_array_equal(out, expected, err_msg=subscripts)  # small integers: sums are exact
            assert not any(np.shares_memory(out, x) for x in operands), subscripts


def test_a_pair_becomes_one_matmul_in_the_order_of_the_output():
    plan = plan_pair("ij", "jk", "ki", (2, 3), (3, 4))
    assert plan.kind == "matmul" and plan.swapped and plan.order == ()
    assert plan_pair("bij", "bjk", "bik", (5, 2, 3), (5, 3, 4)).kind == "matmul"
    assert plan_pair("i", "j", "ij", (2,), (3,)).kind == "product"
    assert plan_pair("bi", "bi", "b", (2, 3), (2, 3)).kind == "dots"


# Products made of these


@pytest.mark.parametrize(
    "name, left, right",
    [
        ("dot", (), (3,)), ("dot", (3,), (3,)), ("dot", (2, 3), (3,)), ("dot", (2, 3), (3, 4)),
        ("dot", (3,), (3, 2)), ("dot", (3,), (2, 3, 4)), ("dot", (2, 3), (5, 3, 4)), ("dot", (4, 2, 3), (3,)),
        ("inner", (), (2, 3)), ("inner", (3,), (3,)), ("inner", (2, 3), (3,)), ("inner", (2, 3), (4, 3)),
        ("outer", (2,), (3,)), ("outer", (2, 2), (3, 1)), ("outer", (0,), (3,)),
        ("vdot", (3,), (3,)), ("vdot", (2, 3), (2, 3)),
        ("kron", (2, 3), (3, 2)), ("kron", (2,), (3, 2)), ("kron", (), (2, 2)), ("kron", (2, 1, 2), (3,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [float, complex])
def test_products_have_the_values_of_numpy_and_right_gradients(name, left, right, dtype):
    a, b = leaf(*left, dtype=dtype), leaf(*right, dtype=dtype)
    ours, numpys = getattr(pb, name), getattr(np, name)
    assert_close(ours(a, b), numpys(array(a), array(b)))
    assert pb.autograd.gradcheck(ours, (a, b))


@pytest.mark.parametrize(
    "axes, left, right",
    [
        (0, (2,), (3,)), (1, (2, 3), (3, 4)), (1, (2, 3), (3,)), (2, (4, 2, 3), (2, 3, 5)), (1, (2, 3), (3, 2, 2)),
        (((0, 2), (1, 0)), (2, 5, 3), (3, 2, 4)), ((-1, 0), (2, 3), (3, 4)), (((), ()), (2,), (3,)),
    ],
)  # fmt: skip
def test_tensordot_is_numpys(axes, left, right):
    a, b = leaf(*left), leaf(*right)
    assert_close(pb.tensordot(a, b, axes), np.tensordot(array(a), array(b), axes))
    assert pb.autograd.gradcheck(lambda a, b: pb.tensordot(a, b, axes), (a, b))


@pytest.mark.parametrize("axes", [1, 3, ((0,), (0, 1)), ((0, 1), (0, 1))], ids=str)
def test_tensordot_refuses_axes_that_do_not_fit(axes):
    with pytest.raises(ValueError):
        pb.tensordot(pb.ones((2, 3)), pb.ones((2, 4)), axes)


@pytest.mark.parametrize(
    "axis, left, right", [(-1, (2, 3), (2, 3)), (-1, (4, 1, 3), (2, 3)), (0, (3, 2), (3, 2)), (-2, (3, 2), (5, 3, 1))]
)
@pytest.mark.parametrize("dtype", [float, complex])
def test_vecdot_conjugates_its_first_operand_and_broadcasts(axis, left, right, dtype):
    a, b = leaf(*left, dtype=dtype), leaf(*right, dtype=dtype)
    assert_close(pb.vecdot(a, b, axis=axis), np.vecdot(array(a), array(b), axis=axis))
    assert pb.autograd.gradcheck(lambda a, b: pb.vecdot(a, b, axis=axis), (a, b))


def test_vecdot_does_not_stretch_a_vector_of_length_1():
    with pytest.raises(ValueError, match="vecdot"):
        pb.vecdot(pb.ones(1), pb.ones(3))


@pytest.mark.parametrize(
    "left, right, options",
    [((3,), (3,), {}), ((2, 3), (3,), {}), ((3, 2), (3, 2), {"axis": 0}), ((3, 2), (2, 3), {"axisa": 0, "axisc": 0})],
)
def test_cross_is_numpys(left, right, options):
    a, b = leaf(*left), leaf(*right)
    assert_close(pb.cross(a, b, **options), np.cross(array(a), array(b), **options))
    assert pb.autograd.gradcheck(lambda a, b: pb.cross(a, b, **options), (a, b))
    assert pb.autograd.gradgradcheck(lambda a, b: pb.cross(a, b, **options), (a, b))


def test_cross_refuses_vectors_of_length_2_and_two_spellings():
    with pytest.raises(ValueError, match="length 3"):
        pb.cross(pb.ones(2), pb.ones(2))
    with pytest.raises(TypeError, match="spellings"):
        pb.cross(pb.ones(3), pb.ones(3), axis=0, dim=0)


@pytest.mark.parametrize("options", [{}, {"offset": 1}, {"offset": -1}, {"axis1": 2, "axis2": 0}], ids=str)
def test_trace_is_numpys(options):
    x = leaf(3, 2, 4)
    assert_close(pb.trace(x, **options), np.trace(array(x), **options))
    assert pb.autograd.gradcheck(lambda x: pb.trace(x, **options), x)


def test_products_of_lists_and_numbers_are_tensors():
    assert pb.dot([1.0, 2.0], [3.0, 4.0]).item() == 11.0
    assert pb.dot(2.0, [1.0, 2.0]).tolist() == [2.0, 4.0]
    assert pb.outer([1, 2], [3, 4]).tolist() == [[3, 4], [6, 8]]
    assert pb.vdot([1 + 1j], [1 + 1j]).item() == 2.0


def test_products_of_arrays_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pb.einsum("ij,jk,kl->il", pb.ones((2, 0)), pb.ones((0, 3)), pb.ones((3, 2)))
        pb.matmul(pb.ones((0, 3)), pb.ones((3, 2)))


@pytest.mark.parametrize("name, shapes", [
    ("mm", [(2, 2, 2), (2, 2)]), ("mm", [(2, 2), (2,)]), ("mv", [(2, 2), (2, 2)]), ("mv", [(2, 2, 2), (2,)]),
    ("bmm", [(2, 2), (2, 2)]), ("bmm", [(1, 2, 2), (3, 2, 2)]), ("bmm", [(2, 2, 2), (2, 2)]),
])  # fmt: skip
def test_torchs_products_take_the_axes_that_their_names_say(name, shapes):
    product = getattr(pb, name)
    with pytest.raises(ValueError, match=name):
        product(*map(pb.ones, shapes))
    with pytest.raises(ValueError, match=name):
        pb.func.vmap(product)(*(pb.ones(5, *shape) for shape in shapes))


def test_torchs_products_are_those_of_matmul():
    a, b, v = pb.ones(2, 3, requires_grad=True), pb.full((3, 2), 2.0), pb.arange(3.0)
    assert_close(a.mm(b), a @ b)
    assert_close(pb.mv(a, v), a @ v)
    assert_close(pb.bmm(b[None], a[None]), b[None] @ a[None])
    assert_close(pb.func.vmap(pb.mm, (0, None))(b[None], a), (b @ a)[None])
