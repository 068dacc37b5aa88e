"""The outputs of a custom Function: which of them get its history, and in which form they are returned.

| what forward returned            | what the caller gets                                                       |
|----------------------------------|----------------------------------------------------------------------------|
| something that is no Tensor      | the same; refused if it is all there is, a number, and a derivative wanted |
| an ndarray or a NumPy number     | a Tensor on it, which is a new tensor                                      |
| a new tensor                     | the same, made by the Function                                             |
| a view                           | the same, made by the Function, which writes through it cannot follow      |
| an argument as it is             | a view of it; a detached alias if nothing is recorded and it requires grad |
| an argument marked dirty         | the same object, its history continued by the Function                     |
| a tensor marked non-differentiable, or of a dtype without derivative | a constant                             |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.core.spec import Spec, describe
from pullback.core.state import open_levels
from pullback.errors import AutogradError, DetachedWarning
from pullback.payloads.batched import levels_of
from pullback.tape.forward.levels import live_levels
from pullback.tape.function.node import ContextNode, Forward, store
from pullback.tape.history import bump_version, move_retained, rebase_history, requires_grad, set_history
from pullback.tape.transform.tokens import equalize_levels
from pullback.tensors.tensor import Leaf, Tensor, alias, extra_of, is_inference, made_here, version_of
from pullback.tensors.views import CreationMeta, ViewInfo, forward_step, propagated_meta, view_of


def process_outputs(node: ContextNode, forward: Forward, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `apply` returns for what `forward` returned, with the histories set."""
    if forward.dirty:
        _finish_dirty(node, forward, outputs)
    value_specs = [out._spec if isinstance(out, Tensor) else None for out in outputs]
    output_specs = [
        spec if spec is not None and _takes_gradient(out, spec, forward) else None
        for out, spec in zip(outputs, value_specs, strict=True)
    ]
    node._call.value_specs, node._call.output_specs = tuple(value_specs), tuple(output_specs)
    store(node, "num_outputs", len(outputs))
    store(node, "spec", output_specs[0] if outputs else None)
    meta = CreationMeta.MULTI if len(outputs) - output_specs.count(None) > 1 else CreationMeta.CUSTOM
    results = []
    scope = node._call.scope
    if scope is not None:
        differentiable = [out for out, spec in zip(outputs, output_specs, strict=True) if spec is not None]
        equalize_levels(differentiable)
        scope.output_levels = levels_of(differentiable[0]._data) if differentiable else ()
    for number, out in enumerate(outputs):
        if output_specs[number] is not None:
            out = _with_history(node, forward, out, number, meta)
        elif value_specs[number] is not None:
            out = _as_constant(forward, out)
        results.append(out)
    return tuple(results)


def with_tensors(output: Any, inputs: tuple[Any, ...]) -> Any:
    """What `forward` returned, with Tensors for arrays and for the numbers that NumPy returns in their place."""
    if type(output) is tuple:
        for part in output:
            if isinstance(part, (np.ndarray, np.generic)):
                return tuple([with_tensors(part, inputs) for part in output])
        return output
    if not isinstance(output, (np.ndarray, np.generic)) or output.dtype.kind not in "biufc":
        return output
    array = np.asarray(output)
    # On the memory of an argument it would have to be a view of it, which counts its writes.
    shared = any(isinstance(x, Tensor) and _shares(array, x) for x in inputs)
    return made_here(array.copy() if shared else array)


def _shares(array: Any, tensor: Tensor) -> bool:
    return type(tensor._data) is np.ndarray and np.may_share_memory(array, tensor._data)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in an argument, also in lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def refuse_losses(name: str, forward: Forward, outputs: tuple[Any, ...]) -> None:
    """Say so if somebody wants the derivative of what `forward` returned in a form that cannot have one."""
    number, nested, has_tensor = None, False, False
    for out in outputs:
        if isinstance(out, Tensor):
            has_tensor = True
        elif type(out) in (float, complex):
            number = out
        elif type(out) in (list, tuple, dict):
            nested = nested or any(tensor._spec.is_differentiable for tensor in tensors_in(out))
    if (number is None or has_tensor) and not nested:
        return
    if not (forward.is_recorded or (open_levels and live_levels(forward.inputs))):
        return
    if nested:
        warn(
            f"forward of {name} returned tensors in a list or dict, which are constants for whoever gets them; return "
            "a tuple of tensors for them to have a derivative",
            DetachedWarning,
        )
        return
    raise AutogradError(
        "FN_NUMBER",
        f"forward returned the number {number!r} and no tensor, and an argument requires grad",
        where=name,
        why="a number has no history, so backward would never be called",
        fix="return a Tensor or an array (np.float64(number) will do)",
    )


def _is_in(tensor: Tensor, values: Iterable[Any]) -> bool:
    for value in values:  # noqa: SIM110 -- any() with a generator costs three times as much
        if value is tensor:
            return True
    return False


def _takes_gradient(out: Tensor, spec: Spec, forward: Forward) -> bool:
    return forward.is_recorded and spec.is_differentiable and not _is_in(out, forward.non_differentiable)


def _finish_dirty(node: ContextNode, forward: Forward, outputs: tuple[Any, ...]) -> None:
    for tensor in forward.dirty:
        if not _is_in(tensor, outputs):
            raise AutogradError(
                "DIRTY_NOT_RETURNED",
                f"an argument {describe(tensor.shape, tensor.dtype)} was marked dirty but not returned",
                where=f"forward of {node._function.__name__}",
                why="its new value has a history only as an output",
                fix="return every tensor that is marked dirty",
            )
        bump_version(tensor)


def _with_history(node: ContextNode, forward: Forward, out: Tensor, number: int, meta: CreationMeta) -> Tensor:
    """A differentiable output as the node's output `number`."""
    if _is_in(out, forward.dirty):
        _continue_history(node, forward, out, number)
        return out
    if _is_in(out, forward.inputs) or type(out._node) is Leaf:
        # A leaf from elsewhere stays a leaf, like an argument.
        out = _view_of_all(out, meta)
    elif view_of(out) is not None:
        _claim_view(node, out, meta)
    set_history(out, node, number, node._call.deps)
    return out


def _as_constant(forward: Forward, out: Tensor) -> Tensor:
    """An output without gradient."""
    if _is_in(out, forward.inputs):
        if _is_in(out, forward.dirty) and not _is_in(out, forward.non_differentiable):
            return out
        if requires_grad(out) or _is_in(out, forward.non_differentiable):
            return alias(out)
        return _view_of_all(out, CreationMeta.CUSTOM)
    if type(out._node) is Leaf:
        return alias(out)
    info = view_of(out)
    if info is not None:
        extra_of(out)  # no light view any more
        info.creation_meta = propagated_meta(CreationMeta.CUSTOM, info.creation_meta)
    out._node, out._nr = None, 0  # whatever forward recorded under enable_grad
    return out


def _view_of_all(source: Tensor, meta: CreationMeta) -> Tensor:
    """A view of the whole of `source`: another object on the same memory."""
    view = alias(source)
    if not is_inference(source):
        info = view_of(source)
        base, steps = (source, ()) if info is None else (info.base, info.steps)
        parent = None if info is None else info.creation_meta
        record = ViewInfo(base, steps, propagated_meta(meta, parent), version_of(source))
        record.records = forward_step(source, info)
        extra_of(view).view = record
    return view


def _claim_view(node: ContextNode, out: Tensor, meta: CreationMeta) -> None:
    """Note in a view's record that a Function made it, so that writes through it are refused or understood."""
    info: ViewInfo = view_of(out)  # type: ignore[assignment]
    info.attr_version = version_of(out)
    if getattr(node, "_is_pure_view", False) and sum(node._call.is_tensor) == 1 and node.num_outputs == 1:
        source = node._call.forward.inputs[node._call.is_tensor.index(True)]  # type: ignore[union-attr]
        parent = view_of(source)
        if info.base is (source if parent is None else parent.base):
            # The author promises that the view's steps say all: writes go to the base, and replay replaces backward.
            info.creation_meta = CreationMeta.DEFAULT if parent is None else parent.creation_meta
            return
    extra_of(out)  # no light view any more
    info.creation_meta = propagated_meta(meta, info.creation_meta)


def _continue_history(node: ContextNode, forward: Forward, tensor: Tensor, number: int) -> None:
    """Make the node the history of an argument that it has overwritten."""
    if tensor._meta is not None:
        # They were about the old value.
        tensor._meta.grad = tensor._meta.hooks = tensor._meta.post_accumulate_hooks = None
    if view_of(tensor) is None:
        previous, previous_nr = tensor._node, tensor._nr
        set_history(tensor, node, number, node._call.deps)
        if previous is not node:
            move_retained(tensor, previous, previous_nr)
        return
    if node.num_outputs > 1:
        raise AutogradError(
            "DIRTY_VIEW_MULTI",
            f"a view marked dirty is one of {node.num_outputs} outputs",
            where=f"forward of {node._function.__name__}",
            why="the history of an in-place write to a view goes through its base, which follows a single output",
            fix="return only the view, or call the Function on a clone of it",
        )
    arguments = [value for value in forward.inputs if isinstance(value, Tensor)]
    position = next(index for index, value in enumerate(arguments) if value is tensor)
    rebase_history(tensor, node, position, node._call.deps)
