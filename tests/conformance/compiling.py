"""What the tests of `compiling-anything.md` share: a call of a function and of its compiled form, compared in all."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten


def leaf(values: Any, **options: Any) -> pb.Tensor:
    """A tensor that gradients are for."""
    return pb.tensor(values, requires_grad=True, **options)


def outcome(call: Any, make: Any, seed: int = 0) -> dict[str, Any]:
    """Everything that can be seen of one call with the arguments that `make` makes."""
    args = make()
    pb.random.manual_seed(seed)
    seen: dict[str, Any] = {}
    try:
        result = call(*args)
    except Exception as error:
        seen["error"] = (type(error), str(error))
        result = ()
    seen["drawn"] = pb.random.uniform().item()
    given = flatten(args)[0]
    results, seen["structure"] = flatten(result)
    seen["results"] = [_looks(each) for each in results]
    seen["is"] = [[each is other for other in given] for each in results]
    seen["shares"] = [[_shares(each, other) for other in (*given, *results)] for each in results]
    roots = [each.sum() for each in results if isinstance(each, pb.Tensor) and each.requires_grad]
    roots += [each.sum() for each in given if isinstance(each, pb.Tensor) and each.requires_grad and not each.is_leaf]
    leaves = [each for each in given if isinstance(each, pb.Tensor) and each.is_leaf and each.requires_grad]
    if roots and leaves:
        try:
            grads = pb.autograd.grad(sum(roots[1:], roots[0]), leaves, allow_unused=True)
            seen["grads"] = [None if each is None else each.numpy() for each in grads]
        except pb.AutogradError as error:
            seen["grads"] = error.code
    seen["args"] = [_looks(each) for each in given]
    return seen


def _looks(x: Any) -> Any:
    if isinstance(x, pb.Tensor):
        return "tensor", x.detach().numpy().copy(), x._version, x.requires_grad, x.is_leaf, x.dtype
    return (type(x), copy.copy(x))


def _shares(x: Any, y: Any) -> bool:
    if not isinstance(x, pb.Tensor) or not isinstance(y, pb.Tensor):
        return False
    return bool(np.may_share_memory(x.detach().numpy(), y.detach().numpy()))


def check_same(found: dict[str, Any], expected: dict[str, Any], what: Any = "", rtol: float = 1e-9) -> None:
    """Raise if two outcomes differ in more than rounding."""
    assert found.keys() == expected.keys(), (what, found, expected)
    for name in found:
        if name == "grads" and expected[name] == "VERSION":
            continue  # a compiled call may have kept a copy of what was overwritten
        _check(found[name], expected[name], (what, name, found[name], expected[name]), rtol)


def _check(found: Any, expected: Any, what: Any, rtol: float) -> None:
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected) and len(found) == len(expected), what
        for mine, theirs in zip(found, expected, strict=True):
            _check(mine, theirs, what, rtol)
    elif isinstance(expected, (np.ndarray, float, complex, np.floating)):
        assert type(found) is type(expected) and np.shape(found) == np.shape(expected), what
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol / 100, err_msg=str(what))
    else:
        assert type(found) is type(expected) and found == expected, what


def check_calls(
    function: Any, makers: list[Any], times: int = 1, rtol: float = 1e-9, counts_writes: bool = True, **options: Any
) -> Any:
    """Compare the function with its compiled form, called with what each of these makes in turn, `times` over. Without
    `counts_writes` results may have other versions: a loop of the graph writes once what its steps write."""
    options = {"fallback": "raise", **options}
    compiled = pb.compile(function, **options)
    for turn in range(times):
        for number, make in enumerate(makers):
            found, expected = outcome(compiled, make, number), outcome(function, make, number)
            if not counts_writes:
                found["results"], expected["results"] = map(without_versions, (found["results"], expected["results"]))
            check_same(found, expected, f"call {number} of turn {turn}", rtol)
    return compiled


def without_versions(results: list[Any]) -> list[Any]:
    """Results as `outcome` has them, whatever was written to them how often."""
    return [(*each[:2], *each[3:]) if each[0] == "tensor" else each for each in results]
