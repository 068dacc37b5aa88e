"""Ragged tensors: cases 64 to 92 of the specification of other arrays."""

import re
import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.errors import AutogradError

LENGTHS = (2, 3, 0, 4)
OFFSETS = np.array([0, 2, 5, 5, 9])
FULL = np.array([0, 2, 5, 9])


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    return [rng.normal(size=(n, 2)) for n in LENGTHS]


@pytest.fixture
def r(rows):
    return pb.nested.nested(rows, requires_grad=True)


def same_rows(x, arrays, **how):
    """Are the rows of a ragged tensor these arrays?"""
    assert len(x) == len(arrays)
    for row, array in zip(x.detach().unbind(), arrays, strict=True):
        np.testing.assert_allclose(row.numpy(), array, **how)


def refuses(code):
    class Raises:
        def __enter__(self):
            self.caught = pytest.raises(AutogradError)
            self.info = self.caught.__enter__()
            return self.info

        def __exit__(self, *error):
            out = self.caught.__exit__(*error)
            assert self.info.value.code == code
            return out

    return Raises()


def checked(function, values=None, offsets=OFFSETS, second=False):
    """Are the derivatives of a function of a ragged tensor right, by central differences of its values?"""
    if values is None:
        values = np.random.default_rng(3).permutation(np.linspace(-1.3, 1.4, offsets[-1] * 2)).reshape(-1, 2)

    def of_values(v):
        out = function(pb.nested.from_values(v, offsets))
        return out.values() if out.is_nested else out

    leaf = pb.tensor(values, requires_grad=True)
    assert gradcheck(of_values, (leaf,), check_forward_ad=True)
    if second:
        assert gradgradcheck(of_values, (leaf,))
    return True


def test_064_shape_lengths_and_size(rows, r):
    assert re.fullmatch(r"\(4, j\d+, 2\)", str(r.shape))
    assert r.lengths().tolist() == list(LENGTHS)
    assert (len(r), r.size, r.layout, r.is_nested, r.ndim) == (4, 18, "jagged", True, 3)
    assert r.nbytes == 18 * 8 and pb.ones(3).layout == "dense" and not pb.ones(3).is_nested
    same_rows(r, rows)


def test_065_from_values_is_a_view():
    v = np.arange(18.0).reshape(9, 2)
    x = pb.nested.from_values(v, OFFSETS)
    assert np.shares_memory(x.values().numpy(), v)
    v[0] = 100
    assert x[0][0].tolist() == [100, 100]
    held = pb.asarray(v)
    y = pb.nested.from_values(held, OFFSETS)
    before = held._version
    y.values().mul_(2)
    assert held._version == y._version == before + 1 and v[0, 0] == 200


@pytest.mark.parametrize("offsets", [[0, 3, 2, 9], [1, 9], [0, 4, 8], [0.0, 9.0], [[0, 9]]])
def test_066_offsets_that_make_no_rows(offsets):
    with refuses("RAGGED_OFFSETS"):
        pb.nested.from_values(np.ones((9, 2)), np.array(offsets))


def test_067_the_same_offsets_make_the_same_length():
    v, o = np.ones((9, 2)), OFFSETS.copy()
    x, y, z = pb.nested.from_values(v, o), pb.nested.from_values(v, o), pb.nested.from_values(v, o.copy())
    assert x.shape == y.shape and x.shape != z.shape
    assert (x + y).shape == x.shape
    with refuses("RAGGED_MISMATCH") as info:
        x + z
    assert "with_offsets_of" in str(info.value)
    assert ((x + z.with_offsets_of(x)).values() == 2).all()
    o[1] = 1  # an array that was changed since is another
    assert pb.nested.from_values(v, o).shape != x.shape


def test_068_a_ragged_length_is_no_number(r):
    j = r.shape[1]
    assert j != 5 and j != 1 and (j == 5) is False and (j == 1) is False
    assert str(2 * j) == f"2*{j}" and str(j * 2) == f"2*{j}" and 2 * j != j
    assert (j.min, j.max, j.total, j.lengths.tolist()) == (0, 4, 9, list(LENGTHS))
    for act in (lambda: j > 5, lambda: j >= 5, lambda: int(j), lambda: range(j), lambda: j + 1, lambda: np.zeros(j)):
        with refuses("RAGGED_SIZE"):
            act()


def test_069_elementwise_equals_rows(rows, r):
    y = pb.sin(r) * r + 1
    same_rows(y, [np.sin(a) * a + 1 for a in rows])
    y.sum().backward()
    assert r.grad.shape == r.shape and r.grad.layout == "jagged"
    same_rows(r.grad, [np.cos(a) * a + np.sin(a) for a in rows])


@pytest.mark.parametrize("shape", [(2,), (4, 1, 2), (4, 1, 1), (1, 1, 2), ()])
def test_070_dense_operands_broadcast(rows, r, shape):
    dense = pb.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)
    full = np.broadcast_to(dense.detach().numpy(), (4, 1, 2))
    y = r * dense
    same_rows(y, [a * full[k] for k, a in enumerate(rows)])
    (y * y).sum().backward()
    same_rows(r.grad, [2 * a * full[k] ** 2 for k, a in enumerate(rows)])
    whole = np.stack([(2 * a * a * full[k]).sum(0, keepdims=True) for k, a in enumerate(rows)])
    axes = tuple(range(3 - len(shape)))
    whole = whole.sum(axes)
    whole = whole.sum(tuple(k for k, n in enumerate(shape) if n == 1), keepdims=True)
    np.testing.assert_allclose(dense.grad.numpy(), whole)
    same_rows(r.detach() * 3, [a * 3 for a in rows])
    same_rows(dense.detach() * r.detach() if shape else 3 - r.detach(),
              [a * full[k] if shape else 3 - a for k, a in enumerate(rows)])  # fmt: skip


@pytest.mark.parametrize("shape", [(4, 3, 2), (2, 4, 1, 2), (1, 3, 2), (3, 1, 2)])
def test_071_dense_lengths_do_not_meet_rows(r, shape):
    with refuses("RAGGED_MISMATCH"):
        r * pb.ones(shape)


def test_072_sums(rows, r):
    np.testing.assert_allclose(r.sum(1).detach().numpy(), [a.sum(0) for a in rows])
    np.testing.assert_allclose(r.sum((0, 1)).detach().numpy(), np.concatenate(rows).sum(0))
    same_rows(r.sum(2), [a.sum(1) for a in rows])
    np.testing.assert_allclose(r.sum((1, 2)).detach().numpy(), [a.sum() for a in rows])
    np.testing.assert_allclose(r.sum().item(), np.concatenate(rows).sum())
    with refuses("RAGGED_OP"):
        r.sum(0)


def test_073_the_gradient_of_a_sum_is_ragged_ones(rows, r):
    r.sum().backward()
    same_rows(r.grad, [np.ones_like(a) for a in rows])


def test_074_kept_axes_broadcast_back(rows, r):
    total = (r * r).sum(1, keepdims=True)
    assert total.shape == (4, 1, 2) and total.layout == "dense"
    same_rows(r / total, [a / (a * a).sum(0) for a in rows])
    assert (r * r).sum((0, 1), keepdims=True).shape == (1, 1, 2)
    assert r.sum(2, keepdims=True).shape == (4, r.shape[1], 1)


def test_075_empty_rows(rows, r):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean = r.mean(1).detach().numpy()
    assert np.isnan(mean[2]).all()
    np.testing.assert_allclose(mean[[0, 1, 3]], [a.mean(0) for a in rows if len(a)])
    for reduce in (lambda: r.max(1), lambda: r.amin(1), lambda: r.argmax(1)):
        with pytest.raises(ValueError, match="row 2"):
            reduce()


REDUCTIONS = {
    "var": lambda x: x.var(1), "std": lambda x: x.std(1, correction=1), "prod": lambda x: x.prod(1),
    "logsumexp": lambda x: x.logsumexp(1), "norm": lambda x: pb.linalg.vector_norm(x, axis=1),
    "mean": lambda x: x.mean(1), "sum": lambda x: x.sum(1), "mean2": lambda x: x.mean((1, 2)),
    "max": lambda x: x.max(1), "amax": lambda x: x.amax(1), "amin": lambda x: x.amin(1), "min": lambda x: x.min(1),
    "median": lambda x: x.median(1), "amax2": lambda x: x.amax((1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.filterwarnings("ignore::pullback.PerformanceWarning")
def test_076_reductions_equal_the_loop(rows, name):
    reduce = REDUCTIONS[name]
    full = [a for a in rows if len(a)]
    x = pb.nested.nested(full)
    expected = [reduce(pb.tensor(a[None]))[0].numpy() for a in full]
    np.testing.assert_allclose(reduce(x).numpy(), expected)
    assert checked(reduce, offsets=FULL)


def test_076_truth_and_positions(rows):
    full = [a for a in rows if len(a)]
    x = pb.nested.nested(full)
    assert x.argmax(1).tolist() == [a.argmax(0).tolist() for a in full]
    assert x.argmin(1).tolist() == [a.argmin(0).tolist() for a in full]
    y = pb.nested.nested(rows)
    assert (y > 0).any(1).tolist() == [(a > 0).any(0).tolist() for a in rows]
    assert (y > -1).all(1).tolist() == [(a > -1).all(0).tolist() for a in rows]
    ties = pb.nested.nested([[1.0, 1.0], [2.0]], requires_grad=True)
    ties.amax(1).sum().backward()
    assert ties.grad.tolist() == [[0.5, 0.5], [1.0]]
    ties.grad = None
    ties.max(1).sum().backward()
    assert ties.grad.tolist() == [[1.0, 0.0], [1.0]]


def test_077_softmax_along_rows(rows, r):
    y = r.softmax(1)
    np.testing.assert_allclose(y.sum(1).detach().numpy(), [[1, 1], [1, 1], [0, 0], [1, 1]])
    same_rows(y, [pb.tensor(a).softmax(0).numpy() for a in rows])
    same_rows(r.log_softmax(1), [pb.tensor(a).log_softmax(0).numpy() for a in rows])
    same_rows(r.softmax(2), [pb.tensor(a).softmax(1).numpy() for a in rows])
    assert checked(lambda x: x.softmax(1), second=True)
    assert checked(lambda x: x.log_softmax(1))
    large = pb.nested.nested([[1000.0, 1001.0], [-1000.0]])
    assert np.isfinite(large.softmax(1).values().numpy()).all()


ALONG = {
    "cumsum": lambda x: x.cumsum(-2), "cumprod": lambda x: x.cumprod(-2), "sort": lambda x: pb.sort(x, -2),
    "flip": lambda x: x.flip(-2), "roll": lambda x: pb.roll(x, 1, -2), "diff": lambda x: pb.diff(x, axis=-2),
    "descending": lambda x: pb.sort(x, -2, descending=True), "cummax": lambda x: x.cummax(-2)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.filterwarnings("ignore::pullback.PerformanceWarning")
def test_078_functions_along_rows_equal_the_loop(rows, name):
    function = ALONG[name]
    x = pb.nested.nested(rows)
    expected = [function(pb.tensor(a)).numpy() if len(a) else a for a in rows]
    same_rows(function(x), expected)
    assert checked(function)


def test_078_positions_along_rows(rows):
    x = pb.nested.nested(rows)
    same_rows(pb.argsort(x, 1), [a.argsort(0) for a in rows])
    top = pb.topk(x, 3, axis=1)
    same_rows(top.values, [-np.sort(-a, axis=0)[:3] for a in rows])
    assert top.indices.lengths().tolist() == [2, 3, 0, 3]


def test_079_products(rows, r):
    rng = np.random.default_rng(1)
    w, stack, vector = rng.normal(size=(2, 3)), rng.normal(size=(4, 2, 5)), rng.normal(size=2)
    same_rows(r @ pb.tensor(w), [a @ w for a in rows])
    same_rows(r @ pb.tensor(stack), [a @ stack[k] for k, a in enumerate(rows)])
    same_rows(r @ pb.tensor(vector), [a @ vector for a in rows])
    gram = r.transpose(0, 2, 1) @ r
    np.testing.assert_allclose(gram.detach().numpy(), [a.T @ a for a in rows])
    same_rows(pb.nn.linear(r, pb.tensor(w.T)), [a @ w for a in rows])
    same_rows(pb.einsum("bjd,de->bje", r, pb.tensor(w)), [a @ w for a in rows])
    same_rows(pb.einsum("bjd,bde->bje", r, pb.tensor(stack)), [a @ stack[k] for k, a in enumerate(rows)])
    np.testing.assert_allclose(pb.einsum("bjd,bje->bde", r, r).detach().numpy(), [a.T @ a for a in rows])
    with refuses("RAGGED_OP") as info:
        r @ r.transpose(0, 2, 1)
    assert "attention" in str(info.value)
    assert checked(lambda x: x @ pb.tensor(w))
    assert checked(lambda x: x @ pb.tensor(stack), second=True)
    assert checked(lambda x: x.transpose(0, 2, 1) @ x)
    weight = pb.tensor(stack, requires_grad=True)
    (r @ weight).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), [np.outer(a.sum(0), np.ones(5)) for a in rows])


def attended(q, k, v, causal):
    return [
        pb.nn.scaled_dot_product_attention(*map(pb.tensor, row), is_causal=causal).numpy()
        for row in zip(q, k, v, strict=True)
    ]


@pytest.mark.parametrize("causal", [False, True])
def test_080_attention_equals_the_loop(causal):
    rng = np.random.default_rng(2)
    q = [rng.normal(size=(2, n, 3)) for n in (2, 3, 0, 4)]
    k, v = ([rng.normal(size=(2, n, d)) for n in (1, 4, 2, 4)] for d in (3, 5))
    made = pb.nested.nested([a.swapaxes(0, 1) for a in q]).transpose(0, 2, 1, 3)
    keys = pb.nested.nested([a.swapaxes(0, 1) for a in k])
    values = pb.nested.nested([a.swapaxes(0, 1) for a in v], offsets_like=keys).transpose(0, 2, 1, 3)
    out = pb.nn.scaled_dot_product_attention(made, keys.transpose(0, 2, 1, 3), values, is_causal=causal)
    assert out.shape == (4, 2, made.shape[2], 5)
    same_rows(out, attended(q, k, v, causal), atol=1e-12)
    small = np.array([0, 2, 3])

    def attention(x):
        return pb.nn.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=causal)

    assert checked(attention, np.random.default_rng(0).normal(size=(3, 2)), small, second=True)


def test_081_attention_makes_no_padded_scores():
    rng = np.random.default_rng(0)
    lengths = [400, *[4] * 30]
    x = pb.nested.nested([rng.normal(size=(n, 2)) for n in lengths])
    scores = sum(n * n for n in lengths) * 8
    pb.nn.scaled_dot_product_attention(x, x, x)
    tracemalloc.start()
    pb.nn.scaled_dot_product_attention(x, x, x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * scores < 31 * 400 * 400 * 8


def test_082_segment_functions():
    rng = np.random.default_rng(0)
    v, ids = rng.normal(size=(9, 2)), np.array([3, 0, 0, 2, 3, 3, 0, 2, 2])
    expected = np.zeros((5, 2))
    np.add.at(expected, ids, v)
    np.testing.assert_allclose(pb.nested.segment_sum(v, ids, 5).numpy(), expected)
    assert gradcheck(lambda x: pb.nested.segment_sum(x, ids, 5), (pb.tensor(v, requires_grad=True),))
    parts = [v[a:b] for a, b in pairwise(FULL)]
    np.testing.assert_allclose(pb.nested.segment_sum(v, FULL).numpy(), [a.sum(0) for a in parts])
    np.testing.assert_allclose(pb.nested.segment_mean(v, FULL).numpy(), [a.mean(0) for a in parts])
    np.testing.assert_allclose(pb.nested.segment_max(v, FULL).numpy(), [a.max(0) for a in parts])
    total = [np.log(np.exp(a).sum(0)) for a in parts]
    np.testing.assert_allclose(pb.nested.segment_logsumexp(v, FULL).numpy(), total)
    soft = np.concatenate([np.exp(a) / np.exp(a).sum(0) for a in parts])
    np.testing.assert_allclose(pb.nested.segment_softmax(v, FULL).numpy(), soft)
    with pytest.raises(IndexError):
        pb.nested.segment_sum(v, ids, 3)


def test_083_positions_in_rows(rows, r):
    index = pb.nested.nested([[1, 0, 1], [2], [], [-1, 0]], dtype=np.int64)
    places = [[1, 0, 1], [2], [], [-1, 0]]
    picked = pb.nested.take_along_row(r, index)
    same_rows(picked, [a[np.array(p, int)] for a, p in zip(rows, places, strict=True)])
    picked.sum().backward()
    expected = [np.zeros_like(a) for a in rows]
    for e, p in zip(expected, places, strict=True):
        np.add.at(e, np.array(p, int), 1)
    same_rows(r.grad, expected)
    added = pb.nested.scatter_add(r, index, pb.ones_like(picked))
    same_rows(added, [a + e for a, e in zip(rows, expected, strict=True)])
    with pytest.raises(IndexError, match=r"row 0.*2 elements"):
        pb.nested.take_along_row(r, pb.nested.nested([[2], [], [], []], dtype=np.int64))
    np.testing.assert_allclose(r[[0, 3], [1, 3]].detach().numpy(), [rows[0][1], rows[3][3]])
    with pytest.raises(IndexError, match="row 1"):
        r[[1], [3]]


def test_084_joining(rows, r):
    y = r * 2
    same_rows(pb.concat([r, y], axis=2), [np.concatenate([a, 2 * a], 1) for a in rows])
    same_rows(pb.concat([r, y], axis=0), [*rows, *[2 * a for a in rows]])
    same_rows(pb.concat([r, y], axis=1), [np.concatenate([a, 2 * a]) for a in rows])
    same_rows(pb.stack([r, y], axis=2), [np.stack([a, 2 * a], 1) for a in rows])
    for axis in (0, 1, 2):
        assert checked(lambda x, axis=axis: pb.concat([x, x * x], axis=axis))
    with refuses("RAGGED_MISMATCH"):
        pb.concat([r, pb.nested.nested(rows)], axis=2)


def test_085_padding(rows, r):
    y = r.to_padded(0.0)
    assert y.shape == (4, 4, 2)
    for k, a in enumerate(rows):
        np.testing.assert_allclose(y[k, : len(a)].detach().numpy(), a)
        assert (y[k, len(a) :] == 0).all()
    filled = r.to_padded(-1.0, size=6)
    assert filled.shape == (4, 6, 2) and (filled[2] == -1).all()
    assert r.padding_mask().tolist() == (np.arange(4) < np.array(LENGTHS)[:, None]).tolist()
    with pytest.raises(ValueError, match="3"):
        r.to_padded(0.0, size=3)
    weights = np.random.default_rng(0).normal(size=(4, 4, 2))
    (y * weights).sum().backward()
    same_rows(r.grad, [weights[k, : len(a)] for k, a in enumerate(rows)])


def test_086_round_trips(rows, r):
    dense = r.detach().to_padded(0.0).requires_grad_()
    same_rows(pb.nested.from_padded(dense, LENGTHS), rows, rtol=0)
    back = pb.nested.from_padded(dense, mask=r.padding_mask())
    same_rows(back, rows, rtol=0)
    back.sum().backward()
    assert (dense.grad[2] == 0).all() and (dense.grad[0, 2:] == 0).all() and (dense.grad[0, :2] == 1).all()
    hole = r.padding_mask().numpy().copy()
    hole[3, 1] = False
    with refuses("RAGGED_OFFSETS"):
        pb.nested.from_padded(dense, mask=hole)


def test_087_rows_are_views(rows, r):
    np.testing.assert_allclose(r[1].detach().numpy(), rows[1])
    np.testing.assert_allclose(r[-1].detach().numpy(), rows[3])
    np.testing.assert_allclose(r[pb.tensor(1)].detach().numpy(), rows[1])
    x = r * 1
    parts = x.unbind()
    assert [part.shape for part in parts] == [(n, 2) for n in LENGTHS]
    x.values().mul_(3)
    np.testing.assert_allclose(parts[1].detach().numpy(), 3 * rows[1])
    (x[1] * x[1]).sum().backward()
    same_rows(r.grad, [18 * a if k == 1 else 0 * a for k, a in enumerate(rows)])
    np.testing.assert_allclose([row.shape[0] for row in r], LENGTHS)


def test_088_slices_of_rows_share_offsets(rows, r):
    s = r.detach() * 2
    same_rows(r[1:3] + s[1:3], [3 * a for a in rows[1:3]])
    x = s * 1
    part = x[1:3]
    part.zero_()
    assert (x[1] == 0).all() and not (x[0] == 0).any()
    r[1:].sum().backward()
    assert r.grad[0].sum() == 0 and (r.grad[3] == 1).all()
    same_rows(r[::2], rows[::2])


def test_089_other_axes(rows, r):
    same_rows(r[..., 0], [a[:, 0] for a in rows])
    assert r[..., 0].shape == (4, r.shape[1])
    same_rows(r[:, :, 1:], [a[:, 1:] for a in rows])
    with pytest.raises(IndexError, match="row 2"):
        r[:, 0]
    full = pb.nested.nested([a for a in rows if len(a)])
    np.testing.assert_allclose(full[:, -1].numpy(), [a[-1] for a in rows if len(a)])


def test_090_parts_of_rows_are_views_with_gaps(rows, r):
    x = r.detach() * 1
    part = x[:, 0:2]
    same_rows(part, [a[:2] for a in rows])
    with refuses("RAGGED_HOLES"):
        part.values()
    packed = part.contiguous()
    same_rows(packed, [a[:2] for a in rows])
    assert packed.values().shape == (6, 2)
    part.mul_(10)
    same_rows(x, [np.concatenate([10 * a[:2], a[2:]]) for a in rows])
    part.fill_(0)
    same_rows(x, [np.concatenate([0 * a[:2], a[2:]]) for a in rows])
    assert checked(lambda z: z[:, 1:] * z[:, 1:])
    y = r * 1
    y[:, 0:1] = 5.0
    (y * y).sum().backward()
    same_rows(r.grad, [np.concatenate([0 * a[:1], 2 * a[1:]]) for a in rows])
    same_rows(pb.nested.narrow(r, [1, 0, 0, 2], [1, 2, 0, 2]), [rows[0][1:2], rows[1][:2], rows[2], rows[3][2:]])


def test_091_writes_in_a_graph(rows, r):
    x = r * 1
    x[1] += 1
    x.mul_(2)
    (x * x).sum().backward()
    same_rows(r.grad, [8 * (a + (k == 1)) for k, a in enumerate(rows)])
    r.grad = None
    y = r * 1
    first = y[0] * y[0]
    y[1] = 0.0
    first.sum().backward()
    same_rows(r.grad, [2 * a if k == 0 else 0 * a for k, a in enumerate(rows)])


def test_092_lengths_never_change_in_place(r):
    other = pb.nested.nested([np.ones((n, 2)) for n in (1, 1, 1, 1)])
    x = r.detach() * 1
    before = x.values().numpy().copy()
    with refuses("RAGGED_SHAPE"):
        x.copy_(other)
    np.testing.assert_array_equal(x.values().numpy(), before)
    x[x > 0] = 0.0
    assert (x.values() <= 0).all()
