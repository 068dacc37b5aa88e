"""What is loaded when it is first asked for, with the names under which it is asked for.

Loading everything would cost every program what few need (docs/design/import-time.md). A family may be listed here if
the modules in `ops/__init__.py` do without it. A function that is declared in it must be listed too, or nobody finds
it: `tests/ops/test_later.py` compares the names with the declarations.
"""

from __future__ import annotations

LATER: tuple[str, ...] = ("fft", "linalg", "nn", "signal", "special")
"""Families that are namespaces of their own, `pullback.linalg` and so on."""

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

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "application": ("apply_along_axis", "apply_over_axes", "vectorize"),
    "assembly": ("block_diag", "c_", "cartesian_prod", "combinations", "r_"),
    "convolution": ("convolve", "correlate"),
    "grids": (
        "asarray_chkfinite", "bartlett", "blackman", "diag_indices_from", "empty_permuted", "empty_strided",
        "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "hamming", "hanning", "ix_", "kaiser",
        "mask_indices", "mgrid", "ogrid", "range", "ravel_multi_index", "require", "tril_indices_from",
        "triu_indices_from", "unravel_index",
    ),
    "inspection": (
        "array2string", "array_repr", "array_str", "get_printoptions", "is_contiguous", "is_tensor", "isfortran",
        "isscalar", "itemsize", "iterable", "may_share_memory", "nbytes", "ndim", "numel", "printoptions",
        "set_printoptions", "shape", "shares_memory", "size", "stride", "strides",
    ),
    "products": (
        "addbmm", "addmm", "addmv", "addr", "baddbmm", "bilinear", "cdist", "chain_matmul", "cosine_similarity", "dist",
        "linear", "pairwise_distance", "pdist",
    ),
    "selection": (
        "choose", "compress", "copyto", "copyto_copy", "delete", "extract", "fill_diagonal", "fill_diagonal_copy",
        "insert", "piecewise", "place", "place_copy", "putmask", "putmask_copy", "resize", "select",
    ),
    "sorting": (
        "argpartition", "argsort", "kthvalue", "median", "msort", "partition", "searchsorted", "sort",
        "sort_with_indices", "topk", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    ),
    "updates": ("index_reduce", "scatter_reduce"),
    "histograms": (
        "bincount", "bucketize", "digitize", "histc", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    ),
    "integration": ("cumulative_trapezoid", "ediff1d", "gradient", "simpson", "trapezoid", "trapz"),
    "interpolation": ("interp",),
    "polynomial": (
        "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
        "vander",
    ),
    "quantiles": ("nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"),
    "random": (
        "bernoulli", "manual_seed", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    ),
    "sets": (
        "in1d", "intersect1d", "isin", "lexsort", "setdiff1d", "setxor1d", "sort_complex", "trim_zeros", "union1d",
        "unique", "unique_consecutive",
    ),
    "statistics": (
        "aminmax", "average", "corrcoef", "cov", "logmeanexp", "mode", "nanargmax", "nanargmin", "nancumprod",
        "nancumsum", "nanmax", "nanmin", "nanstd", "nanvar", "ptp", "standardize",
    ),
}  # fmt: skip
"""Modules of this package, and the public functions that they declare."""

METHODS: dict[str, tuple[str, ...]] = {
    "assembly": ("combinations",),
    "convolution": FUNCTIONS["convolution"],
    "histograms": FUNCTIONS["histograms"],
    "inspection": ("is_contiguous", "numel", "stride"),
    "integration": FUNCTIONS["integration"],
    "interpolation": FUNCTIONS["interpolation"],
    "polynomial": tuple(name for name in FUNCTIONS["polynomial"] if name != "polyfit"),
    "products": ("addbmm", "addmm", "addmv", "addr", "baddbmm", "cdist", "dist", "pdist"),
    "quantiles": FUNCTIONS["quantiles"],
    "random_discrete": ("bernoulli",),
    "random_fill": (
        "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
    ),
    "selection": ("choose", "compress", "delete", "fill_diagonal_", "insert", "piecewise"),
    "sets": tuple(name for name in FUNCTIONS["sets"] if name != "lexsort"),
    "sorting": FUNCTIONS["sorting"],
    "statistics": FUNCTIONS["statistics"],
    "updates": (
        "addcdiv_", "addcmul_", "addmm_", "at", "index_reduce", "index_reduce_", "lerp_", "nan_to_num_", "put_",
        "scatter_reduce", "scatter_reduce_",
    ),
}  # fmt: skip
"""Modules of this package, and the methods and other members that they give `Tensor`."""
