"""Rosenbrock's function and its derivatives, on tensors."""

from __future__ import annotations

from typing import Any

import pullback as pb
from pullback.scipy._composed import composed
from pullback.tensors.tensor import Tensor


@composed("optimize.rosen", by="x")
def rosen(x: Tensor) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(axis=0)


@composed("optimize.rosen_der", by="x")
def rosen_der(x: Tensor) -> Any:
    return pb.func.grad(rosen)(x)


@composed("optimize.rosen_hess", by="x")
def rosen_hess(x: Tensor) -> Any:
    return pb.func.hessian(rosen)(x)


@composed("optimize.rosen_hess_prod", by="x, p")
def rosen_hess_prod(x: Tensor, p: Tensor) -> Any:
    return pb.func.jvp(rosen_der, (x,), (p,))[1]
