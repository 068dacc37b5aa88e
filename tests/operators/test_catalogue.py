"""Every name that the operator catalogue promises exists, or is listed as missing.

The lists are data: names with a dot are in a namespace, the others at the top level. `MISSING` may only shrink: a name
in it that exists fails the test, so whoever adds an operator takes it out.
"""

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb

FUNCTIONS = {
    "Creation and conversion": """
        asarray array tensor as_tensor from_numpy asanyarray from_dlpack zeros ones empty zeros_like ones_like
        empty_like new_zeros new_ones new_empty new_tensor empty_permuted empty_strided full full_like new_full
        arange range linspace logspace geomspace eye identity tri meshgrid tril triu indices ix_ mgrid ogrid
        tril_indices triu_indices tril_indices_from triu_indices_from diag_indices diag_indices_from
        mask_indices one_hot diag diagflat diag_embed vander copy clone ascontiguousarray contiguous
        asfortranarray require asarray_chkfinite complex polar block_diag linalg.toeplitz linalg.hankel
        linalg.circulant fromfunction fromiter frombuffer fromstring fromfile
    """,
    "Data types, inspection, constants": """
        astype bool can_cast finfo iinfo isdtype result_type promote_types issubdtype min_scalar_type
        common_type mintypecode shape ndim size numel itemsize nbytes strides stride is_floating_point
        is_complex is_tensor iscomplexobj isrealobj isscalar isfortran iterable may_share_memory shares_memory
        array_repr array_str array2string set_printoptions get_printoptions printoptions
        __array_namespace_info__ e pi inf nan newaxis euler_gamma int8 int16 int32 int64 uint8 uint16 uint32
        uint64 float16 float32 float64 complex64 complex128 longdouble get_default_dtype set_default_dtype
    """,
    "Elementwise, unary": """
        negative neg positive abs absolute fabs sign sgn reciprocal square sqrt rsqrt cbrt exp exp2 expm1 log
        log2 log10 log1p sin cos tan asin arcsin acos arccos atan arctan sinh cosh tanh asinh arcsinh acosh
        arccosh atanh arctanh sigmoid expit deg2rad radians rad2deg degrees unwrap sinc i0 nan_to_num logit
        log_sigmoid logsigmoid log_expit log1mexp frexp modf frac spacing real_if_close
    """,
    "Elementwise, binary and ternary": """
        add subtract sub multiply mul divide true_divide div pow power float_power maximum minimum fmax fmin
        atan2 arctan2 hypot logaddexp logaddexp2 remainder mod fmod floor_divide divmod copysign nextafter ldexp
        heaviside xlogy xlog1py lerp addcmul addcdiv where clip clamp clamp_min clamp_max apply_where isclose
        allclose array_equal array_equiv gcd lcm
    """,
    "Comparison, logical, bitwise": """
        equal eq not_equal ne less lt less_equal le greater gt greater_equal ge logical_and logical_or
        logical_xor logical_not isnan isinf isfinite signbit isneginf isposinf isreal iscomplex bitwise_and
        bitwise_or bitwise_xor bitwise_invert bitwise_not invert bitwise_left_shift left_shift
        bitwise_right_shift right_shift bitwise_count packbits unpackbits floor ceil trunc fix rint round around
        real imag conj conjugate conj_physical resolve_conj resolve_neg angle view_as_real view_as_complex
        adjoint ste_round fake_quantize
    """,
    "Reductions, statistics, cumulative": """
        sum prod max amax min amin aminmax ptp max_with_indices min_with_indices mean var std var_mean std_mean
        logsumexp logmeanexp all any count_nonzero argmax argmin nanargmax nanargmin nansum nanprod nanmax
        nanmin nanmean nanvar nanstd norm average trace dist median nanmedian quantile percentile nanquantile
        nanpercentile cov corrcoef histogram histogramdd histogram2d histc histogram_bin_edges digitize
        bucketize bincount cumulative_sum cumsum cumulative_prod cumprod nancumsum nancumprod cummax cummin
        logcumsumexp cumlogsumexp diff ediff1d gradient trapezoid trapz cumulative_trapezoid simpson kthvalue mode
        standardize normalize
    """,
    "Sorting, searching, sets": """
        sort sort_with_indices msort sort_complex argsort lexsort argpartition partition topk searchsorted
        nonzero argwhere flatnonzero unique_values unique_all unique_counts unique_inverse unique
        unique_consecutive union1d intersect1d setdiff1d setxor1d isin in1d extract compress trim_zeros
    """,
    "Indexing and scatter": """
        take index_select take_along_axis gather index_put index_add index_copy index_fill index_reduce
        scatter_reduce scatter scatter_add put_along_axis put place putmask copyto fill_diagonal masked_fill
        masked_select masked_scatter slice_scatter select_scatter diagonal_scatter as_strided_scatter narrow
        choose select unravel_index ravel_multi_index put_along_axis_copy put_copy place_copy putmask_copy
        copyto_copy fill_diagonal_copy
    """,
    "Shape and views": """
        reshape ravel flatten unflatten view_as reshape_as expand_dims unsqueeze squeeze permute_dims permute
        transpose swapaxes swapdims moveaxis movedim rollaxis matrix_transpose broadcast_to expand expand_as
        broadcast_arrays broadcast_tensors broadcast_shapes atleast_1d atleast_2d atleast_3d flip fliplr flipud
        rot90 diagonal linalg.diagonal sliding_window_view as_strided detach stop_gradient lax.stop_gradient
    """,
    "Joining, splitting, rearranging": """
        concat concatenate cat stack vstack row_stack hstack dstack column_stack block unstack unbind split
        array_split hsplit vsplit dsplit tensor_split split_with_sizes chunk tile repeat repeat_interleave pad
        roll append insert delete resize r_ c_ pixel_shuffle pixel_unshuffle channel_shuffle cartesian_prod
        combinations apply_along_axis apply_over_axes vectorize piecewise
    """,
    "Products and contractions": """
        matmul mm bmm mv matvec vecmat einsum einsum_path tensordot inner outer dot vdot vecdot kron ger cross
        linalg.cross linear addmm addmv addr baddbmm addbmm chain_matmul linalg.multi_dot bilinear cdist pdist
        pairwise_distance cosine_similarity
    """,
    "linalg": """
        linalg.solve linalg.tensorsolve linalg.solve_ex linalg.solve_triangular linalg.inv linalg.tensorinv
        linalg.inv_ex linalg.cholesky linalg.cholesky_ex linalg.cho_factor linalg.cholesky_solve
        linalg.cho_solve linalg.cholesky_inverse linalg.lu linalg.lu_factor linalg.lu_solve linalg.qr
        linalg.eigh linalg.eigvalsh linalg.eig linalg.eigvals linalg.svd linalg.svdvals linalg.det
        linalg.slogdet linalg.logdet linalg.pinv linalg.lstsq linalg.matrix_power linalg.matrix_exp linalg.expm
        linalg.vector_norm linalg.matrix_norm linalg.cond linalg.matrix_rank linalg.polar linalg.vander
        linalg.trace linalg.outer linalg.matmul linalg.tensordot linalg.vecdot linalg.matrix_transpose
        linalg.norm linalg.sqrtm linalg.matrix_sqrth linalg.solve_sylvester linalg.solve_lyapunov
        linalg.check_gauge
    """,
    "fft": """
        fft.fft fft.ifft fft.fftn fft.ifftn fft.fft2 fft.ifft2 fft.rfft fft.rfftn fft.rfft2 fft.irfft fft.irfftn
        fft.irfft2 fft.hfft fft.ihfft fft.hfft2 fft.hfftn fft.ihfft2 fft.ihfftn fft.fftshift fft.ifftshift
        fft.fftfreq fft.rfftfreq fft.dct fft.idct fft.dst fft.idst fft.dctn fft.idctn fft.stft fft.istft
    """,
    "special": """
        special.erf special.erfc special.erfcx special.erfi special.erfinv special.erfcinv special.dawsn
        special.ndtr special.log_ndtr special.ndtri special.ndtri_exp special.gammaln special.lgamma
        special.digamma special.psi special.polygamma special.gamma special.rgamma special.loggamma
        special.gammasgn special.multigammaln special.mvlgamma special.poch special.factorial special.comb
        special.binom special.gammainc special.igamma special.gammaincc special.gammaincinv special.gammainccinv
        special.beta special.betaln special.betainc special.betaincc special.betaincinv special.betainccinv
        special.j0 special.j1 special.jv special.jn special.y0 special.y1 special.yv special.yn special.hankel1
        special.hankel2 special.spherical_jn special.spherical_yn special.i0 special.i0e special.i1 special.i1e
        special.iv special.ive special.k0 special.k0e special.k1 special.k1e special.kv special.kn special.kve
        special.spherical_in special.spherical_kn special.owens_t special.exprel special.cosm1 special.sinc
        special.log_expit special.softplus special.expit special.logit special.xlogy special.xlog1py
        special.entr special.rel_entr special.kl_div special.huber special.pseudo_huber special.boxcox
        special.boxcox1p special.inv_boxcox special.inv_boxcox1p special.exp2 special.exp10 special.cbrt
        special.logsumexp special.softmax special.log_softmax special.wofz special.ellipk special.ellipkm1
        special.ellipe special.ellipkinc special.ellipeinc special.exp1 special.expi special.expn special.sici
        special.shichi special.fresnel special.spence special.struve special.lambertw special.wrightomega
        special.hyp0f1 special.hyp1f1 special.hyp2f1 special.zeta special.airy special.eval_legendre
        special.eval_chebyt special.eval_chebyu special.eval_hermite special.eval_hermitenorm special.eval_laguerre
        special.eval_genlaguerre special.eval_jacobi special.eval_gegenbauer special.stdtr special.chdtr
        special.chdtrc special.fdtr special.gdtr special.pdtr special.bdtr special.nbdtr special.bessel_j0
        special.modified_bessel_i0 special.chebyshev_polynomial_t
    """,
    "Signal, convolution, pooling, interpolation, polynomials": """
        convolve correlate signal.convolve2d signal.correlate2d signal.fftconvolve signal.convolve
        signal.correlate conv1d conv2d conv3d conv_general conv_transpose1d conv_transpose2d conv_transpose3d
        unfold fold max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d lp_pool1d lp_pool2d
        bartlett blackman hamming hanning kaiser interp polyval polyadd polysub polymul polyder polyint polydiv
        polyfit poly roots max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d max_unpool1d max_unpool2d max_unpool3d fractional_max_pool2d signal.detrend
        signal.hilbert signal.resample signal.lfilter signal.periodogram signal.welch
    """,
    "Neural-net functions and losses": """
        nn.functional.relu nn.functional.relu6 nn.functional.leaky_relu nn.functional.prelu nn.functional.rrelu
        nn.functional.threshold nn.functional.elu nn.functional.celu nn.functional.selu nn.functional.softplus
        nn.functional.softsign nn.functional.tanhshrink nn.functional.softshrink nn.functional.hardshrink
        nn.functional.hardtanh nn.functional.hardsigmoid nn.functional.hardswish nn.functional.gelu
        nn.functional.silu nn.functional.swish nn.functional.mish nn.functional.glu nn.functional.logsigmoid
        nn.functional.sigmoid nn.functional.tanh nn.functional.squareplus nn.functional.softmax
        nn.functional.log_softmax nn.functional.softmin nn.functional.gumbel_softmax nn.functional.layer_norm
        nn.functional.rms_norm nn.functional.batch_norm nn.functional.group_norm nn.functional.instance_norm
        nn.functional.local_response_norm nn.functional.normalize nn.functional.weight_norm
        nn.functional.embedding nn.functional.embedding_bag nn.functional.dropout nn.functional.dropout1d
        nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout
        nn.functional.feature_alpha_dropout nn.functional.scaled_dot_product_attention
        nn.functional.cross_entropy nn.functional.nll_loss nn.functional.binary_cross_entropy
        nn.functional.binary_cross_entropy_with_logits nn.functional.mse_loss nn.functional.l1_loss
        nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.kl_div
        nn.functional.poisson_nll_loss nn.functional.gaussian_nll_loss nn.functional.hinge_embedding_loss
        nn.functional.cosine_embedding_loss nn.functional.margin_ranking_loss nn.functional.triplet_margin_loss
        nn.functional.triplet_margin_with_distance_loss nn.functional.multi_margin_loss
        nn.functional.multilabel_margin_loss nn.functional.multilabel_soft_margin_loss
        nn.functional.soft_margin_loss nn.functional.interpolate nn.functional.upsample
        nn.functional.grid_sample nn.functional.affine_grid nn.functional.map_coordinates
        nn.functional.multi_head_attention_forward nn.functional.rnn_cell nn.functional.gru_cell
        nn.functional.lstm_cell nn.functional.ctc_loss
    """,
    "Neural-net functions that torch has at the top": """
        relu softmax log_softmax prelu rrelu threshold celu selu hardshrink layer_norm rms_norm batch_norm group_norm
        instance_norm embedding embedding_bag dropout alpha_dropout feature_alpha_dropout gru_cell lstm_cell
        binary_cross_entropy_with_logits kl_div poisson_nll_loss hinge_embedding_loss cosine_embedding_loss
        margin_ranking_loss triplet_margin_loss ctc_loss
    """,
    "Random": """
        random.manual_seed random.seed random.default_rng random.Generator random.get_state random.set_state
        random.fork_rng random.random random.rand random.standard_normal random.randn
        random.standard_exponential random.rand_like random.randn_like random.integers random.randint
        random.randint_like random.permutation random.randperm random.shuffle random.choice random.bernoulli
        random.binomial random.poisson random.geometric random.negative_binomial random.hypergeometric
        random.logseries random.zipf random.multinomial random.categorical random.bytes random.uniform
        random.normal random.lognormal random.exponential random.laplace random.logistic random.gumbel
        random.cauchy random.weibull random.pareto random.rayleigh random.power random.triangular
        random.half_normal random.truncated_normal random.kumaraswamy random.standard_gamma random.gamma
        random.beta random.dirichlet random.chisquare random.f random.standard_t random.noncentral_chisquare
        random.wald random.loggamma random.multivariate_normal random.gumbel_softmax random.relaxed_bernoulli
        random.vonmises
    """,
}

# Functions of one tensor are methods too, unless NumPy or Python has the name for something else.
METHODS = """
abs absolute acos acosh add aminmax amax amin angle any all arccos arccosh arcsin arcsinh arctan arctan2 arctanh
argmax argmin argpartition argsort argwhere around array_equal asin asinh astype atan atan2 atanh average bincount
bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
bmm broadcast_to cbrt ceil choose chunk clamp clamp_max clamp_min clip clone compress conj conj_physical conjugate
contiguous copy copysign corrcoef cos cosh count_nonzero cov cross cummax cummin cumprod cumsum cumulative_prod
cumulative_sum cumulative_trapezoid deg2rad degrees delete detach diag diag_embed diagflat diagonal diagonal_scatter
diff digitize dist div divide dot ediff1d eq equal exp exp2 expand expand_as expand_dims expit expm1 fabs fix
flatnonzero flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod gather gcd ge ger gradient
greater greater_equal gt heaviside histc hypot imag index_add index_copy index_fill index_put index_reduce
index_select inner insert invert is_complex is_floating_point isclose iscomplex isfinite isin isinf isnan isneginf
isposinf isreal kron lcm ldexp le left_shift lerp less less_equal log log10 log1p log2 log_sigmoid log_softmax
logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logmeanexp logsumexp lt
masked_fill masked_scatter masked_select matmul matvec max max_with_indices maximum mean median min min_with_indices
minimum mm mod moveaxis movedim msort mul multiply mv nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax
nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar narrow ne neg negative nextafter
nonzero norm not_equal numel outer pad partition percentile permute permute_dims polar positive pow power prod ptp
put put_along_axis quantile rad2deg radians ravel real reciprocal remainder repeat repeat_interleave reshape
reshape_as resolve_conj resolve_neg right_shift rint roll rollaxis rot90 round rsqrt scatter scatter_add
scatter_reduce select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter softmax sort sort_with_indices
split split_with_sizes sqrt square squeeze std std_mean sub subtract sum swapaxes swapdims take take_along_axis tan
tanh tensor_split tensordot tile topk trace transpose trapezoid tril triu true_divide trunc unbind unflatten unique
unique_all unique_consecutive unique_counts unique_inverse unique_values unsqueeze unstack unwrap var var_mean vdot
vecdot vecmat view_as view_as_complex view_as_real where xlog1py xlogy combinations log1mexp frexp modf frac spacing
kthvalue mode searchsorted as_strided as_strided_scatter
"""

# Methods and attributes of tensors that are no functions, among them the in-place twins.
MEMBERS = """
to type float double half cfloat int long bool mH H T mT adjoint at select view unfold stride itemsize nbytes
strides __dlpack__ __dlpack_device__ __array_namespace__ __round__ __divmod__ __rdivmod__ copy_ fill_ zero_
masked_fill_ index_fill_ add_ sub_ mul_ div_ pow_ remainder_ fmod_ floor_divide_ maximum_ minimum_ clamp_ lerp_
addcmul_ addcdiv_ addmm_ index_put_ index_add_ index_copy_ index_reduce_ scatter_ scatter_add_ scatter_reduce_
masked_scatter_ put_ tril_ triu_ fill_diagonal_ t_ transpose_ squeeze_ unsqueeze_ swapaxes_ resize_ set_ as_strided_
uniform_ normal_ exponential_ bernoulli_ random_ cauchy_ log_normal_ geometric_ abs_ exp_ log_ sqrt_ sin_ cos_ tanh_
neg_ floor_ ceil_ trunc_ round_ sigmoid_ nan_to_num_ deg2rad_ conj_ requires_grad_ detach_ fill flat __iadd__ __isub__
__imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __imatmul__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__
"""

INFO = "capabilities default_device default_dtypes devices dtypes"

# Promised and not there yet. Names of methods begin with a dot.
NOT_YET = """
"""

MISSING = set(NOT_YET.split())
ALL_FUNCTIONS = [name for names in FUNCTIONS.values() for name in names.split()]


def resolve(name):
    """The object behind a name such as `linalg.solve`, or None."""
    namespace, _, short = name.rpartition(".")
    place = pb
    for part in filter(None, namespace.split(".")):
        place = getattr(place, part, None)
        if place is None:
            return None
    return getattr(place, short, None)


@pytest.mark.parametrize("title", FUNCTIONS)
def test_every_function_of_the_catalogue_exists_or_is_listed_as_missing(title):
    names = FUNCTIONS[title].split()
    assert {name for name in names if resolve(name) is None and name != "newaxis"} == MISSING & set(names)


def test_every_method_of_the_catalogue_exists_or_is_listed_as_missing():
    names = {f".{name}" for name in (METHODS + MEMBERS).split()}
    listed = {name for name in MISSING if name.startswith(".")}
    assert {name for name in names if not hasattr(pb.Tensor, name[1:])} == listed


def test_what_is_missing_was_promised():
    promised = {*ALL_FUNCTIONS, *(f".{name}" for name in (METHODS + MEMBERS).split())}
    assert promised >= MISSING


def test_no_name_is_listed_twice():
    assert len(ALL_FUNCTIONS) == len(set(ALL_FUNCTIONS))


def test_functions_are_exported_by_their_namespaces():
    for name in ALL_FUNCTIONS:
        namespace, _, short = name.rpartition(".")
        if name not in MISSING and not short.startswith("__"):
            module = importlib.import_module(f"pullback.{namespace.partition('.')[0]}".rstrip("."))
            assert short in module.__all__, name


def test_the_namespace_describes_itself():
    info = pb.__array_namespace_info__()
    assert [name for name in INFO.split() if not callable(getattr(info, name, None))] == []


def test_refused_names_do_not_exist():
    refused = "ldl_factor schur hessenberg funm logm"
    for name in ("isnat", "busday_count", *(f"linalg.{each}" for each in refused.split())):
        assert resolve(name) is None


def test_a_method_does_what_its_function_does():
    x = np.array([[0.3, 0.7], [0.1, 0.9]])
    for name in ("exp", "sum", "cumsum", "sort", "nanmax", "ptp", "median", "flipud", "ravel", "count_nonzero"):
        np.testing.assert_array_equal(getattr(pb.tensor(x), name)(), resolve(name)(pb.tensor(x)))


def test_operators_show_their_parameters():
    for module in (pb, pb.linalg, pb.fft, pb.special, pb.nn, pb.signal):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                assert "*operands" not in str(inspect.signature(function)), name
    assert str(inspect.signature(pb.matmul)) == "(a, b, /, *, out=None)"
    assert list(inspect.signature(pb.Tensor.mul_).parameters) == ["x", "y"]
    assert list(inspect.signature(pb.Tensor.clamp_).parameters)[:3] == ["x", "min", "max"]


def test_names_of_a_family_at_the_top_load_it_when_first_asked_for():
    program = """
import sys
import pullback as pb
assert "conv2d" in dir(pb) and "conv2d" in pb.__all__ and "pullback.nn" not in sys.modules
assert pb.conv2d is pb.nn.conv2d and pb.kl_div is pb.nn.kl_div and "conv2d" in vars(pb)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
