"""Nearest neighbours, hulls, shapes and great circles. What SciPy finds (indices, facets) is constant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import AutogradError
from pullback.operators.distances import row_distances
from pullback.scipy._arrays import declare_arrays, is_differentiated, root
from pullback.scipy._examples import PerExample
from pullback.scipy._surface import Call, Rule, joined, no_rule, numbers, scipy_module, tensors
from pullback.scipy.spatial._metrics import minkowski
from pullback.tensors.tensor import Tensor


def real(value: Any) -> Tensor:
    """A tensor of real numbers."""
    out = joined(value)
    return out if out.dtype.kind == "f" else out * 1.0


def plain(value: Any) -> np.ndarray[Any, Any]:
    """The values, without derivatives."""
    return np.asarray(numbers(value.detach() if isinstance(value, Tensor) else value))


class Delegating(metaclass=PerExample):
    """An object of SciPy's with some members of ours. Its other functions take constants only."""

    _name: str
    _plain: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._plain, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if is_differentiated((args, kwargs)):
                rule = Rule(f"{self._name}.{name}", "X", reason="its result does not move smoothly")
                raise no_rule(rule, "an argument")
            args = tuple(each._plain if isinstance(each, Delegating) else numbers(each) for each in args)
            return tensors(found(*args, **{key: numbers(each) for key, each in kwargs.items()}))

        return call


class KDTree(Delegating):
    """`scipy.spatial.KDTree` with derivatives of the distances that `query` returns, by points and data."""

    _name = "spatial.KDTree"

    def __init__(
        self, data: Any, leafsize: int = 10, compact_nodes: bool = True, copy_data: bool = False,
        balanced_tree: bool = True, boxsize: Any = None,
    ) -> None:  # fmt: skip
        self.data = real(data)
        self._plain = scipy_module("spatial").KDTree(
            plain(self.data), leafsize, compact_nodes, copy_data, balanced_tree, numbers(boxsize)
        )

    def query(
        self, x: Any, k: Any = 1, eps: float = 0.0, p: float = 2.0, distance_upper_bound: float = math.inf,
        workers: int = 1,
    ) -> tuple[Any, Any]:  # fmt: skip
        """The distances of the nearest neighbours of points, and their indices."""
        at = real(x)
        distances, indices = self._plain.query(plain(at), k, eps, p, distance_upper_bound, workers)
        if not is_differentiated((at, self.data)):
            return tensors(np.asarray(distances)), indices
        found = np.isfinite(distances)
        near = pb.take(self.data, np.where(found, indices, 0), axis=0)
        off = (at if np.ndim(distances) == at.ndim - 1 else at[..., None, :]) - near
        if self._plain.boxsize is not None:
            size = np.where(self._plain.boxsize > 0, self._plain.boxsize, math.inf)
            with np.errstate(invalid="ignore"):
                turns = np.nan_to_num(np.round(plain(off) / size))
            off = off - np.where(np.isfinite(size), size, 0.0) * turns
        return pb.where(found, minkowski(off, 0.0, p), math.inf), indices


class ConvexHull(Delegating):
    """`scipy.spatial.ConvexHull` with derivatives of volume and area by the points. Which points it has is constant."""

    _name = "spatial.ConvexHull"

    def __init__(self, points: Any, incremental: bool = False, qhull_options: Any = None) -> None:
        self.points = real(points)
        self._plain = scipy_module("spatial").ConvexHull(plain(self.points), incremental, qhull_options)

    @property
    def volume(self) -> Tensor:
        """The volume; of a hull in the plane, its area."""
        corners = self._corners() - plain(self.points).mean(axis=0)
        volumes = pb.linalg.det(corners)
        return (volumes * np.sign(plain(volumes))).sum() / math.factorial(corners.shape[-1])

    @property
    def area(self) -> Tensor:
        """The area of the surface; of a hull in the plane, its perimeter."""
        corners = self._corners()
        sides = corners[:, 1:] - corners[:, :1]
        areas = root(pb.linalg.det(sides @ pb.matrix_transpose(sides)))
        return areas.sum() / math.factorial(corners.shape[-1] - 1)

    def _corners(self) -> Tensor:
        facets = self._plain.simplices
        return pb.take(self.points, facets.reshape(-1), axis=0).reshape((*facets.shape, self.points.shape[1]))


@declare_arrays("spatial.distance_matrix", kind="C", by="x, y, p")
def _distance_matrix(call: Call) -> Any:
    x, y = real(call["x"]), real(call["y"])
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"x contains {x.shape[-1]}-dimensional vectors but y {y.shape[-1]}-dimensional ones")
    if isinstance(call["p"], int | float) and call["p"] == 2:
        return row_distances(x, y, squared=False)
    return minkowski(x[:, None, :], y[None, :, :], call["p"])


@declare_arrays("spatial.minkowski_distance", kind="C", by="x, y, p")
def _minkowski_distance(call: Call) -> Any:
    return minkowski(real(call["x"]), real(call["y"]), call["p"])


@declare_arrays("spatial.minkowski_distance_p", kind="C", by="x, y, p")
def _minkowski_distance_p(call: Call) -> Any:
    return minkowski(real(call["x"]), real(call["y"]), call["p"], powered=True)


@declare_arrays("spatial.distance.directed_hausdorff", kind="C", by="u, v; indices are constants")
def _directed_hausdorff(call: Call) -> Any:
    u, v = real(call["u"]), real(call["v"])
    _, i, j = call.run(u=plain(u), v=plain(v))
    return minkowski(u[int(i)], v[int(j)], 2), i, j


@declare_arrays("spatial.procrustes", kind="C", by="data1, data2")
def _procrustes(call: Call) -> Any:
    call.plain(plain(call["data1"]), plain(call["data2"]))  # SciPy says what is wrong
    first, second = (real(call[name]) for name in ("data1", "data2"))
    first, second = (x - x.mean(axis=0) for x in (first, second))
    first, second = (x / pb.sqrt((x * x).sum()) for x in (first, second))
    u, s, vt = pb.linalg.svd(first.T @ second)
    second = second @ (u @ vt).T * s.sum()
    off = first - second
    return first, second, (off * off).sum()


@declare_arrays("spatial.geometric_slerp", kind="C", by="start, end, t")
def _geometric_slerp(call: Call) -> Any:
    start, end, t = (real(call[name]) for name in ("start", "end", "t"))
    call.plain(plain(start), plain(end), plain(t), call["tol"])  # SciPy says what is wrong
    cosine = (start * end).sum()
    across = end - cosine * start
    sine = pb.sqrt((across * across).sum())
    if plain(sine) < 1e-9:
        raise degenerate("geometric_slerp", "the points are equal or opposite, and many circles go through them")
    angle = t[..., None] * pb.atan2(sine, cosine)
    return start * pb.cos(angle) + across / sine * pb.sin(angle)


def degenerate(name: str, why: str) -> AutogradError:
    """The refusal of a derivative at a point where there is none."""
    return AutogradError(
        "SCIPY_DEGENERATE",
        f"{name} has no derivative here",
        why=why,
        fix="move away from this point, or detach() what the result should not depend on",
    )
