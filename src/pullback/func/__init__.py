"""Functions made of functions: derivatives, maps over batches, and unmodified NumPy code made differentiable.

`grad`, `vjp`, `jacrev` go backwards, `jvp`, `jacfwd`, `linearize` forwards, `vmap` maps over an axis, and all of them
nest in any order. `adapt` turns a NumPy function into one that can be differentiated.
"""

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.func._adapt import adapt
    from pullback.func._adapt.copies import DetachedArrayWarning
    from pullback.func._custom import custom_jvp, custom_vjp, stop_gradient
    from pullback.func._grad import grad, grad_and_value, value_and_grad, vjp
    from pullback.func._implicit import implicit
    from pullback.func._jacobian import gnvp, hessian, hvp, hvp_fn, jacfwd, jacobian, jacrev
    from pullback.func._jet import jet
    from pullback.func._jvp import jvp, linear_transpose, linearize
    from pullback.func._sparse import sparse_hessian, sparse_jacobian
    from pullback.func._sparse.coloring import jacobian_sparsity
    from pullback.func._vmap import vmap
    from pullback.payloads.batched.evaluate import set_vmap_fallback

_MODULES = {
    "_adapt": ("adapt",),
    "_adapt.copies": ("DetachedArrayWarning",),
    "_custom": ("custom_jvp", "custom_vjp", "stop_gradient"),
    "_grad": ("grad", "grad_and_value", "value_and_grad", "vjp"),
    "_implicit": ("implicit",),
    "_jacobian": ("gnvp", "hessian", "hvp", "hvp_fn", "jacfwd", "jacobian", "jacrev"),
    "_jet": ("jet",),
    "_jvp": ("jvp", "linear_transpose", "linearize"),
    "_sparse": ("sparse_hessian", "sparse_jacobian"),
    "_sparse.coloring": ("jacobian_sparsity",),
    "_vmap": ("vmap",),
}
_PLACES = {name: f"pullback.func.{module}" for module, names in _MODULES.items() for name in names}
_PLACES["set_vmap_fallback"] = "pullback.payloads.batched.evaluate"
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
    "implicit",
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
    "value_and_grad",
    "vjp",
    "vmap",
]
