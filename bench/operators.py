"""How fast is each operator, forward and backward, at small, medium and large size, against torch and HIPS autograd?

Every row is one call and its gradient with respect to all floating operands. Before anything is timed, the frameworks
are compared on the same call under a random cotangent: with a cotangent of ones, the gradient of a softmax or of a
normalisation is zero and a wrong one would pass. HIPS autograd takes part where it has the operator, or where its users
would write it in a line or two; `-` stands where it has nothing of the kind.

"small" is overhead, "medium" fits into the second-level cache, "large" is about a million elements, or a matrix
of a thousand rows. Torch uses two threads; so do the BLAS behind Pullback and HIPS autograd, and Pullback's own pieces.
With `OMP_NUM_THREADS=1` everybody has one, which is the comparison for a busy machine: threads that wait for each other
are disturbed far more by other programs than one thread is.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import frameworks
from bench.frameworks import Arrays
from bench.runner import Options, Report, Row, Workload, compare, measure, print_table

SIZES = ("small", "medium", "large")
PEERS = ("pullback", "torch", "autograd")
LIMIT = 2.0  # times torch, at large size
SLOW_CHECK = 2.0  # seconds, for a few calls of every framework: then fewer turns have to do

Functions = Callable[..., Any] | Mapping[str, Callable[..., Any]]
Maker = Callable[[np.random.Generator], Arrays]


@dataclass(frozen=True)
class ShortTurns(Options):
    """Many short turns: on a machine that others use as well, a short one is more likely to be left alone."""

    size: str = "small"
    slow: bool = False  # somebody takes more than half a second for a call

    @property
    def rounds(self) -> int:
        """How many turns each framework takes."""
        rounds = 3 if self.slow else {"small": 45, "medium": 21, "large": 11}[self.size]
        return max(1, rounds // 3) if self.quick else rounds

    @property
    def seconds(self) -> float:
        """How long one turn lasts at least."""
        return 0.002


@dataclass(frozen=True)
class Question:
    """An operator: how each framework spells it, and its operands at the three sizes."""

    name: str
    functions: Functions
    operands: tuple[Maker, Maker, Maker]
    single: bool = False  # float32, as networks have it; otherwise float64
    tolerance: float = 1e-9

    def workloads(self) -> list[Workload]:
        """A row for each size."""
        names = PEERS if callable(self.functions) else tuple(self.functions)
        tolerance = 2e-3 if self.single else self.tolerance
        return [
            Workload(f"{self.name} {size}", self.functions, self._operands(maker), "differentiate", names,
                     tolerance=tolerance)
            for size, maker in zip(SIZES, self.operands, strict=True)
        ]  # fmt: skip

    def _operands(self, maker: Maker) -> Maker:
        if not self.single:
            return maker
        return lambda rng: [x.astype(np.float32) if x.dtype.kind == "f" else x for x in maker(rng)]


def three(make: Callable[..., Maker], *sizes: tuple[Any, ...]) -> tuple[Maker, Maker, Maker]:
    """The same kind of operands at three sizes."""
    small, medium, large = (make(*size) for size in sizes)
    return small, medium, large


def normal(*shapes: tuple[int, ...]) -> Maker:
    """Normally distributed operands."""
    return lambda rng: [rng.standard_normal(shape) for shape in shapes]


MATRICES = ((8, 10),), ((128, 256),), ((1024, 1024),)


# Normalising functions and losses -------------------------------------------------------------------------------------


def hips_softmax(m: Any, x: Any) -> Any:
    """The usual formula."""
    powers = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return powers / m.sum(powers, axis=-1, keepdims=True)


def hips_log_softmax(m: Any, x: Any) -> Any:
    """The usual formula."""
    shifted = x - m.max(x, axis=-1, keepdims=True)
    return shifted - m.log(m.sum(m.exp(shifted), axis=-1, keepdims=True))


def hips_logsumexp(m: Any, x: Any) -> Any:
    """Its own operator, which is in another namespace."""
    from autograd.scipy.special import logsumexp

    return logsumexp(x, axis=-1)


SOFTMAX = {
    "pullback": lambda m, x: m.softmax(x, axis=-1),
    "torch": lambda m, x: m.softmax(x, dim=-1),
    "autograd": hips_softmax,
}
LOG_SOFTMAX = {
    "pullback": lambda m, x: m.log_softmax(x, axis=-1),
    "torch": lambda m, x: m.log_softmax(x, dim=-1),
    "autograd": hips_log_softmax,
}
LOGSUMEXP = {
    "pullback": lambda m, x: m.logsumexp(x, axis=-1),
    "torch": lambda m, x: m.logsumexp(x, dim=-1),
    "autograd": hips_logsumexp,
}


def layer(rows: int, width: int) -> Maker:
    """A batch, a weight and a bias."""
    return normal((rows, width), (width,), (width,))


def hips_layer_norm(m: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The usual formula."""
    centred = x - m.mean(x, axis=-1, keepdims=True)
    return centred / m.sqrt(m.mean(centred * centred, axis=-1, keepdims=True) + 1e-5) * weight + bias


LAYER_NORM = {
    "pullback": lambda m, x, w, b: m.nn.layer_norm(x, w.shape, w, b),
    "torch": lambda m, x, w, b: m.nn.functional.layer_norm(x, w.shape, w, b),
    "autograd": hips_layer_norm,
}


def images(batch: int, channels: int, length: int) -> Maker:
    """A batch of images, a weight and a bias per channel."""
    return normal((batch, channels, length, length), (channels,), (channels,))


def hips_batch_norm(m: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The usual formula."""
    centred = x - m.mean(x, axis=(0, 2, 3), keepdims=True)
    scale = m.sqrt(m.mean(centred * centred, axis=(0, 2, 3), keepdims=True) + 1e-5)
    return centred / scale * weight[:, None, None] + bias[:, None, None]


BATCH_NORM = {
    "pullback": lambda m, x, w, b: m.nn.batch_norm(x, None, None, w, b, training=True),
    "torch": lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, training=True),
    "autograd": hips_batch_norm,
}


def labelled(rows: int, classes: int) -> Maker:
    """Scores and labels."""
    return lambda rng: [rng.standard_normal((rows, classes)), rng.integers(0, classes, rows)]


def hips_cross_entropy(m: Any, x: Any, labels: Any) -> Any:
    """The usual formula."""
    return -m.mean(hips_log_softmax(m, x)[np.arange(len(labels)), labels])


CROSS_ENTROPY = {
    "pullback": lambda m, x, labels: m.nn.cross_entropy(x, labels),
    "torch": lambda m, x, labels: m.nn.functional.cross_entropy(x, labels),
    "autograd": hips_cross_entropy,
}


# Activations and special functions ------------------------------------------------------------------------------------


def hips_special(name: str) -> Callable[..., Any]:
    """A function of `autograd.scipy.special`."""

    def function(m: Any, x: Any) -> Any:
        from autograd.scipy import special

        return getattr(special, name)(x)

    return function


def hips_gelu(m: Any, x: Any) -> Any:
    """The definition."""
    from autograd.scipy.special import erf

    return 0.5 * x * (1 + erf(x * 0.7071067811865476))


GELU = {
    "pullback": lambda m, x: m.nn.gelu(x),
    "torch": lambda m, x: m.nn.functional.gelu(x),
    "autograd": hips_gelu,
}
SILU = {
    "pullback": lambda m, x: m.nn.silu(x),
    "torch": lambda m, x: m.nn.functional.silu(x),
    "autograd": lambda m, x: x / (1 + m.exp(-x)),
}
ERF = {
    "pullback": lambda m, x: m.special.erf(x),
    "torch": lambda m, x: m.special.erf(x),
    "autograd": hips_special("erf"),
}
LOG_NDTR = {"pullback": lambda m, x: m.special.log_ndtr(x), "torch": lambda m, x: m.special.log_ndtr(x)}


# Products -------------------------------------------------------------------------------------------------------------


def square(n: int) -> Maker:
    """Two square matrices."""
    return normal((n, n), (n, n))


def stacks(batch: int, n: int) -> Maker:
    """Two stacks of square matrices."""
    return normal((batch, n, n), (batch, n, n))


def heads(batch: int, count: int, length: int, width: int) -> Maker:
    """Queries and keys."""
    return normal(*((batch, count, length, width),) * 2)


def queries_keys_values(batch: int, count: int, length: int, width: int) -> Maker:
    """Queries, keys and values."""
    return normal(*((batch, count, length, width),) * 3)


def matmul(m: Any, a: Any, b: Any) -> Any:
    """The operator itself."""
    return a @ b


def scores(m: Any, query: Any, key: Any) -> Any:
    """A batched product in Einstein's notation."""
    return m.einsum("bhqd,bhkd->bhqk", query, key)


def bilinear(m: Any, x: Any, w: Any, y: Any) -> Any:
    """Three operands."""
    return m.einsum("bi,ij,bj->b", x, w, y)


def hips_attention(m: Any, query: Any, key: Any, value: Any) -> Any:
    """The usual formula."""
    weights = hips_softmax(m, m.matmul(query, m.swapaxes(key, -1, -2)) / np.sqrt(query.shape[-1]))
    return m.matmul(weights, value)


ATTENTION = {
    "pullback": lambda m, q, k, v: m.nn.scaled_dot_product_attention(q, k, v),
    "torch": lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v),
    "autograd": hips_attention,
}


def filters(batch: int, channels: int, length: int, count: int) -> Maker:
    """A batch of images and filters of three by three."""
    return normal((batch, channels, length, length), (count, channels, 3, 3))


def hips_conv2d(m: Any, x: Any, w: Any) -> Any:
    """Its own convolution, which turns filters around."""
    from autograd.scipy.signal import convolve

    return convolve(x, w[:, :, ::-1, ::-1], axes=([2, 3], [2, 3]), dot_axes=([1], [1]), mode="valid")


CONV2D = {
    "pullback": lambda m, x, w: m.nn.conv2d(x, w),
    "torch": lambda m, x, w: m.nn.functional.conv2d(x, w),
    "autograd": hips_conv2d,
}
MAX_POOL2D = {
    "pullback": lambda m, x: m.nn.max_pool2d(x, 2),
    "torch": lambda m, x: m.nn.functional.max_pool2d(x, 2),
    "autograd": lambda m, x: m.max(
        m.reshape(x, (*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2)), axis=(3, 5)
    ),
}  # fmt: skip


def bilinear_operands(rows: int, width: int) -> Maker:
    """Two batches and a matrix between them."""
    return normal((rows, width), (width, width), (rows, width))


# Linear algebra -------------------------------------------------------------------------------------------------------


def definite(n: int) -> Maker:
    """A positive definite matrix, well conditioned."""

    def make(rng: np.random.Generator) -> Arrays:
        a = rng.standard_normal((n, n)) / np.sqrt(n)
        return [a @ a.T + np.eye(n)]

    return make


def system(n: int, columns: int) -> Maker:
    """A matrix, well conditioned, and right-hand sides."""
    return lambda rng: [rng.standard_normal((n, n)) / np.sqrt(n) + 3 * np.eye(n), rng.standard_normal((n, columns))]


def cholesky(m: Any, a: Any) -> Any:
    """The lower factor. The gradient is read as that of a symmetric matrix, since frameworks differ in the halves."""
    return m.linalg.cholesky((a + a.T) * 0.5)


def solve(m: Any, a: Any, b: Any) -> Any:
    """The operator itself."""
    return m.linalg.solve(a, b)


def inv(m: Any, a: Any) -> Any:
    """The operator itself."""
    return m.linalg.inv(a)


# Fourier transforms ---------------------------------------------------------------------------------------------------


def rfft(m: Any, x: Any) -> Any:
    """There and back, so that the result is real."""
    return m.fft.irfft(m.fft.rfft(x))


def fft2(m: Any, x: Any) -> Any:
    """The real part of a transform over two axes."""
    return m.real(m.fft.fft2(x))


# Scans, sorting, indexing ---------------------------------------------------------------------------------------------

SCANS: dict[str, Mapping[str, Callable[..., Any]]] = {
    "cumsum": {
        "pullback": lambda m, x: m.cumsum(x, axis=-1),
        "torch": lambda m, x: m.cumsum(x, dim=-1),
        "autograd": lambda m, x: m.cumsum(x, axis=-1),
    },
    "cumsum axis 0": {
        "pullback": lambda m, x: m.cumsum(x, axis=0),
        "torch": lambda m, x: m.cumsum(x, dim=0),
        "autograd": lambda m, x: m.cumsum(x, axis=0),
    },
    "cumprod": {
        "pullback": lambda m, x: m.cumprod(x, axis=-1),
        "torch": lambda m, x: m.cumprod(x, dim=-1),
    },
    "logcumsumexp": {
        "pullback": lambda m, x: m.logcumsumexp(x, axis=-1),
        "torch": lambda m, x: m.logcumsumexp(x, dim=-1),
    },
}
SORT = {"pullback": lambda m, x: m.sort(x, axis=-1), "torch": lambda m, x: m.sort(x, dim=-1, stable=True)[0]}
SORT_FLAT = {**SORT, "autograd": lambda m, x: m.sort(x)}
TOPK = {"pullback": lambda m, x: m.topk(x, 8)[0], "torch": lambda m, x: m.topk(x, 8)[0]}
MAX = {
    "pullback": lambda m, x: m.max(x, axis=-1),
    "torch": lambda m, x: m.max(x, dim=-1)[0],
    "autograd": lambda m, x: m.max(x, axis=-1),
}
VAR = {
    "pullback": lambda m, x: m.var(x, axis=-1),
    "torch": lambda m, x: m.var(x, dim=-1, correction=0),
    "autograd": lambda m, x: m.var(x, axis=-1),
}
PROD = {
    "pullback": lambda m, x: m.prod(x, axis=-1),
    "torch": lambda m, x: m.prod(x, dim=-1),
    "autograd": lambda m, x: m.prod(x, axis=-1),
}


def table(rows: int, width: int, reads: int) -> Maker:
    """A table and rows to read from it, many of them more than once."""
    return lambda rng: [rng.standard_normal((rows, width)), rng.integers(0, rows, reads)]


def places(rows: int, width: int, reads: int) -> Maker:
    """A matrix and places in each of its rows."""
    return lambda rng: [rng.standard_normal((rows, width)), rng.integers(0, width, (rows, reads))]


def additions(rows: int, width: int, sources: int) -> Maker:
    """A matrix, places in it, and what to add there."""
    return lambda rng: [
        rng.standard_normal((rows, width)), rng.integers(0, rows, (sources, width)),
        rng.standard_normal((sources, width)),
    ]  # fmt: skip


def rows_to_add(rows: int, width: int, sources: int) -> Maker:
    """A matrix, rows of it, and what to add to them."""
    return lambda rng: [
        rng.standard_normal((rows, width)), rng.integers(0, rows, sources), rng.standard_normal((sources, width))
    ]  # fmt: skip


def take_rows(m: Any, x: Any, index: Any) -> Any:
    """Indexing with an array."""
    return x[index]


def hips_gather(m: Any, x: Any, index: Any) -> Any:
    """Indexing with two arrays."""
    return x[np.arange(len(index))[:, None], index]


GATHER = {
    "pullback": lambda m, x, index: m.take_along_axis(x, index, axis=1),
    "torch": lambda m, x, index: m.take_along_dim(x, index, dim=1),
    "autograd": hips_gather,
}
EMBEDDING = {
    "pullback": lambda m, x, index: m.nn.embedding(index, x),
    "torch": lambda m, x, index: m.nn.functional.embedding(index, x),
    "autograd": take_rows,
}
SCATTER_ADD = {
    "pullback": lambda m, x, index, source: m.scatter_add(x, 0, index, source),
    "torch": lambda m, x, index, source: m.scatter_add(x, 0, index, source),
}
INDEX_ADD = {
    "pullback": lambda m, x, index, source: m.index_add(x, 0, index, source),
    "torch": lambda m, x, index, source: m.index_add(x, 0, index, source),
}


def positive(*shape: int) -> Maker:
    """Numbers near one, whose products stay finite."""
    return lambda rng: [rng.uniform(0.98, 1.02, shape)]


def questions() -> list[Question]:
    """The rows, in the order of the table."""
    tables = three(table, (20, 8, 16), (1000, 64, 512), (20000, 128, 8192))
    plain = three(normal, *MATRICES)
    networks = [
        ("softmax", SOFTMAX, plain),
        ("log_softmax", LOG_SOFTMAX, plain),
        ("logsumexp", LOGSUMEXP, plain),
        ("layer_norm", LAYER_NORM, three(layer, (8, 16), (128, 256), (1024, 1024))),
        ("batch_norm", BATCH_NORM, three(images, (2, 3, 4), (8, 16, 16), (32, 32, 32))),
        ("cross_entropy", CROSS_ENTROPY, three(labelled, (8, 10), (128, 256), (1024, 1024))),
        ("gelu", GELU, plain),
        ("silu", SILU, plain),
        ("matmul", matmul, three(square, (8,), (128,), (1024,))),
        ("attention", ATTENTION, three(queries_keys_values, (1, 2, 8, 8), (2, 4, 64, 32), (4, 8, 256, 64))),
        ("conv2d", CONV2D, three(filters, (1, 2, 6, 3), (4, 8, 16, 16), (16, 32, 32, 64))),
        ("max_pool2d", MAX_POOL2D, tuple(lambda rng, make=make: make(rng)[:1] for make in three(
            images, (1, 2, 6), (4, 8, 16), (32, 32, 32)))),
    ]  # fmt: skip
    asked = [
        Question(f"{name} {kind}", functions, operands, single)
        for name, functions, operands in networks
        for kind, single in (("f64", False), ("f32", True))
    ]
    asked += [
        Question("erf f64", ERF, plain),
        Question("log_ndtr f64", LOG_NDTR, plain),
        Question("matmul stacked f64", matmul, three(stacks, (2, 4), (16, 32), (64, 128))),
        Question("einsum batched f64", scores, three(heads, (1, 2, 8, 8), (2, 4, 64, 32), (4, 8, 256, 64))),
        Question("einsum three f64", bilinear, three(bilinear_operands, (4, 8), (64, 64), (1024, 512))),
        Question("cholesky f64", cholesky, three(definite, (4,), (64,), (1024,)), tolerance=1e-7),
        Question("solve f64", solve, three(system, (4, 2), (64, 8), (1024, 64)), tolerance=1e-7),
        Question("inv f64", inv, three(lambda n: lambda rng: system(n, 1)(rng)[:1], (4,), (64,), (512,)),
                 tolerance=1e-7),
        Question("rfft and irfft f64", rfft, three(normal, ((16,),), ((16, 1024),), ((64, 16384),))),
        Question("fft2 f64", fft2, three(normal, ((4, 4),), ((64, 64),), ((1024, 1024),))),
        *(Question(f"{name} f64", functions, three(positive, (8, 10), (128, 256), (1024, 1024)))
          for name, functions in SCANS.items()),
        Question("sort f64", SORT, plain),
        Question("sort flat f64", SORT_FLAT, three(normal, ((16,),), ((16384,),), ((1_000_000,),))),
        Question("topk f64", TOPK, three(normal, ((8, 10),), ((128, 256),), ((1024, 1024),))),
        Question("max f64", MAX, plain),
        Question("var f64", VAR, plain),
        Question("prod f64", PROD, three(positive, (8, 10), (128, 256), (1024, 1024))),
        Question("take rows f64", take_rows, tables),
        Question("embedding f32", EMBEDDING, tables, single=True),
        Question("gather f64", GATHER, three(places, (8, 10, 4), (128, 256, 64), (1024, 1024, 512))),
        Question("scatter_add f64", SCATTER_ADD, three(additions, (8, 4, 16), (128, 64, 512), (1024, 256, 4096))),
        Question("index_add f64", INDEX_ADD, three(rows_to_add, (8, 4, 16), (128, 64, 512), (4096, 256, 4096))),
    ]  # fmt: skip
    return asked


# Why an operator may take more than twice torch's time at large size, by the first word of its row.
_PASSES = "every step is a NumPy pass over a piece in the cache, where torch has one vectorised loop for all of them"
_EXP = "NumPy's float64 exp takes 5 ns an element here, since it is vectorised for AVX-512 only"
REASONS: dict[str, str] = {
    "softmax": f"softmax: {_EXP}, and {_PASSES}.",
    "log_softmax": f"log_softmax: {_EXP}, and {_PASSES}.",
    "logsumexp": f"logsumexp: {_EXP}, and {_PASSES}.",
    "cross_entropy": f"cross_entropy: {_EXP}, and {_PASSES}.",
    "layer_norm": f"layer_norm: {_PASSES}.",
    "batch_norm": f"batch_norm: {_PASSES}.",
    "gelu": f"gelu: {_PASSES}; NumPy has no error function, so it is a table and a series.",
    "silu": f"silu: {_EXP}, and {_PASSES}.",
    "attention": f"attention: {_PASSES}, except for the matrix products.",
    "max_pool2d": "max_pool2d: four passes for each place of the window, one of them strided.",
    "erf": f"erf: {_PASSES}; NumPy has no error function, so it is a table and a series.",
    "index_add": "index_add: rows are added in rounds of distinct rows, since NumPy adds at positions one by one.",
    "log_ndtr": "log_ndtr: SciPy's function takes 28 ns an element, and `erfcx` for its derivative 31 ns.",
    "cumsum": "cumsum: NumPy's scan along a row waits for each addition, 4 ns an element.",
    "cumprod": f"cumprod: NumPy's scan along a row waits for each product; in addition, {_PASSES}.",
    "sort": "sort: NumPy sorts positions, then values are read there and checked for ties, to know that it was stable.",
    "topk": "topk: NumPy partitions a copy, from which the places have to be found again by comparison.",
    "max": "max: two thirds of the time NumPy fills the gradient with zeros, on one thread; the rest is its `argmax`.",
    "prod": "prod: NumPy's product of a row waits for each product, 1 ns an element, and before backward divides by "
    "the elements, two passes make sure that none of them is near zero.",
    "take": "take: rows are added in rounds of distinct rows, since NumPy adds at positions one element at a time.",
    "embedding": "embedding: rows are added in rounds of distinct rows, since NumPy adds at positions one by one.",
    "gather": "gather: positions are checked and made flat, forward and backward, before NumPy reads and adds there.",
    "fft2": "fft2: NumPy transforms on one thread, torch on two; 1.6 when it is measured alone.",
    "conv2d": "conv2d: windows are copied into columns for the matrix product.",
    "solve": "solve: NumPy factorises once forward and once backward, because it cannot keep the factors.",
}


def check(workload: Workload, adapters: Mapping[str, Any]) -> None:
    """Compare all frameworks under a random cotangent, which is an operand of a product with the result."""
    functions = workload.function
    first = workload.case("pullback", adapters["pullback"])
    shape = first.read(first.run())[0].shape

    def under(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda m, cotangent, *operands: function(m, *operands) * cotangent

    weighted = under(functions) if callable(functions) else {name: under(each) for name, each in functions.items()}

    def operands(rng: np.random.Generator) -> Arrays:
        arrays = workload.operands(rng)
        dtype = next(array.dtype for array in arrays if array.dtype.kind == "f")
        return [np.random.default_rng(8).standard_normal(shape).astype(dtype), *arrays]

    asked = Workload(workload.name, weighted, operands, "differentiate", workload.frameworks,
                     tolerance=workload.tolerance)  # fmt: skip
    names = [name for name in adapters if asked.is_for(name)]
    compare(asked, {name: asked.case(name, adapters[name]) for name in names})


def ratio(row: Row, name: str) -> float | None:
    """Pullback's time over another's."""
    return row.best["pullback"] / row.best[name] if name in row.best else None


def cells(row: Row) -> list[str]:
    """One line of the table."""
    operator, _, size = row.name.rpartition(" ")
    ratios = [ratio(row, name) for name in ("torch", "autograd")]
    shown = ["-" if each is None else f"{each:.2f}" for each in ratios]
    return [operator, size, f"{row.best['pullback'] * 1e6:.1f}", *shown]


def remarks(rows: list[Row]) -> list[str]:
    """What has to be said about these rows: reasons, and what lacks one."""
    lines = []
    for row in rows:
        word = row.name.partition(" ")[0]
        to_torch, to_hips = ratio(row, "torch"), ratio(row, "autograd")
        if row.name.endswith("large") and to_torch is not None and to_torch > LIMIT:
            lines.append(REASONS.get(word, f"{word} is more than {LIMIT:g} times slower than torch: no reason known."))
        if to_hips is not None and to_hips > 1:
            lines.append(f"{row.name} is slower than HIPS autograd ({to_hips:.2f}).")
    return list(dict.fromkeys(lines))


def main(options: Options) -> None:
    """Measure, print and store everything in this file."""
    report = Report("operators")
    adapters = {name: adapter for name, adapter in frameworks.load() if name in PEERS}
    threads = int(os.environ.get("OMP_NUM_THREADS", frameworks.THREADS))
    if "torch" in adapters:
        adapters["torch"].namespace.set_num_threads(threads)
    report.findings["threads"] = threads
    rows = []
    for workload in (workload for question in questions() for workload in question.workloads()):
        if options.only in workload.name:
            start = time.perf_counter()
            check(workload, adapters)
            slow = time.perf_counter() - start > SLOW_CHECK
            turns = ShortTurns(options.quick, size=workload.name.rpartition(" ")[2], slow=slow)
            rows.append(measure(workload, adapters, turns))
            print("  " + "   ".join(cells(rows[-1])), flush=True)
    header = ["operator", "size", "pullback us", "torch ratio", "HIPS ratio"]
    print_table("forward and backward, Pullback's best time and its ratios", header, map(cells, rows))
    for line in remarks(rows):
        print(f"  {line}")
    report.add_rows("operators", rows)
    report.findings["remarks"] = remarks(rows)
    report.write()


if __name__ == "__main__":
    main(Options())
