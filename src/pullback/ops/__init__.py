"""Every operator, declared once, by family. Importing this package builds their functions and binds Tensor methods."""

from pullback.declare.composite import composites
from pullback.declare.op import registry
from pullback.eager.build import build_all
from pullback.ops import (
    application,
    array_members,
    assembly,
    casting,
    comparison,
    complex_numbers,
    contraction,
    convolution,
    creation,
    dlpack,
    dtypes,
    elementary,
    elementwise,
    extremes,
    grids,
    histograms,
    index_operators,
    indexing,
    inplace_views,
    inspection,
    integration,
    interpolation,
    joining,
    keywords,
    loading,
    logarithms,
    movement,
    padding,
    polynomial,
    products,
    quantiles,
    random,
    random_fill,
    rearranging,
    reduction,
    reshaping,
    scan,
    scatter,
    selection,
    sets,
    sorting,
    statistics,
    strided,
    updates,
)
from pullback.ops.methods import bind_methods, public_functions

_MODULES = (
    application, array_members, assembly, casting, comparison, complex_numbers, contraction, convolution, creation,
    dlpack, dtypes, elementary, elementwise, extremes, grids, histograms, index_operators, indexing, inplace_views,
    inspection, integration, interpolation, joining, keywords, loading, logarithms, movement, padding, polynomial,
    products, quantiles, random, random_fill, rearranging, reduction, reshaping, scan, scatter, selection, sets,
    sorting, statistics, strided, updates,
)  # fmt: skip

LATER: tuple[str, ...] = ("fft", "linalg", "nn", "signal", "special")
"""Families that are namespaces of their own, `pullback.linalg` and so on; they are loaded when first asked for."""

TOP_LEVEL: dict[str, tuple[str, ...]] = {
    "nn": (
        "conv1d", "conv2d", "conv3d", "conv_general", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "fold", "max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices", "max_pool2d_with_indices",
        "max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d",
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
        "adaptive_max_pool2d", "adaptive_max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
        "fractional_max_pool2d", "normalize", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "prelu", "rrelu",
        "threshold", "celu", "selu", "hardshrink", "layer_norm", "rms_norm", "batch_norm", "group_norm",
        "instance_norm", "embedding", "embedding_bag", "dropout", "alpha_dropout", "feature_alpha_dropout", "gru_cell",
        "lstm_cell", "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "hinge_embedding_loss",
        "cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "ctc_loss",
    ),
}  # fmt: skip
"""Functions of those families that are names of `pullback` as well."""

build_all()
functions = {**public_functions(), **grids.subscripted, **assembly.subscripted, **application.subscripted}
bind_methods(functions, _MODULES)

__all__ = ["LATER", "TOP_LEVEL", "composites", "functions", "registry"]
