"""What `pullback.nn` promises beyond values: conventions at edges, errors, state, randomness, higher orders."""

import math
import warnings

import numpy as np
import pytest
from scipy import ndimage, special

import pullback as pb
from pullback.autograd import gradcheck
from pullback.operators.nn.erf import normal_cdf
from pullback.testing import assert_close

F = pb.nn
SparseGrad = pb.autograd.SparseGrad


def leaf(values):
    return pb.tensor(np.asarray(values, float), requires_grad=True)


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def slopes(function, points):
    """The derivative at each of `points`."""
    x = leaf(points)
    function(x).sum().backward()
    return x.grad.numpy().tolist()


# The namespace


def test_functional_is_another_name_of_the_module():
    assert F.functional is F and F.functional.gelu is F.gelu


def test_lists_and_arrays_are_constants():
    assert isinstance(F.leaky_relu([-1.0, 1.0]), pb.Tensor)
    assert_close(F.linear([[1.0, 2.0]], np.array([[3.0, 4.0]]), [0.5]), [[11.5]])


# Activations


@pytest.mark.parametrize(
    "function, points, expected",
    [
        pytest.param(lambda x: F.leaky_relu(x, 0.2), [0.0], [0.2], id="leaky_relu"),
        pytest.param(lambda x: F.prelu(x, pb.tensor([0.3])), [0.0], [0.3], id="prelu"),
        pytest.param(lambda x: F.elu(x, 1.5), [0.0], [1.5], id="elu"),
        pytest.param(F.relu6, [0.0, 6.0], [0.0, 0.0], id="relu6"),
        pytest.param(F.hardtanh, [-1.0, 1.0], [0.0, 0.0], id="hardtanh"),
        pytest.param(F.hardsigmoid, [-3.0, 3.0], [0.0, 0.0], id="hardsigmoid"),
        pytest.param(F.hardswish, [-3.0, 3.0], [0.0, 1.0], id="hardswish"),
        pytest.param(F.softshrink, [-0.5, 0.5], [0.0, 0.0], id="softshrink"),
        pytest.param(F.hardshrink, [-0.5, 0.5], [0.0, 0.0], id="hardshrink"),
        pytest.param(lambda x: F.threshold(x, 0.5, 1.0), [0.5], [0.0], id="threshold"),
        pytest.param(F.relu, [0.0], [0.0], id="relu"),
    ],
)
def test_the_derivative_at_a_kink(function, points, expected):
    assert slopes(function, points) == expected


def test_relu_keeps_a_nan_alive():
    x = leaf([math.nan])
    F.relu(x).backward(pb.tensor([3.0]))
    assert x.grad.numpy().tolist() == [3.0]


@pytest.mark.parametrize("function", [F.hardtanh, F.softshrink, F.hardshrink, F.elu, F.gelu, F.relu6])
def test_nan_stays_nan(function):
    assert math.isnan(float(function(pb.tensor(math.nan))))


@pytest.mark.parametrize("function", [F.silu, F.softplus, F.mish, F.elu, F.selu, F.gelu])
def test_large_arguments_do_not_overflow(function):
    with np.errstate(over="raise", invalid="raise"):
        out = function(pb.tensor([-800.0, 800.0])).numpy()
    assert out[1] >= 800 and -2 < out[0] <= 0


def test_activations_have_twins_that_write():
    x = leaf([-1.0, 2.0])
    h = x * 1
    assert F.leaky_relu_(h, 0.5) is h and h.detach().numpy().tolist() == [-0.5, 2.0] and h._version == 1
    h.sum().backward()
    assert x.grad.numpy().tolist() == [0.5, 1.0]
    assert {"relu_", "elu_", "selu_", "hardtanh_", "threshold_", "swish_"} <= set(F.__all__)


def test_the_normal_distribution_is_accurate_in_both_tails():
    x = np.concatenate([np.linspace(-37, 9, 4001), [-0.0, -np.inf, np.inf]])
    expected = special.ndtr(x)
    np.testing.assert_allclose(normal_cdf(x)[-3:], expected[-3:])
    # The last digit of x alone changes the tail by x * x times as much.
    error = np.abs(normal_cdf(x) - expected)[:-3] / expected[:-3]
    assert (error <= 4e-15 + 4e-16 * np.square(x[:-3])).all()
    assert normal_cdf(np.float32([0.5])).dtype == np.float32


def test_single_precision_stays_single_precision():
    x = pb.tensor(noise(3).astype(np.float32), requires_grad=True)
    for function in (F.gelu, F.silu, F.elu, F.softplus, F.leaky_relu, F.hardswish, F.mish):
        out = function(x)
        (gradient,) = pb.autograd.grad(out.sum(), x)
        assert out.dtype == gradient.dtype == pb.float32


def test_activations_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="approximate"):
        F.gelu(pb.zeros(2), "sigmoid")
    with pytest.raises(TypeError, match="negative_slope"):
        F.leaky_relu(pb.zeros(2), slope=0.1)
    with pytest.raises(ValueError, match="halves"):
        F.glu(pb.zeros(3))


def test_gumbel_softmax_is_a_vertex_with_a_soft_gradient():
    logits = leaf(noise(4, 5))
    hard = F.gumbel_softmax(logits, hard=True, generator=pb.random.default_rng(3))
    soft = F.gumbel_softmax(logits, generator=pb.random.default_rng(3))
    assert_close(np.sort(hard.detach().numpy(), axis=-1)[:, :4], np.zeros((4, 4)), atol=1e-15)
    assert hard.detach().numpy().argmax(-1).tolist() == soft.detach().numpy().argmax(-1).tolist()
    weight = pb.tensor(noise(4, 5, seed=1))
    assert_close(pb.autograd.grad(hard, logits, weight)[0], pb.autograd.grad(soft, logits, weight)[0])


# Normalization


def test_a_constant_row_is_finite_because_of_eps():
    x = leaf(np.ones((2, 4)))
    out = F.layer_norm(x, (4,))
    out.backward(pb.tensor(noise(2, 4)))
    assert not out.detach().numpy().any() and np.isfinite(x.grad.numpy()).all()
    with np.errstate(all="ignore"):
        assert np.isnan(F.layer_norm(x, (4,), eps=0.0).detach().numpy()).all()


def test_batch_norm_moves_the_running_statistics_outside_the_graph():
    x = leaf(noise(6, 3))
    mean, var = pb.zeros(3), pb.ones(3)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    values = x.detach().numpy()
    assert_close(mean, 0.25 * values.mean(0))
    assert_close(var, 0.75 + 0.25 * values.var(0, ddof=1))
    assert not mean.requires_grad and not var.requires_grad


@pytest.mark.parametrize("norm", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("way", ["jvp", "hessian", "jacrev", "compiled"])
def test_running_statistics_have_neither_history_nor_tangents(norm, way):
    x = pb.tensor(np.random.default_rng(0).normal(size=(2, 2, 3)))
    options = {"training": True} if norm == "batch_norm" else {}
    derivatives, statistics = [], []
    for mean, var in ((None, None), (pb.zeros(2), pb.ones(2))):

        def loss(x, mean=mean, var=var):
            return (getattr(F, norm)(x, mean, var, **options) ** 3).sum()

        derivatives.append({
            "jvp": lambda f: pb.func.jvp(f, (x,), (pb.cos(x),))[1],
            "hessian": lambda f: pb.func.hessian(f)(x),
            "jacrev": lambda f: pb.func.jacrev(f)(x),
            "compiled": lambda f: pb.func.grad(pb.compile(f, backend="numpy", fallback="raise"))(x),
        }[way](loss))  # fmt: skip
        statistics += [] if mean is None else [mean, var]
    assert_close(derivatives[0], derivatives[1])
    expected = [pb.zeros(2), pb.ones(2)]
    getattr(F, norm)(x, *expected, **options)
    for found, one in zip(statistics, expected, strict=True):
        assert not found.requires_grad
        assert_close(found, one)


def test_group_norm_with_one_group_per_channel_is_instance_norm():
    x = pb.tensor(noise(2, 4, 5))
    assert_close(F.group_norm(x, 4), F.instance_norm(x))
    assert_close(F.group_norm(x, 1), F.layer_norm(x, (4, 5)))


def test_normalizing_zeros_has_a_finite_gradient():
    x = leaf(np.zeros((2, 3)))
    F.normalize(x).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_weight_norm_splits_length_and_direction():
    v, g = leaf(noise(3, 4)), leaf(np.array([[1.0], [2.0], [3.0]]))
    assert_close(np.linalg.norm(F.weight_norm(v, g).detach().numpy(), axis=1), [1.0, 2.0, 3.0])


def test_normalization_says_what_does_not_fit():
    with pytest.raises(ValueError, match="last axes"):
        F.layer_norm(pb.zeros((2, 3)), (4,))
    with pytest.raises(ValueError, match="groups"):
        F.group_norm(pb.zeros((2, 3)), 2)
    with pytest.raises(ValueError, match="no variance"):
        F.batch_norm(pb.zeros((1, 3)), training=True)


def test_layer_norm_keeps_its_input_and_three_small_things():
    x, weight = leaf(noise(2, 4)), leaf(np.ones(4))
    node = F.layer_norm(x, (4,), weight).grad_fn
    kept = [saved for saved in (*node.saved_operands, *node.saved_outputs) if saved is not None]
    assert len(kept) == 4


# Losses


def test_the_mean_over_no_rows_is_nan_with_gradient_zero():
    x = leaf(noise(2, 3))
    with np.errstate(invalid="ignore", divide="ignore"):
        loss = F.cross_entropy(x, pb.tensor([-100, -100]))
        loss.backward()
    assert math.isnan(float(loss.detach())) and x.grad.numpy().tolist() == np.zeros((2, 3)).tolist()


def test_cross_entropy_of_extreme_logits_is_exact():
    x = leaf([[1e4, -1e4, 0.0]])
    loss = F.cross_entropy(x, pb.tensor([1]))
    loss.backward()
    assert float(loss.detach()) == 2e4 and x.grad.numpy().tolist() == [[1.0, -1.0, 0.0]]


def test_cross_entropy_equals_its_definition():
    x, target, weight = leaf(noise(4, 5, 3)), np.random.default_rng(1).integers(0, 5, (4, 3)), leaf(np.arange(1.0, 6))
    fused = F.cross_entropy(x, pb.tensor(target), weight, label_smoothing=0.1)
    logs = F.log_softmax(x, 1)
    share = (0.9 * np.eye(5)[target] + 0.02).transpose(0, 2, 1)
    rows = -(logs * (share * weight.reshape(5, 1))).sum(axis=1)
    plain = rows.sum() / weight[pb.tensor(target)].sum()
    assert_close(fused, plain)
    for a, b in zip(pb.autograd.grad(fused, (x, weight)), pb.autograd.grad(plain, (x, weight))):
        assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_a_batch_of_nothing_has_an_empty_loss():
    assert F.cross_entropy(pb.zeros((0, 5)), pb.zeros(0, dtype=pb.int64), reduction="none").shape == (0,)


def test_targets_outside_the_classes_raise():
    with pytest.raises(IndexError, match="5 classes"):
        F.cross_entropy(pb.zeros((1, 5)), pb.tensor([5]))
    with pytest.raises(ValueError, match="reduction"):
        F.mse_loss(pb.zeros(2), pb.zeros(2), "average")


@pytest.mark.parametrize("loss", [F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.mse_loss])
def test_the_derivative_of_a_distance_at_equality_is_zero(loss):
    x = leaf([1.0])
    loss(x, pb.tensor([1.0])).backward()
    assert x.grad.numpy().tolist() == [0.0]


def test_certain_probabilities_that_are_right_have_gradient_zero():
    x = leaf([0.0, 1.0])
    loss = F.binary_cross_entropy(x, pb.tensor([0.0, 1.0]), reduction="none")
    loss.sum().backward()
    assert loss.detach().numpy().tolist() == [0.0, 0.0] and x.grad.numpy().tolist() == [0.0, 0.0]
    assert float(F.binary_cross_entropy(pb.tensor(0.0), pb.tensor(1.0))) == 100.0


def test_kl_div_of_impossible_events_is_zero_with_finite_gradients():
    x, t = leaf([-1.0, -2.0]), leaf([0.0, 1.0])
    F.kl_div(x, t, reduction="sum").backward()
    assert np.isfinite(t.grad.numpy()).all() and x.grad.numpy().tolist() == [0.0, -1.0]


def test_a_target_longer_than_its_time_has_infinite_ctc_loss():
    x = leaf(np.log(np.full((1, 1, 3), 1 / 3)))
    arguments = (pb.tensor([[1, 1]]), pb.tensor([1]), pb.tensor([2]))
    assert float(F.ctc_loss(x, *arguments, reduction="sum").detach()) == math.inf
    loss = F.ctc_loss(x, *arguments, reduction="sum", zero_infinity=True)
    loss.backward()
    assert float(loss.detach()) == 0.0 and not x.grad.numpy().any()


# Convolution and pooling


def test_convolution_equals_its_sum():
    x, w = noise(2, 4, 6, 5), noise(2, 2, 3, 2, seed=1)
    out = F.conv2d(x, w, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2).numpy()
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    for (n, o, i, j), value in np.ndenumerate(out):
        window = padded[n, 2 * o : 2 * o + 2, 2 * i : 2 * i + 3, j : j + 4 : 2]
        assert value == pytest.approx((window * w[o]).sum(), abs=1e-12)


def test_the_transpose_is_the_adjoint():
    x, y, w = noise(2, 3, 7), noise(2, 4, 4, seed=1), noise(4, 3, 3, seed=2)
    forth = F.conv1d(x, w, stride=2, padding=1).numpy()
    back = F.conv_transpose1d(y, w, stride=2, padding=1).numpy()
    assert (forth * y).sum() == pytest.approx((x * back).sum())


def test_an_image_without_the_axis_of_examples():
    x, w = noise(3, 5, 5), noise(2, 3, 3, 3)
    assert_close(F.conv2d(x, w), F.conv2d(x[None], w)[0])
    assert F.max_pool2d(x, 2).shape == (3, 2, 2) and F.unfold(x, 3).shape == (27, 9)


def test_convolution_says_what_does_not_fit():
    with pytest.raises(ValueError, match="channels"):
        F.conv1d(pb.zeros((1, 3, 5)), pb.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="larger than the padded input"):
        F.conv1d(pb.zeros((1, 2, 2)), pb.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="stride 1"):
        F.conv1d(pb.zeros((1, 2, 5)), pb.zeros((1, 2, 3)), stride=2, padding="same")
    with pytest.raises(ValueError, match="half of the window"):
        F.max_pool1d(pb.zeros((1, 2, 5)), 2, padding=2)


def test_of_equal_elements_the_first_is_the_largest():
    x = leaf(np.zeros((1, 1, 2, 4)))
    F.max_pool2d(x, 2).sum().backward()
    assert x.grad.numpy()[0, 0].tolist() == [[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]


def test_nan_is_the_largest_and_gets_the_gradient():
    x = leaf([[[1.0, math.nan, 5.0, math.nan]]])
    out = F.max_pool1d(x, 4)
    out.sum().backward()
    assert math.isnan(float(out.detach())) and x.grad.numpy().tolist() == [[[0.0, 1.0, 0.0, 0.0]]]


def test_a_window_of_minus_infinities_points_inside():
    out, index = F.max_pool1d_with_indices(pb.full((1, 1, 3), -math.inf), 3, 1, 1)
    assert out.numpy().tolist() == [[[-math.inf] * 3]] and index.numpy().tolist() == [[[0, 0, 1]]]


def test_max_pool_keeps_only_places():
    node = F.max_pool2d(leaf(noise(1, 1, 4, 4)), 2).grad_fn
    assert not any(saved is not None for saved in node.saved_operands)


def test_fold_is_the_transpose_of_unfold():
    x, y = noise(1, 2, 4, 5), noise(1, 8, 12, seed=1)
    assert (F.unfold(x, 2).numpy() * y).sum() == pytest.approx((x * F.fold(y, (4, 5), 2).numpy()).sum())


def test_fractional_windows_are_where_torch_puts_them():
    x = np.sin(np.arange(42.0)).reshape(1, 1, 6, 7)
    out, index = F.fractional_max_pool2d(x, 2, (3, 3), return_indices=True, random_samples=[[[0.3, 0.8]]])
    assert index.numpy().reshape(-1).tolist() == [8, 3, 13, 14, 25, 27, 28, 39, 33]
    assert_close(out, x.reshape(-1)[index.numpy()].reshape(out.shape))
    drawn = F.fractional_max_pool2d(x, 2, output_ratio=0.5, generator=pb.random.default_rng(0))
    assert drawn.shape == (1, 1, 3, 3)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_coordinates_are_mapped_as_scipy_maps_them(mode, order):
    x, points = noise(5, 4), np.random.default_rng(1).uniform(-3, 7, (2, 40))
    scipy_mode = {"wrap": "grid-wrap", "constant": "grid-constant"}.get(mode, mode)
    expected = ndimage.map_coordinates(x, points, order=order, mode=scipy_mode, cval=0.5)
    assert_close(F.map_coordinates(x, points, order, mode, 0.5), expected)


# Layers


def test_an_embedding_with_a_sparse_gradient():
    weight = leaf(noise(5, 2))
    F.embedding(pb.tensor([[3, 1], [3, -1]]), weight, sparse=True).sum().backward()
    assert isinstance(weight.grad, SparseGrad)
    assert weight.grad.coalesce().indices.tolist() == [1, 3, 4]
    assert weight.grad.to_dense().tolist() == [[0, 0], [1, 1], [0, 0], [2, 2], [1, 1]]


def test_a_sparse_gradient_that_is_differentiated_again_is_dense():
    weight = leaf(noise(3, 2))
    out = pb.take(weight, pb.tensor([2, 0, 2]), axis=0, sparse_grad=True)
    (gradient,) = pb.autograd.grad((out * out).sum(), weight, create_graph=True)
    (second,) = pb.autograd.grad(gradient.sum(), weight)
    assert np.asarray(second.to_dense() if isinstance(second, SparseGrad) else second.numpy()).tolist() == [
        [2.0, 2.0],
        [0.0, 0.0],
        [4.0, 4.0],
    ]


def test_sparse_gradients_are_for_rows():
    with pytest.raises(ValueError, match="axis must be 0"):
        pb.take(pb.zeros((2, 3)), pb.tensor([0]), axis=1, sparse_grad=True)


def test_max_norm_shortens_the_rows_that_are_read():
    weight = leaf([[3.0, 4.0], [3.0, 4.0], [0.3, 0.4]])
    out = F.embedding(pb.tensor([0, 2]), weight, max_norm=1.0)
    assert_close(out.detach(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    assert_close(weight.detach()[1], [3.0, 4.0])


def test_dropout_keeps_the_mean_and_follows_its_generator():
    x = leaf(np.ones(10000))
    out = F.dropout(x, 0.25, generator=pb.random.default_rng(5))
    again = F.dropout(x, 0.25, generator=pb.random.default_rng(5))
    values = out.detach().numpy()
    assert set(np.unique(values)) == {0.0, 1 / 0.75} and abs(values.mean() - 1) < 0.03
    assert (values == again.detach().numpy()).all()
    out.sum().backward()
    assert (x.grad.numpy() == values).all()


def test_dropout_of_everything_and_of_nothing():
    x = leaf([1.0, math.inf])
    out = F.dropout(x, 1.0)
    out.sum().backward()
    assert out.detach().numpy().tolist() == [0.0, 0.0] and x.grad.numpy().tolist() == [0.0, 0.0]
    assert F.dropout(x, 0.5, training=False) is x
    with pytest.raises(ValueError, match="probability"):
        F.dropout(x, 1.5)


def test_channel_dropout_drops_whole_channels():
    values = F.dropout2d(pb.ones((8, 8, 3, 3)), 0.5, generator=pb.random.default_rng(1)).numpy()
    assert (values.max((2, 3)) == values.min((2, 3))).all() and 0 < (values == 0).mean() < 1


def test_alpha_dropout_keeps_mean_and_variance():
    x = pb.tensor(noise(100000))
    values = F.alpha_dropout(x, 0.3, generator=pb.random.default_rng(2)).numpy()
    assert abs(values.mean()) < 0.02 and abs(values.var() - 1) < 0.02


def test_recurrent_cells_equal_their_formulas():
    x, h, c = noise(2, 3), noise(2, 4, seed=1), noise(2, 4, seed=2)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    w, u = noise(16, 3, seed=3), noise(16, 4, seed=4)
    total = x @ w.T + h @ u.T
    i, f, g, o = np.split(total, 4, axis=1)
    cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    hidden, state = F.lstm_cell(x, (h, c), w, u)
    assert_close(state, cell)
    assert_close(hidden, sigmoid(o) * np.tanh(cell))
    assert_close(F.rnn_cell(x, h, w[:4], u[:4]), np.tanh(total[:, :4]))
    (rx, zx, nx), (rh, zh, nh) = np.split(x @ w[:12].T, 3, axis=1), np.split(h @ u[:12].T, 3, axis=1)
    new, update = np.tanh(nx + sigmoid(rx + rh) * nh), sigmoid(zx + zh)
    assert_close(F.gru_cell(x, h, w[:12], u[:12]), (1 - update) * new + update * h)


# Attention


def test_a_row_that_sees_nothing_is_zero_with_gradient_zero():
    q, k, v = leaf(noise(2, 3)), leaf(noise(4, 3)), leaf(noise(4, 3))
    mask = pb.tensor(np.array([[False] * 4, [True] * 4]))
    out = F.scaled_dot_product_attention(q, k, v, mask)
    out.sum().backward()
    assert out.detach().numpy()[0].tolist() == [0.0] * 3 and q.grad.numpy()[0].tolist() == [0.0] * 3
    assert all(np.isfinite(x.grad.numpy()).all() for x in (q, k, v))


def test_attention_with_dropout_is_attention_on_average():
    q, k = pb.tensor(noise(3, 4)), pb.tensor(noise(5, 4, seed=1))
    plain = F.scaled_dot_product_attention(q, k, pb.ones((5, 1)))
    draws = [
        F.scaled_dot_product_attention(q, k, pb.ones((5, 1)), dropout_p=0.2, generator=pb.random.default_rng(seed))
        for seed in range(300)
    ]
    assert_close(np.mean([d.numpy() for d in draws], axis=0), plain, atol=0.05, rtol=0)


def test_heads_attend_in_subspaces():
    x, w, u = noise(3, 2, 4), noise(12, 4, seed=1), noise(4, 4, seed=2)

    def attend(query, key, **options):
        given = (4, 2, w, None, None, None, False, 0.0, u, None)
        return F.multi_head_attention_forward(query, key, key, *given, **options)

    out, weights = attend(x, x)
    parts, averages = [], []
    for head in (0, 2):
        q, k, v = ((x @ w[4 * i + head : 4 * i + head + 2].T).swapaxes(0, 1) for i in range(3))
        averages.append(special.softmax(q @ k.swapaxes(1, 2) / math.sqrt(2), axis=-1))
        parts.append(averages[-1] @ v)
    assert_close(out, (np.concatenate(parts, axis=-1) @ u.T).swapaxes(0, 1))
    assert_close(weights, np.mean(averages, axis=0))
    masked, none = attend(x, x, key_padding_mask=[[False, False, True], [False] * 3], need_weights=False)
    assert none is None
    assert_close(masked[:, 1], out[:, 1])
    assert_close(masked[:, :1], attend(x[:, :1], x[:2, :1])[0])
    assert_close(attend(x[:, 0], x[:, 0], is_causal=True)[0], attend(x[:, :1], x[:, :1], is_causal=True)[0][:, 0])


def test_an_appended_element_is_never_hidden():
    x, w, u = noise(2, 1, 2), np.tile(np.eye(2), (3, 1)), np.eye(2)
    bias = np.array([[[0.5, -0.5]]])
    hidden = np.ones((1, 2), bool)
    given = (2, 1, w, None, bias, bias, False, 0.0, u, None)
    out, weights = F.multi_head_attention_forward(x, x, x, *given, key_padding_mask=hidden)
    assert weights.numpy().tolist() == [[[0.0, 0.0, 1.0]] * 2] and out.numpy().tolist() == [[[0.5, -0.5]]] * 2


# First and second derivatives


@pytest.mark.parametrize(
    "function, shapes",
    [
        pytest.param(lambda x, w, b: F.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)], id="layer_norm"),
        pytest.param(lambda x, w: F.rms_norm(x, (3,), w), [(2, 3), (3,)], id="rms_norm"),
        pytest.param(lambda x: F.cross_entropy(x, [2, 0], label_smoothing=0.1), [(2, 3)], id="cross_entropy"),
        pytest.param(lambda x, w: F.conv2d(x, w, padding=1, stride=2), [(1, 2, 3, 3), (2, 2, 2, 2)], id="conv2d"),
        pytest.param(lambda x, w: F.conv_transpose1d(x, w, stride=2), [(1, 2, 3), (2, 1, 2)], id="conv_transpose1d"),
        pytest.param(lambda x: F.avg_pool1d(x, 2, 1, 1), [(1, 2, 4)], id="avg_pool1d"),
        pytest.param(lambda x: F.max_pool1d(x, 2), [(1, 2, 4)], id="max_pool1d"),
        pytest.param(F.scaled_dot_product_attention, [(2, 3), (3, 3), (3, 2)], id="attention"),
        pytest.param(lambda x, g: F.grid_sample(x, 0.3 * g), [(1, 1, 3, 3), (1, 1, 2, 2)], id="grid_sample"),
        pytest.param(lambda x, c: F.map_coordinates(x, 0.4 * c, mode="wrap"), [(3,), (1, 2)], id="map_coordinates"),
        pytest.param(F.gelu, [(4,)], id="gelu"),
        pytest.param(F.linear, [(2, 3), (2, 3), (2,)], id="linear"),
        pytest.param(F.binary_cross_entropy_with_logits, [(3,), (3,)], id="bce with logits"),
    ],
)
def test_first_and_second_derivatives_by_finite_differences(function, shapes):
    inputs = tuple(leaf(noise(*shape, seed=k)) for k, shape in enumerate(shapes))
    assert pb.autograd.gradcheck(function, inputs)
    assert pb.autograd.gradgradcheck(function, inputs)


def test_fractional_pooling_of_volumes_takes_the_largest_element_of_every_window():
    x = leaf(np.random.default_rng(4).normal(size=(2, 2, 5, 6, 7)))
    generator = pb.random.default_rng(1)
    out, index = F.fractional_max_pool3d(x, (2, 3, 2), (2, 3, 4), return_indices=True, generator=generator)
    flat = x.detach().numpy().reshape(2, 2, -1)
    assert_close(out.detach(), np.take_along_axis(flat, index.numpy().reshape(2, 2, -1), -1).reshape(out.shape))
    out.sum().backward()
    assert x.grad.sum().item() == out.size
    whole = F.fractional_max_pool3d(x, (5, 6, 7), 1)
    assert_close(whole.reshape(2, 2), x.amax((2, 3, 4)))


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_cubic_samples_on_a_grid_of_pixels_are_the_pixels(padding_mode, align_corners):
    x = np.random.default_rng(5).normal(size=(1, 2, 4, 5))
    options = {"mode": "bicubic", "padding_mode": padding_mode, "align_corners": align_corners}
    grid = F.affine_grid(np.eye(2, 3)[None], x.shape, align_corners=align_corners)
    assert_close(F.grid_sample(x, grid, **options), x)
    points = np.random.default_rng(6).uniform(-1.3, 1.3, (1, 3, 2, 2))
    assert gradcheck(lambda x, g: F.grid_sample(x, g, **options), (leaf(x), leaf(points)), check_forward_ad=True)


@pytest.mark.parametrize("widths, options", [
    ((1,), {}), ((1, 1, 1, 1), {}), ((1, 1), {"mode": "edge"}), ((1, 1), {"mode": "reflect", "value": 1.0}),
])  # fmt: skip
def test_pad_refuses_what_is_no_border(widths, options):
    with pytest.raises(ValueError, match=r"nn\.pad"):
        pb.nn.pad(pb.ones(3), widths, **options)


def test_pad_counts_from_the_last_axis_and_its_value_has_a_gradient():
    x, value = pb.ones(2, 3), pb.tensor(5.0, requires_grad=True)
    out = pb.nn.functional.pad(x, (0, 1), value=value)
    assert out.tolist() == [[1, 1, 1, 5], [1, 1, 1, 5]]
    assert pb.autograd.grad(out.sum(), value)[0].item() == 2
    same = pb.nn.pad(x, (0, 0))
    assert same.tolist() == x.tolist() and same is not x


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_in_no_time_there_is_the_alignment_of_no_label_only(zero_infinity):
    scores = pb.nn.log_softmax(pb.tensor(np.random.default_rng(2).normal(size=(5, 3, 7))), axis=2).requires_grad_()
    targets, none = pb.tensor([[1, 2], [3, 4], [5, 6]]), 0.0 if zero_infinity else np.inf
    how = {"reduction": "none", "zero_infinity": zero_infinity}
    losses = pb.nn.ctc_loss(scores, targets, pb.tensor([5, 0, 0]), pb.tensor([2, 0, 1]), **how)
    assert_close(losses[1:], [0.0, none])
    if zero_infinity:
        losses.sum().backward()
        assert scores.grad[:, 0].abs().sum() > 0 and not scores.grad[:, 1:].any()


@pytest.mark.parametrize(
    ("spans", "sizes"), [([6, 5], [1, 1]), ([-1, 5], [1, 1]), ([5, 5], [3, 1]), ([5, 5], [-1, 1]), ([5.0, 5.0], [1, 1])]
)
def test_lengths_of_sequences_are_whole_and_fit(spans, sizes):
    scores = pb.nn.log_softmax(pb.zeros((5, 2, 4)), axis=2)
    with pytest.raises((ValueError, TypeError), match=r"ctc_loss: (input|target)_lengths"):
        pb.nn.ctc_loss(scores, pb.tensor([[1, 2], [3, 1]]), pb.tensor(spans), pb.tensor(sizes))


@pytest.mark.parametrize("state", [(1, 4), (3, 1), (4,), (2, 4)])
def test_recurrent_cells_refuse_states_of_other_examples(state):
    x, hidden, wrong = pb.ones((3, 5)), pb.ones((3, 4)), pb.ones(state)
    for cell, rows in ((pb.nn.rnn_cell, 4), (pb.nn.gru_cell, 12)):
        with pytest.raises(ValueError, match="a state of shape"):
            cell(x, wrong, pb.ones((rows, 5)), pb.ones((rows, 4)))
    for given in ((wrong, hidden), (hidden, wrong)):
        with pytest.raises(ValueError, match="a state of shape"):
            pb.nn.lstm_cell(x, given, pb.ones((16, 5)), pb.ones((16, 4)))


def test_arguments_that_would_be_cut_off_or_have_no_meaning_are_refused():
    with pytest.raises(TypeError, match="real numbers"):
        pb.nn.affine_grid(pb.tensor([[[1, 0, 0], [0, 1, 0]]]), (1, 1, 2, 2))
    with pytest.raises(ValueError, match="negative"):
        pb.nn.gaussian_nll_loss(pb.ones(3), pb.ones(3), pb.tensor([1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match="negative"):
        pb.nn.cosine_similarity(pb.ones((2, 3)), pb.ones((2, 3)), eps=-1.0)


def test_a_number_as_variance_takes_the_precision_of_the_others():
    x, target = pb.tensor([0.0, 2.0], dtype=pb.float32), pb.zeros(2, dtype=pb.float32)
    out = pb.nn.gaussian_nll_loss(x, target, 0.5, reduction="none")
    assert out.dtype == pb.float32
    assert_close(out, pb.nn.gaussian_nll_loss(x, target, pb.full((2,), 0.5, dtype=pb.float32), reduction="none"))


@pytest.mark.parametrize("weight", [(4,), (2,), (1, 3), ()])
@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss", "multi_margin_loss"])
def test_weights_are_one_per_class(loss, weight):
    with pytest.raises(ValueError, match="one number per class"):
        getattr(pb.nn, loss)(pb.zeros((2, 3)), pb.tensor([0, 1]), weight=pb.ones(weight))


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_a_column_that_meets_a_row_of_targets_is_warned_of(loss):
    function = getattr(pb.nn, loss)
    with pytest.warns(UserWarning, match="meet every target"):
        function(pb.ones((3, 1)), pb.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shapes in (((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), ()), ((3,), (3,))):
            function(*map(pb.ones, shapes))


@pytest.mark.parametrize("loss", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
@pytest.mark.parametrize("shapes", [((3, 1), (3,)), ((3,), (3, 3)), ((2, 3), (3,))])
def test_targets_of_another_size_are_refused(loss, shapes):
    with pytest.raises(ValueError, match="must be the same as input size"):
        getattr(pb.nn, loss)(*(pb.full(shape, 0.5) for shape in shapes))


def test_an_image_of_largest_elements_has_a_size_that_its_windows_can_have():
    x, places = pb.ones((1, 1, 2, 2)), pb.tensor([[[[0, 2], [4, 6]]]])
    assert pb.nn.max_unpool2d(x, places, 3, stride=2, output_size=(4, 6)).shape == (1, 1, 4, 6)
    for size in ((3, 5), (5, 7), (9, 9)):
        with pytest.raises(ValueError, match="output_size"):
            pb.nn.max_unpool2d(x, places, 3, stride=2, output_size=size)


@pytest.mark.parametrize("padding_idx", [4, -5, 7])
@pytest.mark.parametrize("function", ["embedding", "embedding_bag"])
def test_padding_is_a_row_of_the_table(function, padding_idx):
    with pytest.raises(IndexError, match="padding_idx"):
        getattr(pb.nn, function)(pb.tensor([[0, 3]]), pb.ones((4, 3)), padding_idx=padding_idx)
