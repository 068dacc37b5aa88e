"""Sparse Jacobians and Hessians: patterns, colours, and the matrices made of them."""

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.func._sparse import coloring
from pullback.testing import assert_close

sparse = pytest.importorskip("scipy.sparse", reason="the matrices are SciPy's")

X = pb.tensor([0.5, 1.0, 2.0, 3.0])


def pattern_of(function, *args, **options):
    return pb.func.jacobian_sparsity(function, *args, **options).toarray().astype(int).tolist()


# Patterns.


def test_the_pattern_of_differences_is_a_band():
    assert pattern_of(lambda x: x[1:] - x[:-1], X) == [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


def test_values_do_not_matter_but_vanishing_derivatives_do():
    assert pattern_of(lambda x: 0 * x[:2] + pb.floor(x[2:]), X) == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert pattern_of(lambda x: (x[:2] > 1) * 1.0 + x[2:].detach(), X) == [[0, 0, 0, 0], [0, 0, 0, 0]]


def test_reductions_scans_and_sorting():
    assert pattern_of(lambda x: x.reshape((2, 2)).sum(axis=1), X) == [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert pattern_of(pb.cumsum, X[:3]) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert pattern_of(lambda x: pb.sort(-x), X[:2]) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("function", [pb.nn.silu, pb.nn.gelu, pb.nn.softplus])
def test_activations_are_diagonal(function):
    assert pattern_of(function, X[:2]) == [[1, 0], [0, 1]]


def test_contractions_unite_along_what_is_summed():
    square = lambda x: x.reshape((2, 2)) @ x.reshape((2, 2))
    assert pattern_of(square, X) == [[1, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]]
    twice = lambda x: pb.einsum("ij,jk->ik", x.reshape((2, 2)), x.reshape((2, 2)))
    assert pattern_of(twice, X) == pattern_of(square, X)
    assert pattern_of(lambda x: pb.einsum("ii->i", x.reshape((2, 2))), X) == [[1, 0, 0, 0], [0, 0, 0, 1]]


def test_zeros_of_a_matrix_from_outside_count_and_of_one_made_inside_do_not():
    differences = pb.tensor(np.eye(3, 4) - np.eye(3, 4, 1))
    band = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert pattern_of(lambda x: differences @ x, X) == band
    assert pattern_of(lambda x: (x @ differences.T).sum(), X) == [[1, 1, 1, 1]]
    assert pattern_of(lambda x: x @ differences.T, X) == band
    assert pattern_of(lambda x: differences @ (x[:, None] * pb.ones((4, 2))), X) == np.repeat(band, 2, axis=0).tolist()
    assert pattern_of(lambda x: (x.reshape((1, 4)) @ differences.T), X) == band
    assert pattern_of(lambda x: (pb.eye(4) * (x > 1)) @ x, X) == np.ones((4, 4)).tolist()


def test_convolutions_see_windows():
    kernel = pb.tensor([1.0, -2.0, 1.0])
    band = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    assert pattern_of(lambda x: pb.convolve(x, kernel, mode="same"), X) == band
    assert pattern_of(lambda x: pb.convolve(x, kernel, mode="valid"), X) == band[1:3]
    assert pattern_of(lambda x: pb.convolve(kernel, x[:2]), X[:2]) == [[1, 0], [1, 1], [1, 1], [0, 1]]


def test_matrices_of_a_stack_are_separate():
    stack = pb.tensor(np.arange(8.0).reshape(2, 2, 2) + 5 * np.eye(2))
    expected = np.kron(np.eye(2), np.ones((4, 4))).astype(int).tolist()
    assert pattern_of(pb.linalg.inv, stack) == expected


def test_sums_into_places():
    places = np.array([0, 2, 0, 2])
    assert pattern_of(lambda x: pb.zeros(3).index_add(0, pb.tensor(places), x), X) == [
        [1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1],
    ]  # fmt: skip


def test_writes_and_views_carry_the_pattern():
    def function(x):
        h = pb.zeros(3)
        tail = h[1:]
        h[0] = x[1]
        tail[1] = h[0] * x[2]
        tail += x[3]
        return h

    assert pattern_of(function, X) == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 1, 1]]


def test_a_loop_does_not_forget():
    def function(x):
        state = x.clone()
        for _ in range(2):
            state[1:] += state[:-1]
        return state

    assert pattern_of(function, X) == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]]


def test_patterns_inside_vmap_and_of_gradients():
    assert pattern_of(lambda x: pb.func.vmap(lambda y: y * y + x[0])(x), X[:3]) == [[1, 0, 0], [1, 1, 0], [1, 0, 1]]
    gradient = pb.func.grad(lambda x: (x[1:] * x[:-1]).sum() + pb.sin(x).sum() + 3 * x.sum())
    assert pattern_of(gradient, X[:3]) == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    assert pattern_of(pb.func.grad(lambda x: (x[1:] * x[:-1]).sum()), X[:3]) == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_an_opaque_function_is_dense_in_what_it_is_given():
    class Opaque(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return pb.tensor(np.sin(x.numpy()))

        @staticmethod
        def backward(ctx, g):
            return g

    assert pattern_of(lambda x: pb.concat([Opaque.apply(x[:2]), x[3:]]), X) == [
        [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1],
    ]  # fmt: skip


def test_code_that_can_not_be_followed_is_refused():
    with pytest.raises(AutogradError) as caught:
        pb.func.jacobian_sparsity(lambda x: pb.tensor(np.sin(x.numpy())), X)
    assert caught.value.code == "LIFTED_VALUES"


def test_the_arguments_are_not_written_by_the_detection():
    x = X.clone()
    assert pattern_of(lambda y: y.add_(y[0]), x)[1] == [1, 1, 0, 0]
    assert_close(x, X)


def test_several_arguments_are_columns_one_after_the_other():
    def function(tree, y):
        return {"a": tree["u"] * y, "b": tree["v"]}

    tree = {"u": pb.ones(2), "v": pb.ones(1)}
    assert pattern_of(function, tree, pb.ones(2), argnums=(0, 1)) == [
        [1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0],
    ]  # fmt: skip
    assert pattern_of(function, tree, pb.ones(2), argnums=1) == [[1, 0], [0, 1], [0, 0]]


# Jacobians.


def arrow(x):
    """Dense first row, dense first column, and a diagonal."""
    return pb.concat([(x * x).sum().reshape((1,)), x[1:] ** 2 * x[0]])


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev", "bicoloring"])
def test_every_mode_gives_the_dense_jacobian(mode):
    x = pb.tensor(np.linspace(0.5, 2.0, 7))
    expected = pb.func.jacrev(arrow)(x).numpy()
    found = pb.func.sparse_jacobian(arrow, mode=mode)(x)
    assert isinstance(found, sparse.csr_array) and found.nnz == 19
    assert_close(found.toarray(), expected)


def test_as_few_products_as_colours():
    calls = []

    def function(x):
        calls.append(x.shape)
        return x[1:] * x[:-1]

    x = pb.tensor(np.arange(1.0, 400.0))
    found = pb.func.sparse_jacobian(function, chunk_size=1)(x)
    assert len(calls) == 1 + 2  # the detection, and the two colours
    assert_close(found @ np.ones(399), x[1:] + x[:-1])


def test_the_pattern_is_found_again_at_every_call():
    jacobian = pb.func.sparse_jacobian(lambda x: x * x[0] if x[0] > 1 else x * x)
    assert jacobian(X).nnz == 4
    assert jacobian(X[1:] + 1).nnz == 5


def test_writes_inside_of_the_function():
    def function(x):
        h = pb.zeros(4)
        h[1:] = x[:-1] * x[1:]
        h[0] += pb.sin(x[3])
        return h

    assert_close(pb.func.sparse_jacobian(function)(X).toarray(), pb.func.jacfwd(function)(X))


def test_a_pattern_that_is_too_small_is_noticed():
    small = sparse.eye_array(4)
    with pytest.raises(ValueError, match="too small"):
        pb.func.sparse_jacobian(lambda x: x * x[0], sparsity=small)(X)
    with pytest.raises(ValueError, match="too small"):
        pb.func.sparse_jacobian(lambda x: x * x[0], structure="diag")(X)
    assert pb.func.sparse_jacobian(lambda x: x * x[0], sparsity=small, check=False)(X).nnz == 4
    with pytest.raises(ValueError, match="rows"):
        pb.func.sparse_jacobian(lambda x: x[:2], sparsity=small)(X)
    with pytest.raises(ValueError, match="columns"):
        pb.func.sparse_jacobian(lambda x: x, sparsity=np.ones((4, 3)))(X)


@pytest.mark.parametrize(
    ("structure", "function"),
    [
        ("diag", lambda x: pb.sin(x)),
        ("banded(1)", lambda x: pb.convolve(x * x, pb.tensor([1.0, -2.0, 1.0]), mode="same")),
        ("block(2)", lambda x: (x.reshape((2, 2)) * x.reshape((2, 2)).sum(axis=1, keepdims=True)).reshape(-1)),
    ],
)
def test_structures_need_no_detection(structure, function):
    found = pb.func.sparse_jacobian(function, structure=structure, format="coo")(X)
    assert isinstance(found, sparse.coo_array)
    assert_close(found.toarray(), pb.func.jacfwd(function)(X))


def test_single_precision_and_empty_results():
    x = X.astype(pb.float32)
    assert pb.func.sparse_jacobian(lambda y: y * y, structure="diag")(x).dtype == np.float32
    assert pb.func.sparse_jacobian(lambda y: y[:0])(X).shape == (0, 4)
    assert pb.func.sparse_jacobian(lambda y: pb.ones(3))(X).nnz == 0


@pytest.mark.parametrize(
    "options",
    [{"mode": "both"}, {"format": "dok"}, {"coloring": "best"}, {"structure": "tri"}, {"structure": "block(3)"},
     {"structure": "diag", "sparsity": np.eye(4)}],
)  # fmt: skip
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match="sparse_jacobian"):
        pb.func.sparse_jacobian(lambda x: x, **options)(X)


# Hessians.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
        lambda x: pb.exp(x[0] * x).sum(),
        lambda x: (x**3).sum(),
        lambda x: x.sum() ** 2,
        lambda x: (x[1:] * x[:-1]).sum(),
        lambda x: x.sum(),
    ],
)
def test_the_hessian_equals_the_dense_one(function):
    x = pb.tensor(np.linspace(0.5, 1.5, 8))
    assert_close(pb.func.sparse_hessian(function)(x).toarray(), pb.func.hessian(function)(x))


def test_a_hessian_over_several_arguments_and_a_given_pattern():
    function = lambda x, y: (x * x * y).sum()
    x, y = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    found = pb.func.sparse_hessian(function, argnums=(0, 1))(x, y).toarray()
    assert_close(found, [[6, 0, 2, 0], [0, 8, 0, 4], [2, 0, 0, 0], [0, 4, 0, 0]])
    with pytest.raises(ValueError, match="too small"):
        pb.func.sparse_hessian(lambda x: x.sum() ** 2, structure="diag")(x)


# Colours.


@pytest.mark.parametrize("seed", range(5))
def test_colours_are_valid(seed):
    random = np.random.default_rng(seed)
    matrix = sparse.csr_array(random.random((30, 25)) < 0.1)
    columns, rows = coloring.color_columns(matrix), coloring.color_rows(matrix)
    entries = np.argwhere(matrix.toarray())
    assert len({(row, columns[column]) for row, column in entries}) == len(entries)
    assert len({(rows[row], column) for row, column in entries}) == len(entries)
    only_rows, only_columns = coloring.split_for_both(matrix)
    for row, column in entries:
        if only_rows[row] < 0:
            others = [c for r, c in entries if r == row and only_columns[c] == only_columns[column]]
            assert others == [column]


@pytest.mark.parametrize("seed", range(5))
def test_a_star_colouring_has_no_path_of_four_in_two_colours(seed):
    random = np.random.default_rng(seed)
    half = random.random((20, 20)) < 0.12
    full = half | half.T | np.eye(20, dtype=bool)
    colors, around = coloring.star_coloring(sparse.csr_array(full))
    near = [[k for k in np.flatnonzero(full[v]) if k != v] for v in range(20)]
    for b in range(20):
        assert all(colors[b] != colors[c] for c in near[b])
        assert [around[b, c] for c in range(colors.max() + 1)] == [
            sum(colors[k] == c for k in near[b]) for c in range(colors.max() + 1)
        ]
        for c in near[b]:
            for a in near[b]:
                for d in near[c]:
                    if a != c and d not in (a, b):
                        assert len({colors[a], colors[b], colors[c], colors[d]}) > 2


def test_dense_rows_and_columns_take_few_colours_from_both_sides():
    size = 50
    arrow_pattern = np.eye(size, dtype=bool)
    arrow_pattern[0] = arrow_pattern[:, 0] = True
    rows, columns = coloring.split_for_both(sparse.csr_array(arrow_pattern))
    assert coloring.number_of(rows) + coloring.number_of(columns) == 3
    assert coloring.number_of(coloring.star_coloring(sparse.csr_array(arrow_pattern))[0]) == 2


def test_a_matrix_that_would_lose_a_derivative_is_refused():
    square = lambda v: v * v
    x = pb.tensor([1.0, 2.0])
    inside = lambda v: v.sum() * pb.func.sparse_jacobian(square)(v).sum()
    for call in (
        lambda: pb.func.grad(inside)(x),
        lambda: pb.func.jvp(inside, (x,), (x,)),
        lambda: pb.func.grad(lambda w: pb.func.sparse_jacobian(lambda v: v * w)(x).sum() * w.sum())(x),
    ):
        with pytest.raises(pb.AutogradError) as caught:
            call()
        assert caught.value.code in ("SPARSE_DIFFERENTIATED", "LIFTED_DIFFERENTIATED")
    assert_close(pb.func.grad(lambda v: v.sum() * pb.func.sparse_jacobian(square)(v.detach()).sum())(x), [6.0, 6.0])
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    assert_close(pb.func.sparse_jacobian(square)(leaf).toarray(), np.diag([2.0, 4.0]))
