"""Functions made of functions: derivatives, maps over batches, and unmodified NumPy code made differentiable.

`grad`, `vjp`, `jacrev` go backwards, `jvp`, `jacfwd`, `linearize` forwards, `vmap` maps over an axis, and all of them
nest in any order. `adapt` turns a NumPy function into one that can be differentiated.
"""

from pullback.func._adapt import adapt
from pullback.func._forward import jvp, linearize
from pullback.func._jacobian import hessian, hvp, hvp_fn, jacfwd, jacrev
from pullback.func._lent import DetachedArrayWarning
from pullback.func._reverse import grad, grad_and_value, vjp
from pullback.func._vmap import vmap
from pullback.payloads.fallback import set_vmap_fallback

__all__ = [
    "DetachedArrayWarning",
    "adapt",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "hvp_fn",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "set_vmap_fallback",
    "vjp",
    "vmap",
]
