"""The autograd attributes and methods of `Tensor`, bound to the class at the end of this module."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.doors import door
from pullback.core.frames import is_asked_by_user, warn
from pullback.core.spec import is_differentiable_dtype, spec_of
from pullback.core.state import current
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray, levels_of
from pullback.payloads.kinds import is_users_own
from pullback.payloads.refusals import noted
from pullback.payloads.wrappers import is_wrapper, rebuilt
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.forward.levels import live_levels, store_tangent, tangent_of
from pullback.tape.history import grad_fn, is_leaf, requires_grad
from pullback.tape.hooks import HookList, RemovableHandle
from pullback.tape.input_metadata import SparseGrad
from pullback.tape.node import FreshLeaf, Node, rare_of
from pullback.tape.transform.tokens import deps_of
from pullback.tensors.tensor import (
    AWAY,
    UNSET,
    Leaf,
    Tensor,
    alias,
    extra_of,
    is_inference,
    made_here,
    meta_of,
    note_leaf,
    own_counter,
    shared_counter,
    to_outside,
    version_of,
    wrap,
)
from pullback.tensors.views import view_of


def _no_flag(value: Any) -> TypeError:
    error: TypeError = told(
        TypeError(f"requires_grad must be a bool, got {type(value).__name__}"), fix="write True or False"
    )
    return error


def set_requires_grad(tensor: Tensor, value: bool) -> None:
    """Set the flag of a leaf."""
    if not isinstance(value, (bool, np.bool_)):
        raise _no_flag(value)
    tensor = here(tensor)
    if grad_fn(tensor) is not None:
        raise AutogradError(
            "NONLEAF_FLAG",
            "requires_grad can only be changed on a leaf, and this tensor was made by " + repr(grad_fn(tensor)),
            why="it requires grad because what it was computed from does",
            fix="use detach() for a copy without history",
        )
    if value and not tensor._spec.is_differentiable:
        raise AutogradError(
            "DTYPE",
            f"only tensors of floating point and complex dtype can require grad, and this one is {tensor.dtype}",
            why="a function of integers has no derivative",
            fix="write floats, pb.tensor([1., 2.]), or dtype=float where it is made; or convert: x.astype(pb.float64)",
        )
    if value:
        _check_inference(tensor)
        transforms = current().transforms
        if transforms and not transforms[-1].made(tensor):
            raise AutogradError(
                "FLAG_IN_TRANSFORM",
                f"requires_grad_() inside {transforms[-1].name} on a tensor from outside of it",
                why="the flag would outlive the transform, and the transform has leaves of its own",
                fix="set it before calling the transform, or on a tensor that is made inside",
            )
        if type(tensor._node) is not Leaf:
            meta = meta_of(tensor)
            # Switched off and on again, a leaf goes back to the accumulator that living graphs still use.
            tensor._node, meta.parked_leaf = meta.parked_leaf or Leaf(), None
            if transforms or (tensor._extra is not None and tensor._extra is not AWAY):
                extra_of(tensor).deps = frozenset((transforms[-1].token,)) if transforms else None
            if tensor._counter is not None and tensor._counter.shared:
                note_leaf(tensor._counter, tensor)
    elif type(tensor._node) is Leaf:
        meta_of(tensor).parked_leaf = tensor._node
        tensor._node = None
    elif type(tensor._node) is FreshLeaf and requires_grad(tensor):
        raise AutogradError(
            "FLAG_IN_TRANSFORM",
            f"requires_grad_(False) inside {current().transforms[-1].name} on what it differentiates",
            why="the transform asks for the derivative by this tensor, whatever the flag says",
            fix="use detach() where the function should see a constant, or name other arguments in argnums",
        )


def _check_inference(tensor: Tensor) -> None:
    if is_inference(tensor) and not current().inference:
        raise AutogradError(
            "INFERENCE_FLAG",
            "requires_grad_() on an inference tensor outside of inference mode",
            why="inference tensors carry no version counter",
            fix="make a normal copy with clone() and set the flag on that",
        )


def requires_grad_(tensor: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether operations on this leaf are recorded, and return it."""
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise _no_flag(requires_grad)
    if requires_grad and grad_fn(tensor) is not None:
        _check_inference(tensor)
        return tensor
    set_requires_grad(tensor, requires_grad)
    return tensor


def get_grad(tensor: Tensor) -> Any:
    """The accumulated gradient, or None."""
    if (trace := current().trace) is not None:
        trace.before_grad(tensor)
    meta = tensor._meta
    grad = None if meta is None else meta.grad
    if grad is None and isinstance(tensor._node, Node) and not (meta is not None and meta.retains_grad):
        warn(
            "the .grad of a tensor that is not a leaf is not kept; call retain_grad() on it before backward, or "
            "read the .grad of the leaf",
            UserWarning,
        )
    return grad


def set_grad(tensor: Tensor, value: Any) -> None:
    """Store `value` as the gradient, by reference."""
    if (trace := current().trace) is not None:
        trace.before_grad(tensor)
    if value is None:
        if tensor._meta is not None:
            tensor._meta.grad = None
        return
    if not isinstance(value, (Tensor, SparseGrad)):
        raise told(
            TypeError(f".grad must be a Tensor or None, got {type(value).__name__}"),
            fix="write x.grad = pb.asarray(value, dtype=x.dtype), or None to forget it",
        )
    if value is tensor:
        raise AutogradError(
            "GRAD_SELF",
            "a tensor cannot be its own grad",
            why="accumulating the next gradient would change the tensor itself",
            fix="assign a copy: x.grad = x.clone()",
        )
    wanted = grad_dtype(tensor, check=False)
    if wanted is not None and value.dtype != wanted:
        raise AutogradError(
            "GRAD_DTYPE",
            f"the grad has dtype {value.dtype}, but this tensor expects {wanted}",
            why="accumulation would mix dtypes",
            fix=f"convert it: grad.astype({str(wanted)!r}), or set grad_dtype",
        )
    if tuple(value.shape) != tensor.shape:
        raise AutogradError(
            "GRAD_SHAPE",
            f"the grad has shape {tuple(value.shape)}, but the tensor has shape {tensor.shape}",
            why="a gradient has exactly the shape of its tensor",
            fix="reshape the gradient",
        )
    if isinstance(value, Tensor) and value.device is not tensor.device and not is_users_own(tensor._data):
        raise AutogradError(
            "GRAD_DEVICE",
            f"the grad is on device {value.device}, but the tensor is on {tensor.device}",
            why="a gradient lies where its value lies",
            fix="move it: x.grad = g.to(x.device)",
        )
    meta_of(tensor).grad = value


def output_nr(tensor: Tensor) -> int:
    """Which of the outputs of `grad_fn` this tensor is; 0 for leaves."""
    grad_fn(tensor)  # of a view this may be rebuilt, and the number with it
    return tensor._nr


def del_grad(tensor: Tensor) -> None:
    """Clear the gradient."""
    set_grad(tensor, None)


def grad_dtype(tensor: Tensor, check: bool = True) -> Any:
    """The dtype that gradients of this leaf are delivered in; None accepts any."""
    if check and not is_leaf(tensor):
        raise AutogradError(
            "GRAD_DTYPE_NONLEAF",
            "grad_dtype is a property of leaves only",
            why="the gradient of an intermediate value has its own dtype",
            fix="set it on the leaf",
        )
    meta = tensor._meta
    return tensor.dtype if meta is None or meta.grad_dtype is UNSET else meta.grad_dtype


def set_grad_dtype(tensor: Tensor, value: Any) -> None:
    """Choose the dtype of this leaf's gradient; None accepts any and never casts."""
    grad_dtype(tensor)
    if value is not None:
        try:
            value = np.dtype(value)
        except TypeError:
            raise TypeError(f"grad_dtype must be a dtype or None, got {value!r}") from None
        if not is_differentiable_dtype(value):
            raise AutogradError(
                "GRAD_DTYPE_INVALID",
                f"grad_dtype cannot be {value}",
                why="gradients are real or complex floating point numbers",
                fix="choose a floating point dtype, or None",
            )
    meta = meta_of(tensor)
    if value is not None and meta.grad is not None and meta.grad.dtype != value:
        raise AutogradError(
            "GRAD_DTYPE_CONFLICT",
            f"grad_dtype cannot be set to {value} while a grad of dtype {meta.grad.dtype} is present",
            why="accumulation would mix dtypes",
            fix="set .grad to None first",
        )
    meta.grad_dtype = UNSET if value is not None and value == tensor.dtype else value


def get_version(tensor: Tensor) -> int:
    """How often the tensor's memory was written."""
    if is_inference(tensor):
        raise AutogradError(
            "INFERENCE_VERSION",
            "inference tensors do not track a version counter",
            why="that is what makes them cheap",
            fix="use a tensor made outside of inference mode",
        )
    trace = current().trace
    if trace is not None and is_asked_by_user(1) and trace.is_input(tensor):
        trace.looked_for = "how often a tensor was written before the call"
    return version_of(tensor)


def here(tensor: Tensor) -> Tensor:
    """The tensor itself; in a trace, what stands there for a tensor from outside."""
    if type(tensor._data) is np.ndarray:
        trace = current().trace
        if trace is not None and trace.lifts:
            stand_in: Tensor = trace.lifted(tensor)
            return stand_in
    return tensor


def get_data(tensor: Tensor) -> Tensor:
    """A new tensor on the same memory, without history and with a version counter of its own."""
    tensor = here(tensor)
    shared_counter(tensor)
    if levels_of(tensor._data):
        raise noted(AutogradError(
            "VMAP_DATA",
            "accessing `data` under vmap transform is not allowed",
            why="it would be a whole batch, of which the code inside sees one example",
            fix="use detach()",
        ))  # fmt: skip
    data = wrap(getattr(tensor._data, "detached", tensor._data))
    if is_inference(tensor):
        extra_of(data).inference = True
    counter = own_counter(data)
    if counter is not None:
        counter.made_shared()  # in no group of the memory: writes through it are to be hidden
    return data


def set_data(tensor: Tensor, value: Any) -> None:
    """Replace the payload; identity, flag, gradient, history and version stay."""
    tensor = here(tensor)
    if not isinstance(value, Tensor):
        raise TypeError(f".data must be a Tensor, got {type(value).__name__}")
    if levels_of(tensor._data) or levels_of(value._data):
        raise noted(AutogradError(
            "VMAP_DATA",
            "mutating directly with `.data` under vmap transform is not allowed",
            why="the code inside sees one example, and what is assigned would be a whole batch that outlives it",
            fix="write in place (`x.copy_(value)`), or use the new value under a name of its own",
        ))  # fmt: skip
    if requires_grad(tensor) and not value._spec.is_differentiable:
        raise AutogradError(
            "DATA_DTYPE",
            f".data of a tensor that requires grad cannot become {value.dtype}",
            why="only floating point values have gradients",
            fix="use a floating point tensor, or turn requires_grad off first",
        )
    if value.shape != tensor.shape and live_levels((tensor,)):
        raise AutogradError(
            "DATA_DUAL",
            f".data of a dual tensor cannot change its shape from {list(tensor.shape)} to {list(value.shape)}",
            why="its tangent has the old shape",
            fix="work on the primal that unpack_dual() returns",
        )
    if value._spec != tensor._spec and type(tensor._node) is Leaf:
        tensor._node = Leaf()  # graphs made from now on get an accumulator that knows the new shape
    # Version and counter stay; aliases made earlier share the counter, but no longer the memory.
    shared_counter(tensor)
    to_outside(value)
    payload = value._data
    if type(tensor._data) is not np.ndarray and hasattr(tensor._data, "replaced_by"):
        payload = tensor._data.replaced_by(payload)
    tensor._data = payload
    tensor._spec = spec_of(value._data)
    to_outside(tensor, again=True)


def detach(tensor: Tensor) -> Tensor:
    """A tensor on the same memory that is a constant; it shares the version counter."""
    if current().trace is not None:
        tensor = here(tensor)
    constant = alias(tensor)
    if type(constant._data) is not np.ndarray:
        constant._data = getattr(constant._data, "detached", constant._data)
    return constant


def detach_(tensor: Tensor) -> Tensor:
    """Make this tensor itself a constant."""
    tensor = here(tensor)
    if view_of(tensor) is not None:
        raise AutogradError(
            "DETACH_VIEW",
            "detach_() on a view",
            why="its base would still have the history that the view lost",
            fix="use detach(), which returns a new tensor",
        )
    if type(tensor._node) is Leaf:
        meta_of(tensor).parked_leaf = tensor._node  # graphs over it still lead here, should it require grad again
    if tensor._meta is not None:
        tensor._meta.retains_grad = False  # a leaf retains nothing
    tensor._node = None
    tensor._nr = 0
    if type(tensor._data) is not np.ndarray:
        tensor._data = getattr(tensor._data, "detached", tensor._data)
    if tensor._extra is not None and tensor._extra.forward is not None:
        tensor._extra.forward = None
    return tensor


def set_grad_fn_slot(tensor: Tensor, value: None) -> None:
    """`x._grad_fn = None` is `detach_()`; nothing else can be assigned."""
    if value is not None:
        raise TypeError("_grad_fn can only be set to None, which means detach_()")
    detach_(tensor)


def retains_grad(tensor: Tensor) -> bool:
    """True if `retain_grad()` was called on this non-leaf."""
    return tensor._meta is not None and tensor._meta.retains_grad


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of this non-leaf in `.grad` in later backward passes."""
    tensor = here(tensor)
    if not requires_grad(tensor):
        raise AutogradError(
            "RETAIN_NO_GRAD",
            "retain_grad() on a tensor that does not require grad",
            why="it gets no gradient",
            fix="call it on a result that requires grad",
        )
    node = grad_fn(tensor)
    if node is None:
        return
    meta_of(tensor).retains_grad = True
    trace = current().trace
    if trace is not None:
        trace.retaining.append(tensor)
    retained = rare_of(node).retained
    if tensor._nr not in retained:
        retained[tensor._nr] = weakref.ref(tensor)


@door
def register_hook(tensor: Tensor, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call `hook(grad)` whenever the gradient of this tensor is computed; it may return a replacement."""
    tensor = here(tensor)
    if not requires_grad(tensor):
        raise _hook_error("register_hook")
    node = tensor._node if type(tensor._node) is FreshLeaf else grad_fn(tensor)
    if node is None:
        meta = meta_of(tensor)
        if meta.hooks is None:
            meta.hooks = HookList()
        return meta.hooks.add(hook)
    hooks = rare_of(node).tensor_hooks
    if tensor._nr not in hooks:
        hooks[tensor._nr] = HookList()
    return hooks[tensor._nr].add(hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(leaf)` after a backward pass added to this leaf's `.grad`."""
    tensor = here(tensor)
    if not requires_grad(tensor):
        raise _hook_error("register_post_accumulate_grad_hook")
    if grad_fn(tensor) is not None:
        raise AutogradError(
            "POST_ACC_NONLEAF",
            "a post accumulate grad hook belongs on a leaf",
            why="only leaves accumulate gradients",
            fix="use register_hook, or retain_grad and register_hook",
        )
    meta = meta_of(tensor)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = HookList()
    return meta.post_accumulate_hooks.add(hook)


def _hook_error(what: str) -> AutogradError:
    return AutogradError(
        "HOOK_NO_GRAD",
        f"{what} on a tensor that does not require grad",
        why="its gradient is never computed",
        fix="call requires_grad_() on the inputs before computing it",
    )


def deepcopy(tensor: Tensor, memo: dict[Any, Any]) -> Tensor:
    """An independent leaf with copied payload, flag, gradient and attributes; hooks stay behind.

    In a transform, whose arguments have no gradients of their own to be stored in, it is a differentiable copy.
    """
    import copy  # whoever calls this has loaded it

    tensor = here(tensor)
    if id(tensor) in memo:
        return memo[id(tensor)]
    if _belongs_to_transform(tensor):
        memo[id(tensor)] = tensor.clone()
        return memo[id(tensor)]
    if not is_leaf(tensor):
        raise AutogradError(
            "DEEPCOPY_NONLEAF",
            "only leaves can be deep-copied",
            why="a copy of an intermediate value would need a copy of the graph behind it",
            fix="copy x.detach(), or use clone() to stay in the graph",
        )
    result = made_here(_deepcopy_payload(tensor._data, memo))
    memo[id(tensor)] = result
    if type(tensor._node) is Leaf:
        result._node = Leaf()
    if tensor._meta is not None and tensor._meta.grad is not None:
        gradient = tensor._meta.grad
        meta_of(result).grad = (
            gradient.clone() if isinstance(gradient, SparseGrad) else wrap(_deepcopy_payload(gradient._data, memo))
        )
    for level in live_levels((tensor,)):
        store_tangent(result, level, copy.deepcopy(tangent_of(tensor, level), memo))  # type: ignore[arg-type]
    for name, value in tensor.__dict__.items():
        setattr(result, name, copy.deepcopy(value, memo))
    return result


def _belongs_to_transform(tensor: Tensor) -> bool:
    """Is this an argument of `grad` or another transform that is running, or computed from one?"""
    return requires_grad(tensor) and any(token.live for token in deps_of(tensor) or ())


def _deepcopy_payload(payload: Any, memo: dict[Any, Any]) -> Any:
    """A copy that keeps aliasing: arrays on one buffer become arrays on one copied buffer."""
    if is_wrapper(payload):
        return rebuilt(payload, lambda _, part: _deepcopy_payload(part, memo))
    if type(payload) is not np.ndarray:
        own = getattr(type(payload), "__deepcopy__", None)  # of one that shares records with others
        return payload.copy() if own is None else own(payload, memo)
    owner = payload
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    key = ("payload", id(owner))
    if key not in memo:
        memo[key] = np.array(owner, order="K", copy=True)
        memo[("keep", id(owner))] = owner  # or its id could be given to another array meanwhile
    copied = memo[key]
    if owner is payload:
        return copied
    if copied.strides != owner.strides:
        return np.array(payload, order="K", copy=True)
    offset = payload.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(payload.shape, payload.dtype, copied, offset, payload.strides)


def shallow_copy(tensor: Tensor) -> Tensor:
    """A new leaf on the same payload with the same flag and version counter.

    History is not shared: a write to the copy would change the original's value behind its history's back. In a
    transform, where nobody could ask the leaf for its gradient, the copy is a view.
    """
    tensor = here(tensor)
    if _belongs_to_transform(tensor):
        return tensor[...]
    twin = alias(tensor)
    if requires_grad(tensor):
        twin._node = Leaf()
    for level in live_levels((tensor,)):
        store_tangent(twin, level, tangent_of(tensor, level), borrowed=True)  # type: ignore[arg-type]
    twin.__dict__.update(tensor.__dict__)
    return twin


def reduce_for_pickle(tensor: Tensor) -> tuple[Any, ...]:
    """Payload and flag: an intermediate value comes back as a leaf."""
    if live_levels((tensor,)):
        raise AutogradError(
            "PICKLE_DUAL",
            "a tensor that carries a tangent cannot be pickled",
            why="its tangent belongs to a level that is open here only, and would be lost without notice",
            fix="pickle the parts that unpack_dual() returns, or x.detach()",
        )
    if _belongs_to_transform(tensor):
        raise AutogradError(
            "PICKLE_DUAL",
            "a tensor that a transform differentiates cannot be pickled",
            why="its gradient belongs to a call that is running here, and would be lost without notice",
            fix="pickle x.detach(), or copy it with x.clone()",
        )
    meta = tensor._meta
    if meta is not None and (meta.hooks or meta.post_accumulate_hooks):
        warn("hooks of a tensor are not pickled", UserWarning)
    payload = tensor._data
    if type(payload) is BatchedArray:
        payload = payload.plain_values("a pickle")
    elif hasattr(payload, "refused"):  # of a trace
        raise payload.refused("a pickle")
    return _from_pickle, (payload, requires_grad(tensor))


def _from_pickle(payload: Any, flag: bool) -> Tensor:
    tensor = wrap(payload)
    if flag:
        tensor._node = Leaf()
    return tensor


def _forbidden(name: str) -> Callable[..., None]:
    def refuse(tensor: Tensor, *args: Any) -> None:
        raise AttributeError(f"attribute {name!r} of Tensor cannot be set or deleted")

    return refuse


def _bind() -> None:
    def property_of(getter: Any, setter: Any = None, deleter: Any = None, name: str = "") -> property:
        refuse = _forbidden(name)
        return property(getter, setter or refuse, deleter or refuse, getter.__doc__)

    members: dict[str, Any] = {
        "requires_grad": property_of(requires_grad, set_requires_grad, name="requires_grad"),
        "grad": property_of(get_grad, set_grad, del_grad, name="grad"),
        "grad_fn": property_of(grad_fn, name="grad_fn"),
        "_grad_fn": property_of(grad_fn, set_grad_fn_slot, name="_grad_fn"),
        "is_leaf": property_of(is_leaf, name="is_leaf"),
        "output_nr": property_of(output_nr, name="output_nr"),
        "_version": property_of(get_version, name="_version"),
        "data": property_of(get_data, set_data, name="data"),
        "grad_dtype": property_of(grad_dtype, set_grad_dtype, name="grad_dtype"),
        "retains_grad": property_of(retains_grad, name="retains_grad"),
        "_base": property_of(lambda t: None if view_of(t) is None else view_of(t).base, name="_base"),  # type: ignore[union-attr]
        "_is_view": lambda t: view_of(t) is not None,
        "is_inference": is_inference,
        "requires_grad_": requires_grad_,
        "detach": detach,
        "detach_": detach_,
        "retain_grad": retain_grad,
        "register_hook": register_hook,
        "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
        "__deepcopy__": deepcopy,
        "__copy__": shallow_copy,
        "__reduce_ex__": lambda t, protocol: reduce_for_pickle(t),
    }
    for name, member in members.items():
        setattr(Tensor, name, member)


_bind()

__all__ = ["AccumulateGrad", "register_hook", "requires_grad_", "retain_grad", "set_requires_grad"]
