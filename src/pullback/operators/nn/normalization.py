"""Normalization: layers that give their input mean 0 and variance 1 over some axes.

Layer, batch, group and instance normalization differ only in the axes, so one operator serves them all. It has the
mean and the inverse deviation as further outputs: backward reads these instead of computing them again, and since
outputs are differentiable, so is backward. `weight` and `bias` broadcast against `x`, or are None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import axis_letters, normalize_axes, normalize_axis_index, normalize_shape
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive, reduced_shape
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.build import as_operand
from pullback.operators.arrays.padding import pad
from pullback.operators.arrays.strided import sliding_window_view
from pullback.operators.elementwise.arithmetic import rsqrt, sqrt
from pullback.operators.elementwise.comparison import maximum
from pullback.operators.elementwise.complex_numbers import squared_size
from pullback.operators.linalg.norms import lengths
from pullback.operators.pieces import in_pieces, row_products, scratch_like
from pullback.operators.reductions.reduction import mean, sum, var
from pullback.tape.modes import no_grad


def _aligned(x: Any, rank: int) -> Any:
    """A batch of arrays that broadcast from the right, with axes of length 1 after the batch axis."""
    if x is None or x.ndim == rank:
        return x
    return x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:])


def _dtype(*operands: Any) -> np.dtype[Any]:
    """The dtype of the result of normalizing: floating point in any case."""
    dtype = np.result_type(*(x.dtype for x in operands if x is not None))
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _scaled(x: Any, weight: Any) -> Any:
    return x if weight is None else x * weight


# Mean and variance


def _letters(axis: tuple[int, ...], outputs: int, x: Any, *factors: Any) -> str:
    own = axis_letters(x.ndim, axis)
    terms = [own, *["" if each is None else own[x.ndim - each.ndim :] for each in factors]]
    return f"{','.join(terms)}->{','.join([own] * outputs)}"


@primitive(
    name="_normalize", outputs=("out", "center", "scale"), torch="native_layer_norm", recompute="free",
    letters=lambda x, weight, bias, axis: _letters(axis, 3, x, weight, bias),
)  # fmt: skip
def standardize(x, weight, bias, *, axis, eps):
    """`(x - mean) / sqrt(var + eps) * weight + bias` over `axis`, the mean, and the inverse of the root."""
    layout = _layout(axis, x, weight, bias)
    if layout is not None:
        return _standardize_in_pieces(layout, x, weight, bias, axis, eps)
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    count = max(math.prod(x.shape[k] for k in axis), 1)
    center = np.add.reduce(x, axis=axis, keepdims=True) / x.dtype.type(count)
    out = x - center
    if axis == (x.ndim - 1,):
        spread = np.einsum("...i,...i->...", out, out)[..., None]
    else:
        spread = np.add.reduce(out * out, axis=axis, keepdims=True)
    scale = 1 / np.sqrt(spread / x.dtype.type(count) + x.dtype.type(eps))
    out *= scale
    if weight is not None:
        out = np.multiply(out, weight, out=out) if weight.dtype == out.dtype else out * weight
    if bias is not None:
        out = np.add(out, bias, out=out) if bias.dtype == out.dtype else out + bias
    return out, center, scale


@standardize.kernel_on_arrays
def standardize_few(x, weight, bias, *, axis, eps):
    if not _are_few(axis, x, weight, bias):
        return standardize.kernel(x, weight, bias, axis=axis, eps=eps)
    kind = x.dtype.type
    share = kind(1 / x.shape[1])
    center = np.add.reduce(x, 1, None, None, True)  # type: ignore[call-overload]
    center *= share
    out = x - center
    scale = row_products(out, out)
    scale *= share
    scale += kind(eps)
    np.divide(1, np.sqrt(scale, scale), scale)
    out *= scale
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out, center, scale


def _are_few(axis: tuple[int, ...], x: Any, *factors: Any) -> bool:
    """Rows of a small matrix, and a weight and bias like them?"""
    if axis != (1,) or x.ndim != 2 or x.dtype.char not in "fd" or not 0 < x.size < _FEW or not x.flags.c_contiguous:
        return False
    length, dtype = x.shape[1:], x.dtype
    return all(each is None or (each.shape == length and each.dtype is dtype) for each in factors)


_FEW = 1 << 12


def _inverse_root(spread: Any, count: int, eps: float) -> Any:
    return 1 / sqrt(spread / count + eps)


@standardize.expand(in_rows=True)
def standardize_parts(x, weight, bias, *, axis, eps):
    count = math.prod(x.shape[k] for k in axis)
    center = sum(x, axis=axis, keepdims=True) / count
    out = x - center
    scale = _inverse_root(sum(out * out, axis=axis, keepdims=True), count, eps)
    out = _scaled(out * scale, weight)
    return out if bias is None else out + bias, center, scale


# The two layouts that matter, on plain arrays and in pieces that stay in the cache: rows of the last axes (layers), and
# channels in axis 1 (batches). Both are three axes, of which the middle one is kept.


def _layout(axis: tuple[int, ...], x: Any, *factors: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The three axes of `x`, and those of a weight or bias; None if memory is not laid out so."""
    arrays = [x, *(factor for factor in factors if factor is not None)]
    for each in arrays:
        if type(each) is not np.ndarray or each.dtype.char not in "fd" or each.dtype != x.dtype:
            return None
    if not x.size or not x.flags.c_contiguous:
        return None
    first = x.ndim - len(axis)
    if axis == tuple(range(first, x.ndim)):
        size = math.prod(x.shape[first:])
        three, other, wanted = (1, x.size // size, size), (1, 1, size), x.shape[first:]
    elif axis == (0, *range(2, x.ndim)):
        three, other = (x.shape[0], x.shape[1], math.prod(x.shape[2:])), (1, x.shape[1], 1)
        wanted = (x.shape[1], *(1,) * (x.ndim - 2))
    else:
        return None
    return (three, other) if all(each.shape == wanted for each in arrays[1:]) else None


def _total(x: Any) -> Any:
    return np.add.reduce(x, axis=2, keepdims=True) if len(x) == 1 else np.add.reduce(x, axis=(0, 2), keepdims=True)


def _dot(x: Any, y: Any) -> Any:
    """`_total(x * y)`."""
    products = row_products(x, y)
    return products if len(products) == 1 else np.add.reduce(products, axis=0, keepdims=True)


def _weighted_sum(rows: Any, weights: Any) -> Any:
    """The sum of rows times weights. BLAS has threads of its own for more than a few, which would be in the way."""
    return weights @ rows if rows.size < 1 << 12 else np.einsum("ij,i->j", rows, weights)


def _standardize_in_pieces(layout: Any, x: Any, weight: Any, bias: Any, axis: Any, eps: float) -> tuple[Any, Any, Any]:
    three, other = layout
    source, out = x.reshape(three), np.empty(three, x.dtype)
    weight, bias = (None if each is None else each.reshape(other) for each in (weight, bias))
    center, scale = np.empty((1, three[1], 1), x.dtype), np.empty((1, three[1], 1), x.dtype)
    share, eps = x.dtype.type(1 / (three[0] * three[2])), x.dtype.type(eps)
    by_channel = other[1] == three[1] and other[2] == 1

    def work(start: int, stop: int) -> None:
        place = (slice(None), slice(start, stop))
        middle = np.multiply(_total(source[place]), share, out=center[place])
        part = np.subtract(source[place], middle, out=out[place])
        spread = _dot(part, part)
        spread *= share
        spread += eps
        factor = np.divide(1, np.sqrt(spread, out=spread), out=scale[place])
        if by_channel and weight is not None:
            part *= factor * weight[place]
        else:
            part *= factor
            if weight is not None:
                part *= weight
        if bias is not None:
            part += bias[place] if by_channel else bias

    in_pieces(work, three[1], three[0] * three[2])
    inner = reduced_shape(x.shape, axis, True)
    return out.reshape(x.shape), center.reshape(inner), scale.reshape(inner)


def _standardize_pulled(
    layout: Any, g: Any, x: Any, weight: Any, center: Any, scale: Any, needs: Any
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The gradients of `x`, `weight` and `bias`; the last two are summed already."""
    three, other = layout
    shape, form = x.shape, None if weight is None else weight.shape
    g, x = g.reshape(three), x.reshape(three)
    weight = None if weight is None else weight.reshape(other)
    center, scale = center.reshape((1, -1, 1)), scale.reshape((1, -1, 1))
    share = x.dtype.type(1 / (three[0] * three[2]))
    to_x = np.empty(shape, x.dtype)
    out = to_x.reshape(three)
    by_channel = other[1] == three[1] and other[2] == 1
    sums: dict[int, tuple[Any, Any]] = {}  # of weight and bias, by piece: added in order, whoever was first

    def work(start: int, stop: int) -> None:
        place = (slice(None), slice(start, stop))
        gradient, part = g[place], out[place]
        inside = np.subtract(x[place], center[place], scratch_like(part, 0))
        slope = scale[place]
        if by_channel:
            inside *= slope
            along, whole = _dot(gradient, inside), _total(gradient)
            sums[start] = along, whole
            inside *= along * share
            np.subtract(gradient, inside, out=part)
            part -= whole * share
            part *= slope if weight is None else slope * weight[place]
            return
        if weight is None:
            along, whole, scaled = _dot(gradient, inside), _total(gradient), gradient
        else:
            product = np.multiply(gradient, inside, out=part)
            sums[start] = _weighted_sum(product[0], slope[0, :, 0]), np.add.reduce(gradient[0], axis=0)
            along, whole = _dot(product, weight), _dot(gradient, weight)
            scaled = np.multiply(gradient, weight, out=part)
        inside *= slope * slope * along * share
        inside += whole * share
        np.subtract(scaled, inside, out=part)
        part *= slope

    in_pieces(work, three[1], three[0] * three[2])
    ordered = [sums[start] for start in sorted(sums)]
    to_weight = to_bias = None
    if ordered and form is not None:
        join = (lambda parts: np.concatenate(parts, axis=1)) if by_channel else (lambda parts: np.add.reduce(parts))
        to_weight, to_bias = (join([each[k] for each in ordered]).reshape(form) for k in range(2))
    return to_x, to_weight if needs[1] else None, to_bias if needs[2] else None


@standardize.spec
def standardize_spec(x, weight, bias, *, axis, eps):
    inner = spec_for(reduced_shape(x.shape, axis, True), _dtype(x))
    return spec_for(x.shape, _dtype(x, weight, bias)), inner, inner


def _count(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    return max(math.prod(shape[k] for k in axis), 1)


@standardize.vjp
def standardize_vjp(g_out, g_center, g_scale, x, weight, center, scale, axis, needs):
    needs_x, needs_weight, needs_bias = needs
    if needs_x and g_center is None and g_scale is None and (weight is not None or not needs_bias):
        layout = _layout(axis, x, weight)
        if layout is not None and type(g_out) is np.ndarray and g_out.flags.c_contiguous and g_out.dtype == x.dtype:
            return _standardize_pulled(layout, g_out, x, weight, center, scale, needs)
    inside = (x - center) * scale
    to_weight = g_out * inside if needs_weight and g_out is not None else None
    to_bias = g_out if needs_bias else None
    if not needs_x:
        return None, to_weight, to_bias
    total = None
    if g_out is not None:
        g = _scaled(g_out, weight)
        along = mean(g * inside, axis=axis, keepdims=True)
        total = (g - mean(g, axis=axis, keepdims=True) - inside * along) * scale
    if g_center is not None:
        total = _plus(total, g_center / _count(x.shape, axis))
    if g_scale is not None:
        total = _plus(total, inside * (g_scale * scale * scale * (-1 / _count(x.shape, axis))))
    return total, to_weight, to_bias


@standardize.vjp_on_arrays
def standardize_pulled_of_few(g_out, g_center, g_scale, x, weight, center, scale, axis, needs):
    if (
        g_center is not None
        or g_scale is not None
        or not needs[0]
        or weight is None
        or not _are_few(axis, x, weight)
        or g_out.dtype is not x.dtype
    ):
        return standardize_vjp(g_out, g_center, g_scale, x, weight, center, scale, axis, needs)
    share = x.dtype.type(1 / x.shape[1])
    inside = x - center
    to_x = g_out * inside
    to_weight = (scale[:, 0] @ to_x) if needs[1] else None
    along, whole = row_products(to_x, weight), row_products(g_out, weight)
    along *= share * scale
    along *= scale
    inside *= along
    whole *= share
    inside += whole
    np.multiply(g_out, weight, to_x)
    to_x -= inside
    to_x *= scale
    return to_x, to_weight, np.add.reduce(g_out, 0) if needs[2] else None


def _plus(total: Any, term: Any) -> Any:
    return term if total is None else total + term


@standardize.jvp
def standardize_jvp(t_x, t_weight, t_bias, x, weight, out, center, scale, axis):
    inside = (x - center) * scale
    t_out = t_center = t_scale = None
    if t_x is not None:
        t_center = mean(t_x, axis=axis, keepdims=True)
        along = mean(inside * t_x, axis=axis, keepdims=True)
        t_out = _scaled((t_x - t_center - inside * along) * scale, weight)
        t_scale = -along * scale * scale
    if t_weight is not None:
        t_out = _plus(t_out, inside * t_weight)
    if t_bias is not None:
        t_out = _plus(t_out, t_bias)
    if t_out is not None and t_out.shape != out.shape:
        t_out = t_out + np.zeros(out.shape, t_out.dtype)
    return t_out, t_center, t_scale


@standardize.batch
def standardize_batch(x, weight, bias, *, axis, eps):
    weight, bias = _aligned(weight, x.ndim), _aligned(bias, x.ndim)
    return standardize(x, weight, bias, axis=tuple(k + 1 for k in axis), eps=eps)


standardize.refuses("the variance of complex numbers is not that of their squares", "complex128")


@standardize.samples
def standardize_samples(make: Maker) -> Iterator[Sample]:
    last = {"axis": (1,), "eps": 1e-5}
    yield Sample((make((3, 4)), make((4,)), make((4,))), last, "affine")
    yield Sample((make((3, 4)), None, None), last, "plain")
    yield Sample((make((3, 4)), make((4,)), None), last, "weight")
    yield Sample((make((2, 3, 2, 2)), make((3, 1, 1)), make((3, 1, 1))), {"axis": (0, 2, 3), "eps": 1e-5}, "batch")
    yield Sample((make((3, 4), np.float32), make((4,), np.float32), make((4,), np.float32)), last, "float32")
    yield Sample((make((0, 4)), make((4,)), make((4,))), last, "empty")
    for label, array in layouts(make((3, 4))):
        yield Sample((array, make((4,)), make((4,))), last, label)


# Root mean square


@primitive(
    name="_normalize_rms", outputs=("out", "scale"), torch="fused_rms_norm", recompute="free",
    letters=lambda x, weight, axis: _letters(axis, 2, x, weight),
)  # fmt: skip
def divide_by_rms(x, weight, *, axis, eps):
    """`x / sqrt(mean(x * x) + eps) * weight` over `axis`, and the inverse of the root."""
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    count = x.dtype.type(_count(x.shape, axis))
    scale = 1 / np.sqrt(np.add.reduce(x * x, axis=axis, keepdims=True) / count + x.dtype.type(eps))
    out = x * scale
    return (out if weight is None else out * weight), scale


@divide_by_rms.expand(in_rows=True)
def divide_by_rms_parts(x, weight, *, axis, eps):
    scale = _inverse_root(sum(x * x, axis=axis, keepdims=True), math.prod(x.shape[k] for k in axis), eps)
    return _scaled(x * scale, weight), scale


@divide_by_rms.spec
def divide_by_rms_spec(x, weight, *, axis, eps):
    return spec_for(x.shape, _dtype(x, weight)), spec_for(reduced_shape(x.shape, axis, True), _dtype(x))


@divide_by_rms.vjp
def divide_by_rms_vjp(g_out, g_scale, x, weight, scale, axis, needs):
    needs_x, needs_weight = needs
    to_weight = g_out * (x * scale) if needs_weight and g_out is not None else None
    if not needs_x:
        return None, to_weight
    total = None
    cube = scale * scale * scale
    if g_out is not None:
        g = _scaled(g_out, weight)
        total = g * scale - x * (cube * mean(g * x, axis=axis, keepdims=True))
    if g_scale is not None:
        total = _plus(total, x * (g_scale * cube * (-1 / _count(x.shape, axis))))
    return total, to_weight


@divide_by_rms.jvp
def divide_by_rms_jvp(t_x, t_weight, x, weight, scale, axis):
    t_out = t_scale = None
    if t_x is not None:
        t_scale = -(scale * scale * scale) * mean(x * t_x, axis=axis, keepdims=True)
        t_out = _scaled(t_x * scale + x * t_scale, weight)
    if t_weight is not None:
        t_out = _plus(t_out, x * scale * t_weight)
    return t_out, t_scale


@divide_by_rms.batch
def divide_by_rms_batch(x, weight, *, axis, eps):
    return divide_by_rms(x, _aligned(weight, x.ndim), axis=tuple(k + 1 for k in axis), eps=eps)


divide_by_rms.refuses("the mean square of complex numbers is not that of their squares", "complex128")


@divide_by_rms.samples
def divide_by_rms_samples(make: Maker) -> Iterator[Sample]:
    last = {"axis": (1,), "eps": 1e-5}
    yield Sample((make((3, 4)), make((4,))), last, "weight")
    yield Sample((make((3, 4)), None), last, "plain")
    yield Sample((make((2, 3, 2)), make((3, 2))), {"axis": (1, 2), "eps": 1e-5}, "two axes")
    yield Sample((make((3, 4), np.float32), make((4,), np.float32)), last, "float32")
    yield Sample((make((0, 4)), make((4,))), last, "empty")
    for label, array in layouts(make((3, 4))):
        yield Sample((array, make((4,))), last, label)


# What users call


def _trailing(name: str, x: Any, normalized_shape: Any) -> tuple[int, ...]:
    """The last axes, which must have the lengths that the caller says."""
    shape = normalize_shape(normalized_shape)
    if not shape or x.shape[max(x.ndim - len(shape), 0) :] != shape:
        raise ValueError(f"nn.{name}: the last axes of an array of shape {x.shape} are not {shape}")
    return tuple(range(x.ndim - len(shape), x.ndim))


def _optional(x: Any) -> Any:
    return None if x is None else as_operand(x)


@composite(name="nn.layer_norm")
def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`x` with mean 0 and variance 1 over its last axes, times `weight` plus `bias`.

    `normalized_shape` has the lengths of these axes. A constant row gives `bias` if `eps` is positive
    and a gradient that is finite; both are NaN if `eps` is 0.
    """
    axis = _trailing("layer_norm", x, normalized_shape)
    return standardize(x, _optional(weight), _optional(bias), axis=axis, eps=float(eps))[0]


@composite(name="nn.rms_norm")
def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """`x` with mean square 1 over its last axes, times `weight`; `eps` is the dtype's resolution if not given."""
    axis = _trailing("rms_norm", x, normalized_shape)
    if eps is None:
        eps = float(np.finfo(x.dtype if x.dtype.kind == "f" else np.float64).eps)
    return divide_by_rms(x, _optional(weight), axis=axis, eps=float(eps))[0]


def _per_channel(value: Any, ndim: int) -> Any:
    """A vector with one number per channel (axis 1), ready to broadcast."""
    return None if value is None else as_operand(value).reshape((-1,) + (1,) * (ndim - 2))


@composite(name="nn.batch_norm")
def batch_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """`x` with mean 0 and variance 1 per channel (axis 1), times `weight` plus `bias`.

    In training the statistics are those of the batch, and `running_mean` and `running_var`, where given, move towards
    them by `momentum`, in place and outside the graph. Otherwise the running statistics are used.
    """
    if x.ndim < 2:
        raise ValueError(f"nn.batch_norm: an array with channels in axis 1 is needed, got shape {x.shape}")
    weight, bias = _per_channel(weight, x.ndim), _per_channel(bias, x.ndim)
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("nn.batch_norm: without training, running_mean and running_var are needed")
        scale = rsqrt(_per_channel(running_var, x.ndim) + eps)
        out = _scaled((x - _per_channel(running_mean, x.ndim)) * scale, weight)
        return out if bias is None else out + bias
    axis = (0, *range(2, x.ndim))
    count = math.prod(x.shape[k] for k in axis)
    if count == 1:
        raise ValueError(f"nn.batch_norm: one value per channel has no variance, got shape {x.shape}")
    out, center, _ = standardize(x, weight, bias, axis=axis, eps=float(eps))
    _follow(running_mean, momentum, lambda: center.detach().reshape(-1))
    _follow(running_var, momentum, lambda: var(x.detach(), axis=axis, correction=1))
    return out


def _follow(running: Any, momentum: float, statistic: Callable[[], Any]) -> None:
    """Let a running statistic move towards that of a batch: outside the graph, and without tangents."""
    if running is not None:
        with no_grad():
            running.mul_(1 - momentum).add_(momentum * statistic())


@composite(name="nn.group_norm")
def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`x` with mean 0 and variance 1 per example and group of channels (axis 1), times `weight` plus `bias`."""
    if num_groups < 1 or x.ndim < 2 or x.shape[1] % num_groups:
        raise ValueError(f"nn.group_norm: {num_groups} groups do not divide the channels of shape {x.shape}")
    grouped = (x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
    parts = [
        None if value is None else as_operand(value).reshape((*grouped[1:3], *(1,) * (x.ndim - 2)))
        for value in (weight, bias)
    ]
    axis = tuple(range(2, len(grouped)))
    return standardize(x.reshape(grouped), *parts, axis=axis, eps=float(eps))[0].reshape(x.shape)


@composite(name="nn.instance_norm")
def instance_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """`x` with mean 0 and variance 1 per example and channel, times `weight` plus `bias`.

    Running statistics, where given, move towards the mean over the examples; with `use_input_stats=False` they are
    used in place of the input's own.
    """
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if x.ndim < 3:
        raise ValueError(f"nn.instance_norm: an array with axes after the channels is needed, got shape {x.shape}")
    axis = tuple(range(2, x.ndim))
    weight, bias = _per_channel(weight, x.ndim), _per_channel(bias, x.ndim)
    out, center, _ = standardize(x, weight, bias, axis=axis, eps=float(eps))
    _follow(running_mean, momentum, lambda: mean(center.detach(), axis=(0, *axis)))
    _follow(running_var, momentum, lambda: mean(var(x.detach(), axis=axis, correction=1), axis=0))
    return out


@composite(name="nn.local_response_norm")
def local_response_norm(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """`x` divided by `(k + alpha * m) ** beta`, m being the mean square of `size` neighbouring channels."""
    if x.ndim < 3:
        raise ValueError(f"nn.local_response_norm: an array with axes after the channels is needed, got {x.shape}")
    widths = [(0, 0)] * x.ndim
    widths[1] = (size // 2, (size - 1) // 2)
    windows = sliding_window_view(pad(squared_size(x), widths), size, axis=1)
    return x / (k + alpha * mean(windows, axis=-1)) ** beta


@composite(name="nn.normalize")
def normalize(x: Any, p: float = 2.0, axis: Any = 1, eps: float = 1e-12, *, dim: Any = None) -> Any:
    """`x` divided by its p-norm over `axis`, or by `eps` where the norm is smaller: then the gradient is `g / eps`."""
    axis = normalize_axes(axis if dim is None else dim, x.ndim)
    return x / maximum(lengths(x, axis=axis, keepdims=True, ord=float(p)), eps)


@composite(name="nn.weight_norm", arrays=2)
def weight_norm(v: Any, g: Any, axis: int | None = 0, *, dim: int | None = None) -> Any:
    """`g * v / length(v)`: a weight by direction and length, one length per position of `axis` (None: one for all)."""
    axis = axis if dim is None else dim
    kept = () if axis is None else (normalize_axis_index(axis, v.ndim),)
    others = tuple(k for k in range(v.ndim) if k not in kept)
    return v * (g / lengths(v, axis=others, keepdims=True, ord=2.0))
