"""`scipy.cluster.vq`: distances have derivatives, codes are constants, and means of clusters are refused."""

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy import _surface
from pullback.scipy._arrays import declare_arrays
from pullback.scipy.spatial._geometry import plain, real
from pullback.scipy.spatial._metrics import minkowski


@declare_arrays("cluster.vq.vq", "cluster.vq.py_vq", kind="C", by="obs, code_book; codes are constants")
def _vq(call: _surface.Call) -> Any:
    points, book = real(call["obs"]), real(call["code_book"])
    codes, _ = call.run(obs=plain(points), code_book=plain(book))
    near = pb.take(book, np.asarray(codes), axis=0)
    points = points if points.ndim > 1 else points[:, None]
    return pb.asarray(codes), minkowski(points, near.reshape((len(codes), -1)), 2)


@declare_arrays("cluster.vq.whiten", kind="C", by="obs")
def _whiten(call: _surface.Call) -> Any:
    points = real(call["obs"])
    call.plain(plain(points))  # SciPy says what is wrong
    width = pb.std(points, axis=0)
    return points / pb.where(width == 0, 1.0, width)


_surface.refuse("means of clusters jump where a point changes its cluster", "cluster.vq.kmeans", "cluster.vq.kmeans2")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("cluster.vq")
