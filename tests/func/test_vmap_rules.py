"""What `vmap` promises beyond the conformance cases: arguments, results, chunks, randomness, writes, single values."""

import collections
import copy
import pickle
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.func import grad, jacfwd, jvp, vmap
from pullback.testing import assert_close
from tests.func.random_programs import Sine


def x23():
    return pb.arange(6.0).reshape(2, 3)


def x3():
    return pb.tensor([1.0, 2.0, 3.0])


# Arguments


def test_axis_size_stands_in_for_arguments():
    assert vmap(lambda: pb.ones(2), axis_size=3)().shape == (3, 2)
    assert vmap(lambda x: x * 2, in_dims=None, axis_size=3)(x3()).shape == (3, 3)
    with pytest.raises(ValueError, match="same size"):
        vmap(lambda x: x, axis_size=3)(x23())


def test_in_dims_are_the_upper_part_of_the_arguments():
    def f(tree, y):
        return tree["a"] * tree["b"][0] + tree["b"][1] * y

    tree = {"a": x23(), "b": [x3(), x23().T]}
    result = vmap(f, in_dims=({"a": 0, "b": [None, 1]}, None))(tree, pb.tensor(2.0))
    assert_close(result, x23() * x3() + x23() * 2)
    assert_close(vmap(lambda p: p[0] + p[1])((x23(), x23())), 2 * x23())
    with pytest.raises(ValueError, match="not compatible with the structure"):
        vmap(f, in_dims=({"a": 0}, None))(tree, pb.tensor(2.0))


def test_a_place_outside_of_the_axes_is_refused():
    for dim in (2, -3):
        with pytest.raises(ValueError, match=r"Got in_dim=.* dimensionality"):
            vmap(lambda x: x, dim)(x23())
    for in_dims in ({0}, "0", [0]):
        with pytest.raises(ValueError, match="expected `in_dims` to be int or"):
            vmap(lambda x: x, in_dims)(x23())


def test_arrays_are_mapped_like_tensors():
    assert_close(vmap(lambda x: x.sum())(np.ones((2, 3))), [3.0, 3.0])


def test_inside_only_one_example_is_seen():
    seen = []

    def f(x):
        seen.append((x.shape, x.ndim, x.size, len(x), x.strides, [row.shape for row in x]))
        return x

    vmap(f)(pb.zeros((5, 2, 3)))
    strides = pb.zeros((2, 3)).strides
    assert seen == [((2, 3), 2, 6, 2, strides, [(3,), (3,)])]
    assert vmap(lambda x: x * x.is_contiguous())(pb.ones((2, 3, 4))).all()
    assert not vmap(lambda x: x * x.is_contiguous(), in_dims=2)(pb.ones((2, 3, 4))).any()


# Results


def test_out_dims_are_the_upper_part_of_the_results():
    result = vmap(lambda x: {"a": x, "b": (x * 2, x.sum())}, out_dims={"a": 1, "b": 0})(x23())
    assert_close(result["a"], x23().T)
    assert_close(result["b"][0], 2 * x23())
    assert_close(result["b"][1], x23().sum(axis=1))
    assert_close(vmap(lambda x: x, out_dims=(1,))(x23()), x23().T)
    with pytest.raises(ValueError, match="not compatible"):
        vmap(lambda x: (x, x), out_dims=(0, 0, 0))(x23())
    for place in (2, -3):
        with pytest.raises(IndexError, match="Dimension out of range"):
            vmap(lambda x: x, out_dims=place)(x23())


def test_containers_of_results_keep_their_type():
    Pair = collections.namedtuple("Pair", "x y")
    result = vmap(lambda v: Pair(v, [v.sum()]))(x23())
    assert type(result) is Pair and type(result.y) is list


def test_numbers_are_not_repeated():
    for value in (1.0, None, "s"):
        with pytest.raises(ValueError, match="must only return Tensors"):
            vmap(lambda x, value=value: value)(x23())


def test_a_result_that_is_the_same_for_all_is_returned_as_it_is():
    same = pb.ones(2)
    result = vmap(lambda x: (x, same, pb.zeros(2)), out_dims=(0, None, None))(x23())
    assert_close(result[1], same)
    assert_close(result[2], pb.zeros(2))
    assert (result[2] + 1).shape == (2,)


def test_every_axis_of_the_result_is_a_place():
    for place in (0, 1, 2, -1, -2, -3):
        result = vmap(lambda x: x.T, out_dims=place)(pb.arange(24.0).reshape(2, 3, 4))
        expected = np.moveaxis(np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1), 0, place)
        assert_close(result, expected)


# Chunks


@pytest.mark.parametrize("size", [0, -1, 1.5, "2"])
def test_the_size_of_chunks_is_checked_at_once(size):
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(lambda x: x, chunk_size=size)


def test_chunks_are_joined_where_the_results_are():
    x = pb.arange(21.0).reshape(3, 7)
    result, total = vmap(lambda v: (v * 2, v.sum()), in_dims=1, out_dims=(1, 0), chunk_size=3)(x)
    assert_close(result, x * 2)
    assert_close(total, x.sum(axis=0))


def test_of_a_result_without_a_place_the_first_chunk_gives_the_value():
    calls = []

    def f(x):
        calls.append(1)
        return x, pb.full((), float(len(calls)))

    _, value = vmap(f, out_dims=(0, None), chunk_size=2)(pb.zeros(5))
    assert len(calls) == 3 and value.item() == 1


def test_chunks_are_differentiable():
    w = x3()
    full = grad(lambda w: vmap(lambda x: (w * x).sum() ** 2)(x23()).sum())(w)
    assert_close(grad(lambda w: vmap(lambda x: (w * x).sum() ** 2, chunk_size=1)(x23()).sum())(w), full)


def test_chunks_that_draw_the_same_see_the_same_numbers():
    def f(x):
        return x + pb.random.normal()

    same = vmap(f, randomness="same", chunk_size=2)(pb.zeros(5)).numpy()
    assert np.all(same == same[0])
    pb.random.manual_seed(4)
    different = vmap(f, randomness="different", chunk_size=2)(pb.zeros(5))
    pb.random.manual_seed(4)
    assert_close(different, np.concatenate([pb.random.normal(size=n).numpy() for n in (2, 2, 1)]))


@pytest.mark.parametrize("make", [pb.random.default_rng, np.random.default_rng])
def test_chunks_draw_the_same_from_a_generator_of_the_function(make):
    generator, alike = make(3), make(3)
    f = lambda x: x + pb.random.normal(generator=generator) + pb.random.normal()
    pb.random.manual_seed(4)
    same = vmap(f, randomness="same", chunk_size=2)(pb.zeros(5)).numpy()
    pb.random.manual_seed(4)
    assert np.all(same == pb.random.normal(generator=alike).numpy() + pb.random.normal().numpy())
    # What was drawn once is drawn once: both streams go on behind the one number.
    assert pb.random.normal(generator=generator) == pb.random.normal(generator=alike)


def test_chunks_inside_of_chunks_draw_the_same():
    def draw(x, y):
        return x + y + pb.random.normal()

    inner = lambda x: vmap(draw, (None, 0), randomness="same", chunk_size=2)(x, pb.zeros(3))
    rows = vmap(inner, randomness="same", chunk_size=1)(pb.zeros(3)).numpy()
    assert rows.shape == (3, 3) and np.all(rows == rows[0, 0])


# Randomness


def test_the_way_to_draw_is_one_of_three():
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: x, randomness="maybe")


def test_draws_like_a_batched_tensor():
    def f(x):
        return pb.random.rand_like(x)

    same = vmap(f, randomness="same")(x23())
    assert_close(same[0], same[1])
    pb.random.manual_seed(1)
    different = vmap(f, randomness="different")(x23())
    pb.random.manual_seed(1)
    assert_close(different, pb.random.rand(2, 3))


def test_filling_in_place():
    y = x23()
    vmap(lambda v: v.normal_(), randomness="same")(y)
    assert_close(y[0], y[1])
    vmap(lambda v: v.normal_(), randomness="different")(y)
    assert y.numpy()[0, 0] != y.numpy()[1, 0]
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda v: v.normal_())(y)


def test_permutations_are_drawn_per_example():
    pb.random.manual_seed(2)
    drawn = vmap(lambda x: pb.random.permutation(5), randomness="different")(pb.zeros(3))
    pb.random.manual_seed(2)
    assert drawn.tolist() == [pb.random.permutation(5).tolist() for _ in range(3)]


def test_a_generator_of_ones_own_advances_as_outside():
    mapped, plain = pb.random.Generator(7), pb.random.Generator(7)
    drawn = vmap(lambda x: mapped.normal(size=2), randomness="different")(pb.zeros(3))
    assert_close(drawn, plain.normal(size=(3, 2)))
    assert_close(mapped.normal(size=2), plain.normal(size=2))


# Writes


def test_a_write_through_a_view_of_a_mapped_argument():
    y = x23()

    def f(v):
        v[1:].mul_(10)
        return v.sum()

    vmap(f)(y)
    assert_close(y, x23() * pb.tensor([1.0, 10.0, 10.0]))


def test_a_write_into_a_mapped_argument_reaches_its_tangent():
    def f(x):
        y = x * 1
        vmap(lambda v: v.mul_(3))(y)
        return y

    assert_close(jvp(f, (x23(),), (x23(),))[1], 3 * x23())


def test_what_is_the_same_for_all_is_written_once():
    c, d = pb.zeros(3), pb.zeros(3)
    vmap(lambda x, d: (c.add_(1), d.add_(1), x)[2], (0, None))(x23(), d)
    assert_close(c, pb.ones(3))
    assert_close(d, pb.ones(3))


def test_a_fresh_array_and_its_views_become_batched_together():
    def f(x):
        base = pb.zeros((2, 3))
        row, column = base[0], base[:, 1]
        row.copy_(x)
        column.add_(x.sum())
        return base, row * 1, column * 1

    base, row, column = vmap(f)(x23())
    for k, x in enumerate(x23()):
        expected = np.zeros((2, 3))
        expected[0] = x.numpy()
        expected[:, 1] += x.numpy().sum()
        assert_close(base[k], expected)
        assert_close(row[k], expected[0])
        assert_close(column[k], expected[:, 1])


def test_a_promoted_array_is_differentiated():
    def f(x):
        z = pb.zeros(3)
        z[1] = x[0] * x[1]
        z[2:] = x[2:] ** 2
        return (z * x).sum()

    expected = pb.stack([grad(f)(x) for x in x23()])
    assert_close(vmap(grad(f))(x23()), expected)
    assert_close(grad(lambda X: vmap(f)(X).sum())(x23()), expected)
    assert_close(vmap(jacfwd(f))(x23()), expected)


def test_an_array_of_the_outer_map_is_not_widened_by_the_inner_one():
    def outer(x):
        z = pb.zeros(())

        def inner(y):
            return z.add_(y)

        return vmap(inner)(x)

    with pytest.raises(RuntimeError, match=r"inplace arithmetic .* vmapped over"):
        vmap(outer)(x23())

    def fine(x):
        z = pb.zeros(())
        z.add_(x.sum())
        return vmap(lambda y: y + z)(x)

    assert_close(vmap(fine)(x23()), x23() + x23().sum(axis=1, keepdims=True))


def test_out_is_refused():
    out = pb.zeros(3)
    with pytest.raises(RuntimeError):
        vmap(lambda x: pb.sin(x, out=out))(x23())


# Data dependence


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: int(x.sum()), r"item\(\) on a Tensor"),
        (lambda x: [1, 2, 3][x.argmax()], r"item\(\) on a Tensor"),
        (lambda x: range(x.argmax()), r"item\(\) on a Tensor"),
        (lambda x: x.sum() > 0 and x, "data-dependent control flow"),
        (lambda x: x.tolist(), "vmap"),
        (lambda x: np.asarray(x), "vmap"),
        (lambda x: x.data, "vmap"),
        (lambda x: pb.where(x > 1), "dynamic shape"),
        (lambda x: pb.unique(x), "dynamic shape"),
        (lambda x: pb.allclose(x, x), "vmap"),
        (lambda x: pb.array_equal(x, x), "vmap"),
        (lambda x: pb.bincount(x.astype(pb.int64)), "dynamic shape"),
        (lambda x: pb.repeat(x, x.astype(pb.int64)), "dynamic shape"),
    ],
)
def test_values_of_single_examples_are_refused(function, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(function)(x23())


def test_a_mask_per_example_may_be_written_with_a_number():
    def f(x):
        y = x * 1
        y[x > 1] = 0.0
        y[x < 1] = x.sum()
        return y

    assert_close(vmap(f)(x23()), pb.stack([f(x) for x in x23()]))


def test_nested_maps_have_product_axes_outer_first():
    x, y = x3(), pb.tensor([1.0, 10.0])
    table = vmap(lambda a: vmap(lambda b: a + b)(y))(x)
    assert_close(table, x[:, None] + y[None, :])
    table = vmap(lambda b: vmap(lambda a: a * b)(x), out_dims=1)(y)
    assert_close(table, x[:, None] * y[None, :])


# Custom Functions


def looping():
    class Halves(pb.autograd.Function):
        generate_vmap_rule = "loop"

        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return pb.asarray(np.sin(x.detach().numpy())) * w

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g * w * pb.asarray(np.cos(x.detach().numpy())), (g * pb.sin(x)).sum()

    return Halves


def test_a_function_that_calls_numpy_runs_example_by_example():
    f = looping().apply
    w = pb.tensor(2.0)
    assert_close(vmap(f, (0, None))(x23(), w), 2 * pb.sin(x23()))
    assert_close(vmap(grad(lambda x: f(x, w).sum()))(x23()), 2 * pb.cos(x23()))
    by_w = grad(lambda w: vmap(lambda x: f(x, w).sum())(x23()).sum())(w)
    assert_close(by_w, pb.sin(x23()).sum())
    assert_close(vmap(grad(lambda x, w: f(x, w).sum(), argnums=1), (0, None))(x23(), w), pb.sin(x23()).sum(axis=1))


def test_a_tensor_in_a_keyword_of_apply_is_an_argument_like_others():
    f = looping().apply
    w = pb.tensor([1.0, 3.0])
    assert_close(vmap(lambda x, w: f(x, w=w))(x23(), w), pb.sin(x23()) * w[:, None])
    assert_close(vmap(grad(lambda w, x: f(x, w=w).sum()))(w, x23()), pb.sin(x23()).sum(axis=1))


def test_a_function_with_a_generated_rule_in_every_composition():
    f = Sine.apply
    cosine = pb.cos(x3())
    assert_close(vmap(grad(f))(x3()), cosine)
    assert_close(vmap(lambda x: jvp(f, (x,), (pb.ones(()),))[1])(x3()), cosine)
    assert_close(grad(lambda x: vmap(f)(x).sum())(x3()), cosine)
    assert_close(jvp(vmap(f), (x3(),), (pb.ones(3),))[1], cosine)
    assert_close(jacfwd(f)(x3()), pb.diag(cosine))
    assert_close(vmap(vmap(grad(grad(f))))(x23()), -pb.sin(x23()))


def test_the_rules_results_may_lie_anywhere():
    class Swapped(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x.sum()

        @staticmethod
        def backward(ctx, g_doubled, g_sum):
            return g_doubled * 2 + g_sum

        @staticmethod
        def vmap(info, in_dims, x):
            (axis,) = in_dims
            x = pb.moveaxis(x, axis, 0)
            return (x.T * 2, x.sum(axis=1)), (1, 0)

    doubled, total = vmap(Swapped.apply, in_dims=1)(x23())
    assert_close(doubled, 2 * x23().T)
    assert_close(total, x23().sum(axis=0))


def test_a_deep_copy_inside_belongs_to_the_function():
    shared = pb.zeros(3)

    def f(x):
        twin, fresh = copy.deepcopy(x), copy.deepcopy(shared)
        twin *= 2
        fresh[0] = x[0]
        return twin + fresh

    x = x23()
    assert_close(vmap(f)(x), 2 * x + x * np.array([1.0, 0.0, 0.0]))
    assert_close(x, x23())
    assert shared.tolist() == [0.0, 0.0, 0.0]


def test_an_example_can_not_be_pickled():
    with pytest.raises(pb.AutogradError, match="a pickle was asked"):
        vmap(lambda x: pickle.dumps(x), out_dims=None)(x23())
    twin = vmap(lambda x: pickle.loads(pickle.dumps(pb.ones(3))) + x)(x23())
    assert_close(twin, x23() + 1)


def test_what_is_the_same_for_all_examples_is_printed_as_outside():
    texts = []

    def f(x):
        texts.extend([str(pb.zeros(2)), f"{pb.tensor(0.5):.2f}", str(x)])
        return x

    vmap(f)(x23())
    assert texts[:2] == ["tensor([0., 0.])", "0.50"] and "float64[3]" in texts[2] and "vmap of 2" in texts[2]
    with pytest.raises(TypeError, match="not a single number"):
        vmap(lambda x: f"{x[0]:.2f}", out_dims=None)(x23())


def test_examples_without_elements_go_through_the_fallback():
    assert pb.func.vmap(lambda x: pb.isin(x, 0))(pb.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("out_dims", [1, 2, -1, -3, (0, 0), "0"])
def test_a_vmap_method_that_names_no_batch_axis_is_refused(out_dims):
    class Doubled(pb.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2, out_dims

    with pytest.raises(RuntimeError, match="returned an incompatible"):
        vmap(Doubled.apply)(x23())


def test_a_write_to_nothing_leaves_memory_that_all_examples_share():
    """It made the memory one's own, and what rules had kept of it counted once for each example."""
    def f(a, b):
        v = (b * 1)[None]
        s = pb.sin(v) * a.sum()
        v[1:].mul_(s[1:])
        return (s * s).sum()

    a, b = pb.tensor([[0.3, 0.7], [1.1, 0.2], [0.4, 0.9]]), pb.tensor([0.5, 1.5])
    loop = sum(pb.func.grad(f, 1)(row, b) for row in a)
    np.testing.assert_allclose(pb.func.grad(lambda b: pb.func.vmap(f, (0, None))(a, b).sum())(b), loop)


def test_what_is_refused_in_a_thread_of_the_function_is_raised_by_vmap(monkeypatch):
    """The thread ended with the error, of which only the standard error stream was told, and the result lacked it."""
    monkeypatch.setattr(threading, "excepthook", lambda args: None)

    def function(x):
        found = [x]
        thread = threading.Thread(target=lambda: found.append(pb.sin(x)))
        thread.start()
        thread.join()
        return sum(found)

    with pytest.raises(pb.AutogradError) as caught:
        pb.func.vmap(function)(pb.ones(3))
    assert caught.value.code == "VMAP_ESCAPED"
    assert pb.func.grad(function)(pb.tensor(0.5)).item() == pytest.approx(1 + np.cos(0.5))
