"""Running hooks during a backward pass: what they are given, what they may return, and in which mode they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.core.state import change_grad, current, in_force, reinstate
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.payloads.kinds import has_kind
from pullback.tape.accumulate import AccumulateGrad, accumulator_of, as_made_here, is_differentiated
from pullback.tape.input_metadata import SparseGrad, of_kind
from pullback.tape.node import Node, kind_at, root_kind
from pullback.tape.task import current_task
from pullback.tensors.tensor import Extra, Leaf, Tensor, meta_of, wrap


def call_user(create_graph: bool, function: Callable[..., Any], *args: Any) -> Any:
    """Call user code with the pass's grad mode; whatever it does to the modes is undone."""
    settings = in_force()
    change_grad(create_graph and current().grad)
    watch = current().watch
    mark = None if watch is None else watch.begin("hook", getattr(function, "__name__", "hook"))
    try:
        return function(*args)
    finally:
        if watch is not None:
            watch.end(mark, None)
        reinstate(settings)


def lend(gradient: Any) -> Any:
    """The gradient as hooks and custom backwards see it: a Tensor that can be read but not written."""
    if gradient is None or isinstance(gradient, SparseGrad):
        return gradient
    if type(gradient) is Tensor:
        lent = Tensor()
        lent._data = gradient._data
        lent._spec = gradient._spec
        lent._node = _marker_for(gradient) if type(gradient._node) is Leaf else gradient._node
        lent._counter = gradient._counter
        lent._meta = None
        lent._extra = Extra()
        if gradient._extra is not None:
            lent._extra.view = gradient._extra.view
            lent._extra.forward = gradient._extra.forward
            lent._extra.deps = gradient._extra.deps
            lent._extra.output_nr = gradient._extra.output_nr
    else:
        payload = np.asarray(gradient) if isinstance(gradient, np.generic) else gradient
        if type(payload) is np.ndarray:
            payload = payload.view()
            payload.flags.writeable = False
        lent = wrap(payload)
        lent._extra = Extra()
    lent._extra.readonly = True
    return lent


def _marker_for(leaf: Tensor) -> Leaf:
    """The marker of another tensor that stands for this leaf: what is computed from it leads to the leaf itself."""
    accumulator = accumulator_of(leaf)
    marker = Leaf()
    marker.accumulator = lambda: accumulator
    return marker


def taken_back(value: Any, create_graph: bool) -> Any:
    """A gradient from user code as the engine carries it."""
    if not isinstance(value, Tensor):
        return value
    if not create_graph:
        return value._data
    if value._extra is not None and value._extra.readonly:
        value = lend(value)
        value._extra.readonly = False
    return value


def run_tensor_hooks(node: Node, gradients: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Hooks of the tensors that this node made, then gradients kept by `retain_grad`."""
    if isinstance(node, AccumulateGrad):
        meta = node.variable._meta
        if meta is None or not meta.hooks or gradients[0] is None:
            return gradients
        return (_run_chain(meta.hooks, gradients[0], create_graph, node),)
    rare = node.rare
    if rare is None or not (rare.tensor_hooks or rare.retained):
        return gradients
    results = list(gradients)
    for number, hooks in rare.tensor_hooks.items():
        if results[number] is not None and hooks:
            results[number] = _run_chain(hooks, results[number], create_graph, node, number)
    for number, reference in tuple(rare.retained.items()):
        tensor = reference()
        if tensor is not None and results[number] is not None:
            _retain(tensor, results[number], create_graph)
    return tuple(results)


def _run_chain(hooks: Any, gradient: Any, create_graph: bool, node: Node, number: int = 0) -> Any:
    for hook in hooks:
        lent = lend(gradient)
        result = call_user(create_graph, hook, lent)
        if result is None or result is lent:
            continue
        _check_replacement(hook, gradient, result)
        gradient = taken_back(result, create_graph)
        like = kind_at(node, number)
        if like is not None:
            task = current_task()
            root = None if task is None else root_kind(task.roots)
            gradient = of_kind(gradient, like, root, number, f"hook {_hook_name(hook)!r}")
    return gradient


def _hook_name(hook: Any) -> str:
    return getattr(hook, "__name__", None) or type(hook).__name__


def _check_replacement(hook: Any, gradient: Any, result: Any) -> None:
    if not isinstance(result, (Tensor, SparseGrad)):
        raise TypeError(f"hook {_hook_name(hook)!r} returned {type(result).__name__}, expected a Tensor or None")
    if tuple(result.shape) != tuple(gradient.shape):
        raise _replacement_error("HOOK_SHAPE", hook, gradient, result, "shape")
    layouts = isinstance(result, SparseGrad) == isinstance(gradient, SparseGrad)
    if result.dtype != gradient.dtype or not layouts:
        raise _replacement_error("HOOK_DTYPE", hook, gradient, result, "dtype or layout")


def _replacement_error(code: str, hook: Any, gradient: Any, result: Any, what: str) -> AutogradError:
    return AutogradError(
        code,
        f"hook {_hook_name(hook)!r} replaced a gradient {describe(tuple(gradient.shape), gradient.dtype)} by "
        f"{describe(tuple(result.shape), result.dtype)}",
        why=f"a replacement must have the gradient's {what}",
        fix="return a gradient like the one given, or None to leave it unchanged",
    )


def _retain(tensor: Tensor, gradient: Any, create_graph: bool) -> None:
    meta = meta_of(tensor)
    with meta.lock:
        if create_graph and is_differentiated(gradient, meta.grad):
            meta.grad = gradient.clone() if meta.grad is None else meta.grad + gradient
            return
        payload = gradient._data if type(gradient) is Tensor else gradient
        if has_kind(payload) and meta.grad is None:
            payload = registry["copy"].call(payload, order="K")
        if hasattr(type(payload), "evaluate_op"):  # a payload without data, which nobody writes to, or a new one
            meta.grad = as_made_here(wrap(payload if meta.grad is None else meta.grad._data + payload))
            return
        total = np.array(payload) if meta.grad is None else meta.grad._data + payload
        meta.grad = as_made_here(wrap(np.asarray(total)))


def run_node_pre_hooks(node: Node, gradients: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Hooks given to the node itself, before its formula."""
    rare = node.rare
    if rare is None or not rare.pre_hooks:
        return gradients
    for hook in rare.pre_hooks:
        lent = tuple(lend(g) for g in gradients)
        result = call_user(create_graph, hook, lent)
        if result is not None:
            gradients = _replaced(hook, gradients, lent, result, create_graph)
    return gradients


def run_node_post_hooks(
    node: Node, results: tuple[Any, ...], gradients: tuple[Any, ...], create_graph: bool
) -> tuple[Any, ...]:
    """Hooks given to the node itself, after its formula."""
    rare = node.rare
    if rare is None or not rare.post_hooks:
        return results
    for hook in rare.post_hooks:
        lent = tuple(lend(g) for g in results)
        result = call_user(create_graph, hook, lent, tuple(lend(g) for g in gradients))
        if result is not None:
            results = _replaced(hook, results, lent, result, create_graph)
    return results


def _replaced(hook: Any, old: tuple[Any, ...], lent: tuple[Any, ...], new: Any, create_graph: bool) -> tuple[Any, ...]:
    if not isinstance(new, tuple):
        raise TypeError(f"hook {_hook_name(hook)!r} returned {type(new).__name__}, expected a tuple or None")
    if len(new) != len(old):
        raise AutogradError(
            "HOOK_COUNT",
            f"hook {_hook_name(hook)!r} returned {len(new)} gradients, expected {len(old)}",
            why="every gradient keeps its place",
            fix="return a tuple with one entry per gradient given",
        )
    results: list[Any] = []
    for before, given, after in zip(old, lent, new, strict=True):
        if after is given:
            results.append(before)
        elif after is None:
            results.append(None)
        elif before is None:
            raise AutogradError(
                "HOOK_FILL_NONE",
                f"hook {_hook_name(hook)!r} returned a tensor where the gradient was None",
                why="None says that no gradient flows there",
                fix="leave the entry None",
            )
        else:
            _check_replacement(hook, before, after)
            results.append(taken_back(after, create_graph))
    return tuple(results)


def run_post_accumulate_hooks(node: AccumulateGrad, create_graph: bool) -> None:
    """Hooks that follow the accumulation into a leaf."""
    meta = node.variable._meta
    if meta is None or not meta.post_accumulate_hooks:
        return
    for hook in meta.post_accumulate_hooks:
        if call_user(create_graph, hook, node.variable) is not None:
            raise AutogradError(
                "POST_ACC_RETURN",
                f"post accumulate grad hook {_hook_name(hook)!r} returned a value",
                why="the gradient is already stored, so there is nothing to replace",
                fix="return None and change `leaf.grad` itself",
            )
