"""What is loaded when it is first asked for, with the names under which it is asked for.

Loading everything would cost every program what few need (docs/design/import-time.md). A family may be listed here if
the modules in `operators/__init__.py` do without it. A function that is declared in it must be listed too, or nobody
finds it: `tests/operators/test_later.py` compares the names with the declarations.
"""

from __future__ import annotations

LATER: tuple[str, ...] = ("fft", "linalg", "masked", "nested", "nn", "signal", "special")
"""Families that are namespaces of their own, `pullback.linalg` and so on."""

TOP_LEVEL: dict[str, tuple[str, ...]] = {
    "nn": (
        "conv1d", "conv2d", "conv3d", "conv_general", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "fold", "max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices", "max_pool2d_with_indices",
        "max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d",
        "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
        "adaptive_max_pool2d", "adaptive_max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
        "fractional_max_pool2d", "fractional_max_pool3d", "normalize",
        "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "prelu", "rrelu",
        "threshold", "celu", "selu", "hardshrink", "layer_norm", "rms_norm", "batch_norm", "group_norm",
        "instance_norm", "embedding", "embedding_bag", "dropout", "alpha_dropout", "feature_alpha_dropout", "gru_cell",
        "lstm_cell", "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "hinge_embedding_loss",
        "cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "ctc_loss",
    ),
    "special": ("digamma", "erf", "erfc", "erfinv", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma"),
    "linalg": (
        "cholesky_inverse", "cholesky_solve", "det", "geqrf", "lobpcg", "logdet", "lu_unpack", "matrix_exp",
        "matrix_power", "orgqr", "ormqr", "pca_lowrank", "slogdet", "svd_lowrank",
    ),
}  # fmt: skip
"""Functions of those families that are names of `pullback` as well."""

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "application": ("apply_along_axis", "apply_over_axes", "vectorize"),
    "signal.convolution": ("convolve", "correlate"),
    "arrays.foreign": ("foreign", "set_default_device"),
    "arrays.grids": (
        "asarray_chkfinite", "bartlett", "blackman", "block_diag", "c_", "cartesian_prod", "combinations",
        "diag_indices_from", "empty_permuted", "empty_strided", "frombuffer", "fromfile", "fromfunction", "fromiter",
        "fromstring", "hamming", "hanning", "ix_", "kaiser", "mask_indices", "mgrid", "ogrid", "r_", "range",
        "ravel_multi_index", "require", "tril_indices_from", "triu_indices_from", "unravel_index",
    ),
    "images.correlation": (),
    "images.splines": (),
    "images.windows": (),
    "distances": (),
    "inspection": (
        "array2string", "array_repr", "array_str", "get_printoptions", "is_contiguous", "is_tensor", "isfortran",
        "isscalar", "itemsize", "iterable", "may_share_memory", "nbytes", "ndim", "numel", "printoptions",
        "set_printoptions", "shape", "shares_memory", "size", "stride", "strides",
    ),
    "products": (
        "addbmm", "addmm", "addmv", "addr", "baddbmm", "bilinear", "cdist", "chain_matmul", "cosine_similarity", "dist",
        "linear", "pairwise_distance", "pdist", "renorm",
    ),
    "arrays.selection": (
        "choose", "compress", "copyto", "copyto_copy", "delete", "extract", "fill_diagonal", "fill_diagonal_copy",
        "insert", "piecewise", "place", "place_copy", "putmask", "putmask_copy", "resize", "select",
    ),
    "arrays.sorting": (
        "argpartition", "argsort", "in1d", "intersect1d", "isin", "kthvalue", "lexsort", "median", "msort",
        "partition", "searchsorted", "setdiff1d", "setxor1d", "sort", "sort_complex", "sort_with_indices", "topk",
        "trim_zeros", "union1d", "unique", "unique_all", "unique_consecutive", "unique_counts", "unique_inverse",
        "unique_values",
    ),
    "arrays.updates": ("index_reduce", "scatter_reduce"),
    "reductions.histograms": (
        "bincount", "bucketize", "digitize", "histc", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    ),
    "reductions.integration": (
        "cumulative_trapezoid", "ediff1d", "gradient", "interp", "simpson", "trapezoid", "trapz",
    ),
    "polynomial": (
        "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
        "vander",
    ),
    "reductions.quantiles": ("nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"),
    "random.family": (
        "bernoulli", "manual_seed", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm",
    ),
    "random.discrete": ("multinomial",),
    "signal.windows": ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"),
    "reductions.statistics": (
        "aminmax", "average", "corrcoef", "cov", "logmeanexp", "mode", "nanargmax", "nanargmin", "nancumprod",
        "nancumsum", "nanmax", "nanmin", "nanstd", "nanvar", "ptp", "standardize", "std_mean",
        "var_mean",
    ),
}  # fmt: skip
"""Modules of this package, and the public functions that they declare."""

METHODS: dict[str, tuple[str, ...]] = {
    "signal.convolution": FUNCTIONS["signal.convolution"],
    "family_methods": (
        "addbmm_", "addmv_", "addr_", "baddbmm_", "cholesky", "cholesky_inverse", "cholesky_solve", "cumprod_",
        "cumsum_", "det", "digamma", "digamma_", "eq_", "erf", "erf_", "erfc", "erfc_", "erfinv", "erfinv_", "frac_",
        "gcd_", "ge_", "greater_", "greater_equal_", "gt_", "i0_", "igamma", "igamma_", "igammac", "igammac_", "inv",
        "inverse", "lcm_", "le_", "less_", "less_equal_", "lgamma", "lgamma_", "logdet", "logical_and_",
        "logical_not_", "logical_or_", "logical_xor_", "lt_", "matrix_exp",
        "matrix_power", "mvlgamma", "mvlgamma_", "ne_", "not_equal_", "pinv", "pinverse", "polygamma", "polygamma_",
        "qr", "renorm_", "sinc_", "slogdet", "svd",
    ),
    "reductions.histograms": FUNCTIONS["reductions.histograms"],
    "inspection": ("dim", "element_size", "is_contiguous", "ndimension", "nelement", "numel", "stride"),
    "reductions.integration": FUNCTIONS["reductions.integration"],
    "polynomial": tuple(name for name in FUNCTIONS["polynomial"] if name != "polyfit"),
    "products": ("addbmm", "addmm", "addmv", "addr", "baddbmm", "cdist", "dist", "pdist", "renorm"),
    "reductions.quantiles": FUNCTIONS["reductions.quantiles"],
    "random.discrete": (
        "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial", "normal_",
        "random_", "uniform_",
    ),
    "arrays.selection": ("choose", "compress", "delete", "fill_diagonal_", "insert", "piecewise"),
    "arrays.sorting": tuple(name for name in FUNCTIONS["arrays.sorting"] if name != "lexsort"),
    "reductions.statistics": FUNCTIONS["reductions.statistics"],
    "arrays.updates": (
        "addcdiv_", "addcmul_", "addmm_", "at", "index_reduce", "index_reduce_", "lerp_", "nan_to_num_", "put_",
        "scatter_reduce", "scatter_reduce_",
    ),
    "arrays.grids": ("combinations",),
    "arrays.placed": ("full_tensor", "local_shape", "mesh", "placements", "redistribute", "to_local"),
    "ragged.making": ("lengths", "offsets", "padding_mask", "row_labels", "to_padded", "values", "with_offsets_of"),
}  # fmt: skip
"""Modules of this package, and the methods and other members that they give `Tensor`."""
