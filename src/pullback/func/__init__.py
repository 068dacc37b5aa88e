"""Functions made of functions: derivatives, maps over batches, and unmodified NumPy code made differentiable.

`grad`, `vjp`, `jacrev` go backwards, `jvp`, `jacfwd`, `linearize` forwards, `vmap` maps over an axis, and all of them
nest in any order. `adapt` turns a NumPy function into one that can be differentiated.
"""

from typing import TYPE_CHECKING

from pullback.core.deferred import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.func._adapt import adapt
    from pullback.func._choice import gnvp, jacobian
    from pullback.func._custom import custom_jvp, custom_vjp, stop_gradient
    from pullback.func._forward import jvp, linear_transpose, linearize
    from pullback.func._jacobian import hessian, hvp, hvp_fn, jacfwd, jacrev
    from pullback.func._jet import jet
    from pullback.func._lent import DetachedArrayWarning
    from pullback.func._reverse import grad, grad_and_value, vjp
    from pullback.func._sparse_jacobian import sparse_hessian, sparse_jacobian
    from pullback.func._sparsity import jacobian_sparsity
    from pullback.func._vmap import vmap
    from pullback.payloads.fallback import set_vmap_fallback

_MODULES = {
    "_adapt": ("adapt",),
    "_choice": ("gnvp", "jacobian"),
    "_custom": ("custom_jvp", "custom_vjp", "stop_gradient"),
    "_forward": ("jvp", "linear_transpose", "linearize"),
    "_jacobian": ("hessian", "hvp", "hvp_fn", "jacfwd", "jacrev"),
    "_jet": ("jet",),
    "_lent": ("DetachedArrayWarning",),
    "_reverse": ("grad", "grad_and_value", "vjp"),
    "_sparse_jacobian": ("sparse_hessian", "sparse_jacobian"),
    "_sparsity": ("jacobian_sparsity",),
    "_vmap": ("vmap",),
}
_PLACES = {name: f"pullback.func.{module}" for module, names in _MODULES.items() for name in names}
_PLACES["set_vmap_fallback"] = "pullback.payloads.fallback"
__getattr__, __dir__ = _deferred(globals(), _PLACES)

__all__ = [
    "DetachedArrayWarning",
    "adapt",
    "custom_jvp",
    "custom_vjp",
    "gnvp",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "hvp_fn",
    "jacfwd",
    "jacobian",
    "jacobian_sparsity",
    "jacrev",
    "jet",
    "jvp",
    "linear_transpose",
    "linearize",
    "set_vmap_fallback",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "vjp",
    "vmap",
]
