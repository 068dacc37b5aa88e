"""NumPy's `linalg` and `fft` on the arrays of one device, by the extensions of the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.payloads.foreign.array import Unspelled


class _Extension:
    def __init__(self, names: Any) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        found = getattr(np.linalg, name, None)
        if isinstance(found, type):
            return found  # an exception
        raise Unspelled(name)


class MatricesThere(_Extension):
    """`np.linalg`."""

    def _called(self, name: str, *arrays: Any, **options: Any) -> Any:
        names = self._names
        function = getattr(getattr(names.xp, "linalg", None), name, None)
        if function is None:
            raise Unspelled(f"linalg.{name}")
        dtype = np.result_type(np.float32, *(x.dtype for x in arrays))
        dtype = np.result_type(dtype, np.float64) if any(x.dtype.kind in "biu" for x in arrays) else dtype
        raws = [names.asarray_there(x).astype(dtype, copy=False).array for x in arrays]
        try:
            out = function(*raws, **options)
        except Exception as error:
            if names.kind.is_linalg_error(error):
                raise np.linalg.LinAlgError(str(error)) from None
            raise
        if isinstance(out, (tuple, list)):
            return tuple([names.made(each) for each in out])
        return names.made(out)

    def solve(self, a: Any, b: Any) -> Any:
        if b.ndim == 1:
            return self._called("solve", a, b[:, None])[..., 0]
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (self._names.broadcast_to(x, shape + x.shape[-2:]) for x in (a, b))
        if 0 in (*a.shape, *b.shape):
            return self._names.zeros(b.shape, np.result_type(a.dtype, b.dtype))
        return self._called("solve", a, b)

    def inv(self, a: Any) -> Any:
        return self._called("inv", a) if a.size else a.copy()

    def det(self, a: Any) -> Any:
        return self._called("det", a) if a.size else self._names.ones(a.shape[:-2], a.dtype)

    def slogdet(self, a: Any) -> Any:
        if not a.size:
            real = a.dtype.type(0).real.dtype
            return self._names.ones(a.shape[:-2], a.dtype), self._names.zeros(a.shape[:-2], real)
        return self._called("slogdet", a)

    def cholesky(self, a: Any, upper: bool = False) -> Any:
        if not a.size:
            return a.copy()
        factor = self._called("cholesky", a)
        names = self._names
        if not names.kind.lazy and not bool(names.all(names.isfinite(factor))) and bool(names.all(names.isfinite(a))):
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        return names.swapaxes(factor, -1, -2).conj() if upper else factor

    def qr(self, a: Any, mode: str = "reduced") -> Any:
        if mode == "r":
            return self._called("qr", a, mode="reduced")[1]
        return self._called("qr", a, mode=mode)

    def eigh(self, a: Any, UPLO: str = "L") -> Any:
        return self._called("eigh", self._one_triangle(a, UPLO))

    def eigvalsh(self, a: Any, UPLO: str = "L") -> Any:
        return self._called("eigvalsh", self._one_triangle(a, UPLO))

    def _one_triangle(self, a: Any, which: str) -> Any:
        """The Hermitian matrix of which one triangle is given: libraries differ in what they read."""
        names = self._names
        part = names.tril(a, -1) if which == "L" else names.triu(a, 1)
        other = names.swapaxes(part, -1, -2)
        other = other.conj() if a.dtype.kind == "c" else other
        eye = np.eye(a.shape[-1], dtype=bool)
        diagonal = names.where(eye, a.real.astype(a.dtype) if a.dtype.kind == "c" else a, names.zeros((), a.dtype))
        return part + other + diagonal

    def eig(self, a: Any) -> Any:
        return self._called("eig", a)

    def eigvals(self, a: Any) -> Any:
        return self._called("eigvals", a)

    def svd(self, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
        if compute_uv:
            return self._called("svd", a, full_matrices=full_matrices)
        return self.svdvals(a)

    def svdvals(self, a: Any) -> Any:
        if getattr(getattr(self._names.xp, "linalg", None), "svdvals", None) is None:
            return self._called("svd", a, full_matrices=False)[1]
        return self._called("svdvals", a)

    def pinv(self, a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
        names = self._names
        u, s, vh = self.svd(a, full_matrices=False)
        cut = rtol if rtol is not None else rcond
        cut = max(a.shape[-2:]) * np.finfo(a.dtype).eps if cut is None else cut
        large = s > np.asarray(cut, s.dtype)[..., None] * names.max(s, -1, keepdims=True) if s.size else s > 0
        inverse = names.where(large, 1 / names.where(large, s, 1.0), 0.0)
        turned = [names.swapaxes(x, -1, -2) for x in (u, vh)]
        u, v = (x.conj() if x.dtype.kind == "c" else x for x in turned)
        return names.matmul(v * inverse[..., None, :].astype(v.dtype, copy=False), u)


class FourierThere(_Extension):
    """`np.fft`."""

    def _called(self, name: str, x: Any, length: Any, axes: Any, norm: Any) -> Any:
        names = self._names
        function = getattr(getattr(names.xp, "fft", None), name, None)
        if function is None:
            raise Unspelled(f"fft.{name}")
        x = names.asarray_there(x)
        wide = np.complex64 if x.dtype.char in "efF" else np.complex128
        wanted = np.dtype(wide) if name not in ("rfft", "rfftn") else np.zeros(0, wide).real.dtype
        x = x.astype(wanted, copy=False)
        norm = "backward" if norm is None else norm
        if name.endswith("n"):
            options: dict[str, Any] = {} if length is None else {"s": tuple(length)}
            if axes is not None:
                options["axes"] = tuple(axes)
        else:
            options = {"n": length, "axis": axes}
        return names.made(function(x.array, norm=norm, **options))

    def fft(self, x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return self._called("fft", x, n, axis, norm)

    def ifft(self, x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return self._called("ifft", x, n, axis, norm)

    def rfft(self, x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return self._called("rfft", x, n, axis, norm)

    def irfft(self, x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return self._called("irfft", x, n, axis, norm)

    def fftn(self, x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        return self._called("fftn", x, s, axes, norm)

    def ifftn(self, x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        return self._called("ifftn", x, s, axes, norm)

    def rfftn(self, x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        return self._called("rfftn", x, s, axes, norm)

    def irfftn(self, x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        return self._called("irfftn", x, s, axes, norm)
