"""What users ask of arrays of other libraries: kinds, modes, values of lazy arrays, and bridges to other tapes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd import grad
from pullback.operators import functions
from pullback.payloads.foreign import ForeignArray, Kind, kind_named, register_kind
from pullback.payloads.foreign.modes import no_sync, on_host
from pullback.tape.modes import enable_grad
from pullback.tensors.tensor import Tensor

__all__ = [
    "Kind", "as_jax_function", "as_torch_function", "compute", "jax_key", "no_sync", "on_host", "register_kind",
]  # fmt: skip


def compute(*tensors: Tensor) -> tuple[np.ndarray[Any, Any], ...]:
    """The values of tensors as NumPy arrays. Those of dask are computed together, so that what they share, as a result
    and its gradient do, is computed once.

    >>> x = pb.tensor([1.0, 2.0])  # or one on arrays of dask: pb.foreign(dask.array.ones(2))
    >>> pb.interop.compute(x * 2, x.sum())
    (array([2., 4.]), array(3.))
    """
    payloads = [x.detach()._data for x in tensors]
    lazy = [x.array for x in payloads if type(x) is ForeignArray and x.kind.lazy]
    found = iter(importlib.import_module("dask").compute(*lazy) if lazy else ())
    return tuple([
        np.asarray(next(found)) if type(x) is ForeignArray and x.kind.lazy
        else np.asarray(x.downloaded() if type(x) is ForeignArray else x)
        for x in payloads
    ])  # fmt: skip


def jax_key(key: Any) -> Any:
    """A generator that draws the numbers of a key of JAX, for `generator=`. The key is split for every draw.

    >>> import jax
    >>> generator = pb.interop.jax_key(jax.random.key(0))
    >>> pb.randn(2, generator=generator).shape
    (2,)
    """
    library: Any = kind_named("jax")
    return library.drawn_from(key)


def _pulled(function: Any, arrays: tuple[Any, ...], wanted: list[bool]) -> tuple[list[Tensor], Any, bool]:
    """Leaves on raw arrays, and what the function makes of them."""
    with enable_grad():
        leaves = [functions["foreign"](a) for a in arrays]
        for leaf, is_wanted in zip(leaves, wanted, strict=True):
            if is_wanted:
                leaf.requires_grad_()
        out = function(*leaves)
    several = isinstance(out, (tuple, list))
    for each in out if several else (out,):
        if not isinstance(each, Tensor):
            raise TypeError(f"the function must return tensors of Pullback, got {type(each).__name__}")
    return leaves, tuple(out) if several else (out,), several


def as_torch_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Pullback's tensors as one of torch's, on torch's tape: one node, whose gradient Pullback computes.

    The function gets tensors on torch's arrays, and returns such tensors. Its gradient is itself differentiable only on
    Pullback's side: a second derivative by torch is an error.

    >>> import torch
    >>> square = pb.interop.as_torch_function(lambda x: (x * x).sum())
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> square(x).backward()
    >>> x.grad
    tensor([2., 4.])
    """
    torch = importlib.import_module("torch")

    class PullbackFunction(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, *arrays: Any) -> Any:
            wanted = [bool(each) for each in ctx.needs_input_grad]
            ctx.leaves, ctx.outputs, several = _pulled(function, tuple(a.detach() for a in arrays), wanted)
            ctx.wanted = wanted
            raws = tuple([each.detach().payload.clone() for each in ctx.outputs])
            return raws if several else raws[0]

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *gradients: Any) -> Any:
            asked = [leaf for leaf, wanted in zip(ctx.leaves, ctx.wanted, strict=True) if wanted]
            pairs = [(y, g) for y, g in zip(ctx.outputs, gradients, strict=True) if g is not None and y.requires_grad]
            if not pairs or not asked:
                return (None,) * len(ctx.leaves)
            seeds = [functions["foreign"](g.detach()) for _, g in pairs]
            found = iter(grad([y for y, _ in pairs], asked, seeds, retain_graph=True, allow_unused=True))
            results = [next(found) if wanted else None for wanted in ctx.wanted]
            return tuple([None if g is None else g.detach().payload for g in results])

    def call(*arrays: Any) -> Any:
        """The function on torch's tensors."""
        return PullbackFunction.apply(*arrays)

    return call


def as_jax_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Pullback's tensors as one of JAX's: `jax.grad` and `jax.vjp` get its gradient from Pullback.

    It is called back with arrays that have values, also under `jax.jit`, on the host.

    >>> import jax
    >>> square = pb.interop.as_jax_function(lambda x: (x * x).sum())
    >>> jax.grad(square)(jax.numpy.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    jax = importlib.import_module("jax")

    def specs(arrays: Any) -> Any:
        return jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arrays)

    def shapes(arrays: tuple[Any, ...]) -> Any:
        stand_ins = [functions["zeros"](a.shape, dtype=np.dtype(a.dtype)) for a in arrays]
        out = function(*stand_ins)
        made = [jax.ShapeDtypeStruct(y.shape, y.dtype) for y in (out if isinstance(out, (tuple, list)) else (out,))]
        return tuple(made) if isinstance(out, (tuple, list)) else made[0]

    def on_host_arrays(*arrays: Any) -> Any:
        out = function(*[functions["tensor"](np.asarray(a)) for a in arrays])
        return tuple([y.numpy() for y in out]) if isinstance(out, (tuple, list)) else out.numpy()

    def pull_on_host(arrays: Any, gradients: Any) -> Any:
        with enable_grad():
            hosts = [np.asarray(a) for a in arrays]
            leaves = [functions["tensor"](a, requires_grad=a.dtype.kind in "fc") for a in hosts]
            out = function(*leaves)
        outs, seeds = (each if isinstance(each, (tuple, list)) else (each,) for each in (out, gradients))
        asked = [leaf for leaf in leaves if leaf.requires_grad]
        seeds = [functions["tensor"](np.asarray(g)) for g in seeds]
        found: Any = iter(grad(list(outs), asked, seeds, allow_unused=True, materialize_grads=True))
        return tuple([next(found).numpy() if leaf.requires_grad else np.zeros(leaf.shape) for leaf in leaves])

    @jax.custom_vjp
    def call(*arrays: Any) -> Any:
        """The function on JAX's arrays."""
        return jax.pure_callback(on_host_arrays, shapes(arrays), *arrays)

    def forward(*arrays: Any) -> Any:
        return call(*arrays), arrays

    def backward(arrays: Any, gradients: Any) -> Any:
        return jax.pure_callback(pull_on_host, specs(arrays), arrays, gradients)

    call.defvjp(forward, backward)
    return call

