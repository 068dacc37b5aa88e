"""Distances between vectors, along the last axis. A distance that is 0 has slope 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.operators.distances import row_distances
from pullback.scipy._arrays import declare_arrays, root
from pullback.scipy._surface import Call, constant, joined
from pullback.tensors.tensor import Tensor


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None, powered: bool = False) -> Any:
    """`sum(w * |u - v|**p) ** (1 / p)`, or without the root."""
    off = u - v
    if not isinstance(p, Tensor):
        if p == math.inf:
            return _chebyshev(u, v, w)
        if p == 2:
            total = _weighted(off * off, w)
            return total if powered else root(total)
        if p == 1:
            return _weighted(pb.abs(off), w)
    same = off == 0
    total = _weighted(pb.where(same, 0.0, pb.abs(pb.where(same, 1.0, off)) ** p), w)
    if powered:
        return total
    none = total == 0
    return pb.where(none, 0.0, pb.where(none, 1.0, total) ** (1.0 / p))


def _weighted(values: Any, w: Any = None) -> Any:
    return (values if w is None else values * w).sum(axis=-1)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    off = pb.abs(u - v)
    return (off if w is None else off * (joined(w) > 0)).max(axis=-1)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    below = pb.abs(u) + pb.abs(v)
    none = below == 0
    return _weighted(pb.where(none, 0.0, pb.abs(u - v) / pb.where(none, 1.0, below)), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _weighted(pb.abs(u - v), w) / _weighted(pb.abs(u + v), w)


def _correlation(u: Any, v: Any, w: Any = None, centered: Any = True) -> Any:
    if w is not None:
        w = w / w.sum()
    if centered:
        u, v = (x - (x.mean(axis=-1) if w is None else _weighted(x, w))[..., None] for x in (u, v))
    return 1.0 - _weighted(u * v, w) / pb.sqrt(_weighted(u * u, w) * _weighted(v * v, w))


def _jensenshannon(p: Any, q: Any, base: Any = None) -> Any:
    p, q = (x / x.sum(axis=-1)[..., None] for x in (p, q))
    middle = (p + q) / 2.0
    entropies = [pb.xlogy(x, pb.where(x > 0, x / pb.where(x > 0, middle, 1.0), 1.0)).sum(axis=-1) for x in (p, q)]
    total = entropies[0] + entropies[1]
    return root((total if base is None else total / pb.log(joined(base) * 1.0)) / 2.0)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    off = u - v
    return root((off * off / V).sum(axis=-1))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    off = u - v
    return root(((off @ VI) * off).sum(axis=-1))


METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda u, v, w=None: minkowski(u, v, 1, w),
    "correlation": _correlation,
    "cosine": lambda u, v, w=None: _correlation(u, v, w, False),
    "euclidean": lambda u, v, w=None: minkowski(u, v, 2, w),
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": lambda u, v, p=2.0, w=None: minkowski(u, v, p, w),
    "seuclidean": _seuclidean,
    "sqeuclidean": lambda u, v, w=None: minkowski(u, v, 2, w, powered=True),
}
STEPS = ("dice", "hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
SHORT = {
    "bc": "braycurtis", "b": "braycurtis", "cheby": "chebyshev", "cheb": "chebyshev", "ch": "chebyshev",
    "chebychev": "chebyshev", "cb": "cityblock", "cblock": "cityblock", "manhattan": "cityblock",
    "co": "correlation", "cos": "cosine", "euclid": "euclidean", "eu": "euclidean", "e": "euclidean",
    "js": "jensenshannon", "mahal": "mahalanobis", "mahala": "mahalanobis", "mi": "minkowski", "m": "minkowski",
    "pnorm": "minkowski", "se": "seuclidean", "s": "seuclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
}  # fmt: skip

constant(*(f"spatial.distance.{name}" for name in (
    *STEPS, "is_valid_dm", "is_valid_y", "num_obs_dm", "num_obs_y",
)))  # fmt: skip


def _real(value: Any) -> Tensor:
    out = joined(value)
    if out.dtype.kind == "c":
        raise ValueError("Complex128 input is not supported")
    return out if out.dtype.kind == "f" else out * 1.0


def _of_vectors(call: Call) -> Any:
    name = call.name.rpartition(".")[2]
    u, v = (_real(call[each]) for each in list(call.bound.signature.parameters)[:2])
    if name == "jensenshannon":
        axis, keepdims = call["axis"], call["keepdims"]
        u, v = (pb.moveaxis(x, axis, -1) for x in pb.broadcast_arrays(u, v))
        out = _jensenshannon(u, v, call["base"])
        return pb.expand_dims(out, axis) if keepdims else out
    if u.ndim != 1 or v.ndim != 1:
        raise ValueError("Input vector should be 1-D.")
    names = ("w", "p", "V", "VI", "centered")
    given = call.bound.arguments.items()
    return METRICS[name](u, v, **{key: _option(each) for key, each in given if key in names})


def _option(value: Any) -> Any:
    return value if isinstance(value, Tensor | int | float | None) else joined(value) * 1.0


for _name in METRICS:
    declare_arrays(f"spatial.distance.{_name}", kind="C", by="both vectors, weights and parameters")(_of_vectors)


def _named(call: Call) -> tuple[str, dict[str, Any]]:
    """The metric that a call asks for, and its options. Metrics that are no functions of reals have no derivative."""
    metric = call["metric"]
    name = getattr(metric, "__name__", "") if callable(metric) else str(metric).lower()
    name = SHORT.get(name, name)
    options = dict(call.bound.arguments.get("kwargs", {}))
    return name, {key: _option(value) for key, value in options.items() if value is not None}


def _filled(name: str, options: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Options with what SciPy takes from the data."""
    if name == "seuclidean" and "V" not in options:
        options["V"] = pb.var(rows, axis=0, correction=1)
    if name == "mahalanobis" and "VI" not in options:
        options["VI"] = pb.linalg.inv(pb.atleast_2d(pb.cov(rows.T))).T
    return options


def _pairs(call: Call, u: Any, v: Any, rows: Any) -> Any:
    """The distances of two arrays of vectors, which are broadcast."""
    name, options = _named(call)
    theirs = callable(call["metric"]) and not getattr(call["metric"], "__module__", "").startswith(
        ("scipy.spatial", "pullback.scipy.spatial")
    )
    if theirs:
        u, v = pb.broadcast_arrays(u, v)
        shape = tuple(u.shape[:-1])
        made = [joined(call["metric"](u[k], v[k], **options)) for k in np.ndindex(shape)]
        return pb.stack(made).reshape(shape)
    if name not in METRICS:
        if name in STEPS:
            return None
        raise ValueError(f"Unknown Distance Metric: {call['metric']}")
    return METRICS[name](u, v, **_filled(name, options, rows))


@declare_arrays("spatial.distance.cdist", kind="P", by="XA, XB, w, V, VI, p, what the metric takes from anywhere")
def _cdist(call: Call) -> Any:
    x, y = _real(call["XA"]), _real(call["XB"])
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ValueError("XA and XB must be matrices with the same number of columns")
    name, options = _named(call)
    if name in ("euclidean", "sqeuclidean") and not options:
        return row_distances(x, y, squared=name == "sqeuclidean")
    out = _pairs(call, x[:, None, :], y[None, :, :], pb.concat([x, y]))
    return _in_steps(call, XA=x, XB=y) if out is None else out


@declare_arrays("spatial.distance.pdist", kind="P", by="X, w, V, VI, p, what the metric takes from anywhere")
def _pdist(call: Call) -> Any:
    x = _real(call["X"])
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    first, second = np.triu_indices(x.shape[0], 1)
    name, options = _named(call)
    if name in ("euclidean", "sqeuclidean") and not options:
        return row_distances(x, x, squared=name == "sqeuclidean")[first, second]
    out = _pairs(call, pb.take(x, first, axis=0), pb.take(x, second, axis=0), x)
    return _in_steps(call, X=x) if out is None else out


def _in_steps(call: Call, **matrices: Tensor) -> Any:
    """A metric that counts: its value is constant."""
    return joined(call.run(**{key: np.asarray(value.detach().numpy()) for key, value in matrices.items()}))


@declare_arrays("spatial.distance.squareform", kind="E", by="X")
def _squareform(call: Call) -> Any:
    x = joined(call["X"])
    if x.ndim == 1 and call["force"] != "tovector":
        n = math.isqrt(2 * x.shape[0]) + 1
        if n * (n - 1) // 2 != x.shape[0]:
            raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 for some n >= 2.")
        first, second = np.triu_indices(n, 1)
        where = np.zeros((n, n), dtype=np.int64)
        where[first, second] = where[second, first] = np.arange(x.shape[0])
        return pb.where(np.eye(n, dtype=bool), 0, pb.take(x, where.reshape(-1)).reshape((n, n)))
    if x.ndim == 2 and x.shape[0] == x.shape[1] and call["force"] != "tomatrix":
        first, second = np.triu_indices(x.shape[0], 1)
        return x[first, second]
    raise ValueError("squareform: expected a vector or a square matrix")
