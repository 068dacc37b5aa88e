"""Types of parameters by their names, for `tools.stubs`.

`OF_FUNCTION`, by function and parameter, comes first; then an annotation of the source that says something, which is
any without `Any`; then `BY_NAME`. A name in none of them is an error of the generator: add it here. `| None` is added
where the default is None. Whole signatures, with their overloads, are in `tools/stubs/parts`.
"""

from __future__ import annotations

from dataclasses import dataclass

_GROUPS = {
    "ArrayLike": """
        A B LU M N X a a1 a2 a_max a_min ab alpha anchor angle append arr attn_mask aweights b b_hh b_ih base batch1
        batch2 beta bias bias_k bias_v bins boundaries bp c condition constant_values coordinates cov data default delta
        df dfd dfden dfn dfnum dst dx end end_values epsilon f factor fill_value fp fweights g gradient grid h hidden
        high iK in1 in2 in_proj_bias in_proj_weight index indices initial input_lengths input_mask k k_proj_weight kappa
        key key_padding_mask keys kth lam left lmbda loc log_probs logits low m mask mat mat1 mat2 max mean min mode
        mu n nbad negative ngood nonc nsample obj offsets other other_mask out_proj_bias out_proj_weight p
        per_sample_weights phi pivots pos_weight positive prepend probs pvals q q_proj_weight query r radius
        random_samples repeats right running_mean running_var sample scale seq_of_zeros shift sigma sorter source
        spacing src start step stop t target target_lengths targets tau test_elements theta to_begin to_end u v
        v_proj_weight val vals value values var variance vec vec1 vec2 w w_hh w_ih weight weights where x x1 x2 xp y z
        zero_point zi rcond rtol atol tol
        *arrays *matrices *vectors *xs
        """,
    "Tensor": "out self tensor",
    "float": "correction ddof lambd negative_slope max_val min_val threshold",
    "bool": "keepdim copy requires_grad",
    "Axis": "axis dim dims axes destination",
    "ShapeLike": """
        shape size dimensions dilation kernel_size lengths new_shape normalized_shape output_padding output_size padding
        physical_layout reps s shapes sizes stat_length stride strides window_shape *lengths *reps *shapes *size *axes
        """,
    "DTypeLike": "dtype kind first second",
    "Any": "device array placements grad_placements",
    "Generator": "generator",
    "Sequence[ArrayLike]": "arrays choicelist choices condlist multi_index",
    "ArrayLike | Sequence[ArrayLike]": "range",
    "Sequence[int]": "pad split_sizes",
    "int | Sequence[int]": "indices_or_sections",
    "float | Sequence[float]": "output_ratio scale_factor",
    "float | str": "ord",
    'Literal["big", "little"]': "bitorder",
    'Literal["no", "equiv", "safe", "same_kind", "unsafe"]': "casting",
    'Literal["C", "F", "A", "K"]': "order",
    'str | Literal[False]': "detrend",
    "str | tuple[str, float] | ArrayLike": "window",
    "Callable[..., Tensor]": "f1 f2 func func1d function mask_func distance_function",
    "Sequence[Callable[..., Tensor] | Scalar]": "funclist",
    "str | Sequence[str]": "requirements",
    "str": "typechars",
    "Iterable[Scalar]": "iterable",
    "str | bytes | PathLike[str] | IO[bytes]": "file",
    "bytes | bytearray | memoryview | NDArray[Any]": "buffer",
    "bool | str | Sequence[str | tuple[int, ...]]": "optimize",
    "ArrayLike | DTypeLike": "*arrays_and_dtypes from_ to",
    "ArrayLike | Sequence[ArrayLike] ": "pad_width",
    "None": "layout",
}  # fmt: skip

BY_NAME = {name: kind.strip() for kind, names in _GROUPS.items() for name in names.split()}

OF_FUNCTION = {
    "getitem.index": "Index",
    "astype.dtype": "DTypeLike",
    "can_cast.to": "DTypeLike",
    "isdtype.kind": "DTypeLike | str | tuple[DTypeLike | str, ...]",
    "isin.kind": 'Literal["sort", "table"]',
    "finfo.kind": "DTypeLike | ArrayLike",
    "iinfo.kind": "DTypeLike | ArrayLike",
    "concat.arrays": "Iterable[ArrayLike]",
    "stack.arrays": "Iterable[ArrayLike]",
    "ravel_multi_index.mode": 'str | tuple[str, ...]',
    "ravel_multi_index.dims": "ShapeLike",
    "linalg.lstsq.rcond": "float",
    "linalg.cond.p": "float | str",
    "polyfit.cov": 'bool | Literal["unscaled"]',
    "manual_seed.seed": "int",
    "random.default_rng.seed": "int",
    "random.seed.seed": "int",
    "block.arrays": "NestedArrays",
    "histogram.bins": "ArrayLike | str",
    "histogram_bin_edges.bins": "ArrayLike | str",
    "conv1d.padding": "ShapeLike | str",
    "conv2d.padding": "ShapeLike | str",
    "conv3d.padding": "ShapeLike | str",
    "resize.new_shape": "ShapeLike",
    "gradient.*varargs": "ArrayLike",
    "lexsort.keys": "ArrayLike",
    "signal.convolve.axes": "Sequence[Axis] | None",
    "signal.convolve.dot_axes": "Sequence[Axis]",
    "tensordot.axes": "int | Sequence[Axis]",
    "linalg.tensordot.axes": "int | Sequence[Axis]",
    "tensordot.dims": "int | Sequence[Axis]",
    "linalg.tensordot.dims": "int | Sequence[Axis]",
    "lstm_cell.state": "tuple[ArrayLike, ArrayLike]",
    "nn.lstm_cell.state": "tuple[ArrayLike, ArrayLike]",
    "linalg.cho_solve.factor_and_lower": "tuple[ArrayLike, bool]",
    "sliding_window_view.axis": "Axis",
    "copyto.where": "ArrayLike",
    "stride.dim": "int",
    "apply_where.args": "ArrayLike | tuple[ArrayLike, ...]",
    "ix_.*args": "ArrayLike",
    "nested.nested.rows": "Sequence[ArrayLike]",
    "nested.as_nested.rows": "Sequence[ArrayLike]",
    "nested.nested.offsets_like": "Tensor",
    "nested.as_nested.offsets_like": "Tensor",
    "nested.from_values.lengths": "ArrayLike",
    "nested.from_padded.lengths": "ArrayLike",
    "nested.narrow.lengths": "ArrayLike",
    "nested.narrow.starts": "ArrayLike",
    "random.set_state.state": "dict[str, Any]",
    "vectorize.otypes": "str | Sequence[DTypeLike]",
    "vectorize.pyfunc": "Callable[..., Any]",
    # What is handed on to functions of users, or left to NumPy and SciPy, may be anything.
    "fromfunction.**kwargs": "Any",
    "piecewise.*args": "Any",
    "piecewise.**kw": "Any",
    "pad.**options": "object",
    "pad.mode": "str | Callable[..., None]",
    "nn.pad.mode": "str",
    "lobpcg.**options": "Any",
    "linalg.solve_banded.**options": "Any",
}


@dataclass(frozen=True)
class Flags:
    """Flags that change the kind of result: what is returned without them, and what with a choice of them."""

    names: tuple[str, ...]
    plain: str
    other: str = ""  # with the only flag; of several, each that is set adds a Tensor

    def result(self, chosen: tuple[str, ...]) -> str:
        """The result with these flags set otherwise than by default."""
        if not chosen:
            return self.plain
        return self.other or f"tuple[{', '.join(['Tensor'] * (len(chosen) + 1))}]"

    def any_result(self) -> str:
        """The result if the flags are not known."""
        return f"{self.plain} | {self.other or 'tuple[Tensor, ...]'}"


_POOLS = ("max_pool{}d", "adaptive_max_pool{}d", "fractional_max_pool{}d")
FLAGS = {
    "unique": Flags(("return_index", "return_inverse", "return_counts"), "Tensor"),
    "unique_consecutive": Flags(("return_inverse", "return_counts"), "Tensor"),
    "intersect1d": Flags(("return_indices",), "Tensor", "tuple[Tensor, Tensor, Tensor]"),
    "linspace": Flags(("retstep",), "Tensor", "tuple[Tensor, Tensor]"),
    "nonzero": Flags(("as_tuple",), "tuple[Tensor, ...]", "Tensor"),
    "average": Flags(("returned",), "Tensor", "tuple[Tensor, Tensor]"),
    "linalg.svd": Flags(("compute_uv",), "SVDResult", "Tensor"),
    "svd": Flags(("compute_uv",), "SVDResult", "Tensor"),
    "special.logsumexp": Flags(("return_sign",), "Tensor", "tuple[Tensor, Tensor]"),
    **{name.format(n): Flags(("return_indices",), "Tensor", "tuple[Tensor, Tensor]") for name in _POOLS for n in "123"},
}
"""Functions whose kind of result depends on truth values among the arguments."""

RESULTS: dict[str, str] = {
    "ix_": "tuple[Tensor, ...]",
    "random.fork_rng": "AbstractContextManager[None]",
}
"""Results that neither the annotation nor the example says."""

ORIGINS = {
    "AbstractContextManager": "contextlib", "Any": "typing", "ArrayLike": "pullback.typing", "Axis": "pullback.typing",
    "Callable": "collections.abc", "DTypeLike": "pullback.typing", "Generator": "pullback.operators.random.draws",
    "IO": "typing", "Index": "pullback.typing", "Iterable": "collections.abc", "Literal": "typing",
    "NDArray": "numpy.typing", "NestedArrays": "pullback.typing", "PathLike": "os", "Scalar": "pullback.typing",
    "Sequence": "collections.abc", "ShapeLike": "pullback.typing", "SVDResult": "pullback.operators.linalg.spectra",
    "Tensor": "pullback.tensors.tensor", "np": "numpy",
}  # fmt: skip
"""Where the names in annotations come from."""

MEANT = {"Array": "NDArray[Any]", "Dtype": "np.dtype[Any]"}
"""Names of the source for types that stubs write out."""
