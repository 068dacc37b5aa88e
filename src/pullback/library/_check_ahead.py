"""The tests of `opcheck` about compiled code: an operator in a graph does what it does in eager code.

The operator is called eagerly and through `pb.aot.aot_function` on equal arguments. Compared are values, what was
written and how often, which arrays share memory, and gradients. A fake or a kernel that other tests complain about is
left to those: a graph that is made with a wrong fake says nothing new.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.autograd._variable import requires_grad
from pullback.errors import AutogradError
from pullback.library._call import Call
from pullback.library._check_inputs import Problem, copied, flat, random_like
from pullback.library._errors import DynamicOutputShapeError
from pullback.library._memory import shares
from pullback.tensors.tensor import Tensor, version_of, wrap

Function = Callable[..., Any]


class Outcome(NamedTuple):
    """What can be seen after a call."""

    values: list[Any]
    arguments: list[Any]
    written: list[bool]  # by argument; how often a kernel writes inside of itself a graph can not know
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
