"""Conformance cases 160 to 180: vmap, its arguments, its results, and what a mapped function may do."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.func import set_vmap_fallback, vmap
from pullback.payloads.batched import evaluate
from pullback.testing import assert_close


def x23():
    return pb.arange(6.0).reshape(2, 3)


def loop(function, *arguments):
    """What vmap should be equal to."""
    rows = [function(*parts) for parts in zip(*arguments, strict=True)]
    return pb.stack(rows)


@pytest.mark.parametrize(
    "in_dims, args, message",
    [
        (0, (), "got no inputs"),
        ((None,), (1,), "at least one Tensor"),
        (0, (pb.zeros(2), pb.zeros(3)), "same size in the mapped dimension"),
        ([0, 0], (pb.zeros(2), pb.zeros(2)), "expected `in_dims` to be int or"),
        ((0,), (pb.zeros(2), pb.zeros(2)), "not compatible with the structure"),
        (0, (1,), "Got in_dim=0 .* but the input is of type"),
    ],
)
def test_160_arguments_are_checked(in_dims, args, message):
    with pytest.raises(ValueError, match=message):
        vmap(lambda *v: v[0], in_dims)(*args)


def test_161_negative_axes_count_from_the_end():
    assert vmap(vmap(lambda v: v, -1), -1)(pb.zeros((2, 3, 4))).shape == (4, 3, 2)


def test_162_the_identity_shares_memory():
    x = x23()
    result = vmap(lambda v: v, out_dims=1)(x)
    assert_close(result, x.T)
    assert np.shares_memory(result.numpy(), x.numpy())


def test_163_an_output_that_is_the_same_for_all_is_repeated():
    result = vmap(lambda x: pb.zeros(5), out_dims=-1)(pb.zeros(2))
    assert result.shape == (5, 2)
    assert_close(result, pb.zeros((5, 2)))


def test_164_values_that_are_no_tensors_need_a_place_of_none():
    values, text = vmap(lambda x: (x, "s"), out_dims=(0, None))(x23())
    assert_close(values, x23())
    assert text == "s"
    with pytest.raises(ValueError, match="only return Tensors"):
        vmap(lambda x: (x, "s"))(x23())


def test_165_out_dims_are_checked():
    with pytest.raises(ValueError, match="cannot return a BatchedTensor"):
        vmap(lambda x: x, out_dims=None)(x23())
    with pytest.raises(IndexError, match="Dimension out of range"):
        vmap(lambda x: x, out_dims=5)(x23())
    with pytest.raises(ValueError, match="must be an int, None or a python collection"):
        vmap(lambda x: x, out_dims="a")(x23())


def test_166_keywords_are_not_mapped():
    result = vmap(lambda x, *, y: x * y)(x23(), y=x23())
    assert result.shape == (2, 2, 3)
    assert_close(result[1], x23()[1] * x23())


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_167_an_empty_batch(chunk_size):
    assert vmap(pb.sin, chunk_size=chunk_size)(pb.zeros(0)).shape == (0,)
    assert vmap(lambda v: v.sum(), chunk_size=chunk_size)(pb.zeros((0, 3))).shape == (0,)


def test_168_chunks():
    sizes = []

    def f(x):
        sizes.append(x._data.data.shape[0])
        return x * 2

    x = pb.arange(7.0)
    assert_close(vmap(f, chunk_size=3)(x), x * 2)
    assert sizes == [3, 3, 1]


def branches(x):
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: x.sum().item(), r"item\(\) on a Tensor"),
        (lambda x: float(x.sum()), r"item\(\) on a Tensor"),
        (branches, "data-dependent control flow"),
        (lambda x: x.numpy(), "values of one example"),
        (lambda x: x.nonzero(), "dynamic shape"),
        (lambda x: x[x > 1], "dynamic shape"),
    ],
)
def test_169_the_values_of_one_example_do_not_exist(function, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(function)(x23())


def test_170_a_tensor_that_is_the_same_for_all_has_values():
    def f(x):
        assert bool(pb.ones(())) and pb.ones(()).item() == 1 and pb.ones(3).tolist() == [1.0, 1.0, 1.0]
        assert pb.ones(2).numpy().shape == (2,)
        return x

    assert_close(vmap(f)(x23()), x23())


def test_171_an_index_per_example():
    assert_close(vmap(lambda x, i: x[i])(x23(), pb.tensor([0, 2])), [0.0, 5.0])


@pytest.mark.parametrize(
    "pick",
    [
        lambda x, i, j: x[i, j],
        lambda x, i, j: x[:, i],
        lambda x, i, j: x[i, :, j],
        lambda x, i, j: x[:, i, j],
        lambda x, i, j: x[..., i],
    ],
)
def test_172_batched_indices_equal_a_loop(pick):
    rng = np.random.default_rng(0)
    x = pb.tensor(rng.standard_normal((2, 3, 4, 5)))
    i, j = pb.tensor(rng.integers(0, 3, (2, 6))), pb.tensor(rng.integers(0, 3, (2, 6)))
    assert_close(vmap(pick)(x, i, j), loop(pick, x, i, j))
    shared = pb.tensor([0, 2, 2, 1, 0, 1])
    assert_close(vmap(pick, (0, 0, None))(x, i, shared), loop(lambda x, i: pick(x, i, shared), x, i))
    assert_close(
        vmap(pick, (None, 0, 0))(x[0], i, j), loop(lambda i, j: pick(x[0], i, j), i, j)
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda index, src: pb.zeros(4).index_add(0, index, src),
        lambda index, src: pb.zeros(4).scatter_add(0, index, src),
        lambda index, src: pb.zeros(4).scatter(0, pb.tensor([0, 3, 1]), src),
        lambda index, src: pb.zeros(4).index_add_(0, index, src),
    ],
)
def test_173_sources_per_example_and_shared_indices(write):
    index = pb.tensor([1, 1, 3])
    src = x23()
    assert_close(vmap(write, (None, 0))(index, src), loop(lambda s: write(index, s), src))


def test_174_writes_into_what_is_made_inside():
    def f(x):
        z = pb.zeros(3)
        z[0] = x[0]
        return z

    assert_close(vmap(f)(x23()), [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    c = pb.zeros(3)
    with pytest.raises(RuntimeError, match=r"inplace arithmetic .* vmapped over"):
        vmap(lambda x: c.add_(x))(x23())
    assert_close(c, pb.zeros(3))

    def counts(x):
        c.add_(1)
        return x

    vmap(counts)(x23())
    assert_close(c, pb.ones(3))


def test_175_writes_into_a_mapped_argument_reach_the_caller():
    y = x23()
    vmap(lambda v: v.mul_(2))(y)
    assert_close(y, 2 * x23())
    w = x23().requires_grad_()
    y = w * 1
    vmap(lambda v: v.mul_(2))(y)
    assert_close(pb.autograd.grad(y.sum(), w)[0], pb.full((2, 3), 2.0))
    with pytest.raises(RuntimeError, match="leaf"):
        vmap(lambda v: v.mul_(2))(w)


def test_176_randomness():
    def f(x):
        return x + pb.random.normal(size=3)

    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(f)(pb.zeros((2, 3)))
    pb.random.manual_seed(3)
    different = vmap(f, randomness="different")(pb.zeros((2, 3)))
    pb.random.manual_seed(3)
    assert_close(different, pb.random.normal(size=(2, 3)))
    same = vmap(f, randomness="same")(pb.zeros((2, 3)))
    assert_close(same[0], same[1])


def test_177_each_level_draws_in_its_own_way():
    def draw(outer, inner):
        one = vmap(lambda x: x + pb.random.normal(), randomness=inner)
        return vmap(one, randomness=outer)(pb.zeros((2, 3))).numpy()

    rows = draw("different", "same")
    assert np.all(rows == rows[:, :1]) and rows[0, 0] != rows[1, 0]
    rows = draw("same", "different")
    assert np.all(rows[0] == rows[1]) and len(set(rows[0])) == 3


def test_178_randomness_that_can_not_be_had():
    p = pb.tensor([0.2, 0.8])
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(pb.random.bernoulli, randomness="same")(p)
    captured = pb.zeros(3)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched"):
        vmap(lambda x: captured.normal_() + x, randomness="different")(p)


def test_179_an_escaped_tensor_is_refused():
    escaped = []
    vmap(lambda x: escaped.append(x * 2) or x)(x23())
    with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
        escaped[0] + 1


def test_180_a_function_without_a_rule_runs_example_by_example():
    def f(x, bins):
        return pb.digitize(x, bins)

    x, bins = x23(), pb.tensor([[0.5, 1.0, 2.5], [2.0, 3.5, 4.5]])
    known = set(evaluate._warned)
    evaluate._warned.clear()
    previous = set_vmap_fallback("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = vmap(f)(x, bins)
            vmap(f)(x, bins)
        assert found.tolist() == loop(f, x, bins).tolist()
        texts = [str(w.message) for w in caught if issubclass(w.category, pb.PerformanceWarning)]
        assert len(texts) == 1 and "digitize" in texts[0]
        set_vmap_fallback("error")
        with pytest.raises(RuntimeError, match=r"Batching rule not implemented for .*digitize"):
            vmap(f)(x, bins)
        set_vmap_fallback("silent")
        evaluate._warned.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            vmap(f)(x, bins)
    finally:
        set_vmap_fallback(previous)
        evaluate._warned.update(known)
