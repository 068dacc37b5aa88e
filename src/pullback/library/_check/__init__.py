"""`opcheck`: does an operator keep its promises?

Every test runs on copies of the given arguments, and says what it found as an error; a test that does not apply passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.library._check import promises as ahead
from pullback.library._check import promises as derivatives
from pullback.library._check.inputs import Problem, outputs_of, randomized
from pullback.library._errors import AliasError, OpCheckError
from pullback.library._fake import both_answers, compare
from pullback.library._kernel import argument_names, run_kernel, shares
from pullback.library._namespace import Packet
from pullback.library._operator import CustomOpDef


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] | None = None,
    raise_exception: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
) -> dict[str, Any]:
    """Check an operator on these arguments: schema, derivatives, fake, compiled code, batching, determinism.

    Returns the tests that were run, each with `"SUCCESS"`. The first failure raises `OpCheckError`; with
    `raise_exception=False` failures stand in the result instead. `test_utils` picks tests by name, or `"ALL"`.

    >>> @pb.library.custom_op("examples::sign", mutates_args=())
    ... def sign(x: pb.Tensor) -> pb.Tensor:
    ...     return pb.tensor(np.sign(x.numpy()))
    >>> pb.library.opcheck(sign, (pb.tensor([1.0, -2.0]),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    definition = _definition_of(op)
    names = _chosen(test_utils)
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck: give both rtol and atol, or neither of them")
    problem = Problem(definition, tuple(args), dict(kwargs or {}), 1e-5 if rtol is None else rtol,
                      1e-8 if atol is None else atol)  # fmt: skip
    results: dict[str, Any] = {}
    for name in names:
        try:
            TESTS[name](problem)
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"{name} failed with {type(error).__name__}: {error}") from error
            results[name] = error
        else:
            results[name] = "SUCCESS"
    return results


def _definition_of(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, Packet):
        overloads = op.overloads()
        if len(overloads) != 1:
            raise RuntimeError(f"opcheck takes operators without overloads, and {op!r} has {overloads}: give one")
        found: CustomOpDef = getattr(op, overloads[0])
        return found
    raise ValueError(f"opcheck checks custom operators, got {op!r}")


def _chosen(test_utils: str | Sequence[str] | None) -> list[str]:
    if test_utils is None:
        return list(DEFAULT)
    if test_utils == "ALL":
        return list(TESTS)
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    names = ["test_fake" if name == "test_faketensor" else name for name in names]
    if not set(names) <= TESTS.keys():
        raise ValueError(f"test_utils must be a subset of {list(TESTS)}, got {names}")
    return names


# Schema.


def check_schema(problem: Problem) -> None:
    """Nothing is written or shared that the schema does not declare."""
    definition = problem.definition
    call, arrays = randomized(problem)
    written = set(definition.written_operands(call)) if definition.schema.written else set()
    before = [array.copy() for array in arrays]
    shown = [(array.shape, array.strides, array.dtype) for array in arrays]
    try:
        first = run_kernel(call, arrays)
    except AliasError as error:
        what = "An argument is not defined to alias output but was aliasing it"
        raise AliasError(f"{'Outputs alias' if 'with output' in str(error) else what}: {error}") from None
    names = [name for name, _ in argument_names(call, len(arrays))]
    for index, (array, old, form) in enumerate(zip(arrays, before, shown, strict=True)):
        if index in written:
            continue
        if (array.shape, array.strides, array.dtype) != form or not _same_bytes(array, old):
            raise RuntimeError(f"argument {names[index]} is not defined as mutable but was mutated")
    again = run_kernel(call, [array.copy() for array in before])
    for number, (one, two) in enumerate(zip(first, again, strict=False)):
        if isinstance(one, np.ndarray) and isinstance(two, np.ndarray) and one.size and shares(one, two):
            raise AliasError(
                f"output {number} of {definition.qualname} is in the same memory for two calls: the second would "
                "change the result of the first"
            )


def _same_bytes(first: Any, second: Any) -> bool:
    return np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()


def check_autograd_registration(problem: Problem) -> None:
    """If somebody differentiates, there is a formula."""
    definition = problem.definition
    if not problem.requires_grad or definition.autograd_fallback == "nondiff" or definition.schema.written:
        return
    if not definition.has_formula and any(hasattr(out, "requires_grad") for out in problem.outputs()):
        raise RuntimeError(f"{definition.qualname} does not have an autograd kernel, and an input requires grad")


# Fake.


def check_fake(problem: Problem) -> None:
    """The fake agrees with what the kernel returns, for these sizes and for others."""
    call, arrays = problem.flat_call()
    real = run_kernel(call, arrays)
    compare(real, *both_answers(problem.definition, call, arrays))
    resized = problem.resized()
    if resized is None:
        return
    call, arrays = resized
    try:
        real = run_kernel(call, arrays)
    except Exception:  # the kernel does not take these sizes, so nothing can be compared
        return
    compare(real, *both_answers(problem.definition, call, arrays))


# Other promises.


def check_determinism(problem: Problem) -> None:
    """Two runs on equal inputs agree."""
    definition = problem.definition
    if "nondeterministic" in definition.tags or definition.effect is not None:
        return
    first, second = outputs_of(problem), outputs_of(problem)
    for number, (one, two) in enumerate(zip(first, second, strict=False)):
        if isinstance(one, np.ndarray):
            if one.shape != two.shape or not np.array_equal(one, two, equal_nan=one.dtype.kind in "fc"):
                apart = np.max(np.abs(one - two)) if one.shape == two.shape and one.size else "in shape"
                raise RuntimeError(f"output {number} differs between two runs on equal inputs: {apart}")
        elif one != two:
            raise RuntimeError(f"output {number} differs between two runs on equal inputs: {one!r} and {two!r}")


def _unless_others_complain(check: Callable[[Problem], None]) -> Callable[[Problem], None]:
    """What is wrong with a fake, or changes by itself, has a test of its own, and that test says what it is."""

    def run(problem: Problem) -> None:
        try:
            check_fake(problem)
            check_determinism(problem)
        except Exception:
            return
        check(problem)

    return run


TESTS: dict[str, Callable[[Problem], None]] = {
    "test_schema": check_schema,
    "test_autograd_registration": check_autograd_registration,
    "test_fake": check_fake,
    "test_aot_dispatch_dynamic": _unless_others_complain(ahead.check_dynamic),
    "test_aot_dispatch_static": _unless_others_complain(ahead.check_static),
    "test_determinism": check_determinism,
    "test_gradcheck": derivatives.check_gradcheck,
    "test_gradgradcheck": derivatives.check_gradgradcheck,
    "test_linear": derivatives.check_linear,
    "test_vmap": derivatives.check_vmap,
}
DEFAULT = tuple(
    name for name in TESTS if name not in ("test_aot_dispatch_static", "test_gradgradcheck", "test_linear")
)
