"""Calls of NumPy's public functions with the keywords that its documentation has. `out` alone stands for `out=` with an
array of the right shape and dtype, which whoever draws the call adds."""

from __future__ import annotations

import numpy as np

from .phrases import Phrase, phrases

# What cannot be called on one array alone: signatures in words, dates, files, and what tells about the library.
NOT_CALLED = frozenset([
    "array", "array2string", "array_repr", "array_str", "asanyarray", "asarray", "asarray_chkfinite", "asmatrix",
    "bartlett", "base_repr", "binary_repr", "blackman", "bmat", "broadcast_shapes", "busday_count", "busday_offset",
    "can_cast", "datetime_as_string", "datetime_data", "diag_indices", "einsum_path", "empty", "empty_like", "eye",
    "format_float_positional", "format_float_scientific", "from_dlpack", "frombuffer", "fromfile", "fromfunction",
    "fromiter", "frompyfunc", "fromregex", "fromstring", "full", "genfromtxt", "get_include", "get_printoptions",
    "row_stack", "getbufsize", "geterr", "geterrcall", "hamming", "hanning", "identity", "indices", "info", "is_busday",
    "isdtype", "isfortran", "isnat", "issubdtype", "kaiser", "load", "loadtxt", "mask_indices", "may_share_memory",
    "min_scalar_type", "mintypecode", "nested_iters", "ones", "packbits", "printoptions", "promote_types",
    "require", "save", "savetxt", "savez", "savez_compressed", "set_printoptions", "setbufsize", "seterr",
    "seterrcall", "shares_memory", "show_config", "show_runtime", "test", "tri", "tril_indices", "triu_indices",
    "typename", "unpackbits", "zeros",
])  # fmt: skip

FUNCTIONS = phrases("""
    np.sum({x}) | axis={axes} | keepdims=True | dtype={dt} | where={mask} | initial=1 | out
    np.prod({x}) | axis={axes} | keepdims=True | dtype={dt} | where={mask} | initial=2 | out
    np.mean({x}) | axis={axes} | keepdims=True | dtype={fdt} | where={mask} | out
    np.var({x}) | axis={axes} | keepdims=True | dtype={fdt} | where={mask} | ddof={k} | out
    np.std({x}) | axis={axes} | keepdims=True | dtype={fdt} | where={mask} | correction={k} | out
    np.max({x}) | axis={axes} | keepdims=True | where={mask}, initial=-9 | out
    np.min({x}) | axis={axes} | keepdims=True | where={mask}, initial=9 | out
    np.amax({x}) | axis={axes} | keepdims=True | initial=0 | out
    np.amin({x}) | axis={axes} | keepdims=True | initial=0 | out
    np.ptp({x}) | axis={axes} | keepdims=True | out
    np.any({x}) | axis={axes} | keepdims=True | where={mask} | out
    np.all({x}) | axis={axes} | keepdims=True | where={mask} | out
    np.argmax({x}) | axis={ax} | keepdims=True | out
    np.argmin({x}) | axis={ax} | keepdims=True | out
    np.nansum({x}) | axis={axes} | keepdims=True | dtype={fdt} | where={mask} | initial=1 | out
    np.nanprod({x}) | axis={axes} | keepdims=True | where={mask} | initial=2 | out
    np.nanmean({x}) | axis={axes} | keepdims=True | dtype={fdt} | where={mask} | out
    np.nanvar({x}) | axis={axes} | keepdims=True | ddof={k} | where={mask} | out
    np.nanstd({x}) | axis={axes} | keepdims=True | ddof={k} | where={mask} | out
    np.nanmax({x}) | axis={axes} | keepdims=True | where={mask}, initial=-9 | out
    np.nanmin({x}) | axis={axes} | keepdims=True | where={mask}, initial=9 | out
    np.nanargmax({x}) | axis={ax} | keepdims=True | out
    np.nanargmin({x}) | axis={ax} | keepdims=True
    np.nanmedian({r}) | axis={axes} | keepdims=True | out
    np.nanquantile({r}, [0.1, 0.5]) | axis={axes} | keepdims=True | method={method}
    np.nanpercentile({r}, 30.0) | axis={axes} | keepdims=True | method={method}
    np.nancumsum({x}) | axis={ax} | dtype={fdt} | out
    np.nancumprod({x}) | axis={ax} | dtype={fdt} | out
    np.median({r}) | axis={axes} | keepdims=True | out
    np.quantile({r}, 0.3) | axis={axes} | keepdims=True | method={method} | out
    np.quantile({r}, [0.25, 0.5, 1.0]) | axis={axes} | keepdims=True | method={method}
    np.percentile({r}, 70) | axis={axes} | keepdims=True | method={method} | out
    np.average({x}) | axis={axes} | returned=True | keepdims=True
    np.average({r}, weights=np.abs({o}) + 1) | axis={axes} | returned=True | keepdims=True
    np.count_nonzero({x}) | axis={axes} | keepdims=True
    np.cumsum({x}) | axis={ax} | dtype={dt} | out
    np.cumprod({x}) | axis={ax} | dtype={fdt} | out
    np.cumulative_sum({v}) | include_initial=True | dtype={fdt} | out
    np.cumulative_prod({v}) | include_initial=True | dtype={fdt} | out
    np.cumulative_sum({a}, axis={ax}) | include_initial=True
    np.diff({a}) | n={k} | axis={ax} | prepend=0 | append=1
    np.ediff1d({x}) | to_begin=0 | to_end=1
    np.gradient({d}) | axis={ax} | edge_order=2
    np.gradient({rv}, 0.5) | edge_order=2
    np.trapezoid({x}) | dx=0.5 | axis={ax}
    np.trapezoid({rv}, {o})
    np.interp({r}, [-1.0, 0.0, 2.0], [1.0, 3.0, -1.0]) | left=0.0 | right=9.0
    np.interp({r}, np.sort({q}), {q}) | period=3.0
    np.unwrap({r}) | axis={ax} | discont=2.0 | period=3.0
    np.clip({x}, -1, {n}) | out
    np.clip({r}, None, {y}) | out
    np.clip({r}, {y}, None) | out
    np.clip({r}, min=-0.5, max=0.5)
    np.round({f}) | decimals={k} | out
    np.around({f}, {k}) | out
    np.fix({r}) | out
    np.nan_to_num({f}) | nan=1.0 | posinf=2.0 | neginf=-2.0 | copy=True
    np.sinc({r})
    np.i0({r})
    np.angle({f}) | deg=True
    np.real({x})
    np.imag({x})
    np.real_if_close({f}) | tol=10
    np.iscomplex({x})
    np.isreal({x})
    np.iscomplexobj({x})
    np.isrealobj({x})
    np.isneginf({r}) | out
    np.isposinf({r}) | out
    np.isclose({x}, {y}) | rtol=0.5 | atol=0.1 | equal_nan=True
    np.allclose({x}, {y}) | rtol=0.5 | equal_nan=True
    np.array_equal({x}, {x}) | equal_nan=True
    np.array_equiv({x}, {y})
    np.isscalar({x})
    np.iterable({x})
    np.ndim({x})
    np.shape({x})
    np.size({x}) | axis={ax}
    np.result_type({x}, {y})
    np.common_type({f}, {f})
    np.sort({x}) | axis={ax} | kind='stable' | stable=True
    np.sort({x}, axis=None)
    np.argsort({x}, kind='stable') | axis={ax}
    np.argsort({x}, axis=None, stable=True)
    np.sort_complex({a})
    np.partition({d}, 0)
    np.partition({rv}, {k}) | axis=0
    np.argpartition({d}, 0)[..., 0]
    np.lexsort(({v}, {o})) | axis=0
    np.searchsorted(np.sort({rv}), {r}) | side={side}
    np.searchsorted({rv}, {r}, sorter=np.argsort({rv}))
    np.digitize({r}, [-1.0, 0.0, 1.0]) | right=True
    np.unique({x}) | return_index=True | return_inverse=True | return_counts=True | axis={ax}
    np.unique_all({v})
    np.unique_counts({v})
    np.unique_inverse({v})
    np.unique_values({v})
    np.union1d({v}, {v})
    np.intersect1d({v}, {v}) | return_indices=True
    np.setdiff1d({v}, {v})
    np.setxor1d({v}, {v})
    np.isin({x}, {v}) | invert=True
    np.trim_zeros({v}) | trim='f'
    np.bincount(np.abs({j}.reshape(-1)).astype(int)) | minlength={len}
    np.bincount([0, 2, 1], weights={v}[:3])
    np.histogram({r}, bins={kk}, range=(-2.0, 2.0)) | density=True | weights=np.abs({o})
    np.histogram_bin_edges({r}) | bins={kk} | range=(-2.0, 2.0)
    np.histogram2d({rv}, {o}, bins={kk}, range=[[-2, 2], [-2, 2]])
    np.histogramdd({m}, bins=2, range=[(-2, 2)] * {m}.shape[1])
    np.cov({m}) | rowvar=False | bias=True | ddof={k}
    np.cov({rv}, {o}) | bias=True
    np.corrcoef({m}) | rowvar=False
    np.convolve({v}, {v}) | mode={mode}
    np.correlate({v}, {v}) | mode={mode}
    np.dot({m}, {right}) | out
    np.dot({v}, {v}) | out
    np.inner({f}, {n})
    np.inner({v}, {o})
    np.outer({v}, {q}) | out
    np.vdot({f}, {o})
    np.kron({q}, {q})
    np.tensordot({f}, {o}) | axes={k}
    np.tensordot({m}, {right}, 1)
    np.einsum('ij->ji', {m}) | optimize=True | dtype='complex128'
    np.einsum('i,i', {v}, {o}) | optimize=True | out
    np.einsum('...i->...', {f}) | optimize='greedy'
    np.einsum('ij,j...->i...', {m}, {right}) | optimize=True | out
    np.einsum('ii->i', {square})
    np.einsum({m}, [0, 1], [1])
    np.cross([1.0, 2.0, 3.0], {v}[:3])
    np.trace({m}) | offset={k} | dtype={fdt} | out
    np.diagonal({m}) | offset={k} | axis1=1, axis2=0
    np.diag({v}[:40]) | k={k}
    np.diag({m}) | k={k}
    np.diagflat({q}) | k={k}
    np.tril({m}) | k={k}
    np.triu({a}) | k={k}
    np.tril_indices_from({square}) | k={k}
    np.triu_indices_from({square}) | k={k}
    np.diag_indices_from({square})
    np.vander({v}[:20], {kk}) | increasing=True
    np.concatenate([{a}, {o}]) | axis={ax} | dtype={dt}, casting='unsafe'
    np.concatenate([{x}, {x}], axis=None) | out
    np.concat([{v}, {v}]) | out
    np.stack([{x}, {o}]) | axis=-1 | dtype={dt}, casting='unsafe' | out
    np.vstack([{a}, {o}]) | dtype={dt}, casting='unsafe'
    np.hstack([{x}, {o}]) | dtype={dt}, casting='unsafe'
    np.dstack([{a}, {o}])
    np.column_stack([{v}, {o}])
    np.block([[{m}, {o}], [{o}, {m}]])
    np.append({x}, {y}) | axis=None
    np.append({a}, {o}, axis={ax})
    np.insert({a}, 0, {n}) | axis={ax}
    np.insert({v}, [0, 1], {n})
    np.delete({a}, 0) | axis={ax}
    np.delete({v}, [0, -1])
    np.split({a}, [1, 2]) | axis={ax}
    np.array_split({a}, {kk}) | axis={ax}
    np.hsplit({a}, [1])
    np.vsplit({m}, [1])
    np.dsplit({three}, [1])
    np.unstack({a}) | axis={ax}
    np.tile({x}, {kk})
    np.tile({x}, (2, 1))
    np.repeat({a}, {kk}) | axis={ax}
    np.repeat({q}, np.arange({q}.shape[0])) | axis=0
    np.roll({x}, {kk}) | axis={ax}
    np.roll({m}, (1, -2), axis=(0, 1))
    np.flip({x}) | axis={axes}
    np.fliplr({m})
    np.flipud({a})
    np.rot90({m}) | k={kk} | axes=(1, 0)
    np.rollaxis({a}, {ax}) | start=1
    np.moveaxis({a}, {ax}, 0)
    np.swapaxes({a}, {ax}, 0)
    np.transpose({x}) | axes={order}
    np.permute_dims({x}, {order})
    np.matrix_transpose({m})
    np.reshape({x}, {other}) | order='F'
    np.ravel({x}) | order='F'
    np.resize({x}, (2, 3))
    np.squeeze({x}) | axis={ax}
    np.expand_dims({x}, 0)
    np.expand_dims({x}, axis=(0, 2))
    np.atleast_1d({x})
    np.atleast_2d({x}, {x})
    np.atleast_3d({x})
    np.broadcast_to({x}, (2,) + {x}.shape)
    np.broadcast_arrays({x}, {y})
    np.meshgrid({v}[:20], {q}) | indexing='ij' | sparse=True | copy=False
    np.meshgrid({q})
    np.ix_({q} > 0, [1, 0])
    np.pad({x}, 1) | mode='constant', constant_values=3.0
    np.pad({a}, (1, 2), mode={pad})
    np.pad({m}, ((0, 1), (2, 0))) | constant_values=((1, 2), (3, 4))
    np.take({x}, {ii}) | axis={ax} | mode='wrap' | out
    np.take({a}, {ii}, axis=0) | mode='clip' | out
    np.take_along_axis({d}, np.argsort({d}, axis=0, kind='stable'), axis=0)
    np.choose([0, 1, 1], [{v}[:3], {v}[-3:]]) | mode='wrap'
    np.compress([True, False, True], {a}) | axis={ax}
    np.extract({r} > 0, {o})
    np.select([{r} > 1, {o} < 0], [{o}, {o} * 2]) | default=3.0
    np.piecewise({r}, [{o} < 0, {o} >= 0], [lambda t: -t, lambda t: t * t])
    np.where({r} > 0, {o}, {y})
    np.where({b}, {y}, {n})
    np.where({r} > 0)
    np.nonzero({a})
    np.argwhere({x})
    np.flatnonzero({x})
    np.unravel_index(0, {x}.shape)
    np.ravel_multi_index(([0, 1], [1, 0]), (2, 3))
    np.apply_along_axis(np.sum, {ax}, {rows})
    np.apply_along_axis(lambda t: t * 2, 0, {rows})
    np.apply_over_axes(np.sum, {d}, [0])
    np.copy({x}) | order='F'
    np.ascontiguousarray({x})
    np.asfortranarray({x})
    np.astype({x}, {dt})

    np.full_like({x}, {n}) | dtype={dt} | shape=(2, 3)
    np.zeros_like({x}) | dtype={dt} | shape=(2,)
    np.ones_like({x}) | dtype={dt} | order='F'
    np.linspace({x}, {y}, {kk}) | endpoint=False | axis=-1 | retstep=True
    np.logspace(0.0, {r}, {kk}) | base=2.0
    np.geomspace(1.0, np.abs({r}) + 1, {kk})
    np.arange({n}, 5)
    np.poly({q}[:4])
    np.polyval({q}, {r})
    np.polyadd({v}, {v})
    np.polysub({v}, {v})
    np.polymul({q}, {q})
    np.polydiv({q}, [1.0, 2.0])
    np.polyder({v}, {k})
    np.polyint({v}, {k}) | k=2.0
    np.polyfit({q}, {o}, 1) | w=np.abs({o}) + 1
    np.roots([2.0, 1.0, {rv}[0]])
    np.fft.fft({f}) | n={len} | axis={ax} | norm={norm}
    np.fft.ifft({f}) | n={len} | axis={ax} | norm={norm} | out
    np.fft.rfft({r}) | n={len} | axis={ax} | norm={norm}
    np.fft.irfft({f}) | n={len} | axis={ax} | norm={norm}
    np.fft.hfft({f}) | n={len} | axis={ax} | norm={norm}
    np.fft.ihfft({r}) | n={len} | norm={norm}
    np.fft.fft2({m}) | norm={norm} | s=(4, 5), axes=(0, 1)
    np.fft.ifft2({m}) | norm={norm}
    np.fft.rfft2({m}) | norm={norm}
    np.fft.irfft2({m}) | norm={norm}
    np.fft.fftn({f}) | norm={norm}
    np.fft.ifftn({f}) | norm={norm}
    np.fft.rfftn({d}) | norm={norm}
    np.fft.irfftn({d}) | norm={norm}
    np.fft.fftshift({x}) | axes={axes}
    np.fft.ifftshift({x}) | axes={axes}
    np.linalg.norm({f}) | axis={ax} | keepdims=True
    np.linalg.norm({f}, {n}, axis={ax}) | keepdims=True
    np.linalg.norm({m}, 'fro') | keepdims=True
    np.linalg.norm({square}, 'nuc')
    np.linalg.vector_norm({f}) | axis={axes} | keepdims=True | ord={kk}
    np.linalg.matrix_norm({square}) | ord=2 | keepdims=True
    np.linalg.det({square})
    np.linalg.slogdet({square})
    np.linalg.inv({square} + 9 * np.eye({square}.shape[0]))
    np.linalg.solve({square} + 9 * np.eye({square}.shape[0]), {right})
    np.linalg.cholesky({square} @ {square}.T + 9 * np.eye({square}.shape[0])) | upper=True
    np.linalg.eigvalsh({square}) | UPLO='U'
    np.linalg.eigvals({square} + {square}.T)
    np.linalg.svdvals({finite}[:8])
    np.linalg.svd({finite}[:8], compute_uv=False)
    np.linalg.pinv({finite}[:8]) | rcond=1e-3
    np.linalg.lstsq({finite}[:9, :3], {finite}[:9, 0])
    np.linalg.qr({m}[:9, :9], mode='r')
    np.linalg.cond({m}[:8, :8])
    np.linalg.matrix_rank({m}[:8, :8])
    np.linalg.matrix_power({square}, {k})
    np.linalg.multi_dot([{square}, {square}, {square}])
    np.linalg.tensorinv({square} + 9 * np.eye({square}.shape[0]), ind=1)
    np.linalg.tensorsolve({square} + 9 * np.eye({square}.shape[0]), {right})
    np.linalg.trace({m}) | offset={k}
    np.linalg.diagonal({m}) | offset={k}
    np.linalg.outer({v}[:20], {q})
    np.linalg.cross([1.0, 2.0, 3.0], {v}[:3])
    np.linalg.matmul({m}, {right})
    np.linalg.tensordot({f}, {o})
    np.linalg.vecdot({f}, {o})
    np.linalg.matrix_transpose({m})
    np.linalg.eigh({square} + {square}.T)[0]
""")

# Writes to the first argument.
WRITES = phrases("""
    np.put({x}, {ii}, {n}) | mode='wrap'
    np.putmask({x}, {mask}, {y})
    np.place({x}, {mask}, [1, 2])
    np.copyto({x}, {l}) | casting='unsafe' | where={mask}
    np.fill_diagonal({m}, {n}) | wrap=True
    np.put_along_axis({d}, np.argsort({d}, axis=0, kind='stable')[:1], {n}, axis=0)
    np.add.at({x}, {ii}, {n})
    np.subtract.at({x}, [0, 0], {n})
    np.multiply.at({v}, [0, 0], 2)
    {x}[{key}] = {n}
    {x}[{key}] += {n}
    {x}[{mask}] = {n}
    {x}[{ii}] *= 2
    {x} += {l}
""")

UFUNCS = sorted(n for n in np.__all__ if isinstance(getattr(np, n), np.ufunc) and n not in NOT_CALLED)
MATRIX = ("matmul", "matvec", "vecdot", "vecmat")
_WHERE = ("where={mask}, out", "dtype={fdt}", "out", "casting='unsafe'", "order='F'")


def ufunc_phrases() -> list[Phrase]:
    """Calls of every ufunc, and of the methods of those that have two operands."""
    made = []
    for name in UFUNCS:
        ufunc = getattr(np, name)
        if name in MATRIX:
            made.append(Phrase(f"np.{name}({{m}}, {{right}})", ("out", "axes=[(0, 1), (0, 1), (0, 1)]"), 2))
            made.append(Phrase(f"np.{name}({{v}}, {{o}})", ("keepdims=True",) if name == "vecdot" else ()))
        elif ufunc.nin == 1:
            made.append(Phrase(f"np.{name}({{x}})", _WHERE if ufunc.nout == 1 else (), 0.7))
        else:
            made.append(Phrase(f"np.{name}({{x}}, {{y}})", _WHERE if ufunc.nout == 1 else (), 0.7))
            if ufunc.nout == 1:
                reduce = ("axis={axes}", "keepdims=True", "where={mask}, initial=1", "dtype={fdt}", "out")
                made.append(Phrase(f"np.{name}.reduce({{a}})", reduce, 0.2))
                made.append(Phrase(f"np.{name}.accumulate({{a}})", ("axis={ax}", "dtype={fdt}", "out"), 0.2))
                made.append(Phrase(f"np.{name}.outer({{q}}, {{v}})", ("out",), 0.2))
                made.append(Phrase(f"np.{name}.reduceat({{v}}, [0, 1])", (), 0.2))
    return made


CALLS = [*FUNCTIONS, *ufunc_phrases()]
