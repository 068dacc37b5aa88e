"""Ragged tensors in graphs and transforms: cases 93 to 108 of the specification of other arrays."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from tests.conformance.test_ragged import LENGTHS, OFFSETS, refuses, same_rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    return [rng.normal(size=(n, 2)) for n in LENGTHS]


@pytest.fixture
def r(rows):
    return pb.nested.nested(rows, requires_grad=True)


def test_093_metadata_of_a_ragged_output(r):
    (meta,) = (r * 2).grad_fn._input_metadata
    assert meta.is_nested and meta.layout == "jagged" and not meta.is_tensor_subclass
    assert re.search(r"\[4, j\d+, 2\]", str(list(meta.shape)))
    zeros = meta.zeros_like()
    assert zeros.shape == r.shape and zeros.is_nested and (zeros.values() == 0).all()


def test_094_gradients_of_other_shapes_are_refused(rows, r):
    y = r * 2
    with refuses("GRADOUT_SHAPE") as info:  # as for every root
        y.backward(pb.ones((4, 4, 2)))
    assert re.search(r"\[4, j\d+, 2\]", str(info.value))
    with refuses("GRADOUT_SHAPE"):
        y.backward(pb.nested.nested(rows))

    class Wrong(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.to_padded(0.0)

    with refuses("GRAD_SHAPE") as info:
        Wrong.apply(r * 1).sum().backward()
    assert re.search(r"\[4, j\d+, 2\]", str(info.value))
    y.backward(pb.ones_like(y))
    same_rows(r.grad, [np.full_like(a, 2) for a in rows])


def test_095_hooks_see_ragged_gradients(rows, r):
    y = r * 2
    seen = []
    y.register_hook(lambda g: seen.append(g) or g * 3)
    y.sum().backward()
    assert seen[0].is_nested and seen[0].shape == r.shape
    same_rows(r.grad, [np.full_like(a, 6) for a in rows])
    z = r * 2
    z.register_hook(lambda g: g.values())
    with pytest.raises(pb.AutogradError) as info:
        z.sum().backward()
    assert info.value.code in ("GRAD_SHAPE", "HOOK_SHAPE")


def test_096_a_ragged_gradient_of_a_dense_value_is_reduced(r):
    class Weigh(pb.autograd.Function):
        @staticmethod
        def forward(ctx, w, x):
            ctx.save_for_backward(x)
            return x * w

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x, None

    w = pb.tensor([1.0, 2.0], requires_grad=True)
    Weigh.apply(w, r.detach()).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), r.detach().values().numpy().sum(0))


def test_097_forward_mode_and_hessian(rows, r):
    x = r.detach()
    tangent = pb.ones_like(x)
    _, moved = pb.jvp(pb.sin, (x,), (tangent,))
    assert moved.is_nested and moved.shape == x.shape
    same_rows(moved, [np.cos(a) for a in rows])
    np.testing.assert_allclose(pb.jvp(lambda x: x.sum(1), (x,), (tangent,))[1].numpy(), [[n, n] for n in LENGTHS])

    def loss(v):
        return (pb.nested.from_values(v, OFFSETS).sum(1) ** 3).sum()

    hessian = pb.hessian(loss)(x.values())
    assert hessian.shape == (9, 2, 9, 2)
    sums = np.array([a.sum(0) for a in rows])
    owner = np.repeat(np.arange(4), LENGTHS)
    same = (owner[:, None] == owner)[:, None, :, None]
    expected = 6 * sums[owner][:, :, None, None] * np.eye(2)[None, :, None, :] * same
    np.testing.assert_allclose(hessian.numpy(), expected)
    gradient = pb.grad(lambda x: (x.softmax(1) * x).sum())(x)
    assert gradient.is_nested


def test_098_vmap_maps_over_rows(rows, r):
    x = r.detach()
    np.testing.assert_allclose(pb.vmap(lambda row: row.sum(0))(x).numpy(), [a.sum(0) for a in rows])
    soft = pb.vmap(lambda row: row.softmax(0))(x)
    assert soft.is_nested and soft.shape == x.shape
    same_rows(soft, [pb.tensor(a).softmax(0).numpy() for a in rows])
    seen = []
    pb.vmap(lambda row: seen.append(row.shape) or row * 2 + 1)(x)
    assert len(seen) == 1 and seen[0] == (x.shape[1], 2)
    pb.vmap(lambda row: (row * row).sum())(r).sum().backward()
    same_rows(r.grad, [2 * a for a in rows])


def test_099_vmap_with_dense_operands_and_gradients(rows, r):
    w = np.random.default_rng(0).normal(size=(4, 2, 3))
    out = pb.vmap(lambda row, w: row @ w)(r.detach(), pb.tensor(w))
    same_rows(out, [a @ w[k] for k, a in enumerate(rows)])
    found = pb.vmap(pb.grad(lambda row: (row**3).sum()))(r.detach())
    assert found.is_nested
    same_rows(found, [3 * a**2 for a in rows])


def test_100_what_has_no_rule_runs_row_by_row(rows):
    from pullback.operators.ragged import families

    full = [a for a in rows if len(a)]
    families._warned.discard("cumprod")
    with pytest.warns(pb.PerformanceWarning):
        out = pb.vmap(lambda row: row.cumprod(0))(pb.nested.nested(full))
    same_rows(out, [a.cumprod(0) for a in full])


def made(lengths, seed=0):
    rng = np.random.default_rng(seed)
    if not lengths:
        return pb.nested.from_values(np.zeros((0, 2)), [0]).detach().requires_grad_()
    return pb.nested.nested([rng.normal(size=(n, 2)) for n in lengths], requires_grad=True)


def captures(compiled):
    """How often a function was captured for calls with ragged tensors."""
    return sum(inner._misses for inner in compiled._on_values.values())


def test_101_new_lengths_never_recompile():
    @pb.compile(fallback="raise")
    def f(x):
        return (x.softmax(1) * pb.sin(x)).sum(1)

    rng = np.random.default_rng(0)
    for number in range(20):
        x = made(rng.integers(0, 6, size=rng.integers(2, 7)).tolist() + [3], number)
        expected = (x.softmax(1) * pb.sin(x)).sum(1)
        np.testing.assert_allclose(f(x).detach().numpy(), expected.detach().numpy(), atol=1e-14)
    assert captures(f) == 1

    @pb.compile(fallback="raise")
    def g(x, y):
        return x.sum(1) + y.sum(1)

    for lengths in ((2, 3), (4, 1, 2), (5, 5)):
        x = made(lengths).detach()
        g(x, x * 2)  # with the same offsets
        g(x, made(lengths).detach())  # with others
    assert captures(g) == 2


@pytest.mark.parametrize("lengths", [(2, 3, 0, 4), (0, 0), (), (1,)])
def test_102_compiled_equals_eager(lengths):
    def f(x, w):
        y = x @ w
        return y.softmax(1) * x, (y * y).mean(2), x.sum((0, 1)), y.logsumexp(1), x.log_softmax(2)

    compiled = pb.compile(f, fallback="raise")
    w = pb.tensor(np.random.default_rng(1).normal(size=(2, 2)), requires_grad=True)
    found = []
    for function in (f, compiled):
        x = made(lengths)
        outs = function(x, w)
        sum((out * out).where(pb.isfinite(out), 0.0).sum() for out in outs).backward()
        found.append((*outs, x.grad, w.grad))
        w.grad = None
    for eager, native in zip(*found, strict=True):
        assert eager.is_nested == native.is_nested
        pair = [(each.values() if each.is_nested else each).detach().numpy() for each in (eager, native)]
        np.testing.assert_allclose(*pair, atol=1e-13)


def test_102_compiled_attention():
    def f(x):
        return pb.nn.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True).sum()

    compiled = pb.compile(f, fallback="raise")
    for lengths in ((2, 3, 0, 4), (5, 1)):
        gradients = []
        for function in (f, compiled):
            x = made(lengths)
            function(x).backward()
            gradients.append(x.grad.values().numpy())
        np.testing.assert_allclose(*gradients, atol=1e-12)
    assert captures(compiled) == 1


def test_103_compiled_writes_and_aliases(rows, r):
    @pb.compile(fallback="raise")
    def f(x):
        x.mul_(2)
        return x.values()

    x = r * 1
    version = x._version
    out = f(x)
    same_rows(x, [2 * a for a in rows])
    assert x._version > version and np.shares_memory(out.detach().numpy(), x.detach().values().numpy())
    (x * x).sum().backward()
    same_rows(r.grad, [8 * a for a in rows])


def test_104_pickles_keep_what_is_shared(rows, r):
    x, y = r.detach(), r.detach() * 2
    one, two = pickle.loads(pickle.dumps((x, y)))
    same_rows(one + two, [3 * a for a in rows])
    with refuses("RAGGED_MISMATCH"):
        pickle.loads(pickle.dumps(x)) + y
    one, two = copy.deepcopy((x, y))
    same_rows(one + two, [3 * a for a in rows])
    assert copy.deepcopy(r).requires_grad and copy.deepcopy(r).shape != r.shape


def test_105_awkward_arrays(rows):
    ak = pytest.importorskip("awkward", reason="awkward, of the extra `foreign`, is not installed")
    a = ak.Array([[1.0, 2.0], [], [3.0]])
    x = pb.nested.from_awkward(a)
    assert x.tolist() == [[1.0, 2.0], [], [3.0]]
    inner = ak.from_regular(ak.Array([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]), axis=None)
    regular = ak.to_regular(ak.Array([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]), axis=2)
    assert pb.nested.from_awkward(regular).tolist() == ak.to_list(inner)
    with refuses("RAGGED_OP"):
        pb.nested.from_awkward(ak.Array([[1.0, None], []]))


def test_105_groups_of_pandas():
    pd = pytest.importorskip("pandas", reason="pandas, of the extra `foreign`, is not installed")
    frame = pd.DataFrame({"key": ["b", "a", "b", "c", "a"], "x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [0.0, 1, 2, 3, 4]})
    x = pb.nested.from_groupby(frame.groupby("key")[["x", "y"]])
    assert list(x.row_labels) == ["b", "a", "c"]
    assert x.tolist() == [[[1.0, 0.0], [3.0, 2.0]], [[2.0, 1.0], [5.0, 4.0]], [[4.0, 3.0]]]
    assert pb.nested.from_groupby(frame.groupby("key")["x"]).sum(1).tolist() == [4.0, 7.0, 4.0]


def test_107_what_has_no_meaning_is_refused(r):
    for act in (
        lambda: pb.fft.fft(r, axis=1), lambda: r.transpose(1, 0, 2),
        lambda: r.numpy(),
    ):  # fmt: skip
        with pytest.raises(pb.AutogradError) as info:
            act()
        assert info.value.code in ("RAGGED_OP", "NUMPY_ON_GRAD")
    for act in (lambda: pb.linalg.svd(r), lambda: pb.linalg.inv(r), lambda: pb.as_strided(r, (2,), (8,))):
        with pytest.raises((pb.AutogradError, ValueError)):
            act()


def test_108_the_rest_of_autograd(rows, r):
    assert gradcheck(lambda x: (x.softmax(1) * x).sum(1), (r,))
    out = pb.checkpoint(lambda x: pb.sin(x) * 2, r, use_reentrant=False)
    out.sum().backward()
    same_rows(r.grad, [2 * np.cos(a) for a in rows])
    r.grad = None
    y = r * 2
    y.retain_grad()
    (y * y).sum().backward()
    same_rows(y.grad, [4 * a for a in rows])
    r.grad = None
    packed = []
    with pb.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        z = (r * r).sum()
    z.backward()
    assert packed and not any(t.is_nested for t in packed)
    same_rows(r.grad, [2 * a for a in rows])
    with pb.autograd.detect_anomaly(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(pb.AutogradError):
            pb.sqrt(r * 0 - 1).sum().backward()


def test_108_creation_and_dropout(rows, r):
    x = r.detach()
    assert pb.zeros_like(x).shape == x.shape and (pb.ones_like(x).values() == 1).all()
    assert (pb.full_like(x, 3.0).values() == 3).all() and pb.randn_like(x).shape == x.shape
    dropped = pb.nn.dropout(x, 0.5)
    assert dropped.is_nested and set(np.unique((dropped / x).values().numpy().round(6))) <= {0.0, 2.0}
    ids = pb.nested.nested([[0, 2], [1], [], [2, 2, 0]], dtype=np.int64)
    table = pb.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    found = pb.nn.embedding(ids, table)
    assert found.shape == (4, ids.shape[1], 2) and found[1].tolist() == [[2.0, 3.0]]
    found.sum().backward()
    assert table.grad.tolist() == [[2, 2], [1, 1], [3, 3]]
    same_rows(pb.nn.layer_norm(x, (2,)), [pb.nn.layer_norm(pb.tensor(a), (2,)).numpy() for a in rows])
    same_rows(x.reshape(4, x.shape[1], 2, 1), [a[..., None] for a in rows])
    same_rows(x.reshape(4, -1, 1, 2), [a[:, None] for a in rows])
    assert x.flatten().shape == (18,)
    same_rows(x[..., 0][x[..., 0] > 0], [a[a[:, 0] > 0, 0] for a in rows])
    same_rows(pb.where(x > 0, x, 0.0), [np.where(a > 0, a, 0) for a in rows])
    same_rows(x.astype(np.float32), [a.astype(np.float32) for a in rows])
    same_rows(pb.clip(x, -0.5, 0.5), [a.clip(-0.5, 0.5) for a in rows])
    same_rows(x[[2, 0]], [rows[2], rows[0]])
    same_rows(x[np.array([True, False, True, True])], [rows[0], rows[2], rows[3]])
