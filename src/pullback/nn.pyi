# Written by `make stubs` (tools/stubs), not by hand.
from collections.abc import Callable, Sequence
from pullback.operators.random.draws import Generator
from pullback.tensors.tensor import Tensor
from pullback.typing import ArrayLike, DTypeLike, ShapeLike

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "alpha_dropout_",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_general",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "dropout_",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "functional",
    "gaussian_nll_loss",
    "gelu",
    "gelu_",
    "glu",
    "grid_sample",
    "group_norm",
    "gru_cell",
    "gumbel_softmax",
    "hardshrink",
    "hardshrink_",
    "hardsigmoid",
    "hardsigmoid_",
    "hardswish",
    "hardswish_",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm_cell",
    "map_coordinates",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mish_",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "prelu_",
    "relu",
    "relu6",
    "relu6_",
    "relu_",
    "rms_norm",
    "rnn_cell",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "silu_",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softplus_",
    "softshrink",
    "softshrink_",
    "softsign",
    "softsign_",
    "squareplus",
    "squareplus_",
    "swish",
    "swish_",
    "tanh",
    "tanhshrink",
    "tanhshrink_",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "weight_norm",
]

from pullback import adaptive_avg_pool1d as adaptive_avg_pool1d
from pullback import adaptive_avg_pool2d as adaptive_avg_pool2d
from pullback import adaptive_avg_pool3d as adaptive_avg_pool3d
from pullback import adaptive_max_pool1d as adaptive_max_pool1d
from pullback import adaptive_max_pool2d as adaptive_max_pool2d
from pullback import adaptive_max_pool3d as adaptive_max_pool3d
def affine_grid(theta: ArrayLike, size: ShapeLike, align_corners: bool = False) -> Tensor: ...
from pullback import alpha_dropout as alpha_dropout
def alpha_dropout_(x: ArrayLike, p: float = 0.5, training: bool = True, *, generator: Generator | None = None) -> Tensor: ...
from pullback import avg_pool1d as avg_pool1d
from pullback import avg_pool2d as avg_pool2d
from pullback import avg_pool3d as avg_pool3d
from pullback import batch_norm as batch_norm
def bilinear(x1: ArrayLike, x2: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor: ...
def binary_cross_entropy(x: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, reduction: str = "mean") -> Tensor: ...
from pullback import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from pullback import celu as celu
def celu_(x: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor: ...
from pullback import channel_shuffle as channel_shuffle
from pullback import conv1d as conv1d
from pullback import conv2d as conv2d
from pullback import conv3d as conv3d
from pullback import conv_general as conv_general
from pullback import conv_transpose1d as conv_transpose1d
from pullback import conv_transpose2d as conv_transpose2d
from pullback import conv_transpose3d as conv_transpose3d
from pullback import cosine_embedding_loss as cosine_embedding_loss
from pullback import cosine_similarity as cosine_similarity
def cross_entropy(x: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor: ...
from pullback import ctc_loss as ctc_loss
from pullback import dropout as dropout
def dropout1d(x: ArrayLike, p: float = 0.5, training: bool = True, *, generator: Generator | None = None) -> Tensor: ...
def dropout2d(x: ArrayLike, p: float = 0.5, training: bool = True, *, generator: Generator | None = None) -> Tensor: ...
def dropout3d(x: ArrayLike, p: float = 0.5, training: bool = True, *, generator: Generator | None = None) -> Tensor: ...
def dropout_(x: ArrayLike, p: float = 0.5, training: bool = True, *, generator: Generator | None = None) -> Tensor: ...
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor: ...
def elu_(x: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor: ...
from pullback import embedding as embedding
from pullback import embedding_bag as embedding_bag
from pullback import feature_alpha_dropout as feature_alpha_dropout
def feature_alpha_dropout_(x: ArrayLike, p: float = 0.5, training: bool = True, *, generator: Generator | None = None) -> Tensor: ...
from pullback import fold as fold
from pullback import fractional_max_pool2d as fractional_max_pool2d
from pullback import fractional_max_pool3d as fractional_max_pool3d
from pullback import nn as functional
def gaussian_nll_loss(x: ArrayLike, target: ArrayLike, var: ArrayLike, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> Tensor: ...
def gelu(x: ArrayLike, approximate: str = "none") -> Tensor: ...
def gelu_(x: ArrayLike, approximate: str = "none") -> Tensor: ...
def glu(x: ArrayLike, axis: int = -1, *, dim: int | None = None) -> Tensor: ...
def grid_sample(x: ArrayLike, grid: ArrayLike, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False) -> Tensor: ...
from pullback import group_norm as group_norm
from pullback import gru_cell as gru_cell
def gumbel_softmax(logits: ArrayLike, tau: ArrayLike = 1.0, hard: bool = False, axis: int = -1, *, dim: int | None = None, size: ShapeLike | None = None, generator: Generator | None = None) -> Tensor: ...
from pullback import hardshrink as hardshrink
def hardshrink_(x: ArrayLike, lambd: float = 0.5) -> Tensor: ...
def hardsigmoid(x: ArrayLike, /, out: Tensor | None = None) -> Tensor: ...
def hardsigmoid_(x: ArrayLike, /) -> Tensor: ...
def hardswish(x: ArrayLike, /, out: Tensor | None = None) -> Tensor: ...
def hardswish_(x: ArrayLike, /) -> Tensor: ...
def hardtanh(x: ArrayLike, min_val: float = -1.0, max_val: float = 1.0) -> Tensor: ...
def hardtanh_(x: ArrayLike, min_val: float = -1.0, max_val: float = 1.0) -> Tensor: ...
from pullback import hinge_embedding_loss as hinge_embedding_loss
def huber_loss(x: ArrayLike, target: ArrayLike, reduction: str = "mean", delta: float = 1.0) -> Tensor: ...
from pullback import instance_norm as instance_norm
def interpolate(x: ArrayLike, size: ShapeLike | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool = False) -> Tensor: ...
from pullback import kl_div as kl_div
def l1_loss(x: ArrayLike, target: ArrayLike, reduction: str = "mean", *, weight: ArrayLike | None = None) -> Tensor: ...
from pullback import layer_norm as layer_norm
def leaky_relu(x: ArrayLike, negative_slope: float = 0.01) -> Tensor: ...
def leaky_relu_(x: ArrayLike, negative_slope: float = 0.01) -> Tensor: ...
def linear(x: ArrayLike, weight: ArrayLike, bias: ArrayLike | None = None) -> Tensor: ...
def local_response_norm(x: ArrayLike, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor: ...
from pullback import log_softmax as log_softmax
from pullback import log_expit as logsigmoid
from pullback import lp_pool1d as lp_pool1d
from pullback import lp_pool2d as lp_pool2d
def lp_pool3d(x: ArrayLike, norm_type: float, kernel_size: ShapeLike, stride: ShapeLike | None = None, ceil_mode: bool = False) -> Tensor: ...
from pullback import lstm_cell as lstm_cell
def map_coordinates(x: ArrayLike, coordinates: ArrayLike, order: int = 1, mode: str = "constant", cval: float = 0.0) -> Tensor: ...
from pullback import margin_ranking_loss as margin_ranking_loss
from pullback import max_pool1d as max_pool1d
from pullback import max_pool1d_with_indices as max_pool1d_with_indices
from pullback import max_pool2d as max_pool2d
from pullback import max_pool2d_with_indices as max_pool2d_with_indices
from pullback import max_pool3d as max_pool3d
from pullback import max_pool3d_with_indices as max_pool3d_with_indices
from pullback import max_unpool1d as max_unpool1d
from pullback import max_unpool2d as max_unpool2d
from pullback import max_unpool3d as max_unpool3d
def mish(x: ArrayLike, /, out: Tensor | None = None) -> Tensor: ...
def mish_(x: ArrayLike, /) -> Tensor: ...
def mse_loss(x: ArrayLike, target: ArrayLike, reduction: str = "mean", *, weight: ArrayLike | None = None) -> Tensor: ...
def multi_head_attention_forward(query: ArrayLike, key: ArrayLike, value: ArrayLike, embed_dim_to_check: int, num_heads: int, in_proj_weight: ArrayLike, in_proj_bias: ArrayLike, bias_k: ArrayLike, bias_v: ArrayLike, add_zero_attn: bool, dropout_p: float, out_proj_weight: ArrayLike, out_proj_bias: ArrayLike, training: bool = True, key_padding_mask: ArrayLike | None = None, need_weights: bool = True, attn_mask: ArrayLike | None = None, use_separate_proj_weight: bool = False, q_proj_weight: ArrayLike | None = None, k_proj_weight: ArrayLike | None = None, v_proj_weight: ArrayLike | None = None, *, average_attn_weights: bool = True, is_causal: bool = False, generator: Generator | None = None) -> tuple[Tensor, Tensor]: ...
def multi_margin_loss(x: ArrayLike, target: ArrayLike, p: int = 1, margin: float = 1.0, weight: ArrayLike | None = None, reduction: str = "mean") -> Tensor: ...
def multilabel_margin_loss(x: ArrayLike, target: ArrayLike, reduction: str = "mean") -> Tensor: ...
def multilabel_soft_margin_loss(x: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, reduction: str = "mean") -> Tensor: ...
def nll_loss(x: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None, ignore_index: int = -100, reduction: str = "mean") -> Tensor: ...
from pullback import normalize as normalize
from pullback import one_hot as one_hot
def pad(x: ArrayLike, pad: Sequence[int], mode: str = "constant", value: ArrayLike | None = None) -> Tensor: ...
from pullback import pairwise_distance as pairwise_distance
from pullback import pdist as pdist
from pullback import pixel_shuffle as pixel_shuffle
from pullback import pixel_unshuffle as pixel_unshuffle
from pullback import poisson_nll_loss as poisson_nll_loss
from pullback import prelu as prelu
def prelu_(x: ArrayLike, weight: ArrayLike) -> Tensor: ...
from pullback import relu as relu
def relu6(x: ArrayLike, /, out: Tensor | None = None) -> Tensor: ...
def relu6_(x: ArrayLike, /) -> Tensor: ...
def relu_(x: ArrayLike, /) -> Tensor: ...
from pullback import rms_norm as rms_norm
def rnn_cell(x: ArrayLike, hidden: ArrayLike, w_ih: ArrayLike, w_hh: ArrayLike, b_ih: ArrayLike | None = None, b_hh: ArrayLike | None = None, *, nonlinearity: str = "tanh") -> Tensor: ...
from pullback import rrelu as rrelu
def rrelu_(x: ArrayLike, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, *, generator: Generator | None = None) -> Tensor: ...
def scaled_dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike, attn_mask: ArrayLike | None = None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False, *, generator: Generator | None = None) -> Tensor: ...
from pullback import selu as selu
def selu_(x: ArrayLike, /) -> Tensor: ...
from pullback import expit as sigmoid
def silu(x: ArrayLike) -> Tensor: ...
def silu_(x: ArrayLike) -> Tensor: ...
def smooth_l1_loss(x: ArrayLike, target: ArrayLike, reduction: str = "mean", beta: float = 1.0) -> Tensor: ...
def soft_margin_loss(x: ArrayLike, target: ArrayLike, reduction: str = "mean") -> Tensor: ...
from pullback import softmax as softmax
def softmin(x: ArrayLike, axis: int = -1, *, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor: ...
def softplus(x: ArrayLike, beta: ArrayLike = 1.0, threshold: float = 20.0) -> Tensor: ...
def softplus_(x: ArrayLike, beta: ArrayLike = 1.0, threshold: float = 20.0) -> Tensor: ...
def softshrink(x: ArrayLike, lambd: float = 0.5) -> Tensor: ...
def softshrink_(x: ArrayLike, lambd: float = 0.5) -> Tensor: ...
def softsign(x: ArrayLike, /, out: Tensor | None = None) -> Tensor: ...
def softsign_(x: ArrayLike, /) -> Tensor: ...
def squareplus(x: ArrayLike, b: float = 4.0) -> Tensor: ...
def squareplus_(x: ArrayLike, b: float = 4.0) -> Tensor: ...
swish = silu
def swish_(x: ArrayLike) -> Tensor: ...
from pullback import tanh as tanh
def tanhshrink(x: ArrayLike, /, out: Tensor | None = None) -> Tensor: ...
def tanhshrink_(x: ArrayLike, /) -> Tensor: ...
from pullback import threshold as threshold
def threshold_(x: ArrayLike, threshold: float, value: float) -> Tensor: ...
from pullback import triplet_margin_loss as triplet_margin_loss
def triplet_margin_with_distance_loss(anchor: ArrayLike, positive: ArrayLike, negative: ArrayLike, *, distance_function: Callable[..., Tensor] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor: ...
def unfold(x: ArrayLike, kernel_size: ShapeLike, dilation: ShapeLike = 1, padding: ShapeLike = 0, stride: ShapeLike = 1) -> Tensor: ...
upsample = interpolate
def weight_norm(v: ArrayLike, g: ArrayLike, axis: int | None = 0, *, dim: int | None = None) -> Tensor: ...
