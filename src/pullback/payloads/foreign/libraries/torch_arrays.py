"""torch: tensors as arrays, on any of its devices. Its own tape is not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pullback.errors import AutogradError
from pullback.payloads.foreign.generators import Draws
from pullback.payloads.foreign.kinds import Kind, sparse_error

_DTYPES = {
    "bool": torch.bool, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
    "uint8": torch.uint8, "float16": torch.float16, "float32": torch.float32, "float64": torch.float64,
    "complex64": torch.complex64, "complex128": torch.complex128,
}  # fmt: skip


class TorchNames:
    """torch's functions by the names and signatures of the array API standard."""

    linalg = torch.linalg

    @property
    def fft(self) -> Any:
        return _TRANSFORMS

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def is_complex(self, x: Any) -> bool:
        return x.is_complex()

    def is_floating(self, x: Any) -> bool:
        return x.is_floating_point()

    def join_parts(self, real: Any, imag: Any) -> Any:
        return torch.complex(real, imag)

    def real(self, x: Any) -> Any:
        return torch.real(x)

    def imag(self, x: Any) -> Any:
        return torch.imag(x)

    def conj(self, x: Any) -> Any:
        return torch.conj_physical(x)

    def asarray(self, x: Any, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
        if copy and isinstance(x, torch.Tensor):
            return x.clone()
        return torch.asarray(x, dtype=dtype, device=device, copy=copy)

    def astype(self, x: Any, dtype: Any) -> Any:
        return x.to(dtype)

    def permute_dims(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def broadcast_to(self, x: Any, shape: Any) -> Any:
        return x.expand(shape)

    def concat(self, arrays: Any, axis: int = 0) -> Any:
        return torch.cat([x.reshape(-1) for x in arrays] if axis is None else list(arrays), dim=axis or 0)

    def stack(self, arrays: Any, axis: int = 0) -> Any:
        return torch.stack(list(arrays), dim=axis)

    def take(self, x: Any, indices: Any, axis: int = 0) -> Any:
        return torch.index_select(x, axis, indices)

    def take_along_axis(self, x: Any, indices: Any, axis: int = -1) -> Any:
        return torch.gather(x, axis, indices)

    def flip(self, x: Any, axis: Any = None) -> Any:
        return torch.flip(x, axis)

    def bitwise_invert(self, x: Any) -> Any:
        return torch.bitwise_not(x)

    def searchsorted(self, x: Any, values: Any, side: str = "left") -> Any:
        return torch.searchsorted(x.contiguous(), values.contiguous(), side=side)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return torch.sum(x, axis, keepdims, dtype=x.dtype)

    def max(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        return torch.amax(x, axis, keepdims)

    def min(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        return torch.amin(x, axis, keepdims)

    def any(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        return torch.any(x, axis, keepdims)

    def all(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        return torch.all(x, axis, keepdims)

    def prod(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        for one in sorted(axis, reverse=True):
            x = torch.prod(x, one, keepdims, dtype=x.dtype)
        return x


class TorchDraws(Draws):
    """Numbers of a `torch.Generator`."""

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator

    def _drawn(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return function(*args, generator=self._generator, device=self._generator.device, **options).cpu().numpy()

    def random(self, size: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return self._drawn(torch.rand, size, dtype=_DTYPES[np.dtype(dtype).name])

    def standard_normal(self, size: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return self._drawn(torch.randn, size, dtype=_DTYPES[np.dtype(dtype).name])

    def standard_exponential(self, size: tuple[int, ...], dtype: Any = np.float64) -> Any:
        made = torch.empty(size, dtype=_DTYPES[np.dtype(dtype).name], device=self._generator.device)
        return made.exponential_(generator=self._generator).cpu().numpy()

    def permutation(self, count: int) -> Any:
        return self._drawn(torch.randperm, count)

    def between(self, low: int, high: int, size: tuple[int, ...]) -> Any:
        return self._drawn(torch.randint, low, high, size)

    @property
    def state(self) -> Any:
        return self._generator.get_state()

    @state.setter
    def state(self, state: Any) -> None:
        self._generator.set_state(state)


class _Transforms:
    """torch's Fourier transforms, which call axes `dim`."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(torch.fft, name)

        def transform(x: Any, *, norm: Any, **options: Any) -> Any:
            renamed = {"dim" if key in ("axis", "axes") else key: value for key, value in options.items()}
            return function(x, norm=norm, **renamed)

        return transform


_TRANSFORMS = _Transforms()


class TorchKind(Kind):
    """Tensors that can be written, with views of the library's own; none of them has negative strides."""

    def device_text(self, raw: Any) -> str:
        return f"torch:{raw}"

    def parsed_device(self, text: str) -> Any:
        made = torch.device(text or "cpu")
        return torch.device(made.type, 0) if made.type in ("cuda", "mps", "xpu") and made.index is None else made

    def is_raw_device(self, thing: Any) -> bool:
        return isinstance(thing, torch.device)

    def is_host(self, raw: Any) -> bool:
        return raw.type == "cpu"

    def is_unlinked(self, array: Any) -> bool:
        return array.device.type == "meta"

    def check(self, array: Any) -> None:
        if array.requires_grad:
            raise AutogradError(
                "FOREIGN_TAPE",
                "a torch tensor that requires grad cannot become the array behind a Pullback tensor",
                why="two tapes would record it, and each would miss what the other does",
                fix="give x.detach(), or make Pullback's function one of torch's: pb.interop.as_torch_function(f)",
            )
        if array.layout != torch.strided:
            raise sparse_error(f"a torch tensor of layout {array.layout}", "x.to_dense()")

    def shape_of(self, array: Any) -> tuple[int, ...]:
        return tuple(array.shape)

    def upload(self, array: np.ndarray[Any, Any], raw: Any) -> Any:
        self.raw_dtype(array.dtype)
        if raw.type == "meta":
            return torch.empty(array.shape, dtype=self.raw_dtype(array.dtype), device=raw)
        native = np.array(array, array.dtype.newbyteorder("="), order="C", copy=True)
        made = torch.from_numpy(native)
        return made if raw.type == "cpu" else made.to(raw)

    def sent(self, array: Any, raw: Any) -> Any:
        return array.to(raw, copy=True)

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        return array.resolve_conj().resolve_neg().cpu().numpy()

    def copied(self, array: Any) -> Any:
        return array.clone(memory_format=torch.contiguous_format)

    def address_of(self, array: Any) -> tuple[int, tuple[int, ...]]:
        size = array.element_size()
        return array.data_ptr(), tuple([size * step for step in array.stride()])

    def copy_into(self, array: Any, value: Any) -> None:
        array.copy_(value)

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.to(self.raw_dtype(dtype))

    def scattered(self, flat: Any, places: Any, values: Any, adds: bool) -> Any:
        places = np.ascontiguousarray(places) if isinstance(places, np.ndarray) else places
        index = torch.as_tensor(places, device=flat.device)
        if not adds and index.numel() > 1:
            # torch promises no order among equal places, and the last one is to count.
            order = torch.arange(index.numel(), device=flat.device)
            last = torch.full((flat.shape[0],), -1, dtype=torch.int64, device=flat.device)
            last = last.scatter_reduce(0, index, order, "amax")
            return torch.where(last >= 0, values[last.clamp(min=0)], flat)
        return flat.index_put((index,), values, accumulate=adds)

    def argsort(self, array: Any, axis: int) -> Any:
        return torch.argsort(array, dim=axis, stable=True)

    def reduction(self, name: str) -> Callable[..., Any]:
        return getattr(self.namespace, name)

    def diagonal(self, offset: int, axis1: int, axis2: int) -> Callable[..., Any] | None:
        return lambda kind, array: torch.diagonal(array, offset, axis1, axis2)

    def nonzero(self, array: Any) -> tuple[Any, ...]:
        return torch.nonzero(array.array, as_tuple=True)

    def first_extreme(self, name: str) -> Callable[[Any, int], Any]:
        return lambda array, axis: getattr(torch, name)(array, dim=axis)

    def matmul(self, x: Any, y: Any) -> Any:
        if x.dtype == torch.bool:
            return torch.matmul(x.to(torch.int64), y.to(torch.int64)) > 0
        return torch.matmul(x, y)

    def scan(self, ufunc: np.ufunc) -> Callable[..., Any] | None:
        return _SCANS.get(ufunc)

    def einsum(self, subscripts: str, operands: list[Any]) -> Any:
        return torch.einsum(subscripts, *operands)

    def ufunc(self, ufunc: np.ufunc, name: str, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
        """torch's own functions that the standard does not name, or that mean something else by that name."""
        if ufunc is np.sign and dtype.kind == "c":
            return torch.sgn
        if ufunc is np.sign and dtype.kind == "f":
            return lambda x: torch.where(torch.isnan(x), x, torch.sign(x))
        if ufunc is np.power and dtype.kind == "c":
            return lambda x, y: torch.where(y == 0, 1.0, torch.pow(x, y))
        if ufunc is np.absolute and dtype.kind in "bu":
            return lambda x: x
        if ufunc is np.remainder and dtype.kind == "f":
            return None
        return _UFUNCS.get(ufunc)

    def draws(self, generator: Any) -> Draws | None:
        return TorchDraws(generator) if isinstance(generator, torch.Generator) else None

    def special_function(self, name: str) -> Callable[..., Any] | None:
        return _SPECIAL.get(name)


_SCANS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype),
    np.multiply: lambda x, axis: torch.cumprod(x, axis, dtype=x.dtype),
    np.maximum: lambda x, axis: torch.cummax(x, axis).values,
    np.minimum: lambda x, axis: torch.cummin(x, axis).values,
    np.logaddexp: lambda x, axis: torch.logcumsumexp(x, axis),
}
_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.exp2: torch.exp2, np.fmax: torch.fmax, np.fmin: torch.fmin, np.fmod: torch.fmod,
    np.conjugate: torch.conj_physical,
    np.gcd: torch.gcd, np.lcm: torch.lcm, np.deg2rad: torch.deg2rad, np.rad2deg: torch.rad2deg,
    np.frexp: lambda x: tuple(torch.frexp(x)), np.floor_divide: torch.floor_divide, np.invert: torch.bitwise_not,
    np.square: torch.square, np.reciprocal: torch.reciprocal, np.left_shift: torch.bitwise_left_shift,
    np.right_shift: torch.bitwise_right_shift, np.logaddexp2: torch.logaddexp2,
}  # fmt: skip
_S = torch.special
# By SciPy's names: each was compared with SciPy on the operators' samples.
_SPECIAL: dict[str, Callable[..., Any]] = {
    "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv, "erfcx": _S.erfcx, "gammaln": torch.lgamma,
    "psi": torch.digamma, "digamma": torch.digamma, "i0": torch.i0, "i0e": _S.i0e, "i1": _S.i1, "i1e": _S.i1e,
    "ndtr": _S.ndtr, "ndtri": _S.ndtri, "log_ndtr": _S.log_ndtr, "entr": _S.entr, "xlogy": torch.xlogy,
    "xlog1py": _S.xlog1py, "gammainc": _S.gammainc, "gammaincc": _S.gammaincc, "j0": _S.bessel_j0, "j1": _S.bessel_j1,
    "y0": _S.bessel_y0, "y1": _S.bessel_y1, "k0": _S.modified_bessel_k0, "k1": _S.modified_bessel_k1,
    "k0e": _S.scaled_modified_bessel_k0, "k1e": _S.scaled_modified_bessel_k1,
}  # fmt: skip


def make_kind() -> Kind:
    """The kind of torch's tensors."""
    dtypes: dict[Any, Any] = dict(_DTYPES)
    try:
        import ml_dtypes

        dtypes[ml_dtypes.bfloat16] = torch.bfloat16
    except ImportError:
        pass
    return TorchKind("torch", (torch.Tensor,), TorchNames(), dtypes, mutable=True, views=True)

