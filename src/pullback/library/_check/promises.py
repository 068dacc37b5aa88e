"""The tests of `opcheck` about compiled code: an operator in a graph does what it does in eager code.

The operator is called eagerly and through `pb.aot.aot_function` on equal arguments. Compared are values, what was
written and how often, which arrays share memory, and gradients. A fake or a kernel that other tests complain about is
left to those: a graph that is made with a wrong fake says nothing new.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.autograd import gradcheck, gradgradcheck
from pullback.core.state import VmapLevel, changed, current
from pullback.errors import AutogradError, PerformanceWarning
from pullback.library import _formulas
from pullback.library._call import Call
from pullback.library._check.inputs import Problem, copied, differentiable_call, flat, random_like
from pullback.library._errors import DynamicOutputShapeError
from pullback.library._kernel import run_kernel, shares
from pullback.payloads.batched import enter, leave
from pullback.payloads.evaluate import evaluate
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, version_of, wrap

Function = Callable[..., Any]


class Outcome(NamedTuple):
    """What can be seen after a call."""

    values: list[Any]
    arguments: list[Any]
    written: list[bool]  # by argument; how often a kernel writes inside of itself a graph cannot know
    sharing: list[tuple[int, int]]  # pairs of outputs and arguments, counted through
    gradients: list[Any]
    backward_error: str | None  # the code of the error that a backward pass gave


def check_static(problem: Problem) -> None:
    """Compiled for exactly these arguments, the operator does what it does in eager code; also on other values."""
    if not _applies(problem):
        return
    call, operands = _call_of(problem)
    function = _function(call, len(operands))
    compiled = _compiled(function)
    _compare(problem, function, compiled, operands)
    generator = np.random.default_rng(0)
    other = [_with_values(x, random_like(generator, x.shape, x._data)) for x in operands]
    _compare(problem, function, compiled, other, is_given=False)


def check_dynamic(problem: Problem) -> None:
    """The same where the lengths of axes are said to vary, and then do."""
    if not _applies(problem):
        return
    call, operands = _call_of(problem)
    function = _function(call, len(operands))
    compiled = _compiled(function)
    _compare(problem, function, compiled, operands, varies=True)
    generator = np.random.default_rng(0)
    longer = [
        _with_values(x, random_like(generator, tuple(n + 1 if n > 1 else n for n in x.shape), x._data))
        for x in operands
    ]
    _compare(problem, function, compiled, longer, is_given=False, varies=True)


def _applies(problem: Problem) -> bool:
    definition = problem.definition
    has_effect = definition.effect is not None and definition.effect[0] is not None
    return "nondeterministic" not in definition.tags and not has_effect


def _call_of(problem: Problem) -> tuple[Call, list[Tensor]]:
    """The call, and its tensors; written keyword-only ones are the last."""
    call, operands = problem.bound()
    return call, [*operands, *(value for value in call.keywords.values() if isinstance(value, Tensor))]


def _function(call: Call, count: int) -> Function:
    """The operator as a function of its tensors."""
    names = [name for name, value in call.keywords.items() if isinstance(value, Tensor)]

    def function(*tensors: Any) -> Any:
        keywords = {**call.keywords, **dict(zip(names, tensors[count - len(names) :], strict=True))}
        return call.definition(*call.arguments(tensors), **keywords)

    return function


def _compiled(function: Function) -> Function:
    # `aot` is beside this package and not below it: what users have imported knows both.
    ahead = sys.modules["pullback"].aot
    compiled: Function = ahead.aot_function(function, lambda graph, types: graph.verify().eval_boxed)
    return compiled


def _with_values(x: Tensor, array: Any) -> Tensor:
    tensor = wrap(array)
    return tensor.requires_grad_() if requires_grad(x) else tensor


def _fresh(operands: Sequence[Tensor], keeps_grad: bool) -> list[Tensor]:
    """Copies. Each object is copied once, so that arguments that are one stay one."""
    made: dict[int, Tensor] = {}
    for x in operands:
        if id(x) not in made:
            copy = wrap(copied(x._data))
            made[id(x)] = copy.requires_grad_() if keeps_grad and requires_grad(x) else copy
    return [made[id(x)] for x in operands]


# Comparing.


def _compare(
    problem: Problem, function: Function, compiled: Function, operands: Sequence[Tensor], is_given: bool = True,
    varies: bool = False,
) -> None:  # fmt: skip
    keeps_grad = not problem.definition.schema.written
    try:
        eager = _outcome(function, _fresh(operands, keeps_grad))
    except Exception:
        if is_given:
            raise
        return  # kernel or formula do not take other values or lengths, so nothing can be compared
    given = _fresh(operands, keeps_grad)
    if varies:
        for x in given:
            _mark(x)
    try:
        ahead = _outcome(compiled, given)
    except DynamicOutputShapeError:  # a graph has fixed shapes, and the operator says so itself
        return
    for what, mine, theirs in (("Outputs", eager.values, ahead.values), ("Arguments", eager.arguments, ahead.arguments),
                               ("Gradients", eager.gradients, ahead.gradients)):  # fmt: skip
        for number, (one, two) in enumerate(zip(mine, theirs, strict=True)):
            if not _agree(problem, one, two):
                raise RuntimeError(f"{what} are different in eager code and ahead of time: number {number}, "
                                   f"{one!r} vs AOT {two!r}")  # fmt: skip
    for seen in ("written", "sharing", "backward_error"):
        one, two = getattr(eager, seen), getattr(ahead, seen)
        if one != two:
            raise RuntimeError(f"{seen.replace('_', ' ')} is different in eager code, {one}, vs AOT, {two}")


def _mark(x: Tensor) -> None:
    for axis, length in enumerate(x.shape):
        if length > 1:
            sys.modules["pullback"].aot.mark_dynamic(x, axis)


def _outcome(function: Function, operands: list[Tensor]) -> Outcome:
    outputs = flat(function(*operands))
    arrays = [x._data for x in (*outputs, *operands) if isinstance(x, Tensor)]
    written = [version_of(x) > 0 for x in operands]
    values = [x._data.copy() if isinstance(x, Tensor) else x for x in outputs]
    arguments = [x._data.copy() for x in operands]
    return Outcome(
        values, arguments, written,
        [(k, n) for n in range(len(arrays)) for k in range(n) if arrays[k].size and shares(arrays[k], arrays[n])],
        *_gradients(outputs, operands),
    )  # fmt: skip


def _gradients(outputs: list[Any], operands: list[Tensor]) -> tuple[list[Any], str | None]:
    roots = [x for x in outputs if isinstance(x, Tensor) and requires_grad(x)]
    if not roots:
        return [], None
    try:
        total: Any = sum(abs(x.sum()) for x in roots)
        total.backward()
    except AutogradError as error:
        if error.code != "NO_FORMULA":
            raise
        return [], error.code
    return [None if x.grad is None else x.grad._data for x in operands], None


def _agree(problem: Problem, one: Any, two: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray):
        return (one is None and two is None) or (type(one) is type(two) and bool(one == two))
    return (
        one.shape == two.shape
        and one.dtype == two.dtype
        and np.allclose(one, two, problem.rtol, problem.atol, equal_nan=True)
    )


# The tests of `opcheck` about derivatives and batching.

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
    return problem.definition.reverse is None and isinstance(problem.definition.forward, _formulas.Linear)


def _check(problem: Problem, check: Callable[[Any, Any], Any]) -> None:
    definition = problem.definition
    if definition.schema.written or not definition.has_formula:
        return
    found = differentiable_call(problem, _DOUBLE)
    if found is not None:
        check(found[0], tuple(found[1]))


def check_linear(problem: Problem) -> None:
    """What is declared linear adds up and scales."""
    forward = problem.definition.forward
    if not isinstance(forward, _formulas.Linear):
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
    if found is None or not problem.definition.has_formula or _is_only_linear(problem):
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
            own: Any = None if one.grad is None else one.grad._data
            if (own is None) is not (two is None) or (
                two is not None and not np.allclose(own, np.asarray(two)[index], problem.rtol, problem.atol)
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
