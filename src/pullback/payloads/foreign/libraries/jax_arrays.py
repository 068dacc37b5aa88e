"""JAX: arrays that cannot be written. Its own transformations are not used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np

from pullback.errors import AutogradError
from pullback.payloads.foreign.generators import Draws
from pullback.payloads.foreign.kinds import Kind, kind_named

_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
_WIDE = frozenset({"int64", "uint64", "float64", "complex128"})
# By SciPy's names: each was compared with SciPy on the operators' samples.
_SPECIAL = frozenset({
    "bernoulli", "beta", "betainc", "betaln", "digamma", "psi", "entr", "erf", "erfc", "erfinv", "exp1", "expi",
    "expn", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn", "hyp1f1", "i0", "i0e", "i1", "i1e",
    "kl_div", "log_ndtr", "ndtr", "ndtri", "poch", "rel_entr", "spence", "xlog1py", "xlogy", "zeta",
})  # fmt: skip


class JaxDraws(Draws):
    """Numbers of a key of JAX, which is split for every draw."""

    def __init__(self, key: Any) -> None:
        self.state = key

    def _key(self) -> Any:
        self.state, key = jax.random.split(self.state)
        return key

    def random(self, size: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return np.asarray(jax.random.uniform(self._key(), size, _checked(dtype)))

    def standard_normal(self, size: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return np.asarray(jax.random.normal(self._key(), size, _checked(dtype)))

    def standard_exponential(self, size: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return np.asarray(jax.random.exponential(self._key(), size, _checked(dtype)))

    def permutation(self, count: int) -> Any:
        return np.asarray(jax.random.permutation(self._key(), count))

    def between(self, low: int, high: int, size: tuple[int, ...]) -> Any:
        return np.asarray(jax.random.randint(self._key(), size, low, high))


def _checked(dtype: Any) -> Any:
    """A dtype that JAX has as it is set up."""
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise kind_named("jax").no_dtype(np.dtype(dtype))
    return dtype


class JaxNames:
    """`jax.numpy`, with a few functions by the names that are used here."""

    linalg = jnp.linalg
    fft = jnp.fft

    def __getattr__(self, name: str) -> Any:
        found = getattr(jnp, name)
        setattr(self, name, found)
        return found

    def is_complex(self, x: Any) -> bool:
        """Are the elements complex numbers?"""
        return x.dtype.kind == "c"

    def is_floating(self, x: Any) -> bool:
        """Are the elements real floating point numbers?"""
        return x.dtype.kind == "f"

    def join_parts(self, real: Any, imag: Any) -> Any:
        """Complex numbers of their parts."""
        return jax.lax.complex(real, imag)

    def full(self, shape: Any, value: Any, dtype: Any = None, device: Any = None) -> Any:
        """An array full of one number."""
        return jnp.full(shape, value, dtype=dtype, device=device)

    def take(self, x: Any, indices: Any, axis: int = 0) -> Any:
        """Elements along an axis; places outside were refused before."""
        return jnp.take(x, indices, axis=axis, mode="clip") if x.shape[axis] else jnp.take(x, indices, axis=axis)


class JaxKind(Kind):
    """Arrays of JAX. Dtypes of 64 bits exist only where `jax_enable_x64` is on."""

    def drawn_from(self, key: Any) -> JaxDraws:
        """A generator that begins with a key. A key by itself is none: it would draw the same numbers every time."""
        return JaxDraws(key)

    def check(self, array: Any) -> None:
        if isinstance(array, jax.core.Tracer):
            raise AutogradError(
                "FOREIGN_TAPE",
                "an array of a JAX transformation cannot become the array behind a Pullback tensor",
                why="two tapes would record it, and each would miss what the other does",
                fix="call it outside of jax.grad and jax.jit, or make it one function of JAX's: "
                "pb.interop.as_jax_function(f)",
            )

    def dtype_of(self, array: Any) -> np.dtype[Any]:
        return np.dtype(array.dtype)

    def raw_dtype(self, dtype: np.dtype[Any]) -> Any:
        if dtype.name in _WIDE and not jax.config.jax_enable_x64:
            raise self.no_dtype(f"{dtype} (jax_enable_x64 is off)")
        return super().raw_dtype(dtype)

    def raw_device(self, array: Any) -> Any:
        return array.device if not callable(array.device) else array.device()

    def device_text(self, raw: Any) -> str:
        return f"jax:{getattr(raw, 'platform', raw)}:{getattr(raw, 'id', 0)}"

    def parsed_device(self, text: str) -> Any:
        platform, _, number = text.partition(":")
        return jax.devices(platform or None)[int(number or 0)]

    def is_raw_device(self, thing: Any) -> bool:
        return isinstance(thing, jax.Device)

    def is_host(self, raw: Any) -> bool:
        return getattr(raw, "platform", "") == "cpu"

    def upload(self, array: np.ndarray[Any, Any], raw: Any) -> Any:
        self.raw_dtype(array.dtype)
        # A copy first: JAX may keep the memory of the host's array as its own.
        return jax.device_put(np.array(array, array.dtype.newbyteorder("="), order="C", copy=True), raw)

    def sent(self, array: Any, raw: Any) -> Any:
        return jax.device_put(array, raw)

    def copied(self, array: Any) -> Any:
        return jnp.array(array, copy=True)

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.astype(self.raw_dtype(dtype))

    def write_item(self, array: Any, index: tuple[Any, ...], value: Any) -> Any:
        return array.at[index].set(value)

    def scattered(self, flat: Any, places: Any, values: Any, adds: bool) -> Any:
        index = jnp.asarray(places)
        if adds:
            return flat.at[index].add(values)
        # JAX promises no order among equal places, and the last one is to count.
        last = jnp.full(flat.shape, -1).at[index].max(jnp.arange(index.shape[0]))
        return jnp.where(last >= 0, values[jnp.maximum(last, 0)], flat) if index.shape[0] else flat

    def reduction(self, name: str) -> Callable[..., Any]:
        function = getattr(jnp, name)
        if name in ("sum", "prod"):
            return lambda x, axis, keepdims: function(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
        return function

    def scan(self, ufunc: np.ufunc) -> Callable[..., Any] | None:
        return _SCANS.get(ufunc)

    def einsum(self, subscripts: str, operands: list[Any]) -> Any:
        return jnp.einsum(subscripts, *operands, precision="highest")

    def ufunc(self, ufunc: np.ufunc, name: str, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
        if ufunc is np.floor_divide and dtype.kind in "iu":
            return lambda x, y: jnp.where(y == 0, 0, jnp.floor_divide(x, y))  # as NumPy has it
        return _UFUNCS.get(ufunc)

    def special_function(self, name: str) -> Callable[..., Any] | None:
        return getattr(special, {"psi": "digamma"}.get(name, name), None) if name in _SPECIAL else None


_SCANS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: lambda x, axis: jnp.cumsum(x, axis, dtype=x.dtype),
    np.multiply: lambda x, axis: jnp.cumprod(x, axis, dtype=x.dtype),
}
_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    np.exp2: jnp.exp2, np.fmax: jnp.fmax, np.fmin: jnp.fmin, np.fmod: jnp.fmod, np.gcd: jnp.gcd, np.lcm: jnp.lcm,
    np.cbrt: jnp.cbrt, np.heaviside: jnp.heaviside, np.ldexp: jnp.ldexp, np.deg2rad: jnp.deg2rad,
    np.rad2deg: jnp.rad2deg, np.logaddexp: jnp.logaddexp, np.logaddexp2: jnp.logaddexp2, np.frexp: jnp.frexp,
    np.bitwise_count: jnp.bitwise_count, np.floor_divide: jnp.floor_divide,
}  # fmt: skip


def make_kind() -> Kind:
    """The kind of JAX's arrays."""
    return JaxKind("jax", (jax.Array,), JaxNames(), {name: np.dtype(name) for name in _DTYPES})
