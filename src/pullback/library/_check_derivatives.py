"""The tests of `opcheck` about derivatives and batching."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._gradcheck import gradcheck, gradgradcheck
from pullback.core.state import VmapLevel, changed, current
from pullback.errors import PerformanceWarning
from pullback.library import _forward
from pullback.library._check_inputs import Problem, copied, differentiable_call, random_like
from pullback.library._kernel import run_kernel
from pullback.payloads.batched import enter, leave
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import wrap

_DOUBLE = "dD"


def check_gradcheck(problem: Problem) -> None:
    """Both modes agree with finite differences, and so with each other."""
    has_reverse = not _is_only_linear(problem)
    _check(problem, lambda f, xs: gradcheck(f, xs, check_forward_ad=True, check_backward_ad=has_reverse))


def check_gradgradcheck(problem: Problem) -> None:
    """The formula can be differentiated, and rightly."""
    if not _is_only_linear(problem):
        _check(problem, lambda f, xs: gradgradcheck(f, xs))


def _is_only_linear(problem: Problem) -> bool:
    """A declaration of linearity gives forward mode alone."""
    return problem.definition.reverse is None and isinstance(problem.definition.forward, _forward.Linear)


def _check(problem: Problem, check: Callable[[Any, Any], Any]) -> None:
    definition = problem.definition
    if definition.schema.written or not definition.formulas().has_any:
        return
    found = differentiable_call(problem, _DOUBLE)
    if found is not None:
        check(found[0], tuple(found[1]))


def check_linear(problem: Problem) -> None:
    """What is declared linear adds up and scales."""
    forward = problem.definition.forward
    if not isinstance(forward, _forward.Linear):
        return
    call, arrays = problem.flat_call()
    positions = {argument.name: index for index, argument in enumerate(problem.definition.schema.positional)}
    groups = [list(range(len(arrays)))] if forward.names is None else [
        _own(call.layout[positions[name]]) for name in forward.names
    ]  # fmt: skip
    labels = ["all arguments"] if forward.names is None else list(forward.names)
    generator = np.random.default_rng(0)
    for label, group in zip(labels, groups, strict=True):
        first, second = list(arrays), list(arrays)
        for index in group:
            first[index] = random_like(generator, arrays[index].shape, arrays[index])
            second[index] = random_like(generator, arrays[index].shape, arrays[index])
        mixed = [2 * a + b if index in group else a
                 for index, (a, b) in enumerate(zip(first, second, strict=True))]  # fmt: skip
        whole = run_kernel(call, mixed)
        for one, two, both in zip(run_kernel(call, first), run_kernel(call, second), whole, strict=True):
            if isinstance(both, np.ndarray) and not np.allclose(2 * one + two, both, problem.rtol, problem.atol):
                residual = np.max(np.abs(2 * one + two - both))
                raise RuntimeError(f"{problem.definition.qualname} is not linear in {label}: residual {residual}")


def _own(entry: Any) -> list[int]:
    _, data = entry
    return [data] if isinstance(data, int) else [index for index in data if index is not None]


def check_vmap(problem: Problem) -> None:
    """The batching rule agrees with a loop: for each argument alone and all together, for the first and last axis."""
    definition = problem.definition
    if definition.schema.written or (definition.batch is None and not definition.is_elementwise):
        return
    call, arrays = problem.flat_call()
    generator = np.random.default_rng(0)
    every = tuple(range(len(arrays)))
    chosen = [every] if len(every) == 1 else [*((index,) for index in every), every]
    for group, axis in itertools.product(chosen, (0, -1)):
        stacks = [
            np.stack([array, _other(generator, array), _other(generator, array)], axis) if index in group else array
            for index, array in enumerate(arrays)
        ]
        level = VmapLevel(3)
        with changed(vmaps=(*current().vmaps, level), grad=False), warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            entered = [enter(x, axis, level) if k in group else x for k, x in enumerate(stacks)]
            found = evaluate(definition.op, entered, {"call": call})
            batched = [leave(each, 0, level) if hasattr(each, "shape") else each for each in found]
        for example in range(3):
            slices = [copied(np.moveaxis(x, axis, 0)[example]) if k in group else x for k, x in enumerate(stacks)]
            expected = run_kernel(call, slices)
            for number, (one, two) in enumerate(zip(expected, batched, strict=True)):
                got = two[example] if isinstance(one, np.ndarray) else two
                got = getattr(got, "data", got) if not isinstance(got, np.ndarray) else got
                if not np.shape(got) == np.shape(one) or not np.allclose(one, got, problem.rtol, problem.atol):
                    raise RuntimeError(
                        f"the vmap rule of {definition.qualname} differs from a loop in output {number} of example "
                        f"{example}, with arguments {group} batched along axis {axis}"
                    )
    _check_vmap_of_gradient(problem)


def _check_vmap_of_gradient(problem: Problem) -> None:
    """Gradients of a batch are those of its examples."""
    found = differentiable_call(problem, _DOUBLE)
    if found is None or not problem.definition.formulas().has_any or _is_only_linear(problem):
        return
    function, leaves = found
    generator = np.random.default_rng(1)
    examples = [[_other(generator, x._data) for x in leaves] for _ in range(2)]
    level = VmapLevel(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        with changed(vmaps=(*current().vmaps, level), grad=True):
            inside = [wrap(enter(np.stack(parts), 0, level)).requires_grad_() for parts in zip(*examples, strict=True)]
            _total(function(*inside)).backward()
            batched = [None if x.grad is None else leave(x.grad._data, 0, level) for x in inside]
    for index, example in enumerate(examples):
        given = [wrap(x).requires_grad_() for x in example]
        with changed(grad=True):
            _total(function(*given)).backward()
        for one, two in zip(given, batched, strict=True):
            if (one.grad is None) is not (two is None) or (
                two is not None and not np.allclose(one.grad._data, np.asarray(two)[index], problem.rtol, problem.atol)
            ):
                name = problem.definition.qualname
                raise RuntimeError(f"vmap(grad) of {name} differs from a loop in example {index}")


def _total(outputs: Any) -> Any:
    parts = outputs if isinstance(outputs, tuple) else (outputs,)
    total = sum(part.real.sum() if part._spec.is_complex else part.sum() for part in parts)
    return total


def _other(generator: Any, array: Any) -> Any:
    """Values near those given, which the kernel takes."""
    if array.dtype.kind not in "fc":
        return array.copy()
    return (array * (1 + 0.1 * generator.random(array.shape))).astype(array.dtype)
